// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "placement.hpp"

#include <algorithm>

namespace tensoa::sched::detail {
namespace {

constexpr int kMeasured = 10;      // events in the average
constexpr double kIdleCosts = 20;  // after so many times its cost an idle device is tried again

}  // namespace

Placement::Placement(const std::vector<std::size_t>& rooms) {
  for (const std::size_t room : rooms) devices_.emplace_back().room = room;
}

bool Placement::is_any_left() const { return !std::ranges::all_of(devices_, &OfDevice::is_lost); }

std::optional<std::size_t> Placement::take(Clock::time_point now) {
  const auto is_left = [](const OfDevice& device) { return !device.is_lost; };
  const bool is_only_one = std::ranges::count_if(devices_, is_left) == 1;
  std::optional<std::size_t> best;
  double soonest = 0;
  for (std::size_t index = 0; index < devices_.size(); ++index) {
    const OfDevice& device = devices_[index];
    if (device.is_lost) continue;
    double expected = 0;
    if (device.cost) {
      const bool is_old =
          device.there == 0 && Seconds(now - device.idle_since).count() > kIdleCosts * *device.cost;
      expected = is_old ? 0 : *device.cost * static_cast<double>(device.there + 1);
    } else if (device.there > 0 && !is_only_one) {
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

void Placement::give_back(std::size_t device, std::optional<Seconds> latency,
                          Clock::time_point now) {
  OfDevice& of = devices_[device];
  if (latency) {
    const double cost = latency->count() / static_cast<double>(of.there);
    // The second replaces the first; then the mean of all, later of the last ones.
    const double weight = 1.0 / std::max(1, of.measured);
    of.cost = of.cost ? *of.cost + weight * (cost - *of.cost) : cost;
    of.measured = std::min(of.measured + 1, kMeasured);
  }
  --of.there;
  of.idle_since = now;
}

}  // namespace tensoa::sched::detail
