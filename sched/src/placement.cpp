// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "placement.hpp"

#include <algorithm>
#include <utility>

namespace tensoa::sched::detail {
namespace {

constexpr std::size_t kMeasured = 10;  // events in the average
// An idle device is tried again after the time of this number of its events.
constexpr double kIdleEvents = 100;
// A GPU may be slow once, while memory is allocated; a CPU that is slow stays slow.
constexpr int kSlowOfGpu = 3;
constexpr int kSlowOfCpu = 1;
// The longest latency, in multiples of the time that the others need for all that they may begin meanwhile. Similar GPUs
// are at about 1. The end of a run waits for the last event of the CPU, and the others begin nothing then.
constexpr double kWindowOfGpu = 2;
constexpr double kWindowOfCpu = 0.5;

}  // namespace

Placement::Placement(const std::vector<Device>& devices, std::size_t room, const Rules& rules)
    : rules_(rules) {
  for (const Device device : devices) {
    OfDevice& of = devices_.emplace_back();
    of.holds_threads = device.is_cpu() && devices.size() > 1;
    of.room = room;
  }
}

bool Placement::is_any_left() const { return !std::ranges::all_of(devices_, &OfDevice::is_lost); }

bool Placement::is_only_one() const {
  return std::ranges::count_if(devices_, [](const OfDevice& device) { return !device.is_lost; }) ==
         1;
}

/// Events that may be there at a time.
std::size_t Placement::most(const OfDevice& device) const {
  return rules_.is_by_number || is_only_one() ? device.room : std::min(device.room, device.limit);
}

void Placement::add_place(std::size_t device) {
  OfDevice& of = devices_[device];
  ++of.places;
  of.measured = std::min<std::size_t>(of.measured, 1);  // with one more it may be faster
}

bool Placement::wants_place(std::size_t device) const {
  const OfDevice& of = devices_[device];
  return !of.is_lost && of.there == of.places && of.places < most(of);
}

std::optional<std::size_t> Placement::by_number(std::size_t number) {
  for (std::size_t tried = 0; tried < devices_.size(); ++tried) {
    const std::size_t index = (number + tried) % devices_.size();
    OfDevice& device = devices_[index];
    if (device.is_lost) continue;
    if (device.there == device.places) return std::nullopt;
    ++device.there;
    ++device.under_way;
    return index;
  }
  return std::nullopt;
}

std::optional<std::size_t> Placement::take(std::size_t number, bool has_idle_thread,
                                           Clock::time_point now) {
  if (rules_.is_by_number) return by_number(number);
  const bool has_others = !is_only_one();
  const bool is_starting = std::ranges::any_of(
      devices_, [](const OfDevice& device) { return !device.is_lost && device.places == 0; });
  OfDevice* best = nullptr;
  for (std::size_t next = 0; next < devices_.size(); ++next) {
    OfDevice& device = devices_[(first_ + next) % devices_.size()];
    if (device.is_lost) continue;
    if (device.limit == 0 && Seconds(now - device.idle_since).count() > device.patience) {
      device.limit = 1;
    }
    if (device.there >= std::min(device.places, most(device))) continue;
    if (device.holds_threads && has_others && (!has_idle_thread || device.unjudged)) continue;
    if (is_starting && !device.holds_threads) continue;
    if (best == nullptr || device.load() < best->load()) best = &device;
  }
  // No event is under way whose end would let this one be tried again: any device that is ready takes it.
  if (best == nullptr && !is_starting &&
      std::ranges::all_of(devices_, [](const OfDevice& device) { return device.there == 0; })) {
    const auto any = std::ranges::find_if(
        devices_, [](const OfDevice& device) { return !device.is_lost && device.places > 0; });
    if (any != devices_.end()) best = &*any;
  }
  if (best == nullptr) return std::nullopt;
  ++best->there;
  ++best->under_way;
  const auto index = static_cast<std::size_t>(best - devices_.data());
  first_ = (index + 1) % devices_.size();
  return index;
}

std::optional<std::size_t> Placement::move(std::size_t from) {
  std::optional<std::size_t> best;
  for (std::size_t index = 0; index < devices_.size(); ++index) {
    if (devices_[index].is_lost) continue;
    if (!best || devices_[index].expected() < devices_[*best].expected()) best = index;
  }
  if (best) {
    --devices_[from].there;
    --devices_[from].under_way;
    OfDevice& to = devices_[*best];
    ++to.there;
    ++to.under_way;
    ++to.places;
    ++to.room;
  }
  return best;
}

/// Whether enough events show how fast another device is. One slow event excludes the CPU for long, so it is compared
/// when the events are over that began before the last place was added.
bool Placement::is_known(const OfDevice& other, const OfDevice& device) const {
  return other.measured >= (device.holds_threads ? other.room + kMeasured : 2);
}

/// Whether the others could have ended all that they may begin while an event was there.
void Placement::judge(OfDevice& device) {
  double others_per_second = 0;
  bool is_waiting = false;
  auto window = static_cast<double>(rules_.ended);
  for (const OfDevice& other : devices_) {
    if (&other == &device || other.is_lost || other.limit == 0) continue;
    if (!is_known(other, device)) {
      is_waiting = true;
      continue;
    }
    others_per_second += 1 / *other.cost;
    window += static_cast<double>(other.room);
  }
  // The CPU is not known to be slow before the others are known to be fast.
  if (device.holds_threads && others_per_second == 0 && is_waiting) return;
  const double latency = *std::exchange(device.unjudged, std::nullopt);
  if (latency * others_per_second <=
      (device.holds_threads ? kWindowOfCpu : kWindowOfGpu) * window) {
    device.slow = 0;
    device.patience = 0;
    device.limit = std::min(device.limit + 1, device.room);
    return;
  }
  if (++device.slow < (device.holds_threads ? kSlowOfCpu : kSlowOfGpu)) return;
  device.slow = 0;
  device.limit /= 2;
  if (device.limit == 0) device.patience = std::max(2 * device.patience, kIdleEvents * latency);
}

void Placement::end(std::size_t device, std::optional<Seconds> latency, Clock::time_point now) {
  OfDevice& of = devices_[device];
  if (latency) {
    const double cost = latency->count() / static_cast<double>(of.under_way);
    // The first measurement is dropped when there is a second one; then a running mean over kMeasured events at most.
    const double weight =
        1.0 / static_cast<double>(std::clamp<std::size_t>(of.measured, 1, kMeasured));
    of.cost = of.cost ? *of.cost + weight * (cost - *of.cost) : cost;
    ++of.measured;
    if (of.measured > 1 || of.holds_threads) of.unjudged = latency->count();
    for (OfDevice& any : devices_) {
      if (any.unjudged) judge(any);
    }
  }
  --of.under_way;
  of.idle_since = now;
}

}  // namespace tensoa::sched::detail
