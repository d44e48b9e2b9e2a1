// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "tensoa/core/device.hpp"
#include "tensoa/core/memory.hpp"

namespace tensoa {

/// Names memory of a GPU to the other processes of the host: the bytes of a `cudaIpcMemHandle_t`
/// (`hipIpcMemHandle_t` in a build for HIP).
using MemoryHandle = std::array<std::byte, 64>;

/// The smallest share of a GPU's memory that is another process's alone: a driver puts smaller allocations
/// together, and a handle opens all of them.
inline constexpr std::size_t kExportedUnit = std::size_t{2} << 20U;

/// Names `buffer` to other processes, which read and write it while it lives.
/// @param buffer on a GPU, a multiple of kExportedUnit bytes, not from a resource of the caller's
/// @throws ConfigError for another buffer; DeviceError where the driver refuses
MemoryHandle export_memory(const Buffer& buffer);

/// Memory of a GPU that another process has exported. Move-only.
///
/// *Lifetime*: the other process must keep its buffer until this has ended.
/// *Stream order*: streams of two processes are not ordered: wait for one before the other begins.
class ImportedMemory {
 public:
  /// @param device the same GPU as the exporter's; its number may be another one
  /// @throws DeviceError for a handle that is not one, is of this process, or of another GPU
  ImportedMemory(Device device, const MemoryHandle& handle);
  ~ImportedMemory();
  ImportedMemory(ImportedMemory&& other) noexcept
      : device_(other.device_), data_(std::exchange(other.data_, nullptr)) {}
  ImportedMemory& operator=(ImportedMemory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    return *this;
  }
  ImportedMemory(const ImportedMemory&) = delete;
  ImportedMemory& operator=(const ImportedMemory&) = delete;

  std::byte* data() const noexcept { return data_; }
  Device device() const noexcept { return device_; }

 private:
  Device device_;
  std::byte* data_;
};

}  // namespace tensoa
