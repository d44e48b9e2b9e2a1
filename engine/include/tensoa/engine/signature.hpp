// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensoa/core/dtype.hpp"
#include "tensoa/engine/describe.hpp"

namespace tensoa {

/// A size that differs from call to call, or is not in the file.
inline constexpr std::int64_t kAnySize = -1;

/// One argument or result of a model, as far as its file describes it.
struct TensorSpec {
  std::string name = {};            ///< empty for a result that has none
  std::optional<DType> dtype = {};  ///< none: not in the file

  /// Of the tensor; kAnySize for rows. None: the number of dimensions is not in the file.
  std::optional<std::vector<std::int64_t>> sizes = {};

  /// The columns that it is made for; none where the model accepts any.
  std::optional<BlockDescription> block = {};

  /// `float32[?, 3]`; "tensor" where the file has no description.
  std::string type() const;
};

/// The arguments and results of a model, as far as its file describes them.
struct Signature {
  std::vector<TensorSpec> inputs = {};  ///< the arguments, in order
  std::size_t required_inputs = 0;      ///< the arguments after these have defaults
  std::vector<TensorSpec> outputs =
      {};  ///< the results, in order; none where the file has no results
};

/// The tensor of a described block: its name, dtype and sizes; any number of rows.
TensorSpec spec_of(const BlockDescription& block);

/// How blocks are assigned to arguments, or to results.
struct Matched {
  bool by_name;                 ///< a block belongs to the place of its name; otherwise in order
  const BoundBlock* misplaced;  ///< in order: a block with the name of another place, or nullptr
};

/// For engines: whether blocks are assigned by name or in order, according to `match`.
/// @param places the arguments or the results of the model
Matched match_names(Match match, std::span<const BoundBlock> blocks,
                    std::span<const TensorSpec> places);

/// For engines: returns the argument number of each input block.
/// @param subject "model FILE", the beginning of messages
/// @throws BindingError where an argument that has no default has no block, or a block no argument
std::vector<std::size_t> match_arguments(const Binding& binding, const Signature& signature,
                                         const std::string& subject);

namespace detail {

/// What makes two signatures those of different programs: "input 1 is y float32[?, 3], expected x float32[?, 2]".
/// Empty if they are equal.
std::string difference(const Signature& expected, const Signature& got);

}  // namespace detail
}  // namespace tensoa
