// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

#include "bench/tensor_cost.hpp"
#include "seams/torch_seam.hpp"

namespace tensoa::tools {

/// What libtensoa_torch.so has for the program alone.
struct TorchTools {
  MemoryOfCall (*memory_of_call)(Device device, const std::function<void()>& call);
  std::size_t (*make_tensors)(bench::TensorMaking making, const TensorView& view,
                              std::size_t count);
};

}  // namespace tensoa::tools

/// The name that is looked up.
extern "C" const tensoa::tools::TorchTools tensoa_torch_tools;
