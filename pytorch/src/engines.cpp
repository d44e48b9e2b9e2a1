// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/pytorch/engines.hpp"

#include <torch/version.h>

#include "aot_engine.hpp"
#include "jit_engine.hpp"

namespace tensoa::pytorch {

void register_engines() {
  register_engine(
      {.name = "TorchScript",
       .compilation = CompilationType::kJustInTime,
       .accepts = [](const std::filesystem::path& path) { return path.extension() != ".pt2"; },
       .load = load_jit_engine});
  register_engine(
      {.name = "package",
       .compilation = CompilationType::kAheadOfTime,
       .accepts = [](const std::filesystem::path& path) { return path.extension() == ".pt2"; },
       .load = [](const std::filesystem::path& path, Device device,
                  const ModelOptions& options) { return load_aot_engine(path, device, options); }});
}

std::shared_ptr<const Engine> load_to_try_graphs(const std::filesystem::path& path, Device device) {
  return load_aot_engine(path, device, {.dtype = {}, .cuda_graphs = true}, GraphTrial::kYes);
}

std::string torch_version() { return TORCH_VERSION; }

}  // namespace tensoa::pytorch
