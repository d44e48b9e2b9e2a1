# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Operators of torch that are products of matrices: layers, convolutions, attention, distances."""

import math
from typing import Any

from tensoa.compiler.errors import NotFused
from tensoa.compiler.typed import build
from tensoa.compiler.typed.frontend.elementwise import in_float
from tensoa.compiler.typed.frontend.lowering import Context, lowers
from tensoa.compiler.typed.frontend.movement import padded, to_shape
from tensoa.compiler.typed.frontend.sums import softmax_of, windows
from tensoa.compiler.typed.frontend.values import (
    Value,
    agreed,
    apply,
    cast,
    number,
    permuted,
    reduced,
    reshaped,
    unsqueezed,
)
from tensoa.dtypes import BOOL


def product(x: Value, y: Value, left: str, right: str, out: str) -> Value:
    """A contraction by labels of axes of torch. Short floats are multiplied as float32."""
    dtype = x.dtype
    x, y = in_float(x), in_float(cast(y, dtype))
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
    return cast(Value(made, tuple(len(names[label]) for label in out)), dtype)


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


@lowers("matmul", "mm", "bmm", "mv", "dot")
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


@lowers("addmm", "baddbmm", "addmv", "addbmm")
def addmm(context: Context, bias: Value, x: Value, y: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    found = matmul(context, x, y)
    found = found if alpha == 1 else apply("mul", found, number(alpha, found.dtype))
    bias = bias if beta == 1 else apply("mul", bias, number(beta, bias.dtype))
    return apply("add", found, bias)


@lowers("convolution", "conv1d", "conv2d", "conv3d")
def convolution(
    context: Context, x: Value, weight: Value, bias: Value | None, steps: Any, pads: Any, dilations: Any,
    is_transposed: bool = False, output_pads: Any = (), groups: int = 1,
) -> Value:  # fmt: skip
    """Windows are a view of the image, and each is multiplied with the weights."""
    if is_transposed:
        raise NotFused("a transposed convolution")
    n = len(steps)
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
    if is_causal or dropout or enable_gqa:
        raise NotFused("attention that is causal, or with dropout")
    dtype = q.dtype
    q, k, v = (in_float(one) for one in (q, k, v))
    factor = number(1 / math.sqrt(q.size(-1)) if scale is None else scale, q.dtype)
    swapped = permuted(k, [*range(k.rank - 2), k.rank - 1, k.rank - 2])
    scores = matmul(context, apply("mul", q, factor), swapped)
    if mask is not None and mask.dtype == BOOL:
        scores = apply("where", mask, scores, number(-math.inf, scores.dtype))
    elif mask is not None:
        scores = apply("add", scores, cast(mask, scores.dtype))
    return cast(matmul(context, softmax_of(scores, -1, is_safe=True), v), dtype)


@lowers("cdist", "_cdist_forward", "_euclidean_dist")
def cdist(context: Context, x: Value, y: Value, p: float = 2.0, *more: Any) -> Value:
    off = apply("sub", unsqueezed(x, x.rank - 1), unsqueezed(y, y.rank - 2))
    if p == 1:
        return reduced("sum", apply("abs", off), [-1])
    if p == math.inf:
        return reduced("max", apply("abs", off), [-1])
    if p != 2:
        raise NotFused(f"distances of the norm {p}")
    return apply("sqrt", reduced("sum", apply("mul", off, off), [-1]))


@lowers("linalg_vector_norm", "norm")
def norm(context: Context, x: Value, p: Any = 2, dims: Any = None, keeps: bool = False, **named: Any) -> Value:
    found = list(range(x.rank)) if dims is None else [dims] if isinstance(dims, int) else list(dims)
    size = apply("abs", in_float(x))
    if p in (math.inf, -math.inf):
        return cast(reduced("max" if p > 0 else "min", size, found, keeps), context.dtype)
    if p == 1:
        return cast(reduced("sum", size, found, keeps), context.dtype)
    if p != 2:
        raise NotFused(f"the norm {p}")
    return cast(apply("sqrt", reduced("sum", apply("mul", size, size), found, keeps)), context.dtype)
