// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/placement.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tensoa/core/error.hpp"
#include "tensoa/core/log.hpp"

namespace tensoa::sched {
namespace {

constexpr const char* kVariable = "TENSOA_PLACEMENT";
constexpr std::size_t kMostRuns = 9;    // of which the median counts
constexpr double kLongest_us = 20'000;  // after so long no further run is begun

/// The median time of `run`, microseconds.
double median_us(const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  };
  std::array<double, kMostRuns> times{};
  std::size_t runs = 0;
  const Clock::time_point start = Clock::now();
  do {
    const Clock::time_point begin = Clock::now();
    run();
    times[runs++] = since(begin);
  } while (runs < kMostRuns && since(start) < kLongest_us);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(runs / 2);
  std::nth_element(times.begin(), middle, times.begin() + static_cast<std::ptrdiff_t>(runs));
  return *middle;
}

/// Copies each column that the model writes to `to`, one over the other: for the time it takes.
void fetch(const Queue& by, const Binding& binding, const Buffer& to) {
  for (const BoundBlock& block : binding.outputs) {
    for (const TensorView& tensor : block.memory()) {
      const auto rows = static_cast<std::size_t>(tensor.size_of_dim[block.row_dimension()]);
      if (tensor.bytes() == 0) continue;
      const std::size_t elements = tensor.bytes() / size_of(tensor.dtype);
      for (std::size_t i = 0; i < elements / rows; ++i) {
        copy_bytes(by, to.data(), to.device(), tensor.data, tensor.device,
                   rows * size_of(tensor.dtype));
      }
    }
  }
}

std::size_t bytes_of_longest_output(const Binding& binding) {
  std::size_t bytes = 0;
  for (const BoundBlock& block : binding.outputs) {
    for (const TensorView& tensor : block.memory()) bytes = std::max(bytes, tensor.bytes());
  }
  return bytes;
}

double total(const BatchCost& cost) { return cost.call_us + cost.transfer_us; }

bool has_fewer_rows(const BatchCost& cost, std::size_t rows) { return cost.rows < rows; }

/// @param costs by rows, at least one
BatchCost cost_of(const std::vector<BatchCost>& costs, std::size_t rows) {
  const auto next = std::lower_bound(costs.begin(), costs.end(), rows, has_fewer_rows);
  if (next == costs.begin()) return costs.front();
  const BatchCost& before = *(next - 1);
  if (next == costs.end()) {
    const double more = static_cast<double>(rows) / static_cast<double>(before.rows);
    return {rows, more * before.call_us, more * before.transfer_us};
  }
  const double way =
      static_cast<double>(rows - before.rows) / static_cast<double>(next->rows - before.rows);
  return {rows, std::lerp(before.call_us, next->call_us, way),
          std::lerp(before.transfer_us, next->transfer_us, way)};
}

std::string to_string(const BatchCost& cost) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.1f us", cost.call_us);
  std::string all = text.data();
  if (cost.transfer_us > 0) {
    std::snprintf(text.data(), text.size(), " + %.1f us transfers", cost.transfer_us);
    all += text.data();
  }
  return all;
}

}  // namespace

Placement::Placement(std::string name, std::optional<Device> always)
    : name_(std::move(name)), always_(always), reason_("as the program wants it") {
  const char* const wanted = std::getenv(kVariable);
  if (wanted == nullptr || *wanted == '\0') return;
  reason_ = std::string("as ") + kVariable + '=' + wanted + " wants it";
  always_.reset();
  if (std::string_view(wanted) == "auto") return;
  try {
    always_ = parse_device(wanted);
  } catch (const ConfigError& error) {
    throw ConfigError(std::string(kVariable) + ": " + error.what());
  } catch (const DeviceError& error) {
    throw DeviceError(std::string(kVariable) + ": " + error.what());
  }
}

void Placement::time(Device device, Device columns, std::size_t rows, const Queue& queue,
                     const Binding& binding, const std::function<void(const Queue& by)>& bring,
                     const std::function<void()>& call) {
  // A CPU queue cannot copy from a GPU.
  const Queue by = device.is_cpu() && !columns.is_cpu() ? Queue(columns) : queue;
  const Buffer answer(columns, bytes_of_longest_output(binding));
  const auto run = [&] {
    call();
    queue.wait();
  };
  const auto run_with_transfers = [&] {
    bring(by);
    if (device.is_cpu()) by.wait();
    call();
    fetch(by, binding, answer);
    by.wait();
  };
  run_with_transfers();  // warms up
  BatchCost cost{.rows = std::max<std::size_t>(rows, 1), .call_us = median_us(run)};
  if (device != columns) {
    cost.transfer_us = std::max(0.0, median_us(run_with_transfers) - cost.call_us);
  }
  add(device, cost);
  if (measured_.size() > 1) log(LogLevel::kInfo, explain(cost.rows));
}

void Placement::add(Device device, BatchCost cost) {
  if (cost.rows == 0) {
    throw ConfigError("Placement::add: the cost of a batch of 0 rows; expected 1 or more");
  }
  auto of = std::find_if(measured_.begin(), measured_.end(),
                         [&](const OfDevice& one) { return one.device == device; });
  if (of == measured_.end()) of = measured_.insert(of, OfDevice{device, {}});
  const auto place =
      std::lower_bound(of->costs.begin(), of->costs.end(), cost.rows, has_fewer_rows);
  if (place != of->costs.end() && place->rows == cost.rows) {
    *place = cost;
  } else {
    of->costs.insert(place, cost);
  }
}

void Placement::require_costs() const {
  if (!measured_.empty()) return;
  throw ConfigError("Placement of " + name_ +
                    ": nothing was measured to choose by; call measure() for each device with a "
                    "typical batch");
}

Device Placement::device(std::size_t rows) const {
  if (always_) return *always_;
  require_costs();
  const OfDevice* best = nullptr;
  double least = 0;
  for (const OfDevice& one : measured_) {
    const double us = total(cost_of(one.costs, rows));
    if (best == nullptr || us < least) {
      best = &one;
      least = us;
    }
  }
  return best->device;
}

std::string Placement::explain(std::size_t rows) const {
  const Device chosen = device(rows);
  std::string text = "placed " + name_ + ", " + std::to_string(rows) +
                     (rows == 1 ? " row, on " : " rows, on ") + tensoa::to_string(chosen) + ": ";
  if (always_) return text + reason_;
  std::string others;
  for (const OfDevice& one : measured_) {
    const std::string cost = to_string(cost_of(one.costs, rows));
    if (one.device == chosen) {
      text += cost;
    } else {
      others +=
          (others.empty() ? " against " : ", ") + cost + " on " + tensoa::to_string(one.device);
    }
  }
  return text + (others.empty() ? "; no other device was measured" : others);
}

}  // namespace tensoa::sched
