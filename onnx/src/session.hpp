// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime.hpp"
#include "tensoa/core/dtype.hpp"
#include "tensoa/engine/signature.hpp"

namespace tensoa::onnx {

/// The number of a dtype in ONNX Runtime.
int to_onnx(DType dtype) noexcept;

/// Nothing for an element type that columns do not have.
std::optional<DType> from_onnx(int element_type) noexcept;

/// An input or output of a session.
struct Value {
  TensorSpec spec;  ///< without sizes where the file does not state them, or says a single number
  std::string type = "tensor";  ///< where `spec` has no dtype: "string", "a sequence"
  std::vector<std::string>
      size_names;  ///< of each dimension the name that the file has; empty: none
};

/// An ONNX file in ONNX Runtime, for one thread at a time or many.
class Session {
 public:
  /// @throws LoadError that names the file, and operators that the runtime does not have
  explicit Session(const std::filesystem::path& path);

  OrtSession* get() const noexcept { return session_.get(); }
  const std::vector<Value>& inputs() const noexcept { return inputs_; }
  const std::vector<Value>& outputs() const noexcept { return outputs_; }

 private:
  SessionOwner session_;
  std::vector<Value> inputs_;
  std::vector<Value> outputs_;
};

}  // namespace tensoa::onnx
