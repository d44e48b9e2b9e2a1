// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "event_table.hpp"
#include "tensoa/events/event_source.hpp"

namespace tensoa::events {

/// The events of a table.
template <class Event>
class TableEvents : public OriginOf<Event> {
 public:
  using Read = Event (*)(const EventTable&, std::size_t);

  TableEvents(std::unique_ptr<const EventTable> table, Read how)
      : table_(std::move(table)), read_(how) {}

  std::string name(std::size_t event) const override { return table_->name(event); }
  std::string text(std::size_t event) const override { return table_->origin(event); }
  const std::filesystem::path* file() const override { return &table_->path(); }
  std::function<void()> read_ahead(std::size_t event) const override {
    return table_->read_ahead(event);
  }
  Event read(std::size_t event) const override { return read_(*table_, event); }

 private:
  std::unique_ptr<const EventTable> table_;
  Read read_;
};

/// A source for each event of a table. @param read makes an event of it
template <class Source, class Event>
std::vector<Source> sources_of_table(std::unique_ptr<const EventTable> table,
                                     Event (*read)(const EventTable&, std::size_t)) {
  const std::size_t n = table->events();
  const auto from = std::make_shared<const TableEvents<Event>>(std::move(table), read);
  std::vector<Source> sources;
  for (std::size_t event = 0; event < n; ++event) sources.emplace_back(from, event);
  return sources;
}

}  // namespace tensoa::events
