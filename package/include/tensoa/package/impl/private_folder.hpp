// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace tensoa::package {

/// A new folder with mode 0700 that is removed with the object:
/// PARENT/tensoa-packages-UID/package-XXXXXX. PARENT may be shared with anything and anybody: all
/// that is made, locked or removed lies in tensoa-packages-UID, which only this user can open.
///
/// Each constructor also removes what killed processes left behind: folders of that exact name, of
/// this user, that hold our marker file with the boot of this machine, and that no process has
/// locked (flock). A folder whose process runs on another machine, or ran before the last reboot,
/// stays, because a lock does not show other machines on many shared file systems.
/// Links are never followed. Where the file system has no locks, nothing of others is removed.
/// *Threads*: safe, and so are several processes. A process that is forked leaves the folder alone.
class PrivateFolder {
 public:
  /// PARENT is $TENSOA_PACKAGE_FOLDER, else $XDG_CACHE_HOME/tensoa, else $HOME/.cache/tensoa; it is
  /// made where it is missing.
  /// @throws LoadError when it cannot be made, or tensoa-packages-UID there is a link, another
  /// user's, or open to others
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  /// Absolute.
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  int home_ = -1;    ///< descriptor of tensoa-packages-UID
  int folder_ = -1;  ///< descriptor of path_, with a shared lock
  pid_t process_;
};

}  // namespace tensoa::package
