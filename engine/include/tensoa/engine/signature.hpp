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

/// A size that differs from call to call, or that a file does not say.
inline constexpr std::int64_t kAnySize = -1;

/// One argument or result of a model, as far as its file says.
struct TensorSpec {
  std::string name = {};            ///< empty for a result that has none
  std::optional<DType> dtype = {};  ///< none: the file does not say

  /// Of the tensor; kAnySize for rows. None: the file does not say how many dimensions there are.
  std::optional<std::vector<std::int64_t>> sizes = {};

  /// The columns that it is made for; none where the model accepts any.
  std::optional<BlockDescription> block = {};

  /// `float32[?, 3]`; "tensor" where the file says nothing.
  std::string type() const;
};

/// The arguments and results of a model, as far as its file describes them.
struct Signature {
  std::vector<TensorSpec> inputs = {};  ///< the arguments, in order
  std::size_t required_inputs = 0;      ///< the arguments after these have defaults
  std::vector<TensorSpec> outputs =
      {};  ///< the results, in order; none where the file does not say
};

/// The tensor of a described block: its name, dtype and sizes; any number of rows.
TensorSpec spec_of(const BlockDescription& block);

namespace detail {

/// Describes why two signatures belong to different programs: "input 1 is y float32[?, 3], expected x float32[?, 2]".
/// Empty where nothing does.
std::string difference(const Signature& expected, const Signature& got);

/// Where blocks go.
struct Matched {
  bool by_name;                 ///< to the places of their names, else in order
  const BoundBlock* misplaced;  ///< one that goes in order, but has the name of another place
};

/// @param places the arguments or the results
Matched match_names(Match match, std::span<const BoundBlock> blocks,
                    std::span<const TensorSpec> places);

/// Of each input block the number of its argument.
/// @param subject "model FILE", the beginning of messages
/// @throws BindingError where an argument that has no default has no block, or a block no argument
std::vector<std::size_t> match_arguments(const Binding& binding, const Signature& signature,
                                         const std::string& subject);

}  // namespace detail
}  // namespace tensoa
