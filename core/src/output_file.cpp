// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/output_file.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
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

// ---- temporary files that a signal handler can find: no locks, no allocation

enum class State : int { kFree, kBeingNamed, kNamed, kRemoved };

struct Unfinished {
  std::atomic<State> state{State::kFree};
  std::array<char, PATH_MAX> path{};
};

static_assert(std::atomic<State>::is_always_lock_free);
constinit std::array<Unfinished, 32> all_unfinished;

constexpr int kNowhere = -1;

/// @return its place, or kNowhere: then a signal leaves it
int add_unfinished(const fs::path& path) {
  std::error_code ignored;
  const std::string name = fs::absolute(path, ignored).string();
  if (name.size() >= PATH_MAX) return kNowhere;
  for (std::size_t i = 0; i < all_unfinished.size(); ++i) {
    Unfinished& place = all_unfinished[i];
    State expected = State::kFree;
    if (!place.state.compare_exchange_strong(expected, State::kBeingNamed)) continue;
    std::memcpy(place.path.data(), name.c_str(), name.size() + 1);
    place.state = State::kNamed;
    return static_cast<int>(i);
  }
  return kNowhere;
}

void forget_unfinished(int place) {
  if (place == kNowhere) return;
  State expected = State::kNamed;
  all_unfinished[static_cast<std::size_t>(place)].state.compare_exchange_strong(expected,
                                                                                State::kFree);
}

// ---- what a path stands for

constexpr int kLongestChain = 40;  // of links, as the kernel's

/// The path that the link `path` points to in the end, whether that is there or not; other paths as they are.
fs::path target_of(fs::path path) {
  std::error_code failure;
  for (int link = 0; link < kLongestChain && fs::is_symlink(path, failure); ++link) {
    path = path.parent_path() / fs::read_symlink(path, failure);
  }
  return path;
}

/// N where `path` is /dev/stdout, /dev/fd/N, or another way to name descriptor N of this process.
/// Opening such a path gives another position in the same file, and what both write lies over each
/// other.
std::optional<int> descriptor_named_by(fs::path path) {
  std::error_code failure;
  const fs::path descriptors = fs::canonical("/proc/self/fd", failure);
  for (int link = 0; link < kLongestChain && !failure; ++link) {
    const fs::path parent = fs::weakly_canonical(fs::absolute(path).parent_path(), failure);
    const std::string name = path.filename();
    if (parent == descriptors) {
      int number = -1;
      const char* const end = name.data() + name.size();
      if (std::from_chars(name.data(), end, number).ptr == end && number >= 0) return number;
    }
    if (!fs::is_symlink(parent / name, failure)) break;
    path = parent / fs::read_symlink(parent / name, failure);
  }
  return std::nullopt;
}

bool is_special(const fs::path& path) {
  std::error_code status;
  return fs::exists(path, status) && !fs::is_regular_file(path, status);
}

/// ".NAME.tensoaNUMBER" in the same folder: after a crash the name shows which file it belonged to.
fs::path temporary_for(const fs::path& path) {
  constexpr std::size_t kLongest = 200;  // bytes of 255 that a name may have
  std::string name = path.filename().string().substr(0, kLongest);
  const auto is_continuation = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
  };
  if (name.size() == kLongest) {  // whole characters of UTF-8 only
    while (!name.empty() && is_continuation(name.back())) name.pop_back();
    if (!name.empty()) name.pop_back();
  }
  return path.parent_path() / ('.' + name + ".tensoa" + std::to_string(std::random_device{}()));
}

void write_all(int descriptor, std::string_view contents, const fs::path& path) {
  std::fflush(nullptr);  // what the program has printed there comes first
  while (!contents.empty()) {
    const ssize_t count = ::write(descriptor, contents.data(), contents.size());
    if (count < 0 && errno != EINTR) fail_with_errno(path);
    if (count > 0) contents.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

bool is_written_in_place(const fs::path& path) {
  return descriptor_named_by(path) || is_special(path);
}

OutputFile::OutputFile(fs::path path) : path_(std::move(path)) {
  std::error_code status;
  if (fs::is_directory(path_, status)) fail(path_, "it is a folder");
  if (is_written_in_place(path_)) {
    // Not opened here: the reader of a pipe takes its first close for the end.
    temporary_ = path_;
    if (access(path_.c_str(), W_OK) != 0) fail_with_errno(path_);
    return;
  }
  path_ = target_of(path_);  // a link stays
  temporary_ = temporary_for(path_);
  unfinished_ = add_unfinished(temporary_);
  errno = 0;
  if (!std::ofstream(temporary_, std::ios::binary | std::ios::app)) {
    const int reason = errno;
    forget_unfinished(unfinished_);
    fail(path_, std::generic_category().message(reason));
  }
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      unfinished_(other.unfinished_) {}

OutputFile::~OutputFile() {
  if (temporary_.empty() || is_in_place()) return;
  std::error_code ignored;
  fs::remove(temporary_, ignored);
  forget_unfinished(unfinished_);
}

void OutputFile::commit() {
  if (!is_in_place()) {
    std::error_code status;
    fs::rename(temporary_, path_, status);
    if (status) fail(path_, status.message());
    forget_unfinished(unfinished_);
  }
  temporary_.clear();
}

void write_file(OutputFile& file, std::string_view contents) {
  if (const std::optional<int> descriptor = descriptor_named_by(file.temporary())) {
    write_all(*descriptor, contents, file.path());
  } else {
    errno = 0;
    std::ofstream stream(file.temporary(), std::ios::binary | std::ios::app);
    stream.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    stream.close();
    if (!stream) fail_with_errno(file.path());
  }
  file.commit();
}

void write_file(const fs::path& path, std::string_view contents) {
  OutputFile file(path);
  write_file(file, contents);
}

void remove_unfinished_files() noexcept {
  for (Unfinished& place : all_unfinished) {
    State expected = State::kNamed;
    if (place.state.compare_exchange_strong(expected, State::kRemoved)) unlink(place.path.data());
  }
}

}  // namespace tensoa
