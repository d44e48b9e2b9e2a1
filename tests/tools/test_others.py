# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""bench/others/run.py: files of repositories, through the program, beside their frameworks."""

import json
import os
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
from tree_models import rows

from conftest import PROGRAM, ROOT

NAMES = ["pt", "eta", "a", "b", "n"]


class Evil:
    def __reduce__(self):
        return (os.system, ("true",))


def xgboost_file(folder):
    xgboost = pytest.importorskip("xgboost")
    x, y = rows()
    data = xgboost.DMatrix(x, y > 0, feature_names=NAMES)
    xgboost.train({"objective": "binary:logistic", "max_depth": 3, "nthread": 1}, data, 5).save_model(folder / "model.json")
    return "model.json"


def network_file(folder):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    random = np.random.default_rng(0)
    weights = [random.normal(size=shape).astype("f4") for shape in ((5, 8), (8, 2))]
    graph = onnx.helper.make_graph(
        [
            onnx.helper.make_node("MatMul", ["x", "w0"], ["h"]),
            onnx.helper.make_node("Tanh", ["h"], ["t"]),
            onnx.helper.make_node("MatMul", ["t", "w1"], ["y"]),
        ],
        "test",
        [onnx.helper.make_tensor_value_info("x", 1, ["n", 5])],
        [onnx.helper.make_tensor_value_info("y", 1, ["n", 2])],
        [onnx.numpy_helper.from_array(array, f"w{i}") for i, array in enumerate(weights)],
    )
    imports = [onnx.helper.make_opsetid("", 17)]
    (folder / "model.onnx").write_bytes(onnx.helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString())
    return "model.onnx"


def looked_at(tmp_path, family, file, program=PROGRAM):
    """(exit status, {column of the table: cell}) for a file of a repository."""
    folder = tmp_path / "mirrors" / "someone+models"
    git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "models"]):
        subprocess.run([*git, *command], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    entry = {"family": family, "repository": "someone/models", "commit": commit, "path": file, "licence": "MIT", "what": "test"}
    listed, out = tmp_path / "models.toml", tmp_path / "table.md"
    listed.write_text("[[model]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in entry.items()))
    run = [sys.executable, ROOT / "bench" / "others" / "run.py", tmp_path / "mirrors", "--program", program]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run([*run, "--list", listed, "--out", out], capture_output=True, text=True, env=environment, check=False)
    assert done.stderr == "" or done.returncode == 0, done.stderr
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in out.read_text().splitlines() if line.startswith("| ")]
    row = dict(zip(lines[0], lines[-1], strict=True))
    assert row["format"] == family and f"someone/models/blob/{commit}/{file}" in row["file"] and row["licence"] == "MIT"
    assert re.match(r"\d{4}-\d\d-\d\d", row["run"])
    return done.returncode, row


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "mirrors" / "someone+models"
    made.mkdir(parents=True)
    return made


def test_trees_have_the_bits_of_their_framework(tmp_path, folder):
    status, row = looked_at(tmp_path, "XGBoost", xgboost_file(folder))
    assert (status, row["result"]) == (0, "the same bits")
    assert row["largest difference"].startswith("margins 0, answers ") and row["largest difference"].endswith("read in C++ 0")
    assert "binary:logistic, 5 features, 5 trees, depth 3" in row["what it is"]
    assert row["compared with"].startswith("XGBoost") and int(row["rows"]) > 1000


def test_networks_are_compared_with_onnx_runtime(tmp_path, folder):
    status, row = looked_at(tmp_path, "ONNX network", network_file(folder))
    assert (status, row["compared with"], row["result"]) == (0, "ONNX Runtime", "fused")
    assert float(row["largest difference"].split()[0]) < 1e-6


def test_what_is_refused_says_why(tmp_path, folder):
    (folder / "model.pkl").write_bytes(pickle.dumps(Evil()))
    status, row = looked_at(tmp_path, "scikit-learn", "model.pkl")
    assert status == 0 and row["result"].startswith("refused: ") and "posix.system; it is not loaded" in row["result"]


def test_other_answers_are_an_error(tmp_path, folder):
    """With a program that finds a difference."""
    answer = {"is_right": False, "max_rel_error": 0.5, "rows": [{"n": 4, "max_abs_error": 0.25}]}
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\necho '{json.dumps(answer)}' > $1\nexit 1\n")
    program.chmod(0o755)
    status, row = looked_at(tmp_path, "XGBoost", xgboost_file(folder), program)
    assert (status, row["result"]) == (1, "differs") and "margins 2e-01" in row["largest difference"]
