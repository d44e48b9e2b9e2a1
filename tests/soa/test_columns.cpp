// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/columns.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "layouts.hpp"

namespace tensoa {
namespace {

using test::Mixed;
using test::Nested;

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

static_assert(kIsKernelArgument<Nested<Column>>);
static_assert(kIsKernelArgument<Nested<ConstColumn>>);
static_assert(std::is_same_v<Column<Sub<test::Fit>>, test::Fit<Column>>);
static_assert(std::is_same_v<ConstRow<Sub<test::Fit>>, test::Fit<ConstRow>>);

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

TEST_F(Columns, ARowOfNestedColumnsIsNested) {
  Nested<Column> columns{};
  columns.position.y = {memory_.data()};
  columns.fit.end.z = {memory_.data() + kPitch};
  const auto third = row(columns, 2);
  static_assert(std::is_same_v<decltype(third.fit.end.z), float&>);
  static_assert(std::is_same_v<decltype(third.fit.end.unit), NoRow>);
  third.position.y = 10.F;
  third.fit.end.z = 20.F;
  EXPECT_EQ(memory_[2], 10.F);
  EXPECT_EQ(memory_[kPitch + 2], 20.F);

  Nested<ConstColumn> const_columns{};
  const_columns.fit.end.z = {memory_.data() + kPitch};
  static_assert(std::is_same_v<decltype(row(const_columns, 2).fit.end.z), const float&>);
  EXPECT_EQ(row(const_columns, 2).fit.end.z, 20.F);
}

/// Offsets of the addresses of members, which must be in declaration order.
template <template <template <class> class> class Layout, class Columns, class... Members>
void expect_offsets(const Columns& columns, const Members&... members) {
  ASSERT_EQ(sizeof...(Members), kFieldCount<Layout>);
  const auto* const begin = reinterpret_cast<const std::byte*>(&columns);
  std::size_t field = 0;
  for (const void* member : {static_cast<const void*>(&members)...}) {
    EXPECT_EQ(static_cast<const std::byte*>(member) - begin,
              static_cast<std::ptrdiff_t>(detail::kColumnOffsets<Layout>[field]))
        << kFieldNames<Layout>[field];
    ++field;
  }
}

template <class Columns>
void expect_offsets_of_mixed() {
  const Columns c{};
  expect_offsets<Mixed>(c, c.x, c.y, c.z, c.flag, c.id, c.field, c.direction, c.weight,
                        c.covariance, c.layer, c.energy, c.scale);
}

template <class Columns>
void expect_offsets_of_nested() {
  const Columns c{};
  expect_offsets<Nested>(c, c.charge, c.position.x, c.position.y, c.position.z, c.position.unit,
                         c.fit.begin.x, c.fit.begin.y, c.fit.begin.z, c.fit.begin.unit, c.fit.slope,
                         c.fit.end.x, c.fit.end.y, c.fit.end.z, c.fit.end.unit, c.covariance);
}

TEST_F(Columns, LieAtKnownOffsets) {
  expect_offsets_of_mixed<Mixed<Column>>();
  expect_offsets_of_mixed<Mixed<ConstColumn>>();
  expect_offsets_of_nested<Nested<Column>>();
  expect_offsets_of_nested<Nested<ConstColumn>>();
}

TEST_F(Columns, StartWithTheirPointerAndThenTheirPitch) {
  const auto expect = [&](const auto& column) {
    void* data = nullptr;
    std::memcpy(&data, &column, sizeof(data));
    EXPECT_EQ(data, memory_.data());
    if constexpr (requires { column.pitch_; }) {
      std::size_t pitch = 0;
      std::memcpy(&pitch, reinterpret_cast<const std::byte*>(&column) + sizeof(data),
                  sizeof(pitch));
      EXPECT_EQ(pitch, kPitch);
    }
  };
  expect(Column<float>{memory_.data()});
  expect(Column<Scalar<float>>{memory_.data()});
  expect(Column<Vector<float, 3>>{memory_.data(), kPitch});
  expect(ConstColumn<Matrix<float, 2, 3>>{memory_.data(), kPitch});
}

}  // namespace
}  // namespace tensoa
