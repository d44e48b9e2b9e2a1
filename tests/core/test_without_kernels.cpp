// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/core/ragged.hpp"
#include "tensoa/core/strided_copy.hpp"

namespace tensoa {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr Device kGpu = Device::cuda(0);

/// [2, 3] with these strides.
TensorView matrix(void* data, DType dtype, std::int64_t row, std::int64_t column) {
  return {.data = data,
          .dtype = dtype,
          .device = kGpu,
          .rank = 2,
          .size_of_dim = {2, 3},
          .stride_of_dim = {row, column}};
}

/// Six numbers on a GPU, and room for six more.
class WithoutKernels : public testing::Test {
 protected:
  WithoutKernels() {
    const std::array<float, 6> numbers{1, 2, 3, 4, 5, 6};
    copy_bytes(queue, from.data(), kGpu, numbers.data(), Device::cpu(), sizeof(numbers));
    queue.wait();
  }

  std::array<float, 6> copied() const {
    std::array<float, 6> numbers{};
    copy_bytes(queue, numbers.data(), Device::cpu(), to.data(), kGpu, sizeof(numbers));
    queue.wait();
    return numbers;
  }

  const Queue queue{kGpu};
  const Buffer from{kGpu, 6 * sizeof(float)};
  const Buffer to{kGpu, 6 * sizeof(float)};
};

TEST_F(WithoutKernels, ElementsOfOneDtypeAreCopiedBetweenAnyStrides) {
  EXPECT_EQ(strided_copy(queue, matrix(to.data(), DType::kF32, 3, 1),
                         matrix(from.data(), DType::kF32, 1, 2)),
            6 * sizeof(float));
  EXPECT_THAT(copied(), ElementsAre(1, 3, 5, 2, 4, 6));
}

TEST_F(WithoutKernels, SeveralCopiesAreMadeOneByOne) {
  const auto part = [](const Buffer& memory, std::size_t first) {
    TensorView view{.data = memory.data() + first * sizeof(float), .device = kGpu, .rank = 1};
    view.size_of_dim = {2};
    view.stride_of_dim = {1};
    return view;
  };
  // One source twice, and one that overlaps it.
  strided_copies(queue, std::array{TensorCopy{part(to, 0), part(from, 0)},
                                   TensorCopy{part(to, 2), part(from, 0)},
                                   TensorCopy{part(to, 4), part(from, 1)}});
  EXPECT_THAT(copied(), ElementsAre(1, 2, 1, 2, 2, 3));
}

TEST_F(WithoutKernels, OtherWorkIsRefusedWithTheReason) {
  const Buffer memory(kGpu, 256);
  const TensorView floats = matrix(memory.data(), DType::kF32, 3, 1);
  TensorView offsets = floats;
  offsets.dtype = DType::kI32;
  offsets.rank = 1;
  offsets.size_of_dim = {3};
  offsets.stride_of_dim = {1};
  TensorView rows = offsets;
  rows.dtype = DType::kI64;
  TensorView values = offsets;
  values.dtype = DType::kF32;
  const auto expect_refused = [](const auto& call, const char* what) {
    EXPECT_THAT(call, ThrowsMessage<ConfigError>(testing::AllOf(
                          HasSubstr(what), HasSubstr("build with a CUDA compiler"))));
  };
  expect_refused([&] { strided_copy(queue, floats, matrix(memory.data(), DType::kF64, 3, 1)); },
                 "strided_copy: converting or broadcasting on a GPU");
  expect_refused([&] { strided_copy(queue, floats, matrix(memory.data(), DType::kF32, 0, 1)); },
                 "strided_copy: converting or broadcasting on a GPU");
  expect_refused([&] { pad_rows(queue, floats, values, offsets); }, "pad_rows: padding rows");
  expect_refused([&] { write_mask(queue, matrix(memory.data(), DType::kBool, 3, 1), offsets); },
                 "write_mask: a mask");
  expect_refused([&] { write_segments(queue, rows, offsets); },
                 "write_segments: numbers of groups");
}

}  // namespace
}  // namespace tensoa
