// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tensoa::remote {

/// The bytes of one request, in order: some stored here, others in memory of the caller. Built once, sent any
/// number of times.
class Payload {
 public:
  struct Part {
    const std::byte* borrowed;  ///< nullptr: `size` bytes of own() from `offset`
    std::size_t offset;
    std::size_t size;
  };

  /// Copies the bytes.
  void append(std::string_view bytes) {
    if (parts_.empty() || parts_.back().borrowed != nullptr) {
      parts_.push_back({nullptr, own_.size(), 0});
    }
    own_ += bytes;
    parts_.back().size += bytes.size();
    size_ += bytes.size();
  }

  /// Refers to memory that must stay as it is until a call that sends it is over.
  void borrow(const std::byte* data, std::size_t bytes) {
    if (bytes == 0) return;
    parts_.push_back({data, 0, bytes});
    size_ += bytes;
  }

  /// Memory for `bytes` bytes, aligned for any number, which the caller writes before the payload is sent.
  std::byte* make_room(std::size_t bytes) {
    rooms_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
    borrow(rooms_.back().get(), bytes);
    return rooms_.back().get();
  }

  std::size_t size() const noexcept { return size_; }
  const std::string& own() const noexcept { return own_; }
  const std::vector<Part>& parts() const noexcept { return parts_; }

 private:
  std::string own_;
  std::vector<std::unique_ptr<std::byte[]>> rooms_;
  std::vector<Part> parts_;
  std::size_t size_ = 0;
};

}  // namespace tensoa::remote
