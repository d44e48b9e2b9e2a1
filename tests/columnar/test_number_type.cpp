// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/columnar/number_type.hpp"

#include <gtest/gtest.h>

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
  EXPECT_EQ(conversion(NumberType::kF32, DType::kI32), Conversion::kImpossible);
  EXPECT_EQ(conversion(NumberType::kI32, DType::kBool), Conversion::kImpossible);
  EXPECT_EQ(conversion(NumberType::kF32, DType::kBF16), Conversion::kImpossible);
  EXPECT_EQ(conversion(NumberType::kNone, DType::kF32), Conversion::kImpossible);
}

TEST(NumberType, HasADtypeWhereCollectionsHaveIt) {
  EXPECT_EQ(dtype_of(NumberType::kF16), DType::kF16);
  EXPECT_EQ(dtype_of(NumberType::kU32), std::nullopt);
  EXPECT_EQ(dtype_of(NumberType::kNone), std::nullopt);
}

TEST(NumberType, NearestNameHasTheFewestEdits) {
  EXPECT_EQ(nearest_name("jet_pt", {"eta", "Jet_pT", "jet_phi"}), "Jet_pT");
  EXPECT_EQ(nearest_name("x", {}), "");
}

}  // namespace
}  // namespace tensoa::columnar
