// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensoa/package/archive.hpp"

namespace tensoa::test {

/// Writes zip archives of stored files, by the book (PKWARE's APPNOTE.TXT, 4.3), and remembers where its
/// records are, so that tests can change single fields.
class ZipWriter {
 public:
  /// @param name whole, with its folder
  void add(const std::string& name, std::string_view bytes) {
    locals.push_back(text.size());
    number(0x04034b50, 4);
    files_.push_back({name, bytes.size(), package::crc32(bytes)});
    common(files_.back());
    text += name;
    text += bytes;
  }

  /// The archive. Nothing can be added any more.
  const std::string& finish(std::string_view comment = "") {
    const std::size_t directory = text.size();
    for (std::size_t i = 0; i < files_.size(); ++i) {
      centrals.push_back(text.size());
      number(0x02014b50, 4);
      number(20, 2);  // made by
      common(files_[i]);
      number(0, 2);  // comment
      number(0, 2);  // disk
      number(0, 2);  // attributes
      number(0, 4);
      number(locals[i], 4);
      text += files_[i].name;
    }
    end = text.size();
    number(0x06054b50, 4);
    number(0, 2);
    number(0, 2);
    number(files_.size(), 2);
    number(files_.size(), 2);
    number(end - directory, 4);
    number(directory, 4);
    number(comment.size(), 2);
    text += comment;
    return text;
  }

  /// Changes a field of `bytes` bytes.
  void set(std::size_t at, std::size_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) text[at + i] = static_cast<char>(value >> (8 * i));
  }

  std::string text;
  std::vector<std::size_t> locals;    ///< where the headers of the files are
  std::vector<std::size_t> centrals;  ///< and those in the directory
  std::size_t end = 0;                ///< the record at the end

 private:
  struct File {
    std::string name;
    std::size_t size;
    std::uint32_t checksum;
  };

  void number(std::size_t value, std::size_t bytes) {
    text.resize(text.size() + bytes);
    set(text.size() - bytes, value, bytes);
  }

  /// The common part of both headers of a file.
  void common(const File& file) {
    number(20, 2);  // version
    number(0, 2);   // flags
    number(0, 2);   // stored
    number(0, 4);   // date
    number(file.checksum, 4);
    number(file.size, 4);
    number(file.size, 4);
    number(file.name.size(), 2);
    number(0, 2);  // extra
  }

  std::vector<File> files_;
};

}  // namespace tensoa::test
