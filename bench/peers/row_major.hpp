// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "tensoa/engine/model_metadata.hpp"

namespace tensoa::peers {

/// The tensors of a binding as peers take them: row-major, in memory of their own.
class RowMajor {
 public:
  explicit RowMajor(const Binding& binding);

  const std::vector<TensorView>& tensors() const { return tensors_; }  ///< inputs, then outputs
  const std::vector<std::string>& names() const { return names_; }
  float* numbers(std::size_t i) const { return static_cast<float*>(tensors_[i].data); }

  /// The output, column after column.
  std::vector<float> answer() const;

 private:
  std::deque<std::vector<std::byte>> memory_;
  std::vector<TensorView> tensors_;
  std::vector<std::string> names_;
};

}  // namespace tensoa::peers
