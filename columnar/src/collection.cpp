// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/columnar/collection.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tensoa/columnar/table_file.hpp"
#include "tensoa/columnar/table_writer.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/nearest_name.hpp"
#include "tensoa/soa/plane_name.hpp"

namespace tensoa::columnar::detail {
namespace {

constexpr std::size_t kRowsPerChunk = std::size_t{1} << 20U;

/// The planes of all fields.
std::vector<std::string> planes_of(std::span<const FieldInfo> fields,
                                   std::span<const std::string_view> names) {
  std::vector<std::string> planes;
  for (std::size_t field = 0; field < fields.size(); ++field) {
    for (std::size_t plane = 0; plane < fields[field].planes(); ++plane) {
      planes.push_back(plane_name(std::string(names[field]), fields[field], plane));
    }
  }
  return planes;
}

std::byte* plane_of(const ColumnRecord& column, std::size_t plane) {
  return static_cast<std::byte*>(column.data) + plane * column.pitch * column.info.element_size();
}

}  // namespace

WholeTable::WholeTable(const std::filesystem::path& path, std::span<const FieldInfo> fields,
                       std::span<const std::string_view> names, const CollectionOptions& options)
    : file_(path.string()), columns_(planes_of(fields, names)), rules_(options.rules) {
  const std::vector<std::string> planes = columns_;
  for (const auto& [field, column] : options.columns) {
    const auto place = std::ranges::find(planes, field);
    if (place == planes.end()) {
      throw ConfigError("read_collection: the layout has no field " + field +
                        nearest_of(field, planes));
    }
    columns_[static_cast<std::size_t>(place - planes.begin())] = column;
  }
  ReadOptions reading{.columns = columns_, .rows_per_chunk = kRowsPerChunk, .text_types = {}};
  std::size_t next = 0;
  for (const FieldInfo& field : fields) {
    for (std::size_t plane = 0; plane < field.planes(); ++plane) {
      reading.text_types.insert_or_assign(columns_[next++], field.dtype);
    }
  }
  const auto parts = TableFile(path).read(reading);
  while (const auto part = parts->next()) {
    while (auto chunk = part->next()) {
      rows_ += chunk->rows();
      chunks_.push_back(*std::move(chunk));
    }
  }
}

void WholeTable::fill(std::span<const ColumnRecord> columns) const {
  NumberMemory memory;
  std::size_t next = 0;
  for (const ColumnRecord& column : columns) {
    const std::size_t size = column.info.element_size();
    if (column.info.is_scalar() && rows_ == 0) {
      throw InputError(file_ + ": has no rows, and so no value of the scalar " + columns_[next]);
    }
    for (std::size_t plane = 0; plane < column.info.planes(); ++plane, ++next) {
      std::byte* to = plane_of(column, plane);
      for (const TableChunk& chunk : chunks_) {
        const std::byte* const from = chunk.numbers(next, column.info.dtype, rules_, memory);
        if (!column.info.is_scalar()) {
          std::memcpy(to, from, chunk.rows() * size);
          to += chunk.rows() * size;
          continue;
        }
        if (&chunk == chunks_.data()) std::memcpy(to, from, size);
        for (std::size_t row = 0; row < chunk.rows(); ++row) {
          if (std::memcmp(to, from + row * size, size) == 0) continue;
          throw InputError(file_ + ": column " + columns_[next] + ": row " +
                           std::to_string(chunk.first_row() + row) +
                           " has another value than row 0, and a scalar has one for all rows");
        }
      }
    }
  }
}

void write_columns(const std::filesystem::path& path, std::span<const ColumnRecord> columns,
                   std::span<const std::string_view> names, std::size_t rows) {
  std::vector<WrittenColumn> written;
  std::vector<WrittenNumbers> numbers;
  std::vector<std::vector<std::byte>> scalars;
  for (std::size_t field = 0; field < columns.size(); ++field) {
    const ColumnRecord& column = columns[field];
    if (!column.device.is_cpu()) {
      throw BindingError("write_collection: " + std::string(names[field]) + " lies on " +
                         to_string(column.device) + "; copy the collection to the host first");
    }
    for (std::size_t plane = 0; plane < column.info.planes(); ++plane) {
      written.push_back({.name = plane_name(std::string(names[field]), column.info, plane),
                         .dtype = column.info.dtype});
      const std::byte* data = plane_of(column, plane);
      if (column.info.is_scalar()) {
        const std::size_t size = column.info.element_size();
        std::vector<std::byte>& all = scalars.emplace_back(rows * size);
        for (std::size_t row = 0; row < rows; ++row) std::memcpy(&all[row * size], data, size);
        data = all.data();
      }
      numbers.push_back({.data = data});
    }
  }
  TableWriter writer(path, std::move(written));
  writer.append(rows, numbers);
  writer.finish();
}

}  // namespace tensoa::columnar::detail
