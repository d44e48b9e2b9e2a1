# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The page that `make compare` writes, from results that are made here and from those that are checked in."""

import importlib.util

import pytest

from conftest import ROOT


@pytest.fixture(scope="module")
def compare():
    spec = importlib.util.spec_from_file_location("compare", ROOT / "bench" / "compare.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def results(rows, left_out=(), commit="abc"):
    """A file of one part; `rows`: (variant, n, microseconds)."""
    common = {"model": "mlp", "stage": "total", "device": "cpu", "threads": 1}
    made = [common | {"variant": variant, "n": n, "median_us": time} for variant, n, time in rows]
    run = {"part": "networks", "command": "run", "rows": made, "left_out": list(left_out)}
    about = {"machine": "CPU", "cpu": "a CPU", "cores": 2, "commit": commit, "versions": {"onnxruntime": "1.32.0"}}
    return about | {"load": ["1.0", "2.0"], "runs": [run]}


def cells(text, first):
    """Of the lines of tables that begin with `first`."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [line for line in lines if line[0] == first]


def test_what_is_lost_is_said_first(compare):
    text = compare.page(
        {"compare-cpu": results([("aot_fused", 1, 2.0), ("sofie", 1, 1.0), ("aot_fused", 16, 3.0), ("sofie", 16, 6.0)])}
    )
    first = text.split("## ")[1]
    assert first.startswith("What we lose") and "**1 of 2** comparisons" in first
    assert cells(first, "Networks, called from C++: mlp") == [
        ["Networks, called from C++: mlp", "CPU", "1", "2 µs", "SOFIE: 1 µs", "0.50"]
    ]


def test_the_fastest_of_a_row_is_bold_and_what_was_not_measured_is_empty(compare):
    rows = [("aot_fused", 1, 2.0), ("onnxruntime", 1, 4.0), ("aot_fused", 16, 3.0)]
    text = compare.page({"compare-cpu": results(rows)})
    assert cells(text, "1") == [["1", "**2**", "4"]] and cells(text, "16") == [["16", "**3**", ""]]


def test_our_bare_program_is_not_a_win_over_a_peer(compare):
    text = compare.page({"compare-cpu": results([("aot_fused", 1, 2.0), ("fused_call", 1, 0.5), ("sofie", 1, 1.0)])})
    assert "**1 of 1** comparisons" in text
    assert cells(text, "1") == [["1", "2", "0.5", "**1**"]]


def test_losses_are_summed_up_by_theme_and_machine(compare):
    rows = [
        ("tensoa", 1, 4.0),
        ("nvforest", 1, 1.0),
        ("tensoa", 16, 4.0),
        ("nvforest", 16, 3.0),
        ("tensoa", 99, 1.0),
        ("nvforest", 99, 2.0),
    ]
    file = results(rows)
    file["machine"] = "a GPU"
    file["runs"][0]["part"] = "trees"
    text = compare.page({"compare-cpu": results([("aot_fused", 1, 1.0), ("sofie", 1, 2.0)]), "compare-gpu": file})
    assert "\n- Decision trees, a GPU: 2 of 3; nvForest, with 0.25 to 0.75 of ours\n\n" in text
    assert "\n- Networks" not in text.split("## ")[1]


def test_calls_with_a_wait_have_a_separate_table(compare):
    file = results([("aot_graph", 1, 2.0), ("aot", 1, 4.0)])
    file["runs"][0]["rows"] += [row | {"stage": "latency", "median_us": 8.0} for row in file["runs"][0]["rows"]]
    text = compare.page({"compare-gpu": file})
    assert "\nmlp:\n" in text and "\nmlp, a wait after each call:\n" in text
    assert cells(text, "1") == [["1", "**2**", "4"], ["1", "**8**", "**8**"]]


def test_a_library_that_is_smaller_is_a_loss(compare):
    file = results([])
    sizes = {"start_ms": 5, "memory_mb": 10, "disk_mb": 30, "model_mb": 1}
    rows = [{"model": "trees", "variant": "tensoa", **sizes}, {"model": "trees", "variant": "lightgbm", **sizes, "disk_mb": 15}]
    file["runs"] = [{"part": "footprint", "command": "run", "rows": rows, "left_out": []}]
    text = compare.page({"compare-cpu": file})
    assert "**1 of 4** comparisons" in text
    (lost,) = cells(text, "Start, memory, size on disk: disk, trees")
    assert lost[3:] == ["30 MB", "LightGBM: 15 MB", "0.50"]


def test_reasons_of_empty_cells_stand_below(compare):
    text = compare.page(
        {"compare-cpu": results([("aot_fused", 1, 2.0), ("sofie", 1, 4.0)], ["RBDT, because there is no ROOT"])}
    )
    assert "### What was not measured, CPU\n\n- RBDT, because there is no ROOT\n" in text


def test_a_model_without_a_library_that_another_has_is_named_with_the_reason(compare):
    file = results([("tensoa", 1, 2.0), ("onnxruntime", 1, 4.0), ("tl2cgen", 1, 4.0)])
    file["runs"][0] |= {"part": "trees", "rows": [row | {"model": "xgboost-100x6"} for row in file["runs"][0]["rows"]]}
    file["runs"][0]["rows"] += [row | {"model": "xgboost-500x8"} for row in file["runs"][0]["rows"][:2]]
    text = compare.page({"compare-cpu": file})
    assert f"\n- Decision trees: xgboost-500x8 without tl2cgen, because {compare.SLOW}\n" in text
    file["runs"][0]["rows"][1]["variant"] = "another"
    assert "\n- Decision trees: xgboost-500x8 without another, " in compare.page({"compare-cpu": file})
    file["runs"][0]["left_out"] = ["another on xgboost-500x8, because it is not installed"]
    assert "xgboost-500x8 without another" not in compare.page({"compare-cpu": file})


def test_sizes_and_models_of_another_machine_are_named_unless_a_program_printed_why(compare):
    other = results([("tensoa", n, 2.0) for n in (1, 16)] + [("onnxruntime", n, 4.0) for n in (1, 16)])
    other["machine"] = "GPU"
    other["runs"][0]["rows"] += [row | {"model": "larger"} for row in other["runs"][0]["rows"]]
    rows = [("tensoa", 1, 2.0), ("onnxruntime", 1, 4.0)]
    text = compare.page({"compare-cpu": results(rows), "compare-gpu": other})
    assert "\n- Networks, called from C++: mlp with n = 16, because the command has no such call\n" in text
    assert "\n- Networks, called from C++: larger, which only the run on the GPU has\n" in text
    text = compare.page({"compare-cpu": results(rows, ["mlp with 16 rows, because of memory"]), "compare-gpu": other})
    assert "- mlp with 16 rows, because of memory\n" in text and "mlp with n = 16" not in text


def test_each_reason_that_the_page_has_for_a_missing_library_is_used(compare):
    text = (ROOT / "docs" / "compare.md").read_text()
    for (model, name), reason in compare.WITHOUT.items():
        library = compare.NAMES.get(name, name)
        assert any(f"{model} without " in line and library in line and reason in line for line in text.splitlines())


def test_the_files_of_results_and_their_commits_stand_first(compare):
    text = compare.page({"compare-cpu": results([("aot_fused", 1, 2.0), ("sofie", 1, 4.0)])})
    assert "CPU, commit abc ([compare-cpu.json](../benchmarks/results/compare-cpu.json))." in text.split("## ")[0]


def test_versions_of_the_libraries_stand_with_the_machine(compare):
    text = compare.page({"compare-cpu": results([("aot_fused", 1, 2.0), ("sofie", 1, 4.0)])})
    assert "commit abc. Versions: onnxruntime 1.32.0.\n" in text


def test_an_earlier_run_stands_next_to_this_one_slowest_first(compare):
    now = results([("aot_fused", 1, 3.0), ("sofie", 1, 4.0), ("aot_fused", 16, 4.0), ("sofie", 16, 9.0)])
    then = results([("aot_fused", 1, 2.0), ("sofie", 1, 4.0), ("aot_fused", 16, 8.0), ("sofie", 16, 9.0)], commit="def")
    text = compare.page({"compare-cpu": now}, then)
    assert "commit def" in text
    assert [line[1:] for line in cells(text, "networks: mlp")] == [["1", "2", "3", "1.50"], ["16", "8", "4", "0.50"]]


def test_the_page_that_is_checked_in_is_that_of_the_results(compare):
    assert (ROOT / "docs" / "compare.md").read_text() == compare.page(compare.read_results())
