// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <span>
#include <vector>

#include "device_double.hpp"
#include "device_ops.hpp"
#include "ragged.hpp"
#include "strided.hpp"

namespace tensoa::detail {
namespace {

/// The body of the kernel, for one element after the other. @param read where it begins to read
template <class Tensor>
void write_elements(int device, void* stream, const Tensor& tensor, const void* read,
                    const void* offsets = nullptr) {
  test::DeviceDouble::enqueue(device, stream, {tensor.to, read, offsets}, [tensor] {
    for (std::int64_t i = 0; i < tensor.elements(); ++i) write_element(tensor, i);
  });
}

}  // namespace

bool gpu_has_kernels() noexcept { return true; }

void gpu_write(int device, void* stream, std::span<const StridedCopy> copies) {
  std::vector<const void*> memory;
  for (const StridedCopy& copy : copies) memory.insert(memory.end(), {copy.to, copy.from});
  const std::vector<StridedCopy> all(copies.begin(), copies.end());
  test::DeviceDouble::enqueue(device, stream, memory, [all] {
    for (const StridedCopy& copy : all) {
      for (std::int64_t i = 0; i < copy.elements(); ++i) write_element(copy, i);
    }
  });
}
void gpu_write(int device, void* stream, const PaddedRows& rows) {
  write_elements(device, stream, rows, rows.from, rows.groups.data);
}
void gpu_write(int device, void* stream, const GroupMask& mask) {
  write_elements(device, stream, mask, mask.groups.data);
}
void gpu_write(int device, void* stream, const GroupSegments& segments) {
  write_elements(device, stream, segments, segments.groups.data);
}

}  // namespace tensoa::detail
