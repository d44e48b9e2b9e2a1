# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From a typed program to the C++ of a library (the interface is that of backends/cpu)."""

from pathlib import Path

from tensoa.compiler.backends.cpu.generate import ABI, kernel_text
from tensoa.compiler.backends.cpu.source import INCLUDED, Source
from tensoa.compiler.backends.kernel_text import joined
from tensoa.compiler.errors import NotFused
from tensoa.compiler.typed.cpu.expressions import Place, Weights, type_of
from tensoa.compiler.typed.cpu.rows import StageMemory, StagePrinter, pitch_of, start_text
from tensoa.compiler.typed.cpu.target import X86_64, Target
from tensoa.compiler.typed.program import Program
from tensoa.compiler.typed.schedule.addresses import base_of
from tensoa.compiler.typed.schedule.memory import place, width_of
from tensoa.compiler.typed.schedule.nests import Nest, Nests, nests_of
from tensoa.compiler.typed.schedule.stages import ONE, joins_rows, stages_of, symbol_of
from tensoa.compiler.typed.tensors import Tensor

KERNELS = [Path(__file__).parent / "kernels" / f"{name}.hpp" for name in ("numbers", "contract")]
_HEAD = """
#include <array>

namespace {
#define UNROLLED _Pragma("GCC unroll 8")
template <class T>
inline const T* weights_at(std::int64_t at) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(tensoa_weights) + at);
}
"""


def schedule(program: Program) -> tuple[list[Nests], StageMemory]:
    """The loop nests of all stages, with their memory. Raises NotFused for what has none."""
    memory, found = StageMemory(), []
    for stage in stages_of(program):
        nests = nests_of(stage, memory.orders)
        for tensor in [*stage.shared, *stage.scatters]:
            memory.shared.setdefault(tensor, len(memory.shared))
        for tensor in stage.kept:
            memory.kept.setdefault(tensor, len(memory.kept))
        found.append(nests)
    for nests in found:
        place(nests, {base_of(tensor) for tensor in memory.kept})
    return found, memory


def dump(program: Program) -> str:
    """The loop nests in text."""
    return "\n".join(nests.text() for nests in schedule(program)[0])


def described(program: Program) -> list[str]:
    """What each stage does, in words."""
    return [", ".join(_word(nest) for nest in nests.nests) for nests in schedule(program)[0]]


def _word(nest: Nest) -> str:
    made = nest.root if nest.inner is None else nest.inner
    return f"{made.op.name} {' x '.join(map(str, nest.root.inner)) or '1'}"


def generate(program: Program, target: Target = X86_64) -> Source:
    """The C++ source of a program that the passes are done with. Raises NotFused for what there is no code for."""
    nests, memory = schedule(program)
    weights = Weights()
    row_bytes = max(one.bytes for one in nests) + 64 | 64  # rows a power of two apart would fall on the same lines of a cache
    if row_bytes > target.row_bytes:
        raise NotFused(f"{row_bytes} bytes for a row at a time, at most {target.row_bytes} are held")
    texts, steps = [], []
    for i, one in enumerate(nests):
        is_special = len(one.nests) <= target.special_nests
        texts += [_function(one, weights, memory, program, i, row_bytes, is_tile, is_special) for is_tile in (True, False)]
        steps += [_clear(tensor, memory) for tensor in one.stage.scatters]
        rows = "1" if one.stage.rows == ONE else f"rows[{program.rows.index(one.stage.rows)}]"
        steps.append(_run(i, rows, target, is_special))
    text = "\n".join(texts)
    if text.count("\n") > target.lines:
        raise NotFused(f"the size of its code: {text.count(chr(10))} lines, at most {target.lines} are compiled")
    if len(weights.pool) > target.weight_bytes:
        raise NotFused(
            f"{len(weights.pool) >> 20} MiB of weights, at most {target.weight_bytes >> 20} MiB are linked into a library"
        )
    parts = [
        kernel_text(True),
        joined(KERNELS),
        INCLUDED,
        _HEAD,
        text,
        "}  // namespace",
        _interface(program, memory, row_bytes, steps),
    ]
    return Source("\n".join(parts), bytes(weights.pool.data) + bytes(256))


def _clear(tensor: Tensor, memory: StageMemory) -> str:
    kind = type_of(tensor.dtype)
    return f"fill_rows<{kind}>(memory[{memory.shared[tensor]}], {start_text(tensor)});"


def _function(
    nests: Nests, weights: Weights, memory: StageMemory, program: Program, number: int, row_bytes: int, is_tile: bool,
    is_special: bool,
) -> str:  # fmt: skip
    """A stage in one layout: kCount vectors of rows, or kCount rows."""
    printer = StagePrinter(nests, weights, is_tile, memory, program.rows)
    printer.is_special = is_special
    lines = []
    owners = {nest.buffer.root: nest.buffer for nest in nests.nests}
    for i, (root, buffer) in enumerate(owners.items()):
        kind, name = type_of(root.dtype), f"b{i}"
        is_kept = root in memory.kept and root not in printer.nests_from_rows()
        if is_kept:
            start = f"reinterpret_cast<{kind}*>(row_at<char>(kept[{memory.kept[root]}], first))"
            pitch = pitch_of(root) * 4 // width_of(root.dtype)
        else:
            start = f"reinterpret_cast<{kind}*>(s + {buffer.offset}{' * kTileRows' if is_tile else ''})"
            pitch = row_bytes // width_of(root.dtype)
        lines.append(f"[[maybe_unused]] {kind}* const {name} = {start};")
        printer.places[root] = Place(name, buffer, 0 if is_tile else pitch)
    for root, buffer in nests.buffers.items():
        printer.places.setdefault(root, Place(printer.places[buffer.root].base, buffer, printer.places[buffer.root].pitch))
    lines += [text for nest in nests.nests if (text := printer.nest_text(nest))]
    lines += printer.ends()
    lines.insert(0, _counts(is_tile, printer.is_special))
    name = f"{'tile' if is_tile else 'few'}{number}"
    arguments = (
        "[[maybe_unused]] const Call& c, [[maybe_unused]] char* s, [[maybe_unused]] const std::int64_t* rows, "
        "[[maybe_unused]] const Memory* memory, [[maybe_unused]] const Memory* kept, "
        "[[maybe_unused]] std::int64_t first, [[maybe_unused]] int n"
    )
    body = "\n".join(f"  {{ {line} }}" if not line.startswith("[[") else f"  {line}" for line in lines)
    head = "template <int kCount>\n" if printer.is_special else ""
    return f"{head}[[gnu::noinline]] void {name}({arguments}) {{\n{body}\n}}\n"


def _counts(is_tile: bool, is_special: bool) -> str:
    """How many vectors, or few rows, a call works on: kCount, or known at run time."""
    if is_special:
        return f"[[maybe_unused]] constexpr int {'vectors' if is_tile else 'rows_here'} = kCount;"
    return f"[[maybe_unused]] const int {'vectors = (n + kLanes - 1) / kLanes' if is_tile else 'rows_here = n'};"


def _run(number: int, rows: str, target: Target, is_special: bool) -> str:
    """All rows of a stage: in tiles as long as these are faster, then in 4, 2, 1."""
    call = "(c, s, rows, memory, kept, first, "
    if is_special:
        tiles = f"""
      if (n > 3 * kLanes) tile{number}<kTileRows / kLanes>{call}n);
      else if (n > 2 * kLanes) tile{number}<3>{call}n);
      else if (n > kLanes) tile{number}<2>{call}n);
      else tile{number}<1>{call}n);"""
        few = " ".join(f"else if (n == {n}) few{number}<{n}>{call}n);" for n in (4, 2, 1)).removeprefix("else ")
        least = "left >= 4 ? 4 : left >= 2 ? 2 : 1"
    else:
        tiles, few, least = (
            f"tile{number}{call}n);",
            f"few{number}{call}n);",
            "static_cast<int>(std::min<std::int64_t>(left, 4))",
        )
    return f"""  for (std::int64_t first = 0, all_rows = {rows}; first < all_rows;) {{
    const std::int64_t left = all_rows - first;
    const bool is_tile = left > {target.few};
    const int n = is_tile ? static_cast<int>(std::min<std::int64_t>(left, kTileRows)) : {least};
    if (is_tile) {{ {tiles} }}
    else {{ {few} }}
    first += is_tile ? kTileRows : n;
  }}"""


def _interface(program: Program, memory: StageMemory, row_bytes: int, steps: list[str]) -> str:
    """The functions of the library. Memory between stages lies behind the scratch memory of a tile."""

    def rows(tensor: Tensor) -> str:
        return "1" if symbol_of(tensor) == ONE else f"rows[{program.rows.index(symbol_of(tensor))}]"

    scratch = row_bytes * 48 + 4096
    lines, sizes = [], []
    for name, found in (("memory", memory.shared), ("kept", memory.kept)):
        lines.append(f"  [[maybe_unused]] Memory {name}[{max(1, len(found))}];")
        for tensor, i in found.items():
            size = f"4 * whole_tiles({rows(tensor)}) * {pitch_of(tensor)} + 64"
            sizes.append(f" + {size}")
            lines.append(f"  {name}[{i}] = {{reinterpret_cast<float*>(at), {pitch_of(tensor)}, {rows(tensor)}}}; at += {size};")
    api = 'extern "C" [[gnu::visibility("default")]]'
    return "\n".join(
        [
            f"{api} std::int64_t tensoa_program_abi() {{ return {ABI}; }}",
            f"{api} std::int64_t tensoa_program_workspace([[maybe_unused]] const std::int64_t* rows) {{",
            f"  return {scratch}{''.join(sizes)};",
            "}",
            f"{api} void tensoa_program_run(const tensoa_block* blocks, const std::int64_t* rows, void* workspace) {{",
            "  char* const s = static_cast<char*>(workspace);",
            f"  [[maybe_unused]] char* at = s + {scratch};",
            "  const Call c{blocks, rows, nullptr, nullptr, nullptr};",
            *lines,
            *steps,
            "}",
            "",
        ]
    )


__all__ = ["dump", "generate", "joins_rows", "schedule"]
