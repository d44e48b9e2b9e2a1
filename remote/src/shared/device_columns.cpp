// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "shared/device_columns.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "columns/runs.hpp"
#include "columns/wire_views.hpp"
#include "shared/stretches.hpp"
#include "tensoa/core/log.hpp"
#include "tensoa/core/strided_copy.hpp"

namespace tensoa::remote {
namespace {

/// Of the same sizes and order of strides, packed; broadcast dimensions stay broadcast. @return its bytes
std::size_t pack(TensorView& view) {
  std::array<std::size_t, kMaxRank> dims{};
  const std::span order(dims.data(), view.rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t dim) { return view.stride_of_dim[dim]; });
  std::int64_t elements = 1;
  for (const std::size_t dim : order) {
    if (view.stride_of_dim[dim] == 0 && view.size_of_dim[dim] > 1) continue;
    view.stride_of_dim[dim] = elements;
    elements *= view.size_of_dim[dim];
  }
  return static_cast<std::size_t>(elements) * size_of(view.dtype);
}

/// The stored part of a tensor: one element along broadcast dimensions.
TensorView without_broadcast(TensorView view) {
  for (std::size_t dim = 0; dim < view.rank; ++dim) {
    if (view.stride_of_dim[dim] == 0) {
      view.size_of_dim[dim] = std::min<std::int64_t>(view.size_of_dim[dim], 1);
    }
  }
  return view;
}

std::span<TensorView> memory_of(BoundBlock& block) {
  return block.form == BlockForm::kInPlace ? std::span(&block.tensor, 1) : std::span(block.sources);
}

std::size_t aligned(std::size_t bytes) { return whole(bytes, kAlignment); }

std::shared_ptr<DeviceRegion> region_of(const Binding& binding) {
  for (const auto* blocks : {&binding.inputs, &binding.outputs}) {
    for (const BoundBlock& block : *blocks) {
      for (const TensorView& tensor : block.memory()) {
        if (auto region = device_regions().find(tensor.data)) return region;
      }
    }
  }
  return nullptr;
}

/// Where the elements travel without a copy.
std::optional<std::uint64_t> place_in(const DeviceRegion& region,
                                      const std::vector<TensorView>& views) {
  if (views.size() != 1 || Runs(views.front()).bytes() != views.front().bytes())
    return std::nullopt;
  return region.find(views.front().data, views.front().bytes());
}

}  // namespace

DeviceColumns::DeviceColumns(Queue queue, const Binding& binding, std::shared_ptr<PinnedPool> pool)
    : queue_(std::move(queue)), binding_(binding), host_(binding), pool_(std::move(pool)) {
  for (auto* blocks : {&host_.inputs, &host_.outputs}) {
    for (BoundBlock& block : *blocks) {
      block.tensor.device = Device::cpu();
      for (TensorView& tensor : memory_of(block)) {
        tensor.device = Device::cpu();
        tensor.data = nullptr;
        tensor.read_only = false;
        pack(tensor);
      }
    }
  }
}

DeviceColumns::~DeviceColumns() {
  if (pinned_.size() > 0) pool_->give_back(std::move(pinned_));
}

void DeviceColumns::place_in_host_memory() {
  std::size_t bytes = 0;
  for (auto* blocks : {&host_.inputs, &host_.outputs}) {
    for (BoundBlock& block : *blocks) {
      for (TensorView tensor : memory_of(block)) bytes += aligned(pack(tensor));
    }
  }
  pinned_ = pool_->take(bytes);
  std::byte* place = pinned_.data();
  Side& wire = side(Way::kWire);
  const auto pair = [&](std::vector<BoundBlock>& host, std::vector<BoundBlock>& device,
                        const auto& add) {
    for (std::size_t i = 0; i < host.size(); ++i) {
      const std::span<TensorView> mine = memory_of(host[i]);
      const std::span<TensorView> theirs = memory_of(device[i]);
      for (std::size_t j = 0; j < mine.size(); ++j) {
        mine[j].data = place;
        place += aligned(pack(mine[j]));
        add(without_broadcast(mine[j]), without_broadcast(theirs[j]));
      }
    }
  };
  pair(host_.inputs, binding_.inputs, [&](const TensorView& host, const TensorView& device) {
    wire.inputs.push_back({.to = host, .from = device});
  });
  pair(host_.outputs, binding_.outputs, [&](const TensorView& host, const TensorView& device) {
    wire.outputs.push_back({.to = device, .from = host});
  });
}

Sharing DeviceColumns::find_sharing(const ModelMetadataReply& metadata, const WirePlan& plan,
                                    const std::string& subject) {
  const std::shared_ptr<DeviceRegion> region = region_of(binding_);
  if (region == nullptr) return {};
  Sharing sharing;
  Side way;
  std::vector<DeviceScratch> scratch;
  const auto add = [&](const BoundBlock& block, DType dtype, bool is_input, auto& ranges) {
    const std::vector<TensorView> views = wire_views(block, plan.order, dtype);
    std::size_t bytes = 0;
    for (const TensorView& view : views) bytes += view.bytes();
    auto& range = ranges.emplace_back();
    if (views.empty()) return false;
    if (bytes == 0) return true;
    std::optional<std::uint64_t> place = is_input ? place_in(*region, views) : std::nullopt;
    if (!place) {
      std::byte* data = scratch.emplace_back(region, bytes).data();
      if (data == nullptr) {
        if (region->note_full()) {
          log(LogLevel::kWarning, subject + "SharedDeviceMemory of " +
                                      std::to_string(region->bytes()) +
                                      " bytes has no room for a call's columns, which go by the "
                                      "wire; make it larger, or have fewer calls in flight");
        }
        return false;
      }
      place = region->find(data, bytes);
      for (const TensorView& view : views) {
        TensorView room = view;
        room.data = data;
        room.read_only = false;
        make_row_major(room);
        data += view.bytes();
        if (is_input) {
          way.inputs.push_back({.to = room, .from = view});
        } else {
          way.outputs.push_back({.to = view, .from = room});
        }
      }
    }
    range = SharedRange{region->name(), *place, bytes};
    return true;
  };
  for (std::size_t i = 0; i < binding_.inputs.size(); ++i) {
    if (!add(binding_.inputs[i], plan.input_dtypes[i], true, sharing.inputs)) return {};
  }
  for (std::size_t i = 0; i < binding_.outputs.size(); ++i) {
    if (!add(binding_.outputs[i], plan.output_dtypes[i], false, sharing.outputs)) return {};
    if (sharing.outputs[i]) {
      sharing.output_names.push_back(metadata.outputs[plan.outputs[i]].name);
    }
  }
  sharing.region = region;
  sharing.needs_all = true;
  side(Way::kRegion) = std::move(way);
  scratch_ = std::move(scratch);
  return sharing;
}

void DeviceColumns::stage(Way way) {
  Side& to = side(way);
  if (way == Way::kWire) place_in_host_memory();
  if (!to.inputs.empty()) {
    to.copies.add_in(strided_copies(queue_, to.inputs), CopyReason::kService);
  }
  to.is_staged = true;
}

void DeviceColumns::write_back(Way way, CopyReport& copies) {
  const std::vector<TensorCopy>& outputs = side(way).outputs;
  if (!outputs.empty()) copies.add_out(strided_copies(queue_, outputs), CopyReason::kService);
}

void DeviceColumns::abandon() {
  for (DeviceScratch& scratch : scratch_) scratch.abandon();
}

}  // namespace tensoa::remote
