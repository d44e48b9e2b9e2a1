// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "inductor/inductor_program.hpp"
#include "tensoa/core/version.hpp"
#include "tensoa/pytorch/engines.hpp"
#include "torch_library.hpp"

// libtensoa_torch.so: see at_need/.

extern "C" __attribute__((visibility("default")))
const tensoa::pytorch::TorchLibrary tensoa_torch_library{
    .version = tensoa::kVersion.data(),
    .register_loader = &tensoa::register_loader,
    .register_engines = tensoa::pytorch::register_engines,
    .load_inductor = tensoa::pytorch::load_inductor_program,
};
