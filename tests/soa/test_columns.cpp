// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/columns.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <type_traits>

#include "layouts.hpp"

namespace tensoa {
namespace {

using test::Mixed;

template <class T>
inline constexpr bool kIsKernelArgument = std::is_aggregate_v<T> && std::is_trivially_copyable_v<T>;
static_assert(kIsKernelArgument<Column<float>>);
static_assert(kIsKernelArgument<Column<Vector<float, 3>>>);
static_assert(kIsKernelArgument<ConstColumn<Matrix<float, 2, 3>>>);
static_assert(kIsKernelArgument<Column<Scalar<float>>>);
static_assert(kIsKernelArgument<Mixed<Column>>);
static_assert(kIsKernelArgument<Mixed<ConstColumn>>);

static_assert(std::is_same_v<Row<float>, float&>);
static_assert(std::is_same_v<ConstRow<float>, const float&>);
static_assert(std::is_same_v<Row<Scalar<float>>, NoRow>);

class Columns : public testing::Test {
 protected:
  static constexpr std::size_t kPitch = 4;  // of three rows and one element of padding
  Columns() { std::iota(memory_.begin(), memory_.end(), 0.F); }
  std::array<float, 6 * kPitch> memory_{};
};

TEST_F(Columns, APlainColumnIsIndexedByRow) {
  const Column<float> x{memory_.data() + 5};
  EXPECT_EQ(x[2], 7.F);
  x[2] = -1.F;
  EXPECT_EQ(memory_[7], -1.F);
  EXPECT_EQ(x.data(), memory_.data() + 5);
}

TEST_F(Columns, AVectorColumnIsIndexedByRowThenComponent) {
  const Column<Vector<float, 3>> direction{memory_.data(), kPitch};
  EXPECT_EQ(direction[1][2], 9.F);
  direction[1][2] = -1.F;
  EXPECT_EQ(memory_[9], -1.F);
  EXPECT_EQ(direction.plane(2)[1], -1.F);
}

TEST_F(Columns, AMatrixColumnIsColumnMajor) {
  const Column<Matrix<float, 2, 3>> covariance{memory_.data(), kPitch};
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t column = 0; column < 3; ++column) {
      const float expected = static_cast<float>((row + 2 * column) * kPitch + 1);
      EXPECT_EQ(covariance[1](row, column), expected);
      EXPECT_EQ(covariance.plane(row, column)[1], expected);
    }
  }
}

TEST_F(Columns, AScalarIsOneValueForAllRows) {
  const Column<Scalar<float>> field{memory_.data() + 3};
  EXPECT_EQ(*field, 3.F);
  *field = 4.F;
  EXPECT_EQ(memory_[3], 4.F);
}

TEST_F(Columns, ARowHasRealReferences) {
  Mixed<Column> columns{};
  columns.x = {memory_.data()};
  columns.direction = {memory_.data() + kPitch, kPitch};
  columns.covariance = {memory_.data(), kPitch};
  const auto second = row(columns, 1);
  static_assert(std::is_same_v<decltype(second.x), float&>);
  second.x = 10.F;
  float& z_of_direction = second.direction[2];
  z_of_direction = 20.F;
  EXPECT_EQ(memory_[1], 10.F);
  EXPECT_EQ(memory_[3 * kPitch + 1], 20.F);
  EXPECT_EQ(&second.covariance(1, 2), &memory_[5 * kPitch + 1]);
}

TEST_F(Columns, ARowOfConstColumnsIsConst) {
  Mixed<ConstColumn> columns{};
  columns.x = {memory_.data()};
  const auto second = row(columns, 1);
  static_assert(std::is_same_v<decltype(second.x), const float&>);
  EXPECT_EQ(second.x, 1.F);
}

}  // namespace
}  // namespace tensoa
