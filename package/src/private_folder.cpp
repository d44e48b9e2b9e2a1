// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/impl/private_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tensoa/core/error.hpp"

// Nothing here goes by std::filesystem::remove_all: libtorch.so exports its own version, which takes
// the place of the standard library's and jumps to address 0 (torch 2.11).

namespace tensoa::package {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "package-";
constexpr std::size_t kRandomLetters = 6;
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr const char* kMarker = ".tensoa-package";

class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const noexcept { return number_; }
  int release() noexcept { return std::exchange(number_, -1); }
  explicit operator bool() const noexcept { return number_ >= 0; }

 private:
  int number_;
};

Descriptor open_folder(int parent, const char* name) {
  return Descriptor(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

[[noreturn]] void fail(const fs::path& where, const std::string& reason) {
  throw LoadError("packages cannot be unpacked in " + where.string() + ": " + reason +
                  "; set TENSOA_PACKAGE_FOLDER to a folder of yours with room for them");
}

[[noreturn]] void fail_with_errno(const fs::path& where) {
  fail(where, std::generic_category().message(errno));
}

fs::path parent_folder() {
  const auto from = [](const char* variable, const char* below) -> fs::path {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') return {};
    return fs::path(value) / below;
  };
  for (const auto& folder : {from("TENSOA_PACKAGE_FOLDER", ""), from("XDG_CACHE_HOME", "tensoa"),
                             from("HOME", ".cache/tensoa")}) {
    if (!folder.empty()) return fs::absolute(folder);
  }
  throw LoadError(
      "packages cannot be unpacked: TENSOA_PACKAGE_FOLDER, XDG_CACHE_HOME and HOME are all unset; "
      "set TENSOA_PACKAGE_FOLDER to a folder of yours");
}

/// The content of the marker of this process; empty where the kernel has no boot id. Locks hold
/// within one running kernel, whatever the host or the container is called.
std::string marker_text() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  return std::getline(file, boot) ? "tensoa package, boot " + boot + '\n' : "";
}

std::string contents(int folder, const char* name) {
  const Descriptor file(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  std::array<char, 128> bytes{};
  const ssize_t count = file ? read(file.get(), bytes.data(), bytes.size()) : 0;
  return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

bool write_file(int folder, const char* name, std::string_view text) {
  const Descriptor file(
      openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return false;
  const ssize_t written = write(file.get(), text.data(), text.size());
  if (written >= 0) errno = ENOSPC;  // where it is not all
  return written == static_cast<ssize_t>(text.size());
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  // A separate descriptor: the position in the list belongs to it, and closedir closes it.
  Descriptor own = open_folder(folder, ".");
  const std::unique_ptr<DIR, int (*)(DIR*)> list(own ? fdopendir(own.get()) : nullptr, closedir);
  if (list == nullptr) return names;
  own.release();
  while (const dirent* entry = readdir(list.get())) {
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

/// Removes all below `folder`; the marker of the topmost comes last, so that what is left when the
/// process is killed meanwhile is still known as ours.
void remove_contents(int folder) {
  for (const std::string& name : names_in(folder)) {
    if (name == kMarker || unlinkat(folder, name.c_str(), 0) == 0) continue;
    if (const Descriptor inner = open_folder(folder, name.c_str())) {
      remove_contents(inner.get());
      unlinkat(inner.get(), kMarker, 0);
      unlinkat(folder, name.c_str(), AT_REMOVEDIR);
    }
  }
}

void remove_package(int home, const std::string& name, int folder) {
  remove_contents(folder);
  unlinkat(folder, kMarker, 0);
  unlinkat(home, name.c_str(), AT_REMOVEDIR);
}

bool is_package_name(std::string_view name) {
  return name.size() == kPrefix.size() + kRandomLetters && name.starts_with(kPrefix) &&
         name.find_first_not_of(kLetters, kPrefix.size()) == std::string_view::npos;
}

std::string random_package_name() {
  std::random_device random;
  std::string name(kPrefix);
  for (std::size_t i = 0; i < kRandomLetters; ++i) name += kLetters[random() % kLetters.size()];
  return name;
}

bool is_ours(int folder) {
  struct stat status {};
  return fstat(folder, &status) == 0 && status.st_uid == geteuid();
}

/// Removes the packages in `home` whose process has ended. Its lock comes before its marker, so who
/// finds the marker of a folder that can be locked may assume that its process is gone.
void remove_stale(int home, const std::string& marker) {
  for (const std::string& name : names_in(home)) {
    if (!is_package_name(name)) continue;
    const Descriptor folder = open_folder(home, name.c_str());
    if (folder && is_ours(folder.get()) && flock(folder.get(), LOCK_EX | LOCK_NB) == 0 &&
        contents(folder.get(), kMarker) == marker) {
      remove_package(home, name, folder.get());
    }
  }
}

/// Opens PARENT/tensoa-packages-UID, `path`. @throws LoadError
Descriptor open_home(const fs::path& path) {
  std::error_code failure;
  fs::create_directories(path.parent_path(), failure);
  if (failure) fail(path.parent_path(), failure.message());
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) fail_with_errno(path.parent_path());
  Descriptor home = open_folder(AT_FDCWD, path.c_str());
  if (!home) fail(path, "it is not a folder that this user can open, or a link");
  struct stat status {};
  if (fstat(home.get(), &status) != 0) fail_with_errno(path);
  if (status.st_uid != geteuid()) {
    fail(path, "it belongs to user " + std::to_string(status.st_uid) + ", expected " +
                   std::to_string(geteuid()));
  }
  if ((status.st_mode & 077U) != 0) {
    fail(path, "others than its owner can open it; expected mode 0700");
  }
  return home;
}

}  // namespace

PrivateFolder::PrivateFolder() : process_(getpid()) {
  const fs::path home_path = parent_folder() / ("tensoa-packages-" + std::to_string(geteuid()));
  Descriptor home = open_home(home_path);
  const std::string marker = marker_text();
  if (!marker.empty()) remove_stale(home.get(), marker);
  std::string name = random_package_name();
  while (mkdirat(home.get(), name.c_str(), 0700) != 0) {
    if (errno != EEXIST) fail_with_errno(home_path);
    name = random_package_name();
  }
  Descriptor folder = open_folder(home.get(), name.c_str());
  if (!folder) fail_with_errno(home_path);
  if (flock(folder.get(), LOCK_SH) == 0 && !marker.empty() &&
      !write_file(folder.get(), kMarker, marker)) {
    const int reason = errno;
    remove_package(home.get(), name, folder.get());
    fail(home_path, std::generic_category().message(reason));
  }
  path_ = home_path / name;
  home_ = home.release();
  folder_ = folder.release();
}

PrivateFolder::~PrivateFolder() {
  if (getpid() == process_) remove_package(home_, path_.filename().string(), folder_);
  close(folder_);
  close(home_);
}

}  // namespace tensoa::package
