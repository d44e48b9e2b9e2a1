# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Rows to train small ensembles on, and what tests of their importers share."""

import importlib
import json

import numpy as np
import pytest

from exporting import block
from tensoa.command import run
from tensoa.errors import InputError
from tensoa.importers.trees import files, imported
from tensoa.package import archive
from tensoa.package.manifest import Manifest

ROWS, COLUMNS = 600, 5


def rows(missing=0.2, seed=0, categories=()):
    """(x [rows, columns] float32 with NaN, a number to learn); columns of `categories` have whole numbers from 0 to 69."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(ROWS, COLUMNS)).astype(np.float32)
    for column in categories:
        x[:, column] = random.integers(0, 70, ROWS)
    y = np.sin(x @ np.arange(1, COLUMNS + 1)) + x[:, 0] + 0.1 * random.normal(size=ROWS)
    y += sum(3 * np.sin(7 * x[:, column]) for column in categories)
    x[random.random(x.shape) < missing] = np.nan
    return x, y.astype(np.float32)


def load(path, **options):
    return files.load(path, files.ImportOptions(**options))


def checked(path, **options):
    """The import of a file, compared with its framework on random and edge values."""
    made = load(path, **options)
    assert imported.check(made) >= 1500
    return made


def refusal(path, content=None, **options):
    """The message of the InputError for a file, less its name."""
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        load(path, **options)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and "\n" not in message
    return message.removeprefix(f"{path}: ")


def binding_text(inputs, outputs, **options):
    return {"schema": 1, "match": "order", "inputs": inputs, "outputs": [block("scores", outputs)], **options}


def command(path, inputs, outputs, *options):
    """(exit status, package) of `python -m tensoa.import`."""
    description, out = path.parent / "binding.json", path.parent / "package.pt2"
    description.write_text(json.dumps(binding_text(inputs, outputs)))
    main = importlib.import_module("tensoa.import").main
    status = run(lambda: main([str(path), "--binding", str(description), "--out", str(out), *options]))
    return status, out


def contents(path):
    """(manifest, files) of a package."""
    files_of, text = archive.read(path)
    return Manifest.from_json(text, str(path)), files_of
