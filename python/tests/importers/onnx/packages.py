# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""ONNX files of torch modules and of nodes, and the packages that are made of them, against ONNX Runtime."""

import warnings

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from tensoa import binding
from tensoa.binding.columns import Columns
from tensoa.compiler.cpu.processors import CPU_FLAGS, cpu_flags
from tensoa.errors import InputError
from tensoa.export import Options, export
from tensoa.importers.onnx import import_onnx
from tensoa.package import archive, fused

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def of_torch(path, module, arguments, inputs, outputs, free, opset=17):
    """`free`: {name: the dimension that is the rows}."""
    axes = {name: {dimension: f"rows_of_{name}"} for name, dimension in free.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(), arguments, str(path), dynamo=False, input_names=inputs, output_names=outputs, dynamic_axes=axes,
            opset_version=opset,
        )  # fmt: skip
    return path


def of_nodes(path, nodes, inputs, outputs, constants=None, opset=17, **more):
    """`inputs` and `outputs`: {name: (type, shape)}."""
    values = [[helper.make_tensor_value_info(name, *kind) for name, kind in group.items()] for group in (inputs, outputs)]
    constants = [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "test", *values, initializer=constants)
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(*pair) for pair in more.get("domains", {}).items())]
    path.write_bytes(helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString())
    return path


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def compare(path, inputs, outputs, tmp_path, rows):
    """Makes the package of an ONNX file and compares it with ONNX Runtime; returns what the export said."""
    columns = binding.parse({"schema": 1, "match": "auto", "inputs": inputs, "outputs": outputs})
    lines, package = [], tmp_path / "package.pt2"
    module = import_onnx(path, [block.name for block in columns.outputs])
    export(module, columns, package, Options(report=lines.append))
    agree(package, path, inputs, outputs, tmp_path, rows)
    return lines


def agree(package, path, inputs, outputs, tmp_path, rows, tolerance=2e-5):
    """Compares the fused program of a package with ONNX Runtime. `rows` of each collection."""
    columns = binding.parse({"schema": 1, "match": "auto", "inputs": inputs, "outputs": outputs})
    level = next(level for level in ("x86-64-v4", "x86-64-v3") if cpu_flags().issuperset(CPU_FLAGS[level]))
    library = tmp_path / "program.so"
    library.write_bytes(archive.read(package)[0][f"model/fused/{level}.so"])
    rules = [{"collection": block.collection} for block in columns.outputs]
    given = Columns(columns, rows, rules, "cpu", seed=5, is_whole=True)
    fused.Program(library)(given, [rows[collection] for collection in sorted(rows)])
    made = session(path)
    tensors = [block.tensor(argument).contiguous().numpy() for block, argument in zip(columns.inputs, given.inputs)]
    names = [value.name for value in made.get_inputs()]
    by_name = {block.name: tensor for block, tensor in zip(columns.inputs, tensors)}
    feed = by_name if set(by_name) == set(names) else dict(zip(names, tensors))
    expected = made.run([block.name for block in columns.outputs], feed)
    for block, planes, right in zip(columns.outputs, given.outputs, expected):
        got = torch.cat(planes).numpy()
        right = block.planes(torch.from_numpy(right)).reshape(got.shape).numpy()
        assert np.abs(got.astype(float) - right).max() <= tolerance * max(1, np.abs(right).max()), block.name
        assert right.std() > 0


def refused(path, message, outputs=()):
    with pytest.raises(InputError) as caught:
        import_onnx(path, outputs)
    text = str(caught.value)
    assert message in text and str(path) in text and "\n" not in text
    return text
