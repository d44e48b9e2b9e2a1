# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The files that `tensoa bench` writes."""

import json

import pytest
from conftest import names_in, refuse, succeed

ROW = {"variant": str, "device": str, "n": int, "threads": int}
TIMES = {"median_us": float, "min_us": float, "max_us": float}


def bench(out, name, *arguments):
    """The rows of the file; what stands beside them is checked."""
    path = out / "bench.json"
    arguments = [str(argument) for argument in (*arguments, "--device", "cpu")]
    succeed("bench", name, *arguments, "--json", path)
    assert names_in(out) == ["bench.json"]
    result = json.loads(path.read_text())
    assert set(result) == {"bench", "command", "machine", "versions", "rows"}
    assert result["bench"] == name
    assert " ".join(("bench", name, *arguments)) in result["command"]
    assert set(result["machine"]) == {"cpu", "cores", "gpus"}
    assert set(result["versions"]) == {"tensoa", "torch", "compiler"}
    return result["rows"]


def bench_events(out, name, model, *arguments):
    return bench(out, name, "generate:2:8:40", "--model", model, *arguments)


def has(row, types):
    return all(type(row.get(key)) is kind for key, kind in types.items())


def test_path_times_both_roads_stage_by_stage(out, our_model):
    rows = bench_events(out, "path", our_model, "--repeats", 3)
    assert all(has(row, ROW | TIMES | {"stage": str}) for row in rows)
    assert all(0 <= row["min_us"] <= row["median_us"] <= row["max_us"] for row in rows)
    assert {row["stage"] for row in rows if row["variant"] == "pack"} == {"pack", "model", "answer", "total"}
    assert {row["stage"] for row in rows if row["variant"] == "jit_copy"} == {"bind", "model", "total"}
    totals = [row for row in rows if row["stage"] == "total"]
    assert [row["variant"] for row in totals] == ["pack", "jit_copy"] * 2
    for packed, direct in zip(totals[::2], totals[1::2]):
        assert packed["n"] == direct["n"] > 0
        assert direct["baseline"] == "pack" and "baseline" not in packed
        assert direct["ratio"] == packed["median_us"] / direct["median_us"]
        assert direct["bytes_copied"] == 4 * direct["n"] < packed["bytes_copied"]


def test_accuracy_compares_with_float64(out, our_model):
    rows = bench_events(out, "accuracy", our_model)
    assert len(rows) == 2
    for row in rows:
        assert has(row, ROW | {"max_abs_error": float, "max_rel_error": float, "flips": int})
        assert (row["variant"], row["device"]) == ("jit", "cpu")
        assert 0 < row["max_abs_error"] <= 1e-3 and 0 < row["max_rel_error"] <= 3e-5 and row["flips"] <= 3


def test_binding_times_ours_beside_the_library_and_packing(out):
    rows = bench(out, "binding", "--rows", 0, 1, 33, "--repeats", 2)
    assert all(has(row, ROW | TIMES | {"columns": int, "bytes_copied": int}) for row in rows)
    assert all(0 < row["min_us"] <= row["median_us"] <= row["max_us"] for row in rows)
    by_place = {}
    for row in rows:
        by_place.setdefault((row["n"], row["columns"]), {})[row["variant"]] = row
    assert list(by_place) == [(n, columns) for n in (0, 1, 33) for columns in (1, 3, 16, 64, 30)]
    for (n, columns), variants in by_place.items():
        rebind = "rebind_event" if columns == 30 else "rebind"
        assert set(variants) == {"pack", "from_blob", "from_blob_query", "bind", "view", rebind}
        row_bytes = 4 * (3 + 3 + 4 + 3 + 1 + 7) + 2 * 8 + 1 + 6 * 8 if columns == 30 else 4 * columns
        copied = {variant: row["bytes_copied"] for variant, row in variants.items()}
        assert copied == dict.fromkeys(variants, 0) | {"pack": n * row_bytes}
        for variant, baseline in (("bind", "from_blob"), (rebind, "pack")):
            row = variants[variant]
            assert (row["baseline"], row["ratio"]) == (baseline, variants[baseline]["median_us"] / row["median_us"])


@pytest.mark.parametrize("rows", ["-1", "many", "100000001"])
def test_binding_refuses_impossible_rows(rows):
    refuse("bench", "binding", "--rows", rows, says=["--rows", rows])
