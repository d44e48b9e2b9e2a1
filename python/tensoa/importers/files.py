# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models of torch in files."""

import importlib.util
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import torch
from torch import nn

from tensoa import graph_network
from tensoa.binding import Binding
from tensoa.binding.defaults import Sizes
from tensoa.binding.examples import kind_of_table
from tensoa.errors import InputError, first_line
from tensoa.importers import checkpoints, exatrkx
from tensoa.importers.fixed_point import qkeras
from tensoa.importers.fixed_point.hls4ml import import_fml
from tensoa.importers.keras import config, import_keras
from tensoa.importers.lwtnn import import_lwtnn
from tensoa.importers.tmva import import_tmva
from tensoa.merging.network import FragmentNetwork
from tensoa.tracking.interaction_network import InteractionNetwork

ENDINGS = (".pt2", ".pt", ".onnx", ".keras", ".h5", ".pb", ".graphdef", ".fml", ".json", ".xml", ".safetensors")


def load_module(source: str, columns: Binding | None = None, sizes: Mapping[str, Sizes] = MappingProxyType({})) -> nn.Module:
    """The torch.nn.Module of FILE.py:FACTORY, FILE.pt2, FILE.pt, FILE.onnx, FILE.keras or FILE.h5 (Keras, QKeras),
    FILE.fml (hls4ml), FILE.pb, FILE.graphdef or a folder (TensorFlow), FILE.json (LWTNN, or Keras with its weights next to it),
    FILE.xml (TMVA), FILE.safetensors, or a file of weights of Exa.TrkX. Where a binding is given, models of others give what
    its output blocks request (tensoa.importers.outputs), and networks of LWTNN and TMVA take its columns by name. `sizes`: of
    the tensors of arguments, for those that a file of Keras leaves free. Raises InputError.
    """
    path, _, factory = source.rpartition(":")
    if path.endswith(".py"):
        return _made_by(Path(path), factory)
    if source.endswith(".safetensors"):
        return load_weights(source)
    if exatrkx.takes(source):
        return exatrkx.read_weights(source)
    if source.endswith(".pt2"):
        return _loaded(source, "an exported program (torch.export.save)", lambda: _exported_program(source))
    if source.endswith((".pt", ".ckpt")):
        return _script(source)
    if source.endswith(".onnx"):
        return _onnx(source, columns)
    if source.endswith((".pb", ".graphdef")) or Path(source, "saved_model.pb").is_file():
        return _tensorflow(source, columns)
    if source.endswith((".keras", ".h5", ".hdf5")):
        return _keras(source, columns, sizes)
    if source.endswith(".fml"):
        return import_fml(source, columns)
    if source.endswith(".json") and config.is_architecture(source):
        return _keras_of_json(source, columns, sizes)
    if source.endswith(".json"):
        return import_lwtnn(source, columns)
    if source.endswith(".xml"):
        return import_tmva(source, columns)
    if checkpoints.kind_of(source) is not None:
        return _script(source)
    table = kind_of_table(source)
    if table:
        raise InputError(f"{source}: is {table}, rows and not a model; expected FILE.py:FACTORY or the file of a model")
    raise InputError(f"{source}: got none of FILE.py:FACTORY, {', '.join(f'FILE{ending}' for ending in ENDINGS)}")


def _onnx(path: str, columns: Binding | None) -> nn.Module:
    try:
        from tensoa.importers.onnx import import_onnx
    except ImportError as error:
        raise InputError(f"{path}: needs the package {error.name}, which is not here; pip install onnx") from error
    return import_onnx(path, columns)


def _tensorflow(path: str, columns: Binding | None) -> nn.Module:
    try:
        from tensoa.importers.tensorflow import import_tensorflow
    except ImportError as error:
        raise InputError(f"{path}: needs the package {error.name}, which is not here; pip install onnx") from error
    return import_tensorflow(path, columns)


def _keras(path: str, columns: Binding | None, sizes: Mapping[str, Sizes]) -> nn.Module:
    description = config.read(path)
    if qkeras.takes(description):
        return qkeras.import_qkeras(path, description, columns)
    return import_keras(path, description, columns, sizes)


def _keras_of_json(path: str, columns: Binding | None, sizes: Mapping[str, Sizes]) -> nn.Module:
    with tempfile.TemporaryDirectory(prefix="tensoa-keras-") as folder:
        whole = str(Path(folder) / "model.h5")
        config.joined(path, whole)
        try:
            return _keras(whole, columns, sizes)
        except InputError as error:
            raise InputError(str(error).replace(whole, path)) from error


def _script(path: str) -> nn.Module:
    if checkpoints.kind_of(path) == "weights":
        saved = checkpoints.saved_object(path)
        if saved:
            raise InputError(
                f"{path}: holds a pickled {saved}, no state_dict, which only its Python code can load; "
                "expected --trust-pickle, which runs code that is in the file, or a file of torch.export.save (FILE.pt2) or "
                "torch.jit.save (FILE.pt)"
            )
        raise InputError(
            f"{path}: holds weights, not a model; expected FILE.py:FACTORY, a function that makes the network, and "
            f"--weights {path}"
        )
    return _loaded(path, "a TorchScript model (torch.jit.save)", lambda: torch.jit.load(path, "cpu"))


def _exported_program(path: str) -> nn.Module:
    zipfile.ZipFile(path).close()  # torch 2.15 logs a traceback when the file is something else
    return torch.export.load(path).module()


def load_weights(path: str) -> nn.Module:
    """One of our networks, of its weights file. Raises InputError."""
    return graph_network.load(path, InteractionNetwork, FragmentNetwork)


def _made_by(path: Path, factory: str) -> nn.Module:
    if not path.is_file():
        raise InputError(f"{path}: no such file, expected Python code with a function {factory}()")
    sys.path.insert(0, str(path.parent.resolve()))  # for imports from its folder
    try:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if not hasattr(module, factory):
            raise InputError(f"{path}: has no {factory}, expected a function of this name")
        return getattr(module, factory)()
    except InputError:
        raise
    except Exception as error:  # whatever the user's code throws
        raise InputError(f"{path}: {factory}() fails with {type(error).__name__}: {first_line(error)}") from error
    finally:
        sys.path.pop(0)


def _loaded(path: str, expected: str, load: Callable[[], nn.Module]) -> nn.Module:
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file, expected {expected}")
    try:
        return load()
    except Exception as error:  # torch throws many kinds
        unknown = re.search(r"Unknown builtin op: (\S+?)\.?\s", str(error))
        if unknown:
            raise InputError(
                f"{path}: needs the operator {unknown[1]} of an extension of torch; export it from the torch.nn.Module with "
                "operators of torch in its place, or run it just in time in a program that links the extension"
            ) from error
        raise InputError(f"{path}: got {first_line(error)}, expected {expected}") from error
