# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The runtimes that published models were made for: what they answer, and the fastest call of each.

A runtime takes an array for each argument, in the shapes of the model, and gives an array for each result. The functions that load
one take the file, the names of the requested outputs (none: all), and of conifer what goes left of a threshold.
"""

import importlib.util
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from tensoa.errors import InputError, first_line

CONVERT = "import sys, xgboost as x; x.Booster(model_file=sys.argv[1]).save_model(sys.argv[2]); print('XGBoost', x.__version__)"
Call = Callable[[dict[str, np.ndarray]], list[np.ndarray]]


@dataclass
class Runtime:
    """`calls`: ways to call it, by name; the first one says what is right. `shapes`: of arguments, as far as they are fixed.
    `is_timed`: whether it is the program that users call, and not a second reader of its rules. `definition`: the answers of the
    format's own definition, for the case that the runtime itself is not near them.
    """

    name: str
    calls: dict[str, Call]
    shapes: dict[str, list] = field(default_factory=dict)
    is_timed: bool = True
    definition: Call | None = None


def onnx(path: Path, names: list[str], splitting: str | None) -> Runtime:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    outputs = [one.name for one in session.get_outputs()]
    inputs = {one.name: one for one in session.get_inputs()}
    floats = {one.name for one in session.get_outputs() if one.type == "tensor(float)"}

    asked = [name for name in names if name in outputs] or None

    def of_inputs(given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        by_name = given if set(inputs) <= set(given) else dict(zip(inputs, given.values()))  # trees have blocks of their own
        return {name: by_name[name] for name in inputs}

    def call(given: dict[str, np.ndarray]) -> list[np.ndarray]:
        return [_without_names(one) for one in session.run(asked, of_inputs(given))]

    def definition(given: dict[str, np.ndarray]) -> list[np.ndarray]:
        """Of the package onnx, in float64."""
        import torch
        from tensoa.importers.onnx.runtime import in_float64

        names = asked or outputs
        run = in_float64(str(path), [*inputs], {name: name for name in names})
        found = run([torch.from_numpy(one) for one in of_inputs(given).values()])
        arrays = [one.numpy() for one in (found if isinstance(found, tuple) else [found])]
        return [
            one.astype(np.float32) if one.dtype == np.float64 and name in floats else one for name, one in zip(names, arrays)
        ]

    shapes = {name: one.shape for name, one in inputs.items()}
    return Runtime(f"ONNX Runtime {onnxruntime.__version__}", {"ONNX Runtime": call}, shapes, definition=definition)


def onnx_trees(path: Path, names: list[str], splitting: str | None) -> Runtime:
    """The evaluator of the package onnx has not all operators of trees."""
    return replace(onnx(path, names, splitting), definition=None)


def _without_names(result) -> np.ndarray:
    """Of ZipMap, which gives a dict of classes for each row."""
    return np.array([list(one.values()) for one in result]) if isinstance(result, list) else result


def xgboost(path: Path, names: list[str], splitting: str | None) -> Runtime:
    import xgboost as library

    booster, name = library.Booster({"nthread": 1}), f"XGBoost {library.__version__}"
    older = os.environ.get("TENSOA_XGBOOST")
    if older and path.suffix not in (".json", ".ubj"):  # the binary form, which 3.1 no longer reads
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "model.json"
            command = [sys.executable, "-c", CONVERT, str(path), str(made)]
            done = subprocess.run(command, env={**os.environ, "PYTHONPATH": older}, capture_output=True, text=True, check=False)
            if done.returncode:
                raise InputError(f"the XGBoost of {older} does not take it: {first_line(done.stderr)}")
            booster.load_model(made)
        name += f", of what {done.stdout.strip()} makes of the file"
    else:
        booster.load_model(path)

    def call(given: dict[str, np.ndarray]) -> list[np.ndarray]:
        return [booster.inplace_predict(np.ascontiguousarray(_table(given)), validate_features=False)]

    return Runtime(name, {"XGBoost": call})


def lightgbm(path: Path, names: list[str], splitting: str | None) -> Runtime:
    import lightgbm as library

    booster = library.Booster(model_file=str(path))
    return Runtime(
        f"LightGBM {library.__version__}", {"LightGBM": lambda given: [booster.predict(_table(given), num_threads=1)]}
    )


def catboost(path: Path, names: list[str], splitting: str | None) -> Runtime:
    import catboost as library

    model = library.CatBoost().load_model(str(path), format=path.suffix.removeprefix("."))
    return Runtime(
        f"CatBoost {library.__version__}", {"CatBoost": lambda given: [model.predict(_table(given), thread_count=1)]}
    )


def sklearn(path: Path, names: list[str], splitting: str | None) -> Runtime:
    import joblib
    import sklearn as library

    model = joblib.load(path)
    predict = getattr(model, "predict_proba", model.predict)
    names_of_columns = getattr(model, "feature_names_in_", None)

    def table(given: dict[str, np.ndarray]):
        """Of float64, in which scikit-learn calculates; with names where its steps go by them."""
        numbers = _table(given).astype(np.float64)
        if not goes_by_name:
            return numbers
        import pandas

        return pandas.DataFrame(numbers, columns=names_of_columns)

    goes_by_name = False
    if names_of_columns is not None:
        try:
            predict(table({"": np.zeros((1, len(names_of_columns)))}))
        except ValueError:  # steps that go by name take no array
            goes_by_name = True
    return Runtime(f"scikit-learn {library.__version__}", {"scikit-learn": lambda given: [predict(table(given))]})


def second_reader_of_trees(path: Path, names: list[str], splitting: str | None) -> Runtime:
    """TMVA and conifer: their rules in NumPy."""
    from tensoa.importers.trees import files

    reference = files.load(path, files.ImportOptions(splitting=splitting)).reference
    return Runtime(
        reference.name, {"rules": lambda given: [reference.answers(_table(given).astype("float64"))]}, is_timed=False
    )


def tmva(path: Path, names: list[str], splitting: str | None) -> Runtime:
    import tmva_rules

    call = {"rules": lambda given: [tmva_rules.answers(path, _table(given).astype("float64"))]}
    return Runtime("the rules of TMVA, in float64, by a second reader", call, is_timed=False)


def lwtnn(path: Path, names: list[str], splitting: str | None) -> Runtime:
    """lwtnn_reference.cpp, of the environment: TENSOA_LWTNN."""
    program = os.environ.get("TENSOA_LWTNN")
    if not program:
        raise InputError("TENSOA_LWTNN: is not set, expected the program of bench/corpus/lwtnn_reference.cpp")

    def call(given: dict[str, np.ndarray]) -> list[np.ndarray]:
        rows = "".join(" ".join(f"{value:.17g}" for value in row) + "\n" for row in _table(given).astype("float64"))
        done = subprocess.run([program, path], input=rows, capture_output=True, text=True, check=False)
        if done.returncode:
            raise InputError(f"LWTNN does not take it: {first_line(done.stderr)}")
        return [np.loadtxt(io.StringIO(done.stdout), ndmin=2)]

    return Runtime("LWTNN", {"LWTNN": call}, is_timed=False)


def keras(path: Path, names: list[str], splitting: str | None) -> Runtime:
    """Keras 2 of TensorFlow for its own files, else Keras 3."""
    import keras_reference

    model, name = keras_reference.load_any(str(path), "float32")
    return Runtime(name, {"Keras": _in_order(lambda arrays: model.predict_on_batch(arrays if len(arrays) > 1 else arrays[0]))})


def qkeras(path: Path, names: list[str], splitting: str | None) -> Runtime:
    import keras_reference

    model = keras_reference.load(str(path), "float64")
    call = _in_order(lambda arrays: model.predict_on_batch(arrays[0].astype("float64")))
    return Runtime("QKeras, in float64", {"QKeras": call}, is_timed=False)


def tensorflow(path: Path, names: list[str], splitting: str | None) -> Runtime:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    if path.is_dir():
        loaded = tf.saved_model.load(str(path))  # which owns the variables of its functions
        function = loaded.signatures["serving_default"]
        arguments, results = list(function.structured_input_signature[1]), sorted(function.structured_outputs)
        if not set(names) <= set(results):  # inner nodes, which are in no signature
            frozen = convert_variables_to_constants_v2(function)
            own = dict(zip(results, frozen.outputs))
            fetched = [own[name] if name in own else frozen.graph.as_graph_element(name + ":0") for name in names]
            fed = {one.op.name: one for one in frozen.inputs}
            pruned = frozen.prune([fed[name] for name in arguments], fetched)
            inner = _in_order(lambda arrays: [one.numpy() for one in pruned(*map(tf.constant, arrays))])
            return Runtime(f"TensorFlow {tf.__version__}", {"TensorFlow": inner})

        def call(arrays: list[np.ndarray]) -> list[np.ndarray]:
            found = function(**{name: tf.constant(array) for name, array in zip(arguments, arrays)})
            return [found[name].numpy() for name in names or results]

        return Runtime(f"TensorFlow {tf.__version__}", {"TensorFlow": _in_order(call)})
    graph = tf.compat.v1.GraphDef()
    graph.ParseFromString(path.read_bytes())

    def imported(name: str):
        return tf.compat.v1.import_graph_def(graph, name="")

    wrapped = tf.compat.v1.wrap_function(lambda: imported(""), [])
    used = {one.partition(":")[0].removeprefix("^") for node in graph.node for one in node.input}
    outputs = names or [
        node.name for node in graph.node if node.name not in used and node.op not in ("Const", "NoOp", "Placeholder")
    ]
    places = [node.name for node in graph.node if node.op == "Placeholder"]
    element = wrapped.graph.as_graph_element

    def tensor(name: str):
        return element(name if ":" in name else name + ":0")

    def call_by_name(given: dict[str, np.ndarray]) -> list[np.ndarray]:
        fed = [name for name in places if name in given] or places[: len(given)]
        pruned = pruned_of(tuple(fed))
        arrays = [given[name] for name in fed] if set(fed) <= set(given) else list(given.values())
        return [one.numpy() for one in pruned(*map(tf.constant, arrays))]

    cache: dict[tuple[str, ...], object] = {}

    def pruned_of(fed: tuple[str, ...]):
        if fed not in cache:
            cache[fed] = wrapped.prune([tensor(name) for name in fed], [tensor(name) for name in outputs])
        return cache[fed]

    return Runtime(f"TensorFlow {tf.__version__}", {"TensorFlow": call_by_name})


def torchscript(path: Path, names: list[str], splitting: str | None) -> Runtime:
    import torch

    script = torch.jit.load(path, "cpu").eval()
    arguments = len(script.forward.schema.arguments) - 1  # less self

    def call(given: dict[str, np.ndarray]) -> list[np.ndarray]:
        return _of_torch(script)(given) if len(given) <= arguments else _row_by_row(script, arguments, given)

    return Runtime(f"TorchScript of torch {torch.__version__}", {"TorchScript": call})


def _row_by_row(script, arguments: int, given: dict[str, np.ndarray]) -> list[np.ndarray]:
    """With what is given behind the arguments in the buffers that a call changes, which are results, too."""
    import torch

    names = list(given)
    rows = []
    for row in range(len(given[names[0]])):
        state = {name: given[name][row : row + 1] for name in names[arguments:]}
        buffers = dict(script.named_buffers())
        for name, array in state.items():
            buffers[name].detach().copy_(torch.from_numpy(np.ascontiguousarray(array)).reshape(buffers[name].shape))
        found = _of_torch(script)({name: given[name][row : row + 1] for name in names[:arguments]})
        after = dict(script.named_buffers())
        found += [after[name].detach().numpy().reshape(array.shape) for name, array in state.items()]
        rows.append([one.copy() for one in found])  # the next call changes the buffers
    return [np.concatenate(parts) for parts in zip(*rows)]


def torch_module(path: Path, names: list[str], splitting: str | None) -> Runtime:
    """`path`: FILE.py:FACTORY. As it is, and where it can be traced, as TorchScript."""
    import torch

    file, _, factory = str(path).rpartition(":")
    sys.path.insert(0, str(Path(file).parent))
    spec = importlib.util.spec_from_file_location("published", file)
    code = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(code)
    module = getattr(code, factory)().eval()
    traced: dict[str, object] = {}

    def in_torchscript(given: dict[str, np.ndarray]) -> list[np.ndarray]:
        if not traced:
            tensors = tuple(torch.from_numpy(np.ascontiguousarray(array)) for array in given.values())
            traced[""] = torch.jit.trace(module, tensors, check_trace=False, strict=False)
        return _of_torch(traced[""])(given)

    return Runtime(f"torch {torch.__version__}", {"torch": _of_torch(module), "TorchScript": in_torchscript})


def _of_torch(module) -> Call:
    import torch

    def call(given: dict[str, np.ndarray]) -> list[np.ndarray]:
        with torch.no_grad():
            results = module(*(torch.from_numpy(np.ascontiguousarray(array)) for array in given.values()))
        if isinstance(results, dict):
            results = list(results.values())
        flat = results if isinstance(results, (tuple, list)) else [results]
        return [one.numpy() for one in flat if one is not None]

    return call


def _in_order(call: Callable[[list[np.ndarray]], object]) -> Call:
    def by_name(given: dict[str, np.ndarray]) -> list[np.ndarray]:
        found = call(list(given.values()))
        if isinstance(found, dict):
            return [np.asarray(one) for one in found.values()]
        return [np.asarray(one) for one in found] if isinstance(found, (list, tuple)) else [np.asarray(found)]

    return by_name


def _table(given: dict[str, np.ndarray]) -> np.ndarray:
    arrays = [array.reshape(len(array), -1) for array in given.values()]
    return np.concatenate(arrays, 1) if len(arrays) > 1 else arrays[0]


RUNTIMES: dict[str, Callable[[Path, list[str], str | None], Runtime]] = {
    "ONNX network": onnx,
    "ONNX trees": onnx_trees,
    "XGBoost": xgboost,
    "LightGBM": lightgbm,
    "CatBoost": catboost,
    "scikit-learn": sklearn,
    "TMVA BDT": second_reader_of_trees,
    "conifer": second_reader_of_trees,
    "TMVA network": tmva,
    "LWTNN": lwtnn,
    "Keras": keras,
    "QKeras": qkeras,
    "TensorFlow": tensorflow,
    "TorchScript": torchscript,
    "torch": torch_module,
}
