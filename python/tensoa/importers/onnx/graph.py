# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A graph of ONNX, without protobuf."""

from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from tensoa.errors import InputError, Unsupported, first_line

DTYPES: dict[int, torch.dtype] = {
    TensorProto.FLOAT: torch.float32,
    TensorProto.DOUBLE: torch.float64,
    TensorProto.FLOAT16: torch.float16,
    TensorProto.BFLOAT16: torch.bfloat16,
    TensorProto.INT8: torch.int8,
    TensorProto.INT16: torch.int16,
    TensorProto.INT32: torch.int32,
    TensorProto.INT64: torch.int64,
    TensorProto.UINT8: torch.uint8,
    TensorProto.UINT16: torch.uint16,
    TensorProto.UINT32: torch.uint32,
    TensorProto.UINT64: torch.uint64,
    TensorProto.BOOL: torch.bool,
}
ARRAYS = {np.dtype(name) for name in "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 bool".split()}
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


@dataclass
class Input:
    """An argument of a graph: dimensions are None where they are free, `shape` is None where it is not declared. `free`: the
    name of the first of them that is free, if it has one.
    """

    name: str
    dtype: torch.dtype
    shape: tuple[int | None, ...] | None
    free: str = ""


@dataclass
class Node:
    domain: str
    operator: str
    name: str
    inputs: list[str]  # "": left out
    outputs: list[str]
    attributes: dict[str, Any]  # numbers, text, lists, arrays, Graphs

    def __str__(self) -> str:
        name = f"{self.domain}.{self.operator}" if self.domain else self.operator
        return f'node "{self.name or next(filter(None, self.outputs), "")}" ({name})'


@dataclass
class Graph:
    """Nodes stand behind those whose results they take. Copies of a module share it."""

    inputs: list[Input]
    outputs: list[str]
    constants: dict[str, np.ndarray]
    nodes: list[Node]
    results: list[str]  # the names of the outputs, where these are results of a model
    notes: list[str] = field(default_factory=list)  # on the results, for people
    rows: int | None = None  # for which it was written, where it takes others, too
    fixed_by: str = ""  # what keeps it from that

    def __deepcopy__(self, memo: dict) -> "Graph":
        return self


def array_of(tensor: onnx.TensorProto, what: str) -> np.ndarray:
    """Its numbers, a copy. Raises InputError, Unsupported for those of another type."""
    try:
        array = np.array(numpy_helper.to_array(tensor))
    except Exception as error:  # onnx throws many kinds
        raise InputError(f"{what}: its numbers cannot be read: {first_line(error)}") from error
    if array.dtype not in ARRAYS and array.dtype != BFLOAT16:
        raise Unsupported(f"{what}: holds {_name_of(tensor.data_type)}, expected numbers of {_known_names()}")
    return array


def tensor_of(array: np.ndarray) -> torch.Tensor:
    """The same numbers for torch, in the same memory where there is such a type in NumPy."""
    if array.dtype == BFLOAT16:
        return torch.from_numpy(array.astype(np.float32)).to(torch.bfloat16)
    return torch.from_numpy(array)


def array_of_tensor(tensor: torch.Tensor) -> np.ndarray:
    return tensor.float().numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()


def graph_of(proto: onnx.GraphProto) -> Graph:
    """Raises Unsupported."""
    constants = {}
    for tensor in proto.initializer:
        constants[tensor.name] = array_of(tensor, f'initialiser "{tensor.name}"')
    for sparse in proto.sparse_initializer:
        raise Unsupported(f'initialiser "{sparse.values.name}" is sparse; expected dense ones')
    nodes = [_node(node) for node in proto.node]
    inputs = [_input(value) for value in proto.input if value.name not in constants]
    outputs = [value.name for value in proto.output]
    return Graph(inputs, outputs, constants, nodes, outputs)


def _node(proto: onnx.NodeProto) -> Node:
    domain = "" if proto.domain == "ai.onnx" else proto.domain
    node = Node(domain, proto.op_type, proto.name, list(proto.input), list(proto.output), {})
    for attribute in proto.attribute:
        node.attributes[attribute.name] = _attribute(attribute, f"{node}, attribute {attribute.name}")
    return node


def _attribute(proto: onnx.AttributeProto, what: str) -> Any:
    kind = proto.AttributeType
    if proto.type == kind.GRAPH:
        return graph_of(proto.g)
    if proto.type == kind.TENSOR:
        return array_of(proto.t, what)
    if proto.type == kind.STRING:
        return proto.s.decode(errors="replace")
    if proto.type == kind.STRINGS:
        return [text.decode(errors="replace") for text in proto.strings]
    if proto.type in (kind.FLOAT, kind.INT, kind.FLOATS, kind.INTS):
        value = helper.get_attribute_value(proto)
        return value if isinstance(value, (int, float)) else list(value)
    raise Unsupported(f"{what}: is of the kind {kind.Name(proto.type)}; expected numbers, text, a dense tensor or a graph")


def _input(value: onnx.ValueInfoProto) -> Input:
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        raise Unsupported(f'input "{value.name}" is a {(kind or "value of no type").removesuffix("_type")}; expected a tensor')
    tensor = value.type.tensor_type
    if tensor.elem_type not in DTYPES:
        raise Unsupported(f'input "{value.name}" is of {_name_of(tensor.elem_type)}, expected numbers of {_known_names()}')
    shape, free = None, ""
    if tensor.HasField("shape"):
        shape = tuple(size.dim_value if _is_said(size) else None for size in tensor.shape.dim)
        free = next((size.dim_param for size in tensor.shape.dim if not _is_said(size)), "")
    return Input(value.name, DTYPES[tensor.elem_type], shape, free)


def _is_said(size: onnx.TensorShapeProto.Dimension) -> bool:
    """Negative ones, as of Paddle, are free."""
    return size.HasField("dim_value") and size.dim_value >= 0


def _name_of(number: int) -> str:
    return TensorProto.DataType.Name(number).lower() if number in TensorProto.DataType.values() else f"the type {number}"


def _known_names() -> str:
    return ", ".join(str(dtype).removeprefix("torch.") for dtype in DTYPES.values())
