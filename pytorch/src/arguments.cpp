// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/bucketize.h>

#include <cstdint>
#include <string>

#include "tensoa/core/error.hpp"
#include "tensors.hpp"

namespace tensoa::pytorch {
namespace {

void require_ascending(const BoundBlock& block, const at::Tensor& offsets, std::int64_t rows) {
  const at::Tensor wide = offsets.to(c10::kLong);
  const auto* values = wide.const_data_ptr<std::int64_t>();
  std::int64_t before = 0;
  for (std::int64_t group = 0; group < wide.numel(); ++group) {
    const std::int64_t offset = values[group];
    if (offset >= before && offset <= rows) {
      before = offset;
      continue;
    }
    throw BindingError(to_string(block) + ": the offset " + block.offsets->name + '[' +
                       std::to_string(group) + "] is " + std::to_string(offset) +
                       "; expected ascending offsets from 0 to the " + std::to_string(rows) +
                       " rows of the collection");
  }
}

/// [groups, length]: the rows that each group would have if it were long enough.
at::Tensor rows_of_groups(const at::Tensor& offsets, std::int64_t length) {
  const at::Tensor steps = at::arange(length, offsets.options().dtype(c10::kLong));
  return offsets.slice(0, 0, -1).unsqueeze(1).add(steps);
}

/// [groups, length] bool: those that it has.
at::Tensor mask_of(const at::Tensor& rows_of_group, const at::Tensor& offsets) {
  return rows_of_group.lt(offsets.slice(0, 1).unsqueeze(1));
}

void pad(const BoundBlock& block, const at::Tensor& to) {
  const at::Tensor values = wrap(block.sources[0]);
  const at::Tensor offsets = wrap(block.sources[1]);
  const std::int64_t rows = values.size(0);
  if (offsets.is_cpu()) require_ascending(block, offsets, rows);
  if (rows == 0) {
    to.zero_();
    return;
  }
  const at::Tensor wanted = rows_of_groups(offsets, to.size(1));
  at::Tensor is_missing = mask_of(wanted, offsets).logical_not_();
  while (is_missing.dim() < to.dim()) is_missing = is_missing.unsqueeze(-1);
  to.copy_(values.index_select(0, wanted.clamp(0, rows - 1).flatten()).view(to.sizes()));
  to.masked_fill_(is_missing, 0);
}

}  // namespace

at::Tensor argument_of(const BoundBlock& block, bool is_written, std::size_t i,
                       ScratchPool::Loan& scratch, CopyReport& copies) {
  if (block.form == BlockForm::kInPlace && !is_written) return wrap(block.tensor);

  const at::Tensor copy = scratch.get().take(i, block.tensor);
  const std::size_t bytes = block.tensor.bytes();
  switch (block.form) {
    case BlockForm::kInPlace:
      copy.copy_(wrap(block.tensor), /*non_blocking=*/true);
      copies.add_in(bytes, CopyReason::kInputIsWritten);
      break;
    case BlockForm::kRepacked:
      for (std::size_t column = 0; column < block.sources.size(); ++column) {
        column_of(block, copy, column).copy_(wrap(block.sources[column]), /*non_blocking=*/true);
      }
      copies.add_in(bytes, CopyReason::kRepack);
      break;
    case BlockForm::kPadded:
      pad(block, copy);
      copies.add_in(bytes, CopyReason::kRagged);
      break;
    case BlockForm::kMask: {
      const at::Tensor offsets = wrap(block.sources[0]);
      copy.copy_(mask_of(rows_of_groups(offsets, copy.size(1)), offsets));
      copies.add_in(bytes, CopyReason::kRagged);
      break;
    }
    case BlockForm::kSegments: {
      const at::Tensor offsets = wrap(block.sources[0]).to(c10::kLong);
      const at::Tensor rows = at::arange(copy.size(0), offsets.options());
      copy.copy_(at::bucketize(rows, offsets, /*out_int32=*/false, /*right=*/true).sub_(1));
      copies.add_in(bytes, CopyReason::kRagged);
      break;
    }
  }
  return copy;
}

at::Tensor column_of(const BoundBlock& block, const at::Tensor& tensor, std::size_t column) {
  const bool has_columns_dimension = block.tensor.rank > block.sources[column].rank;
  return has_columns_dimension ? tensor.select(1, static_cast<std::int64_t>(column)) : tensor;
}

}  // namespace tensoa::pytorch
