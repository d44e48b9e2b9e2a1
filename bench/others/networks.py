# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Networks of others: the columns that they take, and what their frameworks answer."""

import importlib.util
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import tmva_rules
import torch
from tensoa import binding
from tensoa.errors import InputError, first_line
from tensoa.importers.files import load_module
from tensoa.importers.keras import config, legacy
from tensoa.importers.onnx import import_onnx
from tensoa.importers.tensorflow import import_tensorflow
from torch import nn

FREE = 12  # length of what is free but for the rows: constituents of a jet, steps of a sequence
Reference = Callable[[list[torch.Tensor]], object]


def block(name: str, columns: list[str], dtype: str = "float32", **more: object) -> dict:
    text = {
        "name": name,
        "collection": 0,
        "shape": "rows",
        "kind": "plain",
        "element": [],
        "column_dtype": dtype,
    }
    places = [{"name": column, "plane": i} for i, column in enumerate(columns)]
    return {**text, "dtype": dtype, **more, "columns": places}


def parsed(inputs: list[dict], outputs: list[dict], match: str) -> binding.Binding:
    return binding.parse({"schema": 1, "match": match, "inputs": inputs, "outputs": outputs})


class Network:
    """A network of which columns and answers are asked for."""

    framework = ""

    def __init__(self, path: Path, shapes: list[list[int]], outputs: list[str]) -> None:
        """`shapes`: those of a row of each argument, of files that do not say them. `outputs`: which ones, by their names.
        Raises InputError.
        """
        self.path, self.shapes, self.outputs = path, shapes, outputs
        self.module = self.load()

    def load(self) -> nn.Module:
        return load_module(str(self.path))

    def columns(self) -> binding.Binding:
        """Each of its inputs as one block. Raises InputError."""
        inputs, outputs = self.blocks()
        return parsed(inputs, outputs, "order" if len(inputs) == 1 and not self.outputs else "name")

    def blocks(self) -> tuple[list[dict], list[dict]]:
        raise NotImplementedError

    def size(self) -> str:
        """What it consists of."""
        raise NotImplementedError

    def reference(self, module: nn.Module) -> Reference | None:
        """Of a module of the file that takes the columns: tensors of all inputs to results."""
        raise NotImplementedError


def tensor_block(name: str, dtype: torch.dtype, shape: tuple[int | None, ...]) -> dict:
    """A block of columns that is a tensor of this shape, rows first. Raises InputError."""
    sizes = [FREE if size is None else size for size in shape[1:]]
    kind = str(dtype).removeprefix("torch.")
    if not sizes:
        return block(name, ["x"], kind)
    if len(sizes) == 1:
        return block(name, [f"x{i}" for i in range(sizes[0])], kind)
    if len(sizes) == 2:
        return block(name, ["x"], kind, kind="matrix", element=sizes)
    if len(sizes) == 3 and sizes[0] > 1:
        return block(
            name,
            [f"x{i}" for i in range(sizes[0])],
            kind,
            kind="matrix",
            element=sizes[1:],
        )
    raise InputError(f'"{name}" of shape {list(shape)}: this comparison makes no columns of it')


class OfTensors(Network):
    """ONNX, TensorFlow, Keras: arguments are tensors of known shapes."""

    def arguments(self) -> list[tuple[str, torch.dtype, tuple[int | None, ...]]]:
        return [(one.name, one.dtype, one.shape or ()) for one in self.module.graph.inputs]

    def names(self) -> list[str]:
        return self.module.result_names

    def blocks(self) -> tuple[list[dict], list[dict]]:
        arguments = self.arguments()
        inputs = [tensor_block(*argument) for argument in arguments]
        sizes = [[FREE if size is None else size for size in shape[1:]] for _, _, shape in arguments]
        given = [torch.zeros([3, *size], dtype=dtype) for (_, dtype, _), size in zip(arguments, sizes)]
        results = self.module(*given)
        results = results if isinstance(results, tuple) else (results,)
        outputs = []
        for name, result in zip(self.names(), results):
            if not len(result.shape) or result.shape[0] != 3:
                raise InputError(f'output "{name}" is of shape {list(result.shape)}, expected one row for each of 3')
            outputs.append(
                tensor_block(
                    name,
                    result.dtype,
                    tuple(result.shape) if result.dim() > 1 else (3, 1),
                )
            )
        return inputs, outputs

    def size(self) -> str:
        return f"{len(self.module.graph.nodes)} nodes"

    def reference(self, module: nn.Module) -> Reference | None:
        self.framework = module.framework
        return module.reference()


class OfTorchScript(OfTensors):
    framework = f"torch {torch.__version__}"

    def arguments(self) -> list[tuple[str, torch.dtype, tuple[int | None, ...]]]:
        names = binding.argument_names(self.module)
        return [(name, torch.float32, (None, *shape)) for name, shape in zip(names, self.shapes, strict=True)]

    def names(self) -> list[str]:
        """Of one result, which has no name in the file."""
        return ["output"]

    def size(self) -> str:
        return f"{sum(node.kind().startswith('aten::') for node in self.module.inlined_graph.nodes())} operators"

    def reference(self, module: nn.Module) -> Reference | None:
        """The file itself in Python, another reading of it than the module that is exported."""
        script = torch.jit.load(self.path, "cpu").eval()
        return lambda tensors: script(*tensors)


class OfOnnx(OfTensors):
    def load(self) -> nn.Module:
        """Without results that are text."""
        every = onnx.load(self.path, load_external_data=False).graph.output
        names = [one.name for one in every if one.type.tensor_type.elem_type != onnx.TensorProto.STRING]
        self.outputs = names if len(names) < len(every) else []
        return import_onnx(self.path, names)


class OfTensorflow(OfTensors):
    def load(self) -> nn.Module:
        return import_tensorflow(str(self.path), self.outputs)


def keras_2(path: Path, names: list[str], floatx: str) -> Reference:
    """keras_reference.py, in a process of its own."""

    def run(tensors: list[torch.Tensor]) -> object:
        with tempfile.TemporaryDirectory(prefix="tensoa-keras-") as folder:
            given, answers = (f"{folder}/{name}.npz" for name in ("given", "answers"))
            np.savez(given, **{name: tensor.numpy() for name, tensor in zip(names, tensors)})
            program = Path(__file__).with_name("keras_reference.py")
            command = [sys.executable, str(program), str(path), given, answers, floatx]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise InputError(f"Keras 2 does not take it: {(done.stderr.strip().splitlines() or [''])[-1]}")
            with np.load(answers) as found:
                return tuple(torch.from_numpy(found[key]) for key in found.files)

    return run


HAS_KERAS_2 = bool(importlib.util.find_spec("tf_keras"))


class OfKeras(OfTensors):
    def configuration(self) -> dict:
        return json.loads(self.path.read_text()) if self.path.suffix == ".json" else config.read(str(self.path))

    def arguments(self) -> list[tuple[str, torch.dtype, tuple[int | None, ...]]]:
        shapes = {}
        for name, entry in config.objects(self.configuration()):
            shape = entry["config"].get("batch_shape") or entry["config"].get("batch_input_shape")
            if shape:
                shapes.setdefault(name, tuple(shape))
        names = self.module.argument_names
        found = [shapes.get(name, next(iter(shapes.values()), ())) for name in names]
        return [(name, torch.float32, shape) for name, shape in zip(names, found)]

    def size(self) -> str:
        found = self.configuration()["config"]
        entries = found if isinstance(found, list) else found["layers"]
        return f"{sum(entry['class_name'] != 'InputLayer' for entry in entries)} layers"

    def reference(self, module: nn.Module) -> Reference | None:
        """Keras 2 of TensorFlow for its own files, where it is installed."""
        is_old = self.path.suffix == ".json" or legacy.takes(config.version(str(self.path)))
        if not is_old or not HAS_KERAS_2:
            return super().reference(module)
        self.framework = "Keras 2 of TensorFlow"
        return keras_2(self.path, module.argument_names, "float32")


class OfLwtnn(Network):
    """`program`: lwtnn_reference.cpp."""

    framework = "LWTNN"
    program: Path | None = None

    def blocks(self) -> tuple[list[dict], list[dict]]:
        inputs = [
            block(
                one.name,
                one.variables,
                **({"kind": "vector", "element": [FREE]} if one.is_sequence else {}),
            )
            for one in self.module.inputs
        ]
        return inputs, [block(name, self.module.labels[name]) for name in self.module.outputs]

    def size(self) -> str:
        return f"{len(self.module.layers)} layers"

    def reference(self, module: nn.Module) -> Reference | None:
        """What LWTNN itself gives for a network of vectors."""
        if self.program is None or any(one.is_sequence for one in module.inputs):
            return None

        def run(tensors: list[torch.Tensor]) -> torch.Tensor:
            x = torch.cat(list(tensors), 1).double().numpy()
            rows = "".join(" ".join(f"{value:.17g}" for value in row) + "\n" for row in x)
            done = subprocess.run(
                [self.program, self.path],
                input=rows,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise InputError(f"LWTNN does not take it: {first_line(done.stderr)}")
            return torch.from_numpy(np.loadtxt(io.StringIO(done.stdout), ndmin=2))

        return run


class OfTmva(Network):
    framework = "the rules of TMVA, in float64, by a second reader"

    def blocks(self) -> tuple[list[dict], list[dict]]:
        return [block("variables", self.module.variables)], [block("response", self.module.labels or ["response"])]

    def size(self) -> str:
        return f"{len(self.module.variables)} variables, {len(self.module.layers)} steps"

    def reference(self, module: nn.Module) -> Reference | None:
        return lambda tensors: torch.from_numpy(tmva_rules.answers(self.path, tensors[0].double().numpy()))


class OfFixedPoint(Network):
    def blocks(self) -> tuple[list[dict], list[dict]]:
        weights = [layer.weight for layer in self.module.layers if hasattr(layer, "weight")]
        ends = [[f"x{i}" for i in range(size)] for size in (weights[0].shape[1], weights[-1].shape[0])]
        return [block("features", ends[0])], [block("outputs", ends[1])]

    def size(self) -> str:
        return f"{len(self.module.layers)} steps"

    def reference(self, module: nn.Module) -> Reference | None:
        """QKeras, in float64."""
        if not HAS_KERAS_2 or not importlib.util.find_spec("qkeras"):
            return None
        self.framework = "QKeras, in float64"
        return keras_2(self.path, ["features"], "float64")


KINDS: dict[str, type[Network]] = {
    "TorchScript": OfTorchScript,
    "ONNX network": OfOnnx,
    "TensorFlow": OfTensorflow,
    "Keras": OfKeras,
    "QKeras": OfFixedPoint,
    "LWTNN": OfLwtnn,
    "TMVA network": OfTmva,
}
