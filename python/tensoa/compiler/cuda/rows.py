# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""CUDA C++ of what reads and writes columns, memory between kernels, and other rows."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tensoa.compiler import operations as ops
from tensoa.compiler.cuda.expressions import Weights, cast_text, literal, memory_type, type_of
from tensoa.compiler.cuda.memory import Memory, pitch_of
from tensoa.compiler.cuda.nests import count_text, decoded
from tensoa.compiler.cuda.products import ProductPrinter
from tensoa.compiler.functions import start_of
from tensoa.compiler.printing import STRUCTS, Place
from tensoa.compiler.program import Output
from tensoa.compiler.schedule.addresses import (
    Indices,
    Linear,
    elements_of,
    far_source,
    flat,
    index_of,
    row_major,
    through,
    width_of,
)
from tensoa.compiler.schedule.nests import Buffer, ItemLoop, Loop, Nest, Nests, StreamLoop, UnitLoop, loops_over, reads_of
from tensoa.compiler.schedule.roots import Reason, added_rows
from tensoa.compiler.schedule.stages import ONE, symbol_of
from tensoa.compiler.schedule.teams import Team
from tensoa.compiler.tensors import Tensor


class Barriers:
    """Where the threads of a team wait for each other: before memory is read that others wrote, or written that others use."""

    def __init__(self, is_of_warp: bool = False) -> None:
        self.wait = "__syncwarp();" if is_of_warp else "__syncthreads();"
        self.read: list[Buffer] = []
        self.written: list[Buffer] = []

    def before(self, reads: Sequence[Buffer], writes: Sequence[Buffer]) -> str:
        is_needed = _overlap(self.written, [*reads, *writes]) or _overlap(self.read, writes)
        if is_needed:
            self.clear()
        self.read += reads
        self.written += writes
        return self.wait if is_needed else ""

    def clear(self) -> None:
        self.read, self.written = [], []


def _overlap(some: Iterable[Buffer], others: Sequence[Buffer]) -> bool:
    return any(
        one is other
        or (
            one.is_common == other.is_common and one.offset < other.offset + other.size and other.offset < one.offset + one.size
        )
        for one in some
        for other in others
    )


class StagePrinter(ProductPrinter):
    """Prints a stage."""

    def __init__(self, nests: Nests, weights: Weights, team: Team, memory: Memory) -> None:
        super().__init__(nests, weights, team)
        self.memory = memory
        self.lines: list[str] = []
        self.barriers = Barriers(team.is_warp)
        self.clears: Sequence[Tensor] = ()

    def line(self, text: str) -> None:
        if text:
            self.lines.append(text)

    def buffer_of(self, tensor: Tensor) -> str:
        """The memory of a tensor between kernels."""
        return f"static_cast<{memory_type(tensor.dtype)}*>(p.buffer[{self.memory.slots[tensor]}])"

    # -- where roots lie

    def place_all(self, pitch: int, scratch: str) -> None:
        """`pitch`: bytes from row to row of scratch memory, where rows do not lie next to each other; it begins at the pointer
        `scratch`.
        """
        stage, owners = self.nests.stage, {id(one): one for one in self.nests.buffers.values() if not one.is_common}
        names = {key: f"b{i}" for i, key in enumerate(owners)}
        for key, buffer in owners.items():
            root, name = buffer.root, names[key]
            kind, width = memory_type(root.dtype), width_of(root.dtype)
            if root in stage.earlier:
                step, between = 0 if symbol_of(root) != stage.rows else pitch_of(root), 1
                start = f"{self.buffer_of(root)} + first * {step}"
                self.line(f"[[maybe_unused]] const {kind}* const {name} = {start};")
                pointer = f"({name} + q * {step})" if step else name
            else:
                step, between = self.team.row_step or pitch // width, self.team.element_step
                start = f"reinterpret_cast<{kind}*>({scratch} + {buffer.offset * between})"
                self.line(f"[[maybe_unused]] {kind}* const {name} = {start};")
                pointer = f"({name} + q * {step})"
            for one in (one for one, other in self.nests.buffers.items() if other is buffer):
                self.places[one] = Place(pointer, buffer, between)
        for tensor in dict.fromkeys([*stage.shared, *stage.kept]):
            if tensor not in stage.earlier:
                self.copies[tensor] = f"({self.buffer_of(tensor)} + (first + q) * {pitch_of(tensor)})"

    # -- nests in order

    def print_all(self) -> None:
        for tensor in self.clears:
            self.line(self.cleared(tensor))
        stage, copies = self.nests.stage, self.copies
        self.copies = {} if self.team.is_warp else copies  # lanes write whole lines, when their rows are there
        for nest in self.nests.nests:
            if isinstance(nest, StreamLoop):
                self.print_stream(nest)
            elif isinstance(nest, ItemLoop):
                self.print_items(nest)
            elif isinstance(nest, UnitLoop):
                self.print_units(nest)
            else:
                self.print_nest(nest)
        for tensor, to in copies.items() if self.team.is_warp else ():
            self.at_the_end([tensor])
            self.line(self.rows_written(tensor, to))
        for tensor in stage.scatters:
            self.at_the_end(tensor.args)
            self.line(self.print_joined(tensor))
        for output in stage.outputs:
            self.at_the_end([output.value])
            self.line(self.print_output(output))

    def at_the_end(self, read: Sequence[Tensor]) -> None:
        roots = [x if x in self.nests.roots else through(x, [None] * len(x.shape))[0] for x in read]
        self.line(self.barriers.before([self.nests.buffers[root] for root in roots if root in self.nests.buffers], []))

    def print_nest(self, nest: Nest) -> None:
        text = self.nest_text(nest)
        if not text:
            return
        reads = [self.nests.buffers[root] for root in reads_of(nest, self.nests.roots) if root in self.nests.buffers]
        writes = [nest.buffer]
        if nest.stream is not None and isinstance(nest.root.op, ops.Sort):
            writes.append(self.nests.buffers[self.numbers_of(nest)])
        own = [one for one in reads if one.root not in self.nests.stage.earlier]
        self.line(self.barriers.before(own, writes))
        self.line(f"{{ {text} }}")

    def nest_text(self, nest: Nest) -> str:
        return "" if nest.reason is Reason.EARLIER else self.printed(nest)

    def print_items(self, loop: ItemLoop) -> None:
        raise NotImplementedError

    def print_units(self, loop: UnitLoop) -> None:
        raise NotImplementedError

    def print_stream(self, stream: StreamLoop) -> None:
        raise NotImplementedError

    def copied(self, root: Tensor) -> str:
        """Writes all elements to memory between kernels."""
        place = self.places[root]
        loops, index = loops_over(root, place.buffer.order)
        at = flat(index, place.buffer.strides).text()
        return self.shared(loops, f"{self.copies[root]}[{at}] = {place.element(at)};")

    def rows_written(self, root: Tensor, to: str) -> str:
        """Writes the rows of lanes to memory between kernels."""
        place = self.places[root]
        sizes = f"{elements_of(root)}, {self.team.rows}, {place.step}, {memory_type(root.dtype)}"
        return f"{{ constexpr int q = 0; write_rows<{sizes}>({to}, {pitch_of(root)}, {place.pointer}, n); }}"

    # -- columns

    def column(self, op: ops.Column, at: str, row: str) -> str:
        """A number of a plane, in registers. `at`: the element."""
        plane = self.plane(op.planes, at)
        pointer = f"static_cast<const {op.dtype.cuda}*>(p.block[{op.block}])"
        return f"from_column<{type_of(op.dtype)}>({pointer}[({plane}) * p.pitch[{op.block}] + {row}])"

    def plane(self, planes: Sequence[int], at: str) -> str:
        if tuple(planes) == tuple(range(planes[0], planes[0] + len(planes))):
            return f"{at} + {planes[0]}"
        return f"{self.weights.at('int', np.array(planes, np.int32).tobytes())}[{at}]"

    def print_column(self, nest: Nest) -> str:
        root = nest.root
        assert isinstance(root.op, ops.Column)
        store = self.written(root, "i", self.column(root.op, "i", "first + q"))
        return self.shared([Loop("i", elements_of(root))], store, True)

    # -- other rows

    def print_gather(self, nest: Nest) -> str:
        root = nest.root
        assert isinstance(root.op, ops.Gather)
        one_by_one = self.shared(nest.loops, self.stored(nest, nest.target, self.far_number(root, nest.index)))
        return self.whole_rows(nest, [root]) or one_by_one

    def far_number(self, tensor: Tensor, index: Indices) -> str:
        """An element of gathered rows."""
        assert isinstance(tensor.op, ops.Gather)
        source, at = far_source(tensor, index)
        x, places = tensor.args
        place = self.address(places, index)
        size = self.memory.rows_text(str(x.shape[tensor.op.axis]))
        read, kind = self.far_element(source, at), type_of(tensor.dtype)
        number = f"const int64 place = {place.pointer}[{place.at.text()}];"
        return f"[&]() -> {kind} {{ {number} return is_inside(place, {size}) ? {read} : nothing<{kind}>(); }}()"

    def whole_rows(self, nest: Nest, gathers: Sequence[Tensor]) -> str:
        """The text that lanes read rows of memory with, as whole lines; nothing where they are not such rows."""
        count = math.prod(loop.size for loop in nest.loops)
        inner = row_major([loop.size for loop in nest.loops])
        steps = {loop.name: step for loop, step in zip(nest.loops, inner) if loop.size > 1}

        def is_line(at: Linear) -> bool:
            return {name: factor for name, factor in at.terms.items() if name in steps} == steps

        place, rows = self.places[nest.buffer.root], []
        if not self.team.is_warp or nest.stream is not None or not is_line(nest.target) or count % 4:
            return ""
        for one in gathers:
            source, index = far_source(one, nest.index)
            at, where = self.address(one.args[1], nest.index), flat(index, self.memory.strides(source))
            is_row = bool(source.rows) and not isinstance(source.op, (ops.Column, ops.Constant, ops.Iota))
            if not is_row or source.dtype.name != "float32" or at.at.terms or not is_line(where) or where.offset % 4:
                return ""
            assert isinstance(one.op, ops.Gather)
            size, pitch = self.memory.rows_text(str(one.args[0].shape[one.op.axis])), pitch_of(source)
            row = f"{self.buffer_of(source)} + place * {pitch} + {where.offset}"
            number = f"const int64 place = {at.pointer}[{at.at.text()}];"
            rows.append(f"[&](int q) -> const float* {{ {number} return is_inside(place, {size}) ? {row} : nullptr; }}")
        to = f"{place.pointer} + {nest.target.offset * place.step}"
        return f"constexpr int q = 0; read_rows<{count}, {self.team.rows}, {place.step}>({to}, n, {', '.join(rows)});"

    def far_element(self, source: Tensor, index: Indices) -> str:
        """An element of the row `place`."""
        kind = type_of(source.dtype)
        if isinstance(source.op, ops.Iota):
            return f"static_cast<{kind}>({'place' if index[0] is None else index[0].text()})"
        if isinstance(source.op, ops.Constant):
            address = self.address(source, index)
            return self.loaded(source.dtype, address.pointer, address.at.text())
        at = flat(index, self.memory.strides(source)).text()
        if isinstance(source.op, ops.Column):
            return self.column(source.op, at, "place")
        row = f"place * {pitch_of(source)} + " if source.rows else ""
        return self.loaded(source.dtype, self.buffer_of(source), f"{row}{at}")

    def print_added(self, nest: Nest) -> str:
        """A sum of whole rows of memory."""
        gathers = added_rows(nest.root)
        value = " + ".join(self.far_number(one, nest.index) for one in gathers)
        return self.whole_rows(nest, gathers) or self.shared(nest.loops, self.stored(nest, nest.target, value))

    # -- the end of a stage

    def cleared(self, tensor: Tensor) -> str:
        """Sets the rows of a sum to its start."""
        assert isinstance(tensor.op, ops.Scatter)
        to = f"{self.buffer_of(tensor)}[first * {pitch_of(tensor)} + at]"
        start = literal(start_of(tensor.op.fn, tensor.dtype), tensor.dtype)
        return f"for (int at = thread; at < {pitch_of(tensor)} * n; at += kThreads) {to} = {start};"

    def print_joined(self, tensor: Tensor) -> str:
        """Some rows of each element by a thread, which joins neighbours with the same place before."""
        assert isinstance(tensor.op, ops.Scatter)
        (x, places), op = tensor.args, tensor.op
        loops = [Loop(f"i{i}", size) for i, size in enumerate(x.shape) if isinstance(size, int)]
        index = index_of(x)
        from_, where = self.address(x, index), self.address(places, index)
        kind, count = memory_type(tensor.dtype), count_text(loops)
        sizes = [1 if i == op.axis else size for i, size in enumerate(tensor.shape)]
        steps = {i: int(np.prod([n for n in sizes[i + 1 :] if isinstance(n, int)])) for i in range(len(sizes)) if i != op.axis}
        to = Linear(0, {f"i{i}": step for i, step in steps.items() if isinstance(sizes[i], int)})
        struct, size = STRUCTS[op.fn], self.memory.rows_text(str(op.size) if isinstance(op.size, str) else ONE)
        group = min(8, self.team.rows)
        head = f"const int part = at / ({count}), e = at % ({count}); {decoded(loops, 'e')}"
        flush = f"if (held >= 0) join_to<{struct}>({self.buffer_of(tensor)} + held * {pitch_of(tensor)} + {to.text()}, sum);"
        each = f"const int64 place = {where.pointer}[{where.at.text()}]; const {kind} x = {from_.pointer}[{from_.at.text()}];"
        same = f"if (place == held) {{ sum = {struct}::join(sum, x); continue; }}"
        body = f"{each} {same} {flush} held = is_inside(place, {size}) ? place : -1; sum = x;"
        rows = f"for (int q = part * {group}; q < min(n, (part + 1) * {group}); ++q) {{ {body} }}"
        parts = f"(n + {group - 1}) / {group} * ({count})" if group > 1 else f"n * ({count})"
        body = f"{head} int64 held = -1; {kind} sum{{}}; {rows} {flush}"
        return f"for (int at = thread; at < {parts}; at += kThreads) {{ {body} }}"

    def print_output(self, output: Output) -> str:
        value, column = output.value, output.column.cuda
        places = [self.address(value, [None, *map(Linear, at)]) for at in np.ndindex(*value.inner)]
        offsets, element = [address.at.offset for address in places], "i"
        step = offsets[1] - offsets[0] if len(offsets) > 1 else 1
        if offsets == list(range(0, step * len(offsets), step or 1)):
            element = "i" if step == 1 else f"i * {step}"
        else:
            element = f"{self.weights.at('int', np.array(offsets, np.int32).tobytes())}[i]"
        number = cast_text(self.loaded(value.dtype, places[0].pointer, element), value.dtype, output.column)
        block, plane = output.block, self.plane(output.planes, "i")
        to = f"static_cast<{column}*>(p.block[{block}])[({plane}) * p.pitch[{block}] + first + q]"
        return self.shared([Loop("i", len(offsets))], f"{to} = to_column<{column}>({number});", True)
