// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "device_array.hpp"
#include "interpreter.hpp"
#include "runtime_model.hpp"
#include "service.hpp"
#ifdef TENSOA_HAS_PYTORCH_AT_NEED
#include "tensoa/pytorch/at_need.hpp"
#endif
#include "tensoa/core/error.hpp"
#include "tensoa/core/version.hpp"
#include "tensoa/forest/engines.hpp"
#include "tensoa/forest/ensemble.hpp"
#include "tensoa/forest/readers.hpp"
#include "tensoa/onnx/engines.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/package/inspect.hpp"

namespace tensoa::python {
namespace {

/// Sets Python's error to the exception that is being handled: to the class of the same name in tensoa.errors. Rethrows what
/// is none of the library. @param before its message
void translate(const std::string& before = {}) {
  const auto set_error = [&](const char* name, const std::exception& error) {
    const nb::object type = nb::module_::import_("tensoa.errors").attr(name);
    PyErr_SetString(type.ptr(), (before + error.what()).c_str());
  };
  try {
    throw;
  } catch (const ConfigError& error) {
    set_error("ConfigError", error);
  } catch (const InputError& error) {
    set_error("InputError", error);
  } catch (const OutputError& error) {
    set_error("OutputError", error);
  } catch (const LoadError& error) {
    set_error("LoadError", error);
  } catch (const BindingError& error) {
    set_error("BindingError", error);
  } catch (const DeviceFullError& error) {
    set_error("DeviceFullError", error);
  } catch (const DeviceLostError& error) {
    set_error("DeviceLostError", error);
  } catch (const DeviceError& error) {
    set_error("DeviceError", error);
  } catch (const EngineError& error) {
    if (!set_service_error(error, before + error.what())) set_error("EngineError", error);
  } catch (const Error& error) {
    set_error("Error", error);
  }
}

/// The pickled state: path, device, columns, outputs, digest, and how servers are reached.
using State = std::tuple<std::string, std::string, std::vector<std::string>,
                         std::vector<std::string>, std::string, nb::dict>;

/// tensoa.Model. One that was unpickled is loaded with its first use: what is wrong then is an error of the task that uses it. Pools of
/// processes lose a task that fails while it is unpickled, and wait for it for ever
/// (https://github.com/python/cpython/issues/66587).
class LazyModel {
 public:
  explicit LazyModel(std::unique_ptr<RuntimeModel> model) : model_(std::move(model)) {}
  explicit LazyModel(State state) : state_(std::move(state)) {}

  /// @throws as RuntimeModel
  const RuntimeModel& get() {
    if (model_ == nullptr) {
      const auto& [path, device, columns, outputs, digest, service] = *state_;
      auto made = std::make_unique<RuntimeModel>(path, device, columns, outputs, service, digest);
      // Another thread may have been faster, while this one had released the interpreter.
      if (model_ == nullptr) model_ = std::move(made);
    }
    return *model_;
  }

  State state() {
    if (model_ == nullptr) return *state_;
    return {model_->loaded().source().path, model_->device(), model_->columns(),
            model_->words_of_outputs(),     model_->digest(), model_->service()};
  }

 private:
  std::unique_ptr<RuntimeModel> model_;
  std::optional<State> state_;
};

/// Model.__call__. Not by nanobind, which would look at each argument.
PyObject* call_model(PyObject* self, PyObject* args, PyObject* kwargs) {
  try {
    const RuntimeModel& model = nb::inst_ptr<LazyModel>(nb::handle(self))->get();
    return model.call(self, args, kwargs).release().ptr();
  } catch (const FailedGroup& failed) {
    try {
      std::rethrow_exception(failed.error);
    } catch (const Error&) {
      translate("group " + std::to_string(failed.group) + ": ");
    }
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const Error&) {
    translate();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyType_Slot model_slots[] = {{Py_tp_call, reinterpret_cast<void*>(call_model)}, {0, nullptr}};

std::string text_of(nb::handle value) { return nb::cast<std::string>(nb::str(value)); }

/// The path as text. @throws Python's TypeError for what is none
std::string path_of(nb::handle path) {
  return nb::cast<std::string>(nb::module_::import_("os").attr("fsdecode")(path));
}

/// As names_in_data() takes them: a dict is {name in the data: name of the model}.
std::vector<std::string> columns_of(nb::handle columns) {
  std::vector<std::string> all;
  if (columns.is_none()) return all;
  const auto name = [](nb::handle value) {
    if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
    throw ConfigError(
        "columns: got " + text_of(nb::repr(value)) + " of type " + type_of_object(value) +
        ", expected names; columns of each block, for a model that does not state its "
        "own, go with outputs=");
  };
  if (nb::isinstance<nb::str>(columns)) {
    throw ConfigError(
        "columns: got the text " + text_of(nb::repr(columns)) +
        ", expected a list of names, or a dict {name in the data: name of the model}");
  }
  if (nb::isinstance<nb::dict>(columns)) {
    for (const auto& [data, model] : nb::borrow<nb::dict>(columns)) {
      all.push_back(name(data) + '=' + name(model));
    }
    return all;
  }
  for (nb::handle entry : nb::borrow<nb::object>(columns)) all.push_back(name(entry));
  return all;
}

/// Blocks in words, as columns_in_words() takes them: a text, texts, or {block: names of its columns}.
std::vector<std::string> words_of(nb::handle blocks, const char* what) {
  const auto refuse = [&](nb::handle value) {
    throw ConfigError(std::string(what) + ": got " + text_of(nb::repr(value)) + " of type " +
                      type_of_object(value) +
                      ", expected texts BLOCK=COLUMN,COLUMN or {block: names of its columns}");
  };
  std::vector<std::string> words;
  if (blocks.is_none()) return words;
  if (nb::isinstance<nb::str>(blocks)) return {nb::cast<std::string>(blocks)};
  const bool is_dict = nb::isinstance<nb::dict>(blocks);
  for (nb::handle block : nb::borrow<nb::object>(blocks)) {
    if (!nb::isinstance<nb::str>(block)) refuse(block);
    std::string& word = words.emplace_back(nb::cast<std::string>(block));
    if (!is_dict) continue;
    const nb::object names = blocks[block];
    word += '=';
    if (nb::isinstance<nb::str>(names)) {
      word += nb::cast<std::string>(names);
      continue;
    }
    std::string mark;
    for (nb::handle name : names) {
      if (!nb::isinstance<nb::str>(name)) refuse(name);
      const auto text = nb::cast<std::string>(name);
      const bool has_spaces = text.starts_with(' ') || text.ends_with(' ');
      if (has_spaces || text.find_first_of("=,:@") != std::string::npos) {
        throw ConfigError(std::string(what) + ": got the column " + text_of(nb::repr(name)) +
                          ", expected a name without = , : and @, and without spaces around it");
      }
      word += std::exchange(mark, ",") + text;
    }
  }
  return words;
}

/// An absolute path, or a URL as it is.
std::string location_of(nb::handle path) {
  const std::string text = path_of(path);
  if (ModelLocation(text).is_url()) return text;
  return nb::cast<std::string>(nb::module_::import_("os").attr("path").attr("abspath")(text));
}

nb::tuple tuple_of(std::vector<ArgumentInfo> blocks) {
  nb::list all;
  for (ArgumentInfo& block : blocks) all.append(nb::cast(std::move(block)));
  return nb::tuple(all);
}

std::string repr_of(const ArgumentInfo& block) {
  std::string shape;
  for (const auto& size : block.shape) {
    shape += (shape.empty() ? "" : ", ") + (size ? std::to_string(*size) : "rows");
  }
  std::string columns;
  for (const std::string& column : block.columns) columns += (columns.empty() ? "" : ", ") + column;
  return block.name + ": " + block.dtype + '[' + shape + "] (" + columns + ')';
}

template <class Values>
nb::tuple tuple_of_values(const Values& values) {
  nb::list all;
  for (const auto& value : values) all.append(nb::cast(value));
  return nb::tuple(all);
}

/// Of Model.__init__.
constexpr const char* kInit = R"(Loads the model.

path: of a package, a file of trees, ONNX, TorchScript or torch.export; or the URL of a model on servers that
    speak KServe v2, as NVIDIA Triton: grpc://HOST:PORT[,HOST:PORT...]/MODEL, grpcs:// with TLS, whose
    calls wait for the answer.
device: "cpu", or a GPU, "cuda:0": columns then lie there, and calls are enqueued.
columns: the names that your data has, in the order of the model's columns, or a dict
    {name in the data: name of the model}. Of TorchScript and torch.export, which do not state their
    columns: those of each argument, {"features": ["pt", "eta"]}, or in the words of tensoa.compile,
    ["features=pt,eta", "charge=charge:int32"].
outputs: of such a model its results in order, ["score"], or {"scores": ["signal", "background"]}.

Of a URL, as remote::Options in C++, with times in seconds:
fallback: a model file that runs where no server answers: the one that the servers have.
deadline: of a call with all its attempts (10). attempt_deadline: of one attempt (4).
load_deadline: of loading (10). attempts: the most of one call (10).
lookup_period: how often names of the URL are looked up again (30; 0: once).
checksum: SHA-256 that the model file of the servers must have.
on_new_version: where no server has the model any more that was loaded: "stay" (the fallback runs, else
    calls fail), "fail", "follow" (calls go on with the new one).
message_limit: bytes of a request, and of a reply.
ca_file, certificate_file, key_file, token_file: for grpcs://. headers: sent with each call.

Raises LoadError, DeviceError, ConfigError; ServiceError where no server answers.)";

/// Of Model.__init__, where nanobind sees any keywords.
constexpr const char* kSignature =
    "def __init__(self, path: str | os.PathLike[str], device: str = \"cpu\", "
    "columns: collections.abc.Sequence[str] | dict[str, str] | "
    "dict[str, collections.abc.Sequence[str]] | None = None, "
    "outputs: collections.abc.Sequence[str] | dict[str, collections.abc.Sequence[str]] | None = "
    "None, *, "
    "fallback: str | os.PathLike[str] | None = None, deadline: float | None = None, "
    "attempt_deadline: float | None = None, load_deadline: float | None = None, "
    "lookup_period: float | None = None, attempts: int | None = None, checksum: str | None = None, "
    "on_new_version: str | None = None, message_limit: int | None = None, "
    "ca_file: str | os.PathLike[str] | None = None, "
    "certificate_file: str | os.PathLike[str] | None = None, "
    "key_file: str | os.PathLike[str] | None = None, "
    "token_file: str | os.PathLike[str] | None = None, "
    "headers: dict[str, str] | None = None) -> None";

}  // namespace

NB_MODULE(_runtime, module) {
  module.doc() = "Runs models on columns where they lie. Use it as tensoa.Model.";
  nb::set_leak_warnings(false);  // caches of other packages may keep a model until the end
  package::register_engines();
  forest::register_engines();
  onnx::register_engines([]() -> std::filesystem::path {
    const nb::gil_scoped_acquire gil;
    try {  // found, and not imported: it has its own runtime
      const nb::object spec =
          nb::module_::import_("importlib.util").attr("find_spec")("onnxruntime");
      if (spec.is_none()) return {};
      return path_of(spec.attr("submodule_search_locations")[nb::int_(0)]);
    } catch (const nb::python_error&) {
      return {};
    }
  });
  register_service();
#ifdef TENSOA_HAS_PYTORCH_AT_NEED
  pytorch::register_engines_at_need([] {
    const nb::gil_scoped_acquire gil;
    try {
      nb::module_::import_("torch");  // wherever it is
    } catch (const nb::python_error&) {
      // The linker says what is missing.
    }
  });
#endif
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const Error&) {
      translate();
    }
  });

  nb::class_<ArgumentInfo>(
      module, "Block", "An argument or a result of a model: a tensor over columns of one dtype.")
      .def_prop_ro("name", [](const ArgumentInfo& block) { return block.name; })
      .def_prop_ro(
          "dtype", [](const ArgumentInfo& block) { return block.dtype; },
          "Of its columns: \"float32\"; \"number\" where any will do.")
      .def_prop_ro(
          "shape", [](const ArgumentInfo& block) { return tuple_of_values(block.shape); },
          nb::sig("def shape(self) -> tuple[int | None, ...]"),
          "Of the tensor; None is the number of rows.")
      .def_prop_ro(
          "columns", [](const ArgumentInfo& block) { return tuple_of_values(block.columns); },
          nb::sig("def columns(self) -> tuple[str, ...]"), "The names of its columns in a call.")
      .def_prop_ro(
          "collection", [](const ArgumentInfo& block) { return block.collection; },
          "Blocks of one number have the same number of rows; None: the number of "
          "rows is in the shape.")
      .def("__repr__", &repr_of);

  nb::class_<Copies>(module, "Copies", "Bytes that a call copied between columns and the model.")
      .def_prop_ro("bytes_in", [](const Copies& copies) { return copies.bytes_in; })
      .def_prop_ro("bytes_out", [](const Copies& copies) { return copies.bytes_out; })
      .def("__repr__", [](const Copies& copies) { return copies.text; });

  add_device_array(module);

  module.def(
      "inspect",
      [](nb::handle path, nb::kwargs service) {
        const ModelSource source = source_of(path_of(path), service, "tensoa.inspect");
        std::string text;
        {
          const WithoutInterpreter others_may_run;
          text = package::to_json(package::inspect(source.path, source.options));
        }
        return nb::module_::import_("json").attr("loads")(text);
      },
      nb::arg("path"), nb::arg("service"),
      nb::sig("def inspect(path: str | os.PathLike[str], **service: Any) -> dict[str, Any]"),
      "What is in a model file, without running anything of it: what `tensoa inspect --json` "
      "writes.\n\n"
      "Also of a package for another machine. Of a URL what servers say, reached as by Model.\n"
      "Raises LoadError.");

  module.def(
      "read_trees",
      [](const nb::bytes& content, const std::string& subject, bool best_iteration) {
        const std::string_view bytes(content.c_str(), content.size());
        forest::Ensemble ensemble;
        std::string text;
        {
          const WithoutInterpreter others_may_run;
          ensemble = forest::read_trees(bytes, subject, {.best_iteration = best_iteration});
          text = forest::to_bytes(ensemble);
        }
        return std::tuple(nb::bytes(text.data(), text.size()), ensemble.notes);
      },
      nb::arg("content"), nb::arg("subject"), nb::arg("best_iteration") = false,
      "The ensemble in a file of XGBoost or LightGBM, as bytes that tensoa.forest.from_bytes "
      "reads, and notes for people.\n\n"
      "Raises LoadError, which begins with `subject`.");

  nb::class_<LazyModel>(
      module, "Model", nb::type_slots(model_slots),
      "A model that runs on columns where they lie: a package, a file of trees, an ONNX file,\n"
      "TorchScript, a program of torch.export, or one on servers.\n\n"
      "    model = tensoa.Model(\"model.pt2\")\n"
      "    scores = model(pt=pt, eta=eta)[\"score\"]\n\n"
      "Called with columns by name, with a table (a dict, a structured array of NumPy, a DataFrame "
      "of\n"
      "pandas or polars, a table of pyarrow, an array of Awkward Array), or with one array for "
      "each\n"
      "block. Gives columns back, as the kind that it was given; out= is written instead. Columns "
      "are\n"
      "NumPy's, or anything with DLPack, the Arrow PyCapsule interface or __array__.\n\n"
      "Threads: any number may call one model; calls run without the GIL.\n"
      "Pickling: by path, or URL, and SHA-256 of the file, which has to be the same there; loaded "
      "with "
      "the\n"
      "first use.\n"
      "Models of servers do not work in a process that is forked from one that has loaded some.")
      .def(
          "__init__",
          [](LazyModel* self, nb::handle path, const std::string& device, nb::handle columns,
             nb::handle outputs, const nb::kwargs& service) {
            const bool are_words = !outputs.is_none();
            new (self) LazyModel(std::make_unique<RuntimeModel>(
                location_of(path), device,
                are_words ? words_of(columns, "columns") : columns_of(columns),
                are_words ? words_of(outputs, "outputs") : std::vector<std::string>{}, service));
          },
          nb::arg("path"), nb::arg("device") = "cpu", nb::arg("columns") = nb::none(),
          nb::arg("outputs") = nb::none(), nb::arg("service"), nb::sig(kSignature), kInit)
      .def_prop_ro("path", [](LazyModel& model) { return model.get().loaded().source().path; })
      .def_prop_ro("device", [](LazyModel& model) { return model.get().device(); })
      .def_prop_ro(
          "inputs", [](LazyModel& model) { return tuple_of(model.get().inputs()); },
          nb::sig("def inputs(self) -> tuple[Block, ...]"), "The blocks that a call reads.")
      .def_prop_ro(
          "outputs", [](LazyModel& model) { return tuple_of(model.get().outputs()); },
          nb::sig("def outputs(self) -> tuple[Block, ...]"), "The blocks that a call returns.")
      .def_prop_ro(
          "rows_are_independent",
          [](LazyModel& model) { return model.get().rows_are_independent(); },
          "Whether rows may be given in other calls than they were; None where it is not "
          "known.")
      .def_prop_ro(
          "last_copies", [](LazyModel& model) { return model.get().last_copies(); },
          "Bytes that the last call of this thread copied; None before the first.")
      .def("__repr__", [](LazyModel& model) { return model.get().repr(); })
      .def(
          "__getstate__", [](LazyModel& model) { return model.state(); },
          "Raises LoadError where the file is no longer the one that was loaded.")
      .def("__setstate__",
           [](LazyModel& self, State state) { new (&self) LazyModel(std::move(state)); });

  nb::list parts;
  if (has_service()) parts.append("servers");
#ifdef TENSOA_HAS_PYTORCH_AT_NEED
  parts.append("torch");
#endif
  module.attr("_PARTS") = nb::tuple(parts);  // that a build may lack
  module.attr("__version__") = std::string(kVersion);
}

}  // namespace tensoa::python
