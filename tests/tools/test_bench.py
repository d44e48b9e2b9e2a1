# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The files that `tensoa bench` writes."""

import json

from conftest import names_in, succeed

ROW = {"variant": str, "device": str, "n": int, "threads": int}
TIMES = {"median_us": float, "min_us": float, "max_us": float}


def bench(out, name, model, *arguments):
    """The rows of the file; what stands beside them is checked."""
    path = out / "bench.json"
    succeed("bench", name, "generate:2:8:40", "--model", model, "--device", "cpu", *arguments, "--json", path)
    assert names_in(out) == ["bench.json"]
    result = json.loads(path.read_text())
    assert set(result) == {"bench", "command", "machine", "versions", "rows"}
    assert result["bench"] == name
    assert f"bench {name} generate:2:8:40 --model {model}" in result["command"]
    assert set(result["machine"]) == {"cpu", "cores", "gpus"}
    assert set(result["versions"]) == {"tensoa", "torch", "compiler"}
    return result["rows"]


def has(row, types):
    return all(type(row.get(key)) is kind for key, kind in types.items())


def test_path_times_both_roads_stage_by_stage(out, our_model):
    rows = bench(out, "path", our_model, "--repeats", 3)
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
    rows = bench(out, "accuracy", our_model)
    assert len(rows) == 2
    for row in rows:
        assert has(row, ROW | {"max_abs_error": float, "max_rel_error": float, "flips": int})
        assert (row["variant"], row["device"]) == ("jit", "cpu")
        assert 0 < row["max_abs_error"] <= 1e-3 and 0 < row["max_rel_error"] <= 3e-5 and row["flips"] <= 3
