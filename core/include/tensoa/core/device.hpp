// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa/core/impl/cpp20.hpp"  // first

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tensoa {

/// Where memory lies and work runs. kCuda is the GPU of the build: a build for HIP calls AMD's GPUs
/// "cuda" too, as torch's ROCm builds do, so that programs, files and messages stay the same.
enum class DeviceKind : std::uint8_t { kCpu, kCuda };

/// One device: the CPU, or the CUDA device of an index. A plain value; it need not be there.
struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;

  static constexpr Device cpu() noexcept { return {}; }
  static constexpr Device cuda(int index = 0) noexcept { return {DeviceKind::kCuda, index}; }

  constexpr bool is_cpu() const noexcept { return kind == DeviceKind::kCpu; }

  friend constexpr auto operator<=>(const Device&, const Device&) = default;
  friend constexpr bool operator==(const Device&, const Device&) = default;
};

/// The most devices that are used, the CPU among them; GPUs above are "not there".
inline constexpr int kMaxDevices = 65;

/// A different place, below kMaxDevices, for each device that can be there; far above for an index
/// below 0, and for any of the CPU but 0.
constexpr std::size_t place_of(Device device) noexcept {
  if (device == Device::cpu()) return 0;
  const int index = device.is_cpu() ? -1 : device.index;
  return std::size_t{1} + static_cast<std::uint32_t>(index);
}

/// Number of devices of this kind that the process can use now; 1 for the CPU, 0 where there is no
/// driver.
int device_count(DeviceKind kind) noexcept;

/// All devices that the process can use now: the CPU, then the GPUs by index.
std::vector<Device> devices();

/// @throws DeviceError with the devices that are there, unless `device` is one of them.
void require_available(Device device);

/// "cpu", "cuda:0".
std::string to_string(Device device);

/// The marketing name, e.g. "NVIDIA H200"; "CPU" for the CPU. @throws DeviceError
std::string device_name(Device device);

/// Memory of a device, in bytes.
struct DeviceMemory {
  std::size_t total = 0;
  std::size_t free = 0;  ///< for anybody, now; what other processes hold is not in it
};

/// The memory of `device`; of the CPU the memory that the kernel reports as available without swapping. On a GPU
/// the first use of the device by the process starts its driver's context there, which takes memory.
/// @throws DeviceError when the device is not there or lost
DeviceMemory device_memory(Device device);

/// Finds the device whose memory `data` points into: a GPU also for memory that it shares with the host (managed), else
/// the CPU. @throws DeviceError
Device device_of(const void* data);

/// Blocks the calling thread until all work on all streams of `device` is done. @throws DeviceError when some of it failed
void wait_for_all_work(Device device);

/// Reads "cpu", "cuda", "cuda:1" or "auto" (the first CUDA device where there is one, else the
/// CPU).
/// @throws ConfigError for any other text; DeviceError when the device is not there.
Device parse_device(std::string_view text);

/// How a foreign device type (alpaka's, the caller's own) is converted to a Device. It can then stand
/// for a Device: `PortableCollection<Hit, MyDevice> hits(n, my_device)`.
///
///     template <>
///     struct tensoa::DeviceTraits<MyDevice> {
///       static Device get(const MyDevice& device) { return Device::cuda(device.index()); }
///     };
///
/// `get` returns a Device by value; the index is the CUDA runtime's, CUDA_VISIBLE_DEVICES applied.
template <class D>
struct DeviceTraits;

template <>
struct DeviceTraits<Device> {
  static constexpr Device get(const Device& device) noexcept { return device; }
};

/// A type with a specialization of DeviceTraits.
template <class D>
concept DeviceLike = requires(const D& device) {
  { DeviceTraits<D>::get(device) } -> std::same_as<Device>;
};

}  // namespace tensoa
