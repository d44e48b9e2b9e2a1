// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensoa/core/tensor_view.hpp"

/// @file
/// For measurements only: what one torch tensor over a TensorView costs.

namespace tensoa::pytorch {

/// How a torch tensor is made over memory that is there already.
enum class TensorMaking : std::uint8_t {
  kBind,           ///< as our engines do it
  kFromBlob,       ///< at::from_blob that is told the device of the memory
  kFromBlobQuery,  ///< at::from_blob that asks the CUDA driver where the memory lies
};

/// Makes and drops `count` tensors over `view`, one after the other, in torch's inference mode.
/// @return bytes of the last tensor that do not lie in the memory of `view`: 0 where nothing was
/// copied. The contents are not read.
std::size_t make_tensors(TensorMaking making, const TensorView& view, std::size_t count);

}  // namespace tensoa::pytorch
