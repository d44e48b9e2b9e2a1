// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "grouped_parts.hpp"

#include "tensoa/core/error.hpp"

namespace tensoa::tools {

using columnar::TableChunk;
using columnar::TablePart;

std::optional<TableChunk> WholePart::next() {
  if (!message_.empty()) throw InputError(message_);
  return std::exchange(chunk_, std::nullopt);
}

std::unique_ptr<TablePart> GroupedParts::next() {
  while (ready_.empty()) {
    const std::optional<Piece> piece = next_piece();
    if (!piece) {
      end_group();
      if (ready_.empty()) return {};
    } else if (piece->chunk) {
      take(*piece->chunk);
    } else {
      take_loss(*piece);
    }
  }
  auto part = std::move(ready_.front());
  ready_.pop_front();
  return part;
}

std::optional<GroupedParts::Piece> GroupedParts::next_piece() {
  while (pieces_.empty()) {
    if (!part_) {
      part_ = parts_->next();
      if (!part_) return {};
      next_row_ = part_->first_row();
    }
    try {
      const auto chunk = part_->next();
      if (!chunk) {
        part_.reset();
        continue;
      }
      next_row_ = chunk->first_row() + chunk->rows();
      split_at_faults(*chunk);
    } catch (const InputError& error) {
      std::optional<std::uint64_t> rest;
      if (part_->rows()) rest = part_->first_row() + *part_->rows() - next_row_;
      part_.reset();
      pieces_.push_back({{}, next_row_, rest, error.what()});
    }
  }
  Piece piece = std::move(pieces_.front());
  pieces_.pop_front();
  return piece;
}

/// Rows whose group is not known are between others.
void GroupedParts::split_at_faults(const TableChunk& chunk) {
  std::vector<columnar::RowFault> faults;
  try {
    columnar::NumberMemory memory;
    chunk.numbers(column_, DType::kI64, {}, memory);
  } catch (const InputError&) {
    faults = chunk.faults(column_, DType::kI64, {});
    if (faults.empty()) throw;
  }
  std::size_t end = 0;  // of the pieces so far
  const auto add_rows_before = [&](std::size_t row) {
    if (row > end) pieces_.push_back({chunk.slice(end, row - end)});
    end = row;
  };
  for (auto fault = faults.begin(); fault != faults.end();) {
    add_rows_before(fault->row);
    const std::uint64_t row = chunk.first_row() + end;
    const std::string what = columnar::to_string(*fault, DType::kI64);
    while (fault != faults.end() && fault->row == end) ++fault, ++end;
    pieces_.push_back({{},
                       row,
                       chunk.first_row() + end - row,
                       "row " + std::to_string(row) + ": the number of its group " + what});
  }
  add_rows_before(chunk.rows());
}

void GroupedParts::take(const TableChunk& chunk) {
  columnar::NumberMemory memory;
  const auto* groups =
      reinterpret_cast<const std::int64_t*>(chunk.numbers(column_, DType::kI64, {}, memory));
  std::size_t first = 0;  // of what is not taken yet
  if (!open_.empty() && groups[0] != group_) end_group();
  if (!loss_.empty() || !open_.empty()) {
    // The group that is open ends in this chunk, or not yet.
    while (first < chunk.rows() && groups[first] == groups[0]) ++first;
    open_.push_back(chunk.slice(0, first));
    group_ = groups[0];
    if (first == chunk.rows()) return;
    if (!loss_.empty()) end_group();
  }
  std::size_t last = chunk.rows() - 1;  // where the last group begins
  while (last > first && groups[last - 1] == groups[last]) --last;
  if (last > first) open_.push_back(chunk.slice(first, last - first));
  end_group();
  open_.push_back(chunk.slice(last, chunk.rows() - last));
  group_ = groups[last];
}

void GroupedParts::take_loss(const Piece& loss) {
  if (!open_.empty() && loss_.empty()) loss_ = loss.message;
  end_group();
  lose(loss.first_row, loss.rows, loss.message);
  loss_ = loss.message;
}

void GroupedParts::lose(std::uint64_t first_row, std::optional<std::uint64_t> rows,
                        const std::string& message) {
  ready_.push_back(std::make_unique<WholePart>(first_row, rows, message));
}

/// An open group is complete, or lost.
void GroupedParts::end_group() {
  if (open_.empty()) return;
  if (loss_.empty()) {
    ready_.push_back(std::make_unique<WholePart>(TableChunk::concatenate(open_)));
  } else {
    std::uint64_t rows = 0;
    for (const TableChunk& chunk : open_) rows += chunk.rows();
    lose(open_.front().first_row(), rows,
         "group " + std::to_string(group_) + ": rows of it may be lost: " + loss_);
  }
  loss_.clear();
  open_.clear();
}

}  // namespace tensoa::tools
