// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "private_folder.hpp"

#include <fcntl.h>
#include <ftw.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include "tensoa/core/error.hpp"

namespace tensoa::pytorch {
namespace {

constexpr std::string_view kPrefix = "package-";

std::filesystem::path folder_of_packages() {
  const auto from = [](const char* variable, const char* below) -> std::filesystem::path {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') return {};
    return std::filesystem::path(value) / below;
  };
  for (const auto& folder : {from("TENSOA_PACKAGE_FOLDER", ""), from("XDG_CACHE_HOME", "tensoa"),
                             from("HOME", ".cache/tensoa")}) {
    if (!folder.empty()) return folder;
  }
  throw LoadError(
      "packages cannot be unpacked: TENSOA_PACKAGE_FOLDER, XDG_CACHE_HOME and HOME are all unset; "
      "set TENSOA_PACKAGE_FOLDER to a folder of yours");
}

void remove_folder(const std::filesystem::path& path) {
  // Not std::filesystem::remove_all: libtorch.so exports one of its own, which takes the place of the
  // standard library's and jumps to address 0 (torch 2.11).
  const auto remove_entry = [](const char* entry, const struct stat*, int, FTW*) {
    return std::remove(entry);
  };
  nftw(path.c_str(), remove_entry, /*descriptors=*/8, FTW_DEPTH | FTW_PHYS);
}

/// @return a descriptor of the folder with its lock, or -1
int lock(const std::filesystem::path& folder, int operation) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0 && flock(descriptor, operation) == 0) return descriptor;
  if (descriptor >= 0) close(descriptor);
  return -1;
}

/// Removes the folders in `parent` that nobody holds.
void remove_stale(const std::filesystem::path& parent) {
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(parent, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    if (!entry->path().filename().string().starts_with(kPrefix)) continue;
    const int mine = lock(entry->path(), LOCK_EX | LOCK_NB);
    if (mine < 0) continue;
    remove_folder(entry->path());
    close(mine);
  }
}

}  // namespace

PrivateFolder::PrivateFolder() {
  const std::filesystem::path parent = folder_of_packages();
  std::error_code failure;
  std::filesystem::create_directories(parent, failure);
  // One process at a time, so that nobody finds a new folder before it is locked.
  const int alone = lock(parent, LOCK_EX);
  if (alone >= 0) remove_stale(parent);
  std::string name = (parent / kPrefix).string() + "XXXXXX";
  if (failure || mkdtemp(name.data()) == nullptr) {
    const std::error_code reason =
        failure ? failure : std::error_code(errno, std::generic_category());
    if (alone >= 0) close(alone);
    throw LoadError("packages cannot be unpacked in " + parent.string() + ": " + reason.message() +
                    "; set TENSOA_PACKAGE_FOLDER to a folder that can be written");
  }
  path_ = name;
  lock_ = lock(path_, LOCK_SH);
  if (alone >= 0) close(alone);
}

PrivateFolder::~PrivateFolder() {
  remove_folder(path_);
  if (lock_ >= 0) close(lock_);
}

}  // namespace tensoa::pytorch
