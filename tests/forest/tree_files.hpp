// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference.hpp"
#include "tensoa/forest/ensemble.hpp"

/// @file
/// The files that make_tree_files.py has written to TENSOA_TREE_FILES.

namespace tensoa::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("no file " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The models of one framework in one format, in the order of their names: "xgboost_" and ".json".
inline std::vector<std::filesystem::path> tree_files(const std::string& beginning,
                                                     const std::string& ending) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(TENSOA_TREE_FILES)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(beginning) && name.ends_with(ending)) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

inline std::string tree_file(const std::string& name) {
  return read_file(std::filesystem::path(TENSOA_TREE_FILES) / name);
}

struct Matrix {
  explicit Matrix(std::filesystem::path path) {
    std::ifstream file(path, std::ios::binary);
    std::int64_t sizes[2] = {};
    file.read(reinterpret_cast<char*>(sizes), sizeof(sizes));
    rows = static_cast<std::size_t>(sizes[0]);
    columns = static_cast<std::size_t>(sizes[1]);
    values.resize(rows * columns);
    file.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(double)));
    if (!file) throw std::runtime_error("no matrix in " + path.string());
  }

  std::span<const double> row(std::size_t i) const {
    return {values.data() + i * columns, columns};
  }

  std::size_t rows;
  std::size_t columns;
  std::vector<double> values;
};

/// Margins of `ensemble` are those of the framework, bit for bit: for the rows NAME.rows of NAME.json those in NAME.margins.
inline void expect_margins(const forest::Ensemble& ensemble, std::filesystem::path model,
                           const std::string& margins_ending = ".margins") {
  const Matrix rows(model.replace_extension(".rows"));
  const Matrix expected(model.replace_extension(margins_ending));
  ASSERT_EQ(rows.columns, ensemble.columns);
  ASSERT_EQ(expected.columns, ensemble.outputs);
  ASSERT_EQ(expected.rows, rows.rows);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < rows.rows; ++i) {
    const std::vector<double> got = margins(ensemble, rows.row(i));
    for (std::size_t k = 0; k < got.size(); ++k) {
      const double want = expected.row(i)[k];
      if (std::bit_cast<std::uint64_t>(got[k]) == std::bit_cast<std::uint64_t>(want)) continue;
      if (++wrong > 5) continue;
      std::string row;
      for (const double x : rows.row(i)) row += ' ' + testing::PrintToString(x);
      ADD_FAILURE() << "row " << i << ", output " << k << ": " << testing::PrintToString(got[k])
                    << ", expected " << testing::PrintToString(want) << " of" << row;
    }
  }
  EXPECT_EQ(wrong, 0U) << "of " << rows.rows * expected.columns;
}

/// Answers are those of the framework, but for roundings: of margins in NAME.margins those in NAME.answers.
inline void expect_answers(const forest::Ensemble& ensemble, std::filesystem::path model,
                           double tolerance) {
  if (!std::filesystem::exists(model.replace_extension(".answers"))) return;
  const Matrix expected(model);
  const Matrix given(model.replace_extension(".margins"));
  for (std::size_t i = 0; i < given.rows; ++i) {
    const auto row = given.row(i);
    const std::vector<double> got = answers(ensemble, {row.begin(), row.end()});
    for (std::size_t k = 0; k < got.size(); ++k) {
      const double want = expected.row(i)[k];
      ASSERT_NEAR(got[k], want, tolerance * std::abs(want)) << "row " << i << ", output " << k;
    }
  }
}

}  // namespace tensoa::test
