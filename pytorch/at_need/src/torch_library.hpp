// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tensoa/engine/loader.hpp"
#include "tensoa/package/program.hpp"

namespace tensoa::pytorch {

/// The interface of libtensoa_torch.so.
struct TorchLibrary {
  const char*
      version;  ///< kVersion of what it was built with; only then do the others mean what they say
  /// &register_loader as it sees it: the program's own, or the library has a second tensoa in addition to that of the program.
  void (*register_loader)(std::shared_ptr<const EngineLoader>);
  void (*register_engines)();
  std::unique_ptr<package::Program> (*load_inductor)(const package::Package& package, Device device,
                                                     const package::Options& options,
                                                     package::GraphTrial trial);
};

/// register_engines() is there: nothing replaces its engines, and nothing has to be opened.
void note_torch_is_open();

}  // namespace tensoa::pytorch

/// The name that is looked up.
extern "C" const tensoa::pytorch::TorchLibrary tensoa_torch_library;
