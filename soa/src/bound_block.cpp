// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/bound_block.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tensoa/core/error.hpp"
#include "tensoa/soa/soa_metadata.hpp"

namespace tensoa {
namespace {

std::string describe(const FieldInfo& info) {
  std::string text = std::string(name_of(info.kind)) + ' ' + std::string(name_of(info.dtype));
  if (info.kind == ColumnKind::kVector) text += '[' + std::to_string(info.rows) + ']';
  if (info.kind == ColumnKind::kMatrix) {
    text += '[' + std::to_string(info.rows) + ", " + std::to_string(info.columns) + ']';
  }
  return text;
}

[[noreturn]] void fail(const BoundBlock& block, const std::string& what) {
  throw BindingError(to_string(block) + ": " + what);
}

/// Where one column lies.
struct Memory {
  void* data;
  std::size_t pitch;  ///< elements from one plane to the next; 0 for plain columns and scalars
};

std::intptr_t address(const Memory& memory) { return reinterpret_cast<std::intptr_t>(memory.data); }

/// Reads a column out of a view. Every kind of column begins with its data pointer; the pitch
/// follows where there is one (columns.hpp).
Memory memory_in(const ViewReference& view, const BoundColumn& column) {
  Memory memory{nullptr, 0};
  const std::byte* place = view.columns + column.place;
  std::memcpy(&memory.data, place, sizeof(memory.data));
  if (column.info.has_planes()) {
    std::memcpy(&memory.pitch, place + sizeof(memory.data), sizeof(memory.pitch));
  }
  return memory;
}

// ---- what can be wrong with one event's memory

void require_memory(const BoundBlock& block, const BoundColumn& column, const Memory& memory) {
  const std::size_t size = column.info.element_size();
  if (memory.data == nullptr) {
    fail(block, "column " + column.name +
                    " has no memory; its collection was moved from, or the view was never set");
  }
  if ((static_cast<std::size_t>(address(memory)) & (size - 1)) != 0) {  // a power of two
    fail(block, "the memory of " + column.name + " is not aligned to its element size of " +
                    std::to_string(size) + " bytes");
  }
}

void require_rows(const BoundBlock& block, std::size_t rows, std::size_t capacity) {
  if (rows <= capacity) return;
  fail(block, std::to_string(rows) + " rows are requested, the collection has room for " +
                  std::to_string(capacity) +
                  (capacity == 0 ? ": it was moved from, or made for no rows" : ""));
}

void require_live(const BoundBlock& block, const Lease& lease) {
  if (!lease.is_current() && lease.is_live()) {
    fail(block,
         "the collection of its columns was resized after the view was made; make the view again");
  }
  if (!lease.is_live()) fail(block, "the collection of its columns is gone; make the view again");
}

template <class MemoryOf>
[[noreturn]] void fail_distances(const BoundBlock& block, const MemoryOf& memory_of) {
  std::string distances;
  for (std::size_t i = 1; i < block.columns.size(); ++i) {
    distances +=
        (i > 1 ? ", " : "") + std::to_string(address(memory_of(i)) - address(memory_of(i - 1)));
  }
  fail(block, "the columns lie " + distances +
                  " bytes apart; one tensor needs equal, ascending distances: choose equally "
                  "spaced columns in layout order, reorder the layout, use several blocks" +
                  (block.form == BlockForm::kPadded ? "" : ", or request a copy (Repack)"));
}

// ---- tensors over columns

void add_dimension(TensorView& tensor, std::size_t size, std::int64_t stride) {
  tensor.size_of_dim[tensor.rank] = static_cast<std::int64_t>(size);
  tensor.stride_of_dim[tensor.rank++] = stride;
}

/// The dimensions of one element of a column: none, [R] or [R, C].
void add_planes(TensorView& tensor, const FieldInfo& info, std::size_t pitch) {
  if (!info.has_planes()) return;
  const auto stride = static_cast<std::int64_t>(pitch);
  add_dimension(tensor, info.rows, stride);
  if (info.kind == ColumnKind::kMatrix) {
    add_dimension(tensor, info.columns, stride * static_cast<std::int64_t>(info.rows));
  }
}

/// Everything but the dimensions: there are none yet.
void set_memory(TensorView& tensor, const Memory& memory, DType dtype, const ViewReference& view) {
  tensor.data = memory.data;
  tensor.dtype = dtype;
  tensor.device = view.device;
  tensor.read_only = view.read_only;
  tensor.rank = 0;
}

TensorView tensor_at(const Memory& memory, DType dtype, const ViewReference& view) {
  TensorView tensor;
  set_memory(tensor, memory, dtype, view);
  return tensor;
}

/// Makes `tensor` one tensor over the memory of all columns of the block, member by member: a copy of a
/// tensor that has just been made would wait for its stores.
template <class MemoryOf>
void set_in_place(TensorView& tensor, const BoundBlock& block, const MemoryOf& memory_of,
                  const ViewReference& view, std::size_t rows) {
  const FieldInfo& info = block.columns.front().info;
  const bool is_scalar = info.kind == ColumnKind::kScalar;
  if (!is_scalar) require_rows(block, rows, view.capacity);

  const Memory first = memory_of(0);
  require_memory(block, block.columns.front(), first);
  const std::size_t last = block.columns.size() - 1;
  // In a collection the distances follow from the layout: the second column shows them, the last
  // one whether columns of the view were exchanged.
  const bool is_proven = block.is_evenly_spaced && view.lease.is_owned() && last > 1;
  std::intptr_t step = 0;
  for (std::size_t i = 1; i <= last; i += is_proven ? last - 1 : 1) {
    const Memory memory = memory_of(i);
    require_memory(block, block.columns[i], memory);
    const std::intptr_t distance = address(memory) - address(first);
    if (i == 1) step = distance;
    if (step <= 0 || distance != static_cast<std::intptr_t>(i) * step) {
      fail_distances(block, memory_of);
    }
    if (memory.pitch != first.pitch) {
      fail(block, block.columns[0].name + " has its planes " + std::to_string(first.pitch) +
                      " elements apart, " + block.columns[i].name + ' ' +
                      std::to_string(memory.pitch) + "; all columns of a block have one pitch");
    }
  }
  const std::int64_t distance = step >> std::countr_zero(info.element_size());

  set_memory(tensor, first, info.dtype, view);
  if (block.shape == BlockShape::kColumns) {
    add_dimension(tensor, block.columns.size(), distance);
    add_dimension(tensor, rows, 1);
    return;
  }
  add_dimension(tensor, rows, is_scalar ? 0 : 1);
  if (!info.has_planes() || block.columns.size() > 1) {
    add_dimension(tensor, block.columns.size(), distance);
  }
  add_planes(tensor, info, first.pitch);
}

/// One column alone: [n], [n, R] or [n, R, C].
TensorView alone(const BoundBlock& block, const BoundColumn& column, const Memory& memory,
                 const ViewReference& view, std::size_t rows) {
  const bool is_scalar = column.info.kind == ColumnKind::kScalar;
  if (!is_scalar) require_rows(block, rows, view.capacity);
  require_memory(block, column, memory);
  TensorView tensor = tensor_at(memory, column.info.dtype, view);
  add_dimension(tensor, rows, is_scalar ? 0 : 1);
  add_planes(tensor, column.info, memory.pitch);
  return tensor;
}

/// The offsets of all groups: [groups + 1].
TensorView offsets_tensor(const BoundBlock& block, const Memory& memory, const ViewReference& view,
                          std::size_t groups) {
  if (groups >= view.capacity) {
    fail(block, "the offsets of " + std::to_string(groups) + " groups are " +
                    std::to_string(groups + 1) + " rows of " + block.offsets->name +
                    ", the collection has room for " + std::to_string(view.capacity) +
                    "; make it one row larger");
  }
  require_memory(block, *block.offsets, memory);
  TensorView tensor = tensor_at(memory, block.offsets->info.dtype, view);
  add_dimension(tensor, groups + 1, 1);
  return tensor;
}

/// Binds everything but the leases, from memory that `memory_of(i)` and `offsets_memory()` tell.
template <class MemoryOf, class OffsetsMemory>
void fill(BoundBlock& block, const MemoryOf& memory_of, const ViewReference& view, std::size_t rows,
          const OffsetsMemory& offsets_memory, const ViewReference& offsets, std::size_t groups) {
  if (block.form == BlockForm::kInPlace) {
    return set_in_place(block.tensor, block, memory_of, view, rows);
  }
  block.sources.clear();
  TensorView tensor{.dtype = block.tensor.dtype, .device = view.device};
  if (block.form == BlockForm::kRepacked) {
    for (std::size_t i = 0; i < block.columns.size(); ++i) {
      block.sources.push_back(alone(block, block.columns[i], memory_of(i), view, rows));
    }
    const FieldInfo& info = block.columns.front().info;
    add_dimension(tensor, rows, 0);
    if (!info.has_planes() || block.columns.size() > 1) {
      add_dimension(tensor, block.columns.size(), 0);
    }
    add_planes(tensor, info, 0);
    tensor.read_only = view.read_only;
  } else if (offsets.device != view.device) {
    fail(block, "its rows lie on " + to_string(view.device) + ", the offsets " +
                    block.offsets->name + " on " + to_string(offsets.device) +
                    "; both lie on one device");
  } else if (block.form == BlockForm::kSegments) {
    tensor.dtype = DType::kI64;
    tensor.read_only = true;
    add_dimension(tensor, rows, 0);
  } else {
    const auto length = static_cast<std::size_t>(block.tensor.size_of_dim[1]);
    tensor.dtype = DType::kBool;
    tensor.read_only = true;
    add_dimension(tensor, groups, 0);
    add_dimension(tensor, length, 0);
    if (block.form == BlockForm::kPadded) {
      TensorView values;
      set_in_place(values, block, memory_of, view, rows);
      tensor.dtype = values.dtype;
      for (std::size_t dim = 1; dim < values.rank; ++dim) {
        add_dimension(tensor, static_cast<std::size_t>(values.size_of_dim[dim]), 0);
      }
      block.sources.push_back(values);
    }
  }
  if (block.offsets) {
    block.sources.push_back(offsets_tensor(block, offsets_memory(), offsets, groups));
  }
  if (!make_row_major(tensor)) {
    fail(block, "its tensor would be " + to_string(tensor) + ", more than 2^63 bytes");
  }
  block.tensor = tensor;
}

// ---- what can be wrong with the columns themselves

void require_alike(const BoundBlock& block) {
  const BoundColumn& first = block.columns.front();
  const bool is_repacked = block.form == BlockForm::kRepacked;
  for (const BoundColumn& other : block.columns) {
    const FieldInfo& a = first.info;
    const FieldInfo& b = other.info;
    const bool same_kind = a.kind == b.kind || (is_repacked && !a.has_planes() && !b.has_planes());
    const bool same_dtype = a.dtype == b.dtype || block.converts;
    if (same_kind && same_dtype && a.rows == b.rows && a.columns == b.columns) continue;
    const bool would_convert = same_kind && a.rows == b.rows && a.columns == b.columns;
    fail(block,
         "the columns of a block must be of one kind, dtype and shape; " + first.name + " is " +
             describe(a) + ", " + other.name + " is " + describe(b) +
             (would_convert && block.form != BlockForm::kPadded
                  ? "; put them into blocks of their own, or request a copy of one dtype (Repack)"
                  : "; put them into blocks of their own"));
  }
  if (block.shape == BlockShape::kColumns && first.info.kind != ColumnKind::kPlain) {
    fail(block,
         "only plain columns can be the rows of a [k, n] tensor; got " + describe(first.info));
  }
  if (block.form != BlockForm::kPadded) return;
  if (first.info.kind == ColumnKind::kScalar) {
    fail(block, "scalars have no rows that could be grouped; " + first.name + " is a scalar");
  }
  const std::size_t rank = 2 + (first.info.has_planes() ? 1U : 0U) +
                           (first.info.kind == ColumnKind::kMatrix ? 1U : 0U) +
                           (!first.info.has_planes() || block.columns.size() > 1 ? 1U : 0U);
  if (rank > kMaxRank) {
    fail(block, "a padded tensor of several " + describe(first.info) + " columns has " +
                    std::to_string(rank) + " dimensions, at most " + std::to_string(kMaxRank) +
                    " are possible; use one block each");
  }
}

void require_offsets(const BoundBlock& block) {
  const FieldInfo& info = block.offsets->info;
  const bool is_index = info.dtype == DType::kI32 || info.dtype == DType::kI64;
  if (info.kind == ColumnKind::kPlain && is_index) return;
  fail(block, "the offsets " + block.offsets->name + " are " + describe(info) +
                  "; expected a plain column of int32 or int64");
}

/// Columns of one dtype lie in one group of the layout, a whole number of planes apart. So their
/// distances are equal in all collections if they are in one.
bool is_evenly_spaced(const std::vector<BoundColumn>& columns) {
  for (std::size_t i = 1; i < columns.size(); ++i) {
    if (columns[i].line <= columns[i - 1].line ||
        columns[i].line - columns[i - 1].line != columns[1].line - columns[0].line) {
      return false;
    }
  }
  return true;
}

/// Records may come from several collections of one layout; a block does not.
void require_one_collection(const BoundBlock& block, std::span<const ColumnRecord> columns) {
  const ColumnRecord& first = columns.front();
  for (std::size_t i = 1; i < columns.size(); ++i) {
    const ColumnRecord& other = columns[i];
    const std::string names = block.columns[0].name + " and " + block.columns[i].name;
    if (first.device != other.device) {
      fail(block, block.columns[0].name + " lies on " + to_string(first.device) + ", " +
                      block.columns[i].name + " on " + to_string(other.device) +
                      "; all columns of a block lie on one device");
    }
    const bool same_pitch = first.pitch == other.pitch || block.form == BlockForm::kRepacked;
    if (!same_pitch || first.capacity != other.capacity) {
      fail(block, names +
                      " come from memory of different pitch; all columns of a block come from one "
                      "collection");
    }
    if (first.lease != other.lease) {
      fail(block, names + " come from two collections; all columns of a block come from one");
    }
  }
}

ViewReference reference_to(const ColumnRecord& record) {
  return {nullptr, record.size, record.capacity, record.device, record.read_only, record.lease};
}

}  // namespace

std::string to_string(const BoundBlock& block) {
  std::string text = "block \"" + block.name + '"';
  for (std::size_t i = 0; i < block.columns.size(); ++i) {
    text += i > 0 ? ", " : block.columns.size() == 1 ? " (column " : " (columns ";
    text += block.columns[i].name;
  }
  return block.columns.empty() ? text : text + ')';
}

void bind(BoundBlock& block, const ViewReference& view, const ViewReference& offsets) {
  require_live(block, view.lease);
  if (block.offsets) require_live(block, offsets.lease);
  fill(
      block, [&](std::size_t i) { return memory_in(view, block.columns[i]); }, view, view.size,
      [&] { return memory_in(offsets, *block.offsets); }, offsets, offsets.size);
  block.lease = view.lease;
  block.offsets_lease = offsets.lease;
}

namespace detail {

void throw_impossible_rows(const std::string& rows) {
  throw BindingError("SoAMetadata: " + rows + " rows are impossible; expected 0 to 2^48");
}

void throw_other_rows(const BoundBlock& block, std::size_t rows, std::size_t others) {
  fail(block, "its columns have " + std::to_string(rows) +
                  " rows, those of another block of the same layout " + std::to_string(others) +
                  "; expected views of one number of rows");
}

void require_new_name(const std::vector<BoundBlock>& blocks, const BoundBlock& block) {
  const auto has_the_name = [&](const BoundBlock& other) { return other.name == block.name; };
  if (std::any_of(blocks.begin(), blocks.end(), has_the_name)) {
    fail(block, "a block of this name is there already; names are unique");
  }
}

}  // namespace detail

void append_block(std::vector<BoundBlock>& blocks, BoundBlock block,
                  std::span<const ColumnRecord> columns, std::size_t rows,
                  const ColumnRecord* offsets, std::size_t groups) {
  detail::require_new_name(blocks, block);
  for (const ColumnRecord& column : columns) require_live(block, column.lease);
  ViewReference view{nullptr, 0, 0, {}, true, {}};
  ViewReference offsets_view = view;
  if (offsets != nullptr) {
    require_live(block, offsets->lease);
    require_offsets(block);
    offsets_view = view = reference_to(*offsets);
  }
  if (!columns.empty()) {
    require_alike(block);
    require_one_collection(block, columns);
    view = reference_to(columns.front());
    view.read_only = std::any_of(columns.begin(), columns.end(),
                                 [](const auto& column) { return column.read_only; });
  }
  fill(
      block,
      [&](std::size_t i) {
        return Memory{columns[i].data, columns[i].pitch};
      },
      view, rows,
      [&] {
        return Memory{offsets->data, 0};
      },
      offsets_view, groups);
  block.is_evenly_spaced =
      is_evenly_spaced(block.columns);  // for those to come; this one is checked
  block.lease = view.lease;
  block.offsets_lease = offsets_view.lease;
  blocks.push_back(std::move(block));
}

}  // namespace tensoa
