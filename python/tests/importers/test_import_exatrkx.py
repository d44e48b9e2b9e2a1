# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The importer of the Exa.TrkX weights: against a direct NumPy forward pass, and on damaged files."""

import gzip
import sys
import types

import numpy as np
import pytest
import torch
from torch import nn

import tensoa
from conftest import require_runtime, shared
from tensoa import compiling, options
from tensoa.command import run
from tensoa.errors import InputError
from tensoa.importers.exatrkx import read_weights
from tensoa.importers.exatrkx.__main__ import main
from tensoa.importers.files import load_module


def numpy_scores(text, x, edge_index):
    """The forward pass of the data README in float64, straight from the text."""
    lines = iter(text.splitlines())
    iterations = int(next(lines))

    def numbers():
        return np.array(next(lines).split(), dtype=np.float64)

    def network():
        layers = []
        for _ in range(int(next(lines))):
            kind, *shape = next(lines).split()
            if kind == "L":
                layers.append(("L", numbers().reshape(int(shape[0]), int(shape[1])), numbers()))
            elif kind == "N":
                layers.append(("N", numbers(), numbers()))
            else:
                layers.append(("A", None, None))
        return layers

    def apply(layers, v):
        for kind, a, b in layers:
            if kind == "L":
                v = v @ a.T + b
            elif kind == "N":
                v = (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + 1e-5) * a + b
            else:
                v = np.maximum(v, 0)
        return v

    def weights(h):
        return 1 / (1 + np.exp(-apply(edge, np.concatenate([h[source], h[target]], 1))))

    encoder, edge, node = network(), network(), network()
    source, target = edge_index
    h = np.concatenate([apply(encoder, x), x], 1)
    for _ in range(iterations):
        w, message = weights(h), np.zeros_like(h)
        np.add.at(message, target, w * h[source])
        np.add.at(message, source, w * h[target])
        h = h + np.concatenate([apply(node, np.concatenate([message, h], 1)), x], 1)
    return weights(h)[:, 0]


def weights_text(iterations=2, features=3, width=5, seed=1, is_published=False):
    """A small network of the same kind; its node network ends with a linear layer where that is as published."""
    random = np.random.default_rng(seed)

    def row(size):
        return " ".join(repr(float(value)) for value in random.normal(size=size).astype(np.float32))

    def linear(outputs, inputs):
        return [f"L {outputs} {inputs}", row(outputs * inputs), row(outputs)]

    def norm(size):
        return [f"N {size}", row(size), row(size)]

    state = width + features
    encoder = ["3", *linear(width, features), *norm(width), "A ReLU"]
    edge = ["4", *linear(6, 2 * state), *norm(6), "A ReLU", *linear(1, 6)]
    node = ["2", *linear(width, 2 * state), "A ReLU"]
    if is_published:
        node = ["3", *node[1:], *linear(width, width)]
    return "\n".join([str(iterations), *encoder, *edge, *node]) + "\n"


def random_graph(nodes, edges, features=3, seed=2):
    random = np.random.default_rng(seed)
    return random.normal(size=(nodes, features)), random.integers(0, nodes, size=(2, edges))


def imported(path, out):
    assert run(lambda: main([str(path), "--out", str(out)])) == 0
    return torch.jit.load(out)


@pytest.mark.parametrize("shape", [{}, {"iterations": 1, "features": 4, "width": 7}])
def test_matches_numpy_in_float64(tmp_path, shape):
    text = weights_text(**shape)
    (tmp_path / "weights.txt").write_text(text)
    model = imported(tmp_path / "weights.txt", tmp_path / "model.pt").double()
    x, edge_index = random_graph(12, 40, shape.get("features", 3))
    scores = model(torch.tensor(x), torch.tensor(edge_index))
    np.testing.assert_allclose(scores.numpy(force=True), numpy_scores(text, x, edge_index), rtol=0, atol=1e-12)


def test_published_weights_match_numpy(tmp_path):
    path = shared("exatrkx_gnn/weights.txt.gz")
    model = imported(path, tmp_path / "model.pt")
    assert sum(parameter.numel() for parameter in model.parameters()) == 44803
    x, edge_index = random_graph(50, 300)
    expected = numpy_scores(gzip.open(path, "rt").read(), x, edge_index)
    scores = model.double()(torch.tensor(x), torch.tensor(edge_index)).numpy(force=True)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-10)


def test_gzip_and_plain_give_the_same_network(tmp_path):
    (tmp_path / "plain").write_text(weights_text())
    (tmp_path / "packed").write_bytes(gzip.compress(weights_text().encode()))
    plain, packed = (read_weights(tmp_path / name).state_dict() for name in ("plain", "packed"))
    assert all(torch.equal(plain[name], packed[name]) for name in plain)


def test_graph_without_edges(tmp_path):
    (tmp_path / "weights.txt").write_text(weights_text())
    model = imported(tmp_path / "weights.txt", tmp_path / "model.pt")
    assert model(torch.zeros(4, 3), torch.zeros(2, 0, dtype=torch.int64)).shape == (0,)


def replaced(old, new):
    return lambda text: text.replace(old, new, 1).encode()


DAMAGE = {
    "empty": (lambda text: b"", "expected the number of iterations"),
    "truncated text": (lambda text: "\n".join(text.splitlines()[:7]).encode(), "got the end of the file"),
    "truncated gzip": (lambda text: gzip.compress(text.encode())[:-20], "cannot read"),
    "binary": (lambda text: b"\xff\xfe\x00", "binary data"),
    "no iterations": (replaced("2\n", "0\n"), "got '0', expected the number of iterations"),
    "wrong count": (replaced("L 5 3", "L 5 4"), "got 15 numbers, expected 20 weights"),
    "unmatched layer": (replaced("N 5", "N 4"), "width 4, expected 5"),
    "unknown entry": (replaced("A ReLU", "A Tanh"), "got 'A Tanh', expected"),
    "not a number": (lambda text: text.replace("L 5 3\n", "L 5 3\nx", 1).encode(), "could not convert"),
    "infinite": (lambda text: "\n".join([*text.splitlines()[:3], "1e300 " * 15]).encode(), "not finite"),
    "more text": (lambda text: (text + "7\n").encode(), "expected the end of the file"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_weights(name, tmp_path, capsys):
    damage, message = DAMAGE[name]
    path, out = tmp_path / "weights", tmp_path / "out" / "model.pt"
    path.write_bytes(damage(weights_text()))
    assert run(lambda: main([str(path), "--out", str(out)])) == 2
    error = capsys.readouterr().err
    assert message in error and str(path) in error and error.count("\n") == 1
    assert not out.parent.exists() or not list(out.parent.iterdir())


def test_missing_file_and_unwritable_output(tmp_path, capsys):
    assert run(lambda: main([str(tmp_path / "none"), "--out", str(tmp_path / "model.pt")])) == 2
    assert "No such file" in capsys.readouterr().err
    (tmp_path / "weights").write_text(weights_text())
    assert run(lambda: main([str(tmp_path / "weights"), "--out", str(tmp_path / "weights" / "model.pt")])) == 2
    assert "cannot write" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["weights"]


def test_package_needs_a_binding_and_nothing_else_has_one(tmp_path, capsys):
    (tmp_path / "weights").write_text(weights_text())
    for arguments in (["--out", "model.pt2"], ["--out", "model.pt", "--binding", "binding.json"]):
        assert run(lambda: main([str(tmp_path / "weights"), *arguments])) == 2
        error = capsys.readouterr().err
        assert "a package is called FILE.pt2 and needs --binding" in error and error.count("\n") == 1


# ---- files of torch


class Network(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.network = layers


class ResAGNN(nn.Module):
    """The network with the names and the forward pass of the published code: logits, sums by scatter_add."""

    def __init__(self, published):
        super().__init__()
        self.n_graph_iters = published.iterations
        self.kept = 1.0
        self.input_network = published.input
        self.edge_network = Network(published.edge)
        self.node_network = Network(published.node)

    def forward(self, x, edge_index):
        start, end = edge_index[0], edge_index[1]
        first = x
        x = torch.cat([self.input_network(x), first], dim=-1)
        for _ in range(self.n_graph_iters):
            before = x
            e = torch.sigmoid(self.edge_network.network(torch.cat([x[start], x[end]], dim=1)).squeeze(-1))
            index = end.unsqueeze(1).expand(-1, x.size(1))
            other = start.unsqueeze(1).expand(-1, x.size(1))
            zeros = torch.zeros_like(x)
            messages = zeros.scatter_add(0, index, e[:, None] * x[start]) + zeros.scatter_add(0, other, e[:, None] * x[end])
            x = torch.cat([self.node_network.network(torch.cat([messages, x], dim=1)), first], dim=-1) + self.kept * before
        return self.edge_network.network(torch.cat([x[start], x[end]], dim=1)).squeeze(-1)


HYPERPARAMETERS = {"n_graph_iters": 2, "hidden_activation": "ReLU", "in_channels": 3}


def published(tmp_path):
    (tmp_path / "weights.txt").write_text(weights_text(is_published=True))
    return ResAGNN(read_weights(tmp_path / "weights.txt"))


def save_checkpoint(path, network, **other):
    torch.save({"state_dict": network.state_dict(), "hyper_parameters": HYPERPARAMETERS, **other}, path)


def as_script(path, network):
    torch.jit.script(network).save(path)


def as_checkpoint(path, network):
    """With a callback of a class that is not there when it is read, as those of Lightning."""
    library = sys.modules["gone"] = types.ModuleType("gone")
    library.Callback = type("Callback", (), {"__module__": "gone"})
    callback = library.Callback()
    callback.best = 0.5
    save_checkpoint(path, network, callbacks={library.Callback: callback})
    del sys.modules["gone"]


@pytest.mark.parametrize("name, save", [("gnn.pt", as_script), ("last.ckpt", as_checkpoint)])
def test_published_files_give_the_network_of_the_text(name, save, tmp_path):
    network = published(tmp_path)
    save(tmp_path / name, network)
    model = imported(tmp_path / name, tmp_path / "model.pt")
    text, (x, edge_index) = weights_text(is_published=True), random_graph(12, 40)
    scores = model.double()(torch.tensor(x), torch.tensor(edge_index))
    np.testing.assert_allclose(scores.numpy(force=True), numpy_scores(text, x, edge_index), rtol=0, atol=1e-12)


def test_code_in_a_checkpoint_is_not_run(tmp_path):
    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "made"), "w"))

    save_checkpoint(tmp_path / "last.ckpt", published(tmp_path), callbacks=Evil())
    assert imported(tmp_path / "last.ckpt", tmp_path / "model.pt") is not None
    assert not (tmp_path / "made").exists()


def without(name):
    def save(path, network):
        parameters = {key: value for key, value in HYPERPARAMETERS.items() if key != name}
        torch.save({"state_dict": network.state_dict(), "hyper_parameters": parameters}, path)

    return save


def with_tensor(name, tensor):
    def save(path, network):
        state = {**network.state_dict(), name: tensor}
        torch.save({"state_dict": state, "hyper_parameters": HYPERPARAMETERS}, path)

    return save


def other_forward(path, network):
    network.kept = 0.5
    as_script(path, network)


def cut(path, network):
    save_checkpoint(path, network)
    path.write_bytes(path.read_bytes()[:-2000])


def damaged(path, network):
    save_checkpoint(path, network)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"hyper_parameters", b"hyper_parameter\xff"))


@pytest.mark.parametrize(
    "save, message",
    [
        (without("n_graph_iters"), "got n_graph_iters None, expected a number of iterations"),
        (with_tensor("output_edge_classifier.0.weight", torch.zeros(1)), "got weights of edge_network, input_network, node_n"),
        (with_tensor("node_network.network.0.weight", torch.zeros(5, 15)), "its layers do not fit together"),
        (with_tensor("edge_network.network.0.weight", torch.zeros(6, 2, 8)), "neither linear nor a layer normalisation"),
        (with_tensor("edge_network.network.3.weight", torch.zeros(4, 6)), "layer 3 of the edge network is neither linear"),
        (lambda path, network: torch.save([1], path), "got a list, expected a checkpoint or a state_dict"),
        (lambda path, network: torch.save({"state_dict": torch.ones(2)}, path), "its state_dict is a Tensor, expected a dict"),
        (lambda path, network: torch.save({"state_dict": [1]}, path), "its state_dict is a list, expected a dict"),
        (lambda path, network: torch.save({"state_dict": None}, path), "its state_dict is a NoneType, expected a dict"),
        (lambda path, network: torch.save(nn.Linear(2, 2).state_dict(), path), "got weights of bias, weight, expected"),
        (lambda path, network: as_script(path, nn.Linear(2, 2)), "got weights of bias, weight, expected"),
        (other_forward, "computes other scores than the Exa.TrkX network with these weights; compile it as it is"),
        (cut, "got binary data"),
        (damaged, "cannot read the weights"),
    ],
)
def test_other_files_of_torch_are_refused(save, message, tmp_path, capsys):
    path, out = tmp_path / "file", tmp_path / "out" / "model.pt"
    save(path, published(tmp_path))
    assert run(lambda: main([str(path), "--out", str(out)])) == 2
    error = capsys.readouterr().err
    assert message in error and str(path) in error and error.count("\n") == 1
    assert not out.parent.exists()


def test_the_way_for_weights_of_other_networks_is_named(tmp_path):
    torch.save(nn.Linear(2, 2).state_dict(), tmp_path / "other.pt")
    with pytest.raises(InputError, match="holds weights, not a model; expected FILE.py:FACTORY"):
        load_module(str(tmp_path / "other.pt"))


def as_text(path, network):
    path.write_text(weights_text(is_published=True))


def as_gzip(path, network):
    path.write_bytes(gzip.compress(weights_text(is_published=True).encode()))


COLUMNS = ["x=r,phi,z@hits", "edge_index.T=from,to:int64@edges"]


@pytest.mark.parametrize(
    "name, save", [("weights.txt", as_text), ("weights.txt.gz", as_gzip), ("weights.pt", as_text), ("last.ckpt", as_checkpoint)]
)
def test_compile_makes_a_package_of_what_the_file_holds_whatever_its_name(name, save, tmp_path):
    save(tmp_path / name, published(tmp_path))
    tensoa.compile(tmp_path / name, tmp_path / "m.pt2", columns=COLUMNS, outputs=["score"], report=lambda line: None)
    x, edge_index = random_graph(12, 40)
    columns = {"r": x[:, 0], "phi": x[:, 1], "z": x[:, 2], "from": edge_index[0], "to": edge_index[1]}
    model = require_runtime()(tmp_path / "m.pt2")
    columns = {key: column.astype("int64" if key in ("from", "to") else "float32") for key, column in columns.items()}
    expected = numpy_scores(weights_text(is_published=True), x.astype(np.float32).astype(np.float64), edge_index)
    np.testing.assert_allclose(model(**columns)["score"], expected, rtol=1e-4, atol=1e-6)


def test_compile_says_what_is_wrong_with_damaged_weights(tmp_path):
    for name in ("more text", "infinite", "wrong count"):
        damage, message = DAMAGE[name]
        (tmp_path / "weights.txt").write_bytes(damage(weights_text()))
        with pytest.raises(InputError) as caught:
            tensoa.compile(tmp_path / "weights.txt", tmp_path / "m.pt2", columns=COLUMNS)
        assert str(caught.value).startswith(f"{tmp_path}/weights.txt: ") and message in str(caught.value)


def test_compile_makes_torchscript_of_weights(tmp_path):
    as_script(tmp_path / "gnn.pt", published(tmp_path))
    x, edge_index = random_graph(12, 40)
    for name in ("gnn.pt", "weights.txt"):
        compiling.main(options.of_compile([str(tmp_path / name), "--out", str(tmp_path / "model.pt")]))
        scores = torch.jit.load(tmp_path / "model.pt").double()(torch.tensor(x), torch.tensor(edge_index))
        expected = numpy_scores(weights_text(is_published=True), x, edge_index)
        np.testing.assert_allclose(scores.numpy(force=True), expected, rtol=0, atol=1e-12)


def test_exporter_names_an_operator_that_torch_does_not_have(tmp_path):
    library = torch.library.Library("tensoa_gone", "DEF")
    library.define("near(Tensor x) -> Tensor")

    class Near(nn.Module):
        def forward(self, x):
            return torch.ops.tensoa_gone.near(x)

    torch.jit.script(Near()).save(tmp_path / "near.pt")
    library._destroy()
    with pytest.raises(InputError, match="near.pt: needs the operator tensoa_gone::near of an extension of torch"):
        load_module(str(tmp_path / "near.pt"))
