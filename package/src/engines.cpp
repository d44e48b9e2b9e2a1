// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/engines.hpp"

#include "aot_engine.hpp"
#include "fused.hpp"

namespace tensoa::package {

void register_engines() {
  register_program_kind({.name = std::string(kFused), .load = load_fused_program});
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

}  // namespace tensoa::package
