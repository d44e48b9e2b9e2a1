// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/records.hpp"

#include <gtest/gtest.h>

#include <type_traits>

#include "layouts.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using test::Mixed;
using test::Nested;
using test::Outputs;

static_assert(std::is_trivially_copyable_v<Records<Mixed>>);
static_assert(std::is_same_v<decltype(Records<Mixed>{}.x()), const Record<Mixed>&>);
static_assert(!std::is_same_v<Record<Mixed>, Record<Outputs>>,
              "the layout is part of a record's type");

TEST(Records, CarryWhatIsKnownOfTheColumn) {
  PortableCollection<Mixed> mixed(100, Device::cpu());
  mixed.resize(40);
  const auto view = mixed.view();
  const auto records = view.records();

  const ColumnRecord& z = records.z().column;
  EXPECT_EQ(z.data, view.z.data());
  EXPECT_EQ(z.pitch, 0U);
  EXPECT_EQ(z.size, 40U);
  EXPECT_EQ(z.capacity, 100U);
  EXPECT_EQ(z.info.kind, ColumnKind::kPlain);
  EXPECT_EQ(z.info.dtype, DType::kF32);
  EXPECT_EQ(z.device, Device::cpu());
  EXPECT_EQ(z.field, 2U);
  EXPECT_FALSE(z.read_only);

  const ColumnRecord& covariance = records.covariance().column;
  EXPECT_EQ(covariance.data, view.covariance.data());
  EXPECT_EQ(covariance.pitch, 128U);  // floats: 100 rows take four lines of 32
  EXPECT_EQ(covariance.info.kind, ColumnKind::kMatrix);
  EXPECT_EQ(covariance.info.planes(), 6U);
  EXPECT_EQ(covariance.field, 8U);
}

TEST(Records, OfANestedLayoutBelongToTheWhole) {
  PortableCollection<Nested> nested(100, Device::cpu());
  const auto view = nested.view();
  const auto records = view.records();
  static_assert(std::is_same_v<decltype(records.fit.end.z()), const Record<Nested>&>);

  const ColumnRecord& z = records.fit.end.z().column;
  EXPECT_EQ(z.data, view.fit.end.z.data());
  EXPECT_EQ(z.field, 12U);
  EXPECT_EQ(kFieldNames<Nested>[z.field], "fit.end.z");
  EXPECT_EQ(z.info.dtype, DType::kF32);

  const ColumnRecord& slope = records.fit.slope().column;
  EXPECT_EQ(slope.data, view.fit.slope.data());
  EXPECT_EQ(slope.pitch, 112U);  // doubles: 100 rows take seven lines of 16
  EXPECT_EQ(slope.info.kind, ColumnKind::kVector);
  EXPECT_EQ(records.position.unit().column.info.kind, ColumnKind::kScalar);
  EXPECT_EQ(records.covariance().column.field, 14U);
}

TEST(Records, OfAConstViewAreReadOnly) {
  const PortableCollection<Mixed> mixed(3, Device::cpu());
  const auto view = mixed.const_view();
  EXPECT_TRUE(view.records().x().column.read_only);
  EXPECT_TRUE(view.records().field().column.read_only);
  EXPECT_EQ(view.records().x().column.data, view.x.data());
}

}  // namespace
}  // namespace tensoa
