// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

#include "tensoa/core/device.hpp"

/// @file
/// Memory that torch allocates in addition to tensoa's: how to limit it, where it comes from, how much it
/// is. docs/memory.md explains all of it.

namespace tensoa::pytorch {

/// The caller's allocator, for torch to use on GPUs.
struct TorchAllocator {
  /// Memory of at least `bytes` bytes (> 0) on `device`, aligned to 256 bytes.
  ///
  /// `stream` is the native handle of the queue of the call of tensoa's that runs in this thread: the
  /// memory may be some that was freed on the same stream and that work enqueued there earlier still
  /// uses. Or it is nullptr: torch works on a stream that no call has named (it loads weights, or is
  /// used by the program itself) or on a default stream, and no work may use the memory any more.
  /// May throw, and may return nullptr where no memory is free: the call then ends with a
  /// DeviceFullError.
  std::function<void*(std::size_t bytes, Device device, void* stream)> allocate;

  /// Frees memory of `allocate`. `stream` is that of `allocate` where the memory is freed in a
  /// call on that queue: work that uses it may be enqueued there still, and nowhere else. Everywhere
  /// else (weights and workspaces; a block that torch recorded on a second stream; in another thread
  /// or after the call, when the stream may be gone) it is nullptr, and no work uses the memory: tensoa
  /// has waited for the device. Must not throw.
  std::function<void(void* data, Device device, void* stream)> free;
};

/// Makes torch allocate all memory on GPUs from `allocator`, also for the program's own use of torch.
/// tensoa checks each block against memory_budget() before it calls `allocate`. Call it before torch uses
/// a GPU; it lasts until the process ends. Programs of TorchInductor still load their weights with the CUDA
/// driver, and their CUDA graphs (package::Options) are then refused; those of fused programs, which allocate
/// nothing in torch, are not.
/// @param allocator its functions are called from any thread, also at the same time
/// @throws ConfigError where a function is missing, where torch has allocated already, and in a build
///     without CUDA
void set_torch_allocator(TorchAllocator allocator);

/// Frees memory that torch keeps without using it: workspaces of cuBLAS and cuBLASLt and cached blocks, of
/// all threads and GPUs and of destroyed streams; on the CPU free memory of malloc. Weights, and memory that
/// models keep for their queues, live as long as the models. Later calls allocate again.
/// @param device cpu, or a GPU, for which the calling thread waits
/// @throws DeviceError
/// *Threads*: no call on a GPU may run meanwhile.
void release_unused(Device device);

/// The memory that torch holds on one device, in bytes. For tensoa itself: memory_figures().
struct TorchMemory {
  std::size_t held = 0;        ///< taken from the device, or from the caller's TorchAllocator; the
                               ///< rest of the figures is part of it
  std::size_t in_use = 0;      ///< handed out: weights, workspaces, tensors
  std::size_t peak = 0;        ///< of in_use, since the process or reset_torch_peak()
  std::size_t weights = 0;     ///< of TorchScript; those of packages are in memory_figures()
  std::size_t workspaces = 0;  ///< of cuBLAS and cuBLASLt, all threads and queues
};

/// All 0 on the CPU, where torch counts nothing, and on a GPU that torch has not used.
/// @throws DeviceError when the device is not there
/// *Threads*: safe.
TorchMemory torch_memory(Device device);

/// `peak` starts again at what is in use now. @throws DeviceError
void reset_torch_peak(Device device);

/// The memory of models on one device, of tensoa and torch together, in bytes.
struct ModelMemory {
  std::size_t weights = 0;
  std::size_t workspaces = 0;  ///< of fused programs and of cuBLAS, kept from call to call
  std::size_t activations =
      0;  ///< the most that calls took besides; 0 on the CPU, where torch keeps
          ///< no account: activations_of() measures one call there
  std::size_t collections = 0;
  std::size_t peak =
      0;  ///< the most at one time, or somewhat more: the peaks of the parts added up
  std::size_t budget = 0;  ///< kNoBudget without a limit
};

/// @throws DeviceError when the device is not there
/// *Threads*: safe.
ModelMemory model_memory(Device device);

/// Runs `call` and observes the tensors that torch allocates meanwhile in this thread.
/// @return their peak on `device` in bytes: the activations of a call
/// @throws what `call` throws
std::size_t activations_of(Device device, const std::function<void()>& call);

}  // namespace tensoa::pytorch
