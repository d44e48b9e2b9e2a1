# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The operations: the attributes of each, and the rule that verifies its arguments and gives dtype and shape."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from tensoa.compiler.functions import BOOLS, FUNCTIONS, INTEGERS, JOININGS, Array, kind_of
from tensoa.compiler.tensors import BlockSize, Op, Shape, Size, Tensor, need
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


@dataclass(frozen=True)
class Iota(Op):
    """0, 1, 2, … along one axis."""

    name: ClassVar[str] = "iota"
    size: Size
    dtype: DType

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        need(not args and kind_of(self.dtype) == INTEGERS, "no argument, and integers")
        return self.dtype, (self.size,)


@dataclass(frozen=True)
class Map(Op):
    """A function of numbers in every place."""

    name: ClassVar[str] = "map"
    fn: str

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        function = FUNCTIONS.get(self.fn)
        need(function is not None and len(args) == function.arity, "a known function of as many arguments")
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


@dataclass(frozen=True)
class Concat(Op):
    """Tensors one behind the other along an axis."""

    name: ClassVar[str] = "concat"
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


@dataclass(frozen=True)
class Gather(Op):
    """Like a view, but the index of one axis (None) is given by a tensor of integers of the shape of the result.

    A place outside of the axis reads NaN, of integers and truth values 0.
    """

    name: ClassVar[str] = "gather"
    index: tuple[Affine | None, ...]

    @property
    def axis(self) -> int:
        return self.index.index(None)

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        x, places = args
        need(kind_of(places.dtype) == INTEGERS, "places that are integers")
        need(len(self.index) == len(x.shape) and self.index.count(None) == 1, "an index for each axis but one")
        for place, (one, size) in enumerate(zip(self.index, x.shape)):
            if one is not None:
                _need_inside(size, one, places.shape, place)
        return x.dtype, places.shape

    def describe(self) -> str:
        return ", ".join("place" if one is None else one.describe() for one in self.index)


@dataclass(frozen=True)
class Scatter(Op):
    """Joins the elements of the argument along an axis by places of the same shape; `size` of them in the result.

    A place outside of the result joins nothing; an element that nothing is joined to is start_of(fn).
    """

    name: ClassVar[str] = "scatter"
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


@dataclass(frozen=True)
class Sort(Op):
    """The places (int32) of the k least along an axis, or largest, in order; the first of equal ones first.

    NaN is larger than all numbers. Where there are less than k rows, the last places are -1.
    """

    name: ClassVar[str] = "sort"
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


@dataclass(frozen=True)
class Scan(Op):
    """All joinings of the first 1, 2, 3, … along an axis."""

    name: ClassVar[str] = "scan"
    fn: str
    axis: int

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        (x,) = args
        need(self.fn in JOININGS and kind_of(x.dtype) in JOININGS[self.fn].takes, "a joining of that dtype")
        need(0 <= self.axis < len(x.shape), "an axis of the argument")
        return x.dtype, x.shape

    def describe(self) -> str:
        return f"{self.fn}, axis {self.axis}"


def digest_of(dtype: DType, data: Array) -> str:
    return hashlib.sha256(data.tobytes() + f"{dtype.name}{data.shape}".encode()).hexdigest()


def storage(dtype: DType) -> np.dtype[np.generic]:
    """What NumPy arrays have numbers of a dtype in: float32 for the short floats."""
    return np.dtype("float32" if dtype.name in ("float16", "bfloat16") else dtype.name)


def same_but(index: Sequence[Affine], place: int, one: Affine) -> Index:
    return (*index[:place], one, *index[place + 1 :])


def is_constant(tensor: Tensor) -> bool:
    """Or a view of one."""
    return isinstance(tensor.op, Constant) or (isinstance(tensor.op, View) and is_constant(tensor.args[0]))
