// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "compile/compiled.hpp"

#include <algorithm>

namespace tensoa::forest {
namespace {

std::vector<TreeShape> shapes_of(const Ensemble& ensemble) {
  std::vector<TreeShape> shapes;
  for (const Tree& tree : ensemble.trees) shapes.push_back(shape_of(ensemble, tree));
  return shapes;
}

}  // namespace

Compiled::Compiled(const Ensemble& of, std::span<const DType> dtypes, bool for_gpu)
    : ensemble(of),
      float_leaf_values(of.leaf_values.begin(), of.leaf_values.end()),
      shapes(shapes_of(of)),
      questions(of, dtypes),
      followed(of, questions, shapes, !can_be_packed(questions)),
      blocks(of, questions, shapes, followed),
      rows(of, questions, shapes, followed, for_gpu),
      features_of(questions.columns.size()) {
  ensemble.nodes = {};
  questions.of_node = {};
  for (std::uint32_t f = 0; f < questions.features.size(); ++f) {
    features_of[questions.features[f].column].push_back(f);
  }
  follows_in_blocks = std::ranges::any_of(
      blocks.trees, [](const BlockTree& tree) { return tree.form == BlockTree::Form::kFollowed; });
}

}  // namespace tensoa::forest
