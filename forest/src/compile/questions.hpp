// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "tensoa/core/dtype.hpp"
#include "tensoa/forest/ensemble.hpp"

// Every test of an ensemble as one question: is the bin of a feature at least b? Bins count the thresholds of the column that
// are not above the value.

namespace tensoa::forest {

/// Ascending, no two alike, in the domain of the column.
using Thresholds = std::variant<std::vector<float>, std::vector<double>, std::vector<std::int64_t>>;

/// A column that some test looks at.
struct UsedColumn {
  std::uint32_t column;  ///< of the ensemble
  DType dtype;
  Thresholds thresholds;

  std::size_t size() const noexcept {
    return std::visit([](const auto& all) { return all.size(); }, thresholds);
  }
};

/// What questions are about: the bins of a column, its missing values at one end; or whether a value is
/// in a set, as bins 0 and 1.
struct Feature {
  static constexpr std::int32_t kNoSet = -1;

  std::uint32_t column;  ///< in Questions::columns
  Missing missing;
  std::int32_t set = kNoSet;  ///< in Ensemble::sets
  bool cut_first = false;     ///< of sets: Test::kCutInSet

  constexpr bool is_set() const noexcept { return set != kNoSet; }
  friend bool operator==(const Feature&, const Feature&) = default;
};

struct Question {
  std::uint32_t feature = 0;
  std::uint32_t bin = 0;  ///< from 1 on
};

/// The bin of a missing value that goes right, and of questions that only such a value answers with yes.
inline constexpr std::uint32_t kMissingBin = 0xFFFF'FFFE;

struct Questions {
  /// @param columns the dtype of each column of the ensemble
  Questions(const Ensemble& ensemble, std::span<const DType> columns);

  std::vector<UsedColumn> columns;
  std::vector<Feature> features;
  std::vector<Question> of_node;  ///< of each node of the ensemble; of leaves, none
};

}  // namespace tensoa::forest
