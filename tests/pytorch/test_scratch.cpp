// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

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

TEST(ScratchPool, GivesWhatACallUsedToTheNextCallOnTheQueue) {
  ScratchPool pool;
  const Queue queue(Device::cpu());
  const auto memory_of_a_call = [&] {
    return ScratchPool::Loan(pool, queue).get().take(0, like(100)).const_data_ptr();
  };
  const void* const memory = memory_of_a_call();
  EXPECT_EQ(memory_of_a_call(), memory);
  { const ScratchPool::Loan copies_nothing(pool, queue); }
  EXPECT_EQ(memory_of_a_call(), memory);
}

TEST(ScratchPool, GivesCallsAtTheSameTimeMemoryOfTheirOwn) {
  ScratchPool pool;
  const Queue queue(Device::cpu());
  const void* first_memory = nullptr;
  const void* second_memory = nullptr;
  {
    ScratchPool::Loan first(pool, queue);
    ScratchPool::Loan second(pool, queue);
    first_memory = first.get().take(0, like(100)).const_data_ptr();
    second_memory = second.get().take(0, like(100)).const_data_ptr();
    EXPECT_NE(first_memory, second_memory);
  }
  ScratchPool::Loan first(pool, queue);
  ScratchPool::Loan second(pool, queue);
  const std::vector<const void*> again{first.get().take(0, like(100)).const_data_ptr(),
                                       second.get().take(0, like(100)).const_data_ptr()};
  EXPECT_THAT(again, testing::UnorderedElementsAre(first_memory, second_memory));
}

/// Two streams do not wait for each other.
TEST(ScratchPool, GivesEveryStreamMemoryOfItsOwn) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  ScratchPool pool;
  const Queue first(Device::cuda(0));
  const Queue second(Device::cuda(0));
  const auto memory_on = [&](const Queue& queue) {
    TensorView view = like(100);
    view.device = Device::cuda(0);
    return ScratchPool::Loan(pool, queue).get().take(0, view).const_data_ptr();
  };
  const void* const memory = memory_on(first);
  EXPECT_NE(memory_on(second), memory);
  EXPECT_EQ(memory_on(first), memory);
}

}  // namespace
}  // namespace tensoa::pytorch
