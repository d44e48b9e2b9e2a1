// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "scratch.hpp"

#include <ATen/ops/empty.h>

#include <cstdint>
#include <utility>

#include "tensors.hpp"

namespace tensoa::pytorch {

at::Tensor Scratch::take(std::size_t i, const TensorView& like) {
  if (i >= buffers_.size()) buffers_.resize(i + 1);
  at::Tensor& buffer = buffers_[i];
  const auto bytes = static_cast<std::int64_t>(like.bytes());
  if (!buffer.defined() || buffer.numel() < bytes) {
    buffer =
        at::empty({bytes}, c10::TensorOptions().dtype(c10::kByte).device(to_torch(like.device)));
  }
  TensorView packed = like;
  packed.data = buffer.mutable_data_ptr();
  make_row_major(packed);
  return wrap(packed);
}

Scratch& ScratchPool::Loan::get() {
  if (scratch_ == nullptr) {
    const std::lock_guard lock(pool_.mutex_);
    const auto found = pool_.idle_.find(key_);
    if (found != pool_.idle_.end()) {
      scratch_ = std::move(found->second);
      pool_.idle_.erase(found);
    } else {
      scratch_ = std::make_unique<Scratch>();
    }
  }
  return *scratch_;
}

ScratchPool::Loan::~Loan() {
  if (scratch_ == nullptr) return;
  const std::lock_guard lock(pool_.mutex_);
  pool_.idle_.emplace(key_, std::move(scratch_));
}

}  // namespace tensoa::pytorch
