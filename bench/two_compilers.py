# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The C++ of typed programs beside that of today's row programs: numbers and times, of the kinds of docs/width.md and of the
networks of `tensoa track` and `tensoa merge`.

    python bench/two_compilers.py [--level x86-64-v4] [--rounds 41] [--rows 1,16,1000] [PART OF A NAME...]

Both libraries are called as functions with the same columns, in turns whose order alternates; the time is that of the thread,
the ratio the median of the ratios of the rounds. The error is the largest difference from the module in float64, relative to
the largest number.
"""

import argparse
import copy
import ctypes
import logging
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "tests")]

from cpu_programs import Block  # noqa: E402
from tensoa.binding.columns import Columns
from tensoa.binding.domain import with_domain
from tensoa.binding.model import result_rows, with_examples  # noqa: E402
from tensoa.compiler import stages  # noqa: E402
from tensoa.compiler.backends import cpu as today  # noqa: E402
from tensoa.compiler.errors import NotFused  # noqa: E402
from tensoa.compiler.frontends import torch_export  # noqa: E402
from tensoa.compiler.typed import cpu  # noqa: E402
from tensoa.compiler.typed.frontend import capture  # noqa: E402
from tensoa.compiler.typed.passes import simplified  # noqa: E402
from tensoa.merging import network as merging  # noqa: E402
from tensoa.tracking import interaction_network as tracking  # noqa: E402
from wide_models import all_kinds  # noqa: E402
from width_models import Kind, block  # noqa: E402

DRIVER = """
#include <cstdint>
#include <ctime>
struct Block { void* data; std::int64_t pitch; };
using Run = void (*)(const Block*, const std::int64_t*, void*);
static double now() { timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
extern "C" void compare(Run a, Run b, const Block* blocks, const std::int64_t* rows, void* of_a, void* of_b, int rounds,
                        int calls, double* seconds) {
  for (int i = 0; i < rounds; ++i)
    for (int k = 0; k < 2; ++k) {
      const bool first = (i + k) % 2;
      const double start = now();
      for (int j = 0; j < calls; ++j) first ? a(blocks, rows, of_a) : b(blocks, rows, of_b);
      seconds[2 * i + !first] = (now() - start) / calls;
    }
}
"""


class Program:
    """A library, and how long it took to make."""

    def __init__(self, generate, folder, name, level):
        start = time.process_time()
        self.source = generate()
        self.python = time.process_time() - start
        path = Path(folder) / f"{name}.so"
        start = time.perf_counter()
        today.build(self.source, level, path)
        self.compiler = time.perf_counter() - start
        self.library = ctypes.CDLL(str(path))
        self.library.tensoa_program_workspace.restype = ctypes.c_int64

    def workspace(self, rows):
        memory = np.zeros(self.library.tensoa_program_workspace(rows) + 128, np.uint8)
        return memory, ctypes.c_void_p(memory.ctypes.data + -memory.ctypes.data % 64)


def data(binding, rules, rows, seed):
    """(planes of the input blocks, tensors of the model)"""
    columns = Columns(binding, rows, rules, "cpu", seed=seed)
    planes, tensors = [], []
    for one, argument in zip(binding.inputs, columns.inputs):
        tensor = one.tensor(argument).contiguous()
        found = one.planes(tensor).numpy()
        plane = np.zeros((max(one.places) + 1, found.shape[1]), str(one.column_dtype).removeprefix("torch."))
        plane[one.places] = found
        planes.append(plane)
        tensors.append(tensor)
    return planes, tensors


def outputs(binding, rules, rows):
    return [
        np.zeros((max(one.places) + 1, rows[rule["collection"]]), str(one.column_dtype).removeprefix("torch."))
        for one, rule in zip(binding.outputs, rules)
    ]


def error(binding, found, truth):
    worst = 0.0
    for one, planes, tensor in zip(binding.outputs, found, truth):
        wanted = one.planes(tensor).double().numpy()
        got = planes[one.places].astype(np.float64)
        if wanted.size and not np.isfinite(wanted).any():
            return np.nan  # these columns are nothing that the model takes
        scale = max(np.nanmax(np.abs(wanted), initial=0.0), 1e-30)
        worst = max(worst, np.nanmax(np.abs(got - wanted), initial=0.0) / scale)
    return worst


def in_turns(driver, programs, blocks, rows, rounds):
    """(nanoseconds of the first, ratio to the second)"""
    pointers = (Block * len(blocks))(*(Block(one.ctypes.data, one.shape[1]) for one in blocks))
    counts = (ctypes.c_int64 * len(rows))(*rows)
    spaces = [program.workspace(counts) for program in programs]
    functions = [program.library.tensoa_program_run for program in programs]
    start = time.perf_counter()
    for _ in range(3):
        functions[0](pointers, counts, spaces[0][1])
    calls = max(1, int(0.012 / max(time.perf_counter() - start, 1e-7)))
    seconds = np.zeros((rounds, 2))
    to = seconds.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    driver.compare(*functions, pointers, counts, spaces[0][1], spaces[1][1], rounds, calls, to)
    return np.median(seconds[:, 0]) * 1e9, np.median(seconds[:, 0] / seconds[:, 1])


def networks():
    """{name: Kind} of our applications."""
    found = {}
    for name, kind, weights, nodes, edges in (
        ("network of track", tracking, "interaction_network", 3, 4),
        ("network of merge", merging, "fragment_network", 29, 7),
    ):
        columns = [block("x", nodes), block("edges", 2, "int64", 1, "columns"), block("edge_attr", edges, collection=1)]
        module = kind.load(ROOT / "models" / f"{weights}.safetensors")
        found[name] = Kind(module, columns, [block("score", 1, collection=1)])
    return found


def measure(name, kind, driver, folder, options):
    module = kind.module.eval()
    binding, _ = with_domain(module, with_examples(module, kind.binding()))
    exported = torch_export.exported_program(module, binding)
    rules = result_rows(module, binding, "cpu")
    number = len(list(Path(folder).iterdir()))
    typed = Program(
        lambda: cpu.generate(simplified(capture(exported, binding, rules))), folder, f"typed{number}", options.level
    )

    def row_program():
        program = torch_export.row_program(exported, binding, rules)
        return today.generate(program, stages.plan(program))

    try:
        other = Program(row_program, folder, f"today{number}", options.level)
    except NotFused as error_:
        other = None
        print(f"   (today: {error_})")
    collections = sorted({one.collection for one in binding.inputs})
    wide = copy.deepcopy(module).double()
    columns, errors = [], []
    for count in options.rows:
        rows = {collection: count * (4 if i else 1) for i, collection in enumerate(collections)}
        planes, tensors = data(binding, rules, rows, count)
        with torch.no_grad():
            doubled = [one.double() if one.is_floating_point() else one for one in tensors]
            try:
                truth = binding.results(binding.value(wide, doubled))
            except (RuntimeError, AssertionError):  # a model that makes tensors of float32 itself
                truth = None
            if truth is None:
                try:
                    truth = binding.results(binding.value(module, tensors))
                except RuntimeError:  # fewer rows than the model takes
                    truth = None
        for program in filter(None, (typed, other)):
            found = outputs(binding, rules, rows)
            blocks = [*planes, *found]
            pointers = (Block * len(blocks))(*(Block(one.ctypes.data, one.shape[1]) for one in blocks))
            counts = (ctypes.c_int64 * len(rows))(*rows.values())
            memory, space = program.workspace(counts)
            program.library.tensoa_program_run(pointers, counts, space)
            del memory
            errors.append(np.nan if truth is None else error(binding, found, truth))
        if other is not None:
            columns.append(in_turns(driver, (typed, other), blocks, list(rows.values()), options.rounds))
    step = 2 if other is not None else 1
    worst = [np.nanmax(errors[i::step]) for i in range(step)]
    times = " ".join(f"{ratio:5.2f} ({ns:9.0f} ns)" for ns, ratio in columns)
    made = f"{typed.python:.2f}+{typed.compiler:.1f} s"
    print(f"{name:32s} {times}  error {' / '.join(f'{one:.0e}' for one in worst)}  made in {made}", flush=True)
    return [ratio for _, ratio in columns]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--level", default="x86-64-v4")
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--rows", type=lambda text: list(map(int, text.split(","))), default=[1, 16, 1000])
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "driver.cpp", Path(folder) / "driver.so"
        source.write_text(DRIVER)
        subprocess.run(["g++", "-O2", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
        driver = ctypes.CDLL(str(library))
        for name, kind in {**networks(), **all_kinds()}.items():
            if options.names and not any(part in name for part in options.names):
                continue
            try:
                ratios.append(measure(name, kind, driver, folder, options))
            except Exception as error_:  # of one kind; the others go on
                print(f"{name:32s} {type(error_).__name__}: {str(error_)[:140]}".replace("\n", " "), flush=True)
    timed = np.array([row for row in ratios if row])
    if len(timed):
        print(f"geometric mean of {len(timed)}: {np.exp(np.log(timed).mean(0)).round(3)}, largest {timed.max(0).round(2)}")


if __name__ == "__main__":
    main()
