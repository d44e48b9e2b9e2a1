# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""SavedModels and frozen graphs of TensorFlow: tf2onnx makes ONNX of them, which the importer of ONNX reads.

TensorFlow runs in a separate process, which converts the model and returns the results that the module is compared with.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch

from tensoa.command import step
from tensoa.errors import InputError
from tensoa.importers.onnx import OnnxModule, read
from tensoa.importers.onnx.operators.tensorflow import DOMAIN, NAMES
from tensoa.importers.outputs import Asked, chosen, notes, with_places
from tensoa.importers.results import named

PROCESS = Path(__file__).with_name("process.py")
OPSET = 18


def import_tensorflow(path: str, asked: Asked | None = None) -> "Tensorflow":
    """The model in a folder or a file, with the results that are requested. Raises InputError."""
    if not Path(path).exists():
        raise InputError(f"{path}: no such file, expected a SavedModel (a folder) or a frozen graph (.pb, .graphdef)")
    step("TensorFlow")
    process = _Process(path)
    given = process.ask("names")
    try:
        results = chosen(asked, given["outputs"], with_places({name: name for name in given["inner"]}))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    process.ask("choose", *dict.fromkeys(results.values()))
    with tempfile.TemporaryDirectory(prefix="tensoa-tensorflow-") as folder:
        target = Path(folder) / "model.onnx"
        kept = ",".join(f"{name}:{DOMAIN}" for name in NAMES)
        process.ask("convert", str(target), str(OPSET), kept)
        model = read.read(target)
        if DOMAIN not in [entry.domain for entry in model.opset_import]:
            model.opset_import.append(onnx.helper.make_opsetid(DOMAIN, 1))  # which tf2onnx leaves out
        graph, opset = read.graph(model, path, [*results.values()])
    graph.results, graph.notes = [*results], notes(results, given["outputs"])
    try:
        return Tensorflow(graph, opset, process)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


class Tensorflow(OnnxModule):
    framework = "TensorFlow"

    def __init__(self, graph: Any, opset: int, process: "_Process") -> None:
        super().__init__(graph, opset)
        self._ask = process.run  # a bound method: copies of the module have the same process

    def reference(self) -> Callable[[Sequence[torch.Tensor]], Any]:
        """TensorFlow's own answers: tensors in the order of the arguments to results."""
        names, values, results = self.argument_names, self.graph.outputs, self.graph.results

        def run(tensors: Sequence[torch.Tensor]) -> Any:
            found = self._ask({name: tensor.numpy(force=True) for name, tensor in zip(names, tensors)})
            return named([torch.from_numpy(found[name]) for name in values], results)

        return run


class _Process:
    """Ends with the object. Raises InputError with what it says."""

    def __init__(self, path: str) -> None:
        self.path = path
        command = [sys.executable, str(PROCESS), path]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        self.ask()

    def __deepcopy__(self, memo: dict) -> "_Process":
        return self

    def __del__(self) -> None:
        process = getattr(self, "process", None)
        if process is not None:
            process.kill()
            process.communicate()

    def ask(self, *words: str) -> Any:
        """Sends a line, if any, and waits for the answer, which it gives."""
        if words:
            self._pipe("stdin").write(json.dumps(words) + "\n")
            self._pipe("stdin").flush()
        line = self._pipe("stdout").readline()
        result = None
        try:
            answer = json.loads(line)
            error, result = answer["error"], answer["result"]
        except ValueError:
            error = f"the process of TensorFlow ends, or says what is not an answer: {line[:100]}"
        if error:
            raise InputError(f"{self.path}: {error}")
        return result

    def _pipe(self, name: str) -> Any:
        return getattr(self.process, name)

    def run(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        with tempfile.TemporaryDirectory(prefix="tensoa-tensorflow-") as folder:
            given, answers = (str(Path(folder) / name) for name in ("given.npz", "answers.npz"))
            np.savez(given, **arrays)  # type: ignore[arg-type]
            self.ask("run", given, answers)
            with np.load(answers) as found:
                return dict(found)
