# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Times a TorchScript model in Python, without tensoa: what `jit_copy` of `tensoa-bench forward` is compared with.

    python python_jit.py build/bench_packages/mlp.pt [--device cuda] [--rows 1 16 1000] [--json FILE]

The inputs are columns [3, rows], given to the model as the strided tensor [rows, 3]; the answer is copied into columns, as tensoa does.
`total`: calls back to back, one wait at the end; `latency`: a wait after each call. Medians of REPEATS batches, in microseconds.
"""

import argparse
import json
import statistics
import sys
import time

import torch

REPEATS, SHORTEST_S = 15, 0.002


def batch_us(call, wait, waits_each, calls):
    begin = time.perf_counter()
    for _ in range(calls):
        call()
        if waits_each:
            wait()
    wait()
    return (time.perf_counter() - begin) * 1e6 / calls


def measure(model, device, rows):
    columns = torch.rand(3, rows, device=device)
    answers = torch.empty(2, rows, device=device)
    inputs, outputs = columns.t(), answers.t()

    def call():
        outputs.copy_(model(inputs))

    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    for _ in range(10):
        call()
    wait()
    for stage in ("total", "latency"):
        once = batch_us(call, wait, stage == "latency", 20)
        calls = max(20, int(SHORTEST_S * 1e6 / once))
        times = [batch_us(call, wait, stage == "latency", calls) for _ in range(REPEATS + 2)][2:]
        yield {
            "model": "mlp",
            "variant": "python_jit",
            "stage": stage,
            "device": device,
            "n": rows,
            "threads": 1,
            "median_us": statistics.median(times),
            "min_us": min(times),
            "max_us": max(times),
        }


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="TorchScript: [n, 3] -> [n, 2]")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 16, 1000, 16384, 1_000_000])
    parser.add_argument("--json", help="write the figures to this file")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model = torch.jit.load(arguments.model, map_location=arguments.device).eval()
    rows = [row for n in arguments.rows for row in measure(model, arguments.device, n)]
    for row in rows:
        print(f"{row['n']:9} {row['stage']:8} {row['median_us']:10.1f} us")
    if arguments.json:
        is_gpu = arguments.device.startswith("cuda")
        machine = torch.cuda.get_device_name() if is_gpu else "CPU"
        with open(arguments.json, "w") as file:
            json.dump(
                {
                    "bench": "python_jit",
                    "command": "python " + " ".join(sys.argv),
                    "machine": machine,
                    "versions": {"torch": torch.__version__},
                    "rows": rows,
                },
                file,
                indent=1,
            )


if __name__ == "__main__":
    main()
