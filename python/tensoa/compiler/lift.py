# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Makes groups of a row rows of a domain of their own, for back ends that keep a row in registers (docs/decisions/0051).

A layer of 30 elements of a row becomes a layer of 30 rows for each row, which tensor cores multiply together. What then moves
numbers between elements (a sum over a set, heads of attention, neighbours) reads what was stored: `regroup`, `multiply`,
`pick` and `fold` of ir/program.py.

Every number of the program has a code: its value (a root: no pack) and its place there. Each root has an arrangement [times,
width] of its numbers: row g of those that it becomes has the numbers arrangement[g]. Where what an operation reads has the
arrangement of what it is made of, nothing moves.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tensoa.compiler import ir
from tensoa.compiler.errors import NotFused
from tensoa.compiler.ir import Program, Value, Visitor
from tensoa.compiler.ir.program import ARGUMENT

_ROOT = 1 << 32
_WIDEST = 32  # numbers of a row, where nothing says how to arrange them
_LEAST_FOLD = 4  # numbers of a vector, so that the lanes of a row have work
_MOST_RUNS = 8  # parts that are read one after another
_MOST_AGAIN = 4  # functions of columns, one of the other, that are computed wherever they are needed
_WIDE_FOLD = 1024  # numbers: a fold of more to one vector of a row is done by several rows
_MOST_SOURCES = 127  # so that a place is an int32

Codes = np.ndarray  # of numbers, int64
Kind = tuple[str, int]  # how numbers are had, and their root, or -1


def is_grouped(program: Program) -> bool:
    """Whether anything in it is done to groups of a row."""
    return any(value.times > 1 or value.op in ("product", "order", "take") for value in program.values())


def copies(program: Program) -> float:
    """How many operations there would be with a copy for each group; infinite where copies can't do it."""
    if any(value.op in ("order", "take") for value in program.values()):
        return math.inf
    return sum(value.width if value.op == "product" else value.times for value in program.values())


def lifted(program: Program) -> Program:
    """The same function without groups."""
    if any(value.op == "double" for value in program.values()):
        raise NotFused("float64 in groups of a row")
    return _Lift(program).program()


class _Roots(Visitor):
    """The codes of the numbers of every value; inputs of one block are one root, whose places are planes."""

    def __init__(self, program: Program) -> None:
        self.all: list[Value] = []
        self.codes: dict[int, Codes] = {}
        self._depths: list[float] = []  # of each root: functions between it and columns
        self._inputs: dict[tuple, int] = {}
        for value in program.values():
            self.codes[id(value)] = self.visit(value)

    def _add(self, value: Value) -> int:
        self.all.append(value)
        if value.op == "map":
            roots = np.unique(np.concatenate([self.codes[id(argument)] for argument in value.args]) // _ROOT)
            self._depths.append(1 + max(self._depths[root] for root in roots))
        else:
            self._depths.append(0 if value.op in ("input", "constant") else math.inf)
        return len(self.all) - 1

    def _own(self, value: Value) -> Codes:
        return self._add(value) * _ROOT + np.arange(value.width)

    of_index = of_constant = of_linear = of_product = of_map = of_norm = of_reduce = of_order = of_take = _own
    of_lookup = of_row = of_gather = of_scatter = of_attend = of_nearest = _own

    def of_input(self, value: Value) -> Codes:
        key = value.domain, value.block, value.dtype, value.is_scalar, value.steps
        if key not in self._inputs:
            self._inputs[key] = self._add(value)
        return self._inputs[key] * _ROOT + np.array(value.planes)

    def of_pack(self, value: Value) -> Codes:
        parts = zip(value.args, value.ranges)
        return np.concatenate([self.codes[id(argument)][start:stop] for argument, (start, stop) in parts])

    def of(self, value: Value, *shape: int) -> Codes:
        return self.codes[id(value)].reshape(shape)

    def is_again(self, at: int) -> bool:
        """Whether a root is a function of columns, which costs less to compute again than to hand over."""
        return self._depths[at] <= _MOST_AGAIN

    def one(self, codes: Codes) -> int | None:
        """The root of all these numbers, None where there are several."""
        roots = codes // _ROOT
        return int(roots.flat[0]) if (roots == roots.flat[0]).all() else None


def _divisor(number: int, most: int) -> int:
    """The largest one that is at most so large."""
    return max(i for i in range(1, most + 1) if number % i == 0)


class _Arrangements(Visitor):
    """The arrangement of every root: of what is done to groups, the groups; of a map, that of an argument, or else the one
    that its user wants.
    """

    def __init__(self, roots: _Roots) -> None:
        self.roots = roots
        self.of: dict[int, np.ndarray] = {}  # by the number of the root
        self.folds: dict[int, np.ndarray] = {}  # of reductions over rows of a root its numbers: [vectors, count, width]
        self._split: set[int] = set()  # folds by several rows: what follows is done to the whole vector
        for at, value in enumerate(roots.all):
            found = self.visit(value)
            if found is not None:
                self.of[at] = found
        for at, value in reversed(list(enumerate(roots.all))):
            if value.op == "map" and at not in self.of:
                self.of[at] = np.arange(value.width).reshape(-1, _divisor(value.width, _WIDEST))
            self._suggest(at, value)

    def _groups(self, value: Value) -> np.ndarray:
        return np.arange(value.width).reshape(value.times, -1)

    of_input = of_index = of_constant = of_linear = of_norm = of_order = _groups
    of_lookup = of_row = of_gather = of_scatter = of_attend = of_nearest = _groups

    def of_product(self, value: Value) -> np.ndarray:
        return np.arange(value.width).reshape(value.args[0].width // value.inner, -1)

    def of_take(self, value: Value) -> np.ndarray:
        return np.arange(value.width).reshape(-1, value.inner)

    def of_map(self, value: Value) -> np.ndarray | None:
        for argument in value.args:
            codes = self.roots.of(argument, -1)
            root = self.roots.one(codes)
            arrangement = None if root is None else self.of.get(root)
            is_free = root is None or self.roots.is_again(root) or id(self.roots.all[root]) in self._split
            if arrangement is None or is_free or len(codes) != value.width or arrangement.size != value.width:
                continue
            own = np.full(value.width, -1)
            own[codes % _ROOT] = np.arange(value.width)
            if (own >= 0).all():
                return own[arrangement]
        return None

    def of_reduce(self, value: Value) -> np.ndarray:
        """Where the groups go across rows of a root, a fold of those rows: all numbers of a row at a time."""
        codes = self.roots.of(value.args[0], value.times, -1)
        root = self.roots.one(codes)
        arrangement = None if root is None or self.roots.is_again(root) else self.of.get(root)
        if arrangement is not None and arrangement.shape[1] >= _LEAST_FOLD and codes.shape[1] > 1:
            width = arrangement.shape[1]
            row, column = np.divmod(_inverse(arrangement)[codes % _ROOT], width)
            rows, vector = np.unique(row, axis=0, return_inverse=True)
            own = np.full((len(rows), width), -1)
            own[vector.reshape(-1), column[:, 0]] = np.arange(value.times)
            if (column == column[:, :1]).all() and own.size == value.times and (own >= 0).all():
                numbers = arrangement[rows]  # [vectors, count, width]
                if len(rows) == 1 and width % 8 == 0 and width > 8 and numbers.size > _WIDE_FOLD:
                    own, numbers = own.reshape(-1, 8), numbers[0].reshape(-1, width // 8, 8).swapaxes(0, 1)
                    self._split.add(id(value))
                self.folds[id(value)] = numbers
                return own
        return np.arange(value.width).reshape(value.times, 1)

    def _suggest(self, at: int, value: Value) -> None:
        """Maps that `value` reads get the arrangement in which it reads them."""
        for codes in self._read(at, value):
            for root in np.unique(codes // _ROOT):
                if root in self.of or self.roots.all[root].op != "map":
                    continue
                of_root = codes[:, (codes // _ROOT == root).all(axis=0)] % _ROOT
                _, first = np.unique(of_root, axis=1, return_index=True)
                own = of_root[:, np.sort(first)]
                if np.array_equal(np.sort(own, axis=None), np.arange(self.roots.all[root].width)):
                    self.of[int(root)] = own

    def _read(self, at: int, value: Value) -> Iterator[Codes]:
        """The codes that an operation reads in the rows that it is done to: [times, width] each."""
        if value.op in ("linear", "norm", "reduce", "order"):
            yield self.roots.of(value.args[0], value.times, -1)
        elif value.op == "product":
            yield self.roots.of(value.args[0], -1, value.inner)
        elif value.op == "take":
            yield self.roots.of(value.args[1], -1, 1)
        elif value.op == "map":
            for argument in value.args:
                if argument.width == value.width:
                    yield self.roots.of(argument, -1)[self.of[at]]
        elif value.op in ("gather", "scatter"):
            yield self.roots.of(value.args[0], 1, -1)


def _inverse(arrangement: np.ndarray) -> np.ndarray:
    result = np.empty(arrangement.size, np.int64)
    result[arrangement.reshape(-1)] = np.arange(arrangement.size)
    return result


class _Lift(Visitor):
    """The values of the new program."""

    def __init__(self, program: Program) -> None:
        self._old = program
        self._roots = _Roots(program)
        self._arrangements = _Arrangements(self._roots)
        self._lifted: list[tuple[int, int]] = []
        self._made: dict[int, Value] = {}  # by the number of the root
        self._place: dict[int, np.ndarray] = {}  # of its numbers among those of what was made
        self._wanted: dict[tuple, Value] = {}
        self._copies: dict[Value, Value] = {}

    def program(self) -> Program:
        for at, value in enumerate(self._roots.all):
            if value.is_free or value.op == "row" or self._roots.is_again(at):
                continue
            self._make(at)
        outputs = [replace(output, value=self._want(self._roots.of(output.value, 1, -1))) for output in self._old.outputs]
        return self._with_sums_apart(Program(self._old.domains, outputs, tuple(self._lifted)))

    def _with_sums_apart(self, program: Program) -> Program:
        """Rows that are summed lie in another order than rows that are read by parts."""
        values = program.values()
        far = {x for value in values if value.op != "gather" for x in value.far_args}
        new: dict[Value, Value] = {}
        for value in values:
            args = tuple(new[argument] for argument in value.args)
            if value.op == "scatter" and value.args[0] in far:
                args = self._copy(args[0]), args[1]
            new[value] = value.of(args)
        return replace(program, outputs=[replace(output, value=new[output.value]) for output in program.outputs])

    def _copy(self, made: Value) -> Value:
        """The same numbers in memory of their own."""
        if made not in self._copies:
            self._copies[made] = ir.copy(made)
        return self._copies[made]

    def _make(self, at: int) -> None:
        self._made[at] = self.visit(self._roots.all[at], at)
        self._place[at] = _inverse(self._arrangements.of[at])

    # ---- what operations read

    def _domain(self, codes: Codes, times: int) -> int:
        """The domain of `times` rows for each row of these numbers."""
        of_rows = self._roots.all[int(codes.flat[0] // _ROOT)].domain
        if times == 1:
            return of_rows
        if (of_rows, times) not in self._lifted:
            self._lifted.append((of_rows, times))
        return len(self._old.domains) + self._lifted.index((of_rows, times))

    def _want(self, codes: Codes) -> Value:
        """A value with these numbers: [times, width]."""
        key = codes.shape, codes.tobytes()
        if key not in self._wanted:
            self._wanted[key] = self._value_of(codes, self._domain(codes, len(codes)))
        return self._wanted[key]

    def _value_of(self, codes: Codes, domain: int) -> Value:
        runs: list[tuple[Kind, list[int]]] = []
        for column in range(codes.shape[1]):
            kind = self._kind(codes[:, column])
            if not runs or runs[-1][0] != kind:
                runs.append((kind, []))
            runs[-1][1].append(column)
        if sum(kind[0] == "far" for kind, _ in runs) > _MOST_RUNS:
            runs = [(("far", -1), list(range(codes.shape[1])))]
        parts = []
        for (how, root), columns in runs:
            some = codes[:, columns]
            if how == "own":
                made = self._made[root]
                places = self._place[root][some[0] % _ROOT]
                parts += [(made, int(place), int(place) + 1) for place in places]
                continue
            if how == "column":
                first = self._roots.all[root]
                planes = tuple(int(plane) for plane in some[0] % _ROOT)
                value = ir.columns(domain, first.block, planes, first.dtype, first.is_scalar, first.steps)
            elif how == "constant":
                value = ir.constant(domain, [self._roots.all[c // _ROOT].array[c % _ROOT] for c in some[0]])
            elif how == "again":
                value = self._apply(self._roots.all[root], some % _ROOT)
            else:
                args, places = self._places(some[:, None, :])
                value = Value("regroup", domain, len(columns), args, {"places": places})
            parts.append((value, 0, value.width))
        return ir.pack(parts)

    def _kind(self, column: Codes) -> Kind:
        """How a number of every row is had: from rows of this kind, from columns, as a constant; or from memory."""
        root = self._roots.one(column)
        if root is None:
            return "far", -1
        value = self._roots.all[root]
        if value.op == "constant" and (column == column[0]).all():
            return "constant", -1
        if value.op == "input" and len(column) == 1:
            return "column", root
        if value.op == "map" and self._roots.is_again(root):
            return "again", root
        if root in self._place and len(self._arrangements.of[root]) == len(column):
            place = self._place[root][column % _ROOT]
            width = self._arrangements.of[root].shape[1]
            if np.array_equal(place, place[0] % width + width * np.arange(len(column))) and place[0] < width:
                return "own", root
        return "far", root

    def _places(self, codes: Codes) -> tuple[tuple[Value, ...], np.ndarray]:
        """(values in memory, `places` in them) of codes [groups, n, width]; one group where all are the same."""
        if (codes == codes[:1]).all():
            codes = codes[:1]
        args: list[Value] = []
        places = np.empty(codes.shape, np.int64)
        for root in np.unique(codes // _ROOT):
            of_root = codes // _ROOT == root
            value, numbers = self._roots.all[root], codes[of_root] % _ROOT
            if value.op == "input":
                planes, numbers = np.unique(numbers, return_inverse=True)
                value = ir.columns(
                    value.domain, value.block, tuple(map(int, planes)), value.dtype, value.is_scalar, value.steps
                )
            elif value.op != "constant":
                value = self._stored(int(root))
                numbers = self._place[int(root)][numbers]
            if len(args) == _MOST_SOURCES or numbers.max() >= ARGUMENT:
                raise NotFused(f"parts of a row with {numbers.max() + 1} numbers, from {len(args) + 1} or more operations")
            places[of_root] = ARGUMENT * len(args) + numbers.reshape(-1)
            args.append(value)
        return tuple(args), places

    def _stored(self, root: int) -> Value:
        """What was made of a root, as rows of their own: sums have memory that rows are added to."""
        if root not in self._made:
            self._make(root)
        made = self._made[root]
        return self._copy(made) if made.op == "scatter" else made

    def _made_of(self, op: str, times: int, own: tuple[Value, ...], far: Codes, **attributes: object) -> Value:
        """An operation of `times` rows for each row, which reads `far` [groups, n, width]."""
        args, places = self._places(far)
        return Value(op, self._domain(far, times), far.shape[2], (*own, *args), {"places": places, **attributes})

    # ---- operations

    def of_linear(self, value: Value, at: int) -> Value:
        return ir.linear(self._want(self._roots.of(value.args[0], value.times, -1)), value.weight, value.bias)

    def of_norm(self, value: Value, at: int) -> Value:
        x = self._want(self._roots.of(value.args[0], value.times, -1))
        return ir.norm(x, value.weight, value.bias, value.eps, is_centered=value.is_centered)

    def of_order(self, value: Value, at: int) -> Value:
        return ir.order(self._want(self._roots.of(value.args[0], value.times, -1)), value.count, value.is_largest)

    def of_reduce(self, value: Value, at: int) -> Value:
        codes = self._roots.of(value.args[0], value.times, -1)
        numbers = self._arrangements.folds.get(id(value))
        if numbers is None:
            return ir.reduce(value.name, self._want(codes))
        return self._made_of("fold", len(numbers), (), codes.flat[0] // _ROOT * _ROOT + numbers, name=value.name)

    def of_product(self, value: Value, at: int) -> Value:
        x = self._roots.of(value.args[0], -1, value.inner)
        return self._made_of("multiply", len(x), (self._want(x),), self._roots.of(value.args[1], value.times, value.inner, -1))

    def of_take(self, value: Value, at: int) -> Value:
        places = self._roots.of(value.args[1], -1, 1)
        vectors = self._roots.of(value.args[0], value.times, value.args[0].width // value.times // value.inner, value.inner)
        return self._made_of("pick", len(places), (self._want(places),), vectors)

    def of_map(self, value: Value, at: int) -> Value:
        return self._apply(value, self._arrangements.of[at])

    def _apply(self, value: Value, numbers: np.ndarray) -> Value:
        """The numbers [times, width] of a map."""
        args = []
        for argument in value.args:
            codes = self._roots.of(argument, -1)
            codes = codes[numbers] if len(codes) == value.width else np.broadcast_to(codes, (len(numbers), 1))
            is_one = (codes == codes[:, :1]).all()
            args.append(codes[:, :1] if is_one else codes)
        if all(codes.shape[1] == 1 for codes in args):  # one number for all of a row
            args[0] = np.repeat(args[0], numbers.shape[1], axis=1)
        return ir.apply(value.name, *(self._want(np.ascontiguousarray(codes)) for codes in args))

    def of_lookup(self, value: Value, at: int) -> Value:
        return value

    def of_gather(self, value: Value, at: int) -> Value:
        x, index = value.args
        if index.op == "row":
            index = self._row(self._want(self._roots.of(index.args[0], 1, -1)), index.number)
        return ir.gather(self._want(self._roots.of(x, 1, -1)), index)

    def _row(self, value: Value, number: int) -> Value:
        return self._wanted.setdefault((id(value), number), ir.row(value, number))

    def of_attend(self, value: Value, at: int) -> Value:
        q, k, v = (self._want(self._roots.of(argument, 1, -1)) for argument in value.args)
        return ir.attend(q, k, v, value.score, value.weights)

    def of_nearest(self, value: Value, at: int) -> Value:
        q, k = (self._want(self._roots.of(argument, 1, -1)) for argument in value.args)
        return ir.nearest(q, k, value.score, value.count, value.is_largest)

    def of_scatter(self, value: Value, at: int) -> Value:
        return ir.scatter(self._want(self._roots.of(value.args[0], 1, -1)), value.args[1], value.domain, value.name)
