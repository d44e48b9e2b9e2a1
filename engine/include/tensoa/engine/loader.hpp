// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>

#include "tensoa/core/device.hpp"
#include "tensoa/engine/engine.hpp"
#include "tensoa/engine/location.hpp"
#include "tensoa/engine/model_options.hpp"

/// @file
/// How a kind of model becomes known to Model. Users of models do not need this header.

namespace tensoa {

/// When a model is compiled: in the process that runs it (TorchScript, torch.export, tree and ONNX files), or
/// before (packages, models of servers). kAny leaves the choice to the file.
enum class CompilationType : std::uint8_t { kAny, kJustInTime, kAheadOfTime };

/// "just-in-time", "ahead-of-time" or "any".
std::string_view name_of(CompilationType compilation) noexcept;

/// Loads one kind of model. What its engines share, a transport or credentials, is its state: an engine
/// holds the loader's state by its own shared_ptr.
/// *Threads*: const members may be called from any number of threads.
class EngineLoader {
 public:
  virtual ~EngineLoader() = default;

  virtual std::string_view name() const noexcept = 0;  ///< "TorchScript"
  virtual CompilationType compilation() const noexcept = 0;

  /// Whether this loader loads what is there: a file by what is in it, not by its name alone; a URL by its
  /// scheme. A file that is broken goes to the loader of its ending, whose error describes the fault.
  /// Does not throw.
  virtual bool accepts(const ModelLocation& location) const = 0;

  /// The kind of a file that the loader recognises but does not load, and what to do: "is a program of
  /// torch.export; make a package of it: …". Asked only where no loader accepts.
  virtual std::optional<std::string> why_not(const ModelLocation& /*location*/) const { return {}; }

  /// Whether it accepts options of this type.
  virtual bool takes(std::type_index /*options*/) const noexcept { return false; }

  /// @param location accepted
  /// @param options of a type that it accepts
  /// @throws LoadError, DeviceError
  virtual std::shared_ptr<const Engine> load(const ModelLocation& location, Device device,
                                             const ModelOptions& options) const = 0;
};

/// Makes a loader known to Model; one of the same name is replaced. Call it before the first Model is
/// made.
/// *Threads*: safe.
void register_loader(std::shared_ptr<const EngineLoader> loader);

/// The first registered loader that accepts `location` and compiles as asked.
/// @throws LoadError with the kind of the file, or with the names of all loaders
std::shared_ptr<const EngineLoader> find_loader(
    const ModelLocation& location, CompilationType compilation = CompilationType::kAny);

}  // namespace tensoa
