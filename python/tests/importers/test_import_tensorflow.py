# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""SavedModels and frozen graphs, compared with TensorFlow where it is installed; without it, what the message says."""

import importlib.util
import subprocess
import sys

import numpy as np
import onnx
import pytest
import torch

from exporting import agreement, bind, block
from tensoa.errors import InputError
from tensoa.export import Options, export
from tensoa.importers.files import load_module
from tensoa.importers.onnx.operators.tensorflow import DOMAIN

HAS_TENSORFLOW = all(importlib.util.find_spec(name) for name in ("tensorflow", "tf2onnx"))

#: Run in a separate process: TensorFlow is in no process that runs torch.
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
        hidden = tf.tanh(tf.math.log1p(tf.abs(x)) @ self.first)
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
        assert agreement("TensorFlow") in lines, lines
        assert any(line.startswith("fused into") for line in lines)
    (tmp_path / "cut.pb").write_bytes((tmp_path / "frozen.pb").read_bytes()[:200])
    with pytest.raises(InputError, match="cut.pb: "):
        load_module(str(tmp_path / "cut.pb"))


@pytest.mark.skipif(not HAS_TENSORFLOW, reason="tensorflow and tf2onnx are not installed")
@pytest.mark.parametrize("name, before", [("saved", "StatefulPartitionedCall/"), ("frozen.pb", "")])
def test_tensors_inside_are_results_where_blocks_have_their_names(tmp_path, name, before):
    """The values before the softmax and the tanh, as FACILE's output/BiasAdd."""
    subprocess.run([sys.executable, "-c", MAKER, str(tmp_path)], check=True, capture_output=True)
    x, hidden = block("x", "abcd"), [f"h{i}" for i in range(8)]
    columns, lines = bind([x], [block(f"{before}matmul_1", "uv"), block(f"{before}matmul:0", hidden)], "auto"), []
    module = load_module(str(tmp_path / name), columns)
    export(module, columns, tmp_path / "m.pt2", Options(report=lines.append))
    assert lines[:3] == [
        f'block "{before}matmul_1" is not an output of the model, but its inner value "{before}matmul_1:0"',
        f'block "{before}matmul:0" is not an output of the model, but its inner value "{before}matmul:0"',
        agreement("TensorFlow"),
    ]
    outputs = [block("y", "uv")] if before else [block("Identity_1", "uv")]
    logits, inner = module(torch.ones(1, 4))
    last = load_module(str(tmp_path / name), bind([x], outputs, "auto"))(torch.ones(1, 4))
    torch.testing.assert_close(logits.softmax(-1), last)
    assert inner.abs().max() > 1  # which no tanh is
    with pytest.raises(InputError, match='block "MatMul": .* its outputs are ".*"; the nearest name is ".*matmul'):
        load_module(str(tmp_path / name), bind([x], [block("MatMul", "uv")], "auto"))


def test_operators_that_tf2onnx_leaves_are_those_of_tensorflow(tmp_path):
    """one_hot of an index outside is off, where ONNX counts negative ones from the end."""
    make, kind = onnx.helper, onnx.TensorProto
    nodes = [
        make.make_node("OneHot", ["i", "depth", "on", "off"], ["hot"], domain=DOMAIN, axis=1, T=1, TI=7),
        make.make_node("Log1p", ["x"], ["log"], domain=DOMAIN, T=1),
    ]
    ends = [make.make_tensor_value_info(name, of, ["n"]) for name, of in (("i", kind.INT64), ("x", kind.FLOAT))]
    results = [make.make_tensor_value_info(*result) for result in (("hot", kind.FLOAT, ["n", 3]), ("log", kind.FLOAT, ["n"]))]
    numbers = [onnx.numpy_helper.from_array(np.array(value), name) for name, value in (("depth", 3), ("on", 1.0), ("off", 0.0))]
    opsets = [make.make_opsetid("", 18), make.make_opsetid(DOMAIN, 1)]
    graph = make.make_graph(nodes, "g", ends, results, numbers)
    onnx.save(make.make_model(graph, opset_imports=opsets), tmp_path / "left.onnx")
    hot, log = load_module(str(tmp_path / "left.onnx"))(torch.tensor([-1, 0, 2, 3]), torch.tensor([1e-9, 1.0]))
    assert hot.tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]]
    np.testing.assert_allclose(log.numpy(), np.log1p(np.float32([1e-9, 1])), rtol=1e-6)


@pytest.mark.skipif(HAS_TENSORFLOW, reason="tensorflow and tf2onnx are installed")
def test_without_tensorflow_the_message_says_what_to_install(tmp_path):
    for name in ("frozen.pb", "model.graphdef"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").write_bytes(b"")
    for name in ("frozen.pb", "model.graphdef", "saved"):
        with pytest.raises(InputError) as caught:
            load_module(str(tmp_path / name))
        assert str(caught.value).startswith(str(tmp_path / name) + ": needs the package t")
        assert str(caught.value).endswith(", which is not here; pip install tensorflow-cpu tf2onnx")


@pytest.mark.parametrize("name", ["none.pb", "none.graphdef"])
def test_files_that_are_not_there(name, tmp_path):
    with pytest.raises(InputError, match=f"{name}: no such file, expected a SavedModel"):
        load_module(str(tmp_path / name))
