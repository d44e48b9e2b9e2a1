// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace tensoa::pytorch {

/// Registers the engines of pytorch::register_engines() with Model, for programs that do not link torch. The first
/// model that needs it, TorchScript, a program of torch.export or a package of TorchInductor, opens
/// libtensoa_torch.so, and torch with it: half a second and 350 MB, for the rest of the process. Until then, and for
/// all other models, torch need not be there. Where it is not, or is another release than the one that tensoa was
/// built with, loading such a model throws a LoadError with the reason.
///
/// libtensoa_torch.so is looked for as find_in_own_library() does, torch where its RUNPATH or LD_LIBRARY_PATH leads.
/// It uses the program's own copy of tensoa, whose names the program must export: the CMake target
/// `tensoa::pytorch_at_need`, which `tensoa::tensoa` has, links it so. Those who link by hand add
/// `-Wl,--export-dynamic`; without that it is a LoadError, too.
///
/// A second call has no effect, nor has one after pytorch::register_engines(); `#include <tensoa/tensoa.hpp>` makes
/// the first one.
/// @param find called where the linker finds no torch: brings its libraries into the process, if it can
void register_engines_at_need(std::function<void()> find = [] {});

/// Whether torch was opened so.
bool torch_is_open();

/// The version of torch that this was built with, e.g. "2.11.0".
std::string torch_at_need_version();

/// A name in libtensoa_torch.so, which is opened.
/// @throws std::runtime_error that names the missing part
void* find_in_torch_library(const char* symbol);

}  // namespace tensoa::pytorch
