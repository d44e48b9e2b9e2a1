// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/memory.hpp"

#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "device_ops.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

std::byte* allocate_on_cpu(std::size_t bytes) {
  void* data = ::operator new(bytes, std::align_val_t{kAlignment}, std::nothrow);
  if (data == nullptr)
    throw DeviceFullError("allocating " + std::to_string(bytes) + " bytes on cpu: out of memory");
  return static_cast<std::byte*>(data);
}

std::byte* allocate(Device device, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  if (device.is_cpu()) return allocate_on_cpu(bytes);
  return static_cast<std::byte*>(detail::gpu_allocate(device.index, bytes));
}

std::byte* allocate_pinned(Device device, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  if (device.is_cpu()) return allocate_on_cpu(bytes);
  return static_cast<std::byte*>(detail::gpu_allocate_pinned(device.index, bytes));
}

}  // namespace

Buffer::Buffer(Device device, std::size_t bytes, MemoryPurpose purpose)
    : charge_(device, purpose, bytes),
      data_(allocate(device, bytes), Release{device, nullptr, bytes}),
      lease_(LeaseOwner::make()) {}

Buffer::Buffer(Device device, std::size_t bytes, std::pmr::memory_resource& source,
               MemoryPurpose purpose)
    : charge_(device, purpose, dynamic_cast<ChargedMemory*>(&source) == nullptr ? bytes : 0),
      data_(bytes == 0 ? nullptr : static_cast<std::byte*>(source.allocate(bytes, kAlignment)),
            Release{device, &source, bytes}),
      lease_(LeaseOwner::make()) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  lease_ = std::move(other.lease_);  // what there was goes in the order of destruction
  data_ = std::move(other.data_);
  charge_ = std::move(other.charge_);
  return *this;
}

void Buffer::Release::operator()(std::byte* data) const noexcept {
  if (source != nullptr) {
    source->deallocate(data, bytes, kAlignment);
  } else if (device.is_cpu()) {
    ::operator delete(data, std::align_val_t{kAlignment});
  } else {
    detail::gpu_free(device.index, data);
  }
}

PinnedBuffer::PinnedBuffer(Device device, std::size_t bytes) {
  require_available(device);
  charge_ = MemoryCharge(Device::cpu(), MemoryPurpose::kPinned, bytes);
  data_ = {allocate_pinned(device, bytes), Release{device}};
}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  data_ = std::move(other.data_);
  charge_ = std::move(other.charge_);
  return *this;
}

void PinnedBuffer::Release::operator()(std::byte* data) const noexcept {
  if (device.is_cpu()) {
    ::operator delete(data, std::align_val_t{kAlignment});
  } else {
    detail::gpu_free_pinned(device.index, data);
  }
}

void copy_bytes(const Queue& queue, void* to, Device to_device, const void* from,
                Device from_device, std::size_t bytes) {
  if (bytes == 0) return;
  for (const Device side : {to_device, from_device}) {
    if (!side.is_cpu() && side != queue.device()) {
      throw DeviceError("copying between " + to_string(from_device) + " and " +
                        to_string(to_device) + " needs a queue of the CUDA device, got one of " +
                        to_string(queue.device()));
    }
  }
  if (queue.device().is_cpu()) {
    std::memcpy(to, from, bytes);
  } else {
    detail::gpu_copy(queue.device().index, queue.native_handle(), to, from, bytes);
  }
}

void zero_bytes(const Queue& queue, void* data, std::size_t bytes) {
  if (bytes == 0) return;
  if (queue.device().is_cpu()) {
    std::memset(data, 0, bytes);
  } else {
    detail::gpu_zero(queue.device().index, queue.native_handle(), data, bytes);
  }
}

}  // namespace tensoa
