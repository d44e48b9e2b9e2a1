// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tensoa/package/archive.hpp"
#include "tensoa/package/manifest.hpp"

namespace tensoa::package {

/// A package file that was read: its checksum is right, and its manifest whole. Nothing of it is
/// unpacked or run. In main memory as a whole, so keep it no longer than a model is being loaded.
class Package {
 public:
  /// @throws LoadError
  explicit Package(const std::filesystem::path& path);
  Package(const Package&) = delete;
  Package& operator=(const Package&) = delete;

  /// "model FILE: ", the beginning of messages.
  const std::string& subject() const noexcept { return subject_; }

  const Manifest& manifest() const noexcept { return manifest_; }

  const Archive& archive() const noexcept { return archive_; }

  /// Of the file.
  std::size_t bytes() const noexcept { return bytes_.size(); }

  /// Ends with the LoadError `subject() + what`.
  [[noreturn]] void fail(const std::string& what) const;

  /// Writes a file of the archive, with what it lacks, into `folder`, under the last part of its name. Of a library it is
  /// asked first whether all its parts are there: the dynamic linker does not, and the process would
  /// die when it touches what is missing. @return the file @throws LoadError
  std::filesystem::path unpack(const std::string& name, const std::filesystem::path& folder) const;

  /// @throws LoadError where programs for CPUs are for another kind of machine
  void require_machine() const;

 private:
  std::string subject_;
  std::string bytes_;
  Archive archive_;  ///< in bytes_
  Manifest manifest_;
};

/// The instructions of `needed`, by the names of /proc/cpuinfo, that this processor does not have, each
/// after a space; empty where it has all.
std::string missing_instructions(const std::vector<std::string>& needed);

}  // namespace tensoa::package
