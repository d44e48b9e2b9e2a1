// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "device_array.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "array_library.hpp"
#include "array_view.hpp"
#include "interpreter.hpp"
#include "numpy_api.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/event.hpp"

namespace tensoa::python {
namespace {

constexpr int kKind = TENSOA_DLPACK_GPU;

[[noreturn]] void refuse_host_array(const DeviceArray& array) {
  throw BindingError("__array__: the array lies on " + to_string(array.memory->queue().device()) +
                     "; copy it with a library of GPU arrays: torch.from_dlpack(x).cpu()");
}

}  // namespace

ResultMemory::~ResultMemory() {
  try {
    try {
      for (const Queue& other : others_) queue().wait_for(Event(other));
      if (!is_anyones_) return;
    } catch (const DeviceError&) {
      // A stream is gone; its work may not be done.
    }
    wait_for_all_work(queue().device());
  } catch (const DeviceError&) {
    // The device is lost: nothing runs there any more.
  }
}

void ResultMemory::share_with(const Queue& other) {
  if (other.native_handle() == queue().native_handle()) return;
  if (written_) other.wait_for(*written_);
  const std::lock_guard lock(mutex_);
  const bool is_there = std::ranges::any_of(
      others_, [&](const Queue& one) { return one.native_handle() == other.native_handle(); });
  if (!is_there) others_.push_back(other);
}

void ResultMemory::wait() const {
  if (written_) written_->wait();
}

void ResultMemory::share_with_anyone() {
  const std::lock_guard lock(mutex_);
  is_anyones_ = true;
}

nb::object DeviceArray::dlpack(nb::handle stream, const nb::kwargs& others) const {
  constexpr std::int64_t kNoOrder = -1;
  std::int64_t number = 0;
  if (!stream.is_none() && (!nb::try_cast(stream, number, false) || number < kNoOrder)) {
    throw BindingError("__dlpack__: stream is " + type_of_object(stream) +
                       ", expected the handle of a stream as a number");
  }
  if (number == kNoOrder) {
    memory->share_with_anyone();
  } else {
    memory->share_with(
        queue_of_number(static_cast<std::uintptr_t>(number), memory->queue().device()));
  }
  return exported(others);
}

nb::object DeviceArray::exported(const nb::kwargs& others) const {
  using Memory = std::shared_ptr<ResultMemory>;
  const nb::capsule owner(new Memory(memory),
                          [](void* kept) noexcept { delete static_cast<Memory*>(kept); });
  const nb::ndarray<nb::array_api> array(data, shape.size(), shape.data(), owner, strides.data(),
                                         dlpack_dtype_of(dtype), kKind,
                                         memory->queue().device().index);
  return nb::cast(array).attr("__dlpack__")(**others);
}

nb::tuple DeviceArray::dlpack_device() const {
  return nb::make_tuple(kKind, memory->queue().device().index);
}

nb::dict DeviceArray::cuda_array_interface() const {
  if (numpy_type_of(dtype) == NPY_NOTYPE) {
    throw nb::attribute_error("__cuda_array_interface__ has no bfloat16; take the array by DLPack");
  }
  {
    const WithoutInterpreter released;
    memory->wait();
  }
  memory->share_with_anyone();
  const auto element = static_cast<std::int64_t>(size_of(dtype));
  nb::list sizes;
  nb::list bytes;
  for (const std::size_t size : shape) sizes.append(size);
  for (const std::int64_t stride : strides) bytes.append(stride * element);
  nb::dict interface;
  interface["shape"] = nb::tuple(sizes);
  interface["strides"] = nb::tuple(bytes);
  interface["typestr"] =
      nb::module_::import_("numpy").attr("dtype")(std::string(name_of(dtype))).attr("str");
  interface["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(data), false);
  interface["version"] = 3;
  interface["stream"] = nb::none();  // it is written; torch does not look at streams here
  return interface;
}

std::string DeviceArray::repr() const {
  std::string sizes;
  for (const std::size_t size : shape) {
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  }
  return "DeviceArray(" + std::string(name_of(dtype)) + '[' + sizes + "], device='" +
         to_string(memory->queue().device()) + "')";
}

void add_device_array(nb::module_& module) {
  nb::class_<DeviceArray>(
      module, "DeviceArray",
      "A result on a GPU. Other libraries take it without a copy: by DLPack (`from_dlpack`), "
      "whose\n"
      "work then waits for the call, on the device; or by the CUDA array interface, which waits\n"
      "here, and waits for the device when the array ends.")
      .def_prop_ro("shape",
                   [](const DeviceArray& array) { return nb::tuple(nb::cast(array.shape)); })
      .def_prop_ro("dtype",
                   [](const DeviceArray& array) { return std::string(name_of(array.dtype)); })
      .def_prop_ro(
          "device",
          [](const DeviceArray& array) { return to_string(array.memory->queue().device()); })
      .def_prop_ro("__cuda_array_interface__", &DeviceArray::cuda_array_interface)
      .def("__dlpack__", &DeviceArray::dlpack, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("others"))
      .def("__dlpack_device__", &DeviceArray::dlpack_device)
      .def("__array__",
           [](const DeviceArray& array, const nb::args&, const nb::kwargs&) -> nb::object {
             refuse_host_array(array);
           })
      .def("__len__", [](const DeviceArray& array) { return array.shape.at(0); })
      .def("__repr__", &DeviceArray::repr);
}

}  // namespace tensoa::python
