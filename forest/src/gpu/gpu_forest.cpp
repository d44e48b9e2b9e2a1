// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/gpu_forest.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "gpu/gpu_block.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"

namespace tensoa::forest {
namespace {

constexpr std::size_t kChunkBytes = GpuChunk::kMostNodes * sizeof(std::uint32_t);

/// Arrays one after another in one memory, as places first, as addresses when the memory is there.
class Arrays {
 public:
  /// @param pointer to() sets it to the array on the device
  template <class Element>
  void add(const Element*& pointer, std::type_identity_t<std::span<const Element>> array) {
    static_assert(std::is_trivially_copyable_v<Element> && alignof(Element) <= kAlign);
    bytes_.resize((bytes_.size() + kAlign - 1) / kAlign * kAlign);
    const std::size_t place = bytes_.size();
    const auto* const first = reinterpret_cast<const std::byte*>(array.data());
    bytes_.insert(bytes_.end(), first, first + array.size() * sizeof(Element));
    set_.push_back([&pointer, place](const std::byte* memory) {
      pointer = reinterpret_cast<const Element*>(memory + place);
    });
  }

  /// The arrays on `device`, and the pointers to them.
  Buffer to(Device device) const {
    Buffer memory(device, bytes_.size(), MemoryPurpose::kWeights);
    const Queue queue(device);
    copy_bytes(queue, memory.data(), device, bytes_.data(), Device::cpu(), bytes_.size());
    queue.wait();
    for (const auto& set : set_) set(memory.data());
    return memory;
  }

 private:
  static constexpr std::size_t kAlign = 16;
  std::vector<std::byte> bytes_;
  std::vector<std::function<void(const std::byte* memory)>> set_;
};

std::vector<GpuChunk> chunks_of(const std::vector<RowGroup>& groups) {
  std::vector<GpuChunk> chunks;
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    const std::uint32_t nodes = groups[g].is_packed ? groups[g].trees << groups[g].depth : 0;
    if (chunks.empty() || chunks.back().nodes + nodes > GpuChunk::kMostNodes) {
      chunks.push_back({.first_group = g, .groups = 0, .first_node = groups[g].nodes, .nodes = 0});
    }
    ++chunks.back().groups;
    chunks.back().nodes += nodes;
  }
  return chunks;
}

template <class Sum>
class GpuForestOf final : public GpuForest {
  using Packed = WideNode;

 public:
  GpuForestOf(const Compiled& forest, Device device)
      : device_(device), limits_(prepare_gpu_kernels(device)) {
    const Ensemble& ensemble = forest.ensemble;
    const Questions& questions = forest.questions;
    const std::size_t places = questions.columns.size() + ensemble.outputs;
    if (places > kMostPlaces) {
      throw ConfigError("trees on " + to_string(device) + ": " +
                        std::to_string(questions.columns.size()) + " tested columns and " +
                        std::to_string(ensemble.outputs) + " outputs, a GPU takes at most " +
                        std::to_string(kMostPlaces) + " together; load the model on the CPU");
    }
    for (const UsedColumn& column : questions.columns) used_.push_back(column.column);
    fill(forest);
    if (const std::size_t least = row_bytes() + std::max(kChunkBytes, 2 * lane_bytes());
        least > limits_.shared_bytes) {
      throw ConfigError("trees on " + to_string(device) + ": a row takes " + std::to_string(least) +
                        " bytes of shared memory, the device has " +
                        std::to_string(limits_.shared_bytes) + "; load the model on the CPU");
    }
  }

  void run(const Queue& queue, std::span<const Column> columns,
           std::span<const AnswerColumn> answers, std::int64_t rows) const override {
    if (rows == 0) return;
    std::array<GpuPlace, kMostPlaces> places;
    std::size_t size = 0;
    for (const std::uint32_t used : used_) {
      const Column& column = columns[used];
      // Only read from.
      places[size++] = {const_cast<std::byte*>(column.first), column.stride, column.dtype};
    }
    for (const AnswerColumn& answer : answers) {
      places[size++] = {answer.first, answer.stride, answer.dtype};
    }
    launch(queue, tables_, layout_for(rows, tables_.all_groups, limits_, row_bytes(), lane_bytes()),
           {places.data(), size}, rows);
  }

 private:
  /// Of shared memory.
  std::size_t row_bytes() const noexcept {
    return tables_.all_outputs * sizeof(Sum) + (tables_.all_features + 2) * sizeof(std::uint32_t);
  }
  static constexpr std::size_t lane_bytes() noexcept { return RowGroup::kTrees * sizeof(Sum); }

  void fill(const Compiled& forest) {
    const Ensemble& ensemble = forest.ensemble;
    const Questions& questions = forest.questions;
    const bool is_packed = can_be_packed(questions);

    Arrays arrays;
    std::vector<GpuColumn> columns;
    std::vector<std::byte> thresholds;
    std::uint32_t first_feature = 0;
    for (std::uint32_t used = 0; used < questions.columns.size(); ++used) {
      const UsedColumn& column = questions.columns[used];
      const auto features = static_cast<std::uint32_t>(forest.features_of[used].size());
      columns.push_back({column.dtype, static_cast<std::uint32_t>(column.size()),
                         static_cast<std::uint32_t>(thresholds.size()), first_feature, features});
      first_feature += features;
      std::visit(
          [&](const auto& all) {
            const auto bytes = std::as_bytes(std::span(all));
            thresholds.insert(thresholds.end(), bytes.begin(), bytes.end());
            thresholds.resize((thresholds.size() + 7) / 8 * 8);
          },
          column.thresholds);
    }

    std::vector<std::uint32_t> outputs;
    std::vector<std::uint32_t> roots;
    for (std::size_t t = 0; t < ensemble.trees.size(); ++t) {
      outputs.push_back(ensemble.trees[t].output);
      const std::uint32_t followed = forest.followed.of_tree[t];
      roots.push_back(followed == Followed::kNotFollowed ? 0
                                                         : forest.followed.trees[followed].root);
    }
    std::vector<FollowedNode> followed = forest.followed.nodes;
    for (FollowedNode& node : followed) {
      if (is_packed && node.bin == kMissingBin) node.bin = Packed::kMissing;
    }
    std::vector<std::uint32_t> nodes;
    for (const std::uint32_t node : forest.rows.wide) {
      // Nodes whose answer does not matter read the last word of a row, which is 0.
      nodes.push_back(
          node == Packed::kAny
              ? Packed::of(Packed::kOnes, static_cast<std::uint32_t>(questions.features.size()))
              : node);
    }

    std::vector<SimpleColumn> simple = forest.rows.simple;
    for (SimpleColumn& column : simple) {
      const auto used = std::ranges::find(used_, column.column) - used_.begin();
      column.column = static_cast<std::uint32_t>(used);
      // A separate word for features that no node reads.
      if (column.left == questions.features.size()) ++column.left;
      if (column.right == questions.features.size()) ++column.right;
    }

    arrays.add(tables_.simple, simple);
    std::vector<float> searches = forest.rows.searches;
    searches.resize(searches.size() + kGpuSearch);  // kGpuSearch values are read from each table
    arrays.add(tables_.searches, searches);
    arrays.add(tables_.general, forest.rows.general);
    arrays.add(tables_.columns, columns);
    arrays.add(tables_.thresholds, thresholds);
    arrays.add(tables_.features, questions.features);
    arrays.add(tables_.sets, ensemble.sets);
    arrays.add(tables_.set_words, ensemble.set_words);
    arrays.add(tables_.groups, forest.rows.groups);
    const std::vector<GpuChunk> chunks = chunks_of(forest.rows.groups);
    arrays.add(tables_.chunks, chunks);
    arrays.add(tables_.nodes, nodes);
    arrays.add(tables_.packed_leaves,
               std::span(choose<Sum>(forest.rows.float_leaves, forest.rows.double_leaves),
                         ensemble.leaf_size == 1 ? forest.rows.leaves.size() : 0));
    arrays.add(tables_.packed_places, forest.rows.leaves);
    arrays.add(tables_.leaf_values,
               std::span(choose<Sum>(forest.float_leaf_values, ensemble.leaf_values),
                         ensemble.leaf_values.size()));
    arrays.add(tables_.outputs, outputs);
    arrays.add(tables_.roots, roots);
    arrays.add(tables_.followed, followed);
    arrays.add(tables_.base, std::vector<Sum>(ensemble.base.begin(), ensemble.base.end()));

    memory_ = arrays.to(device_);

    tables_.used_columns = static_cast<std::uint32_t>(columns.size());
    tables_.all_simple = static_cast<std::uint32_t>(simple.size());
    tables_.all_general = static_cast<std::uint32_t>(forest.rows.general.size());
    tables_.all_features = static_cast<std::uint32_t>(questions.features.size());
    tables_.all_groups = static_cast<std::uint32_t>(forest.rows.groups.size());
    tables_.all_chunks = static_cast<std::uint32_t>(chunks.size());
    tables_.all_outputs = static_cast<std::uint32_t>(ensemble.outputs);
    tables_.leaf_size = static_cast<std::uint32_t>(ensemble.leaf_size);
    tables_.bin_shift = is_packed ? Packed::kHalf : 0;
    tables_.features_as = ensemble.features;
    tables_.base_is_last = ensemble.base_is_last;
    tables_.link = ensemble.link;
    tables_.factor = static_cast<Sum>(ensemble.factor);
    tables_.divisor = static_cast<Sum>(ensemble.divisor);
    tables_.link_scale = ensemble.link_scale;
  }

  Device device_;
  GpuLimits limits_;
  std::vector<std::uint32_t> used_;  ///< columns of the ensemble
  Buffer memory_;
  GpuTables<Sum> tables_{};
};

}  // namespace

GpuLayout layout_for(std::int64_t rows, std::uint32_t groups, const GpuLimits& limits,
                     std::size_t row_bytes, std::size_t lane_bytes) {
  // Threads that hide the time of memory, each with eight trees at the same time.
  constexpr std::int64_t kThreadsPerMultiprocessor = 1024;
  constexpr std::uint32_t kFewestRows = 128;  // of a block with one lane, unless there are few
  const std::int64_t multiprocessors = limits.multiprocessors;
  const std::uint32_t most_lanes = std::clamp(groups, 1U, kMostThreads);
  const std::int64_t wanted = multiprocessors * kThreadsPerMultiprocessor / rows;
  auto lanes = static_cast<std::uint32_t>(std::clamp<std::int64_t>(wanted, 1, most_lanes));
  std::uint32_t at_once = std::bit_floor(kMostThreads / lanes);
  while (at_once > 1 && rows < at_once * multiprocessors) at_once /= 2;
  while (at_once > 1 && at_once * row_bytes > kMostWordBytes) at_once /= 2;
  if (at_once * row_bytes > kMostWordBytes || (lanes == 1 && at_once < kFewestRows)) {
    lanes = std::clamp(kMostThreads / at_once, 2U, std::max(most_lanes, 2U));
  }
  while (lanes > 2 && at_once * (row_bytes + lanes * lane_bytes) > limits.shared_bytes) lanes /= 2;
  return {at_once, lanes};
}

std::unique_ptr<const GpuForest> make_gpu_forest(const Compiled& forest, Device device) {
  if (forest.ensemble.sums == Precision::kFloat32) {
    return std::make_unique<GpuForestOf<float>>(forest, device);
  }
  return std::make_unique<GpuForestOf<double>>(forest, device);
}

}  // namespace tensoa::forest
