// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/arguments.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tensoa/core/error.hpp"
#include "tensoa/core/ragged.hpp"
#include "tensoa/core/strided_copy.hpp"

namespace tensoa {
namespace {

/// Column `i` of a repacked block, in a tensor of the block's sizes.
TensorView column_of(const BoundBlock& block, TensorView tensor, std::size_t i) {
  if (block.tensor.rank == block.sources[i].rank) return tensor;
  tensor.data = static_cast<std::byte*>(tensor.data) +
                static_cast<std::int64_t>(i) * tensor.stride_of_dim[1] *
                    static_cast<std::int64_t>(size_of(tensor.dtype));
  std::shift_left(tensor.size_of_dim.begin() + 1, tensor.size_of_dim.end(), 1);
  std::shift_left(tensor.stride_of_dim.begin() + 1, tensor.stride_of_dim.end(), 1);
  --tensor.rank;
  return tensor;
}

/// @param rows of the collection; nothing for a mask, which does not show whose rows it is about
template <class Index>
void require_ascending(const BoundBlock& block, std::optional<std::int64_t> rows) {
  const TensorView& offsets = block.sources.back();
  const auto* const all = static_cast<const Index*>(offsets.data);
  std::int64_t before = 0;
  for (std::int64_t g = 0; g < offsets.size_of_dim[0]; ++g) {
    const std::int64_t offset = all[g];
    if (offset < before || (rows && offset > *rows)) {
      throw BindingError(
          to_string(block) + ": the offset " + block.offsets->name + '[' + std::to_string(g) +
          "] is " + std::to_string(offset) + "; expected ascending offsets from 0" +
          (rows ? " to the " + std::to_string(*rows) + " rows of the collection" : " on"));
    }
    before = offset;
  }
}

/// On the CPU only: reading them here would be a wait for a GPU.
void require_ascending(const BoundBlock& block, std::optional<std::int64_t> rows) {
  if (!block.tensor.device.is_cpu()) return;
  if (block.sources.back().dtype == DType::kI64) {
    require_ascending<std::int64_t>(block, rows);
  } else {
    require_ascending<std::int32_t>(block, rows);
  }
}

}  // namespace

void write_argument(const Queue& queue, const BoundBlock& block, const TensorView& to,
                    CopyReport& copies) {
  switch (block.form) {
    case BlockForm::kInPlace:
      return copies.add_in(strided_copy(queue, to, block.tensor), CopyReason::kInputIsWritten);
    case BlockForm::kRepacked:
      return copies.add_in(
          strided_copies(queue, block.sources.size(),
                         [&](std::size_t i) {
                           return TensorCopy{column_of(block, to, i), block.sources[i]};
                         }),
          CopyReason::kRepack);
    case BlockForm::kPadded:
      require_ascending(block, block.sources.front().size_of_dim[0]);
      return copies.add_in(pad_rows(queue, to, block.sources.front(), block.sources.back()),
                           CopyReason::kRagged);
    case BlockForm::kMask:
      require_ascending(block, std::nullopt);
      return copies.add_in(write_mask(queue, to, block.sources.back()), CopyReason::kRagged);
    case BlockForm::kSegments:
      require_ascending(block, block.tensor.size_of_dim[0]);
      return copies.add_in(write_segments(queue, to, block.sources.back()), CopyReason::kRagged);
  }
}

void write_columns(const Queue& queue, const TensorView& result, const BoundBlock& block,
                   CopyReport& copies) {
  copies.add_out(strided_copies(queue, block.sources.size(),
                                [&](std::size_t i) {
                                  return TensorCopy{block.sources[i], column_of(block, result, i)};
                                }),
                 CopyReason::kRepack);
}

}  // namespace tensoa
