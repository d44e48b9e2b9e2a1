# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Passes on typed tensors: what every target needs, and the same function with less work. Each is a rule on one tensor."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tensoa.compiler import build, interpret
from tensoa.compiler import operations as ops
from tensoa.compiler.functions import JOININGS
from tensoa.compiler.layer_weights import centred_layers, scaled_inputs
from tensoa.compiler.operations import Affine, affine, axis, is_constant
from tensoa.compiler.program import Program, rebuilt, transformed
from tensoa.compiler.tensors import Shape, Tensor
from tensoa.dtypes import DTYPES, INT64

Rule = Callable[[Tensor], Tensor | None]

#: The dtypes that targets calculate in; numbers of the dtype itself are only stored.
WIDE = {
    **{DTYPES[name]: DTYPES["float32"] for name in ("float16", "bfloat16")},
    **{DTYPES[name]: DTYPES["int32"] for name in ("int8", "int16", "uint8")},
}
_MOST_FOLDED = 1 << 22  # elements of a constant


def _calculates(tensor: Tensor) -> bool:
    """Whether it makes numbers that its arguments have not."""
    if isinstance(tensor.op, (ops.Reduce, ops.Scatter, ops.Scan)):
        return not JOININGS[tensor.op.fn].is_choice
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
    """A value that is calculated from constants alone is a constant."""
    if isinstance(tensor.op, (ops.Constant, ops.View)) or not tensor.args or tensor.rows:
        return None
    bases = [arg.args[0] if isinstance(arg.op, ops.View) else arg for arg in tensor.args]
    if not all(isinstance(base.op, (ops.Constant, ops.Iota)) and not base.rows for base in bases):
        return None
    if any(arg.rows for arg in tensor.args) or math.prod(tensor.inner) > _MOST_FOLDED:
        return None
    return build.constant(interpret.constant_value(tensor), tensor.dtype)


def exact_reciprocal(tensor: Tensor) -> Tensor | None:
    """A quotient by a power of two is the product with its reciprocal, which has the same bits."""
    if not _is_map(tensor, "div") or not tensor.dtype.is_float or not is_constant(tensor.args[1]):
        return None
    x, y = tensor.args
    base = y.args[0] if isinstance(y.op, ops.View) else y
    assert isinstance(base.op, ops.Constant)
    mantissa, exponent = np.frexp(base.op.data.astype(np.float64))
    if not np.all((np.abs(mantissa) == 0.5) & (np.abs(exponent) <= 10)):
        return None
    reciprocal = build.constant(1 / base.op.data, tensor.dtype)
    return build.apply("mul", x, build.view(reciprocal, y.shape, y.op.index) if isinstance(y.op, ops.View) else reciprocal)


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


def is_selection(tensor: Tensor) -> bool:
    """Whether it has the numbers that an order along rows found; they are made with the order."""
    if not isinstance(tensor.op, ops.Gather) or not isinstance(tensor.args[1].op, ops.Sort):
        return False
    (x, places), order = tensor.args, tensor.args[1].op
    if x is not places.args[0] or not isinstance(x.shape[order.axis], str):
        return False
    index = tuple(None if i == order.axis else axis(i) for i in range(len(x.shape)))
    return _same_but_ones(tensor.op.index, index, places.shape)


def _same_but_ones(index: Sequence[Affine | None], other: Sequence[Affine | None], shape: Shape) -> bool:
    """Whether two indices are the same; the coordinate of an axis of size 1 may be left out."""
    return all(one == two or (one == Affine(0, ()) and shape[i] == 1) for i, (one, two) in enumerate(zip(index, other)))


def is_row_gather(tensor: Tensor) -> bool:
    """Whether it reads other rows, at places."""
    is_far = isinstance(tensor.op, ops.Gather) and isinstance(tensor.args[0].shape[tensor.op.axis], str)
    return is_far and not is_selection(tensor)


def joined_rows(tensor: Tensor) -> list[int]:
    """The axes of rows of the first argument that a sum, a product or an order goes along."""
    op, rows = tensor.op, [i for arg in tensor.args[:1] for i, size in enumerate(arg.shape) if isinstance(size, str)]
    if isinstance(op, ops.Reduce):
        return [i for i in rows if i in op.axes]
    if isinstance(op, ops.Contract):
        return [i for i in rows if op.left[i] not in op.out]
    return [i for i in rows if i == op.axis] if isinstance(op, (ops.Sort, ops.Scan)) else []


def gather_of_views(tensor: Tensor) -> Tensor | None:
    """A gather along an axis that a view leaves as it is reads the tensor below the view."""
    if not isinstance(tensor.op, ops.Gather) or not isinstance(tensor.args[0].op, ops.View):
        return None
    (x, places), place = tensor.args, tensor.op.axis
    using = [i for i, one in enumerate(_index_of(x)) if any(number == place for number, _ in one.terms)]
    if len(using) != 1 or _index_of(x)[using[0]] != axis(place) or x.args[0].shape[using[0]] != x.shape[place]:
        return None
    outer = [Affine(0, ()) if one is None else one for one in tensor.op.index]
    index = [None if i in using else build.composed(outer, one) for i, one in enumerate(_index_of(x))]
    return build.gather(x.args[0], places, index)


def one_axis_of_rows(tensor: Tensor) -> Tensor | None:
    """A join along two axes of rows becomes two joins, along one after the other."""
    over = joined_rows(tensor)
    if len(over) < 2:
        return None
    op, args = tensor.op, tensor.args
    if isinstance(op, ops.Contract):
        return build.reduce("sum", build.contract(args[0], args[1], op.left, op.right, op.left[over[0]] + op.out), [0])
    assert isinstance(op, ops.Reduce)
    others = [i for i in op.axes if i != over[0]]
    return build.reduce(op.fn, build.reduce(op.fn, args[0], others), [over[0] - sum(i < over[0] for i in others)])


def products_of_rows(tensor: Tensor) -> Tensor | None:
    """A sum of products over all rows: the products of each row, and their sum."""
    over = joined_rows(tensor)
    if not isinstance(tensor.op, ops.Contract) or len(over) != 1 or any(len(one.rows) > 1 for one in (*tensor.args, tensor)):
        return None
    op, (x, y) = tensor.op, tensor.args
    if tensor.rows:
        return None
    return build.reduce("sum", build.contract(x, y, op.left, op.right, op.left[over[0]] + op.out), [0])


class Softmax(NamedTuple):
    """exp(scores - reference): `largest` of the scores along some axes, that is the reference, but 0 for -infinity where
    `is_safe`; `kept`: the axes that `largest` has.
    """

    scores: Tensor
    largest: Tensor
    reference: Tensor
    kept: tuple[int, ...]

    @property
    def is_safe(self) -> bool:
        return self.reference is not self.largest


def as_softmax(tensor: Tensor) -> Softmax | None:
    """The weights of a softmax, before they are divided by their sum."""
    off = tensor.args[0] if _is_map(tensor, "exp") else tensor
    if not _is_map(off, "sub") or not isinstance(off.args[1].op, ops.View):
        return None
    scores, reference = off.args[0], off.args[1].args[0]
    largest = reference
    if _is_map(reference, "where"):
        largest = reference.args[2]
        is_low = build.apply("eq", largest, build.filled(-math.inf, largest.dtype, largest.shape))
        if reference.args[:2] != (is_low, build.filled(0, largest.dtype, largest.shape)):
            return None
    if not isinstance(largest.op, ops.Reduce) or largest.op.fn != "max" or largest.args[0] is not scores:
        return None
    kept = tuple(i for i in range(len(scores.shape)) if i not in largest.op.axes)
    is_repeated = off.args[1] is build.view(reference, scores.shape, [axis(i) for i in kept])
    return Softmax(scores, largest, reference, kept) if is_repeated else None


def _is_map(tensor: Tensor, fn: str) -> bool:
    return isinstance(tensor.op, ops.Map) and tensor.op.fn == fn


def divide_later(tensor: Tensor) -> Tensor | None:
    """Products with the weights of a softmax over rows are divided by the sum of the weights, not the weights: so that one pass
    over the rows makes both. The sum is at least 1, or NaN; of no rows all is 0. What is not yet divided may be as large as the
    number of rows times the largest value: too large for float16, of other floats only where values are near their limit.
    """
    if not isinstance(tensor.op, ops.Contract) or tensor.dtype == DTYPES["float16"]:
        return None
    op = tensor.op
    for i, (share, labels) in enumerate(zip(tensor.args, (op.left, op.right))):
        if not _is_map(share, "div") or not isinstance(share.args[1].op, ops.View):
            continue
        weight, total = share.args[0], share.args[1].args[0]
        soft = as_softmax(weight)
        if soft is None or not isinstance(soft.largest.op, ops.Reduce) or not joined_rows(soft.largest):
            continue
        sum_ = build.reduce("sum", weight, soft.largest.op.axes)
        kept = [labels[axis_] for axis_ in soft.kept]
        if total is not (at_least_one(sum_) if soft.is_safe else sum_) or not set(kept) <= set(op.out):
            continue
        if share.args[1] is not build.view(total, weight.shape, [axis(n) for n in soft.kept]):
            continue
        made = rebuilt(tensor, tuple(weight if n == i else arg for n, arg in enumerate(tensor.args)))
        total = at_least_one(sum_)
        return build.apply("div", made, build.view(total, made.shape, [axis(op.out.index(label)) for label in kept]))
    return None


def at_least_one(total: Tensor) -> Tensor:
    """The sum of the weights of a softmax; 1 where all of them are 0."""
    is_zero = build.apply("eq", total, build.filled(0, total.dtype, total.shape))
    return build.apply("where", is_zero, build.filled(1, total.dtype, total.shape), total)


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


def unrepeated(tensor: Tensor) -> Tensor | None:
    """A constant factor that is repeated along an axis which the other one has, too, does without that axis."""
    if not isinstance(tensor.op, ops.Contract):
        return None
    op, labels = tensor.op, [tensor.op.left, tensor.op.right]
    args = list(tensor.args)
    for i, (arg, own, other) in enumerate(zip(tensor.args, (op.left, op.right), (op.right, op.left))):
        if not is_constant(arg) or not isinstance(arg.op, ops.View):
            continue
        used = {number for one in arg.op.index for number, _ in one.terms}
        kept = [n for n, label in enumerate(own) if n in used or label not in other or label not in op.out]
        index = [affine(one.offset, *((kept.index(n), factor) for n, factor in one.terms)) for one in arg.op.index]
        args[i] = build.view(arg.args[0], tuple(arg.shape[n] for n in kept), index)
        labels[i] = "".join(own[n] for n in kept)
    return None if args == list(tensor.args) else build.contract(args[0], args[1], labels[0], labels[1], op.out)


def sums_from_zero(tensor: Tensor) -> Tensor | None:
    """Rows that are added to zeros: sums begin at zero themselves, and are never -0."""
    if not _is_map(tensor, "add"):
        return None
    for zeros, total in (tensor.args, tensor.args[::-1]):
        base = zeros.args[0] if isinstance(zeros.op, ops.View) else zeros
        is_zero = isinstance(base.op, ops.Constant) and not base.op.data.any()
        if is_zero and isinstance(total.op, ops.Scatter) and total.op.fn == "sum":
            return total
    return None


def layers_at_source(tensor: Tensor) -> Tensor | None:
    """A layer of rows that are gathered is calculated once for each row of the source, and its results are gathered."""
    if not isinstance(tensor.op, ops.Contract) or not is_row_gather(tensor.args[0]) or not is_constant(tensor.args[1]):
        return None
    (gathered, weight), op = tensor.args, tensor.op
    x, places = gathered.args
    index = gathered.op.index if isinstance(gathered.op, ops.Gather) else ()
    kept = op.left[:-1]
    if places.op.__class__ is not ops.View or len(x.shape) != 2 or index[0] is not None or not op.out.startswith(kept):
        return None
    outputs, read = op.out[len(kept) :], index[1]
    if read is None or [number for number, _ in read.terms] != [len(kept)] or set(op.right) & set(kept):
        return None
    if not _skips(places, op.left):
        return None
    x = build.view(x, (x.shape[0], gathered.shape[-1]), [axis(0), affine(read.offset, (1, read.terms[0][1]))])
    far = build.contract(x, weight, "R" + op.left[-1], op.right, "R" + outputs)
    wide = build.view(places.args[0], tensor.shape, _index_of(places))
    return build.gather(far, wide, [None, *(axis(len(kept) + i) for i in range(len(outputs)))])


def rows_first(tensor: Tensor) -> Tensor | None:
    """Gathered rows that are added to a product one after the other are added to each other first, as they are read: sums of
    products have no order.
    """
    found = _sum_and_rows(tensor)
    inner = None if found is None else _sum_and_rows(found[0])
    if found is None or inner is None or not _has_product(inner[0]):
        return None
    return build.apply("add", inner[0], build.apply("add", inner[1], found[1]))


def _sum_and_rows(tensor: Tensor) -> tuple[Tensor, Tensor] | None:
    """The terms of a sum of which one, the second, is gathered rows."""
    if not _is_map(tensor, "add") or is_row_gather(tensor.args[0]) == is_row_gather(tensor.args[1]):
        return None
    x, y = tensor.args
    return (y, x) if is_row_gather(x) else (x, y)


def _has_product(tensor: Tensor) -> bool:
    """Whether it is a product, or the sum of one and something else."""
    terms = tensor.args if _is_map(tensor, "add") else (tensor,)
    return any(isinstance(term.op, ops.Contract) for term in terms)


def _index_of(places: Tensor) -> tuple[Affine, ...]:
    assert isinstance(places.op, ops.View)
    return places.op.index


def _skips(places: Tensor, left: str) -> bool:
    """Whether the places are the same for all elements of the last axis."""
    return all(number != len(left) - 1 for one in _index_of(places) for number, _ in one.terms)


class OfProgram(NamedTuple):
    """Makes a rule for the tensors of a program, in their order."""

    rule: Callable[[Program], Rule]


PASSES: tuple[tuple[str, Rule | OfProgram], ...] = (
    ("fold constants", fold),
    ("centred layers", OfProgram(centred_layers)),
    ("scaled inputs", scaled_inputs),
    ("exact reciprocals", exact_reciprocal),
    ("narrow places", narrow_places),
    ("unrepeated constants", unrepeated),
    ("gather of views", gather_of_views),
    ("divide later", divide_later),
    ("one axis of rows", one_axis_of_rows),
    ("products of rows", products_of_rows),
    ("join rows", join_rows),
    ("sums from zero", sums_from_zero),
    ("split products", split_products),
    ("layers at source", layers_at_source),
    ("rows first", rows_first),
    ("widen", widen),
    ("fold constants", fold),
)


def simplified(program: Program, after: Callable[[str, Program], None] = lambda name, program: None) -> Program:
    """All passes in their order; `after` is called with the name and the result of each."""
    for name, rule in PASSES:
        program = transformed(program, rule.rule(program) if isinstance(rule, OfProgram) else rule, name)
        after(name, program)
    return program
