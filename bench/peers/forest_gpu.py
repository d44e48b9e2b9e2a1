#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Our trees and NVIDIA's nvForest on one GPU: calls on rows that lie there, each waited for.

    python bench/peers/forest_gpu.py MODEL... --features FILE [--program build/tensoa-bench] [--rows N...] [--repeats N] [--json FILE]

MODEL and FILE are those of bench/peers/forest.py. Ours reads columns, through `tensoa-bench forest --device cuda:0`; nvForest
reads the row-major matrix it is made for, in float32, in the layout and with the chunk size that its own optimize() finds for
this number of rows. Its answers are compared with those of treelite on the CPU.

Where nvForest is not installed, ours run alone. It needs Linux with a GPU and the wheels nvforest-cu13, libnvforest-cu13,
libraft-cu13, librmm-cu13, pylibraft-cu13, rmm-cu13, rapids-logger, treelite, cupy-cuda13x, scikit-learn.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

try:
    import cupy
    import nvforest
    import treelite
except ImportError as error:
    nvforest = None
    print(f"left out: nvForest, because {error}")

COLUMNS = 28
COMPARED = 1000
SHORTEST = 0.02  # seconds, of a timed run


def ours(arguments: argparse.Namespace, model: Path, features: Path) -> list[dict]:
    """The rows of `tensoa-bench forest` that are of calls."""
    figures = features.with_suffix(".json")
    subprocess.run(
        [arguments.program, "forest", model, "--features", features, "--device", "cuda:0"]
        + ["--repeats", str(arguments.repeats), "--json", figures, "--rows", *map(str, arguments.rows)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return [row for row in json.loads(figures.read_text())["rows"] if row["stage"] == "gpu"]


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


def answers_of(forest, rows):
    """Of a classifier: probabilities, which take no pass more."""
    return forest.predict_proba(rows) if forest.is_classifier else forest.predict(rows)


def by_nvforest(arguments: argparse.Namespace, model: Path, features: np.ndarray) -> list[dict]:
    """The same of nvForest."""
    matrix = cupy.asarray(features)
    loaded = nvforest.load_model(model, device="gpu", precision="single")
    reader = treelite.frontend.load_lightgbm_model if model.suffix == ".txt" else treelite.frontend.load_xgboost_model
    expected = treelite.gtil.predict(reader(str(model)), features[:COMPARED])
    error = np.abs(answers_of(loaded, matrix[:COMPARED]).get().ravel() - expected.ravel()[:COMPARED]).max()
    if not error < 1e-4:
        raise SystemExit(f"{model}: nvForest is {error} off treelite's answers, expected less than 1e-4")
    made = []
    for n in arguments.rows:
        rows = matrix[:n]
        method = "predict_proba" if loaded.is_classifier else "predict"
        forest = loaded.optimize(data=rows, predict_method=method)
        times = seconds_of(lambda forest=forest, rows=rows: answers_of(forest, rows), arguments.repeats)
        row = {"model": model.stem, "variant": "nvforest", "stage": "gpu", "device": "cuda:0", "n": n, "threads": 1}
        row |= {"median_us": statistics.median(times) * 1e6, "min_us": min(times) * 1e6, "max_us": max(times) * 1e6}
        made.append(row | {"layout": f"{forest.layout}, {forest.default_chunk_size}", "max_abs_error": float(error)})
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--features", required=True, type=Path)
    parser.add_argument("--program", default="build/tensoa-bench")
    parser.add_argument("--rows", nargs="+", type=int, default=[1, 16, 256, 1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()

    features = np.fromfile(arguments.features, np.float32).reshape(-1, COLUMNS)
    features = np.tile(features, (-(-max(arguments.rows) // len(features)), 1))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "features.f32"
        features.tofile(file)
        for model in arguments.models:
            rows += ours(arguments, model, file)
            if nvforest is not None:
                rows += by_nvforest(arguments, model, features)
    for row in rows:
        print(f"{row['model']:16} {row['variant']:14} {row['n']:8} {row['median_us']:10.1f} us  {row.get('layout', '')}")
    if arguments.json:
        result = {"bench": "forest_gpu", "command": " ".join(["python", *sys.argv]), "rows": rows}
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
