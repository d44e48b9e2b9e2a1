// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "wire_call.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"
#include "tensoa/soa/soa_metadata.hpp"

namespace tensoa::triton {
namespace {

/// Of each column its first plane, in the tensor as it is sent.
std::vector<std::int64_t> planes_side_by_side(const BlockDescription& block) {
  std::vector<std::int64_t> first;
  first.reserve(block.columns.size());
  for (std::size_t i = 0; i < block.columns.size(); ++i) {
    first.push_back(static_cast<std::int64_t>(i * block.element.planes()));
  }
  return first;
}

std::vector<std::int64_t> planes_as_described(const BlockDescription& block) {
  std::vector<std::int64_t> first;
  first.reserve(block.columns.size());
  for (const ColumnDescription& column : block.columns) first.push_back(column.plane);
  return first;
}

}  // namespace

WireCall::WireCall(const AnyModel& model, const Wire& wire, Device device)
    : model_(model), wire_(wire), queue_(device) {
  std::size_t bytes = 0;
  const auto add = [&](const WireBlock& block, bool is_input) {
    Place& place = places_.emplace_back(place_of(block, is_input));
    place.rows = 1;
    const std::size_t own = static_cast<std::size_t>(place.all_planes) * place.element();
    bytes += (own + kAlignment - 1) / kAlignment * kAlignment;
  };
  for (const WireBlock& block : wire.inputs) add(block, true);
  for (const WireBlock& block : wire.outputs) add(block, false);

  one_row_ = Buffer(device, bytes);
  Binding binding;
  binding.match = wire.match;
  std::byte* memory = one_row_.data();
  for (Place& place : places_) {
    bind_one_row(place.is_input ? binding.inputs : binding.outputs, place, memory);
    const std::size_t own = static_cast<std::size_t>(place.all_planes) * place.element();
    memory += (own + kAlignment - 1) / kAlignment * kAlignment;
  }
  require_valid_tensors(binding);
  plan_ = model_.plan(std::move(binding));
  for (Place& place : places_) remember_strides(place);

  std::size_t collections = 0;
  for (const WireBlock& block : wire.inputs) {
    collections = std::max(collections, block.collection.value_or(0) + 1);
  }
  for (const WireBlock& block : wire.outputs) {
    collections = std::max(collections, block.collection.value_or(0) + 1);
  }
  rows_of_collection_.resize(collections);
  first_of_collection_.resize(collections);
  values_of_outputs_.resize(wire.outputs.size());
}

WireCall::Place WireCall::place_of(const WireBlock& wire, bool is_input) {
  Place place;
  place.wire = &wire;
  place.is_input = is_input;
  const BlockDescription& block = wire.block;
  place.first_planes = planes_side_by_side(block);
  place.is_spread =
      block.shape == BlockShape::kColumns && place.first_planes != planes_as_described(block);
  if (place.is_spread) place.first_planes = planes_as_described(block);
  for (std::size_t i = 0; i < block.columns.size(); ++i) {
    const auto first =
        std::ranges::find(block.columns, block.columns[i].plane, &ColumnDescription::plane);
    const auto same = static_cast<std::size_t>(first - block.columns.begin());
    if (same == i) continue;
    place.first_planes[i] = place.first_planes[same];
    place.repeated.emplace_back(i, same);
  }
  for (const std::int64_t first : place.first_planes) {
    place.all_planes =
        std::max(place.all_planes, first + static_cast<std::int64_t>(block.element.planes()));
  }
  return place;
}

void WireCall::bind_one_row(std::vector<BoundBlock>& blocks, Place& place, std::byte* memory) {
  const BlockDescription& block = place.wire->block;
  place.side_of = blocks.size();
  BoundBlock bound;
  bound.name = block.name;
  bound.shape = block.shape;
  bound.collection = block.collection;
  bound.tensor.dtype = block.dtype;
  bound.converts = block.dtype != block.element.dtype;
  const bool is_as_described = place.first_planes == planes_as_described(block);
  const bool has_scalars = block.element.is_scalar() && block.columns.size() > 1;  // in lines
  if (bound.converts || !is_as_described || has_scalars || !place.repeated.empty()) {
    bound.form = BlockForm::kRepacked;
  }
  std::vector<ColumnRecord> records;
  for (std::size_t i = 0; i < block.columns.size(); ++i) {
    const auto field = static_cast<std::uint32_t>(i);
    const ColumnDescription& column = block.columns[i];
    bound.columns.push_back({column.name, field, 0, column.plane, block.element});
    records.push_back(
        {.data = memory + place.first_planes[i] * static_cast<std::int64_t>(place.element()),
         .pitch = block.element.has_planes() ? std::size_t{1} : std::size_t{0},
         .size = 1,
         .capacity = 1,
         .info = block.element,
         .device = queue_.device(),
         .field = field,
         .read_only = place.is_input});
  }
  append_block(blocks, std::move(bound), records, 1, nullptr, 0);
}

BoundBlock& WireCall::bound(const Place& place) noexcept {
  return (place.is_input ? plan_.binding.inputs : plan_.binding.outputs)[place.side_of];
}

void WireCall::remember_strides(Place& place) {
  const BoundBlock& block = bound(place);
  place.strides = block.tensor.stride_of_dim;
  for (const TensorView& source : block.sources) {
    place.source_strides.push_back(source.stride_of_dim);
  }
}

std::span<const std::int64_t> WireCall::set_rows(std::span<const std::int64_t> inputs) {
  std::ranges::fill(first_of_collection_, nullptr);
  std::ranges::fill(rows_of_collection_, 1);  // of scalars alone
  for (std::size_t i = 0; i < wire_.inputs.size(); ++i) {
    const WireBlock& block = wire_.inputs[i];
    if (block.is_scalar()) {
      if (inputs[i] == 1) continue;
      throw BindingError("input \"" + block.name() + "\": got " + std::to_string(inputs[i]) +
                         " values in a plane, expected 1: its columns are scalars");
    }
    const std::size_t collection = block.collection.value_or(0);
    const WireBlock*& first = first_of_collection_[collection];
    std::int64_t& rows = rows_of_collection_[collection];
    if (first != nullptr && rows != inputs[i]) {
      throw BindingError("input \"" + block.name() + "\": got " + std::to_string(inputs[i]) +
                         " rows, expected " + std::to_string(rows) + ", as input \"" +
                         first->name() + "\": both are of one collection");
    }
    if (first == nullptr) first = &block;
    rows = inputs[i];
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    const WireBlock& block = *place.wire;
    place.rows = block.collection ? rows_of_collection_[*block.collection]
                                  : static_cast<std::int64_t>(block.rows);
    if (!place.is_input) values_of_outputs_[place.side_of] = place.values();
  }
  return values_of_outputs_;
}

std::byte* WireCall::in_device(Place& place, std::byte* memory) {
  if (queue_.device().is_cpu()) return memory;
  const std::size_t bytes =
      static_cast<std::size_t>(place.is_spread ? place.all_planes : place.wire->planes) *
      place.plane_bytes();
  if (place.staged.size() < bytes || place.staged.data() == nullptr) {
    place.staged = Buffer(queue_.device(), std::max<std::size_t>(bytes, kAlignment));
  }
  if (place.is_input && bytes > 0) {
    copy_bytes(queue_, place.staged.data(), queue_.device(), memory, Device::cpu(), bytes);
  }
  return place.staged.data();
}

void WireCall::point(Place& place, std::byte* memory) {
  const std::int64_t pitch = place.wire->is_scalar() ? 1 : place.rows;
  BoundBlock& block = bound(place);
  const auto at = [&](TensorView& tensor, const std::array<std::int64_t, kMaxRank>& strides,
                      std::size_t row_dim, std::byte* data) {
    tensor.data = data;
    tensor.size_of_dim[row_dim] = place.rows;
    for (std::size_t dim = 0; dim < tensor.rank; ++dim) {
      if (dim != row_dim) tensor.stride_of_dim[dim] = strides[dim] * pitch;
    }
  };
  const auto column = [&](std::size_t i) {
    return memory + place.first_planes[i] * pitch * static_cast<std::int64_t>(place.element());
  };
  if (block.form == BlockForm::kInPlace) {
    return at(block.tensor, place.strides, block.row_dimension(), column(0));
  }
  block.tensor.size_of_dim[0] = place.rows;
  for (std::size_t i = 0; i < block.sources.size(); ++i) {
    at(block.sources[i], place.source_strides[i], 0, column(i));
  }
}

void WireCall::copy_planes(Place& place, std::byte* wire, std::byte* spread, bool is_input) const {
  const std::size_t bytes = place.plane_bytes();
  if (bytes == 0) return;
  for (std::size_t i = 0; i < place.first_planes.size(); ++i) {
    std::byte* sent = wire + i * bytes;
    std::byte* bound = spread + static_cast<std::size_t>(place.first_planes[i]) * bytes;
    std::memcpy(is_input ? bound : sent, is_input ? sent : bound, bytes);
  }
}

void WireCall::require_repeated(const Place& place, const std::byte* memory) {
  const BlockDescription& block = place.wire->block;
  const std::size_t bytes = place.plane_bytes() * block.element.planes();
  if (bytes == 0) return;
  for (const auto& [repeated, first] : place.repeated) {
    if (std::memcmp(memory + repeated * bytes, memory + first * bytes, bytes) == 0) continue;
    throw BindingError("input \"" + block.name + "\": got different values in its columns " +
                       std::to_string(first + 1) + " and " + std::to_string(repeated + 1) +
                       ", expected the same: both are the column " + block.columns[first].name +
                       " of the model");
  }
}

void WireCall::run(std::span<std::byte* const> inputs, std::span<std::byte* const> outputs) {
  const auto memory_of = [&](const Place& place) {
    return (place.is_input ? inputs : outputs)[place.side_of];
  };
  for (Place& place : places_) {
    std::byte* memory = memory_of(place);
    if (place.is_input) require_repeated(place, memory);
    if (place.is_spread) {
      const std::size_t bytes = static_cast<std::size_t>(place.all_planes) * place.plane_bytes();
      if (place.spread.size() < bytes || place.spread.data() == nullptr) {
        place.spread = Buffer(Device::cpu(), std::max<std::size_t>(bytes, kAlignment));
        std::memset(place.spread.data(), 0, place.spread.size());
      }
      if (place.is_input) copy_planes(place, memory, place.spread.data(), true);
      memory = place.spread.data();
    }
    point(place, in_device(place, memory));
  }
  model_.run(queue_, plan_);
  const bool is_staged = !queue_.device().is_cpu();
  for (Place& place : places_) {
    if (place.is_input) continue;
    std::byte* host = place.is_spread ? place.spread.data() : memory_of(place);
    const std::size_t bytes =
        static_cast<std::size_t>(place.is_spread ? place.all_planes : place.wire->planes) *
        place.plane_bytes();
    if (is_staged && bytes > 0) {
      copy_bytes(queue_, host, Device::cpu(), place.staged.data(), queue_.device(), bytes);
    }
  }
  if (is_staged) queue_.wait();
  for (Place& place : places_) {
    if (place.is_input || !place.is_spread) continue;
    copy_planes(place, memory_of(place), place.spread.data(), false);
  }
}

}  // namespace tensoa::triton
