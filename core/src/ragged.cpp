// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/ragged.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "device_ops.hpp"
#include "ragged.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

using detail::GroupMask;
using detail::Groups;
using detail::GroupSegments;
using detail::PaddedRows;

[[noreturn]] void refuse(const char* function, const std::string& what, const TensorView& got,
                         const std::string& expected) {
  throw ConfigError(std::string(function) + ": " + what + ' ' + to_string(got) + ", expected " +
                    expected);
}

void require_on(const char* function, const Queue& queue, const TensorView& tensor) {
  if (tensor.device == queue.device()) return;
  throw DeviceError(std::string(function) + ": got " + to_string(tensor) +
                    " and a queue of the device " + to_string(queue.device()) +
                    "; expected one device");
}

void require_to(const char* function, const Queue& queue, const TensorView& to) {
  require_on(function, queue, to);
  TensorView packed = to;
  const bool is_countable = make_row_major(packed);
  const bool is_packed = to.elements() == 0 || std::ranges::equal(packed.strides(), to.strides());
  if (!is_countable || !is_packed || to.read_only) {
    refuse(function, "writes", to, "memory that can be written, row-major, of 2^63 bytes at most");
  }
}

/// @param groups the number of groups; nothing where the tensor has no dimension of groups
Groups groups_in(const char* function, const Queue& queue, const TensorView& offsets,
                 std::optional<std::int64_t> groups) {
  require_on(function, queue, offsets);
  const bool is_index = offsets.dtype == DType::kI32 || offsets.dtype == DType::kI64;
  const std::int64_t got = offsets.rank == 1 ? offsets.size_of_dim[0] - 1 : -1;
  if (!is_index || got < 0 || got != groups.value_or(got)) {
    refuse(function, "got the offsets", offsets,
           "int32 or int64, one dimension, " +
               (groups ? std::to_string(*groups + 1) : std::string("one or more")) + " elements");
  }
  return {offsets.data, offsets.stride_of_dim[0], got, offsets.dtype == DType::kI64};
}

template <class Bits>
void pad_on_cpu(const PaddedRows& padded) {
  const auto* const from = reinterpret_cast<const Bits*>(padded.from);
  auto* to = reinterpret_cast<Bits*>(padded.to);
  for (std::int64_t g = 0; g < padded.groups.count; ++g) {
    const std::int64_t first = padded.groups.limited(g, padded.rows);
    const std::int64_t all = padded.groups.limited(g + 1, padded.rows) - first;
    const std::int64_t rows = std::clamp(all, std::int64_t{0}, padded.length);
    for (std::int64_t row = first; row < first + rows; ++row) {
      const Bits* const at = from + row * padded.row_stride;
      for (std::int64_t outer = 0; outer < padded.sizes[0]; ++outer) {
        for (std::int64_t inner = 0; inner < padded.sizes[1]; ++inner) {
          *to++ = at[outer * padded.strides[0] + inner * padded.strides[1]];
        }
      }
    }
    to = std::fill_n(to, (padded.length - rows) * padded.row_elements(), Bits{0});
  }
}

void write_on_cpu(const PaddedRows& padded) {
  detail::with_bits(padded.dtype, [&](auto bits) { pad_on_cpu<decltype(bits)>(padded); });
}

void write_on_cpu(const GroupMask& mask) {
  bool* to = mask.to;
  for (std::int64_t g = 0; g < mask.groups.count; ++g) {
    const std::int64_t all =
        mask.groups.limited(g + 1, detail::kAnyRows) - mask.groups.limited(g, detail::kAnyRows);
    const std::int64_t rows = std::clamp(all, std::int64_t{0}, mask.length);
    to = std::fill_n(std::fill_n(to, rows, true), mask.length - rows, false);
  }
}

void write_on_cpu(const GroupSegments& segments) {
  std::int64_t offsets = 0;  // up to the row
  for (std::int64_t row = 0; row < segments.rows; ++row) {
    while (offsets <= segments.groups.count && segments.groups.offset(offsets) <= row) ++offsets;
    segments.to[row] = offsets - 1;
  }
}

template <class Tensor>
std::size_t write(const Queue& queue, const Tensor& tensor, const TensorView& to) {
  if (tensor.elements() == 0) return 0;
  if (queue.device().is_cpu()) {
    write_on_cpu(tensor);
  } else {
    detail::gpu_write(queue.device().index, queue.native_handle(), tensor);
  }
  return to.bytes();
}

}  // namespace

std::size_t pad_rows(const Queue& queue, const TensorView& to, const TensorView& values,
                     const TensorView& offsets) {
  constexpr auto kName = "pad_rows";
  require_to(kName, queue, to);
  require_on(kName, queue, values);
  if (values.rank == 0 || to.rank != values.rank + 1 || to.dtype != values.dtype ||
      !std::ranges::equal(to.sizes().subspan(2), values.sizes().subspan(1)) ||
      std::ranges::any_of(values.strides(), [](std::int64_t stride) { return stride < 0; })) {
    refuse(kName, "writes " + to_string(to) + " from", values,
           "values of that dtype with the same sizes after the first, and strides from 0 on");
  }
  PaddedRows padded{.to = static_cast<std::byte*>(to.data),
                    .from = static_cast<const std::byte*>(values.data),
                    .groups = groups_in(kName, queue, offsets, to.size_of_dim[0]),
                    .dtype = to.dtype,
                    .rows = values.size_of_dim[0],
                    .length = to.size_of_dim[1],
                    .row_stride = values.stride_of_dim[0]};
  // The last two dimensions of a row; kMaxRank leaves no more.
  for (std::size_t dim = 1; dim < values.rank; ++dim) {
    const std::size_t place = dim + 2 - values.rank;
    padded.sizes[place] = values.size_of_dim[dim];
    padded.strides[place] = values.stride_of_dim[dim];
  }
  return write(queue, padded, to);
}

std::size_t write_mask(const Queue& queue, const TensorView& to, const TensorView& offsets) {
  constexpr auto kName = "write_mask";
  require_to(kName, queue, to);
  if (to.dtype != DType::kBool || to.rank != 2) {
    refuse(kName, "writes", to, "bool of two dimensions");
  }
  const Groups groups = groups_in(kName, queue, offsets, to.size_of_dim[0]);
  return write(queue, GroupMask{static_cast<bool*>(to.data), groups, to.size_of_dim[1]}, to);
}

std::size_t write_segments(const Queue& queue, const TensorView& to, const TensorView& offsets) {
  constexpr auto kName = "write_segments";
  require_to(kName, queue, to);
  if (to.dtype != DType::kI64 || to.rank != 1) {
    refuse(kName, "writes", to, "int64 of one dimension");
  }
  const Groups groups = groups_in(kName, queue, offsets, std::nullopt);
  return write(queue, GroupSegments{static_cast<std::int64_t*>(to.data), groups, to.size_of_dim[0]},
               to);
}

}  // namespace tensoa
