// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tensoa/columnar/table_file.hpp"
#include "tensoa/core/dtype.hpp"

namespace tensoa::events {

/// The columns of a file of events.
struct TableForm {
  std::vector<const char*> required;  ///< at least one
  std::vector<const char*> optional;
  const char* row;  ///< what a row is, for messages: "hit"
};

/// The events of one Parquet or Arrow file. Neighbours with one number in the column event_id (or event) are an
/// event, and without that column the file is one; or a row is an event and its columns are lists. A part of the file, such as a row
/// group, is decoded once for all its events, by the thread that needs it first or reads ahead, and freed
/// after the last of them is read.
/// *Threads*: any; others wait for the one that decodes the part that they need.
class EventTable {
 public:
  /// The numbers of one event: rows of columns, or one row of lists.
  class Rows {
   public:
    /// @param chunks of lists one, of one row
    Rows(const EventTable& table, std::vector<columnar::TableChunk> chunks);

    std::size_t count() const noexcept { return count_; }

    /// Copies the numbers of a column that the file has to `to`, which has room for count(). Only float32 may lose digits.
    /// @throws InputError where they do not fit
    template <class T>
    void copy(const char* name, T* to) {
      copy(table_.column(name), kDTypeOf<T>, reinterpret_cast<std::byte*>(to), sizeof(T));
    }

   private:
    void copy(std::size_t column, DType dtype, std::byte* to, std::size_t size);
    columnar::ListNumbers list(std::size_t column, DType dtype);

    const EventTable& table_;
    std::vector<columnar::TableChunk> chunks_;
    std::size_t count_ = 0;
    columnar::NumberMemory memory_;
  };

  /// Opens the file and finds its events, of which only the column of their numbers is read.
  /// @param name that of its events begin with
  /// @throws InputError for a file or columns that cannot be used
  EventTable(const std::filesystem::path& path, std::string name, TableForm form);

  std::size_t events() const noexcept { return events_.size(); }
  const std::filesystem::path& path() const noexcept { return file_.path(); }
  std::string name(std::size_t event) const;
  /// The file and the rows.
  std::string origin(std::size_t event) const;

  /// Whether the file has a column.
  bool has(const char* column) const;

  /// @throws InputError where the rows of this event cannot be read
  Rows read(std::size_t event) const;

  /// Returns what decodes the parts after this event's; nothing where that was requested already.
  std::function<void()> read_ahead(std::size_t event) const;

 private:
  struct Found {
    std::string name;  ///< after that of the file
    std::uint64_t first_row = 0, end_row = 0;
    std::size_t first_part = 0, end_part = 0;
    std::string failure = {};  ///< why it cannot be read; empty where it can
  };
  struct Decoded {
    std::vector<columnar::TableChunk> chunks;
    std::string failure;  ///< of the rows after these
  };
  struct Part {
    std::size_t events = 0;                        ///< with rows in it
    std::unique_ptr<columnar::TablePart> encoded;  ///< by cursor_mutex_; what the cursor skipped
    std::mutex mutex;                              ///< of what follows
    std::shared_ptr<const Decoded> decoded;
    std::size_t reads_left = 0;
    bool is_claimed = false;  ///< by a thread that reads ahead
  };
  std::size_t column(const char* name) const;
  void choose_columns();
  void find_events();
  void find_events_in(std::size_t part, columnar::TablePart& rows);
  void add_lost(std::uint64_t first_row, const std::string& message);
  void add_rows(std::size_t part, std::string name, std::uint64_t first_row, std::uint64_t end_row);
  std::shared_ptr<const Decoded> decoded(std::size_t part, bool is_read) const;
  Decoded decode(std::size_t part) const;
  std::unique_ptr<columnar::TablePart> encoded(std::size_t part) const;

  columnar::TableFile file_;
  std::string file_name_;  ///< of its events
  TableForm form_;
  columnar::ReadOptions options_;  ///< with the columns of the form that are there
  std::string event_column_;       ///< empty: a row of lists, or the whole file, is an event
  bool has_lists_ = false;
  std::vector<Found> events_;
  bool follows_loss_ = false;  ///< while events are found: the next one may have lost rows
  mutable std::deque<Part> parts_;
  mutable std::mutex cursor_mutex_;  ///< of what follows
  mutable std::unique_ptr<columnar::TableParts> cursor_;
  mutable std::size_t next_part_ = 0;
};

}  // namespace tensoa::events
