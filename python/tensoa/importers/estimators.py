# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Estimators of scikit-learn that are more than trees: skl2onnx makes ONNX of them, which the importer of ONNX reads.

However estimators are composed (pipelines, columns, votes, stacks, bags, calibrations), the graph is one. As scikit-learn does,
it calculates in float64. What it gives is compared with the estimator itself.
"""

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
import torch

from tensoa.binding.defaults import Taken
from tensoa.command import check_writable, replacing
from tensoa.errors import InputError, Unsupported, first_line
from tensoa.importers.onnx import OnnxModule, read
from tensoa.importers.own_runtime import OwnRuntime
from tensoa.importers.trees import match
from tensoa.importers.trees.sklearn_columns import framed

OPSETS = {"": 18, "ai.onnx.ml": 3}
FEATURES, SCORE = "features", "score"
#: The methods of an estimator that are tried: the first of these that it has.
METHODS = ("predict_proba", "decision_function", "predict", "transform")
ROWS, TOLERANCE = 64, 1e-4  # of trials, relative to the largest number of a column
SCALES = (1.0, 100.0, 0.01)


@dataclass
class Estimator:
    """A fitted estimator, and the graph that gives what its `method` does: of float32 columns, for `classes` if it has such."""

    subject: str
    model: Any
    method: str
    onnx: Any = None
    names: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    result = SCORE  # what is called so in the graph

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Its own answers [rows, numbers] of values [rows, columns]."""
        given = framed(x, getattr(self.model, "feature_names_in_", ()))
        with _silent():
            answers = getattr(self.model, self.method)(given)
        answers = np.asarray(answers.todense() if hasattr(answers, "todense") else answers, np.float64)
        is_of_two = self.method == "decision_function" and answers.ndim == 1 and len(self.classes) == 2
        return np.stack([-answers, answers], 1) if is_of_two else answers.reshape(len(x), -1)

    def module(self) -> "EstimatorModule":
        """Raises InputError, Unsupported for what is not read."""
        graph, opset = read.graph(copy.deepcopy(self.onnx), self.subject)
        graph.notes = [*dict.fromkeys(self.notes), *graph.notes]
        try:
            return EstimatorModule(graph, opset, self)
        except InputError as error:
            raise type(error)(f"{self.subject}: {error}") from error

    def own_runtime(self) -> OwnRuntime:
        return OwnRuntime("ONNX Runtime", lambda _, path, __: self._write(path), ("cpu",), is_faster=True)

    def _write(self, path: str | PathLike) -> str:
        check_writable(path)
        try:
            import onnxruntime
        except ImportError:
            said = "not loaded here, onnxruntime is not installed"
        else:
            said = f"{self.method} of scikit-learn in {onnxruntime.__version__}, too"  # by _try()
        with replacing(path) as temporary, open(temporary, "wb") as file:
            file.write(self.onnx.SerializeToString())
        return f"the graph that skl2onnx makes; {said}"


class EstimatorModule(OnnxModule):
    framework = "scikit-learn"

    def __init__(self, graph: Any, opset: int, estimator: Estimator) -> None:
        super().__init__(graph, opset)
        self._estimator = (estimator,)  # copies of the module have the same

    @property
    def taken_by_file(self) -> list[Taken]:
        names = tuple(self._estimator[0].names)
        return [Taken(one.name, one.dtype, one.shape, names) for one in self.graph.inputs]

    def reference(self) -> Callable[[Sequence[torch.Tensor]], Any]:
        """The estimator's own answers."""
        (estimator,) = self._estimator
        return lambda tensors: torch.from_numpy(estimator(tensors[0].numpy(force=True)).astype(np.float32))


def of_model(model: Any, subject: str, notes: Sequence[str] = ()) -> Estimator:
    """Raises InputError."""
    if not hasattr(model, "get_params") or not hasattr(model, "fit"):
        raise InputError(f"{subject}: holds a {type(model).__name__}, expected an estimator of scikit-learn")
    try:
        import skl2onnx  # noqa: F401
    except ImportError as error:
        raise InputError(f"{subject}: needs the package {error.name}, which is not here; pip install skl2onnx") from error
    model = copy.deepcopy(model)
    _prepare(model)
    method = next((name for name in METHODS if hasattr(model, name)), None)
    count = getattr(model, "n_features_in_", None)
    if method is None or not isinstance(count, int):
        raise InputError(f"{subject}: holds a {type(model).__name__} that is not fitted, or has none of {', '.join(METHODS)}")
    names = [str(name) for name in getattr(model, "feature_names_in_", match.made_up("scikit-learn", count))]
    classes = [str(one) for one in getattr(model, "classes_", ())] if method in METHODS[:2] else []
    made = Estimator(subject, model, method, None, names, classes, list(notes))
    made.onnx = _graph_of(made)
    return made


def _prepare(model: Any) -> None:
    """Sets what does not change answers: several threads add in any order, and skl2onnx refuses flat ones of transform()."""
    kept = {"n_jobs": 1, "flatten_transform": False}
    found = {name: kept[last] for name in model.get_params() if (last := name.rpartition("__")[2]) in kept}
    model.set_params(**found)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # arrays have no names of columns
        yield


# ---- the graph


def _graph_of(made: Estimator) -> Any:
    """The first graph that gives what the estimator does: of numbers of float64, of float32 where skl2onnx has no other; of
    columns in one tensor, of one for each where they go by name. Raises Unsupported.
    """
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
    from sklearn.preprocessing import OneHotEncoder

    own = {"custom_conversion_functions": {OneHotEncoder: _indicators}, "options": _options(made)}
    reasons: dict[str, None] = {}
    for kind in (DoubleTensorType, FloatTensorType):
        for columns in ([(FEATURES, kind([None, len(made.names)]))], [(name, kind([None, 1])) for name in made.names]):
            try:
                with _silent():
                    graph = convert_sklearn(made.model, initial_types=columns, target_opset=OPSETS, **own)
            except Exception as error:  # it throws many kinds
                reasons[first_line(error)] = None
                continue
            try:
                return _with_answers(made, graph)
            except Unsupported as error:
                reasons[first_line(error)] = None
    raise Unsupported(
        f"{made.subject}: skl2onnx makes no graph of {type(made.model).__name__} that is right: {'; '.join(reasons)}"
    )


def _options(made: Estimator) -> dict:
    """Options of skl2onnx: tensors instead of dictionaries, and for classes the selected results."""
    last = made.model
    while type(last).__name__ == "Pipeline":
        last = last.steps[-1][1]
    if made.method == "decision_function" and made.classes:
        return {id(last): {"raw_scores": True}}
    return {id(last): {"zipmap": False}} if made.method == "predict_proba" else {}


def _indicators(scope: Any, operator: Any, container: Any) -> None:
    """A OneHotEncoder of numbers: what lies between categories is none of them, where skl2onnx cuts it to a whole number."""
    from onnx import TensorProto

    encoder, parts = operator.raw_operator, []
    if encoder._infrequent_enabled:
        raise NotImplementedError("a OneHotEncoder with infrequent categories")
    dropped = getattr(encoder, "drop_idx_", None)

    def add(kind: str, inputs: list[str], **attributes: Any) -> str:
        name = scope.get_unique_variable_name(kind)
        container.add_node(kind, inputs, name, name=scope.get_unique_operator_name(kind), **attributes)
        return name

    def constant(numbers: Any, kind: int) -> str:
        name = scope.get_unique_variable_name("constant")
        container.add_initializer(name, kind, [len(numbers)], numbers)
        return name

    doubles = [add("Cast", [one.full_name], to=TensorProto.DOUBLE) for one in operator.inputs]
    x = doubles[0] if len(doubles) == 1 else add("Concat", doubles, axis=1)
    for i, categories in enumerate(encoder.categories_):
        kept = [float(one) for j, one in enumerate(categories) if dropped is None or dropped[i] != j]
        column = add("Gather", [x, constant([i], TensorProto.INT64)], axis=1)
        parts.append(add("Equal", [column, constant(kept, TensorProto.DOUBLE)]))
    joined = add("Concat", [add("Cast", [one], to=TensorProto.FLOAT) for one in parts], axis=1)
    container.add_node("Identity", joined, operator.outputs[0].full_name, name=scope.get_unique_operator_name("Identity"))


def _with_answers(made: Estimator, model: Any) -> Any:
    """The graph of float32 columns in one tensor, of which one result is what the estimator gives. Raises Unsupported."""
    from onnx import TensorProto, helper, numpy_helper

    graph = model.graph
    taken = [value.name for value in graph.input]
    given = helper.make_tensor_value_info(FEATURES, TensorProto.FLOAT, [None, len(made.names)])
    kind = graph.input[0].type.tensor_type.elem_type
    taken_names = {name: f"{name}/column" for name in taken}
    before = [helper.make_node("Cast", [FEATURES], [f"{FEATURES}/cast"], to=kind)]
    if len(taken) == 1:
        taken_names[taken[0]] = f"{FEATURES}/cast"
    else:
        parts = [taken_names[name] for name in taken]
        graph.initializer.append(numpy_helper.from_array(np.ones(len(parts), np.int64), f"{FEATURES}/widths"))
        before.append(helper.make_node("Split", [f"{FEATURES}/cast", f"{FEATURES}/widths"], parts, axis=1))
    for node in graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = taken_names.get(name, name)
    nodes = [*before, *graph.node]
    del graph.input[:], graph.node[:]
    graph.input.append(given)
    graph.node.extend(nodes)
    numbers = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64)
    found = [value.name for value in graph.output if value.type.tensor_type.elem_type in numbers]
    wrong: dict[str, None] = {}
    for name in reversed(found):
        candidate = copy.deepcopy(model)
        candidate.graph.node.append(helper.make_node("Cast", [name], [f"{name}/float"], to=TensorProto.FLOAT))
        candidate.graph.node.append(helper.make_node("Identity", [f"{name}/float"], [SCORE]))
        del candidate.graph.output[:]
        candidate.graph.output.append(helper.make_tensor_value_info(SCORE, TensorProto.FLOAT, [None, None]))
        try:
            _try(made, candidate)
            return candidate
        except Exception as error:  # of the evaluator, which throws many kinds
            wrong[first_line(error)] = None
    raise Unsupported(f"it is not {made.method} of scikit-learn: {'; '.join(wrong) or 'it gives no numbers'}")


def _trials(columns: int) -> Iterator[np.ndarray]:
    random = np.random.default_rng(0)
    for scale in SCALES:
        yield (random.normal(size=(ROWS, columns)) * scale).astype(np.float32)
    yield random.integers(-1, 6, (ROWS, columns)).astype(np.float32)  # categories


def _try(made: Estimator, model: Any) -> None:
    """By ONNX Runtime where it is installed, which says what types do not fit, else by the evaluator of the package onnx."""
    try:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        content = model.SerializeToString()
        run = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"]).run
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        run = ReferenceEvaluator(model).run
    for x in _trials(len(made.names)):
        _require_same(made, x, run(None, {FEATURES: x})[0])


def _require_same(made: Estimator, x: np.ndarray, got: np.ndarray) -> None:
    """Raises InputError."""
    expected = made(x).astype(np.float32).astype(np.float64)
    got = np.asarray(got, np.float64).reshape(len(x), -1)
    if got.shape != expected.shape:
        raise InputError(f"it gives {got.shape[1]} numbers for each row, expected {expected.shape[1]}")
    allowed = TOLERANCE * np.abs(expected).max(0, initial=0.0) + np.finfo(np.float32).tiny
    is_same = np.isclose(got, expected, TOLERANCE, 0, equal_nan=True) | (np.abs(got - expected) <= allowed)
    if not is_same.all():
        row, at = (int(place[0]) for place in np.nonzero(~is_same))
        raise InputError(f"it gives {got[row, at]:.9g} where scikit-learn gives {expected[row, at]:.9g}")
