// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/strided_copy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "device_ops.hpp"
#include "strided.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

using detail::StridedCopy;

/// Rows of a plane that are copied before the next of its columns: they stay in the cache.
constexpr std::int64_t kTileRows = 256;

/// The most 2-D copies that are enqueued instead of one kernel.
constexpr std::int64_t kMostPlanes = 16;

/// cudaMemcpy2D takes no more bytes from row to row (cudaDevAttrMaxPitch).
constexpr std::size_t kMostPitch = std::numeric_limits<std::int32_t>::max();

[[noreturn]] void refuse(const TensorView& to, const TensorView& from, const std::string& why) {
  throw ConfigError("strided_copy: from " + to_string(from) + " to " + to_string(to) + ": " + why);
}

void require_copyable(const TensorView& to, const TensorView& from) {
  if (!std::ranges::equal(to.sizes(), from.sizes())) {
    refuse(to, from, "expected tensors of the same sizes");
  }
  if (to.read_only) refuse(to, from, "its memory is read-only");
  if (to.elements() == 0) return;
  for (std::size_t dim = 0; dim < to.rank; ++dim) {
    if (to.size_of_dim[dim] < 2) continue;
    if (from.stride_of_dim[dim] < 0 || to.stride_of_dim[dim] < 0 || to.stride_of_dim[dim] == 0) {
      refuse(to, from,
             "the strides of dimension " + std::to_string(dim) + " are " +
                 std::to_string(from.stride_of_dim[dim]) + " and " +
                 std::to_string(to.stride_of_dim[dim]) +
                 "; expected 0 or more, and at least 1 where several elements are written");
    }
  }
}

/// The fewest dimensions, from the smallest step of the memory that is written to the largest.
StridedCopy simplified(const TensorView& to, const TensorView& from) {
  StridedCopy copy{.to = static_cast<std::byte*>(to.data),
                   .from = static_cast<const std::byte*>(from.data),
                   .to_dtype = to.dtype,
                   .from_dtype = from.dtype};
  std::array<std::size_t, kMaxRank> dims{};
  std::size_t count = 0;
  for (std::size_t dim = 0; dim < to.rank; ++dim) {
    if (to.size_of_dim[dim] < 2) continue;
    std::size_t at = count++;
    for (; at > 0 && to.stride_of_dim[dims[at - 1]] > to.stride_of_dim[dim]; --at) {
      dims[at] = dims[at - 1];
    }
    dims[at] = dim;
  }
  std::size_t rank = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t dim = dims[i];
    if (rank > 0) {
      const std::int64_t inner = copy.sizes[rank - 1];
      if (to.stride_of_dim[dim] == inner * copy.to_strides[rank - 1] &&
          from.stride_of_dim[dim] == inner * copy.from_strides[rank - 1]) {
        copy.sizes[rank - 1] *= to.size_of_dim[dim];
        continue;
      }
    }
    copy.sizes[rank] = to.size_of_dim[dim];
    copy.to_strides[rank] = to.stride_of_dim[dim];
    copy.from_strides[rank] = from.stride_of_dim[dim];
    ++rank;
  }
  copy.rank = static_cast<std::uint8_t>(std::max<std::size_t>(rank, 1));
  return copy;
}

/// Makes `next` one more index of an outer dimension of `sum`, if it is as far from `last`, the one before it, as that
/// from its own.
bool join(StridedCopy& sum, const StridedCopy& last, const StridedCopy& next) {
  const std::size_t rank = last.rank;
  if (rank == kMaxRank || next.rank != rank || next.to_dtype != last.to_dtype ||
      next.from_dtype != last.from_dtype || next.sizes != last.sizes ||
      next.to_strides != last.to_strides || next.from_strides != last.from_strides) {
    return false;
  }
  const auto to_size = static_cast<std::int64_t>(size_of(last.to_dtype));
  const auto from_size = static_cast<std::int64_t>(size_of(last.from_dtype));
  const std::int64_t to = next.to - last.to;
  const std::int64_t from = next.from - last.from;
  if (to <= 0 || from < 0 || to % to_size != 0 || from % from_size != 0) return false;
  if (sum.rank == rank) {
    ++sum.rank;
    sum.to_strides[rank] = to / to_size;
    sum.from_strides[rank] = from / from_size;
  } else if (sum.to_strides[rank] != to / to_size || sum.from_strides[rank] != from / from_size) {
    return false;
  }
  ++sum.sizes[rank];
  return true;
}

/// Calls `action(to, from)` for each part of the copy in the dimensions from `first` on.
template <class Action>
void for_each_part(const StridedCopy& copy, std::size_t first, const Action& action) {
  const auto to_size = static_cast<std::int64_t>(size_of(copy.to_dtype));
  const auto from_size = static_cast<std::int64_t>(size_of(copy.from_dtype));
  std::array<std::int64_t, kMaxRank> at{};
  for (;;) {
    std::byte* to = copy.to;
    const std::byte* from = copy.from;
    for (std::size_t dim = first; dim < copy.rank; ++dim) {
      to += at[dim] * copy.to_strides[dim] * to_size;
      from += at[dim] * copy.from_strides[dim] * from_size;
    }
    action(to, from);
    std::size_t dim = first;
    while (dim < copy.rank && ++at[dim] == copy.sizes[dim]) at[dim++] = 0;
    if (dim >= copy.rank) return;
  }
}

template <class To, class From>
void copy_plane(const StridedCopy& copy, std::byte* to_bytes, const std::byte* from_bytes) {
  auto* const to = reinterpret_cast<To*>(to_bytes);
  const auto* const from = reinterpret_cast<const From*>(from_bytes);
  const auto& [columns, rows, unused_0, unused_1] = copy.sizes;
  for (std::int64_t first = 0; first < rows; first += kTileRows) {
    const std::int64_t end = std::min(rows, first + kTileRows);
    for (std::int64_t column = 0; column < columns; ++column) {
      To* const to_column = to + column * copy.to_strides[0];
      const From* const from_column = from + column * copy.from_strides[0];
      for (std::int64_t row = first; row < end; ++row) {
        to_column[row * copy.to_strides[1]] =
            converted<To>(from_column[row * copy.from_strides[1]]);
      }
    }
  }
}

/// Of rows, or of single elements of one dtype. @return whether a GPU can do it so
bool copy_by_2d_copies(const Queue& queue, const StridedCopy& copy, std::int64_t most_planes) {
  StridedCopy rows = copy;
  if (!copy.has_rows()) {  // then a row has one element
    if (copy.to_dtype != copy.from_dtype || copy.rank == kMaxRank) return false;
    std::shift_right(rows.sizes.begin(), rows.sizes.end(), 1);
    std::shift_right(rows.to_strides.begin(), rows.to_strides.end(), 1);
    std::shift_right(rows.from_strides.begin(), rows.from_strides.end(), 1);
    rows.sizes[0] = 1;
    ++rows.rank;
  }
  for (std::size_t dim = 1; dim < rows.rank; ++dim) {
    if (rows.from_strides[dim] < rows.sizes[0]) return false;  // no pitch: it is broadcast
  }
  if (rows.sizes[2] * rows.sizes[3] > most_planes) return false;
  const std::size_t element = size_of(copy.to_dtype);
  const std::size_t width = static_cast<std::size_t>(rows.sizes[0]) * element;
  const auto pitch = [&](std::int64_t stride) {
    return rows.rank > 1 ? static_cast<std::size_t>(stride) * element : width;
  };
  const std::size_t to_pitch = pitch(rows.to_strides[1]);
  const std::size_t from_pitch = pitch(rows.from_strides[1]);
  const auto height = static_cast<std::size_t>(rows.sizes[1]);
  const int device = queue.device().index;
  for_each_part(rows, 2, [&](std::byte* to, const std::byte* from) {
    if (std::max(to_pitch, from_pitch) <= kMostPitch) {
      detail::gpu_copy_2d(device, queue.native_handle(), to, to_pitch, from, from_pitch, width,
                          height);
      return;
    }
    for (std::size_t row = 0; row < height; ++row) {
      detail::gpu_copy(device, queue.native_handle(), to + row * to_pitch, from + row * from_pitch,
                       width);
    }
  });
  return true;
}

}  // namespace

namespace detail {

void copy_on_cpu(const StridedCopy& copy) {
  if (copy.has_rows()) {
    const std::size_t bytes = static_cast<std::size_t>(copy.sizes[0]) * size_of(copy.to_dtype);
    for_each_part(copy, 1,
                  [bytes](std::byte* to, const std::byte* from) { std::memcpy(to, from, bytes); });
    return;
  }
  with_types(copy.to_dtype, copy.from_dtype, [&](auto to_type, auto from_type) {
    StridedCopy planes = copy;
    if (copy.rank == 1) {  // rows of one column, which the compiler can make vectors of
      planes.rank = 2;
      std::swap(planes.sizes[0], planes.sizes[1]);
      std::swap(planes.to_strides[0], planes.to_strides[1]);
      std::swap(planes.from_strides[0], planes.from_strides[1]);
    }
    for_each_part(planes, 2, [&](std::byte* to, const std::byte* from) {
      copy_plane<decltype(to_type), decltype(from_type)>(planes, to, from);
    });
  });
}

}  // namespace detail

namespace {

void require_reachable(const Queue& queue, const TensorView& to, const TensorView& from) {
  for (const Device side : {to.device, from.device}) {
    if (side.is_cpu() || side == queue.device()) continue;
    throw DeviceError("strided_copy: from " + to_string(from) + " to " + to_string(to) +
                      " needs a queue of the CUDA device, got one of " + to_string(queue.device()));
  }
}

/// Copies that a GPU makes.
class CopiesOnGpu {
 public:
  explicit CopiesOnGpu(const Queue& queue) : queue_(queue) {}

  void add(const TensorView& to, const TensorView& from) {
    const StridedCopy copy = simplified(to, from);
    if (to.device.is_cpu() || from.device.is_cpu()) {
      if (copy_by_2d_copies(queue_, copy, copy.elements())) return;
      refuse(to, from,
             "between host and GPU the dtypes are the same and nothing is broadcast; copy to the "
             "device first, then there");
    }
    if (!detail::gpu_has_kernels()) {
      if (!copy_by_2d_copies(queue_, copy, copy.elements())) write({&copy, 1});
      return;
    }
    if (count_ > 0 && join(copies_[count_ - 1], last_, copy)) {
      is_joined_ = true;
    } else {
      if (count_ == copies_.size()) enqueue();
      copies_[count_++] = copy;
    }
    last_ = copy;
  }

  /// Those within the GPU, which were kept until now.
  void enqueue() {
    const auto copies = std::span<const StridedCopy>(copies_).first(std::exchange(count_, 0));
    const bool is_joined = std::exchange(is_joined_, false);
    if (copies.empty()) return;
    // A 2-D copy stays within one allocation, what was joined may be in several.
    const bool may_be_2d = copies.size() == 1 && !is_joined && copies[0].has_rows();
    if (may_be_2d && copy_by_2d_copies(queue_, copies[0], kMostPlanes)) return;
    write(copies);
  }

 private:
  void write(std::span<const StridedCopy> copies) const {
    detail::gpu_write(queue_.device().index, queue_.native_handle(), copies);
  }

  const Queue& queue_;
  detail::CopiesOfKernel copies_;
  std::size_t count_ = 0;
  bool is_joined_ = false;
  StridedCopy last_;  ///< the last one, before it was joined to others
};

}  // namespace

std::size_t strided_copies(const Queue& queue, std::span<const TensorCopy> copies) {
  std::size_t bytes = 0;
  for (const auto& [to, from] : copies) {
    require_copyable(to, from);
    if (to.elements() > 0) require_reachable(queue, to, from);
    bytes += to.bytes();
  }
  if (queue.device().is_cpu()) {
    for (const auto& [to, from] : copies) {
      if (to.elements() > 0) detail::copy_on_cpu(simplified(to, from));
    }
    return bytes;
  }
  CopiesOnGpu on_gpu(queue);
  for (const auto& [to, from] : copies) {
    if (to.elements() > 0) on_gpu.add(to, from);
  }
  on_gpu.enqueue();
  return bytes;
}

std::size_t strided_copy(const Queue& queue, const TensorView& to, const TensorView& from) {
  const TensorCopy copy{to, from};
  return strided_copies(queue, {&copy, 1});
}

}  // namespace tensoa
