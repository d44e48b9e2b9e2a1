// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "tensoa/core/device.hpp"

/// @file
/// How much memory tensoa itself holds on each device, and a limit for it. What a process shares a
/// GPU with (the framework's own memory, other libraries) is not counted: device_memory() sees all.

namespace tensoa {

/// The purpose of memory. kEngines: memory that the libraries of engines hold for any purpose;
/// pytorch::torch_memory() has details. kPinned: PinnedBuffer; of the CPU, whichever GPU it serves.
enum class MemoryPurpose : std::uint8_t { kCollections, kWeights, kWorkspaces, kEngines, kPinned };

inline constexpr std::size_t kMemoryPurposes = 5;

/// "collections", "weights", "workspaces", "engines", "pinned".
std::string_view name_of(MemoryPurpose purpose) noexcept;

/// No limit: the budget of a device for which none was set.
inline constexpr std::size_t kNoBudget = std::numeric_limits<std::size_t>::max();

/// Limits tensoa to `bytes` bytes on `device`, for all purposes together: an allocation beyond the limit
/// throws DeviceFullError before the device is asked. Existing allocations stay, even above the budget.
/// kNoBudget removes the limit.
/// @throws DeviceError when the device is not there
/// *Threads*: safe.
void memory_budget(Device device, std::size_t bytes);

/// The budget of `device` in bytes; kNoBudget where none was set. @throws DeviceError
std::size_t memory_budget(Device device);

/// Memory that tensoa holds on one device, in bytes.
struct MemoryFigures {
  struct Figure {
    std::size_t now = 0;
    std::size_t peak = 0;  ///< the most at one time since the process started
  };

  Figure all;  ///< its peak is at most the sum of the others, which need not be at the same time
  std::array<Figure, kMemoryPurposes> of_purpose;
  std::size_t budget = kNoBudget;

  const Figure& of(MemoryPurpose purpose) const noexcept {
    return of_purpose[static_cast<std::size_t>(purpose)];
  }
};

/// Returns the memory that tensoa holds on `device` now, and the most that it held. @throws DeviceError
/// *Threads*: safe; while others allocate, figures may be of different moments.
MemoryFigures memory_figures(Device device);

/// Bytes charged to a budget, and released by the destructor. Code that allocates device memory without
/// Buffer (an engine whose library allocates) keeps one for each allocation. Move-only.
/// *Threads*: making and ending are atomic additions; no lock.
class MemoryCharge {
 public:
  MemoryCharge() noexcept = default;

  /// @throws DeviceFullError with the budget, the memory in use and the requested memory, where the budget does not hold
  /// `bytes` more; DeviceError when the device is not there
  MemoryCharge(Device device, MemoryPurpose purpose, std::size_t bytes);
  ~MemoryCharge() { end(); }
  MemoryCharge(MemoryCharge&& other) noexcept;
  MemoryCharge& operator=(MemoryCharge&& other) noexcept;
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;

  Device device() const noexcept { return device_; }
  std::size_t bytes() const noexcept { return bytes_; }

  /// Changes the charge to `bytes`, also beyond the budget: for memory that a library has already
  /// allocated or freed. Later charges find that much less.
  void set_bytes(std::size_t bytes) noexcept;

 private:
  void end() noexcept { set_bytes(0); }

  Device device_;
  std::size_t bytes_ = 0;
  MemoryPurpose purpose_ = MemoryPurpose::kCollections;
};

}  // namespace tensoa
