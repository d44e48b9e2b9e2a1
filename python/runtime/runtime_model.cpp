// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime_model.hpp"

#include <dlfcn.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <utility>

#include "array_library.hpp"
#include "device_array.hpp"
#include "interpreter.hpp"
#include "numpy_api.hpp"
#include "service.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/nearest_name.hpp"
#include "tensoa/package/described_columns.hpp"
#include "tensoa/package/file_kind.hpp"

namespace tensoa::python {
namespace {

/// Ctrl-C between groups. @throws nanobind::python_error
void heed_signals() {
  const WithInterpreter acquired;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

std::string listed_or_none(const std::vector<std::string>& names) {
  return names.empty() ? "none" : listed(names);
}

/// @return borrowed; nullptr, and no Python error, where it is not there
PyObject* item_of(PyObject* dict, nb::handle key) {
  PyObject* const value = PyDict_GetItemWithError(dict, key.ptr());
  if (value == nullptr) PyErr_Clear();
  return value;
}

std::shared_ptr<const LoadedModel> model_of(const ModelSource& source, const std::string& device,
                                            bool is_kept) {
  const WithoutInterpreter released;
  const Device on = parse_device(device);
  return is_kept ? load_model_to_keep(source, on) : load_model(source, on);
}

std::string digest_of(const std::string& path) {
  const nb::object file = nb::module_::import_("io").attr("open")(path, "rb");
  nb::object digest;
  try {
    digest = nb::module_::import_("hashlib").attr("file_digest")(file, "sha256");
  } catch (const nb::python_error&) {
    file.attr("close")();
    throw;
  }
  file.attr("close")();
  return nb::cast<std::string>(digest.attr("hexdigest")());
}

/// Of each dimension of a block's tensor its size; -1 for rows.
std::vector<std::int64_t> shape_of(const BlockDescription& block) {
  const auto columns = static_cast<std::int64_t>(block.columns.size());
  const FieldInfo& element = block.element;
  if (block.shape == BlockShape::kColumns) return {columns, -1};
  std::vector<std::int64_t> shape{-1};
  if (!element.has_planes() || columns > 1) shape.push_back(columns);
  if (element.has_planes()) shape.push_back(static_cast<std::int64_t>(element.rows));
  if (element.kind == ColumnKind::kMatrix) {
    shape.push_back(static_cast<std::int64_t>(element.columns));
  }
  return shape;
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape) {
    text += (text.empty() ? "" : ", ") + (size < 0 ? std::string("rows") : std::to_string(size));
  }
  return '[' + text + ']';
}

std::string text_of_shape(const ArrayView& view) {
  return text_of({view.shape.begin(), view.shape.begin() + view.rank});
}

/// Of a block's tensor without its rows.
int dims_of_row(const BlockOfPlanes& block) {
  return static_cast<int>(shape_of(block.block).size()) - 1;
}

/// Memory of one block of results, in which arrays of Python lie.
class BlockMemory {
 public:
  /// Of NumPy's, on a line of the cache; on a GPU in the order of `queue`.
  BlockMemory(const Queue& queue, DType dtype, std::int64_t elements) : dtype_(dtype) {
    const auto bytes = static_cast<std::size_t>(elements) * size_of(dtype);
    if (!queue.device().is_cpu()) {
      on_gpu_ = std::make_shared<ResultMemory>(queue, bytes);
      data_ = on_gpu_->data();
      return;
    }
    auto size =
        static_cast<npy_intp>(elements + static_cast<std::int64_t>(kAlignment / size_of(dtype)));
    on_host_ = nb::steal(PyArray_SimpleNew(1, &size, numpy_type_of(dtype)));
    if (!on_host_.is_valid()) throw nb::python_error();
    auto* const begin =
        static_cast<std::byte*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(on_host_.ptr())));
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    data_ = begin + (kAlignment - address % kAlignment) % kAlignment;
  }

  std::byte* data() const noexcept { return data_; }

  /// Not there for NumPy's.
  const std::shared_ptr<ResultMemory>& on_gpu() const noexcept { return on_gpu_; }

  /// @param strides in bytes
  nb::object array(std::byte* data, const std::vector<std::int64_t>& shape,
                   const std::vector<std::int64_t>& strides) const {
    if (on_gpu_ != nullptr) {
      DeviceArray array{on_gpu_, data, dtype_, {shape.begin(), shape.end()}, strides};
      for (std::int64_t& stride : array.strides) {
        stride /= static_cast<std::int64_t>(size_of(dtype_));
      }
      return nb::cast(std::move(array));
    }
    nb::object array = nb::steal(PyArray_New(
        &PyArray_Type, static_cast<int>(shape.size()), shape.data(), numpy_type_of(dtype_),
        strides.data(), data, 0, NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE, nullptr));
    if (!array.is_valid()) throw nb::python_error();
    Py_INCREF(on_host_.ptr());
    if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.ptr()), on_host_.ptr()) < 0) {
      throw nb::python_error();
    }
    return array;
  }

 private:
  DType dtype_;
  nb::object on_host_;
  std::shared_ptr<ResultMemory> on_gpu_;
  std::byte* data_ = nullptr;
};

/// Lets the objects of a call go, and the next one in.
class Turn {
 public:
  explicit Turn(ThreadCall& thread) : thread_(thread) { thread_.is_busy = true; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    for (void* object : thread_.held) Py_DECREF(static_cast<PyObject*>(object));
    thread_.held.clear();
    thread_.is_busy = false;
  }

 private:
  ThreadCall& thread_;
};

}  // namespace

/// The arguments of a call, for as long as it lasts.
struct RuntimeModel::Given {
  /// A scalar of the model that was not given as one number: one for each group?
  struct ScalarLists {
    std::string what;
    std::string shape;
    std::string expected;  ///< of one call
    std::int64_t count;
    std::vector<Offsets> lists;
  };

  TableKind kind = TableKind::kDict;
  bool are_arrays = false;  ///< whole blocks in order: results are, too
  nb::object table;         ///< that is given back as one of its kind
  std::unique_ptr<Columns> columns;
  std::unique_ptr<Columns> results;
  std::vector<ArrayView> views;
  std::vector<std::string> rows_of;         ///< of each collection what its number of rows is from
  std::vector<std::vector<Offsets>> lists;  ///< that the rows of each are in, the outermost first
  std::vector<ScalarLists> numbers;
  std::optional<Groups> groups;        ///< that are separate calls
  std::vector<std::int64_t> ordinals;  ///< of groups, for collections with one row in each
  bool is_traced = false;              ///< of Awkward Array: types without numbers
  ArrayLibrary library;                ///< of the arrays, for kLibrary
  std::optional<CallQueue> queue;      ///< of a call on a GPU
  std::vector<std::shared_ptr<ResultMemory>> memory;  ///< of results, on a GPU
  std::size_t copied = 0;                             ///< bytes, for what had to be converted
};

ModelSource source_of(const std::string& path, nb::dict& service, const std::string& function,
                      std::vector<std::string> others) {
  ModelSource source{.path = path,
                     .options = service_options(path, service, function, std::move(others)),
                     .file = path};
  if (!source.is_url()) return source;
  const auto text_of = [&](const char* name) {
    return nb::cast<std::string>(service.get(name, nb::str("")));
  };
  source.file = text_of("fallback");
  // Of servers a package is held to be theirs; whether another file is, they may not say.
  const bool is_package =
      !source.file.empty() && package::kind_of_file(source.file) == package::FileKind::kPackage;
  if (is_package || !text_of("checksum").empty()) {
    source.same_as = path + '\n' + nb::cast<std::string>(nb::repr(service));
  }
  return source;
}

RuntimeModel::RuntimeModel(const std::string& path, const std::string& device,
                           std::vector<std::string> columns, std::vector<std::string> outputs,
                           nb::dict service, const std::string& digest)
    : service_(std::move(service)),
      columns_(std::move(columns)),
      words_of_outputs_(std::move(outputs)) {
  const auto source_now = [&] {
    return source_of(path, service_, "tensoa.Model", {"device", "columns", "outputs"});
  };
  ModelSource source = source_now();
  if (!digest.empty() && source.file.empty()) {
    service_["checksum"] = digest;
    source = source_now();
  } else if (!digest.empty()) {
    stamp_of(source.file);  // a good message where it is not there
    if (digest_of(source.file) != digest) {
      throw LoadError("model " + source.file +
                      ": is not the file that was pickled: its SHA-256 is another; put the same "
                      "file there, or pickle a Model of this one");
    }
  }
  const bool are_words = !words_of_outputs_.empty();
  if (are_words) source.inputs = columns_;
  source.outputs = words_of_outputs_;
  loaded_ = model_of(source, device, !digest.empty());
  const package::ModelDescription& description = loaded_->description();
  const PlanesOfModel& planes = loaded_->planes();
  const auto chosen = package::names_in_data(
      description, are_words ? std::vector<std::string>{} : columns_, "columns");
  const std::vector<std::string> own = package::column_names(description.inputs);
  for (const BlockOfPlanes& block : planes.inputs) {
    const std::vector<std::string> names = package::plane_names(block.block);
    for (std::size_t i = 0; i < block.count; ++i) {
      input_blocks_.push_back(&block);
      const std::string full = block.block.name + '.' + names[i];
      std::vector<std::string>& aliases = input_aliases_.emplace_back();
      for (const std::string& key : {full, names[i]}) {
        const auto choice = chosen.find(key);
        if (choice != chosen.end() && aliases.empty()) aliases.push_back(choice->second);
      }
      if (aliases.empty()) {
        aliases.push_back(own[block.first + i]);
        for (const std::string& other : {full, names[i]}) {
          if (other != aliases.front()) aliases.push_back(other);
        }
      }
      input_names_.push_back(aliases.front());
      can_be_quick_ = can_be_quick_ && !block.block.element.is_scalar();
    }
  }
  output_names_ = package::column_names(description.outputs);
  for (const BlockOfPlanes& block : planes.outputs) {
    for (std::size_t i = 0; i < block.count; ++i) output_blocks_.push_back(&block);
  }
  const auto interned = [](const std::string& name) {
    return nb::steal(PyUnicode_InternFromString(name.c_str()));
  };
  for (const std::string& name : input_names_) input_keys_.push_back(interned(name));
  for (const std::string& name : output_names_) output_keys_.push_back(interned(name));
}

void RuntimeModel::refuse(const std::string& what) const {
  throw BindingError(subject() + ": " + what);
}

std::vector<std::string> RuntimeModel::names_of(const BlockOfPlanes& block, bool is_input) const {
  const std::vector<std::string>& names = is_input ? input_names_ : output_names_;
  const auto first = names.begin() + static_cast<std::ptrdiff_t>(block.first);
  return {first, first + static_cast<std::ptrdiff_t>(block.count)};
}

// ---- the usual call: a dict of NumPy's columns

namespace {

/// A column of NumPy's as a plane, without anything being looked up or counted.
/// @return its rows; -1 for everything else
std::int64_t plane_of_numpy(PyObject* value, const DType* dtype, bool is_written, Plane& plane) {
  if (!PyArray_CheckExact(value)) return -1;  // others may have a mask
  auto* const array = reinterpret_cast<PyArrayObject*>(value);
  const int type = PyArray_TYPE(array);
  if (PyArray_NDIM(array) != 1 || PyArray_ISBYTESWAPPED(array)) return -1;
  if (is_written && !PyArray_ISWRITEABLE(array)) return -1;
  if (dtype != nullptr && type == numpy_type_of(*dtype)) {
    plane.dtype = *dtype;
  } else {
    ArrayView view;
    if (!view_of_numpy(value, view) || (dtype != nullptr && view.dtype != *dtype)) return -1;
    plane.dtype = view.dtype;
  }
  plane.data = static_cast<std::byte*>(PyArray_DATA(array));
  plane.stride = PyArray_STRIDE(array, 0);
  return PyArray_DIM(array, 0);
}

/// The same of a library with DLPack's exchange API, which works on the queue of the call.
std::int64_t plane_of_tensor(PyObject* value, const DType* dtype, const Queue& queue,
                             Plane& plane) {
  const ArrayType* const type = array_type_of(value);
  if (type == nullptr) return -1;
  const std::optional<nb::dlpack::dltensor> tensor = type->view(value);
  if (!tensor || tensor->ndim != 1) return -1;
  const std::optional<DType> found = dtype_of(tensor->dtype);
  if (!found || (dtype != nullptr && *found != *dtype)) return -1;
  const bool is_on_cpu = tensor->device.device_type == nb::device::cpu::value;
  const bool is_on_gpu = tensor->device.device_type == TENSOA_DLPACK_GPU;
  const Device device =
      is_on_cpu ? Device::cpu() : Device::cuda(is_on_gpu ? tensor->device.device_id : -1);
  if (device != queue.device()) return -1;
  if (is_on_gpu && type->api.current_queue(device).native_handle() != queue.native_handle()) {
    return -1;
  }
  const auto element = static_cast<std::int64_t>(size_of(*found));
  plane.data = static_cast<std::byte*>(tensor->data) + tensor->byte_offset;
  plane.stride = tensor->strides != nullptr ? tensor->strides[0] * element : element;
  plane.dtype = *found;
  plane.device = device;
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(plane.data) % size_of(*found) == 0;
  return is_on_gpu && (plane.stride < 0 || !is_aligned) ? -1 : tensor->shape[0];
}

/// A column where it lies. @return its rows; -1 for everything else
std::int64_t plane_of_array(PyObject* value, const DType* dtype, bool is_written,
                            const Queue& queue, Plane& plane) {
  if (!PyArray_CheckExact(value)) return plane_of_tensor(value, dtype, queue, plane);
  if (!queue.device().is_cpu()) return -1;
  plane.device = Device::cpu();
  return plane_of_numpy(value, dtype, is_written, plane);
}

void hold(PyObject* object, ThreadCall& thread) {
  Py_INCREF(object);
  thread.held.push_back(object);
}

}  // namespace

/// @param others that are in the dict and are not columns
/// @return false where it takes a closer look
bool RuntimeModel::read_quickly(Given& given, PyObject* dict, Py_ssize_t others,
                                ThreadCall& thread) const {
  PlaneCall& call = thread.call;
  if (!can_be_quick_ || !PyDict_CheckExact(dict)) return false;
  if (PyDict_Size(dict) - others != static_cast<Py_ssize_t>(input_keys_.size())) return false;
  std::fill(call.rows.begin(), call.rows.end(), -1);
  const bool any = loaded_->planes().takes_any_numbers;
  for (std::size_t i = 0; i < input_keys_.size(); ++i) {
    PyObject* const value = item_of(dict, input_keys_[i]);
    if (value == nullptr) return false;
    const BlockOfPlanes& block = *input_blocks_[i];
    const std::int64_t rows = plane_of_array(value, any ? nullptr : &block.block.element.dtype,
                                             false, call.queue(), call.inputs[i]);
    std::int64_t& expected = call.rows[*block.collection];
    if (expected < 0) expected = rows;
    if (rows < 0 || rows != expected) return false;
    hold(value, thread);
  }
  PyObject* name = nullptr;
  PyObject* first = nullptr;
  for (Py_ssize_t place = 0; PyDict_Next(dict, &place, &name, &first) != 0;) {
    if (PyArray_Check(first)) break;  // is not library's, and asking takes longer than the call
    const ArrayType* const type = array_type_of(first);
    if (type == nullptr) continue;  // out=, stream=
    if (type->library) {
      given.kind = TableKind::kLibrary;
      given.library = type->library;
    }
    break;
  }
  return true;
}

bool RuntimeModel::write_quickly(const Given& given, PyObject* out, ThreadCall& thread) const {
  PlaneCall& call = thread.call;
  if (!PyDict_CheckExact(out)) return false;
  if (PyDict_Size(out) != static_cast<Py_ssize_t>(output_keys_.size())) return false;
  const bool any = loaded_->planes().takes_any_numbers;
  for (std::size_t i = 0; i < output_keys_.size(); ++i) {
    PyObject* const value = item_of(out, output_keys_[i]);
    if (value == nullptr) return false;
    const BlockOfPlanes& block = *output_blocks_[i];
    const std::int64_t rows = plane_of_array(value, any ? nullptr : &block.block.element.dtype,
                                             true, call.queue(), call.outputs[i]);
    if (rows != rows_of_result(given, block, thread)) return false;
    if (any && call.outputs[i].dtype < DType::kF32) return false;
    hold(value, thread);
  }
  return true;
}

// ---- any call

ArrayUse RuntimeModel::use_of(const BlockOfPlanes& block, const std::string& subject, bool is_input,
                              int dims, Given& given) const {
  return {.subject = subject,
          .dtype = block.block.element.dtype,
          .is_written = !is_input,
          .takes_any = loaded_->planes().takes_any_numbers,
          .dims = dims,
          .is_scalar = block.block.element.is_scalar(),
          .queue = given.queue ? &*given.queue : nullptr};
}

void RuntimeModel::require_usable(const ArrayView& view, const std::string& what,
                                  const BlockOfPlanes& block, bool is_input) const {
  if (!is_input && loaded_->planes().takes_any_numbers && view.dtype < DType::kF32) {
    refuse(what + " is " + std::string(name_of(view.dtype)) +
           ", expected float32 or float64 for answers");
  }
  const bool is_number = is_input && block.block.element.is_scalar() && view.device.is_cpu();
  if (view.device != loaded_->device() && !is_number) {
    refuse(what + " lies on " + to_string(view.device) + ", the model was loaded on " +
           to_string(loaded_->device()) + "; expected both on one device");
  }
  if (view.device.is_cpu()) return;
  const auto element = static_cast<std::int64_t>(size_of(view.dtype));
  for (int d = 0; d < view.rank; ++d) {
    const std::int64_t stride = view.stride[static_cast<std::size_t>(d)];
    if (view.shape[static_cast<std::size_t>(d)] < 2 || (stride >= 0 && stride % element == 0)) {
      continue;
    }
    refuse(what + " has a stride of " + std::to_string(stride) + " bytes on " +
           to_string(view.device) + ", expected a multiple of its element's " +
           std::to_string(element) + ", 0 or more: x.copy()");
  }
  if (reinterpret_cast<std::uintptr_t>(view.data) % static_cast<std::uintptr_t>(element) != 0) {
    refuse(what + " does not begin at a multiple of its element's " + std::to_string(element) +
           " bytes on " + to_string(view.device) + ": x.copy()");
  }
}

void RuntimeModel::set_rows(Given& given, const BlockOfPlanes& block, std::int64_t rows,
                            const ArrayView& view, const std::string& what, bool is_input,
                            ThreadCall& thread) const {
  if (!is_input) {
    const std::int64_t expected = rows_of_result(given, block, thread);
    if (rows == expected) return;
    const std::string why = block.collection ? "as " + given.rows_of[*block.collection]
                            : given.groups   ? std::to_string(block.rows) + " for each group"
                                             : std::string("always");
    refuse(what + " of out has " + std::to_string(rows) + " rows, expected " +
           std::to_string(expected) + ", " + why);
  }
  std::int64_t& expected = thread.call.rows[*block.collection];
  std::vector<Offsets>& lists = given.lists[*block.collection];
  if (expected < 0) {
    expected = rows;
    lists = view.lists;
    given.rows_of[*block.collection] = what;
  }
  if (rows != expected) {
    refuse(what + " has " + std::to_string(rows) + " rows, " + given.rows_of[*block.collection] +
           " has " + std::to_string(expected) + "; expected equal numbers");
  }
  if (lists == view.lists) return;
  refuse(what + " is in other lists than " + given.rows_of[*block.collection] +
         "; expected the same: ak.broadcast_arrays(x, y)");
}

void RuntimeModel::take_plane(Given& given, const BlockOfPlanes& block, std::size_t plane,
                              const ArrayView& view, const std::string& name, bool is_input,
                              ThreadCall& thread) const {
  const std::string what = "column " + name;
  Plane& to = (is_input ? thread.call.inputs : thread.call.outputs)[plane];
  to = {view.data, view.stride[0], view.dtype, view.device};
  if (block.block.element.is_scalar()) {
    std::int64_t elements = 1;
    for (int d = 0; d < view.rank; ++d) elements *= view.shape[static_cast<std::size_t>(d)];
    if (elements == 1 && view.lists.empty()) {
      to.stride = 0;
    } else {
      const std::int64_t numbers = view.rank == 1 ? elements : -1;
      given.numbers.push_back({what, text_of_shape(view), "one number", numbers, view.lists});
    }
    return;
  }
  if (view.rank != 1) {
    refuse(what + " has the shape " + text_of_shape(view) + ", expected [rows]");
  }
  set_rows(given, block, view.shape[0], view, what, is_input, thread);
}

/// All planes of a block, or of one of its columns that is a vector or matrix.
void RuntimeModel::take_block(Given& given, const BlockOfPlanes& block, const ArrayView& view,
                              const std::string& name, bool is_input, ThreadCall& thread) const {
  const FieldInfo& element = block.block.element;
  std::vector<std::int64_t> shape = shape_of(block.block);
  std::size_t rank = shape.size();
  const bool is_scalar = element.is_scalar();
  // Scalars need no rows: [k]; a single one may have them alone: [groups].
  const std::int64_t scalars = shape.back();
  if (is_scalar && view.rank == 1) {
    const bool is_one_each = scalars == 1 && view.shape[0] != 1;
    shape.erase(is_one_each ? shape.end() - 1 : shape.begin());
    --rank;
  }
  bool fits = std::cmp_equal(view.rank, rank);
  std::int64_t rows = 1;
  for (std::size_t d = 0; d < rank && fits; ++d) {
    if (shape[d] < 0) rows = view.shape[d];
    fits = shape[d] < 0 || shape[d] == view.shape[d];
  }
  const std::string what = "block " + name;
  const bool is_one_scalar = is_scalar && rows == 1 && view.lists.empty();
  if (is_scalar && fits && !is_one_scalar) {
    given.numbers.push_back({what, text_of_shape(view), text_of({scalars}), rows, view.lists});
  }
  if (block.block.shape == BlockShape::kColumns && !view.lists.empty()) {
    refuse(what +
           " is [columns, rows], which lists of rows are not; give its columns by their names");
  }
  if (!fits) {
    refuse(what + " has the shape " + text_of_shape(view) + ", expected " +
           text_of(is_scalar ? std::vector<std::int64_t>{scalars} : shape_of(block.block)));
  }
  // The strides of rows, columns, and of the rows and columns of a matrix.
  std::size_t d = 0;
  std::int64_t of_rows = 0;
  std::int64_t of_columns = 0;
  std::int64_t of_planes[2] = {0, 0};
  const bool is_turned = block.block.shape == BlockShape::kColumns;
  if (is_turned) of_columns = view.stride[d++];
  if (shape.size() > 0 && std::ranges::find(shape, -1) != shape.end()) of_rows = view.stride[d++];
  if (!is_turned && (!element.has_planes() || block.block.columns.size() > 1)) {
    of_columns = view.stride[d++];
  }
  for (std::size_t i = 0; d < rank; ++i) of_planes[i] = view.stride[d++];
  std::vector<Plane>& planes = is_input ? thread.call.inputs : thread.call.outputs;
  const std::size_t each = element.planes();
  for (std::size_t i = 0; i < block.count; ++i) {
    const auto at = [&](std::size_t number, std::int64_t stride) {
      return static_cast<std::int64_t>(number) * stride;
    };
    const std::size_t part = i % each;
    std::byte* const data = view.data + at(i / each, of_columns) +
                            at(part % element.rows, of_planes[0]) +
                            at(part / element.rows, of_planes[1]);
    planes[block.first + i] = {data, is_one_scalar ? 0 : of_rows, view.dtype, view.device};
  }
  if (!is_scalar) set_rows(given, block, rows, view, what, is_input, thread);
}

/// The columns of a call or of `out`, by name.
void RuntimeModel::read(Given& given, Columns& columns, ThreadCall& thread) const {
  const std::string where = subject() + ": ";
  const std::vector<std::string> names = columns.names();
  std::set<std::string> left(names.begin(), names.end());
  const std::set<std::string> all = left;
  const std::set<std::string> of_planes(input_names_.begin(), input_names_.end());
  const auto take = [&](const std::string& what, const std::string& name,
                        const BlockOfPlanes& block, int dims) -> const ArrayView& {
    const std::string text = where + what + ' ' + name;
    std::optional<ArrayView> view =
        columns.find(name, use_of(block, text, true, dims, given), block.block.element.is_scalar());
    left.erase(name);
    given.copied += view->copied;
    require_usable(*view, what + ' ' + name, block, true);
    return given.views.emplace_back(std::move(*view));
  };
  for (const BlockOfPlanes& block : loaded_->planes().inputs) {
    const FieldInfo& element = block.block.element;
    const std::string& name = block.block.name;
    if (all.contains(name)) {
      const bool is_plane = of_planes.contains(name);
      const ArrayView& view =
          take(is_plane ? "column" : "block", name, block, is_plane ? 0 : dims_of_row(block));
      if (!is_plane || view.rank > 1) {
        take_block(given, block, view, name, true, thread);
        continue;
      }
    }
    const std::size_t each = element.planes();
    for (std::size_t c = 0; c < block.block.columns.size(); ++c) {
      const std::string& column = block.block.columns[c].name;
      const std::size_t first = block.first + c * each;
      bool is_whole = false;
      for (const std::string& whole : {name + '.' + column, column}) {
        if (!element.has_planes() || !all.contains(whole) || is_whole) continue;
        is_whole = true;
        BlockOfPlanes one = block;
        one.block.columns = {block.block.columns[c]};
        one.first = first;
        one.count = each;
        take_block(given, one, take("column", whole, block, dims_of_row(one)), whole, true, thread);
      }
      for (std::size_t i = 0; i < each && !is_whole; ++i) {
        const std::vector<std::string>& aliases = input_aliases_[first + i];
        const auto found = std::ranges::find_if(
            aliases, [&](const std::string& alias) { return all.contains(alias); });
        if (found == aliases.end()) {
          refuse("got no column " + aliases.front() + ", which it reads as " +
                 (loaded_->planes().takes_any_numbers ? "numbers"
                                                      : std::string(name_of(element.dtype))) +
                 "; there are " + listed_or_none(names) + nearest_of(aliases.front(), names));
        }
        take_plane(given, block, first + i, take("column", *found, block, 0), *found, true, thread);
      }
    }
  }
  if (left.empty() || !columns.is_exact()) return;
  refuse("got the column " + *left.begin() + ", which it does not read; it reads " +
         listed_or_none(input_names_) + nearest_of(*left.begin(), input_names_));
}

/// Whole blocks in the order of the model's.
void RuntimeModel::read_arrays(Given& given, PyObject* args, ThreadCall& thread) const {
  const std::vector<BlockOfPlanes>& blocks = loaded_->planes().inputs;
  const auto count = static_cast<std::size_t>(PyTuple_Size(args));
  given.are_arrays = true;
  if (count != blocks.size()) {
    std::vector<std::string> names;
    for (const BlockOfPlanes& block : blocks) names.push_back(block.block.name);
    refuse("got " + std::to_string(count) + (count == 1 ? " array" : " arrays") + ", expected " +
           std::to_string(blocks.size()) + ", one for each of its blocks (" +
           listed_or_none(names) + "); or columns by their names");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const nb::handle value(PyTuple_GetItem(args, static_cast<Py_ssize_t>(i)));
    const std::string what = "block " + blocks[i].block.name;
    const std::string text = subject() + ": " + what;
    ArrayView view = view_of(value, use_of(blocks[i], text, true, dims_of_row(blocks[i]), given));
    given.copied += view.copied;
    require_usable(view, what, blocks[i], true);
    if (blocks[i].count == 1 && view.rank == 1 && !blocks[i].block.element.is_scalar()) {
      take_plane(given, blocks[i], blocks[i].first, view, blocks[i].block.name, true, thread);
    } else {
      take_block(given, blocks[i], view, blocks[i].block.name, true, thread);
    }
    given.views.push_back(std::move(view));
  }
}

/// The lists of each collection that `groups=` says: offsets, or a dict of them by blocks.
void RuntimeModel::take_groups(Given& given, nb::handle groups, ThreadCall& thread) const {
  std::vector<std::string> names;  // of blocks with rows
  std::map<std::string, std::size_t> collections;
  std::set<std::size_t> with_rows;
  for (const BlockOfPlanes& block : loaded_->planes().inputs) {
    if (block.block.element.is_scalar()) continue;
    names.push_back(block.block.name);
    collections[block.block.name] = *block.collection;
    with_rows.insert(*block.collection);
  }
  const auto take = [&](std::size_t collection, nb::handle array, const std::string& what) {
    std::vector<Offsets>& lists = given.lists[collection];
    Offsets offsets = offsets_of(array, subject() + ": " + what, true);
    const std::int64_t rows = thread.call.rows[collection];
    if (offsets.first[offsets.lists] != rows) {
      refuse(what + " end with " + std::to_string(offsets.first[offsets.lists]) + ", " +
             given.rows_of[collection] + " has " + std::to_string(rows) +
             " rows; expected the same");
    }
    if (!lists.empty() && lists != std::vector{offsets}) {
      refuse(what + " are not those of the lists that " + given.rows_of[collection] +
             " is in, or of another block with the same number of rows");
    }
    lists = {std::move(offsets)};
  };
  const bool is_dict = nb::isinstance<nb::dict>(groups);
  if (is_dict ? nb::len(groups) == 0 : with_rows.size() != 1) {
    refuse("groups is " + (is_dict ? std::string("an empty dict") : type_of_object(groups)) +
           ", expected a dict {block: offsets} with " + listed_or_none(names) +
           ", one of those with equal numbers of rows");
  }
  if (!is_dict) return take(*with_rows.begin(), groups, "groups");
  for (const auto& [key, array] : nb::borrow<nb::dict>(groups)) {
    const std::string name = nb::cast<std::string>(nb::str(key));
    const auto found = collections.find(name);
    if (found == collections.end()) {
      refuse("groups has " + name + ", which is not a block with rows; there are " +
             listed_or_none(names) + nearest_of(name, names));
    }
    take(found->second, array, "groups of " + name);
  }
}

/// Sets which calls to make for columns in lists: `given.groups`, nothing for one call.
void RuntimeModel::find_groups(Given& given, ThreadCall& thread) const {
  const auto inner = std::ranges::find_if_not(given.lists, &std::vector<Offsets>::empty);
  const bool is_one_call =
      inner == given.lists.end() ||
      (given.lists.size() == 1 && given.numbers.empty() && rows_are_independent() == true);
  if (is_one_call) {
    if (given.numbers.empty() || given.is_traced) return;
    const Given::ScalarLists& numbers = given.numbers.front();
    refuse(numbers.what + " has the shape " + numbers.shape + ", expected " + numbers.expected +
           " for the whole call");
  }
  const std::string first_name =
      given.rows_of[static_cast<std::size_t>(inner - given.lists.begin())];
  const std::vector<Offsets> outer(inner->begin(), inner->end() - 1);
  Groups groups;
  groups.count = inner->back().lists;
  for (std::size_t c = 0; c < given.lists.size(); ++c) {
    std::vector<Offsets>& lists = given.lists[c];
    if (given.rows_of[c].empty()) {  // only scalars belong to it: one row in each call
      given.ordinals.resize(static_cast<std::size_t>(groups.count) + 1);
      std::iota(given.ordinals.begin(), given.ordinals.end(), 0);
      lists = outer;
      thread.call.rows[c] = groups.count;
      groups.offsets.push_back(given.ordinals.data());
      continue;
    }
    if (lists.empty()) {
      refuse(given.rows_of[c] + " is in no lists, as " + first_name +
             " is; expected lists of both: one for each group");
    }
    if (lists.back().lists != groups.count) {
      refuse(given.rows_of[c] + " is in " + std::to_string(lists.back().lists) + " lists, " +
             first_name + " in " + std::to_string(groups.count) +
             "; expected the same number of lists: one for each group");
    }
    if (std::vector<Offsets>(lists.begin(), lists.end() - 1) != outer) {
      refuse(given.rows_of[c] + " is in lists of other lists than " + first_name +
             "; expected the same");
    }
    groups.offsets.push_back(lists.back().first);
  }
  for (const Given::ScalarLists& numbers : given.numbers) {
    if (numbers.count == groups.count && numbers.lists == outer) continue;
    refuse(numbers.what + " has the shape " + numbers.shape +
           (numbers.lists == outer ? "" : " and other lists") + ", expected " + numbers.expected +
           ", or one for each of " + std::to_string(groups.count) + " groups");
  }
  given.groups = std::move(groups);
}

std::int64_t RuntimeModel::rows_of_result(const Given& given, const BlockOfPlanes& block,
                                          const ThreadCall& thread) const {
  const bool is_one_each = !block.collection && given.groups;
  return thread.call.rows_of(block) * (is_one_each ? given.groups->count : 1);
}

/// Whether all results have equal numbers of rows, however many a call has.
bool RuntimeModel::gives_one_table() const {
  const std::vector<BlockOfPlanes>& blocks = loaded_->planes().outputs;
  return std::ranges::all_of(blocks, [&](const BlockOfPlanes& block) {
    return block.collection == blocks.front().collection &&
           (block.collection || block.rows == blocks.front().rows);
  });
}

void RuntimeModel::write(Given& given, nb::handle out, ThreadCall& thread) const {
  TableKind kind = TableKind::kDict;
  given.results = columns_of_table(nb::borrow(out), subject() + ": out", kind);
  if (given.results != nullptr) {
    if (kind != TableKind::kDict && kind != TableKind::kStructured) {
      refuse("out is " + type_of_object(out) +
             ", whose memory cannot be written; expected a dict of arrays");
    }
    return write_columns(given, *given.results, thread);
  }
  const std::vector<BlockOfPlanes>& blocks = loaded_->planes().outputs;
  if (blocks.size() != 1) {
    refuse("out is " + type_of_object(out) + ", expected a dict with an array for each of " +
           listed_or_none(output_names_));
  }
  const BlockOfPlanes& block = blocks.front();
  const std::string text = subject() + ": out";
  ArrayView view = view_of(out, use_of(block, text, false, 0, given));
  require_usable(view, "out", block, false);
  if (block.count == 1 && view.rank == 1) {
    take_plane(given, block, 0, view, block.block.name, false, thread);
  } else {
    take_block(given, block, view, block.block.name, false, thread);
  }
  given.views.push_back(std::move(view));
}

void RuntimeModel::write_columns(Given& given, Columns& columns, ThreadCall& thread) const {
  const std::vector<std::string> names = columns.names();
  std::set<std::string> left(names.begin(), names.end());
  const auto take = [&](const std::string& what, const std::string& name,
                        const BlockOfPlanes& block) -> const ArrayView& {
    const std::string text = subject() + ": " + what + ' ' + name + " of out";
    std::optional<ArrayView> view = columns.find(name, use_of(block, text, false, 0, given), false);
    left.erase(name);
    require_usable(*view, what + ' ' + name + " of out", block, false);
    return given.views.emplace_back(std::move(*view));
  };
  for (const BlockOfPlanes& block : loaded_->planes().outputs) {
    const std::string& name = block.block.name;
    const bool is_plane = std::ranges::find(output_names_, name) != output_names_.end();
    if (left.contains(name) && !is_plane) {
      take_block(given, block, take("block", name, block), name, false, thread);
      continue;
    }
    for (std::size_t i = block.first; i < block.first + block.count; ++i) {
      const std::string& plane = output_names_[i];
      if (!left.contains(plane)) {
        refuse("out has no column " + plane + "; there are " + listed_or_none(names) +
               ", expected " + listed_or_none(output_names_));
      }
      take_plane(given, block, i, take("column", plane, block), plane, false, thread);
    }
  }
  if (left.empty() || !columns.is_exact()) return;
  refuse("out has the column " + *left.begin() + ", which the model does not give; it gives " +
         listed_or_none(output_names_) + nearest_of(*left.begin(), output_names_));
}

/// Memory for what the model gives: a dict of columns, or whole blocks where arrays were given.
nb::object RuntimeModel::make_results(Given& given, ThreadCall& thread) const {
  PlaneCall& call = thread.call;
  const std::vector<BlockOfPlanes>& blocks = loaded_->planes().outputs;
  nb::dict columns;
  nb::object single;
  for (const BlockOfPlanes& block : blocks) {
    const DType dtype = block.block.element.dtype;
    const Queue& queue = call.queue();
    if (queue.device().is_cpu() && numpy_type_of(dtype) == NPY_NOTYPE) {
      refuse("block " + block.block.name +
             " is bfloat16, which NumPy does not have; give tensors of that type as out=");
    }
    const auto element = static_cast<std::int64_t>(size_of(dtype));
    const std::int64_t rows = rows_of_result(given, block, thread);
    const std::int64_t line = static_cast<std::int64_t>(kAlignment) / element;
    std::size_t last = 0;
    const std::size_t each = block.block.element.planes();
    for (const ColumnDescription& column : block.block.columns) {
      last = std::max(last, column.plane + each);
    }
    // JAX takes arrays without gaps only.
    const bool has_gaps = last > 1 && !(given.are_arrays && given.kind == TableKind::kLibrary);
    const std::int64_t pitch = has_gaps ? (rows + line - 1) / line * line : rows;
    const BlockMemory memory(queue, dtype, static_cast<std::int64_t>(last) * pitch);
    if (memory.on_gpu() != nullptr) given.memory.push_back(memory.on_gpu());
    for (std::size_t i = 0; i < block.count; ++i) {
      const std::size_t place = block.block.columns[i / each].plane + i % each;
      std::byte* const data = memory.data() + static_cast<std::int64_t>(place) * pitch * element;
      call.outputs[block.first + i] = {data, element, dtype, queue.device()};
      if (!given.are_arrays) {
        columns[output_keys_[block.first + i]] = memory.array(data, {rows}, {element});
      }
    }
    if (!given.are_arrays) continue;
    const std::vector<ColumnDescription>& of = block.block.columns;
    bool is_even = true;
    for (std::size_t c = 1; c < of.size(); ++c) {
      is_even = is_even && of[c].plane - of[0].plane == c * (of[1].plane - of[0].plane);
    }
    const std::int64_t step = of.size() > 1 ? std::int64_t{of[1].plane} - of[0].plane : 1;
    if (!is_even || step <= 0) {
      refuse("the columns of block " + block.block.name +
             " do not lie at equal distances, so that they are not an array; give columns by their "
             "names");
    }
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
    const auto add = [&](std::int64_t size, std::int64_t stride) {
      shape.push_back(size);
      strides.push_back(stride);
    };
    const FieldInfo& info = block.block.element;
    const auto count = static_cast<std::int64_t>(of.size());
    if (block.block.shape == BlockShape::kColumns) add(count, step * pitch * element);
    add(rows, element);
    if (block.block.shape == BlockShape::kRows && (!info.has_planes() || count > 1)) {
      add(count, step * pitch * element);
    }
    const auto rows_of_one = static_cast<std::int64_t>(info.rows);
    if (info.has_planes()) add(rows_of_one, pitch * element);
    if (info.kind == ColumnKind::kMatrix) {
      add(static_cast<std::int64_t>(info.columns), rows_of_one * pitch * element);
    }
    const std::int64_t planes_before = of[0].plane;
    single = memory.array(memory.data() + planes_before * pitch * element, shape, strides);
    columns[block.block.name.c_str()] = single;
  }
  if (given.are_arrays && blocks.size() == 1) return single;
  return columns;
}

/// Columns as the kind of table that the call was given.
nb::object RuntimeModel::given_back(Given& given, nb::object results) const {
  switch (given.kind) {
    case TableKind::kDict:
      return results;
    case TableKind::kLibrary: {
      nb::dict all;
      if (!nb::isinstance<nb::dict>(results)) return given.library.take(results);
      for (const auto& [name, column] : nb::borrow<nb::dict>(results)) {
        all[name] = given.library.take(column);
      }
      return all;
    }
    case TableKind::kPolars:
      if (!gives_one_table()) return results;
      return nb::module_::import_("polars").attr("DataFrame")(results);
    case TableKind::kPyarrow: {
      if (!gives_one_table()) return results;
      const std::string type = nb::cast<std::string>(given.table.type().attr("__name__"));
      return nb::module_::import_("pyarrow").attr(type.c_str()).attr("from_pydict")(results);
    }
    case TableKind::kPandas: {
      if (!gives_one_table()) return results;
      const nb::object frame = nb::module_::import_("pandas").attr("DataFrame");
      // The index says which row is which, where there is one answer for each.
      if (!loaded_->planes().outputs.front().collection) {
        return frame(results, nb::arg("copy") = false);
      }
      return frame(results, nb::arg("index") = given.table.attr("index"), nb::arg("copy") = false);
    }
    case TableKind::kAwkward:
      return in_lists(given, results);
    case TableKind::kStructured:
      break;
  }
  return results;
}

/// Results as an array of Awkward Array, in the lists of what was given.
nb::object RuntimeModel::in_lists(Given& given, const nb::object& results) const {
  // The same objects where they are the same: what is in the outer lists of all is put together.
  const auto inner = std::ranges::max_element(given.lists, {}, &std::vector<Offsets>::size);
  std::vector<nb::list> lists(given.lists.size());
  nb::list outer;
  for (std::size_t l = 0; l + 1 < inner->size(); ++l) outer.append((*inner)[l].array);
  for (std::size_t c = 0; c < lists.size(); ++c) {
    for (std::size_t l = 0; l < given.lists[c].size(); ++l) {
      const bool is_outer = given.groups && l < nb::len(outer);
      lists[c].append(is_outer ? nb::object(outer[l]) : given.lists[c][l].array);
    }
  }
  nb::dict columns;
  const auto add = [&](nb::handle name, nb::handle array, const BlockOfPlanes& block) {
    nb::list levels;
    std::int64_t size = 0;
    if (block.collection) {
      levels = lists[*block.collection];
    } else if (given.groups) {
      levels = outer;
      if (block.rows != 1) size = static_cast<std::int64_t>(block.rows);
    }
    columns[name] = nb::make_tuple(array, levels, size);
  };
  if (!nb::isinstance<nb::dict>(results)) {
    add(nb::str(""), results, loaded_->planes().outputs.front());
  } else {
    for (const auto& [name, array] : nb::cast<nb::dict>(results)) {
      const std::string text = nb::cast<std::string>(name);
      const auto column = std::ranges::find(output_names_, text);
      const auto block = std::ranges::find(loaded_->planes().outputs, text,
                                           [](const BlockOfPlanes& one) { return one.block.name; });
      add(name, array,
          given.are_arrays
              ? *block
              : *output_blocks_[static_cast<std::size_t>(column - output_names_.begin())]);
    }
  }
  // With groups every result has one entry for each group: a list, a row or some rows.
  const bool are_records = given.groups || gives_one_table();
  return nb::module_::import_("tensoa.lists")
      .attr("array_of")(columns, nb::arg("are_records") = are_records,
                        nb::arg("are_traced") = given.is_traced);
}

namespace {

/// Whether a value, or one in a dict, is what dask computes later.
bool is_lazy(nb::handle value) {
  if (is_instance(value, "dask_awkward", "Array")) return true;
  if (!nb::isinstance<nb::dict>(value)) return false;
  for (const auto& [name, one] : nb::borrow<nb::dict>(value)) {
    if (is_instance(one, "dask_awkward", "Array")) return true;
  }
  return false;
}

}  // namespace

/// @param array the first one of the call on a GPU, if there is one
Queue RuntimeModel::queue_of_call(nb::handle array, PyObject* stream) const {
  const Device device = loaded_->device();
  if (device.is_cpu()) {
    if (stream != nullptr) refuse("got a stream, and was loaded on the cpu; expected none");
    return Queue(device);
  }
  if (stream != nullptr) return queue_of(stream, device, subject());
  std::optional<Queue> current;
  if (array.is_valid()) current = current_queue_of(array, device);
  return current ? *current : queue_of_number(0, device);  // the legacy default stream
}

namespace {

/// Py_IsFinalizing() of Python 3.13, which had another name before: neither is in the stable ABI of 3.12.
bool is_ending() {
  static const auto function = [] {
    void* const named = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    return reinterpret_cast<int (*)()>(named ? named : dlsym(RTLD_DEFAULT, "_Py_IsFinalizing"));
  }();
  return function() != 0;
}

/// Keeps arrays until the device has done with them, of libraries that would not wait for it. @throws DeviceError
void keep(std::vector<ArrayView> views, const Event& end, ThreadCall& thread) {
  std::erase_if(views, [](const ArrayView& view) { return view.is_in_order; });
  if (views.empty()) return;
  const std::shared_ptr<void> owner(new std::vector<ArrayView>(std::move(views)), [](void* object) {
    // The end of the process frees them, too; a thread that wants the interpreter then is ended.
    if (!nb::is_alive() || is_ending()) return;
    const WithInterpreter acquired;
    delete static_cast<std::vector<ArrayView>*>(object);
  });
  thread.in_use.emplace_back(end, owner);
}

/// Finds an array on a GPU among the values of a dict but those of some keys.
nb::object array_on_gpu(const nb::dict& values, std::initializer_list<PyObject*> but = {}) {
  for (const auto& [key, value] : values) {
    const bool is_left_out =
        std::ranges::any_of(but, [&](PyObject* one) { return key.equal(nb::handle(one)); });
    if (!is_left_out && is_on_gpu(value)) return nb::borrow(value);
  }
  return {};
}

/// The same among arguments, the only one of which may be a table.
nb::object array_on_gpu(const nb::tuple& arguments) {
  for (nb::handle argument : arguments) {
    if (is_on_gpu(argument)) return nb::borrow(argument);
    if (nb::isinstance<nb::dict>(argument)) return array_on_gpu(nb::borrow<nb::dict>(argument));
  }
  return {};
}

}  // namespace

nb::object RuntimeModel::call(nb::handle self, PyObject* args, PyObject* kwargs) const {
  static const bool is_numpy_there = (need_numpy(), true);
  static PyObject* const out_key = PyUnicode_InternFromString("out");
  static PyObject* const groups_key = PyUnicode_InternFromString("groups");
  static PyObject* const stream_key = PyUnicode_InternFromString("stream");
  (void)is_numpy_there;
  const Py_ssize_t positional = PyTuple_Size(args);
  PyObject* out = nullptr;
  PyObject* groups = nullptr;
  PyObject* stream = nullptr;
  Py_ssize_t named = kwargs == nullptr ? 0 : PyDict_Size(kwargs);
  if (named > 0) {
    for (const auto& [key, value] : {std::pair(out_key, &out), std::pair(groups_key, &groups),
                                     std::pair(stream_key, &stream)}) {
      *value = PyDict_GetItemWithError(kwargs, key);
      if (*value != nullptr) --named;
      if (*value == Py_None) *value = nullptr;
    }
  }
  const Py_ssize_t others = kwargs == nullptr ? 0 : PyDict_Size(kwargs) - named;
  if (positional > 0 && named > 0) {
    refuse("got " + std::to_string(positional) + " positional and " + std::to_string(named) +
           " named arguments; expected a table, arrays, or columns by their names");
  }
  if (positional == 0 && named == 0 && !input_names_.empty()) {
    refuse("got no columns; it reads " + listed_or_none(input_names_));
  }

  const bool is_on_device = !loaded_->device().is_cpu();
  nb::object array;  // that says where the call runs, and of which library results are
  if (is_on_device && positional > 0) array = array_on_gpu(nb::borrow<nb::tuple>(args));
  if (is_on_device && positional == 0 && kwargs != nullptr) {
    array = array_on_gpu(nb::borrow<nb::dict>(kwargs), {out_key, groups_key, stream_key});
  }
  const Queue queue = queue_of_call(array, stream);
  ThreadCalls& calls = loaded_->of_this_thread();
  std::unique_ptr<ThreadCall> dropped;
  ThreadCall& usual = loaded_->call_on(queue, calls, dropped);
  if (dropped != nullptr) {
    const WithoutInterpreter released;  // it may wait for the device
    dropped.reset();
  }
  const std::unique_ptr<ThreadCall> nested = usual.is_busy ? loaded_->another_call(queue) : nullptr;
  ThreadCall& thread = nested ? *nested : usual;
  const Turn turn(thread);
  if (is_on_device) {
    for (const std::unique_ptr<ThreadCall>& one : calls.on_queues) one->let_go();
  }
  Given given;
  if (is_on_device) given.queue.emplace(queue);

  PyObject* const first = positional > 0 ? PyTuple_GetItem(args, 0) : nullptr;
  const bool is_quick = groups != nullptr ? false
                        : positional == 0
                            ? kwargs != nullptr && read_quickly(given, kwargs, others, thread)
                        : positional == 1 ? read_quickly(given, first, 0, thread)
                                          : false;
  if (!is_quick) {
    const nb::tuple given_arrays(nb::borrow<nb::tuple>(args));
    nb::dict named_columns;
    if (kwargs != nullptr) named_columns.update(nb::borrow<nb::dict>(kwargs));
    for (PyObject* const option : {out_key, groups_key, stream_key}) {
      named_columns.attr("pop")(nb::handle(option), nb::none());
    }
    if (std::ranges::any_of(given_arrays, is_lazy) || is_lazy(named_columns)) {
      if (out != nullptr || groups != nullptr) {
        refuse(std::string("got arrays of dask-awkward with ") +
               (out != nullptr ? "out=" : "groups=") + "; expected neither out= nor groups=");
      }
      return nb::module_::import_("tensoa.lists")
          .attr("call_of_dask")(self, given_arrays, named_columns);
    }
    given.rows_of.resize(thread.call.rows.size());
    given.lists.resize(thread.call.rows.size());
    std::fill(thread.call.rows.begin(), thread.call.rows.end(), -1);
    if (positional == 0) {
      given.columns = columns_of_mapping(named_columns, subject());
      given.table = named_columns;
    } else if (positional == 1) {
      given.table = nb::borrow(first);
      given.columns = columns_of_table(given.table, subject(), given.kind);
    }
    if (given.columns != nullptr) {
      read(given, *given.columns, thread);
    } else {
      read_arrays(given, args, thread);
    }
    const auto in_awkward = std::ranges::find_if(
        given.views, [](const ArrayView& view) { return view.awkward.is_valid(); });
    if (in_awkward != given.views.end()) {
      given.kind = TableKind::kAwkward;
      given.is_traced = nb::cast<bool>(
          nb::module_::import_("tensoa.lists").attr("is_traced")(in_awkward->awkward));
    }
    if (groups != nullptr) take_groups(given, groups, thread);
    find_groups(given, thread);
    // A collection that only scalars belong to.
    for (std::int64_t& rows : thread.call.rows) rows = rows < 0 ? 1 : rows;
    if (given.kind != TableKind::kAwkward && (given.are_arrays || given.kind == TableKind::kDict)) {
      if (!is_on_device && given.are_arrays) array = nb::borrow(first);
      if (!is_on_device && !given.are_arrays && nb::isinstance<nb::dict>(given.table) &&
          nb::len(given.table) > 0) {
        array = nb::borrow((*nb::borrow<nb::dict>(given.table).begin()).second);
      }
      given.library = ArrayLibrary(array);
      if (given.library) given.kind = TableKind::kLibrary;
    }
  } else if (out == nullptr) {
    given.rows_of.resize(thread.call.rows.size());
  }

  nb::object results;
  if (out != nullptr) {
    const std::size_t held = thread.held.size();
    if (!write_quickly(given, out, thread)) {
      while (thread.held.size() > held) {
        Py_DECREF(static_cast<PyObject*>(thread.held.back()));
        thread.held.pop_back();
      }
      if (given.rows_of.empty()) given.rows_of.assign(thread.call.rows.size(), "its inputs");
      write(given, out, thread);
    }
    results = nb::borrow(out);
  } else if (given.kind == TableKind::kStructured) {
    nb::list fields;
    for (std::size_t i = 0; i < output_names_.size(); ++i) {
      const std::string dtype(name_of(output_blocks_[i]->block.element.dtype));
      fields.append(nb::make_tuple(output_names_[i], dtype));
    }
    if (gives_one_table()) {
      const std::int64_t rows = rows_of_result(given, loaded_->planes().outputs.front(), thread);
      results = nb::module_::import_("numpy").attr("empty")(rows, fields);
      write(given, results, thread);
    } else {
      results = make_results(given, thread);
    }
  } else {
    results = make_results(given, thread);
  }

  CopyReport copies;
  std::exception_ptr error;
  {
    const WithoutInterpreter released;
    try {
      copies = given.groups ? thread.call.run(*given.groups, heed_signals) : thread.call.run();
    } catch (const std::exception&) {
      error = std::current_exception();
    }
  }
  if (is_on_device) {
    try {
      const Event end(queue);
      for (const std::shared_ptr<ResultMemory>& memory : given.memory) memory->set_written(end);
      keep(std::move(given.views), end, thread);
    } catch (const DeviceError&) {
      if (!error) throw;
    }
  }
  if (error) std::rethrow_exception(error);
  if (given.copied > 0) copies.add_in(given.copied, CopyReason::kRepack);
  calls.last_copies = copies;
  return out != nullptr ? results : given_back(given, std::move(results));
}

// ---- what a model is

std::string RuntimeModel::device() const { return to_string(loaded_->device()); }

namespace {

std::vector<ArgumentInfo> blocks_of(const std::vector<BlockOfPlanes>& blocks,
                                    const std::vector<std::string>& names, bool takes_any) {
  std::vector<ArgumentInfo> all;
  for (const BlockOfPlanes& block : blocks) {
    ArgumentInfo& one = all.emplace_back();
    one.name = block.block.name;
    one.dtype = takes_any ? "number" : std::string(name_of(block.block.element.dtype));
    for (const std::int64_t size : shape_of(block.block)) {
      if (size >= 0) {
        one.shape.emplace_back(size);
      } else if (block.collection) {
        one.shape.emplace_back(std::nullopt);
      } else {
        one.shape.emplace_back(static_cast<std::int64_t>(block.rows));
      }
    }
    const auto first = names.begin() + static_cast<std::ptrdiff_t>(block.first);
    one.columns.assign(first, first + static_cast<std::ptrdiff_t>(block.count));
    one.collection = block.collection;
  }
  return all;
}

}  // namespace

std::vector<ArgumentInfo> RuntimeModel::inputs() const {
  return blocks_of(loaded_->planes().inputs, input_names_, loaded_->planes().takes_any_numbers);
}

std::vector<ArgumentInfo> RuntimeModel::outputs() const {
  return blocks_of(loaded_->planes().outputs, output_names_, false);
}

std::optional<bool> RuntimeModel::rows_are_independent() const {
  switch (loaded_->row_dependence().answer) {
    case RowDependence::Answer::kIndependent:
      return true;
    case RowDependence::Answer::kDependent:
      return false;
    case RowDependence::Answer::kUnknown:
      break;
  }
  return {};
}

std::optional<Copies> RuntimeModel::last_copies() const {
  const std::optional<CopyReport>& report = loaded_->of_this_thread().last_copies;
  if (!report) return {};
  return Copies{report->bytes_in, report->bytes_out, to_string(*report)};
}

std::string RuntimeModel::repr() const {
  struct Line {
    std::string way;
    std::string name;
    std::string type;
    std::string columns;
  };
  std::vector<Line> lines;
  const auto rows_of = [&](const ArgumentInfo& block) {
    return loaded_->planes().collections > 1 ? 'n' + std::to_string(*block.collection) : "rows";
  };
  const auto add = [&](const char* way, const std::vector<ArgumentInfo>& blocks) {
    for (const ArgumentInfo& block : blocks) {
      std::string type;
      for (const auto& size : block.shape) {
        type += (type.empty() ? "" : ", ") + (size ? std::to_string(*size) : rows_of(block));
      }
      constexpr std::size_t kMost = 8;
      std::string columns;
      for (std::size_t i = 0; i < std::min(block.columns.size(), kMost); ++i) {
        columns += (i > 0 ? ", " : "") + block.columns[i];
      }
      if (block.columns.size() > kMost) {
        columns += ", … (" + std::to_string(block.columns.size()) + ")";
      }
      lines.push_back({way, block.name, block.dtype + '[' + type + ']', std::move(columns)});
    }
  };
  add("in", inputs());
  add("out", outputs());
  std::size_t name_width = 0;
  std::size_t type_width = 0;
  for (const Line& line : lines) {
    name_width = std::max(name_width, line.name.size());
    type_width = std::max(type_width, line.type.size());
  }
  const auto padded = [](std::string text, std::size_t width) {
    text.resize(std::max(text.size(), width), ' ');
    return text + "  ";
  };
  std::string text = "tensoa.Model(" +
                     nb::cast<std::string>(nb::repr(nb::str(loaded_->source().path.c_str()))) +
                     ", device='" + device() + "')\n";
  for (const Line& line : lines) {
    text += "  " + padded(line.way, 3) + padded(line.name, name_width) +
            padded(line.type, type_width) + line.columns + '\n';
  }
  return text + "  rows: " + to_string(loaded_->row_dependence());
}

std::string RuntimeModel::digest() const {
  const std::string& file = loaded_->source().file;
  if (file.empty()) {
    const auto policy = nb::cast<std::string>(service_.get("on_new_version", nb::str("")));
    return policy == "follow" ? "" : loaded_->description().checksum;
  }
  const std::string digest = digest_of(file);
  if (stamp_of(file) == loaded_->stamp()) return digest;
  throw LoadError("model " + file +
                  ": the file was written after it was loaded, so that another process would run "
                  "another model; make a new Model of it");
}

}  // namespace tensoa::python
