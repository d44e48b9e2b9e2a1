# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From the stages of a row program to the C++ of a whole library."""

from pathlib import Path

from tensoa.compiler.backends.cpu.body import Body
from tensoa.compiler.backends.cpu.constants import BLOCK, padded
from tensoa.compiler.backends.cpu.source import INCLUDED, Source
from tensoa.compiler.backends.kernel_text import joined
from tensoa.compiler.buffers import Life, Slots
from tensoa.compiler.constants import Pool
from tensoa.compiler.errors import NotFused
from tensoa.compiler.ir import REDUCTIONS, Program
from tensoa.compiler.stages import Buffer, Plan

ABI = 1  # of the library
TILE = 48  # rows of a Tile
LINES = 1000  # of all stages: 850 took the compiler 10 s
# Linear layers of a program, at most, whose code is where they are called, with their sizes as constants: one row of
# 3 -> 64 -> 64 -> 2 takes 94 ns instead of 106, 16 rows 713 instead of 750, the compiler 0.1 s more for a layer.
INLINED = 4
MOST_WEIGHT = 1 << 30  # of a library, whose code and data are at most 2 GiB apart
FEATURES = 1 << 17  # that a row may have in scratch memory: 24 MiB for a tile
_FOLDER = Path(__file__).parent / "kernels"
KERNELS = [_FOLDER / f"{name}.hpp" for name in "vectors functions doubles columns order tile few pairs".split()]


def kernel_text(is_inlined: bool = False) -> str:
    """What every program begins with. `is_inlined`: the code of a linear layer is where it is called."""
    linear = "[[gnu::always_inline]] inline" if is_inlined else "[[gnu::noinline]]"
    return f"#define TENSOA_LINEAR {linear}\nconstexpr int kBlock = {BLOCK}, kTileRows = {TILE};\n{joined(KERNELS)}"


def _slots(plan: Plan) -> Slots:
    """Memory of the buffers. Shapes are (domain, pitch)."""
    last: dict[int, int] = {}
    for at, stage in enumerate(plan.stages):
        used = [
            *stage.reads,
            *stage.stores,
            *stage.sums,
            *(plan.buffer_of(x) for value in stage.gathers for x in value.far_args),
        ]
        last.update((id(buffer), at) for buffer in used if buffer is not None)
    return Slots(
        [
            Life(buffer.value, (buffer.domain, padded(buffer.width)), at, last[id(buffer)])
            for at, stage in enumerate(plan.stages)
            for buffer in [*stage.stores, *stage.sums]
        ]
    )


def _start(buffer: Buffer) -> str:
    """The number that a scatter has where it has no row, in C++."""
    start = REDUCTIONS[buffer.value.name].start
    return f"{'-' if start < 0 else ''}INFINITY" if start else "0"


def generate(program: Program, plan: Plan) -> Source:
    """The C++ source of `plan`, the stages of `program`. Raises InputError for what it has no code for, and NotFused for
    what would take long to compile.
    """
    weights, slots = Pool(4 * BLOCK), _slots(plan)
    texts: dict[str, tuple[str, Body]] = {}
    steps: list[str] = []
    pitch = BLOCK
    for stage in plan.stages:
        body = Body(stage, plan)
        key = body.text("Stage")
        name = texts.setdefault(key, (f"Stage{len(texts)}", body))[0]
        memory = [f"memory[{slots.of[id(buffer.value)]}]" for buffer in body.buffers] or ["Memory{}"]
        pitch = max(pitch, body.scratch.size)
        places = [f"tensoa_weights + {weights.place(array.tobytes()) // 4}" for array in body.constants]
        steps += [f"  memory[{slots.of[id(buffer.value)]}].fill({_start(buffer)});" for buffer in stage.sums]
        steps += [
            "  {",
            f"    const Memory buffers[] = {{{', '.join(memory)}}};",
            f"    const float* const constants[] = {{{', '.join(places or ['tensoa_weights'])}}};",
            "    const Call call{blocks, rows, scratch, buffers, constants};",
            f"    run_stage<{name}, kPitch>(call, rows[{stage.domain}]);",
            "  }",
        ]
    lines = sum([len(made.lines) for _, made in texts.values()])
    if lines > LINES:
        raise NotFused(f"the size of its code: {lines} lines, at most {LINES} are compiled")
    if pitch > FEATURES:
        raise NotFused(f"{pitch} numbers for a row at a time, at most {FEATURES} are held")
    pitch |= BLOCK  # rows a power of two apart would fall on the same lines of a cache
    layers = sum("L::linear(" in line for _, made in texts.values() for line in made.lines)
    stages = "\n".join(body.text(name) for name, body in texts.values())
    if len(weights) > MOST_WEIGHT:
        raise NotFused(f"{len(weights) >> 20} MiB of weights, at most {MOST_WEIGHT >> 20} MiB are linked into a library")
    text = [
        kernel_text(layers <= INLINED),
        INCLUDED,
        "namespace {\n",
        stages,
        f"constexpr int kPitch = {pitch};",
        "}  // namespace",
        _interface(pitch, slots.shapes, steps),
    ]
    return Source("\n".join(text), bytes(weights.data) or bytes(4 * BLOCK))


def _interface(pitch: int, shapes: list, steps: list[str]) -> str:
    """The functions of the library."""
    sizes = "".join(f" + whole_tiles(rows[{domain}]) * {width}" for domain, width in shapes)
    memory = [
        f"  memory[{i}] = {{at, {width}, rows[{domain}]}};\n  at += whole_tiles(rows[{domain}]) * {width};"
        for i, (domain, width) in enumerate(shapes)
    ]
    head = f"""
#define TENSOA_API extern "C" [[gnu::visibility("default")]]

TENSOA_API std::int64_t tensoa_program_abi() {{ return {ABI}; }}

TENSOA_API std::int64_t tensoa_program_workspace([[maybe_unused]] const std::int64_t* rows) {{
  return 4 * ({pitch * TILE}{sizes});
}}

TENSOA_API void tensoa_program_run(const tensoa_block* blocks, const std::int64_t* rows, void* workspace) {{
  float* const scratch = static_cast<float*>(workspace);
  [[maybe_unused]] float* at = scratch + {pitch * TILE};
  [[maybe_unused]] Memory memory[{max(len(shapes), 1)}];
"""
    return "\n".join([head, *memory, *steps, "}\n"])
