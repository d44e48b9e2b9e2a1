// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>

#include "tensoa/core/device.hpp"
#include "tensoa/core/memory.hpp"

namespace tensoa::remote {

class DeviceRegion;

/// Memory of a GPU that this process shares with servers on the same host ("CUDA shared memory" in Triton): calls with a
/// column in it go to such a server, and its answers come back, without passing through the host.
///
///     remote::SharedDeviceMemory memory(Device::cuda(0), 256 << 20);
///     PortableCollection<Hits> hits(n, Device::cuda(0), memory);
///
/// Registered with a server by the first call that has columns in it, and again when the server was restarted. A
/// server that refuses it (Triton does by default since 26.04: --allow-client-shm=true), has no GPU, or runs on
/// another host, gets the columns by the wire: one warning (log()) says so, and no call fails.
///
/// Inputs whose elements lie side by side as they travel are read where they are; other inputs are gathered by the
/// GPU into free memory of the region first. Answers are written to free memory of the region and copied to the
/// columns by the GPU when the call has succeeded: a call that fails leaves the outputs as they are. So the region needs
/// room for the outputs of the calls in flight, and for inputs that are gathered; calls that find none go by the wire, and
/// one warning says so. Memory that a server which was given up may still write to is not used again.
///
/// *Lifetime*: must outlive its collections. Its end waits for servers to unregister it, 1 s at most.
/// *Threads*: safe.
class SharedDeviceMemory final : public ChargedMemory {
 public:
  /// @param device a GPU, of the same number in the server (CUDA_VISIBLE_DEVICES)
  /// @param bytes rounded up to 2 MiB; taken from the GPU, and charged to its memory_budget(), immediately
  /// @throws ConfigError for 0 bytes or the CPU; DeviceFullError; DeviceError, also where the driver does not share
  /// memory between processes
  SharedDeviceMemory(Device device, std::size_t bytes);
  ~SharedDeviceMemory() override;
  SharedDeviceMemory(const SharedDeviceMemory&) = delete;
  SharedDeviceMemory& operator=(const SharedDeviceMemory&) = delete;

  std::size_t size() const noexcept;

 private:
  /// For 0 bytes: a unique address. @throws DeviceFullError; ConfigError for an alignment above 256
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::shared_ptr<DeviceRegion> region_;
};

}  // namespace tensoa::remote
