# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tensoa.import: columns by name, what is in the package, and what is refused."""

import gzip
import pickle

import numpy as np
import pytest
import torch

from exporting import block
from tensoa import forest
from tensoa.importers.trees.match import Place, places
from tensoa.package.cases import KINDS
from tree_models import binding_text, command, contents, rows

xgboost = pytest.importorskip("xgboost")
import tensoa  # noqa: E402
from tensoa import binding  # noqa: E402

NAMES = ["pt", "eta", "pos_0", "pos_1", "n"]
#: The features of NAMES in another order, in three blocks, with a column that is not a feature.
INPUTS = [
    block("kinematics", ["eta", "other", "pt"], [2, 0, 1]),
    block("positions", ["pos"], kind="vector", element=[2]),
    block("counts", ["n"], column_dtype="int32", dtype="int32"),
]


def model(tmp_path, names=NAMES, **parameters):
    x, y = rows()
    y = y > 0 if "objective" in parameters else y
    booster = xgboost.train({"nthread": 1, "max_depth": 3, **parameters}, xgboost.DMatrix(x, y, feature_names=names), 6)
    booster.save_model(tmp_path / "model.json")
    return booster, tmp_path / "model.json"


def recorded_case(manifest, files, case):
    """(features [rows, 5], answers) of a recorded case of INPUTS."""
    content, n = files["model/" + case.file], case.rows
    floats = np.frombuffer(content, "f4", 5 * n).reshape(5, n)
    counts = np.frombuffer(content, "i4", n, 20 * n)
    answers = np.frombuffer(content, "f8", offset=24 * n)
    eta, _, pt, first, second = floats
    return np.stack([pt, eta, first, second, counts.astype("f4")], 1), answers


def test_the_package_holds_the_ensemble_and_what_xgboost_gives(tmp_path, capsys):
    booster, path = model(tmp_path, objective="binary:logistic")
    status, out = command(path, INPUTS, ["score"])
    assert status == 0
    manifest, files = contents(out)
    (target,) = manifest.targets
    assert target.fused is None and target.target == "any"
    assert manifest.forest.columns == [[0, 2], [0, 0], [1, 0], [1, 1], [2, 0]]
    assert manifest.rows == [{"collection": 0}] and manifest.lengths is None
    ensemble = forest.from_bytes(files["model/" + manifest.forest.file], "package: ")
    assert ensemble.column_names == NAMES and len(ensemble.trees) == 6
    facts = dict(manifest.forest.facts)
    assert facts["trained by"] == f"XGBoost {xgboost.__version__}" and facts["objective"] == "binary:logistic"
    assert facts["trees"] == "6" and facts["deepest"] == "3" and facts["answers"] == "sigmoid"
    assert facts["thresholds of a column"].endswith(" at most")
    assert facts["checked with"].startswith(f"XGBoost {xgboost.__version__}, on ")
    assert f"trained by: XGBoost {xgboost.__version__}" in capsys.readouterr().out.splitlines()
    kinds = {case.numbers for case in manifest.recorded.cases}
    assert kinds == {*KINDS, "edges"}
    assert all(check.relative_error["scores"] <= 2e-7 for check in manifest.targets[0].checks)
    for case in manifest.recorded.cases:
        x, answers = recorded_case(manifest, files, case)
        np.testing.assert_array_equal(answers, booster.inplace_predict(x))
        if case.numbers == "edges":
            assert np.isnan(x).any() and np.isinf(x).any() and np.isin(x, ensemble.nodes["threshold"]).sum() > 100


def test_margin_has_no_link(tmp_path):
    booster, path = model(tmp_path, objective="binary:logistic")
    status, out = command(path, INPUTS, ["score"], "--margin")
    manifest, files = contents(out)
    ensemble = forest.from_bytes(files["model/forest/ensemble.bin"], "package: ")
    assert status == 0 and ensemble.link is forest.Link.NONE and dict(manifest.forest.facts)["answers"] == "margins"
    x, answers = recorded_case(manifest, files, manifest.recorded.cases[3])
    np.testing.assert_array_equal(answers, booster.inplace_predict(x, predict_type="margin"))
    assert all(check.relative_error["scores"] == 0 for check in manifest.targets[0].checks)


def test_all_options_of_a_booster_together(tmp_path):
    """Packed by gzip, stopped at its best round, and without its link."""
    x, y = rows()
    train, other = (xgboost.DMatrix(a, b > 0, feature_names=NAMES) for a, b in ((x[:50], y[:50]), (x[50:], -y[50:])))
    given = {"nthread": 1, "objective": "binary:logistic"}
    booster = xgboost.train(given, train, 20, evals=[(other, "e")], early_stopping_rounds=5, verbose_eval=False)
    booster.save_model(tmp_path / "model.json")
    path = tmp_path / "model.json.gz"
    path.write_bytes(gzip.compress((tmp_path / "model.json").read_bytes()))
    status, out = command(path, INPUTS, ["score"], "--margin", "--best-iteration")
    manifest, files = contents(out)
    facts = dict(manifest.forest.facts)
    assert status == 0 and facts["answers"] == "margins" and facts["trees"] == str(booster.best_iteration + 1)
    first, answers = recorded_case(manifest, files, manifest.recorded.cases[3])
    rounds = (0, booster.best_iteration + 1)
    np.testing.assert_array_equal(answers, booster.inplace_predict(first, rounds, predict_type="margin"))


def test_options_of_a_pickle(tmp_path, capsys):
    ensemble = pytest.importorskip("sklearn.ensemble")
    x, y = rows(missing=0)
    trees = ensemble.GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=1).fit(x, y > 0)
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(trees))
    inputs = [block("all", NAMES)]
    for options, message in (
        ([], "is a pickle, and loading it runs code that is in it; give --trust-pickle if you trust where it is from"),
        (["--trust-pickle", "--best-iteration"], "have no best iteration; import it without --best-iteration"),
    ):
        status, _ = command(path, inputs, ["score"], *options)
        assert status == 2 and message in capsys.readouterr().err
    status, out = command(path, inputs, ["score"], "--trust-pickle", "--margin")
    manifest, files = contents(out)
    assert status == 0 and dict(manifest.forest.facts)["answers"] == "margins"
    case = next(case for case in manifest.recorded.cases if case.numbers == "normal" and case.rows == 33)
    content = files["model/" + case.file]
    features = np.frombuffer(content, "f4", 5 * 33).reshape(5, 33).T
    expected = trees.decision_function(features)
    np.testing.assert_array_equal(np.frombuffer(content, "f8", offset=20 * 33), expected)


def test_features_without_names_are_counted(tmp_path):
    _, path = model(tmp_path, None)
    said = []
    tensoa.compile(path, tmp_path / "m.pt2", report=said.append)
    assert said[0] == "input features=f0,f1,f2,f3,f4"
    assert said[2] == "columns: f0 to f4, as the file has no names for them; yours: --columns features=COLUMN,…"


def test_collections_of_features_need_equal_lengths(tmp_path):
    _, path = model(tmp_path)
    inputs = [block("a", NAMES[:3]), block("b", NAMES[3:], collection=1)]
    status, out = command(path, inputs, ["score"])
    assert status == 0 and contents(out)[0].lengths == [0, 0]


@pytest.mark.parametrize(
    "changed",
    [
        {"inputs": [block("a", NAMES, kind="scalar"), block("b", "xy")]},
        {"inputs": [block("a", NAMES, shape="columns")]},
        {"inputs": [block("a", NAMES, column_dtype="float64", dtype="float64")]},
        {"inputs": [block("a", NAMES, column_dtype="float16", dtype="float16")]},
        {"inputs": [block("a", NAMES, column_dtype="int64", dtype="int64")]},
        {"inputs": [block("a", NAMES, column_dtype="bool", dtype="bool")]},
    ],
)
def test_forms_of_blocks(tmp_path, changed):
    _, path = model(tmp_path, None)
    status, out = command(path, changed["inputs"][:1], ["score"])
    assert status == 0
    assert {case.numbers for case in contents(out)[0].recorded.cases} >= {"normal", "edges"}


def test_several_outputs(tmp_path):
    x, y = rows()
    booster = xgboost.train(
        {"nthread": 1, "objective": "multi:softprob", "num_class": 3}, xgboost.DMatrix(x, np.digitize(y, [0, 1])), 3
    )
    booster.save_model(tmp_path / "model.json")
    inputs = [block("a", "abcde")]
    status, out = command(tmp_path / "model.json", inputs, "uvw")
    manifest, files = contents(out)
    case = next(case for case in manifest.recorded.cases if case.rows == 1000)
    x = np.frombuffer(files["model/" + case.file], "f4", 5000).reshape(5, 1000).T
    answers = np.frombuffer(files["model/" + case.file], "f8", offset=20000).reshape(3, 1000).T
    assert status == 0
    np.testing.assert_array_equal(answers, booster.inplace_predict(np.ascontiguousarray(x)))


# ---- what is refused


@pytest.mark.parametrize(
    "names, inputs, outputs, message",
    [
        (
            ["pt", "eta", "jet1_b", "pos_1", "n"],
            [block("a", ["pt", "eta", "jet1_btag", "pos_1", "n"])],
            ["score"],
            'the binding lacks feature "jet1_b" of the model; its input columns are pt, eta, jet1_btag, pos_1, n; the nearest '
            'name is "jet1_btag"',
        ),
        (
            NAMES,
            [block("a", NAMES), block("b", ["n"])],
            ["score"],
            'feature "n": the blocks "a", "b" have a column of this name; expected one, rename the others',
        ),
        (
            None,
            [block("a", "abcd")],
            ["score"],
            "the model has 5 features without names, the binding has 4 input columns: a, b, c, d; expected the columns of the "
            "features, in their order",
        ),
        (
            None,
            [block("a", "abcde")],
            "xyz",
            'block "scores": it has 3 columns, the model gives 1; expected a column for each',
        ),
    ],
)
def test_bindings_that_do_not_fit(tmp_path, capsys, names, inputs, outputs, message):
    _, path = model(tmp_path, names)
    status, out = command(path, inputs, outputs)
    assert (status, out.exists()) == (2, False)
    assert capsys.readouterr().err == f"error: {message}\n"


def test_outputs_must_be_floats(tmp_path, capsys):
    _, path = model(tmp_path, None)
    (tmp_path / "package.pt2").unlink(missing_ok=True)
    text = binding_text([block("a", "abcde")], ["s"])
    text["outputs"][0].update(column_dtype="int32", dtype="int32")
    from tensoa.errors import InputError
    from tensoa.package import forest as packages
    from tree_models import load

    with pytest.raises(InputError, match='block "scores": it is of int32, expected float32 or float64 for answers of trees'):
        packages.write(load(path), binding.parse(text), tmp_path / "package.pt2")
    text["outputs"] = text["outputs"] * 2
    with pytest.raises(InputError, match="the binding has 2 output blocks, expected one, for the answers of the model"):
        packages.write(load(path), binding.parse(text), tmp_path / "package.pt2")


def test_a_package_that_differs_is_not_written(tmp_path, capsys, monkeypatch):
    """XGBoost given another model than the reader."""
    _, path = model(tmp_path, None)
    other = xgboost.train({"nthread": 1}, xgboost.DMatrix(*rows(seed=3)), 6)
    monkeypatch.setattr(xgboost, "Booster", lambda *_, **__: other)
    status, out = command(path, [block("a", "abcde")], ["score"])
    assert (status, out.exists()) == (2, False)
    message = capsys.readouterr().err
    assert message.startswith("error: margin 0 of the values ") and f"XGBoost {xgboost.__version__} gives " in message
    assert message.endswith("rows differ); the package is not written, please report the model\n")


def test_names_of_packages_and_options(tmp_path, capsys):
    import importlib

    main = importlib.import_module("tensoa.import").main
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0 and "runs code that is in the file" in capsys.readouterr().out
    from tensoa.command import run

    assert run(lambda: main(["m.json", "--binding", "b.json", "--out", "m.pt"])) == 2
    assert capsys.readouterr().err == "error: --out m.pt: a package is called FILE.pt2\n"
    assert run(lambda: main(["m.json", "--out", "m.pt2"])) == 2
    assert capsys.readouterr().err == (
        "error: --out m.pt2: got no columns; expected --binding BINDING.json, the description of a C++ layout, or columns in "
        "words: tensoa compile m.json --out m.pt2 --columns BLOCK=COLUMN,COLUMN\n"
    )


def test_places_by_block_and_made_up_names():
    bound = binding.parse(binding_text([block("a", "xy"), block("b", "xz")], ["s"]))
    assert places(["b.x", "a.x", "z"], 3, bound) == [Place(1, 0), Place(0, 0), Place(1, 1)]
    in_order = [Place(0, 0), Place(0, 1), Place(1, 0), Place(1, 1)]
    assert (
        places(["f0", "f1", "f2", "f3"], 4, bound)
        == places(["Column_0", "Column_1", "Column_2", "Column_3"], 4, bound)
        == in_order
    )
    named = binding.parse(binding_text([block("a", ["f1", "f0"])], ["s"]))
    assert places(["f0", "f1"], 2, named) == [Place(0, 1), Place(0, 0)]
    assert torch.float32 == bound.inputs[0].dtype
