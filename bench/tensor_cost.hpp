// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensoa/core/tensor_view.hpp"
#include "tensoa/engine/model_options.hpp"

/// @file
/// The cost of one torch tensor over a TensorView. A seam, chosen at link time: tensor_cost_torch.cpp, which opens
/// libtensoa_bench_torch.so, or tensor_cost_none.cpp.

namespace tensoa::bench {

/// How a torch tensor is made over memory that is there already.
enum class TensorMaking : std::uint8_t {
  kBind,           ///< as our engines do it
  kFromBlob,       ///< at::from_blob with the device of the memory given
  kFromBlobQuery,  ///< at::from_blob that asks the CUDA driver where the memory lies
};

/// @throws ConfigError in a build without torch, and where it cannot be loaded
void require_torch();

/// Makes and drops `count` tensors over `view`, one after the other, in torch's inference mode.
/// @return bytes of the last tensor that do not lie in the memory of `view`: 0 where nothing was
/// copied. The contents are not read.
std::size_t make_tensors(TensorMaking making, const TensorView& view, std::size_t count);

using MakeTensors = std::size_t (*)(TensorMaking making, const TensorView& view, std::size_t count);

/// Makes a TorchScript model compute in float64. @throws ConfigError in a build without torch
ModelOptions in_float64();

}  // namespace tensoa::bench

/// The name in libtensoa_bench_torch.so: make_tensors().
extern "C" const tensoa::bench::MakeTensors tensoa_bench_make_tensors;
