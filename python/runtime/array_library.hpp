// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <string>

#include "tensoa/core/device.hpp"
#include "tensoa/core/queue.hpp"

// The libraries that arrays come from: on which stream of a GPU they work, and how they take the memory of others.

namespace tensoa::python {

namespace nb = nanobind;

/// Makes a queue of a stream as DLPack and the CUDA array interface number them: 1, for HIP 0, is the legacy default stream.
/// @throws ConfigError, DeviceError as Queue::borrow
Queue queue_of_number(std::uintptr_t stream, Device device);

/// Gives the number of a queue of a GPU.
std::uintptr_t number_of(const Queue& queue);

/// Makes a queue of what was given as `stream=`: a handle as a number, or an object that has it, as `__cuda_stream__()`
/// (CUDA Python), `cuda_stream` (torch) or `ptr` (CuPy). @throws BindingError; DeviceError for a stream of another device
Queue queue_of(nb::handle stream, Device device, const std::string& subject);

/// DLPack's exchange API (dlpack.h 1.3), which torch has: what `__dlpack__` does, in nanoseconds and without streams.
class ExchangeApi {
 public:
  ExchangeApi() = default;

  /// Of the library of `array`; false where it has none.
  explicit ExchangeApi(nb::handle array);
  explicit operator bool() const noexcept { return table_ != nullptr; }

  /// The stream on which the library works on `device` now. @throws what Python raises
  Queue current_queue(Device device) const;

  /// Where `array` lies; it keeps sizes and strides. Nothing where the library refuses it.
  std::optional<nb::dlpack::dltensor> view(nb::handle array) const;

  /// Makes an array of the library over `array`, which has `__dlpack__`. @throws what Python raises
  nb::object take(nb::handle array) const;

 private:
  struct Table;
  const Table* table_ = nullptr;
};

/// Finds the stream on which the library of `array` works on `device` now: by the exchange API, or by the CUDA array
/// interface, as of CuPy. Nothing where neither says it.
std::optional<Queue> current_queue_of(nb::handle array, Device device);

/// Whether an array lies on a GPU.
bool is_on_gpu(nb::handle array);

/// The function that makes arrays of a library over the memory of others: its from_dlpack().
class ArrayLibrary {
 public:
  ArrayLibrary() = default;

  /// Of the library of `array`; false where it has none, and for NumPy.
  explicit ArrayLibrary(nb::handle array);
  explicit operator bool() const noexcept { return from_dlpack_.is_valid(); }

  /// @param array of NumPy, or a DeviceArray
  nb::object take(nb::handle array) const;

 private:
  nb::object from_dlpack_;
  ExchangeApi api_;
};

/// Known properties of a type of arrays, for fast calls.
struct ArrayType {
  nb::object type;
  ExchangeApi api;
  ArrayLibrary library;
  bool has_gradients = false;  ///< `requires_grad`
  bool has_signs = false;  ///< `is_neg()`, of torch: the numbers of the memory have another sign

  /// Where an array lies. Nothing where it has a gradient or another sign, or the library refuses it: `__dlpack__` says why.
  std::optional<nb::dlpack::dltensor> view(nb::handle array) const;
};

/// That of an array whose library has the exchange API; else nullptr. Lives as long as the process.
const ArrayType* array_type_of(nb::handle array);

}  // namespace tensoa::python
