# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""All kernels of a program, their weights, and the plan of the launches."""

from dataclasses import asdict
from pathlib import Path

from tensoa.compiler.backends.cuda.kernel import REGISTER_TILES, TILE_ROWS, Kernel
from tensoa.compiler.backends.cuda.memory import PRECISIONS, Memory
from tensoa.compiler.backends.cuda.program import LIMITS, BufferEntry, Generated, Launch, Params, Zero
from tensoa.compiler.backends.kernel_text import joined
from tensoa.compiler.constants import Pool
from tensoa.compiler.errors import NotFused
from tensoa.compiler.ir import Program
from tensoa.compiler.stages import Plan
from tensoa.errors import InputError

_FOLDER = Path(__file__).parent / "kernels"
#: The instructions that CUDA C++ has no name for; tests give what stands here on a CPU.
INSTRUCTIONS = _FOLDER / "instructions.cuh"
KERNELS = [_FOLDER / f"{name}.cuh" for name in "rows doubles columns buffers sums reductions layers far across".split()]


def kernel_text() -> str:
    """What every program begins with, but for the lengths of its Params."""
    return "\n".join([INSTRUCTIONS.read_text(), joined(KERNELS)])


def _params(program: Program, buffers: int) -> Params:
    blocks = [value.block for value in program.values() if value.op in ("input", "index")]
    blocks += [output.block for output in program.outputs]
    params = Params(max(blocks) + 1, len(program.domains), max(1, buffers))  # C++ has no empty arrays
    if params.buffers > LIMITS["buffers"]:
        raise NotFused(f"what lies between its kernels: {params.buffers} buffers, at most {LIMITS['buffers']} are possible")
    for what, got in asdict(params).items():
        if got > LIMITS[what]:
            raise InputError(f"fused CUDA program: got {got} {what}, expected at most {LIMITS[what]}")
    return params


def _constants(params: Params) -> str:
    """What the text of the kernels finds before it."""
    numbers = {f"k{name.capitalize()}": length for name, length in asdict(params).items()}
    numbers |= {"kTileRows": TILE_ROWS, "kRegisterTiles": REGISTER_TILES}
    return f"constexpr int {', '.join(f'{name} = {number}' for name, number in numbers.items())};"


def generate(program: Program, plan: Plan, precision: str = PRECISIONS[0]) -> Generated:
    """The program of a stages.Plan; sums are the same bits at every call where it has totals.

    Raises InputError: what, got, expected; NotFused where there would be too many buffers.
    """
    if precision not in PRECISIONS:
        raise InputError(f'fused CUDA program: got precision "{precision}", expected one of {", ".join(PRECISIONS)}')
    memory = Memory(program, plan, precision)
    shapes = memory.buffers.shapes
    result = Generated(_params(program, len(shapes)), buffers=[BufferEntry(domain, size) for domain, size in shapes])
    cleared = dict.fromkeys(lists.slot for lists in memory.lists.values())
    result.steps += [Zero(slot) for slot in cleared]
    gathers = [value.args[0].domain for value in program.values() if value.op == "gather"]
    few_rows = set(gathers) | {value.domain for value in program.values() if value.op == "scatter"}
    source, weights = [_constants(result.params), kernel_text()], Pool(256)
    known: dict[str, int] = {}
    for work in memory.work():
        together = work.stage.domain in few_rows and memory.has_products(work.stage)
        together = together or any(value.op in ("attend", "nearest") for value in work.stage.values)
        kernel = Kernel(memory, work, together)
        if not kernel.lines:  # what is summed was stored before
            continue
        far = weights.place(kernel.weights.data)
        key = kernel.text("stage", far)
        if key not in known:
            known[key] = len(known)
            name = f"stage_{known[key]}"
            source.append(kernel.text(name, far))
            result.kernels.append(kernel.entry(name))
        result.steps += [Zero(memory.slots[id(value)]) for value in memory.zero_steps.get(work.at, ())]
        result.steps.append(Launch(known[key], *program.parts(work.stage.domain)))
    result.source = "\n".join(source)
    result.weights = bytes(weights.data)
    return result
