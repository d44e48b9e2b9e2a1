# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The code of values that stay in their row."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tensoa.compiler.backends.cuda.layouts import ONE, Layout, Numbers, Piece, contiguous, of_words, spread
from tensoa.compiler.backends.cuda.memory import Memory, is_extreme
from tensoa.compiler.backends.cuda.weights import SHARED_BYTES, Weights, as_buffer
from tensoa.compiler.backends.kernel_text import float_literal
from tensoa.compiler.ir import FUNCTIONS, REDUCTIONS, Value, Visitor, integers
from tensoa.compiler.stages import Stage
from tensoa.dtypes import column_type
from tensoa.errors import InputError


def c_type(dtype: str) -> str:
    return column_type(dtype, "fused CUDA program").cuda


def literal(number: float) -> str:
    return float_literal(number, "__int_as_float(0x7fffffff)", "__int_as_float(0x7f800000)")


def _double_literal(number: float) -> str:
    """As bits: -0, infinities, and what is no number."""
    return f"__longlong_as_double({np.float64(number).view(np.int64)}ll)"


def _is_finite(value: Value) -> bool:
    return value.op == "constant" and np.isfinite(value.array).all()


class Code(NamedTuple):
    """How a value is held, and its C++ (None of a vector: it is written in the layout of its user).

    | kind | |
    | --- | --- |
    | fragment | its numbers lie in registers |
    | rows | of a buffer or a table, read at every use |
    | scalar | one number of each row, in all lanes |
    | vector, literal | constants: different ones, one number |
    | stored | a layer that went straight to its buffer |
    """

    kind: str
    text: str | None


class Values(Visitor):
    """Writes the values of a stage. `use()` emits a value where it is first needed; `of_OP` gives the Code of one."""

    def __init__(self, memory: Memory, stage: Stage, together: bool) -> None:
        self.memory = memory
        self.stage = stage
        self.together = together
        self.layout = memory.layout
        self.weights = Weights(0 if together else SHARED_BYTES)
        self.lines: list[str] = []
        self.widest = 1  # tiles of the widest value
        self.layouts_used: dict[tuple[int, ...], str] = {}
        self.own = {id(value) for value in stage.values}
        self._count = 0  # of names
        self._names: dict[Any, Any] = {}

    # ---- text

    def line(self, text: str) -> None:
        self.lines.append(f"        {text}")

    def new_name(self, prefix: str = "v") -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def vector(self, numbers: np.ndarray) -> str:
        data = np.ascontiguousarray(numbers, np.float32).tobytes()
        return f"Vector{{reinterpret_cast<const float*>{self.weights.add(data)}, warp.quad}}"

    def layout_type(self, layout: tuple[int, ...]) -> str:
        """A type with valid(n) for clear_padding() and others."""
        masks = tuple(sum(1 << i for i in range(8) if layout[8 * n + i] >= 0) for n in range(len(layout) // 8))
        return self.layouts_used.setdefault(masks, f"Layout{len(self.layouts_used)}")

    def columns(
        self,
        block: int,
        planes: Sequence[int],
        layout: Layout,
        c_type: str,
        is_output: bool = False,
        steps: Sequence[integers.Step] = (),
    ) -> str:
        """The columns of a block's planes, in the order of a layout (None: one plane), after the steps."""
        const = "" if is_output else "const "
        first, width, places = planes[0], len(planes), "nullptr"
        if layout is not None and (layout != contiguous(width) or any(plane != first + i for i, plane in enumerate(planes))):
            table = np.array([planes[i] if i >= 0 else -1 for i in layout], np.int32).tobytes()
            places = f"reinterpret_cast<const int*>{self.weights.add(table)}"
        pointer = f"static_cast<{const}{c_type}*>(p.block[{block}])"
        text = f"Columns<{const}{c_type}>{{{pointer}, p.pitch[{block}], Planes{{{first}, {width}, {places}}}}}"
        return f"stepped({text}, {integers.code(steps)})" if steps else text

    def planes(self, value: Value) -> str:
        """Where the numbers of a dense row lie, in the order of the layout."""
        layout = self.layout(value)
        table = None if layout == contiguous(value.width) else np.array(layout, np.int32).tobytes()
        places = "nullptr" if table is None else f"reinterpret_cast<const int*>{self.weights.add(table)}"
        return f"Planes{{0, {value.width}, {places}}}"

    # ---- values

    def use(self, value: Value) -> Code:
        """The code of a value, written where it is new."""
        if id(value) not in self._names:
            self._names[id(value)] = self._read(value) or self.visit(value)
        return self._names[id(value)]

    def _read(self, value: Value) -> Code | None:
        """A value of another stage, in the own row."""
        slot = self.memory.slots.get(id(value))
        if slot is None or id(value) in self.own and id(value) not in self.memory.joined:
            return None
        return self._rows(value, f"p.buffer[{slot}]")

    def _rows(self, value: Value, memory: str, index: str | None = None) -> Code:
        """Rows of a buffer or of a table: the own ones, or those that an Index names."""
        name, layout = self.new_name(), self.layout(value)
        extreme = REDUCTIONS[value.name].functor if is_extreme(value) else ""
        if layout is None:
            read = f"scalar_extremes<{extreme}>" if extreme else "load_scalar"
            self.line(f"const Scalar {name} = {read}({memory}, {index or 'tile'}.{'at' if index else 'row'});")
            return Code("scalar", name)
        if self.memory.is_dense(value):
            self.widest = max(self.widest, len(layout) // 8)
            row = f"{index}.at" if index else "tile.row"
            self.line(f"const auto {name} = load<{len(layout) // 8}>({memory}, {self.planes(value)}, {row}, warp);")
            return Code("fragment", name)
        place = "tile.row"
        if index:
            none = spread(np.full(value.width, -1, np.int32).view(np.float32), layout)  # NaN, and the key of NaN
            place = f"{index}, {self.weights.add(as_buffer(none[None]).tobytes(), is_rare=True)}"
        self.line(f"const Rows<{len(layout) // 8}> {name}({memory}, {place}, warp);")
        if extreme:  # only sums are read as they lie
            self.widest = max(self.widest, len(layout) // 8)
            self.line(f"const auto {name}_numbers = extremes<{extreme}, {self.layout_type(layout)}>({name}, warp);")
            return Code("fragment", f"{name}_numbers")
        return Code("rows", name)

    def of_input(self, value: Value, row: str = "tile.row") -> Code:
        name, layout = self.new_name(), self.layout(value)
        row = "kFirstRow" if value.is_scalar else row
        columns = self.columns(value.block, value.planes, layout, c_type(value.dtype), steps=value.steps)
        if layout is None:
            self.line(f"const Scalar {name} = load_scalar({columns}, {row});")
            return Code("scalar", name)
        self.widest = max(self.widest, len(layout) // 8)
        self.line(f"const auto {name} = load<{len(layout) // 8}>({columns}, {row}, warp);")
        return Code("fragment", name)

    def index(self, value: Value, rows: str) -> str:
        """The name of an Index that names one of `rows` (C++) rows, or none."""
        key = id(value), rows
        if key not in self._names:
            if value.op == "row":
                number = self.scalar(value.args[0], value.number)
                self._names[key] = self.new_name("i")
                self.line(f"const Index {self._names[key]} = index_of({number}, {rows});")
                return self._names[key]
            self._names[key] = self.new_name("i")
            columns = self.columns(value.block, (value.plane,), None, c_type(value.dtype), steps=value.steps)
            self.line(f"const Index {self._names[key]} = load_index({columns}, tile.row, {rows});")
        return self._names[key]

    def of_constant(self, value: Value) -> Code:
        if len({number.tobytes() for number in value.array}) == 1:  # NaN is not equal to itself
            return Code("literal", literal(value.array[0]))
        return Code("vector", None)

    def of_gather(self, value: Value) -> Code:
        source, index = value.args[0], self.index(value.args[1], f"p.rows[{value.args[0].domain}]")
        slot = self.memory.slots.get(id(source))
        if slot is None:
            return self.of_input(source, f"{index}.at")
        return self._rows(source, f"p.buffer[{slot}]", index)

    def of_lookup(self, value: Value) -> Code:
        table, layout = value.table.astype(np.float32), self.layout(value)
        is_dense = layout is None or self.memory.is_dense(value)
        numbers = table if is_dense else as_buffer(spread(table.T, layout).T)
        index = self.index(value.args[0], str(len(table)))
        return self._rows(value, self.weights.add(np.ascontiguousarray(numbers).tobytes()), index)

    def of_map(self, value: Value) -> Code:
        known = FUNCTIONS.get(value.name)
        if known is None:
            raise InputError(f"a fused CUDA program has no function '{value.name}'")
        function = f"[]({', '.join(f'float {x}' for x in known.parameters)}) {{ return {known.cuda}; }}"
        layout, name = self.layout(value), self.new_name()
        for argument in value.args:  # rows are read as late as possible
            self.use(argument)
        operands = ", ".join(self.operand(argument, layout) for argument in value.args)
        if layout is None:
            self.line(f"const Scalar {name} = map_scalar({function}, {operands});")
            return Code("scalar", name)
        self.line(f"const auto {name} = map<{len(layout) // 8}>({function}, {operands});")
        return Code("fragment", name)

    def of_double(self, value: Value) -> Code:
        function = FUNCTIONS[value.name]
        parameters = ", ".join(f"double {x}" for x in function.parameters)
        args, operands = iter(value.args), []
        layout = None if value.width == 1 else contiguous(value.numbers)
        for kind in value.kinds:
            if isinstance(kind, bytes):
                operands.append(self._doubles(np.frombuffer(kind), layout))
            elif kind == "floats":
                operands.append(self.operand(next(args), layout))
            else:
                operands.append(self._words(next(args), value.numbers, layout))
        name, tiles = self.new_name(), len(layout or ONE) // 8
        text = f"([]({parameters}) -> double {{ return {function.double}; }}, {', '.join(operands)})"
        if layout is None:
            self.line(f"const Scalar {name} = scalar_shortened{text};")
            return Code("scalar", name)
        self.widest = max(self.widest, 2 * tiles)
        kind = "map_shortened" if value.is_short else "map_doubles"
        self.line(f"const auto {name} = {kind}<{tiles}>{text};")
        return Code("fragment", name)

    def _doubles(self, numbers: np.ndarray, layout: Layout) -> str:
        """Constants of float64."""
        if len(numbers) == 1:
            return _double_literal(numbers[0])
        data = self.weights.add(spread(numbers, layout).tobytes())
        return f"DoubleVector{{reinterpret_cast<const double*>{data}, warp.quad}}"

    def _words(self, value: Value, numbers: int, layout: Layout) -> str:
        """A value of words, as what map_doubles() takes."""
        if layout is None or value.width // 2 < numbers:
            return f"ScalarWords{{{self.scalar(value, 0)}, {self.scalar(value, 1)}}}"
        return f"Words<{len(layout) // 8}>{{{self.fragment(value, of_words(value.width))}}}"

    def operand(self, value: Value, layout: Layout) -> str:
        """What a map with this layout takes."""
        kind, text = self.use(value)
        if kind == "literal":
            return text
        if kind == "vector":
            return self.vector(spread(value.array, layout))
        return text if kind == "scalar" else self.fragment(value, layout)

    def fragment(self, value: Value, layout: Layout = None) -> str:
        """A fragment with the value in `layout`, its own where None."""
        kind, text = self.use(value)
        own = self.layout(value)
        layout = layout or own or ONE
        tiles = len(layout) // 8
        self.widest = max(self.widest, tiles)
        name = self.new_name()
        if kind in ("literal", "vector"):
            operand = text if kind == "literal" and -1 not in layout else self.vector(spread(value.array, layout))
            self.line(f"const auto {name} = map<{tiles}>([](float x) {{ return x; }}, {operand});")
            return name
        if own == layout:
            if kind == "fragment":
                return text
            self.line(f"const auto {name} = load({text});")
            if tiles <= 2:
                self._names[id(value)] = Code("fragment", name)
            return name
        self.line(f"Fragment<{tiles}> {name}{{}};")
        source = text if own is None else self.fragment(value)
        for position, number in enumerate(layout):
            if number >= 0:
                self._move(name, position, source, own.index(number) if own else None)
        return name

    def _move(self, target: str, position: int, source: str, place: int | None) -> None:
        number = source if place is None else f"take({source}, {place}, warp)"
        self.line(f"put({target}, {position}, {number}, warp);")

    def scalar(self, value: Value, number: int) -> str:
        """One number of a value as a Scalar."""
        kind, text = self.use(value)
        if kind == "scalar":
            return text
        if kind in ("literal", "vector"):
            return f"Scalar{{{{{literal(value.array[number])}, {literal(value.array[number])}}}}}"
        return f"take({self.fragment(value)}, {self.layout(value).index(number)}, warp)"

    def clean(self, value: Value) -> str:
        """A fragment whose padding is zero."""
        text, layout = self.fragment(value), self.layout(value)
        if layout is None or -1 not in layout or self._is_clean(value):
            return text
        name = self.new_name()
        self.line(f"auto {name} = {text};")
        self.line(f"clear_padding<{self.layout_type(layout)}>({name}, warp);")
        return name

    def _is_clean(self, value: Value) -> bool:
        if id(value) in self.memory.slots and id(value) not in self.own:
            return True
        if value.op == "constant":  # one number stands for the padding, too
            return self.use(value)[0] == "vector"
        if value.op != "map":
            return value.op not in ("linear", "double")  # weights of zero times an infinity; functions of zero
        return FUNCTIONS[value.name].keeps_zero and all(
            self._is_clean(argument) if argument.width > 1 else value.name == "mul" and _is_finite(argument)
            for argument in value.args
        )

    def of_norm(self, value: Value) -> Code:
        layout, name = self.layout(value), self.new_name()
        if layout is None:  # one number less its mean, which is zero or no number
            gain = (1.0 if value.weight is None else value.weight[0]) / np.sqrt(np.float64(value.eps))
            bias = 0.0 if value.bias is None else value.bias[0]
            function = f"[](float x) {{ return fmaf(x - x, {literal(gain)}, {literal(bias)}); }}"
            self.line(f"const Scalar {name} = map_scalar({function}, {self.scalar(value.args[0], 0)});")
            return Code("scalar", name)
        ones, zeros = np.ones(value.width, np.float32), np.zeros(value.width, np.float32)
        gain = self.vector(spread(ones if value.weight is None else value.weight, layout))
        shift = self.vector(spread(zeros if value.bias is None else value.bias, layout))
        x = self.clean(value.args[0])
        self.line(
            f"const auto {name} = norm<{self.layout_type(layout)}, {str(value.is_centered).lower()}>({x}, {gain}, "
            f"{shift}, {value.width}, {literal(value.eps)}, warp);"
        )
        return Code("fragment", name)

    def of_reduce(self, value: Value) -> Code:
        name, x = self.new_name(), value.args[0]
        if x.width == 1:
            return Code("scalar", self.scalar(x, 0))
        text, layout = self.fragment(x), self.layout(x)
        reduction = REDUCTIONS[value.name]
        if -1 in layout:
            cleared = self.new_name()
            self.line(f"auto {cleared} = {text};")
            self.line(f"clear_padding<{self.layout_type(layout)}>({cleared}, warp, {literal(reduction.start)});")
            text = cleared
        reduced = f"reduce({text}, {literal(reduction.start)}, [](float x, float y) {{ return {reduction.cuda}; }})"
        if reduction.is_mean:
            reduced = f"map_scalar([](float x) {{ return x / {literal(x.width)}; }}, {reduced})"
        self.line(f"const Scalar {name} = {reduced};")
        return Code("scalar", name)

    def of_pack(self, value: Value) -> Code:
        if value.width == 1:
            (argument, (start, _)) = value.args[0], value.ranges[0]
            name = self.new_name()
            self.line(f"const Scalar {name} = {self.scalar(argument, start)};")
            return Code("scalar", name)
        parts = [(self.piece(piece, part), part) for piece, part in self.layout.pack(value)]
        name = self.new_name()
        tiles = len(self.layout(value)) // 8
        self.widest = max(self.widest, tiles)
        self.line(f"Fragment<{tiles}> {name};")
        at = 0
        for text, part in parts:
            self.line(f"place({name}, {at}, {text});")
            at += len(part) // 8
        return Code("fragment", name)

    def piece(self, piece: Piece, part: tuple[int, ...]) -> str:
        """A fragment of a piece of a pack."""
        name, tiles = self.new_name(), len(part) // 8
        if isinstance(piece, Numbers):
            numbers = [self.scalar(argument, number) for argument, number in piece.numbers]
            self.line(f"Fragment<{tiles}> {name}{{}};")
            for position, number in enumerate(numbers):
                self.line(f"put({name}, {position}, {number}, warp);")
            return name
        source = self.clean(piece.value)
        if tiles == len(self.layout(piece.value)) // 8 and piece.is_whole:
            return source
        self.line(f"auto {name} = cut<{piece.first}, {tiles}>({source});")
        self.line(f"clear_padding<{self.layout_type(part)}>({name}, warp);")
        return name

    def rows_of(self, domain: int) -> str:
        """The number of rows of a domain, also of one of groups."""
        domain, times = self.memory.program.parts(domain)
        return f"p.rows[{domain}]" + (f" * {times}" if times > 1 else "")
