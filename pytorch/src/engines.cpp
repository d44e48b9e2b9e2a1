// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/pytorch/engines.hpp"

#include <torch/version.h>

#include "inductor_program.hpp"
#include "jit_engine.hpp"
#include "tensoa/package/engines.hpp"

namespace tensoa::pytorch {

void register_engines() {
  package::register_engines();
  package::register_program_kind({.name = "inductor", .load = load_inductor_program});
  register_engine(
      {.name = "TorchScript",
       .compilation = CompilationType::kJustInTime,
       .accepts = [](const std::filesystem::path& path) { return path.extension() != ".pt2"; },
       .load = load_jit_engine});
}

std::string torch_version() { return TORCH_VERSION; }

}  // namespace tensoa::pytorch
