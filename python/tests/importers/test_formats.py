# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The page of the formats that are read."""

import json
import re

import pytest

from conftest import ROOT
from tensoa.errors import InputError
from tensoa.importers import formats

RESULTS = ROOT / "benchmarks" / "results"


def test_page_is_the_one_that_the_command_prints():
    assert (ROOT / "docs" / "models_of_others.md").read_text().splitlines() == list(formats.page(RESULTS))


def test_figures_are_those_of_the_results(tmp_path):
    compared = json.loads((RESULTS / formats.COMPARED).read_text())
    rows = [row for run in compared["runs"] if run["part"] == "trees" for row in run["rows"]]
    key = {"model": "xgboost-100x6", "stage": "total", "threads": 1, "n": 1}
    ours, theirs = ([row for row in rows if row.items() >= (key | {"variant": name}).items()] for name in ("tensoa", "xgboost"))
    assert len(ours) == len(theirs) == 1
    theirs[0]["median_us"] = 77 * ours[0]["median_us"]
    (tmp_path / formats.COMPARED).write_text(json.dumps(compared))
    published = json.loads((RESULTS / formats.PUBLISHED).read_text())
    published["models"]["one that differs"] = {"format": "LWTNN", "is_right": False}
    (tmp_path / formats.PUBLISHED).write_text(json.dumps(published))
    changed = {line.split("|")[1].strip(): line for line in formats.page(tmp_path) if line.startswith("| ")}
    before = {line.split("|")[1].strip(): line for line in formats.page(RESULTS) if line.startswith("| ")}
    assert "77 × at 1," in changed["XGBoost JSON, UBJ, binary"]
    right, count = (int(number) for number in re.findall(r"(\d+) of (\d+)", before["LWTNN JSON"])[0])
    assert f"{right} of {count + 1}" in changed["LWTNN JSON"]
    assert changed["LightGBM text"] == before["LightGBM text"]


def test_a_family_without_files_or_figures_has_empty_cells():
    nothing = formats.Format("a", "b", "c", "d", "e", "no such family", "no such model", "no such peer")
    assert formats._right(nothing, [{"format": "XGBoost", "is_right": True}]) == ""
    assert formats._speed(nothing, formats._times((RESULTS / formats.COMPARED).read_text())) == ""


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(InputError, match="compare-cpu.json: cannot read: No such file.*expected the folder benchmarks/results"):
        list(formats.page(tmp_path))
