// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tensoa::pytorch {

/// Registers the engines of this library with Model, on CPU and CUDA.
///
/// Just in time: TorchScript files, whatever they are called. A model is a TorchScript module whose
/// `forward` accepts tensors and returns a tensor, or a tuple, named tuple, list or dict of tensors. It is
/// set to evaluation, frozen and run without gradients. Inputs are bound without a copy where the
/// frozen graph is proven not to write them; an input that it may write is copied, which the
/// CopyReport counts, and the caller's memory stays as it is. TorchScript allocates its outputs, so
/// each output block costs one reported copy. Shapes and dtypes of outputs must be those of their
/// blocks; a block of one plain column accepts [n] and [n, 1]. Tasks that a model forks run where they
/// are started, in the caller's thread.
///
/// Just in time, too: programs of torch.export (torch.export.save), on any device, operator by operator.
/// Their inputs are read where they lie; an output is written into its columns by the last operator
/// where that can do so, else copied and reported. A program that changes its inputs, parameters or
/// buffers, calls other graphs, or uses an operator that this torch lacks is a LoadError with the name
/// of the node. docs/just_in_time.md has more.
///
/// Ahead of time: packages, as package::register_engines(), which it calls, with programs of TorchInductor,
/// too. Those run only with the torch version that they were made for. The program is loaded once for each
/// call that runs at the same time, by the first call on a queue, which on a GPU waits for the device; the
/// weights are loaded once for each device.
///
/// Loading a model changes two settings of torch in the process: its intra-op and inter-op pools are
/// limited to one thread, because the caller owns the threads, and TorchScript's profiling executor is
/// off, because it would compile again for every new number of rows. The environment of the process is
/// unchanged. A second call has no effect; `#include <tensoa/tensoa.hpp>` makes the first one.
void register_engines();

/// The version of the libtorch that this was compiled with, e.g. "2.11.0".
std::string torch_version();

}  // namespace tensoa::pytorch
