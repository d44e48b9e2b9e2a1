// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
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

/// Events that a function makes of options and a number.
template <class Event, class Options>
class GeneratedEvents : public OriginOf<Event> {
 public:
  using Name = std::string (*)(const Options&, std::uint64_t);
  using Make = Event (*)(const Options&, std::uint64_t);

  /// @param made_of, variant texts of Origin::text() after "generate:…" and of Origin::variant()
  GeneratedEvents(const Options& options, std::string made_of, std::string variant, Name namer,
                  Make make)
      : options_(options),
        made_of_(std::move(made_of)),
        variant_(std::move(variant)),
        name_(namer),
        make_(make) {}

  std::string name(std::size_t event) const override { return name_(options_, event); }
  std::string text(std::size_t) const override { return "generate:…" + made_of_; }
  std::string variant() const override { return variant_; }
  Event read(std::size_t event) const override { return make_(options_, event); }

 private:
  Options options_;
  std::string made_of_, variant_;
  Name name_;
  Make make_;
};

/// A source for each of the first n events.
template <class Source, class Event>
std::vector<Source> first_sources(std::size_t n,
                                  const std::shared_ptr<const OriginOf<Event>>& from) {
  std::vector<Source> sources;
  for (std::size_t event = 0; event < n; ++event) sources.emplace_back(from, event);
  return sources;
}

/// A source for each event of a table. @param read makes an event of it
template <class Source, class Event>
std::vector<Source> sources_of_table(std::unique_ptr<const EventTable> table,
                                     Event (*read)(const EventTable&, std::size_t)) {
  const std::size_t n = table->events();
  return first_sources<Source, Event>(
      n, std::make_shared<const TableEvents<Event>>(std::move(table), read));
}

}  // namespace tensoa::events
