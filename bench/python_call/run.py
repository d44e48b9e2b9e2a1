#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A call of tensoa.Model next to the same call in C++, and to ONNX Runtime's in Python, of one network, 15 -> 64 -> 64 -> 1.

    PYTHONPATH=python .venv/bin/python bench/python_call/run.py [--folder FOLDER] [--cpp build/bench/bench_python_call]

Columns in and out are arrays of NumPy in a dict, each with its own memory; ONNX Runtime gets one array [rows, 15], and writes a
new one, or, bound, into the caller's (io_binding). One thread. Median of 101 rounds, interleaved; the C++ program before and after.
"""

import argparse
import platform
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

import tensoa

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
import measuring  # noqa: E402

ROUNDS = 101


def nanoseconds(call, calls):
    start = time.perf_counter_ns()
    for _ in range(calls):
        call()
    return (time.perf_counter_ns() - start) / calls


def models(folder):
    """The network as package and ONNX file, written where they are not there."""
    package, onnx = folder / "net.pt2", folder / "net.onnx"
    if not (package.exists() and onnx.exists()):
        sys.path.insert(0, str(ROOT / "bench" / "infer"))
        from run import write_model  # the network of `tensoa infer`'s figures

        folder.mkdir(parents=True, exist_ok=True)
        write_model(str(onnx), str(folder / "binding.json"), str(package))
    return package, onnx


def session_calls(onnx, features):
    """ONNX Runtime's calls, as (name, function)."""
    try:
        import onnxruntime
    except ImportError:
        return []
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(onnx), options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: features}
    answers = np.empty((len(features), 1), np.float32)
    bound = session.io_binding()
    bound.bind_cpu_input(session.get_inputs()[0].name, features)
    output = session.get_outputs()[0].name
    bound.bind_output(output, "cpu", 0, np.float32, answers.shape, answers.ctypes.data)
    name = f"onnxruntime {onnxruntime.__version__}"
    return [
        (f"{name}, run", lambda: session.run(None, feed)),
        (f"{name}, run_with_iobinding", lambda _=answers: session.run_with_iobinding(bound)),  # which does not keep answers
    ]


def measure(rows, package, onnx, cpp):
    random = np.random.default_rng(0)
    model = tensoa.Model(package)
    (block,) = model.inputs
    # Anywhere, not at equal distances: as the C++ program has them.
    columns = {}
    memory = random.normal(size=16 * (rows + 64 * 16 * 16)).astype(np.float32)
    for i, name in enumerate(block.columns):
        first = i * rows + 64 * i * i
        columns[name] = memory[first : first + rows]
    out = {"score": np.empty(rows, np.float32)}
    features = np.stack(list(columns.values()), 1)
    turned = np.asfortranarray(features)  # columns at one distance: nothing is copied
    calls = {
        "tensoa.Model, dict, out=": lambda: model(columns, out=out),
        "tensoa.Model, keywords, out=": lambda: model(**columns, out=out),
        "tensoa.Model, dict": lambda: model(columns),
        "tensoa.Model, one array [rows, 15] of columns": lambda: model(turned),
        **dict(session_calls(onnx, features)),
    }
    number = max(1, 20_000 // (rows + 20))
    rounds = {name: [] for name in calls}
    in_cpp = []
    for _ in range(2):
        if cpp:
            output = subprocess.run([cpp, package, str(rows), str(number)], capture_output=True, text=True, check=True)
            in_cpp.append(float(output.stdout))
        for _ in range(ROUNDS // 2 + 1):
            for name, call in calls.items():
                rounds[name].append(nanoseconds(call, number))
    print(f"\n{rows} rows, {number} calls a round")
    if in_cpp:
        print(f"  {min(in_cpp) / 1e3:9.3f} µs  C++, a planned call (two runs: {in_cpp[0] / 1e3:.3f}, {in_cpp[1] / 1e3:.3f})")
    for name, times in rounds.items():
        beyond = f"  (+{(statistics.median(times) - min(in_cpp)) / 1e3:.3f} to C++)" if in_cpp else ""
        print(f"  {statistics.median(times) / 1e3:9.3f} µs  {name}{beyond if name.startswith('tensoa') else ''}")


def measure_threads(rows, package, cpp):
    """Rows a second of one model that several threads call; median of five seconds, in turns with C++."""
    model = tensoa.Model(package)
    (block,) = model.inputs
    print(f"\n{rows} rows a call, one model")

    def rate_in_cpp(threads):
        output = subprocess.run([cpp, package, str(rows), "threads", str(threads)], capture_output=True, text=True, check=True)
        return float(output.stdout) * rows

    def rate(threads):
        done = [0] * threads

        def work(place, end, done=done):
            columns = {name: np.full(rows, 0.5, np.float32) for name in block.columns}
            out = {"score": np.empty(rows, np.float32)}
            while time.monotonic() < end:
                model(columns, out=out)
                done[place] += 1

        start = time.monotonic()
        all_threads = [threading.Thread(target=work, args=(place, start + 1)) for place in range(threads)]
        for thread in all_threads:
            thread.start()
        for thread in all_threads:
            thread.join()
        return sum(done) * rows / (time.monotonic() - start)

    rates = {"Python": rate} | ({"C++": rate_in_cpp} if cpp else {})
    first = {}
    for threads in (1, 2, 4, 8):
        measured = {name: [] for name in rates}
        for _ in range(5):
            for name, of in rates.items():
                measured[name].append(of(threads))
        line = []
        for name, each in measured.items():
            median = statistics.median(each)
            scaling = median / first.setdefault(name, median) / threads
            line.append(f"{name} {median / 1e6:8.2f} million rows a second ({scaling:.3f} of {threads} x one thread)")
        print(f"  {threads} threads: {', '.join(line)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "python_call")
    parser.add_argument("--cpp", type=Path, help="the program bench_python_call")
    parser.add_argument("--rows", type=int, nargs="*", default=[1, 16, 1000, 100_000, 1_000_000])
    options = parser.parse_args()
    print(f"{measuring.processor()}, Python {platform.python_version()}, NumPy {np.__version__}")
    package, onnx = models(options.folder)
    for rows in options.rows:
        measure(rows, package, onnx, options.cpp)
    measure_threads(10_000, package, options.cpp)


if __name__ == "__main__":
    main()
