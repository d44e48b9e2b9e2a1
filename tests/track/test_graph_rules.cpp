// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/graph_rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "files.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/track/generator.hpp"
#include "tensoa/track/graph_builder.hpp"

namespace tensoa::track {
namespace {

constexpr const char* kOfOurModel = TENSOA_GRAPH_RULES;

using Pairs = std::set<std::pair<std::int64_t, std::int64_t>>;

Pairs pairs_by(const GraphRules& rules, PortableCollection<Hit>& hits) {
  GraphBuilder builder(rules);
  const auto edges = builder.build(hits.view()).const_view();
  Pairs pairs;
  for (std::size_t e = 0; e < edges.size(); ++e) pairs.emplace(edges.source[e], edges.target[e]);
  return pairs;
}

/// The score of the filter, as its header states it, in float64 and with functions of the library.
double score_of(const PairFilter& filter, ConstView<Hit> hits, std::size_t s, std::size_t t) {
  const double rs = std::hypot(hits.x[s], hits.y[s]);
  const double rt = std::hypot(hits.x[t], hits.y[t]);
  const double across = std::hypot(hits.x[t] - hits.x[s], hits.y[t] - hits.y[s]);
  const double dz = double{hits.z[t]} - double{hits.z[s]};
  const double dphi = std::atan2(hits.y[t], hits.x[t]) - std::atan2(hits.y[s], hits.x[s]);
  const double curvature = 2 * std::abs(std::sin(dphi)) / across;
  const auto arc = [&](double r) {  // arcsin(x) / x = 1 + x^2 / 6 + 3 x^4 / 40 + 15 x^6 / 336 + …
    const double x = std::min(curvature * r / 2, 1.0);
    return r * (1 + std::pow(x, 2) / 6 + 3 * std::pow(x, 4) / 40 + 15 * std::pow(x, 6) / 336);
  };
  const double cotangent = dz / std::max(arc(rt) - arc(rs), 1.0);
  const double z0 = hits.z[s] - arc(rs) * cotangent;
  const double side = hits.z[s] + hits.z[t] < 0 ? -1 : 1;
  const std::array<double, 8> features{curvature * 200,
                                       side * cotangent / std::sqrt(1 + std::abs(cotangent)),
                                       side * z0 / 100,
                                       rs / 500,
                                       rt / 500,
                                       side * hits.z[s] / 1000,
                                       side * hits.z[t] / 1000,
                                       std::hypot(across, dz) / 300};
  double score = filter.bias;
  for (std::size_t h = 0; h < PairFilter::kHidden; ++h) {
    double hidden = filter.hidden_bias[h];
    for (std::size_t i = 0; i < 8; ++i) hidden += filter.hidden_weight[i][h] * features[i];
    score += filter.weight[h] * std::max(hidden, 0.0);
  }
  return score;
}

TEST(GraphRules, LetPassWhatMapAndFilterLet) {
  const GraphRules rules = read_graph_rules(kOfOurModel);
  const std::set<std::pair<std::int32_t, std::int32_t>> allowed(rules.layer_map->pairs.begin(),
                                                                rules.layer_map->pairs.end());
  std::size_t near = 0;
  std::size_t checked = 0;
  for (std::uint64_t index = 0; index < 4; ++index) {
    Event event = generate({.seed = 12, .particles = 300}, index);
    const auto hits = event.hits.const_view();
    // Half of the events lie on known layers.
    if (index % 2 == 1) std::fill_n(event.hits.view().layer.data(), hits.size(), 0);
    const Pairs got = pairs_by(rules, event.hits);
    for (const auto& [s, t] : pairs_by(rules.cuts, event.hits)) {
      const auto source = static_cast<std::size_t>(s);
      const auto target = static_cast<std::size_t>(t);
      const bool is_allowed =
          index % 2 == 1 || allowed.contains({hits.layer[source], hits.layer[target]});
      const double score = score_of(*rules.filter, hits, source, target);
      ++checked;
      if (is_allowed && std::abs(score) < 1e-3) {  // rounding decides
        ++near;
        continue;
      }
      EXPECT_EQ(got.contains({s, t}), is_allowed && score >= 0) << s << ' ' << t << ' ' << score;
    }
  }
  EXPECT_GT(checked, 100'000U);
  EXPECT_LT(near, checked / 1000);
}

TEST(GraphRules, OfOurModelLeaveTheNeighboursOfGeneratedEvents) {
  const GraphRules rules = read_graph_rules(kOfOurModel);
  std::size_t of_cuts = 0;
  std::size_t of_rules = 0;
  std::size_t true_of_cuts = 0;
  std::size_t true_of_rules = 0;
  const auto count = [](const PortableCollection<Edge>& edges, std::size_t& all,
                        std::size_t& truths) {
    all += edges.size();
    const auto truth = edges.const_view().truth.data();
    truths += static_cast<std::size_t>(std::count(truth, truth + edges.size(), 1));
  };
  GraphBuilder wide(rules.cuts);
  GraphBuilder learned(rules);
  for (std::uint64_t index = 0; index < 5; ++index) {
    Event event = generate({.seed = 77}, index);
    count(wide.build(event.hits.view()), of_cuts, true_of_cuts);
    count(learned.build(event.hits.view()), of_rules, true_of_rules);
  }
  EXPECT_LT(of_rules, of_cuts / 7);
  EXPECT_GT(true_of_rules, true_of_cuts / 2);  // distant hits of a particle need no edge
}

TEST(GraphRules, RefuseALayerThatTheMapDoesNotName) {
  Event event = generate({.seed = 12, .particles = 30}, 0);
  event.hits.view().layer[5] = 4711;
  GraphBuilder builder(read_graph_rules(kOfOurModel));
  EXPECT_THAT(
      [&] { builder.build(event.hits.view()); },
      testing::ThrowsMessage<InputError>(testing::AllOf(
          testing::HasSubstr("hit row 5: got layer 4711"), testing::HasSubstr("layer map"))));
}

TEST(GraphRules, AreReadFromAFile) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "rules.json";
  std::ofstream(path)
      << R"({"cuts": {"max_dphi": 0.7}, "layers": [3, 9], "layer_pairs": [[3, 9]]})";
  const GraphRules rules = read_graph_rules(path);
  EXPECT_EQ(rules.cuts.max_dphi, 0.7);
  EXPECT_EQ(rules.cuts.max_z0, GraphCuts().max_z0) << "cuts that are not named keep their defaults";
  EXPECT_EQ(rules.layer_map->layers, (std::vector<std::int32_t>{3, 9}));
  EXPECT_EQ(rules.layer_map->pairs, (std::vector<std::pair<std::int32_t, std::int32_t>>{{3, 9}}));
  EXPECT_FALSE(rules.filter);
}

TEST(GraphRules, FilesThatCannotBeMeantAreRefusedByName) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "rules.json";
  const auto refusal_of = [&](const std::string& text) -> std::string {
    std::ofstream(path) << text;
    try {
      read_graph_rules(path);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  using testing::AllOf;
  using testing::HasSubstr;
  const auto named = HasSubstr(path.string());
  EXPECT_THAT(refusal_of("{"), AllOf(named, HasSubstr("JSON")));
  EXPECT_THAT(refusal_of("[]"), AllOf(named, HasSubstr("JSON object")));
  EXPECT_THAT(refusal_of(R"({"cut": {}})"),
              AllOf(named, HasSubstr("\"cut\""), HasSubstr("layer_pairs")));
  EXPECT_THAT(refusal_of(R"({"cuts": {"max_phi": 1}})"), AllOf(named, HasSubstr("\"max_phi\"")));
  EXPECT_THAT(refusal_of(R"({"cuts": {"max_dphi": -1}})"), AllOf(named, HasSubstr("max_dphi")));
  EXPECT_THAT(refusal_of(R"({"cuts": {"max_dphi": "wide"}})"), named);
  EXPECT_THAT(refusal_of(R"({"layers": [1, 2]})"), AllOf(named, HasSubstr("layer_pairs")));
  EXPECT_THAT(refusal_of(R"({"layers": [2, 1], "layer_pairs": []})"),
              AllOf(named, HasSubstr("ascend")));
  EXPECT_THAT(refusal_of(R"({"layers": [0, 1], "layer_pairs": []})"),
              AllOf(named, HasSubstr("layer 0")));
  EXPECT_THAT(refusal_of(R"({"layers": [], "layer_pairs": []})"),
              AllOf(named, HasSubstr("0 layers")));
  EXPECT_THAT(refusal_of(R"({"layers": [1], "layer_pairs": [[1, 2]]})"),
              AllOf(named, HasSubstr("layer 2")));
  EXPECT_THAT(
      refusal_of(
          R"({"filter": {"hidden_weight": [[1]], "hidden_bias": [], "weight": [], "bias": 0}})"),
      AllOf(named, HasSubstr("[8][16]")));
  EXPECT_THAT([&] { read_graph_rules(folder.path() / "none.json"); },
              testing::ThrowsMessage<ConfigError>(HasSubstr("none.json: cannot be read")));
}

TEST(GraphRules, RefuseWeightsThatAreNotFinite) {
  GraphRules rules;
  rules.filter.emplace().weight[3] = std::numeric_limits<float>::infinity();
  EXPECT_THROW(GraphBuilder{rules}, ConfigError);
}

TEST(GraphRules, APairWhoseScoreIsNotANumberStays) {
  GraphRules rules;
  rules.filter.emplace();
  rules.filter->hidden_weight[0][0] = std::numeric_limits<float>::max();
  rules.filter->hidden_weight[1][0] = -std::numeric_limits<float>::max();
  rules.filter->weight[0] = std::numeric_limits<float>::max();
  rules.filter->weight[1] = -std::numeric_limits<float>::max();
  for (auto& row : rules.filter->hidden_weight) row[1] = std::numeric_limits<float>::max();
  Event event = generate({.seed = 3, .particles = 20}, 0);
  EXPECT_GT(pairs_by(rules, event.hits).size(), 0U);
}

}  // namespace
}  // namespace tensoa::track
