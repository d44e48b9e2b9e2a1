// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/strided_copy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "strided.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"

namespace tensoa {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TensorView view_of(void* data, DType dtype, std::vector<std::int64_t> sizes,
                   std::vector<std::int64_t> strides, Device device = Device::cpu()) {
  TensorView view{.data = data, .dtype = dtype, .device = device};
  view.rank = static_cast<std::uint8_t>(sizes.size());
  std::ranges::copy(sizes, view.size_of_dim.begin());
  std::ranges::copy(strides, view.stride_of_dim.begin());
  return view;
}

/// The copied elements, one after the other.
void copy_slowly(const TensorView& to, const TensorView& from, std::size_t dim = 0,
                 std::int64_t to_place = 0, std::int64_t from_place = 0) {
  const auto size = static_cast<std::int64_t>(size_of(to.dtype));
  if (dim == to.rank) {
    std::memcpy(static_cast<std::byte*>(to.data) + to_place * size,
                static_cast<const std::byte*>(from.data) + from_place * size,
                static_cast<std::size_t>(size));
    return;
  }
  for (std::int64_t i = 0; i < to.size_of_dim[dim]; ++i) {
    copy_slowly(to, from, dim + 1, to_place + i * to.stride_of_dim[dim],
                from_place + i * from.stride_of_dim[dim]);
  }
}

/// One tensor drawn at random: sizes that are given, dimensions in any order with gaps between.
struct Draw {
  std::vector<std::int64_t> strides;
  std::int64_t elements = 1;  ///< from the first to the last

  Draw(std::mt19937& random, const std::vector<std::int64_t>& sizes, bool may_broadcast)
      : strides(sizes.size(), 0) {
    std::vector<std::size_t> order(sizes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (random() % 2 == 0) std::ranges::shuffle(order, random);
    auto step = static_cast<std::int64_t>(1 + random() % 2);
    for (const std::size_t dim : order) {
      if (may_broadcast && random() % 5 == 0) continue;
      strides[dim] = step;
      elements += (sizes[dim] - 1) * step;
      step = step * sizes[dim] + static_cast<std::int64_t>(random() % 3 == 0 ? random() % 7 : 0);
    }
  }
};

TEST(StridedCopy, OfAnyStridesWritesEachElementAndNothingElse) {
  std::mt19937 random(42);
  const Queue queue(Device::cpu());
  for (int draw = 0; draw < 500; ++draw) {
    std::vector<std::int64_t> sizes(1 + random() % kMaxRank);
    for (std::int64_t& size : sizes) size = 1 + random() % 6;
    if (random() % 2 == 0) sizes[random() % sizes.size()] = 1 + random() % 300;
    const Draw from(random, sizes, true);
    const Draw to(random, sizes, false);
    const DType dtype = std::array{DType::kU8, DType::kF16, DType::kF32, DType::kI64}[random() % 4];
    std::vector<std::uint8_t> source(static_cast<std::size_t>(from.elements) * size_of(dtype));
    std::ranges::generate(source, [&] { return static_cast<std::uint8_t>(random()); });
    std::vector<std::uint8_t> got(static_cast<std::size_t>(to.elements) * size_of(dtype), 0xAB);
    std::vector<std::uint8_t> expected = got;
    const TensorView from_view = view_of(source.data(), dtype, sizes, from.strides);
    copy_slowly(view_of(expected.data(), dtype, sizes, to.strides), from_view);
    const TensorView to_view = view_of(got.data(), dtype, sizes, to.strides);
    EXPECT_EQ(strided_copy(queue, to_view, from_view), to_view.bytes());
    ASSERT_EQ(got, expected) << "draw " << draw << ", " << to_string(to_view);
  }
}

TEST(StridedCopy, OfOneElementAndOfNone) {
  const Queue queue(Device::cpu());
  float from = 3;
  float to = 0;
  EXPECT_EQ(strided_copy(queue, view_of(&to, DType::kF32, {1, 1}, {0, 0}),
                         view_of(&from, DType::kF32, {1, 1}, {5, 7})),
            4U);
  EXPECT_EQ(to, 3.F);
  EXPECT_EQ(strided_copy(queue, view_of(nullptr, DType::kF32, {3, 0}, {1, 3}),
                         view_of(nullptr, DType::kF32, {3, 0}, {1, 3})),
            0U);
  EXPECT_EQ(strided_copy(queue, view_of(nullptr, DType::kF32, {2, 0}, {0, 1}),
                         view_of(nullptr, DType::kF32, {2, 0}, {0, 1})),
            0U)
      << "planes of no rows lie on each other";
}

template <class To, class From>
std::vector<To> convert(std::vector<From> from) {
  std::vector<To> to(from.size());
  // As std::vector<bool> has no memory of bool, callers use others.
  const auto n = static_cast<std::int64_t>(from.size());
  strided_copy(Queue(Device::cpu()), view_of(to.data(), kDTypeOf<To>, {n}, {1}),
               view_of(from.data(), kDTypeOf<From>, {n}, {1}));
  return to;
}

template <class T>
std::vector<std::uint16_t> bits(const std::vector<T>& values) {
  std::vector<std::uint16_t> all;
  for (const T& value : values) all.push_back(value.bits);
  return all;
}

TEST(StridedCopy, ConvertsAsCppDoes) {
  EXPECT_THAT(convert<double>(std::vector<float>{0.1F, -3.5F}), ElementsAre(double{0.1F}, -3.5));
  EXPECT_THAT(convert<float>(std::vector<double>{0.1, 1e300}),
              ElementsAre(0.1F, std::numeric_limits<float>::infinity()));
  EXPECT_THAT(convert<std::int32_t>(std::vector<float>{2.9F, -2.9F}), ElementsAre(2, -2));
  EXPECT_THAT(convert<std::uint8_t>(std::vector<std::int32_t>{7, 256 + 5, -1}),
              ElementsAre(7, 5, 255));
  EXPECT_THAT(convert<std::int64_t>(std::vector<std::uint8_t>{0, 255}), ElementsAre(0, 255));
  EXPECT_THAT(convert<float>(std::vector<std::int64_t>{(1LL << 60) + 1}), ElementsAre(0x1p60F));
  convert<std::int32_t>(std::vector<float>{NAN, 1e30F});  // defined, whatever it is
  std::array<float, 3> numbers{0.F, 0.5F, NAN};
  std::array<bool, 3> truth{};
  strided_copy(Queue(Device::cpu()), view_of(truth.data(), DType::kBool, {3}, {1}),
               view_of(numbers.data(), DType::kF32, {3}, {1}));
  EXPECT_THAT(truth, ElementsAre(false, true, true));
}

TEST(StridedCopy, RoundsToHalfPrecisionAsIeee754Does) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_THAT(bits(convert<Half>(std::vector<float>{1.F, -2.F, 65504.F, 65519.F, 65520.F, -kInf,
                                                    0x1p-14F, 0x1p-24F, 0x1p-25F, 0x1.8p-25F,
                                                    0x1.004p0F, 0x1.002p0F, 0x1.006p0F, -0.F})),
              ElementsAre(0x3C00, 0xC000, 0x7BFF, 0x7BFF, 0x7C00, 0xFC00, 0x0400, 0x0001, 0x0000,
                          0x0001, 0x3C01, 0x3C00, 0x3C02, 0x8000));
  EXPECT_THAT(bits(convert<BFloat16>(std::vector<float>{1.F, 0x1.01p0F, 0x1.03p0F, 3.4e38F, kInf})),
              ElementsAre(0x3F80, 0x3F80, 0x3F82, 0x7F80, 0x7F80));
  EXPECT_TRUE(std::isnan(convert<float>(convert<Half>(std::vector<float>{NAN}))[0]));
  EXPECT_TRUE(std::isnan(convert<float>(convert<BFloat16>(std::vector<float>{NAN}))[0]));
}

/// Every number of 16 bits comes back from float32 as it was.
TEST(StridedCopy, WidensHalfPrecisionExactly) {
  std::vector<Half> halves;
  std::vector<BFloat16> brains;
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto number = static_cast<std::uint16_t>(i);
    if ((number & 0x7C00U) != 0x7C00U || (number & 0x3FFU) == 0) halves.push_back({number});
    if ((number & 0x7F80U) != 0x7F80U || (number & 0x7FU) == 0) brains.push_back({number});
  }
  EXPECT_EQ(bits(convert<Half>(convert<float>(halves))), bits(halves));
  EXPECT_EQ(bits(convert<BFloat16>(convert<float>(brains))), bits(brains));
  EXPECT_THAT(convert<float>(std::vector<Half>{{0x0001}, {0x3555}, {0xFBFF}}),
              ElementsAre(0x1p-24F, 0x1.554p-2F, -65504.F));
}

/// A thread of the kernel has the same results as the host's loops, for each pair of dtypes.
TEST(StridedCopy, ConvertsInAKernelAsOnTheHost) {
  constexpr std::array kAll{DType::kBool, DType::kU8,  DType::kI8,   DType::kI16, DType::kI32,
                            DType::kI64,  DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
  const std::vector<double> numbers{0, 1, -1, 0.5, 2.75, -3.25, 100, 127, 65504, 1e-7};
  const auto n = static_cast<std::int64_t>(numbers.size());
  const Queue queue(Device::cpu());
  for (const DType from : kAll) {
    std::vector<std::byte> source(numbers.size() * size_of(from));
    strided_copy(queue, view_of(source.data(), from, {n}, {1}),
                 view_of(const_cast<double*>(numbers.data()), DType::kF64, {n}, {1}));
    for (const DType to : kAll) {
      std::vector<std::byte> expected(numbers.size() * size_of(to));
      std::vector<std::byte> got(expected.size());
      strided_copy(queue, view_of(expected.data(), to, {n}, {1}),
                   view_of(source.data(), from, {n}, {1}));
      detail::StridedCopy copy{
          .to = got.data(), .from = source.data(), .to_dtype = to, .from_dtype = from};
      copy.sizes[0] = n;
      for (std::int64_t i = 0; i < n; ++i) detail::write_element(copy, i);
      EXPECT_EQ(got, expected) << name_of(from) << " to " << name_of(to);
    }
  }
}

TEST(StridedCopy, RefusesWhatCannotBeCopied) {
  const Queue queue(Device::cpu());
  std::array<float, 8> a{};
  std::array<float, 8> b{};
  const TensorView three = view_of(a.data(), DType::kF32, {3}, {1});
  EXPECT_THAT([&] { strided_copy(queue, three, view_of(b.data(), DType::kF32, {4}, {1})); },
              ThrowsMessage<ConfigError>(
                  "strided_copy: from float32[4] on cpu to float32[3] on cpu: expected tensors of "
                  "the same sizes"));
  EXPECT_THAT([&] { strided_copy(queue, view_of(b.data(), DType::kF32, {3}, {0}), three); },
              ThrowsMessage<ConfigError>(HasSubstr("the strides of dimension 0 are 1 and 0")));
  EXPECT_THAT([&] { strided_copy(queue, view_of(b.data(), DType::kF32, {3}, {-1}), three); },
              ThrowsMessage<ConfigError>(HasSubstr("the strides of dimension 0 are 1 and -1")));
  TensorView read_only = view_of(b.data(), DType::kF32, {3}, {1});
  read_only.read_only = true;
  EXPECT_THAT([&] { strided_copy(queue, read_only, three); },
              ThrowsMessage<ConfigError>(HasSubstr("its memory is read-only")));
  const TensorView elsewhere = view_of(b.data(), DType::kF32, {3}, {1}, Device::cuda(0));
  EXPECT_THAT(
      [&] { strided_copy(queue, elsewhere, three); },
      ThrowsMessage<DeviceError>(HasSubstr("needs a queue of the CUDA device, got one of cpu")));
}

// ---- on a GPU

class StridedCopyOnGpu : public testing::Test {
 protected:
  static constexpr Device kGpu = Device::cuda(0);

  void SetUp() override {
    if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  }

  /// Copies by way of the GPU: to it, there, and back.
  void expect_copied(const std::vector<std::int64_t>& sizes,
                     const std::vector<std::int64_t>& from_strides,
                     const std::vector<std::int64_t>& to_strides) {
    const Queue queue(kGpu);
    std::array<float, 1000> source{};
    std::array<float, 1000> expected{};
    std::array<float, 1000> got{};
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i);
    const Buffer from(kGpu, sizeof(source));
    const Buffer to(kGpu, sizeof(source));
    copy_bytes(queue, from.data(), kGpu, source.data(), Device::cpu(), sizeof(source));
    zero_bytes(queue, to.data(), to.size());
    strided_copy(queue, view_of(to.data(), DType::kF32, sizes, to_strides, kGpu),
                 view_of(from.data(), DType::kF32, sizes, from_strides, kGpu));
    copy_bytes(queue, got.data(), Device::cpu(), to.data(), kGpu, sizeof(source));
    queue.wait();
    copy_slowly(view_of(expected.data(), DType::kF32, sizes, to_strides),
                view_of(source.data(), DType::kF32, sizes, from_strides));
    EXPECT_EQ(got, expected);
  }
};

TEST_F(StridedCopyOnGpu, OfPlanesIsOneCopyOfRows) {
  expect_copied({3, 50}, {60, 1}, {100, 1});
  expect_copied({2, 3, 50}, {200, 60, 1}, {400, 100, 1});
}

/// Up to 100 tensors, at one distance or at any, of up to three dtypes and forms, in memory of `device`.
void expect_all_copied(Device device, int draws) {
  std::mt19937 random(43);
  const Queue queue(device);
  for (int draw = 0; draw < draws; ++draw) {
    struct Form {
      std::vector<std::int64_t> sizes;
      Draw from;
      Draw to;
      DType dtype;
    };
    std::vector<Form> forms;
    while (forms.size() < 3) {
      std::vector<std::int64_t> sizes(1 + random() % kMaxRank);
      for (std::int64_t& size : sizes)
        size = static_cast<std::int64_t>(random() % 20 == 0 ? 0 : 1 + random() % 5);
      const Draw from(random, sizes, true);
      const Draw to(random, sizes, false);
      forms.push_back(
          {sizes, from, to,
           std::array{DType::kU8, DType::kF16, DType::kF32, DType::kI64}[random() % 4]});
    }
    std::vector<std::uint8_t> source(1U << 18U);
    std::ranges::generate(source, [&] { return static_cast<std::uint8_t>(random()); });
    std::vector<std::uint8_t> expected(source.size(), 0xAB);
    std::vector<std::uint8_t> got = expected;
    const Buffer from_memory(device, source.size());
    const Buffer to_memory(device, got.size());
    copy_bytes(queue, from_memory.data(), device, source.data(), Device::cpu(), source.size());
    copy_bytes(queue, to_memory.data(), device, got.data(), Device::cpu(), got.size());
    const std::size_t count = 1 + random() % 100;
    const bool is_even = random() % 2 == 0;
    const std::size_t which_changes = is_even ? 40 : 3;
    std::vector<TensorCopy> copies;
    std::size_t bytes = 0;
    std::size_t which = 0;
    std::size_t from_place = 0;
    std::size_t to_place = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (random() % which_changes == 0) which = random() % forms.size();
      const Form& form = forms[which];
      const auto at = [&](const Buffer& memory, std::size_t place, const Draw& drawn) {
        return view_of(memory.data() + place, form.dtype, form.sizes, drawn.strides, device);
      };
      copies.push_back({at(to_memory, to_place, form.to), at(from_memory, from_place, form.from)});
      TensorView expected_view = copies.back().to;
      TensorView source_view = copies.back().from;
      expected_view.data = expected.data() + to_place;
      source_view.data = source.data() + from_place;
      copy_slowly(expected_view, source_view);
      bytes += copies.back().to.bytes();
      // The largest has 5^4 elements with gaps; no two overlap.
      const auto next = [&](std::size_t place, const Draw& drawn, std::size_t more) {
        const auto elements = static_cast<std::size_t>(std::max<std::int64_t>(drawn.elements, 0));
        return (place + elements * size_of(form.dtype) + more + 7) / 8 * 8;
      };
      to_place = next(to_place, form.to, is_even ? 0 : random() % 40);
      if (random() % 10 > 0) from_place = next(from_place, form.from, is_even ? 0 : random() % 40);
      if (std::max(to_place, from_place) > source.size() - (1U << 15U)) break;
    }
    EXPECT_EQ(strided_copies(queue, copies), bytes);
    copy_bytes(queue, got.data(), Device::cpu(), to_memory.data(), device, got.size());
    queue.wait();
    ASSERT_EQ(got, expected) << "draw " << draw;
  }
}

TEST(StridedCopies, OfAnyTensorsWriteEachElementAndNothingElse) {
  expect_all_copied(Device::cpu(), 200);
}

TEST(StridedCopies, OfAnyNumberAreAllMade) {
  std::array<std::int32_t, 100> from{};
  std::array<std::int32_t, 100> to{};
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::int32_t>(i);
  const std::size_t bytes = strided_copies(Queue(Device::cpu()), from.size(), [&](std::size_t i) {
    return TensorCopy{view_of(&to[from.size() - 1 - i], DType::kI32, {1}, {1}),
                      view_of(&from[i], DType::kI32, {1}, {1})};
  });
  EXPECT_EQ(bytes, sizeof(to));
  EXPECT_TRUE(std::equal(to.rbegin(), to.rend(), from.begin()));
}

TEST(StridedCopies, AreAllCheckedBeforeTheFirst) {
  std::array<float, 2> from{1, 2};
  std::array<float, 2> to{};
  const std::array copies{
      TensorCopy{view_of(to.data(), DType::kF32, {1}, {1}),
                 view_of(from.data(), DType::kF32, {1}, {1})},
      TensorCopy{view_of(&to[1], DType::kF32, {1}, {1}), view_of(&from[1], DType::kF32, {2}, {1})}};
  EXPECT_THAT([&] { strided_copies(Queue(Device::cpu()), copies); },
              ThrowsMessage<ConfigError>(HasSubstr("expected tensors of the same sizes")));
  EXPECT_THAT(to, ElementsAre(0.F, 0.F));
}

TEST(StridedCopy, LooksAtNoStrideOfASingleElement) {
  const float from = 3;
  float to = 0;
  strided_copy(Queue(Device::cpu()), view_of(&to, DType::kF32, {1}, {1}),
               view_of(const_cast<float*>(&from), DType::kF32, {1}, {-1}));
  EXPECT_EQ(to, 3.F);
}

TEST(StridedCopy, OfNothingNeedsNoQueueOfItsDevice) {
  const TensorView nothing = view_of(nullptr, DType::kF32, {0}, {1}, Device::cuda(0));
  EXPECT_EQ(strided_copy(Queue(Device::cpu()), nothing, nothing), 0U);
}

TEST_F(StridedCopyOnGpu, OfColumnsInAllocationsOfTheirOwn) {
  const Queue queue(kGpu);
  std::vector<Buffer> from;
  std::vector<Buffer> to;
  std::vector<TensorCopy> copies;
  std::array<float, 1000> numbers{};
  for (std::size_t i = 0; i < 6; ++i) {
    from.emplace_back(kGpu, sizeof(numbers));
    to.emplace_back(kGpu, sizeof(numbers));
    std::ranges::fill(numbers, static_cast<float>(i));
    copy_bytes(queue, from[i].data(), kGpu, numbers.data(), Device::cpu(), sizeof(numbers));
    queue.wait();
  }
  for (const std::size_t count : {2U, 6U}) {
    copies.clear();
    for (std::size_t i = 0; i < count; ++i) {
      copies.push_back({view_of(to[i].data(), DType::kF32, {1000}, {1}, kGpu),
                        view_of(from[i].data(), DType::kF32, {1000}, {1}, kGpu)});
    }
    strided_copies(queue, copies);
    for (std::size_t i = 0; i < count; ++i) {
      copy_bytes(queue, numbers.data(), Device::cpu(), to[i].data(), kGpu, sizeof(numbers));
      queue.wait();
      EXPECT_THAT(numbers, testing::Each(static_cast<float>(i)));
    }
  }
}

TEST_F(StridedCopyOnGpu, OfSeveralTensorsWritesEachElementAndNothingElse) {
  expect_all_copied(kGpu, 200);
}

TEST_F(StridedCopyOnGpu, TransposesAndBroadcasts) {
  expect_copied({50, 3}, {1, 60}, {3, 1});
  expect_copied({50, 3}, {0, 1}, {3, 1});
  expect_copied({5, 3, 4}, {1, 100, 20}, {12, 4, 1});
}

TEST_F(StridedCopyOnGpu, BetweenHostAndDeviceOfAnyStrides) {
  const Queue queue(kGpu);
  std::array<float, 12> host{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::array<float, 12> back{};
  const Buffer device(kGpu, sizeof(host));
  zero_bytes(queue, device.data(), device.size());
  const auto on_gpu = [&](std::vector<std::int64_t> strides) {
    return view_of(device.data(), DType::kF32, {3, 4}, std::move(strides), kGpu);
  };
  strided_copy(queue, on_gpu({1, 3}), view_of(host.data(), DType::kF32, {3, 4}, {4, 1}));
  strided_copy(queue, view_of(back.data(), DType::kF32, {3, 4}, {4, 1}), on_gpu({1, 3}));
  queue.wait();
  EXPECT_EQ(back, host);
}

TEST_F(StridedCopyOnGpu, ConvertsThereButNotOnTheWay) {
  const Queue queue(kGpu);
  std::array<double, 4> host{1.5, -2, 3, 1e10};
  std::array<float, 4> back{};
  const Buffer wide(kGpu, sizeof(host));
  const Buffer narrow(kGpu, sizeof(back));
  const TensorView from = view_of(wide.data(), DType::kF64, {4}, {1}, kGpu);
  const TensorView to = view_of(narrow.data(), DType::kF32, {4}, {1}, kGpu);
  EXPECT_THAT([&] { strided_copy(queue, to, view_of(host.data(), DType::kF64, {4}, {1})); },
              ThrowsMessage<ConfigError>(HasSubstr("copy to the device first")));
  copy_bytes(queue, wide.data(), kGpu, host.data(), Device::cpu(), sizeof(host));
  strided_copy(queue, to, from);
  copy_bytes(queue, back.data(), Device::cpu(), narrow.data(), kGpu, sizeof(back));
  queue.wait();
  EXPECT_THAT(back, ElementsAre(1.5F, -2.F, 3.F, 1e10F));
}

}  // namespace
}  // namespace tensoa
