#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A call of tensoa.Model on a GPU next to torch's, of one network, 15 -> 64 -> 64 -> 1, and next to the way over the host.

    PYTHONPATH=python python bench/python_call/gpu.py [--folder FOLDER] [--rows N...]

"Call": time of one among many that are enqueued without waiting; "answer": with a wait after each. Columns are tensors of torch at uneven
distances. torch gets them stacked into [rows, 15] (as the model wants them), or, "stacked before", has them so already; torch.compile in
"reduce-overhead" mode is a CUDA graph. Both multiply in float32, the package in three products of tf32 (as exact). "Over the host": columns
to NumPy, the package on the CPU, the answer back. Median of 51 rounds, interleaved.
"""

import argparse
import statistics
import time
from pathlib import Path

import torch
from torch import nn

import tensoa

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 51
COLUMNS = [f"f{i}" for i in range(15)]


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(15, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)).eval()


def microseconds(call, calls, waits):
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(calls):
        call()
        if waits:
            torch.cuda.synchronize()
    taken = (time.perf_counter_ns() - start) / calls / 1e3
    torch.cuda.synchronize()
    return taken


def measure(rows, folder, module, compiled):
    gpu, cpu = (
        tensoa.Model(folder / f"net-{target}.pt2", device=device) for target, device in (("cuda", "cuda:0"), ("cpu", "cpu"))
    )
    memory = torch.randn(16 * (rows + 64 * 16 * 16), device="cuda")
    columns = {name: memory[(first := i * rows + 64 * i * i) : first + rows] for i, name in enumerate(COLUMNS)}
    stacked = torch.stack(list(columns.values()), 1)
    turned = stacked.T.contiguous().T
    out = {"score": torch.empty(rows, device="cuda")}

    stream = torch.cuda.Stream()

    def over_the_host():
        return torch.from_numpy(cpu({name: column.cpu().numpy() for name, column in columns.items()})["score"]).cuda()

    with torch.inference_mode():
        calls = {
            "tensoa.Model, dict, out=": lambda: gpu(columns, out=out),
            "tensoa.Model, dict": lambda: gpu(columns),
            "tensoa.Model, dict, stream=": lambda: gpu(columns, stream=stream),
            "tensoa.Model, [rows, 15] of columns": lambda: gpu(turned),
            "tensoa.Model, [rows, 15] of rows": lambda: gpu(stacked),
            "torch, stack and call": lambda: module(torch.stack(list(columns.values()), 1)),
            "torch, stacked before": lambda: module(stacked),
            "torch.compile in a CUDA graph, stack and call": lambda: compiled(torch.stack(list(columns.values()), 1)),
            "torch.compile in a CUDA graph, stacked before": lambda: compiled(stacked),
            "over the host": over_the_host,
        }
        expected = module(stacked)[:, 0]
        for name, call in calls.items():
            for _ in range(3):
                answer = call()
            answer = answer["score"] if isinstance(answer, dict) else answer
            torch.testing.assert_close(answer.flatten(), expected, rtol=1e-3, atol=1e-3, msg=name)
        rounds = {name: ([], []) for name in calls}
        for _ in range(ROUNDS):
            for name, call in calls.items():
                for waits in (False, True):
                    few = rows > 10_000 or name == "over the host"
                    rounds[name][waits].append(microseconds(call, 3 if few else 30, waits))
    print(f"\n{rows} rows            call     answer")
    for name, (calls_of, answers) in rounds.items():
        print(f"  {statistics.median(calls_of):9.1f} µs {statistics.median(answers):9.1f} µs  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "python_call")
    parser.add_argument("--rows", type=int, nargs="*", default=[16, 1000, 100_000])
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    for target in ("cpu", "cuda"):
        package = options.folder / f"net-{target}.pt2"
        tensoa.compile(
            network(),
            package,
            columns={"input": COLUMNS},
            outputs=["score"],
            target=target,
        )
    module = network().cuda()
    compiled = torch.compile(network().cuda(), mode="reduce-overhead", dynamic=False)
    for rows in options.rows:
        measure(rows, options.folder, module, compiled)


if __name__ == "__main__":
    main()
