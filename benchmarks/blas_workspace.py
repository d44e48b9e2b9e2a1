# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What a smaller workspace of cuBLAS costs: times of linear layers on a GPU, for several sizes of it.

    python blas_workspace.py [--json FILE]       needs a GPU; half a minute

Each size has a process of its own, since torch asks for the size once. Times are medians of REPEATS batches, in microseconds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from functools import partial

import torch

MIB = [0, 1, 2, 4, 8, 32]
ROWS = [1, 16, 1000, 16384, 262144]
LAYERS = [
    (64, 64),
    (134, 64),
    (256, 256),
    (1024, 1024),
    (4096, 4096),
    (16384, 64),
    (64, 16384),
]
MOST_PRODUCTS = 1 << 35  # of a layer: a larger one is busy for so long that no workspace helps
REPEATS, CALLS = 5, 20


def median_us(call) -> float:
    """Of CALLS in one CUDA graph, so that the GPU's time is what is measured, not Python's."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(CALLS):
                call()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        times = []
        for _ in range(REPEATS + 2):  # the first two warm up
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1000 / CALLS)
    return statistics.median(times[2:])


@torch.inference_mode()
def measure() -> list[dict]:
    results = []
    for inputs, outputs in LAYERS:
        for rows in ROWS:
            if rows * inputs * outputs > MOST_PRODUCTS:
                continue
            layer = torch.nn.Linear(inputs, outputs, device="cuda")
            x = torch.rand(rows, inputs, device="cuda")
            results.append(
                {
                    "rows": rows,
                    "inputs": inputs,
                    "outputs": outputs,
                    "us": median_us(partial(layer, x)),
                }
            )
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        json.dump(measure(), sys.stdout)
        return
    figures = {}
    for mib in MIB:
        sizes = {
            "CUBLAS_WORKSPACE_CONFIG": f":{mib * 1024}:1",
            "CUBLASLT_WORKSPACE_SIZE": str(mib * 1024),
        }
        command = [sys.executable, __file__, "--one"]
        figures[mib] = json.loads(subprocess.check_output(command, env=os.environ | sizes))
    print(f"{'rows':>8} {'layer':>16} {'us, 32 MiB':>12}  ratio with " + "".join(f"{mib:>7}" for mib in MIB) + " MiB")
    for place, most in enumerate(figures[MIB[-1]]):
        ratios = "".join(f"{figures[mib][place]['us'] / most['us']:7.2f}" for mib in MIB)
        layer = f"{most['inputs']} -> {most['outputs']}"
        print(f"{most['rows']:8} {layer:>16} {most['us']:12.1f}  {'':10} {ratios}")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(
                {
                    "device": torch.cuda.get_device_name(),
                    "torch": torch.__version__,
                    "mib": figures,
                },
                file,
                indent=1,
            )


if __name__ == "__main__":
    main()
