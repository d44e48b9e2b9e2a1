// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "tensoa/core/queue.hpp"
#include "tensoa/engine/engine.hpp"
#include "tensoa/package/options.hpp"
#include "tensoa/package/package.hpp"
#include "tensoa/package/planes.hpp"

/// @file
/// The seam between packages and what runs the programs in them. Users of models do not need this header.

namespace tensoa::package {

/// The first line of an error's text; torch adds lines on where it was thrown.
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
  virtual CopyReport run(const Queue& queue, std::span<const BlockMemory> blocks) = 0;

  /// As Engine::warm_up. @throws as run; EngineError, whole but for the name of the model
  virtual CopyReport warm_up(const Queue& queue, std::span<const BlockMemory> blocks) {
    return run(queue, blocks);
  }

  /// As Engine::can_be_recorded.
  virtual bool can_be_recorded() const noexcept { return false; }

  /// The most rows of an input block that it can count; a call with more is refused.
  virtual std::int64_t most_rows() const noexcept {
    return std::numeric_limits<std::int64_t>::max();
  }
};

/// Whether to capture CUDA graphs of a package that does not store that this works.
enum class GraphTrial : std::uint8_t { kNo, kYes };

/// A kind of program, as registered.
struct ProgramKind {
  std::string name;  ///< as in ProgramDescription::kind

  /// Loads the program that suits `device`, of those of this kind in the package, of which one at least
  /// is for such devices. Copies what it keeps of the package.
  /// @throws LoadError where none suits it; DeviceError; another std::exception, with the reason
  /// *Threads*: safe.
  std::function<std::unique_ptr<Program>(const Package& package, Device device,
                                         const Options& options, GraphTrial trial)>
      load;
};

/// Makes a kind of program known to the engine of packages; a kind of the same name is replaced.
/// *Threads*: safe.
void register_program_kind(ProgramKind kind);

}  // namespace tensoa::package
