// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensoa/columnar/table_file.hpp"

namespace tensoa::tools {

/// A part that is one chunk, or an error.
class WholePart final : public columnar::TablePart {
 public:
  explicit WholePart(columnar::TableChunk chunk) : chunk_(std::move(chunk)) {
    rows_ = chunk_->rows();
    first_row_ = chunk_->first_row();
  }
  WholePart(std::uint64_t first_row, std::optional<std::uint64_t> rows, std::string message)
      : first_row_(first_row), rows_(rows), message_(std::move(message)) {}

  std::uint64_t first_row() const noexcept override { return first_row_; }
  std::optional<std::uint64_t> rows() const noexcept override { return rows_; }
  std::optional<columnar::TableChunk> next() override;

 private:
  std::optional<columnar::TableChunk> chunk_;
  std::uint64_t first_row_ = 0;
  std::optional<std::uint64_t> rows_;
  std::string message_;
};

/// The parts of a file, put together and cut so that no group of equal neighbours lies in two of them. Decodes in
/// the thread that takes the parts. Keeps the rows of one group and those of one chunk in memory.
///
/// A part that cannot be read, or has no group, may have rows of the groups before and after it: they are lost, too.
class GroupedParts final : public columnar::TableParts {
 public:
  /// @param column of the chunks, integers
  GroupedParts(std::unique_ptr<columnar::TableParts> parts, std::size_t column)
      : parts_(std::move(parts)), column_(column) {}

  std::unique_ptr<columnar::TablePart> next() override;

 private:
  /// Rows that were read, or were not.
  struct Piece {
    std::optional<columnar::TableChunk> chunk;
    std::uint64_t first_row = 0;
    std::optional<std::uint64_t> rows = {};
    std::string message = {};
  };

  std::optional<Piece> next_piece();
  void split_at_faults(const columnar::TableChunk& chunk);
  void take(const columnar::TableChunk& chunk);
  void take_loss(const Piece& loss);
  void lose(std::uint64_t first_row, std::optional<std::uint64_t> rows, const std::string& message);
  void end_group();

  std::unique_ptr<columnar::TableParts> parts_;
  std::size_t column_;
  std::unique_ptr<columnar::TablePart> part_;
  std::uint64_t next_row_ = 0;
  std::deque<Piece> pieces_;                ///< that were read, and are to be taken
  std::vector<columnar::TableChunk> open_;  ///< rows of the last group
  std::int64_t group_ = 0;                  ///< its number
  std::string loss_;                        ///< before it: it is lost, too
  std::deque<std::unique_ptr<columnar::TablePart>> ready_;
};

}  // namespace tensoa::tools
