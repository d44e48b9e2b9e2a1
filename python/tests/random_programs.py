# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models of many kinds, and what fused programs make of them: against torch, on hard numbers.

    python python/tests/random_programs.py --seeds 0:10000 [--batch 40] [--jobs 2]

A batch of networks is one program, so that the compiler runs once: for a CPU, and for a GPU, whose kernels run on the
CPU (cuda_on_cpu.hpp). `make fuzz-programs` does so in a night. Exit status 1, and a line for each seed that differs,
where one does.
"""

import argparse
import copy
import math
import multiprocessing
import random
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as f

import cuda_programs
from bindings import GRAPH, block, bound
from cpu_library import compiled_quickly
from tensoa.compiler import cpu, cuda, frontend, routes
from tensoa.compiler import operations as ops
from tensoa.compiler import program as typed_program
from tensoa.compiler.cuda import CudaKernels
from tensoa.compiler.passes import simplified
from tensoa.package import fused

# ---- functions of numbers

#: Functions of [rows, 6] and the same in another order of the columns, that give [rows, 6].
OF_FLOATS = {
    **{
        name: lambda x, y, name=name: getattr(torch, name)(x)
        for name in "abs acosh asin asinh atan atanh ceil cos erf erfc exp exp2 expm1 floor log log10 log1p log2 neg "
        "reciprocal round rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc deg2rad relu".split()
    },
    **{
        name: lambda x, y, name=name: getattr(f, name)(x)
        for name in "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu "
        "silu softplus softshrink softsign tanhshrink".split()
    },
    **{
        name: lambda x, y, name=name: getattr(torch, name)(x, y)
        for name in "add atan2 div fmod maximum minimum mul remainder sub".split()
    },
    "hypot": lambda x, y: torch.hypot(x.clamp(-1e15, 1e15), y),
    "gelu of tanh": lambda x, y: f.gelu(x, approximate="tanh"),
    "clamp": lambda x, y: x.clamp(-1, 0.5),
    "floor of log2": lambda x, y: torch.floor(torch.log2(x.abs())),
    "remainder of a number": lambda x, y: torch.remainder(x, 0.75),
    "threshold": lambda x, y: f.threshold(x, 0.5, 9.0),
    **{f"power {p}": lambda x, y, p=p: x**p for p in (-1, 0.5, 1, 2, 3, 2.5, -2)},
    "power of 2": lambda x, y: 2.0**x,
    "power of 3": lambda x, y: 3.0**x,
    "power": lambda x, y: x.abs() ** y.clamp(-5, 5),
    "softmax": lambda x, y: x.softmax(1),
    "log softmax": lambda x, y: x.log_softmax(1),
    "log of a sum of exp": lambda x, y: x.logsumexp(1, keepdim=True).expand(-1, 6),
    "mean": lambda x, y: x.abs().mean(1, keepdim=True).expand(-1, 6),  # nothing cancels, in any order
    "sum": lambda x, y: x.square().view(-1, 2, 3).sum(2).repeat(1, 3),
    "largest": lambda x, y: x.amax(1, keepdim=True) * torch.ones(6),
    "smallest": lambda x, y: x.amin(1, keepdim=True).expand(-1, 6),
    "place of the largest": lambda x, y: x.argmax(1, keepdim=True).float().expand(-1, 6),
    "place of the smallest": lambda x, y: x.argmin(1, keepdim=True).float().expand(-1, 6),
    "norm 1": lambda x, y: x.norm(p=1, dim=1, keepdim=True).expand(-1, 6),
    "norm of infinity": lambda x, y: torch.linalg.vector_norm(x, math.inf, 1, True).expand(-1, 6),
    "any": lambda x, y: (x > 2).any(1, keepdim=True).float().expand(-1, 6),
    "all": lambda x, y: (x > -2).all(1, keepdim=True).float().expand(-1, 6),
    "how many": lambda x, y: (x > 0).sum(1, keepdim=True).float().expand(-1, 6),
    "comparisons": lambda x, y: ((x < y) | (x == 1.0) & ~(x >= y)).float() + (x != y).float(),
    "where": lambda x, y: torch.where(x > 0, x, y.exp()),
    "where no number": lambda x, y: torch.where(x == x, x, torch.zeros_like(x)),
    "masked": lambda x, y: x.masked_fill(x > 1, -7.0).masked_fill(y == math.inf, math.nan),
    "is not a number": lambda x, y: torch.isnan(x).float() + 2 * x.isinf().float(),
    "lerp": lambda x, y: torch.lerp(x, y, 0.25),
    "outer product": lambda x, y: torch.einsum("ni,nj->nij", x[:, :2], y[:, 2:5]).flatten(1),
    "truth": lambda x, y: x.bool().float(),
    "whole": lambda x, y: torch.where(x.abs() < 1e6, x, 3.0).long().float(),
    "whole between limits": lambda x, y: x.clamp(-9, 300).short().float() + y.clamp(-9, 9).int().float(),
}
#: Of int64 k, int8 q, bool b, uint8 u and int16 w, [rows, 1] each, as float [rows, n].
OF_INTEGERS = {
    "as numbers": lambda k, q, b, u, w: torch.cat([k.float(), q.float(), b.float(), u.float(), w.float()], 1),
    "wider": lambda k, q, b, u, w: q.to(torch.int16).float() + u.long().float(),
    "quotient": lambda k, q, b, u, w: k / 3 + u / 255,
    "limits": lambda k, q, b, u, w: k.clamp(-3, 9).float(),
    "compared": lambda k, q, b, u, w: (k > 2).float() + (q == 0).float() + (u < 200).float() + (w != q).float(),
    "compared with a fraction": lambda k, q, b, u, w: (q > 2.5).float(),
    "order": lambda k, q, b, u, w: torch.maximum(q, w).float() - torch.minimum(w, q).float(),
    "negative": lambda k, q, b, u, w: (-q.int()).float() + q.int().abs().float(),
    "products": lambda k, q, b, u, w: (q.int() * q.int()).float() + (q.int() ** 2).float(),
    "sums": lambda k, q, b, u, w: (q.int() + w.int() - u.int()).float(),
    "truth": lambda k, q, b, u, w: (b | (q > 0)).float() + (k.bool() & ~b).float() + (b ^ u.bool()).float(),
    "chosen": lambda k, q, b, u, w: torch.where(b, q.to(torch.int16), w).float(),
    "half": lambda k, q, b, u, w: (q.float() / 2).round(),
    "fraction": lambda k, q, b, u, w: q * 0.5 + 2.0**q,
    "sign": lambda k, q, b, u, w: torch.sign(q).float(),
    "largest": lambda k, q, b, u, w: torch.cat([q, q * 0 + 5], 1).amax(1, keepdim=True).float(),
}

SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 3.5, -2.5, np.inf, -np.inf, np.nan, 1e-30, 1e30, -1e30, 8.0, 1000.0, 100.0]
    + [-100.0, 1e-40, -1e-42, 65536.0, 1e5, -3.0, 3.0, 2.0, 0.1, 7.3e-5, 16777217.0, 0.7071, 89.0, -104.0, 3e38],
    np.float32,
)


def hard_numbers(planes, rows, seed):
    """Special numbers, numbers of all sizes, powers of two, ordinary ones."""
    draw = np.random.default_rng(seed)
    kind = draw.integers(0, 4, (planes, rows))
    sign = draw.choice([-1.0, 1.0], (planes, rows))
    sizes = sign * 10.0 ** draw.uniform(-38, 38, (planes, rows))
    powers = sign * 2.0 ** draw.integers(-149, 128, (planes, rows))
    ordinary = 3 * draw.normal(size=(planes, rows))
    with np.errstate(over="ignore"):
        return np.choose(kind, [draw.choice(SPECIAL, (planes, rows)), sizes, powers, ordinary]).astype(np.float32)


def hard_integers(rows, seed):
    draw = np.random.default_rng(seed)
    k = np.where(draw.uniform(size=rows) < 0.5, draw.integers(-5, 6, rows), draw.integers(-(1 << 40), 1 << 40, rows))
    numbers = [k, draw.integers(-128, 128, rows).astype(np.int8), draw.integers(0, 2, rows).astype(bool)]
    return [*numbers, draw.integers(0, 256, rows).astype(np.uint8), draw.integers(-32768, 32768, rows).astype(np.int16)]


def planes_of(kind, seed, rows=100):
    """Hard numbers for the blocks of of_floats() or of_integers()."""
    return [hard_numbers(6, rows, seed)] if kind == "floats" else [[plane] for plane in hard_integers(rows, seed)]


class Functions(nn.Module):
    """The results of `functions` for the arguments after `spread`, side by side."""

    def __init__(self, functions, spread):
        super().__init__()
        self.functions, self.spread = functions, spread

    def forward(self, *args):
        args = self.spread(*args)
        return torch.cat([function(*args) for function in self.functions.values()], 1)


def of_floats(names=None):
    """(module, its inputs, [(name, width)] of its one output)"""
    functions = {name: OF_FLOATS[name] for name in names or OF_FLOATS}
    return Functions(functions, lambda x: (x, x.flip(1))), [block("x", 6)], [[(name, 6) for name in functions]]


def of_integers():
    inputs = [block(name, 1, dtype) for name, dtype in zip("kqbuw", ("int64", "int8", "bool", "uint8", "int16"))]
    widths = [(name, 5 if name == "as numbers" else 1) for name in OF_INTEGERS]
    return Functions(OF_INTEGERS, lambda *args: args), inputs, [widths]


# ---- random networks over nodes and edges


KINDS = "linear linear norm function gather gather scatter scatter mean extreme extreme pack product cut reduce softmax".split()


class RandomGraph(nn.Module):
    """Steps that a seed draws: over nodes, over edges, from one to the other."""

    def __init__(self, seed):
        super().__init__()
        self.seed, self.layers = seed, nn.ModuleDict()

    def layer(self, step, make):
        if str(step) not in self.layers:
            torch.manual_seed(1000 * self.seed + step)
            self.layers[str(step)] = make()
        return self.layers[str(step)]

    def step(self, draw, at, nodes, edges, ends):
        side = draw.choice([nodes, edges])
        a, b, width = draw.choice(side), draw.choice(side), 0
        kind = draw.choice(KINDS)
        if kind in ("scatter", "mean", "extreme"):
            side, a = nodes, draw.choice(edges)
        width, end = a.shape[1], ends[draw.randint(0, 1)]
        if kind == "linear":
            outputs, bias = draw.choice([1, 2, 3, 8, 16, 17, 33]), draw.random() < 0.5
            y = self.layer(at, lambda: nn.Linear(width, outputs, bias=bias))(a)
        elif kind == "norm":
            y = self.layer(at, lambda: nn.LayerNorm(width))(a) if width > 2 else a
        elif kind == "function":
            y = draw.choice([torch.relu, torch.tanh, torch.sigmoid, f.silu, f.elu, torch.sin])(a)
        elif kind == "gather":
            side, y = edges, draw.choice(nodes)[end]
        elif kind == "scatter":
            y = torch.zeros(nodes[0].shape[0], width, dtype=a.dtype).index_add(0, end, a)
        elif kind == "mean":
            zeros = torch.zeros(nodes[0].shape[0], width, dtype=a.dtype)
            y = zeros.scatter_reduce(0, end.unsqueeze(1).expand(-1, width), a, "mean", include_self=False)
        elif kind == "extreme":
            base = draw.choice(
                [torch.zeros(nodes[0].shape[0], width, dtype=a.dtype), draw.choice(nodes)[:, :1].expand(-1, width)]
            )
            how, has_self = draw.choice(["amax", "amin"]), draw.random() < 0.5
            y = base.scatter_reduce(0, end.unsqueeze(1).expand(-1, width), a, how, include_self=has_self)
        elif kind == "pack":
            y = torch.cat([a, b, draw.choice(side)], 1)[:, :40]
        elif kind == "product":
            both = min(width, b.shape[1])
            y = a[:, :both] * b[:, :both] + a[:, :both] if draw.random() < 0.5 else a * b[:, :1] - a.flip(1)
        elif kind == "cut":
            first = draw.randint(0, width - 1)
            y = a[:, first : draw.randint(first + 1, width)]
        elif kind == "reduce":
            y = getattr(a, draw.choice(["sum", "amax", "amin", "mean"]))(1, keepdim=True)
        else:
            y = a.softmax(1)
        side.append(torch.tanh(y) if draw.random() < 0.3 else y)

    def forward(self, x, edge_index, e):
        draw = random.Random(self.seed)
        nodes, edges = [x], [e]
        for at in range(draw.randint(4, 12)):
            self.step(draw, at, nodes, edges, edge_index)
        return nodes[-1] * 1.0, edges[-1] * 1.0


class RandomGraphs(nn.Module):
    def __init__(self, seeds):
        super().__init__()
        self.graphs = nn.ModuleList(RandomGraph(seed) for seed in seeds)

    def forward(self, x, edge_index, e):
        nodes, edges = zip(*[graph(x, edge_index, e) for graph in self.graphs])
        return torch.cat(nodes, 1), torch.cat(edges, 1)


def of_graphs(seeds):
    """(module, its inputs, [(seed, width)] of its two outputs)"""
    module = RandomGraphs(seeds).eval()
    arguments = torch.zeros(2, 3), torch.zeros(2, 3, dtype=torch.int64), torch.zeros(3, 4)
    with torch.no_grad():
        results = [graph(*arguments) for graph in module.graphs]
    return module, GRAPH, [[(seed, y.shape[1]) for seed, y in zip(seeds, side)] for side in zip(*results)]


# ---- as programs


@dataclass(frozen=True)
class Program:
    """`outputs`: the planes of each output block, whose rows are those of the collection of its number."""

    outputs: list[int]
    cpu: routes.CpuProgram
    gpu: CudaKernels


def program_of(module, inputs, parts):
    """Output i has the rows of collection i. For GPUs each part of it is a separate output."""
    widths = [sum(width for _, width in of_output) for of_output in parts]
    binding = bound(inputs, [block(f"y{i}", width, collection=i) for i, width in enumerate(widths)])
    rules = [{"collection": i} for i in range(len(widths))]
    exported = frontend.exported_program(module.eval(), binding)
    typed = simplified(frontend.capture(exported, binding, rules))
    apart = typed_program.Program(typed.rows, tuple(part for output in typed.outputs for part in taken_apart(output)))
    return Program(widths, routes.of_program(typed), cuda.generate(apart))


def taken_apart(output):
    if not isinstance(output.value.op, ops.Concat):
        return [output]
    parts, at = [], 0
    for value in output.value.args:
        parts.append(typed_program.Output(output.block, output.planes[at : at + value.shape[1]], value, output.column))
        at += value.shape[1]
    return parts


def whole(program, memory, rows):
    """Of each output block its planes, and that nothing was written behind the rows. [rows, planes] each."""
    counted = list(zip(memory[-len(program.outputs) :], rows))
    assert all((numbers[:, count:] == 77).all() for numbers, count in counted), "written beyond the rows"
    return [numbers[:, :count].T.astype(np.float64) for numbers, count in counted]


def memory_of(program, planes, rows):
    """Arrays [planes, pitch] for all blocks."""
    memory = [np.ascontiguousarray(np.stack(block)) for block in planes]
    return memory + [np.full((width, count + 3), 77, np.float32) for width, count in zip(program.outputs, rows)]


class Compiled:
    """A program made quickly, for the CPU; run(planes of each input, rows) gives each output block, [rows, planes]."""

    def __init__(self, program, folder):
        self.program = program
        path = Path(tempfile.mkdtemp(dir=folder)) / "program.so"
        with compiled_quickly():
            cpu.build(program.cpu.source, "x86-64-v3", path)
        self.call = fused.Program(path)

    def run(self, planes, rows):
        memory = memory_of(self.program, planes, rows)
        self.call(type("Columns", (), {"blocks": [(one.ctypes.data, one.shape[1]) for one in memory]}), rows)
        return whole(self.program, memory, rows)


class CompiledForGpu:
    """The same for a GPU, run on the CPU."""

    def __init__(self, program, folder):
        self.program = program
        (self.loaded,) = cuda_programs.on_cpu([program.gpu.made], tempfile.mkdtemp(dir=folder))

    def run(self, planes, rows):
        memory = memory_of(self.program, planes, rows)
        blocks = [type("Block", (), {"address": one.ctypes.data, "pitch": one.shape[1]}) for one in memory]
        self.loaded.bind(blocks, rows)()
        return whole(self.program, memory, rows)


# ---- comparison with torch


def differs(a, b, relative, absolute):
    """Where; numbers that are not finite are the same."""
    finite = np.isfinite(b)
    with np.errstate(invalid="ignore"):
        allowed = relative * np.abs(np.where(finite, b, 0.0)) + absolute
        return np.where(finite, ~(np.abs(a - b) <= allowed), ~((a == b) | (a != a) & (b != b)))


def differences(names, got, truth, wrong):
    """{name: where and how it differs first}; `names`: (name, width) of what lies side by side."""
    found, at = {}, 0
    for name, width in names:
        places = np.argwhere(wrong[:, at : at + width]) + [0, at]
        if len(places):
            row, column = places[0]
            numbers = f"{got[row, column]}, not {truth[row, column]}"
            found[name] = f"{len(places)} differ: [{row}, {column - at}] is {numbers}"
        at += width
    return found


def of_numbers(made, module, names, planes):
    """Differences from the module in float32 and in float64: torch's vectors sometimes overflow early."""
    arguments = [torch.from_numpy(np.stack(block, 1)) for block in planes]
    wide = [argument.double() if argument.dtype == torch.float32 else argument for argument in arguments]
    with torch.no_grad():
        truth, exact = module(*arguments).double().numpy(), module(*wide).float().double().numpy()
    got = made.run(planes, [len(planes[0][0])])[0]
    wrong = differs(got, truth, 2e-5, 1e-6) & differs(got, exact, 2e-5, 1e-6)
    return differences(names[0], got, truth, wrong)


ROWS = ((1, 1), (2, 5), (5, 0), (50, 9), (9, 57), (97, 300))


def of_network(made, module, names, seed):
    """Differences from the module in float64, at several numbers of rows."""
    found, double = {}, copy.deepcopy(module).double()
    for nodes, edges in ROWS:
        draw = np.random.default_rng(1000 * seed + nodes)
        x, e = (draw.normal(size=(n, m)).astype(np.float32) for n, m in ((3, nodes), (4, edges)))
        index = draw.integers(0, nodes, (2, edges))
        with torch.no_grad():
            truth = double(torch.from_numpy(x.T).double(), torch.from_numpy(index), torch.from_numpy(e.T).double())
        for side, got, want in zip(names, made.run([x, index, e], [nodes, edges]), truth):
            want = want.numpy()
            # Where all cancels, what is left is float32's error of numbers of size one, 316 times as large where a layer
            # norm divides by the root of its eps.
            largest = np.repeat([np.abs(part).max(initial=1.0) for part in parts_of(side, want)], [w for _, w in side])
            for name, how in differences(side, got, want, differs(got, want, 0.0, 1e-4 * largest)).items():
                found.setdefault(name, f"{nodes} nodes, {edges} edges: {how}")
    return found


def parts_of(names, array):
    return np.split(array, np.cumsum([width for _, width in names])[:-1], axis=1)


def search(kind, seeds):
    """Lines on what differs: `seeds` are random networks, or hard numbers for all functions of floats or integers."""
    torch.set_num_threads(1)
    module, inputs, names = {"floats": of_floats, "integers": of_integers}.get(kind, lambda: of_graphs(seeds))()
    program, lines = program_of(module, inputs, names), []
    for make in (Compiled, CompiledForGpu):
        with tempfile.TemporaryDirectory(prefix="random_programs-") as folder:
            made = make(program, folder)
        if kind == "graphs":
            found = [("", of_network(made, module, names, seeds[0]))]
        else:
            found = [(f"seed {seed}, ", of_numbers(made, module, names, planes_of(kind, seed))) for seed in seeds]
        for where, result in found:
            lines += [f"{make.__name__}, {kind}, {where}{name}: {how}" for name, how in result.items()]
    return lines


def pieces(seeds, size):
    return [seeds[i : i + size] for i in range(0, len(seeds), size)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:10000", help="first and last + 1")
    parser.add_argument("--batch", type=int, default=40, help="networks in a program")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    seeds = range(*map(int, options.seeds.split(":")))
    tasks = [(kind, some) for kind in ("floats", "integers") for some in pieces(seeds, 2500)]
    tasks += [("graphs", some) for some in pieces(seeds, options.batch)]
    start, wrong, done = time.monotonic(), 0, 0
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(search, *task): task for task in tasks}
        for future in as_completed(running):
            try:
                lines = future.result()
            except Exception as error:  # the other seeds are searched, too
                kind, some = running[future]
                lines = [f"{kind} of seeds {some[0]} to {some[-1]}: {type(error).__name__}: {str(error)[:300]}"]
            wrong, done = wrong + len(lines), done + 1
            if done % 10 == 0:
                lines.append(f"{done} of {len(tasks)} programs, {wrong} differences, {time.monotonic() - start:.0f} s")
            for line in lines:
                print(line, flush=True)
    print(f"{len(seeds)} seeds: {wrong} differ; {time.monotonic() - start:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
