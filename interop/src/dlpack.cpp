// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/interop/dlpack.hpp"

#include <arrow/c/dlpack_abi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"
#include "tensoa/core/event.hpp"

namespace tensoa::interop {
namespace {

// DLPACK_FLAG_BITMASK_IS_COPIED, which the header of DLPack 1.0 has not.
constexpr std::uint64_t kIsCopied = 1U << 1U;

/// Elements, and distance from the first to the last of them: more than any memory has, and all products of
/// sizes, strides and element sizes stay below 2^63.
constexpr std::int64_t kMost = std::int64_t{1} << 48U;

constexpr DType kDTypes[] = {DType::kBool, DType::kU8,  DType::kI8,   DType::kI16, DType::kI32,
                             DType::kI64,  DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

DLDataType to_dl(DType dtype) noexcept {
  const auto of_code = [dtype](DLDataTypeCode code) {
    return DLDataType{static_cast<std::uint8_t>(code),
                      static_cast<std::uint8_t>(8 * size_of(dtype)), 1};
  };
  switch (dtype) {
    case DType::kBool:
      return of_code(kDLBool);
    case DType::kU8:
      return of_code(kDLUInt);
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      return of_code(kDLInt);
    case DType::kBF16:
      return of_code(kDLBfloat);
    case DType::kF16:
    case DType::kF32:
    case DType::kF64:
      return of_code(kDLFloat);
  }
  return {};
}

/// The structs that an exported tensor points to, and the memory that it keeps alive.
struct Exported {
  DLManagedTensorVersioned tensor{};
  std::array<std::int64_t, kMaxRank> sizes;
  std::array<std::int64_t, kMaxRank> strides;
  std::shared_ptr<const void> owner;
};

[[noreturn]] void refuse(const std::string& what) { throw InputError("from_dlpack: " + what); }

DType dtype_of(const DLDataType& type) {
  for (const DType dtype : kDTypes) {
    const DLDataType known = to_dl(dtype);
    if (type.code == known.code && type.bits == known.bits && type.lanes == known.lanes) {
      return dtype;
    }
  }
  refuse("got elements of DLPack type code " + std::to_string(type.code) + ", " +
         std::to_string(type.bits) + " bits, " + std::to_string(type.lanes) +
         " lanes; expected bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32 or "
         "float64; convert the tensor before");
}

Device device_of(const DLDevice& device) {
  if (device.device_type == kDLCPU || device.device_type == kDLCUDAHost) return Device::cpu();
  if (device.device_type != kDLCUDA) {
    refuse("got a tensor on a device of DLPack type " + std::to_string(device.device_type) +
           ", expected 1 (cpu), 2 (cuda) or 3 (pinned memory of the host)");
  }
  require_available(Device::cuda(device.device_id));
  return Device::cuda(device.device_id);
}

TensorView view_of(const DLTensor& tensor, bool read_only) {
  TensorView view;
  view.dtype = dtype_of(tensor.dtype);
  view.device = device_of(tensor.device);
  view.read_only = read_only;
  if (tensor.ndim < 0 || std::cmp_greater(tensor.ndim, kMaxRank)) {
    refuse("got a tensor of " + std::to_string(tensor.ndim) + " dimensions, expected 0 to " +
           std::to_string(kMaxRank) + "; reshape it before");
  }
  view.rank = static_cast<std::uint8_t>(tensor.ndim);
  if (view.rank > 0 && tensor.shape == nullptr) refuse("got a tensor without a shape");
  std::int64_t elements = 1;
  std::int64_t reach = 0;
  for (std::size_t dim = view.rank; dim-- > 0;) {
    const std::int64_t size = tensor.shape[dim];
    const std::int64_t stride = tensor.strides != nullptr ? tensor.strides[dim] : elements;
    if (size < 0 || stride < 0) {
      refuse("dimension " + std::to_string(dim) + " has size " + std::to_string(size) +
             " and stride " + std::to_string(stride) +
             ", expected none below 0; make the tensor contiguous before");
    }
    std::int64_t along = 0;  // a stride that is never used may be anything
    if (__builtin_mul_overflow(elements, std::max<std::int64_t>(size, 1), &elements) ||
        (size > 1 && __builtin_mul_overflow(size, stride, &along)) ||
        __builtin_add_overflow(reach, along, &reach) || std::max(elements, reach) > kMost) {
      refuse("with dimension " + std::to_string(dim) + " of size " + std::to_string(size) +
             " and stride " + std::to_string(stride) +
             " the tensor is larger than any memory, expected at most 2^48 elements; its sizes or "
             "strides are wrong");
    }
    view.size_of_dim[dim] = size;
    view.stride_of_dim[dim] = stride;
  }
  if (view.elements() == 0) return view;
  if (tensor.data == nullptr) {
    refuse("got no data for " + to_string(view));
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(tensor.data);
  const std::uint64_t bytes = static_cast<std::uint64_t>(reach + 1) * size_of(view.dtype);
  if (std::uint64_t end = 0; __builtin_add_overflow(tensor.byte_offset, bytes, &end) ||
                             end > std::numeric_limits<std::uintptr_t>::max() - begin) {
    refuse("byte_offset " + std::to_string(tensor.byte_offset) + " of " + to_string(view) +
           " leads beyond the last address");
  }
  view.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  if (reinterpret_cast<std::uintptr_t>(view.data) % size_of(view.dtype) != 0) {
    refuse("the data of " + to_string(view) + " starts at an address that is not a multiple of " +
           std::to_string(size_of(view.dtype)) + " bytes; copy the tensor before");
  }
  return view;
}

}  // namespace

void ReleaseDLPack::operator()(DLManagedTensorVersioned* tensor) const noexcept {
  if (tensor->deleter != nullptr) tensor->deleter(tensor);
}

DLPackTensor to_dlpack(const TensorView& tensor, std::shared_ptr<const void> owner) {
  auto exported = std::make_unique<Exported>();
  exported->sizes = tensor.size_of_dim;
  exported->strides = tensor.stride_of_dim;
  exported->owner = std::move(owner);

  DLManagedTensorVersioned& managed = exported->tensor;
  managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  managed.flags = tensor.read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  managed.manager_ctx = exported.get();
  managed.deleter = [](DLManagedTensorVersioned* self) {
    delete static_cast<Exported*>(self->manager_ctx);
  };
  managed.dl_tensor.data = tensor.elements() == 0 ? nullptr : tensor.data;
  managed.dl_tensor.device = {tensor.device.is_cpu() ? kDLCPU : kDLCUDA, tensor.device.index};
  managed.dl_tensor.ndim = tensor.rank;
  managed.dl_tensor.dtype = to_dl(tensor.dtype);
  managed.dl_tensor.shape = exported->sizes.data();
  managed.dl_tensor.strides = exported->strides.data();
  return DLPackTensor(&exported.release()->tensor);
}

DLPackTensor to_dlpack(const TensorView& tensor, std::shared_ptr<const void> owner,
                       const Queue& producer, DLPackStream stream) {
  const Device device = tensor.device;
  if (producer.device() != device) {
    throw DeviceError("to_dlpack: got a queue of " + to_string(producer.device()) + " for " +
                      to_string(tensor) + "; expected a queue of " + to_string(device));
  }
  if (stream.has_value() && *stream != -1 && (device.is_cpu() || *stream < 1)) {
    throw ConfigError("to_dlpack: got the stream " + std::to_string(*stream) + " for " +
                      to_string(tensor) + ", expected " +
                      (device.is_cpu() ? "None or -1"
                                       : "None, -1, 1 (legacy default stream), 2 (per-thread "
                                         "default stream) or a cudaStream_t"));
  }
  DLPackTensor exported = to_dlpack(tensor, std::move(owner));
  const std::intptr_t handle = stream.value_or(1);
  if (!device.is_cpu() && handle != -1) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): DLPack hands streams over as numbers
    Event(producer).make_wait(reinterpret_cast<void*>(handle));
  }
  return exported;
}

DLPackStream dlpack_stream(const Queue& queue) noexcept {
  if (queue.device().is_cpu()) return std::nullopt;
  return reinterpret_cast<std::intptr_t>(queue.native_handle());
}

ImportedTensor from_dlpack(DLManagedTensorVersioned* tensor) {
  if (tensor == nullptr) throw ConfigError("from_dlpack: got no tensor");
  ImportedTensor imported;
  imported.owner = {tensor, ReleaseDLPack()};
  // Of another version only the deleter may be touched.
  if (tensor->version.major != DLPACK_MAJOR_VERSION) {
    refuse("got a tensor of DLPack " + std::to_string(tensor->version.major) + "." +
           std::to_string(tensor->version.minor) + ", expected version " +
           std::to_string(DLPACK_MAJOR_VERSION) +
           "; request it with __dlpack__(max_version=(1, 0))");
  }
  imported.is_copied = (tensor->flags & kIsCopied) != 0;
  imported.view = view_of(tensor->dl_tensor, (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0);
  return imported;
}

}  // namespace tensoa::interop
