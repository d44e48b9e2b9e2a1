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

/// What is there of groups that have ended, or have to: an error comes after the rows before it.
std::unique_ptr<TablePart> GroupedParts::take() {
  if (open_.empty()) return std::move(lost_);
  auto part = std::make_unique<WholePart>(TableChunk::concatenate(open_));
  open_.clear();
  return part;
}

std::unique_ptr<TablePart> GroupedParts::lost(std::uint64_t first_row,
                                              std::optional<std::uint64_t> rows,
                                              const std::string& message) {
  lost_ = std::make_unique<WholePart>(first_row, rows, message);
  return take();
}

std::unique_ptr<TablePart> GroupedParts::next() {
  if (lost_) return std::move(lost_);
  while (true) {
    if (!part_) {
      part_ = parts_->next();
      if (!part_) return take();
      next_row_ = part_->first_row();
    }
    std::optional<TableChunk> chunk;
    try {
      chunk = part_->next();
    } catch (const InputError& error) {
      std::optional<std::uint64_t> rest;
      if (part_->rows()) rest = part_->first_row() + *part_->rows() - next_row_;
      part_.reset();
      return lost(next_row_, rest, error.what());
    }
    if (!chunk) {
      part_.reset();
      continue;
    }
    next_row_ = chunk->first_row() + chunk->rows();
    columnar::NumberMemory memory;
    const std::byte* data = nullptr;
    try {
      data = chunk->numbers(column_, DType::kI64, columnar::Rounding::kRefused, memory);
    } catch (const InputError& error) {
      return lost(chunk->first_row(), chunk->rows(), error.what());
    }
    const auto* groups = reinterpret_cast<const std::int64_t*>(data);
    const std::int64_t last = groups[chunk->rows() - 1];
    std::size_t begin = chunk->rows() - 1;  // of the last group
    while (begin > 0 && groups[begin - 1] == last) --begin;
    const bool goes_on = begin == 0 && !open_.empty() && group_ == last;
    group_ = last;
    if (goes_on || (begin == 0 && open_.empty())) {
      open_.push_back(*chunk);
      continue;
    }
    if (begin > 0) open_.push_back(chunk->slice(0, begin));
    auto part = take();
    open_.push_back(chunk->slice(begin, chunk->rows() - begin));
    return part;
  }
}

}  // namespace tensoa::tools
