// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/plane_call.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"
#include "tensoa/core/strided_copy.hpp"
#include "tensoa/core/tensor_view.hpp"
#include "tensoa/engine/plan.hpp"
#include "tensoa/package/described_columns.hpp"

namespace tensoa::package {
namespace {

std::size_t append(std::vector<BlockOfPlanes>& blocks,
                   const std::vector<ArgumentDescription>& arguments) {
  std::size_t first = 0;
  for (const ArgumentDescription& argument : arguments) {
    const std::size_t count = argument.block->columns.size() * argument.block->element.planes();
    blocks.push_back({*argument.block, first, count, argument.collection, argument.rows});
    first += count;
  }
  return first;
}

/// Elements of a plane that are read or written.
std::int64_t length_of(const BlockDescription& block, std::int64_t rows) {
  return block.element.is_scalar() ? 1 : rows;
}

template <class Element>
void copy_elements(std::byte* to, std::int64_t to_stride, const std::byte* from,
                   std::int64_t from_stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_stride, from + i * from_stride, sizeof(Element));
  }
}

void copy_plane(std::byte* to, std::int64_t to_stride, const std::byte* from,
                std::int64_t from_stride, std::int64_t count, std::size_t element) {
  if (to_stride == from_stride && std::cmp_equal(to_stride, element)) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * element);
  } else if (element == 8) {
    copy_elements<std::uint64_t>(to, to_stride, from, from_stride, count);
  } else if (element == 4) {
    copy_elements<std::uint32_t>(to, to_stride, from, from_stride, count);
  } else if (element == 2) {
    copy_elements<std::uint16_t>(to, to_stride, from, from_stride, count);
  } else {
    copy_elements<std::uint8_t>(to, to_stride, from, from_stride, count);
  }
}

/// Where columns without rows lie, which may have no memory.
std::byte* nothing() {
  alignas(kAlignment) static std::byte memory[kAlignment];
  return memory;
}

bool is_aligned(const Plane& plane, std::size_t element) {
  return reinterpret_cast<std::uintptr_t>(plane.data) % element == 0;
}

}  // namespace

PlanesOfModel planes_of(const ModelDescription& description, bool is_served) {
  PlanesOfModel model;
  model.input_planes = append(model.inputs, description.inputs);
  model.output_planes = append(model.outputs, description.outputs);
  for (BlockOfPlanes& input : model.inputs) {
    if (!input.collection) input.collection = input.block.collection;
    model.collections = std::max(model.collections, *input.collection + 1);
  }
  model.match = description.match;
  model.takes_any_numbers = !is_served && description.compilation == CompilationType::kJustInTime &&
                            !description.forest_facts.empty();
  return model;
}

PlaneCall::PlaneCall(const AnyModel& model, const PlanesOfModel& planes, Queue queue)
    : inputs(planes.input_planes),
      outputs(planes.output_planes),
      rows(planes.collections),
      model_(model),
      of_model_(planes),
      queue_(std::move(queue)),
      memory_(queue_) {
  for (const auto* blocks : {&planes.inputs, &planes.outputs}) {
    for (const BlockOfPlanes& block : *blocks) {
      Place& place = places_.emplace_back();
      place.of = &block;
      place.is_input = blocks == &planes.inputs;
      place.columns.resize(block.block.columns.size());
      place.dtypes.resize(planes.takes_any_numbers ? block.count : 0);
    }
  }
}

CopyReport PlaneCall::run_again() { return is_bound_ ? model_.run(queue_, *planned_) : run(); }

CopyReport PlaneCall::run() {
  if (is_bound_ && rows == used_rows_ && inputs == used_inputs_ && outputs == used_outputs_) {
    return model_.run(queue_, *planned_);
  }
  is_bound_ = false;
  CopyReport copies;
  used_inputs_ = inputs;
  used_outputs_ = outputs;
  used_rows_ = rows;
  to_copy_.clear();
  for (Place& one : places_) place(one, one.is_input ? used_inputs_ : used_outputs_, copies);
  copy();
  if (!is_prepared_) prepare();
  rebind();
  is_bound_ = std::ranges::all_of(places_, [](const Place& one) { return one.copied.empty(); });
  copies += model_.run(queue_, *planned_);
  for (const Place& one : places_) {
    if (!one.is_input && !one.copied.empty()) bring_back(one, copies);
  }
  copy();
  return copies;
}

namespace {

/// The memory of a plane.
struct Elements {
  const std::byte* first;
  std::int64_t stride, count, size;  ///< bytes, elements, bytes of one

  Extent extent() const {
    if (count == 0) return {};
    const std::int64_t last = (count - 1) * stride;
    return {reinterpret_cast<std::uintptr_t>(first + std::min<std::int64_t>(0, last)),
            reinterpret_cast<std::uintptr_t>(first + std::max<std::int64_t>(0, last) + size)};
  }

  bool overlaps(const Elements& other) const {
    if (!extent().overlaps(other.extent())) return false;
    if (stride != other.stride || stride == 0) return true;
    // Fields of one row, next to each other.
    const std::int64_t step = std::abs(stride);
    const std::int64_t apart = ((other.first - first) % step + step) % step;
    return apart < size || apart > step - other.size;
  }

  bool operator==(const Elements&) const = default;
};

}  // namespace

/// A call sees the memory that it writes; calls of other groups write what this one reads.
void PlaneCall::require_apart(const Groups& groups) const {
  const auto elements_of = [&](const BlockOfPlanes& block, const Plane& plane) {
    // Of scalars one in each group, as of results that are not rows of a collection.
    std::int64_t count = groups.count;
    if (!block.collection) {
      count *= static_cast<std::int64_t>(block.rows);
    } else if (!block.block.element.is_scalar()) {
      count = groups.offsets[*block.collection][groups.count];
    }
    return Elements{plane.data, plane.stride, count,
                    static_cast<std::int64_t>(size_of(plane.dtype))};
  };
  std::vector<std::pair<Elements, const BlockOfPlanes*>> before;
  for (const BlockOfPlanes& block : of_model_.inputs) {
    for (std::size_t i = block.first; i < block.first + block.count; ++i) {
      before.emplace_back(elements_of(block, inputs[i]), &block);
    }
  }
  const std::size_t read = before.size();
  for (const BlockOfPlanes& block : of_model_.outputs) {
    for (std::size_t i = block.first; i < block.first + block.count; ++i) {
      const Elements written = elements_of(block, outputs[i]);
      for (std::size_t other = 0; other < before.size(); ++other) {
        // In the place of an input: each call writes the rows that it has read.
        if (other < read && written == before[other].first) continue;
        if (!written.overlaps(before[other].first)) continue;
        throw BindingError("block " + block.block.name + " of out lies on block " +
                           before[other].second->block.name +
                           "; expected memory that no other group reads or writes");
      }
      before.emplace_back(written, &block);
    }
  }
}

CopyReport PlaneCall::run(const Groups& groups, const std::function<void()>& now_and_then) {
  require_apart(groups);
  const std::vector<Plane> all_inputs = inputs;
  const std::vector<Plane> all_outputs = outputs;
  CopyReport copies;
  const auto point = [](const BlockOfPlanes& block, const std::vector<Plane>& all,
                        std::vector<Plane>& planes, std::int64_t first) {
    for (std::size_t i = block.first; i < block.first + block.count; ++i) {
      planes[i] = all[i];
      planes[i].data += first * all[i].stride;
    }
  };
  auto last = std::chrono::steady_clock::now();
  for (std::int64_t g = 0; g < groups.count; ++g) {
    const auto first_of = [&](const BlockOfPlanes& block) {
      if (!block.collection) return g * static_cast<std::int64_t>(block.rows);
      return block.block.element.is_scalar() ? g : groups.offsets[*block.collection][g];
    };
    for (std::size_t c = 0; c < rows.size(); ++c) {
      rows[c] = groups.offsets[c][g + 1] - groups.offsets[c][g];
    }
    for (const BlockOfPlanes& block : of_model_.inputs) {
      point(block, all_inputs, inputs, first_of(block));
    }
    for (const BlockOfPlanes& block : of_model_.outputs) {
      point(block, all_outputs, outputs, first_of(block));
    }
    try {
      copies += run();
    } catch (const Error&) {
      throw FailedGroup(g, std::current_exception());
    }
    if (const auto now = std::chrono::steady_clock::now();
        now - last > std::chrono::milliseconds(100)) {
      last = now;
      now_and_then();
    }
  }
  return copies;
}

void PlaneCall::place(Place& place, std::vector<Plane>& planes, CopyReport& copies) {
  place.copied.clear();
  if (of_model_.takes_any_numbers) {
    place_any(place, planes, copies);
  } else {
    place_described(place, planes, copies);
  }
}

/// Planes as packages read them: rows side by side, of vectors and matrices, and of tensors [columns, rows], at one
/// distance.
void PlaneCall::place_described(Place& place, std::vector<Plane>& planes, CopyReport& copies) {
  const BlockOfPlanes& of = *place.of;
  const BlockDescription& block = of.block;
  const FieldInfo& element = block.element;
  const auto size = static_cast<std::int64_t>(element.element_size());
  const std::int64_t count = rows_of(of);
  const std::int64_t length = length_of(block, count);
  for (std::size_t i = of.first; i < of.first + of.count; ++i) {
    const Plane& plane = planes[i];
    if (length == 0 && plane.data == nullptr) planes[i].data = nothing();
    const bool is_dense = plane.stride == size || length <= 1;
    const bool is_elsewhere = plane.device != queue_.device();
    if (!is_dense || is_elsewhere || !is_aligned(plane, element.element_size())) {
      set_aside(place, planes, i, copies);
    }
  }
  const std::size_t each = element.planes();
  const auto distance = [&](std::size_t plane, std::size_t from) {
    return planes[of.first + plane].data - planes[of.first + from].data;
  };
  bool is_even = true;  // the planes of each column
  for (std::size_t c = 0; c < place.columns.size(); ++c) {
    const std::size_t first = c * each;
    std::ptrdiff_t pitch = 0;
    if (element.has_planes()) pitch = each > 1 ? distance(first + 1, first) : length * size;
    is_even = is_even && (!element.has_planes() || pitch >= length * size) && pitch % size == 0;
    for (std::size_t i = 2; i < each; ++i) {
      is_even = is_even && distance(first + i, first) == static_cast<std::ptrdiff_t>(i) * pitch;
    }
    place.columns[c] = {planes[of.first + first].data, static_cast<std::size_t>(pitch / size)};
  }
  // Columns one after another, as far apart as described, none on another.
  bool is_in_place = is_even;
  const auto planes_from_first = [&](std::size_t c) {
    return static_cast<std::ptrdiff_t>(block.columns[c].plane) - block.columns[0].plane;
  };
  if (place.columns.size() > 1) {
    const std::ptrdiff_t apart = planes_from_first(1);
    const std::ptrdiff_t step = distance(each, 0);
    const std::ptrdiff_t pitch = apart > 0 ? step / apart : 0;
    is_in_place = is_in_place && apart > 0 && step > 0 && step % (apart * size) == 0 &&
                  pitch >= length * size;
    for (std::size_t c = 0; c < place.columns.size() && is_in_place; ++c) {
      is_in_place = planes_from_first(c) == static_cast<std::ptrdiff_t>(c) * apart &&
                    distance(c * each, 0) == static_cast<std::ptrdiff_t>(c) * step &&
                    (!element.has_planes() || std::cmp_equal(place.columns[c].pitch, pitch / size));
    }
  }
  const bool has_to_be_in_place = block.shape == BlockShape::kColumns && place.columns.size() > 1;
  if ((!is_even || (has_to_be_in_place && !is_in_place)) && place.copied.size() < of.count) {
    // All of them: the memory aside has its planes at one distance.
    const std::vector<std::size_t> there = place.copied;
    for (std::size_t i = of.first; i < of.first + of.count; ++i) {
      if (std::ranges::find(there, i) == there.end()) set_aside(place, planes, i, copies);
    }
    const std::vector<std::size_t> all = std::exchange(place.copied, {});
    place_described(place, planes, copies);
    place.copied = all;
    return;
  }
  if (block.dtype != element.dtype) is_in_place = false;
  is_prepared_ = is_prepared_ && is_in_place == place.is_in_place;
  place.is_in_place = is_in_place;
}

/// Planes as trees read them.
void PlaneCall::place_any(Place& place, std::vector<Plane>& planes, CopyReport& copies) {
  const BlockOfPlanes& of = *place.of;
  for (std::size_t i = 0; i < of.count; ++i) {
    const Plane& plane = planes[of.first + i];
    if (rows_of(of) == 0 && plane.data == nullptr) planes[of.first + i].data = nothing();
    const auto size = static_cast<std::int64_t>(size_of(plane.dtype));
    if (plane.stride < 0 || plane.stride % size != 0 || !is_aligned(plane, size_of(plane.dtype))) {
      set_aside(place, planes, of.first + i, copies);
    }
    is_prepared_ = is_prepared_ && plane.dtype == place.dtypes[i];
    place.dtypes[i] = plane.dtype;
    place.columns[i] = {plane.data, 0};
  }
}

/// Moves a plane to memory of this call; of an input with what is in it.
void PlaneCall::set_aside(Place& place, std::vector<Plane>& planes, std::size_t plane,
                          CopyReport& copies) {
  const BlockOfPlanes& of = *place.of;
  Plane& now = planes[plane];
  const std::int64_t count = rows_of(of);
  const std::int64_t length = length_of(of.block, count);
  const std::size_t element = size_of(now.dtype);
  if (place.copied.empty()) {
    // The planes of a block in the order and at the distances of its description.
    std::size_t last = 0;
    for (const ColumnDescription& column : of.block.columns) {
      last = std::max(last, column.plane + of.block.element.planes());
    }
    const std::size_t room =
        of_model_.takes_any_numbers ? sizeof(double) : of.block.element.element_size();
    const std::size_t bytes = static_cast<std::size_t>(std::max<std::int64_t>(length, 1)) * room;
    place.aside_pitch = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    const std::size_t needed = last * place.aside_pitch;
    if (place.aside.size() < needed) {
      place.aside = {};  // its bytes are free for the next
      place.aside = Buffer(queue_.device(), needed, memory_, MemoryPurpose::kWorkspaces);
    }
  }
  const std::size_t each = of.block.element.planes();
  const std::size_t in_block = plane - of.first;
  const std::size_t position = of.block.columns[in_block / each].plane + in_block % each;
  const Plane to{place.aside.data() + position * place.aside_pitch,
                 static_cast<std::int64_t>(element), now.dtype, queue_.device()};
  if (place.is_input && length > 0) {
    to_copy_.push_back({to, now, length});
    copies.add_in(static_cast<std::size_t>(length) * element, CopyReason::kRepack);
  }
  now = to;
  place.copied.push_back(plane);
}

void PlaneCall::bring_back(const Place& place, CopyReport& copies) {
  const std::int64_t length = length_of(place.of->block, rows_of(*place.of));
  for (const std::size_t i : place.copied) {
    if (length > 0) to_copy_.push_back({outputs[i], used_outputs_[i], length});
    copies.add_out(static_cast<std::size_t>(length) * size_of(outputs[i].dtype),
                   CopyReason::kRepack);
  }
}

namespace {

TensorView tensor_of(const Plane& plane, std::int64_t count) {
  TensorView tensor{.data = plane.data, .dtype = plane.dtype, .device = plane.device, .rank = 1};
  tensor.size_of_dim[0] = count;
  tensor.stride_of_dim[0] = plane.stride / static_cast<std::int64_t>(size_of(plane.dtype));
  return tensor;
}

}  // namespace

/// Makes all copies that are due.
void PlaneCall::copy() {
  if (queue_.device().is_cpu()) {  // strides of columns there are any number of bytes
    for (const Copy& copy : to_copy_) {
      copy_plane(copy.to.data, copy.to.stride, copy.from.data, copy.from.stride, copy.count,
                 size_of(copy.to.dtype));
    }
  } else {
    strided_copies(queue_, to_copy_.size(), [&](std::size_t i) {
      const Copy& copy = to_copy_[i];
      return TensorCopy{tensor_of(copy.to, copy.count), tensor_of(copy.from, copy.count)};
    });
  }
  to_copy_.clear();
}

/// Makes a binding for columns that lie as they do now, and has the model check it.
void PlaneCall::prepare() {
  Binding binding;
  binding.match = of_model_.match;
  binding.input_collections = of_model_.inputs.size();
  for (Place& place : places_) {
    auto& blocks = place.is_input ? binding.inputs : binding.outputs;
    const BlockDescription& described = place.of->block;
    BoundBlock block;
    block.name = described.name;
    block.shape = described.shape;
    // Each block has its own view: PlacedColumn after PlacedColumn.
    block.collection = blocks.size();
    block.tensor.dtype = described.dtype;
    block.converts = described.dtype != described.element.dtype || of_model_.takes_any_numbers;
    if (block.converts || !place.is_in_place) block.form = BlockForm::kRepacked;
    std::vector<ColumnRecord> records;
    const auto count = static_cast<std::size_t>(rows_of(*place.of));
    for (std::size_t c = 0; c < place.columns.size(); ++c) {
      const auto number = static_cast<std::uint32_t>(c);
      FieldInfo info = described.element;
      if (of_model_.takes_any_numbers) info.dtype = place.dtypes[c];
      block.columns.push_back({described.columns[c].name, number,
                               static_cast<std::uint32_t>(c * sizeof(PlacedColumn)),
                               described.columns[c].plane, info});
      records.push_back({.data = place.columns[c].data,
                         .pitch = place.columns[c].pitch,
                         .size = count,
                         .capacity = count,
                         .info = info,
                         .device = queue_.device(),
                         .field = number,
                         .read_only = place.is_input});
    }
    append_block(blocks, std::move(block), records, count, nullptr, 0);
  }
  planned_ = model_.plan(std::move(binding));
  is_prepared_ = true;
}

/// Points the binding to the planes of this call.
void PlaneCall::rebind() {
  views_.clear();
  for (const Place& place : places_) {
    const auto count = static_cast<std::size_t>(rows_of(*place.of));
    views_.push_back({.columns = reinterpret_cast<const std::byte*>(place.columns.data()),
                      .size = count,
                      .capacity = count,
                      .device = queue_.device(),
                      .read_only = place.is_input,
                      .lease = {}});
  }
  tensoa::rebind(*planned_, views_);
  if (!of_model_.takes_any_numbers) return;
  for (const Place& place : places_) {
    const std::vector<Plane>& planes = place.is_input ? used_inputs_ : used_outputs_;
    Binding& binding = planned_->binding;
    BoundBlock& block =
        (place.is_input ? binding.inputs : binding.outputs)[static_cast<std::size_t>(
            place.of - (place.is_input ? of_model_.inputs : of_model_.outputs).data())];
    for (std::size_t i = 0; i < place.of->count; ++i) {
      const Plane& plane = planes[place.of->first + i];
      block.sources[i].stride_of_dim[0] =
          plane.stride / static_cast<std::int64_t>(size_of(plane.dtype));
    }
  }
  require_valid(
      planned_->binding);  // of outputs whose rows are not side by side, whether they overlap
}

Binding PlaneCall::example(const PlanesOfModel& planes, std::vector<std::byte>& memory) {
  constexpr std::size_t kRow = kAlignment;
  memory.assign((planes.input_planes + planes.output_planes + 1) * kRow, std::byte{});
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  std::byte* next = memory.data() + (kAlignment - begin % kAlignment) % kAlignment;
  Binding binding;
  binding.match = planes.match;
  for (const auto* blocks : {&planes.inputs, &planes.outputs}) {
    for (const BlockOfPlanes& block : *blocks) {
      std::vector<ColumnPlace> places;
      for (std::size_t c = 0; c < block.block.columns.size(); ++c) {
        const FieldInfo& element = block.block.element;
        places.push_back({next, element.has_planes() ? kRow / element.element_size() : 0});
        next += element.planes() * kRow;
      }
      const bool is_input = blocks == &planes.inputs;
      append_described(is_input ? binding.inputs : binding.outputs, block.block, places,
                       block.collection ? 1 : block.rows, Device::cpu(), is_input);
    }
  }
  return binding;
}

}  // namespace tensoa::package
