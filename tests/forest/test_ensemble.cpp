// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/forest/ensemble.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "facts.hpp"
#include "reference.hpp"
#include "small_ensemble.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::forest {
namespace {

using test::inner;
using test::leaf;
using test::small_ensemble;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The small ensemble with `change` made to it is refused with a message that has `what`.
template <class Change>
void expect_refused(const Change& change, const std::string& what) {
  Ensemble ensemble = small_ensemble();
  change(ensemble);
  EXPECT_THAT([&] { require_whole(ensemble, "model F: "); },
              ThrowsMessage<LoadError>(testing::AllOf(
                  testing::StartsWith("model F: "), HasSubstr(what), HasSubstr("import it again"))))
      << what;
}

TEST(Ensemble, LinksHaveNames) {
  EXPECT_EQ(name_of(Link::kNone), "none");
  EXPECT_EQ(name_of(Link::kSoftmaxZero), "softmax_zero");
  EXPECT_EQ(name_of(Link::kSignedSquare), "signed_square");
  EXPECT_EQ(name_of(Link::kStep), "step");
}

TEST(Ensemble, AWholeOneIsAccepted) {
  EXPECT_NO_THROW(require_whole(small_ensemble(), ""));
  Ensemble only_base;
  only_base.base = {1};
  EXPECT_NO_THROW(require_whole(only_base, ""));
  Ensemble at_infinity = small_ensemble();
  at_infinity.nodes[0].threshold = -kInfinity;
  EXPECT_NO_THROW(require_whole(at_infinity, ""));
}

TEST(Ensemble, NodesThatAreNotWholeAreRefusedByTreeAndNode) {
  const auto node = [](std::size_t n, auto change) {
    return [=](Ensemble& ensemble) { change(ensemble.nodes[n]); };
  };
  expect_refused(node(3, [](Node& n) { n.left = 0; }), "tree 1, node 0: it leads to node 0");
  expect_refused(node(4, [](Node& n) { n.right = 1; }), "tree 1, node 1: it leads to node 1");
  expect_refused(node(4, [](Node& n) { n.left = 5; }), "tree 1, node 1: it leads to node 5");
  expect_refused(node(0, [](Node& n) { n.right = 0xFFFF'FFFF; }), "leads to node 4294967295");
  expect_refused(node(0, [](Node& n) { n.column = 3; }), "tree 0, node 0: its column is 3");
  expect_refused(node(1, [](Node& n) { n.column = -2; }), "tree 0, node 1: its column is -2");
  expect_refused(node(1, [](Node& n) { n.left = 4; }), "tree 0, node 1: its first leaf value is 4");
  expect_refused(node(0, [](Node& n) { n.threshold = kNan; }), "node 0: its threshold is not");
  expect_refused(node(3, [](Node& n) { n.set = 1; }), "tree 1, node 0: its category set is 1");
  expect_refused(node(4, [](Node& n) { n.test = static_cast<tensoa::forest::Test>(4); }),
                 "test or its direction");
  expect_refused(node(4, [](Node& n) { n.missing = static_cast<Missing>(4); }), "its direction");
}

TEST(Ensemble, TreesThatAreNotWholeAreRefused) {
  expect_refused([](Ensemble& e) { e.trees[1].first_node = 2; }, "tree 1: its first node is 2");
  expect_refused([](Ensemble& e) { e.trees[1].nodes = 6; }, "tree 1: it has 6 nodes");
  expect_refused([](Ensemble& e) { e.trees[0].nodes = 0; }, "tree 0: it has 0 nodes");
  expect_refused([](Ensemble& e) { e.trees[1].output = 2; }, "tree 1: its output is 2");
  expect_refused([](Ensemble& e) { e.leaf_size = 2; }, "tree 1: its output is 1, expected 0 to 0");
  expect_refused([](Ensemble& e) { e.nodes.push_back(leaf(0)); }, "its trees have 8");
  expect_refused([](Ensemble& e) { e.sets[0].first_word = 1; }, "category set 0 has 2 words");
  expect_refused([](Ensemble& e) { e.sets[0].first_word = 0xFFFF'FFFF; }, "category set 0 has");
}

TEST(Ensemble, NumbersThatAreNotPossibleAreRefused) {
  expect_refused([](Ensemble& e) { e.columns = std::size_t{1} << 31U; }, "number of columns is");
  expect_refused([](Ensemble& e) { e.columns = 4; }, "number of column names is 3, expected 4");
  expect_refused([](Ensemble& e) { e.base.pop_back(); }, "number of base values is 1, expected 2");
  expect_refused([](Ensemble& e) { e.leaf_size = 3; }, "number of values in a leaf is 3");
  expect_refused([](Ensemble& e) { e.leaf_size = 0; }, "number of values in a leaf is 0");
  expect_refused([](Ensemble& e) { e.link = static_cast<Link>(10); }, "link is 10");
  expect_refused([](Ensemble& e) { e.sums = static_cast<Precision>(2); }, "precision of sums is 2");
  expect_refused([](Ensemble& e) { e.base[1] = kNan; }, "base is not a finite number");
  expect_refused([](Ensemble& e) { e.divisor = 0; }, "divisor is 0");
  expect_refused(
      [](Ensemble& e) {
        e.outputs = 0;
        e.base.clear();
      },
      "number of outputs is 0");
}

TEST(Facts, SayWhatTheEnsembleTests) {
  using testing::Pair;
  EXPECT_THAT(
      facts_of(small_ensemble()),
      ElementsAre(
          Pair("trained by", "by hand"), Pair("objective", "binary"),
          Pair("classes", "background, signal"), Pair("answers", "sigmoid"),
          Pair("features", "3, 3 of them in tests"), Pair("trees", "2"), Pair("leaves", "5"),
          Pair("deepest", "2"),
          Pair("missing values", "NaN, at some nodes 0 too: left or right, as each node says"),
          Pair("thresholds of a column", "1 at most"), Pair("thresholds by column", "pt 1, eta 1"),
          Pair("columns of categories", "station \"µ\"")));
}

TEST(Facts, OfAnEnsembleWithoutTestsAreOnlyWhatItHas) {
  Ensemble ensemble;
  ensemble.base = {1};
  ensemble.columns = 4;
  EXPECT_THAT(facts_of(ensemble),
              testing::AllOf(testing::Contains(testing::Pair("answers", "margins")),
                             testing::Contains(testing::Pair("features", "4, 0 of them in tests")),
                             testing::Not(testing::Contains(testing::Key("missing values"))),
                             testing::Not(testing::Contains(testing::Key("classes")))));
}

// A million trees that all said to have all nodes would take hours where trees could share them.
TEST(Ensemble, TreesCannotShareNodes) {
  Ensemble ensemble;
  ensemble.base = {0};
  ensemble.leaf_values = {1};
  ensemble.nodes.assign(1'000'000, leaf(0));
  ensemble.trees.assign(1'000'000, {0, 1'000'000, 0});
  EXPECT_THAT([&] { require_whole(ensemble, ""); },
              ThrowsMessage<LoadError>(HasSubstr("tree 1: its first node is 0")));
}

TEST(Reference, FollowsTheDocumentation) {
  const Ensemble e = small_ensemble();
  const auto of = [&](std::array<double, 3> row) { return test::margins(e, row); };
  const auto scaled = [](double sum) { return sum * 0.5 / 3; };
  EXPECT_THAT(of({0.5, 0, 1}), ElementsAre(scaled(1.125), scaled(3.5)));  // equal: right; in
  EXPECT_THAT(of({0.49999, 0, 70.9}), ElementsAre(scaled(-0.875), scaled(3.5)));  // cut: 70
  EXPECT_THAT(of({kNan, -1.25, 2}), ElementsAre(scaled(-0.875), scaled(-0.25)));  // not greater
  EXPECT_THAT(of({0, kNan, -1}), ElementsAre(scaled(-0.875), scaled(3.5)));
  EXPECT_THAT(of({0, 1e-36, 1e9}), ElementsAre(scaled(-0.875), scaled(3.5)));  // a zero
  EXPECT_THAT(of({0, -kInfinity, kInfinity}), ElementsAre(scaled(-0.875), scaled(-0.25)));
  EXPECT_THAT(of({0, -2, kNan}), ElementsAre(scaled(-0.875), scaled(3.5)));
  // As a float, this is the threshold.
  EXPECT_EQ(of({0.5 - 1e-12, 0, 1})[0], scaled(1.125));
}

}  // namespace
}  // namespace tensoa::forest
