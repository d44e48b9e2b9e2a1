// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensoa/engine/describe.hpp"
#include "tensoa/package/inspect.hpp"

/// @file
/// How the blocks of a model are sent to a server and back: one tensor for each block, of its name.
///
/// The tensor is [1, planes, n]: the planes of the block one after another, in the order of the columns in
/// the description of the model; a vector or matrix column is its planes in their order in memory. Each
/// plane is n values of the dtype of the columns, little-endian. n is the number of rows; of scalar columns
/// it is 1. n may be 0.

namespace tensoa::triton {

/// The most requests that a server may put into one batch.
inline constexpr std::int64_t kMaxBatch = 256;

/// A block as it is sent.
struct WireBlock {
  BlockDescription block;
  std::int64_t planes = 0;

  /// The input collection with the same number of rows; none: an output that always has `rows`.
  std::optional<std::size_t> collection;
  std::size_t rows = 0;

  const std::string& name() const noexcept { return block.name; }
  DType dtype() const noexcept { return block.element.dtype; }
  bool is_scalar() const noexcept { return block.element.is_scalar(); }

  /// "FP32[1, 3, n]"
  std::string type() const;
};

/// All blocks of a model as they are sent.
struct Wire {
  Match match = Match::kAuto;
  std::vector<WireBlock> inputs;
  std::vector<WireBlock> outputs;
};

/// Returns the name that KServe has for a dtype: "FP32". The Triton configuration has "TYPE_" before it.
std::string_view kserve_name(DType dtype) noexcept;

/// @param subject "model FILE: ", the beginning of messages
/// @throws LoadError where the model does not store its columns, has no inputs or outputs, or where a name of
///     a block is empty, longer than 128 characters, has others than letters, digits, '_', '-' and '.', or is
///     the name of an input and an output
Wire wire_of(const package::ModelDescription& model, const std::string& subject);

}  // namespace tensoa::triton
