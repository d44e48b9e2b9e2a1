# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The C++ of one stage."""

import numpy as np

from tensoa.compiler.backends.cpu.constants import (
    BLOCK,
    pack_linear,
    padded,
    padded_row,
)
from tensoa.compiler.backends.cpu.schedule import SPANS, Action, Schedule, is_relu
from tensoa.compiler.backends.kernel_text import float_literal
from tensoa.compiler.ir import FUNCTIONS, REDUCTIONS, Function, Value, Visitor, integers
from tensoa.compiler.ir.pairs import SUMS
from tensoa.compiler.stages import Buffer, Plan, Stage
from tensoa.dtypes import column_type
from tensoa.errors import InputError

Lines = list[str]


def is_private(plan: Plan, buffer: Buffer) -> bool:
    """Every row of it is read only where it was written, in later stages."""
    far = (x for stage in plan.stages for value in stage.gathers for x in value.far_args)
    return not buffer.is_scatter and not any(x is buffer.value for x in far)


def _functor(buffer: Buffer) -> str:
    """What joins rows to those of a scatter."""
    return f"{REDUCTIONS[buffer.value.name].functor}{{}}"


def _column(value: Value, plane: object) -> str:
    """The numbers of a plane of an input, or an index."""
    text = f"plane<{column_type(value.dtype, 'a fused program').cpp}>(c, {value.block}, {plane})"
    return f"stepped({text}, {integers.code(value.steps, 'cpp')})" if value.steps else text


def _call(function: Function, arguments: list[str]) -> str:
    """A function of functions.hpp as it is; an expression as a function of its own."""
    if function.cpp == f"f_{function.name}({', '.join(function.parameters)})":
        return f"f_{function.name}({', '.join(arguments)})"
    parameters = ", ".join(f"V {name}" for name in function.parameters)
    return f"[]({parameters}) -> V {{ return {function.cpp}; }}({', '.join(arguments)})"


def _is_run(places: np.ndarray) -> bool:
    """Whether features lie side by side."""
    return bool((np.diff(places) == 1).all())


class Scratch:
    """Places of values in scratch memory, in features, multiples of 16. Freed places are used again."""

    def __init__(self) -> None:
        self.free: list[tuple[int, int]] = []
        self.size = 0

    def take(self, width: int) -> int:
        width = padded(width)
        for i, (start, stop) in enumerate(self.free):
            if stop - start >= width:
                self.free[i] = (start + width, stop)
                return start
        self.size += width
        return self.size - width

    def give(self, start: int, width: int) -> None:
        spans = sorted([*self.free, (start, start + padded(width))])
        self.free = []
        for begin, end in spans:
            if self.free and self.free[-1][1] == begin:
                self.free[-1] = (self.free[-1][0], end)
            elif begin < end:
                self.free.append((begin, end))


class Body(Visitor):
    """The code of one stage. It names buffers and constants by their number in the stage, so that stages which do the
    same with others (the iterations of a graph network) have the same code.

    `of_OP` gives the lines that compute a value; @ is its place in scratch memory.
    """

    def __init__(self, stage: Stage, plan: Plan) -> None:
        self.plan = plan
        self.schedule = Schedule(stage, plan)
        # Vectors are written whole: those of the last group may end so far behind it.
        are_written_whole = (value.times > 1 or value.op in ("product", "take", "double") for value in stage.values)
        self.slack = BLOCK - 1 if any(are_written_whole) else 0
        self.lines: Lines = []
        self.buffers: list[Buffer] = []
        self.constants: list[np.ndarray] = []
        self.scratch = Scratch()
        self.slots: dict[int, int] = {}  # of values in scratch memory
        self.indices: dict[int, str] = {}
        self._borrowed: tuple[int, int] | None = None  # a place that is free after the value that is computed now
        self._write()

    def _write(self) -> None:
        schedule = self.schedule
        for value in schedule.order:
            if id(value) in schedule.absorbed:
                continue
            if value.op in ("index", "row"):
                self._index(value)
            elif id(value) not in schedule.passed_on:
                self._compute(value)
            if id(value) in schedule.roots:
                for action in schedule.roots[id(value)].actions:
                    self._act(value, action)
            for leaf in {id(leaf): leaf for leaf in [*schedule.leaves(value), value]}.values():
                if schedule.last.get(id(leaf), value) is value and id(leaf) in self.slots:
                    self.scratch.give(self.slots.pop(id(leaf)), leaf.width + self.slack)

    def _compute(self, value: Value) -> None:
        self._borrowed = None
        lines = self._code(value)  # names the places of arguments, one of which may become that of the value
        self._take(value)
        if self._borrowed:
            self.scratch.give(*self._borrowed)
        self.lines += [line.replace("@", self._place(value)) for line in lines]

    def _take(self, value: Value) -> None:
        """A place for `value`: that of an argument where numbers are needed no more once they are replaced."""
        if self.schedule.may_replace(value):
            picked = {id(leaf) for leaf in self.schedule.picked(value)}
            for leaf in self.schedule.leaves(value):
                is_free = self.schedule.last[id(leaf)] is value and id(leaf) not in picked
                if is_free and leaf.width == value.width and id(leaf) in self.slots:
                    self.slots[id(value)] = self.slots.pop(id(leaf))
                    return
        self.slots[id(value)] = self.scratch.take(value.width + self.slack)

    # ---- names

    def _constant(self, array: np.ndarray) -> str:
        for i, other in enumerate(self.constants):
            if other.tobytes() == array.tobytes():
                return f"w[{i}]"
        self.constants.append(array)
        return f"w[{len(self.constants) - 1}]"

    def _buffer(self, buffer: Buffer) -> str:
        for i, other in enumerate(self.buffers):
            if other is buffer:
                return f"b[{i}]"
        self.buffers.append(buffer)
        return f"b[{len(self.buffers) - 1}]"

    def _place(self, value: Value) -> str:
        return f"s + {self.slots[id(value)]} * F"

    def _places(self, value: Value) -> np.ndarray:
        """The features of scratch memory that a value in it, or a pack of such, consists of."""
        is_absorbed = id(value) in self.schedule.absorbed
        return self._packed(value) if is_absorbed else np.arange(value.width) + self.slots[id(value)]

    def _packed(self, value: Value) -> np.ndarray:
        """The features of scratch memory that a pack is made of."""
        found = {id(argument): self._places(argument) for argument in self.schedule.distinct(value)}
        parts = [found[id(argument)][start:stop] for argument, (start, stop) in zip(value.args, value.ranges)]
        return np.concatenate(parts)

    def _table(self, numbers: np.ndarray) -> str:
        """Integers among the constants."""
        row = np.zeros(padded(len(numbers)), np.int32)
        row[: len(numbers)] = numbers
        return f"places({self._constant(row.view(np.float32))})"

    def _nan(self, width: int) -> str:
        return self._constant(np.full(padded(width), np.nan, np.float32))

    def _source(self, gather: Value) -> str:
        """The rows of a buffer that a gather reads."""
        buffer = self.plan.buffer_of(gather.args[0])
        return f"{{&{self._buffer(buffer)}, {self.indices[id(gather.args[1])]}}}"

    # ---- maps

    def _expression(self, value: Value, width: int) -> str:
        is_absorbed = id(value) in self.schedule.absorbed
        if value.op == "constant" and id(value) in self.schedule.computed:
            constant = self._constant(padded_row(value.array))
            return f"all({constant}[0])" if value.width == 1 else f"L::constant({constant}, i, r)"
        if is_absorbed and value.op == "pack":
            places = self._places(value)
            if value.width == 1:
                return f"L::narrow(s + {places[0]} * F, i, r)"
            if _is_run(places):
                return f"L::wide(s + {places[0]} * F, i, r)"
            return f"L::picked(s, {self._table(places)}, i, r)"
        if is_absorbed and value.op == "double":
            return f"shortened({self._doubles(value)})"
        if is_absorbed:
            return self._function(value, width)
        return f"L::{'wide' if value.width == width else 'narrow'}({self._place(value)}, i, r)"

    def _function(self, value: Value, width: int) -> str:
        function = FUNCTIONS.get(value.name)
        if function is None:
            raise InputError(f"a fused program has no function '{value.name}'")
        return _call(function, [self._expression(argument, width) for argument in value.args])

    def _doubles(self, value: Value) -> str:
        """The numbers of a `double`, as Doubles."""
        args = iter(value.args)
        operands = []
        for kind in value.kinds:
            if isinstance(kind, bytes):
                operands.append(self._constant_doubles(np.frombuffer(kind)))
            elif kind == "floats":
                operands.append(f"lengthened({self._expression(next(args), value.numbers)})")
            else:
                operands.append(self._double_operand(next(args), value.numbers))
        function = FUNCTIONS[value.name]
        parameters = ", ".join(f"D {name}" for name in function.parameters)
        return f"by_halves([]({parameters}) -> D {{ return {function.double}; }}, {', '.join(operands)})"

    def _constant_doubles(self, numbers: np.ndarray) -> str:
        if len(numbers) == 1:
            return f"constant_number({self._constant(numbers.view(np.float32))}, 0)"
        row = np.zeros(padded(len(numbers)))
        row[: len(numbers)] = numbers
        return f"L::constant_doubles({self._constant(row.view(np.float32))}, i)"

    def _double_operand(self, value: Value, numbers: int) -> str:
        """Doubles of a value of words."""
        count = value.width // 2
        if id(value) in self.schedule.absorbed and value.op == "double":
            return self._doubles(value)
        read = "wide" if count == numbers else "narrow"
        if id(value) in self.schedule.absorbed:
            halves = []
            for places in self._places(value).reshape(2, -1):
                if count == 1 or _is_run(places):
                    halves.append(f"L::{read}(s + {places[0]} * F, i, r)")
                else:
                    halves.append(f"L::picked(s, {self._table(places)}, i, r)")
            return f"doubles({', '.join(halves)})"
        low = f"s + {self.slots[id(value)] + count} * F"
        return f"doubles(L::{read}({self._place(value)}, i, r), L::{read}({low}, i, r))"

    # ---- the code of a value

    def _code(self, value: Value) -> Lines:
        if id(value) not in self.schedule.computed:
            buffer = self.plan.buffer_of(value)
            read = "recall" if is_private(self.plan, buffer) else "read"
            return [f"L::{read}(@, {value.width}, {self._buffer(buffer)}, first, n);"]
        if id(value) in self.schedule.sums:
            return self._sum(value)
        return self.visit(value)

    def _sum(self, value: Value) -> Lines:
        gathers, others = self.schedule.sums[id(value)]
        lines = self._gathered(gathers)
        if others:
            total = "L::wide(@, i, r)"
            for other in others:
                total = f"f_add({total}, {self._expression(other, value.width)})"
            lines.append(f"L::map(@, {value.width}, n, [&](int i, int r) {{ return {total}; }});")
        return lines

    def _planes(self, planes: tuple[int, ...], call: str) -> Lines:
        """`call` for every i and p of the planes."""
        return [
            "{",
            f"  static constexpr std::int64_t planes[] = {{{', '.join(map(str, planes))}}};",
            f"  for (int i = 0; i < {len(planes)}; ++i) {call};",
            "}",
        ]

    def of_input(self, value: Value) -> Lines:
        name, column = ("scalar", "") if value.is_scalar else ("input", " + first")
        plane = _column(value, "planes[i]")
        return self._planes(value.planes, f"L::{name}(@ + i * F, {plane}{column}, n)")

    def of_constant(self, value: Value) -> Lines:
        return [f"L::fill(@, {value.width}, {self._constant(padded_row(value.array))}, n);"]

    def of_gather(self, value: Value) -> Lines:
        source, index = value.args
        if source.op == "input" and self.plan.buffer_of(source) is None:
            if source.is_scalar:
                return self.of_input(source)
            plane = _column(source, "planes[i]")
            rows = f"c.rows[{source.domain}]"
            call = f"L::gather_input(@ + i * F, {plane}, {self.indices[id(index)]}, {rows}, n)"
            return self._planes(source.planes, call)
        return self._gathered([value])

    def _gathered(self, gathers: list[Value]) -> Lines:
        """The sum of gathers from buffers."""
        width = gathers[0].width
        sources = ", ".join(map(self._source, gathers))
        return [f"{{ const Source x[] = {{{sources}}}; L::gather(@, {width}, x, {self._nan(width)}, n); }}"]

    def of_lookup(self, value: Value) -> Lines:
        table = np.stack([padded_row(row) for row in value.table]).reshape(-1)
        memory = f"{{const_cast<float*>({self._constant(table)}), {padded(value.width)}, {len(value.table)}}}"
        source = f"{{&table, {self.indices[id(value.args[0])]}}}"
        call = f"L::gather(@, {value.width}, x, {self._nan(value.width)}, n);"
        return [f"{{ const Memory table{memory}; const Source x[] = {{{source}}}; {call} }}"]

    def _score(self, value: Value) -> str:
        """What scores a pair of rows: sums over numbers of both, and a function of them."""
        sums, steps = [], []
        for i, (name, *arguments) in enumerate(value.score):
            if name in SUMS:
                sums.append(f"{{{str(name == 'distance').lower()}, {', '.join(map(str, arguments))}}}")
                text = f"p.sum({len(sums) - 1})"
            elif name == "number":
                text = f"all({float_literal(arguments[0], 'NAN', 'INFINITY')})"
            elif name in ("query", "key"):
                text = f"p.{name}({arguments[0]})"
            else:
                text = _call(FUNCTIONS[name], [f"x{argument}" for argument in arguments])
            steps.append(f"const V x{i} = {text};")
        first = f"{{{', '.join(sums)}}}, " if sums else ""
        return f"score({first}[]([[maybe_unused]] const auto& p) -> V {{ {' '.join(steps)} return x{len(steps) - 1}; }})"

    def of_attend(self, value: Value) -> Lines:
        q, k, v = value.args
        memory = ", ".join(self._buffer(self.plan.buffer_of(x)) for x in (k, v))
        widths = ", ".join(str(x.width // value.times) for x in (q, k, v))
        weights = f"Weights::k{value.weights.capitalize()}"
        arguments = f"@, {self._place(q)}, {memory}, {value.times}, {{{widths}}}, {self._score(value)}, n"
        return [f"Pairs<L>::template attend<{weights}>({arguments});"]

    def of_nearest(self, value: Value) -> Lines:
        q, k = value.args
        arguments = f"@, {self._place(q)}, {self._buffer(self.plan.buffer_of(k))}, {value.count}, {self._score(value)}, n"
        return [f"Pairs<L>::template nearest<{str(value.is_largest).lower()}>({arguments});"]

    def of_pack(self, value: Value) -> Lines:
        return [f"L::pick(@, {value.width}, s, {self._table(self._packed(value))}, n);"]

    def of_reduce(self, value: Value) -> Lines:
        places, reduction = self._places(value.args[0]), REDUCTIONS[value.name]
        source, x = (f"s + {places[0]} * F", "nullptr") if _is_run(places) else ("s", self._table(places))
        count = value.args[0].width // value.times
        divisor = f"{count}.0f" if reduction.is_mean else "1.0f"
        return [f"L::reduce(@, {source}, {x}, {count}, {value.times}, n, {reduction.functor}{{}}, {divisor});"]

    def of_order(self, value: Value) -> Lines:
        (x,), width = value.args, value.args[0].width // value.times
        at = self.scratch.take(2 * width + BLOCK)
        self._borrowed = at, 2 * width + BLOCK
        is_largest = str(value.is_largest).lower()
        return [f"L::order(@, {self._place(x)}, s + {at} * F, {width}, {value.count}, {value.times}, {is_largest}, n);"]

    def of_take(self, value: Value) -> Lines:
        x, places = value.args
        shape = f"{x.width // value.times // value.inner}, {value.inner}, {places.width // value.times}, {value.times}"
        return [f"L::take(@, {self._place(x)}, {self._place(places)}, {shape}, n);"]

    def of_product(self, value: Value) -> Lines:
        x, y = value.args
        shape = f"{x.width // value.times // value.inner}, {value.inner}, {y.width // value.times // value.inner}"
        return [f"L::product(@, {self._place(x)}, {self._place(y)}, {value.times}, {shape}, n);"]

    def of_map(self, value: Value) -> Lines:
        first = value.args[0]
        if is_relu(value) and id(first) in self.schedule.absorbed and first.op in ("linear", "norm"):
            return self.visit(first, "true")
        return [f"L::map(@, {value.width}, n, [&](int i, int r) {{ return {self._function(value, value.width)}; }});"]

    def of_double(self, value: Value) -> Lines:
        kind, text = ("map", f"shortened({self._doubles(value)})") if value.is_short else ("map_doubles", self._doubles(value))
        return [f"L::{kind}(@, {value.numbers}, n, [&](int i, int r) {{ return {text}; }});"]

    def of_norm(self, value: Value, has_relu: str = "false") -> Lines:
        width = value.width // value.times
        weight = np.ones(width, np.float32) if value.weight is None else value.weight
        bias = np.zeros(width, np.float32) if value.bias is None else value.bias
        constants = f"{self._constant(padded_row(weight))}, {self._constant(padded_row(bias))}"
        eps = f"static_cast<float>({float(value.eps)!r})"
        flags = f"{str(value.is_centered).lower()}, {has_relu}"
        x = self._place(value.args[0])
        return [f"L::norm(@, {x}, {width}, {value.times}, {constants}, {eps}, n, {flags});"]

    def of_linear(self, value: Value, has_relu: str = "false") -> Lines:
        x, times, before = value.args[0], value.times, []
        runs = _runs(self._places(x), times)
        if runs is None:
            at = self.scratch.take(x.width + self.slack)
            self._borrowed = at, x.width + self.slack
            before = [f"L::pick(s + {at} * F, {x.width}, s, {self._table(self._places(x))}, n);"]
            runs = _runs(np.arange(x.width) + at, times)
        steps = set(np.diff(runs[:, :, 0], axis=0).reshape(-1).tolist())
        step = steps.pop() if len(steps) == 1 else 0
        groups = f"{{s, {self._table(runs.reshape(-1))}, {runs.shape[1]}, {times}, {step}}}"
        weights = self._constant(pack_linear(value.weight, value.bias))
        return [*before, f"L::linear(@, {value.width // times}, {groups}, {weights}, n, {has_relu});"]

    # ---- what leaves the stage

    def _index(self, value: Value) -> None:
        name = self.indices[id(value)] = f"index_{len(self.indices)}"
        if value.op == "row":
            self.lines += [
                f"std::int64_t {name}[L::kRows];",
                f"L::row({name}, {self._place(value.args[0])} + {value.number} * F, n);",
            ]
            return
        column = f"{_column(value, value.plane)} + first"
        self.lines += [f"std::int64_t {name}[L::kRows];", f"L::index({name}, {column}, n);"]

    def _act(self, value: Value, action: Action) -> None:
        kind, to, index = action
        if kind == "output":
            plane = f"plane<{column_type(to.dtype, 'a fused program').cpp}>(c, {to.block}, planes[i])"
            self.lines += self._planes(to.planes, f"L::output({self._place(value)} + i * F, {plane} + first, n)")
            return
        if id(value) in self.schedule.passed_on:
            rows, factor = self.schedule.passed_on[id(value)]
            place = self._place(factor) if factor else "nullptr"
            source, nan = f"Source{self._source(rows)}", self._nan(value.width)
            target = f"Source{{&{self._buffer(to)}, {self.indices[id(index)]}}}"
            self.lines.append(f"L::pass_on({place}, {value.width}, {source}, {nan}, {target}, n, {_functor(to)});")
            return
        if kind == "write" and is_private(self.plan, to):
            kind = "keep"
        where = f"{self.indices[id(index)]}, n, {_functor(to)}" if kind == "scatter" else "first, n"
        self.lines.append(f"L::{kind}({self._place(value)}, {value.width}, {self._buffer(to)}, {where});")

    def text(self, name: str) -> str:
        body = "\n".join(f"    {line}" for line in self.lines)
        return f"""\
template <class L>
struct {name} {{
  static void run(const Call& c, std::int64_t first, int n) {{
    constexpr int F = L::kFeature;
    float* const s = c.scratch;
    [[maybe_unused]] const Memory* const b = c.buffers;
    [[maybe_unused]] const float* const* const w = c.weights;
{body}
  }}
}};
"""


def _runs(places: np.ndarray, times: int) -> np.ndarray | None:
    """(first feature, how many) of the runs of each of `times` groups: [times, runs, 2]; None where groups differ in these,
    or have too many for a layer.
    """
    found = []
    for group in places.reshape(times, -1):
        starts = np.flatnonzero(np.diff(group, prepend=-2) != 1)
        found.append(np.stack([group[starts], np.diff(starts, append=len(group))], axis=1))
    is_alike = all(np.array_equal(runs[:, 1:], found[0][:, 1:]) for runs in found)
    return np.stack(found) if is_alike and len(found[0]) <= SPANS else None
