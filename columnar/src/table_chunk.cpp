// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/columnar/table_chunk.hpp"

#include "arrow_library.hpp"

namespace tensoa::columnar {

std::size_t TableChunk::rows() const noexcept { return rows_->rows(); }
std::uint64_t TableChunk::first_row() const noexcept { return rows_->first_row(); }
std::size_t TableChunk::columns() const noexcept { return rows_->columns(); }

const std::byte* TableChunk::numbers(std::size_t column, DType dtype, const NumberRules& rules,
                                     NumberMemory& memory) const {
  return rows_->numbers(column, dtype, rules, memory);
}

ListNumbers TableChunk::lists(std::size_t column, DType dtype, const NumberRules& rules,
                              NumberMemory& memory) const {
  return rows_->lists(column, dtype, rules, memory);
}

std::vector<RowFault> TableChunk::faults(std::size_t column, DType dtype,
                                         const NumberRules& rules) const {
  return rows_->faults(column, dtype, rules);
}

std::vector<std::uint8_t> TableChunk::validity(std::size_t column) const {
  return rows_->validity(column);
}

std::vector<std::int64_t> TableChunk::lengths(std::size_t column) const {
  return rows_->lengths(column);
}

TableChunk TableChunk::slice(std::size_t first, std::size_t count) const {
  return rows_->slice(first, count);
}

TableChunk TableChunk::select(std::span<const std::size_t> columns) const {
  return rows_->select(columns);
}

TableChunk TableChunk::filter(std::span<const std::uint8_t> keep) const {
  return rows_->filter(keep);
}

TableChunk TableChunk::concatenate(std::span<const TableChunk> chunks) {
  return chunks.size() == 1 ? chunks.front() : chunks.front().rows_->concatenate(chunks);
}

std::string to_string(const RowFault& fault, DType dtype) {
  if (fault.kind == FaultKind::kNull && fault.value.empty()) {
    return "is null; expected a number in every row that the model reads";
  }
  if (fault.kind == FaultKind::kNotWhole) {
    return "is " + fault.value + ", which is not a whole number";
  }
  if (fault.kind == FaultKind::kInexact) {
    return "is " + fault.value + ", which may be another whole number that was rounded";
  }
  return "is " + fault.value + ", which " + std::string(name_of(dtype)) + " does not hold";
}

}  // namespace tensoa::columnar
