// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/imported_memory.hpp"

#include <string>

#include "device_ops.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa {

MemoryHandle export_memory(const Buffer& buffer) {
  if (buffer.device().is_cpu() || buffer.size() == 0 || buffer.size() % kExportedUnit != 0) {
    throw ConfigError("export_memory: got " + std::to_string(buffer.size()) + " bytes on " +
                      to_string(buffer.device()) + ", expected a multiple of " +
                      std::to_string(kExportedUnit) +
                      " bytes on a GPU; memory of the host is shared by remote::SharedMemory");
  }
  return detail::gpu_export(buffer.device().index, buffer.data());
}

ImportedMemory::ImportedMemory(Device device, const MemoryHandle& handle) : device_(device) {
  require_available(device);
  if (device.is_cpu()) {
    throw ConfigError("ImportedMemory: got the cpu, expected the GPU that the memory is on");
  }
  data_ = static_cast<std::byte*>(detail::gpu_import(device.index, handle));
}

ImportedMemory::~ImportedMemory() {
  if (data_ != nullptr) detail::gpu_import_end(device_.index, data_);
}

}  // namespace tensoa
