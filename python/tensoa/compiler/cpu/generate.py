# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From a typed program to the C++ of a library."""

from pathlib import Path
from typing import NamedTuple

from tensoa.compiler.constants import Pool
from tensoa.compiler.cpu.constants import BLOCK
from tensoa.compiler.cpu.expressions import Arguments, Weights, type_of
from tensoa.compiler.cpu.rows import StageMemory, StagePrinter, start_text
from tensoa.compiler.cpu.source import INCLUDED, Source
from tensoa.compiler.cpu.target import X86_64, Target
from tensoa.compiler.errors import NotFused
from tensoa.compiler.printing import Place, joined
from tensoa.compiler.program import Program
from tensoa.compiler.schedule.addresses import buffer_pitch, width_of
from tensoa.compiler.schedule.memory import place
from tensoa.compiler.schedule.nests import ItemLoop, Nests, StreamLoop, UnitLoop, nests_of
from tensoa.compiler.schedule.roots import passed_on
from tensoa.compiler.schedule.stages import ONE, stages_of, symbol_of
from tensoa.compiler.schedule.words import describe
from tensoa.compiler.tensors import Tensor

ABI = 1  # of the library
_FOLDER = Path(__file__).parent / "kernels"
KERNELS = [_FOLDER / f"{name}.hpp" for name in "vectors functions doubles columns order tile numbers contract".split()]
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
    stages = stages_of(program)
    memory = StageMemory(stages)
    found = [nests_of(stage, memory.orders) for stage in stages]
    for nests in found:
        place(nests, memory.here(nests.stage), is_in_place=True, late=passed_on(nests.stage))
    return found, memory


def dump(program: Program) -> str:
    """The loop nests in text."""
    return "\n".join(nests.text() for nests in schedule(program)[0])


def described(program: Program) -> list[str]:
    """The work of each stage, in words."""
    return [describe(nests.stage) for nests in schedule(program)[0]]


def generate(program: Program, target: Target = X86_64) -> Source:
    """The C++ source of a program that the passes are done with. Raises NotFused for what there is no code for."""
    nests, memory = schedule(program)
    pool, functions = Pool(4 * BLOCK), Functions()
    row_bytes = max(one.bytes for one in nests) + 64 | 64  # rows a power of two apart would fall on the same lines of a cache
    common_bytes = max(one.common_bytes for one in nests)
    if row_bytes > target.row_bytes:
        raise NotFused(f"{row_bytes} bytes for a row at a time, at most {target.row_bytes} are held")
    calls = []
    for one in nests:
        is_special = len(one.all_nests) <= target.special_nests
        calls.append([_add(functions, one, pool, memory, program, row_bytes, is_tile, is_special) for is_tile in (True, False)])
    steps = []
    for one, (tile, few) in zip(nests, calls):
        steps += [_clear(tensor, memory) for tensor in one.stage.scatters]
        rows = "1" if one.stage.rows == ONE else f"rows[{program.rows.index(one.stage.rows)}]"
        steps.append(_run(functions.called(tile), functions.called(few), rows, target, tile.is_special))
    text = functions.text()
    if text.count("\n") > target.lines:
        raise NotFused(f"the size of its code: {text.count(chr(10))} lines, at most {target.lines} are compiled")
    if len(pool) > target.weight_bytes:
        raise NotFused(f"{len(pool) >> 20} MiB of weights, at most {target.weight_bytes >> 20} MiB are linked into a library")
    parts = [
        f"constexpr int kBlock = {BLOCK}, kTileRows = {target.tile};\n{joined(KERNELS)}",
        INCLUDED,
        _HEAD,
        text,
        "}  // namespace",
        _interface(program, memory, row_bytes, common_bytes, steps),
    ]
    return Source("\n".join(parts), bytes(pool.data) + bytes(256))


def _clear(tensor: Tensor, memory: StageMemory) -> str:
    kind = type_of(tensor.dtype)
    return f"fill_rows<{kind}>(memory[{memory.shared[tensor]}], {start_text(tensor)});"


def _add(
    functions: "Functions", nests: Nests, pool: Pool, memory: StageMemory, program: Program, row_bytes: int, is_tile: bool,
    is_special: bool,
) -> "Call":  # fmt: skip
    """A stage in one layout: kCount vectors of rows, or kCount rows."""
    arguments = Arguments()
    printer = StagePrinter(nests, Weights(pool, arguments), is_tile, memory, program.rows)
    printer.is_special = is_special
    lines, here = [], memory.here(nests.stage)
    owners = {buffer.root: buffer for buffer in nests.buffers.values() if not buffer.is_common}
    for i, (root, buffer) in enumerate(owners.items()):
        kind, name = type_of(root.dtype), f"b{i}"
        if root in here:
            start = f"reinterpret_cast<{kind}*>(row_at<char>(kept[{arguments.name('k', memory.kept[root])}], first))"
            pitch = buffer_pitch(root) * 4 // width_of(root.dtype)
        else:
            start = f"reinterpret_cast<{kind}*>(s + {buffer.offset}{' * kTileRows' if is_tile else ''})"
            pitch = row_bytes // width_of(root.dtype)
        lines.append(f"[[maybe_unused]] {kind}* const {name} = {start};")
        pointer = name if is_tile else f"({name} + q * {pitch})"
        printer.places[root] = Place(pointer, buffer, base=name, pitch=0 if is_tile else pitch)
    for root, buffer in nests.buffers.items():
        if not buffer.is_common:
            printer.places.setdefault(root, printer.places[buffer.root])
    for nest in nests.nests:
        assert not isinstance(nest, (ItemLoop, UnitLoop))  # they are only made for targets that have a form for them
        text = printer.stream_text(nest) if isinstance(nest, StreamLoop) else printer.nest_text(nest)
        lines += [text] if text else []
    lines += printer.ends()
    lines.insert(0, _counts(is_tile, printer.is_special))
    body = "\n".join(f"  {{ {line} }}" if not line.startswith("[[") else f"  {line}" for line in lines)
    return functions.add(body, arguments, is_special)


class Call(NamedTuple):
    """A use of a function: its text with the names of its numbers, and what they are."""

    body: str
    names: tuple[str, ...]
    is_special: bool
    numbers: tuple[int, ...]


class Functions:
    """The functions of the stages. Stages that differ only in numbers (where weights and memory lie) have one."""

    def __init__(self) -> None:
        self.calls: dict[tuple[str, tuple[str, ...], bool], list[Call]] = {}

    def add(self, body: str, arguments: Arguments, is_special: bool) -> Call:
        names = tuple(arguments.names.values())
        call = Call(body, names, is_special, tuple(number for _, number in arguments.names))
        self.calls.setdefault(call[:3], []).append(call)
        return call

    def called(self, call: Call) -> tuple[str, str]:
        """(name, the numbers that are passed); those of a function that is called once are constants."""
        name = _name_of(list(self.calls).index(call[:3]))
        if len(self.calls[call[:3]]) == 1:
            return name, "nullptr"
        return name, f"std::array<std::int64_t, {len(call.numbers)}>{{{', '.join(map(str, call.numbers))}}}.data()"

    def text(self) -> str:
        return "\n".join(self._text(_name_of(i), calls) for i, calls in enumerate(self.calls.values()))

    @staticmethod
    def _text(name: str, calls: list[Call]) -> str:
        call, is_single = calls[0], len(calls) == 1
        parameters = ("const Call& c", "char* s", "char* common", "const std::int64_t* rows", "const Memory* memory",
                      "const Memory* kept", "const std::int64_t* numbers", "std::int64_t first", "int n")  # fmt: skip
        lines = ["template <int kCount>"] if call.is_special else []
        lines.append(f"[[gnu::noinline]] void {name}({', '.join(f'[[maybe_unused]] {one}' for one in parameters)}) {{")
        for i, (number, value) in enumerate(zip(call.names, call.numbers)):
            kind, known = ("constexpr", value) if is_single else ("const", f"numbers[{i}]")
            lines.append(f"  [[maybe_unused]] {kind} std::int64_t {number} = {known};")
        return "\n".join([*lines, call.body, "}", ""])


def _name_of(number: int) -> str:
    return f"stage{number}"


def _counts(is_tile: bool, is_special: bool) -> str:
    """How many vectors, or few rows, a call works on: kCount, or known at run time."""
    if is_special:
        return f"[[maybe_unused]] constexpr int {'vectors' if is_tile else 'rows_here'} = kCount;"
    return f"[[maybe_unused]] const int {'vectors = (n + kLanes - 1) / kLanes' if is_tile else 'rows_here = n'};"


def _run(tile: tuple[str, str], few: tuple[str, str], rows: str, target: Target, is_special: bool) -> str:
    """All rows of a stage: in tiles as long as these are faster, then in 4, 2, 1. A function: its name, and its numbers."""
    of_tile, of_few = (f"(c, s, common, rows, memory, kept, {numbers}, first, n);" for _, numbers in (tile, few))
    if is_special:
        tiles = f"""
      if (n > 3 * kLanes) {tile[0]}<kTileRows / kLanes>{of_tile}
      else if (n > 2 * kLanes) {tile[0]}<3>{of_tile}
      else if (n > kLanes) {tile[0]}<2>{of_tile}
      else {tile[0]}<1>{of_tile}"""
        some = " ".join(f"else if (n == {n}) {few[0]}<{n}>{of_few}" for n in (4, 2, 1)).removeprefix("else ")
        least = "left >= 4 ? 4 : left >= 2 ? 2 : 1"
    else:
        tiles, some = tile[0] + of_tile, few[0] + of_few
        least = "static_cast<int>(std::min<std::int64_t>(left, 4))"
    return f"""  for (std::int64_t first = 0, all_rows = {rows}; first < all_rows;) {{
    const std::int64_t left = all_rows - first;
    const bool is_tile = left > {target.most_few};
    const int n = is_tile ? static_cast<int>(std::min<std::int64_t>(left, kTileRows)) : {least};
    if (is_tile) {{ {tiles} }}
    else {{ {some} }}
    first += is_tile ? kTileRows : n;
  }}"""


def _interface(program: Program, memory: StageMemory, row_bytes: int, common_bytes: int, steps: list[str]) -> str:
    """The functions of the library. Memory for all rows of a tile, and between stages, lies behind its scratch memory."""

    def rows(symbol: str) -> str:
        return "1" if symbol == ONE else f"rows[{program.rows.index(symbol)}]"

    common = row_bytes * X86_64.tile + 4096
    scratch = common + common_bytes + (4096 if common_bytes else 0)
    sizes = [f"4 * whole_tiles({rows(symbol)}) * {pitch} + 64" for symbol, pitch in memory.sizes]
    lines = [f"  float* const slot{i} = reinterpret_cast<float*>(at); at += {size};" for i, size in enumerate(sizes)]
    for name, found in (("memory", memory.shared), ("kept", memory.kept)):
        lines.append(f"  [[maybe_unused]] Memory {name}[{max(1, len(found))}];")
        for tensor, i in found.items():
            lines.append(
                f"  {name}[{i}] = {{slot{memory.slot_of[name, tensor]}, {buffer_pitch(tensor)}, {rows(symbol_of(tensor))}}};"
            )
    api = 'extern "C" [[gnu::visibility("default")]]'
    return "\n".join(
        [
            f"{api} std::int64_t tensoa_program_abi() {{ return {ABI}; }}",
            f"{api} std::int64_t tensoa_program_workspace([[maybe_unused]] const std::int64_t* rows) {{",
            f"  return {' + '.join([str(scratch), *sizes])};",
            "}",
            f"{api} void tensoa_program_run(const tensoa_block* blocks, const std::int64_t* rows, void* workspace) {{",
            "  char* const s = static_cast<char*>(workspace);",
            f"  [[maybe_unused]] char* const common = s + {common};",
            f"  [[maybe_unused]] char* at = s + {scratch};",
            "  const Call c{blocks, rows};",
            *lines,
            *steps,
            "}",
            "",
        ]
    )
