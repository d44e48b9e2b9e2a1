# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The code of docs/python.md."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

import runtime_models

runtime_models.require_runtime()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with model.pt2, which reads x, y, z and gives m, n."""
    runtime_models.write_row(tmp_path).rename(tmp_path / "model.pt2")
    monkeypatch.chdir(tmp_path)


def test_page(here, capsys):
    # [load]
    import numpy as np

    import tensoa

    model = tensoa.Model("model.pt2")
    print(model)
    # [/load]
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  in   features  float32[rows, 3]  x, y, z",
        "  out  answers   float32[rows, 2]  m, n",
        "  rows: independent",
    ]

    # [columns]
    x, y, z = np.random.default_rng(0).normal(size=(3, 1000)).astype("float32")
    answers = model(x=x, y=y, z=z)  # or model({"x": x, "y": y, "z": z})
    answers["m"]  # an array of NumPy
    # [/columns]
    expected = answers["m"].copy()
    np.testing.assert_allclose(expected, x * y + z, rtol=1e-5, atol=1e-6)

    # [out]
    m, n = np.empty((2, 1000), "float32")  # columns at equal distances, as x, y, z
    out = {"m": m, "n": n}
    model(x=x, y=y, z=z, out=out)  # writes into these arrays
    print(model.last_copies)  # 0 bytes in, 0 bytes out
    # [/out]
    np.testing.assert_array_equal(out["m"], expected)
    assert capsys.readouterr().out == "0 bytes in, 0 bytes out\n"

    # [tables]
    import pandas
    import polars
    import pyarrow

    model(pandas.DataFrame({"x": x, "y": y, "z": z, "event": np.arange(1000)}))  # a DataFrame
    model(polars.DataFrame({"x": x, "y": y, "z": z}))  # a DataFrame of polars
    model(pyarrow.table({"x": x, "y": y, "z": z}))  # a table of pyarrow
    # [/tables]

    # [lists]
    import awkward

    jets = awkward.zip({"x": awkward.Array([[1.0, 2.0], [], [3.0]]), "y": 0.5, "z": -1.0})
    model(awkward.values_astype(jets, "float32"))  # 3 * var * {m: float32, n: float32}
    model(x=x, y=y, z=z, groups=[0, 300, 1000])  # of other arrays: rows 0 to 299 are a list, and the others
    # [/lists]
    assert model(awkward.values_astype(jets, "float32")).m.tolist() == [[-0.5, 0.0], [], [0.5]]

    # [names]
    jets = pandas.DataFrame({"pt": x, "eta": y, "phi": z})
    tensoa.Model("model.pt2", columns=["pt", "eta", "phi"])(jets)  # in the order of the model's columns
    tensoa.Model("model.pt2", columns={"pt": "x", "eta": "y", "phi": "z"})(jets)  # or each by its name
    # [/names]

    # [blocks]
    features = np.empty((3, 1000), "float32").T  # [1000, 3], columns side by side: nothing is copied
    scores = model(features)  # [1000, 2]
    # [/blocks]
    assert scores.shape == (1000, 2) and model.last_copies.bytes_in == 0

    # [threads]
    with ThreadPoolExecutor(4) as pool:
        parts = [np.array_split(column, 4) for column in (x, y, z)]
        results = list(pool.map(lambda part: model(x=part[0], y=part[1], z=part[2])["m"], zip(*parts)))
    # [/threads]
    np.testing.assert_allclose(np.concatenate(results), expected, rtol=1e-6, atol=1e-6)

    # [pickle]
    again = pickle.loads(pickle.dumps(model))  # the path and the SHA-256 of the file
    # [/pickle]
    assert again.inputs[0].columns == ("x", "y", "z")

    # [errors]
    try:
        model(x=x, y=y, zz=z)
    except tensoa.BindingError as error:
        print(error)
    # [/errors]
    message = "got no column z, which it reads as float32; there are x, y, zz; the nearest is zz\n"
    assert capsys.readouterr().out.endswith(message)


def test_what_a_model_is_and_whether_it_is_right(here):
    if not runtime_models.has_program():
        pytest.skip("the program is not here")
    # [check]
    import tensoa

    what = tensoa.inspect("model.pt2")  # a dict, as `tensoa inspect --json` writes it; nothing of the model runs
    what["inputs"], what["programs"], what["row_dependence"]

    found = tensoa.check("model.pt2")  # as `tensoa check`: what the package was made to give
    found["is_right"], found["max_rel_error"], found["tolerance"]
    # [/check]
    assert what["row_dependence"]["answer"] == "independent"
    assert found["is_right"] and found["max_rel_error"] < 1e-3


def test_columns_on_a_gpu(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    runtime_models.write_row(tmp_path, target="cuda").rename(tmp_path / "gpu.pt2")
    monkeypatch.chdir(tmp_path)
    # [gpu]
    import torch

    import tensoa

    model = tensoa.Model("gpu.pt2", device="cuda:0")
    x, y, z = torch.randn(3, 1000, device="cuda")
    answers = model(x=x, y=y, z=z)  # tensors on the GPU; enqueued on torch's current stream
    best = answers["m"].max()  # later on the same stream: nothing has waited so far

    stream = torch.cuda.Stream()
    answers = model(x=x, y=y, z=z, stream=stream)  # there, after what torch's current stream has to do
    # [/gpu]
    torch.testing.assert_close(best, (x * y + z).max())
    torch.testing.assert_close(answers["n"], x - 2 * z)


def test_a_package_of_your_own_module(here):
    import torch

    import tensoa

    network = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    tensoa.compile(network, "network.pt2", columns={"input": ["x", "y", "z"]}, outputs=["score"])
    # [run]
    x, y, z = torch.randn(3, 4)  # or arrays of NumPy, or a table: pandas, polars, pyarrow, Awkward Array
    scores = tensoa.Model("network.pt2")(x=x, y=y, z=z)["score"]  # of each of the 4 rows
    # [/run]
    with torch.no_grad():
        expected = network(torch.stack([x, y, z], 1))[:, 0]
    torch.testing.assert_close(scores, expected)
