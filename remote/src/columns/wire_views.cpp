// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "columns/wire_views.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tensoa::remote {
namespace {

/// Dimensions in the order of planes in memory, rows last: [n, k, R, C] becomes [k, C, R, n]. The elements of
/// scalars are there once, not for each row.
TensorView by_planes(const BoundBlock& block, const TensorView& tensor) {
  const ColumnKind kind =
      block.columns.empty() ? ColumnKind::kPlain : block.columns.front().info.kind;
  const std::size_t rows = &tensor == &block.tensor ? block.row_dimension() : 0;
  std::vector<std::size_t> order;
  for (std::size_t dim = 0; dim < tensor.rank; ++dim) {
    if (dim != rows) order.push_back(dim);
  }
  if (kind == ColumnKind::kMatrix) std::swap(order[order.size() - 1], order[order.size() - 2]);
  order.push_back(rows);
  TensorView planes = tensor;
  for (std::size_t i = 0; i < order.size(); ++i) {
    planes.size_of_dim[i] = tensor.size_of_dim[order[i]];
    planes.stride_of_dim[i] = tensor.stride_of_dim[order[i]];
  }
  if (kind == ColumnKind::kScalar) {
    std::int64_t& elements = planes.size_of_dim[tensor.rank - 1U];
    elements = std::min<std::int64_t>(elements, 1);
  }
  return planes;
}

}  // namespace

std::vector<TensorView> wire_views(const BoundBlock& block, WireOrder order, DType dtype) {
  if (block.form != BlockForm::kInPlace && block.form != BlockForm::kRepacked) return {};
  std::vector<TensorView> views;
  if (order == WireOrder::kRows) {
    if (block.form == BlockForm::kInPlace) views.push_back(block.tensor);
    return views;
  }
  for (const TensorView& tensor : block.memory()) {
    if (tensor.dtype != dtype) return {};
    views.push_back(by_planes(block, tensor));
  }
  return views;
}

}  // namespace tensoa::remote
