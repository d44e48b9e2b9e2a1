// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/graph_rules.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "tensoa/core/error.hpp"

namespace tensoa::track {
namespace {

void require_cut(const char* name, double value) {
  if (!std::isfinite(value) || value < 0) {
    throw ConfigError("graph cut " + std::string(name) + ": got " + std::to_string(value) +
                      ", expected a finite number that is not negative");
  }
}

void require_map(const LayerMap& map) {
  const std::vector<std::int32_t>& layers = map.layers;
  if (layers.empty() || layers.size() > kMostLayers) {
    throw ConfigError("layer map: got " + std::to_string(layers.size()) +
                      " layers, expected 1 to " + std::to_string(kMostLayers));
  }
  if (std::ranges::adjacent_find(layers, std::greater_equal()) != layers.end() ||
      std::ranges::binary_search(layers, 0)) {
    throw ConfigError(
        "layer map: got layers that do not ascend, or layer 0, expected each layer once, "
        "ascending; 0 stands for an unknown one");
  }
  for (const auto& [source, target] : map.pairs) {
    for (const std::int32_t layer : {source, target}) {
      if (!std::ranges::binary_search(layers, layer)) {
        throw ConfigError("layer map: got a pair with layer " + std::to_string(layer) +
                          ", expected one of the " + std::to_string(layers.size()) + " layers");
      }
    }
  }
}

void require_filter(const PairFilter& filter) {
  const auto is_finite = [](float value) { return std::isfinite(value); };
  bool are_finite = std::isfinite(filter.bias) &&
                    std::ranges::all_of(filter.hidden_bias, is_finite) &&
                    std::ranges::all_of(filter.weight, is_finite);
  for (const auto& row : filter.hidden_weight) are_finite &= std::ranges::all_of(row, is_finite);
  if (!are_finite)
    throw ConfigError("pair filter: got a weight that is not finite, expected numbers");
}

using Json = nlohmann::json;

/// The keys of an object that are read; others are refused, as they would be ignored.
void require_keys(const Json& object, std::initializer_list<const char*> known) {
  for (const auto& item : object.items()) {
    if (std::ranges::find(known, item.key()) != known.end()) continue;
    std::string names;
    for (const char* name : known) names += (names.empty() ? "" : ", ") + std::string(name);
    throw ConfigError("got the key \"" + item.key() + "\", expected " + names);
  }
}

GraphCuts cuts_of(const Json& json) {
  require_keys(json, {"min_dr", "max_dphi", "max_dphi_per_dr", "max_distance", "max_z0"});
  GraphCuts cuts;
  cuts.min_dr = json.value("min_dr", cuts.min_dr);
  cuts.max_dphi = json.value("max_dphi", cuts.max_dphi);
  cuts.max_dphi_per_dr = json.value("max_dphi_per_dr", cuts.max_dphi_per_dr);
  cuts.max_distance = json.value("max_distance", cuts.max_distance);
  cuts.max_z0 = json.value("max_z0", cuts.max_z0);
  return cuts;
}

PairFilter filter_of(const Json& json) {
  require_keys(json, {"hidden_weight", "hidden_bias", "weight", "bias"});
  PairFilter filter;
  // nlohmann::json checks the sizes of arrays only where they are too small.
  if (json.at("hidden_weight").size() != PairFilter::kInputs ||
      json.at("hidden_bias").size() != PairFilter::kHidden ||
      json.at("weight").size() != PairFilter::kHidden ||
      !std::ranges::all_of(json.at("hidden_weight"),
                           [](const Json& row) { return row.size() == PairFilter::kHidden; })) {
    throw ConfigError(
        "got a filter of another shape, expected hidden_weight [8][16], hidden_bias [16], weight "
        "[16]");
  }
  json.at("hidden_weight").get_to(filter.hidden_weight);
  json.at("hidden_bias").get_to(filter.hidden_bias);
  json.at("weight").get_to(filter.weight);
  json.at("bias").get_to(filter.bias);
  return filter;
}

GraphRules rules_of(const Json& json) {
  if (!json.is_object()) throw ConfigError("got no JSON object");
  require_keys(json, {"cuts", "layers", "layer_pairs", "filter"});
  GraphRules rules;
  if (json.contains("cuts")) rules.cuts = cuts_of(json.at("cuts"));
  if (json.contains("layers") || json.contains("layer_pairs")) {
    LayerMap& map = rules.layer_map.emplace();
    json.at("layers").get_to(map.layers);
    json.at("layer_pairs").get_to(map.pairs);
  }
  if (json.contains("filter")) rules.filter = filter_of(json.at("filter"));
  require_rules(rules);
  return rules;
}

}  // namespace

void require_cuts(const GraphCuts& cuts) {
  require_cut("min_dr", cuts.min_dr);
  require_cut("max_dphi", cuts.max_dphi);
  require_cut("max_dphi_per_dr", cuts.max_dphi_per_dr);
  require_cut("max_distance", cuts.max_distance);
  require_cut("max_z0", cuts.max_z0);
}

void require_rules(const GraphRules& rules) {
  require_cuts(rules.cuts);
  if (rules.layer_map) require_map(*rules.layer_map);
  if (rules.filter) require_filter(*rules.filter);
}

GraphRules read_graph_rules(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) {
    throw ConfigError(path.string() +
                      ": cannot be read, expected the rules of a candidate graph (JSON)");
  }
  try {
    return rules_of(Json::parse(file));
  } catch (const Json::exception& error) {
    throw ConfigError(path.string() +
                      ": got JSON that is not the rules of a candidate graph: " + error.what());
  } catch (const ConfigError& error) {
    throw ConfigError(path.string() + ": " + error.what());
  }
}

std::filesystem::path graph_rules_beside(const std::string& model) {
  if (model.find("://") != std::string::npos) return {};
  std::filesystem::path rules(model);
  rules.replace_extension(".graph.json");
  std::error_code ignored;
  return std::filesystem::exists(rules, ignored) ? rules : std::filesystem::path();
}

GraphRules graph_rules_of(const std::string& model) {
  const std::filesystem::path path = graph_rules_beside(model);
  return path.empty() ? GraphRules() : read_graph_rules(path);
}

}  // namespace tensoa::track
