// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "columns.hpp"
#include "gpu/gpu_tables.hpp"
#include "kernels/hints.hpp"
#include "links.hpp"
#include "tensoa/core/element.hpp"

// A block of rows on a GPU, phase by phase; between two phases all threads of the block wait for each other. Compiled for GPUs,
// and for the host by the tests.

namespace tensoa::forest {

/// Whether the leaves that are found lie in shared memory before they are added.
TENSOA_HOST_DEVICE inline bool keeps_leaves(std::size_t outputs, GpuLayout layout) {
  return layout.lanes > 1 || outputs > 1;
}

/// Bytes that the threads of a block share.
template <class Sum>
TENSOA_HOST_DEVICE std::size_t shared_bytes(std::size_t features, std::size_t outputs,
                                            GpuLayout layout) {
  const std::size_t found = keeps_leaves(outputs, layout) ? layout.lanes * RowGroup::kTrees : 0;
  const std::size_t nodes = layout.lanes > 1 ? 0 : GpuChunk::kMostNodes;
  return layout.rows * ((outputs + found) * sizeof(Sum) + (features + 2) * sizeof(std::uint32_t)) +
         nodes * sizeof(std::uint32_t);
}

template <class Sum>
class GpuBlock {
  static constexpr std::uint32_t kTrees = RowGroup::kTrees;
  static constexpr Sum kNothing = -Sum{0};  ///< changes no sum, not even the sign of a zero
  using Packed = WideNode;

 public:
  /// Simple columns whose searches find place in shared memory together.
  static constexpr std::uint32_t kSearch = kGpuSearch;
  static constexpr std::uint32_t kSearches = GpuChunk::kMostNodes / kSearch;

  /// @param shared shared_bytes() bytes, aligned to 8
  TENSOA_HOST_DEVICE GpuBlock(const GpuTables<Sum>& tables, GpuLayout layout,
                              const GpuPlace* places, std::int64_t all_rows, std::byte* shared)
      : tables_(tables),
        layout_(layout),
        places_(places),
        all_rows_(all_rows),
        sums_(reinterpret_cast<Sum*>(shared)),
        found_(sums_ + std::size_t{tables.all_outputs} * layout.rows),
        words_(reinterpret_cast<std::uint32_t*>(
            found_ + (keeps_leaves(tables.all_outputs, layout) ? layout.threads() * kTrees : 0))),
        nodes_(words_ + std::size_t{tables.all_features + 2} * layout.rows) {}

  /// The bins of columns that are not simple, and the sums before the first tree.
  TENSOA_HOST_DEVICE void begin(std::int64_t first_row, std::uint32_t thread) {
    const std::uint32_t rows = layout_.rows;
    TENSOA_NO_UNROLL
    for (std::uint32_t i = thread; i < tables_.all_general * rows; i += layout_.threads()) {
      bins(tables_.general[i / rows], row_at(first_row, i % rows), i % rows);
    }
    TENSOA_NO_UNROLL
    for (std::uint32_t i = thread; i < tables_.all_outputs * rows; i += layout_.threads()) {
      sums_[i] = tables_.base_is_last ? Sum{0} : tables_.base[i / rows];
    }
    if (thread < rows) words_[tables_.all_features * rows + thread] = 0;
  }

  /// Of one lane: brings the searches of kSearches simple columns into shared memory.
  TENSOA_HOST_DEVICE void bring_searches(std::uint32_t first, std::uint32_t thread) {
    const std::uint32_t columns = std::min(first + kSearches, tables_.all_simple) - first;
    for (std::uint32_t i = thread; i < columns * kSearch; i += layout_.threads()) {
      searches()[i] = tables_.searches[tables_.simple[first + i / kSearch].table + i % kSearch];
    }
  }

  /// Of one lane: the bins of the columns whose searches bring_searches() brought.
  TENSOA_HOST_DEVICE void search_brought(std::int64_t first_row, std::uint32_t first,
                                         std::uint32_t thread) {
    const std::uint32_t end = std::min(first + kSearches, tables_.all_simple);
    const std::int64_t row = row_at(first_row, thread);
    TENSOA_NO_UNROLL
    for (std::uint32_t i = first; i < end; ++i) {
      search(tables_.simple[i], searches() + (i - first) * kSearch, row, thread);
    }
  }

  /// Of several lanes: the bins of all simple columns.
  TENSOA_HOST_DEVICE void search_all(std::int64_t first_row, std::uint32_t thread) {
    const std::uint32_t rows = layout_.rows;
    TENSOA_NO_UNROLL
    for (std::uint32_t i = thread; i < tables_.all_simple * rows; i += layout_.threads()) {
      const SimpleColumn& column = tables_.simple[i / rows];
      search(column, tables_.searches + column.table, row_at(first_row, i % rows), i % rows);
    }
  }

  /// Of one lane: brings the nodes of a chunk into shared memory. Instead of a feature there is the number of bytes that
  /// its words lie after the first.
  TENSOA_HOST_DEVICE void bring(const GpuChunk& chunk, std::uint32_t thread) {
    for (std::uint32_t i = thread; i < chunk.nodes; i += layout_.threads()) {
      const std::uint32_t node = tables_.nodes[chunk.first_node + i];
      nodes_[i] = (node & ~std::uint32_t{Packed::kOnes}) | (node & Packed::kOnes) * feature_bytes();
    }
  }

  /// Of one lane: follows the trees of a chunk that bring() brought, and adds their leaves.
  TENSOA_HOST_DEVICE void follow_chunk(const GpuChunk& chunk, std::uint32_t thread) {
    Sum sum = sums_[thread];
    TENSOA_NO_UNROLL
    for (std::uint32_t g = chunk.first_group; g < chunk.first_group + chunk.groups; ++g) {
      const RowGroup group = tables_.groups[g];
      Leaves leaves;
      if (group.is_packed) {
        follow_packed<true>(group, nodes_ + (group.nodes - chunk.first_node), thread, leaves);
      } else {
        follow_nodes(group, thread, leaves);
      }
      if (tables_.all_outputs == 1) {
        TENSOA_UNROLL
        for (std::uint32_t i = 0; i < kTrees; ++i)
          sum += i < group.trees ? leaves.values[i] : kNothing;
      } else {
        keep(leaves, found_ + thread);
        add_kept(group, found_ + thread, thread, 0);
      }
    }
    if (tables_.all_outputs == 1) sums_[thread] = sum;
  }

  /// Of several lanes: lane l follows the group of trees `first + l`, and keeps its leaves for add().
  TENSOA_HOST_DEVICE void follow_group(std::uint32_t first, std::uint32_t thread) {
    const std::uint32_t row = thread % layout_.rows;
    const std::uint32_t lane = thread / layout_.rows;
    if (first + lane >= tables_.all_groups) return;
    const RowGroup group = tables_.groups[first + lane];
    Leaves leaves;
    if (group.is_packed) {
      follow_packed<false>(group, tables_.nodes + group.nodes, row, leaves);
    } else {
      follow_nodes(group, row, leaves);
    }
    keep(leaves, found_ + lane * kTrees * layout_.rows + row);
  }

  /// Of several lanes: adds what they found, in the order of the trees. Lane l: the outputs l, l + lanes, …
  TENSOA_HOST_DEVICE void add(std::uint32_t first, std::uint32_t thread) {
    const std::uint32_t row = thread % layout_.rows;
    const std::uint32_t lane = thread / layout_.rows;
    if (lane >= tables_.all_outputs) return;
    const std::uint32_t groups = std::min(layout_.lanes, tables_.all_groups - first);
    Sum sum = sums_[row];
    TENSOA_NO_UNROLL
    for (std::uint32_t g = 0; g < groups; ++g) {
      const RowGroup& group = tables_.groups[first + g];
      const Sum* const kept = found_ + g * kTrees * layout_.rows + row;
      if (tables_.all_outputs == 1) {
        Sum values[kTrees];
        TENSOA_UNROLL
        for (std::uint32_t i = 0; i < kTrees; ++i) values[i] = kept[i * layout_.rows];
        TENSOA_UNROLL
        for (std::uint32_t i = 0; i < kTrees; ++i) sum += i < group.trees ? values[i] : kNothing;
      } else {
        add_kept(group, kept, row, lane);
      }
    }
    if (tables_.all_outputs == 1) sums_[row] = sum;
  }

  /// Writes the answers of the rows.
  TENSOA_HOST_DEVICE void end(std::int64_t first_row, std::uint32_t thread) {
    const std::int64_t row = first_row + thread;
    if (thread >= layout_.rows || row >= all_rows_) return;
    Sum* const sums = sums_ + thread;
    TENSOA_NO_UNROLL
    for (std::uint32_t k = 0; k < tables_.all_outputs; ++k) {
      Sum& sum = sums[k * layout_.rows];
      if (tables_.base_is_last) sum += tables_.base[k];
      if (tables_.factor != 1) sum *= tables_.factor;
      if (tables_.divisor != 1) sum /= tables_.divisor;
    }
    apply(tables_.link, tables_.link_scale, sums, tables_.all_outputs, layout_.rows);
    TENSOA_NO_UNROLL
    for (std::uint32_t k = 0; k < tables_.all_outputs; ++k) {
      const GpuPlace& place = places_[tables_.used_columns + k];
      const Sum answer = sums[k * layout_.rows];
      if (place.dtype == DType::kF32) {
        reinterpret_cast<float*>(place.first)[row * place.stride] = static_cast<float>(answer);
      } else {
        reinterpret_cast<double*>(place.first)[row * place.stride] = answer;
      }
    }
  }

 private:
  /// Rows after the last one do as the last one does.
  TENSOA_HOST_DEVICE std::int64_t row_at(std::int64_t first_row, std::uint32_t row) const {
    return std::min<std::int64_t>(first_row + row, all_rows_ - 1);
  }

  /// In the memory that then holds nodes.
  TENSOA_HOST_DEVICE float* searches() const { return reinterpret_cast<float*>(nodes_); }

  /// As a single row is packed on the CPU.
  /// @param table of the search of `column`
  TENSOA_HOST_DEVICE void search(const SimpleColumn& column, const float* table, std::int64_t row,
                                 std::uint32_t row_here) const {
    const GpuPlace& place = places_[column.column];
    const float value = reinterpret_cast<const float*>(place.first)[row * place.stride];
    std::uint32_t at = 1;
    TENSOA_NO_UNROLL
    for (std::uint32_t level = 0; level < column.levels; ++level) {
      at += at + (value >= table[at] ? 1U : 0U);
    }
    const std::uint32_t bin = Packed::of_row(at - (1U << column.levels));
    const bool is_number = value == value;
    word(column.left, row_here) = is_number ? bin : Packed::of_row(0);
    word(column.right, row_here) = is_number ? bin : Packed::of_row(kMissingBin);
  }

  TENSOA_HOST_DEVICE std::uint32_t feature_bytes() const {
    return layout_.rows * static_cast<std::uint32_t>(sizeof(std::uint32_t));
  }

  TENSOA_HOST_DEVICE std::uint32_t& word(std::uint32_t feature, std::uint32_t row) const {
    return words_[feature * layout_.rows + row];
  }

  TENSOA_HOST_DEVICE void bins(std::uint32_t used, std::int64_t row, std::uint32_t row_here) {
    const GpuColumn column = tables_.columns[used];
    const GpuPlace& place = places_[used];
    // The three domains by themselves: a search for each of ten dtypes would be ten times as much code to fetch.
    float as_float = 0;
    double as_double = 0;
    std::int64_t as_int64 = 0;
    tensoa::with_type(column.dtype, [&]<class Element>(Element /*of the column*/) {
      const auto value =
          tensoa::number_of(reinterpret_cast<const Element*>(place.first)[row * place.stride]);
      if constexpr (std::is_same_v<DomainType<Element>, float>) {
        as_float = static_cast<float>(value);
      } else if constexpr (std::is_same_v<DomainType<Element>, double>) {
        as_double = static_cast<double>(value);
      } else {
        as_int64 = value;
      }
    });
    switch (domain_of(column.dtype)) {
      case Domain::kFloat:
        return bins_of(as_float, column, row_here);
      case Domain::kDouble:
        return bins_of(as_double, column, row_here);
      case Domain::kInt64:
        return bins_of(as_int64, column, row_here);
    }
  }

  template <class Value>
  TENSOA_HOST_DEVICE void bins_of(Value value, const GpuColumn& column, std::uint32_t row) {
    const std::uint32_t bin =
        bin_of(value, reinterpret_cast<const Value*>(tables_.thresholds + column.first_threshold),
               column.thresholds);
    const double as_seen = seen(value, tables_.features_as);
    TENSOA_NO_UNROLL
    for (std::uint32_t f = 0; f < column.features; ++f) {
      const Feature feature = tables_.features[column.first_feature + f];
      std::uint32_t mine = bin;
      if (is_missing(as_seen, feature.missing)) {
        mine = missing_goes_right(feature.missing) ? kMissingBin : 0;
      } else if (feature.is_set()) {
        mine = is_in_set(as_seen, feature.cut_first, tables_.sets[feature.set], tables_.set_words)
                   ? 1
                   : 0;
      }
      word(column.first_feature + f, row) = tables_.bin_shift == 0 ? mine : Packed::of_row(mine);
    }
  }

  /// Leaves of a group of trees: their values, or, where they have several, their places.
  struct Leaves {
    Sum values[kTrees] = {};
    std::uint32_t places[kTrees] = {};
  };

  /// @param nodes of the group; kBrought: in shared memory, as bring() leaves them
  template <bool kBrought>
  TENSOA_HOST_DEVICE void follow_packed(const RowGroup& group, const std::uint32_t* nodes,
                                        std::uint32_t row, Leaves& leaves) const {
    // Places in bytes, from the first node of the group: one instruction less for each node.
    const auto* const first = reinterpret_cast<const std::byte*>(nodes);
    const auto* const words = reinterpret_cast<const std::byte*>(words_);
    constexpr std::uint32_t kNode = sizeof(std::uint32_t);
    const std::uint32_t row_bytes = row * kNode;
    std::uint32_t tree[kTrees];
    std::uint32_t at[kTrees];
    TENSOA_UNROLL
    for (std::uint32_t i = 0; i < kTrees; ++i) {
      tree[i] = (i < group.trees ? i : 0) * (kNode << group.depth);
      at[i] = tree[i] + kNode;
    }
    TENSOA_NO_UNROLL
    for (std::uint32_t level = 0; level < group.depth; ++level) {
      TENSOA_UNROLL
      for (std::uint32_t i = 0; i < kTrees; ++i) {
        const auto node = *reinterpret_cast<const std::uint32_t*>(first + at[i]);
        const std::uint32_t feature = node & Packed::kOnes;
        // The bytes of a feature are a multiple of a power of two that is above those of a row.
        const std::uint32_t place = (kBrought ? feature : feature * feature_bytes()) | row_bytes;
        const auto answer = *reinterpret_cast<const std::uint32_t*>(words + place);
        at[i] += at[i] - tree[i] + (node < answer ? kNode : 0);
      }
    }
    const std::uint32_t first_leaf = group.nodes - (1U << group.depth);
    TENSOA_UNROLL
    for (std::uint32_t i = 0; i < kTrees; ++i) {
      const std::uint32_t leaf = first_leaf + at[i] / kNode;
      if (tables_.leaf_size == 1) {
        leaves.values[i] = tables_.packed_leaves[leaf];
      } else {
        leaves.places[i] = tables_.packed_places[leaf];
      }
    }
  }

  TENSOA_HOST_DEVICE void follow_nodes(const RowGroup& group, std::uint32_t row,
                                       Leaves& leaves) const {
    std::uint32_t at[kTrees];
    TENSOA_UNROLL
    for (std::uint32_t i = 0; i < kTrees; ++i) {
      at[i] = tables_.roots[group.first + (i < group.trees ? i : 0)];
    }
    bool is_inner = true;
    while (is_inner) {
      is_inner = false;
      TENSOA_UNROLL
      for (std::uint32_t i = 0; i < kTrees; ++i) {
        const FollowedNode node = tables_.followed[at[i]];
        if (node.bin == FollowedNode::kLeafBin) {
          leaves.places[i] = node.right;
          continue;
        }
        is_inner = true;
        at[i] = word(node.feature, row) >> tables_.bin_shift >= node.bin ? node.right : node.left;
      }
    }
    TENSOA_UNROLL
    for (std::uint32_t i = 0; i < kTrees; ++i) {
      if (tables_.leaf_size == 1) leaves.values[i] = tables_.leaf_values[leaves.places[i]];
    }
  }

  /// @param kept the first tree's; that of the next tree lies `rows` after it
  TENSOA_HOST_DEVICE void keep(const Leaves& leaves, Sum* kept) const {
    TENSOA_UNROLL
    for (std::uint32_t i = 0; i < kTrees; ++i) {
      if (tables_.leaf_size == 1) {
        kept[i * layout_.rows] = leaves.values[i];
      } else {
        std::memcpy(&kept[i * layout_.rows], &leaves.places[i], sizeof leaves.places[i]);
      }
    }
  }

  /// Adds leaves that keep() kept, to the outputs `lane`, `lane` + lanes, …
  TENSOA_HOST_DEVICE void add_kept(const RowGroup& group, const Sum* kept, std::uint32_t row,
                                   std::uint32_t lane) {
    TENSOA_NO_UNROLL
    for (std::uint32_t i = 0; i < group.trees; ++i) {
      const Sum& leaf = kept[i * layout_.rows];
      std::uint32_t place = 0;
      std::memcpy(&place, &leaf, sizeof place);
      TENSOA_NO_UNROLL
      for (std::uint32_t k = 0; k < tables_.leaf_size; ++k) {
        const std::uint32_t output = tables_.outputs[group.first + i] + k;
        if (output % layout_.lanes != lane) continue;
        sums_[output * layout_.rows + row] +=
            tables_.leaf_size == 1 ? leaf : tables_.leaf_values[place + k];
      }
    }
  }

  const GpuTables<Sum>& tables_;
  const GpuLayout layout_;
  const GpuPlace* places_;
  const std::int64_t all_rows_;
  Sum* const sums_;   ///< [outputs, rows]
  Sum* const found_;  ///< [lanes, trees of a group, rows], where there are several lanes
  /// [features + 2, rows]; the last two: of nodes whose answer does not matter, and of no feature.
  std::uint32_t* const words_;
  std::uint32_t* const nodes_;  ///< of a chunk, where there is one lane
};

}  // namespace tensoa::forest
