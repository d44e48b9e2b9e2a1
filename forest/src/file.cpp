// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "tensoa/core/error.hpp"
#include "tensoa/forest/ensemble.hpp"

namespace tensoa::forest {
namespace {

using nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little);  // the lists are written as they are

constexpr std::string_view kMagic = "tensoa forest 1\n";
constexpr std::size_t kUnit = 8;  ///< everything begins at a multiple of it

std::size_t padded(std::size_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }

std::string_view name_of(Precision precision) {
  return precision == Precision::kFloat32 ? "float32" : "float64";
}

/// The lists, in the order of the file.
template <class SomeEnsemble, class Visit>
void for_each_list(SomeEnsemble& ensemble, const Visit& visit) {
  visit("nodes", ensemble.nodes);
  visit("trees", ensemble.trees);
  visit("sets", ensemble.sets);
  visit("set_words", ensemble.set_words);
  visit("leaf_values", ensemble.leaf_values);
}

template <class Value>
std::string_view bytes_of(const std::vector<Value>& list) {
  return {reinterpret_cast<const char*>(list.data()), list.size() * sizeof(Value)};
}

std::string header_of(const Ensemble& ensemble) {
  ordered_json counts;
  for_each_list(ensemble, [&](const char* name, const auto& list) { counts[name] = list.size(); });
  const ordered_json header = {{"columns", ensemble.columns},
                               {"column_names", ensemble.column_names},
                               {"outputs", ensemble.outputs},
                               {"features", name_of(ensemble.features)},
                               {"sums", name_of(ensemble.sums)},
                               {"leaf_size", ensemble.leaf_size},
                               {"base", ensemble.base},
                               {"base_is_last", ensemble.base_is_last},
                               {"factor", ensemble.factor},
                               {"divisor", ensemble.divisor},
                               {"link", forest::name_of(ensemble.link)},
                               {"link_scale", ensemble.link_scale},
                               {"source", ensemble.source},
                               {"objective", ensemble.objective},
                               {"classes", ensemble.classes},
                               {"counts", std::move(counts)}};
  return header.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

// ---- reading

template <class Enum, std::size_t kCount>
Enum one_of(const ordered_json& header, const char* key,
            const std::array<std::string_view, kCount>& names) {
  const auto name = header.at(key).get<std::string>();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    throw std::runtime_error('"' + std::string(key) + "\" is \"" + name + "\", which is unknown");
  }
  return static_cast<Enum>(found - names.begin());
}

std::size_t count(const ordered_json& header, const char* key) {
  const ordered_json& value = header.at(key);
  if (!value.is_number_unsigned()) {
    throw std::runtime_error('"' + std::string(key) + "\" is not a whole number from 0 on");
  }
  return value.get<std::size_t>();
}

ordered_json parse_header(std::string_view text) {
  constexpr int kDeepest = 16;  // messages and copies recurse
  return ordered_json::parse(text, [](int depth, ordered_json::parse_event_t, const auto&) {
    if (depth <= kDeepest) return true;
    throw std::runtime_error("its header is nested deeper than " + std::to_string(kDeepest) +
                             " levels");
  });
}

void read_header(const ordered_json& header, Ensemble& ensemble) {
  constexpr auto kLinks = [] {
    std::array<std::string_view, static_cast<std::size_t>(Link::kStep) + 1> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = forest::name_of(static_cast<Link>(i));
    return names;
  };
  const std::array precisions = {name_of(Precision::kFloat32), name_of(Precision::kFloat64)};
  ensemble.columns = count(header, "columns");
  header.at("column_names").get_to(ensemble.column_names);
  ensemble.outputs = count(header, "outputs");
  ensemble.features = one_of<Precision>(header, "features", precisions);
  ensemble.sums = one_of<Precision>(header, "sums", precisions);
  ensemble.leaf_size = count(header, "leaf_size");
  header.at("base").get_to(ensemble.base);
  header.at("base_is_last").get_to(ensemble.base_is_last);
  header.at("factor").get_to(ensemble.factor);
  header.at("divisor").get_to(ensemble.divisor);
  ensemble.link = one_of<Link>(header, "link", kLinks());
  header.at("link_scale").get_to(ensemble.link_scale);
  header.at("source").get_to(ensemble.source);
  header.at("objective").get_to(ensemble.objective);
  header.at("classes").get_to(ensemble.classes);
}

Ensemble read_lists(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    throw std::runtime_error("it does not begin with \"tensoa forest 1\"");
  }
  bytes.remove_prefix(kMagic.size());
  std::uint64_t header_bytes = 0;
  if (bytes.size() < sizeof(header_bytes)) throw std::runtime_error("it is cut off");
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  bytes.remove_prefix(sizeof(header_bytes));
  if (header_bytes % kUnit != 0 || header_bytes > bytes.size()) {
    throw std::runtime_error("its header has " + std::to_string(header_bytes) + " bytes, " +
                             std::to_string(bytes.size()) +
                             " are left, expected a multiple of 8 that fits");
  }
  Ensemble ensemble;
  const ordered_json header = parse_header(bytes.substr(0, header_bytes));
  bytes.remove_prefix(header_bytes);
  read_header(header, ensemble);
  for_each_list(ensemble, [&]<class Value>(const char* name, std::vector<Value>& list) {
    const std::size_t size = count(header.at("counts"), name);
    if (size > bytes.size() / sizeof(Value) || padded(size * sizeof(Value)) > bytes.size()) {
      throw std::runtime_error("it is cut off: it has " + std::to_string(size) + ' ' + name +
                               ", but " + std::to_string(bytes.size()) + " bytes are left");
    }
    list.resize(size);
    if (size > 0) std::memcpy(list.data(), bytes.data(), size * sizeof(Value));
    bytes.remove_prefix(padded(size * sizeof(Value)));
  });
  if (!bytes.empty()) {
    throw std::runtime_error("it has " + std::to_string(bytes.size()) + " bytes too many");
  }
  return ensemble;
}

}  // namespace

std::string to_bytes(const Ensemble& ensemble) {
  std::string header = header_of(ensemble);
  header.resize(padded(header.size()), ' ');
  const std::uint64_t header_bytes = header.size();
  std::string bytes(kMagic);
  bytes.append(reinterpret_cast<const char*>(&header_bytes), sizeof(header_bytes));
  bytes += header;
  for_each_list(ensemble, [&](const char*, const auto& list) {
    bytes += bytes_of(list);
    bytes.resize(padded(bytes.size()), '\0');
  });
  return bytes;
}

Ensemble from_bytes(std::string_view bytes, const std::string& subject) {
  Ensemble ensemble;
  const auto fail = [&](std::string what) {
    std::ranges::replace(what, '\n', ' ');  // of texts in the header
    throw LoadError(subject + "its ensemble of trees cannot be read: " + what +
                    "; import the model again");
  };
  try {
    ensemble = read_lists(bytes);
  } catch (const std::runtime_error& error) {
    fail(error.what());
  } catch (const nlohmann::json::exception& error) {
    fail(error.what());
  }
  require_whole(ensemble, subject);
  return ensemble;
}

}  // namespace tensoa::forest
