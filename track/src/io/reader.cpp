// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/event_source.hpp"

#include <arrow/api.h>
#include <arrow/csv/api.h>
#include <arrow/io/api.h>
#include <arrow/util/compression.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/event_files.hpp"
#include "io/event_table.hpp"
#include "io/hit_checks.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::track {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

[[noreturn]] void reject(const fs::path& path, const std::string& what) {
  throw InputError(path.string() + ": " + what);
}

// Text of a file for a message: on one line and short.
std::string printable(std::string text) {
  constexpr std::size_t kLongest = 160;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

/// What Arrow cannot do for want of memory is no fault of the file.
void throw_if_out_of_memory(const arrow::Status& status) {
  if (status.IsOutOfMemory()) throw std::bad_alloc();
}

template <class T>
T value_or_reject(arrow::Result<T> result, const fs::path& path, const std::string& what) {
  throw_if_out_of_memory(result.status());
  if (!result.ok()) reject(path, what + ": " + printable(result.status().message()));
  return std::move(result).ValueUnsafe();
}

bool ends_with(const fs::path& path, std::string_view end) { return path.string().ends_with(end); }

std::shared_ptr<arrow::Buffer> read_all(arrow::io::InputStream& stream, const fs::path& path,
                                        const std::string& what) {
  constexpr std::int64_t kPart = 1 << 20;
  arrow::BufferBuilder bytes;
  while (true) {
    const auto part = value_or_reject(stream.Read(kPart), path, what);
    if (part->size() == 0) break;
    if (bytes.length() + part->size() > kMostTextOfEvent) {
      reject(path, "has more than " + std::to_string(kMostTextOfEvent >> 20U) +
                       " MiB of text, unpacked, the most for one event; expected one event a file");
    }
    throw_if_out_of_memory(bytes.Append(part->data(), part->size()));
  }
  return value_or_reject(bytes.Finish(), path, what);
}

// The text of a file, unpacked.
std::shared_ptr<arrow::Buffer> read_text(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) reject(path, "got a folder, expected a CSV file");
  const std::shared_ptr<arrow::io::InputStream> file =
      value_or_reject(arrow::io::ReadableFile::Open(path.string()), path, "cannot be opened");
  auto bytes = read_all(*file, path, "cannot be read");
  if (bytes->size() == 0) reject(path, "empty file, expected CSV");

  const auto view = static_cast<std::string_view>(*bytes);
  const bool is_gzip = view.starts_with("\x1f\x8b");
  if (ends_with(path, ".gz") && !is_gzip) reject(path, "is named .gz, but is not gzip");
  if (is_gzip) {
    const std::string what = "is damaged or truncated gzip";
    const std::shared_ptr<arrow::util::Codec> codec = value_or_reject(
        arrow::util::Codec::Create(arrow::Compression::GZIP), path, "cannot be unpacked");
    const auto unpacked =
        value_or_reject(arrow::io::CompressedInputStream::Make(
                            codec.get(), std::make_shared<arrow::io::BufferReader>(bytes)),
                        path, what);
    bytes = read_all(*unpacked, path, what);
    if (bytes->size() == 0) reject(path, "empty file inside the gzip, expected CSV");
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (static_cast<std::string_view>(*bytes).starts_with(kByteOrderMark)) {
    bytes = arrow::SliceBuffer(bytes, kByteOrderMark.size());
  }
  if (static_cast<std::string_view>(*bytes).find('\0') != std::string_view::npos) {
    reject(path, "got binary data, expected CSV");
  }
  return bytes;
}

std::string_view first_line(const arrow::Buffer& text) {
  const auto view = static_cast<std::string_view>(text);
  return view.substr(0, view.find_first_of("\r\n"));
}

bool is_header(std::string_view line) {
  // What numbers, NaN and infinity are made of.
  return line.find_first_not_of("-+.,0123456789einfaEINFA \t\"") != std::string_view::npos;
}

Names split(std::string_view line) {
  Names names;
  while (true) {
    const auto comma = line.find(',');
    std::string_view name = line.substr(0, comma);
    if (name.size() > 1 && name.front() == '"' && name.back() == '"') {
      name = name.substr(1, name.size() - 2);
    }
    names.emplace_back(name);
    if (comma == std::string_view::npos) return names;
    line.remove_prefix(comma + 1);
  }
}

std::string joined(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return printable(text);
}

using ColumnTypes = std::vector<std::pair<std::string, std::shared_ptr<arrow::DataType>>>;

// The named columns of a CSV text, in this order. Without `has_header`, these are all columns that
// it has.
std::shared_ptr<arrow::Table> parse(const fs::path& path,
                                    const std::shared_ptr<arrow::Buffer>& text,
                                    const ColumnTypes& columns, bool has_header) {
  auto read = arrow::csv::ReadOptions::Defaults();
  read.use_threads = false;
  auto convert = arrow::csv::ConvertOptions::Defaults();
  convert.null_values.clear();  // an empty field is an error, not a missing number
  Names names;
  for (const auto& [name, type] : columns) {
    names.push_back(name);
    convert.column_types[name] = type;
  }
  if (has_header) {
    const Names got = split(first_line(*text));
    for (const std::string& name : names) {
      if (std::count(got.begin(), got.end(), name) != 1) {
        reject(path,
               "wrong columns: got " + joined(got) + "; expected " + joined(names) + ", each once");
      }
    }
    if (static_cast<std::string_view>(*text).find_first_of("\r\n") == std::string_view::npos) {
      // Arrow takes a header without a line end for nothing at all.
      arrow::FieldVector fields;
      for (const auto& [name, type] : columns) fields.push_back(arrow::field(name, type));
      return value_or_reject(arrow::Table::MakeEmpty(arrow::schema(fields)), path,
                             "cannot be read");
    }
    convert.include_columns = names;
  } else {
    read.column_names = names;
  }
  const std::string what =
      has_header ? "is not CSV with numbers" : "is not CSV with three columns of numbers";
  const auto reader = value_or_reject(
      arrow::csv::TableReader::Make(arrow::io::default_io_context(),
                                    std::make_shared<arrow::io::BufferReader>(text), read,
                                    arrow::csv::ParseOptions::Defaults(), convert),
      path, what);
  return value_or_reject(reader->Read(), path, what);
}

// Copies column `index` of a table to `to`, which has room for its rows.
template <class ArrowType, class To>
void copy_column(const arrow::Table& table, int index, To* to) {
  for (const auto& chunk : table.column(index)->chunks()) {
    const auto& array = static_cast<const arrow::NumericArray<ArrowType>&>(*chunk);
    to = std::transform(array.raw_values(), array.raw_values() + array.length(), to,
                        [](auto value) { return static_cast<To>(value); });
  }
}

template <class ArrowType>
std::vector<typename ArrowType::c_type> column(const arrow::Table& table, int index) {
  std::vector<typename ArrowType::c_type> values(static_cast<std::size_t>(table.num_rows()));
  copy_column<ArrowType>(table, index, values.data());
  return values;
}

// The file NAME + suffix beside a hits file, packed like it or not, where there is one.
std::optional<fs::path> beside(const fs::path& hits, std::string_view suffix) {
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
  const auto table = parse(path, read_text(path),
                           {{"hit_id", arrow::int64()}, {"particle_id", arrow::int64()}}, true);
  const auto ids = column<arrow::Int64Type>(*table, 0);
  const auto particles = column<arrow::Int64Type>(*table, 1);
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
  const auto table = parse(path, read_text(path),
                           {{"particle_id", arrow::int64()},
                            {"vx", arrow::float32()},
                            {"vy", arrow::float32()},
                            {"vz", arrow::float32()},
                            {"px", arrow::float32()},
                            {"py", arrow::float32()},
                            {"pz", arrow::float32()},
                            {"q", arrow::int32()}},
                           true);
  PortableCollection<Particle> collection(table->num_rows(), Device::cpu());
  const View<Particle> particles = collection.view();
  copy_column<arrow::Int64Type>(*table, 0, particles.particle_id.data());
  int index = 1;
  for (float* to : {particles.vx.data(), particles.vy.data(), particles.vz.data(),
                    particles.px.data(), particles.py.data(), particles.pz.data()}) {
    copy_column<arrow::FloatType>(*table, index++, to);
  }
  copy_column<arrow::Int32Type>(*table, index, particles.charge.data());
  return collection;
}

Event read_trackml(const fs::path& path, const std::shared_ptr<arrow::Buffer>& text) {
  const auto table = parse(path, text,
                           {{"hit_id", arrow::int64()},
                            {"x", arrow::float32()},
                            {"y", arrow::float32()},
                            {"z", arrow::float32()},
                            {"volume_id", arrow::int32()},
                            {"layer_id", arrow::int32()}},
                           true);
  Event event;
  event.name = detail::event_name(path);
  event.has_layers = true;
  event.hits = PortableCollection<Hit>(table->num_rows(), Device::cpu());
  const View<Hit> hits = event.hits.view();
  copy_column<arrow::Int64Type>(*table, 0, hits.hit_id.data());
  int index = 1;
  for (const auto& [name, to] : {std::pair("x", hits.x.data()), std::pair("y", hits.y.data()),
                                 std::pair("z", hits.z.data())}) {
    copy_column<arrow::FloatType>(*table, index++, to);
    detail::require_finite(path.string(), "line ", name, to, hits.size(), 2);
  }
  const auto volumes = column<arrow::Int32Type>(*table, index++);
  const auto layers = column<arrow::Int32Type>(*table, index);
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
  if (const auto truth = beside(path, "-truth")) {
    read_truth(*truth, hits);
    event.has_truth = true;
  }
  if (const auto particles = beside(path, "-particles"))
    event.particles = read_particles(*particles);
  return event;
}

Event read_large_radius(const fs::path& path, const std::shared_ptr<arrow::Buffer>& text) {
  constexpr double kScale = 1000.0;
  const auto table =
      parse(path, text,
            {{"r", arrow::float64()}, {"phi", arrow::float64()}, {"z", arrow::float64()}}, false);
  std::array<std::vector<double>, 3> columns;
  constexpr std::array<const char*, 3> kNames{"r", "phi", "z"};
  for (std::size_t i = 0; i < 3; ++i) {
    columns[i] = column<arrow::DoubleType>(*table, static_cast<int>(i));
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
  if (detail::is_table(path)) {
    const detail::EventTable table(path);
    if (table.events() == 1) return table.read(0);
    reject(path, "has " + std::to_string(table.events()) + " events, expected one");
  }
  const auto text = read_text(path);
  const bool named_hits = detail::without_endings(path).ends_with(detail::kHits);
  return named_hits || is_header(first_line(*text)) ? read_trackml(path, text)
                                                    : read_large_radius(path, text);
}

}  // namespace tensoa::track
