// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/interop/dlpack.hpp"

#include <arrow/c/dlpack_abi.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "tensoa/soa/soa_metadata.hpp"

namespace tensoa::interop {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <template <class> class F>
struct Point {
  F<float> x, y, z;
};

/// An owner that counts how often it was let go.
std::shared_ptr<const void> counting_owner(int& released) {
  return {&released, [](int* count) { ++*count; }};
}

TensorView floats(std::vector<float>& values, std::int64_t rows, std::int64_t columns) {
  TensorView view;
  view.data = values.data();
  view.rank = 2;
  view.size_of_dim = {rows, columns};
  view.stride_of_dim = {1, rows};
  return view;
}

/// A tensor of another owner, [2, 3] float32, row-major, that counts calls of its deleter.
struct Foreign {
  std::array<float, 6> values{0, 1, 2, 3, 4, 5};
  std::array<std::int64_t, 6> sizes{2, 3};
  std::array<std::int64_t, 6> strides{3, 1};
  DLManagedTensorVersioned tensor{};
  int released = 0;

  Foreign() {
    tensor.version = {1, 0};
    tensor.manager_ctx = this;
    tensor.deleter = [](DLManagedTensorVersioned* self) {
      ++static_cast<Foreign*>(self->manager_ctx)->released;
    };
    tensor.dl_tensor = {values.data(), {kDLCPU, 0},    2, {kDLFloat, 32, 1},
                        sizes.data(),  strides.data(), 0};
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;
};

/// The error of from_dlpack for a foreign tensor that `change` has spoilt; it must still be released
/// once.
template <class Expected, class Change>
void expect_refused(Change change, const std::string& message) {
  Foreign foreign;
  change(foreign);
  EXPECT_THAT([&] { from_dlpack(&foreign.tensor); }, ThrowsMessage<Expected>(HasSubstr(message)));
  EXPECT_EQ(foreign.released, 1) << message;
}

TEST(ToDLPack, SharesTheColumnsOfACollection) {
  // [export]
  auto hits = std::make_shared<PortableCollection<Point>>(1000, Device::cpu());
  auto records = hits->view().records();
  SoAMetadata<Point> blocks(hits->size());
  blocks.append_block("position", records.x(), records.y(), records.z());

  DLPackTensor tensor = to_dlpack(blocks.blocks()[0].tensor, hits);
  // [/export]
  const DLTensor& exported = tensor->dl_tensor;
  EXPECT_EQ(exported.data, hits->view().x.data());
  EXPECT_EQ(exported.byte_offset, 0U);
  EXPECT_EQ(exported.ndim, 2);
  EXPECT_THAT(std::vector(exported.shape, exported.shape + 2), ElementsAre(1000, 3));
  EXPECT_THAT(std::vector(exported.strides, exported.strides + 2), ElementsAre(1, 1024));
  EXPECT_EQ(exported.device.device_type, kDLCPU);
  EXPECT_EQ(tensor->version.major, 1U);
  EXPECT_EQ(tensor->flags, 0U);
  EXPECT_EQ(hits.use_count(), 2);
  tensor.reset();
  EXPECT_EQ(hits.use_count(), 1);
}

TEST(ToDLPack, NamesEveryElementTypeAsDLPackDoes) {
  const std::pair<DType, DLDataType> kExpected[] = {
      {DType::kBool, {kDLBool, 8, 1}},  {DType::kU8, {kDLUInt, 8, 1}},
      {DType::kI8, {kDLInt, 8, 1}},     {DType::kI16, {kDLInt, 16, 1}},
      {DType::kI32, {kDLInt, 32, 1}},   {DType::kI64, {kDLInt, 64, 1}},
      {DType::kF16, {kDLFloat, 16, 1}}, {DType::kBF16, {kDLBfloat, 16, 1}},
      {DType::kF32, {kDLFloat, 32, 1}}, {DType::kF64, {kDLFloat, 64, 1}},
  };
  for (const auto& [dtype, expected] : kExpected) {
    double value = 0;
    TensorView view;
    view.data = &value;
    view.dtype = dtype;
    DLPackTensor tensor = to_dlpack(view, nullptr);
    const DLDataType& found = tensor->dl_tensor.dtype;
    EXPECT_EQ(found.code, expected.code) << name_of(dtype);
    EXPECT_EQ(found.bits, expected.bits) << name_of(dtype);
    EXPECT_EQ(found.lanes, 1) << name_of(dtype);
    EXPECT_EQ(from_dlpack(tensor.release()).view.dtype, dtype);
  }
}

TEST(ToDLPack, MarksReadOnlyTensors) {
  std::vector<float> values(6);
  TensorView view = floats(values, 3, 2);
  view.read_only = true;
  EXPECT_EQ(to_dlpack(view, nullptr)->flags, std::uint64_t{DLPACK_FLAG_BITMASK_READ_ONLY});
}

TEST(ToDLPack, NamesTheGpu) {
  TensorView view;
  view.device = Device::cuda(3);
  const DLPackTensor tensor = to_dlpack(view, nullptr);
  EXPECT_EQ(tensor->dl_tensor.device.device_type, kDLCUDA);
  EXPECT_EQ(tensor->dl_tensor.device.device_id, 3);
}

TEST(ToDLPack, HasNoDataWithoutRows) {
  std::vector<float> values(1);
  DLPackTensor tensor = to_dlpack(floats(values, 0, 3), nullptr);
  EXPECT_EQ(tensor->dl_tensor.data, nullptr);
  const ImportedTensor imported = from_dlpack(tensor.release());
  EXPECT_THAT(imported.view.sizes(), ElementsAre(0, 3));
}

TEST(ToDLPack, ReleasesItsOwnerWithTheTensor) {
  std::vector<float> values(6);
  int released = 0;
  {
    const DLPackTensor never_taken = to_dlpack(floats(values, 3, 2), counting_owner(released));
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  DLManagedTensorVersioned* taken =
      to_dlpack(floats(values, 3, 2), counting_owner(released)).release();
  EXPECT_EQ(released, 1);
  taken->deleter(taken);
  EXPECT_EQ(released, 2);
}

TEST(ToDLPack, OnTheCpuTakesNoStream) {
  std::vector<float> values(6);
  const TensorView view = floats(values, 3, 2);
  const Queue queue(Device::cpu());
  EXPECT_EQ(dlpack_stream(queue), std::nullopt);
  EXPECT_EQ(to_dlpack(view, nullptr, queue, std::nullopt)->dl_tensor.data, values.data());
  EXPECT_EQ(to_dlpack(view, nullptr, queue, -1)->dl_tensor.data, values.data());
  for (const std::intptr_t stream : {-2, 0, 1, 1000}) {
    int released = 0;
    EXPECT_THAT([&] { to_dlpack(view, counting_owner(released), queue, stream); },
                ThrowsMessage<ConfigError>(HasSubstr("got the stream " + std::to_string(stream) +
                                                     " for float32[3, 2] on cpu, expected None")));
    EXPECT_EQ(released, 1);
  }
}

TEST(ToDLPack, NeedsAQueueOfTheTensorsDevice) {
  TensorView view;
  view.device = Device::cuda(0);
  EXPECT_THAT([&] { to_dlpack(view, nullptr, Queue(Device::cpu()), 1); },
              ThrowsMessage<DeviceError>(HasSubstr("expected a queue of cuda:0")));
}

TEST(ToDLPack, OrdersTheConsumersStreamAfterTheProducer) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  const Device gpu = Device::cuda(0);
  const Queue producer(gpu);
  const Queue consumer(gpu);
  constexpr std::size_t kBytes = std::size_t{1} << 28U;
  const Buffer from(gpu, kBytes);
  const auto to = std::make_shared<Buffer>(gpu, kBytes);
  const std::vector<std::byte> ones(kBytes, std::byte{1});
  copy_bytes(producer, from.data(), gpu, ones.data(), Device::cpu(), kBytes);
  producer.wait();
  TensorView view;
  view.data = to->data();
  view.dtype = DType::kU8;
  view.device = gpu;
  view.rank = 1;
  view.size_of_dim[0] = kBytes;
  view.stride_of_dim[0] = 1;
  for (int i = 0; i < 20; ++i) zero_bytes(producer, to->data(), kBytes);
  copy_bytes(producer, to->data(), gpu, from.data(), gpu, kBytes);

  const ImportedTensor imported =
      from_dlpack(to_dlpack(view, to, producer, dlpack_stream(consumer)).release());
  EXPECT_EQ(imported.view.device, gpu);
  std::byte last{};
  copy_bytes(consumer, &last, Device::cpu(),
             static_cast<std::byte*>(imported.view.data) + kBytes - 1, gpu, 1);
  consumer.wait();
  EXPECT_EQ(last, std::byte{1});
  for (const DLPackStream stream :
       {DLPackStream(), DLPackStream(-1), DLPackStream(1), DLPackStream(2)}) {
    EXPECT_NE(to_dlpack(view, to, producer, stream), nullptr);
  }
  for (const std::intptr_t stream : {-2, 0}) {
    EXPECT_THROW(to_dlpack(view, to, producer, stream), ConfigError);
  }
  producer.wait();
}

TEST(FromDLPack, GivesBackWhatWasExported) {
  std::vector<float> values(6);
  int released = 0;
  TensorView view = floats(values, 3, 2);
  view.read_only = true;
  {
    ImportedTensor imported = from_dlpack(to_dlpack(view, counting_owner(released)).release());
    EXPECT_EQ(imported.view.data, values.data());
    EXPECT_EQ(imported.view.dtype, DType::kF32);
    EXPECT_THAT(imported.view.sizes(), ElementsAre(3, 2));
    EXPECT_THAT(imported.view.strides(), ElementsAre(1, 3));
    EXPECT_TRUE(imported.view.read_only);
    EXPECT_FALSE(imported.is_copied);

    const DLPackTensor again = to_dlpack(imported.view, imported.owner);
    imported = {};
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(FromDLPack, TakesTheFlags) {
  Foreign foreign;
  foreign.tensor.flags = 2;
  const ImportedTensor imported = from_dlpack(&foreign.tensor);
  EXPECT_TRUE(imported.is_copied);
  EXPECT_FALSE(imported.view.read_only);
}

TEST(FromDLPack, ReadsMissingStridesAsRowMajorAndAddsTheByteOffset) {
  Foreign foreign;
  foreign.tensor.dl_tensor.strides = nullptr;
  foreign.tensor.dl_tensor.byte_offset = 8;
  foreign.sizes = {2, 1, 2};
  foreign.tensor.dl_tensor.ndim = 3;
  const ImportedTensor imported = from_dlpack(&foreign.tensor);
  EXPECT_EQ(imported.view.data, &foreign.values[2]);
  EXPECT_THAT(imported.view.strides(), ElementsAre(2, 2, 1));
}

TEST(FromDLPack, TakesTensorsWithoutDimensionsAndWithoutElements) {
  Foreign foreign;
  foreign.tensor.dl_tensor.ndim = 0;
  foreign.tensor.dl_tensor.shape = nullptr;
  foreign.tensor.dl_tensor.strides = nullptr;
  EXPECT_EQ(from_dlpack(&foreign.tensor).view.elements(), 1);
  Foreign empty;
  empty.sizes = {0, 3};
  empty.tensor.dl_tensor.data = nullptr;
  EXPECT_THAT(from_dlpack(&empty.tensor).view.sizes(), ElementsAre(0, 3));
}

TEST(FromDLPack, TakesPinnedMemoryAsTheHosts) {
  Foreign foreign;
  foreign.tensor.dl_tensor.device.device_type = kDLCUDAHost;
  EXPECT_EQ(from_dlpack(&foreign.tensor).view.device, Device::cpu());
}

TEST(FromDLPack, TakesATensorWithoutADeleter) {
  Foreign foreign;
  foreign.tensor.deleter = nullptr;
  EXPECT_EQ(from_dlpack(&foreign.tensor).view.data, foreign.values.data());
}

TEST(FromDLPack, RefusesElementsThatNoColumnHas) {
  const std::pair<DLDataType, const char*> kCases[] = {
      {{kDLFloat, 32, 4}, "type code 2, 32 bits, 4 lanes"},
      {{kDLComplex, 64, 1}, "type code 5, 64 bits, 1 lanes"},
      {{10, 8, 1}, "type code 10, 8 bits, 1 lanes; expected bool, uint8"},  // float8_e4m3fn
      {{kDLUInt, 32, 1}, "type code 1, 32 bits"},
      {{kDLBool, 1, 1}, "type code 6, 1 bits"},
  };
  for (const auto& [dtype, message] : kCases) {
    expect_refused<InputError>([&](Foreign& f) { f.tensor.dl_tensor.dtype = dtype; }, message);
  }
}

TEST(FromDLPack, RefusesShapesThatAViewCannotHave) {
  expect_refused<InputError>([](Foreign& f) { f.tensor.dl_tensor.ndim = 5; },
                             "got a tensor of 5 dimensions, expected 0 to 4");
  expect_refused<InputError>([](Foreign& f) { f.tensor.dl_tensor.ndim = -1; },
                             "got a tensor of -1 dimensions");
  expect_refused<InputError>([](Foreign& f) { f.strides[0] = -3; },
                             "dimension 0 has size 2 and stride -3, expected none below 0");
  expect_refused<InputError>([](Foreign& f) { f.sizes[1] = -1; }, "dimension 1 has size -1");
  expect_refused<InputError>([](Foreign& f) { f.tensor.dl_tensor.shape = nullptr; },
                             "without a shape");
  expect_refused<InputError>(
      [](Foreign& f) {
        f.sizes = {std::int64_t{1} << 32, std::int64_t{1} << 32};
      },
      "dimension 0 of size 4294967296 and stride 3 the tensor is larger than any memory");
}

TEST(FromDLPack, RefusesStridesThatNoMemoryHasAndLeavesThoseAloneThatAreNotUsed) {
  for (const std::int64_t stride :
       {std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 62, std::int64_t{1} << 48}) {
    expect_refused<InputError>([&](Foreign& f) { f.strides[0] = stride; },
                               "dimension 0 of size 2 and stride " + std::to_string(stride) +
                                   " the tensor is larger than any memory, expected at most 2^48");
  }
  expect_refused<InputError>(
      [](Foreign& f) {
        f.sizes = {2, 2};
        f.strides = {std::int64_t{1} << 46, std::int64_t{1} << 47};
      },
      "dimension 0 of size 2 and stride 70368744177664");
  expect_refused<InputError>([](Foreign& f) { f.tensor.dl_tensor.byte_offset = ~std::uint64_t{3}; },
                             "byte_offset 18446744073709551612 of float32[2, 3] on cpu leads");

  Foreign unused;
  unused.sizes[0] = 1;
  unused.strides[0] = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(from_dlpack(&unused.tensor).view.data, unused.values.data());
}

TEST(FromDLPack, RefusesMissingAndMisalignedData) {
  expect_refused<InputError>([](Foreign& f) { f.tensor.dl_tensor.data = nullptr; },
                             "got no data for float32[2, 3] on cpu");
  expect_refused<InputError>([](Foreign& f) { f.tensor.dl_tensor.byte_offset = 2; },
                             "not a multiple of 4 bytes");
}

TEST(FromDLPack, RefusesOtherDevices) {
  expect_refused<InputError>(
      [](Foreign& f) {
        f.tensor.dl_tensor.device = {kDLMetal, 0};
      },
      "device of DLPack type 8, expected 1 (cpu), 2 (cuda) or 3");
  expect_refused<DeviceError>(
      [](Foreign& f) {
        f.tensor.dl_tensor.device = {kDLCUDA, 99};
      },
      "device cuda:99 is not there");
}

TEST(FromDLPack, OfAnotherMajorVersionOnlyCallsTheDeleter) {
  expect_refused<InputError>(
      [](Foreign& f) {
        f.tensor.version = {2, 7};
        f.tensor.dl_tensor = {};
      },
      "got a tensor of DLPack 2.7, expected version 1");
}

TEST(FromDLPack, OfNothingIsAnError) {
  EXPECT_THAT([] { from_dlpack(nullptr); }, ThrowsMessage<ConfigError>(HasSubstr("got no tensor")));
}

}  // namespace
}  // namespace tensoa::interop
