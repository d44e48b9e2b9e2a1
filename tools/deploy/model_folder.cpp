// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "deploy/model_folder.hpp"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "tensoa/core/error.hpp"
#include "tensoa/core/output_file.hpp"

namespace tensoa::tools {

namespace fs = std::filesystem;

const std::string kDeployMark = "# Written by tensoa deploy";

namespace {

bool begins_with_mark(const fs::path& file) {
  std::string begin(kDeployMark.size(), '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return stream.good() && begin == kDeployMark;
}

[[noreturn]] void refuse_other(const fs::path& path) {
  throw InputError(path.string() +
                   ": got something that `tensoa deploy` did not write, expected a free place; "
                   "choose another one (--to, --name), or remove it");
}

bool is_number(const std::string& name) {
  constexpr std::size_t kDigits = 18;
  return !name.empty() && name.size() <= kDigits &&
         std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

/// Removes a folder with all that is in it, if it is there. Not by std::filesystem::remove_all: libtorch.so exports
/// one in the place of the standard library's, which jumps to address 0 (torch 2.11).
void remove_folder(const fs::path& folder) {
  constexpr int kDescriptors = 16;
  const auto remove_one = [](const char* path, const struct stat*, int, FTW*) {
    return ::remove(path);
  };
  nftw(folder.c_str(), remove_one, kDescriptors, FTW_DEPTH | FTW_PHYS);
}

/// "chart" and "chart/" have no parent and no name of their own.
fs::path with_parent(const fs::path& folder) {
  const fs::path whole = fs::absolute(folder).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

/// A folder next to its place, removed with the object.
class Staging {
 public:
  explicit Staging(const fs::path& folder)
      : path_(folder.parent_path() /
              ("." + folder.filename().string() + ".tensoa" + std::to_string(getpid()))) {
    fs::create_directories(folder.parent_path());
    remove_folder(path_);
    fs::create_directory(path_);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() { remove_folder(path_); }
  const fs::path& path() const noexcept { return path_; }

 private:
  fs::path path_;
};

void keep_other_versions(const fs::path& from, const fs::path& to) {
  for (const auto& entry : fs::directory_iterator(from)) {
    const fs::path place = to / entry.path().filename();
    if (!entry.is_directory() || !is_number(place.filename().string()) || fs::exists(place))
      continue;
    fs::copy(entry.path(), place,
             fs::copy_options::recursive | fs::copy_options::create_hard_links);
  }
}

[[noreturn]] void fail_to_place(const fs::path& to) {
  throw fs::filesystem_error("cannot be put in its place", to,
                             std::error_code(errno, std::generic_category()));
}

void put_in_place(const fs::path& from, const fs::path& to, bool is_there) {
  if (!is_there) {
    if (::rename(from.c_str(), to.c_str()) != 0) fail_to_place(to);
    return;
  }
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) fail_to_place(to);
  // A file system that cannot exchange, such as NFS: there is no folder for a moment.
  const fs::path aside = from.string() + ".old";
  if (::rename(to.c_str(), aside.c_str()) != 0) fail_to_place(to);
  if (::rename(from.c_str(), to.c_str()) != 0) {
    const int why = errno;
    static_cast<void>(::rename(aside.c_str(), to.c_str()));
    errno = why;
    fail_to_place(to);
  }
  remove_folder(aside);
}

}  // namespace

void require_free(const fs::path& folder, const fs::path& mark) {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(folder, ignored)) && !begins_with_mark(folder / mark)) {
    refuse_other(folder);
  }
}

void require_free_file(const fs::path& file) {
  std::error_code ignored;
  if (fs::exists(file, ignored) && !begins_with_mark(file)) refuse_other(file);
}

std::vector<std::uint64_t> versions_in(const fs::path& folder) {
  std::vector<std::uint64_t> versions;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && is_number(name)) versions.push_back(std::stoull(name));
  }
  std::ranges::sort(versions);
  return versions;
}

void write_folder(const fs::path& place, const std::vector<NewFile>& files, const fs::path& mark) {
  require_free(place, mark);
  try {
    const fs::path folder = with_parent(place);
    const bool is_there = fs::exists(fs::symlink_status(folder));
    const Staging staging(folder);
    for (const NewFile& file : files) {
      const fs::path target = staging.path() / file.place;
      fs::create_directories(target.parent_path());
      if (file.copy_of.empty()) {
        write_file(target, file.text);
      } else {
        fs::copy_file(file.copy_of, target);
      }
    }
    if (is_there) keep_other_versions(folder, staging.path());
    put_in_place(staging.path(), folder, is_there);
  } catch (const fs::filesystem_error& error) {
    throw OutputError(place.string() + ": cannot be written: " + error.code().message() + " (" +
                      error.path1().string() + ")");
  }
}

void write_marked_file(const fs::path& file, const std::string& text) {
  require_free_file(file);
  std::error_code ignored;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), ignored);
  write_file(file, text);
}

}  // namespace tensoa::tools
