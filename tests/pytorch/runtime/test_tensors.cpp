// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/tensors.hpp"

#include <ATen/Context.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <vector>

#include "tensoa/core/memory.hpp"

namespace tensoa::pytorch {
namespace {

constexpr DType kAll[] = {DType::kBool, DType::kU8,  DType::kI8,   DType::kI16, DType::kI32,
                          DType::kI64,  DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

/// Shapes of bound columns with their strides.
struct Shape {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
};
const std::vector<Shape> kShapes{
    {{7}, {1}},                        // rank 1
    {{7, 1}, {1, 0}},                  // one plain column
    {{7, 3}, {1, 32}},                 // several
    {{7, 3}, {1, 64}},                 // every other
    {{3, 7}, {32, 1}},                 // as rows
    {{2, 32}, {32, 1}},                // as rows, full: contiguous
    {{7, 2}, {0, 32}},                 // scalars
    {{7, 3}, {1, 32}},                 // one vector
    {{7, 2, 3}, {1, 96, 32}},          // several
    {{7, 2, 3, 2}, {1, 192, 32, 96}},  // matrices
    {{1, 2, 1, 2}, {1, 192, 32, 96}},  // of one row
    {{0, 3}, {1, 32}},                 // no rows
    {{3, 0}, {32, 1}},                 // no rows, as rows
    {{0, 2, 3, 2}, {1, 192, 32, 96}},  // no rows of matrices
    {{}, {}},                          // rank 0
};

TensorView view_of(const Shape& shape, DType dtype, Device device, void* data) {
  TensorView view{.data = data, .dtype = dtype, .device = device};
  for (std::size_t dim = 0; dim < shape.sizes.size(); ++dim) {
    view.size_of_dim[view.rank] = shape.sizes[dim];
    view.stride_of_dim[view.rank++] = shape.strides[dim];
  }
  return view;
}

/// The devices of this machine.
class Tensors : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (device_count(GetParam().kind) == 0) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_P(Tensors, AreWhatFromBlobMakesForEveryShapeAndDtypeInAndOutOfInferenceMode) {
  const Device device = GetParam();
  const Buffer memory(device, 4096);
  for (const bool inference : {false, true}) {
    const c10::InferenceMode mode(inference);
    for (const DType dtype : kAll) {
      for (const Shape& shape : kShapes) {
        const TensorView view = view_of(shape, dtype, device, memory.data());
        SCOPED_TRACE(to_string(view));
        const at::Tensor ours = wrap(view);
        const at::Tensor theirs = at::from_blob(
            view.data, shape.sizes, shape.strides, /*deleter=*/{},
            c10::TensorOptions().dtype(to_torch(dtype)).device(to_torch(device)), to_torch(device));
        EXPECT_EQ(ours.const_data_ptr(), theirs.const_data_ptr());
        EXPECT_EQ(ours.storage().data(), theirs.storage().data());
        EXPECT_EQ(ours.storage().nbytes(), theirs.storage().nbytes());
        EXPECT_EQ(ours.storage().device(), theirs.storage().device());
        EXPECT_EQ(ours.sizes(), theirs.sizes());
        EXPECT_EQ(ours.strides(), theirs.strides());
        EXPECT_EQ(ours.storage_offset(), theirs.storage_offset());
        EXPECT_EQ(ours.dtype(), theirs.dtype());
        EXPECT_EQ(ours.device(), theirs.device());
        EXPECT_EQ(ours.key_set(), theirs.key_set());
        EXPECT_EQ(ours.is_inference(), theirs.is_inference());
        EXPECT_EQ(ours.requires_grad(), theirs.requires_grad());
        EXPECT_EQ(ours.is_contiguous(), theirs.is_contiguous());
        EXPECT_EQ(ours.is_non_overlapping_and_dense(), theirs.is_non_overlapping_and_dense());
      }
    }
  }
}

TEST_P(Tensors, WrappedAgainAreWhatWrapMakes) {
  const Device device = GetParam();
  const Buffer memory(device, 8192);
  at::Tensor again;
  for (const Shape& shape : kShapes) {
    const TensorView view =
        view_of(shape, DType::kF32, device, memory.data() + 64 * shape.sizes.size());
    SCOPED_TRACE(to_string(view));
    const void* const before = again.defined() ? again.unsafeGetTensorImpl() : nullptr;
    wrap_again(again, view);
    if (before != nullptr) {
      EXPECT_EQ(again.unsafeGetTensorImpl(), before);
    }
    const at::Tensor wrapped = wrap(view);
    EXPECT_EQ(again.const_data_ptr(), wrapped.const_data_ptr());
    EXPECT_EQ(again.storage().nbytes(), wrapped.storage().nbytes());
    EXPECT_EQ(again.device(), wrapped.device());
    EXPECT_EQ(again.sizes(), wrapped.sizes());
    EXPECT_EQ(again.strides(), wrapped.strides());
    EXPECT_EQ(again.is_contiguous(), wrapped.is_contiguous());
    EXPECT_EQ(again.numel(), wrapped.numel());
  }
}

TEST_P(Tensors, ATensorWithAnotherOwnerIsNotChanged) {
  const Buffer memory(GetParam(), 4096);
  at::Tensor tensor = wrap(view_of({{7}, {1}}, DType::kF32, GetParam(), memory.data()));
  const at::Tensor held = tensor;
  wrap_again(tensor, view_of({{5}, {1}}, DType::kF32, GetParam(), memory.data() + 64));
  EXPECT_EQ(held.numel(), 7);
  EXPECT_EQ(held.const_data_ptr(), memory.data());
  EXPECT_EQ(tensor.numel(), 5);
}

TEST_P(Tensors, ReadAndWriteTheMemoryInPlaceAndLeaveItToItsOwner) {
  std::vector<float> values(96);
  std::iota(values.begin(), values.end(), 0.F);
  const Queue queue(GetParam());
  const Buffer memory(GetParam(), values.size() * sizeof(float));
  copy_bytes(queue, memory.data(), GetParam(), values.data(), Device::cpu(), memory.size());
  queue.wait();
  {
    at::Tensor tensor = wrap(view_of({{7, 3}, {1, 32}}, DType::kF32, GetParam(), memory.data()));
    EXPECT_EQ(tensor[6][2].item<float>(), 70.F);
    tensor.mul_(2);
    EXPECT_EQ(tensor.sum().item<float>(), 2 * (3 * 21 + 7 * (32 + 64)));
  }
  copy_bytes(queue, values.data(), Device::cpu(), memory.data(), GetParam(), memory.size());
  queue.wait();
  EXPECT_EQ(values[70], 140.F);
  EXPECT_EQ(values[71], 71.F);  // the next element is in the padding
}

TEST_P(Tensors, CopyNothing) {
  const Buffer memory(GetParam(), 4096);
  for (const Shape& shape : kShapes) {
    const TensorView view = view_of(shape, DType::kF32, GetParam(), memory.data());
    EXPECT_EQ(wrap(view).storage().data(), view.data) << to_string(view);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Tensors, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& test) { return test.param.is_cpu() ? "Cpu" : "Cuda"; });

}  // namespace
}  // namespace tensoa::pytorch
