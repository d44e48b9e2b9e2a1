// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "seams/torch_seam.hpp"

namespace tensoa::tools {

/// The part of libtensoa_torch.so for the program alone.
struct TorchTools {
  MemoryOfCall (*memory_of_call)(Device device, const std::function<void()>& call);
};

}  // namespace tensoa::tools

/// The name that is looked up.
extern "C" const tensoa::tools::TorchTools tensoa_torch_tools;
