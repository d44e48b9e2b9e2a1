// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <span>
#include <string>

#include "planes.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/engine/engine.hpp"

namespace tensoa::pytorch {

struct Package;

/// What an error says, for a message of one line; torch adds where it was thrown.
inline std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

/// The native code of a package, loaded on one device.
class Program {
 public:
  virtual ~Program() = default;

  /// Reads the input blocks and writes the output blocks, in the order of `queue`. Keeps nothing of
  /// the arguments. No memory of an output is that of an input.
  /// @param blocks of the package's inputs, then of its outputs
  /// @return what was copied
  /// @throws std::exception, with the reason; DeviceError
  /// *Threads*: safe, also on one queue.
  virtual CopyReport run(const Queue& queue, std::span<const Planes> blocks) = 0;

  /// As Engine::warm_up. @throws as run; EngineError, whole but for the name of the model
  virtual CopyReport warm_up(const Queue& queue, std::span<const Planes> blocks) {
    return run(queue, blocks);
  }
};

/// Of TorchInductor (inductor_program.cpp).
/// @param with_graphs on a GPU, warm_up captures a CUDA graph for its queue and numbers of rows
std::unique_ptr<Program> make_inductor_program(const Package& package, Device device,
                                               bool with_graphs);

/// Fused, for the CPU (fused_cpu.cpp).
std::unique_ptr<Program> make_fused_cpu_program(const Package& package);

/// Fused, for a GPU (fused_gpu_cuda.cpp, or aot_runner_none.cpp, which refuses).
/// @param with_graphs launches all kernels of a call at once, as a CUDA graph
std::unique_ptr<Program> make_fused_gpu_program(const Package& package, Device device,
                                                bool with_graphs);

}  // namespace tensoa::pytorch
