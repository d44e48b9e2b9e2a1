// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/memory_budget.hpp"

#include <atomic>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

constexpr std::array<MemoryPurpose, kMemoryPurposes> kPurposes{
    MemoryPurpose::kCollections, MemoryPurpose::kWeights, MemoryPurpose::kWorkspaces,
    MemoryPurpose::kEngines, MemoryPurpose::kPinned};

class Counter {
 public:
  /// Adds, unless the sum would be above `limit`.
  bool try_add(std::size_t bytes, std::size_t limit) noexcept {
    std::size_t before = now_.load(std::memory_order_relaxed);
    do {
      if (before > limit || bytes > limit - before) return false;
    } while (!now_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
    std::size_t peak = peak_.load(std::memory_order_relaxed);
    while (peak < before + bytes &&
           !peak_.compare_exchange_weak(peak, before + bytes, std::memory_order_relaxed)) {
    }
    return true;
  }

  void subtract(std::size_t bytes) noexcept { now_.fetch_sub(bytes, std::memory_order_relaxed); }

  MemoryFigures::Figure figure() const noexcept {
    return {now_.load(std::memory_order_relaxed), peak_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<std::size_t> now_{0};
  std::atomic<std::size_t> peak_{0};
};

struct Account {
  std::atomic<std::size_t> budget{kNoBudget};
  Counter all;
  std::array<Counter, kMemoryPurposes> of_purpose;

  Counter& of(MemoryPurpose purpose) { return of_purpose[static_cast<std::size_t>(purpose)]; }
};

/// `device` is there.
Account& account_of(Device device) noexcept {
  static constinit std::array<Account, kMaxDevices> accounts;
  return accounts[place_of(device)];
}

[[noreturn]] void refuse(Device device, MemoryPurpose purpose, std::size_t bytes,
                         std::size_t budget) {
  const MemoryFigures figures = memory_figures(device);
  std::string shares;
  for (const MemoryPurpose each : kPurposes) {
    shares += (shares.empty() ? "" : ", ") + std::string(name_of(each)) + " " +
              std::to_string(figures.of(each).now);
  }
  throw DeviceFullError("memory for " + std::string(name_of(purpose)) + " on " + to_string(device) +
                        ": requested " + std::to_string(bytes) + " bytes, the budget is " +
                        std::to_string(budget) + ", in use are " + std::to_string(figures.all.now) +
                        " (" + shares +
                        "); free some, use smaller batches, or raise memory_budget()");
}

}  // namespace

std::string_view name_of(MemoryPurpose purpose) noexcept {
  switch (purpose) {
    case MemoryPurpose::kCollections:
      return "collections";
    case MemoryPurpose::kWeights:
      return "weights";
    case MemoryPurpose::kWorkspaces:
      return "workspaces";
    case MemoryPurpose::kEngines:
      return "engines";
    case MemoryPurpose::kPinned:
      return "pinned";
  }
  return "unknown";
}

void memory_budget(Device device, std::size_t bytes) {
  require_available(device);
  account_of(device).budget.store(bytes, std::memory_order_relaxed);
}

std::size_t memory_budget(Device device) {
  require_available(device);
  return account_of(device).budget.load(std::memory_order_relaxed);
}

MemoryFigures memory_figures(Device device) {
  require_available(device);
  Account& account = account_of(device);
  MemoryFigures figures{.all = account.all.figure(),
                        .of_purpose = {},
                        .budget = account.budget.load(std::memory_order_relaxed)};
  for (std::size_t i = 0; i < figures.of_purpose.size(); ++i) {
    figures.of_purpose[i] = account.of_purpose[i].figure();
  }
  return figures;
}

MemoryCharge::MemoryCharge(Device device, MemoryPurpose purpose, std::size_t bytes) {
  require_available(device);
  device_ = device;
  purpose_ = purpose;
  if (bytes == 0) return;
  Account& account = account_of(device);
  const std::size_t budget = account.budget.load(std::memory_order_relaxed);
  if (!account.all.try_add(bytes, budget)) refuse(device, purpose, bytes, budget);
  account.of(purpose).try_add(bytes, kNoBudget);
  bytes_ = bytes;
}

MemoryCharge::MemoryCharge(MemoryCharge&& other) noexcept
    : device_(other.device_), bytes_(std::exchange(other.bytes_, 0)), purpose_(other.purpose_) {}

MemoryCharge& MemoryCharge::operator=(MemoryCharge&& other) noexcept {
  if (this != &other) {
    end();
    device_ = other.device_;
    bytes_ = std::exchange(other.bytes_, 0);
    purpose_ = other.purpose_;
  }
  return *this;
}

void MemoryCharge::set_bytes(std::size_t bytes) noexcept {
  if (bytes == bytes_) return;
  Account& account = account_of(device_);
  for (Counter* const counter : {&account.of(purpose_), &account.all}) {
    if (bytes > bytes_) {
      counter->try_add(bytes - bytes_, kNoBudget);
    } else {
      counter->subtract(bytes_ - bytes);
    }
  }
  bytes_ = bytes;
}

}  // namespace tensoa
