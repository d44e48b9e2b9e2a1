# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The layers in a file of Keras, read without Keras."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensoa.errors import InputError, first_line

H5 = (".h5", ".hdf5")
EXPECTED = "expected a whole model (model.save) in .keras or .h5"


def read(path: str) -> dict:
    """The configuration of the model in a file. Raises InputError."""
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file, {EXPECTED}")
    text = _of_h5(path) if path.endswith(H5) else _of_keras(path)
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: its configuration is not JSON ({first_line(error)}), {EXPECTED}") from error
    if not isinstance(config, dict) or "class_name" not in config:
        raise InputError(f"{path}: its configuration has no class_name, {EXPECTED}")
    return config


def is_architecture(path: str) -> bool:
    """Whether a .json is what model.to_json() of Keras writes, not a network of LWTNN."""
    try:
        description = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(description, dict) and "class_name" in description and isinstance(description.get("config"), (dict, list))


def joined(path: str, target: str) -> None:
    """Writes the .h5 of model.save() from the .json of model.to_json() and the weights next to it. Raises InputError."""
    try:
        import h5py
    except ImportError as error:
        raise InputError(f"{path}: needs the package h5py, which is not here; pip install h5py") from error
    stem = path.removesuffix(".json")
    files = [f"{stem}{ending}" for ending in ("_weights.h5", ".weights.h5", ".h5")]
    weights = next((name for name in files if Path(name).is_file()), None)
    if weights is None:
        names = ", ".join(Path(name).name for name in files)
        raise InputError(f"{path}: holds layers of Keras, expected their weights next to it, in one of {names}")
    try:
        with h5py.File(weights, "r") as source, h5py.File(target, "w") as file:
            given = source.get("model_weights", source)
            if "layer_names" not in given.attrs:
                raise InputError(f"{weights}: has no layer_names, expected what model.save_weights() writes as .h5")
            group = file.create_group("model_weights")
            group.attrs.update(given.attrs)
            for name in given:
                given.copy(name, group)
            file.attrs["model_config"] = Path(path).read_text()
            file.attrs["keras_version"] = json.loads(file.attrs["model_config"]).get("keras_version", "")
    except OSError as error:
        raise InputError(f"{weights}: cannot be read ({first_line(error)}), {EXPECTED}") from error


def version(path: str) -> str:
    """Of the Keras that wrote a file which read() takes; "" where it is not said."""
    if path.endswith(H5):
        import h5py

        with h5py.File(path, "r") as file:
            text = file.attrs.get("keras_version", "")
            return text.decode() if isinstance(text, bytes) else str(text)
    with zipfile.ZipFile(path) as archive:
        try:
            return str(json.loads(archive.read("metadata.json"))["keras_version"])
        except (KeyError, ValueError, TypeError):
            return ""


def _of_keras(path: str) -> bytes:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read("config.json")
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: cannot be read ({first_line(error)}), {EXPECTED}") from error


def _of_h5(path: str) -> str | bytes:
    try:
        import h5py
    except ImportError as error:
        raise InputError(f"{path}: needs the package h5py, which is not here; pip install h5py") from error
    try:
        with h5py.File(path, "r") as file:
            config = file.attrs.get("model_config")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({first_line(error)}), {EXPECTED}") from error
    if config is None:
        raise InputError(f"{path}: holds weights, not a model; {EXPECTED}")
    return config


def objects(config: Any) -> Iterator[tuple[str, dict]]:
    """(name of the layer that it is in, the object) of all objects in a configuration."""
    todo: list[tuple[str, Any]] = [("model", config)]
    while todo:
        name, value = todo.pop()
        if isinstance(value, dict):
            inner = value.get("config")
            if isinstance(value.get("class_name"), str) and isinstance(inner, dict):
                name = str(inner.get("name", name))
                yield name, value
            todo += [(name, entry) for entry in value.values()]
        elif isinstance(value, list):
            todo += [(name, entry) for entry in value]
