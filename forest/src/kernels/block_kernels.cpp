// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/block_kernels.hpp"

#include <bit>

namespace tensoa::forest {
namespace {

const BlockKernels* best() noexcept {
  if (const BlockKernels* const kernels = avx512_block_kernels()) return kernels;
  if (const BlockKernels* const kernels = avx2_block_kernels()) return kernels;
  return plain_block_kernels();
}

}  // namespace

const BlockKernels& block_kernels_for(int words) noexcept {
  static const BlockKernels* const kernels = best();
  return kernels[std::bit_width(static_cast<unsigned>(words - 1))];
}

}  // namespace tensoa::forest
