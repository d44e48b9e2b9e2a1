// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/archive.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <stdexcept>

namespace tensoa::package {
namespace {

// The names are those of PKWARE's APPNOTE.TXT; all numbers are little-endian.
constexpr std::uint32_t kLocalHeader = 0x0403'4b50;
constexpr std::uint32_t kCentralHeader = 0x0201'4b50;
constexpr std::uint32_t kEndRecord = 0x0605'4b50;
constexpr std::size_t kLocalHeaderBytes = 30;
constexpr std::size_t kCentralHeaderBytes = 46;
constexpr std::size_t kEndRecordBytes = 22;
constexpr std::uint32_t kEndRecord64 = 0x0606'4b50;
constexpr std::uint32_t kEndLocator64 = 0x0706'4b50;
constexpr std::size_t kEndLocator64Bytes = 20;
constexpr std::size_t kEndRecord64Bytes = 56;
constexpr std::size_t kLongestComment = 0xFFFF;

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

/// Bytes of the archive, each access checked.
class Bytes {
 public:
  explicit Bytes(std::string_view all) : all_(all) {}

  std::size_t size() const noexcept { return all_.size(); }

  std::string_view part(std::size_t first, std::size_t size) const {
    if (first > all_.size() || size > all_.size() - first) fail("its archive is cut off");
    return all_.substr(first, size);
  }

  std::uint32_t number(std::size_t first, std::size_t bytes) const {
    std::uint32_t value = 0;
    const std::string_view digits = part(first, bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      value |= std::uint32_t{static_cast<unsigned char>(digits[i])} << (8 * i);
    }
    return value;
  }

 private:
  std::string_view all_;
};

struct EndRecord {
  std::size_t at;  ///< where the directory ends
  std::size_t entries;
  std::size_t directory;
  std::size_t directory_bytes;
};

/// Before the end record at `at`, or before the one for more than 4 GB, which torch always writes, too.
std::size_t end_of_directory(const Bytes& bytes, std::size_t at) {
  constexpr std::size_t kBoth = kEndRecord64Bytes + kEndLocator64Bytes;
  const bool has_both = at >= kBoth && bytes.number(at - kBoth, 4) == kEndRecord64 &&
                        bytes.number(at - kEndLocator64Bytes, 4) == kEndLocator64;
  return has_both ? at - kBoth : at;
}

EndRecord end_record(const Bytes& bytes) {
  for (std::size_t comment = 0; comment <= kLongestComment; ++comment) {
    if (kEndRecordBytes + comment > bytes.size()) break;
    const std::size_t at = bytes.size() - kEndRecordBytes - comment;
    if (bytes.number(at, 4) != kEndRecord || bytes.number(at + 20, 2) != comment) continue;
    const EndRecord end{end_of_directory(bytes, at), bytes.number(at + 10, 2),
                        bytes.number(at + 16, 4), bytes.number(at + 12, 4)};
    if (end.entries == 0xFFFF || end.directory == 0xFFFF'FFFF) {
      fail("its archive is in the format for more than 4 GB, which packages do not have");
    }
    if (bytes.number(at + 4, 2) != 0 || bytes.number(at + 6, 2) != 0 ||
        bytes.number(at + 8, 2) != end.entries) {
      fail("its archive has more than one part");
    }
    if (end.directory_bytes > end.at || end.directory != end.at - end.directory_bytes) {
      fail("the directory of its archive does not end where it should");
    }
    return end;
  }
  fail("it holds no zip archive");
}

/// A file with its place in the archive, header included.
struct Entry {
  Archive::File file;
  std::size_t begin;
  std::size_t end;
};

/// @param at of its central header; then of the next one
Entry read_entry(const Bytes& bytes, const EndRecord& end, std::size_t& at) {
  constexpr std::uint32_t kEncrypted = 1;
  constexpr std::uint32_t kSizesFollow = 8;
  if (bytes.number(at, 4) != kCentralHeader) fail("the directory of its archive is damaged");
  const std::size_t header = at;
  const std::size_t name_bytes = bytes.number(at + 28, 2);
  const std::string name(bytes.part(at + kCentralHeaderBytes, name_bytes));
  const std::string subject = "its file " + name;
  const std::uint32_t flags = bytes.number(at + 8, 2);
  if ((flags & kEncrypted) != 0) fail(subject + " is encrypted");
  const std::size_t size = bytes.number(at + 20, 4);
  if (bytes.number(at + 10, 2) != 0 || bytes.number(at + 24, 4) != size) {
    fail(subject + " is compressed; expected all to be stored");
  }
  const std::size_t begin = bytes.number(at + 42, 4);
  at += kCentralHeaderBytes + name_bytes + bytes.number(at + 30, 2) + bytes.number(at + 32, 2);

  const bool is_stream =
      (flags & kSizesFollow) != 0;  // as torch writes: sizes are in the directory
  const auto is_size = [&](std::size_t local) { return local == (is_stream ? 0 : size); };
  if (bytes.number(begin, 4) != kLocalHeader || !is_size(bytes.number(begin + 18, 4)) ||
      !is_size(bytes.number(begin + 22, 4)) ||
      bytes.part(begin + kLocalHeaderBytes, bytes.number(begin + 26, 2)) != name) {
    fail(subject + " is not where the directory of its archive says");
  }
  const std::size_t data = begin + kLocalHeaderBytes + name_bytes + bytes.number(begin + 28, 2);
  if (data > end.directory || size > end.directory - data) fail(subject + " is cut off");
  return {{name, bytes.part(data, size), bytes.number(header + 16, 4)}, begin, data + size};
}

/// Takes the folder that all are in from their names.
void leave_folder(std::vector<Entry>& entries) {
  const std::string& first = entries.front().file.name;
  const std::string folder = first.substr(0, first.find('/') + 1);
  for (Entry& entry : entries) {
    std::string& name = entry.file.name;
    if (folder.empty() || !name.starts_with(folder)) {
      fail("its file " + name + " does not lie in the folder of the others");
    }
    name.erase(0, folder.size());
  }
}

}  // namespace

Archive::Archive(std::string_view all) {
  const Bytes bytes(all);
  const EndRecord end = end_record(bytes);
  std::vector<Entry> entries;
  std::size_t at = end.directory;
  for (std::size_t i = 0; i < end.entries; ++i) entries.push_back(read_entry(bytes, end, at));
  if (at != end.at) fail("the directory of its archive is damaged");
  if (entries.empty()) fail("its archive is empty");

  std::ranges::sort(entries, {}, &Entry::begin);
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].begin >= entries[i - 1].end) continue;
    fail("its files " + entries[i - 1].file.name + " and " + entries[i].file.name + " overlap");
  }
  leave_folder(entries);
  for (Entry& entry : entries) files_.push_back(std::move(entry.file));
  std::ranges::sort(files_, {}, &File::name);
  const auto same = std::ranges::adjacent_find(files_, {}, &File::name);
  if (same != files_.end()) fail("it holds two files " + same->name);
}

std::string_view Archive::file(std::string_view name) const {
  const auto found = std::ranges::lower_bound(files_, name, {}, &File::name);
  if (found == files_.end() || found->name != name) {
    fail("its file " + std::string(name) + " is missing");
  }
  return found->bytes;
}

void Archive::require_checksums() const {
  for (const File& file : files_) {
    if (crc32(file.bytes) == file.checksum) continue;
    fail("its file " + file.name +
         " is damaged: its checksum is wrong; copy it again, or save it again");
  }
}

namespace {

constexpr std::uint64_t kMostDirectoryBytes = std::uint64_t{1} << 26U;

std::string read_part(std::ifstream& file, std::uint64_t first, std::uint64_t size) {
  std::string part(size, '\0');
  file.seekg(static_cast<std::streamoff>(first));
  if (!file.read(part.data(), static_cast<std::streamsize>(size))) fail("its archive is cut off");
  return part;
}

std::uint64_t number64(const Bytes& bytes, std::size_t first) {
  return bytes.number(first, 4) | std::uint64_t{bytes.number(first + 4, 4)} << 32U;
}

struct Directory {
  std::uint64_t first;
  std::uint64_t size;
};

/// @param tail of the file, at least its end record
Directory find_directory(std::ifstream& file, std::uint64_t file_size, const std::string& tail) {
  const Bytes bytes(tail);
  for (std::size_t comment = 0; kEndRecordBytes + comment <= tail.size(); ++comment) {
    const std::size_t at = tail.size() - kEndRecordBytes - comment;
    if (bytes.number(at, 4) != kEndRecord || bytes.number(at + 20, 2) != comment) continue;
    const Directory directory{bytes.number(at + 16, 4), bytes.number(at + 12, 4)};
    if (directory.first != 0xFFFF'FFFF && directory.size != 0xFFFF'FFFF) return directory;
    // The format for more than 4 GB: another record, found by one before this.
    if (at < kEndLocator64Bytes || bytes.number(at - kEndLocator64Bytes, 4) != kEndLocator64) break;
    const std::uint64_t record = number64(bytes, at - kEndLocator64Bytes + 8);
    if (record > file_size) break;
    const std::string wide = read_part(file, record, kEndRecord64Bytes);
    if (Bytes(wide).number(0, 4) != kEndRecord64) break;
    return {number64(Bytes(wide), 48), number64(Bytes(wide), 40)};
  }
  fail("it holds no zip archive");
}

}  // namespace

std::vector<std::string> names_in_archive(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::uint64_t size = std::filesystem::file_size(path);
  const std::uint64_t tail =
      std::min<std::uint64_t>(size, kEndRecordBytes + kLongestComment + kEndLocator64Bytes);
  const Directory directory = find_directory(file, size, read_part(file, size - tail, tail));
  if (directory.first > size || directory.size > size - directory.first ||
      directory.size > kMostDirectoryBytes) {
    fail("its archive is cut off");
  }
  const std::string text = read_part(file, directory.first, directory.size);
  const Bytes bytes(text);
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    if (bytes.number(at, 4) != kCentralHeader) fail("the directory of its archive is damaged");
    const std::size_t name_bytes = bytes.number(at + 28, 2);
    names.emplace_back(bytes.part(at + kCentralHeaderBytes, name_bytes));
    at += kCentralHeaderBytes + name_bytes + bytes.number(at + 30, 2) + bytes.number(at + 32, 2);
  }
  if (names.empty()) return names;
  const std::string folder = names.front().substr(0, names.front().find('/') + 1);
  if (std::ranges::all_of(names, [&](const auto& name) { return name.starts_with(folder); })) {
    for (std::string& name : names) name.erase(0, folder.size());
  }
  return names;
}

}  // namespace tensoa::package
