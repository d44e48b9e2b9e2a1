# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Weights in files that torch wrote: checkpoints of PyTorch Lightning, and what torch.save made of a state_dict.

No code of the file runs, and none of its libraries is needed: torch's reader of weights (weights_only) makes the tensors,
and what else is in the file (callbacks, hyperparameters of the author's own class) becomes an empty thing or a dict.
"""

import pickletools
import zipfile
from dataclasses import dataclass, field

import torch
from safetensors.torch import load_file
from torch.serialization import get_unsafe_globals_in_checkpoint, safe_globals

from tensoa.errors import InputError, first_line

#: How the files begin that torch.save wrote before it wrote archives (torch 1.6).
OLD = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."


@dataclass
class Checkpoint:
    """Tensors by name; hyperparameters where the file has them."""

    tensors: dict
    parameters: dict = field(default_factory=dict)


class _Anything(dict):
    """Stands for an object of a class that is not loaded."""

    def __new__(cls, *_, **__):
        return dict.__new__(cls)

    def __init__(self, *_, **__):
        super().__init__()

    def __setstate__(self, _):
        pass


def kind_of(path):
    """ "script" (torch.jit.save), "weights" (torch.save), or None."""
    if _is_old(path):
        return "weights"
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.partition("/")[2] for name in archive.namelist()]
    except (OSError, zipfile.BadZipFile):
        return None
    if "data.pkl" not in names:
        return None
    return "script" if "constants.pkl" in names else "weights"


def _is_old(path):
    try:
        with open(path, "rb") as file:
            return file.read(len(OLD)) == OLD
    except OSError:
        return False


def saved_object(path):
    """The class of the object in a file of torch.save, as net.Net; nothing where it is tensors: a state_dict, a checkpoint, a
    list, or one tensor. Reads the names alone.
    """
    try:
        if _is_old(path):
            with open(path, "rb") as file:
                for _ in range(3):  # the magic number, the version, the machine
                    for _ in pickletools.genops(file):
                        pass
                name = _first_class(file)
        else:
            with zipfile.ZipFile(path) as archive:
                member = next(member for member in archive.namelist() if member.endswith("/data.pkl"))
                with archive.open(member) as file:
                    name = _first_class(file)
    except Exception:  # pickletools throws many kinds; load() says what is wrong
        return ""
    return "" if name == "collections.OrderedDict" or name.startswith(("torch._", "torch.serialization")) else name


def _first_class(file):
    """The first bytes of the next pickle."""
    texts = []
    for operation, argument, _ in pickletools.genops(file):
        if operation.name == "GLOBAL":
            return argument.replace(" ", ".")
        if operation.name == "STACK_GLOBAL":
            return ".".join(texts[-2:])
        if operation.name in ("EMPTY_DICT", "EMPTY_LIST"):
            return ""
        texts += [argument] * isinstance(argument, str)
    return ""


def unpickled(path):
    """The module in a file of torch.save that holds more than tensors. Code that is in the file runs. Raises InputError."""
    try:
        module = torch.load(path, map_location="cpu", weights_only=False)
    except Exception as error:  # whatever the code of the file throws
        raise InputError(
            f"{path}: cannot load the pickled {saved_object(path)}: {type(error).__name__}: {first_line(error)}; expected its "
            "classes where Python finds them (PYTHONPATH)"
        ) from error
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"{path}: holds a pickled {type(module).__name__}, expected a torch.nn.Module")
    return module


def with_weights(module, path):
    """The module, with the tensors of a file of safetensors or torch.save by name: all of them, and no others; but for a common
    beginning of the names, as "model." of PyTorch Lightning. Raises InputError.
    """
    if path.endswith(".safetensors"):
        try:
            tensors = load_file(path)
        except Exception as error:  # safetensors throws many kinds
            raise InputError(f"{path}: cannot read the weights: {first_line(error)}") from error
    else:
        tensors = load(path).tensors
    names = [*module.state_dict()]
    beginning = next((name[: -len(names[0])] for name in tensors if names and name.endswith(f".{names[0]}")), "")
    if beginning and {beginning + name for name in names} == {*tensors}:
        tensors = {name.removeprefix(beginning): tensor for name, tensor in tensors.items()}
    missing, others = ([name for name in one if name not in other] for one, other in ((names, tensors), (tensors, names)))
    shapes = [
        f"{name} is {list(tensors[name].shape)}, expected {list(tensor.shape)}"
        for name, tensor in module.state_dict().items()
        if name in tensors and tensors[name].shape != tensor.shape
    ]
    wrong = (
        [f"it has no {', '.join(missing)}"] * bool(missing) + [f"the module has no {', '.join(others)}"] * bool(others) + shapes
    )
    if wrong:
        raise InputError(f"{path}: is not of this module: {'; '.join(wrong)[:1000]}")
    module.load_state_dict(tensors)
    return module


def load(path):
    """The Checkpoint in a file of torch.save. Raises InputError."""
    try:
        unknown = [] if _is_old(path) else get_unsafe_globals_in_checkpoint(path)
        stubs = [(type("_Anything", (_Anything,), {}), name) for name in unknown]
        with safe_globals(stubs):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch throws many kinds
        raise InputError(f"{path}: cannot read the weights: {first_line(error)}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: got a {type(content).__name__}, expected a checkpoint or a state_dict")
    parameters = content.get("hyper_parameters", {})
    tensors = content.get("state_dict", content)
    if not isinstance(tensors, dict):
        raise InputError(f"{path}: its state_dict is a {type(tensors).__name__}, expected a dict of tensors by name")
    tensors = {name: value for name, value in tensors.items() if isinstance(value, torch.Tensor)}
    return Checkpoint(tensors, parameters if isinstance(parameters, dict) else {})
