# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Streams: what is made of all rows of a collection, a block of rows at a time, so that pairs of rows never have memory.

A number for each pair of rows has two axes of rows. A sum, a product or an order along one of them is a *stream*: it belongs to
the rows of the other axis, its *own* rows, and reads the rows that it joins, the *keys*, block after block. In a block the axis
of the keys has a size (BlockSize), so that what is calculated for pairs is scheduled and printed as all else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tensoa.compiler import build
from tensoa.compiler import operations as ops
from tensoa.compiler.errors import NotFused
from tensoa.compiler.operations import Affine, axis
from tensoa.compiler.passes import Softmax, as_softmax, is_row_gather, joined_rows
from tensoa.compiler.program import rebuilt
from tensoa.compiler.schedule.addresses import base_of
from tensoa.compiler.tensors import BlockSize, Op, Shape, Tensor, in_order, make, need
from tensoa.dtypes import DType

MOST_KEPT = 64  # rows that an order along rows keeps


@dataclass(frozen=True)
class Keys(Op):
    """A block of the rows of the argument."""

    name: ClassVar[str] = "keys"
    size: BlockSize

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        (x,) = args
        need(len(x.rows) == 1, "one axis of rows")
        return x.dtype, tuple(self.size if isinstance(size, str) else size for size in x.shape)


def are_rows(keys: Tensor) -> bool:
    """Whether keys lie in memory of rows; the numbers of rows do not."""
    return isinstance(keys.op, Keys) and not isinstance(keys.args[0].op, ops.Iota)


@dataclass(frozen=True)
class Previous(Op):
    """The result of a stream before this block."""

    name: ClassVar[str] = "previous"

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        (x,) = args
        return x.dtype, x.shape


def is_pair(tensor: Tensor) -> bool:
    return len(tensor.rows) > 1


def is_stream(tensor: Tensor) -> bool:
    """Whether it is made of all rows of a collection, in blocks."""
    return bool(joined_rows(tensor)) and not is_pair(tensor)


def symbol_of_keys(tensor: Tensor) -> str:
    """The rows that a stream joins."""
    (place,) = joined_rows(tensor)
    return str(tensor.args[0].shape[place])


Axes = frozenset[int]


class Blocks:
    """Values of pairs as values of the own row and a block of keys.

    `own`, `far`: what is read of the own row, and of other rows. `instead`: what is read instead of values of the own row.
    """

    def __init__(self, size: BlockSize, instead: dict[Tensor, Tensor] | None = None) -> None:
        self.size, self.instead = size, instead or {}
        self.own: dict[Tensor, None] = {}
        self.far: dict[Tensor, None] = {}
        self.done: dict[tuple[Tensor, Axes], Tensor] = {}

    def result(self, stream: Tensor) -> Tensor:
        """A stream, of one block."""
        op, keys = stream.op, frozenset(joined_rows(stream))
        if isinstance(op, ops.Contract):
            labels = {op.left[place] for place in keys}
            return rebuilt(
                stream, tuple(self.of(x, _labelled(one, labels)) for x, one in zip(stream.args, (op.left, op.right)))
            )
        if isinstance(op, ops.Scan):
            raise NotFused(f"running sums of all rows ({stream!r})")
        if isinstance(op, ops.Sort) and op.k > MOST_KEPT:
            raise NotFused(f"the order of {op.k} rows among all, at most {MOST_KEPT} are kept in order ({stream!r})")
        return rebuilt(stream, (self.of(stream.args[0], keys),))

    def of(self, tensor: Tensor, keys: Axes) -> Tensor:
        """`keys`: the axes of rows that are in the block; the others are those of the own row."""
        found = self.done.get((tensor, keys))
        if found is None:
            found = self.done[tensor, keys] = self.made(tensor, keys) if keys else self.leaf(tensor)
        return found

    def leaf(self, tensor: Tensor) -> Tensor:
        """A value of the own row, or of no row."""
        base = base_of(tensor)
        if is_pair(base):
            raise NotFused(f"the diagonal of pairs of rows ({base!r})")
        if not isinstance(base.op, (ops.Constant, ops.Iota)):
            self.own.setdefault(base)
        found = self.instead.get(base)
        if found is None:
            return tensor
        return build.view(found, tensor.shape, tensor.op.index) if isinstance(tensor.op, ops.View) else found

    def made(self, tensor: Tensor, keys: Axes) -> Tensor:
        if len(tensor.rows) > 2:
            raise NotFused(f"values of more than two rows ({tensor!r})")
        op, args = tensor.op, tensor.args
        if isinstance(op, ops.View):
            x = self.of(tensor.args[0], self.through(op.index, tensor.args[0], keys))
            return build.view(x, self.shape(tensor.shape, keys), op.index)
        if not is_pair(tensor):
            self.far.setdefault(tensor)
            return make(Keys(self.size), tensor)
        if joined_rows(tensor) or (isinstance(op, ops.Scatter) and isinstance(tensor.args[0].shape[op.axis], str)):
            raise NotFused(f"what joins rows for each pair of rows ({tensor!r})")
        if isinstance(op, ops.Contract):
            labels = {op.out[place] for place in keys}
            args = tuple(self.of(x, _labelled(one, labels)) for x, one in zip(args, (op.left, op.right)))
        elif isinstance(op, ops.Lookup):
            args = (self.looked_up(tensor, op, keys), self.of(tensor.args[1], keys))
        else:
            args = tuple(self.of(x, self.of_argument(tensor, keys)) for x in args)
        return rebuilt(tensor, args)

    @staticmethod
    def of_argument(tensor: Tensor, keys: Axes) -> Axes:
        """The same axes in the arguments, of which a reduction has more."""
        if not isinstance(tensor.op, ops.Reduce):
            return keys
        left = [i for i in range(len(tensor.args[0].shape)) if i not in tensor.op.axes]
        return frozenset(left[i] for i in keys)

    def looked_up(self, tensor: Tensor, op: ops.Lookup, keys: Axes) -> Tensor:
        """The tensor that elements are looked up in: of any row, or of the own row and the block."""
        x = tensor.args[0]
        if not is_row_gather(tensor):
            return self.of(x, self.through(op.index, x, keys))
        if is_pair(x):
            raise NotFused(f"numbers of pairs of rows at places ({tensor!r})")
        self.far.setdefault(base_of(x))
        return x

    def through(self, index: Sequence[Affine | None], x: Tensor, keys: Axes) -> Axes:
        """The axes of an argument whose index is a coordinate in the block."""
        rows = [i for i, size in enumerate(x.shape) if isinstance(size, str) and index[i] is not None]
        numbers = [one.terms[0][0] for i in rows if (one := index[i]) is not None]
        if len(set(numbers)) < len(numbers):
            raise NotFused(f"the diagonal of pairs of rows ({x!r})")
        return frozenset(i for i, number in zip(rows, numbers) if number in keys)

    def shape(self, shape: Shape, keys: Axes) -> Shape:
        return tuple(self.size if i in keys else size for i, size in enumerate(shape))


def _labelled(labels: str, wanted: set[str]) -> Axes:
    return frozenset(i for i, label in enumerate(labels) if label in wanted)


def leaves_of(stream: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The values that a stream reads from its own row, and from other rows. Raises NotFused where no stream is possible."""
    blocks = Blocks(BlockSize(MOST_KEPT))
    blocks.result(stream)
    return tuple(blocks.own), tuple(blocks.far)


# ---- softmax in one pass


@dataclass(frozen=True)
class Online:
    """A sum over keys of weights exp(scores - largest), made in the pass that finds the largest: what there is so far is
    multiplied by exp(previous largest - largest) at each block (Milakov and Gimelshein, 2018).

    `places`: the axis of the result that each axis of `largest` is.
    """

    softmax: Softmax
    places: tuple[int, ...]


def online(stream: Tensor) -> Online | None:
    """Assumes, and checks: it is a sum, or a sum of products, in which the weight is a factor as it is; the largest is that of
    the same scores along the same rows; all elements of a sum have the same one; nothing else in the sum depends on it.
    """
    op = stream.op
    if isinstance(op, ops.Reduce) and op.fn == "sum":
        left = [i for i in range(len(stream.args[0].shape)) if i not in op.axes]
        places: list[dict[int, int]] = [{number: i for i, number in enumerate(left)}]
    elif isinstance(op, ops.Contract):
        places = [{i: op.out.index(one) for i, one in enumerate(labels) if one in op.out} for labels in (op.left, op.right)]
    else:
        return None
    for weight, to in zip(stream.args, places):
        soft, others = as_softmax(weight), [arg for arg in stream.args if arg is not weight]
        if soft is None or not isinstance(weight.op, ops.Map) or weight.op.fn != "exp":
            continue
        if len(stream.args) != len(others) + 1 or any(soft.largest in in_order(other) for other in others):
            continue
        along = [i for i, size in enumerate(weight.shape) if isinstance(size, str) and i not in to]
        if along == joined_rows(soft.largest) and set(soft.kept) <= set(to) and not is_pair(soft.largest):
            return Online(soft, tuple(to[i] for i in soft.kept))
    return None


@dataclass(frozen=True)
class Rescaling:
    """Of a sum that is made online: in a block the largest so far is `reference` (0 for -infinity), and what there was before
    is multiplied by `factor`.
    """

    previous: Tensor
    reference: Tensor
    factor: Tensor


def rescaling(softmax: Softmax) -> Rescaling:
    largest = softmax.largest
    previous = make(Previous(), largest)
    is_low = build.apply("eq", largest, build.filled(float("-inf"), largest.dtype, largest.shape))
    reference = build.apply("where", is_low, build.filled(0, largest.dtype, largest.shape), largest)
    return Rescaling(previous, reference, build.apply("exp", build.apply("sub", previous, reference)))


def factor_of(stream: Tensor, found: Online, scale: Rescaling) -> Tensor:
    """In the shape of the result of a stream."""
    return build.view(scale.factor, stream.shape, [axis(place) for place in found.places])
