// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "io/hit_table.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "io/hit_checks.hpp"
#include "io/hit_files.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::track::detail {

std::unique_ptr<events::EventTable> open_hits(const std::filesystem::path& path) {
  return std::make_unique<events::EventTable>(
      path, event_name(path),
      events::TableForm{.required = {"x", "y", "z"},
                        .optional = {"hit_id", "layer", "volume_id", "layer_id", "particle_id"},
                        .row = "hit"});
}

Event read_hits(const events::EventTable& table, std::size_t number) {
  events::EventTable::Rows numbers = table.read(number);
  Event event;
  event.name = table.name(number);
  event.has_layers = table.has("layer") || (table.has("volume_id") && table.has("layer_id"));
  event.has_truth = table.has("particle_id");
  event.hits = PortableCollection<Hit>(numbers.count(), Device::cpu());
  const View<Hit> hits = event.hits.view();
  const std::string where = table.path().string() + ": event " + event.name;
  for (const auto& [name, to] : {std::pair("x", hits.x.data()), std::pair("y", hits.y.data()),
                                 std::pair("z", hits.z.data())}) {
    numbers.copy(name, to);
    require_finite(where, "hit ", name, to, hits.size(), 0);
  }
  std::fill_n(hits.track_id.data(), hits.size(), -1);
  std::fill_n(hits.particle_id.data(), hits.size(), 0);
  std::fill_n(hits.layer.data(), hits.size(), 0);
  if (event.has_truth) numbers.copy("particle_id", hits.particle_id.data());
  if (table.has("layer")) {
    numbers.copy("layer", hits.layer.data());
  } else if (event.has_layers) {
    std::vector<std::int32_t> volumes(hits.size());
    numbers.copy("volume_id", volumes.data());
    numbers.copy("layer_id", hits.layer.data());
    for (std::size_t i = 0; i < hits.size(); ++i) {
      const auto layer = layer_of(volumes[i], hits.layer[i]);
      if (!layer) {
        throw InputError(where + ": hit " + std::to_string(i) + ": " +
                         layer_message(volumes[i], hits.layer[i]));
      }
      hits.layer[i] = *layer;
    }
  }
  if (table.has("hit_id")) {
    numbers.copy("hit_id", hits.hit_id.data());
    require_unique_ids(where, hits);
  } else {
    for (std::size_t i = 0; i < hits.size(); ++i) {
      hits.hit_id[i] = static_cast<std::int64_t>(i);
    }
  }
  return event;
}

}  // namespace tensoa::track::detail
