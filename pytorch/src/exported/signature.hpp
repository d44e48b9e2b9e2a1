// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "exported/memory.hpp"
#include "exported/program.hpp"
#include "tensoa/engine/signature.hpp"
#include "tensoa/soa/bound_block.hpp"

namespace tensoa::pytorch::exported {

/// Arguments and results of a program, compared with blocks.
class ProgramSignature {
 public:
  ProgramSignature(const Program& program, const Memory& memory);

  const Signature& signature() const noexcept { return signature_; }
  const std::vector<ResultName>& result_names() const noexcept { return result_names_; }
  std::size_t symbols() const noexcept { return symbols_; }

  /// Whether a call may write the argument, which is then a copy.
  bool may_be_written(std::size_t argument) const { return inputs_[argument].may_be_written; }

  ValueId value_of(std::size_t argument) const { return inputs_[argument].value; }

  /// @throws BindingError where the dtype, the number of dimensions, or a size that is the same in all calls
  /// is not that of the argument
  void require_fitting(std::size_t argument, const BoundBlock& block,
                       const std::string& subject) const;

  /// Binds the sizes that the argument leaves open to those of the block.
  /// @throws BindingError where a fixed size or one of another argument is different
  void bind_symbols(std::size_t argument, const BoundBlock& block, Size::Values& symbols,
                    const std::string& subject) const;

  /// A block of one plain column goes to an argument of one dimension: [n, 1] becomes [n].
  bool loses_a_dimension(std::size_t argument, const BoundBlock& block) const;

 private:
  struct Input {
    ValueId value;
    bool may_be_written;
    std::optional<TensorMeta> meta;
  };

  Signature signature_;
  std::vector<Input> inputs_;
  std::vector<ResultName> result_names_;
  std::size_t symbols_;
};

}  // namespace tensoa::pytorch::exported
