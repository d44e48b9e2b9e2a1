# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""SavedModels and frozen graphs, beside TensorFlow where it is installed; without it, what the message says."""

import importlib.util
import subprocess
import sys

import pytest

from exporting import bind, block
from tensoa.errors import InputError
from tensoa.export import Options, export
from tensoa.importers.files import load_module

HAS_TENSORFLOW = all(importlib.util.find_spec(name) for name in ("tensorflow", "tf2onnx"))

#: Run in a process of its own: TensorFlow is in no process that runs torch.
MAKER = """
import sys
import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

class Network(tf.Module):
    def __init__(self):
        random = np.random.default_rng(1)
        self.first, self.last = (tf.Variable(random.normal(size=size).astype("f4")) for size in ((4, 8), (8, 2)))

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def __call__(self, x):
        hidden = tf.tanh(x @ self.first)
        return {"y": tf.nn.softmax(hidden @ self.last), "hidden": hidden}

network = Network()
tf.saved_model.save(network, sys.argv[1] + "/saved", signatures=network.__call__)
frozen = convert_variables_to_constants_v2(network.__call__.get_concrete_function())
open(sys.argv[1] + "/frozen.pb", "wb").write(frozen.graph.as_graph_def().SerializeToString())
"""


@pytest.mark.skipif(not HAS_TENSORFLOW, reason="tensorflow and tf2onnx are not installed")
def test_packages(tmp_path):
    subprocess.run([sys.executable, "-c", MAKER, str(tmp_path)], check=True, capture_output=True)
    x, hidden = block("x", "abcd"), [f"h{i}" for i in range(8)]
    for name, outputs in (
        ("saved", [block("y", "uv"), block("hidden", hidden)]),
        ("frozen.pb", [block("Identity", hidden), block("Identity_1", "uv")]),
    ):
        lines, columns = [], bind([x], outputs, "auto")
        export(load_module(str(tmp_path / name), columns), columns, tmp_path / "m.pt2", Options(report=lines.append))
        assert "compared with TensorFlow: the same in 7 sets of columns" in lines, lines
        assert any(line.startswith("fused into") for line in lines)
    (tmp_path / "cut.pb").write_bytes((tmp_path / "frozen.pb").read_bytes()[:200])
    with pytest.raises(InputError, match="cut.pb: "):
        load_module(str(tmp_path / "cut.pb"))


@pytest.mark.skipif(HAS_TENSORFLOW, reason="tensorflow and tf2onnx are installed")
def test_without_tensorflow_the_message_says_what_to_install(tmp_path):
    (tmp_path / "frozen.pb").write_bytes(b"")
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").write_bytes(b"")
    for name in ("frozen.pb", "saved"):
        with pytest.raises(InputError) as caught:
            load_module(str(tmp_path / name))
        assert str(caught.value).startswith(str(tmp_path / name) + ": needs the package t")
        assert str(caught.value).endswith(", which is not here; pip install tensorflow-cpu tf2onnx")


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match="none.pb: no such file, expected a SavedModel"):
        load_module(str(tmp_path / "none.pb"))
