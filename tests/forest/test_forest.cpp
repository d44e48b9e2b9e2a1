// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/forest/forest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "package/draws.hpp"
#include "random_ensemble.hpp"
#include "reference.hpp"
#include "small_ensemble.hpp"
#include "tensoa/core/element.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"

namespace {

using namespace tensoa;
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
    tensoa::with_type(dtype, [&]<class Element>(Element) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double value = fitting<Element>(values[i]);
        const auto element = tensoa::converted<Element>(value);
        std::memcpy(bytes_.data() + i * static_cast<std::size_t>(stride) * sizeof element, &element,
                    sizeof element);
        values_.push_back(static_cast<double>(tensoa::number_of(element)));
      }
    });
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }
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
std::vector<double> answers_of(const Forest& forest, const Event& event, std::int64_t stride = 1) {
  const Device device = forest.device();
  const Queue queue(device);
  std::vector<double> all(forest.outputs() * event.rows * static_cast<std::size_t>(stride), -99);
  const std::size_t bytes = all.size() * sizeof(double);
  const Buffer there(device, bytes);
  copy_bytes(queue, there.data(), device, all.data(), Device::cpu(), bytes);
  std::vector<AnswerColumn> answers;
  for (std::size_t k = 0; k < forest.outputs(); ++k) {
    answers.push_back({there.data() + k * bytes / forest.outputs(), stride, DType::kF64});
  }
  std::vector<Buffer> columns_there;
  std::vector<Column> columns;
  for (const DrawnColumn& drawn : event.drawn) {
    columns_there.emplace_back(device, drawn.bytes().size());
    columns.push_back(drawn.column());
    columns.back().first = columns_there.back().data();
    copy_bytes(queue, columns_there.back().data(), device, drawn.bytes().data(), Device::cpu(),
               drawn.bytes().size());
  }
  forest.run(queue, columns, answers, static_cast<std::int64_t>(event.rows));
  copy_bytes(queue, all.data(), Device::cpu(), there.data(), device, bytes);
  queue.wait();
  return all;
}

/// On the CPU, and on the first GPU; in another program that GPU is a double on the host.
class ForestOn : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (device_count(GetParam().kind) == 0) GTEST_SKIP() << "no CUDA device";
  }
};

INSTANTIATE_TEST_SUITE_P(, ForestOn, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& on) { return on.param.is_cpu() ? "Cpu" : "Gpu"; });

TEST_P(ForestOn, GivesTheBitsOfAPlainTraversalForRandomTreesColumnsAndRows) {
  constexpr std::size_t kRows[] = {1,  2,   3,   9,   15,  16,  17,  63,  64,
                                   65, 128, 200, 256, 300, 512, 513, 1111};
  for (std::size_t draw = 0; draw < tensoa::test::draws(200); ++draw) {
    const auto seed = tensoa::test::seed() * 100'000 + static_cast<std::uint32_t>(draw);
    RandomEnsemble random(seed);
    const Ensemble ensemble = random.make();
    const std::size_t rows = kRows[random.below(std::size(kRows))];
    const Event event = draw_event(random, ensemble, rows);
    const Forest forest(ensemble, event.dtypes(), GetParam());
    const std::vector<double> answers = answers_of(forest, event);
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

/// Several outputs, and more groups of trees than one.
Ensemble wide_ensemble(RandomEnsemble& random) {
  Ensemble ensemble = random.make();
  while (ensemble.outputs < 3 || ensemble.trees.size() < 20) ensemble = random.make();
  return ensemble;
}

TEST_P(ForestOn, WritesAnswersWithAStrideAndNothingBetween) {
  RandomEnsemble random(7);
  const Ensemble ensemble = wide_ensemble(random);
  const Event event = draw_event(random, ensemble, 100);
  const Forest forest(ensemble, event.dtypes(), GetParam());
  const std::vector<double> dense = answers_of(forest, event);
  const std::vector<double> apart = answers_of(forest, event, 3);
  for (std::size_t i = 0; i < apart.size(); ++i) {
    EXPECT_EQ(apart[i], i % 3 == 0 ? dense[i / 3] : -99) << "element " << i;
  }
}

TEST_P(ForestOn, GivesTheSameBitsForARowHoweverManyThereAre) {
  RandomEnsemble random(8);
  const Ensemble ensemble = wide_ensemble(random);
  Event event = draw_event(random, ensemble, 3'000);
  const Forest forest(ensemble, event.dtypes(), GetParam());
  const std::vector<double> all = answers_of(forest, event);
  const std::size_t all_rows = event.rows;
  for (const std::size_t rows : {1U, 2U, 9U, 70U, 600U}) {
    event.rows = rows;
    const std::vector<double> few = answers_of(forest, event);
    for (std::size_t k = 0; k < forest.outputs(); ++k) {
      for (std::size_t r = 0; r < rows; ++r) {
        EXPECT_EQ(few[k * rows + r], all[k * all_rows + r]) << "row " << r << " of " << rows;
      }
    }
  }
}

TEST_P(ForestOn, AppliesTheLink) {
  struct Case {
    Link link;
    double (*expected)(double margin);
  };
  constexpr Case kCases[] = {
      {Link::kSigmoid, [](double x) { return 1 / (1 + std::exp(-2 * x)); }},
      {Link::kExp, [](double x) { return std::exp(x); }},
      {Link::kTanh, [](double x) { return std::tanh(x); }},
      {Link::kSoftplus, [](double x) { return std::log1p(std::exp(x)); }},
      {Link::kSignedSquare, [](double x) { return std::copysign(x * x, x); }},
      {Link::kStep, [](double x) { return x > 0 ? 1.0 : 0.0; }},
      // Of the normal distribution the inverse, so Phi(link(x)) is x.
      {Link::kProbit, nullptr},
  };
  RandomEnsemble random(9);
  Ensemble ensemble = random.make();
  ensemble.sums = Precision::kFloat64;
  ensemble.divisor = 10;  // margins that are not large numbers
  ensemble.link_scale = 2;
  const Event event = draw_event(random, ensemble, 300);
  const std::vector<double> margins =
      answers_of(Forest(ensemble, event.dtypes(), GetParam()), event);
  for (const Case& each : kCases) {
    ensemble.link = each.link;
    const std::vector<double> answers =
        answers_of(Forest(ensemble, event.dtypes(), GetParam()), event);
    for (std::size_t i = 0; i < margins.size(); ++i) {
      if (each.expected == nullptr) {
        if (!(margins[i] > 0 && margins[i] < 1)) continue;
        EXPECT_NEAR(0.5 * std::erfc(-answers[i] / std::sqrt(2.0)), margins[i], 1e-14);
        continue;
      }
      const double expected = each.expected(margins[i]);
      EXPECT_NEAR(answers[i], expected, 1e-13 * std::max(1.0, std::abs(expected)))
          << name_of(each.link) << " of " << margins[i];
    }
  }
}

TEST(Forest, LinksHaveTheirLimitsAtTheEnds) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  struct Case {
    Link link;
    double margin, expected;
  };
  constexpr Case kCases[] = {
      {Link::kSigmoid, 1'000, 1},
      {Link::kSigmoid, -1'000, 0},
      {Link::kExp, 1'000, kInfinity},
      {Link::kExp, -1'000, 0},
      {Link::kTanh, 1'000, 1},
      {Link::kTanh, -1'000, -1},
      {Link::kSoftplus, 1'000, 1'000},
      {Link::kSoftplus, -1'000, 0},
      {Link::kStep, 0, 0},
      {Link::kStep, 5e-324, 1},
      {Link::kProbit, 0, -kInfinity},
      {Link::kProbit, 1, kInfinity},
      {Link::kProbit, -5e-324, kNan},
      {Link::kProbit, 1.5, kNan},
      {Link::kProbit, 0.5, 0},
      {Link::kProbit, 1e-300, -37.0470962993612},
      {Link::kSignedSquare, -1e200, -kInfinity},
  };
  Ensemble ensemble;  // without trees: the margin is the base
  ensemble.sums = Precision::kFloat64;
  for (const Case& each : kCases) {
    ensemble.link = each.link;
    ensemble.base = {each.margin};
    double answer[] = {7, 7};
    const AnswerColumn column{reinterpret_cast<std::byte*>(answer), 1, DType::kF64};
    const Forest forest(ensemble, {});
    forest.run(Queue(Device::cpu()), {}, {&column, 1}, 0);
    EXPECT_EQ(answer[0], 7);
    forest.run(Queue(Device::cpu()), {}, {&column, 1}, 1);
    EXPECT_EQ(answer[1], 7);
    if (std::isfinite(each.expected)) {
      EXPECT_NEAR(answer[0], each.expected, 1e-13) << name_of(each.link) << ' ' << each.margin;
    } else {
      EXPECT_TRUE(std::isnan(each.expected) ? std::isnan(answer[0]) : answer[0] == each.expected)
          << name_of(each.link) << ' ' << each.margin << ": " << answer[0];
    }
  }
}

TEST_P(ForestOn, SoftmaxGoesOverTheOutputsOfARow) {
  RandomEnsemble random(10);
  Ensemble ensemble = wide_ensemble(random);
  ensemble.sums = Precision::kFloat64;
  ensemble.divisor = 10;
  const Event event = draw_event(random, ensemble, 300);
  const std::vector<double> margins =
      answers_of(Forest(ensemble, event.dtypes(), GetParam()), event);
  ensemble.link = Link::kSoftmax;
  const std::vector<double> answers =
      answers_of(Forest(ensemble, event.dtypes(), GetParam()), event);
  for (std::size_t r = 0; r < event.rows; ++r) {
    double sum = 0;
    for (std::size_t k = 0; k < ensemble.outputs; ++k)
      sum += std::exp(margins[k * event.rows + r] - margins[r]);
    for (std::size_t k = 0; k < ensemble.outputs; ++k) {
      const double expected = std::exp(margins[k * event.rows + r] - margins[r]) / sum;
      EXPECT_NEAR(answers[k * event.rows + r], expected, 1e-13);
    }
  }
}

TEST_P(ForestOn, NoRowsAreNoWork) {
  RandomEnsemble random(11);
  const Ensemble ensemble = random.make();
  Event event = draw_event(random, ensemble, 1);
  event.rows = 0;
  EXPECT_TRUE(answers_of(Forest(ensemble, event.dtypes(), GetParam()), event).empty());
}

TEST_P(ForestOn, RefusesAnotherNumberOfDTypes) {
  RandomEnsemble random(12);
  Ensemble ensemble = random.make();
  ensemble.columns = 3;
  const std::vector<DType> two(2, DType::kF32);
  try {
    const Forest forest(ensemble, two, GetParam());
    FAIL() << "expected a ConfigError";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "Forest: got the dtypes of 2 columns, expected 3, one for each column of the "
                 "ensemble");
  }
}

/// A tree for each column: x >= 0.5 is 1, else 0.
Ensemble one_tree_a_column(std::uint32_t columns) {
  Ensemble ensemble;
  ensemble.columns = columns;
  ensemble.base = {0};
  for (std::uint32_t c = 0; c < columns; ++c) {
    ensemble.trees.push_back({3 * c, 3, 0});
    ensemble.nodes.push_back(tensoa::test::inner(static_cast<std::int32_t>(c), 0.5, 1, 2));
    ensemble.nodes.push_back(tensoa::test::leaf(0));
    ensemble.nodes.push_back(tensoa::test::leaf(1));
  }
  ensemble.leaf_values = {0, 1};
  return ensemble;
}

TEST(Forest, FollowsSingleRowsOfMoreFeaturesThanPackedNodesCanName) {
  constexpr std::uint32_t kColumns = 70'000;
  std::vector<float> values(kColumns);
  for (std::size_t c = 0; c < kColumns; c += 2) values[c] = 1;
  std::vector<Column> columns;
  for (const float& value : values)
    columns.push_back({reinterpret_cast<const std::byte*>(&value), 1, DType::kF32});
  const Forest forest(one_tree_a_column(kColumns), std::vector(kColumns, DType::kF32));
  double answer = -1;
  const AnswerColumn to{reinterpret_cast<std::byte*>(&answer), 1, DType::kF64};
  forest.run(Queue(Device::cpu()), columns, {&to, 1}, 1);
  EXPECT_EQ(answer, kColumns / 2);
}

TEST(Forest, AGpuRefusesMoreColumnsThanAKernelTakes) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  try {
    const Forest forest(one_tree_a_column(1'280), std::vector(1'280, DType::kF32), Device::cuda(0));
    FAIL() << "expected a ConfigError";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "trees on cuda:0: 1280 tested columns and 1 outputs, a GPU takes at most 1280 "
                 "together; load the model on the CPU");
  }
}

TEST(Forest, RefusesAQueueOfAnotherDevice) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  RandomEnsemble random(13);
  const Ensemble ensemble = random.make();
  const Forest forest(ensemble, std::vector<DType>(ensemble.columns, DType::kF32));
  try {
    forest.run(Queue(Device::cuda(0)), {}, {}, 0);
    FAIL() << "expected a ConfigError";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "Forest: got a queue of cuda:0, its trees are on cpu");
  }
}

}  // namespace
