// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/forest/forest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "package/draws.hpp"
#include "random_ensemble.hpp"
#include "reference.hpp"
#include "small_ensemble.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/impl/element.hpp"

namespace {

using tensoa::DType;
using namespace tensoa::forest;
using tensoa::test::RandomEnsemble;

constexpr DType kDTypes[] = {DType::kF32,  DType::kF64, DType::kI32, DType::kI64, DType::kF16,
                             DType::kBF16, DType::kI16, DType::kI8,  DType::kU8,  DType::kBool};

/// A column of any dtype and stride, and its values as doubles.
class DrawnColumn {
 public:
  DrawnColumn(DType dtype, std::int64_t stride, const std::vector<double>& values)
      : dtype_(dtype),
        stride_(stride),
        bytes_((values.size() * static_cast<std::size_t>(stride)) * size_of(dtype)) {
    tensoa::detail::with_type(dtype, [&]<class Element>(Element) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double value = fitting<Element>(values[i]);
        const auto element = tensoa::detail::converted<Element>(value);
        std::memcpy(bytes_.data() + i * static_cast<std::size_t>(stride) * sizeof element, &element,
                    sizeof element);
        values_.push_back(static_cast<double>(tensoa::detail::number_of(element)));
      }
    });
  }

  Column column() const { return {bytes_.data(), stride_, dtype_}; }
  double operator[](std::size_t row) const { return values_[row]; }

 private:
  /// Integers hold no other numbers.
  template <class Element>
  static double fitting(double value) {
    if constexpr (std::is_integral_v<Element>) {
      return std::abs(value) <= static_cast<double>(std::numeric_limits<Element>::max()) ? value
                                                                                         : 1;
    } else {
      return value;
    }
  }

  DType dtype_;
  std::int64_t stride_;
  std::vector<std::byte> bytes_;
  std::vector<double> values_;
};

/// The columns of one ensemble, and where its answers go.
struct Event {
  std::vector<DrawnColumn> drawn;
  std::size_t rows;

  std::vector<Column> columns() const {
    std::vector<Column> all;
    for (const DrawnColumn& column : drawn) all.push_back(column.column());
    return all;
  }
  std::vector<DType> dtypes() const {
    std::vector<DType> all;
    for (const DrawnColumn& column : drawn) all.push_back(column.column().dtype);
    return all;
  }
  std::vector<double> row(std::size_t r) const {
    std::vector<double> all;
    for (const DrawnColumn& column : drawn) all.push_back(column[r]);
    return all;
  }
};

Event draw_event(RandomEnsemble& random, const Ensemble& ensemble, std::size_t rows) {
  Event event{{}, rows};
  const bool all_floats = random.below(2) == 0;
  for (std::size_t c = 0; c < ensemble.columns; ++c) {
    const DType dtype = all_floats ? DType::kF32 : kDTypes[random.below(std::size(kDTypes))];
    event.drawn.emplace_back(dtype, random.below(4) == 0 ? 3 : 1, random.values(ensemble, c, rows));
  }
  return event;
}

/// Answers in columns of their own, output after output.
std::vector<double> answers_of(const Forest& forest, const std::vector<Column>& columns,
                               std::size_t rows, std::int64_t stride = 1) {
  std::vector<double> all(forest.outputs() * rows * static_cast<std::size_t>(stride), -99);
  std::vector<AnswerColumn> answers;
  for (std::size_t k = 0; k < forest.outputs(); ++k) {
    answers.push_back(
        {reinterpret_cast<std::byte*>(all.data() + k * rows * static_cast<std::size_t>(stride)),
         stride, DType::kF64});
  }
  forest.run(columns, answers, static_cast<std::int64_t>(rows));
  return all;
}

TEST(Forest, GivesTheBitsOfAPlainTraversalForRandomTreesColumnsAndRows) {
  constexpr std::size_t kRows[] = {1,   2,   15,  16,  17,  63,  64,  65,
                                   128, 200, 256, 300, 512, 513, 1111};
  for (std::size_t draw = 0; draw < tensoa::test::draws(200); ++draw) {
    const auto seed = tensoa::test::seed() * 100'000 + static_cast<std::uint32_t>(draw);
    RandomEnsemble random(seed);
    const Ensemble ensemble = random.make();
    const std::size_t rows = kRows[random.below(std::size(kRows))];
    const Event event = draw_event(random, ensemble, rows);
    const Forest forest(ensemble, event.dtypes());
    const std::vector<double> answers = answers_of(forest, event.columns(), rows);
    if (getenv("DBG")) {
      auto sh = forest.shape();
      printf(
          "seed %u rows %zu tests %zu full %zu ragged %zu followed %zu sets %zu sums %d leaf %zu\n",
          seed, rows, sh.tests, sh.full, sh.ragged, sh.followed, ensemble.sets.size(),
          int(ensemble.sums), ensemble.leaf_size);
      size_t bad = 0, bad1 = 0;
      for (std::size_t r = 0; r < rows; ++r) {
        auto e = tensoa::test::margins(ensemble, event.row(r));
        auto cols = event.columns();
        for (auto& c : cols) c.first += r * c.stride * size_of(c.dtype);
        auto one = answers_of(forest, cols, 1);
        for (size_t k = 0; k < ensemble.outputs; ++k) {
          bad += answers[k * rows + r] != e[k];
          bad1 += one[k] != e[k];
        }
      }
      printf("bad blocks %zu rows %zu\n", bad, bad1);
      continue;
    }
    for (std::size_t r = 0; r < rows; ++r) {
      const std::vector<double> expected = tensoa::test::margins(ensemble, event.row(r));
      for (std::size_t k = 0; k < ensemble.outputs; ++k) {
        ASSERT_EQ(std::bit_cast<std::uint64_t>(answers[k * rows + r]),
                  std::bit_cast<std::uint64_t>(expected[k]))
            << "seed " << seed << ", row " << r << " of " << rows << ", output " << k << ": "
            << answers[k * rows + r] << ", expected " << expected[k];
      }
    }
  }
}

}  // namespace
