// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace tensoa::pytorch {

/// A folder of our own, readable by nobody else, that goes with the object. What killed processes left
/// behind goes when the next folder is made: an owner holds a lock (flock) on its folder, which ends
/// with the process.
/// *Threads*: safe, and so are several processes. Where the file system has no locks, nothing of
/// others is removed.
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
  int lock_ = -1;  ///< a file descriptor
};

}  // namespace tensoa::pytorch
