// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/soa_metadata.hpp"

#include <algorithm>
#include <cstdint>

#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

/// `block "features" (columns x, y, z): ` starts every message.
std::string subject(const BoundBlock& block) {
  std::string text = "block \"" + block.name + "\" (";
  text += block.field_names.size() == 1 ? "column " : "columns ";
  for (std::size_t i = 0; i < block.field_names.size(); ++i) {
    if (i > 0) text += ", ";
    text += block.field_names[i];
  }
  return text + "): ";
}

std::string describe(const FieldInfo& info) {
  std::string text = std::string(name_of(info.kind)) + ' ' + std::string(name_of(info.dtype));
  if (info.kind == ColumnKind::kVector) text += '[' + std::to_string(info.rows) + ']';
  if (info.kind == ColumnKind::kMatrix) {
    text += '[' + std::to_string(info.rows) + ", " + std::to_string(info.columns) + ']';
  }
  return text;
}

std::intptr_t address(const void* pointer) { return reinterpret_cast<std::intptr_t>(pointer); }

[[noreturn]] void fail(const BoundBlock& block, const std::string& what) {
  throw BindingError(subject(block) + what);
}

void require_alike(std::span<const ColumnRecord> columns, const BoundBlock& block) {
  const ColumnRecord& first = columns.front();
  for (std::size_t i = 1; i < columns.size(); ++i) {
    const ColumnRecord& other = columns[i];
    const FieldInfo& a = first.info;
    const FieldInfo& b = other.info;
    if (a.kind != b.kind || a.dtype != b.dtype || a.rows != b.rows || a.columns != b.columns) {
      fail(block, "the columns of a block must be of one kind, dtype and shape; " +
                      block.field_names[0] + " is " + describe(a) + ", " + block.field_names[i] +
                      " is " + describe(b) + "; put them into blocks of their own");
    }
    if (first.device != other.device) {
      fail(block, block.field_names[0] + " lies on " + to_string(first.device) + ", " +
                      block.field_names[i] + " on " + to_string(other.device) +
                      "; all columns of a block lie on one device");
    }
    if (first.pitch != other.pitch || first.capacity != other.capacity) {
      fail(block, block.field_names[0] + " and " + block.field_names[i] +
                      " come from memory of different pitch; all columns of a block come from one "
                      "collection");
    }
  }
}

/// Distance between neighbouring columns in elements; the same for all, or an error. 0 for a single
/// column.
std::int64_t distance_of(std::span<const ColumnRecord> columns, const BoundBlock& block) {
  if (columns.size() == 1) return 0;
  const auto bytes_between = [&](std::size_t i) {
    return address(columns[i].data) - address(columns[i - 1].data);
  };
  const std::intptr_t step = bytes_between(1);
  for (std::size_t i = 1; i < columns.size(); ++i) {
    if (bytes_between(i) == step && step > 0) continue;
    std::string distances;
    for (std::size_t k = 1; k < columns.size(); ++k) {
      distances += (k > 1 ? ", " : "") + std::to_string(bytes_between(k));
    }
    fail(block, "the columns lie " + distances +
                    " bytes apart; one tensor needs equal, ascending distances: choose equally "
                    "spaced columns in "
                    "layout order, reorder the layout, or use several blocks");
  }
  return step / static_cast<std::intptr_t>(columns.front().info.element_size());
}

}  // namespace

TensorView bind_columns(std::span<const ColumnRecord> columns, std::size_t n,
                        const BoundBlock& block) {
  const ColumnRecord& first = columns.front();
  const FieldInfo& info = first.info;
  const bool is_scalar = info.kind == ColumnKind::kScalar;
  require_alike(columns, block);
  if (!is_scalar && n > first.capacity) {
    fail(block, std::to_string(n) + " rows are asked for, the collection has room for " +
                    std::to_string(first.capacity));
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (address(columns[i].data) % static_cast<std::intptr_t>(info.element_size()) == 0) continue;
    fail(block, "the memory of " + block.field_names[i] +
                    " is not aligned to its element size of " +
                    std::to_string(info.element_size()) + " bytes");
  }
  if (block.shape == BlockShape::kColumns && info.kind != ColumnKind::kPlain) {
    fail(block, "only plain columns can be the rows of a [k, n] tensor; got " + describe(info));
  }
  const std::int64_t distance = distance_of(columns, block);
  const auto pitch = static_cast<std::int64_t>(first.pitch);

  TensorView view{.data = first.data, .dtype = info.dtype, .device = first.device};
  view.read_only = std::any_of(columns.begin(), columns.end(),
                               [](const auto& column) { return column.read_only; });
  const auto add_dimension = [&](std::size_t size, std::int64_t stride) {
    view.size_of_dim[view.rank] = static_cast<std::int64_t>(size);
    view.stride_of_dim[view.rank++] = stride;
  };
  if (block.shape == BlockShape::kColumns) {
    add_dimension(columns.size(), distance);
    add_dimension(n, 1);
    return view;
  }
  add_dimension(n, is_scalar ? 0 : 1);
  const bool is_plain = is_scalar || info.kind == ColumnKind::kPlain;
  if (is_plain || columns.size() > 1) add_dimension(columns.size(), distance);
  if (!is_plain) add_dimension(info.rows, pitch);
  if (info.kind == ColumnKind::kMatrix)
    add_dimension(info.columns, pitch * static_cast<std::int64_t>(info.rows));
  return view;
}

namespace detail {

void throw_impossible_rows(const std::string& rows) {
  throw BindingError("SoAMetadata: " + rows + " rows are impossible; expected 0 or more");
}

void append_block(std::vector<BoundBlock>& blocks, BoundBlock block,
                  std::span<const ColumnRecord> columns, std::size_t n) {
  const auto has_the_name = [&](const BoundBlock& other) { return other.name == block.name; };
  if (std::any_of(blocks.begin(), blocks.end(), has_the_name)) {
    fail(block, "a block of this name is there already; names are unique");
  }
  block.tensor = bind_columns(columns, n, block);
  blocks.push_back(std::move(block));
}

}  // namespace detail
}  // namespace tensoa
