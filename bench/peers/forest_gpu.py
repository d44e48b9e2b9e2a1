#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Our trees beside NVIDIA's nvForest on one GPU: calls on rows that lie there, each waited for.

    python bench/peers/forest_gpu.py MODEL... --features FILE [--program build/tensoa-bench] [--rows N...] [--repeats N]

MODEL and FILE are those of bench/peers/forest.py. Ours reads columns, through `tensoa-bench forest --device cuda:0`; nvForest
reads the row-major matrix it is made for, in float32, in the layout and with the chunk size that its own optimize() finds for
this number of rows. Its answers are compared with those of treelite on the CPU.

Needs Linux with a GPU and the wheels nvforest-cu13, libnvforest-cu13, libraft-cu13, librmm-cu13, pylibraft-cu13, rmm-cu13,
rapids-logger, treelite, cupy-cuda13x, scikit-learn.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import cupy
import numpy as np
import nvforest
import treelite

COLUMNS = 28
COMPARED = 1000
SHORTEST = 0.02  # seconds, of a timed run


def ours(arguments: argparse.Namespace, model: Path) -> dict[int, dict]:
    """The waiting calls of `tensoa-bench forest`, by rows."""
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        subprocess.run(
            [arguments.program, "forest", model, "--features", arguments.features, "--device", "cuda:0"]
            + ["--repeats", str(arguments.repeats), "--json", figures, "--rows", *map(str, arguments.rows)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        results = json.loads(figures.read_text())["rows"]
    return {row["n"]: row for row in results if row["variant"] == "tensoa" and row["stage"] == "gpu"}


def seconds_of(call, repeats: int) -> list[float]:
    """Seconds of a call, from runs that are long enough for the clock."""
    call()
    begin = time.perf_counter()
    call()
    calls = max(1, int(SHORTEST / (time.perf_counter() - begin)))
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - begin) / calls)
    return times


def answers_of(forest, rows: cupy.ndarray) -> cupy.ndarray:
    """Of a classifier: probabilities, which take no pass more."""
    return forest.predict_proba(rows) if forest.is_classifier else forest.predict(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--features", required=True, type=Path)
    parser.add_argument("--program", default="build/tensoa-bench")
    parser.add_argument("--rows", nargs="+", type=int, default=[1, 16, 256, 1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()

    features = np.fromfile(arguments.features, np.float32).reshape(-1, COLUMNS)
    matrix = cupy.asarray(features)
    print(f"nvforest {nvforest.__version__}, treelite {treelite.__version__}, cupy {cupy.__version__}")
    print(f"{'model':16} {'rows':>8} {'tensoa us':>10} {'nvForest us':>12} {'ratio':>6}  layout, chunk; rows/us of both; error")
    for model in arguments.models:
        mine = ours(arguments, model)
        loaded = nvforest.load_model(model, device="gpu", precision="single")
        reader = treelite.frontend.load_lightgbm_model if model.suffix == ".txt" else treelite.frontend.load_xgboost_model
        expected = treelite.gtil.predict(reader(str(model)), features[:COMPARED])
        error = np.abs(answers_of(loaded, matrix[:COMPARED]).get().ravel() - expected.ravel()[:COMPARED]).max()
        if not error < 1e-4:
            raise SystemExit(f"{model}: nvForest is {error} off treelite's answers, expected less than 1e-4")
        for n in arguments.rows:
            rows = matrix[:n]
            method = "predict_proba" if loaded.is_classifier else "predict"
            forest = loaded.optimize(data=rows, predict_method=method)
            theirs = statistics.median(seconds_of(lambda forest=forest, rows=rows: answers_of(forest, rows), arguments.repeats))
            own = mine[n]["median_us"]
            print(
                f"{model.stem:16} {n:8} {own:10.1f} {theirs * 1e6:12.1f} {theirs * 1e6 / own:6.2f}  {forest.layout}, "
                f"{forest.default_chunk_size}; {n / own:.1f}, {n / theirs / 1e6:.1f}; {error:.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
