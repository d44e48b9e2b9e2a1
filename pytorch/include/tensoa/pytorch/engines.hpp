// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tensoa/core/device.hpp"
#include "tensoa/engine/engine.hpp"

namespace tensoa::pytorch {

/// Makes the engines of this library known to Model, on CPU and CUDA.
///
/// Just in time: TorchScript files (any ending but .pt2). A model is a TorchScript module whose
/// `forward` takes tensors and gives a tensor, or a tuple, named tuple, list or dict of tensors. It is
/// set to evaluation, frozen and run without gradients. Inputs are bound without a copy where the
/// frozen graph is proven not to write them; an input that it may write is copied, which the
/// CopyReport counts, and the caller's memory stays as it is. TorchScript allocates its outputs, so
/// each output block costs one reported copy. Shapes and dtypes of outputs must be those of their
/// blocks; a block of one plain column takes [n] and [n, 1]. Tasks that a model forks run where they
/// are started, in the caller's thread.
///
/// Ahead of time: packages (.pt2) of `python -m tensoa.export`, made for the columns that
/// describe() wrote. They read and write columns where they lie, also those of a Repack; nothing is
/// copied, but inputs that are outputs too (reported). Ragged forms, and columns that differ from
/// those described in name, dtype or place, are a BindingError. A package runs only with the torch
/// version, processor or GPU architecture that it was made for, and is unpacked for as long as the
/// model lives into a private folder in $TENSOA_PACKAGE_FOLDER, $XDG_CACHE_HOME/tensoa or
/// ~/.cache/tensoa. Weights are there once for each device. TorchInductor's program is loaded for each
/// call that runs at the same time, by the first one on a queue; on a GPU that call waits for the
/// device. docs/ahead_of_time.md has more.
///
/// Loading a model sets two things of torch for the process: its intra-op and inter-op pools are
/// held at one thread, because parallelism is the caller's, and TorchScript's profiling executor is
/// off, because it compiles again for every new number of rows. The environment of the process is
/// left as it is. Calling it twice is harmless; `#include <tensoa/tensoa.hpp>` calls it.
void register_engines();

/// A package with CUDA graphs even where it does not say that its program can be captured: for a process
/// that finds out whether it can (`tensoa check --cuda-graphs`) and may be lost in doing so. Everybody
/// else loads a Model. @throws LoadError, DeviceError
std::shared_ptr<const Engine> load_to_try_graphs(const std::filesystem::path& path, Device device);

/// What the code of a GPU is called: "sm_90". @throws LoadError in a build without CUDA
std::string gpu_architecture_of(Device device);

/// The version of the libtorch that this was compiled with, e.g. "2.11.0".
std::string torch_version();

}  // namespace tensoa::pytorch
