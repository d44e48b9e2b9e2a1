// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "compile/followed.hpp"
#include "compile/questions.hpp"
#include "compile/row_tables.hpp"
#include "tensoa/core/element.hpp"
#include "tensoa/forest/ensemble.hpp"
#include "tensoa/forest/forest.hpp"

// The tables that kernels read: those of single rows (RowTables) in memory of the GPU. Compiled for the host and for GPUs.

namespace tensoa::forest {

/// A used column; its features follow each other.
struct GpuColumn {
  DType dtype;
  std::uint32_t thresholds;
  std::uint32_t first_threshold;  ///< bytes after GpuTables::thresholds
  std::uint32_t first_feature;
  std::uint32_t features;
};

/// Groups of trees that follow each other, and all their packed nodes.
struct GpuChunk {
  static constexpr std::uint32_t kMostNodes = 2048;

  std::uint32_t first_group;
  std::uint32_t groups;
  std::uint32_t first_node;
  std::uint32_t nodes;
};

/// Pointers are into one allocation on the GPU. Leaves and sums are of type Sum.
template <class Sum>
struct GpuTables {
  const SimpleColumn* simple;  ///< their columns are places in the used ones
  const float* searches;
  const std::uint32_t* general;  ///< the other used columns
  const GpuColumn* columns;
  const std::byte* thresholds;
  const Feature* features;
  const CategorySet* sets;
  const std::uint64_t* set_words;
  const RowGroup* groups;
  const GpuChunk* chunks;
  const std::uint32_t* nodes;          ///< WideNode
  const Sum* packed_leaves;            ///< where leaves have one value: in addition to `nodes`
  const std::uint32_t* packed_places;  ///< where they have several: their first ones in leaf_values
  const Sum* leaf_values;
  const std::uint32_t* outputs;  ///< of each tree
  const std::uint32_t* roots;    ///< of each tree, where it is followed
  const FollowedNode* followed;
  const Sum* base;

  std::uint32_t used_columns;
  std::uint32_t all_simple;
  std::uint32_t all_general;
  std::uint32_t all_features;
  std::uint32_t all_groups;
  std::uint32_t all_chunks;
  std::uint32_t all_outputs;
  std::uint32_t leaf_size;
  std::uint32_t bin_shift;  ///< of the bin in the word of a feature; 0: the word is the bin
  Precision features_as;
  bool base_is_last;
  Link link;
  Sum factor;
  Sum divisor;
  double link_scale;
};

/// How a call is laid out: a block of `rows` times `lanes` threads works on `rows` rows, each thread on every
/// `lanes`-th group of trees of one row. With one lane, nodes are brought into shared memory, chunk by chunk;
/// with several, each thread reads other trees, from global memory.
struct GpuLayout {
  std::uint32_t rows;  ///< a power of two
  std::uint32_t lanes;

  TENSOA_HOST_DEVICE std::uint32_t threads() const { return rows * lanes; }
};

/// With one lane, the words of the features of a block: their places are in the lower halves of nodes.
inline constexpr std::size_t kMostWordBytes = 0xFFFF;

inline constexpr std::uint32_t kMostThreads = 256;  ///< of a block

/// The most columns, used ones and those of answers, that fit the parameters of a kernel (32 764 bytes from CUDA 12.1 on).
/// A call with at most kFewPlaces passes these: parameters are copied at each launch.
inline constexpr std::size_t kFewPlaces = 64;
inline constexpr std::size_t kMostPlaces = 1280;

/// A column of the caller, of features or of answers.
struct GpuPlace {
  std::byte* first;
  std::int64_t stride;
  DType dtype;
};

/// The parameters of a kernel.
template <class Sum, std::size_t kPlaces>
struct GpuCall {
  GpuTables<Sum> tables;
  std::int64_t rows;
  GpuLayout layout;
  GpuPlace places[kPlaces];  ///< of the used columns, then of the outputs
};

}  // namespace tensoa::forest
