// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/output_file.hpp"

#include <cerrno>
#include <fstream>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& reason) {
  throw OutputError("cannot write " + path.string() + ": " + reason);
}

[[noreturn]] void fail_with_errno(const fs::path& path) {
  fail(path, std::generic_category().message(errno));
}

}  // namespace

OutputFile::OutputFile(fs::path path) : path_(std::move(path)) {
  std::error_code status;
  if (fs::is_directory(path_, status)) fail(path_, "it is a folder");
  // A link stays: what it points to is replaced. What /dev/stdout points to may be anything, and is
  // written where it is, as any device.
  const fs::path target =
      fs::is_symlink(path_, status) ? fs::weakly_canonical(path_, status) : path_;
  const std::string start = fs::absolute(path_, status).string();
  const bool is_special = start.starts_with("/dev/") || start.starts_with("/proc/") ||
                          (fs::exists(target, status) && !fs::is_regular_file(target, status));
  if (!is_special) {
    path_ = target;
    temporary_ = target.parent_path() / (".tensoa" + std::to_string(std::random_device{}()));
  } else {
    temporary_ = path_;
  }
  errno = 0;
  if (!std::ofstream(temporary_, std::ios::binary | std::ios::app)) fail_with_errno(path_);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}

OutputFile::~OutputFile() {
  if (temporary_.empty() || temporary_ == path_) return;
  std::error_code ignored;
  fs::remove(temporary_, ignored);
}

void OutputFile::commit() {
  if (temporary_ != path_) {
    std::error_code status;
    fs::rename(temporary_, path_, status);
    if (status) fail(path_, status.message());
  }
  temporary_.clear();
}

void write_file(OutputFile& file, std::string_view contents) {
  errno = 0;
  std::ofstream stream(file.temporary(), std::ios::binary | std::ios::app);
  stream.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  stream.close();
  if (!stream) fail_with_errno(file.path());
  file.commit();
}

void write_file(const fs::path& path, std::string_view contents) {
  OutputFile file(path);
  write_file(file, contents);
}

}  // namespace tensoa
