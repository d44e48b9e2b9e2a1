// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/device.hpp"

#include <charconv>
#include <fstream>
#include <limits>
#include <string>

#include "device_ops.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/log.hpp"

namespace tensoa {
namespace {

std::string devices_there() {
  const int gpus = device_count(DeviceKind::kCuda);
  if (gpus == 0) return "cpu";
  if (gpus == 1) return "cpu, cuda:0";
  return "cpu, cuda:0 to cuda:" + std::to_string(gpus - 1);
}

/// The first GPU, else the CPU.
Device any_device() {
  if (device_count(DeviceKind::kCuda) > 0) return Device::cuda();
  if (const std::string why = detail::gpu_problem(); !why.empty()) {
    log(LogLevel::kWarning, "device auto is the cpu" + why);
  }
  return Device::cpu();
}

DeviceMemory host_memory() {
  DeviceMemory memory;
  std::ifstream file("/proc/meminfo");  // lines such as "MemAvailable:   12345 kB"
  for (std::string name; file >> name;) {
    std::size_t kibibytes = 0;
    file >> kibibytes;
    if (name == "MemTotal:") memory.total = kibibytes * 1024;
    if (name == "MemAvailable:") memory.free = kibibytes * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  if (memory.total == 0) throw DeviceError("cpu: /proc/meminfo does not tell the memory");
  return memory;
}

}  // namespace

int device_count(DeviceKind kind) noexcept {
  return kind == DeviceKind::kCpu ? 1 : detail::gpu_count();
}

std::vector<Device> devices() {
  std::vector<Device> all{Device::cpu()};
  for (int i = 0; i < device_count(DeviceKind::kCuda); ++i) all.push_back(Device::cuda(i));
  return all;
}

void require_available(Device device) {
  if (device.index >= 0 && device.index < device_count(device.kind)) return;
  throw DeviceError("device " + to_string(device) + " is not there; there is: " + devices_there() +
                    (device.is_cpu() ? "" : detail::gpu_problem()));
}

std::string to_string(Device device) {
  if (device == Device::cpu()) return "cpu";
  return (device.is_cpu() ? "cpu:" : "cuda:") + std::to_string(device.index);
}

std::string device_name(Device device) {
  require_available(device);
  return device.is_cpu() ? "CPU" : detail::gpu_name(device.index);
}

DeviceMemory device_memory(Device device) {
  require_available(device);
  return device.is_cpu() ? host_memory() : detail::gpu_memory(device.index);
}

Device device_of(const void* data) {
  const int index = detail::gpu_device_of(data);
  return index < 0 ? Device::cpu() : Device::cuda(index);
}

void wait_for_all_work(Device device) {
  require_available(device);
  if (!device.is_cpu()) detail::gpu_wait(device.index);
}

Device parse_device(std::string_view text) {
  if (text == "cpu") return Device::cpu();
  if (text == "auto") return any_device();
  constexpr std::string_view kCuda = "cuda";
  if (text.starts_with(kCuda)) {
    std::string_view number = text.substr(kCuda.size());
    int index = 0;
    if (!number.empty()) {
      const char* end = number.data() + number.size();
      const auto [last, status] = std::from_chars(number.data() + 1, end, index);
      if (number.front() != ':' || status != std::errc{} || last != end) index = -1;
    }
    if (index >= 0) {
      require_available(Device::cuda(index));
      return Device::cuda(index);
    }
  }
  throw ConfigError("device \"" + std::string(text) +
                    "\" is unknown; expected auto, cpu or cuda:N");
}

}  // namespace tensoa
