# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Builds a row program from operations on tensors, for every front end.

Programs calculate in float32, and tensors of float64 in float64 (docs/decisions/0053). Tensors of truth values are zeros and
ones there, and integers are right where float32 holds them: while they are known to be below 2^24, or where only their order
counts (clamp, where, a comparison with what is below). Integers beyond that are not fused.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tensoa.compiler.errors import NotFused
from tensoa.compiler.ir import build, pairs
from tensoa.compiler.ir.bounds import EXACT, Bounds
from tensoa.compiler.ir.operations import FUNCTIONS, REDUCTIONS
from tensoa.compiler.ir.pairs import PairNumbers, Pairs
from tensoa.compiler.ir.program import Value
from tensoa.compiler.ir.rows import Double, InputPlane, RowNumber, Rows, key_of, need_rows, numbers_of, plane_array
from tensoa.dtypes import DTYPES, FLOAT32

#: What tensor operations are given: a tensor with rows, an array that is the same for all rows, or a number.
Operand = Any
Part = tuple[Value, int, int]  # a value, and the numbers of it from start to stop
MOST_INSIDE = 4096  # numbers of a table that becomes a part of every row
INDICES = (DTYPES["int32"], DTYPES["int64"])  # what tensors of indices may be


class Builder:
    """Makes each value once. Raises NotFused for what cannot be in a row program."""

    def __init__(self) -> None:
        self._made: dict[Any, Value] = {}
        self.bound = Bounds()
        self.pairs = pairs.Expressions(self.once)

    # ---- values

    def once(self, key: Any, make: Callable[[], Value]) -> Value:
        """The value of a key, which `make` makes where it is new."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def _input(self, planes: Sequence[InputPlane]) -> Value:
        first = planes[0]
        if any(_of(plane) != _of(first) for plane in planes):
            raise ValueError("planes of several blocks, or after several steps, are not one input")
        places = tuple(plane.plane for plane in planes)
        return self.once(
            ("input", *_of(first), places),
            lambda: build.columns(first.domain, first.block, places, first.dtype, first.is_scalar, first.steps),
        )

    def parts(self, planes: Iterable[Any], domain: int) -> list[Part]:
        """(value, start, stop) for planes in order."""
        found: list[Part] = []
        run: list[InputPlane] = []

        def end() -> None:
            if run:
                value = self._input(run)
                found.append((value, 0, value.width))
                run.clear()

        for plane in planes:
            if isinstance(plane, InputPlane):
                if run and _of(run[0]) != _of(plane):
                    end()
                run.append(plane)
                continue
            end()
            if isinstance(plane, Double):
                raise NotFused("float64 in what calculates in float32")
            if isinstance(plane, RowNumber):
                raise NotFused("numbers of rows as numbers")
            if isinstance(plane, tuple):
                value, at = plane
                if found and found[-1][0] is value and found[-1][2] == at:
                    found[-1] = (value, found[-1][1], at + 1)
                else:
                    found.append((value, at, at + 1))
            else:
                found.append((self.number(plane, domain), 0, 1))
        end()
        return found

    def number(self, number: float, domain: int) -> Value:
        return self.once(("number", key_of(number), domain), lambda: build.constant(domain, [number]))

    def constant(self, number: float, like: Any) -> Any:
        if isinstance(like, PairNumbers):
            return PairNumbers((float(number),))
        return self.number(number, like.domain)

    def value(self, array: np.ndarray, domain: int) -> Value:
        """The planes of an array, side by side."""
        planes = list(array.reshape(-1))
        if all(isinstance(plane, (int, float)) for plane in planes):
            key = ("constant", domain, *map(key_of, planes))
            return self.once(key, lambda: build.constant(domain, planes))
        packed = build.pack(self.parts(self._read_once(planes), domain))
        if packed.op != "pack":
            return packed
        return self.once(("pack", tuple(id(part) for part in packed.args), packed.ranges), lambda: packed)

    def _read_once(self, planes: list[Any]) -> list[Any]:
        """Planes, where input planes that come several times are taken from a value that has each once."""
        inputs = [plane for plane in planes if isinstance(plane, InputPlane)]
        distinct = sorted(set(inputs), key=lambda plane: (*_of(plane), plane.plane))
        if len(distinct) == len(inputs):
            return planes
        places: dict[InputPlane, tuple[Value, int]] = {}
        for _, group in itertools.groupby(distinct, key=_of):
            of_block = list(group)
            value = self._input(of_block)
            places.update((plane, (value, i)) for i, plane in enumerate(of_block))
        return [places.get(plane, plane) for plane in planes]

    def map(self, name: str, *args: Any) -> Any:
        if isinstance(args[0], PairNumbers):
            return self.pairs.map(name, *args)
        return self.once(("map", name, *(id(arg) for arg in args)), lambda: build.apply(name, *args))

    def reduce(self, name: str, value: Any, times: int) -> Any:
        if isinstance(value, PairNumbers):
            return self.pairs.reduce(name, value, times)
        if value.width == times:
            return value
        return self.once(("reduce", name, id(value), times), lambda: build.reduce(name, value, times))

    def each(self, value: Value, like: Value) -> Value:
        """The numbers of groups, for a map with all numbers of the groups, `like`."""
        if value.width in (1, like.width):
            return value
        count = like.width // value.width
        planes = plane_array((-1,), [(value, i) for i in range(value.width) for _ in range(count)])
        return self.value(planes, value.domain)

    def linear(self, x: Value, weight: ArrayLike, bias: ArrayLike | None = None, times: int = 1) -> Value:
        return build.linear(x, np.asarray(weight), None if bias is None else np.asarray(bias), times)

    def index(self, rows: Operand) -> Value:
        """The one integer plane of a tensor that is used to gather or scatter."""
        need_rows(rows)
        planes = list(dict.fromkeys(rows.planes.reshape(-1))) if isinstance(rows, Rows) else []
        if len(planes) == 1 and isinstance(planes[0], tuple) and planes[0][0].op == "nearest":
            value, number = planes[0]
            return self.once(("row", id(value), number), lambda: build.row(value, number))
        if len(planes) != 1 or not isinstance(planes[0], InputPlane) or planes[0].is_scalar:
            raise NotFused("indices that are computed, or not one column")
        if rows.dtype not in INDICES:
            raise NotFused(f"indices of {rows.dtype.name}")
        plane = planes[0]
        return self.once(
            ("index", plane.block, plane.plane, plane.steps),
            lambda: build.index(plane.domain, plane.block, plane.plane, plane.dtype, plane.steps),
        )

    # ---- tensors

    def rows(self, shape: Sequence[int], axis: int, value: Value) -> Rows:
        """The numbers of a value as a tensor of this shape."""
        return Rows(plane_array(shape, [(value, i) for i in range(value.width)]), axis, value.domain)

    def filled(self, constant: Operand, shape: Sequence[int], axis: int, domain: int) -> Rows:
        """A constant as a tensor with rows."""
        planes = np.broadcast_to(plane_array(*numbers_of(constant)), shape)
        return Rows(planes, axis, domain)

    def broadcast(self, *args: Operand) -> tuple[list[np.ndarray], int, int]:
        """Arrays of planes of one shape, and the axis and domain of its rows."""
        arrays = [arg.planes if isinstance(arg, Rows) else plane_array(*numbers_of(arg)) for arg in args]
        rank = max(array.ndim for array in arrays)
        places = {
            (arg.axis + rank - arg.planes.ndim, arg.domain, arg.planes.shape[arg.axis]) for arg in args if isinstance(arg, Rows)
        }
        if len(places) != 1:
            raise NotFused("arithmetic between tensors of different rows")
        ((axis, domain, _),) = places
        others = [array for arg, array in zip(args, arrays) if not isinstance(arg, Rows)]
        if any(array.ndim >= rank - axis and array.shape[array.ndim - rank + axis] != 1 for array in others):
            raise NotFused("a constant that differs from row to row")
        return list(np.broadcast_arrays(*arrays)), axis, domain

    def _operand(self, planes: np.ndarray, domain: int) -> Value:
        flat = list(planes.reshape(-1))
        if len(set(map(key_of, flat))) == 1:
            flat = flat[:1]
        return self.value(plane_array((len(flat),), flat), domain)

    def elementwise(self, make: Callable[..., Any], *args: Operand) -> Any:
        """make(*values) over broadcast arguments, Rows or Pairs; as a rule `make` is self.map with the name of a function."""
        if pairs.are_pairs(*args):
            return pairs.elementwise(self.pairs, make, *args)
        arrays, axis, domain = self.broadcast(*args)
        shape, flat = arrays[0].shape, [array.reshape(-1) for array in arrays]
        order = next((order for array in flat if (order := _stored_order(array)) is not None), np.arange(len(flat[0])))
        value = make(*(self._operand(array[order], domain) for array in flat))
        if value.width == 1 and math.prod(shape) > 1:
            return Rows(plane_array(shape, [(value, 0)] * math.prod(shape)), axis, domain)
        return Rows(plane_array(shape, [(value, i) for i in np.argsort(order).tolist()]), axis, domain)

    def function(self, name: str, *args: Operand) -> Any:
        """The function `name` of FUNCTIONS over broadcast arguments; in float64 where one is."""
        if any(isinstance(arg, Rows) and arg.has_doubles for arg in args):
            return self.double(name, *args)
        return self.elementwise(lambda *values: self.map(name, *values), *args)

    # ---- float64

    def double(self, name: str, *args: Operand, is_short: bool = False) -> Rows:
        """The function `name` of FUNCTIONS in float64, over broadcast arguments; made float32 where it `is_short`."""
        function = FUNCTIONS[name]
        if not function.double:
            raise NotFused(f"{name} of float64")
        if any(isinstance(arg, Pairs) for arg in args):
            raise NotFused(f"{name} of float64 between rows")
        if any(isinstance(arg, Rows) and arg.is_integer and not self.is_small(arg) for arg in args):
            raise NotFused("integers that float32 may not hold made float64")
        exact = [np.asarray(arg, np.float64) if isinstance(arg, (int, float)) else arg for arg in args]
        arrays, axis, domain = self.broadcast(*exact)
        shape, is_short = arrays[0].shape, is_short or function.is_truth
        value = self._double(domain, name, [self._double_operand(array, domain) for array in arrays], is_short)
        planes = [(value, i) if is_short else Double(value, i) for i in range(value.numbers)]
        planes = planes * (math.prod(shape) // len(planes))
        return Rows(plane_array(shape, planes), axis, domain, FLOAT32 if is_short else DTYPES["float64"])

    def doubled(self, tensor: Rows) -> Rows:
        """As float64."""
        return replace(tensor if tensor.has_doubles else self.double("identity", tensor), dtype=DTYPES["float64"])

    def doubles(self, planes: np.ndarray, domain: int) -> list[Value]:
        """The high words of numbers of float64, and the low ones."""
        operand = self._double_operand(planes, domain)
        if isinstance(operand, np.ndarray) or operand[1] == "floats":
            operand = self._double(domain, "identity", [operand], False), "words"
        value, count = operand[0], operand[0].width // 2
        places = [i % count for i in range(planes.size)]
        return [self.value(plane_array((-1,), [(value, start + i) for i in places]), domain) for start in (0, count)]

    def _double(self, domain: int, name: str, operands: list, is_short: bool) -> Value:
        keys = [operand.tobytes() if isinstance(operand, np.ndarray) else (id(operand[0]), operand[1]) for operand in operands]
        key = ("double", domain, name, is_short, *keys)
        return self.once(key, lambda: build.double(domain, name, operands, is_short))

    def _double_operand(self, array: np.ndarray, domain: int) -> tuple[Value, str] | np.ndarray:
        planes = list(array.reshape(-1))
        if len(set(map(key_of, planes))) == 1:
            planes = planes[:1]
        if all(isinstance(plane, (int, float)) for plane in planes):
            return np.array(planes, np.float64)
        if not any(isinstance(plane, Double) for plane in planes):
            return self.value(plane_array((-1,), planes), domain), "floats"
        words = [self._as_double(plane, domain).words for plane in planes]
        return self.value(plane_array((-1,), [high for high, _ in words] + [low for _, low in words]), domain), "words"

    def _as_double(self, plane: Any, domain: int) -> Double:
        if isinstance(plane, Double):
            return plane
        return Double(self._double(domain, "identity", [self._double_operand(plane_array((1,), [plane]), domain)], False), 0)

    # ---- parts of tensors

    def over(
        self, tensor: Rows, dims: Iterable[int] | None, make: Callable[[Value, int], Value]
    ) -> tuple[list[list], list[int], tuple[int, ...]]:
        """make(value, times) of the planes along `dims`, a group for each position of the others, those that are the
        same once: [planes of the result] of each group, the dimensions in order, the shape with them as the last.
        """
        rank = tensor.planes.ndim
        dims = sorted({dim % rank for dim in dims}) if dims else list(range(rank))
        if tensor.axis in dims:
            raise NotFused("a sum or maximum over all rows")
        moved = np.moveaxis(tensor.planes, dims, range(rank - len(dims), rank))
        groups = [tuple(group) for group in moved.reshape(math.prod(moved.shape[: rank - len(dims)]), -1)]
        keys = [tuple(map(key_of, group)) for group in groups]
        distinct = dict(zip(keys, groups))
        order = _stored_order(plane_array((-1,), [group[0] for group in distinct.values()]))
        if order is not None:
            named = list(distinct.items())
            distinct = dict(named[i] for i in order)
        places = {key: i for i, key in enumerate(distinct)}
        planes = [plane for group in distinct.values() for plane in group]
        value = make(self.value(plane_array((-1,), planes), tensor.domain), len(places))
        width = value.width // len(places)
        made = [[(value, i) for i in range(places[key] * width, (places[key] + 1) * width)] for key in keys]
        return made, dims, moved.shape

    def reduced(self, tensor: Rows, dims: Iterable[int] | None, shape: Sequence[int], axis: int | None, make: Callable) -> Rows:
        """As over(), for functions that give one number of each group; `shape` and `axis` of the result."""
        made, _, _ = self.over(tensor, dims, make)
        if axis is None:
            raise NotFused("a result without rows")
        return Rows(plane_array(shape, [plane for group in made for plane in group]), axis, tensor.domain)

    def spread(self, tensor: Rows, dims: Iterable[int] | None, make: Callable) -> Rows:
        """As over(), for functions that give as many numbers as they take."""
        made, of_groups, shape = self.over(tensor, dims, make)
        rank = tensor.planes.ndim
        planes = plane_array(shape, [plane for group in made for plane in group])
        planes = np.moveaxis(planes, range(rank - len(of_groups), rank), of_groups)
        return Rows(planes, tensor.axis, tensor.domain)

    def layer(self, tensor: Operand, weight: Operand, bias: Operand = None) -> Rows:
        """A linear layer over the last dimension."""
        if not isinstance(tensor, Rows) or isinstance(weight, Rows) or isinstance(bias, Rows):
            raise NotFused("a layer whose weights depend on the inputs")
        if tensor.axis == tensor.planes.ndim - 1:
            raise NotFused("a product over all rows")
        made, _, shape = self.over(tensor, [-1], lambda value, times: self.linear(value, weight, bias, times))
        planes = plane_array((*shape[:-1], weight.shape[0]), [plane for group in made for plane in group])
        return replace(tensor, planes=planes)

    def gathered(self, tensor: Rows, index: Value) -> Rows:
        """The rows of a tensor that an index names."""
        need_rows(tensor)
        parts = self.parts(list(tensor.planes.reshape(-1)), tensor.domain)
        by_source = {
            id(source): self.once(("gather", id(source), id(index)), functools.partial(build.gather, source, index))
            for source in {id(part[0]): part[0] for part in parts}.values()
        }
        items = [(by_source[id(value)], i) for value, start, stop in parts for i in range(start, stop)]
        return Rows(plane_array(tensor.planes.shape, items), tensor.axis, index.domain)

    def ordered(self, tensor: Rows, dim: int, count: int, is_largest: bool) -> tuple[Rows, Rows]:
        """The `count` least (or largest) numbers along a dimension, in order, and their places."""
        if tensor.is_integer and not self.is_small(tensor):
            raise NotFused("the order of integers that float32 may not hold")

        def order(value: Value, times: int) -> Value:
            key = ("order", id(value), times, count, is_largest)
            return self.once(key, lambda: build.order(value, count, is_largest, times))

        makers = (lambda value, times: build.take(value, order(value, times), 1, times), order)
        return self._chosen(tensor, dim, makers[0]), self._chosen(tensor, dim, makers[1])

    def _chosen(self, tensor: Rows, dim: int, make: Callable[[Value, int], Value]) -> Rows:
        """As spread(), for a function that gives fewer numbers along one dimension."""
        made, (dim,), shape = self.over(tensor, [dim], make)
        planes = plane_array((*shape[:-1], -1), [plane for group in made for plane in group])
        return replace(tensor, planes=np.moveaxis(planes, -1, dim))

    def taken(self, tensor: Operand, dim: int, places: Rows) -> Rows:
        """Of a tensor, or an array, the elements of a dimension at `places`, a tensor with as many dimensions, which has the
        same ones along others, or fewer. Dimensions along which the places do not change are taken together.
        """
        need_rows(tensor, places)
        dim %= places.planes.ndim
        if dim == places.axis or (isinstance(tensor, Rows) and (tensor.axis, tensor.domain) != (places.axis, places.domain)):
            raise NotFused("elements taken by an index of other rows")
        named = places.planes
        array = tensor.planes if isinstance(tensor, Rows) else plane_array(*numbers_of(tensor))
        array = array[tuple(slice(None) if i == dim else slice(size) for i, size in enumerate(named.shape))]
        others = [i for i in range(named.ndim) if i != dim]
        keys = np.frompyfunc(key_of, 1, 1)(named)
        inner = [i for i in others if named.shape[i] > 1 and (keys == keys.take([0], axis=i)).all()]
        outer = [i for i in others if i not in inner]
        order = [*outer, dim, *inner]
        times, count = math.prod(named.shape[i] for i in outer), named.shape[dim]
        x = self.value(array.transpose(order), places.domain)
        at = self.value(named.transpose(order).reshape(times * count, -1)[:, 0], places.domain)
        value = build.take(x, at, math.prod(named.shape[i] for i in inner), times)
        shape = [*(named.shape[i] for i in outer), count, *(named.shape[i] for i in inner)]
        planes = plane_array(shape, [(value, i) for i in range(value.width)]).transpose(np.argsort(order))
        return Rows(planes, places.axis, places.domain)

    def looked_up(self, table: Any, tensor: Rows) -> Rows:
        """Rows of a constant table, for each number of the tensor."""
        need_rows(tensor)
        if not tensor.are_columns:
            return self._looked_up_inside(table, tensor)
        items = []
        for plane in tensor.planes.reshape(-1):
            index = self.index(replace(tensor, planes=plane_array((1,), [plane])))
            key = ("lookup", id(table), id(index))
            value = self.once(key, functools.partial(build.lookup, index, np.asarray(table)))
            items += [(value, i) for i in range(value.width)]
        return Rows(plane_array((*tensor.planes.shape, table.shape[1]), items), tensor.axis, tensor.domain)

    def _looked_up_inside(self, table: Any, tensor: Rows) -> Rows:
        """As looked_up(), by numbers that are computed: the table is a part of the row."""
        if table.shape[0] * table.shape[1] > MOST_INSIDE:
            raise NotFused(f"rows of a table of {table.shape[0]} x {table.shape[1]} by a computed index")
        x = self.value(plane_array((-1,), numbers_of(table)[1]), tensor.domain)
        value = build.take(x, self.value(tensor.planes, tensor.domain), table.shape[1])
        planes = plane_array((*tensor.planes.shape, table.shape[1]), [(value, i) for i in range(value.width)])
        return Rows(planes, tensor.axis, tensor.domain)

    def scattered(
        self,
        base: Operand,
        index: Value,
        source: Operand,
        shape: Sequence[int],
        axis: int | None,
        domain: int | None,
        name: str = "sum",
    ) -> Rows:
        """The function `name` of REDUCTIONS of base, a tensor [shape] of `domain` with rows at `axis`, and of the rows of
        `source` at `index`.
        """
        if axis is None or domain is None:
            raise NotFused("a sum into something without rows")
        if index.op == "row":
            raise NotFused("rows reduced by an index that is computed")
        need_rows(base, source)
        if shape[axis] != 1:
            raise NotFused("rows and elements in one dimension")
        if not isinstance(source, Rows):
            source = self.filled(source, shape, axis, index.domain)
        missing = len(shape) - source.planes.ndim
        if missing > 0:
            source = replace(source, planes=source.planes[(None,) * missing], axis=source.axis + missing)
        if source.axis != axis or source.domain != index.domain:
            raise NotFused("a sum whose rows are not those of its index")
        planes = np.broadcast_to(source.planes, shape)
        value = build.scatter(self.value(planes, index.domain), index, domain, name)
        total = self.rows(shape, axis, value)
        numbers = base.planes.reshape(-1) if isinstance(base, Rows) else numbers_of(base)[1]
        if all(_is(number, REDUCTIONS[name].start) for number in numbers):
            return total
        return self.function({"sum": "add", "amax": "maximum", "amin": "minimum"}[name], base, total)

    # ---- what float32 holds

    def largest(self, rows: Rows) -> float:
        """The largest absolute value that the tensor can have; inf where it is not known."""
        parts = self.parts(rows.planes.reshape(-1), rows.domain)
        return max((self.bound(value) for value, _, _ in parts), default=0.0)

    def is_within(self, rows: Rows, low: float, high: float) -> bool:
        """Whether all numbers of the tensor lie between two."""
        planes = [plane.words[0] if isinstance(plane, Double) else plane for plane in rows.planes.reshape(-1)]
        ends = [self.bound.interval(value) for value, _, _ in self.parts(planes, rows.domain)]
        return all(low <= least and largest <= high for least, largest in ends)

    def is_small(self, arg: Operand) -> bool:
        """Whether all numbers are integers (or truth values) that float32 holds."""
        if isinstance(arg, Pairs):
            return arg.dtype.is_bool
        if not isinstance(arg, Rows):
            return all(isinstance(number, int) and abs(number) < EXACT for number in numbers_of(arg)[1])
        return arg.dtype.is_bool or (arg.is_integer and self.largest(arg) < EXACT)


def _stored_order(planes: np.ndarray) -> np.ndarray | None:
    """In which order planes are numbers of one value, each another one; None of all else. What is made of them follows it,
    so that a tensor whose dimensions were permuted is not put in another order.
    """
    if not all(isinstance(plane, tuple) and plane[0] is planes[0][0] for plane in planes):
        return None
    places = [plane[1] for plane in planes]
    return np.argsort(places) if len(set(places)) == len(places) else None


def _of(plane: InputPlane) -> tuple:
    """What planes of one input have in common."""
    return plane.block, plane.dtype, plane.steps


def _is(plane: Any, number: float) -> bool:
    return isinstance(plane, (int, float)) and plane == number
