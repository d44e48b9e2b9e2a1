// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "array_library.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <deque>

#include "array_view.hpp"
#include "device_array.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::python {
namespace {

constexpr std::uintptr_t kLegacyStream = 1;

/// A capsule of DLPack 1; of a DeviceArray the order of streams is seen to.
nb::object dlpack_of(nb::handle array) {
  nb::dict arguments;
  arguments["max_version"] = nb::make_tuple(1, 0);
  const nb::kwargs version = nb::borrow<nb::kwargs>(arguments);
  if (nb::isinstance<DeviceArray>(array)) {
    return nb::inst_ptr<DeviceArray>(array)->exported(version);
  }
  return array.attr("__dlpack__")(**version);
}

}  // namespace

/// DLPackExchangeAPI.
struct ExchangeApi::Table {
  std::uint32_t major;
  std::uint32_t minor;
  void* of_an_older_version;
  void* allocate;
  void* from_object;
  int (*to_object)(void* tensor, void** object);
  int (*view_of_object)(void* object, nb::dlpack::dltensor* view);
  int (*current_stream)(std::int32_t kind, std::int32_t device, void** stream);
};

ExchangeApi::ExchangeApi(nb::handle array) {
  constexpr auto kName = "dlpack_exchange_api";
  const nb::object capsule = nb::getattr(array.type(), "__dlpack_c_exchange_api__", nb::none());
  if (PyCapsule_IsValid(capsule.ptr(), kName) == 0) return;
  const auto* const table = static_cast<const Table*>(PyCapsule_GetPointer(capsule.ptr(), kName));
  if (table->major == 1) table_ = table;
}

Queue ExchangeApi::current_queue(Device device) const {
  void* stream = nullptr;
  if (table_->current_stream(TENSOA_DLPACK_GPU, device.index, &stream) != 0) {
    throw nb::python_error();
  }
  return queue_of_number(reinterpret_cast<std::uintptr_t>(stream), device);
}

std::optional<nb::dlpack::dltensor> ExchangeApi::view(nb::handle array) const {
  nb::dlpack::dltensor found;
  if (table_->view_of_object(array.ptr(), &found) == 0) return found;
  PyErr_Clear();
  return {};
}

nb::object ExchangeApi::take(nb::handle array) const {
  const nb::object capsule = dlpack_of(array);
  void* const tensor = PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned");
  if (tensor == nullptr || PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned") != 0) {
    throw nb::python_error();
  }
  void* object = nullptr;
  if (table_->to_object(tensor, &object) != 0) throw nb::python_error();
  return nb::steal(static_cast<PyObject*>(object));
}

Queue queue_of_number(std::uintptr_t stream, Device device) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the default streams are numbers
  return Queue::borrow(device, reinterpret_cast<void*>(stream == 0 ? kLegacyStream : stream));
}

std::uintptr_t number_of(const Queue& queue) {
  const auto number = reinterpret_cast<std::uintptr_t>(queue.native_handle());
  return number == kLegacyStream && TENSOA_DLPACK_GPU == nb::device::rocm::value ? 0 : number;
}

Queue queue_of(nb::handle stream, Device device, const std::string& subject) {
  nb::object number = nb::borrow(stream);
  if (nb::hasattr(stream, "__cuda_stream__")) {
    number = stream.attr("__cuda_stream__")()[1];  // version, handle
  } else if (nb::hasattr(stream, "cuda_stream")) {
    number = stream.attr("cuda_stream");
  } else if (nb::hasattr(stream, "ptr")) {
    number = stream.attr("ptr");
  }
  std::uintptr_t handle = 0;
  if (!PyLong_Check(number.ptr()) || PyBool_Check(number.ptr()) ||
      !nb::try_cast(number, handle, false)) {
    throw BindingError(subject + ": stream is " + type_of_object(stream) +
                       ", expected a stream of torch, CuPy or CUDA Python, or its handle as a "
                       "number");
  }
  return queue_of_number(handle, device);
}

std::optional<Queue> current_queue_of(nb::handle array, Device device) {
  if (const ArrayType* type = array_type_of(array)) return type->api.current_queue(device);
  if (nb::isinstance<DeviceArray>(array)) {
    return nb::inst_ptr<DeviceArray>(array)->memory->queue();
  }
  if (!nb::hasattr(array, "__cuda_array_interface__")) return {};
  const nb::object interface = array.attr("__cuda_array_interface__");
  const nb::object stream = interface.attr("get")("stream");
  if (stream.is_none()) return {};
  try {
    return queue_of_number(nb::cast<std::uintptr_t>(stream), device);
  } catch (const DeviceError&) {  // the library's current device is another one
    return {};
  } catch (const ConfigError&) {  // the default stream of the thread
    return {};
  }
}

bool is_on_gpu(nb::handle array) {
  if (nb::isinstance<DeviceArray>(array)) return true;
  if (const ArrayType* type = array_type_of(array)) {
    const std::optional<nb::dlpack::dltensor> tensor = type->api.view(array);
    return tensor && tensor->device.device_type == TENSOA_DLPACK_GPU;
  }
  if (!nb::hasattr(array, "__dlpack_device__")) {
    return nb::hasattr(array, "__cuda_array_interface__");
  }
  return nb::cast<int>(array.attr("__dlpack_device__")()[0]) == TENSOA_DLPACK_GPU;
}

ArrayLibrary::ArrayLibrary(nb::handle array) {
  if (!array.is_valid() || !nb::hasattr(array, "__dlpack__")) return;
  nb::object library;
  if (nb::hasattr(array, "__array_namespace__")) {
    library = array.attr("__array_namespace__")();
  } else {
    const std::string module =
        nb::cast<std::string>(nb::str(nb::getattr(array.type(), "__module__", nb::str(""))));
    library =
        nb::module_::import_("sys").attr("modules").attr("get")(module.substr(0, module.find('.')));
  }
  const bool is_numpy = nb::getattr(library, "__name__", nb::str("")).equal(nb::str("numpy"));
  if (is_numpy || !nb::hasattr(library, "from_dlpack")) return;
  from_dlpack_ = library.attr("from_dlpack");
  api_ = ExchangeApi(array);
}

nb::object ArrayLibrary::take(nb::handle array) const {
  if (!api_) return from_dlpack_(array);
  if (nb::isinstance<DeviceArray>(array)) {
    ResultMemory& memory = *nb::inst_ptr<DeviceArray>(array)->memory;
    memory.share_with(api_.current_queue(memory.queue().device()));
  }
  return api_.take(array);
}

namespace {

bool is_true(PyObject* value) {
  const nb::object owned = nb::steal(value);
  if (owned.is_valid()) return owned.is(nb::handle(Py_True));
  PyErr_Clear();
  return true;  // it takes a closer look
}

}  // namespace

std::optional<nb::dlpack::dltensor> ArrayType::view(nb::handle array) const {
  static PyObject* const requires_grad = PyUnicode_InternFromString("requires_grad");
  static PyObject* const is_neg = PyUnicode_InternFromString("is_neg");
  if (has_gradients && is_true(PyObject_GetAttr(array.ptr(), requires_grad))) return {};
  if (has_signs && is_true(PyObject_CallMethodObjArgs(array.ptr(), is_neg, nullptr))) return {};
  return api.view(array);
}

const ArrayType* array_type_of(nb::handle array) {
  static auto* const types =
      new std::deque<ArrayType>;  // never destroyed, as the interpreter is before
  const nb::handle type = array.type();
  for (const ArrayType& one : *types) {
    if (one.type.is(type)) return &one;
  }
  const ExchangeApi api(array);
  if (!api) return nullptr;
  return &types->emplace_back(ArrayType{.type = nb::borrow(type),
                                        .api = api,
                                        .library = ArrayLibrary(array),
                                        .has_gradients = nb::hasattr(type, "requires_grad"),
                                        .has_signs = nb::hasattr(type, "is_neg")});
}

}  // namespace tensoa::python
