// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensoa/core/device.hpp"
#include "tensoa/core/dtype.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/engine/copy_report.hpp"
#include "tensoa/engine/model_metadata.hpp"

/// @file
/// The seam between Model and the libraries that run models. Users of models do not need this
/// header.

namespace tensoa {

/// When a model is compiled: in the process that runs it (TorchScript), or before (AOTInductor
/// packages). kAny leaves the choice to the file.
enum class CompilationType : std::uint8_t { kAny, kJustInTime, kAheadOfTime };

/// "just-in-time", "ahead-of-time" or "any".
std::string_view name_of(CompilationType compilation) noexcept;

/// What a model takes and gives, as far as its file says so.
struct Signature {
  std::vector<std::string> inputs;  ///< names of the arguments, in order
  std::size_t required_inputs = 0;  ///< the arguments after these have defaults
};

/// How a model is loaded.
struct ModelOptions {
  /// The dtype that the weights are converted to; as in the file where there is none.
  std::optional<DType> dtype = {};

  /// Launches the kernels of a call at once, as a CUDA graph: less time on the host for calls of many
  /// small kernels. Of packages (docs/ahead_of_time.md); TorchScript on CUDA is then a LoadError. The
  /// CPU has no graphs and ignores it.
  ///
  /// A fused program keeps one graph for each queue and tells it the addresses and rows of each call.
  /// One of TorchInductor is captured by Model::warm_up alone, for exactly its queue and numbers of
  /// rows; call it again for others. Calls on that queue with one of these numbers of rows replay,
  /// through memory of the graph's own (one copy for each range of columns in and out, in the
  /// CopyReport); all other calls run as without graphs. Whether that works is found out when the
  /// package is made: one that does not say so for this GPU's architecture is a LoadError.
  bool cuda_graphs = false;
};

/// A model made executable on one device. Immutable; one for each device, shared by all threads and
/// queues.
///
/// *Lifetime*: the destructor waits for the device where work that is enqueued may still read the weights or
/// run the code; freeing a Buffer does that by itself.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual const Signature& signature() const noexcept = 0;

  /// Runs the model on the columns, in the order of `queue`. The binding is checked and not empty.
  /// @return the bytes that were copied, counted where they are copied
  /// @throws BindingError when an output does not fit its block; EngineError when the model fails.
  /// Outputs are then untouched, unless the device failed while an answer was copied.
  virtual CopyReport run(const Queue& queue, const Binding& binding) const = 0;

  /// Runs the model once and prepares whatever makes later calls with these numbers of rows on `queue`
  /// cheap. May wait for the queue. Errors as `run`; and an EngineError where such a preparation
  /// failed, which says what later calls do.
  virtual CopyReport warm_up(const Queue& queue, const Binding& binding) const {
    return run(queue, binding);
  }
};

/// A kind of engine, as registered.
struct EngineKind {
  std::string name;  ///< "TorchScript"
  CompilationType compilation;
  bool (*accepts)(
      const std::filesystem::path& path);  ///< by the looks of the path, without reading the file
  /// @throws LoadError
  std::shared_ptr<const Engine> (*load)(const std::filesystem::path& path, Device device,
                                        const ModelOptions& options);
};

/// Makes a kind of engine known to Model; a kind of the same name is replaced. Call it before the
/// first Model is made.
/// *Threads*: safe.
void register_engine(EngineKind kind);

/// The first registered kind that accepts `path` and compiles as asked.
/// @throws LoadError that names the kinds there are
EngineKind find_engine(const std::filesystem::path& path, CompilationType compilation);

}  // namespace tensoa
