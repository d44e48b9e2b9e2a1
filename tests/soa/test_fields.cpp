// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/fields.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "layouts.hpp"

namespace tensoa {
namespace {

using test::Flat;
using test::Mixed;
using test::Nested;
using test::Wide;

template <template <class> class F>
struct One {
  F<Matrix<double, 3, 3>> only;
};

template <template <class> class F>
struct SixtyFour {
  F<float> f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15;
  F<float> f16, f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31;
  F<double> f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45, f46, f47;
  F<bool> f48, f49, f50, f51, f52, f53, f54, f55, f56, f57, f58, f59, f60, f61, f62, f63;
};

static_assert(kFieldCount<One> == 1);
static_assert(kFieldCount<Mixed> == 12);
static_assert(kFieldCount<Wide> == 9);
static_assert(kFieldCount<SixtyFour> == 64);

static_assert(kFieldNames<One>[0] == "only");
static_assert(kFieldNames<Mixed> ==
              std::array<std::string_view, 12>{"x", "y", "z", "flag", "id", "field", "direction",
                                               "weight", "covariance", "layer", "energy", "scale"});

constexpr bool is(const FieldInfo& info, ColumnKind kind, DType dtype, std::size_t rows,
                  std::size_t columns) {
  return info.kind == kind && info.dtype == dtype && info.rows == rows && info.columns == columns;
}
static_assert(is(kFieldInfo<Mixed>[0], ColumnKind::kPlain, DType::kF32, 1, 1));
static_assert(is(kFieldInfo<Mixed>[3], ColumnKind::kPlain, DType::kU8, 1, 1));
static_assert(is(kFieldInfo<Mixed>[5], ColumnKind::kScalar, DType::kF32, 1, 1));
static_assert(is(kFieldInfo<Mixed>[6], ColumnKind::kVector, DType::kF32, 3, 1));
static_assert(is(kFieldInfo<Mixed>[7], ColumnKind::kPlain, DType::kF16, 1, 1));
static_assert(is(kFieldInfo<Mixed>[8], ColumnKind::kMatrix, DType::kF32, 2, 3));
static_assert(kFieldInfo<Mixed>[8].planes() == 6);
static_assert(kFieldInfo<Mixed>[10].element_size() == 8);

// Forty members of two fields: more fields than one struct has room for.
template <template <class> class F>
struct Pair {
  F<float> a, b;
};
template <template <class> class F>
struct Forty {
  F<Sub<Pair>> p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16, p17, p18;
  F<Sub<Pair>> p19, p20, p21, p22, p23, p24, p25, p26, p27, p28, p29, p30, p31, p32, p33, p34, p35;
  F<Sub<Pair>> p36, p37, p38, p39;
};
static_assert(kMemberCount<Forty> == 40 && kFieldCount<Forty> == 80);
static_assert(kFieldNames<Forty>[79] == "p39.b");

static_assert(kMemberCount<Mixed> == kFieldCount<Mixed>);
static_assert(kMemberCount<Nested> == 4 && kFieldCount<Nested> == 15);
static_assert(kMemberNames<Nested> ==
              std::array<std::string_view, 4>{"charge", "position", "fit", "covariance"});
static_assert(kFieldNames<Nested> == std::array<std::string_view, 15>{
                                         "charge", "position.x", "position.y", "position.z",
                                         "position.unit", "fit.begin.x", "fit.begin.y",
                                         "fit.begin.z", "fit.begin.unit", "fit.slope", "fit.end.x",
                                         "fit.end.y", "fit.end.z", "fit.end.unit", "covariance"});

TEST(Fields, OfANestedLayoutAreThoseOfTheSameLayoutWrittenOut) {
  ASSERT_EQ(kFieldCount<Nested>, kFieldCount<Flat>);
  for (std::size_t i = 0; i < kFieldCount<Flat>; ++i) {
    const FieldInfo& flat = kFieldInfo<Flat>[i];
    EXPECT_TRUE(is(kFieldInfo<Nested>[i], flat.kind, flat.dtype, flat.rows, flat.columns))
        << kFieldNames<Nested>[i];
  }
}

TEST(Fields, ALayoutOfSixtyFourFieldsHasAllItsNames) {
  for (std::size_t i = 0; i < 64; ++i)
    EXPECT_EQ(kFieldNames<SixtyFour>[i], "f" + std::to_string(i));
  EXPECT_EQ(kFieldInfo<SixtyFour>[63].dtype, DType::kBool);
}

TEST(Fields, KindsHaveNames) {
  EXPECT_EQ(name_of(ColumnKind::kPlain), "plain");
  EXPECT_EQ(name_of(ColumnKind::kVector), "vector");
  EXPECT_EQ(name_of(ColumnKind::kMatrix), "matrix");
  EXPECT_EQ(name_of(ColumnKind::kScalar), "scalar");
}

}  // namespace
}  // namespace tensoa
