# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""CUDA C++ of streams whose values lie in registers: a lane has one or two rows of the team and a share of the keys.

Lanes next to each other have different rows and the same keys, so that what they read of keys is one address. What lanes have
found is joined as a block is to those before it: first that of lanes of a warp, then that of warps.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tensoa.compiler import operations as ops
from tensoa.compiler.cuda.expressions import memory_type
from tensoa.compiler.cuda.memory import pitch_of
from tensoa.compiler.cuda.rows import StagePrinter
from tensoa.compiler.cuda.units import ThreadPrinter, unrolled
from tensoa.compiler.printing import STRUCTS, Place, join_of
from tensoa.compiler.schedule.addresses import elements_of, width_of
from tensoa.compiler.schedule.nests import Loop, Nest, StreamLoop
from tensoa.compiler.schedule.roots import Reason, Roots
from tensoa.compiler.schedule.streams import Previous, are_rows
from tensoa.compiler.schedule.teams import WARP, Team
from tensoa.compiler.tensors import Tensor, in_order

LANES_OF_ROWS = 8  # of a warp; the others have other keys
BLOCKS_OF_ONE, BLOCKS_OF_TWO = 3, 2  # that a multiprocessor has registers for, where a lane has one or two rows
SHARED_NUMBERS = 16  # of a key, from which on two rows of a lane share what it reads


@dataclass(frozen=True)
class Split:
    """`rows` of a team are those of `lanes` next to each other, `each` of a lane; all other threads have other keys."""

    lanes: int
    each: int
    warps: int

    @property
    def rows(self) -> int:
        return self.lanes * self.each


def split_of(team: Team) -> Split:
    each = max(1, team.rows // LANES_OF_ROWS) if not team.is_warp else 1
    return Split(team.rows // each, each, 1 if team.is_warp else team.threads // WARP)


def rows_of_team(streams: Sequence[StreamLoop]) -> int:
    """Of a block: two of a lane where so much is read of keys that more rows should share it."""
    read = [sum(elements_of(nest.root) for nest in one.nests if are_rows(nest.root)) // int(one.size) for one in streams]
    return LANES_OF_ROWS * (2 if max(read) >= SHARED_NUMBERS else 1)


def exchanged_bytes(stream: StreamLoop, team: Team) -> int:
    """The bytes of the results of half of the warps."""
    split = split_of(team)
    size = sum(-(-elements_of(result) * width_of(result.dtype) // 8) * 8 for result in stream.results)
    return split.warps // 2 * split.rows * size


class LanePrinter(ThreadPrinter):
    """Prints a stream for the rows and keys of a lane."""

    def __init__(self, outer: StagePrinter, stream: StreamLoop) -> None:
        super().__init__(outer)
        self.stream, self.split = stream, split_of(outer.team)
        self.members = {id(outer.places[result].buffer): f"s{i}" for i, result in enumerate(stream.results)}

    def shared(self, loops: Sequence[Loop], body: str, has_rows_inside: bool = False, unroll: int = 0) -> str:
        row = f"[[maybe_unused]] const int q = min(row + r * {self.split.lanes}, n - 1);"
        return unrolled([Loop("r", self.split.each)], f"{row} {unrolled(loops, body)}")

    # -- where values lie

    def put(self, state: str) -> None:
        """From now on the results lie in `state`."""
        for tensor, buffer in self.nests.buffers.items():
            if id(buffer) in self.members:
                self.places[tensor] = Place(f"{state}.{self.members[id(buffer)]}", buffer)

    def arrays(self) -> list[str]:
        """Those of the values of a block."""
        lines, done = [], set[int]()
        for nest in self.stream.nests:
            buffer = nest.buffer
            if id(buffer) in self.members or id(buffer) in done:
                continue
            done.add(id(buffer))
            name, root = f"v{len(done)}", buffer.root
            kind, is_keys = memory_type(root.dtype), are_rows(root)
            if is_keys and buffer.pitch:
                buffer.pitch = pitch_of(root.args[0])
            size = int(self.stream.size) * buffer.pitch if buffer.pitch else elements_of(root)
            lines.append(f"{kind} {name}{'' if is_keys else f'[{self.split.each}]'}[{size}];")
            place = Place(name if is_keys else f"{name}[r]", buffer)
            self.places |= {root: place, **{one: place for one, other in self.nests.buffers.items() if other is buffer}}
        return lines

    def print_keys(self, nest: Nest) -> str:
        """Rows of memory are read as vectors."""
        (x,), buffer, to = nest.root.args, nest.buffer, self.places[nest.root].pointer
        if buffer.pitch:
            from_ = f"{self.buffer_of(x)} + (key + j) * {buffer.pitch}"
            return unrolled([Loop("j", self.stream.size)], f"read_row<{buffer.pitch}>({to} + j * {buffer.pitch}, {from_});")
        assert isinstance(x.op, ops.Column)
        store = f"{to}[i * {int(self.stream.size)} + j] = {self.column(x.op, 'i', 'key + j')};"
        return unrolled([Loop("i", elements_of(x)), Loop("j", self.stream.size)], store)

    # -- the loop over keys

    def text(self) -> str:
        split, team, stream = self.split, self.outer.team, self.stream
        count, size = self.memory.rows_text(stream.symbol), int(stream.size)
        members = " ".join(f"{memory_type(one.dtype)} {self.member(one)}[{elements_of(one)}];" for one in stream.results)
        self.put("mine[r]")
        start = " ".join(self.shared(*self.filled(one)) for one in stream.results)
        block = [*self.arrays(), *(f"{{ {self.nest_text(nest)} }}" for nest in stream.nests)]
        body = "\n".join(block)
        lines = [
            f"struct State {{ {members} }};",
            f"State mine[{split.each}];",
            f"[[maybe_unused]] const int row = thread % {split.lanes}, part = thread / {split.lanes};",
            f"constexpr int kParts = kThreads / {split.lanes};",
            start,
            f"const auto join_block = [&](const int64 key, const auto keys) {{\n{body}\n}};",
            f"const int64 whole = {count} / {size} * {size};",
            f"for (int64 key = part * {size}; key < whole; key += kParts * {size}) join_block(key, Count<{size}>{{}});",
            f"for (int64 key = whole + part; key < {count}; key += kParts) join_block(key, Count<1>{{}});" if size > 1 else "",
            f"[[maybe_unused]] const auto join = [](State& a, const State& b) {{ {self.joined()} }};",
            self.joined_in_warp() if split.lanes < WARP else "",
            self.joined_warps() if not team.is_warp else "",
            self.results(),
        ]
        return "\n".join(line for line in lines if line)

    def member(self, result: Tensor) -> str:
        return self.members[id(self.nests.buffers[result])]

    # -- what lanes have found

    def joined(self) -> str:
        """Joins the state `b` to `a`."""
        lines = ["[[maybe_unused]] const State before = a;"]
        joining = {nest.stream: nest for nest in self.stream.nests if nest.stream is not None}
        for stream in sorted(joining, key=lambda one: one in self.stream.online):  # the largest come first
            nest = joining[stream]
            if isinstance(stream.op, ops.Sort):
                lines.append(self.joined_order(nest, stream.op))
                continue
            mine, other = (self.scaled(nest, state, previous) for state, previous in (("a", "before"), ("b", "b")))
            self.put("a")
            to = self.places[stream].element(nest.target.text())
            lines.append(unrolled(nest.loops, f"{to} = {STRUCTS[join_of(stream)]}::join({mine}, {other});"))
        return " ".join(lines)

    def scaled(self, nest: Nest, state: str, previous: str) -> str:
        """The result of a state, relative to the largest of both. `previous`: the state whose largest number is read."""
        self.put(state)
        root = nest.buffer.root
        value = self.loaded(root.dtype, self.places[root].pointer, nest.target.text())
        if nest.factor is None:
            return value
        earlier = [one for one in in_order(nest.factor) if isinstance(one.op, Previous)]
        self.put(previous)
        self.places |= {one: self.places[one.args[0]] for one in earlier}
        for one in earlier:
            buffer = self.places[one].buffer
            self.places[one.args[0]] = Place(f"a.{self.members[id(buffer)]}", buffer)
        roots, self.nests.roots = self.nests.roots, Roots({x: Reason.STREAM for one in earlier for x in (one, one.args[0])})
        factor = self.value(nest.factor, nest.index)
        self.nests.roots = roots
        return f"mul_of({value}, {factor})"

    def joined_order(self, nest: Nest, op: ops.Sort) -> str:
        arguments = []
        for state in ("a", "b"):
            self.put(state)
            for one in (nest.buffer.root, self.numbers_of(nest)):
                address, step = self.first_along(one, nest.index, op.axis)
                arguments.append(f"{address.text}, {step}")
        others = [loop for loop in nest.loops if loop.name != f"i{op.axis}"]
        return unrolled(others, f"join_selected<{op.k}>({', '.join(arguments)}, {str(op.is_largest).lower()});")

    def joined_in_warp(self) -> str:
        copies = " ".join(
            unrolled([Loop("i", elements_of(one))], f"other.{name}[i] = __shfl_xor_sync(kAll, mine[r].{name}[i], step);")
            for one in self.stream.results
            for name in [self.member(one)]
        )
        each = unrolled([Loop("r", self.split.each)], f"State other; {copies} join(mine[r], other);")
        return f"#pragma unroll\nfor (int step = {self.split.lanes}; step < 32; step *= 2) {{ {each} }}"

    def joined_warps(self) -> str:
        """The upper half of the warps writes, the lower half joins."""
        split, room = self.split, "reinterpret_cast<State*>(common)"
        place = f"* {split.rows} + row + r * {split.lanes}"
        write = unrolled([Loop("r", split.each)], f"room[(thread / 32 - half) {place}] = mine[r];")
        read = unrolled([Loop("r", split.each)], f"join(mine[r], room[thread / 32 {place}]);")
        is_writer = f"thread / 32 >= half && thread / 32 < 2 * half && thread % 32 < {split.lanes}"
        steps = f"if ({is_writer}) {{ {write} }} __syncthreads(); if (thread / 32 < half) {{ {read} }} __syncthreads();"
        halves = f"for (int half = {split.warps // 2}; half > 0; half /= 2) {{ {steps} }}"
        return f"State* const room = {room};\n#pragma unroll\n{halves}"

    def results(self) -> str:
        """Writes what is found to the memory of the row."""
        lines = []
        for one in self.stream.results:
            to = self.outer.places[one]
            store = f"{to.element('i')} = mine[r].{self.member(one)}[i];"
            lines.append(unrolled([Loop("i", elements_of(one))], store))
        row = f"const int q = row + r * {self.split.lanes}; if (q < n) {{ {' '.join(lines)} }}"
        return f"if (part == 0) {{ {unrolled([Loop('r', self.split.each)], row)} }}"

    def filled(self, result: Tensor) -> tuple[list[Loop], str]:
        place = self.places[result]
        return [Loop("i", elements_of(result))], f"{place.element('i')} = {self.start_of_stream(result)};"
