# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Fused CUDA programs on a GPU: numbers and times of the kinds of docs/width.md and of our networks.

    python bench/gpu_programs.py --out FILE.json [--seconds 240] [--jobs 14] [--compiled FOLDER] [--before FOLDER]
        [PART OF A NAME...]
    python bench/gpu_programs.py --compile sm_90 --out FOLDER [--jobs 2] [PART OF A NAME...]

Processes without a GPU export and compile; one process has the GPU, is started again where a program ends it, and says so. The
error is the largest difference from the module in float64, relative to the largest number. A time is the median of rounds in
which all programs take turns: up to 20 calls captured as one CUDA graph, replayed, in microseconds a call. "many" is the
program with its code for many rows at all numbers of rows. FILE has what was found so far, written after each kind; what there
was no time for is under "left". `--compile` needs no GPU: it exports and compiles, one file for each kind, which `--compiled`
then reads instead; `--before`: those of another checkout, which are measured and compared with.
"""

import argparse
import copy
import functools
import json
import logging
import math
import multiprocessing
import os
import pickle
import queue
import sys
import time
import traceback
import types
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from statistics import geometric_mean

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "tests"), str(ROOT / "bench")]

import measuring  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

try:
    import pytest  # noqa: F401
except ImportError:  # helpers of the tests mark what they skip
    mark = types.SimpleNamespace(skipif=lambda *_, **__: lambda function: function)
    sys.modules["pytest"] = types.SimpleNamespace(mark=mark)  # type: ignore[assignment]

ROWS = (1, 16, 1000)
MANY = 100_000
MANY_OF_PAIRS = 10_000  # where each row reads all others
CALLS, GRAPH_SECONDS = 20, 0.004  # in a graph; fewer where these take longer
MOST_WRONG = 0.02  # relative to the largest number: bfloat16 and int8 have a rounding of 0.01
LONGEST = 60.0  # seconds of a kind on the GPU, with what torch makes of it


# ---- without a GPU


def networks():
    """{name: Kind} of our applications."""
    from tensoa.merging import network as merging
    from tensoa.tracking import interaction_network as tracking
    from width_models import Kind, block

    found = {}
    for name, kind, weights, nodes, edges in (
        ("network of track", tracking, "interaction_network", 3, 4),
        ("network of merge", merging, "fragment_network", 29, 7),
    ):
        columns = [block("x", nodes), block("edges", 2, "int64", 1, "columns"), block("edge_attr", edges, collection=1)]
        module = kind.load(ROOT / "models" / f"{weights}.safetensors")
        found[name] = Kind(module, columns, [block("score", 1, collection=1)])
    return found


def data(binding, rows, seed):
    """(planes of the input blocks, tensors of the model, empty planes of the outputs)"""
    draw = np.random.default_rng(seed)
    planes, tensors = [], []
    for one in binding.inputs:
        name = str(one.column_dtype).removeprefix("torch.")
        shape = (max(one.places) + 1, rows[one.collection])
        found = draw.normal(size=shape) if "float" in name else draw.integers(0, min(rows.values()), shape)
        found = found.astype(name)
        planes.append(found)
        tensors.append(one.tensor(torch.from_numpy(np.ascontiguousarray(found[one.places]))).contiguous())
    return planes, tensors


def kinds():
    from wide_models import all_kinds

    try:
        ours = networks()
    except ImportError:  # safetensors is missing
        ours = {}
    return {**ours, **all_kinds()}


def compiled(make, architecture):
    """(kernels, image, notes)"""
    from tensoa.compiler.cuda import compile

    start = time.process_time()
    kernels = make()
    python = time.process_time() - start
    log = []
    start = time.perf_counter()
    image = compile(kernels.made.source, architecture, log)
    notes = {
        "python_s": python,
        "nvrtc_s": time.perf_counter() - start,
        "kernels": len(kernels.made.kernels),
    }
    notes["spills"] = sum(
        int(one.split(" bytes spill stores")[0].split()[-1]) for one in log[0].splitlines() if "spill stores" in one
    )
    return kernels, image, notes


def has_code_for_many(kernels):
    return kernels.made.source.count("kRoundsOfFew") > 1


def with_code_for_many(kernels):
    """Kernels that have no rows that are few."""
    from tensoa.compiler.cuda.generate import ROUNDS_OF_FEW

    kernels.made.source = kernels.made.source.replace(f"kRoundsOfFew = {ROUNDS_OF_FEW};", "kRoundsOfFew = 0;")
    return kernels


def compiled_kind(name, architecture):
    """(name, programs, notes, whether rows read all others, rules of the outputs' rows) of a kind."""
    from tensoa.binding.model import result_rows
    from tensoa.compiler import cuda, frontend
    from tensoa.compiler.passes import simplified

    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    kind = kinds()[name]
    binding, module = kind.binding(), kind.module.eval()
    exported = frontend.exported_program(module, binding)
    rules = result_rows(module, binding, "cpu")

    def of_rows():
        return cuda.generate(simplified(frontend.capture(exported, binding, rules)))

    def of_many():
        return with_code_for_many(of_rows())

    programs, notes = {}, {}
    for which, make in (("now", of_rows), ("many", of_many)):
        if which == "many" and "now" in programs and not has_code_for_many(programs["now"][0]):
            continue
        try:
            *programs[which], notes[which] = compiled(make, architecture)
        except Exception as error:
            notes[which] = {"refused": f"{type(error).__name__}: {error}"[:300]}
    reads_all = "now" in programs and "for (int64 key" in programs["now"][0].made.source
    for kernels, _ in programs.values():
        kernels.made.source = ""  # what runs is the image
    return name, programs, notes, reads_all, rules


def compiled_in(folder, name):
    with open(Path(folder) / file_of(name), "rb") as file:
        return pickle.load(file)


def with_before(folder, found):
    """What compiled_kind() found, with the program of another checkout."""
    name, programs, notes, *others = found
    if (Path(folder) / file_of(name)).exists():
        _, before, of_before, *_ = compiled_in(folder, name)
        if "now" in before:
            programs["before"], notes["before"] = before["now"], of_before["now"]
    return name, programs, notes, *others


def file_of(name):
    return "".join(letter if letter.isalnum() else "_" for letter in name) + ".kind"


def calls_of(name, reads_all, rules):
    """(rows, rows of each collection, planes of the inputs, shapes of the outputs, what is right) of each call, and the places
    of the outputs' numbers.
    """
    kind = kinds()[name]
    binding, module = kind.binding(), kind.module.eval()
    collections = sorted({one.collection for one in binding.inputs})

    def call(count):
        """Instead of what is right, the error of torch where it refuses this number of rows."""
        rows = {collection: count * (4 if i else 1) for i, collection in enumerate(collections)}
        planes, tensors = data(binding, rows, count)
        try:
            truth = _truth(binding, module, tensors)
        except RuntimeError as error:
            truth = f"{type(error).__name__}: {error}"[:300]
        shapes = [
            (
                max(one.places) + 1,
                rows[rule["collection"]],
                str(one.column_dtype).removeprefix("torch."),
            )
            for one, rule in zip(binding.outputs, rules)
        ]
        return count, list(rows.values()), planes, shapes, truth

    return map(call, (*ROWS, MANY_OF_PAIRS if reads_all else MANY)), [one.places for one in binding.outputs]


def _truth(binding, module, tensors):
    """The planes of each output in float64, by torch on the GPU, or, where a model has tensors of the CPU, there. A model that
    makes tensors of float32 itself is not made wider.
    """
    problem = None
    for device, is_wide in (("cuda", True), ("cpu", True), ("cpu", False)):
        try:
            with torch.no_grad():
                moved = copy.deepcopy(module).to(device)
                given = [one.to(device) for one in tensors]
                if is_wide:
                    moved, given = moved.double(), [one.double() if one.is_floating_point() else one for one in given]
                found = binding.results(binding.value(moved, given))
            return [one.planes(tensor).double().cpu().numpy() for one, tensor in zip(binding.outputs, found)]
        except (RuntimeError, AssertionError) as error:
            problem = error
    raise problem


# ---- the process that has the GPU


def on_gpu(tasks, results):
    try:
        major, minor = torch.cuda.get_device_capability()
        torch.zeros(1, device="cuda")
        results.put(("ready", f"sm_{major}{minor}", torch.cuda.get_device_name()))
        while True:
            results.put(("done", timed_kind(*tasks.get())))
    except Exception:
        results.put(("failed", traceback.format_exc()[-1500:]))


def timed_kind(name, programs, notes, reads_all, rules):
    from cuda_programs import Block, Loaded

    calls, places = calls_of(name, reads_all, rules)
    loaded = {which: Loaded(kernels.made, image) for which, (kernels, image) in programs.items()}
    found = {"notes": notes, "rows": {}}
    for count, rows, planes, shapes, truth in calls:
        one, bound = {}, {}
        if isinstance(truth, str):
            found["rows"][count] = {"refused": truth}
            continue
        for which, program in loaded.items():
            inputs = [Block(list(some), some.shape[1], torch.from_numpy(some[:0].copy()).dtype) for some in planes]
            outputs = [Block(n, wide, getattr(torch, dtype)) for n, wide, dtype in shapes]
            bound[which] = program.bind([*inputs, *outputs], rows)
            bound[which]()
            torch.cuda.synchronize()
            one[f"error_{which}"] = difference([block.numpy() for block in outputs], truth, places)
        one |= {f"us_{which}": us for which, us in in_turns(bound).items()}
        if {"now", "before"} <= set(bound):
            one["ratio"] = one["us_now"] / one["us_before"]
        found["rows"][count] = one
    return name, found


def difference(found, truth, places):
    """The largest, relative to the largest number; infinite where NaN differs."""
    worst = 0.0
    for planes, wanted, where in zip(found, truth, places):
        got = planes[where].astype(np.float64)
        if (np.isnan(got) != np.isnan(wanted)).any():
            return float("inf")
        with np.errstate(all="ignore"):
            off = np.where(got == wanted, 0.0, np.abs(got - wanted))
        scale = max(
            np.nanmax(np.where(np.isfinite(wanted), np.abs(wanted), 0), initial=0.0),
            1e-30,
        )
        worst = max(worst, float(np.nanmax(off, initial=0.0) / scale))
    return worst


def in_turns(bound):
    """Microseconds of a call of each."""
    slowest = 0.0
    for launch in bound.values():
        begin = time.perf_counter()
        launch()
        torch.cuda.synchronize()
        slowest = max(slowest, time.perf_counter() - begin)
    calls = max(1, min(CALLS, int(GRAPH_SECONDS / slowest)))
    graphs = {}
    for which, launch in bound.items():
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            launch()
        torch.cuda.synchronize()
        graphs[which] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[which], stream=stream):
            for _ in range(calls):
                launch()
    times = {which: [] for which in bound}
    for turn in range(16):
        for which in list(bound)[:: 1 if turn % 2 else -1]:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            graphs[which].replay()
            begin.record()
            for _ in range(3):
                graphs[which].replay()
            end.record()
            end.synchronize()
            times[which].append(begin.elapsed_time(end) * 1000 / (3 * calls))
    return {which: float(np.median(some[1:])) for which, some in times.items()}


class Gpu:
    """The process that has the GPU."""

    def __init__(self):
        self.context = multiprocessing.get_context("spawn")
        self.start()

    def start(self):
        self.tasks, self.results = self.context.Queue(), self.context.Queue()
        self.process = self.context.Process(target=on_gpu, args=(self.tasks, self.results), daemon=True)
        self.process.start()
        what, *self.about = self.results.get(timeout=90)
        if what != "ready":
            raise SystemExit(self.about[0])

    def run(self, *task):
        """(result, None), or (None, why it failed)"""
        self.tasks.put(task)
        until = time.monotonic() + LONGEST
        while True:
            try:
                what, found = self.results.get(timeout=0.5)
                break
            except queue.Empty:
                if self.process.is_alive() and time.monotonic() < until:
                    continue
                what, found = (
                    "failed",
                    f"no answer (exit status {self.process.exitcode})",
                )
                break
        if what == "done":
            return found, None
        self.process.kill()
        self.process.join()
        self.start()
        return None, found


def summary(found):
    """Geometric means of the ratios by rows, and the largest."""
    result = {}
    for count in (*ROWS, MANY_OF_PAIRS, MANY):
        ratios = {name: one["rows"][count]["ratio"] for name, one in found.items() if "ratio" in one["rows"].get(count, {})}
        if ratios:
            worst = max(ratios, key=ratios.__getitem__)
            result[str(count)] = {
                "mean": geometric_mean(ratios.values()),
                "kinds": len(ratios),
                "largest": [worst, ratios[worst]],
            }
    return result


def compile_all(names, pool, architecture, folder):
    """A file for each kind that there are kernels of."""
    folder.mkdir(parents=True, exist_ok=True)
    for future in as_completed(work := {pool.submit(compiled_kind, name, architecture): name for name in names}):
        try:
            found = future.result()
        except Exception as error:
            print(f"{work[future]}: {type(error).__name__}: {error}"[:200], flush=True)
            continue
        (folder / file_of(found[0])).write_bytes(pickle.dumps(found))
        print(found[0], found[2], flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--compile", metavar="ARCHITECTURE")
    parser.add_argument("--compiled", metavar="FOLDER")
    parser.add_argument("--before", metavar="FOLDER")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    names = measuring.chosen(kinds(), options.names)
    pool = ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn"))
    if options.compile:
        return compile_all(names, pool, options.compile, Path(options.out))
    begin = time.monotonic()
    gpu = Gpu()
    architecture, device = gpu.about
    found = {"device": device, "torch": torch.__version__, "kinds": {}, "failed": {}, "wrong": {}}
    out = Path(options.out)

    def write():
        found["seconds"], found["summary"] = time.monotonic() - begin, summary(found["kinds"])
        measuring.write(out, found)

    make = functools.partial(compiled_in, options.compiled) if options.compiled else None
    work = {pool.submit(make, name) if make else pool.submit(compiled_kind, name, architecture): name for name in names}
    left = set(work.values())
    try:
        for future in as_completed(work, timeout=options.seconds):
            name = work[future]
            left.discard(name)
            try:
                given = future.result()
            except Exception as error:
                found["failed"][name] = f"{type(error).__name__}: {error}"[:300]
                continue
            kind = with_before(options.before, given) if options.before else given
            _, programs, notes, *_ = kind
            answer, problem = gpu.run(*kind) if "now" in programs else (None, notes["now"]["refused"])
            if problem:
                found["failed"][name] = problem
            else:
                found["kinds"][name] = answer[1]
                rows = answer[1]["rows"]
                times = {count: round(one.get("ratio", one.get("us_now", math.nan)), 2) for count, one in rows.items()}
                worst = max((one.get("error_now", 0.0) for one in rows.values()), default=0.0)
                if not worst <= MOST_WRONG:
                    found["wrong"][name] = f"an error of {worst:.1e}"
                print(f"{name}: {times} {answer[1]['notes']}"[:200], flush=True)
            write()
            if time.monotonic() - begin > options.seconds:
                break
    except TimeoutError:
        print("no time left", flush=True)
    found["left"] = sorted(left)
    write()
    print(json.dumps({key: found[key] for key in ("summary", "seconds")}))
    print(
        f"{len(found['wrong'])} wrong: {list(found['wrong'])}; failed: {list(found['failed'])}; left: {len(left)}",
        flush=True,
    )
    sys.stdout.flush()
    for process in multiprocessing.active_children():  # those that still compile, too
        process.kill()
    os._exit(0)


if __name__ == "__main__":
    main()
