// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/ragged.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ragged.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"

namespace tensoa {
namespace {

using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::Lt;
using testing::ThrowsMessage;

using Sizes = std::vector<std::int64_t>;
using Bytes = std::vector<std::uint8_t>;

TensorView view_of(void* data, DType dtype, const Sizes& sizes, const Sizes& strides,
                   Device device = Device::cpu()) {
  TensorView view{.data = data, .dtype = dtype, .device = device};
  view.rank = static_cast<std::uint8_t>(sizes.size());
  std::ranges::copy(sizes, view.size_of_dim.begin());
  std::ranges::copy(strides, view.stride_of_dim.begin());
  return view;
}

TensorView packed(void* data, DType dtype, const Sizes& sizes, Device device = Device::cpu()) {
  TensorView view = view_of(data, dtype, sizes, Sizes(sizes.size(), 0), device);
  make_row_major(view);
  return view;
}

/// Memory on the device of a queue, filled from and read back to the host.
class Memory {
 public:
  Memory(const Queue& queue, const Bytes& bytes)
      : queue_(queue), size_(bytes.size()), buffer_(queue.device(), bytes.size() + 1) {
    copy_bytes(queue, data(), queue.device(), bytes.data(), Device::cpu(), size_);
  }
  std::byte* data() { return buffer_.data(); }
  Bytes read() {
    Bytes bytes(size_);
    copy_bytes(queue_, bytes.data(), Device::cpu(), data(), queue_.device(), size_);
    queue_.wait();
    return bytes;
  }

 private:
  const Queue& queue_;
  std::size_t size_;
  Buffer buffer_;
};

template <class Index>
Bytes bytes_of(const std::vector<std::int64_t>& numbers) {
  std::vector<Index> narrow(numbers.begin(), numbers.end());
  Bytes bytes(narrow.size() * sizeof(Index));
  if (!bytes.empty()) std::memcpy(bytes.data(), narrow.data(), bytes.size());
  return bytes;
}

class Ragged : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (device_count(GetParam().kind) == 0) GTEST_SKIP() << "no CUDA device";
    queue_.emplace(GetParam());
  }

  std::optional<Queue> queue_;
};

INSTANTIATE_TEST_SUITE_P(On, Ragged, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& device) {
                           return std::string(device.param.is_cpu() ? "Cpu" : "Cuda");
                         });

/// One event at random: its offsets, and values in planes with gaps.
struct Draw {
  std::vector<std::int64_t> offsets{0};
  std::int64_t rows = 0;
  std::int64_t length = 0;
  Sizes row;  ///< of one row of values
  DType dtype = DType::kF32;
  bool is_wide = false;
  Sizes strides;
  Bytes values;

  explicit Draw(std::mt19937& random) {
    const auto groups = random() % 9;
    offsets[0] = random() % 3 == 0 ? random() % 4 : 0;
    for (std::uint_fast32_t g = 0; g < groups; ++g) {
      offsets.push_back(offsets.back() +
                        static_cast<std::int64_t>(random() % 3 == 0 ? 0 : random() % 7));
    }
    rows = offsets.back() + static_cast<std::int64_t>(random() % 2 == 0 ? 0 : random() % 4);
    length = random() % 6;
    for (auto i = random() % 3; i > 0; --i) row.push_back(random() % 4);
    dtype = static_cast<DType>(random() % 10);
    is_wide = random() % 2 == 0;
    std::int64_t step = rows + static_cast<std::int64_t>(random() % 3);
    strides.push_back(1);
    for (const std::int64_t size : row) {
      strides.push_back(step);
      step *= size;
    }
    values.resize(static_cast<std::size_t>(step) * size_of(dtype));
    std::ranges::generate(values, [&] { return static_cast<std::uint8_t>(random()); });
  }

  std::int64_t groups() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  Bytes offset_bytes() const {
    return is_wide ? bytes_of<std::int64_t>(offsets) : bytes_of<std::int32_t>(offsets);
  }
  TensorView offsets_view(void* data, Device device) const {
    return view_of(data, is_wide ? DType::kI64 : DType::kI32, {groups() + 1}, {1}, device);
  }
};

TEST_P(Ragged, PadsEachGroupAndWritesNothingElse) {
  std::mt19937 random(1);
  for (int n = 0; n < 400; ++n) {
    const Draw draw(random);
    const std::size_t size = size_of(draw.dtype);
    Sizes of_values = draw.row;
    of_values.insert(of_values.begin(), draw.rows);
    Sizes sizes = draw.row;
    sizes.insert(sizes.begin(), {draw.groups(), draw.length});
    // Group after group, row after row, element after element.
    Bytes expected;
    const std::int64_t inner = draw.row.empty() ? 1 : draw.row.back();
    const std::int64_t outer = draw.row.size() < 2 ? 1 : draw.row.front();
    for (std::size_t g = 0; g + 1 < draw.offsets.size(); ++g) {
      for (std::int64_t i = 0; i < draw.length; ++i) {
        const std::int64_t row = draw.offsets[g] + i;
        for (std::int64_t a = 0; a < outer; ++a) {
          for (std::int64_t b = 0; b < inner; ++b) {
            std::int64_t place = row;
            if (draw.row.size() == 1) place += b * draw.strides[1];
            if (draw.row.size() == 2) place += a * draw.strides[1] + b * draw.strides[2];
            for (std::size_t byte = 0; byte < size; ++byte) {
              expected.push_back(row < draw.offsets[g + 1]
                                     ? draw.values[static_cast<std::size_t>(place) * size + byte]
                                     : 0);
            }
          }
        }
      }
    }
    const std::size_t bytes = expected.size();
    expected.push_back(0xAB);  // a byte behind, which stays
    Memory values(*queue_, draw.values);
    Memory offsets(*queue_, draw.offset_bytes());
    Memory to(*queue_, Bytes(bytes + 1, 0xAB));
    EXPECT_EQ(pad_rows(*queue_, packed(to.data(), draw.dtype, sizes, GetParam()),
                       view_of(values.data(), draw.dtype, of_values, draw.strides, GetParam()),
                       draw.offsets_view(offsets.data(), GetParam())),
              bytes);
    ASSERT_EQ(to.read(), expected) << "draw " << n;
  }
}

TEST_P(Ragged, MasksAndSegmentsOfAnyGroups) {
  std::mt19937 random(2);
  for (int n = 0; n < 400; ++n) {
    const Draw draw(random);
    Memory offsets(*queue_, draw.offset_bytes());
    const TensorView groups = draw.offsets_view(offsets.data(), GetParam());
    Bytes mask;
    for (std::size_t g = 0; g + 1 < draw.offsets.size(); ++g) {
      for (std::int64_t i = 0; i < draw.length; ++i) {
        mask.push_back(draw.offsets[g] + i < draw.offsets[g + 1] ? 1 : 0);
      }
    }
    Memory is_there(*queue_, Bytes(mask.size(), 0xAB));
    EXPECT_EQ(
        write_mask(*queue_,
                   packed(is_there.data(), DType::kBool, {draw.groups(), draw.length}, GetParam()),
                   groups),
        mask.size());
    ASSERT_EQ(is_there.read(), mask) << "draw " << n;

    std::vector<std::int64_t> group;
    for (std::int64_t row = 0; row < draw.rows; ++row) {
      group.push_back(std::ranges::count_if(draw.offsets, [&](auto at) { return at <= row; }) - 1);
    }
    Memory segments(*queue_, Bytes(group.size() * 8, 0xAB));
    EXPECT_EQ(write_segments(*queue_, packed(segments.data(), DType::kI64, {draw.rows}, GetParam()),
                             groups),
              group.size() * 8);
    ASSERT_EQ(segments.read(), bytes_of<std::int64_t>(group)) << "draw " << n;
  }
}

TEST_P(Ragged, OffsetsThatLeadOutAreLimitedToTheRows) {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  Memory values(*queue_, {1, 2, 3});
  for (const auto& [wrong, padded] :
       std::vector<std::pair<Sizes, Bytes>>{{{-kFar, 2, kFar}, {1, 2, 3, 0}},
                                            {{2, 1, 3}, {0, 0, 2, 3}},
                                            {{9, 9, -9}, {0, 0, 0, 0}}}) {
    Memory memory(*queue_, bytes_of<std::int64_t>(wrong));
    const TensorView offsets = packed(memory.data(), DType::kI64, {3}, GetParam());
    Memory to(*queue_, Bytes(4, 0xAB));
    pad_rows(*queue_, packed(to.data(), DType::kU8, {2, 2}, GetParam()),
             packed(values.data(), DType::kU8, {3}, GetParam()), offsets);
    EXPECT_EQ(to.read(), padded);
    Memory segments(*queue_, Bytes(24, 0xAB));
    write_segments(*queue_, packed(segments.data(), DType::kI64, {3}, GetParam()), offsets);
    for (std::size_t row = 0; row < 3; ++row) {
      std::int64_t group = 0;
      std::memcpy(&group, segments.read().data() + 8 * row, 8);
      EXPECT_THAT(group, testing::AllOf(Gt(-2), Lt(3)));
    }
  }
}

TEST_P(Ragged, OfNoGroupsNoRowsOrNoLengthIsNothing) {
  Memory offsets(*queue_, bytes_of<std::int32_t>({0, 0}));
  const auto first = [&](std::int64_t n) {
    return packed(offsets.data(), DType::kI32, {n}, GetParam());
  };
  const TensorView none = packed(nullptr, DType::kF32, {0}, GetParam());
  Memory to(*queue_, Bytes(8, 0xAB));
  const auto pad = [&](Sizes sizes, std::int64_t n) {
    return pad_rows(*queue_, packed(to.data(), DType::kF32, sizes, GetParam()), none, first(n));
  };
  EXPECT_EQ(pad({0, 2}, 1), 0U);
  EXPECT_EQ(pad({1, 0}, 2), 0U);
  EXPECT_EQ(to.read(), Bytes(8, 0xAB));
  EXPECT_EQ(pad({1, 2}, 2), 8U);
  EXPECT_EQ(to.read(), Bytes(8, 0));
  EXPECT_EQ(write_mask(*queue_, packed(nullptr, DType::kBool, {1, 0}, GetParam()), first(2)), 0U);
  EXPECT_EQ(write_segments(*queue_, packed(nullptr, DType::kI64, {0}, GetParam()), first(1)), 0U);
}

TEST_P(Ragged, RefusesTensorsThatDoNotFit) {
  Memory memory(*queue_, Bytes(64));
  const auto tensor = [&](DType dtype, const Sizes& sizes) {
    return packed(memory.data(), dtype, sizes, GetParam());
  };
  const TensorView offsets = tensor(DType::kI32, {3});
  const TensorView values = tensor(DType::kF32, {4});
  const auto expect_refused = [&](const auto& call, const std::string& why) {
    EXPECT_THAT(call, ThrowsMessage<ConfigError>(HasSubstr(why)));
  };
  expect_refused(
      [&] {
        pad_rows(*queue_, tensor(DType::kF64, {2, 1}), values, offsets);
      },
      "pad_rows: writes float64[2, 1] on");
  expect_refused(
      [&] {
        pad_rows(*queue_, tensor(DType::kF32, {2, 1, 2}), values, offsets);
      },
      "expected values of that dtype with the same sizes after the first");
  expect_refused(
      [&] {
        pad_rows(*queue_, tensor(DType::kF32, {3, 1}), values, offsets);
      },
      "one dimension, 4 elements");
  expect_refused(
      [&] {
        pad_rows(*queue_, tensor(DType::kF32, {2, 1}), values, tensor(DType::kF32, {3}));
      },
      "pad_rows: got the offsets float32[3] on");
  TensorView read_only = tensor(DType::kBool, {2, 2});
  read_only.read_only = true;
  expect_refused([&] { write_mask(*queue_, read_only, offsets); },
                 "expected memory that can be written, row-major");
  expect_refused(
      [&] {
        write_mask(*queue_, tensor(DType::kU8, {2, 2}), offsets);
      },
      "expected bool of two dimensions");
  expect_refused([&] { write_segments(*queue_, tensor(DType::kI32, {2}), offsets); },
                 "expected int64 of one dimension");
  const TensorView elsewhere = packed(memory.data(), DType::kI32, {3}, Device::cuda(5));
  EXPECT_THAT(
      [&] {
        write_mask(*queue_, tensor(DType::kBool, {2, 2}), elsewhere);
      },
      ThrowsMessage<DeviceError>(HasSubstr("expected one device")));
}

/// Address space without memory, but for the pages that are touched.
class Sparse {
 public:
  explicit Sparse(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Sparse() { munmap(data_, bytes_); }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;

  bool is_there() const { return data_ != MAP_FAILED; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  std::size_t bytes_;
  void* data_;
};

/// More than 2^31 elements, of which a few are written: indices do not wrap.
TEST(RaggedElements, CountBeyond32Bits) {
  constexpr std::int64_t kMany = (std::int64_t{1} << 31) + 40;
  const std::array<std::int64_t, 3> offsets{0, 16, kMany};
  const detail::Groups groups{.data = offsets.data(), .stride = 1, .count = 2, .is_wide = true};
  const Sparse from(kMany);
  const Sparse to(2 * kMany * sizeof(std::int64_t));
  if (!from.is_there() || !to.is_there()) GTEST_SKIP() << "no address space";
  from.as<std::uint8_t>()[kMany - 1] = 7;
  const detail::PaddedRows padded{.to = to.as<std::byte>(),
                                  .from = from.as<std::byte>(),
                                  .groups = groups,
                                  .dtype = DType::kU8,
                                  .rows = kMany,
                                  .length = kMany};
  to.as<std::uint8_t>()[2 * kMany - 16] = 0xAB;
  write_element(padded, 2 * kMany - 17);  // the last row of the second group
  write_element(padded, 2 * kMany - 16);  // after it
  EXPECT_EQ(to.as<std::uint8_t>()[2 * kMany - 17], 7);
  EXPECT_EQ(to.as<std::uint8_t>()[2 * kMany - 16], 0);

  const detail::GroupMask mask{.to = to.as<bool>(), .groups = groups, .length = kMany};
  write_element(mask, 2 * kMany - 17);
  write_element(mask, 2 * kMany - 16);
  EXPECT_TRUE(to.as<bool>()[2 * kMany - 17]);
  EXPECT_FALSE(to.as<bool>()[2 * kMany - 16]);

  const detail::GroupSegments segments{
      .to = to.as<std::int64_t>(), .groups = groups, .rows = kMany + 1};
  write_element(segments, kMany - 1);
  write_element(segments, kMany);
  EXPECT_EQ(to.as<std::int64_t>()[kMany - 1], 1);
  EXPECT_EQ(to.as<std::int64_t>()[kMany], 2);
}

}  // namespace
}  // namespace tensoa
