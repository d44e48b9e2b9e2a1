# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""C++ of what reads and writes columns, memory between stages, and other rows."""

import functools
from collections.abc import Sequence

import numpy as np

from tensoa.compiler import operations as ops
from tensoa.compiler.cpu.constants import padded
from tensoa.compiler.cpu.expressions import Weights, joining, literal, type_of
from tensoa.compiler.cpu.nests import NestPrinter
from tensoa.compiler.functions import start_of
from tensoa.compiler.printing import Place, loops_around
from tensoa.compiler.program import Output
from tensoa.compiler.schedule.addresses import (
    Indices,
    Linear,
    buffer_pitch,
    elements_of,
    far_source,
    flat,
    index_of,
    row_major,
    strides_of,
    variable,
)
from tensoa.compiler.schedule.buffers import Life, Slots
from tensoa.compiler.schedule.nests import Loop, Nest, Nests, StreamLoop, loops_over
from tensoa.compiler.schedule.roots import Reason, added_rows, passed_on
from tensoa.compiler.schedule.stages import ONE, Stage, is_free, joins_rows, symbol_of
from tensoa.compiler.schedule.streams import Online, are_rows
from tensoa.compiler.tensors import Tensor


class StageMemory:
    """Memory between stages: rows that any row reads (`shared`) or joins to, and what the same rows read again (`kept`).

    What no later stage reads gives its memory to what has rows of the same collection and size.
    """

    def __init__(self, stages: Sequence[Stage]) -> None:
        self.orders: dict[Tensor, tuple[int, ...]] = {}
        self.shared = {
            tensor: i for i, tensor in enumerate(dict.fromkeys(x for one in stages for x in [*one.shared, *one.scatters]))
        }
        self.kept = {tensor: i for i, tensor in enumerate(dict.fromkeys(x for one in stages for x in one.kept))}
        first = {x: i for i, one in reversed([*enumerate(stages)]) for x in one.stored}
        last = {x: i for i, one in enumerate(stages) for x in [*one.stored, *one.read]}
        symbols = list(dict.fromkeys(symbol_of(x) for x in first))
        lives = [
            Life((name, x), (symbols.index(symbol_of(x)), buffer_pitch(x)), first[x], last[x])
            for name, found in (("memory", self.shared), ("kept", self.kept)) for x in found
        ]  # fmt: skip
        slots = Slots(lives)
        self.sizes = [(symbols[symbol], pitch) for symbol, pitch in slots.shapes]
        self.slot_of = {life.value: slots.of[id(life.value)] for life in lives}

    def strides(self, tensor: Tensor) -> list[int]:
        return strides_of(tensor, self.orders.get(tensor))

    def here(self, stage: Stage) -> set[Tensor]:
        """Roots that a stage writes and reads in `kept`, instead of in scratch memory."""
        from_rows = {root for root in stage.earlier if joins_rows(root) or symbol_of(root) != stage.rows}  # of memory, for all
        return set(self.kept) - from_rows


class StagePrinter(NestPrinter):
    """Prints a stage in one layout."""

    def __init__(self, nests: Nests, weights: Weights, is_tile: bool, memory: StageMemory, rows: tuple[str, ...]) -> None:
        super().__init__(nests, weights, is_tile)
        self.memory, self.row_symbols = memory, rows
        self.blocks = 0  # of keys, for their names

    def rows_text(self, symbol: str) -> str:
        return "1" if symbol == ONE else f"rows[{self.row_symbols.index(symbol)}]"

    def shared(self, tensor: Tensor) -> str:
        return f"memory[{self.weights.arguments.name('m', self.memory.shared[tensor])}]"

    @property
    def each(self) -> str:
        """A loop over the rows of a tile; few rows are in a loop already."""
        return "for (int r = 0; r < n; ++r) " if self.is_tile else ""

    @property
    def row(self) -> str:
        return "first + r" if self.is_tile else "first + q"

    def at_row(self, pointer: str, at: Linear) -> str:
        """One element of the row of the loop."""
        return f"{pointer}[({at.text()}){self.scale}{' + r' if self.is_tile else ''}]"

    def nest_text(self, nest: Nest) -> str:
        self.has_rows, self.joined = False, {}
        self.along(None)
        text = self._nest_text(nest)
        return text if self.is_tile or self.has_rows or not text else f"for (int q = 0; q < rows_here; ++q) {{ {text} }}"

    def _nest_text(self, nest: Nest) -> str:
        root = nest.root
        if nest.reason is Reason.EARLIER:
            return "" if root in self.memory.here(self.nests.stage) else self.print_earlier(nest)
        if root in self.passed_on and not nest.is_copy:
            return ""
        return self.print_table(nest) if nest.reason is Reason.TABLE else self.printed(nest)

    # -- what is there before

    def print_earlier(self, nest: Nest) -> str:
        root, kind = nest.root, type_of(nest.root.dtype)
        pointer, memory, count = self.places[root].pointer, self.shared(root), elements_of(root)
        if symbol_of(root) != self.nests.stage.rows:
            one = f"const {kind} x = row_at<{kind}>({memory}, 0)[i];"
            if self.is_tile:
                return f"for (int i = 0; i < {count}; ++i) {{ {one} std::fill_n({pointer} + i * kTileRows, kTileRows, x); }}"
            return f"for (int i = 0; i < {count}; ++i) {{ {one} {pointer}[i] = x; }}"
        if self.is_tile and kind == "float":
            return f"read_tile({pointer}, {count}, {memory}, first, n);"
        to = self.at_row(pointer, variable("i"))
        return f"for (int i = 0; i < {count}; ++i) {self.each}{to} = row_at<{kind}>({memory}, {self.row})[i];"

    def print_column(self, nest: Nest) -> str:
        root = nest.root
        assert isinstance(root.op, ops.Column)
        kind, column = type_of(root.dtype), root.dtype.cpp
        pointer = self.places[root].pointer
        planes = self.planes_text(root.op.planes)
        from_ = f"const {column}* const from = plane<{column}>(c, {root.op.block}, {planes[1]}) + first;"
        to = self.at_row(pointer, variable("i"))
        read = f"from_column<{kind}>(from[{'r' if self.is_tile else 'q'}])"
        return f"{planes[0]}for (int i = 0; i < {elements_of(root)}; ++i) {{ {from_} {self.each}{to} = {read}; }}"

    @staticmethod
    def planes_text(planes: tuple[int, ...]) -> tuple[str, str]:
        """(a table where one is needed, the plane of element i)"""
        if planes == tuple(range(planes[0], planes[0] + len(planes))):
            return "", f"i + {planes[0]}" if planes[0] else "i"
        return f"static constexpr int planes[] = {{{', '.join(map(str, planes))}}}; ", "planes[i]"

    # -- other rows

    def print_gather(self, nest: Nest) -> str:
        """Element by element; whole rows where one place is for all elements."""
        root = nest.root
        assert isinstance(root.op, ops.Gather)
        x, places = root.args
        source, index = far_source(root, nest.index)
        pointer, kind = self.places[nest.buffer.root].pointer, type_of(root.dtype)
        place_pointer, where, _ = self.address(places, nest.index)
        in_memory = bool(source.rows) and not is_free(source)
        is_whole = in_memory and not where.terms and elements_of(source) == elements_of(root)
        if is_whole and flat(index, self.memory.strides(source)) == nest.target:
            place = self.at_row(place_pointer, where)
            if not self.is_tile:
                return f"gather_row<{kind}>({pointer}, {elements_of(root)}, {self.shared(source)}, {place});"
            if kind == "float" and type_of(places.dtype) == "std::int64_t":
                named = f"{place_pointer} + ({where.text()}) * kTileRows"
                nothing = self.weights.packed(np.full(padded(elements_of(root)), np.nan, np.float32))
                sources = f"const IndexedRows from[] = {{{{&{self.shared(source)}, {named}}}}};"
                return f"{sources} gather_tile({pointer}, {elements_of(root)}, from, {nothing}, n);"
        to, place = self.at_row(pointer, nest.target), self.at_row(place_pointer, where)
        read, size = self.far_element(source, index), self.rows_text(str(x.shape[root.op.axis]))
        body = f"const std::int64_t place = {place}; {to} = is_inside(place, {size}) ? {read} : nothing<{kind}>();"
        return loops_around(nest.loops, f"{self.each}{{ {body} }}")

    def print_table(self, nest: Nest) -> str:
        """A constant as memory, whose rows are whole vectors."""
        (table, places), count = nest.root.args, elements_of(nest.root)
        assert isinstance(table.op, ops.Constant)
        numbers = np.zeros((len(table.op.data), padded(count)), np.float32)
        numbers[:, :count] = table.op.data
        memory = f"{{const_cast<float*>({self.weights.packed(numbers)}), {numbers.shape[1]}, {numbers.shape[0]}}}"
        pointer = f"{self.places[nest.buffer.root].pointer} + ({nest.target.offset}){self.scale}"
        place_pointer, where, _ = self.address(places, nest.index)
        if not self.is_tile:
            return f"gather_row<float>({pointer}, {count}, Memory{memory}, {self.at_row(place_pointer, where)});"
        nothing = self.weights.packed(np.full(padded(count), np.nan, np.float32))
        source = f"{{&table, {place_pointer} + ({where.text()}) * kTileRows}}"
        names = f"const Memory table{memory}; const IndexedRows from[] = {{{source}}};"
        return f"{names} gather_tile({pointer}, {count}, from, {nothing}, n);"

    @functools.cached_property
    def passed_on(self) -> set[Tensor]:
        return passed_on(self.nests.stage)

    def print_passed(self, scatter: Tensor) -> str:
        assert isinstance(scatter.op, ops.Scatter)
        x, to = scatter.args
        source, from_ = x.args
        index: Indices = [None, *(Linear() for _ in x.shape[1:])]
        places = [self.at_row(address.pointer, address.at) for address in (self.address(from_, index), self.address(to, index))]
        names = f"{self.shared(source)}, {places[0]}, {self.shared(scatter)}, {places[1]}"
        return f"{self.each}pass_row<{joining(scatter.op.fn, scatter.dtype)}>({names}, {elements_of(x)});"

    def print_added(self, nest: Nest) -> str:
        """A sum of whole rows of memory."""
        found, count = added_rows(nest.root), elements_of(nest.root)
        memories = [self.shared(one.args[0]) for one in found]
        where = [self.address(one.args[1], nest.index) for one in found]
        pointer = f"{self.places[nest.buffer.root].pointer} + ({nest.target.offset}){self.scale}"
        if self.is_tile:
            nothing = self.weights.packed(np.full(padded(count), np.nan, np.float32))
            sources = [f"{{&{m}, {at.pointer} + ({at.at.text()}) * kTileRows}}" for m, at in zip(memories, where)]
            return f"const IndexedRows from[] = {{{', '.join(sources)}}}; gather_tile({pointer}, {count}, from, {nothing}, n);"
        rows = [f"{{&{m}, {at.pointer} + {at.at.text()}}}" for m, at in zip(memories, where)]
        return f"const IndexedRows from[] = {{{', '.join(rows)}}}; add_rows({pointer}, {count}, from);"

    def far_element(self, source: Tensor, index: Indices) -> str:
        """An element of the row `place`."""
        kind = type_of(source.dtype)
        if isinstance(source.op, ops.Iota):
            return f"static_cast<{kind}>({'place' if index[0] is None else index[0].text()})"
        if isinstance(source.op, ops.Constant):
            pointer, at, _ = self.address(source, index)
            return f"{pointer}[{at.text()}]"
        at = flat(index, self.memory.strides(source))
        if not isinstance(source.op, ops.Column):
            return f"row_at<{kind}>({self.shared(source)}, {'place' if source.rows else '0'})[{at.text()}]"
        planes, column = source.op.planes, source.dtype.cpp
        plane = f"{at.text()} + {planes[0]}"
        if planes != tuple(range(planes[0], planes[0] + len(planes))):
            plane = f"std::array<int, {len(planes)}>{{{', '.join(map(str, planes))}}}[{at.text()}]"
        return f"from_column<{kind}>(plane<{column}>(c, {source.op.block}, {plane})[place])"

    # -- all other rows, in blocks

    def stream_text(self, stream: StreamLoop) -> str:
        rows, most = self.rows_text(stream.symbol), int(stream.size)
        outer, self.nests.roots = self.nests.roots, stream.roots
        keys = [self.keys_text(nest) for nest in stream.nests if are_rows(nest.root)]
        nests = [text for nest in stream.nests if (text := self.nest_text(nest))]
        self.nests.roots = outer
        block = " ".join([*keys, *(f"{{ {text} }}" for text in nests)])
        starts = " ".join(self.of_rows(self.filled(result, self.start_of_stream(result))) for result in stream.results)
        ends = [self.of_rows(self.end(result, found)) for result, found in stream.online.items() if not found.softmax.is_safe]
        loop = f"for (std::int64_t key = 0; key < {rows}; key += {most})"
        count = f"const int keys = static_cast<int>(std::min<std::int64_t>({most}, {rows} - key));"
        end = f"if ({rows} > 0) {{ {' '.join(ends)} }}" if ends else ""
        return f"{starts} {loop} {{ [[maybe_unused]] {count} {block} }} {end}"

    def of_rows(self, text: str) -> str:
        return text if self.is_tile else f"for (int q = 0; q < rows_here; ++q) {{ {text} }}"

    def filled(self, result: Tensor, value: str) -> str:
        place = self.places[result]
        loops, index = loops_over(result, place.buffer.order)
        at = flat(index, place.buffer.strides)
        return loops_around(loops, f"{self.each}{self.at_row(place.pointer, at)} = {value};")

    def end(self, result: Tensor, found: Online) -> str:
        """NaN where all scores are -infinity, as exp(-infinity + infinity) is."""
        largest, kind = found.softmax.largest, type_of(result.dtype)
        place, other = self.places[result], self.places[largest]
        loops, index = loops_over(result, place.buffer.order)
        of_largest = flat([None if isinstance(result.shape[i], str) else index[i] for i in found.places], other.buffer.strides)
        to = self.at_row(place.pointer, flat(index, place.buffer.strides))
        test = f"if ({self.at_row(other.pointer, of_largest)} == -static_cast<{kind}>(INFINITY))"
        return loops_around(loops, f"{self.each}{test} {to} = nothing<{kind}>();")

    def keys_text(self, nest: Nest) -> str:
        """The pointer to a block of keys."""
        (x,), kind, buffer = nest.root.args, type_of(nest.root.dtype), nest.buffer
        name = f"block{self.blocks}"
        self.blocks += 1
        self.places[nest.root] = Place(name, buffer, base=name)
        if buffer.pitch:
            return f"[[maybe_unused]] const {kind}* const {name} = row_at<{kind}>({self.shared(x)}, key);"
        return f"[[maybe_unused]] {kind}* const {name} = reinterpret_cast<{kind}*>(common + {buffer.offset});"

    def print_keys(self, nest: Nest) -> str:
        """Planes of columns are copied, next to each other."""
        self.has_rows = True
        (x,), buffer = nest.root.args, nest.buffer
        if buffer.pitch:
            return ""
        assert isinstance(x.op, ops.Column)
        kind, column = type_of(x.dtype), x.dtype.cpp
        table, plane = self.planes_text(x.op.planes)
        from_ = f"const {column}* const from = plane<{column}>(c, {x.op.block}, {plane}) + key;"
        copy = f"{self.places[nest.root].pointer}[i * {int(nest.root.shape[0])} + j] = from_column<{kind}>(from[j]);"
        body = f"{from_} for (int j = 0; j < keys; ++j) {copy}"
        return f"{table}for (int i = 0; i < {elements_of(x)}; ++i) {{ {body} }}"

    # -- the end of a stage

    def ends(self) -> list[str]:
        stage = self.nests.stage
        found = [self.print_shared(tensor) for tensor in stage.shared]
        found += [self.print_joined(tensor) for tensor in stage.scatters]
        found += [self.print_output(output) for output in stage.outputs]
        return found if self.is_tile else [f"for (int q = 0; q < rows_here; ++q) {{ {text} }}" for text in found]

    def print_shared(self, tensor: Tensor) -> str:
        pointer, kind, count = self.places[tensor].pointer, type_of(tensor.dtype), elements_of(tensor)
        if self.is_tile and kind == "float":
            return f"write_tile({pointer}, {count}, {self.shared(tensor)}, first, n);"
        from_ = self.at_row(pointer, variable("i"))
        return f"for (int i = 0; i < {count}; ++i) {self.each}row_at<{kind}>({self.shared(tensor)}, {self.row})[i] = {from_};"

    def print_joined(self, tensor: Tensor) -> str:
        """In the order of the rows, so that sums are the same at every call."""
        assert isinstance(tensor.op, ops.Scatter)
        x, places = tensor.args
        if x in self.passed_on:
            return self.print_passed(tensor)
        loops = [Loop(f"i{i}", size) for i, size in enumerate(x.shape) if isinstance(size, int)]
        index = index_of(x)
        struct, kind = joining(tensor.op.fn, tensor.dtype), type_of(tensor.dtype)
        place_pointer, where, _ = self.address(places, index)
        from_pointer, from_at, _ = self.address(x, index)
        strides = self.joined_strides(tensor)
        to_at = Linear()
        for one, stride in zip(index, strides):
            to_at = to_at if one is None else to_at.plus(one, stride)
        if not where.terms and to_at == from_at:
            place = self.at_row(place_pointer, where)
            step = 48 if self.is_tile else 1
            from_ = f"{from_pointer}{' + r' if self.is_tile else ''}"
            if self.is_tile and kind == "float" and type_of(places.dtype) == "std::int64_t":
                at = f"{place_pointer} + ({where.text()}) * kTileRows"
                return f"scatter_tile<{struct}>({from_pointer}, {elements_of(x)}, {self.shared(tensor)}, {at}, n);"
            call = f"scatter_row<{struct}>({from_}, {elements_of(x)}, {step}, {self.shared(tensor)}, {place});"
            return f"{self.each}{call}"
        memory = self.shared(tensor)
        body = f"const std::int64_t place = {self.at_row(place_pointer, where)}; if (is_inside(place, {memory}.rows)) "
        body += f"{{ auto& to = row_at<{kind}>({memory}, place)[{to_at.text()}]; "
        body += f"to = joined_of<{struct}>(to, {self.at_row(from_pointer, from_at)}); }}"
        return self.each + "{ " + loops_around(loops, body) + " }"

    def joined_strides(self, tensor: Tensor) -> list[int]:
        """Of all axes of a scatter along rows, in memory; 0 of the rows."""
        assert isinstance(tensor.op, ops.Scatter)
        sizes = [1 if i == tensor.op.axis else size for i, size in enumerate(tensor.shape)]
        steps = row_major([size for size in sizes if isinstance(size, int)])
        return [0 if i == tensor.op.axis else step for i, step in enumerate(steps)]

    def print_output(self, output: Output) -> str:
        """Plane after plane."""
        value, column = output.value, output.column.cpp
        pointer, _, _ = self.address(value, [None] + [Linear()] * (len(value.shape) - 1))
        kind = type_of(value.dtype)
        places = [self.address(value, [None, *map(Linear, at)]).at.offset for at in np.ndindex(*value.inner)]
        table, plane = self.planes_text(output.planes)
        offsets, at = self.table_of(places)
        to = f"{column}* const to = plane<{column}>(c, {output.block}, {plane}) + first;"
        element = self.at_row(pointer, variable(at))
        write = f"to[{'r' if self.is_tile else 'q'}] = to_column<{column}, {kind}>({element});"
        return f"{{ {table}{offsets}for (int i = 0; i < {len(places)}; ++i) {{ {to} {self.each}{write} }} }}"

    @staticmethod
    def table_of(places: list[int]) -> tuple[str, str]:
        if places == list(range(len(places))):
            return "", "i"
        return f"static constexpr int elements[] = {{{', '.join(map(str, places))}}}; ", "elements[i]"


def start_text(tensor: Tensor) -> str:
    """The initial value of memory that rows are joined to."""
    assert isinstance(tensor.op, ops.Scatter)
    return literal(start_of(tensor.op.fn, tensor.dtype), tensor.dtype)
