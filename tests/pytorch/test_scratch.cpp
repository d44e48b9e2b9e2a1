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
  const at::Tensor tensor = scratch.take(0, like(7, DType::kF64));
  EXPECT_THAT(tensor.sizes(), ElementsAre(7, 3));
  EXPECT_THAT(tensor.strides(), ElementsAre(3, 1));
  EXPECT_EQ(tensor.scalar_type(), c10::kDouble);
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % 64, 0U);
}

TEST(Scratch, IsTheSameMemoryForEveryCallThatFitsIn) {
  Scratch scratch;
  const void* const memory = scratch.take(0, like(1000)).const_data_ptr();
  for (const std::int64_t rows : {1000, 1, 999, 500}) {
    EXPECT_EQ(scratch.take(0, like(rows)).const_data_ptr(), memory) << rows;
  }
  EXPECT_EQ(scratch.take(0, like(500, DType::kF64)).const_data_ptr(), memory);
  const void* const larger = scratch.take(0, like(1001)).const_data_ptr();
  EXPECT_EQ(scratch.take(0, like(1)).const_data_ptr(), larger) << "it only grows";
}

TEST(Scratch, OfTwoPlacesIsTwoMemories) {
  Scratch scratch;
  const at::Tensor second = scratch.take(1, like(10));
  const at::Tensor first = scratch.take(0, like(10));
  EXPECT_NE(first.const_data_ptr(), second.const_data_ptr());
  EXPECT_EQ(scratch.take(1, like(10)).const_data_ptr(), second.const_data_ptr());
}

}  // namespace
}  // namespace tensoa::pytorch
