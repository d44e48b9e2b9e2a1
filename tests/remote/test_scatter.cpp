// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Elements of columns to a payload and from a reply, against one element after the other.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "columns/gather.hpp"
#include "columns/scatter.hpp"

namespace tensoa::remote {
namespace {

/// A tensor of random sizes in memory with gaps, whose dimensions are in any order.
struct Drawn {
  TensorView view;
  std::vector<std::byte> memory;

  explicit Drawn(std::mt19937& random) {
    static constexpr std::array kTypes{DType::kU8, DType::kI16, DType::kF32, DType::kF64};
    view.dtype = kTypes[random() % kTypes.size()];
    view.rank = static_cast<std::uint8_t>(1 + random() % 4);
    std::array<std::size_t, kMaxRank> order{0, 1, 2, 3};
    std::shuffle(order.begin(), order.begin() + view.rank, random);
    std::int64_t step = 1 + static_cast<std::int64_t>(random() % 8 == 0);
    for (std::size_t i = 0; i < view.rank; ++i) {
      const auto largest = random() % 8 == 0 ? 2000U : 7U;
      const auto size =
          static_cast<std::int64_t>(view.rank > 2 ? random() % 5 : random() % largest);
      view.size_of_dim[order[i]] = size;
      view.stride_of_dim[order[i]] = step;
      step *= size + static_cast<std::int64_t>(random() % 3 == 0 ? random() % 5 : 0);
      step = std::max<std::int64_t>(step, 1);
    }
    memory.resize(static_cast<std::size_t>(step) * size_of(view.dtype) + 64);
    std::ranges::generate(memory, [&] { return static_cast<std::byte>(random()); });
    view.data = memory.data();
  }

  /// Calls `visit(first byte)` with each element, row-major.
  template <class Visit>
  void for_each(const Visit& visit) {
    std::array<std::int64_t, kMaxRank> at{};
    for (std::int64_t left = view.elements(); left > 0; --left) {
      std::int64_t place = 0;
      for (std::size_t dim = 0; dim < view.rank; ++dim) place += at[dim] * view.stride_of_dim[dim];
      visit(memory.data() + place * static_cast<std::int64_t>(size_of(view.dtype)));
      for (std::size_t dim = view.rank; dim-- > 0;) {
        if (++at[dim] < view.size_of_dim[dim]) break;
        at[dim] = 0;
      }
    }
  }

  std::string elements() {
    std::string bytes;
    for_each([&](const std::byte* element) {
      bytes.append(reinterpret_cast<const char*>(element), size_of(view.dtype));
    });
    return bytes;
  }
};

std::string bytes_of(const Payload& payload) {
  std::string bytes;
  for (const Payload::Part& part : payload.parts()) {
    const char* const data = part.borrowed == nullptr
                                 ? payload.own().data() + part.offset
                                 : reinterpret_cast<const char*>(part.borrowed);
    bytes.append(data, part.size);
  }
  return bytes;
}

TEST(Gather, AppendsTheElementsOfAnyTensorRowMajor) {
  std::mt19937 random(1);
  for (int n = 0; n < 2000; ++n) {
    Drawn drawn(random);
    Payload payload;
    payload.append("head");
    const std::size_t copied = append_elements(payload, drawn.view);
    ASSERT_EQ(bytes_of(payload), "head" + drawn.elements()) << n;
    EXPECT_EQ(payload.size(), 4 + drawn.view.bytes());
    EXPECT_TRUE(copied == 0 || copied == drawn.view.bytes());
  }
}

TEST(Gather, BorrowsLongColumns) {
  std::vector<float> memory(4096);
  TensorView columns;
  columns.data = memory.data();
  columns.rank = 2;
  columns.size_of_dim = {2, 1000};
  columns.stride_of_dim = {2048, 1};
  Payload payload;
  EXPECT_EQ(append_elements(payload, columns), 0U);
  ASSERT_EQ(payload.parts().size(), 2U);
  EXPECT_EQ(payload.parts()[1].borrowed, reinterpret_cast<const std::byte*>(&memory[2048]));
}

TEST(Scatter, WritesTheElementsOfAnyTensorAndNothingElse) {
  std::mt19937 random(2);
  for (int n = 0; n < 2000; ++n) {
    Drawn drawn(random);
    Drawn expected = drawn;
    expected.view.data = expected.memory.data();
    drawn.view.data = drawn.memory.data();
    std::string bytes(drawn.view.bytes() + 3, '\0');  // 3 that are not of this tensor
    std::ranges::generate(bytes, [&] { return static_cast<char>(random()); });
    const char* next = bytes.data();
    expected.for_each([&](std::byte* element) {
      std::memcpy(element, next, size_of(expected.view.dtype));
      next += size_of(expected.view.dtype);
    });
    std::vector<protobuf::Piece> pieces;  // ends anywhere, some are empty
    const std::span all = std::as_bytes(std::span(bytes));
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t size = std::min<std::size_t>(random() % 60, all.size() - at);
      pieces.push_back(all.subspan(at, size));
      at += size;
    }
    protobuf::Bytes from(pieces);
    scatter(from, drawn.view);
    ASSERT_EQ(drawn.memory, expected.memory) << n;
    EXPECT_EQ(from.size(), 3U);
  }
}

}  // namespace
}  // namespace tensoa::remote
