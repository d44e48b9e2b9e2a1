// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/columnar/number_type.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tensoa::columnar {
namespace {

TEST(NumberType, ConversionsSayWhetherNumbersAreKept) {
  EXPECT_EQ(conversion(NumberType::kF32, DType::kF32), Conversion::kNone);
  EXPECT_EQ(conversion(NumberType::kBool, DType::kBool), Conversion::kNone);
  EXPECT_EQ(conversion(NumberType::kU16, DType::kF32), Conversion::kExact);
  EXPECT_EQ(conversion(NumberType::kU16, DType::kI32), Conversion::kExact);
  EXPECT_EQ(conversion(NumberType::kF32, DType::kF64), Conversion::kExact);
  EXPECT_EQ(conversion(NumberType::kBool, DType::kI64), Conversion::kExact);
  EXPECT_EQ(conversion(NumberType::kU16, DType::kI16), Conversion::kChecked);
  EXPECT_EQ(conversion(NumberType::kI8, DType::kU8), Conversion::kChecked);
  EXPECT_EQ(conversion(NumberType::kI32, DType::kF32), Conversion::kChecked);
  EXPECT_EQ(conversion(NumberType::kI64, DType::kF64), Conversion::kChecked);
  EXPECT_EQ(conversion(NumberType::kF64, DType::kF32), Conversion::kRounds);
  EXPECT_EQ(conversion(NumberType::kF32, DType::kF16), Conversion::kRounds);
  EXPECT_EQ(conversion(NumberType::kF32, DType::kI32), Conversion::kChecked);
  EXPECT_EQ(conversion(NumberType::kDecimal, DType::kI64), Conversion::kChecked);
  EXPECT_EQ(conversion(NumberType::kDecimal, DType::kF64), Conversion::kRounds);
  EXPECT_EQ(conversion(NumberType::kF32, DType::kBool), Conversion::kImpossible);
  EXPECT_EQ(conversion(NumberType::kI32, DType::kBool), Conversion::kImpossible);
  EXPECT_EQ(conversion(NumberType::kF32, DType::kBF16), Conversion::kImpossible);
  EXPECT_EQ(conversion(NumberType::kNone, DType::kF32), Conversion::kImpossible);
}

TEST(NumberType, HasADtypeWhereCollectionsHaveIt) {
  EXPECT_EQ(dtype_of(NumberType::kF16), DType::kF16);
  EXPECT_EQ(dtype_of(NumberType::kU32), std::nullopt);
  EXPECT_EQ(dtype_of(NumberType::kNone), std::nullopt);
}

TEST(NumberType, HoldsWholeNumbersInRangeAndFloatingPointThatStaysFinite) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(holds(DType::kI8, -128) && holds(DType::kI8, 127) && holds(DType::kU8, 255));
  EXPECT_FALSE(holds(DType::kI8, 128) || holds(DType::kI8, -129) || holds(DType::kU8, -1));
  EXPECT_FALSE(holds(DType::kI32, 0.5) || holds(DType::kI32, kNan) || holds(DType::kI64, 0x1p63));
  EXPECT_TRUE(holds(DType::kI64, -0x1p63) && holds(DType::kBool, 1));
  EXPECT_FALSE(holds(DType::kBool, 2));
  EXPECT_TRUE(holds(DType::kF32, kNan) && holds(DType::kF32, kInfinity) && holds(DType::kF32, 0.1));
  EXPECT_FALSE(holds(DType::kF32, 1e300) || holds(DType::kF16, 65'520));
  EXPECT_TRUE(holds(DType::kF64, 1e300) && holds(DType::kF16, 65'519));
}

}  // namespace
}  // namespace tensoa::columnar
