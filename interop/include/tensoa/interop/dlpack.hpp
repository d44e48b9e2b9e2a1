// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tensoa/core/queue.hpp"
#include "tensoa/core/tensor_view.hpp"

struct DLManagedTensorVersioned;

/// @file
/// Tensors to and from other libraries (torch, NumPy, JAX, CuPy) in one process, without a copy, by
/// DLPack 1.
///
/// Ownership: the importer of a tensor calls the exporter's deleter once; the memory lives until
/// then. In Python a tensor travels as a PyCapsule "dltensor_versioned" (docs/interop.md).

namespace tensoa::interop {

/// Calls the deleter of a tensor that no consumer has taken.
struct ReleaseDLPack {
  void operator()(DLManagedTensorVersioned* tensor) const noexcept;
};

/// A tensor on its way: `release()` gives it to the consumer, who then calls its deleter.
using DLPackTensor = std::unique_ptr<DLManagedTensorVersioned, ReleaseDLPack>;

/// The consumer's stream as `__dlpack__(stream=…)` has it: none (Python's None) is the legacy
/// default stream, -1 no ordering at all, 1 the legacy and 2 the per-thread default stream, larger
/// numbers are a `cudaStream_t`.
using DLPackStream = std::optional<std::intptr_t>;

/// `tensor` for a consumer in this process, O(1): same memory, strides always given, the read-only
/// flag where `tensor.read_only`. Without rows the data pointer is null, as DLPack has it.
///
///     auto hits = std::make_shared<PortableCollection<Hit>>(n, device);
///     …
///     to_dlpack(blocks.blocks()[0].tensor, hits)
///
/// @param owner released with the tensor, in whatever thread the consumer releases it; an empty
/// pointer promises that the memory outlives the consumer
/// *Stream order*: none: for memory of the host, or work that was waited for.
DLPackTensor to_dlpack(const TensorView& tensor, std::shared_ptr<const void> owner);

/// The same, and what the consumer enqueues on its stream from now on starts after all that
/// `producer` has been given: an event, no wait of the host.
/// @param producer the queue that writes the tensor; of its device
/// @param stream of the consumer; on the CPU none or -1
/// @throws DeviceError when `producer` belongs to another device; ConfigError for the stream 0,
/// which is ambiguous, a negative one, or any on the CPU
DLPackTensor to_dlpack(const TensorView& tensor, std::shared_ptr<const void> owner,
                       const Queue& producer, DLPackStream stream);

/// Returns what to pass as `stream` to an exporter whose tensor `queue` will use; none on the CPU.
DLPackStream dlpack_stream(const Queue& queue) noexcept;

/// A tensor of another library.
///
/// *Lifetime*: the memory lives until the last copy of `owner` is gone, which may be handed on
/// (to_dlpack accepts it). On CUDA the exporter may reuse the memory immediately on its own stream: let
/// go only when the work that you enqueued is done.
struct ImportedTensor {
  TensorView view;         ///< read_only is the exporter's flag: honour it
  bool is_copied = false;  ///< the exporter made a copy: writes are not seen by the owner
  std::shared_ptr<void> owner;
};

/// Takes `tensor` over, also when it throws: its deleter is called exactly once.
///
/// Accepts bool, (u)int8, int16/32/64, float16, bfloat16, float32, float64; up to 4 dimensions
/// with strides of 0 and above (none: row-major); memory of the host (pinned too) and of CUDA.
/// *Stream order*: the exporter orders the memory for the stream that it was given (dlpack_stream).
/// @throws ConfigError without a tensor; InputError for another major version of DLPack and for
/// unsupported tensors; DeviceError for a device that is not there
ImportedTensor from_dlpack(DLManagedTensorVersioned* tensor);

}  // namespace tensoa::interop
