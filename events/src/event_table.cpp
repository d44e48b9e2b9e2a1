// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "event_table.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "tensoa/core/error.hpp"

namespace tensoa::events {
namespace {

using columnar::NumberMemory;
using columnar::Rounding;
using columnar::TableChunk;

constexpr std::size_t kPartsAhead = 2;
constexpr std::size_t kRowsOfChunk = std::size_t{1} << 20U;

std::string rows_text(std::uint64_t first, std::uint64_t end) {
  if (end == first + 1) return "row " + std::to_string(first);
  return "rows " + std::to_string(first) + " to " + std::to_string(end - 1);
}

/// Coordinates may lose digits.
columnar::NumberRules rules(DType dtype) {
  return {.rounding = dtype == DType::kF32 ? Rounding::kAllowed : Rounding::kRefused};
}

/// "x, y and z"
std::string listed(const std::vector<const char*>& names, const char* before_last) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) list += i + 1 == names.size() ? before_last : ", ";
    list += names[i];
  }
  return list;
}

}  // namespace

EventTable::Rows::Rows(const EventTable& table, std::vector<TableChunk> chunks)
    : table_(table), chunks_(std::move(chunks)) {
  if (table_.has_lists_) {
    count_ = static_cast<std::size_t>(list(0, DType::kF32).offsets.back());
  } else {
    for (const TableChunk& chunk : chunks_) count_ += chunk.rows();
  }
}

void EventTable::Rows::copy(std::size_t column, DType dtype, std::byte* to, std::size_t size) {
  if (!table_.has_lists_) {
    for (const TableChunk& chunk : chunks_) {
      std::memcpy(to, chunk.numbers(column, dtype, rules(dtype), memory_), chunk.rows() * size);
      to += chunk.rows() * size;
    }
    return;
  }
  const columnar::ListNumbers numbers = list(column, dtype);
  const auto count = static_cast<std::size_t>(numbers.offsets.back());
  if (count != count_) {
    const auto& names = table_.options_.columns;
    throw InputError(table_.path().string() + ": row " +
                     std::to_string(chunks_.front().first_row()) + ": column " + names[column] +
                     " has " + std::to_string(count) + " elements, " + names.front() + " has " +
                     std::to_string(count_) + "; expected one for each " + table_.form_.row);
  }
  if (count > 0) std::memcpy(to, numbers.numbers, count * size);
}

columnar::ListNumbers EventTable::Rows::list(std::size_t column, DType dtype) {
  return chunks_.front().lists(column, dtype, rules(dtype), memory_);
}

EventTable::EventTable(const std::filesystem::path& path, std::string name, TableForm form)
    : file_(path), file_name_(std::move(name)), form_(std::move(form)) {
  choose_columns();
  find_events();
}

bool EventTable::has(const char* column) const {
  return std::ranges::find(options_.columns, column) != options_.columns.end();
}

std::size_t EventTable::column(const char* name) const {
  const auto& names = options_.columns;
  return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

void EventTable::choose_columns() {
  std::vector<std::string>& names = options_.columns;
  options_.rows_per_chunk = kRowsOfChunk;
  const auto& there = file_.columns();
  const auto find = [&](const char* name) {
    return std::ranges::find(there, name, &columnar::FileColumn::name);
  };
  const auto take = [&](const char* name) {
    const auto column = find(name);
    if (column == there.end()) return false;
    if (names.empty()) has_lists_ = column->is_list;
    if (column->is_list != has_lists_ || column->numbers == columnar::NumberType::kNone) {
      throw InputError(file_.path().string() + ": column " + name + " is " + column->type +
                       ", expected " + (has_lists_ ? "lists of numbers" : "numbers") + ", as " +
                       listed(form_.required, " and ") + " are");
    }
    names.emplace_back(name);
    return true;
  };
  for (const char* name : form_.required) {
    if (take(name)) continue;
    std::string got;
    for (const auto& column : there) got += (got.empty() ? "" : ", ") + column.name;
    throw InputError(file_.path().string() + ": wrong columns: got " + got.substr(0, 160) +
                     "; expected " + listed(form_.required, ", "));
  }
  for (const char* name : form_.optional) take(name);
  for (const char* name : {"event_id", "event"}) {
    const auto column = find(name);
    if (column == there.end()) continue;
    if (column->is_list ||
        columnar::conversion(column->numbers, DType::kI64) == columnar::Conversion::kImpossible) {
      throw InputError(file_.path().string() + ": column " + name + " is " + column->type +
                       ", expected integers: the number of the event of each row");
    }
    event_column_ = name;
    break;
  }
}

void EventTable::find_events() {
  const std::string& scanned = event_column_.empty() ? options_.columns.front() : event_column_;
  const auto parts = file_.read({.columns = {scanned}, .rows_per_chunk = kRowsOfChunk});
  for (std::size_t number = 0; auto part = parts->next(); ++number) {
    parts_.emplace_back();
    find_events_in(number, *part);
  }
  for (const Found& event : events_) {
    if (!event.failure.empty()) continue;
    for (std::size_t part = event.first_part; part < event.end_part; ++part) ++parts_[part].events;
  }
}

/// An event that cannot be read fails, and so do its neighbours, which may have rows in it.
void EventTable::add_lost(std::uint64_t first_row, const std::string& message) {
  if (!has_lists_ && !events_.empty() && events_.back().failure.empty()) {
    events_.back().failure = "rows of it may be lost: " + message;
  }
  events_.push_back(
      {"_lost-from-row-" + std::to_string(first_row), first_row, first_row, 0, 0, message});
  follows_loss_ = !has_lists_;
}

/// Adds rows to the last event, or an event.
void EventTable::add_rows(std::size_t part, std::string name, std::uint64_t first_row,
                          std::uint64_t end_row) {
  const bool may_be_cut = std::exchange(follows_loss_, false);
  const std::size_t count = events_.size();
  if (may_be_cut && count > 1 && events_[count - 2].name == name) {
    std::swap(events_[count - 2], events_[count - 1]);  // it goes on after what is lost
  }
  if (!has_lists_ && count > 0 && events_.back().name == name) {
    events_.back().end_row = end_row;
    events_.back().end_part = part + 1;
    return;
  }
  std::string failure;
  if (may_be_cut) failure = "rows of it may be lost: " + events_.back().failure;
  events_.push_back({std::move(name), first_row, end_row, part, part + 1, std::move(failure)});
}

void EventTable::find_events_in(std::size_t number, columnar::TablePart& part) {
  std::uint64_t row = part.first_row();
  try {
    // Without numbers of events nothing is decoded where the file says how many rows there are.
    if (event_column_.empty() && part.rows()) {
      const std::uint64_t end = row + *part.rows();
      if (!has_lists_ && end > row) add_rows(number, "", row, end);
      for (; has_lists_ && row < end; ++row) {
        add_rows(number, '_' + std::to_string(row), row, row + 1);
      }
      return;
    }
    NumberMemory memory;
    while (const auto chunk = part.next()) {
      row = chunk->first_row();
      const std::span ids(
          reinterpret_cast<const std::int64_t*>(chunk->numbers(0, DType::kI64, {}, memory)),
          chunk->rows());
      for (auto first = ids.begin(); first != ids.end();) {
        const auto differs = [&](std::int64_t id) { return id != *first; };
        const auto end = has_lists_ ? first + 1 : std::find_if(first, ids.end(), differs);
        const std::uint64_t end_row = row + static_cast<std::uint64_t>(end - first);
        add_rows(number, '_' + std::to_string(*first), row, end_row);
        row = end_row;
        first = end;
      }
    }
  } catch (const InputError& error) {
    add_lost(row, error.what());
  }
}

std::string EventTable::name(std::size_t event) const { return file_name_ + events_[event].name; }

std::string EventTable::origin(std::size_t event) const {
  const Found& found = events_[event];
  return path().string() + ", " + rows_text(found.first_row, found.end_row);
}

std::unique_ptr<columnar::TablePart> EventTable::encoded(std::size_t number) const {
  const std::lock_guard lock(cursor_mutex_);
  if (parts_[number].encoded) return std::move(parts_[number].encoded);
  const bool is_new = !cursor_ || next_part_ > number;
  if (is_new) {
    cursor_ = file_.read(options_);
    next_part_ = 0;
  }
  for (;; ++next_part_) {
    std::unique_ptr<columnar::TablePart> part = cursor_->next();
    if (!part) throw InputError(path().string() + ": ends before part " + std::to_string(number));
    if (next_part_ == number) {
      ++next_part_;
      return part;
    }
    // Another thread needs what lies between two events that are read at a time.
    if (!is_new) parts_[next_part_].encoded = std::move(part);
  }
}

EventTable::Decoded EventTable::decode(std::size_t number) const {
  Decoded all;
  try {
    const auto part = encoded(number);
    while (auto chunk = part->next()) all.chunks.push_back(*std::move(chunk));
  } catch (const InputError& error) {
    all.failure = error.what();
  }
  return all;
}

std::shared_ptr<const EventTable::Decoded> EventTable::decoded(std::size_t number,
                                                               bool is_read) const {
  Part& part = parts_[number];
  const std::lock_guard lock(part.mutex);
  if (!part.decoded) {
    part.decoded = std::make_shared<const Decoded>(decode(number));
    part.reads_left = part.events;
  }
  auto rows = part.decoded;
  if (is_read && --part.reads_left == 0) part.decoded.reset();
  return rows;
}

std::function<void()> EventTable::read_ahead(std::size_t event) const {
  std::vector<std::size_t> claimed;
  const std::size_t first = events_[event].first_part;
  for (std::size_t i = first; i < std::min(first + kPartsAhead + 1, parts_.size()); ++i) {
    const std::unique_lock lock(parts_[i].mutex, std::try_to_lock);
    if (!lock || std::exchange(parts_[i].is_claimed, true)) continue;
    if (i > first && parts_[i].events > 0) claimed.push_back(i);
  }
  if (claimed.empty()) return {};
  return [this, claimed] {
    try {
      for (const std::size_t part : claimed) decoded(part, false);
    } catch (const std::bad_alloc&) {
      // Then its events decode it, of which each has its own error.
      return;
    }
  };
}

EventTable::Rows EventTable::read(std::size_t number) const {
  const Found& found = events_[number];
  if (!found.failure.empty()) throw InputError(found.failure);
  std::vector<TableChunk> chunks;
  std::string failure;
  std::uint64_t rows = 0;
  for (std::size_t i = found.first_part; i < found.end_part; ++i) {
    const auto part = decoded(i, true);
    for (const TableChunk& chunk : part->chunks) {
      const std::uint64_t first = std::max(found.first_row, chunk.first_row());
      const std::uint64_t end = std::min(found.end_row, chunk.first_row() + chunk.rows());
      if (first >= end) continue;
      chunks.push_back(chunk.slice(first - chunk.first_row(), end - first));
      rows += end - first;
    }
    if (failure.empty()) failure = part->failure;
  }
  if (rows < found.end_row - found.first_row) {
    throw InputError(failure.empty() ? path().string() + ": has changed while it was read"
                                     : failure);
  }
  return Rows(*this, std::move(chunks));
}

}  // namespace tensoa::events
