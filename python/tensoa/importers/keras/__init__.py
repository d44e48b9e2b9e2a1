# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models of Keras (.keras, .h5), as graphs of torch.

Keras 3 builds the model with its back end for torch, and torch.export follows it: what is left has no Keras in it.
"""

import itertools
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch import nn

from tensoa.binding import Binding
from tensoa.binding.defaults import Sizes, Taken
from tensoa.errors import InputError, first_line
from tensoa.importers.keras import config, legacy
from tensoa.importers.outputs import chosen, notes
from tensoa.importers.results import named
from tensoa.tracing import traced

ROWS = 3  # of the examples that torch.export follows


def import_keras(
    path: str,
    description: dict,
    columns: Binding | None = None,
    sizes: Mapping[str, Sizes] = MappingProxyType({}),
) -> "Keras":
    """The model in a file with this configuration; where a binding is given, its inputs have the dtypes of the blocks.
    `sizes`: of inputs, for those that the file leaves free. Raises InputError.
    """
    _check(path, description)
    keras = _keras(path)
    version = config.version(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = _loaded(path, description, version, keras)
            results: dict[str, str] = {}
            if getattr(model, "inputs", None):
                model = keras.Model(list(model.inputs), list(model.outputs))
                outputs, inner = _values(model)
                results = chosen(columns, [*outputs], {name: name for name in inner})
                model = keras.Model(list(model.inputs), [(outputs | inner)[value] for value in results.values()])
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except Exception as error:  # Keras throws many kinds
        raise InputError(f"{path}: Keras {keras.__version__} does not take it: {first_line(error)}") from error
    if not getattr(model, "inputs", None):
        raise InputError(f"{path}: its inputs have no shape; call the model once before it is saved, or give it an Input")
    try:
        return Keras(model, results, notes(results, [*outputs]), columns, sizes, keras)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _loaded(path: str, description: dict, version: str, keras: Any) -> Any:
    """Raises InputError, and what Keras throws."""
    if not legacy.takes(version):
        return keras.saving.load_model(path, compile=False, safe_mode=True)
    with tempfile.TemporaryDirectory(prefix="tensoa-keras-") as folder:
        source = path
        if path.endswith(config.H5):
            source = str(Path(folder) / "model.h5")
            legacy.rewritten(path, legacy.updated(description), source)
        model = keras.saving.load_model(source, compile=False, safe_mode=True)
    legacy.restore_activations(model, keras)
    return model


def _check(path: str, description: dict) -> None:
    """Refuses code in a file, and classes that are not those of Keras."""
    for name, entry in config.objects(description):
        kind = entry["class_name"]
        if kind in ("Lambda", "__lambda__"):
            raise InputError(
                f'{path}: layer "{name}" is a Lambda, code in a file, which is not run; write it as layers or keras.ops, '
                "or export the model from Python (FILE.py:FACTORY)"
            )
        module = entry.get("module")
        is_own = entry.get("registered_name") is not None and ">" in str(entry["registered_name"])
        if is_own or (isinstance(module, str) and module.split(".")[0] not in ("keras", "builtins")):
            raise InputError(
                f'{path}: layer "{name}" has {kind}, which is not of Keras; register the class and export the model from '
                "Python (FILE.py:FACTORY)"
            )


def _keras(path: str) -> Any:
    if "keras" not in sys.modules:
        os.environ["KERAS_BACKEND"] = "torch"
        os.environ.setdefault("KERAS_TORCH_DEVICE", "cpu")
    try:
        import keras
    except ImportError as error:
        raise InputError(f"{path}: needs the package {error.name}, which is not here; pip install keras") from error
    if int(keras.__version__.split(".")[0]) < 3:
        raise InputError(f"{path}: needs Keras 3, here is {keras.__version__}; pip install -U keras")
    if keras.backend.backend() != "torch":
        raise InputError(
            f"{path}: Keras runs on {keras.backend.backend()} in this process; expected torch: set KERAS_BACKEND=torch"
        )
    return keras


class Keras(nn.Module):
    """Takes a tensor for each input of the model, in order or by name; gives one for each output."""

    framework = "Keras"

    def __init__(
        self,
        model: Any,
        results: dict[str, str],
        notes: list[str],
        columns: Binding | None,
        said: Mapping[str, Sizes],
        keras: Any,
    ) -> None:
        super().__init__()
        self.framework = f"Keras {keras.__version__}"
        self.argument_names = [tensor.name for tensor in model.inputs]
        self.result_names, self.notes = [*results], notes
        dtypes = _dtypes(model, columns, self.argument_names)
        sizes = [_sizes(name, tensor.shape, said.get(name, ())) for name, tensor in zip(self.argument_names, model.inputs)]
        self.taken_by_file = [
            Taken(name, dtype, (None, *size)) for name, size, dtype in zip(self.argument_names, sizes, dtypes)
        ]
        examples = tuple(torch.zeros(ROWS, *size, dtype=dtype) for size, dtype in zip(sizes, dtypes))
        for layer in model._flatten_layers():
            if getattr(layer, "unroll", None) is False:
                layer.unroll = True  # the loop that Keras runs otherwise depends on the number of rows
        with torch.no_grad(), keras.device("cpu"):
            wrapped = _Model(model).eval()
            shapes = ([{0: torch.export.Dim.AUTO} for _ in examples],)
            try:
                graph = traced(wrapped, (list(examples),), shapes)
            except Exception as error:  # torch.export throws many kinds
                raise InputError(f"torch.export cannot follow it ({first_line(error)})") from error
        self.graph = _of_any_precision(graph.module(check_guards=False))
        self._reference = [_predict(model, self.result_names)]  # in a list: the model is not a part of this one

    def reference(self) -> Callable[[Sequence[torch.Tensor]], Any]:
        """Keras' own predict: tensors in the order of the arguments to results."""
        return self._reference[0]

    def forward(self, *tensors: torch.Tensor, **by_name: torch.Tensor) -> Any:
        rest = self.argument_names[len(tensors) :]
        if len(tensors) > len(self.argument_names) or sorted(rest) != sorted(by_name):
            got = len(tensors) + len(by_name)
            raise InputError(f"the model takes {', '.join(self.argument_names)}; got {got} inputs")
        return named(self.graph([*tensors, *(by_name[name] for name in rest)]), self.result_names)


def _sizes(name: str, of_file: Sizes, said: Sizes) -> tuple[int, ...]:
    """Of a row; what the file leaves free is as it is said. Raises InputError."""
    whole = [b if a is None and len(said) == len(of_file) else a for a, b in zip(of_file, said or of_file)]
    sizes = tuple(size for size in whole[1:] if size is not None)
    if len(sizes) < len(of_file) - 1:
        free = ", ".join("n" if i == 0 else "SIZE" if size is None else str(size) for i, size in enumerate(of_file))
        raise InputError(f'input "{name}": the file leaves its sizes free; expected them in words: --columns "{name}[{free}]"')
    return sizes


def _values(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(outputs, inner values): tensors by the name of the layer that gives them; later ones of a layer as NAME:1, …"""
    outputs: dict[str, Any] = {}
    for name, tensor in zip(model.output_names, model.outputs):
        outputs[next(one for i in itertools.count() if (one := f"{name}:{i}" if i else name) not in outputs)] = tensor
    given: dict[str, list[Any]] = {}
    for nodes in model._nodes_by_depth.values():
        for node in nodes:
            given.setdefault(node.operation.name, []).extend(node.output_tensors)
    taken = {id(tensor) for tensor in (*model.inputs, *model.outputs)}
    once = {name: tensors[0] for name, tensors in given.items() if len(tensors) == 1 and id(tensors[0]) not in taken}
    return outputs, {name: tensor for name, tensor in once.items() if name not in outputs}


CONVERSIONS = (torch.ops.aten.to.dtype, torch.ops.aten.to.dtype_layout)


def _of_any_precision(module: Any) -> Any:
    """Without assertions of dtypes and conversions to the dtype that is there, with constants as buffers: so that double() of
    a copy is the model in double precision.
    """
    for node in list(module.graph.nodes):
        if node.target is torch.ops.aten._assert_tensor_metadata.default:
            module.graph.erase_node(node)
        elif node.target in CONVERSIONS and node.args[0].meta["val"].dtype == node.meta["val"].dtype:
            node.replace_all_uses_with(node.args[0])
            module.graph.erase_node(node)
        elif node.op == "get_attr":
            owner, _, name = node.target.rpartition(".")
            holder = module.get_submodule(owner)
            tensor = getattr(holder, name)
            if name not in {**holder._parameters, **holder._buffers}:
                delattr(holder, name)
                holder.register_buffer(name, tensor.detach())
    module.delete_all_unused_submodules()
    module.recompile()
    return module


class _Model(nn.Module):
    """Lists of tensors, without training."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        results = self.model(tensors, training=False)
        return list(results) if isinstance(results, (list, tuple)) else [results]


def _predict(model: Any, names: list[str]) -> Callable[[Sequence[torch.Tensor]], Any]:
    def run(tensors: Sequence[torch.Tensor]) -> Any:
        results = model.predict_on_batch([tensor.numpy(force=True) for tensor in tensors])
        results = results if isinstance(results, (list, tuple)) else [results]
        return named([torch.from_numpy(result) for result in results], names)

    return run


def _dtypes(model: Any, columns: Binding | None, names: list[str]) -> list[torch.dtype]:
    """Of the blocks that go to the inputs, else as the model says."""
    if columns is None or len(columns.inputs) != len(names):
        return [getattr(torch, str(tensor.dtype)) for tensor in model.inputs]
    if columns.goes_by_name(names):
        by_name = {block.name: block.dtype for block in columns.inputs}
        return [by_name[name] for name in names]
    return [block.dtype for block in columns.inputs]
