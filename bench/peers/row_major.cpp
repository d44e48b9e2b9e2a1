// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "row_major.hpp"

#include <algorithm>
#include <cstdint>

namespace tensoa::peers {
namespace {

/// Copies the elements of a tensor from `dimension` on, row-major. @return the end of the copy
std::byte* pack(const TensorView& tensor, std::size_t dimension, const std::byte* from,
                std::byte* to) {
  const std::size_t size = size_of(tensor.dtype);
  if (dimension == tensor.rank) return std::copy_n(from, size, to);
  const std::int64_t step = tensor.stride_of_dim[dimension] * static_cast<std::int64_t>(size);
  for (std::int64_t i = 0; i < tensor.size_of_dim[dimension]; ++i)
    to = pack(tensor, dimension + 1, from + i * step, to);
  return to;
}

}  // namespace

RowMajor::RowMajor(const Binding& binding) {
  for (const auto* blocks : {&binding.inputs, &binding.outputs}) {
    for (const BoundBlock& block : *blocks) {
      TensorView tensor = block.tensor;
      std::vector<std::byte>& memory = memory_.emplace_back(tensor.bytes());
      pack(tensor, 0, static_cast<const std::byte*>(tensor.data), memory.data());
      tensor.data = memory.data();
      make_row_major(tensor);
      // A model that gives one number for a row has [n], where the block has [n, 1].
      if (blocks == &binding.outputs && tensor.size_of_dim[1] == 1) tensor.rank = 1;
      tensors_.push_back(tensor);
      names_.push_back(block.name);
    }
  }
}

std::vector<float> RowMajor::answer() const {
  const TensorView& tensor = tensors_.back();
  const auto n = static_cast<std::size_t>(tensor.size_of_dim[0]);
  const auto k = static_cast<std::size_t>(tensor.size_of_dim[1]);
  std::vector<float> columns(n * k);
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t i = 0; i < k; ++i)
      columns[i * n + row] = static_cast<const float*>(tensor.data)[row * k + i];
  }
  return columns;
}

}  // namespace tensoa::peers
