# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The test models, and the model repositories that Triton loads them from.

As a program: `models.py FOLDER MODEL...` writes a repository. NAME=KIND is the model KIND under another name.
"""

import array
import functools
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import wheels


@dataclass(frozen=True)
class Tensor:
    """One input or output; the shape is without the batch dimension, -1 stands for any size."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Model:
    """Inputs and outputs of a model. `max_batch_size` 0: no batch dimension. `widths` are those of a network's layers."""

    kind: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    max_batch_size: int = 0
    widths: tuple[int, ...] = ()

    def shape(self, tensor: Tensor) -> list[int]:
        """Returns the shape with the batch dimension, as ModelMetadata has it."""
        return [*([-1] if self.max_batch_size else []), *tensor.shape]


def _same(kind: str, shape: tuple[int, ...], max_batch_size: int = 0) -> Model:
    return Model(kind, (Tensor("x", "FP32", shape),), (Tensor("y", "FP32", shape),), max_batch_size)


def _network(kind: str, *widths: int) -> Model:
    return Model(kind, (Tensor("x", "FP32", widths[:1]),), (Tensor("y", "FP32", widths[-1:]),), 32768, widths)


_INTEGERS = {"i32": "INT32", "i64": "INT64", "flag": "BOOL", "f64": "FP64"}

MODELS = {
    "identity": _same("identity", (-1,)),
    "head": Model("head", (Tensor("x", "FP32", (-1,)),), (Tensor("y", "FP32", (1,)),)),
    "rows": _same("identity", (-1,), max_batch_size=32768),
    "mlp": _network("mlp", 3, 64, 64, 2),
    "energy": _network("energy", 15, 64, 32, 1),
    "slow": _same("slow", (1,)),
    "failing": _same("failing", (1,)),
    "integers": Model(
        "integers",
        tuple(Tensor(name, dtype, (-1,)) for name, dtype in _INTEGERS.items()),
        tuple(Tensor(f"o_{name}", dtype, (-1,)) for name, dtype in _INTEGERS.items()),
    ),
}


def model_of(entry: str) -> tuple[str, Model]:
    """Returns the name and the model of NAME or NAME=KIND; KeyError for an unknown kind."""
    name, _, kind = entry.partition("=")
    return name, MODELS[kind or name]


def _random(widths: tuple[int, ...]) -> bytes:
    """Returns the numbers of a network that learned nothing: they depend on the widths alone, the same on every machine."""
    draw = random.Random(16)
    numbers = array.array("f")
    for columns, rows in zip(widths[:-1], widths[1:], strict=True):
        scale = (6.0 / columns) ** 0.5
        numbers.extend(scale * (2.0 * draw.random() - 1.0) for _ in range((columns + 1) * rows))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


@functools.cache
def _trained(widths: tuple[int, ...]) -> bytes:
    """Returns the numbers of the network that energy.py trains, the same each time on one machine."""
    command = [str(wheels.PYTHON), "-B", str(Path(__file__).with_name("energy.py")), *map(str, widths)]
    one_thread = {"OPENBLAS_NUM_THREADS": "1"}  # sums in one order
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, env={**os.environ, **one_thread}).stdout


def weights(model: Model) -> bytes:
    """Returns the little-endian float32 numbers of a network: for each layer the matrix [in, out] by rows, then the bias.

    A layer that is normalised (python_model.py) has mean, variance, scale and shift after them.
    """
    return _trained(model.widths) if model.kind == "energy" else _random(model.widths)


def _config(name: str, model: Model, instances: int) -> str:
    """Returns the text of config.pbtxt."""
    dtypes = {"FP32": "TYPE_FP32", "FP64": "TYPE_FP64", "INT32": "TYPE_INT32", "INT64": "TYPE_INT64", "BOOL": "TYPE_BOOL"}
    lines = [f'name: "{name}"', 'backend: "python"', f"max_batch_size: {model.max_batch_size}"]
    for direction, tensors in (("input", model.inputs), ("output", model.outputs)):
        for tensor in tensors:
            dims = list(tensor.shape)
            lines.append(f'{direction} [ {{ name: "{tensor.name}" data_type: {dtypes[tensor.dtype]} dims: {dims} }} ]')
    lines.append(f"instance_group [ {{ count: {instances} kind: KIND_CPU }} ]")
    if model.max_batch_size:
        lines.append("dynamic_batching { }")
    for key, value in (("kind", model.kind), ("widths", str(list(model.widths)))):
        lines.append(f'parameters [ {{ key: "{key}" value: {{ string_value: "{value}" }} }} ]')
    return "\n".join(lines) + "\n"


def write_repository(folder: Path, entries: Iterable[str], versions: Iterable[int] = (1,), instances: int = 1) -> Path:
    """Writes a repository with the models of `entries` (NAME or NAME=KIND) into `folder`, and returns it.

    FOLDER/NAME/VERSION/weights.f32 has the numbers of a network: see `weights`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for entry in entries:
        name, model = model_of(entry)
        for version in versions:
            place = folder / name / str(version)
            place.mkdir(parents=True)
            shutil.copy(Path(__file__).with_name("python_model.py"), place / "model.py")
            if model.widths:
                (place / "weights.f32").write_bytes(weights(model))
        (folder / name / "config.pbtxt").write_text(_config(name, model, instances))
    return folder


def main() -> int:
    if len(sys.argv) < 3:
        print("models.py: usage: models.py FOLDER MODEL...; models: " + " ".join(MODELS), file=sys.stderr)
        return 2
    try:
        write_repository(Path(sys.argv[1]), sys.argv[2:])
    except (KeyError, OSError) as error:
        print(f"models.py: {error}; models: {' '.join(MODELS)}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
