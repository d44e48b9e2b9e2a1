# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Operators of torch that are products of matrices: layers, convolutions, attention, distances."""

import math
from typing import Any

from tensoa.compiler import build
from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontend.lowering import Context, lowers
from tensoa.compiler.frontend.movement import counter, one_axis, padded, tidy
from tensoa.compiler.frontend.sums import scaled, softmax_of, windows
from tensoa.compiler.frontend.values import (
    Value,
    agreed,
    apply,
    broadcast,
    cast,
    flat,
    number,
    permuted,
    reduced,
    replaced,
    reshaped,
    to_shape,
    unsqueezed,
)
from tensoa.dtypes import BOOL, INT64


def product(x: Value, y: Value, left: str, right: str, out: str) -> Value:
    """A contraction by labels of axes of torch."""
    y = cast(y, x.dtype)
    for label in left:
        if label in right:
            x, y = _agreed(x, y, left.index(label), right.index(label))
    counts = {label: x.groups[i] for i, label in enumerate(left)}
    for i, label in enumerate(right):
        counts[label] = max(counts.get(label, 0), y.groups[i])
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    names = {label: [next(letters) for _ in range(count)] for label, count in counts.items()}

    def spelled(labels: str) -> str:
        return "".join("".join(names[label]) for label in labels)

    made = build.contract(x.tensor, y.tensor, spelled(left), spelled(right), spelled(out))
    return Value(made, tuple(len(names[label]) for label in out))


def _agreed(x: Value, y: Value, one: int, other: int) -> tuple[Value, Value]:
    """Both with the same factors of an axis of each; one of size 1 is repeated."""
    front = [permuted(v, [dim, *(d for d in range(v.rank) if d != dim)]) for v, dim in ((x, one), (y, other))]
    pair, factors = agreed(front, 0)
    if any(len(factors) != value.groups[0] for value in pair):
        pair = [to_shape(value, [factors, *(value.factors(d) for d in range(1, value.rank))]) for value in pair]
    back = []
    for value, dim in zip(pair, (one, other)):
        order = list(range(1, value.rank))
        order.insert(dim, 0)
        back.append(permuted(value, order))
    return back[0], back[1]


@lowers("linear")
def linear(context: Context, x: Value, weight: Value, bias: Value | None = None) -> Value:
    labels = "abcdefgh"[: x.rank]
    found = product(x, weight, labels, "o" + labels[-1], labels[:-1] + "o")
    return found if bias is None else apply("add", found, bias)


@lowers("matmul", "mm", "bmm")
def matmul(context: Context, x: Value, y: Value) -> Value:
    if x.rank == 1:
        return product(
            x, y, "k", "bacdefgh"[: y.rank - 2] + "kj"[: y.rank], "bacdefgh"[: max(0, y.rank - 2)] + "j"[: y.rank - 1]
        )
    if y.rank == 1:
        labels = "abcdefgh"[: x.rank - 1]
        return product(x, y, labels + "k", "k", labels)
    batch = max(x.rank, y.rank) - 2
    labels = "abcdefgh"[:batch]
    left, right = labels[batch - (x.rank - 2) :], labels[batch - (y.rank - 2) :]
    return product(x, y, left + "ik", right + "kj", labels + "ij")


@lowers("addmm", "addmv", "addbmm")
def addmm(context: Context, bias: Value, x: Value, y: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    found = product(x, y, "bik", "bkj", "ij") if x.rank == 3 else matmul(context, x, y)
    found = found if alpha == 1 else apply("mul", found, number(alpha, found.dtype))
    if beta == 0:  # what the bias is does not matter then, NaN included
        return found
    bias = bias if beta == 1 else apply("mul", bias, number(beta, bias.dtype))
    return apply("add", found, bias)


@lowers("convolution")
def convolution(
    context: Context, x: Value, weight: Value, bias: Value | None, steps: Any, pads: Any, dilations: Any,
    is_transposed: bool = False, output_pads: Any = (), groups: int = 1,
) -> Value:  # fmt: skip
    """Windows are a view of the image, and each is multiplied with the weights."""
    n = len(steps)
    if is_transposed:
        x, weight = transposed_images(x, weight, steps, pads, dilations, output_pads, groups)
        steps, pads = [1] * n, [0] * n
    for i in range(n):
        x = padded(x, 2 + i, pads[i], pads[i], 0) if pads[i] else x
    for i in range(n):
        x = windows(x, 2 + i, weight.size(2 + i), steps[i], dilations[i], False)
    x = x if groups == 1 else _apart(x, 1, groups)
    weight = weight if groups == 1 else _apart(weight, 0, groups)
    places, elements = "pqr"[:n], "xyz"[:n]
    group = "" if groups == 1 else "g"
    found = product(x, weight, f"n{group}c{places}{elements}", f"{group}oc{elements}", f"n{group}o{places}")
    if groups != 1:
        found = Value(found.tensor, (found.groups[0], found.groups[1] + found.groups[2], *found.groups[3:]))
    return found if bias is None else apply("add", found, _as_channels(bias, n))


def transposed_images(
    x: Value, weight: Value, steps: Any, pads: Any, dilations: Any, output_pads: Any, groups: int
) -> tuple[Value, Value]:  # fmt: skip
    """A transposed convolution is one of the image with zeros in between and around, and turned weights."""
    for i in range(len(steps)):
        reach = dilations[i] * (weight.size(2 + i) - 1)
        x = spread(x, 2 + i, steps[i])
        x = padded(x, 2 + i, reach - pads[i], reach - pads[i] + output_pads[i], 0)
        weight, place = one_axis(weight, 2 + i)
        size = weight.size(2 + i)
        weight = tidy(replaced(weight, 2 + i, build.part(weight.tensor, place, size - 1, size, -1), 1))
    rest = [weight.factors(d) for d in range(2, weight.rank)]
    channels, outputs = weight.size(0), weight.size(1)
    apart = reshaped(weight, [[groups] if groups > 1 else [], [channels // groups], weight.factors(1), *rest])
    turned = permuted(apart, [0, 2, 1, *range(3, apart.rank)])
    return x, reshaped(turned, [[groups * outputs], [channels // groups] if channels > groups else [], *rest])


def spread(x: Value, dim: int, step: int) -> Value:
    """Zeros between the elements of an axis."""
    if step == 1:
        return x
    x, place = one_axis(x, dim)
    size = x.size(dim)
    apart = build.with_axis(x.tensor, place + 1)
    zeros = build.filled(0, x.dtype, (*apart.shape[: place + 1], step - 1, *apart.shape[place + 2 :]))
    wide = flat(replaced(x, dim, build.concat([apart, zeros], place + 1), 2), dim)
    return tidy(replaced(x, dim, build.part(wide.tensor, place, 0, (size - 1) * step + 1), 1))


def _apart(x: Value, dim: int, count: int) -> Value:
    """An axis of torch as two: `count` groups of elements."""
    shape = [x.factors(d) for d in range(x.rank)]
    size = x.size(dim)
    return reshaped(x, [*shape[:dim], [count], [size // count] if size > count else [], *shape[dim + 1 :]])


def _as_channels(bias: Value, n: int) -> Value:
    for _ in range(n):
        bias = unsqueezed(bias, -1)
    return bias


@lowers("scaled_dot_product_attention")
def attention(
    context: Context, q: Value, k: Value, v: Value, mask: Value | None = None, dropout: float = 0.0, is_causal: bool = False,
    *, scale: float | None = None, enable_gqa: bool = False,
) -> Value:  # fmt: skip
    """As torch takes it apart."""
    if dropout:
        raise NotFused("attention with dropout")
    if enable_gqa and q.size(-3) != k.size(-3):
        k, v = (repeated(one, one.dim(-3), q.size(-3) // one.size(-3)) for one in (k, v))
    factor = number(1 / math.sqrt(q.size(-1)) if scale is None else scale, q.dtype)
    swapped = permuted(k, [*range(k.rank - 2), k.rank - 1, k.rank - 2])
    scores = matmul(context, apply("mul", q, factor), swapped)
    if mask is not None and mask.dtype == BOOL:
        scores = apply("where", mask, scores, number(-math.inf, scores.dtype))
    elif mask is not None:
        scores = apply("add", scores, cast(mask, scores.dtype))
    if is_causal:
        own, other = (counter(scores.factors(dim), INT64) for dim in (-2, -1))
        scores = apply("where", apply("ge", unsqueezed(own, 1), other), scores, number(-math.inf, scores.dtype))
    return matmul(context, softmax_of(scores, -1, is_safe=True), v)


def repeated(x: Value, dim: int, times: int) -> Value:
    """Each element of an axis several times, one after the other."""
    shape = [x.factors(d) for d in range(x.rank)]
    wide = to_shape(unsqueezed(x, dim + 1), [*shape[: dim + 1], [times], *shape[dim + 1 :]])
    return Value(wide.tensor, (*x.groups[:dim], x.groups[dim] + 1, *x.groups[dim + 1 :]))


@lowers("cdist", "_cdist_forward")
def cdist(context: Context, x: Value, y: Value, p: float = 2.0, *more: Any) -> Value:
    off = apply("sub", unsqueezed(x, x.rank - 1), unsqueezed(y, y.rank - 2))
    if p == math.inf:
        return reduced("max", apply("abs", off), [-1])
    return length(off, p, [-1], False)


@lowers("linalg_vector_norm")
def norm(context: Context, x: Value, p: Any = 2, dims: Any = None, keeps: bool = False, **named: Any) -> Value:
    found = list(range(x.rank)) if dims is None else [dims] if isinstance(dims, int) else list(dims)
    size = apply("abs", cast(x, context.dtype))
    if p in (math.inf, -math.inf):
        return reduced("max" if p > 0 else "min", size, found, keeps)
    if p != 2:
        return length(size, p, found, keeps)
    size, scale = scaled(size, found)
    total = apply("mul", length(size, p, found, True), scale)
    return total if keeps else reduced("max", total, found)


def length(x: Value, p: float, dims: list[int], keeps: bool) -> Value:
    """The norm of an order other than infinity."""
    if p == 2:
        return apply("sqrt", reduced("sum", apply("mul", x, x), dims, keeps))
    size = apply("abs", x)
    if p == 0:
        return reduced("sum", cast(apply("ne", x, number(0.0, x.dtype)), x.dtype), dims, keeps)
    if p == 1:
        return reduced("sum", size, dims, keeps)
    total = reduced("sum", apply("pow", size, number(p, x.dtype)), dims, keeps)
    return apply("pow", total, number(1 / p, x.dtype))


@lowers("_trilinear")
def trilinear(
    context: Context, x: Value, y: Value, z: Value, of_x: Any, of_y: Any, of_z: Any, summed: Any, unroll: int = 1
) -> Value:
    """The sum of the products of three tensors, with new axes."""
    for dims, i in ((of_x, 0), (of_y, 1), (of_z, 2)):
        for dim in sorted(dims):
            x, y, z = (unsqueezed(one, dim) if n == i else one for n, one in enumerate((x, y, z)))
    wide = apply("mul", x, y), z
    labels = "abcdefgh"[: x.rank]
    first, second = broadcast(*wide)
    return product(first, second, labels, labels, "".join(one for i, one in enumerate(labels) if i not in summed))
