// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensoa/core/device.hpp"
#include "tensoa/core/dtype.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/soa/fields.hpp"

// Arrays of Python as memory: NumPy, and whatever speaks DLPack, the CUDA array interface, the buffer protocol or
// __array__.

namespace tensoa::python {

namespace nb = nanobind;

/// Where lists begin in what they hold, and the last one ends.
struct Offsets {
  const std::int64_t* first = nullptr;
  std::int64_t lists = 0;
  nb::object array;  ///< of NumPy; keeps the memory

  bool operator==(const Offsets& other) const;
};

/// Offsets of `array`. @throws BindingError where they are none: other than integers, or they run backwards
/// @param is_copied what others may write while a call runs
Offsets offsets_of(nb::handle array, const std::string& subject, bool is_copied);

/// An array of any library, where it lies.
struct ArrayView {
  static constexpr int kMostDimensions = 4;

  std::byte* data = nullptr;
  DType dtype = DType::kF32;
  bool read_only = false;
  Device device = Device::cpu();
  int rank = 0;
  std::array<std::int64_t, kMostDimensions> shape{};
  std::array<std::int64_t, kMostDimensions> stride{};  ///< bytes
  std::size_t copied = 0;                              ///< bytes that were written to make it
  bool is_in_order =
      true;  ///< when freed, the memory is used again in the order of the call's queue
  std::vector<Offsets> lists;  ///< that it is the content of, the outermost first
  nb::object awkward;          ///< the array of Awkward Array that it is a column of
  nb::object owner;            ///< keeps the memory
  nb::ndarray<nb::ro> tensor;  ///< likewise
};

/// The queue of a call on a GPU, and which other queues it has waited for.
class CallQueue {
 public:
  explicit CallQueue(Queue queue) : queue_(std::move(queue)) {}

  const Queue& queue() const noexcept { return queue_; }
  bool is_on(const Queue& other) const noexcept {
    return other.native_handle() == queue_.native_handle();
  }

  /// Work that was enqueued on `other` before the call is done before the work of the call. @throws DeviceError
  void wait_for(const Queue& other);

 private:
  Queue queue_;
  std::vector<void*> waited_for_;
};

/// The use of an array, for messages.
struct ArrayUse {
  const std::string& subject;  ///< "model FILE: column x"
  DType dtype;                 ///< that the model has
  bool is_written = false;
  bool takes_any = false;      ///< another dtype, too
  int dims = 0;                ///< of what is one row
  bool is_scalar = false;      ///< numbers of a call, which need not lie on its GPU
  CallQueue* queue = nullptr;  ///< of a call on a GPU
};

/// Sets `view` to an array of NumPy without a reference to it (`owner`), in a few nanoseconds.
/// @return false for what is not one, of another kind of numbers or order of bytes
bool view_of_numpy(PyObject* value, ArrayView& view) noexcept;

/// Any array. @throws BindingError
ArrayView view_of(nb::handle value, const ArrayUse& use);

/// An array of Awkward Array: numbers, in lists or not. @throws BindingError
ArrayView view_of_awkward(nb::handle array, const ArrayUse& use);

/// A number, or an array of one, in newly allocated memory, as `dtype`; nothing where it is neither.
/// @throws BindingError where the dtype cannot hold it
std::optional<ArrayView> view_of_number(nb::handle value, const ArrayUse& use);

nb::dlpack::dtype dlpack_dtype_of(DType dtype) noexcept;

/// Nothing for a type of elements that no column has.
std::optional<DType> dtype_of(const nb::dlpack::dtype& type) noexcept;

/// The type of elements of NumPy's for a dtype; NPY_NOTYPE for bfloat16, which it does not have.
int numpy_type_of(DType dtype) noexcept;

/// Whether `value` is of a class of a library. Returns false without a search where the library was not imported.
bool is_instance(nb::handle value, const char* library, const char* type);

/// The name of an object in Python, for messages: "numpy.ndarray of float64[3, 2]", "str".
std::string type_of_object(nb::handle value);

/// @throws BindingError, which says how to convert `value`, where its dtype is not the one that is needed
void require_dtype(DType dtype, nb::handle value, const ArrayUse& use);

}  // namespace tensoa::python
