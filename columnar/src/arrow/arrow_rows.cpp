// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "arrow/arrow_rows.hpp"

#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>

#include <utility>

#include "arrow/convert.hpp"

namespace tensoa::columnar {
namespace {

/// The array without dictionary and extension type.
std::shared_ptr<arrow::Array> plain(std::shared_ptr<arrow::Array> array, const std::string& path) {
  while (true) {
    if (array->type_id() == arrow::Type::EXTENSION) {
      array = static_cast<const arrow::ExtensionArray&>(*array).storage();
    } else if (array->type_id() == arrow::Type::DICTIONARY) {
      const auto& type = static_cast<const arrow::DictionaryType&>(*array->type());
      array = require(arrow::compute::Cast(*array, type.value_type()), path, "cannot be unpacked");
    } else {
      return array;
    }
  }
}

std::shared_ptr<arrow::Array> array_at(const ArrowRows& rows, std::size_t column) {
  return plain(rows.batch()->column(static_cast<int>(column)), *rows.path());
}

[[noreturn]] void fail(const ArrowRows& rows, std::size_t column, std::size_t row,
                       const std::string& what) {
  throw InputError(*rows.path() + ": row " + std::to_string(rows.first_row() + row) + ": column " +
                   rows.batch()->schema()->field(static_cast<int>(column))->name() + ' ' + what);
}

/// How the numbers of an array become those of a column. @throws InputError where they cannot
Conversion require_conversion(const arrow::Array& array, DType dtype, const NumberRules& rules,
                              const ArrowRows& rows, std::size_t column) {
  const FileColumn described = file_column("", *array.type());
  const Conversion how =
      described.is_list ? Conversion::kImpossible : conversion(described.numbers, dtype);
  const bool is_refused = how == Conversion::kRounds && rules.rounding == Rounding::kRefused;
  if (how == Conversion::kImpossible || is_refused) {
    fail(rows, column, 0, "is " + described.type + ", expected " + std::string(name_of(dtype)));
  }
  return how;
}

/// The numbers of an array, where they lie or converted; nullptr where some have faults.
const std::byte* numbers_of(const std::shared_ptr<arrow::Array>& pointer, DType dtype,
                            Conversion how, const NumberRules& rules, NumberMemory& memory) {
  const arrow::Array& array = *pointer;
  if (how == Conversion::kNone && dtype != DType::kBool && array.null_count() == 0) {
    const std::size_t size = size_of(dtype);
    const auto* data = array.data()->GetValues<std::uint8_t>(1, 0);
    if (array.length() == 0) data = nullptr;
    if (data != nullptr) data += static_cast<std::size_t>(array.offset()) * size;
    if (data != nullptr && reinterpret_cast<std::uintptr_t>(data) % size == 0) {
      memory.unpacked = pointer;  // which may not be the chunk's
      return reinterpret_cast<const std::byte*>(data);
    }
  }
  const std::size_t bytes = static_cast<std::size_t>(array.length()) * size_of(dtype);
  if (memory.bytes.size() < bytes + 1) memory.bytes.resize(bytes + 1);
  memory.copied += bytes;
  const bool is_exact = how == Conversion::kNone || how == Conversion::kExact;
  if (bytes > 0 && !convert(array, dtype, rules, is_exact, memory.bytes.data())) return nullptr;
  return memory.bytes.data();
}

/// The offsets of a list array, from the number of its first element on, and its elements.
struct Elements {
  std::vector<std::int64_t> offsets;
  std::shared_ptr<arrow::Array> numbers;
};

template <class ListArray>
Elements elements_of(const arrow::Array& array, const ArrowRows& rows) {
  const auto& lists = static_cast<const ListArray&>(array);
  Elements all;
  const std::int64_t first = lists.value_offset(0);
  for (std::int64_t i = 0; i <= lists.length(); ++i) {
    const std::int64_t offset = lists.value_offset(i) - first;
    if (offset < 0 || (!all.offsets.empty() && offset < all.offsets.back()) ||
        offset > lists.values()->length() - first) {
      throw InputError(*rows.path() + ": row " +
                       std::to_string(rows.first_row() + static_cast<std::uint64_t>(i)) +
                       ": a list has impossible offsets; the file is damaged");
    }
    all.offsets.push_back(offset);
  }
  all.numbers = lists.values()->Slice(first, all.offsets.back());
  return all;
}

/// The same of a column of a chunk. @throws InputError for a column without lists
Elements elements_at(const arrow::Array& array, const ArrowRows& rows, std::size_t column) {
  Elements all;
  if (array.type_id() == arrow::Type::LIST) {
    all = elements_of<arrow::ListArray>(array, rows);
  } else if (array.type_id() == arrow::Type::LARGE_LIST) {
    all = elements_of<arrow::LargeListArray>(array, rows);
  } else if (array.type_id() == arrow::Type::FIXED_SIZE_LIST) {
    all = elements_of<arrow::FixedSizeListArray>(array, rows);
  } else {
    fail(rows, column, 0, "is " + array.type()->ToString() + ", expected lists");
  }
  all.numbers = plain(std::move(all.numbers), *rows.path());
  return all;
}

}  // namespace

std::size_t ArrowRows::rows() const noexcept {
  return static_cast<std::size_t>(batch_->num_rows());
}

std::size_t ArrowRows::columns() const noexcept {
  return static_cast<std::size_t>(batch_->num_columns());
}

const std::byte* ArrowRows::numbers(std::size_t column, DType dtype, const NumberRules& rules,
                                    NumberMemory& memory) const {
  const auto array = array_at(*this, column);
  const Conversion how = require_conversion(*array, dtype, rules, *this, column);
  const std::byte* numbers = numbers_of(array, dtype, how, rules, memory);
  if (numbers == nullptr) fail_at_first(column, dtype, rules);
  return numbers;
}

ListNumbers ArrowRows::lists(std::size_t column, DType dtype, const NumberRules& rules,
                             NumberMemory& memory) const {
  const auto array = array_at(*this, column);
  if (array->length() == 0) return {nullptr, {0}};
  Elements all = elements_at(*array, *this, column);
  if (array->null_count() > 0) fail_at_first(column, dtype, rules);
  const Conversion how = require_conversion(*all.numbers, dtype, rules, *this, column);
  const std::byte* numbers = numbers_of(all.numbers, dtype, how, rules, memory);
  if (numbers == nullptr) fail_at_first(column, dtype, rules);
  return {numbers, std::move(all.offsets)};
}

void ArrowRows::fail_at_first(std::size_t column, DType dtype, const NumberRules& rules) const {
  const RowFault first = faults(column, dtype, rules).front();
  fail(*this, column, first.row, to_string(first, dtype));
}

std::vector<RowFault> ArrowRows::faults(std::size_t column, DType dtype,
                                        const NumberRules& rules) const {
  const auto array = array_at(*this, column);
  std::vector<RowFault> faults;
  if (!file_column("", *array->type()).is_list) {
    require_conversion(*array, dtype, rules, *this, column);
    for (NumberFault& fault : faults_of(*array, dtype, rules)) {
      faults.push_back(
          {static_cast<std::size_t>(fault.number), fault.kind, std::move(fault.value)});
    }
    return faults;
  }
  if (array->length() == 0) return faults;
  const Elements all = elements_at(*array, *this, column);
  require_conversion(*all.numbers, dtype, rules, *this, column);
  const std::vector<NumberFault> of_numbers = faults_of(*all.numbers, dtype, rules);
  auto next = of_numbers.begin();
  for (std::size_t row = 0; row < rows(); ++row) {
    const bool is_null = array->IsNull(static_cast<std::int64_t>(row));
    if (is_null) {
      faults.push_back({row, FaultKind::kNull, ""});
    } else if (next != of_numbers.end() && next->number < all.offsets[row + 1]) {
      faults.push_back({row, next->kind, next->value});
    }
    // The elements of a list that is null may be anything.
    while (next != of_numbers.end() && next->number < all.offsets[row + 1]) ++next;
  }
  return faults;
}

std::vector<std::uint8_t> ArrowRows::validity(std::size_t column) const {
  const auto array = array_at(*this, column);
  if (array->null_count() == 0) return {};
  std::vector<std::uint8_t> is_valid(rows());
  for (std::size_t row = 0; row < is_valid.size(); ++row) {
    is_valid[row] = array->IsValid(static_cast<std::int64_t>(row)) ? 1 : 0;
  }
  return is_valid;
}

std::vector<std::int64_t> ArrowRows::lengths(std::size_t column) const {
  std::vector<std::int64_t> lengths(rows());
  if (lengths.empty()) return lengths;
  const auto array = array_at(*this, column);
  const std::vector<std::int64_t> offsets = elements_at(*array, *this, column).offsets;
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    const bool is_valid = array->IsValid(static_cast<std::int64_t>(row));
    lengths[row] = is_valid ? offsets[row + 1] - offsets[row] : 0;
  }
  return lengths;
}

TableChunk ArrowRows::slice(std::size_t first, std::size_t count) const {
  return chunk_of(
      path(), first_row() + first,
      batch_->Slice(static_cast<std::int64_t>(first), static_cast<std::int64_t>(count)));
}

TableChunk ArrowRows::select(std::span<const std::size_t> columns) const {
  std::vector<int> places;
  for (const std::size_t column : columns) places.push_back(static_cast<int>(column));
  return chunk_of(path(), first_row(),
                  require(batch_->SelectColumns(places), *path(), "cannot be read"));
}

TableChunk ArrowRows::filter(std::span<const std::uint8_t> keep) const {
  arrow::BooleanBuilder mask;
  require(mask.AppendValues(keep.data(), static_cast<std::int64_t>(keep.size())), *path(),
          "cannot be filtered");
  const auto kept = require(mask.Finish(), *path(), "cannot be filtered");
  std::int64_t count = 0;
  for (const std::uint8_t one : keep) count += one != 0 ? 1 : 0;
  arrow::ArrayVector arrays;
  for (const auto& array : batch_->columns()) {
    arrays.push_back(
        require(arrow::compute::Filter(array, kept), *path(), "cannot be filtered").make_array());
  }
  return chunk_of(path(), first_row(),
                  arrow::RecordBatch::Make(batch_->schema(), count, std::move(arrays)));
}

TableChunk ArrowRows::concatenate(std::span<const TableChunk> chunks) const {
  std::int64_t rows = 0;
  for (const TableChunk& chunk : chunks) rows += batch_of(chunk).num_rows();
  arrow::ArrayVector arrays;
  for (int i = 0; i < batch_->num_columns(); ++i) {
    arrow::ArrayVector parts;
    for (const TableChunk& chunk : chunks) parts.push_back(batch_of(chunk).column(i));
    arrays.push_back(require(arrow::Concatenate(parts), *path(), "cannot be put together"));
  }
  return chunk_of(path(), first_row(),
                  arrow::RecordBatch::Make(batch_->schema(), rows, std::move(arrays)));
}

}  // namespace tensoa::columnar
