// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>

namespace tensoa::remote {

class Region;

/// Host memory that this process shares with servers on the same host: collections made in it go to such a
/// server, and its answers come back, without a copy and without the wire.
///
///     remote::SharedMemory memory(256 << 20);
///     PortableCollection<Hits> hits(n, Device::cpu(), memory);
///
/// One region of POSIX shared memory, registered with a server by the first call that has columns in it, and
/// again when the server was restarted. A server that refuses it (Triton does by default since 26.04: start it
/// with --allow-client-shm=true), or runs on another host, gets the columns by the wire: one warning (log())
/// says so, and no call fails. docs/service.md lists the blocks that need no copy.
///
/// Outputs: the server writes into the columns while the call runs, so a call that fails may have changed
/// them. Where an attempt is given up, the pages of their collection are exchanged for others at the same
/// address first, so that a late server writes to pages that no thread reads: keep outputs of calls in flight in
/// collections that no other thread writes to.
///
/// Every allocation takes whole pages. Other users of the host cannot open the region: the server must run as
/// the user of this process, or as root. A process that is killed leaves its region in /dev/shm until another
/// SharedMemory is made there.
///
/// *Lifetime*: must outlive its collections. Its end waits for servers to unregister it, 1 s at most.
/// *Threads*: safe.
class SharedMemory final : public std::pmr::memory_resource {
 public:
  /// @param bytes rounded up to whole pages; taken from the host immediately
  /// @throws ConfigError for 0 bytes; DeviceFullError where /dev/shm has no room (containers have 64 MiB there by
  /// default: --shm-size, or --ipc=host)
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory() override;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::size_t size() const noexcept;

 private:
  /// For 0 bytes: a unique address. @throws DeviceFullError; ConfigError for an alignment above a page
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::shared_ptr<Region> region_;
};

}  // namespace tensoa::remote
