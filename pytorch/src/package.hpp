// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tensoa/core/device.hpp"
#include "tensoa/engine/describe.hpp"

namespace tensoa::pytorch {

/// One argument of a compiled program: planes `first`, `first + step`, … of a block, counted from its
/// first in memory.
struct PackageArgument {
  std::uint32_t first = 0;
  std::uint32_t step = 1;
  std::uint32_t planes = 1;
};

/// How many rows a result has: as many as an input collection, or always the same number.
struct PackageRows {
  std::optional<std::size_t> collection;
  std::size_t rows = 0;
};

/// A folder of our own, readable by nobody else, that goes with the object.
class PrivateFolder {
 public:
  /// In $TENSOA_PACKAGE_FOLDER, else in $XDG_CACHE_HOME/tensoa, else in $HOME/.cache/tensoa, which
  /// are made where they are missing. @throws LoadError
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// A package of the exporter (python/tensoa/aot.py), checked and unpacked. The format is in
/// docs/ahead_of_time.md.
struct Package {
  /// Reads and unpacks `path` for `device`. Nothing of it is written or run before the checksum, the
  /// torch version, the target and the processor have been found right.
  /// @param gpu_architecture of `device`, "sm_90"; not used on the CPU
  /// @throws LoadError
  Package(const std::filesystem::path& path, Device device, const std::string& gpu_architecture);

  BindingDescription binding;
  std::vector<std::vector<PackageArgument>> inputs;   ///< of each input block
  std::vector<std::vector<PackageArgument>> outputs;  ///< of each output block
  std::vector<PackageRows> rows;                      ///< of each output block
  PrivateFolder folder;
  std::filesystem::path library;  ///< the compiled program, in `folder`
};

}  // namespace tensoa::pytorch
