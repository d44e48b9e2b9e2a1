// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tensoa::package {

/// The files of a zip archive in memory that are stored without compression and lie in one folder.
/// *Lifetime*: borrows the bytes of the archive.
class Archive {
 public:
  struct File {
    std::string name;  ///< in the folder: "extra/tensoa.json"
    std::string_view bytes;
    std::uint32_t checksum;  ///< that the archive has for it: crc32() of whole bytes
  };

  Archive() = default;

  /// @param bytes the whole archive; its comment may be anything
  /// @throws std::runtime_error where it is not such an archive: cut off, compressed, encrypted, above 4 GB,
  ///     files that overlap, that lie outside of the bytes or of the folder, or of the same name
  explicit Archive(std::string_view bytes);

  /// In the order of their names.
  const std::vector<File>& files() const noexcept { return files_; }

  /// @throws std::runtime_error where no file has this name
  std::string_view file(std::string_view name) const;

  /// @throws std::runtime_error that names a file that does not match its checksum. Reads all bytes.
  void require_checksums() const;

 private:
  std::vector<File> files_;
};

/// The checksum of files in zip archives.
std::uint32_t crc32(std::string_view bytes) noexcept;

/// The names of the files in a zip archive of any kind, without the folder that all are in, if there is
/// one. Reads the directory alone.
/// @throws std::runtime_error where there is no such directory
std::vector<std::string> names_in_archive(const std::filesystem::path& path);

}  // namespace tensoa::package
