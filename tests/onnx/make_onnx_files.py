# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes small ONNX files, and what ONNX Runtime in Python gives for some of them.

    make_onnx_files.py FOLDER

FOLDER/NAME.onnx is a model; NAME.ROWS.values its inputs and its results, one tensor after another: dtype (its number in
ONNX), rank and sizes as int64, then the elements, row-major.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

FOLDER = Path(sys.argv[1])
ROWS = (1, 16, 257)
FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64
# Those that columns have.
DTYPES = "BOOL UINT8 INT8 INT16 INT32 INT64 FLOAT16 BFLOAT16 FLOAT DOUBLE".split()

Array = NDArray[Any]
node = helper.make_node
value = helper.make_tensor_value_info


def save(
    name: str,
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    constants: dict[str, Array] | None = None,
    domains: Sequence[str] = (),
) -> None:
    """Writes NAME.onnx."""
    held = [numpy_helper.from_array(array, called) for called, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, name, inputs, outputs, held)
    opsets = [helper.make_opsetid("", 17), *(helper.make_opsetid(domain, 1) for domain in domains)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), FOLDER / f"{name}.onnx")


def save_values(name: str, rows: int, inputs: dict[str, Array]) -> None:
    """Writes NAME.ROWS.values. ONNX Runtime has one thread: with more it adds in another order."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(FOLDER / f"{name}.onnx", options, providers=["CPUExecutionProvider"])
    with (FOLDER / f"{name}.{rows}.values").open("wb") as file:
        for array in [*inputs.values(), *session.run(None, inputs)]:
            dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
            np.array([dtype, array.ndim, *array.shape], dtype=np.int64).tofile(file)
            np.ascontiguousarray(array).tofile(file)


def perceptron(random: np.random.Generator) -> None:
    """mlp: 15 features of a row to a score."""
    layers = [15, 64, 64, 1]
    nodes, constants, before = [], {}, "features"
    for i, (wide, narrow) in enumerate(zip(layers, layers[1:], strict=False)):
        constants[f"w{i}"] = (random.standard_normal((wide, narrow)) / wide).astype(np.float32)
        constants[f"b{i}"] = random.standard_normal(narrow).astype(np.float32)
        after = "score" if i == len(layers) - 2 else f"sum{i}"
        nodes.append(node("Gemm", [before, f"w{i}", f"b{i}"], [after]))
        if after != "score":
            before = f"relu{i}"
            nodes.append(node("Relu", [after], [before]))
    save("mlp", nodes, [value("features", FLOAT, ["n", 15])], [value("score", FLOAT, ["n", 1])], constants)
    for rows in ROWS:
        save_values("mlp", rows, {"features": random.standard_normal((rows, 15)).astype(np.float32)})


def edges(random: np.random.Generator) -> None:
    """graph: sums of the nodes at both ends of each edge, and the edge's own feature."""
    ends = {"first": np.array(0), "second": np.array(1)}
    nodes = [
        node("Gather", ["edge_index", "first"], ["from"], axis=0),
        node("Gather", ["edge_index", "second"], ["to"], axis=0),
        node("Gather", ["x", "from"], ["x_from"], axis=0),
        node("Gather", ["x", "to"], ["x_to"], axis=0),
        node("Add", ["x_from", "x_to"], ["both"]),
        node("Mul", ["both", "weight"], ["sums"]),
    ]
    inputs = [value("x", FLOAT, ["n", 3]), value("edge_index", INT64, [2, "e"]), value("weight", FLOAT, ["e", 1])]
    save("graph", nodes, inputs, [value("sums", FLOAT, ["e", 3])], ends)
    for rows in ROWS:
        x = random.standard_normal((rows, 3)).astype(np.float32)
        index = random.integers(0, rows, (2, 3 * rows), dtype=np.int64)
        save_values("graph", rows, {"x": x, "edge_index": index, "weight": random.random((3 * rows, 1), dtype=np.float32)})


def forms() -> None:
    """Models of each dtype, and those whose results ONNX Runtime may write elsewhere than into the memory it gets."""
    for name in DTYPES:
        dtype = getattr(TensorProto, name)
        turn = {"order": np.array([2, 0, 1])}
        put = [node("Gather", ["x", "order"], ["y"], axis=1)]
        save(f"turn_{name.lower()}", put, [value("x", dtype, ["n", 3])], [value("y", dtype, ["n", 3])], turn)
    x, y = value("x", FLOAT, ["n", 3]), value("y", FLOAT, ["n", 3])
    shape = {"shape": np.array([-1, 3]), "held": np.arange(6, dtype=np.float32).reshape(2, 3)}
    doubled = node("Add", ["x", "x"], ["y"])
    branch = {
        kind: helper.make_graph([node("Identity", ["x"], [kind])], kind, [], [value(kind, FLOAT, ["n", 3])])
        for kind in ("then", "other")
    }
    save("identity", [node("Identity", ["x"], ["y"])], [x], [y])
    save("reshape", [node("Reshape", ["x", "shape"], ["y"])], [x], [y], {"shape": shape["shape"]})
    save("dropout", [node("Dropout", ["x"], ["y"])], [x], [y])
    save(
        "branch",
        [
            node("ReduceSum", ["x"], ["sum"], keepdims=0),
            node("Greater", ["sum", "zero"], ["is_more"]),
            node("If", ["is_more"], ["y"], then_branch=branch["then"], else_branch=branch["other"]),
        ],
        [x],
        [y],
        {"zero": np.array(0, dtype=np.float32)},
    )
    save("same_twice", [node("Relu", ["x"], ["y"]), node("Identity", ["y"], ["z"])], [x], [y, value("z", FLOAT, ["n", 3])])
    save("input_again", [doubled], [x], [value("x", FLOAT, ["n", 3]), y])
    save("constant", [doubled], [x], [value("held", FLOAT, [2, 3]), y], {"held": shape["held"]})
    save("wrong_sizes", [doubled], [x], [value("y", FLOAT, [7, 3])])
    shaped = [node("Add", ["x", "x"], ["both"]), node("Reshape", ["both", "sizes"], ["y"])]
    save("no_sizes", shaped, [x, value("sizes", INT64, ["rank"])], [value("y", FLOAT, None)])
    save("fixed", [doubled], [value("x", FLOAT, [8, 3])], [value("y", FLOAT, [8, 3])])
    one_row = [node("ReduceSum", ["x", "axis"], ["y"], keepdims=1)]
    save("one_row", one_row, [value("x", FLOAT, [1, 3])], [value("y", FLOAT, [1, 1])], {"axis": np.array([1])})
    save(
        "flat", [node("ReduceSum", ["x", "axis"], ["y"], keepdims=0)], [x], [value("y", FLOAT, ["n"])], {"axis": np.array([1])}
    )
    save("pooled", [node("ReduceMean", ["x"], ["y"], axes=[0], keepdims=1)], [x], [value("y", FLOAT, [1, 3])])
    save("scaled", [node("Mul", ["x", "scale"], ["y"])], [x, value("scale", FLOAT, [1, 1])], [y])


def limits() -> None:
    """Models that fail, or have results that are not columns."""
    x, y = value("x", FLOAT, ["n", 3]), value("y", FLOAT, ["n", 3])
    save("custom", [node("MyOp", ["x"], ["y"], domain="my.domain")], [x], [y], domains=["my.domain"])
    index = value("index", INT64, ["m"])
    save("gather", [node("Gather", ["x", "index"], ["y"], axis=0)], [x, index], [value("y", FLOAT, ["m", 3])])
    huge = [node("Expand", ["x", "size"], ["all"]), node("ReduceSum", ["all", "axes"], ["y"], keepdims=1)]
    save(
        "huge",
        huge,
        [value("x", FLOAT, [1, 1]), value("size", INT64, [2])],
        [value("y", FLOAT, [1, 1])],
        {"axes": np.array([0, 1])},
    )
    names = helper.make_tensor("names", TensorProto.STRING, [3], [b"a", b"b", b"c"])
    largest = node("ArgMax", ["x"], ["place"], axis=1, keepdims=0)
    nodes = [node("Constant", [], ["names"], value=names), largest, node("Gather", ["names", "place"], ["label"])]
    text = value("label", TensorProto.STRING, ["n"])
    save("label", [*nodes, node("Softmax", ["x"], ["y"])], [x], [text, y])
    (FOLDER / "cut_off.onnx").write_bytes((FOLDER / "mlp.onnx").read_bytes()[:5000])


def main() -> None:
    """Writes all of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(34)
    perceptron(random)
    edges(random)
    forms()
    limits()


if __name__ == "__main__":
    main()
