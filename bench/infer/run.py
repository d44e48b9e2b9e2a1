#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""`tensoa infer` compared with reading the same file and doing nothing, and with ONNX Runtime in Python, on one thread.

    .venv/bin/python bench/infer/run.py --out FILE.json [--rows N] [--folder FOLDER] [--repeats N] [--compression NAME]

Writes N rows of 15 float32 columns as Parquet, a network 15 -> 64 -> 64 -> 1 as ONNX file and package, and runs in turns:

- read: pyarrow reads the file with the settings of `tensoa infer` (batches, buffers), and drops it;
- infer: the program, answers to Parquet;
- onnxruntime: pyarrow batches, put together row by row, run by ONNX Runtime, answers to Parquet.

Each run is a process; its seconds are processor time from when all is imported (infer: of the whole process), with the wall
time next to it. Medians. `flops_per_row` and `bytes_per_row` are counted from the network and the file.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = [f"x{i}" for i in range(15)]
LAYERS = (15, 64, 64, 1)
BATCH = 20_000  # rows of a chunk of `tensoa infer`
BUFFER = 1 << 18
ROW_GROUP = 1 << 20


def write_data(path, rows, compression):
    """Standard normal numbers, from a seed."""
    rows = int(rows)
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(1)
    schema = pa.schema([pa.field(name, pa.float32(), nullable=False) for name in COLUMNS])
    with pq.ParquetWriter(path, schema, compression=compression, use_dictionary=False) as writer:
        for first in range(0, rows, ROW_GROUP):
            n = min(ROW_GROUP, rows - first)
            columns = [random.standard_normal(n, dtype=np.float32) for _ in COLUMNS]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=ROW_GROUP)


def write_model(onnx, description, package):
    """The ONNX file of the network, the binding and the package."""
    sys.path += [str(ROOT / "bench" / "peers"), str(ROOT / "python")]
    import torch
    from networks import dense
    from write_models import export

    torch.manual_seed(1)
    module = dense(*LAYERS, last=torch.nn.Sigmoid()).eval()
    names = ["features", "answers"]
    export(module, (torch.randn(5, LAYERS[0]),), names, onnx, {name: {0: "n"} for name in names})

    def block(name, columns):
        described = [{"name": column, "plane": plane} for plane, column in enumerate(columns)]
        return {"name": name, "collection": 0, "shape": "rows", "kind": "plain", "element": [], "column_dtype": "float32",
                "dtype": "float32", "columns": described}  # fmt: skip

    binding = {"schema": 1, "match": "auto", "inputs": [block("features", COLUMNS)], "outputs": [block("answers", ["score"])]}
    Path(description).write_text(json.dumps(binding))
    command = [sys.executable, "-m", "tensoa.export", onnx, "--binding", description, "--out", package]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})


def batches(path):
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False)
    return file.iter_batches(batch_size=BATCH, columns=COLUMNS, use_threads=False)


def read(path):
    for _ in batches(path):
        pass


def onnxruntime(path, model, out):
    import numpy as np
    import onnxruntime as ort
    import pyarrow as pa
    import pyarrow.parquet as pq

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    schema = pa.schema([pa.field("score", pa.float32(), nullable=False)])
    with pq.ParquetWriter(out, schema, compression="zstd", use_dictionary=False) as writer:
        for batch in batches(path):
            rows = np.stack([column.to_numpy() for column in batch.columns], axis=1)
            (scores,) = session.run(None, {"features": rows})
            writer.write_batch(pa.record_batch([pa.array(scores.reshape(-1))], schema=schema))


def one(variant, arguments):
    """Runs a variant in this process; prints its times."""
    import numpy  # noqa: F401
    import pyarrow as pa
    import pyarrow.parquet

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    if variant == "onnxruntime":
        import onnxruntime as _  # noqa: F401
    start, cpu = time.perf_counter(), time.process_time()
    globals()[variant](*arguments)
    print(json.dumps({"cpu": time.process_time() - cpu, "wall": time.perf_counter() - start}))


def run(command):
    """The times, the largest memory in bytes and the output of a process."""
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{command}: exit status {os.waitstatus_to_exitcode(status)}")
    wall = time.perf_counter() - start
    return {"cpu": used.ru_utime + used.ru_stime, "wall": wall, "peak": used.ru_maxrss * 1024}, output


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def main():
    if sys.argv[1:2] == ["--one"]:
        return one(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "infer")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--compression", default="snappy")
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "tensoa")
    options = parser.parse_args()
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / f"rows-{options.rows}-{options.compression}.parquet"
    onnx, description, package = (folder / f"mlp.{kind}" for kind in ("onnx", "json", "pt2"))
    # In processes of their own: what this one has in memory would count as the largest memory of those that it starts.
    child = [sys.executable, __file__, "--one"]
    if not data.exists():
        run([*child, "write_data", data.with_suffix(".part"), options.rows, options.compression])
        data.with_suffix(".part").rename(data)
    if not package.exists():
        run([*child, "write_model", onnx, description, package])
    json_file = folder / "infer.json"
    infer = [options.program, "infer", "--model", package, "--threads", 1, "--rows-per-chunk", BATCH, "--json", json_file]
    commands = {
        "read": [*child, "read", data],
        "infer": [*infer, "--input", data, "--output", folder / "scores.parquet"],
        "onnxruntime": [*child, "onnxruntime", data, onnx, folder / "scores-onnxruntime.parquet"],
    }
    times = {name: [] for name in commands}
    stages = []
    for repeat in range(options.repeats + 1):
        for name, command in commands.items():
            figures, output = run(command)
            if name == "infer":
                stages.append(json.loads(json_file.read_text()))
            else:
                figures.update(json.loads(output))
            if repeat > 0:  # the first warms up
                times[name].append(figures)
    median = {name: {kind: statistics.median(f[kind] for f in all_) for kind in all_[0]} for name, all_ in times.items()}
    stage = {name: statistics.median(s["stage_seconds"][name] for s in stages[1:]) for name in ("read", "infer", "write")}
    flops = sum(2 * a * b for a, b in pairwise(LAYERS))
    result = {
        "command": " ".join(["bench/infer/run.py", *sys.argv[1:]]),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": processor(),
        "load_average": os.getloadavg()[0],
        "rows": options.rows,
        "bytes_per_row": {"file": data.stat().st_size / options.rows, "columns": 4 * LAYERS[0]},
        "flops_per_row": flops,
        "median": median,
        "all": times,
        "stage_seconds_of_infer": stage,
        "gflops_of_infer_stage": flops * options.rows / stage["infer"] / 1e9,
        "bytes_copied": stages[-1]["bytes_copied"],
        "infer_over_read": median["infer"]["cpu"] / median["read"]["cpu"],
        "onnxruntime_over_infer": median["onnxruntime"]["cpu"] / median["infer"]["cpu"],
    }
    options.out.write_text(json.dumps(result, indent=2) + "\n")
    for name, figures in median.items():
        print(f"{name:<12} {figures['cpu']:8.3f} s processor  {figures['wall']:8.3f} s wall  {figures['peak'] / 1e6:6.0f} MB")
    print(
        f"infer / read {result['infer_over_read']:.2f}, ONNX Runtime / infer {result['onnxruntime_over_infer']:.2f}; ", end=""
    )
    print(f"{result['gflops_of_infer_stage']:.1f} GFLOP/s in the network, {flops} FLOP and {4 * LAYERS[0]} bytes a row")
    return 0


if __name__ == "__main__":
    sys.exit(main())
