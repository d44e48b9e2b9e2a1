# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Run as a program with the path of a model: TensorFlow in a separate process.

Reads lines of JSON, ["names"], ["choose", RESULT, …], ["convert", FILE.onnx, OPSET, OPERATORS] or ["run", GIVEN.npz,
ANSWERS.npz], and answers each, as well as its own start, with {"error": TEXT, "result": VALUE}, an empty text where all went
well.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")  # the GPU is not TensorFlow's
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")


class Model:
    """A SavedModel by its signature, or a frozen graph: of its placeholders, to what nothing else in it reads. Results may be
    chosen among the tensors in it, too.
    """

    def __init__(self, path: str) -> None:
        import tensorflow

        self.tensorflow, self.path = tensorflow, path
        self.inputs: list[str] = []
        self.tensors: dict[str, Any] = {}  # of inputs and outputs
        self.signature: Any = None
        self.outputs, self.frozen = self._saved() if Path(path).is_dir() else self._frozen()

    def _saved(self) -> tuple[list[str], Any]:
        model = self.tensorflow.saved_model.load(self.path)
        names = [*model.signatures]
        if not names:
            raise ValueError("has no signature; save it with signatures=")
        self.model, self.name = model, "serving_default" if "serving_default" in names else names[0]
        self.signature = model.signatures[self.name]
        inputs, outputs = (
            sorted(names) for names in (self.signature.structured_input_signature[1], self.signature.structured_outputs)
        )
        self.inputs = inputs
        try:
            frozen = self._constant(self.signature)
        except Exception:  # one that cannot be frozen has its outputs alone
            return outputs, None
        self.tensors = dict(zip([*inputs, *outputs], [*frozen.inputs, *frozen.outputs]))
        return outputs, frozen

    def _constant(self, function: Any) -> Any:
        """The function with constants in the place of variables, and all that it calls in it."""
        from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

        return convert_variables_to_constants_v2(function)

    def _frozen(self) -> tuple[list[str], Any]:
        v1 = self.tensorflow.compat.v1
        graph = v1.GraphDef()
        graph.ParseFromString(Path(self.path).read_bytes())
        inputs = [node.name for node in graph.node if node.op == "Placeholder"]
        read = {name.lstrip("^").split(":")[0] for node in graph.node for name in node.input}
        leaves = ("Const", "NoOp", "Assert", "Placeholder")
        outputs = [node.name for node in graph.node if node.name not in read and node.op not in leaves]
        if not inputs or not outputs:
            raise ValueError("has no placeholders or no results; expected a frozen graph")
        frozen = v1.wrap_function(lambda: v1.import_graph_def(graph, name=""), [])
        self.inputs = inputs
        self.tensors = {name: frozen.graph.get_tensor_by_name(f"{name}:0") for name in (*inputs, *outputs)}
        return outputs, frozen

    def names(self) -> dict[str, list[str]]:
        """Of the outputs, and of the tensors that nodes give."""
        known = {tensor.name for tensor in self.tensors.values()}
        nodes = self.frozen.graph.get_operations() if self.frozen is not None else []
        inner = [tensor.name for node in nodes if node.type != "Const" for tensor in node.outputs]
        return {"outputs": self.outputs, "inner": [name for name in inner if name not in known]}

    def choose(self, *results: str) -> None:
        """The results of convert() and run(): outputs or tensors, by these names."""
        if self.signature is not None and set(results) <= set(self.outputs):
            self.convert_arguments = ["--saved-model", self.path, "--signature_def", self.name]
            self.function = lambda given: self.signature(**given)
            return
        graph = self.frozen.graph
        inputs = [self.tensors[name] for name in self.inputs]
        outputs = [self.tensors[name] if name in self.tensors else graph.get_tensor_by_name(name) for name in results]
        pruned = self.frozen.prune(inputs, outputs)
        self.function = lambda given: dict(zip(results, pruned(*(given[name] for name in self.inputs))))
        self.folder = tempfile.TemporaryDirectory(prefix="tensoa-tensorflow-")
        path = Path(self.folder.name) / "frozen.pb"
        path.write_bytes(graph.as_graph_def().SerializeToString())
        self.convert_arguments = ["--graphdef", str(path)]
        for option, tensors, names in (("inputs", inputs, self.inputs), ("outputs", outputs, results)):
            self.convert_arguments += [f"--{option}", ",".join(tensor.name for tensor in tensors)]
            self.convert_arguments += [f"--rename-{option}", ",".join(names)]

    def convert(self, target: str, opset: str, kept: str) -> None:
        """`kept`: operators of TensorFlow that stay where tf2onnx has none of ONNX for them, NAME:DOMAIN,…"""
        command = [sys.executable, "-m", "tf2onnx.convert", *self.convert_arguments, "--output", target, "--opset", opset]
        command += ["--custom-ops", kept]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0 or not Path(target).is_file():
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            raise ValueError(f"tf2onnx does not take it: {lines[-1] if lines else 'no reason given'}")

    def run(self, given: str, answers: str) -> None:
        import numpy as np

        with np.load(given) as arrays:
            tensors = {name: self.tensorflow.constant(arrays[name]) for name in self.inputs}
        np.savez(answers, **{name: tensor.numpy() for name, tensor in self.function(tensors).items()})


def _answer(out: TextIO, action: Callable[[], Any]) -> Any:
    error, result = "", None
    try:
        result = action()
    except ImportError as missing:
        name = missing.name or "tensorflow"
        error = f"needs the package {name}, which is not here; pip install tensorflow-cpu tf2onnx"
    except Exception as other:  # whatever TensorFlow throws
        lines = str(other).splitlines()
        error = (lines[0] if lines else type(other).__name__)[:300]
    answer = {"error": error, "result": None if isinstance(result, Model) else result}
    print(json.dumps(answer), file=out, flush=True)
    return result


def _load(path: str) -> Model:
    import tf2onnx  # noqa: F401  # needed later

    return Model(path)


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what TensorFlow prints is not an answer
    model = _answer(out, lambda: _load(sys.argv[1]))
    for line in sys.stdin:
        what, *arguments = json.loads(line)
        _answer(out, lambda: getattr(model, what)(*arguments))  # noqa: B023  # called in this round


if __name__ == "__main__":
    main()
