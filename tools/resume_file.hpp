// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tensoa/engine/model_options.hpp"
#include "tensoa/events/event_source.hpp"

// The file that a stopped `tensoa track` leaves for --resume.

namespace tensoa::tools {

/// The facts that both parts of a run must share, so that their outputs fit each other.
struct RunIdentity {
  std::string model;  ///< identity_of_model()
  std::string graph;  ///< SHA-256 of the graph rules; empty: those that are built in
  float min_score = 0;
  std::size_t events = 0;
  std::string inputs;  ///< SHA-256 of the names of the events and what identifies their files

  bool operator==(const RunIdentity&) const = default;
};

/// Returns the SHA-256 of a model file; of a URL that of the file which its servers say they run; where they do not state it, the
/// URL; with a fallback the URL and the SHA-256 of that. @throws LoadError where a file cannot be read or no server answers
std::string identity_of_model(const std::string& model, const std::string& fallback,
                              const ModelOptions& options);

/// Returns a SHA-256 of all names, and of each file its size and its first and last 4 KiB, because inputs may be larger
/// than what can be read again: a file that was moved is the same, and so is one that differs in the middle alone.
std::string identity_of_inputs(const std::vector<const events::EventSource*>& sources);
template <class Source>
std::string identity_of_inputs(const std::vector<Source>& sources) {
  std::vector<const events::EventSource*> all;
  for (const Source& source : sources) all.push_back(&source);
  return identity_of_inputs(all);
}

/// How far a run came that was stopped.
struct RunProgress {
  std::size_t done = 0;  ///< of the events, in their order
  RunIdentity run;
};

/// @throws InputError for a file that cannot be read, or is another one
RunProgress read_resume_file(const std::string& path);

/// @throws OutputError
void write_resume_file(const std::string& path, const RunProgress& progress);

/// @throws ConfigError that says what differs
void require_same_run(const std::string& path, const RunIdentity& stopped,
                      const RunIdentity& resumed);

}  // namespace tensoa::tools
