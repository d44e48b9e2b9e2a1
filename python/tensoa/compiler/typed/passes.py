# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Passes on typed tensors: what every target needs, and the same function with less work. Each is a rule on one tensor."""

import math
from collections.abc import Callable

from tensoa.compiler.typed import build, interpret
from tensoa.compiler.typed import operations as ops
from tensoa.compiler.typed.operations import Affine, axis
from tensoa.compiler.typed.program import Program, rebuilt, transformed
from tensoa.compiler.typed.tensors import Tensor
from tensoa.dtypes import DTYPES, INT64

Rule = Callable[[Tensor], Tensor | None]

#: What targets calculate in; numbers of the dtype itself are only stored.
WIDE = {
    **{DTYPES[name]: DTYPES["float32"] for name in ("float16", "bfloat16")},
    **{DTYPES[name]: DTYPES["int32"] for name in ("int8", "int16", "uint8")},
}
_MOST_FOLDED = 1 << 22  # elements of a constant


def _calculates(tensor: Tensor) -> bool:
    """Whether it makes numbers that its arguments have not."""
    if isinstance(tensor.op, (ops.Reduce, ops.Scatter, ops.Scan)):
        return tensor.op.fn in ("sum", "prod")
    return isinstance(tensor.op, (ops.Map, ops.Contract))


def widen(tensor: Tensor) -> Tensor | None:
    """Short dtypes are calculated with as wide ones, and rounded after each operation."""
    if not _calculates(tensor) or not any(arg.dtype in WIDE for arg in tensor.args):
        return None
    is_placed = isinstance(tensor.op, ops.Scatter)
    args = tuple(
        arg if is_placed and i else build.cast(arg, WIDE.get(arg.dtype, arg.dtype)) for i, arg in enumerate(tensor.args)
    )
    if args == tensor.args:
        return None
    return build.cast(rebuilt(tensor, args), tensor.dtype)


def fold(tensor: Tensor) -> Tensor | None:
    """What is calculated from constants alone is a constant."""
    if isinstance(tensor.op, (ops.Constant, ops.View)) or not tensor.args or tensor.rows:
        return None
    bases = [arg.args[0] if isinstance(arg.op, ops.View) else arg for arg in tensor.args]
    if not all(isinstance(base.op, (ops.Constant, ops.Iota)) and not base.rows for base in bases):
        return None
    if any(arg.rows for arg in tensor.args) or math.prod(tensor.inner) > _MOST_FOLDED:
        return None
    return build.constant(interpret.constant_value(tensor), tensor.dtype)


def narrow_places(tensor: Tensor) -> Tensor | None:
    """Places that were int32 before they became int64 are read as such."""
    if not isinstance(tensor.op, (ops.Gather, ops.Scatter)):
        return None
    x, places = tensor.args
    base = places.args[0] if isinstance(places.op, ops.View) else places
    if not isinstance(base.op, ops.Cast) or base.dtype != INT64 or base.args[0].dtype.name != "int32":
        return None
    inner = base.args[0]
    short = build.view(inner, places.op.shape, places.op.index) if isinstance(places.op, ops.View) else inner
    return rebuilt(tensor, (x, short))


def is_row_gather(tensor: Tensor) -> bool:
    """Whether it reads other rows."""
    return isinstance(tensor.op, ops.Gather) and isinstance(tensor.args[0].shape[tensor.op.axis], str)


def products_of_rows(tensor: Tensor) -> Tensor | None:
    """A sum of products over all rows: the products of each row, and their sum."""
    if not isinstance(tensor.op, ops.Contract):
        return None
    op, (x, y) = tensor.op, tensor.args
    summed = [label for label, size in zip(op.left, x.shape) if isinstance(size, str) and label not in op.out]
    if len(summed) != 1:
        return None
    return build.reduce("sum", build.contract(x, y, op.left, op.right, summed[0] + op.out), [0])


def join_rows(tensor: Tensor) -> Tensor | None:
    """A reduction over all rows joins them in one place: a scatter, of which the result has no rows."""
    if not isinstance(tensor.op, ops.Reduce) or len(tensor.args[0].rows) != 1:
        return None
    (x,) = tensor.args
    over = [i for i in tensor.op.axes if isinstance(x.shape[i], str)]
    if not over:
        return None
    inner = [i for i in tensor.op.axes if i not in over]
    x = build.reduce(tensor.op.fn, x, inner)
    place = [i for i, size in enumerate(x.shape) if isinstance(size, str)][0]
    zeros = build.filled(0, DTYPES["int32"], x.shape)
    return build.select(build.scatter(tensor.op.fn, x, zeros, place, 1), place, 0)


def split_products(tensor: Tensor) -> Tensor | None:
    """A layer of elements side by side, some of other rows: the sum of a layer of each part, those of other rows first."""
    if not isinstance(tensor.op, ops.Contract) or not isinstance(tensor.args[0].op, ops.Concat):
        return None
    (x, weight), op = tensor.args, tensor.op
    if not isinstance(x.op, ops.Concat) or not any(map(is_row_gather, x.args)) or not is_constant(weight):
        return None
    label = op.left[x.op.axis]
    if label in op.out:
        return None
    parts, start = [], 0
    for part in x.args:
        size = part.shape[x.op.axis]
        assert isinstance(size, int)
        here = build.part(weight, op.right.index(label), start, size)
        parts.append((part, build.contract(part, here, op.left, op.right, op.out)))
        start += size
    parts.sort(key=lambda pair: not is_row_gather(pair[0]))
    total = parts[0][1]
    for _, product in parts[1:]:
        total = build.apply("add", total, product)
    return total


def is_constant(tensor: Tensor) -> bool:
    return isinstance(tensor.op, ops.Constant) or (isinstance(tensor.op, ops.View) and is_constant(tensor.args[0]))


def layers_at_source(tensor: Tensor) -> Tensor | None:
    """A layer of rows that are gathered is calculated once for each row of the source, and its results are gathered."""
    if not isinstance(tensor.op, ops.Contract) or not is_row_gather(tensor.args[0]) or not is_constant(tensor.args[1]):
        return None
    (gathered, weight), op = tensor.args, tensor.op
    x, places = gathered.args
    index = gathered.op.index if isinstance(gathered.op, ops.Gather) else ()
    if places.op.__class__ is not ops.View or len(x.shape) != 2 or index[0] is not None or op.out[:-1] != op.left[:-1]:
        return None
    if index[1] != axis(len(gathered.shape) - 1) or set(op.right) & set(op.left[:-1]) or not _skips(places, op.left):
        return None
    far = build.contract(x, weight, "R" + op.left[-1], op.right, "R" + op.out[-1])
    last = len(tensor.shape) - 1
    wide = build.view(places.args[0], tensor.shape, _index_of(places))
    return build.gather(far, wide, [None, axis(last)])


def _index_of(places: Tensor) -> tuple[Affine, ...]:
    assert isinstance(places.op, ops.View)
    return places.op.index


def _skips(places: Tensor, left: str) -> bool:
    """Whether the places are the same for all elements of the last axis."""
    return all(number != len(left) - 1 for one in _index_of(places) for number, _ in one.terms)


PASSES: tuple[tuple[str, Rule], ...] = (
    ("fold constants", fold),
    ("narrow places", narrow_places),
    ("products of rows", products_of_rows),
    ("join rows", join_rows),
    ("split products", split_products),
    ("layers at source", layers_at_source),
    ("widen", widen),
    ("fold constants", fold),
)


def simplified(program: Program, after: Callable[[str, Program], None] = lambda name, program: None) -> Program:
    """All passes in their order; `after` is called with the name and the result of each."""
    for name, rule in PASSES:
        program = transformed(program, rule, name)
        after(name, program)
    return program
