#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""One network called from Python, by tensoa and by the frameworks: torch eager, TorchScript, torch.compile, ExecuTorch, ONNX Runtime.

    python bench/peers/frameworks.py build/bench_packages [--device cuda] [--rows 1 16 1000] [--threads 1 2] [--json FILE]

The network is mlp.pt of `make bench-packages`, 3 -> 64 -> 64 -> 2. Data lies in columns [3, rows]. Torch gets the strided tensor
[rows, 3] over them; ExecuTorch and ONNX Runtime, which take rows only, get packed rows in each call; all answers are copied into
columns, tensoa writes them there. A call has one thread; --threads is the number of threads that call at the same time, each with its own
data. On a CPU times are processor time of the process for each call. On a GPU wall time: `total`, calls back to back with one
wait at the end, and `latency`, a wait after each call. Medians of REPEATS batches, in turns. ExecuTorch's programs stay in the folder.
A framework that does not run here is named with what it says (`left out: NAME, because …`); one whose answers differ from torch's
is an error.
"""

import argparse
import itertools
import json
import statistics
import sys
import threading
import time
import warnings
from pathlib import Path

import torch

REPEATS = 15
SHORTEST_S, SHORTEST_OF_THREADS_S = 0.002, 0.02  # of a batch; longer where each batch starts threads
ROOT = Path(__file__).resolve().parents[2]


class Data:
    """Columns in and out, and what torch answers."""

    def __init__(self, network, rows, device):
        self.columns = torch.rand(3, rows, device=device)
        self.answers = torch.zeros(2, rows, device=device)
        self.inputs, self.outputs = self.columns.t(), self.answers.t()
        with torch.no_grad():
            self.truth = network(self.inputs).t()


def torch_module(network, _folder, _device):
    return lambda data: data.outputs.copy_(network(data.inputs))


def torchscript(_network, folder, device):
    return torch_module(torch.jit.load(folder / "mlp.pt", map_location=device).eval(), folder, device)


def compiled(network, folder, device):
    torch._dynamo.reset()
    return torch_module(torch.compile(network, dynamic=False), folder, device)


def cuda_graphs(network, _folder, device):
    if device == "cpu":
        raise RuntimeError("CUDA graphs need a GPU")
    module = torch.compile(network, mode="reduce-overhead", dynamic=False)

    def call(data):
        torch.compiler.cudagraph_mark_step_begin()
        data.outputs.copy_(module(data.inputs))

    return call


def tensoa_package(_network, folder, device):
    import tensoa

    target = "cpu" if device == "cpu" else "cuda"
    model = tensoa.Model(folder / f"mlp-{target}-fused.pt2", **({} if device == "cpu" else {"device": device}))
    names_in, names_out = ("x", "y", "z"), ("m", "n")
    held = {}

    def call(data):
        if held.get("data") is not data:
            as_array = (lambda tensor: tensor.numpy()) if device == "cpu" else (lambda tensor: tensor)
            held["columns"] = {name: as_array(column) for name, column in zip(names_in, data.columns, strict=True)}
            held["out"] = {name: as_array(column) for name, column in zip(names_out, data.answers, strict=True)}
            held["data"] = data
        model(held["columns"], out=held["out"])

    return call


def executorch(network, folder, device):
    if device != "cpu":
        raise RuntimeError("its back end for CUDA is not in the wheel")
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool
    from executorch.runtime import Runtime

    _unsafe_reset_threadpool(1)  # otherwise a call has a thread for each core
    methods = {}

    def call(data):
        rows = len(data.inputs)
        if rows not in methods:
            with torch.inference_mode(False), torch.no_grad():
                program = torch.export.export(network, (torch.rand(rows, 3),))
                lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
            (folder / f"mlp-{rows}.pte").write_bytes(lowered.buffer)
            loaded = Runtime.get().load_program(lowered.buffer)
            methods[rows] = loaded, loaded.load_method("forward")
        data.outputs.copy_(methods[rows][1].execute([data.inputs.contiguous()])[0])

    return call


def onnxruntime(network, _folder, device):
    import io

    import numpy as np
    import onnxruntime as runtime

    file = io.BytesIO()
    names = ["features", "preds"]
    torch.onnx.export(network, (torch.rand(5, 3, device=device),), file, input_names=names[:1], output_names=names[1:],
                      dynamic_axes={name: {0: "n"} for name in names}, dynamo=False)  # fmt: skip
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    provider = "CPUExecutionProvider" if device == "cpu" else "CUDAExecutionProvider"
    if provider not in runtime.get_available_providers():
        raise RuntimeError(f"onnxruntime {runtime.__version__} here has no {provider}")
    session = runtime.InferenceSession(file.getvalue(), options, providers=[provider])
    if session.get_providers()[0] != provider:
        raise RuntimeError(f"onnxruntime {runtime.__version__} does not start {provider}")
    where = ("cpu", 0) if device == "cpu" else ("cuda", 0)
    held = {}

    def call(data):
        if held.get("data") is not data:
            packed = [torch.empty(len(data.inputs), size, device=device) for size in (3, 2)]
            binding = session.io_binding()
            for bind, name, tensor in ((binding.bind_input, names[0], packed[0]), (binding.bind_output, names[1], packed[1])):
                bind(name, *where, np.float32, tuple(tensor.shape), tensor.data_ptr())
            held.update(data=data, packed=packed, binding=binding)
        held["packed"][0].copy_(data.inputs)
        if device != "cpu":
            torch.cuda.current_stream().synchronize()  # its stream is not ours
        session.run_with_iobinding(held["binding"])
        data.outputs.copy_(held["packed"][1])

    return call


FRAMEWORKS = {
    "tensoa": tensoa_package,
    "torch": torch_module,
    "torchscript": torchscript,
    "torch.compile": compiled,
    "torch.compile, CUDA graphs": cuda_graphs,
    "executorch": executorch,
    "onnxruntime": onnxruntime,
}


class Batches:
    """Calls of one framework by all threads, each with its function and data."""

    def __init__(self, device, calls, data):
        self.of_threads = list(zip(calls, data, strict=True))
        self.read = time.process_time if device == "cpu" else time.perf_counter
        self.wait = torch.cuda.synchronize if device != "cpu" else lambda: None

    def run(self, call, data, waits_each, count):
        torch.set_num_threads(1)  # of this thread
        with torch.inference_mode():
            for _ in range(count):
                call(data)
                if waits_each:
                    self.wait()
            self.wait()

    def batch_us(self, waits_each, count):
        """Microseconds of a call."""
        first, *others = (threading.Thread(target=self.run, args=(*one, waits_each, count)) for one in self.of_threads)
        begin = self.read()
        for thread in others:
            thread.start()
        first.run()  # in this thread
        for thread in others:
            thread.join()
        return (self.read() - begin) * 1e6 / count / len(self.of_threads)


def require_equal(name, data, call):
    data.answers.zero_()
    call(data)
    difference = (data.answers - data.truth).abs().max().item()
    if not difference <= 1e-4:
        sys.exit(
            f"frameworks.py: {name} is {difference} off torch's answers for {len(data.inputs)} rows, expected at most 1e-4"
        )


def measure(calls, data, device):
    """Rows of all frameworks, in turns; `calls`: by framework the functions of the threads, `data`: that of the threads."""
    shortest_us = (SHORTEST_S if len(data) == 1 else SHORTEST_OF_THREADS_S) * 1e6
    for stage in ("total",) if device == "cpu" else ("total", "latency"):
        waits = stage == "latency"
        runs = {name: Batches(device, of_threads, data) for name, of_threads in calls.items()}
        counts = {}
        for name, run in runs.items():
            run.batch_us(waits, 2)
            counts[name] = max(1, int(shortest_us / run.batch_us(waits, 3)))
        times = {name: [] for name in runs}
        for turn in range(REPEATS):
            for name in list(runs)[:: 1 if turn % 2 == 0 else -1]:
                times[name].append(runs[name].batch_us(waits, counts[name]))
        for name, all_of_them in times.items():
            yield {
                "model": "mlp",
                "variant": name,
                "stage": stage,
                "device": device,
                "n": data[0].columns.shape[1],
                "threads": len(data),
                "median_us": statistics.median(all_of_them),
                "min_us": min(all_of_them),
                "max_us": max(all_of_them),
            }


def functions(name, network, folder, data, device):
    """The function of each thread that calls a framework. Raises what the framework raises; exits where the answers differ."""
    made = [FRAMEWORKS[name](network, folder, device) for _ in data]
    with torch.inference_mode():
        for call, of_thread in zip(made, data, strict=True):
            call(of_thread)
            require_equal(name, of_thread, call)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of the packages")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 16, 1000, 100_000, 1_000_000])
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    device = "cpu" if arguments.device == "cpu" else "cuda:0"
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    script = torch.jit.load(arguments.folder / "mlp.pt", map_location=device).eval()
    network = torch.nn.Sequential(torch.nn.Linear(3, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(),
                                  torch.nn.Linear(64, 2)).to(device).eval()  # fmt: skip
    network.load_state_dict(script.state_dict())
    rows, left_out = [], set()
    for n, threads in itertools.product(arguments.rows, arguments.threads):
        data = [Data(network, n, device) for _ in range(threads)]
        calls = {}
        for name in [one for one in FRAMEWORKS if one not in left_out]:
            try:
                calls[name] = functions(name, network, arguments.folder, data, device)
            except Exception as error:  # of whatever a framework throws
                left_out.add(name)
                print(f"left out: {name}, because {type(error).__name__}: {str(error).strip().splitlines()[0]}", flush=True)
        rows += measure(calls, data, device)
        for row in rows[-len(calls) :]:
            print(f"{n:9} {threads:3} threads {row['stage']:8} {row['variant']:28} {row['median_us']:10.1f} us", flush=True)
    if arguments.json:
        result = {"bench": "frameworks", "command": " ".join(["python", *sys.argv]), "rows": rows}
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
