// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/foreign_view.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

/// Elements from the first of a column to the last; keeps all products of the checks below 2^63.
constexpr std::int64_t kMost = std::int64_t{1} << 48U;

std::string shape_of(std::int64_t rows, std::int64_t columns) {
  return std::to_string(rows) + " x " + std::to_string(columns);
}

/// One column of the layout and what was found for it.
struct Checked {
  std::string_view caller;
  const ForeignColumn& found;
  const FieldInfo& info;
  std::string_view name;
  std::int64_t rows;  ///< needed

  [[noreturn]] void fail(const std::string& what) const {
    throw BindingError(std::string(caller) + ": column " + std::string(name) + " (" +
                       std::string(name_of(info.kind)) + ' ' + std::string(name_of(info.dtype)) +
                       "): " + what);
  }

  std::int64_t planes() const { return static_cast<std::int64_t>(info.planes()); }
  std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(found.data); }
  std::uintptr_t plane_bytes() const {
    return static_cast<std::uintptr_t>(rows) * info.element_size();
  }
  std::uintptr_t pitch_bytes() const {
    return static_cast<std::uintptr_t>(found.pitch) * info.element_size();
  }
  std::uintptr_t end() const {
    return begin() + (info.planes() - 1) * pitch_bytes() + plane_bytes();
  }
};

void check_shape(const Checked& column) {
  const ForeignColumn& found = column.found;
  const FieldInfo& info = column.info;
  if (found.row_major) {
    column.fail(
        "the source is row-major; tensoa's planes are column-major: use a column-major type, or "
        "transpose into one");
  }
  if (found.inner_stride != 1) {
    column.fail("the rows of the source lie " + std::to_string(found.inner_stride) +
                " elements apart; they must follow each other (inner stride 1)");
  }
  if (found.planes != -1 && found.planes != column.planes()) {
    column.fail("the source has " + std::to_string(found.planes) + " columns; " +
                std::to_string(column.planes()) + " needed, one for each component");
  }
  if (found.element_rows == 0) return;
  const auto rows = static_cast<std::int64_t>(info.rows);
  const auto columns = static_cast<std::int64_t>(info.columns);
  const bool fits = (found.element_rows == rows && found.element_columns == columns) ||
                    (info.kind == ColumnKind::kVector && found.element_rows == 1 &&
                     found.element_columns == rows);
  if (!fits) {
    column.fail("an element of the source is " +
                shape_of(found.element_rows, found.element_columns) + ", of the field " +
                shape_of(rows, columns));
  }
}

void check_extent(const Checked& column) {
  const ForeignColumn& found = column.found;
  if (found.rows < column.rows) {
    column.fail("the source holds " + std::to_string(found.rows) + " rows; " +
                std::to_string(column.rows) + " needed");
  }
  const std::int64_t more_planes = column.planes() - 1;
  if (more_planes == 0) return;
  if (found.pitch < column.rows) {
    column.fail("the planes lie " + std::to_string(found.pitch) + " elements apart (pitch); " +
                std::to_string(column.rows) + " rows need at least " + std::to_string(column.rows));
  }
  if (found.pitch > (kMost - column.rows) / more_planes) {
    column.fail("a pitch of " + std::to_string(found.pitch) +
                " elements is impossible: the column would pass 2^48 elements");
  }
  const std::int64_t needed = more_planes * found.pitch + column.rows;
  if (found.elements < needed) {
    column.fail("the source holds " + std::to_string(found.elements) + " elements; " +
                std::to_string(column.planes()) + " planes with a pitch of " +
                std::to_string(found.pitch) + " need " + std::to_string(needed));
  }
}

void check_address(const Checked& column) {
  if (column.found.data == nullptr) {
    column.fail("the source is a null pointer; the address of " + std::to_string(column.rows) +
                (column.rows == 1 ? " value" : " values") + " needed");
  }
  const std::size_t size = column.info.element_size();
  if (column.begin() % size != 0) {
    column.fail("the address is not aligned to the element size of " + std::to_string(size) +
                " bytes; it lies " + std::to_string(column.begin() % size) +
                " bytes after a multiple of it");
  }
}

/// Planes of two columns may lie between each other, but not on each other.
bool share_memory(const Checked& a, const Checked& b) {
  if (a.end() <= b.begin() || b.end() <= a.begin()) return false;
  if (a.rows == 0 || b.rows == 0) return false;
  for (std::size_t plane = 0; plane < a.info.planes(); ++plane) {
    const std::uintptr_t begin = a.begin() + plane * a.pitch_bytes();
    // The first plane of b that ends after `begin`.
    const std::uintptr_t first_end = b.begin() + b.plane_bytes();
    const std::uintptr_t first =
        b.info.planes() == 1 || begin < first_end ? 0 : (begin - first_end) / b.pitch_bytes() + 1;
    if (first < b.info.planes() && begin < b.begin() + first * b.pitch_bytes() + b.plane_bytes() &&
        b.begin() + first * b.pitch_bytes() < begin + a.plane_bytes()) {
      return true;
    }
  }
  return false;
}

void check_apart(const Checked& a, const Checked& b) {
  if (!share_memory(a, b)) return;
  const std::string name(a.name);
  b.fail("overlaps column " + name + ": it begins " +
         std::to_string(static_cast<std::int64_t>(b.begin() - a.begin())) +
         " bytes after it, and a plane of " + name + " takes " + std::to_string(a.plane_bytes()) +
         " bytes; each column needs separate memory");
}

}  // namespace

void detail::throw_other_device(std::string_view name, Device there, Device device) {
  throw BindingError("foreign_view: column " + std::string(name) + " lies on " + to_string(there) +
                     ", the view on " + to_string(device) +
                     "; all columns of a view lie on its device (of host memory that a GPU reads, "
                     "pass the pointer)");
}

void check_foreign_columns(std::string_view caller, std::span<const ForeignColumn> columns,
                           std::span<const FieldInfo> fields,
                           std::span<const std::string_view> names, std::int64_t n) {
  if (n < 0 || n > kMost) {
    throw BindingError(std::string(caller) + ": " +
                       (n == ForeignColumn::kUnbounded ? "more than 2^63" : std::to_string(n)) +
                       " rows are impossible; expected 0 to 2^48");
  }
  const auto column_at = [&](std::size_t i) {
    return Checked{caller, columns[i], fields[i], names[i],
                   fields[i].kind == ColumnKind::kScalar ? 1 : n};
  };
  // All columns so far lie between these; most columns lie outside, and need no comparison in pairs.
  std::uintptr_t lowest = std::numeric_limits<std::uintptr_t>::max();
  std::uintptr_t highest = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Checked column = column_at(i);
    if (n == 0 && column.found.data == nullptr) continue;
    check_shape(column);
    check_extent(column);
    check_address(column);
    if (column.begin() < highest && column.end() > lowest) {
      for (std::size_t k = 0; k < i; ++k) check_apart(column_at(k), column);
    }
    lowest = std::min(lowest, column.begin());
    highest = std::max(highest, column.end());
  }
}

}  // namespace tensoa
