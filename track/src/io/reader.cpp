// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/event_source.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "event_files.hpp"
#include "io/hit_checks.hpp"
#include "io/hit_files.hpp"
#include "io/hit_table.hpp"
#include "tensoa/columnar/text_table.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::track {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void reject(const fs::path& path, const std::string& what) {
  throw InputError(path.string() + ": " + what);
}

bool ends_with(const fs::path& path, std::string_view end) { return path.string().ends_with(end); }

std::string read_text(const fs::path& path) {
  return columnar::read_text(path, {kMostTextOfEvent, "one event a file"});
}

bool has_names(std::string_view text) {
  const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  // The characters of numbers, NaN and infinity.
  return line.find_first_not_of("-+.,0123456789einfaEINFA \t\"") != std::string_view::npos;
}

using columnar::TableChunk;

// Writes the numbers of a column of a text to `to`, which has room for its rows.
template <class T>
void copy_column(const TableChunk& table, std::size_t column, T* to) {
  columnar::NumberMemory memory;
  const std::byte* const numbers = table.numbers(column, kDTypeOf<T>, {}, memory);
  std::memcpy(to, numbers, table.rows() * sizeof(T));
}

template <class T>
std::vector<T> column(const TableChunk& table, std::size_t index) {
  std::vector<T> values(table.rows());
  if (!values.empty()) copy_column(table, index, values.data());
  return values;
}

// The file NAME + suffix next to a hits file, packed like it or not, where there is one.
std::optional<fs::path> with_suffix(const fs::path& hits, std::string_view suffix) {
  const std::string stem =
      (hits.parent_path() / detail::event_name(hits)).string() + std::string(suffix);
  const bool packed = ends_with(hits, ".gz");
  std::error_code error;
  for (const char* ending : {packed ? ".csv.gz" : ".csv", packed ? ".csv" : ".csv.gz"}) {
    if (fs::path file = stem + ending; fs::exists(file, error)) return file;
  }
  return std::nullopt;
}

struct Truth {
  std::int64_t hit_id, particle_id;
  friend auto operator<=>(const Truth&, const Truth&) = default;
};

void read_truth(const fs::path& path, const View<Hit>& hits) {
  const auto table = columnar::parse_text(
      path, read_text(path), {{"hit_id", DType::kI64}, {"particle_id", DType::kI64}}, true);
  const auto ids = column<std::int64_t>(table, 0);
  const auto particles = column<std::int64_t>(table, 1);
  std::vector<Truth> truth(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) truth[i] = {ids[i], particles[i]};
  std::sort(truth.begin(), truth.end());
  const auto same_hit = [](const Truth& a, const Truth& b) { return a.hit_id == b.hit_id; };
  if (const auto twice = std::adjacent_find(truth.begin(), truth.end(), same_hit);
      twice != truth.end()) {
    reject(path,
           "hit_id " + std::to_string(twice->hit_id) + " is duplicated; expected unique hit_id");
  }
  if (truth.size() > hits.size()) {
    reject(path, "got " + std::to_string(truth.size()) + " rows, expected one for each of the " +
                     std::to_string(hits.size()) +
                     " hits: the hits are truncated, or of another event");
  }
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const Truth wanted{hits.hit_id[i], std::numeric_limits<std::int64_t>::min()};
    const auto found = std::lower_bound(truth.begin(), truth.end(), wanted);
    if (found == truth.end() || found->hit_id != wanted.hit_id) {
      reject(path, "got no row for hit_id " + std::to_string(wanted.hit_id) +
                       ", expected one for each of the " + std::to_string(hits.size()) + " hits");
    }
    hits.particle_id[i] = found->particle_id;
  }
}

PortableCollection<Particle> read_particles(const fs::path& path) {
  const auto table = columnar::parse_text(path, read_text(path),
                                          {{"particle_id", DType::kI64},
                                           {"vx", DType::kF32},
                                           {"vy", DType::kF32},
                                           {"vz", DType::kF32},
                                           {"px", DType::kF32},
                                           {"py", DType::kF32},
                                           {"pz", DType::kF32},
                                           {"q", DType::kI32}},
                                          true);
  PortableCollection<Particle> collection(table.rows(), Device::cpu());
  const View<Particle> particles = collection.view();
  copy_column(table, 0, particles.particle_id.data());
  std::size_t index = 1;
  for (float* to : {particles.vx.data(), particles.vy.data(), particles.vz.data(),
                    particles.px.data(), particles.py.data(), particles.pz.data()}) {
    copy_column(table, index++, to);
  }
  copy_column(table, index, particles.charge.data());
  return collection;
}

Event read_trackml(const fs::path& path, std::string_view text) {
  const auto table = columnar::parse_text(path, text,
                                          {{"hit_id", DType::kI64},
                                           {"x", DType::kF32},
                                           {"y", DType::kF32},
                                           {"z", DType::kF32},
                                           {"volume_id", DType::kI32},
                                           {"layer_id", DType::kI32}},
                                          true);
  Event event;
  event.name = detail::event_name(path);
  event.has_layers = true;
  event.hits = PortableCollection<Hit>(table.rows(), Device::cpu());
  const View<Hit> hits = event.hits.view();
  copy_column(table, 0, hits.hit_id.data());
  std::size_t index = 1;
  for (const auto& [name, to] : {std::pair("x", hits.x.data()), std::pair("y", hits.y.data()),
                                 std::pair("z", hits.z.data())}) {
    copy_column(table, index++, to);
    detail::require_finite(path.string(), "line ", name, to, hits.size(), 2);
  }
  const auto volumes = column<std::int32_t>(table, index++);
  const auto layers = column<std::int32_t>(table, index);
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const auto layer = detail::layer_of(volumes[i], layers[i]);
    if (!layer) {
      reject(path,
             "line " + std::to_string(i + 2) + ": " + detail::layer_message(volumes[i], layers[i]));
    }
    hits.layer[i] = *layer;
    hits.particle_id[i] = 0;
    hits.track_id[i] = -1;
  }
  detail::require_unique_ids(path.string(), hits);
  if (const auto truth = with_suffix(path, "-truth")) {
    read_truth(*truth, hits);
    event.has_truth = true;
  }
  if (const auto particles = with_suffix(path, "-particles"))
    event.particles = read_particles(*particles);
  return event;
}

Event read_large_radius(const fs::path& path, std::string_view text) {
  constexpr double kScale = 1000.0;
  const auto table = columnar::parse_text(
      path, text, {{"r", DType::kF64}, {"phi", DType::kF64}, {"z", DType::kF64}}, false);
  std::array<std::vector<double>, 3> columns;
  constexpr std::array<const char*, 3> kNames{"r", "phi", "z"};
  for (std::size_t i = 0; i < 3; ++i) {
    columns[i] = column<double>(table, i);
    detail::require_finite(path.string(), "line ", kNames[i], columns[i].data(), columns[i].size(),
                           1);
  }
  const auto& [r, phi, z] = columns;

  Event event;
  event.name = detail::event_name(path);
  event.hits = PortableCollection<Hit>(r.size(), Device::cpu());
  const View<Hit> hits = event.hits.view();
  for (std::size_t i = 0; i < r.size(); ++i) {
    hits.x[i] = static_cast<float>(kScale * r[i] * std::cos(std::numbers::pi * phi[i]));
    hits.y[i] = static_cast<float>(kScale * r[i] * std::sin(std::numbers::pi * phi[i]));
    hits.z[i] = static_cast<float>(kScale * z[i]);
    hits.layer[i] = 0;
    hits.hit_id[i] = static_cast<std::int64_t>(i);
    hits.particle_id[i] = 0;
    hits.track_id[i] = -1;
  }
  for (const auto& [name, values] : {std::pair("x", hits.x.data()), std::pair("y", hits.y.data()),
                                     std::pair("z", hits.z.data())}) {
    detail::require_finite(path.string(), "line ", name, values, hits.size(),
                           1);  // beyond the range of float32
  }
  return event;
}

}  // namespace

Event read_event(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    reject(
        path,
        "no such file or folder, expected a file, a folder, or generate:EVENTS[:SEED[:PARTICLES]]");
  }
  if (!detail::is_event_file(path)) {
    reject(path,
           "is not a file of hits, expected NAME-hits.csv[.gz], NAME.csv[.gz], .parquet or .arrow");
  }
  if (events::is_table(path)) {
    const auto table = detail::open_hits(path);
    if (table->events() == 1) return detail::read_hits(*table, 0);
    reject(path, "has " + std::to_string(table->events()) + " events, expected one");
  }
  const std::string text = read_text(path);
  const bool named_hits = events::without_endings(path).ends_with(detail::kHits);
  return named_hits || has_names(text) ? read_trackml(path, text) : read_large_radius(path, text);
}

}  // namespace tensoa::track
