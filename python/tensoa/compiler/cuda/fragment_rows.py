# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Reads and writes columns, memory between kernels and other rows, for a stage whose values lie in fragments."""

from collections.abc import Sequence

import numpy as np

from tensoa.compiler import operations as ops
from tensoa.compiler.cuda.expressions import cast_text, literal, memory_type, type_of
from tensoa.compiler.cuda.fragment_layers import LayerPrinter
from tensoa.compiler.cuda.fragments import UNPACKED, Held, NotHeld, coordinates, flat, through
from tensoa.compiler.cuda.layouts import TILE, Layout, in_a_row, layout_of, pieces_of
from tensoa.compiler.cuda.memory import Memory, pitch_of
from tensoa.compiler.cuda.near_weights import NearWeights
from tensoa.compiler.cuda.target import Target
from tensoa.compiler.functions import Array, start_of
from tensoa.compiler.passes import is_row_gather
from tensoa.compiler.printing import STRUCTS
from tensoa.compiler.program import Output
from tensoa.compiler.schedule.addresses import elements_of
from tensoa.compiler.schedule.nests import Nests
from tensoa.compiler.schedule.stages import ONE, symbol_of
from tensoa.compiler.tensors import Tensor


class FragmentStage(LayerPrinter):
    """Prints a stage. Raises NotHeld where its values do not lie in fragments."""

    def __init__(self, nests: Nests, weights: NearWeights, target: Target, precision: str, parts: int, memory: Memory) -> None:
        super().__init__(nests, weights, target, precision, parts)
        self.memory = memory
        self.indices: dict[str, str] = {}

    def print_all(self, clears: Sequence[Tensor]) -> None:
        stage = self.nests.stage
        for tensor in clears:
            self.cleared(tensor)
        for output in stage.outputs:
            self.print_output(output)
        for tensor in dict.fromkeys([*stage.shared, *stage.kept]):
            if tensor not in stage.earlier:
                self.stored(tensor)
        for tensor in stage.scatters:
            self.print_joined(tensor)

    def buffer_of(self, tensor: Tensor) -> str:
        return f"static_cast<{memory_type(tensor.dtype)}*>(p.buffer[{self.memory.slots[tensor]}])"

    def order_of(self, tensor: Tensor) -> Array:
        """The element of a row that lies at each place of its memory."""
        at = coordinates(tensor, np.arange(elements_of(tensor)))
        given = [one for one in at if one is not None]
        steps = zip(given, self.memory.strides(tensor))
        where = np.array(sum((one * step for one, step in steps), np.zeros(1, int)))
        return np.argsort(where)

    def in_order(self, tensor: Tensor) -> None:
        if (np.diff(self.order_of(tensor)) != 1).any():
            raise NotHeld(f"another order of axes in memory ({tensor!r})")

    # ---- reading

    def rows_read(self, tensor: Tensor, rows: str) -> Held:
        """`rows`: C++ of two pointers to rows in memory."""
        layout = self.own_layout(tensor)
        pieces = pieces_of(layout)
        assert pieces is not None
        held = Held(self.name(), layout, True)
        self.noted(held)
        read = " ".join(f"read_{piece.kind}({held.name}, {piece.arguments('row')}, warp);" for piece in pieces)
        self.line(f"Fragment<{held.tiles}> {held.name}; {{ const float* const row[2] = {{{rows}}}; {read} }}")
        return held

    def earlier(self, root: Tensor) -> Held:
        self.in_order(root)
        pitch = 0 if symbol_of(root) != self.nests.stage.rows else pitch_of(root)
        buffer = self.buffer_of(root)
        if self.is_unpacked(root):
            each = [f"{buffer}[tile.row[r] * {pitch} + {e}]" for e in range(elements_of(root))]
            return self.unpacked(root, [f"({one} != 0)" if root.dtype.is_bool else one for one in each])
        rows = ", ".join(f"{buffer} + tile.row[{r}] * {pitch}" for r in range(2))
        return self.rows_read(root, rows)

    def column(self, root: Tensor) -> Held:
        op, layout = root.op, self.own_layout(root)
        assert isinstance(op, ops.Column)
        if root not in self.starts and not self.is_read_elementwise(root):
            layout = in_a_row(elements_of(root))
        if self.is_unpacked(root):
            return self.unpacked(root, self.planes_read(root))
        pointer = f"static_cast<const {op.dtype.cuda}*>(p.block[{op.block}])"
        planes = self.planes_text(op.planes, layout)
        held = Held(self.name(), layout, True, root)
        self.noted(held)
        columns = f"Columns<const {op.dtype.cuda}>{{{pointer}, p.pitch[{op.block}], {planes}}}"
        self.line(f"const auto {held.name} = load<{held.tiles}>({columns}, tile.row, warp);")
        return held

    def planes_read(self, root: Tensor) -> list[str]:
        op = root.op
        assert isinstance(op, ops.Column)
        kind, pointer = type_of(op.dtype), f"static_cast<const {op.dtype.cuda}*>(p.block[{op.block}])"
        return [f"from_column<{kind}>({pointer}[{plane} * p.pitch[{op.block}] + tile.row[r]])" for plane in op.planes]

    def planes_text(self, planes: Sequence[int], layout: Layout) -> str:
        first, count = planes[0], len(planes)
        if tuple(planes) == tuple(range(first, first + count)) and layout == in_a_row(count):
            return f"PlaneNumbers{{{first}, {count}, nullptr}}"
        table = [planes[e] if e >= 0 else -1 for e in layout]
        return f"PlaneNumbers{{0, 0, {self.weights.at('int', np.array(table, np.int32).tobytes())}}}"

    def is_read_elementwise(self, root: Tensor) -> bool:
        """Whether other values, that may come from memory, lie as it does."""
        return any(not isinstance(value.op, ops.Contract) for value in self.nests.stage.values if root in value.args)

    # ---- other rows

    def place(self, places: Tensor, element: int, size: str) -> str:
        """The name of an Index: the places of an element of two rows among `size` ones (C++)."""
        is_view = isinstance(places.op, ops.View)  # costs nothing, whether it has memory or not
        value = f"row_of({self.value(places, coordinates(places, np.array([element])), None, is_view)}, {size})"
        found = self.indices.get(value)
        if found is None:
            found = self.indices[value] = self.name()
            self.line(f"Index {found};\n#pragma unroll\nfor (int r = 0; r < 2; ++r) {found}.at[r] = {value};")
        return found

    def one_place(self, places: Tensor, size: str) -> str:
        """That of all elements."""
        names = {self.place(places, e, size) for e in range(elements_of(places))}
        if len(names) > 1:
            raise NotHeld(f"several places of a row ({places!r})")
        return names.pop()

    def gathered(self, root: Tensor) -> Held:
        op, (x, places) = root.op, root.args
        assert isinstance(op, ops.Gather)
        size = self.memory.rows_text(str(x.shape[op.axis])) if is_row_gather(root) else str(x.shape[op.axis])
        every = np.arange(elements_of(root))
        at = through(op.index, x, coordinates(root, every))
        source = x
        while isinstance(source.op, ops.View):
            at = [None if one is None else one for one in through(source.op.index, source.args[0], at)]
            source = source.args[0]
        elements, is_table = np.broadcast_to(flat(at, source), len(every)), source is x and not x.rows
        if self.is_unpacked(root):
            values = [self.far_number(source, is_table, int(e), self.place(places, n, size)) for n, e in enumerate(elements)]
            return self.unpacked(root, values)
        if (np.diff(elements) != 1).any() or elements[0] % 4 or isinstance(source.op, (ops.Column, ops.Iota)):
            raise NotHeld(f"{root!r}")
        place = self.one_place(places, size)
        if isinstance(source.op, ops.Constant):
            if not is_table or len(source.shape) != 2 or source.shape[1] != len(every) or len(every) % 4:
                raise NotHeld(f"{root!r}")
            memory, pitch = self.weights.floats(source.op.data), len(every)
        else:
            self.in_order(source)
            memory, pitch = self.buffer_of(source), pitch_of(source) if source.rows else 0
        nothing = self.weights.rare(np.full(len(every) + 3, np.nan))
        rows = ", ".join(
            f"{place}.at[{r}] >= 0 ? {memory} + int64{{{place}.at[{r}]}} * {pitch} + {elements[0]} : {nothing}"
            for r in range(2)
        )
        return self.rows_read(root, rows)

    def far_number(self, source: Tensor, is_table: bool, element: int, place: str) -> str:
        """An element of the row that a place names. `is_table`: whether a constant has one for each place."""
        kind, at = type_of(source.dtype), f"int64{{{place}.at[r]}}"
        if isinstance(source.op, ops.Iota):
            text = f"static_cast<{kind}>({at if source.rows else element})"
        elif isinstance(source.op, ops.Column):
            op = source.op
            pointer = f"static_cast<const {op.dtype.cuda}*>(p.block[{op.block}])"
            text = f"from_column<{kind}>({pointer}[{op.planes[element]} * p.pitch[{op.block}] + {at}])"
        elif isinstance(source.op, ops.Constant):
            pointer = self.weights.pointer(source.op.data, source.dtype)
            row = f"{at} * {elements_of(source) // source.op.data.shape[0]} + " if is_table else ""
            text = f"{pointer}[{row}{element}]"
            if source.dtype.is_bool:
                text = f"({text} != 0)"
        else:
            self.in_order(source)
            text = f"{self.buffer_of(source)}[{f'{at} * {pitch_of(source)} + ' if source.rows else ''}{element}]"
            if source.dtype.is_bool:
                text = f"({text} != 0)"
        return f"{place}.at[r] >= 0 ? {text} : nothing<{kind}>()"

    # ---- writing

    def cleared(self, tensor: Tensor) -> None:
        """Sets the rows of a sum to its start."""
        assert isinstance(tensor.op, ops.Scatter)
        count, pitch, buffer = elements_of(tensor), pitch_of(tensor), self.buffer_of(tensor)
        start = literal(start_of(tensor.op.fn, tensor.dtype), tensor.dtype)
        if count <= UNPACKED:
            for e in range(count):
                self.by_one_lane(e, "tile.inside[r]", f"({buffer})[tile.row[r] * {pitch} + {e}] = {start};")
        elif tensor.dtype.name == "float32" and count <= TILE * self.target.fragment_tiles:
            held = Held(self.name(), layout_of(count))
            self.line(f"const auto {held.name} = filled<{held.tiles}>({start});")
            self.rows_written(held, "tile.inside[r]", self.own_row(tensor))
        else:
            rows = f"static_cast<int>(min(int64{{kTileRows}}, rows - at * int64{{kTileRows}})) * {pitch}"
            begin, step = ("warp.lane", "32") if self.parts == 1 else ("threadIdx.x", str(32 * self.parts))
            to = f"({buffer})[at * int64{{{16 * pitch}}} + e] = {start};"
            self.line(f"for (int e = {begin}; e < {rows}; e += {step}) {to}")

    def value_held(self, tensor: Tensor) -> Held:
        """A target of the stage: a root, or a view of one."""
        return self.held(tensor) if tensor in self.nests.roots else self.part(tensor)

    def stored(self, root: Tensor) -> None:
        self.in_order(root)
        nest, pitch, buffer = self.nest_of.get(root), pitch_of(root), self.buffer_of(root)
        if nest is not None and root not in self.helds and pitch == elements_of(root) and self.only_written(nest, buffer):
            return
        held = self.held(root)
        if held.layout is None:
            for e in range(elements_of(root)):
                number = f"static_cast<{memory_type(root.dtype)}>({held.name}[{e}][r])"
                self.by_one_lane(e, "tile.inside[r]", f"{buffer}[tile.row[r] * {pitch} + {e}] = {number};")
            return
        self.rows_written(held, "tile.inside[r]", self.own_row(root))

    def own_row(self, tensor: Tensor) -> str:
        """Row r of the tile in memory."""
        return f"{self.buffer_of(tensor)} + tile.row[r] * {pitch_of(tensor)}"

    def by_one_lane(self, element: int, is_there: str, text: str) -> None:
        """The work of one lane of each row on an unpacked number. `is_there`: C++ of r, whether the row is to be written."""
        part = "" if self.parts == 1 else f"warp.part == {element // 4 % self.parts} && "
        here = f"{part}warp.quad == {element % 4} && {is_there}"
        self.line(f"\n#pragma unroll\nfor (int r = 0; r < 2; ++r) if ({here}) {text}")

    def rows_written(
        self, held: Held, is_there: str, row: str, verb: str = "write", struct: str = "", before: str = ""
    ) -> None:
        """Each row r (`row`: where it lies; `is_there`: whether it is written) after the C++ `before`."""
        assert held.layout is not None
        pieces = pieces_of(held.layout)
        if pieces is None:
            raise NotHeld("numbers in another order than in memory")
        calls = [f"{verb}_{piece.kind}{struct}({held.name}, {piece.arguments('r, row')}, warp);" for piece in pieces]
        if self.parts > 1:
            calls = [f"if (warp.part == {number % self.parts}) {call}" for number, call in enumerate(calls)]
        self.line(f"\n#pragma unroll\nfor (int r = 0; r < 2; ++r) {{ {before}if ({is_there}) "
                  f"{{ float* const row = {row}; {' '.join(calls)} }} }}")  # fmt: skip

    def print_joined(self, tensor: Tensor) -> None:
        """Joins rows to the rows that places name."""
        op, (x, places) = tensor.op, tensor.args
        assert isinstance(op, ops.Scatter)
        if op.axis != 0 or not isinstance(x.shape[0], str):
            raise NotHeld(f"{tensor!r}")
        self.in_order(tensor)
        held = self.value_held(x)
        place = self.one_place(places, self.memory.rows_text(op.size if isinstance(op.size, str) else ONE))
        start, struct = literal(start_of(op.fn, tensor.dtype), tensor.dtype), STRUCTS[op.fn]
        buffer, pitch = self.buffer_of(tensor), pitch_of(tensor)
        if held.layout is None:
            for e in range(elements_of(x)):
                self.join_unpacked(tensor, f"{held.name}[{e}]", e, place)
            return
        runs = self.runs(place)
        joined = Held(self.name(), held.layout)
        self.line(f"auto {joined.name} = {held.name};")
        row, before = f"{buffer} + int64{{{runs}.to[r]}} * {pitch}", f"{runs}.join<{struct}>({joined.name}, {start}, r); "
        self.rows_written(joined, f"{runs}.to[r] >= 0", row, "join", f"<{struct}>", before)

    def join_unpacked(self, tensor: Tensor, numbers: str, element: int, place: str) -> None:
        """Rows that all go to one place are joined in the warp first; of others few do."""
        op, kind = tensor.op, memory_type(tensor.dtype)
        assert isinstance(op, ops.Scatter)
        struct, start = STRUCTS[op.fn], literal(start_of(op.fn, tensor.dtype), tensor.dtype)
        to = f"{self.buffer_of(tensor)} + int64{{{place}.at[r]}} * {pitch_of(tensor)} + {element}"
        if isinstance(op.size, str):
            is_there = f"tile.inside[r] && {place}.at[r] >= 0"
            self.by_one_lane(element, is_there, f"join_to<{struct}>({to}, static_cast<{kind}>({numbers}[r]));")
            return
        runs, name = self.runs(place), self.name()
        number = f"{runs}.joined<{struct}>(static_cast<{kind}>({numbers}[r]), {kind}{{{start}}}, r)"
        self.line(f"{kind} {name}[2];\n#pragma unroll\nfor (int r = 0; r < 2; ++r) {name}[r] = {number};")
        self.by_one_lane(element, f"{runs}.to[r] >= 0", f"join_to<{struct}>({to}, {name}[r]);")

    def runs(self, place: str) -> str:
        """The name of the runs of rows that have one place."""
        found = self.indices.get(f"Runs {place}")
        if found is None:
            found = self.indices[f"Runs {place}"] = self.name()
            self.line(f"const Runs {found}({place}, tile, warp);")
        return found

    def print_output(self, output: Output) -> None:
        value, column, block = output.value, output.column.cuda, output.block
        held = self.value_held(value)
        pointer = f"static_cast<{column}*>(p.block[{block}])"
        if held.layout is None:
            for e, plane in enumerate(output.planes):
                number = cast_text(f"{held.name}[{e}][r]", value.dtype, output.column)
                to = f"{pointer}[{plane} * p.pitch[{block}] + tile.row[r]] = to_column<{column}>({number});"
                self.by_one_lane(e, "tile.inside[r]", to)
            return
        number = cast_text(f"{held.name}.at[n][i]", value.dtype, output.column)
        table = self.planes_text(output.planes, held.layout)
        head = f"const int plane = {table}.place({TILE} * n + 2 * warp.quad + (i & 1));"
        to = f"{pointer}[plane * p.pitch[{block}] + tile.row[i / 2]] = to_column<{column}>({number});"
        lane = f"{'' if self.parts == 1 else f'n % {self.parts} == warp.part && '}plane >= 0 && tile.inside[i / 2]"
        self.line(f"\n#pragma unroll\nfor (int n = 0; n < {held.tiles}; ++n)\n#pragma unroll\nfor (int i = 0; i < 4; ++i) "
                  f"{{ {head} if ({lane}) {to} }}")  # fmt: skip
