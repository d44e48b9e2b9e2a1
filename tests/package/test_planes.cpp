// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/planes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "draws.hpp"

/// @file
/// Columns anywhere in memory, in any order: they are used in place exactly where they are the planes
/// of one ascending pitch, by their addresses alone; gathered and scattered byte for byte; and memory
/// that two blocks share is found, byte for byte. Needs no torch.

namespace tensoa::package {
namespace {

constexpr Device kCpu = Device::cpu();

/// A block to repack, in an arena.
struct Drawn {
  BlockDescription description;
  BoundBlock block;
};

/// Where plane `place` of column `i` of a block is, by its sources alone.
const std::byte* plane_of(const BoundBlock& block, std::size_t i, std::size_t place) {
  const TensorView& source = block.sources[i];
  const std::int64_t pitch = place == 0 ? 0 : source.stride_of_dim[1];
  return static_cast<const std::byte*>(source.data) +
         static_cast<std::int64_t>(place) * pitch *
             static_cast<std::int64_t>(size_of(source.dtype));
}

std::size_t bytes_of_plane(const Drawn& drawn) {
  const auto rows = static_cast<std::size_t>(rows_of(drawn.block));
  const FieldInfo& element = drawn.description.element;
  return (element.is_scalar() ? std::min<std::size_t>(rows, 1) : rows) * element.element_size();
}

/// `action(address, place in the description)` for all planes.
template <class Action>
void for_each_plane(const Drawn& drawn, const Action& action) {
  for (std::size_t i = 0; i < drawn.block.columns.size(); ++i) {
    for (std::size_t k = 0; k < drawn.description.element.planes(); ++k) {
      action(plane_of(drawn.block, i, k), drawn.description.columns[i].plane + k);
    }
  }
}

std::optional<BlockMemory> in_place(const PlanesOfBlock& planes, const BoundBlock& block) {
  BlockMemory found{};
  return planes.in_place(block, found) ? std::optional(found) : std::nullopt;
}

class AnyPlanes : public testing::Test {
 protected:
  std::size_t below(std::size_t bound) { return random_() % bound; }

  /// Columns of one kind at places of their own in a layout, at addresses anywhere in the arena or,
  /// half of the time, where such planes lie.
  Drawn draw() {
    constexpr ColumnKind kKinds[] = {ColumnKind::kPlain, ColumnKind::kVector, ColumnKind::kMatrix,
                                     ColumnKind::kScalar};
    constexpr DType kDTypes[] = {DType::kBool, DType::kF16, DType::kF32, DType::kF64};
    constexpr std::size_t kRows[] = {0, 1, 2, 3, 7, 16, 33};
    Drawn drawn;
    FieldInfo& element = drawn.description.element;
    element = {kKinds[below(4)], kDTypes[below(4)], 1, 1};
    if (element.has_planes()) element.rows = 1 + below(3);
    if (element.kind == ColumnKind::kMatrix) element.columns = 1 + below(3);
    const std::size_t count = 1 + below(4);
    const std::size_t each = element.planes();
    for (std::size_t i = 0; i < count; ++i) {
      const auto place = static_cast<std::uint32_t>(below(6) * each);
      drawn.description.columns.push_back({"c" + std::to_string(i), place});
    }
    const auto lowest = std::ranges::min(drawn.description.columns, {}, &ColumnDescription::plane);
    for (ColumnDescription& column : drawn.description.columns) column.plane -= lowest.plane;

    const std::size_t rows = kRows[below(std::size(kRows))];
    const std::size_t size = element.element_size();
    const std::size_t spare = below(3) * below(5);
    const std::size_t own = rows + spare;  // elements from plane to plane
    const bool fits = below(2) == 0;
    const std::size_t start = below(64);
    BoundBlock& block = drawn.block;
    block.name = "any";
    block.form = BlockForm::kRepacked;
    block.tensor = {.dtype = element.dtype, .device = kCpu};
    block.tensor.rank = 1;
    block.tensor.size_of_dim[0] = static_cast<std::int64_t>(rows);
    for (std::size_t i = 0; i < count; ++i) {
      const ColumnDescription& column = drawn.description.columns[i];
      block.columns.push_back({column.name, 0, 0, column.plane, element});
      const std::size_t pitch = fits ? own : own + below(3);
      const std::size_t at = fits ? start + column.plane * own : below(kElements / 2);
      TensorView source{.data = arena_.data() + at * size, .dtype = element.dtype, .device = kCpu};
      source.rank = element.kind == ColumnKind::kMatrix ? 3 : element.has_planes() ? 2 : 1;
      source.size_of_dim = {static_cast<std::int64_t>(rows),
                            static_cast<std::int64_t>(element.rows),
                            static_cast<std::int64_t>(element.columns)};
      source.stride_of_dim = {element.is_scalar() ? 0 : 1, static_cast<std::int64_t>(pitch),
                              static_cast<std::int64_t>(pitch * element.rows)};
      // A plane that is bound twice is one column.
      const auto same =
          std::ranges::find(drawn.description.columns, column.plane, &ColumnDescription::plane);
      const auto first = static_cast<std::size_t>(same - drawn.description.columns.begin());
      block.sources.push_back(first < i ? block.sources[first] : source);
    }
    return drawn;
  }

  /// Which bytes of the arena are rows of the block.
  std::vector<bool> bytes_of(const Drawn& drawn) const {
    std::vector<bool> covered(arena_.size());
    for_each_plane(drawn, [&](const std::byte* plane, std::size_t) {
      for (std::size_t i = 0; i < bytes_of_plane(drawn); ++i) {
        covered[static_cast<std::size_t>(plane - arena_.data()) + i] = true;
      }
    });
    return covered;
  }

  static constexpr std::size_t kElements = 4096;
  const std::size_t draws_ = test::draws(500);
  std::mt19937 random_{test::seed()};
  std::vector<std::byte> arena_ = std::vector<std::byte>(kElements * sizeof(double));
};

TEST_F(AnyPlanes, AreUsedWhereTheyLieExactlyIfTheyAscendAtOnePitch) {
  std::size_t found = 0;
  for (std::size_t draw_number = 0; draw_number < draws_; ++draw_number) {
    SCOPED_TRACE("seed " + std::to_string(test::seed()) + ", draw " + std::to_string(draw_number));
    const Drawn drawn = draw();
    const PlanesOfBlock block(drawn.description);
    const std::optional<BlockMemory> got = in_place(block, drawn.block);
    const auto size = static_cast<std::int64_t>(drawn.description.element.element_size());
    const std::byte* first = nullptr;  // of all planes, where there is a pitch
    std::optional<std::int64_t> pitch;
    bool is_affine = true;
    for_each_plane(drawn, [&](const std::byte* a, std::size_t place) {
      for_each_plane(drawn, [&](const std::byte* b, std::size_t other) {
        const auto places = static_cast<std::int64_t>(other) - static_cast<std::int64_t>(place);
        if (places == 0) {
          is_affine = is_affine && a == b;
        } else if (!pitch) {
          is_affine = is_affine && (b - a) % (places * size) == 0;
          pitch = (b - a) / places;
        } else {
          is_affine = is_affine && b - a == places * *pitch;
        }
      });
      if (place == 0) first = a;
    });
    const bool fits =
        is_affine && (!pitch || *pitch >= static_cast<std::int64_t>(bytes_of_plane(drawn)));
    ASSERT_EQ(got.has_value(), fits);
    if (!got) continue;
    ++found;
    EXPECT_EQ(got->rows, rows_of(drawn.block));
    EXPECT_EQ(got->first, first);
    EXPECT_EQ(got->pitch * size, pitch.value_or(got->pitch * size));
  }
  EXPECT_GT(found, draws_ / 4);
  EXPECT_LT(found, draws_ * 3 / 4);
}

TEST_F(AnyPlanes, AreGatheredAndScatteredByteForByteAndNothingElseIsTouched) {
  const Queue queue(kCpu);
  for (std::size_t draw_number = 0; draw_number < draws_; ++draw_number) {
    SCOPED_TRACE("seed " + std::to_string(test::seed()) + ", draw " + std::to_string(draw_number));
    const Drawn drawn = draw();
    const PlanesOfBlock block(drawn.description);
    for (std::byte& byte : arena_) byte = static_cast<std::byte>(random_());
    const std::vector<std::byte> before = arena_;
    // Exactly as large as is said: a sanitizer sees what is written behind it.
    std::vector<std::byte> memory(block.packed_bytes(rows_of(drawn.block)));
    const BlockMemory planes = block.packed(memory.data(), rows_of(drawn.block));
    std::size_t bytes = 0;
    for_each_plane(drawn, [&](const std::byte*, std::size_t) { bytes += bytes_of_plane(drawn); });

    EXPECT_EQ(block.gather(queue, drawn.block, planes), bytes);
    EXPECT_EQ(arena_, before);
    const auto size = static_cast<std::int64_t>(drawn.description.element.element_size());
    const auto at = [&](std::size_t place) {
      return planes.first + static_cast<std::int64_t>(place) * planes.pitch * size;
    };
    for_each_plane(drawn, [&](const std::byte* plane, std::size_t place) {
      EXPECT_TRUE(std::equal(plane, plane + bytes_of_plane(drawn), at(place)));
    });

    for (std::byte& byte : memory) byte = static_cast<std::byte>(random_());
    std::vector<std::byte> expected = before;
    for_each_plane(drawn, [&](const std::byte* plane, std::size_t place) {
      std::copy_n(at(place), bytes_of_plane(drawn), expected.begin() + (plane - arena_.data()));
    });
    EXPECT_EQ(block.scatter(queue, planes, drawn.block), bytes);
    EXPECT_EQ(arena_, expected);
  }
}

TEST_F(AnyPlanes, OfTwoBlocksShareMemoryExactlyIfTheyHaveAByteInCommon) {
  std::size_t shared = 0;
  std::size_t compared = 0;
  for (std::size_t draw_number = 0; draw_number < draws_; ++draw_number) {
    SCOPED_TRACE("seed " + std::to_string(test::seed()) + ", draw " + std::to_string(draw_number));
    const Drawn a = draw();
    const Drawn b = draw();
    const PlanesOfBlock block_a(a.description);
    const PlanesOfBlock block_b(b.description);
    const std::optional<BlockMemory> planes_a = in_place(block_a, a.block);
    const std::optional<BlockMemory> planes_b = in_place(block_b, b.block);
    if (!planes_a || !planes_b) continue;
    const std::vector<bool> bytes_a = bytes_of(a);
    const std::vector<bool> bytes_b = bytes_of(b);
    bool have_common = false;
    for (std::size_t i = 0; i < arena_.size(); ++i) {
      have_common = have_common || (bytes_a[i] && bytes_b[i]);
    }
    ++compared;
    shared += have_common ? 1 : 0;
    EXPECT_EQ(block_a.overlap(*planes_a, block_b, *planes_b), have_common);
    EXPECT_EQ(block_b.overlap(*planes_b, block_a, *planes_a), have_common);
  }
  EXPECT_GT(shared, compared / 10);
  EXPECT_LT(shared, compared * 9 / 10);
}

}  // namespace
}  // namespace tensoa::package
