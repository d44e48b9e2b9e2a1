# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The page that `make width` writes, from results that are made here and from those that are checked in."""

import argparse
import importlib.util
import json
import re
import subprocess

import pytest

from conftest import ROOT


@pytest.fixture(scope="module")
def width():
    spec = importlib.util.spec_from_file_location("width", ROOT / "bench" / "width.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def results(**kinds):
    return {"cpu": {"about": {"machine": "a CPU", "torch": "2.11", "onnxruntime": "1.31"}, "kinds": kinds}}


def test_kinds_that_become_packages_and_that_are_fused_completely_are_counted(width):
    made = (
        "fused into 1 kernel",
        "fused in part, because of sort: 1 part, the rest by TorchInductor",
        "not exported: a counter",
    )
    kinds = {one: {"made": one} | ({"failed": True} if "not exported" in one else {}) for one in made}
    assert "2 of 3 kinds become packages, 1 of them fused completely." in width.page(results(**kinds))


def test_a_reason_that_is_cut_ends_with_an_ellipsis_and_leaves_out_the_advice(width):
    assert width.cell("not exported: a | b; expected another") == "not exported: a / b"
    cut = width.cell("not exported: " + "a reason " * 40)
    assert len(cut) <= 242 and cut.endswith("reason …")


def test_the_worst_is_of_the_fastest_peer_at_the_number_of_rows_where_it_is_least(width):
    times = {"1": {"ours": 2.0, "inductor": 8.0, "torchscript": 6.0}, "16": {"ours": 4.0, "inductor": 2.0, "torchscript": 9.0}}
    page = width.page(results(MLP={"made": "fused into 1 kernel", "times": times}))
    assert "| MLP | 2.0 / 4.0 | 8.0 / 2.0 | 6.0 / 9.0 | 0.50 |" in page


def test_the_worst_counts_a_peer_that_packs_and_not_our_own_other_ways(width):
    assert width.worst({"1": {"ours": 2.0, "just_in_time": 0.1, "onnxruntime": 4.0, "onnxruntime_packed": 1.0}}) == 0.5


def test_an_empty_time_has_its_reason_below_with_all_kinds_of_that_reason(width):
    note = "model /tmp/tmp055bgdaf/model.pt: failed while running: not at the same device, found cuda:0 (and cpu); inputs: x"
    times = {"1": {"ours": 2.0, "inductor": 8.0, "onnxruntime": 4.0, "onnxruntime_packed": 4.0}}
    one = {"made": "fused into 1 kernel", "times": times}
    ran = {"ours": 2.0, "torchscript": 3.0, "onnxruntime": 4.0, "onnxruntime_packed": 4.0}
    no_onnx = {"onnxruntime": "ONNX Runtime: Non-zero status code. Status Message: k is large"}
    kinds = {
        "GRU": one | {"notes": {"torchscript": note}},
        "LSTM": one | {"notes": {"torchscript": note.replace("tmp055bgdaf", "tmpacfyao_0")}},
        "MLP": one | {"times": {"1": ran}},
        "sort": one | {"times": {"1": ran | {"inductor": 1.0}, "16": {"ours": 2.0, **times["1"], **ran}}},
        "top": one | {"times": {"1": {"ours": 1.0, "inductor": 1.0, "torchscript": 1.0}}, "notes": no_onnx},
    }
    lines = [line for line in width.page(results(**kinds)).splitlines() if re.match(r"- [^*]", line)]
    assert lines == [
        "- TorchInductor, *MLP*: its file could not be written",
        "- TorchScript, *GRU*, *LSTM*: failed while running: not at the same device",
        "- ONNX Runtime, *top*: k is large",
    ]


def test_folders_of_a_run_are_not_in_its_results(width, monkeypatch):
    found = json.dumps({"made": "fused", "notes": {"torchscript": "model /tmp/tmp055bgdaf/model.pt: no"}})
    done = subprocess.CompletedProcess([], 0, found, "")
    monkeypatch.setattr(width.subprocess, "run", lambda *_, **__: done)
    options = argparse.Namespace(device="cpu", no_peers=False, compare="compare_width")
    assert width.run("MLP", options)["notes"] == {"torchscript": "model model.pt: no"}
    done.returncode, done.stderr = 1, "tensoa.errors.InputError: /scratch/a.b/tmp055bgdaf/ours.pt2: no\n"
    assert width.run("MLP", options)["made"] == "not exported: ours.pt2: no"


def test_a_page_of_results_without_a_commit_says_so(width):
    assert "commit not recorded" in width.page(results(MLP={"made": "fused into 1 kernel"}))


def test_the_page_that_is_checked_in_is_that_of_the_results(width):
    assert (ROOT / "docs" / "width.md").read_text() == width.page(json.loads(width.RESULTS.read_text()))
