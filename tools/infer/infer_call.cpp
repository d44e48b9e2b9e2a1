// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "infer_call.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <utility>

#include "cli/generated_columns.hpp"
#include "seconds.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/package/described_columns.hpp"
#include "tensoa/sched/wait.hpp"

namespace tensoa::tools {
namespace {

using columnar::TableChunk;

/// Of each plane of a block, in the order of its columns, its place in memory.
std::vector<std::size_t> places_of(const BlockDescription& block) {
  std::vector<std::size_t> places;
  for (const ColumnDescription& column : block.columns) {
    for (std::size_t i = 0; i < block.element.planes(); ++i) places.push_back(column.plane + i);
  }
  return places;
}

/// Memory for the planes of a block, each on separate cache lines.
struct PlaneMemory {
  std::size_t pitch;  ///< elements
  std::size_t bytes;

  PlaneMemory(const BlockDescription& block, std::size_t rows) {
    const std::size_t line = kAlignment / block.element.element_size();
    const std::vector<std::size_t> places = places_of(block);
    pitch = block.element.is_scalar() ? line
                                      : std::max<std::size_t>(1, (rows + line - 1) / line) * line;
    bytes = (*std::ranges::max_element(places) + 1) * pitch * block.element.element_size();
  }
};

/// Where groups of equal neighbours begin, and where the last one ends.
std::vector<std::int64_t> borders_of(const TableChunk& chunk, std::size_t column) {
  columnar::NumberMemory memory;
  const std::byte* data = chunk.numbers(column, DType::kI64, {}, memory);
  const auto* groups = reinterpret_cast<const std::int64_t*>(data);
  std::vector<std::int64_t> borders{0};
  for (std::size_t row = 1; row <= chunk.rows(); ++row) {
    if (row == chunk.rows() || groups[row] != groups[row - 1]) {
      borders.push_back(static_cast<std::int64_t>(row));
    }
  }
  return borders;
}

}  // namespace

InferCopies& InferCopies::operator+=(const InferCopies& other) noexcept {
  model += other.model;
  converted += other.converted;
  to_device += other.to_device;
  from_device += other.from_device;
  return *this;
}

InferCaller::InferCaller(Model<> model, Queue queue, Match match, bool are_rows_independent,
                         columnar::NumberRules rules)
    : model_(std::move(model)),
      queue_(std::move(queue)),
      match_(match),
      are_rows_independent_(are_rows_independent),
      rules_(rules) {}

InferredChunk InferCaller::run(const TableChunk& chunk, const InferColumns& columns) {
  std::vector<std::int64_t> groups;
  if (columns.unit == CallUnit::kGroups && !are_rows_independent_) {
    groups = borders_of(chunk, *columns.group);
  }
  Offsets offsets;
  try {
    offsets = read_inputs(chunk, columns, groups);
  } catch (const InputError&) {
    return run_usable(chunk, columns, groups);
  }
  return answers(chunk, columns, offsets);
}

/// For a chunk that has rows which cannot be used.
InferredChunk InferCaller::run_usable(const TableChunk& chunk, const InferColumns& columns,
                                      const std::vector<std::int64_t>& groups) {
  UsableRows usable = usable_rows(chunk, columns, rules_, groups);
  // The rows that are left out may be between two groups of one number, which stay two.
  std::vector<std::int64_t> groups_left;
  if (!groups.empty()) groups_left.push_back(0);
  for (std::size_t i = 1; i < groups.size(); ++i) {
    if (usable.is_usable[static_cast<std::size_t>(groups[i - 1])] == 0) continue;
    groups_left.push_back(groups_left.back() + groups[i] - groups[i - 1]);
  }
  const TableChunk rest = chunk.filter(usable.is_usable);
  InferredChunk out{.first_row = chunk.first_row(),
                    .rows_read = chunk.rows(),
                    .rows = 0,
                    .row_numbers = {},
                    .memory = {},
                    .numbers = {},
                    .copied = rest.select(columns.copied)};
  if (rest.rows() > 0) {
    // An error that remains is not in a row.
    out = answers(rest, columns, read_inputs(rest, columns, groups_left));
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (usable.is_usable[row] != 0) rows.push_back(row);
    }
    if (out.row_numbers.empty()) {
      out.row_numbers = std::move(rows);
    } else {
      for (std::size_t& row : out.row_numbers) row = rows[row];
    }
    out.rows_read = chunk.rows();
  }
  out.skipped = std::move(usable.skipped);
  return out;
}

InferredChunk InferCaller::answers(const TableChunk& chunk, const InferColumns& columns,
                                   const Offsets& offsets) {
  const std::size_t calls = offsets.front().size() - 1;
  InferredChunk out{.first_row = chunk.first_row(),
                    .rows_read = chunk.rows(),
                    .rows = columns.gives_one_row_a_group ? calls : chunk.rows(),
                    .row_numbers = {},
                    .memory = {},
                    .numbers = {},
                    .copied = chunk.select(columns.copied)};
  for (const OutputTarget& output : columns.outputs) {
    std::vector<std::int64_t> of_rows;
    if (output.collection) {
      of_rows = offsets[*output.collection];
    } else {
      for (std::size_t i = 0; i <= calls; ++i) {
        of_rows.push_back(static_cast<std::int64_t>(i * output.rows));
      }
    }
    const auto rows = static_cast<std::size_t>(of_rows.back());
    const PlaneMemory needed(output.block, rows);
    const Buffer& memory = out.memory.emplace_back(Device::cpu(), needed.bytes);
    for (const std::size_t place : places_of(output.block)) {
      const std::size_t at = place * needed.pitch * output.block.element.element_size();
      const bool is_list = columns.written[out.numbers.size()].cells == columnar::Cells::kLists;
      out.numbers.push_back({memory.data() + at, is_list ? of_rows : std::vector<std::int64_t>{}});
    }
  }
  for (std::size_t i = 0; i < calls; ++i) call(columns, offsets, i, out);
  if (columns.gives_one_row_a_group) {
    std::vector<std::uint8_t> is_first(chunk.rows(), 0);
    for (std::size_t i = 0; i < calls; ++i) {
      const auto first = static_cast<std::size_t>(offsets.front()[i]);
      is_first[first] = 1;
      out.row_numbers.push_back(first);
    }
    out.copied = out.copied.filter(is_first);
  }
  if (!columns.keep.empty()) filter(chunk, columns, out);
  return out;
}

InferCaller::Offsets InferCaller::read_inputs(const TableChunk& chunk, const InferColumns& columns,
                                              const std::vector<std::int64_t>& groups) {
  const auto rows = static_cast<std::int64_t>(chunk.rows());
  Offsets offsets(columns.collections);
  if (!groups.empty()) {
    offsets[0] = groups;
  } else if (columns.unit != CallUnit::kLists) {
    offsets[0] = {0, rows};
  }
  planes_.resize(columns.inputs.size());
  together_.resize(columns.inputs.size());
  const std::size_t planes = std::accumulate(
      columns.inputs.begin(), columns.inputs.end(), std::size_t{0},
      [](std::size_t sum, const InputSource& input) { return sum + input.columns.size(); });
  numbers_.resize(planes);
  std::size_t plane = 0;
  for (std::size_t i = 0; i < columns.inputs.size(); ++i) {
    const InputSource& input = columns.inputs[i];
    const DType dtype = input.block.element.dtype;
    planes_[i].data.clear();
    for (const std::size_t column : input.columns) {
      columnar::NumberMemory& memory = numbers_[plane++];
      // A column that a block has twice is one to an engine: at one place.
      const auto same = std::ranges::find(input.columns, column) - input.columns.begin();
      if (std::cmp_less(same, planes_[i].data.size())) {
        planes_[i].data.push_back(planes_[i].data[static_cast<std::size_t>(same)]);
        continue;
      }
      const std::size_t before = memory.copied;
      if (columns.unit != CallUnit::kLists || input.block.element.is_scalar()) {
        planes_[i].data.push_back(chunk.numbers(column, dtype, rules_, memory));
      } else {
        columnar::ListNumbers lists = chunk.lists(column, dtype, rules_, memory);
        planes_[i].data.push_back(lists.numbers);
        std::vector<std::int64_t>& others = offsets[input.collection];
        if (!others.empty() && others != lists.offsets) {
          const auto differs =
              std::ranges::mismatch(others, lists.offsets).in1 - others.begin() - 1;
          throw InputError(columns.read.columns[column] + ": row " +
                           std::to_string(chunk.first_row() + static_cast<std::uint64_t>(differs)) +
                           ": its list is not as long as those of the other columns of block " +
                           input.block.name + "; expected lists of equal lengths");
        }
        others = std::move(lists.offsets);
      }
      copies_.converted += memory.copied - before;
    }
    // Neither a vector nor a tensor [columns, rows] can be of columns anywhere.
    const bool is_tensor_of_columns =
        input.block.shape == BlockShape::kColumns && input.columns.size() > 1;
    if (input.block.element.has_planes() || is_tensor_of_columns) {
      put_planes_together(input, static_cast<std::size_t>(offsets[input.collection].back()),
                          planes_[i]);
    }
  }
  for (std::vector<std::int64_t>& of_rows : offsets) {
    // A collection that only scalars belong to.
    if (of_rows.empty()) of_rows.assign(chunk.rows() + 1, 0);
  }
  return offsets;
}

/// For blocks whose columns have to lie at equal distances.
void InferCaller::put_planes_together(const InputSource& input, std::size_t rows,
                                      InputPlanes& planes) {
  const PlaneMemory needed(input.block, rows);
  const std::size_t size = input.block.element.element_size();
  Buffer& memory = together_[static_cast<std::size_t>(&planes - planes_.data())];
  if (memory.size() < needed.bytes) memory = Buffer(Device::cpu(), needed.bytes);
  const std::vector<std::size_t> places = places_of(input.block);
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::byte* to = memory.data() + places[i] * needed.pitch * size;
    std::memcpy(to, planes.data[i], rows * size);
    planes.data[i] = to;
    copies_.converted += rows * size;
  }
  planes.pitch = needed.pitch;
}

void InferCaller::bind(std::vector<BoundBlock>& blocks, const BlockDescription& block,
                       const std::vector<std::byte*>& planes, std::size_t pitch, std::size_t rows,
                       bool is_input) {
  std::vector<package::ColumnPlace> places;
  const std::size_t each = block.element.planes();
  for (std::size_t i = 0; i < planes.size(); i += each) {
    places.push_back({planes[i], block.element.has_planes() ? pitch : 0});
  }
  package::append_described(blocks, block, places, rows, queue_.device(), is_input);
}

void InferCaller::call(const InferColumns& columns, const Offsets& offsets, std::size_t number,
                       InferredChunk& out) {
  struct Range {
    std::size_t first;
    std::size_t rows;
  };
  const auto range_of = [&](std::optional<std::size_t> collection, std::size_t rows) -> Range {
    if (!collection) return {number * rows, rows};
    const auto first = static_cast<std::size_t>(offsets[*collection][number]);
    return {first, static_cast<std::size_t>(offsets[*collection][number + 1]) - first};
  };
  const Device device = queue_.device();
  on_device_.resize(columns.inputs.size() + columns.outputs.size());
  Binding binding;
  binding.match = match_;
  std::size_t block_number = 0;
  // On a GPU the planes of a block in its memory.
  const auto device_planes = [&](const BlockDescription& block, std::size_t rows) {
    const PlaneMemory needed(block, rows);
    Buffer& memory = on_device_[block_number];
    if (memory.size() < needed.bytes) memory = Buffer(device, needed.bytes);
    std::vector<std::byte*> planes;
    for (const std::size_t place : places_of(block)) {
      planes.push_back(memory.data() + place * needed.pitch * block.element.element_size());
    }
    return planes;
  };
  for (std::size_t i = 0; i < columns.inputs.size(); ++i, ++block_number) {
    const InputSource& input = columns.inputs[i];
    const FieldInfo& element = input.block.element;
    const auto [first, rows] = range_of(input.collection, 0);
    const std::size_t begin = (element.is_scalar() ? number : first) * element.element_size();
    std::vector<std::byte*> planes;
    for (const std::byte* plane : planes_[i].data) {
      planes.push_back(const_cast<std::byte*>(plane) + begin);  // inputs are read only
    }
    std::size_t pitch = planes_[i].pitch;
    if (!device.is_cpu()) {
      const std::size_t bytes = (element.is_scalar() ? 1 : rows) * element.element_size();
      const std::vector<std::byte*> there = device_planes(input.block, rows);
      for (std::size_t plane = 0; plane < planes.size(); ++plane) {
        copy_bytes(queue_, there[plane], device, planes[plane], Device::cpu(), bytes);
        copies_.to_device += bytes;
      }
      planes = there;
      pitch = PlaneMemory(input.block, rows).pitch;
    }
    bind(binding.inputs, input.block, planes, pitch, rows, true);
  }
  std::size_t written = 0;
  std::vector<std::pair<std::byte*, std::byte*>> back;  // to the host, from the device
  std::vector<std::size_t> back_bytes;
  for (std::size_t i = 0; i < columns.outputs.size(); ++i, ++block_number) {
    const OutputTarget& output = columns.outputs[i];
    const FieldInfo& element = output.block.element;
    const auto [first, rows] = range_of(output.collection, output.rows);
    const std::size_t total = output.collection
                                  ? static_cast<std::size_t>(offsets[*output.collection].back())
                                  : (offsets.front().size() - 1) * rows;
    std::vector<std::byte*> planes;
    while (planes.size() < output.block.columns.size() * element.planes()) {
      planes.push_back(const_cast<std::byte*>(out.numbers[written++].data) +
                       first * element.element_size());
    }
    std::size_t pitch = PlaneMemory(output.block, total).pitch;
    if (!device.is_cpu()) {
      const std::vector<std::byte*> there = device_planes(output.block, rows);
      for (std::size_t plane = 0; plane < planes.size(); ++plane) {
        back.emplace_back(planes[plane], there[plane]);
        back_bytes.push_back(rows * element.element_size());
      }
      planes = there;
      pitch = PlaneMemory(output.block, rows).pitch;
    }
    bind(binding.outputs, output.block, planes, pitch, rows, false);
  }
  binding.input_collections = columns.collections;
  const auto start = std::chrono::steady_clock::now();
  copies_.model += model_.forward(queue_, binding);
  for (std::size_t i = 0; i < back.size(); ++i) {
    copy_bytes(queue_, back[i].first, Device::cpu(), back[i].second, device, back_bytes[i]);
    copies_.from_device += back_bytes[i];
  }
  sched::wait_suspended(queue_);
  seconds_ += seconds_since(start);
}

void InferCaller::filter(const TableChunk& chunk, const InferColumns& columns, InferredChunk& out) {
  std::vector<std::uint8_t> keep(out.rows, 1);
  columnar::NumberMemory memory;
  for (const BoundComparison& one : columns.keep) {
    if (one.output) {
      apply(one.comparison, out.numbers[*one.output].data, one.dtype, keep);
      continue;
    }
    const columnar::NumberRules rules{.rounding = columnar::Rounding::kAllowed, .null_value = 0};
    apply(one.comparison, chunk.numbers(one.column, one.dtype, rules, memory), one.dtype, keep);
    // A null compares in no way.
    const std::vector<std::uint8_t> is_valid = chunk.validity(one.column);
    for (std::size_t row = 0; row < is_valid.size(); ++row) {
      keep[row] = static_cast<std::uint8_t>(keep[row] & is_valid[row]);
    }
  }
  std::vector<std::size_t> kept;
  for (std::size_t row = 0; row < out.rows; ++row) {
    if (keep[row] != 0) kept.push_back(row);
  }
  for (std::size_t i = 0; i < out.numbers.size(); ++i) {
    columnar::WrittenNumbers& numbers = out.numbers[i];
    const std::size_t size = size_of(columns.written[i].dtype);
    auto* to = const_cast<std::byte*>(numbers.data);  // memory of `out`
    std::vector<std::int64_t> offsets{0};
    for (const std::size_t row : kept) {
      std::size_t first = row;
      std::size_t count = 1;
      if (!numbers.offsets.empty()) {
        first = static_cast<std::size_t>(numbers.offsets[row]);
        count = static_cast<std::size_t>(numbers.offsets[row + 1]) - first;
        offsets.push_back(offsets.back() + static_cast<std::int64_t>(count));
      }
      std::memmove(to, numbers.data + first * size, count * size);
      to += count * size;
    }
    if (!numbers.offsets.empty()) numbers.offsets = std::move(offsets);
  }
  out.copied = out.copied.filter(keep);
  if (!out.row_numbers.empty()) {
    for (std::size_t& row : kept) row = out.row_numbers[row];
  }
  out.rows = kept.size();
  out.row_numbers = std::move(kept);
}

RowDependence row_dependence(const Model<>& model, const package::ModelDescription& description,
                             const Queue& queue) {
  RowDependence of_columns =
      model.row_dependence(cli::GeneratedColumns(description, 1, 0, 1, queue).binding());
  // Servers may have changed since they were asked.
  if (description.is_served || of_columns.answer != RowDependence::Answer::kUnknown) {
    return of_columns;
  }
  const RowDependence& of_file = description.row_dependence;
  const bool says_more =
      of_file.answer != RowDependence::Answer::kUnknown || !of_file.reason.empty();
  return says_more ? of_file : of_columns;
}

}  // namespace tensoa::tools
