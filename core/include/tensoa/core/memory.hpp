// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>

#include "tensoa/core/device.hpp"
#include "tensoa/core/lease.hpp"
#include "tensoa/core/memory_budget.hpp"
#include "tensoa/core/queue.hpp"

namespace tensoa {

/// Every allocation, and every column in it, starts on a line of this many bytes.
inline constexpr std::size_t kAlignment = 128;

/// A resource whose memory is charged to the budget when it takes it from the device, free parts too: what is made in it
/// is not charged again. Pools over such a resource hide it: what is made in those is.
class ChargedMemory : public std::pmr::memory_resource {};

/// Memory of one device, freed with the object. Not initialised. Move-only. Counted by
/// memory_figures(), limited by memory_budget().
///
/// *Stream order*: freeing CUDA memory waits for the device, so work that still uses it is safe;
/// keep buffers alive and reuse them instead of making one per event.
class Buffer {
 public:
  Buffer() noexcept = default;

  /// `bytes` bytes on `device`, aligned to kAlignment; 0 bytes is a valid, empty buffer.
  /// @throws DeviceFullError when the device's memory or budget is; DeviceError when the device is
  /// not there.
  Buffer(Device device, std::size_t bytes, MemoryPurpose purpose = MemoryPurpose::kCollections);

  /// The same, from a resource of the caller's.
  /// @param source allocates memory of `device`; must outlive the buffer. Charged here, unless it is ChargedMemory
  /// @throws what `source` throws; DeviceFullError when the budget is full
  Buffer(Device device, std::size_t bytes, std::pmr::memory_resource& source,
         MemoryPurpose purpose = MemoryPurpose::kCollections);

  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() = default;

  std::byte* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return data_ == nullptr ? 0 : data_.get_deleter().bytes; }
  Device device() const noexcept { return charge_.device(); }

  /// Live as long as the memory, wherever the buffer moves.
  Lease lease() const noexcept { return lease_.lease(); }

  /// The lease from now on: those before are not current any more (LeaseOwner::renew).
  Lease renew_lease() noexcept { return lease_.renew(); }

 private:
  struct Release {
    Device device;
    std::pmr::memory_resource* source;  ///< nullptr: the device itself
    std::size_t bytes;
    void operator()(std::byte* data) const noexcept;
  };

  MemoryCharge charge_;  // before data_, so that the memory is free when its bytes are given back
  std::unique_ptr<std::byte, Release> data_;
  LeaseOwner lease_;  // after data_, so that leases end before the memory does
};

/// Host memory that a GPU copies from and to without the host's help, freed with the object. Not
/// initialised. Move-only. Counted by memory_figures() of the CPU, limited by its memory_budget().
///
/// *Stream order*: copies from and to it are asynchronous; keep it until the queue has got there,
/// and do not write to what is still to be read. Making and freeing it is slow and may wait for the
/// device: reuse it.
class PinnedBuffer {
 public:
  PinnedBuffer() noexcept = default;

  /// `bytes` bytes for queues of `device`; plain host memory where that is the CPU. 0 bytes is a
  /// valid, empty buffer.
  /// @throws DeviceFullError when the host has no more memory to pin, or the CPU's budget is full;
  /// DeviceError when the device is not there
  PinnedBuffer(Device device, std::size_t bytes);

  PinnedBuffer(PinnedBuffer&&) noexcept = default;
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer() = default;

  std::byte* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return charge_.bytes(); }

 private:
  struct Release {
    Device device;
    void operator()(std::byte* data) const noexcept;
  };

  MemoryCharge charge_;  // before data_, as in Buffer
  std::unique_ptr<std::byte, Release> data_;
};

/// Copies `bytes` bytes, in the order of `queue`. Host and device in any combination.
/// @param queue belongs to the CUDA device that takes part, or is a CPU queue where both sides are
/// host memory
/// *Stream order*: asynchronous on CUDA as far as the driver allows; both sides must stay alive
/// until the queue has got there.
/// @throws DeviceError
void copy_bytes(const Queue& queue, void* to, Device to_device, const void* from,
                Device from_device, std::size_t bytes);

/// Sets `bytes` bytes to zero, in the order of `queue`. @throws DeviceError
void zero_bytes(const Queue& queue, void* data, std::size_t bytes);

}  // namespace tensoa
