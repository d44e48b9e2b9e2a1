# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What a file of Keras says of its layers, without Keras."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensoa.errors import InputError, first_line

EXPECTED = "expected a whole model (model.save) in .keras or .h5"


def read(path: str) -> dict:
    """The configuration of the model in a file. Raises InputError."""
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file, {EXPECTED}")
    text = _of_h5(path) if path.endswith((".h5", ".hdf5")) else _of_keras(path)
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: its configuration is no JSON ({first_line(error)}), {EXPECTED}") from error
    if not isinstance(config, dict) or "class_name" not in config:
        raise InputError(f"{path}: its configuration has no class_name, {EXPECTED}")
    return config


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
