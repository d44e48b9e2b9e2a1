// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "shared/live_regions.hpp"
#include "shared/shared_region.hpp"
#include "shared/stretches.hpp"

namespace tensoa::remote {

/// A region of POSIX shared memory, and who has which pages of it. An allocation keeps its address; its pages may
/// be exchanged for others of the region.
/// *Threads*: safe.
class Region final : public SharedRegion {
 public:
  /// @throws ConfigError, DeviceFullError
  explicit Region(std::size_t bytes);
  ~Region() override;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  /// Its key is "/" and its name.
  std::string registration() const override;

  std::size_t bytes() const noexcept { return bytes_; }

  /// Where an allocation begins: a page.
  static std::size_t unit() noexcept;

  /// Whole pages, at least one; nullptr where no stretch is long enough.
  std::byte* allocate(std::size_t bytes);
  void release(std::byte* data) noexcept;

  /// Whether the address is one of the region's. Not that it is shared.
  bool contains(const void* data) const noexcept {
    const auto* const byte = static_cast<const std::byte*>(data);
    return byte >= base_ && byte < base_ + bytes_;
  }

  /// Where the bytes are in the region; nullopt where they are not in one allocation, or not shared any more.
  std::optional<std::uint64_t> find(const void* data, std::size_t bytes) const;

  /// Gives the allocation around `data` other pages, with the same contents: those that it had are never used
  /// again, as a server may still write to them. Where no others are free the allocation is private from now on.
  /// @throws DeviceFullError where the process has no address for them; nothing has changed then
  void exchange_pages(const void* data);

 private:
  struct Allocation {
    std::size_t bytes = 0;
    std::optional<std::size_t> place;  ///< of its pages; nullopt: private ones
  };
  using Allocations = std::map<std::size_t, Allocation>;

  Allocations::const_iterator around(const void* data) const;

  std::size_t bytes_;
  int file_ = -1;
  std::byte* base_ = nullptr;

  mutable std::mutex mutex_;
  Stretches free_;
  Allocations allocations_;  ///< by the offset of their address
};

/// Those of SharedMemory.
LiveRegions<Region>& host_regions();

}  // namespace tensoa::remote
