// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "tensoa/core/tensor_view.hpp"
#include "tensoa/soa/foreign_view.hpp"

/// @file
/// Foreign tensors as the columns of a layout, without a copy: the reverse of
/// SoAMetadata::append_block.

namespace tensoa::interop {

/// Tensor `index` along dimension `dim`, without that dimension: `select(points, 1, 0)` is the first
/// column of a tensor [n, 3]. O(1).
/// @throws BindingError when there is no such dimension or index
TensorView select(const TensorView& tensor, std::size_t dim, std::int64_t index);

namespace detail {

struct TensorColumns {
  std::size_t size;
  Device device;
};

/// Checks the tensors and fills `places`.
TensorColumns place_columns(std::span<const TensorView> tensors, std::span<const FieldInfo> fields,
                            std::span<const std::string_view> names, bool writable,
                            std::span<ForeignColumn> places);

template <class Columns, template <template <class> class> class Layout, bool kConst>
BasicView<Columns, Layout, kConst> view_over(
    std::type_identity<BasicView<Columns, Layout, kConst>> tag,
    std::span<const TensorView> tensors) {
  std::array<ForeignColumn, kFieldCount<Layout>> places;
  const TensorColumns found =
      place_columns(tensors, kFieldInfo<Layout>, kFieldNames<Layout>, !kConst, places);
  return tensoa::view_over(tag, places, found.size, found.device);
}

}  // namespace detail

/// The columns of `Layout` over tensors, one for each field in declaration order, those of Subs
/// included; what the view writes, the tensors' owner sees.
///
/// | field | tensor | strides (P: any pitch of at least n) |
/// | --- | --- | --- |
/// | plain | [n] or [n, 1] | (1) |
/// | Vector<T, N> | [n, N] | (1, P) |
/// | Matrix<T, R, C> | [n, R, C] | (1, P, R P) |
/// | Scalar | one element, or [n] or [n, 1] broadcast | (0) |
///
/// A scalar that is broadcast to no rows has no value; columns without rows may be null: the
/// view then has its own addresses for them. Columns are dense along the rows. A row-major
/// tensor [n, k] does not fit; in torch `t.t().contiguous().t()` has the same values and fits.
/// *Lifetime*: the tensors' memory must outlive the view (ImportedTensor::owner).
/// @throws BindingError naming field and tensor: another number of tensors, dtype, shape, strides or
/// device; a read-only tensor; columns that overlap, are null or not aligned to their element size
template <template <template <class> class> class Layout>
View<Layout> view_of(std::span<const TensorView> tensors) {
  return detail::view_over(std::type_identity<View<Layout>>{}, tensors);
}

/// The same over const data; accepts read-only tensors.
template <template <template <class> class> class Layout>
ConstView<Layout> const_view_of(std::span<const TensorView> tensors) {
  return detail::view_over(std::type_identity<ConstView<Layout>>{}, tensors);
}

}  // namespace tensoa::interop
