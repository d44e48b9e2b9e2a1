# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Convolutional, recurrent and attention networks, and networks of scikit-learn, as packages against ONNX Runtime."""

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx.helper import make_node
from packages import FLOAT, compare, of_nodes, of_torch, session
from torch import nn

from captured_programs import check
from exporting import agreement, bind, block
from tensoa.binding.model import result_rows
from tensoa.compiler import frontend, routes
from tensoa.errors import InputError
from tensoa.importers.onnx import import_onnx, rows
from tensoa.importers.results import named
from tensoa.package import reference

COMPARED = agreement("ONNX Runtime")


def rows_of(name, count):
    """A block of plain columns."""
    return block(name, [f"c{i}" for i in range(count)])


def beside_onnx_runtime(path, module, *arguments, tolerance=1e-5):
    """The module of a file, the torch module that it was made of, and ONNX Runtime, for a different number of rows."""
    made = session(path)
    expected = made.run(None, {one.name: argument.numpy() for one, argument in zip(made.get_inputs(), arguments)})
    with torch.no_grad():
        results, own = import_onnx(path)(*arguments), module(*arguments)
    results = results if isinstance(results, tuple) else (results,)
    for result, right in zip(results, expected):
        np.testing.assert_allclose(result.numpy(), right, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(results[0], own, rtol=tolerance, atol=tolerance)


class Pictures(nn.Module):
    """Convolutions, pools and both normalisations."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 2, groups=2),
            nn.GroupNorm(2, 6), nn.SiLU(), nn.AvgPool2d(2, 1, padding=1), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Linear(6, 2),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x.reshape(-1, 1, 6, 6))


def test_convolutional_network(tmp_path):
    torch.manual_seed(3)
    module = Pictures()
    nn.init.uniform_(module.layers[1].running_mean)
    path = of_torch(tmp_path / "m.onnx", module, (torch.randn(4, 36),), ["x"], ["y"], {"x": 0, "y": 0})
    beside_onnx_runtime(path, module, torch.randn(9, 36))
    columns = bind([rows_of("x", 36)], [rows_of("y", 2)])
    imported = import_onnx(path)
    assert [*reference.compared(imported, columns, result_rows(imported, columns, "cpu"))] == [COMPARED]
    check(imported, columns)


class Sequences(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.layer = kind(3, 4, batch_first=True, **options)
        self.last = nn.Linear(8 if options.get("bidirectional") else 4, 2)

    def forward(self, x):
        return self.last(self.layer(x.reshape(-1, 5, 3))[0][:, -1])


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}], ids=["one", "both"])
def test_recurrent_networks(kind, options, tmp_path):
    torch.manual_seed(4)
    module = Sequences(kind, **options)
    path = of_torch(tmp_path / "m.onnx", module, (torch.randn(4, 15),), ["x"], ["y"], {"x": 0, "y": 0})
    beside_onnx_runtime(path, module, torch.randn(9, 15))


def test_recurrent_network_is_fused(tmp_path):
    torch.manual_seed(5)
    path = of_torch(tmp_path / "m.onnx", Sequences(nn.LSTM), (torch.randn(4, 15),), ["x"], ["y"], {"x": 0, "y": 0})
    lines = compare(path, [rows_of("x", 15)], [rows_of("y", 2)], tmp_path, {0: 50})
    assert "rows of missing numbers" in lines[0]  # which ONNX Runtime's LSTM loses
    assert lines[1] == agreement("ONNX Runtime", less=1) and "fused into 1 kernel:" in lines


class Attention(nn.Module):
    """A block of a transformer over the five particles of a row."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 8), nn.Linear(8, 2)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True)

    def forward(self, x):
        return self.last(self.block(self.first(x.reshape(-1, 5, 3))).mean(1))


def test_transformer_block(tmp_path):
    torch.manual_seed(6)
    module = Attention()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        path = of_torch(tmp_path / "m.onnx", module, (torch.randn(4, 15),), ["x"], ["y"], {"x": 0, "y": 0})
        beside_onnx_runtime(path, module, torch.randn(9, 15))
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    columns = bind([rows_of("x", 15)], [rows_of("y", 2)])
    imported = import_onnx(path)
    assert [*reference.compared(imported, columns, result_rows(imported, columns, "cpu"))] == [COMPARED]
    program = frontend.exported_program(imported, columns)
    assert routes.for_cpu(program, columns, [{"collection": 0}]).stages  # what is fused


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("operator, gates", [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_recurrent_nodes_with_all_inputs(operator, gates, direction, tmp_path):
    """Lengths, first states, peepholes, activations: as ONNX Runtime."""
    random = np.random.default_rng(7)
    directions, hidden, batch, steps = 2 if direction == "bidirectional" else 1, 3, 4, 5

    def draw(*shape):
        return random.normal(size=shape).astype(np.float32)

    constants = {"w": draw(directions, gates * hidden, 2), "r": draw(directions, gates * hidden, hidden)}
    constants |= {"b": draw(directions, 2 * gates * hidden), "h": draw(directions, batch, hidden)}
    constants["lengths"] = np.array([5, 1, 3, 2], np.int32)
    inputs, outputs = ["x", "w", "r", "b", "lengths", "h"], {"y": (FLOAT, None), "yh": (FLOAT, None)}
    options = {"GRU": {"linear_before_reset": 1}, "RNN": {"activations": ["Relu"] * directions}}.get(operator, {})
    if operator == "LSTM":
        constants |= {"c": draw(directions, batch, hidden), "p": draw(directions, 3 * hidden)}
        inputs, outputs = [*inputs, "c", "p"], outputs | {"yc": (FLOAT, None)}
    node = helper.make_node(operator, inputs, [*outputs], hidden_size=hidden, direction=direction, **options)
    path = of_nodes(tmp_path / "m.onnx", [node], {"x": (FLOAT, [steps, batch, 2])}, outputs, constants)
    x = draw(steps, batch, 2)
    for got, right in zip(import_onnx(path)(torch.from_numpy(x)), session(path).run(None, {"x": x})):
        np.testing.assert_allclose(got.numpy(), right, rtol=1e-5, atol=1e-6)


def test_classifier_of_scikit_learn(tmp_path):
    """With its scaler; the label that the binding does not have, and its dictionary, are left out."""
    sklearn_networks = pytest.importorskip("sklearn.neural_network")
    skl2onnx = pytest.importorskip("skl2onnx")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    random = np.random.default_rng(8)
    x = random.normal(size=(300, 4)).astype(np.float32) * 3 + 1
    classes = (x[:, 0] > 1).astype(int) + (x[:, 1] * x[:, 2] > 2)
    network = sklearn_networks.MLPClassifier((8, 6), max_iter=60, random_state=1)
    model = make_pipeline(StandardScaler(), network).fit(x, classes)
    kind = skl2onnx.common.data_types.FloatTensorType([None, 4])
    made = skl2onnx.to_onnx(model, initial_types=[("features", kind)], options={"zipmap": False}, target_opset=17)
    path = tmp_path / "m.onnx"
    path.write_bytes(made.SerializeToString())
    label, probabilities = import_onnx(path)(torch.from_numpy(x))
    np.testing.assert_allclose(probabilities.numpy(), model.predict_proba(x), atol=1e-5)
    assert (label.numpy() == model.predict(x)).mean() > 0.99
    inputs, outputs = [block("features", "abcd")], [block("probabilities", "xyz")]
    lines = compare(path, inputs, outputs, tmp_path, {0: 50})
    assert lines[0] == agreement("ONNX Runtime", less=1) and "fused into 1 kernel:" in lines  # on large numbers it is rough


class Reshaped(nn.Module):
    """Shapes that an exporter makes constant: of pictures, of sequences, and of both as rows."""

    def __init__(self):
        super().__init__()
        self.convolution, self.last = nn.Conv1d(5, 5, 3, padding=1), nn.Linear(20, 2)
        self.block = nn.TransformerEncoderLayer(4, 2, 16, 0.0, batch_first=True)

    def forward(self, x):
        rows = x.shape[0]
        h = self.block(self.convolution(x.view(rows, 5, 4)))
        return self.last(h.reshape(rows * 5, 4).relu().view(rows, 20))


@pytest.mark.parametrize("written_for", [1, 3])
def test_a_model_that_was_written_for_a_fixed_number_of_rows_takes_any(written_for, tmp_path):
    torch.manual_seed(8)
    module = Reshaped()
    path = of_torch(tmp_path / "m.onnx", module, (torch.randn(written_for, 20),), ["x"], ["y"], {})
    imported = import_onnx(path)
    assert imported.graph.rows == written_for
    x = torch.randn(7, 20)
    with torch.no_grad():
        torch.testing.assert_close(imported(x), module(x), rtol=1e-5, atol=1e-5)
    columns = bind([rows_of("x", 20)], [rows_of("y", 2)])
    assert [*reference.compared(imported, columns, result_rows(imported, columns, "cpu"))] == [COMPARED]


def test_recurrent_network_of_one_row_takes_any(tmp_path):
    torch.manual_seed(9)
    module = Sequences(nn.LSTM)
    imported = import_onnx(of_torch(tmp_path / "m.onnx", module, (torch.randn(1, 15),), ["x"], ["y"], {}))
    x = torch.randn(7, 15)
    with torch.no_grad():
        torch.testing.assert_close(imported(x), module(x), rtol=1e-5, atol=1e-5)


def test_flatten_of_all_axes_for_one_row(tmp_path):
    nodes = [make_node("Flatten", ["x"], ["f"], axis=0), make_node("MatMul", ["f", "w"], ["y"])]
    weight = {"w": np.arange(8, dtype=np.float32).reshape(4, 2)}
    path = of_nodes(tmp_path / "m.onnx", nodes, {"x": (FLOAT, [1, 2, 2])}, {"y": (FLOAT, [1, 2])}, weight)
    x = torch.randn(3, 2, 2)
    assert torch.equal(import_onnx(path)(x), x.reshape(3, 4) @ torch.from_numpy(weight["w"]))


def test_positions_that_are_made_of_sizes_are_constants(tmp_path):
    """As the pairs of particles in a particle transformer: NonZero of a triangle as large as an axis of the input."""
    nodes = [
        make_node("Shape", ["x"], ["sizes"]),
        make_node("Gather", ["sizes", "last"], ["particles"]),
        make_node("Concat", ["particles", "particles"], ["square"], axis=0),
        make_node("ConstantOfShape", ["square"], ["ones"], value=numpy_helper.from_array(np.ones(1, np.float32))),
        make_node("Trilu", ["ones"], ["triangle"], upper=0),
        make_node("NonZero", ["triangle"], ["pairs"]),
        make_node("Split", ["pairs"], ["i", "j"], axis=0, num_outputs=2),
        make_node("Gather", ["x", "i"], ["a"], axis=1),
        make_node("Gather", ["x", "j"], ["b"], axis=1),
        make_node("Mul", ["a", "b"], ["products"]),
        make_node("ReduceSum", ["products", "axes"], ["y"], keepdims=0),
    ]
    constants = {"last": np.array([1]), "axes": np.array([1, 2])}
    inputs, outputs = {"x": (FLOAT, ["n", 9])}, {"y": (FLOAT, ["n"])}
    imported = import_onnx(of_nodes(tmp_path / "m.onnx", nodes, inputs, outputs, constants, opset=18))
    x = torch.randn(5, 9)
    i, j = torch.tril_indices(9, 9)
    torch.testing.assert_close(imported(x), (x[:, i] * x[:, j]).sum(1), rtol=1e-5, atol=1e-5)
    columns = bind([rows_of("x", 9)], [rows_of("y", 1)])
    program = frontend.exported_program(imported, columns)
    assert all("nonzero" not in str(node.target) for node in program.graph.nodes)


@pytest.mark.parametrize("count", [0, 1, 3, 7])
def test_batches_of_a_fixed_size_give_the_rows_that_were_asked_for(count):
    """The last one is filled up; a result may have two rows for each."""

    def run(tensors):
        assert len(tensors[0]) == 3
        return named([tensors[0] * 2, tensors[0].repeat_interleave(2, 0)], ["twice", "both"])

    x = torch.randn(count, 2)
    results = rows.in_batches(run, 3)([x])
    assert torch.equal(results[0], x * 2) and torch.equal(results[1], x.repeat_interleave(2, 0))
    assert results._fields == ("twice", "both")


class Centred(nn.Module):
    """Nodes that do nothing for one row."""

    def forward(self, x):
        return x - x.mean(0, keepdim=True)


class Squeezed(nn.Module):
    """Without the dimension of the rows."""

    def __init__(self):
        super().__init__()
        self.layer, self.norm = nn.Linear(15, 15), nn.LayerNorm(15)

    def forward(self, x):
        return torch.softmax(self.norm(self.layer(x[0])), 0).view(1, -1)


class Neighbours(nn.Module):
    """Of five particles, which are the rows of the file's operations."""

    def forward(self, x):
        particles = x.view(5, 3)
        nearest = torch.cdist(particles, particles).topk(2, largest=False).indices
        return particles[nearest].mean(1).view(1, 15)


class Picture(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(2, 4, (2, 3), padding=1, groups=2)
        self.last = nn.Linear(4 * 2 * 2, 15)

    def forward(self, x):
        picture = torch.cat([x, x[:, :3]], 1).view(1, 2, 3, 3)
        return self.last(torch.max_pool2d(self.convolution(picture), 2, ceil_mode=True).flatten()).unsqueeze(0)


class Pieces(nn.Module):
    def forward(self, x):
        return torch.cat([2 * piece.relu() for piece in x.split(1)])


@pytest.mark.parametrize("module, rows", [(Centred(), 1), (Squeezed(), 1), (Neighbours(), 1), (Picture(), 1), (Pieces(), 4)])
def test_a_model_whose_rows_cannot_be_freed_calculates_each_by_itself(module, rows, tmp_path):
    torch.manual_seed(3)
    imported = import_onnx(of_torch(tmp_path / "m.onnx", module, (torch.randn(rows, 15),), ["x"], ["y"], {}))
    assert imported.graph.rows == rows and imported.one_by_one is not None
    (note,) = imported.notes
    assert note.startswith("each row is calculated by itself, ") and f"the file is for {rows} row" in note
    x = torch.randn(2 * rows, 15)
    with torch.no_grad():
        right = torch.cat([module(part) for part in x.split(rows)])
        torch.testing.assert_close(imported(x), right, rtol=1e-5, atol=1e-5)
    columns = bind([rows_of("x", 15)], [rows_of("y", 15)])
    rules = result_rows(imported, columns, "cpu")
    assert [*reference.compared(imported, columns, rules)][-1].startswith("compared with ONNX Runtime: the same in 1")
    routes.for_cpu(frontend.exported_program(imported.requires_grad_(False), columns), columns, rules)


def test_a_model_of_several_rows_that_mixes_them_keeps_its_number_of_rows(tmp_path):
    imported = import_onnx(of_torch(tmp_path / "m.onnx", Centred(), (torch.randn(3, 4),), ["x"], ["y"], {}))
    assert imported.graph.rows is None and imported(torch.ones(3, 4)).tolist() == [[0.0] * 4] * 3
    with pytest.raises(InputError) as caught:
        imported(torch.ones(2, 4))
    message = str(caught.value)
    assert message.startswith('input "x": got the shape [2, 4], the model takes [3, 4], and no other number of rows: ')
    assert message.endswith('; row by row: output "y" differs from that of each half: rows depend on each other')


def test_rows_that_are_mixed_next_to_large_integers_are_found(tmp_path):
    nodes = [
        make_node("ReduceMean", ["x", "axes"], ["mean"]),
        make_node("Sub", ["x", "mean"], ["centred"]),
        make_node("Mul", ["id", "id"], ["square"]),
        make_node("Cast", ["square"], ["large"], to=FLOAT),
        make_node("Concat", ["centred", "large"], ["y"], axis=1),
    ]
    inputs = {"x": (FLOAT, (4, 2)), "id": (TensorProto.INT64, (4, 1))}
    path = of_nodes(tmp_path / "m.onnx", nodes, inputs, {"y": (FLOAT, (4, 3))}, {"axes": np.array([0])}, opset=18)
    imported = import_onnx(path)
    assert imported.graph.rows is None and "rows depend on each other" in imported.graph.fixed_by


def test_rows_that_are_mixed_by_integers_alone_are_seen(tmp_path):
    """How many of the first rows are turned around: of lengths of 0 and 1 none are."""
    nodes = [make_node("ReverseSequence", ["x", "lengths"], ["y"], time_axis=0, batch_axis=1)]
    inputs = {"x": (FLOAT, (4, 4)), "lengths": (TensorProto.INT64, (4,))}
    path = of_nodes(tmp_path / "m.onnx", nodes, inputs, {"y": (FLOAT, (4, 4))})
    imported = import_onnx(path)
    assert imported.graph.rows is None
    x, lengths = torch.arange(16.0).reshape(4, 4), torch.tensor([1, 2, 3, 4])
    (right,) = session(path).run(None, {"x": x.numpy(), "lengths": lengths.numpy()})
    assert imported(x, lengths).tolist() == right.tolist()
