// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/tensor_view.hpp"

#include <limits>
#include <utility>

namespace tensoa {

Extent extent_of(const void* data, std::span<const std::int64_t> sizes,
                 std::span<const std::int64_t> strides, std::size_t element_size) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    if (sizes[dim] == 0) return {begin, begin};
    elements += (sizes[dim] - 1) * strides[dim];
  }
  return {begin, begin + static_cast<std::uintptr_t>(elements) * element_size};
}

Extent extent_of(const TensorView& view) noexcept {
  return extent_of(view.data, view.sizes(), view.strides(), size_of(view.dtype));
}

bool make_row_major(TensorView& view) noexcept {
  std::int64_t stride = 1;
  bool is_too_large = false;
  for (std::size_t dim = view.rank; dim-- > 0;) {
    view.stride_of_dim[dim] = stride;
    const std::int64_t size = std::max<std::int64_t>(view.size_of_dim[dim], 1);
    is_too_large |= __builtin_mul_overflow(stride, size, &stride);
  }
  return !is_too_large &&
         std::cmp_less_equal(stride, std::numeric_limits<std::int64_t>::max() /
                                         static_cast<std::int64_t>(size_of(view.dtype)));
}

std::string to_string(const TensorView& view) {
  std::string text(name_of(view.dtype));
  text += '[';
  for (std::size_t dim = 0; dim < view.rank; ++dim) {
    if (dim > 0) text += ", ";
    text += std::to_string(view.size_of_dim[dim]);
  }
  return text + "] on " + to_string(view.device);
}

}  // namespace tensoa
