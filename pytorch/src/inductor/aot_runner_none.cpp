// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "inductor/aot_runner.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::pytorch {

std::unique_ptr<AotRunner> make_gpu_runner(const std::filesystem::path& /*library*/, Device device,
                                           AotWeights& /*weights*/) {
  throw LoadError("programs of TorchInductor for " + to_string(device) +
                  " cannot be loaded: this libtorch is for the CPU only");
}

}  // namespace tensoa::pytorch
