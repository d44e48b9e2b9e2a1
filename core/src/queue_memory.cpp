// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/queue_memory.hpp"

#include "device_ops.hpp"

namespace tensoa {

void* QueueMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  const Device device = queue_.device();
  if (device.is_cpu()) return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  return detail::gpu_allocate_in_order(device.index, queue_.native_handle(), bytes);
}

void QueueMemory::do_deallocate(void* data, std::size_t bytes, std::size_t alignment) {
  const Device device = queue_.device();
  if (device.is_cpu()) return std::pmr::new_delete_resource()->deallocate(data, bytes, alignment);
  detail::gpu_free_in_order(device.index, queue_.native_handle(), data);
}

}  // namespace tensoa
