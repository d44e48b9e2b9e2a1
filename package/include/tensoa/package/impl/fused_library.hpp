// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "tensoa/package/impl/private_folder.hpp"
#include "tensoa/package/package.hpp"

namespace tensoa::package {

/// The `tensoa_block` of programs.
struct FusedBlock {
  void* data;
  std::int64_t pitch;
};

/// A program for CPUs with the C ABI of docs/ahead_of_time.md, unpacked and loaded.
/// *Threads*: const members may be called from any number of threads.
class FusedLibrary {
 public:
  /// Takes the first of `programs` of the kind "fused" whose instructions this processor has.
  /// @throws LoadError where none is; std::runtime_error of the dynamic linker
  FusedLibrary(const Package& package, std::span<const ProgramDescription> programs);
  ~FusedLibrary();
  FusedLibrary(const FusedLibrary&) = delete;
  FusedLibrary& operator=(const FusedLibrary&) = delete;

  /// @param blocks inputs, then outputs
  /// @param rows of each domain of the program
  void run(const FusedBlock* blocks, const std::int64_t* rows) const;

 private:
  PrivateFolder folder_;  ///< outlives the library
  void* handle_;
  std::int64_t (*workspace_)(const std::int64_t*) = nullptr;
  void (*run_)(const FusedBlock*, const std::int64_t*, void*) = nullptr;
};

}  // namespace tensoa::package
