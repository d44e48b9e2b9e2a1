// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// @file
/// The conditions for a pair of hits to be a candidate edge: cuts, pairs of layers, a small network.

namespace tensoa::track {

/// Cuts on the geometry of a pair. The source is the hit of smaller r; differences are target - source.
struct GraphCuts {
  double min_dr = 2.0;             ///< mm, dr at least
  double max_dphi = 0.3;           ///< rad, |dphi| at most
  double max_dphi_per_dr = 0.002;  ///< rad/mm, |dphi| / dr at most
  double max_distance = 500.0;     ///< mm, distance in space at most
  double max_z0 = 150.0;           ///< mm, |z0| at most, z0 = z - r * dz / dr of the source
};

/// @throws ConfigError when a cut is negative or not finite.
void require_cuts(const GraphCuts& cuts);

/// Which layers the target of an edge may lie on, for each layer of its source: those on which a
/// particle's hits follow each other ("module map" of GNN4ITk, here by layer).
struct LayerMap {
  std::vector<std::int32_t> layers;  ///< of the detector, as in Hit::layer; ascending, without 0
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;  ///< (source, target), of `layers`
};

/// A network of one hidden layer that scores a pair from eight numbers of its geometry, in float32
/// (impl/pair_features.hpp, pair_features() of tensoa.tracking.graph_rules).
struct PairFilter {
  static constexpr std::size_t kInputs = 8;
  static constexpr std::size_t kHidden = 16;

  std::array<std::array<float, kHidden>, kInputs> hidden_weight{};
  std::array<float, kHidden> hidden_bias{};
  std::array<float, kHidden> weight{};
  float bias = 0;  ///< with the cut in it: a pair passes unless its score is below 0
};

/// The rules of a candidate graph. A pair passes if it fulfils all that are there; its hits lie on
/// different layers, or on an unknown one (0), which the map lets pass, too.
struct GraphRules {
  GraphRules() = default;
  /// Cuts alone.
  GraphRules(const GraphCuts& only) : cuts(only) {}  // NOLINT(google-explicit-constructor)

  GraphCuts cuts;
  std::optional<LayerMap> layer_map;
  std::optional<PairFilter> filter;
};

/// @throws ConfigError for cuts as require_cuts(); for a map whose layers do not ascend, include 0 or are
/// more than kMostLayers, or whose pairs name other layers; for weights that are not finite.
void require_rules(const GraphRules& rules);

inline constexpr std::size_t kMostLayers = 4096;

/// Reads the rules of a JSON file, as `python -m tensoa.tracking.graph_rules` writes it:
///
///     {"cuts": {"max_dphi": 0.5, …}, "layers": [7002, …], "layer_pairs": [[8002, 8004], …],
///      "filter": {"hidden_weight": [[…], …], "hidden_bias": […], "weight": […], "bias": 0.1}}
///
/// Cuts that are not named keep their defaults; "layers" with "layer_pairs", and "filter" may be absent.
/// @throws ConfigError, with the file: for one that cannot be read, is not such JSON or has another key;
/// as require_rules()
GraphRules read_graph_rules(const std::filesystem::path& path);

/// The file of the rules that a tracking model was trained with: MODEL.graph.json next to MODEL.pt or
/// MODEL.pt2. Empty where that file is missing, and for a URL.
std::filesystem::path graph_rules_beside(const std::string& model);

/// Reads that file; where it is missing, the rules are the cuts that are built in.
/// @throws ConfigError as read_graph_rules()
GraphRules graph_rules_of(const std::string& model);

}  // namespace tensoa::track
