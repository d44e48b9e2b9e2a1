// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace tensoa {

/// A file that appears complete or not at all: it is written next to its place, as
/// ".NAME.tensoaNUMBER", and renamed by `commit`. What is not committed is removed with the object.
/// A path that exists and is not a regular file (a device, a pipe) is written in place, and so is an open
/// descriptor of this process (/dev/stdout, /dev/fd/N), whatever it is redirected to. Move-only.
class OutputFile {
 public:
  /// Makes the temporary file, so that a path that cannot be written is found before the work is
  /// done. An existing file stays as it is until `commit`.
  /// @throws OutputError with the path and the reason
  explicit OutputFile(std::filesystem::path path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  /// Where the file is to be.
  const std::filesystem::path& path() const noexcept { return path_; }

  /// Where to write until then: path() itself for what is written in place.
  const std::filesystem::path& temporary() const noexcept { return temporary_; }

  /// Replaces what is at path(). Call it once, after all is written and closed. @throws OutputError
  void commit();

 private:
  bool is_in_place() const noexcept { return temporary_ == path_; }

  std::filesystem::path path_;
  std::filesystem::path temporary_;  ///< empty once committed
  int unfinished_ = -1;              ///< where remove_unfinished_files() finds it
};

/// Returns whether an OutputFile of this path is written in place.
bool is_written_in_place(const std::filesystem::path& path);

/// Writes a whole file, complete or not at all. @throws OutputError
void write_file(const std::filesystem::path& path, std::string_view contents);

/// The same with a path that was checked before. What stdio holds for an open descriptor comes first.
void write_file(OutputFile& file, std::string_view contents);

/// Removes the temporary files of all OutputFiles, for a program that a signal ends (the first 32 that
/// exist at a time). Call it last: commit() of what is gone fails.
/// *Threads*: safe, and may be called by a signal handler.
void remove_unfinished_files() noexcept;

}  // namespace tensoa
