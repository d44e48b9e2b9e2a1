// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "torchscript/scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace tensoa::pytorch {
namespace {

using testing::ElementsAre;

/// [rows, 3] float32 over strided columns, of which only shape and dtype count.
TensorView like(std::int64_t rows, DType dtype = DType::kF32) {
  return {.data = nullptr,
          .dtype = dtype,
          .device = {},
          .rank = 2,
          .size_of_dim = {rows, 3},
          .stride_of_dim = {1, 1024}};
}

TEST(Scratch, IsPackedAndOfTheShapeAndDtypeThatAreAskedFor) {
  Scratch scratch;
  TensorView shape = like(7, DType::kF64);
  shape.read_only = true;
  const TensorView tensor = scratch.take(0, shape);
  EXPECT_THAT(tensor.sizes(), ElementsAre(7, 3));
  EXPECT_THAT(tensor.strides(), ElementsAre(3, 1));
  EXPECT_EQ(tensor.dtype, DType::kF64);
  EXPECT_FALSE(tensor.read_only);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data) % 64, 0U);
}

TEST(Scratch, IsTheSameMemoryForEveryCallThatFitsIn) {
  Scratch scratch;
  const void* const memory = scratch.take(0, like(1000)).data;
  for (const std::int64_t rows : {1000, 1, 999, 500}) {
    EXPECT_EQ(scratch.take(0, like(rows)).data, memory) << rows;
  }
  EXPECT_EQ(scratch.take(0, like(500, DType::kF64)).data, memory);
  const void* const larger = scratch.take(0, like(1001)).data;
  EXPECT_EQ(scratch.take(0, like(1)).data, larger) << "it only grows";
}

TEST(Scratch, OfTwoPlacesIsTwoMemories) {
  Scratch scratch;
  const TensorView second = scratch.take(1, like(10));
  const TensorView first = scratch.take(0, like(10));
  EXPECT_NE(first.data, second.data);
  EXPECT_EQ(scratch.take(1, like(10)).data, second.data);
}

}  // namespace
}  // namespace tensoa::pytorch
