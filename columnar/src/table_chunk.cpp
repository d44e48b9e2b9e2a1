// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/columnar/table_chunk.hpp"

#include <arrow/compute/api_vector.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/float16.h>

#include <algorithm>
#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>

#include "chunk_rows.hpp"

namespace tensoa::columnar {
namespace {

using arrow::util::Float16;
using detail::ChunkRows;

const arrow::Array& array_at(const ChunkRows& rows, std::size_t column) {
  return *rows.batch->column(static_cast<int>(column));
}

const std::string& name_at(const ChunkRows& rows, std::size_t column) {
  return rows.batch->schema()->field(static_cast<int>(column))->name();
}

/// Where numbers stand, for messages.
struct Place {
  const ChunkRows& rows;
  std::size_t column;
  /// Of lists: the list that each number is in.
  const std::vector<std::int64_t>* offsets = nullptr;
  std::int64_t first_number = 0;  ///< of what is converted, in `offsets`

  [[noreturn]] void fail(std::int64_t number, const std::string& what) const {
    std::uint64_t row = static_cast<std::uint64_t>(number);
    if (offsets != nullptr) {
      const auto end = std::ranges::upper_bound(*offsets, number + first_number);
      row = static_cast<std::uint64_t>(end - offsets->begin() - 1);
    }
    throw InputError(*rows.path + ": row " + std::to_string(rows.first_row + row) + ": column " +
                     name_at(rows, column) + ' ' + what);
  }
};

void require_no_null(const arrow::Array& array, const Place& place) {
  if (array.null_count() == 0) return;
  std::int64_t row = 0;
  while (!array.IsNull(row)) ++row;
  place.fail(row, "is null; expected a number in every row that the model reads");
}

template <class To, class From>
To converted(From value) {
  if constexpr (std::same_as<To, Float16> && std::same_as<From, double>) {
    return Float16::FromDouble(value);
  } else if constexpr (std::same_as<To, Float16>) {
    return Float16::FromFloat(static_cast<float>(value));
  } else if constexpr (std::same_as<From, Float16>) {
    return static_cast<To>(value.ToFloat());
  } else {
    return static_cast<To>(value);
  }
}

/// Whether an integer is still the same as a `To`.
template <class To, std::integral From>
bool is_kept(From value) {
  if constexpr (std::integral<To>) {
    return std::in_range<To>(value);
  } else if constexpr (std::same_as<To, Float16>) {
    constexpr int kMost = 2048;
    return std::cmp_less_equal(value, kMost) && std::cmp_greater_equal(value, -kMost);
  } else {
    // 2^digits of From is a To, and one more than the largest From.
    const To limit =
        static_cast<To>(std::uint64_t{1} << (std::numeric_limits<From>::digits - 1)) * 2;
    const To other = static_cast<To>(value);
    return other < limit && static_cast<From>(other) == value;
  }
}

template <class From, class To>
void convert_all(const From* from, std::int64_t n, std::byte* to, bool is_checked,
                 const Place& place) {
  To* numbers = reinterpret_cast<To*>(to);
  if constexpr (std::integral<From>) {
    // Without a branch on each number; the first that does not fit is looked for when there is one.
    bool are_kept = true;
    if (is_checked) {
      for (std::int64_t i = 0; i < n; ++i) are_kept &= is_kept<To>(from[i]);
    }
    for (std::int64_t i = 0; !are_kept && i < n; ++i) {
      if (is_kept<To>(from[i])) continue;
      place.fail(i, "is " + std::to_string(from[i]) +
                        ", which the type of the model's column does not hold");
    }
  }
  std::transform(from, from + n, numbers, [](From value) { return converted<To>(value); });
}

/// Floating-point numbers do not become integers: `to` is none then.
template <std::integral From>
void convert_to_integers(const From* from, std::int64_t n, DType to, std::byte* memory,
                         bool is_checked, const Place& place) {
  if (to == DType::kU8) convert_all<From, std::uint8_t>(from, n, memory, is_checked, place);
  if (to == DType::kI8) convert_all<From, std::int8_t>(from, n, memory, is_checked, place);
  if (to == DType::kI16) convert_all<From, std::int16_t>(from, n, memory, is_checked, place);
  if (to == DType::kI32) convert_all<From, std::int32_t>(from, n, memory, is_checked, place);
  if (to == DType::kI64) convert_all<From, std::int64_t>(from, n, memory, is_checked, place);
}

template <class From>
void convert_from(const From* from, std::int64_t n, DType to, std::byte* memory, bool is_checked,
                  const Place& place) {
  if (to == DType::kF16) convert_all<From, Float16>(from, n, memory, is_checked, place);
  if (to == DType::kF32) convert_all<From, float>(from, n, memory, is_checked, place);
  if (to == DType::kF64) convert_all<From, double>(from, n, memory, is_checked, place);
  if constexpr (std::integral<From>) {
    convert_to_integers(from, n, to, memory, is_checked, place);
  }
}

/// The numbers of an array, its offset applied.
template <class T>
const T* values(const arrow::Array& array) {
  return array.data()->GetValues<T>(1);
}

void convert(const arrow::Array& array, DType to, std::byte* memory, bool is_checked,
             const Place& place) {
  const std::int64_t n = array.length();
  const auto from = [&]<class From>(const From* numbers) {
    convert_from(numbers, n, to, memory, is_checked, place);
  };
  switch (array.type_id()) {
    case arrow::Type::BOOL: {
      std::vector<std::uint8_t> bits(static_cast<std::size_t>(n));
      const auto& truths = static_cast<const arrow::BooleanArray&>(array);
      for (std::int64_t i = 0; i < n; ++i) bits[static_cast<std::size_t>(i)] = truths.Value(i);
      if (to != DType::kBool) return from(bits.data());
      std::ranges::copy(bits, reinterpret_cast<std::uint8_t*>(memory));
      return;
    }
    case arrow::Type::UINT8:
      return from(values<std::uint8_t>(array));
    case arrow::Type::UINT16:
      return from(values<std::uint16_t>(array));
    case arrow::Type::UINT32:
      return from(values<std::uint32_t>(array));
    case arrow::Type::UINT64:
      return from(values<std::uint64_t>(array));
    case arrow::Type::INT8:
      return from(values<std::int8_t>(array));
    case arrow::Type::INT16:
      return from(values<std::int16_t>(array));
    case arrow::Type::INT32:
      return from(values<std::int32_t>(array));
    case arrow::Type::INT64:
      return from(values<std::int64_t>(array));
    case arrow::Type::HALF_FLOAT:
      return from(values<Float16>(array));
    case arrow::Type::FLOAT:
      return from(values<float>(array));
    case arrow::Type::DOUBLE:
      return from(values<double>(array));
    default:
      place.fail(0, "is " + array.type()->ToString() + ", expected numbers");
  }
}

/// The numbers of an array without nulls, where they lie or converted.
const std::byte* numbers_of(const arrow::Array& array, DType dtype, Rounding rounding,
                            NumberMemory& memory, const Place& place) {
  const FileColumn column = file_column(*arrow::field("", array.type()));
  const Conversion how =
      column.is_list ? Conversion::kImpossible : conversion(column.numbers, dtype);
  const bool is_refused = how == Conversion::kRounds && rounding == Rounding::kRefused;
  if (how == Conversion::kImpossible || is_refused) {
    place.fail(0, "is " + column.type + ", expected " + std::string(name_of(dtype)));
  }
  require_no_null(array, place);
  if (how == Conversion::kNone && dtype != DType::kBool) {
    const std::size_t size = size_of(dtype);
    const auto* data = array.data()->GetValues<std::uint8_t>(1, 0);
    if (array.length() == 0) data = nullptr;
    if (data != nullptr) data += static_cast<std::size_t>(array.offset()) * size;
    if (data != nullptr && reinterpret_cast<std::uintptr_t>(data) % size == 0) {
      return reinterpret_cast<const std::byte*>(data);
    }
  }
  const std::size_t bytes = static_cast<std::size_t>(array.length()) * size_of(dtype);
  if (memory.bytes.size() < bytes + 1) memory.bytes.resize(bytes + 1);
  memory.copied += bytes;
  const bool is_checked =
      how == Conversion::kChecked && (rounding == Rounding::kRefused || dtype < DType::kF16);
  if (bytes > 0) convert(array, dtype, memory.bytes.data(), is_checked, place);
  return memory.bytes.data();
}

/// The offsets of a list array, from the number of its first element on, and its elements.
struct Elements {
  std::vector<std::int64_t> offsets;
  std::shared_ptr<arrow::Array> numbers;
};

template <class ListArray>
Elements elements_of(const arrow::Array& array, const ChunkRows& rows) {
  const auto& lists = static_cast<const ListArray&>(array);
  Elements all;
  const std::int64_t first = lists.value_offset(0);
  for (std::int64_t i = 0; i <= lists.length(); ++i) {
    const std::int64_t offset = lists.value_offset(i) - first;
    if (offset < 0 || (!all.offsets.empty() && offset < all.offsets.back()) ||
        offset > lists.values()->length() - first) {
      throw InputError(*rows.path + ": row " +
                       std::to_string(rows.first_row + static_cast<std::uint64_t>(i)) +
                       ": a list has impossible offsets; the file is damaged");
    }
    all.offsets.push_back(offset);
  }
  all.numbers = lists.values()->Slice(first, all.offsets.back());
  return all;
}

}  // namespace

std::size_t TableChunk::rows() const noexcept {
  return static_cast<std::size_t>(rows_->batch->num_rows());
}

std::uint64_t TableChunk::first_row() const noexcept { return rows_->first_row; }

std::size_t TableChunk::columns() const noexcept {
  return static_cast<std::size_t>(rows_->batch->num_columns());
}

const std::byte* TableChunk::numbers(std::size_t column, DType dtype, Rounding rounding,
                                     NumberMemory& memory) const {
  return numbers_of(array_at(*rows_, column), dtype, rounding, memory, {*rows_, column});
}

ListNumbers TableChunk::lists(std::size_t column, DType dtype, Rounding rounding,
                              NumberMemory& memory) const {
  const arrow::Array& array = array_at(*rows_, column);
  require_no_null(array, {*rows_, column});
  Elements all;
  if (array.length() == 0) {
    return {nullptr, {0}};
  } else if (array.type_id() == arrow::Type::LIST) {
    all = elements_of<arrow::ListArray>(array, *rows_);
  } else if (array.type_id() == arrow::Type::LARGE_LIST) {
    all = elements_of<arrow::LargeListArray>(array, *rows_);
  } else if (array.type_id() == arrow::Type::FIXED_SIZE_LIST) {
    all = elements_of<arrow::FixedSizeListArray>(array, *rows_);
  } else {
    Place{*rows_, column}.fail(0, "is " + array.type()->ToString() + ", expected lists");
  }
  const Place place{*rows_, column, &all.offsets};
  const std::byte* numbers = numbers_of(*all.numbers, dtype, rounding, memory, place);
  return {numbers, std::move(all.offsets)};
}

TableChunk TableChunk::slice(std::size_t first, std::size_t count) const {
  return chunk_of(
      rows_->path, rows_->first_row + first,
      rows_->batch->Slice(static_cast<std::int64_t>(first), static_cast<std::int64_t>(count)));
}

TableChunk TableChunk::select(std::span<const std::size_t> columns) const {
  std::vector<int> places;
  for (const std::size_t column : columns) places.push_back(static_cast<int>(column));
  return chunk_of(rows_->path, rows_->first_row,
                  require(rows_->batch->SelectColumns(places), *rows_->path, "cannot be read"));
}

TableChunk TableChunk::filter(std::span<const std::uint8_t> keep) const {
  arrow::BooleanBuilder mask;
  require(mask.AppendValues(keep.data(), static_cast<std::int64_t>(keep.size())), *rows_->path,
          "cannot be filtered");
  const auto kept = require(mask.Finish(), *rows_->path, "cannot be filtered");
  std::int64_t count = 0;
  for (const std::uint8_t one : keep) count += one != 0 ? 1 : 0;
  arrow::ArrayVector arrays;
  for (const auto& array : rows_->batch->columns()) {
    arrays.push_back(
        require(arrow::compute::Filter(array, kept), *rows_->path, "cannot be filtered")
            .make_array());
  }
  return chunk_of(rows_->path, rows_->first_row,
                  arrow::RecordBatch::Make(rows_->batch->schema(), count, std::move(arrays)));
}

TableChunk TableChunk::concatenate(std::span<const TableChunk> chunks) {
  if (chunks.size() == 1) return chunks.front();
  const ChunkRows& first = chunks.front().get();
  std::int64_t rows = 0;
  for (const TableChunk& chunk : chunks) rows += chunk.get().batch->num_rows();
  arrow::ArrayVector arrays;
  for (int i = 0; i < first.batch->num_columns(); ++i) {
    arrow::ArrayVector parts;
    for (const TableChunk& chunk : chunks) parts.push_back(chunk.get().batch->column(i));
    arrays.push_back(require(arrow::Concatenate(parts), *first.path, "cannot be put together"));
  }
  return chunk_of(first.path, first.first_row,
                  arrow::RecordBatch::Make(first.batch->schema(), rows, std::move(arrays)));
}

}  // namespace tensoa::columnar
