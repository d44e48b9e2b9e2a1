// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "torchscript/arguments.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/bucketize.h>
#include <ATen/ops/index_select.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/tensors.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::pytorch {
namespace {

/// More rows than any collection has: a mask does not say whose rows it is about.
constexpr std::int64_t kAnyRows = std::numeric_limits<std::int64_t>::max();

/// Where group `g` begins, as int64, on the CPU.
class Offsets {
 public:
  Offsets(const BoundBlock& block, const TensorView& offsets, std::int64_t rows)
      : data_(offsets.data), is_wide_(offsets.dtype == DType::kI64) {
    std::int64_t before = 0;
    for (std::int64_t g = 0; g < offsets.size_of_dim[0]; ++g) {
      const std::int64_t offset = (*this)[g];
      if (offset < before || offset > rows) {
        throw BindingError(
            to_string(block) + ": the offset " + block.offsets->name + '[' + std::to_string(g) +
            "] is " + std::to_string(offset) + "; expected ascending offsets from 0" +
            (rows == kAnyRows ? " on"
                              : " to the " + std::to_string(rows) + " rows of the collection"));
      }
      before = offset;
    }
  }

  std::int64_t operator[](std::int64_t g) const {
    return is_wide_ ? static_cast<const std::int64_t*>(data_)[g]
                    : static_cast<const std::int32_t*>(data_)[g];
  }

 private:
  const void* data_;
  bool is_wide_;
};

/// Elements of one row of a padded tensor, and how far they lie from the row's first in the columns.
std::vector<std::int64_t> places_in_row(const TensorView& values) {
  std::vector<std::int64_t> places{0};
  for (std::size_t dim = 1; dim < values.rank; ++dim) {
    std::vector<std::int64_t> outer = std::move(places);
    places.clear();
    for (const std::int64_t place : outer) {
      for (std::int64_t i = 0; i < values.size_of_dim[dim]; ++i) {
        places.push_back(place + i * values.stride_of_dim[dim]);
      }
    }
  }
  return places;
}

/// [groups, length, …] from columns, on the CPU; `Bits` is an integer of the element's size.
template <class Bits>
void pad_rows(const TensorView& values, const Offsets& offsets, const TensorView& padded,
              void* to) {
  const std::vector<std::int64_t> places = places_in_row(values);
  const auto* from = static_cast<const Bits*>(values.data);
  auto* out = static_cast<Bits*>(to);
  const std::int64_t length = padded.size_of_dim[1];
  for (std::int64_t g = 0; g < padded.size_of_dim[0]; ++g) {
    const std::int64_t rows = std::min(length, offsets[g + 1] - offsets[g]);
    for (std::int64_t row = offsets[g]; row < offsets[g] + rows; ++row) {
      for (const std::int64_t place : places) *out++ = from[row + place];
    }
    out = std::fill_n(out, (length - rows) * static_cast<std::int64_t>(places.size()), Bits{0});
  }
}

void make_on_cpu(const BoundBlock& block, void* to) {
  const TensorView& tensor = block.tensor;
  const TensorView& groups = block.sources.back();
  if (block.form == BlockForm::kPadded) {
    const TensorView& values = block.sources.front();
    const Offsets offsets(block, groups, values.size_of_dim[0]);
    switch (size_of(tensor.dtype)) {
      case 1:
        return pad_rows<std::uint8_t>(values, offsets, tensor, to);
      case 2:
        return pad_rows<std::uint16_t>(values, offsets, tensor, to);
      case 4:
        return pad_rows<std::uint32_t>(values, offsets, tensor, to);
      default:
        return pad_rows<std::uint64_t>(values, offsets, tensor, to);
    }
  }
  if (block.form == BlockForm::kMask) {
    const Offsets offsets(block, groups, kAnyRows);
    auto* is_there = static_cast<bool*>(to);
    for (std::int64_t g = 0; g < tensor.size_of_dim[0]; ++g) {
      for (std::int64_t i = 0; i < tensor.size_of_dim[1]; ++i) {
        *is_there++ = i < offsets[g + 1] - offsets[g];
      }
    }
    return;
  }
  const Offsets offsets(block, groups, tensor.size_of_dim[0]);
  auto* segment = static_cast<std::int64_t*>(to);
  std::int64_t g = -1;
  for (std::int64_t row = 0; row < tensor.size_of_dim[0]; ++row) {
    while (g + 1 < groups.size_of_dim[0] && offsets[g + 1] <= row) ++g;
    *segment++ = g;
  }
}

/// The same by torch's operators, on the current stream. Offsets that lead out of the collection are
/// held inside it: looking at them here would be a wait.
void make_on_gpu(const BoundBlock& block, const at::Tensor& to) {
  const at::Tensor offsets = wrap(block.sources.back());
  const auto index = offsets.options().dtype(c10::kLong);
  if (block.form == BlockForm::kSegments) {
    const at::Tensor rows = at::arange(to.size(0), index);
    at::bucketize_out(const_cast<at::Tensor&>(to), rows, offsets.to(c10::kLong),
                      /*out_int32=*/false, /*right=*/true)
        .sub_(1);
    return;
  }
  const at::Tensor steps = at::arange(to.size(1), index);
  const at::Tensor rows = offsets.slice(0, 0, -1).unsqueeze(1).add(steps);  // [groups, length]
  at::Tensor is_there = rows.lt(offsets.slice(0, 1).unsqueeze(1));
  if (block.form == BlockForm::kMask) {
    to.copy_(is_there);
    return;
  }
  const at::Tensor values = wrap(block.sources.front());
  if (values.size(0) == 0) {
    to.zero_();
    return;
  }
  const at::Tensor inside = rows.clamp(0, values.size(0) - 1).flatten();
  at::Tensor flat = to.flatten(0, 1);
  at::index_select_out(flat, values, 0, inside);
  while (is_there.dim() < to.dim()) is_there = is_there.unsqueeze(-1);
  to.masked_fill_(is_there.logical_not(), 0);
}

}  // namespace

at::Tensor argument_of(const BoundBlock& block, bool is_written, std::size_t i,
                       ScratchPool::LoanWhenNeeded& scratch, CopyReport& copies) {
  if (block.form == BlockForm::kInPlace && !is_written) return wrap(block.tensor);

  at::Tensor copy = scratch->take(i, block.tensor);
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
    case BlockForm::kMask:
    case BlockForm::kSegments:
      if (copy.is_cpu()) {
        make_on_cpu(block, copy.mutable_data_ptr());
      } else {
        make_on_gpu(block, copy);
      }
      copies.add_in(bytes, CopyReason::kRagged);
      break;
  }
  return copy;
}

at::Tensor column_of(const BoundBlock& block, const at::Tensor& tensor, std::size_t column) {
  const bool has_columns_dimension = block.tensor.rank > block.sources[column].rank;
  return has_columns_dimension ? tensor.select(1, static_cast<std::int64_t>(column)) : tensor;
}

}  // namespace tensoa::pytorch
