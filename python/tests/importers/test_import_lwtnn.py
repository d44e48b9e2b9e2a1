# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Networks of LWTNN: compared with its rules in NumPy, row by row in float64, and damaged files."""

import json

import numpy as np
import pytest
import torch

from exporting import bind, block
from tensoa.binding.defaults import words_of_model
from tensoa.compiler import frontend
from tensoa.errors import InputError
from tensoa.importers.files import load_module
from tensoa.importers.lwtnn import import_lwtnn

RANDOM = np.random.default_rng(1)

# ---- LWTNN's rules


def activated(x, given):
    name, alpha = (given["function"], given["alpha"]) if isinstance(given, dict) else (given, 1.0)
    if name == "softmax":
        exps = np.exp(x - x.max())
        return exps / exps.sum()
    return {
        "linear": x,
        "sigmoid": 1 / (1 + np.exp(-x)),
        "rectified": np.where(x > 0, x, 0),
        "tanh": np.tanh(x),
        "hard_sigmoid": np.minimum(np.maximum(0.2 * x + 0.5, 0), 1),
        "elu": np.where(x >= 0, x, alpha * (np.exp(np.minimum(x, 0)) - 1)),
        "leakyrelu": np.where(x > 0, x, alpha * x),
        "swish": x / (1 + np.exp(-alpha * x)),
        "abs": np.abs(x),
    }[name]


def matrix(entry, inputs, name="weights"):
    return np.array(entry[name]).reshape(-1, inputs)


def affine(entry, x):
    return matrix(entry, len(x)) @ x + np.array(entry["bias"])


def on_vector(layer, x):
    kind = layer["architecture"]
    if kind == "dense":
        x = matrix(layer, len(x)) @ x if layer["weights"] else x
        return activated(x + np.array(layer["bias"]) if layer["bias"] else x, layer["activation"])
    if kind == "normalization":
        return np.array(layer["weights"]) * (x + np.array(layer["bias"]))
    if kind == "maxout":
        return np.max([affine(part, x) for part in layer["sublayers"]], axis=0)
    parts = layer["components"]
    carry = activated(affine(parts["carry"], x), "sigmoid")
    return carry * activated(affine(parts["t"], x), layer["activation"]) + (1 - carry) * x


def on_sequence(layer, x):
    """`x`: [features, steps], as LWTNN's matrices."""
    kind = layer["architecture"]
    if kind == "embedding":
        for part in layer["sublayers"]:
            table = matrix(part, len(part["weights"]) // part["n_out"])
            rows = table[:, x[part["index"]].astype(int)]
            x = np.concatenate([x[: part["index"]], rows, x[part["index"] + 1 :]])
        return x
    parts, states = layer["components"], []
    outputs = len(next(iter(parts.values()))["bias"])
    h = cell = np.zeros(outputs)

    def gate(name, h, activation):
        return activated(affine(parts[name], step) + matrix(parts[name], outputs, "U") @ h, activation)

    for step in x.T:  # noqa: B007
        inner, outer = layer.get("inner_activation"), layer["activation"]
        if kind == "lstm":
            cell = gate("f", h, inner) * cell + gate("i", h, inner) * gate("c", h, outer)
            h = gate("o", h, inner) * activated(cell, outer)
        elif kind == "gru":
            update = gate("z", h, inner)
            h = update * h + (1 - update) * gate("h", gate("r", h, inner) * h, outer)
        else:
            h = gate("h", h, outer)
        states.append(h)
    return np.stack(states, 1)


def prepared(variables, row):
    offset, scale = (np.array([variable[name] for variable in variables]) for name in ("offset", "scale"))
    return (row + (offset if row.ndim == 1 else offset[:, None])) * (scale if row.ndim == 1 else scale[:, None])


# ---- networks


def draw(*shape):
    return RANDOM.normal(size=shape).round(3)


def linear(inputs, outputs, is_recurrent=False):
    made = {"weights": draw(inputs * outputs).tolist(), "bias": draw(outputs).tolist()}
    return made | ({"U": draw(outputs * outputs).tolist()} if is_recurrent else {})


def dense(inputs, outputs, activation="linear"):
    return {"architecture": "dense", **linear(inputs, outputs), "activation": activation}


def recurrent(kind, inputs, outputs, **more):
    names = {"lstm": "ifoc", "gru": "zrh", "simplernn": "h"}[kind]
    parts = {name: linear(inputs, outputs, True) for name in names}
    return {"architecture": kind, "components": parts, "activation": "tanh", "inner_activation": "hard_sigmoid", **more}


def variables(*names):
    return [{"name": name, "offset": float(draw()), "scale": 0.5 + abs(float(draw()))} for name in names]


def sequential(names, layers, outputs):
    return {"inputs": variables(*names), "layers": layers, "outputs": [f"out{i}" for i in range(outputs)]}


def save(text, tmp_path):
    (tmp_path / "network.json").write_text(json.dumps(text))
    return tmp_path / "network.json"


ACTIVATIONS = "linear sigmoid rectified softmax tanh hard_sigmoid abs elu".split()
WITH_ALPHA = [{"function": name, "alpha": 0.3} for name in ("elu", "leakyrelu", "swish")]


@pytest.mark.parametrize("activation", ACTIVATIONS + WITH_ALPHA, ids=str)
def test_sequential_network(activation, tmp_path):
    highway = {"architecture": "highway", "components": {"t": linear(5, 5), "carry": linear(5, 5)}, "activation": activation}
    layers = [
        {"architecture": "normalization", **{name: draw(3).tolist() for name in ("weights", "bias")}},
        dense(3, 5, activation),
        {"architecture": "maxout", "sublayers": [linear(5, 5) for _ in range(3)]},
        highway,
        {"architecture": "dense", "weights": [], "bias": draw(5).tolist(), "activation": "tanh"},
        dense(5, 4, "softmax"),
    ]
    text = sequential("abc", layers, 4)
    network, x = import_lwtnn(save(text, tmp_path)).double(), draw(20, 3)
    for row, got in zip(x, network(torch.tensor(x)).numpy()):
        expected = prepared(text["inputs"], row)
        for layer in layers:
            expected = on_vector(layer, expected)
        np.testing.assert_allclose(got, expected, atol=1e-6)  # weights are float32


def test_sequential_network_that_has_nodes_among_others_is_sequential(tmp_path):
    """As LWTNN reads it: the list of outputs says what it is."""
    text = sequential("abc", [dense(3, 2, "tanh")], 2)
    nodes = [{"type": "feed_forward", "sources": [1], "layer_index": 0}, {"type": "input", "sources": [0], "size": 3}]
    x = torch.tensor(draw(20, 3)).float()
    alone, among_others = (import_lwtnn(save(given, tmp_path))(x) for given in (text, {**text, "nodes": nodes}))
    assert torch.equal(alone, among_others) and among_others.std() > 0


@pytest.mark.parametrize("kind", ["lstm", "gru", "simplernn"])
def test_recurrent_network(kind, tmp_path):
    """With categories in the place of its second variable."""
    parts = [{"weights": draw(2 * 4).tolist(), "index": 1, "n_out": 2}]
    layers = [
        {"architecture": "embedding", "sublayers": parts},
        recurrent(kind, 4, 3),
        recurrent(kind, 3, 5),
        dense(5, 2, "sigmoid"),
    ]
    text = sequential("abc", layers, 2)
    text["inputs"][1] |= {"offset": -1.0, "scale": 1.0}
    x = draw(20, 3, 6)
    x[:, 1] = RANDOM.integers(1, 5, (20, 6))
    network = import_lwtnn(save(text, tmp_path)).double()
    for row, got in zip(x, network(torch.tensor(x)).numpy()):
        expected = prepared(text["inputs"], row)
        for layer in layers[:3]:
            expected = on_sequence(layer, expected)
        np.testing.assert_allclose(got, on_vector(layers[3], expected[:, -1]), atol=1e-6)
    for wrong in (0.0, 5.0, 1.5, np.nan, np.inf):
        x[0, 1, 2] = wrong
        assert np.isnan(network(torch.tensor(x)).numpy()[0]).all()


def graph():
    layers = [
        dense(2, 3, "rectified"),
        recurrent("gru", 2, 4),
        dense(3, 4, "tanh"),
        dense(11, 2, "softmax"),
        dense(11, 1, "sigmoid"),
    ]
    nodes = [
        {"type": "input", "sources": [0], "size": 2},
        {"type": "input_sequence", "sources": [0], "size": 3},
        {"type": "time_distributed", "sources": [1], "layer_index": 2},
        {"type": "sum", "sources": [2]},
        {"type": "feed_forward", "sources": [0], "layer_index": 0},
        {"type": "input_sequence", "sources": [1], "size": 2},
        {"type": "sequence", "sources": [5], "layer_index": 1},
        {"type": "add", "sources": [3, 6]},
        {"type": "concatenate", "sources": [4, 7, 6]},
        {"type": "feed_forward", "sources": [8], "layer_index": 3},
        {"type": "feed_forward", "sources": [8], "layer_index": 4},
    ]
    return {
        "inputs": [{"name": "jet", "variables": variables("pt", "eta")}],
        "input_sequences": [
            {"name": "tracks", "variables": variables("d0", "z0", "p")},
            {"name": "hits", "variables": variables("q", "r")},
        ],
        "nodes": nodes, "layers": layers,
        "outputs": {
            "flavour": {"labels": ["light", "heavy"], "node_index": 9},
            "vertex": {"labels": ["has"], "node_index": 10},
        },
    }  # fmt: skip


def test_graph(tmp_path):
    text = graph()
    layers = text["layers"]
    jet, tracks, hits = draw(20, 2), draw(20, 3, 5), draw(20, 2, 4)
    network = import_lwtnn(save(text, tmp_path)).double()
    assert network.argument_names == ["jet", "tracks", "hits"]
    results = network(hits=torch.tensor(hits), jet=torch.tensor(jet), tracks=torch.tensor(tracks))
    assert results._fields == ("flavour", "vertex")
    for i in range(20):
        inputs = [prepared(entry["variables"], row) for entry, row in zip(text["inputs"], [jet[i]])]
        inputs += [prepared(entry["variables"], row) for entry, row in zip(text["input_sequences"], [tracks[i], hits[i]])]
        total = sum(on_vector(layers[2], step) for step in inputs[1].T)
        last = on_sequence(layers[1], inputs[2])[:, -1]
        joined = np.concatenate([on_vector(layers[0], inputs[0]), total + last, last])
        for got, layer in zip(results, layers[3:]):
            np.testing.assert_allclose(got[i].numpy(), on_vector(layer, joined), atol=1e-6)


# ---- columns


def test_variables_and_labels_go_by_name(tmp_path):
    text = sequential("abc", [dense(3, 2, "tanh")], 2)
    path = str(save(text, tmp_path))
    x = torch.tensor(draw(9, 3), dtype=torch.float32)
    expected = load_module(path)(x)
    columns = bind([block("features", "cab")], [block("y", ["out1", "out0"])])
    assert torch.equal(load_module(path, columns)(x[:, [2, 0, 1]]), expected[:, [1, 0]])
    columns = bind([block("features", "xyz")], [block("y", "uv")])
    assert torch.equal(load_module(path, columns)(x), expected)
    for names, message in (
        ("abx", 'input "inputs": the block has no c, it has a, b, x'),
        ("abcd", 'input "inputs": the block has d, too, which the network does not take'),
        ("xy", 'input "inputs": the block has no a, b, c, it has x, y'),
    ):
        with pytest.raises(InputError, match=message):
            load_module(path, bind([block("features", names)], [block("y", "uv")]))


def test_the_variables_of_a_file_are_the_columns_that_need_no_words(tmp_path):
    text = sequential("abc", [dense(3, 2, "tanh")], 2)
    (found,) = words_of_model(import_lwtnn(save(text, tmp_path)), None)
    assert (found.name, found.columns, found.dtype) == ("inputs", ("a", "b", "c"), "float32")
    with pytest.raises(
        InputError, match="the model takes jet float32.n, 2., tracks, hits; expected the columns of each: .* jet=pt,eta tr"
    ):
        words_of_model(import_lwtnn(save(graph(), tmp_path)), None)


def test_network_is_fused(tmp_path):
    text = graph()
    columns = bind(
        [
            block("tracks", ["z0", "d0", "p"], planes=[0, 5, 10], element=[5], kind="vector"),
            block("hits", ["q", "r"], planes=[0, 4], element=[4], kind="vector"),
            block("jet", ["eta", "pt"]),
        ],
        [block("flavour", ["heavy", "light"]), block("vertex", ["has"])],
        "auto",
    )
    network = load_module(str(save(text, tmp_path)), columns)
    program = frontend.exported_program(network, columns)
    assert len(frontend.capture(program, columns, [{"collection": 0}] * 2).outputs) == 2


# ---- damage


def changed(change):
    text = sequential("abc", [dense(3, 2, "tanh"), dense(2, 2)], 2)
    change(text)
    return text


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda t: t.pop("layers"), "has no inputs, layers and outputs, expected a network of LWTNN"),
        (lambda t: t["layers"][1].update(architecture="conv1d"), "layer 1 (conv1d): expected dense, normalization, maxout"),
        (lambda t: t["layers"][1].update(activation="gelu"), "layer 1 (dense): activation gelu: expected one of linear, "),
        (lambda t: t["layers"][1].update(activation="swish"), "layer 1 (dense): activation swish: its alpha is missing"),
        (lambda t: t["layers"][0]["weights"].pop(), "layer 0 (dense): weights: got 5 numbers, expected rows of 3"),
        (lambda t: t["layers"][0]["bias"].pop(), "layer 0 (dense): bias: got 1 numbers, expected 2"),
        (lambda t: t["layers"][0].update(weights=[1, "2"]), "layer 0 (dense): weights: expected finite numbers"),
        (lambda t: t["layers"][0]["bias"].__setitem__(0, float("nan")), "layer 0 (dense): bias: expected finite numbers"),
        (lambda t: t["inputs"].pop(), "layer 0 (dense): bias: got 2 numbers, expected 3"),
        (lambda t: t["inputs"][0].pop("scale"), "scale: got nothing, expected int or float"),
        (lambda t: t["outputs"].pop(), 'output "outputs": got 1 labels, its node 2 gives 2 numbers'),
    ],
)  # fmt: skip
def test_damaged_sequential_network(change, message, tmp_path):
    with pytest.raises(InputError) as caught:
        import_lwtnn(save(changed(change), tmp_path))
    assert f"network.json: {message}" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda t: t["nodes"][4].update(sources=[9]), "node 9: is its own source"),
        (lambda t: t["nodes"][4].update(sources=[40]), "node 40: there are 11"),
        (lambda t: t["nodes"][4].update(sources=[-1]), "node -1: there are 11"),
        (lambda t: t["nodes"][4].update(type="attention"), "node 4 (attention): expected one of input, input_sequence"),
        (lambda t: t["nodes"][4].update(layer_index=9), "node 4 (feed_forward): there is no layer 9, there are 5"),
        (lambda t: t["nodes"][4].update(sources=[0, 0]), "node 4 (feed_forward): got 2 sources, expected one"),
        (lambda t: t["nodes"][2].update(sources=[0]), "node 2 (time_distributed): its source 0 gives a vector"),
        (lambda t: t["nodes"][7].update(sources=[0, 6]), "node 7 (add): adds [2, 4] numbers, expected equal ones"),
        (lambda t: t["nodes"][0].update(size=3), "node 0 (input): there is no input 0 of 3 variables"),
        (lambda t: t["nodes"][6].update(layer_index=0), "layer 0 (dense): expected lstm, gru, simplernn, embedding"),
        (lambda t: t["layers"][1]["components"].pop("z"), "layer 1 (gru): components: got h, r, expected z, r, h"),
        (
            lambda t: t["layers"][1]["components"]["z"]["U"].pop(),
            "layer 1 (gru): component z: U: got 15 numbers, expected rows",
        ),
        (lambda t: t["outputs"]["vertex"].update(node_index=2), 'output "vertex": got 1 labels, its node 2 gives 4 numbers'),
        (lambda t: t.update(outputs={}), "has no outputs"),
    ],
)
def test_damaged_graph(change, message, tmp_path):
    text = graph()
    change(text)
    with pytest.raises(InputError) as caught:
        import_lwtnn(save(text, tmp_path))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_every_beginning_of_a_file_is_refused(tmp_path):
    path = save(sequential("ab", [dense(2, 1)], 1), tmp_path)
    whole = path.read_text()
    for size in range(len(whole)):
        path.write_text(whole[:size])
        with pytest.raises(InputError, match="got no JSON"):
            import_lwtnn(path)
    for content, message in (("[1]", "has no inputs"), ("[" * 100_000, "got no JSON"), ('{"learner": {}}', "has no inputs")):
        path.write_text(content)
        with pytest.raises(InputError, match=message):
            import_lwtnn(path)


def test_chain_that_is_too_long_is_refused(tmp_path):
    layers = [dense(1, 1) for _ in range(5000)]
    with pytest.raises(InputError, match="its nodes are a chain of more than Python follows"):
        import_lwtnn(save(sequential("a", layers, 1), tmp_path))
