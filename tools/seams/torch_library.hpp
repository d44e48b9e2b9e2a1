// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "bench/tensor_cost.hpp"
#include "seams/torch_seam.hpp"
#include "tensoa/package/program.hpp"

namespace tensoa::tools {

/// What libtensoa_torch.so gives the program: all that needs torch. It uses the program's own copy of the layers that both
/// have (docs/decisions/0050-torch-at-need.md).
struct TorchLibrary {
  void (*register_engines)();
  std::unique_ptr<package::Program> (*load_inductor)(const package::Package& package, Device device,
                                                     const package::Options& options,
                                                     package::GraphTrial trial);
  MemoryOfCall (*memory_of_call)(Device device, const std::function<void()>& call);
  std::size_t (*make_tensors)(bench::TensorMaking making, const TensorView& view,
                              std::size_t count);
};

}  // namespace tensoa::tools

/// The only name that the program looks up.
extern "C" const tensoa::tools::TorchLibrary tensoa_torch_library;
