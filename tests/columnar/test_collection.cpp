// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/columnar/collection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "../support/temporary_folder.hpp"
#include "tables.hpp"
#include "tensoa/columnar/table_file.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::columnar {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <template <class> class F>
struct Origin {
  F<double> vertex;
};

template <template <class> class F>
struct Hit {
  F<float> x, y;
  F<std::int32_t> layer;
  F<bool> is_good;
  F<Vector<float, 3>> u;
  F<Matrix<double, 2, 2>> m;
  F<Scalar<float>> field;
  F<Sub<Origin>> origin;
};

template <template <class> class F>
struct Point {
  F<float> x, y;
};

template <template <class> class F>
struct Counted {
  F<std::int32_t> x;
};

template <template <class> class F>
struct InField {
  F<float> x;
  F<Scalar<float>> field;
};

class CollectionTest : public testing::Test {
 protected:
  fs::path path(const std::string& name) const { return temporary_.path() / name; }

  tensoa::test::TemporaryFolder temporary_;
};

TEST_F(CollectionTest, WhatIsWrittenIsReadAgain) {
  PortableCollection<Hit> hits(1'000, Device::cpu());
  const auto view = hits.view();
  *view.field = 3.8F;
  for (std::size_t i = 0; i < view.size(); ++i) {
    const auto number = static_cast<float>(i);
    view.x[i] = number + 0.25F;
    view.y[i] = -number;
    view.layer[i] = static_cast<std::int32_t>(i % 13);
    view.is_good[i] = i % 3 == 0;
    for (std::size_t c = 0; c < 3; ++c) view.u[i][c] = number * static_cast<float>(c);
    for (std::size_t c = 0; c < 4; ++c) view.m[i](c % 2, c / 2) = static_cast<double>(i * 4 + c);
    view.origin.vertex[i] = 1e-9 * static_cast<double>(i);
  }
  for (const char* name : {"hits.parquet", "hits.arrow", "hits.csv"}) {
    write_collection<Hit>(path(name), hits.const_view());
    const auto again = read_collection<Hit>(path(name));
    ASSERT_EQ(again.size(), 1'000U) << name;
    const auto read = again.const_view();
    EXPECT_EQ(*read.field, 3.8F) << name;
    for (std::size_t i = 0; i < read.size(); ++i) {
      ASSERT_EQ(read.x[i], view.x[i]) << name << i;
      ASSERT_EQ(read.y[i], view.y[i]) << name << i;
      ASSERT_EQ(read.layer[i], view.layer[i]) << name << i;
      ASSERT_EQ(read.is_good[i], view.is_good[i]) << name << i;
      for (std::size_t c = 0; c < 3; ++c) ASSERT_EQ(read.u[i][c], view.u[i][c]) << name << i;
      for (std::size_t c = 0; c < 4; ++c) {
        ASSERT_EQ(read.m[i](c % 2, c / 2), view.m[i](c % 2, c / 2)) << name << i;
      }
      ASSERT_EQ(read.origin.vertex[i], view.origin.vertex[i]) << name << i;
    }
  }
}

TEST_F(CollectionTest, ColumnsOfTheFileMayHaveOtherNamesAndStandInAnyOrder) {
  test::write_text(path("a.csv"), "other,Y,hit_x\na,1,2\nb,3,4\n");
  const auto points =
      read_collection<Point>(path("a.csv"), {.columns = {{"x", "hit_x"}, {"y", "Y"}}});
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points.const_view().x[1], 4.0F);
  EXPECT_EQ(points.const_view().y[1], 3.0F);
}

TEST_F(CollectionTest, AllRowGroupsAreRead) {
  test::write(path("a.parquet"), {{"y", test::counted(100)}, {"x", test::counted(100)}}, 7);
  const auto points = read_collection<Point>(path("a.parquet"));
  ASSERT_EQ(points.size(), 100U);
  for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(points.const_view().x[i], static_cast<float>(i));
}

TEST_F(CollectionTest, AFileWithoutRowsIsACollectionWithoutRows) {
  test::write_text(path("a.csv"), "x,y\n");
  EXPECT_EQ(read_collection<Point>(path("a.csv")).size(), 0U);
  write_collection<Point>(path("b.parquet"),
                          PortableCollection<Point>(0, Device::cpu()).const_view());
  EXPECT_EQ(TableFile(path("b.parquet")).columns().size(), 2U);
  EXPECT_EQ(read_collection<Point>(path("b.parquet")).size(), 0U);
}

TEST_F(CollectionTest, AnAbsentColumnIsNamed) {
  test::write_text(path("a.csv"), "x,z\n1,2\n");
  EXPECT_THAT([&] { read_collection<Point>(path("a.csv")); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("a.csv"), HasSubstr("y"))));
}

TEST_F(CollectionTest, NumbersThatTheFieldDoesNotHoldAreNamedWithTheirRow) {
  test::write_text(path("a.csv"), "x,y\n1,2\n,3\n");
  EXPECT_THAT([&] { read_collection<Point>(path("a.csv")); },
              ThrowsMessage<InputError>(
                  AllOf(HasSubstr("column x"), HasSubstr("row 1"), HasSubstr("null"))));
  const auto points = read_collection<Point>(path("a.csv"), {.rules = {.null_value = -1}});
  EXPECT_EQ(points.const_view().x[1], -1.0F);
  test::write(path("b.parquet"), {{"x", test::floats({1, 2.5F})}}, 7);
  EXPECT_THAT([&] { read_collection<Counted>(path("b.parquet")); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("row 1"), HasSubstr("2.5"))));
}

TEST_F(CollectionTest, AScalarHasOneValueInAllRows) {
  test::write_text(path("a.csv"), "x,field\n1,2\n3,2\n");
  EXPECT_EQ(*read_collection<InField>(path("a.csv")).const_view().field, 2.0F);
  test::write_text(path("b.csv"), "x,field\n1,2\n3,4\n");
  EXPECT_THAT(
      [&] { read_collection<InField>(path("b.csv")); },
      ThrowsMessage<InputError>(AllOf(HasSubstr("column field: row 1"), HasSubstr("scalar"))));
  test::write_text(path("c.csv"), "x,field\n");
  EXPECT_THAT([&] { read_collection<InField>(path("c.csv")); },
              ThrowsMessage<InputError>(HasSubstr("no value of the scalar field")));
}

TEST_F(CollectionTest, ANameThatIsNotAFieldIsRefusedWithTheNearest) {
  test::write_text(path("a.csv"), "x,y\n");
  EXPECT_THAT(
      [&] {
        read_collection<Point>(path("a.csv"), {.columns = {{"xx", "x"}}});
      },
      ThrowsMessage<ConfigError>(AllOf(HasSubstr("no field xx"), HasSubstr("nearest is x"))));
}

TEST_F(CollectionTest, AFailedWriteLeavesNothing) {
  PortableCollection<Point> points(1, Device::cpu());
  EXPECT_THROW(write_collection<Point>(path("a.txt"), points.const_view()), ConfigError);
  EXPECT_FALSE(fs::exists(path("a.txt")));
}

}  // namespace
}  // namespace tensoa::columnar
