// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tensoa/core/dtype.hpp"
#include "tensoa/core/event.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/core/queue_memory.hpp"

// Results of a call on a GPU: arrays in memory of this library, for other libraries.

namespace tensoa::python {

namespace nb = nanobind;

/// Memory of the results of a call, in the order of its queue. Freed after the work of all queues that used it.
/// *Threads*: safe.
class ResultMemory {
 public:
  /// @throws DeviceFullError, DeviceError
  ResultMemory(const Queue& queue, std::size_t bytes)
      : source_(queue), buffer_(queue.device(), bytes, source_) {}
  ResultMemory(const ResultMemory&) = delete;
  ResultMemory& operator=(const ResultMemory&) = delete;
  ~ResultMemory();

  std::byte* data() const noexcept { return buffer_.data(); }
  const Queue& queue() const noexcept { return source_.queue(); }

  /// Called when the call that writes it is enqueued.
  void set_written(const Event& end) { written_ = end; }

  /// Work on `other` from now on sees what was written, and goes on using it. @throws DeviceError
  void share_with(const Queue& other);

  /// The same where the streams of the others are not known.
  void share_with_anyone();

  /// Blocks until the call has written. @throws DeviceError
  void wait() const;

 private:
  QueueMemory source_;
  Buffer buffer_;
  std::optional<Event> written_;
  std::mutex mutex_;
  std::vector<Queue> others_;
  bool is_anyones_ = false;
};

/// tensoa._runtime.DeviceArray: an array in such memory, with DLPack and the CUDA array interface.
struct DeviceArray {
  std::shared_ptr<ResultMemory> memory;
  std::byte* data = nullptr;
  DType dtype = DType::kF32;
  std::vector<std::size_t> shape;
  std::vector<std::int64_t> strides;  ///< in elements

  /// @param stream of the caller: its number, None for the legacy default stream, -1: the caller sees to the order
  nb::object dlpack(nb::handle stream, const nb::kwargs& others) const;

  /// The same for a caller whose stream is in the order of the call already. @param others as of __dlpack__
  nb::object exported(const nb::kwargs& others) const;
  nb::tuple dlpack_device() const;

  /// @throws Python's AttributeError for bfloat16, which it does not have
  nb::dict cuda_array_interface() const;

  std::string repr() const;
};

/// Adds the class to a module.
void add_device_array(nb::module_& module);

}  // namespace tensoa::python
