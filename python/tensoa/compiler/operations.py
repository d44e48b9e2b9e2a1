# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The operations: the attributes of each, the rule that verifies its arguments and gives dtype and shape, and what it means, in
NumPy: slow, with no choice of how.

Numbers of float16 and bfloat16 are in float32. Sums and products of floats are made in float64 and rounded once.
"""

import hashlib
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from tensoa.compiler.functions import BOOLS, FUNCTIONS, INTEGERS, JOININGS, Array, kind_of, start_of
from tensoa.compiler.tensors import BlockSize, Evaluation, Op, Shape, Size, Tensor, need
from tensoa.dtypes import BOOL, DTYPES, DType

INT32 = DTYPES["int32"]


class Affine(NamedTuple):
    """offset + the sum of coefficient * coordinate of an axis of the result."""

    offset: int
    terms: tuple[tuple[int, int], ...]  # (axis, coefficient other than 0), by axis

    def describe(self) -> str:
        parts = [f"{'' if factor == 1 else factor}i{axis}" for axis, factor in self.terms]
        return "+".join([*parts, *([str(self.offset)] if self.offset or not parts else [])])


Index = tuple[Affine, ...]


def affine(offset: int, *terms: tuple[int, int]) -> Affine:
    return Affine(offset, tuple(sorted(term for term in terms if term[1])))


def axis(number: int) -> Affine:
    """The coordinate of an axis itself."""
    return Affine(0, ((number, 1),))


def _need_inside(size: Size, one: Affine, shape: Shape, place: int) -> None:
    """An index of one axis stays inside of it; rows are only read by the same row."""
    used = [shape[number] for number, _ in one.terms]
    if isinstance(size, str):
        need(one.offset == 0 and [factor for _, factor in one.terms] == [1] and used == [size],
             f"index i of axis {place} of {size} rows to be a coordinate of {size}, got {one.describe()}")  # fmt: skip
        return
    least = most = one.offset
    for number, factor in one.terms:
        other = shape[number]
        if isinstance(other, str):
            need(False, f"no row number in the index of axis {place}, got {one.describe()}")
        else:
            least, most = least + min(0, factor * (other - 1)), most + max(0, factor * (other - 1))
    need(least >= 0 and most < size, f"index {one.describe()} of axis {place} inside of 0..{size - 1}, got {least}..{most}")


@dataclass(frozen=True)
class Column(Op):
    """Planes of an input block: element i of a row, row-major, lies in plane planes[i]. Without rows: its first row."""

    name: ClassVar[str] = "column"
    block: int
    planes: tuple[int, ...]
    dtype: DType
    shape: Shape

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        need(not args, "no argument")
        need(bool(self.shape) and all(isinstance(n, int) for n in self.shape[1:]), "rows, then fixed sizes, or these alone")
        size = math.prod(n for n in self.shape if isinstance(n, int))
        need(size == len(self.planes), f"a plane for each of {size} elements, got {len(self.planes)}")
        return self.dtype, self.shape

    def describe(self) -> str:
        first, last = self.planes[0], self.planes[-1]
        is_run = self.planes == tuple(range(first, last + 1))
        return f"block {self.block}, planes {f'{first}..{last}' if is_run else ','.join(map(str, self.planes))}"

    def value(self, tensor: Tensor, args: tuple[Array, ...], given: Evaluation) -> Array:
        found = [given.planes[self.block, plane][: None if tensor.rows else 1] for plane in self.planes]
        return np.stack(found, 1).reshape(given.shape(tensor)).astype(storage(tensor.dtype))


@dataclass(frozen=True)
class Constant(Op):
    """Numbers that are known; bfloat16 and float16 as float32. Equal ones are one."""

    name: ClassVar[str] = "constant"
    dtype: DType
    shape: tuple[int, ...]
    digest: str
    data: Array = field(compare=False, repr=False)

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        need(not args, "no argument")
        return self.dtype, self.shape

    def describe(self) -> str:
        return str(self.data.reshape(-1)[0]) if self.data.size == 1 else self.digest[:8]

    def value(self, tensor: Tensor, args: tuple[Array, ...], given: Evaluation) -> Array:
        return self.data


@dataclass(frozen=True)
class Iota(Op):
    """0, 1, 2, … along one axis."""

    name: ClassVar[str] = "iota"
    size: Size
    dtype: DType

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        need(not args and kind_of(self.dtype) == INTEGERS, "no argument, and integers")
        return self.dtype, (self.size,)

    def value(self, tensor: Tensor, args: tuple[Array, ...], given: Evaluation) -> Array:
        return np.arange(given.shape(tensor)[0]).astype(storage(tensor.dtype))


@dataclass(frozen=True)
class Map(Op):
    """A function of numbers in every place."""

    name: ClassVar[str] = "map"
    fn: str

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        function = FUNCTIONS.get(self.fn)
        need(function is not None and len(args) == function.arity, "a known function with this number of arguments")
        assert function is not None
        need(len({arg.shape for arg in args}) == 1, "arguments of one shape")
        values = args[1:] if self.fn == "where" else args
        need(self.fn != "where" or args[0].dtype == BOOL, "a condition of truth values")
        need(len({arg.dtype for arg in values}) == 1, "arguments of one dtype")
        dtype = values[0].dtype
        need(kind_of(dtype) in function.takes, f"{' or '.join(function.takes)}")
        return BOOL if function.is_truth else dtype, args[0].shape

    def describe(self) -> str:
        return self.fn

    def value(self, tensor: Tensor, args: tuple[Array, ...], given: Evaluation) -> Array:
        return np.asarray(FUNCTIONS[self.fn].numpy(*args), storage(tensor.dtype))


@dataclass(frozen=True)
class Cast(Op):
    """Another dtype: floats are rounded to nearest, or to integers toward zero; integers keep their low bits.

    A float that the integers do not hold gives the least of int32 or int64; narrower integers are made through int32.
    """

    name: ClassVar[str] = "cast"
    dtype: DType

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        need(len(args) == 1, "one argument")
        return self.dtype, args[0].shape

    def value(self, tensor: Tensor, args: tuple[Array, ...], given: Evaluation) -> Array:
        (x,) = args
        return cast_numbers(x, storage(tensor.dtype))


@dataclass(frozen=True)
class Reduce(Op):
    """One number of all along some axes."""

    name: ClassVar[str] = "reduce"
    fn: str
    axes: tuple[int, ...]

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        (x,) = args
        need(self.fn in JOININGS and kind_of(x.dtype) in JOININGS[self.fn].takes, "a joining of that dtype")
        need(list(self.axes) == sorted(set(self.axes)) and bool(self.axes), "axes in order, at least one")
        need(self.axes[0] >= 0 and self.axes[-1] < len(x.shape), "axes of the argument")
        return x.dtype, tuple(size for i, size in enumerate(x.shape) if i not in self.axes)

    def describe(self) -> str:
        return f"{self.fn} {','.join(map(str, self.axes))}"

    def value(self, tensor: Tensor, args: tuple[Array, ...], given: Evaluation) -> Array:
        (x,) = args
        return _joined(self.fn, x, self.axes, start_of(self.fn, tensor.dtype))


@dataclass(frozen=True)
class Contract(Op):
    """The sum of products of two tensors, by labels of axes: "rk", "ok" -> "ro" is a linear layer."""

    name: ClassVar[str] = "contract"
    left: str
    right: str
    out: str

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        x, y = args
        need(x.dtype == y.dtype and kind_of(x.dtype) != BOOLS, "numbers of one dtype")
        need(len(self.left) == len(x.shape) and len(self.right) == len(y.shape), "a label for each axis")
        need(all(len(set(labels)) == len(labels) for labels in (self.left, self.right, self.out)), "labels that differ")
        sizes: dict[str, Size] = {}
        for label, size in zip(self.left + self.right, x.shape + y.shape):
            need(sizes.setdefault(label, size) == size, f"one size of label {label}, got {sizes[label]} and {size}")
        need(set(self.out) <= set(sizes), "labels of the result among those of the arguments")
        need(set(self.left) ^ set(self.right) <= set(self.out), "summed labels that both arguments have")
        return x.dtype, tuple(sizes[label] for label in self.out)

    def describe(self) -> str:
        return f"{self.left},{self.right}->{self.out}"

    def value(self, tensor: Tensor, args: tuple[Array, ...], given: Evaluation) -> Array:
        x, y = args
        letters = {label: chr(97 + i) for i, label in enumerate(dict.fromkeys(self.left + self.right))}
        spec = ",".join("".join(letters[label] for label in labels) for labels in (self.left, self.right))
        spec += "->" + "".join(letters[label] for label in self.out)
        wide = np.dtype(np.float64) if x.dtype.kind == "f" else x.dtype
        return np.asarray(np.einsum(spec, x.astype(wide), y.astype(wide), optimize=False)).astype(x.dtype)


@dataclass(frozen=True)
class View(Op):
    """Element `index` of the argument, affine in the coordinates of the result: permute, slice, flip, repeat, split."""

    name: ClassVar[str] = "view"
    shape: Shape
    index: Index

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        (x,) = args
        need(len(self.index) == len(x.shape), f"an index for each of {len(x.shape)} axes, got {len(self.index)}")
        for place, (one, size) in enumerate(zip(self.index, x.shape)):
            _need_inside(size, one, self.shape, place)
        return x.dtype, self.shape

    def describe(self) -> str:
        return ", ".join(one.describe() for one in self.index)

    def value(self, tensor: Tensor, args: tuple[Array, ...], given: Evaluation) -> Array:
        (x,) = args
        shape = given.shape(tensor)
        grid = np.indices(shape, sparse=True)
        index = tuple(_coordinates(one, grid) for one in self.index)
        return np.broadcast_to(x[index] if index else x, shape)


@dataclass(frozen=True)
class Concat(Op):
    """Tensors one behind the other along an axis."""

    name: ClassVar[str] = "concat"
    is_together: ClassVar[bool] = True
    axis: int

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        need(len({arg.dtype for arg in args}) == 1, "parts of one dtype")
        need(0 <= self.axis < len(args[0].shape), "an axis of the parts")
        rest = {(arg.shape[: self.axis], arg.shape[self.axis + 1 :]) for arg in args}
        need(len(rest) == 1, "parts that differ in the size of one axis at most")
        total = 0
        for arg in args:
            size = arg.shape[self.axis]
            need(isinstance(size, int), "an axis of fixed size")
            total += size if isinstance(size, int) else 0
        return args[0].dtype, (*args[0].shape[: self.axis], total, *args[0].shape[self.axis + 1 :])

    def describe(self) -> str:
        return f"axis {self.axis}"

    def value(self, tensor: Tensor, args: tuple[Array, ...], given: Evaluation) -> Array:
        return np.concatenate(args, self.axis)


@dataclass(frozen=True)
class Lookup(Op):
    """Finds each element of the result in elements of the first argument along one axis, by a number of the second one, which
    has the shape of the result. `index`: of the axes of the first argument, affine in the coordinates of the result; None for
    that axis.
    """

    index: tuple[Affine | None, ...]

    @property
    def axis(self) -> int:
        return self.index.index(None)

    @property
    @abstractmethod
    def kernel(self) -> str:
        """The function of the kernels of all targets that finds one."""

    def need_inside(self, x: Tensor, shape: Shape) -> None:
        """The rule of the index."""
        need(len(self.index) == len(x.shape) and self.index.count(None) == 1, "an index for each axis but one")
        for place, (one, size) in enumerate(zip(self.index, x.shape)):
            if one is not None:
                _need_inside(size, one, shape, place)

    def describe(self) -> str:
        return ", ".join("place" if one is None else one.describe() for one in self.index)

    def at(self, places: Array) -> tuple[Array | int, ...]:
        """The index in NumPy of elements at places of the axis."""
        grid = np.indices(places.shape, sparse=True)
        return tuple(places if one is None else _coordinates(one, grid) for one in self.index)


@dataclass(frozen=True)
class Gather(Lookup):
    """The element of a place, an integer. A place outside of the axis reads NaN, of integers and truth values 0."""

    name: ClassVar[str] = "gather"
    kernel: ClassVar[str] = "gather_of"

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        x, places = args
        need(kind_of(places.dtype) == INTEGERS, "places that are integers")
        self.need_inside(x, places.shape)
        return x.dtype, places.shape

    def value(self, tensor: Tensor, args: tuple[Array, ...], given: Evaluation) -> Array:
        x, places = args
        size = x.shape[self.axis]
        otherwise = np.asarray(np.nan if x.dtype.kind == "f" else 0).astype(x.dtype)
        if size == 0:
            return np.full(places.shape, otherwise)
        is_inside = (places >= 0) & (places < size)
        return np.where(is_inside, x[self.at(np.where(is_inside, places, 0).astype(np.int64))], otherwise)


@dataclass(frozen=True)
class Search(Lookup):
    """Where a binary search for the number ends (int32): before the first element that is not below it, or, where `is_right`,
    that is above it. Among elements in disorder, and next to NaN, where the steps lead that torch takes.
    """

    name: ClassVar[str] = "search"
    is_right: bool

    @property
    def kernel(self) -> str:
        return "upper_bound_of" if self.is_right else "lower_bound_of"

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        x, numbers = args
        need(x.dtype == numbers.dtype and kind_of(x.dtype) != BOOLS, "numbers of one dtype")
        self.need_inside(x, numbers.shape)
        need(isinstance(x.shape[self.axis], int), "an axis of fixed size")
        return INT32, numbers.shape

    def describe(self) -> str:
        return f"{super().describe()}{', right' if self.is_right else ''}"

    def value(self, tensor: Tensor, args: tuple[Array, ...], given: Evaluation) -> Array:
        x, numbers = args
        size = x.shape[self.axis]
        first, last = (np.full(numbers.shape, end, np.int32) for end in (0, size))
        for _ in range(size.bit_length()):
            middle, is_open = first + last >> 1, first < last
            other = x[self.at(np.minimum(middle, size - 1))]
            is_below = ~(other > numbers if self.is_right else other >= numbers)
            first, last = np.where(is_open & is_below, middle + 1, first), np.where(is_open & ~is_below, middle, last)
        return first


@dataclass(frozen=True)
class Scatter(Op):
    """Joins the elements of the argument along an axis by places of the same shape; `size` of them in the result.

    A place outside of the result joins nothing; an element that nothing is joined to is start_of(fn).
    """

    name: ClassVar[str] = "scatter"
    is_together: ClassVar[bool] = True
    fn: str
    axis: int
    size: Size

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        x, places = args
        need(kind_of(places.dtype) == INTEGERS and places.shape == x.shape, "integers, a place for each element")
        need(self.fn in JOININGS and kind_of(x.dtype) in JOININGS[self.fn].takes, "a joining of that dtype")
        need(0 <= self.axis < len(x.shape), "an axis of the argument")
        return x.dtype, (*x.shape[: self.axis], self.size, *x.shape[self.axis + 1 :])

    def describe(self) -> str:
        return f"{self.fn}, axis {self.axis}"

    def value(self, tensor: Tensor, args: tuple[Array, ...], given: Evaluation) -> Array:
        x, places = args
        wide = _wide(self.fn, x)
        result = np.full(given.shape(tensor), start_of(self.fn, tensor.dtype), wide.dtype)
        is_inside = (places >= 0) & (places < result.shape[self.axis])
        index = list(np.nonzero(is_inside))
        index[self.axis] = places[is_inside].astype(np.int64)
        JOININGS[self.fn].numpy.at(result, tuple(index), wide[is_inside])
        return result.astype(x.dtype)


@dataclass(frozen=True)
class Sort(Op):
    """The places (int32) of the k least along an axis, or largest, in order; the first of equal ones first.

    NaN is larger than all numbers. Where there are less than k rows, the last places are -1.
    """

    name: ClassVar[str] = "sort"
    is_together: ClassVar[bool] = True
    axis: int
    k: int
    is_largest: bool

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        (x,) = args
        need(0 <= self.axis < len(x.shape), "an axis of the argument")
        size = x.shape[self.axis]
        need(isinstance(size, (str, BlockSize)) or self.k <= size, f"at most {size} places, got {self.k}")
        return INT32, (*x.shape[: self.axis], self.k, *x.shape[self.axis + 1 :])

    def describe(self) -> str:
        return f"axis {self.axis}, {self.k} {'largest' if self.is_largest else 'least'}"

    def value(self, tensor: Tensor, args: tuple[Array, ...], given: Evaluation) -> Array:
        (x,) = args
        # Equal numbers have one rank, so that the first of them comes first in both directions.
        rank = (
            np.apply_along_axis(lambda line: np.searchsorted(np.sort(line), line), self.axis, x)
            if x.size
            else x.astype(np.int64)
        )
        order = np.argsort(-rank if self.is_largest else rank, axis=self.axis, kind="stable")
        taken = np.take(order, np.arange(min(self.k, x.shape[self.axis])), self.axis).astype(np.int32)
        missing = [(0, self.k - taken.shape[i] if i == self.axis else 0) for i in range(x.ndim)]
        return np.pad(taken, missing, constant_values=-1)


@dataclass(frozen=True)
class Scan(Op):
    """All joinings of the first 1, 2, 3, … along an axis."""

    name: ClassVar[str] = "scan"
    is_together: ClassVar[bool] = True
    fn: str
    axis: int

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        (x,) = args
        need(self.fn in JOININGS and kind_of(x.dtype) in JOININGS[self.fn].takes, "a joining of that dtype")
        need(0 <= self.axis < len(x.shape), "an axis of the argument")
        return x.dtype, x.shape

    def describe(self) -> str:
        return f"{self.fn}, axis {self.axis}"

    def value(self, tensor: Tensor, args: tuple[Array, ...], given: Evaluation) -> Array:
        (x,) = args
        wide = _wide(self.fn, x)
        return np.asarray(JOININGS[self.fn].numpy.accumulate(wide, axis=self.axis, dtype=wide.dtype)).astype(x.dtype)


def digest_of(dtype: DType, data: Array) -> str:
    return hashlib.sha256(data.tobytes() + f"{dtype.name}{data.shape}".encode()).hexdigest()


def storage(dtype: DType) -> np.dtype[np.generic]:
    """The dtype of NumPy arrays for numbers of a dtype: float32 for the short floats."""
    return np.dtype("float32" if dtype.name in ("float16", "bfloat16") else dtype.name)


def same_but(index: Sequence[Affine], place: int, one: Affine) -> Index:
    return (*index[:place], one, *index[place + 1 :])


def is_constant(tensor: Tensor) -> bool:
    """Or a view of one."""
    return isinstance(tensor.op, Constant) or (isinstance(tensor.op, View) and is_constant(tensor.args[0]))


# ---- numbers of what operations mean


def cast_numbers(x: Array, to: np.dtype[np.generic]) -> Array:
    """An array of another dtype, as Cast says."""
    if x.dtype.kind != "f" or to.kind not in "iu":
        return (x != 0) if to.kind == "b" else x.astype(to)
    through = to if to.itemsize == 8 else np.dtype(np.int32)
    limit = 2.0 ** (8 * through.itemsize - 1)
    least = -(1 << 8 * through.itemsize - 1)
    is_inside = (x >= -limit) & (x < limit)
    return np.where(is_inside, np.where(is_inside, x, 0).astype(through), np.asarray(least, through)).astype(to)


def _wide(fn: str, x: Array) -> Array:
    """Sums and the like of floats are made in float64."""
    return x if x.dtype.kind != "f" or JOININGS[fn].is_choice else x.astype(np.float64)


def _joined(fn: str, x: Array, axes: tuple[int, ...], start: float) -> Array:
    wide = _wide(fn, x)
    first = np.asarray(start).astype(wide.dtype)
    return np.asarray(JOININGS[fn].numpy.reduce(wide, axis=axes, initial=first, dtype=wide.dtype)).astype(x.dtype)


def _coordinates(one: Affine, grid: Sequence[Array]) -> Array | int:
    return one.offset + sum((factor * grid[number] for number, factor in one.terms), np.asarray(0))
