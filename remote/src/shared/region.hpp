// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "transport/transport.hpp"

namespace tensoa::remote {

/// A region of POSIX shared memory, and who has which pages of it. An allocation keeps its address; its pages may
/// be exchanged for others of the region.
/// *Threads*: safe.
class Region {
 public:
  /// @throws ConfigError, DeviceFullError
  explicit Region(std::size_t bytes);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  /// What servers call it; its key is "/" and this.
  const std::string& name() const noexcept { return name_; }
  std::size_t bytes() const noexcept { return bytes_; }

  /// Whole pages; nullptr where no stretch is long enough.
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
  void exchange_pages(const void* data);

  /// Remembers where the region is registered.
  void note_registered(const std::string& server, std::shared_ptr<Connection> connection);

  /// Unregisters it everywhere, and waits for 1 s at most.
  void unregister();

 private:
  struct Allocation {
    std::size_t bytes = 0;
    std::optional<std::size_t> place;  ///< of its pages; nullopt: private ones
  };
  using Allocations = std::map<std::size_t, Allocation>;

  Allocations::const_iterator around(const void* data) const;
  std::optional<std::size_t> take(std::size_t bytes);
  void give_back(std::size_t place, std::size_t bytes);

  std::string name_;
  std::size_t bytes_;
  int file_ = -1;
  std::byte* base_ = nullptr;

  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_;  ///< place and length of stretches that are free
  Allocations allocations_;                  ///< by the offset of their address
  std::map<std::string, std::shared_ptr<Connection>> registered_;
};

/// The live region that has the address; nullptr: none. Cheap where there is no region.
std::shared_ptr<Region> region_of(const void* data);

/// Makes region_of() find it, while it lives.
void publish(const std::shared_ptr<Region>& region);

}  // namespace tensoa::remote
