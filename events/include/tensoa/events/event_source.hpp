// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tensoa::events {

/// Where some events come from: a file, or a generator. *Threads*: any.
class Origin {
 public:
  Origin() = default;
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;
  virtual ~Origin() = default;

  virtual std::string name(std::size_t event) const = 0;
  /// For messages: the file, of a table with the rows, or "generate:…" with what makes the event.
  virtual std::string text(std::size_t event) const = 0;
  /// nullptr of a generator
  virtual const std::filesystem::path* file() const { return nullptr; }
  /// Of a generator: what stands before the names of its events where another one has the same.
  virtual std::string variant() const { return {}; }
  virtual std::function<void()> read_ahead(std::size_t) const { return {}; }
};

/// The same of events of one type.
template <class Event>
class OriginOf : public Origin {
 public:
  /// @throws InputError for an event that cannot be used
  virtual Event read(std::size_t event) const = 0;
};

/// Where one event comes from. Cheap to copy; nothing is read before read() of SourceOf.
class EventSource {
 public:
  EventSource(std::shared_ptr<const Origin> from, std::size_t index)
      : from_(std::move(from)), index_(index) {}

  /// The event's name: that of the file or of the generator, with the names of folders, or the variant of the
  /// generator, before it where require_names() needed them.
  std::string name() const { return prefix_ + from_->name(index_); }

  /// The file, of a table with the rows, or what generates it.
  std::string origin() const { return from_->text(index_); }

  /// The file; nullptr of generated events. *Lifetime*: that of this object; all events of a table return the
  /// same pointer.
  const std::filesystem::path* file() const { return from_->file(); }

  /// Returns work that decodes the two parts of a table after this event's, to be done before their events
  /// are read; nothing where other calls returned it, or after the last part. The work throws nothing; call it
  /// in any thread, as long as a source of the table is there.
  std::function<void()> read_ahead() const { return from_->read_ahead(index_); }

 protected:
  const Origin& from() const { return *from_; }
  std::size_t index() const { return index_; }

 private:
  friend void require_names(const std::vector<EventSource*>& sources);

  std::shared_ptr<const Origin> from_;
  std::size_t index_;
  std::string prefix_;  ///< of the name, where another event has the same
};

/// The same of an event of one type.
template <class Event>
class SourceOf : public EventSource {
 public:
  SourceOf(std::shared_ptr<const OriginOf<Event>> from, std::size_t index)
      : EventSource(std::move(from), index) {}

  /// Reads or makes the event. @throws InputError. *Threads*: any. A part of a table (a row group, a record
  /// batch) is decoded once for all its events, by the first that is read; others wait.
  Event read() const {
    Event event = static_cast<const OriginOf<Event>&>(from()).read(index());
    event.name = name();
    return event;
  }
};

/// Gives events different names: those of files that are called alike in different folders begin with the
/// folders that make them different, "run1_evt_5" and "run2_evt_5".
/// @throws InputError for two events of one name, with the origin of both, where folders do not help
void require_names(const std::vector<EventSource*>& sources);

/// The files of a folder in natural order (evt_2 before evt_10), subfolders left out.
/// @param is_event_file whether a file has events
/// @param expected such files, for the message
/// @throws InputError when the folder cannot be listed or has no such files
std::vector<std::filesystem::path> files_of_folder(
    const std::filesystem::path& folder,
    const std::function<bool(const std::filesystem::path&)>& is_event_file, const char* expected);

/// The whole numbers of "generate:A:B:C": those that are given, at least one, then those of `numbers`.
/// @param most each may be
/// @param usage what is expected, for the message
/// @throws ConfigError for other text, more numbers, and no events
void parse_generate(std::string_view input, std::span<std::uint64_t> numbers,
                    std::span<const std::uint64_t> most, const char* usage);

/// How the events of inputs are found: Form has
///
///     static constexpr const char* kFiles;                       // of a folder, for messages
///     static bool is_event_file(const fs::path&);
///     static std::vector<Source> of_file(const fs::path&);       // a missing file: one whose read() throws
///     static std::vector<Source> of_generator(std::string_view); // "generate:…"; throws ConfigError
///
/// @param inputs each a file, a folder, or "generate:…"
/// @return in the order in which they are processed, with different names
/// @throws InputError, ConfigError as above
template <class Source, class Form>
std::vector<Source> find_events(std::span<const std::string> inputs) {
  std::vector<Source> all;
  const auto add = [&](std::vector<Source> more) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
  };
  for (const std::string& input : inputs) {
    std::error_code ignored;
    if (input.starts_with("generate:")) {
      add(Form::of_generator(input));
    } else if (!std::filesystem::is_directory(input, ignored)) {
      add(Form::of_file(input));
    } else {
      for (const auto& file : files_of_folder(input, Form::is_event_file, Form::kFiles)) {
        add(Form::of_file(file));
      }
    }
  }
  std::vector<EventSource*> sources;
  for (Source& source : all) sources.push_back(&source);
  require_names(sources);
  return all;
}

}  // namespace tensoa::events
