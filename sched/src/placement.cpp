// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "placement.hpp"

#include <algorithm>

namespace tensoa::sched::detail {
namespace {

constexpr double kWeightOfNew = 0.1;

}  // namespace

Placement::Placement(const std::vector<std::size_t>& rooms) {
  for (const std::size_t room : rooms) devices_.emplace_back().room = room;
}

bool Placement::is_any_left() const { return !std::ranges::all_of(devices_, &OfDevice::is_lost); }

std::optional<std::size_t> Placement::take() {
  const bool are_all_new = std::ranges::none_of(
      devices_, [](const OfDevice& device) { return device.cost.has_value(); });
  std::optional<std::size_t> best;
  double soonest = 0;
  for (std::size_t index = 0; index < devices_.size(); ++index) {
    const OfDevice& device = devices_[index];
    if (device.is_lost) continue;
    double expected = 0;
    if (device.cost) {
      expected = *device.cost * static_cast<double>(device.there + 1);
    } else if (are_all_new) {
      if (device.there == device.room) continue;
      expected = static_cast<double>(device.there);  // one to each in turn
    } else if (device.there > 0) {
      continue;
    }
    if (best && expected >= soonest) continue;
    best = index;
    soonest = expected;
  }
  if (!best || devices_[*best].there == devices_[*best].room) return std::nullopt;
  ++devices_[*best].there;
  return best;
}

std::optional<std::size_t> Placement::move(std::size_t from) {
  std::optional<std::size_t> best;
  const auto expected = [&](const OfDevice& device) {
    return device.cost.value_or(0) * static_cast<double>(device.there + 1);
  };
  for (std::size_t index = 0; index < devices_.size(); ++index) {
    if (devices_[index].is_lost) continue;
    if (!best || expected(devices_[index]) < expected(devices_[*best])) best = index;
  }
  if (best) {
    --devices_[from].there;
    ++devices_[*best].there;
    ++devices_[*best].room;
  }
  return best;
}

void Placement::give_back(std::size_t device, std::optional<Seconds> latency) {
  OfDevice& of = devices_[device];
  if (latency) {
    const double cost = latency->count() / static_cast<double>(of.there);
    of.cost = of.cost ? *of.cost + kWeightOfNew * (cost - *of.cost) : cost;
  }
  --of.there;
}

}  // namespace tensoa::sched::detail
