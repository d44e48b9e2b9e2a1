// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/dtype.hpp"

#include <gtest/gtest.h>

namespace tensoa {
namespace {

template <class T>
concept HasDType = Element<T>;

static_assert(kDTypeOf<float> == DType::kF32);
static_assert(kDTypeOf<const std::int64_t> == DType::kI64);
static_assert(!HasDType<float*> && !HasDType<std::uint32_t>);

TEST(DType, SizesAreThoseOfTheCppTypes) {
  EXPECT_EQ(size_of(kDTypeOf<bool>), sizeof(bool));
  EXPECT_EQ(size_of(kDTypeOf<std::uint8_t>), 1U);
  EXPECT_EQ(size_of(kDTypeOf<std::int8_t>), 1U);
  EXPECT_EQ(size_of(kDTypeOf<std::int16_t>), 2U);
  EXPECT_EQ(size_of(kDTypeOf<Half>), sizeof(Half));
  EXPECT_EQ(size_of(kDTypeOf<BFloat16>), sizeof(BFloat16));
  EXPECT_EQ(size_of(kDTypeOf<std::int32_t>), 4U);
  EXPECT_EQ(size_of(kDTypeOf<float>), 4U);
  EXPECT_EQ(size_of(kDTypeOf<std::int64_t>), 8U);
  EXPECT_EQ(size_of(kDTypeOf<double>), 8U);
}

TEST(DType, NamesAreTorchs) {
  EXPECT_EQ(name_of(DType::kF32), "float32");
  EXPECT_EQ(name_of(DType::kBF16), "bfloat16");
  EXPECT_EQ(name_of(DType::kU8), "uint8");
}

}  // namespace
}  // namespace tensoa
