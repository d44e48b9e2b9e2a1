// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// @file
/// An ensemble of decision trees, whatever framework trained it, as plain values. Readers fill it, Forest
/// compiles it.

namespace tensoa::forest {

/// The test of a node on the value x of its column. A value that is missing goes where Missing says.
enum class Test : std::uint8_t {
  kGreaterEqual = 0,  ///< x >= threshold goes right
  kGreater = 1,       ///< x > threshold goes right
  kInSet = 2,         ///< x from 0 on, cut to an integer, in the set goes right; x < 0 is in no set
  kCutInSet = 3,      ///< the same, but what lies between -1 and 0 is 0: LightGBM cuts first
};

/// Which values are missing, and where they go.
enum class Missing : std::uint8_t {
  kNanLeft = 0,
  kNanRight = 1,
  kZeroLeft = 2,   ///< NaN, and the zeros of LightGBM: |x| <= 1e-35f
  kZeroRight = 3,  ///< the same
};

/// An inner node, or a leaf. Nodes are counted from the first of their tree. Those below a node come after it;
/// two nodes may lead to the same one.
struct Node {
  double threshold = 0;
  std::int32_t column = -1;  ///< -1: a leaf
  std::uint32_t left = 0;    ///< of a leaf: the first of its values in Ensemble::leaf_values
  std::uint32_t right = 0;
  std::uint32_t set = 0;  ///< of tests for sets: the place in Ensemble::sets
  Test test = Test::kGreaterEqual;
  Missing missing = Missing::kNanLeft;
  std::uint8_t unused[6] = {};  ///< zeros

  bool is_leaf() const noexcept { return column < 0; }
  bool asks_set() const noexcept { return test == Test::kInSet || test == Test::kCutInSet; }
};
static_assert(sizeof(Node) == 32 && std::is_trivially_copyable_v<Node>);  // as it is in files

/// Nodes of trees follow each other in the order of the trees.
struct Tree {
  std::uint32_t first_node = 0;  ///< the root, in Ensemble::nodes
  std::uint32_t nodes = 0;
  std::uint32_t output = 0;  ///< that it adds to; of leaves with several values, the first one

  friend bool operator==(const Tree&, const Tree&) = default;
};
static_assert(sizeof(Tree) == 12 && std::is_trivially_copyable_v<Tree>);

/// Categories: bit c % 64 of word first_word + c / 64 is set where c is in the set.
struct CategorySet {
  std::uint32_t first_word = 0;  ///< in Ensemble::set_words
  std::uint32_t words = 0;

  friend bool operator==(const CategorySet&, const CategorySet&) = default;
};
static_assert(sizeof(CategorySet) == 8 && std::is_trivially_copyable_v<CategorySet>);

enum class Precision : std::uint8_t { kFloat32, kFloat64 };

/// From margins to answers, each output by itself but for the softmaxes.
enum class Link : std::uint8_t {
  kNone,
  kSigmoid,       ///< 1 / (1 + exp(-link_scale x))
  kSoftmax,       ///< over all outputs
  kSoftmaxZero,   ///< ONNX: the same, but outputs of margin 0 stay 0
  kExp,           ///< exp(x)
  kTanh,          ///< TMVA's gradient boost: 2 / (1 + exp(-2 x)) - 1
  kSoftplus,      ///< log(1 + exp(x))
  kProbit,        ///< ONNX: the quantile of the normal distribution
  kSignedSquare,  ///< LightGBM's reg_sqrt: x |x|
  kStep,          ///< XGBoost's binary:hinge: 1 where x > 0, else 0
};

/// "none", "sigmoid", "softmax", "softmax_zero", "exp", "tanh", "softplus", "probit", "signed_square", "step".
std::string_view name_of(Link link) noexcept;

/// Of output k, with leaves of its trees added one after another in the order of `trees`, in the precision
/// `sums`, from base[k] on (or from 0, and base[k] added at the end):
///
///     margin[k] = (base[k] + leaf + leaf + …) * factor / divisor;    answer = link(margin)
struct Ensemble {
  std::size_t columns = 0;                ///< that a row has; some may be in no test
  std::vector<std::string> column_names;  ///< one for each, or none where the file has none
  std::size_t outputs = 1;

  /// The conversion of a value by the framework before it compares it with a threshold.
  Precision features = Precision::kFloat32;
  Precision sums = Precision::kFloat32;

  std::vector<Tree> trees;
  std::vector<Node> nodes;
  std::size_t leaf_size = 1;  ///< values in each leaf; they go to outputs one after another
  std::vector<double> leaf_values;
  std::vector<CategorySet> sets;
  std::vector<std::uint64_t> set_words;

  std::vector<double> base;  ///< one for each output
  bool base_is_last = false;
  double factor = 1;
  double divisor = 1;
  Link link = Link::kNone;
  double link_scale = 1;

  std::string source;                ///< what trained it: "XGBoost 3.2.0"
  std::string objective;             ///< as the file spells it: "binary:logistic"
  std::vector<std::string> classes;  ///< of the outputs, where the file names them
  std::vector<std::string> notes;    ///< of its reader, for people; not in to_bytes()
};

/// Whether the numbers in it are whole: nodes, columns, outputs, sets and values that are there, no circle,
/// trees one after another, thresholds that are numbers, a finite base, at most 2^31 nodes. Linear in the nodes.
/// @param subject the beginning of messages: "model FILE: "
/// @throws LoadError that names the tree and the node
void require_whole(const Ensemble& ensemble, const std::string& subject);

/// The bytes of the file of a package that holds an ensemble: the 16 bytes "tensoa forest 1\n", the length of a JSON
/// text as a uint64, the text, filled with spaces to a multiple of 8, and then, little-endian and one after
/// another: nodes, trees, sets, set_words, leaf_values, each filled with zeros to a multiple of 8. The text has the
/// other members by their names (Precision: "float32", "float64"; Link: name_of), and
/// "counts": {"nodes": …, "trees": …, "sets": …, "set_words": …, "leaf_values": …}.
std::string to_bytes(const Ensemble& ensemble);

/// @throws LoadError that begins with `subject` where the bytes are not a whole ensemble
Ensemble from_bytes(std::string_view bytes, const std::string& subject);

}  // namespace tensoa::forest
