// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensoa::forest {

/// A tree as XGBoost writes it: lists with a value for each node, and those of the categorical nodes.
struct XgboostTree {
  std::vector<std::int32_t> left_children;  ///< -1: a leaf
  std::vector<std::int32_t> right_children;
  std::vector<std::int32_t> split_indices;
  std::vector<float> split_conditions;  ///< of a leaf its value
  std::vector<std::int32_t> default_left;
  std::vector<std::int32_t> split_type;  ///< 1: categorical; empty before XGBoost 1.3
  std::vector<float> leaf_weights;       ///< of leaves with several values, since XGBoost 3.1
  std::vector<float> base_weights;       ///< of all nodes: before, those of leaves were among them
  std::vector<std::int32_t> categories_nodes;
  std::vector<std::int32_t> categories_segments;
  std::vector<std::int32_t> categories_sizes;
  std::vector<std::int32_t> categories;
  std::string size_leaf_vector;
};

/// The content of a model file of XGBoost. Numbers are texts where the file has them as texts.
struct XgboostFile {
  std::vector<std::int32_t> version;
  std::string booster;
  std::string objective;
  std::string base_score;
  bool base_is_margin = false;  ///< it is one already: before XGBoost 1.0
  std::string num_class;
  std::string num_feature;
  std::string num_target;
  std::string num_parallel_tree;
  std::string num_trees;
  std::string best_iteration;
  std::vector<float> encoder_values;  ///< of the last column: its categories, if they were numbers
  bool has_encoded_numbers = false;   ///< that some column had others than 0, 1, 2 …
  bool has_encoded_texts = false;
  std::vector<std::string> feature_names;
  std::vector<float> weight_drop;
  std::vector<std::int32_t> iteration_indptr;
  std::vector<std::int32_t> tree_info;
  std::vector<XgboostTree> trees;
};

/// @throws std::runtime_error
XgboostFile parse_xgboost_json(std::string_view bytes);
XgboostFile parse_xgboost_ubjson(std::string_view bytes);
XgboostFile parse_xgboost_binary(std::string_view bytes);

/// The first bytes of some binary files.
inline constexpr std::string_view kXgboostMark = "binf";

/// Whether a binary file begins so: parameters, then two texts behind their lengths, of the objective and of the booster.
bool is_binary_xgboost(std::string_view beginning) noexcept;

}  // namespace tensoa::forest
