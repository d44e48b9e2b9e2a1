# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""bench/corpus: published files through one command, compared with their own runtimes, and the page of what was found."""

import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from tree_models import rows

from conftest import ROOT

RUN = ROOT / "bench" / "corpus" / "run.py"
NAMES = ["pt", "eta", "a", "b", "n"]


def repository(files, name="someone/models"):
    made = files / name.replace("/", "+")
    made.mkdir(parents=True)
    return made


def commit_of(folder):
    git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "models"]):
        subprocess.run([*git, *command], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()


def run(tmp_path, *entries, more=()):
    """(exit status, stderr, results by name, the page)."""
    text = ""
    for entry in entries:
        whole = {"field": "tests", "licence": "MIT", "what": "a test", **entry}
        text += "[[model]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in whole.items())
    (tmp_path / "models.toml").write_text(text)
    results, page = tmp_path / "corpus.json", tmp_path / "corpus.md"
    command = [
        sys.executable,
        RUN,
        tmp_path / "files",
        "--list",
        tmp_path / "models.toml",
        "--results",
        results,
        "--page",
        page,
    ]
    environment = {**os.environ, "TENSOA_NICE": "0"}
    done = subprocess.run([*command, *more], capture_output=True, text=True, env=environment, check=False)
    found = json.loads(results.read_text())["models"] if results.exists() else {}
    return done.returncode, done.stderr, found, page.read_text() if page.exists() else ""


def xgboost_file(folder, rounds=5):
    xgboost = pytest.importorskip("xgboost")
    x, y = rows()
    data = xgboost.DMatrix(x, y > 0, feature_names=NAMES)
    booster = xgboost.train({"objective": "binary:logistic", "max_depth": 3, "nthread": 1}, data, rounds)
    booster.save_model(folder / "model.json")


def xgboost_entry(folder):
    """Of trees that are written to this repository."""
    xgboost_file(folder)
    return {
        "name": "trees",
        "format": "XGBoost",
        "repository": "someone/models",
        "commit": commit_of(folder),
        "path": "model.json",
    }


def test_a_file_of_a_repository_is_compared_with_its_own_runtime_and_timed(tmp_path):
    entry = xgboost_entry(repository(tmp_path / "files"))
    status, _, found, page = run(tmp_path, entry)
    one = found["trees"]
    assert status == 0 and one["is_right"] and one["kind"] == "forest" and one["error"] <= 1e-6
    assert one["compared_with"].startswith("XGBoost ")
    for rows_of in ("1", "16", "1000"):
        assert one["times"][rows_of]["ours"] > 0 and one["times"][rows_of]["XGBoost"] > 0
    assert "**1 of 1 (100 %) published models of 1 fields are right at the first try, 1 of them fused" in page.splitlines()[4]
    assert f"github.com/someone/models/blob/{entry['commit']}/model.json" in page and "What is not right" not in page


def test_a_file_of_a_wheel_that_is_refused_is_counted_with_its_reason(tmp_path):
    wheels = tmp_path / "files" / "wheels"
    wheels.mkdir(parents=True)
    with zipfile.ZipFile(wheels / "some_models-1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr("some_models/model.json", '{"learner": {}}')
    entry = {"name": "damaged", "format": "XGBoost", "package": "some-models==1.2", "path": "some_models/model.json"}
    status, _, found, page = run(tmp_path, entry)
    one = found["damaged"]
    assert status == 0 and not one["is_right"] and "model.json" in one["refused"] and str(tmp_path) not in one["refused"]
    assert "**0 of 1 (0 %) published models" in page.splitlines()[4]
    assert one["own_refused"] and "1 of the others are refused by their own runtime, too" in page.splitlines()[4]
    refused = next(line for line in page.splitlines() if line.startswith("| damaged | `tensoa compile model.json` |"))
    assert one["refused"][:40].replace("|", "\\|") in refused
    assert "Its own runtime does not take it, either: " in refused


def test_answers_of_another_model_are_not_right(tmp_path):
    """One command makes a program of a file that its runtime then answers otherwise for."""
    entry = xgboost_entry(repository(tmp_path / "files"))
    margin = {**entry, "name": "margins", "options": ["--margin"]}  # what the command gives is no longer what predict() gives
    status, _, found, page = run(tmp_path, margin)
    assert status == 0 and not found["margins"]["is_right"] and found["margins"]["error"] > 0.01
    assert "differs from XGBoost" in page


def test_a_model_that_is_no_longer_right_is_an_error(tmp_path):
    entry = xgboost_entry(repository(tmp_path / "files"))
    (tmp_path / "corpus.json").write_text(json.dumps({"models": {"trees": {"is_right": True}}}))
    status, _, found, _ = run(tmp_path, {**entry, "options": ["--margin"]})
    assert status == 1 and not found["trees"]["is_right"]


def test_files_that_are_not_here_say_how_to_get_them_and_count_as_nothing(tmp_path):
    (tmp_path / "files").mkdir()
    lost = {"name": "lost", "format": "XGBoost", "repository": "no/one", "commit": "0" * 40, "path": "model.json"}
    gone = {"name": "gone", "format": "XGBoost", "package": "no-one==1", "path": "model.json"}
    status, errors, found, page = run(tmp_path, lost, gone)
    assert (status, found, page) == (0, {}, "")
    assert "git clone https://github.com/no/one" in errors and "pip download --no-deps" in errors


def test_two_models_of_one_name_are_refused(tmp_path):
    entry = {"name": "one", "format": "XGBoost", "package": "a==1", "path": "model.json"}
    status, errors, _, _ = run(tmp_path, entry, entry)
    assert status != 0 and "one: are there twice" in errors


@pytest.fixture(scope="module")
def case():
    """bench/corpus/case.py"""
    sys.path.insert(0, str(ROOT / "bench" / "corpus"))
    try:
        import case

        yield case
    finally:
        sys.path.pop(0)


def test_rows_are_put_where_the_words_say(case):
    assert case.sizes_of(["state[2,n,64]", "x[n,3]=a,b,c", "y=a,b"]) == {"state": [2, None, 64], "x": [None, 3]}
    flat = np.arange(5 * 6).reshape(5, 6)
    tensor = case._as_tensor(flat, [2, None, 3])
    assert tensor.shape == (2, 5, 3) and (tensor[1, 4] == flat[4, 3:]).all()
    assert (case.as_rows(tensor, 5) == flat).all()


def test_nan_and_infinity_are_right_only_where_both_have_them(case):
    a = np.array([[1.0, np.nan], [2.0, np.inf]])
    assert case.relative(a, a).tolist() == [0, 0]
    assert case.relative(a, np.array([[1.0, 0.0], [2.0, np.inf]])).tolist() == [0, np.inf]
    assert case.relative(np.array([[3.0], [4.0]]), np.array([[3.0], [0.0]])) == pytest.approx(4 / 3)


def test_what_is_at_most_as_far_from_the_definition_as_the_runtime_is_right_in_each_column(case):
    defined = [np.array([[1.0, 1e-30]])]
    theirs, nearer = [np.array([[1.0, 1.003e-30]])], [np.array([[1.0, 0.998e-30]])]
    farther, elsewhere = [np.array([[1.0, 1.004e-30]])], [np.array([[1.001, 1e-30]])]
    found = [case.is_as_near(one, theirs, defined, 1e-4) for one in (nearer, farther, elsewhere)]
    assert found == [True, False, False]


def test_onnx_is_defined_in_float64_and_normalises_by_the_statistics_of_the_file(case, tmp_path):
    onnx, torch = pytest.importorskip("onnx"), pytest.importorskip("torch")
    pytest.importorskip("onnxruntime")
    numbers = [np.array([one], np.float32) for one in (2.0, 0.5, 1.0, 4.0)]  # scale, bias, mean, variance
    node = onnx.helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], epsilon=0.0)
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 1, 2]) for name in "xy"]
    constants = [onnx.numpy_helper.from_array(number, name) for number, name in zip(numbers, "sbmv")]
    graph = onnx.helper.make_graph([node], "g", values[:1], values[1:], constants)
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 11)], ir_version=6), tmp_path / "m.onnx"
    )
    runtime = case.RUNTIMES["ONNX network"](tmp_path / "m.onnx", [], None)
    x = torch.randn(3, 1, 2).numpy()
    (found,) = runtime.definition({"x": x})
    assert found.dtype == np.float32 and found == pytest.approx(x + np.float32(-0.5))


def test_labels_of_a_runtime_of_trees_are_not_its_answers(case):
    ours, labels = np.array([[0.7], [0.2]]), np.array([[1], [0]])
    of_two = np.array([[0.3, 0.7], [0.8, 0.2]])
    ((mine, theirs),) = case.matched([ours], [labels, of_two])
    assert (theirs == of_two[:, 1:]).all() and case.difference([ours], [labels, of_two]) == 0
    assert case.matched([labels], [of_two, labels])[0][1] is labels


def test_a_runtime_that_is_off_itself_is_stated_and_the_definition_says_what_is_right(case, tmp_path, monkeypatch):
    from dataclasses import replace

    xgboost_file(tmp_path)
    made, own = tmp_path / "model.pt2", str(tmp_path / "model.json")
    tensoa = [sys.executable, "-m", "tensoa", "compile", own, "--out", made]
    subprocess.run(tensoa, env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, check=True, capture_output=True)
    request = {"model": str(made), "own": own, "format": "XGBoost", "words": [], "outputs": [], "below": {}, "splitting": None}
    right = case.RUNTIMES["XGBoost"]

    def off(*file, definition):
        runtime = right(*file)
        call = runtime.calls["XGBoost"]
        return replace(runtime, calls={"": lambda given: [call(given)[0] * 1.01]}, definition=call if definition else None)

    monkeypatch.setitem(case.RUNTIMES, "XGBoost", lambda *file: off(*file, definition=True))
    found = case.compared(request)
    assert found["is_right"] and found["error"] <= 1e-6 and found["own_error"] == pytest.approx(0.01, rel=1e-3)
    monkeypatch.setitem(case.RUNTIMES, "XGBoost", lambda *file: off(*file, definition=False))
    assert not case.compared(request)["is_right"]


def test_a_runtime_with_fixed_rows_is_called_with_that_number_of_rows(case):
    from runtimes import Runtime

    class Given:
        blocks = [np.arange(5.0)[:, None]]
        tensors = {"x": np.arange(5.0)[:, None]}

    asked = []

    def call(tensors):
        asked.append(len(tensors["x"]))
        return [tensors["x"] * 2]

    (found,) = case.answers_of(call, Given, Runtime("two at a time", {"": call}, {"x": [2, 1]}), [])
    assert asked == [2, 2, 2] and case.fixed_rows(Runtime("", {}, {"x": [1, 9], "h": [2, 1, 8]}), {"h": [2, None, 8]}) == 1
    assert found.ravel().tolist() == [0, 2, 4, 6, 8]


def test_columns_are_those_that_the_command_says(case):
    said = ["not compiled ahead of time: …", "the file says no columns: tensoa infer --columns x=a,b y=c --outputs score=0,1"]
    assert case.columns_said(said) == {"columns": ["x=a,b", "y=c"], "outputs": ["score=0,1"]}
    assert case.columns_said(["fused into 1 kernel:"]) == {}
