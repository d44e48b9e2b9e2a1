// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"

// The files of an event, divided by form feeds: hits, then truth and particles where there are any.
// Refused with an InputError that is one line, or finite hits of which a graph can be built.

using namespace tensoa;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::TemporaryFolder folder;
  std::string_view left(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"event.csv", "event-truth.csv", "event-particles.csv"}) {
    if (left.data() == nullptr) {
      std::filesystem::remove(folder.path() / name);
      continue;
    }
    const std::size_t end = left.find('\f');
    folder.write(name, left.substr(0, end));
    left = end == std::string_view::npos ? std::string_view() : left.substr(end + 1);
  }

  try {
    track::Event event = track::read_event(folder.path() / "event.csv");
    const auto hits = event.hits.view();
    for (std::size_t i = 0; i < hits.size(); ++i) {
      if (!std::isfinite(hits.x[i] + 0 * hits.y[i] + 0 * hits.z[i])) std::abort();
    }
    if (hits.size() > 2000) return 0;  // of a gzip that holds much more than its bytes
    track::GraphBuilder builder;
    const auto edges = builder.build(hits).const_view();
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const auto is_row = [&](std::int64_t row) {
        return row >= 0 && row < static_cast<std::int64_t>(hits.size());
      };
      if (!is_row(edges.source[i]) || !is_row(edges.target[i])) std::abort();
    }
  } catch (const InputError& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
  }
  return 0;
}
