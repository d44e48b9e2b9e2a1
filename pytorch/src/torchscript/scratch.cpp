// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "torchscript/scratch.hpp"

#include <ATen/ops/empty.h>

#include <cstdint>

#include "runtime/tensors.hpp"

namespace tensoa::pytorch {

TensorView Scratch::take(std::size_t i, const TensorView& like) {
  if (i >= buffers_.size()) buffers_.resize(i + 1);
  at::Tensor& buffer = buffers_[i];
  const auto bytes = static_cast<std::int64_t>(like.bytes());
  if (!buffer.defined() || buffer.numel() < bytes) {
    buffer =
        at::empty({bytes}, c10::TensorOptions().dtype(c10::kByte).device(to_torch(like.device)));
  }
  TensorView packed = like;
  packed.data = buffer.mutable_data_ptr();
  packed.read_only = false;
  make_row_major(packed);
  return packed;
}

}  // namespace tensoa::pytorch
