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
#include "tensoa/track/event.hpp"

namespace tensoa::track::detail {

/// The events of one Parquet or Arrow file (read_event() says which columns). A part of the file, such as a row
/// group, is decoded once for all its events, by the thread that needs it first or reads ahead, and freed
/// after the last of them is read.
/// *Threads*: any; others wait for the one that decodes the part that they need.
class EventTable {
 public:
  /// Opens the file and finds its events, of which only the column of their numbers is read.
  /// @throws InputError for a file or columns that cannot be used
  explicit EventTable(const std::filesystem::path& path);

  std::size_t events() const noexcept { return events_.size(); }
  const std::filesystem::path& path() const noexcept { return file_.path(); }
  std::string name(std::size_t event) const;
  /// The file and the rows.
  std::string origin(std::size_t event) const;

  /// @throws InputError where the rows of this event cannot be read or are not hits
  Event read(std::size_t event) const;

  /// Returns what decodes the parts after this event's; nothing where that was asked for already.
  std::function<void()> read_ahead(std::size_t event) const;

 private:
  struct Columns {
    std::size_t x = 0, y = 0, z = 0;
    std::optional<std::size_t> hit_id, layer, volume_id, layer_id, particle_id;
  };
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
  /// The numbers of one event: rows of columns, or one row of lists.
  class Rows;

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
  columnar::ReadOptions options_;
  Columns columns_;
  std::string event_column_;  ///< empty: a row of lists, or the whole file, is an event
  bool has_lists_ = false;
  std::vector<Found> events_;
  bool follows_loss_ = false;  ///< while events are found: the next one may have lost rows
  mutable std::deque<Part> parts_;
  mutable std::mutex cursor_mutex_;  ///< of what follows
  mutable std::unique_ptr<columnar::TableParts> cursor_;
  mutable std::size_t next_part_ = 0;
};

}  // namespace tensoa::track::detail
