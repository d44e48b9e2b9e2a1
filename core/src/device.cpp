// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/device.hpp"

#include <charconv>
#include <string>

#include "device_ops.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

std::string devices_there() {
  const int gpus = device_count(DeviceKind::kCuda);
  if (gpus == 0) return "cpu";
  if (gpus == 1) return "cpu, cuda:0";
  return "cpu, cuda:0 to cuda:" + std::to_string(gpus - 1);
}

}  // namespace

int device_count(DeviceKind kind) noexcept {
  return kind == DeviceKind::kCpu ? 1 : detail::gpu_count();
}

void require_available(Device device) {
  if (device.index >= 0 && device.index < device_count(device.kind)) return;
  throw DeviceError("device " + to_string(device) + " is not there; there is: " + devices_there());
}

std::string to_string(Device device) {
  return device.is_cpu() ? "cpu" : "cuda:" + std::to_string(device.index);
}

std::string device_name(Device device) {
  require_available(device);
  return device.is_cpu() ? "CPU" : detail::gpu_name(device.index);
}

Device parse_device(std::string_view text) {
  if (text == "cpu") return Device::cpu();
  if (text == "auto") return device_count(DeviceKind::kCuda) > 0 ? Device::cuda() : Device::cpu();
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
