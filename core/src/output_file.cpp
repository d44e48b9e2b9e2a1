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

OutputFile::OutputFile(fs::path path) : path_(std::move(path)), temporary_(path_) {
  std::error_code status;
  if (fs::is_directory(path_, status)) fail(path_, "it is a folder");
  if (!fs::exists(path_, status) || fs::is_regular_file(path_, status)) {
    temporary_ += ".tmp" + std::to_string(std::random_device{}());
  }
  errno = 0;
  if (!std::ofstream(temporary_, std::ios::binary)) fail_with_errno(path_);
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
  std::ofstream stream(file.temporary(), std::ios::binary);
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
