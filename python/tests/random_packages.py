# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Whole packages of random modules, run by `tensoa infer` over random rows, against torch in float64 and float32.

    python python/tests/random_packages.py --program build/tensoa --seeds 0:1000 [--device cuda] [--jobs 2]

`make fuzz-packages` does so in a night. The modules of a batch are one package, whose outputs lie side by side, so that the
compiler runs once; a batch that cannot be fused is exported module by module. What is still not fused goes through
TorchInductor for one seed of --inductor-each, and is counted otherwise. Exit status 1, with a line for each seed that
differs and the command that repeats it.
"""

import argparse
import copy
import multiprocessing
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import torch
from torch import nn

import random_modules
from bindings import block, bound
from random_modules import MODULES, is_wrong, runs_of
from tensoa.compiler import cpu, cuda, inductor
from tensoa.compiler.cpu.processors import CPU_FLAGS, cpu_flags
from tensoa.errors import InputError
from tensoa.export import Options, export
from tensoa.package import parts

BATCH = {"cpu": 8, "cuda": 2}  # modules in a package; kernels for GPUs may not be as long
#: Which modules a batch has, in turn.
TURNS = ("rows", "sets", "rows", "mixed", "rows", "graphs", "rows", "sets", "mixed", "across")


#: The outcome for modules. "broken": an error that users should not see; "not run": there is no GPU.
WHAT = ("fused", "by TorchInductor", "left to TorchInductor", "refused", "broken", "not run")


class NotRun(BaseException):
    """A package that TorchInductor would have to compile."""


@dataclass(frozen=True)
class Task:
    """Seeds of one batch. `gpu`: the architecture of the GPU here, or nothing."""

    seeds: tuple[int, ...]
    program: str
    device: str = "cpu"
    gpu: str = ""
    inductor_each: int = 50

    @property
    def batch(self):
        """Its number, which says what its modules are, and draws its rows."""
        return self.seeds[0] // BATCH[self.device]

    @property
    def kind(self):
        return TURNS[self.batch % len(TURNS)]


class Together(nn.Module):
    """The results of several modules of the same inputs, one after the other."""

    def __init__(self, modules):
        super().__init__()
        self.modules_of_seeds = nn.ModuleList(modules)

    def forward(self, *inputs):
        found = []
        for module in self.modules_of_seeds:
            results = module(*inputs)
            found += results if isinstance(results, tuple) else (results,)
        return tuple(found)


class Example:
    """The rows of a batch: `calls`, the tensors of each call of the module, and the columns of a file."""

    def __init__(self, task):
        self.module = MODULES[task.kind]
        draw = np.random.default_rng(task.batch)
        if task.kind == "graphs":
            events, _ = self.module.columns(draw)
            self.calls = [[torch.from_numpy(x), torch.from_numpy(i.T.copy()), torch.from_numpy(e)] for x, i, e in events]
            self.group = None
        else:
            arrays, self.group = self.module.columns(draw)
            ends = np.flatnonzero(np.diff(self.group)) + 1 if self.group is not None else []
            self.calls = [
                [torch.from_numpy(part.copy()) for part in some] for some in zip(*(np.split(a, ends) for a in arrays))
            ]

    def groups(self, call):
        """{number of rows: the group of each}, for Noise."""
        if self.group is None and len(self.calls) == 1:
            rows = call[0].shape[0]
            return {rows: torch.arange(rows) // random_modules.ROWS}
        return {argument.shape[0]: torch.zeros(argument.shape[0], dtype=torch.int64) for argument in call}

    def write(self, path):
        blocks, columns = self.module.inputs, {}
        for at, one in enumerate(blocks):
            is_lists = len(self.calls) > 1 and self.group is None
            arrays = [call[at].T if one["shape"] == "columns" else call[at] for call in self.calls]
            for place, column in enumerate(one["columns"]):
                numbers = [array[:, place].numpy() for array in arrays]
                columns[column["name"]] = pyarrow.array(numbers) if is_lists else pyarrow.array(np.concatenate(numbers))
        if self.group is not None:
            columns["group"] = pyarrow.array(self.group)
        pyarrow.parquet.write_table(pyarrow.table(columns), path)


def outputs_of(modules, example):
    """The blocks of the results of each module, from what it gives for the first rows."""
    blocks, at = [], 0
    for module in modules:
        with torch.no_grad():
            results = module(*example.calls[0])
        found = []
        for side, result in enumerate(results if isinstance(results, tuple) else (results,)):
            dtype = str(result.dtype).removeprefix("torch.")
            found.append(block(f"out{at}c", result.shape[1], dtype, collection=side))
            at += 1
        blocks.append(found)
    return blocks


def _not_run(*args, **kwargs):
    raise NotRun


class Routes:
    """How packages are made: for one kind of processor, and by TorchInductor or not."""

    def __init__(self, task, may_take_inductor):
        levels = [level for level in cpu.LEVELS if cpu_flags().issuperset(CPU_FLAGS[level])]
        self.changes = [(cpu, "LEVELS", (levels[task.batch % len(levels)],))]
        if task.device == "cuda":
            self.changes.append((cuda, "ARCHITECTURES", (task.gpu or "sm_90",)))
        if not may_take_inductor:
            self.changes += [(parts, "for_cpu", _not_run), (parts, "for_cuda", _not_run), (inductor, "compile", _not_run)]

    def __enter__(self):
        self.before = [(where, name, getattr(where, name)) for where, name, _ in self.changes]
        for change in self.changes:
            setattr(*change)

    def __exit__(self, *_):
        for change in self.before:
            setattr(*change)


def infer(task, package, example, folder, *options):
    """{column: numbers}; for lists, those of each row of the file one after the other."""
    source, answers = folder / "rows.parquet", folder / "answers.parquet"
    if not source.exists():
        example.write(source)
    command = [task.program, "infer", "--model", package, "--input", source, "--output", answers, *options]
    command += ["--device", "cuda:0" if task.device == "cuda" else "cpu"]
    command += ["--group", "group"] if example.group is not None else []
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    if run.returncode:
        raise RuntimeError(f"infer: exit {run.returncode}: {run.stderr.strip()[-300:]}")
    table = pyarrow.parquet.read_table(answers)
    found = {}
    for name, column in zip(table.column_names, table.columns):
        column = column.combine_chunks()
        found[name] = (column.flatten() if pyarrow.types.is_list(column.type) else column).to_numpy(zero_copy_only=False)
    return found


def differences(task, modules, blocks, example, package, folder):
    """(seed, words) for each module whose answers differ."""
    chunked = [["--rows-per-chunk", "7"]] if example.group is None and len(example.calls) == 1 else []
    answers = [(" ".join(options), infer(task, package, example, folder, *options)) for options in [[], *chunked]]
    for seed, module, outputs in zip(task.seeds, modules, blocks):
        for count in (random_modules.RUNS, random_modules.MANY_RUNS):
            runs = [runs_everywhere(task.device, module, call, example.groups(call), count) for call in example.calls]
            words = list(_of_outputs(outputs, answers, runs, bool(chunked)))
            if not words:
                break
        yield from ((seed, one) for one in words)


def _of_outputs(outputs, answers, of_calls, has_kinds):
    """Words for each output of a module that differs from all runs."""
    for at, output in enumerate(outputs):
        runs = np.concatenate([runs[at] for runs in of_calls], axis=1)
        eps = random_modules.EPS[getattr(torch, output["dtype"])]
        for options, found in answers:
            got = np.stack([found[column["name"]] for column in output["columns"]], 1).astype(np.float64)
            wrong = is_wrong(got, runs, eps)
            if wrong.any():
                row, column = np.argwhere(wrong)[0]
                kind = list(random_modules.KINDS)[row // random_modules.ROWS] if has_kinds else "-"
                numbers = f"{got[row, column]:.9g}, not {runs[0, row, column]:.9g} (float32: {runs[1, row, column]:.9g})"
                where = f"{wrong.sum()} of {wrong.size} differ: output {at}, row {row} ({kind}), number {column}"
                yield f"{where} is {numbers} {options}"
                break


def runs_everywhere(device, module, call, groups, count):
    """As runs_of, of torch on CPUs and on the device of the package: a GPU's roots and logarithms round in another way, which
    may decide other numbers, and integers of what is out of range are here those of CPUs.
    """
    torch.backends.cudnn.allow_tf32 = False
    found = []
    for where in dict.fromkeys(("cpu", device)):
        there = copy.deepcopy(module).to(where)
        wide = copy.deepcopy(there).double()
        of_rows = {rows: group.to(where) for rows, group in groups.items()}
        with torch.device(where):
            found.append(runs_of(_as_tuple(there), _as_tuple(wide), [one.to(where) for one in call], of_rows, count))
    return [np.concatenate(runs) for runs in zip(*found)]


def _as_tuple(module):
    def call(*arguments):
        results = module(*arguments)
        return results if isinstance(results, tuple) else (results,)

    return call


def search(task):
    """(lines on what differs, Counter of what became of the modules)"""
    torch.set_num_threads(1)
    example = Example(task)
    modules = [MODULES[task.kind](seed).eval() for seed in task.seeds]
    blocks = outputs_of(modules, example)
    is_alone = len(modules) == 1
    lines, counts = [], Counter()
    with tempfile.TemporaryDirectory(prefix="random_packages-") as name:
        folder, said = Path(name), []
        binding = bound(example.module.inputs, [one for some in blocks for one in some])
        is_its_turn = task.inductor_each > 0 and task.seeds[0] % task.inductor_each == 0
        may_take_inductor = is_alone and is_its_turn
        try:
            with Routes(task, may_take_inductor):
                options = Options(target=task.device, program=task.program if task.gpu else None, report=said.append)
                export(Together(modules), binding, folder / "package.pt2", options)
        except (NotRun, InputError) as reason:
            if is_alone:
                counts["refused" if isinstance(reason, InputError) else "left to TorchInductor"] += 1
                return ([f"refused: seed {task.seeds[0]}: {reason}"] if isinstance(reason, InputError) else []), counts
            for seed in task.seeds:
                more, some = search(replace(task, seeds=(seed,)))
                lines, counts = lines + more, counts + some
            return lines, counts
        how = "fused" if any(line.startswith("fused into") for line in said) else "by TorchInductor"
        counts[how] += len(modules)
        if task.device == "cuda" and not task.gpu:
            counts["not run"] += len(modules)
            return lines, counts
        found = list(differences(task, modules, blocks, example, folder / "package.pt2", folder))
    for seed, words in found:
        seeds = f"{task.seeds[0]}:{task.seeds[-1] + 1}"
        again = f"make fuzz-packages PACKAGE_SEEDS={seeds} PACKAGE_DEVICE={task.device}"
        lines.append(f"seed {seed} ({task.kind}, {how}): {words}; again: {again}")
    counts["wrong"] += len({seed for seed, _ in found})
    return lines, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/tensoa", help="the program tensoa")
    parser.add_argument("--seeds", default="0:1000", help="first and last + 1")
    parser.add_argument("--device", choices=BATCH, default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--inductor-each", type=int, default=50, help="which seeds TorchInductor compiles; 0: none")
    parser.add_argument("--verbose", action="store_true", help="say what was refused")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    gpu = "sm_{}{}".format(*torch.cuda.get_device_capability()) if torch.cuda.is_available() else ""
    tasks, batch = [], BATCH[options.device]
    for start in range(first - first % batch, last, batch):
        seeds = tuple(range(max(first, start), min(last, start + batch)))
        tasks.append(
            Task(seeds, options.program, options.device, gpu if options.device == "cuda" else "", options.inductor_each)
        )
    start, counts = time.monotonic(), Counter()
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(search, task): task for task in tasks}
        for done, future in enumerate(as_completed(running), 1):
            task = running[future]
            try:
                lines, some = future.result()
            except Exception as error:  # the other seeds are searched, too
                words = re.sub(r"\s+", " ", str(error))[:400]
                lines, some = (
                    [f"seeds {task.seeds[0]}:{task.seeds[-1] + 1} ({task.kind}): {type(error).__name__}: {words}"],
                    {"broken": len(task.seeds)},
                )
            counts.update(some)
            for line in lines:
                if options.verbose or not line.startswith("refused"):
                    print(line, flush=True)
            if done % 10 == 0:
                print(f"{done} of {len(tasks)} packages, {time.monotonic() - start:.0f} s: {dict(counts)}", flush=True)
    words = ", ".join(f"{counts[what]} {what}" for what in WHAT)
    print(f"{last - first} modules ({words}): {counts['wrong']} wrong; {time.monotonic() - start:.0f} s")
    return 1 if counts["wrong"] or counts["broken"] or counts["not run"] else 0


if __name__ == "__main__":
    sys.exit(main())
