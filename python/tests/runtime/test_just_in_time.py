# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""tensoa.Model of TorchScript and torch.export, whose columns are words: gives what torch gives."""

import pickle
import random
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim

import runtime_models as models
import tensoa
from tensoa.binding.words import inputs_of, words_of

Model = models.require_runtime()
pytestmark = pytest.mark.skipif("torch" not in tensoa._runtime._PARTS, reason="built without torch")


class Graph(nn.Module):
    """A matrix, integers of their own dtype, an edge list; two results of other collections."""

    def forward(self, x: torch.Tensor, charge: torch.Tensor, edge_index: torch.Tensor):
        node = x.sum(1, keepdim=True) * charge
        return node[edge_index[0]] - node[edge_index[1]], torch.cat([node, x.double().float()], 1)


def test_a_file_of_onnx_with_several_results_runs_by_torch_export(tmp_path):
    onnx = pytest.importorskip("onnx")
    helper, weight = onnx.helper, np.float32([[1, 2], [3, 4], [5, 6]])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["sum:0"]), helper.make_node("Neg", ["sum:0"], ["other"])]
    x, *results = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", size])
        for name, size in (("x", 3), ("sum:0", 2), ("other", 2))
    )
    graph = helper.make_graph(nodes, "two", [x], results, [onnx.numpy_helper.from_array(weight, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    tensoa.compile(tmp_path / "m.onnx", tmp_path / "m.pt2", columns=["x=a,b,c"], just_in_time=True, report=lambda line: None)
    rows = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    answers = Model(tmp_path / "m.pt2", columns=["x=a,b,c"], outputs=["other=r,s", "sum:0=p,q"])(rows)
    np.testing.assert_allclose(answers["sum:0"], rows @ weight, rtol=1e-5)
    np.testing.assert_array_equal(answers["other"], -answers["sum:0"])


COLUMNS = ["x=pt,eta@hits", "charge=charge:int32@hits", "edge_index.T=from,to:int64@edges"]


@pytest.fixture(scope="module")
def tensors():
    draw = np.random.default_rng(3)
    return (
        torch.from_numpy(draw.normal(size=(6, 2)).astype("f4")),
        torch.from_numpy(draw.integers(-1, 2, (6, 1)).astype("i4")),
        torch.from_numpy(draw.integers(0, 6, (2, 9))),
    )


@pytest.fixture(scope="module", params=["torchscript", "exported"])
def path(request, tmp_path_factory, tensors):
    path = tmp_path_factory.mktemp("models") / f"{request.param}.pt2"
    if request.param == "torchscript":
        torch.jit.script(Graph()).save(path)
    else:
        hits, edges = Dim("hits", min=2, max=1000), Dim("edges", min=2, max=1000)
        torch.export.save(torch.export.export(Graph(), tensors, dynamic_shapes=({0: hits}, {0: hits}, {1: edges})), path)
    return path


def columns_of(tensors):
    x, charge, edges = (tensor.numpy() for tensor in tensors)
    return {"pt": x[:, 0], "eta": x[:, 1], "charge": charge[:, 0], "from": edges[0], "to": edges[1]}


def model_of(path):
    return Model(path, columns=COLUMNS, outputs=["weight=weight@edges", "node=n,a,b"])


def test_columns_in_words_give_what_torch_gives(path, tensors):
    model = model_of(path)
    weight, node = (tensor.numpy() for tensor in Graph()(*tensors))
    answers = model(columns_of(tensors))
    np.testing.assert_allclose(answers["weight"], weight[:, 0], rtol=1e-6)
    for place, name in enumerate("nab"):
        np.testing.assert_allclose(answers[name], node[:, place], rtol=1e-6)
    assert [block.name for block in model.inputs] == ["x", "charge", "edge_index"]
    assert model.inputs[2].shape == (2, None)
    assert model.rows_are_independent is not True


def test_page(tmp_path, monkeypatch, tensors):
    """The code of docs/python.md."""
    monkeypatch.chdir(tmp_path)
    torch.jit.script(nn.Linear(2, 1)).save("network.pt")
    pt, eta = tensors[0].numpy().T
    # [words]
    model = tensoa.Model("network.pt", columns={"input": ["pt", "eta"]}, outputs=["score"])
    scores = model(pt=pt, eta=eta)["score"]
    # [/words]
    expected = torch.jit.load("network.pt")(tensors[0]).detach().numpy()[:, 0]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
    assert model.rows_are_independent
    again = Model("network.pt", columns=["input=pt,eta"], outputs="score")
    np.testing.assert_array_equal(again(pt=pt, eta=eta)["score"], scores)


def test_words_are_those_of_compile(tmp_path):
    """The two readers of words, here and in tensoa.compile, take the same."""
    path = tmp_path / "network.pt"
    torch.jit.script(nn.Linear(2, 1)).save(path)
    draw, taken = random.Random(7), 0
    for _ in range(800):
        word = "".join(
            draw.choices(["x", "ab", "=", "=a", ",", ":", "@", ".T", " ", "int32", "call", "int33"], k=draw.randint(1, 8))
        )
        try:
            inputs_of([words_of(word)], {})
            is_taken = True
        except tensoa.InputError:
            is_taken = False
        try:
            Model(path, columns=[word], outputs=["y"])
            is_taken_here = True
        except tensoa.ConfigError:
            is_taken_here = False
        except tensoa.BindingError:  # the model does not take such a block
            is_taken_here = True
        assert is_taken == is_taken_here, word
        taken += is_taken
    assert 50 < taken < 750


def test_a_pickled_model_has_its_words(path, tensors):
    model = pickle.loads(pickle.dumps(model_of(path)))
    np.testing.assert_array_equal(model(columns_of(tensors))["n"], model_of(path)(columns_of(tensors))["n"])


def test_what_is_wrong_with_words_is_said(path, tensors, tmp_path):
    def refused(message, **words):
        with pytest.raises(tensoa.Error, match=message):
            Model(path, **words)(columns_of(tensors))

    refused(
        r"does not state which columns it reads; expected them in words: columns x=COLUMN,… charge=COLUMN,… edge_index=COLUMN"
    )
    refused("does not state which columns it reads", columns=["pt", "eta"])
    refused("columns: got none", outputs=["y"])
    refused("columns: got 'pt', expected BLOCK=COLUMN", columns=["pt"], outputs=["y"])
    refused("got the column 'a,b', expected a name without", columns={"x": ["a,b"]}, outputs=["y"])
    refused("got the column ' a', expected a name without .* spaces around it", columns={"x": [" a"]}, outputs=["y"])
    refused("outputs: got 'p,q', expected COLUMN or BLOCK=", columns=COLUMNS, outputs=["p,q"])
    refused("expected names; .* go with outputs=", columns={"x": ["pt", "eta"]})
    refused("got 1 of type int, expected texts BLOCK=COLUMN", columns=[1], outputs=["y"])
    refused("charge", columns=["x=pt,eta", "edge_index.T=from,to:int64@e"], outputs=["weight=weight@e", "node=n,a,b"])
    refused("node", columns=COLUMNS, outputs=["weight=weight@edges", "node=n,a"])
    refused("int32", columns=["x=pt,eta@hits", "charge=charge@hits", COLUMNS[2]], outputs=["weight=weight@edges", "node=n,a,b"])
    row = models.write_row(tmp_path)
    with pytest.raises(tensoa.ConfigError, match="states its columns; expected no outputs"):
        Model(row, columns=["features=x,y,z"], outputs=["m"])


def test_an_unloaded_torch_is_loaded(path, tensors, tmp_path):
    """In a process that has not imported torch."""
    np.savez(tmp_path / "columns.npz", **columns_of(tensors))
    code = """
        import sys
        import numpy as np, tensoa
        words = ["weight=weight@edges", "node=n,a,b"]
        model = tensoa.Model(sys.argv[1], columns=sys.argv[3:], outputs=words)
        print(model(dict(np.load(sys.argv[2])))["n"].sum(), "torch" in sys.modules)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), path, tmp_path / "columns.npz", *COLUMNS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    total, has_torch = done.stdout.split() if done.stdout else (done.stderr, "")
    assert has_torch == "False", done.stderr
    assert float(total) == pytest.approx(Graph()(*tensors)[1][:, 0].sum().item(), rel=1e-5)
