// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "xgboost_file.hpp"

namespace tensoa::forest {
namespace {

static_assert(std::endian::native == std::endian::little);  // structures are read as they are

// The structures of the file: what XGBoost had in memory, with what later versions no longer use.

struct LearnerOfFile {
  float base_score;
  std::uint32_t features;
  std::int32_t classes;
  std::int32_t has_attributes;
  std::int32_t has_metrics;
  std::uint32_t major_version;  ///< 0 before 1.0
  std::uint32_t minor_version;
  std::uint32_t targets;
  std::array<std::int32_t, 26> unused;
};
static_assert(sizeof(LearnerOfFile) == 136);

struct BoosterOfFile {
  std::int32_t trees;
  std::int32_t parallel_trees;
  std::array<std::int32_t, 5> unused;
  std::int32_t leaf_size;
  std::array<std::int32_t, 32> more_unused;
};
static_assert(sizeof(BoosterOfFile) == 160);

struct TreeOfFile {
  std::int32_t roots;
  std::int32_t nodes;
  std::array<std::int32_t, 3> unused;
  std::int32_t leaf_size;
  std::array<std::int32_t, 31> more_unused;
};
static_assert(sizeof(TreeOfFile) == 148);

struct NodeOfFile {
  std::int32_t parent;
  std::int32_t left;
  std::int32_t right;
  std::uint32_t column;  ///< the highest bit: missing values go left
  float value;           ///< the threshold, or of a leaf its value
};
static_assert(sizeof(NodeOfFile) == 20);

constexpr std::size_t kStatisticsOfNode = 16;

/// Takes one thing after another from the bytes. @throws std::runtime_error where they end before
class Bytes {
 public:
  explicit Bytes(std::string_view all) : left_(all) {}

  std::size_t left() const noexcept { return left_.size(); }

  std::string_view take(std::size_t bytes) {
    if (bytes > left_.size()) throw std::runtime_error("it is cut off");
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }

  template <class Value>
  Value take() {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value value;
    std::memcpy(&value, take(sizeof(Value)).data(), sizeof(Value));
    return value;
  }

  std::string_view text() { return take(take<std::uint64_t>()); }

  template <class Value>
  std::vector<Value> list(std::size_t size) {
    if (size > left_.size() / sizeof(Value)) throw std::runtime_error("it is cut off");
    std::vector<Value> values(size);
    if (size > 0)
      std::memcpy(values.data(), take(size * sizeof(Value)).data(), size * sizeof(Value));
    return values;
  }

 private:
  std::string_view left_;
};

std::size_t count(std::int32_t value, const char* what) {
  if (value < 0) {
    throw std::runtime_error("its number of " + std::string(what) + " is " + std::to_string(value));
  }
  return static_cast<std::size_t>(value);
}

XgboostTree read_tree(Bytes& bytes) {
  const auto header = bytes.take<TreeOfFile>();
  if (header.roots > 1) {
    throw std::runtime_error("it has " + std::to_string(header.roots) + " roots, expected one");
  }
  const std::size_t nodes = count(header.nodes, "nodes");
  XgboostTree tree;
  tree.size_leaf_vector = std::to_string(std::max(header.leaf_size, 1));
  for (const NodeOfFile& node : bytes.list<NodeOfFile>(nodes)) {
    constexpr std::uint32_t kMissingLeft = std::uint32_t{1} << 31U;
    tree.left_children.push_back(node.left);
    tree.right_children.push_back(node.right);
    tree.split_indices.push_back(static_cast<std::int32_t>(node.column & ~kMissingLeft));
    tree.default_left.push_back((node.column & kMissingLeft) != 0 ? 1 : 0);
    tree.split_conditions.push_back(node.value);
  }
  if (nodes > bytes.left() / kStatisticsOfNode) throw std::runtime_error("it is cut off");
  bytes.take(nodes * kStatisticsOfNode);
  return tree;
}

std::string text_of(float value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace

bool is_binary_xgboost(std::string_view bytes) noexcept {
  if (bytes.starts_with(kXgboostMark)) return true;
  std::size_t at = sizeof(LearnerOfFile);
  std::string_view text;
  for (int i = 0; i < 2; ++i) {
    std::uint64_t length = 0;
    if (bytes.size() < at + sizeof(length)) return false;
    std::memcpy(&length, bytes.data() + at, sizeof(length));
    at += sizeof(length);
    if (bytes.size() - at < length) return false;
    text = bytes.substr(at, length);
    at += length;
  }
  return text == "gbtree" || text == "gblinear" || text == "dart";
}

XgboostFile parse_xgboost_binary(std::string_view content) {
  if (content.starts_with(kXgboostMark)) content.remove_prefix(kXgboostMark.size());
  Bytes bytes(content);
  XgboostFile file;
  const auto learner = bytes.take<LearnerOfFile>();
  file.base_score = text_of(learner.base_score);
  file.base_is_margin = learner.major_version < 1;
  if (learner.major_version >= 1) {
    file.version = {static_cast<std::int32_t>(learner.major_version),
                    static_cast<std::int32_t>(learner.minor_version)};
  }
  file.num_feature = std::to_string(learner.features);
  file.num_class = std::to_string(count(learner.classes, "classes"));
  file.num_target = std::to_string(std::max(learner.targets, 1U));
  file.objective = bytes.text();
  file.booster = bytes.text();
  if (file.booster != "gbtree" && file.booster != "dart") return file;
  const auto booster = bytes.take<BoosterOfFile>();
  const std::size_t trees = count(booster.trees, "trees");
  if (booster.leaf_size > 1) {
    throw std::runtime_error("its leaves have " + std::to_string(booster.leaf_size) +
                             " values, expected one in a binary file");
  }
  // Some versions before 1.6 wrote the number of roots there, which is 1.
  const bool says_parallel_trees = file.version >= std::vector<std::int32_t>{1, 6};
  if (booster.parallel_trees > 1 || says_parallel_trees) {
    file.num_parallel_tree = std::to_string(std::max(booster.parallel_trees, 1));
  }
  for (std::size_t t = 0; t < trees; ++t) {
    try {
      file.trees.push_back(read_tree(bytes));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("tree " + std::to_string(t) + ": " + error.what());
    }
  }
  file.tree_info = bytes.list<std::int32_t>(trees);
  if (file.booster == "dart" && trees > 0) {
    file.weight_drop = bytes.list<float>(bytes.take<std::uint64_t>());
  }
  if (learner.has_attributes != 0) {
    for (auto left = bytes.take<std::uint64_t>(); left > 0; --left) {
      const std::string_view key = bytes.text();
      const std::string_view value = bytes.text();
      if (key == "best_iteration") file.best_iteration = value;
    }
  }
  return file;
}

}  // namespace tensoa::forest
