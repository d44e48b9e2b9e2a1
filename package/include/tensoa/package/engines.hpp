// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tensoa/core/device.hpp"
#include "tensoa/engine/engine.hpp"

namespace tensoa::package {

/// Makes the engine of packages (.pt2, written by `tensoa compile`) known to Model, on CPU and
/// CUDA, with fused programs. Those of TorchInductor need torch: pytorch::register_engines() adds them.
///
/// Packages are made for the columns that describe() wrote. They read and write columns where they lie,
/// also those of a Repack. Copied, and reported, are: inputs that are outputs too; columns of a Repack that
/// lie otherwise than described; what CUDA graphs of TorchInductor's programs read and write. Ragged forms,
/// and columns that differ from those described in name, dtype or place, are a BindingError. A package runs
/// only on the processor or GPU architecture that it was made for. What has to be a file is unpacked, for as
/// long as the model lives, into a private folder below $TENSOA_PACKAGE_FOLDER, $XDG_CACHE_HOME/tensoa or
/// ~/.cache/tensoa. Weights are there once for each device. docs/ahead_of_time.md has more.
///
/// Calling it twice is harmless; `#include <tensoa/tensoa.hpp>` calls it.
void register_engines();

/// A package with CUDA graphs even where it does not store that its program can be captured: for a process
/// that finds out whether it can (`tensoa check --cuda-graphs`) and may be lost in doing so. Everybody
/// else loads a Model. @throws LoadError, DeviceError
std::shared_ptr<const Engine> load_to_try_graphs(const std::filesystem::path& path, Device device);

/// The name of the code of a GPU: "sm_90". @throws LoadError in a build without CUDA; DeviceError
std::string gpu_architecture_of(Device device);

}  // namespace tensoa::package
