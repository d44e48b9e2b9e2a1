// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "random_layouts.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/soa/slice.hpp"

/// @file
/// Any layout, any number of rows, any slice, any choice of columns: the bound tensor is what packing the
/// columns by hand gives, element for element, or the choice is refused.

namespace tensoa {
namespace {

using test::AnyColumn;
using test::Choice;
using test::Description;
using test::kSeed;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// The bytes of a value that tells which element it is; a bool can tell but one bit.
std::uint64_t value_of(DType dtype, std::uint64_t element) {
  std::uint64_t hash = (element + 1) * 0x9E3779B97F4A7C15U;  // splitmix64
  hash = (hash ^ (hash >> 30U)) * 0xBF58476D1CE4E5B9U;
  hash = (hash ^ (hash >> 27U)) * 0x94D049BB133111EBU;
  hash ^= hash >> 31U;
  return dtype == DType::kBool ? hash & 1U : hash;
}

void write(std::byte* to, DType dtype, std::uint64_t value) {
  std::memcpy(to, &value, size_of(dtype));
}

bool holds(const std::byte* at, DType dtype, std::uint64_t value) {
  return std::memcmp(at, &value, size_of(dtype)) == 0;
}

/// An element of a column: a different number for each column, plane and row.
std::uint64_t name_of_element(std::size_t field, std::size_t row, std::size_t r, std::size_t c) {
  return ((field * 8 + r) * 8 + c) << 32U | row;
}

void fill(std::span<const AnyColumn> columns, std::size_t rows) {
  for (std::size_t field = 0; field < columns.size(); ++field) {
    const auto& [name, info, at] = columns[field];
    for (std::size_t row = 0; row < columns[field].rows_of(rows); ++row) {
      for (std::size_t r = 0; r < info.rows; ++r) {
        for (std::size_t c = 0; c < info.columns; ++c) {
          write(at(row, r, c), info.dtype, value_of(info.dtype, name_of_element(field, row, r, c)));
        }
      }
    }
  }
}

/// Calls `visit(address, value)` for all elements of the packed tensor, row-major.
template <class Visit>
void for_each_packed(std::span<const AnyColumn> columns, const Choice& choice, Visit visit) {
  const auto visit_element = [&](std::size_t field, std::size_t row) {
    const auto& [name, info, at] = columns[field];
    const std::size_t element_row = info.kind == ColumnKind::kScalar ? 0 : choice.first + row;
    for (std::size_t r = 0; r < info.rows; ++r) {
      for (std::size_t c = 0; c < info.columns; ++c) {
        visit(at(element_row, r, c),
              value_of(info.dtype, name_of_element(field, element_row, r, c)));
      }
    }
  };
  if (choice.shape == BlockShape::kColumns) {
    for (const std::size_t field : choice.fields) {
      for (std::size_t row = 0; row < choice.rows; ++row) visit_element(field, row);
    }
  } else {
    for (std::size_t row = 0; row < choice.rows; ++row) {
      for (const std::size_t field : choice.fields) visit_element(field, row);
    }
  }
}

std::vector<std::int64_t> packed_sizes(const FieldInfo& info, const Choice& choice) {
  const auto n = static_cast<std::int64_t>(choice.rows);
  const auto k = static_cast<std::int64_t>(choice.fields.size());
  const auto rows = static_cast<std::int64_t>(info.rows);
  if (choice.shape == BlockShape::kColumns) return {k, n};
  std::vector<std::int64_t> sizes{n};
  const bool is_one_number = info.kind == ColumnKind::kPlain || info.kind == ColumnKind::kScalar;
  if (is_one_number || k > 1) sizes.push_back(k);
  if (!is_one_number) sizes.push_back(rows);
  if (info.kind == ColumnKind::kMatrix) sizes.push_back(static_cast<std::int64_t>(info.columns));
  return sizes;
}

/// Walks through a tensor in row-major order, by its strides alone.
class TensorWalk {
 public:
  explicit TensorWalk(const TensorView& tensor) : tensor_(tensor) {}

  std::byte* next() {
    std::int64_t offset = 0;
    for (std::size_t dim = 0; dim < tensor_.rank; ++dim) {
      offset += index_[dim] * tensor_.stride_of_dim[dim];
    }
    for (std::size_t dim = tensor_.rank; dim-- > 0;) {
      if (++index_[dim] < tensor_.size_of_dim[dim]) break;
      index_[dim] = 0;
    }
    return static_cast<std::byte*>(tensor_.data) +
           offset * static_cast<std::int64_t>(size_of(tensor_.dtype));
  }

 private:
  TensorView tensor_;
  std::array<std::int64_t, kMaxRank> index_{};
};

/// The elements of `tensor` are those of the packed array, one after the other.
void expect_packed(const TensorView& tensor, std::span<const AnyColumn> columns,
                   const Choice& choice) {
  TensorWalk walk(tensor);
  std::int64_t elements = 0;
  std::int64_t elsewhere = 0;
  std::int64_t wrong = 0;
  for_each_packed(columns, choice, [&](const std::byte* address, std::uint64_t value) {
    if (elements++ == tensor.elements()) return;
    const std::byte* const got = walk.next();
    elsewhere += got != address;
    wrong += !holds(got, tensor.dtype, value);
  });
  EXPECT_EQ(tensor.elements(), elements);
  EXPECT_EQ(elsewhere, 0) << "elements that lie elsewhere than in their column";
  EXPECT_EQ(wrong, 0) << "elements that were overwritten by others";
}

/// "(columns x, y)"
std::string names_of(std::span<const AnyColumn> columns, const Choice& choice) {
  std::string text;
  for (const std::size_t field : choice.fields) {
    text += (text.empty() ? "" : ", ") + std::string(columns[field].name);
  }
  return (choice.fields.size() == 1 ? "(column " : "(columns ") + text + ")";
}

std::string describe(std::span<const AnyColumn> columns, const Choice& choice) {
  std::ostringstream text;
  text << choice.rows << " rows from " << choice.first << " on, "
       << (choice.shape == BlockShape::kRows ? "as rows, " : "as columns, ")
       << names_of(columns, choice);
  return text.str();
}

template <template <template <class> class> class Layout>
void expect_fields_as_written(std::span<const AnyColumn> columns) {
  ASSERT_EQ(kFieldCount<Layout>, columns.size());
  for (std::size_t field = 0; field < columns.size(); ++field) {
    EXPECT_EQ(kFieldNames<Layout>[field], columns[field].name);
    EXPECT_TRUE(test::have_one_type(kFieldInfo<Layout>[field], columns[field].info))
        << columns[field].name;
  }
}

class AnyLayout : public testing::TestWithParam<std::size_t> {
 protected:
  template <template <template <class> class> class Layout>
  void check_choices(std::size_t rows, int trials) {
    constexpr std::size_t kSpare[] = {0, 0, 1, 40};
    const std::size_t capacity = rows + kSpare[random_() % std::size(kSpare)];
    PortableCollection<Layout> collection(capacity, Device::cpu());
    collection.resize(rows);
    const std::span memory(collection.data(), collection.bytes());
    std::memset(memory.data(), 0, memory.size());
    const std::vector<AnyColumn> columns = Description<Layout>::columns(collection.view());
    expect_fields_as_written<Layout>(columns);
    fill(columns, capacity);
    filled_.assign(memory.begin(), memory.end());
    for (int trial = 0; trial < trials && !HasFailure(); ++trial) {
      const std::size_t some_first[] = {0, 0, 0, 1, 3, 5, 31, random_() % (rows + 1)};
      const std::size_t first = std::min(rows, some_first[random_() % std::size(some_first)]);
      const std::size_t room = capacity - first;
      const std::size_t some_rows[] = {rows - first, rows - first, random_() % (room + 1),
                                       room + 1};
      const std::size_t n = some_rows[random_() % std::size(some_rows)];
      const bool is_const = random_() % 4 == 0;
      const Choice choice = test::choose(columns, first, n, random_);
      SCOPED_TRACE(describe(columns, choice));
      const Records<Layout> records =
          is_const ? slice(collection.const_view(), first, rows - first).records()
                   : slice(collection.view(), first, rows - first).records();
      SoAMetadata<Layout> metadata(n);
      const auto bind = [&] {
        test::append(metadata, "any", Description<Layout>::records(records), choice);
      };
      if (!test::is_one_tensor(columns, choice, capacity)) {
        ++refused_;
        EXPECT_THAT(bind, ThrowsMessage<BindingError>(
                              HasSubstr("block \"any\" " + names_of(columns, choice) + ": ")));
        EXPECT_TRUE(metadata.blocks().empty());
        continue;
      }
      ++bound_;
      bind();
      ASSERT_EQ(metadata.blocks().size(), 1U);
      const TensorView& tensor = metadata.blocks()[0].tensor;
      const FieldInfo& info = columns[choice.fields[0]].info;
      EXPECT_THAT(tensor.sizes(), ElementsAreArray(packed_sizes(info, choice)));
      EXPECT_EQ(tensor.dtype, info.dtype);
      EXPECT_EQ(tensor.device, Device::cpu());
      EXPECT_EQ(tensor.read_only, is_const);
      expect_packed(tensor, columns, choice);
      expect_writes_stay_inside(tensor, columns, choice, memory);
    }
  }

  /// Writing all elements of `tensor` changes those of the columns and no other byte of `memory`,
  /// which is as filled again afterwards.
  void expect_writes_stay_inside(const TensorView& tensor, std::span<const AnyColumn> columns,
                                 const Choice& choice, std::span<std::byte> memory) {
    expected_ = filled_;
    const auto new_value = [&](std::int64_t i) {
      return value_of(tensor.dtype, ~static_cast<std::uint64_t>(i));
    };
    std::int64_t element = 0;
    for_each_packed(columns, choice, [&](const std::byte* address, std::uint64_t) {
      write(expected_.data() + (address - memory.data()), tensor.dtype, new_value(element++));
    });
    TensorWalk walk(tensor);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      write(walk.next(), tensor.dtype, new_value(i));
    }
    EXPECT_TRUE(std::equal(memory.begin(), memory.end(), expected_.begin(), expected_.end()));
    std::copy(filled_.begin(), filled_.end(), memory.begin());
  }

  std::mt19937 random_{kSeed};
  int bound_ = 0;
  int refused_ = 0;
  // Of the memory of a collection; kept, because the sanitizer is slow to give memory back.
  std::vector<std::byte> filled_;
  std::vector<std::byte> expected_;
};
INSTANTIATE_TEST_SUITE_P(Rows, AnyLayout, testing::Values(0, 1, 31, 32, 33, 1000, 1'000'000),
                         testing::PrintToStringParamName());

template <template <template <class> class> class Layout>
std::size_t planes_of() {
  std::size_t planes = 0;
  for (const FieldInfo& info : kFieldInfo<Layout>) planes += info.planes();
  return planes;
}

TEST_P(AnyLayout, BindsAnyChoiceOfColumnsAsPackingByHandDoesOrRefusesIt) {
  const std::size_t rows = GetParam();
  constexpr std::size_t kMost = 16'000'000;  // bytes, and elements: what a test has time for
  test::for_each_random_layout([&]<template <template <class> class> class Layout>() {
    if (std::max(MemoryPlan<Layout>(rows).bytes, planes_of<Layout>() * rows) > kMost) return;
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", layout\n" +
                 std::string(Description<Layout>::kText));
    check_choices<Layout>(rows, rows > 1000 ? 8 : 100);
  });
  EXPECT_GT(bound_, 0);
  EXPECT_GT(refused_, 0);
}

}  // namespace
}  // namespace tensoa
