# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime, where it is installed, and the rules of ONNX in float64, as the package onnx has them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from tensoa.errors import InputError, first_line
from tensoa.importers.results import named

FOLDER = "session.model_external_initializers_file_folder_path"


def session(
    path: str, inputs: Sequence[str], results: Mapping[str, str], fixed: Mapping[str, np.ndarray] = MappingProxyType({})
) -> Callable[[Sequence[torch.Tensor]], Any] | None:
    """The model in a file, on one thread: tensors in the order of `inputs` to `results`, the names of values by what they are
    called. `fixed`: what its other inputs always are. None where ONNX Runtime is not installed. Raises InputError where it does
    not take the model.
    """
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry(FOLDER, str(Path(path).parent.resolve()))
    values = [*dict.fromkeys(results.values())]
    try:
        made = onnxruntime.InferenceSession(_with_outputs(path, values), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # it throws many kinds
        raise InputError(f"{path}: ONNX Runtime does not take it: {first_line(error)}") from error

    def run(tensors: Sequence[torch.Tensor]) -> Any:
        arrays = {name: tensor.numpy(force=True) for name, tensor in zip(inputs, tensors)} | {**fixed}
        found = {name: torch.from_numpy(_array(result)) for name, result in zip(values, made.run(values, arrays))}
        return named([found[value] for value in results.values()], [*results])

    return run


class BatchNormalization(OpRun):
    """Of a model that is not trained. The evaluator's own trains in opset 7 to 13, where ONNX has no attribute for that."""

    def _run(
        self, x: np.ndarray, scale: np.ndarray, bias: np.ndarray, mean: np.ndarray, variance: np.ndarray, **attributes: Any
    ) -> tuple[np.ndarray]:
        shape = (-1, *[1] * (x.ndim - 2))
        scale, bias, mean, variance = (one.reshape(shape) for one in (scale, bias, mean, variance))
        return ((x - mean) / np.sqrt(variance + attributes["epsilon"]) * scale + bias,)


class GlobalMaxPool(OpRun):
    """The evaluator's own takes two axes, whatever there are."""

    def _run(self, x: np.ndarray) -> tuple[np.ndarray]:
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


def in_float64(
    path: str, inputs: Sequence[str], results: Mapping[str, str], fixed: Mapping[str, np.ndarray] = MappingProxyType({})
) -> Callable[[Sequence[torch.Tensor]], Any]:
    """As session(), by the reference evaluator of the package onnx, which shares no code with ours, on float64 in the place of
    float32. Raises what it raises.
    """
    model = onnx.load(path)
    _add_outputs(model, [*results.values()])
    _make_double(model.graph)
    values = [*dict.fromkeys(results.values())]
    made = ReferenceEvaluator(model, new_ops=[BatchNormalization, GlobalMaxPool])

    def run(tensors: Sequence[torch.Tensor]) -> Any:
        doubles = [tensor.double() if tensor.dtype == torch.float32 else tensor for tensor in tensors]
        arrays = {name: tensor.numpy(force=True) for name, tensor in zip(inputs, doubles)}
        given = made.run(values, arrays | {**fixed})
        found = {name: torch.from_numpy(np.asarray(_array(result))) for name, result in zip(values, given)}
        return named([found[value] for value in results.values()], [*results])

    return run


def _make_double(graph: onnx.GraphProto) -> None:
    """Numbers of float32 become float64, in all graphs inside too."""
    for i, tensor in enumerate(graph.initializer):
        if tensor.data_type == TensorProto.FLOAT:
            graph.initializer[i].CopyFrom(_double(tensor))
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type == TensorProto.FLOAT:
                attribute.t.CopyFrom(_double(attribute.t))
            elif attribute.name in ("to", "dtype") and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
            elif attribute.type == onnx.AttributeProto.GRAPH:
                _make_double(attribute.g)


def _double(tensor: TensorProto) -> TensorProto:
    return numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name)


def _with_outputs(path: str, values: Sequence[str]) -> bytes:
    """The model in a file, where these values are outputs, too."""
    model = onnx.load(path, load_external_data=False)
    _add_outputs(model, values)
    return model.SerializeToString()


def _add_outputs(model: onnx.ModelProto, values: Sequence[str]) -> None:
    there = {value.name for value in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in dict.fromkeys(values) if name not in there)


def _array(result: Any) -> np.ndarray:
    """The results of ZipMap, a dictionary for each row, as a column for each class in order."""
    if isinstance(result, list):
        return np.array([[row[label] for label in sorted(row)] for row in result], np.float32)
    return result
