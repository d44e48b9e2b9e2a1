// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "array_view.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <utility>

#include "array_library.hpp"
#include "numpy_api.hpp"
#include "tensoa/core/device_guard.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/event.hpp"

namespace tensoa::python {

void CallQueue::wait_for(const Queue& other) {
  if (is_on(other) || std::ranges::find(waited_for_, other.native_handle()) != waited_for_.end()) {
    return;
  }
  queue_.wait_for(Event(other));
  waited_for_.push_back(other.native_handle());
}

namespace {

constexpr std::pair<DType, int> kNumpyTypes[] = {
    {DType::kBool, NPY_BOOL},    {DType::kU8, NPY_UINT8},  {DType::kI8, NPY_INT8},
    {DType::kI16, NPY_INT16},    {DType::kI32, NPY_INT32}, {DType::kI64, NPY_INT64},
    {DType::kF16, NPY_HALF},     {DType::kF32, NPY_FLOAT}, {DType::kF64, NPY_DOUBLE},
    {DType::kI64, NPY_LONGLONG},
};

std::optional<DType> dtype_of_numpy(int type) noexcept {
  for (const auto& [dtype, number] : kNumpyTypes) {
    if (number == type) return dtype;
  }
  return {};
}

[[noreturn]] void fail(const ArrayUse& use, const std::string& what) {
  throw BindingError(use.subject + ' ' + what);
}

std::string text_of(nb::handle value) { return nb::cast<std::string>(nb::str(value)); }

bool has(nb::handle value, const char* attribute) { return nb::hasattr(value, attribute); }

/// Whether the type of `value` is of a library: "pandas".
bool is_of(nb::handle value, const std::string& library) {
  const std::string module = text_of(nb::getattr(value.type(), "__module__", nb::str("")));
  return module == library || module.starts_with(library + '.');
}

/// How a column is made one of `dtype`, for messages: `x.astype("float32")`.
std::string conversion_to(nb::handle value, const std::string& dtype) {
  if (is_of(value, "torch")) return "x.to(torch." + dtype + ")";
  if (is_of(value, "polars")) return "x.cast(polars." + dtype + ")";
  if (is_of(value, "awkward")) return "ak.values_astype(x, \"" + dtype + "\")";
  if (is_of(value, "pyarrow")) return "x.cast(\"" + dtype + "\")";
  return "x.astype(\"" + dtype + "\")";
}

/// Why view_of_numpy() does not take an array.
[[noreturn]] void refuse_numpy(nb::handle value, const ArrayUse& use) {
  auto* const array = reinterpret_cast<PyArrayObject*>(value.ptr());
  const std::string dtype = text_of(value.attr("dtype"));
  if (PyArray_NDIM(array) > ArrayView::kMostDimensions) {
    fail(use, "has " + std::to_string(PyArray_NDIM(array)) + " dimensions, expected " +
                  std::to_string(ArrayView::kMostDimensions) + " at most");
  }
  if (dtype_of_numpy(PyArray_TYPE(array)) && PyArray_ISBYTESWAPPED(array)) {
    fail(use, "is " + dtype + ", which has the bytes of another machine's order; expected " +
                  std::string(name_of(use.dtype)) + " of this one: x.astype(\"" +
                  std::string(name_of(use.dtype)) + "\")");
  }
  const std::string wanted(name_of(use.dtype));
  if (PyTypeNum_ISDATETIME(PyArray_TYPE(array))) {
    fail(use, "is " + dtype + ", expected " + wanted + ": x.astype(\"int64\").astype(\"" + wanted +
                  "\")");
  }
  if (PyTypeNum_ISFLEXIBLE(PyArray_TYPE(array)) || PyArray_TYPE(array) == NPY_OBJECT) {
    fail(use, "is " + dtype + ", expected " + wanted + ": numbers become that by x.astype(\"" +
                  wanted + "\"); text has none: leave the column out, or encode it");
  }
  fail(use, "is " + dtype + ", expected " + wanted + ": " + conversion_to(value, wanted));
}

[[noreturn]] void refuse_device(Device device, const ArrayUse& use) {
  fail(use, "lies on " + to_string(device) + ", the model was loaded on " +
                to_string(use.queue->queue().device()) + "; expected both on one device");
}

[[noreturn]] void refuse_memory(nb::handle value, const nb::python_error& error,
                                const ArrayUse& use) {
  fail(use, "is " + type_of_object(value) +
                ", which does not give its memory: " + text_of(error.value()));
}

/// The capsule of DLPack. @param arguments of `__dlpack__`
nb::object capsule_of(nb::handle value, nb::dict arguments, const ArrayUse& use) {
  const nb::object dlpack = value.attr("__dlpack__");
  arguments["max_version"] = nb::make_tuple(1, 0);
  try {
    try {
      return dlpack(**arguments);
    } catch (const nb::python_error& error) {
      if (!error.matches(PyExc_TypeError)) throw;
    }
    nb::del(arguments["max_version"]);  // before DLPack 1.0
    return dlpack(**arguments);
  } catch (const nb::python_error& error) {
    refuse_memory(value, error, use);
  }
}

/// What gives `value` by DLPack: for a call on a GPU a capsule, whose memory the queue of the call may use; what is written
/// is a capsule, too.
nb::object exported(nb::handle value, const ArrayUse& use) {
  nb::dict arguments;
  if (use.queue != nullptr) {
    const auto [kind, index] = nb::cast<std::pair<int, int>>(value.attr("__dlpack_device__")());
    if (kind == TENSOA_DLPACK_GPU) {
      if (Device::cuda(index) != use.queue->queue().device()) {
        refuse_device(Device::cuda(index), use);
      }
      const DeviceGuard guard(use.queue->queue());  // torch gives arrays of its current device only
      arguments["stream"] = number_of(use.queue->queue());
      return capsule_of(value, arguments, use);
    }
  }
  return use.is_written ? capsule_of(value, arguments, use) : nb::borrow(value);
}

/// Whether an array may be written, by the interface of NumPy or of CUDA: DLPack did not say it before 1.0.
bool is_writable(nb::handle value, const ArrayView& view) {
  if (!view.device.is_cpu()) {
    const nb::object interface = nb::getattr(value, "__cuda_array_interface__", nb::none());
    if (interface.is_none()) return false;
    return !nb::cast<std::pair<std::uintptr_t, bool>>(interface["data"]).second;
  }
  try {
    const nb::object array = nb::module_::import_("numpy").attr("asarray")(value);
    ArrayView same;
    return view_of_numpy(array.ptr(), same) && same.data == view.data && !same.read_only;
  } catch (const nb::python_error&) {
    return false;
  }
}

/// Sizes, strides and the device of an array of DLPack's.
ArrayView view_of_dlpack(const nb::dlpack::dltensor& tensor, nb::handle given,
                         const ArrayUse& use) {
  ArrayView view;
  const std::optional<DType> dtype = dtype_of(tensor.dtype);
  if (!dtype) {
    fail(use, "is " + type_of_object(given) + ", expected " + std::string(name_of(use.dtype)) +
                  ": " + conversion_to(given, std::string(name_of(use.dtype))));
  }
  if (tensor.ndim > ArrayView::kMostDimensions) {
    fail(use, "has " + std::to_string(tensor.ndim) + " dimensions, expected " +
                  std::to_string(ArrayView::kMostDimensions) + " at most");
  }
  view.dtype = *dtype;
  view.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  view.rank = tensor.ndim;
  const auto element = static_cast<std::int64_t>(size_of(view.dtype));
  std::int64_t stride = element;  // of rows in C order, where no strides are given
  for (auto d = static_cast<std::size_t>(tensor.ndim); d-- > 0;) {
    view.shape[d] = tensor.shape[d];
    view.stride[d] = tensor.strides != nullptr ? tensor.strides[d] * element : stride;
    stride *= tensor.shape[d];
  }
  const int kind = tensor.device.device_type;
  if (kind == nb::device::cuda::value || kind == nb::device::rocm::value) {
    view.device = Device::cuda(tensor.device.device_id);
  } else if (kind != nb::device::cpu::value && kind != nb::device::cuda_host::value) {
    fail(use, "lies on a device of DLPack's kind " + std::to_string(kind) +
                  ", expected memory of " +
                  to_string(use.queue == nullptr ? Device::cpu() : use.queue->queue().device()));
  }
  return view;
}

/// Nothing where the library has no such, or `__dlpack__` has something to say of the array.
std::optional<ArrayView> view_by_exchange_api(nb::handle value, const ArrayUse& use) {
  const ArrayType* const type = array_type_of(value);
  if (type == nullptr) return {};
  const std::optional<nb::dlpack::dltensor> tensor = type->view(value);
  if (!tensor) return {};
  ArrayView view = view_of_dlpack(*tensor, value, use);
  view.owner = nb::borrow(value);
  if (use.queue != nullptr && view.device == use.queue->queue().device()) {
    use.queue->wait_for(type->api.current_queue(view.device));
  }
  return view;
}

/// By DLPack or the buffer protocol; nothing where the object speaks neither.
std::optional<ArrayView> view_of_tensor(nb::handle given, const ArrayUse& use) {
  const nb::object value = exported(given, use);
  const bool says_whether_written = PyCapsule_IsValid(value.ptr(), "dltensor") == 0;
  nb::ndarray<nb::ro> tensor;
  if (use.is_written) {
    nb::ndarray<> written;
    if (!nb::try_cast(value, written, false)) {
      if (nb::try_cast(value, tensor, false)) {
        fail(use, "is read-only, and is to be written");
      }
      return {};
    }
    tensor = nb::ndarray<nb::ro>(written);
  } else if (!nb::try_cast(value, tensor, false)) {
    return {};
  }
  nb::dlpack::dltensor whole{
      .data = const_cast<void*>(tensor.data()),
      .device = {tensor.device_type(), tensor.device_id()},
      .ndim = static_cast<std::int32_t>(tensor.ndim()),
      .dtype = tensor.dtype(),
      .shape = const_cast<std::int64_t*>(tensor.shape_ptr()),
      .strides = const_cast<std::int64_t*>(tensor.stride_ptr()),
  };
  ArrayView view = view_of_dlpack(whole, given, use);
  if (use.is_written && !says_whether_written && !is_writable(given, view)) {
    fail(use, "is " + type_of_object(given) +
                  ", which does not state that it may be written, and is to be written");
  }
  view.tensor = std::move(tensor);
  return view;
}

/// By the CUDA array interface, version 2 or 3.
ArrayView view_of_cuda_array(nb::handle value, const ArrayUse& use) {
  if (use.queue == nullptr) {
    fail(use, "is " + type_of_object(value) +
                  ", which lies on a GPU, and the model was loaded on cpu; expected both on one "
                  "device");
  }
  const nb::object interface = value.attr("__cuda_array_interface__");
  const auto entry = [&](const char* name) -> nb::object { return interface.attr("get")(name); };
  if (!entry("mask").is_none()) fail(use, "has masked numbers, expected none");
  const nb::object type = nb::module_::import_("numpy").attr("dtype")(entry("typestr"));
  const std::optional<DType> dtype = dtype_of_numpy(nb::cast<int>(type.attr("num")));
  if (!dtype || !nb::cast<bool>(type.attr("isnative"))) {
    fail(use, "is " + text_of(type) + ", expected " + std::string(name_of(use.dtype)) + ": " +
                  conversion_to(value, std::string(name_of(use.dtype))));
  }
  ArrayView view;
  view.dtype = *dtype;
  const auto [address, is_read_only] = nb::cast<std::pair<std::uintptr_t, bool>>(entry("data"));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): so it is given
  view.data = reinterpret_cast<std::byte*>(address);
  view.read_only = is_read_only;
  const auto shape = nb::cast<std::vector<std::int64_t>>(entry("shape"));
  if (shape.size() > ArrayView::kMostDimensions) {
    fail(use, "has " + std::to_string(shape.size()) + " dimensions, expected " +
                  std::to_string(ArrayView::kMostDimensions) + " at most");
  }
  view.rank = static_cast<int>(shape.size());
  std::ranges::copy(shape, view.shape.begin());
  if (const nb::object strides = entry("strides"); !strides.is_none()) {
    std::ranges::copy(nb::cast<std::vector<std::int64_t>>(strides), view.stride.begin());
  } else {
    auto stride = static_cast<std::int64_t>(size_of(view.dtype));
    for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d]) view.stride[d] = stride;
  }
  const bool is_empty = std::ranges::find(shape, 0) != shape.end();
  const Queue& queue = use.queue->queue();
  const DeviceGuard guard(queue);
  view.device = is_empty ? queue.device() : device_of(view.data);
  if (view.device != queue.device()) refuse_device(view.device, use);
  if (const nb::object stream = entry("stream"); !stream.is_none()) {
    use.queue->wait_for(queue_of_number(nb::cast<std::uintptr_t>(stream), view.device));
  }
  view.owner = nb::borrow(value);
  return view;
}

}  // namespace

nb::dlpack::dtype dlpack_dtype_of(DType dtype) noexcept {
  using Code = nb::dlpack::dtype_code;
  const Code code = dtype == DType::kBool   ? Code::Bool
                    : dtype == DType::kU8   ? Code::UInt
                    : dtype <= DType::kI64  ? Code::Int
                    : dtype == DType::kBF16 ? Code::Bfloat
                                            : Code::Float;
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * size_of(dtype)), 1};
}

std::optional<DType> dtype_of(const nb::dlpack::dtype& type) noexcept {
  for (const DType dtype : {DType::kBool, DType::kU8, DType::kI8, DType::kI16, DType::kI32,
                            DType::kI64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    if (type == dlpack_dtype_of(dtype)) return dtype;
  }
  return {};
}

int numpy_type_of(DType dtype) noexcept {
  for (const auto& [other, number] : kNumpyTypes) {
    if (other == dtype) return number;
  }
  return NPY_NOTYPE;
}

bool view_of_numpy(PyObject* value, ArrayView& view) noexcept {
  if (!PyArray_Check(value)) return false;
  auto* const array = reinterpret_cast<PyArrayObject*>(value);
  const std::optional<DType> dtype = dtype_of_numpy(PyArray_TYPE(array));
  const int rank = PyArray_NDIM(array);
  if (!dtype || rank > ArrayView::kMostDimensions || PyArray_ISBYTESWAPPED(array)) return false;
  view.data = static_cast<std::byte*>(PyArray_DATA(array));
  view.dtype = *dtype;
  view.read_only = !PyArray_ISWRITEABLE(array);
  view.rank = rank;
  for (int d = 0; d < rank; ++d) {
    const auto place = static_cast<std::size_t>(d);
    view.shape[place] = PyArray_DIM(array, d);
    view.stride[place] = PyArray_STRIDE(array, d);
  }
  return true;
}

bool is_instance(nb::handle value, const char* library, const char* type) {
  PyObject* const modules = PyImport_GetModuleDict();
  PyObject* const module = PyDict_GetItemString(modules, library);
  if (module == nullptr) return false;
  const nb::object of = nb::getattr(module, type, nb::none());
  return !of.is_none() && PyObject_IsInstance(value.ptr(), of.ptr()) == 1;
}

bool Offsets::operator==(const Offsets& other) const {
  return lists == other.lists &&
         (first == other.first || std::equal(first, first + lists + 1, other.first));
}

Offsets offsets_of(nb::handle array, const std::string& subject, bool is_copied) {
  need_numpy();
  nb::object given;
  if (is_instance(array, "numpy.ma", "MaskedArray")) {
    throw BindingError(subject + " are a masked array, expected integers: x.filled()");
  }
  try {
    given = nb::module_::import_("numpy").attr("asarray")(array);
  } catch (const nb::python_error& error) {
    throw BindingError(subject + " are " + type_of_object(array) +
                       ", expected integers: " + text_of(error.value()));
  }
  auto* const as_given = reinterpret_cast<PyArrayObject*>(given.ptr());
  if (PyArray_NDIM(as_given) != 1 || PyArray_SIZE(as_given) == 0 ||
      !PyTypeNum_ISINTEGER(PyArray_TYPE(as_given))) {
    throw BindingError(subject + " are " + type_of_object(given) + " of shape " +
                       text_of(given.attr("shape")) + ", expected integers [groups + 1]");
  }
  Offsets offsets;
  const int copied = is_copied ? NPY_ARRAY_ENSURECOPY : 0;
  offsets.array = nb::steal(PyArray_FROMANY(given.ptr(), NPY_INT64, 1, 1,
                                            NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST | copied));
  if (!offsets.array.is_valid()) throw nb::python_error();
  auto* const made = reinterpret_cast<PyArrayObject*>(offsets.array.ptr());
  offsets.first = static_cast<const std::int64_t*>(PyArray_DATA(made));
  offsets.lists = PyArray_SIZE(made) - 1;
  if (offsets.first[0] != 0) {
    throw BindingError(subject + " begin with " + std::to_string(offsets.first[0]) +
                       ", expected 0");
  }
  for (std::int64_t i = 0; i < offsets.lists; ++i) {
    if (offsets.first[i] <= offsets.first[i + 1]) continue;
    throw BindingError(subject + " run backwards: " + std::to_string(offsets.first[i]) + ", then " +
                       std::to_string(offsets.first[i + 1]) + " (place " + std::to_string(i + 1) +
                       ')');
  }
  return offsets;
}

std::string type_of_object(nb::handle value) {
  const std::string module = text_of(nb::getattr(value.type(), "__module__", nb::str("")));
  std::string name = text_of(nb::getattr(value.type(), "__qualname__", nb::str("an object")));
  if (!module.empty() && module != "builtins") name.insert(0, module + '.');
  if (has(value, "dtype")) name += " of " + text_of(value.attr("dtype"));
  return name;
}

void require_dtype(DType dtype, nb::handle value, const ArrayUse& use) {
  if (use.takes_any || dtype == use.dtype) return;
  const std::string wanted(name_of(use.dtype));
  fail(use, "is " + std::string(name_of(dtype)) + ", expected " + wanted +
                (use.is_written ? "" : ": " + conversion_to(value, wanted)));
}

std::optional<ArrayView> view_of_number(nb::handle value, const ArrayUse& use) {
  need_numpy();
  const bool is_number = PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr()) ||
                         PyArray_IsScalar(value.ptr(), Generic);
  if (!is_number) return {};
  const int type = numpy_type_of(use.dtype);
  if (type == NPY_NOTYPE) {
    fail(use, "is bfloat16, which NumPy does not have; expected a tensor of one number");
  }
  // First an array of the number's own dtype, then of the model's dtype, where only digits are lost.
  nb::object own = nb::steal(PyArray_FromAny(value.ptr(), nullptr, 0, 0, 0, nullptr));
  if (!own.is_valid()) throw nb::python_error();
  PyArray_Descr* const to = PyArray_DescrFromType(type);
  auto* const array = reinterpret_cast<PyArrayObject*>(own.ptr());
  const bool fits = PyArray_CanCastArrayTo(array, to, NPY_SAME_KIND_CASTING) != 0;
  if (!fits) {
    Py_DECREF(to);
    fail(use, "is " + text_of(own.attr("dtype")) + ", expected " + std::string(name_of(use.dtype)) +
                  ": a number of that kind");
  }
  nb::object converted = nb::steal(PyArray_CastToType(array, to, 0));
  if (!converted.is_valid()) throw nb::python_error();
  if (use.dtype < DType::kF16 && !converted.equal(own)) {
    fail(use,
         "is " + text_of(value) + ", which is not a number of " + std::string(name_of(use.dtype)));
  }
  ArrayView view;
  view_of_numpy(converted.ptr(), view);
  view.read_only = true;
  view.owner = std::move(converted);
  view.is_in_order = use.queue == nullptr;
  return view;
}

ArrayView view_of(nb::handle value, const ArrayUse& use) {
  need_numpy();
  ArrayView view;
  const bool is_plain = PyArray_CheckExact(value.ptr());
  if (!is_plain && is_instance(value, "awkward", "Array")) {
    if (use.is_written) fail(use, "is an array of Awkward Array, which cannot be written");
    return view_of_awkward(value, use);
  }
  if (!is_plain && is_instance(value, "awkward", "Record")) {
    fail(use, "is one record of Awkward Array, expected an array of them: x[i : i + 1] for x[i]");
  }
  if (!is_plain && is_instance(value, "numpy.ma", "MaskedArray") &&
      nb::cast<bool>(nb::module_::import_("numpy.ma").attr("is_masked")(value))) {
    fail(use,
         "has masked numbers, expected none: fill them (x.filled(0.0)), or leave these rows "
         "out (x.compressed())");
  }
  if (view_of_numpy(value.ptr(), view)) {
    view.owner = nb::borrow(value);
  } else if (PyArray_Check(value.ptr())) {
    // Dtypes that other packages register with NumPy, such as bfloat16, go by their names.
    if (text_of(value.attr("dtype")) != "bfloat16") refuse_numpy(value, use);
    const nb::object bits = value.attr("view")("int16");
    view_of_numpy(bits.ptr(), view);
    view.dtype = DType::kBF16;
    view.owner = bits;
  } else if (has(value, "__dlpack__")) {
    // Of torch: a view whose numbers are those of the memory with another sign, of which DLPack says nothing.
    if (const nb::object is_negative = nb::getattr(value, "is_neg", nb::none());
        !is_negative.is_none() && nb::cast<bool>(is_negative())) {
      fail(use, "has its negative bit set, so that its memory has other numbers: x.resolve_neg()");
    }
    std::optional<ArrayView> tensor = view_by_exchange_api(value, use);
    if (!tensor) tensor = view_of_tensor(value, use);
    if (!tensor) {
      // Its error has the reason.
      try {
        value.attr("__dlpack__")();
      } catch (const nb::python_error& error) {
        refuse_memory(value, error, use);
      }
      fail(use, "is " + type_of_object(value) + ", whose memory cannot be used");
    }
    view = std::move(*tensor);
  } else if (has(value, "__cuda_array_interface__")) {
    view = view_of_cuda_array(value, use);
  } else if (has(value, "__array__") || PyObject_CheckBuffer(value.ptr())) {
    const nb::object asarray = nb::module_::import_("numpy").attr("asarray");
    nb::object array;
    bool is_copied = false;
    try {
      array = asarray(value, nb::arg("copy") = false);
    } catch (
        const nb::python_error&) {  // not without a copy; or an older NumPy, which does not say
      array = asarray(value);
      is_copied = true;
    }
    if (!view_of_numpy(array.ptr(), view)) refuse_numpy(array, use);
    if (is_copied) {
      if (use.is_written) {
        fail(use,
             "is " + type_of_object(value) + ", whose memory cannot be written; expected an array");
      }
      auto* const made = reinterpret_cast<PyArrayObject*>(array.ptr());
      view.copied = static_cast<std::size_t>(PyArray_NBYTES(made));
    }
    view.owner = std::move(array);
  } else {
    fail(use, "is " + type_of_object(value) + ", expected an array of " +
                  std::string(name_of(use.dtype)) + ": numpy.asarray(x, dtype=\"" +
                  std::string(name_of(use.dtype)) + "\")");
  }
  if (use.queue != nullptr && use.is_scalar && view.device.is_cpu()) {
    // A number, which the GPU reads later: until then the caller may write what it has.
    const nb::object copy = nb::module_::import_("numpy").attr("asarray")(value).attr("copy")();
    const DType dtype = view.dtype;
    if (!view_of_numpy(copy.ptr(), view)) refuse_numpy(copy, use);
    view.dtype = dtype;
    view.owner = copy;
    view.is_in_order = false;
  } else if (use.queue != nullptr && !view.device.is_cpu()) {
    const std::optional<Queue> current = current_queue_of(value, view.device);
    view.is_in_order = current && use.queue->is_on(*current);
  }
  require_dtype(view.dtype, value, use);
  if (use.is_written && view.read_only) fail(use, "is read-only, and is to be written");
  return view;
}

}  // namespace tensoa::python
