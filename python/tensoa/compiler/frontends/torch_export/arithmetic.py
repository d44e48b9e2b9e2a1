# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, number by number and over the numbers of a row."""

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.fx import Node

from tensoa.compiler import ir
from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontends.torch_export.shapes import Shapes
from tensoa.compiler.ir import EXACT, Value, rows
from tensoa.compiler.ir.builder import Operand
from tensoa.compiler.ir.integers import limits
from tensoa.compiler.ir.pairs import Pairs
from tensoa.compiler.ir.rows import Rows, need_rows, numbers_of
from tensoa.dtypes import DTYPES, name_of

#: The bits that hold an integer, of dtypes that programs calculate in float32 (docs/decisions/0053).
SHORT_FLOATS = {"float16": 11, "bfloat16": 8}


def _reduced(walk: Shapes, node: Node, tensor: Rows, dims: Any, make: Callable) -> Operand:
    shape, axis, _ = walk.shape_of(node)
    return walk.reduced(tensor, dims, shape, axis, make)


def _nonzero(walk: Shapes, arg: Operand) -> Operand:
    """As truth values."""
    if not isinstance(arg, (Rows, Pairs)):
        return torch.as_tensor(arg) != 0
    return arg if arg.dtype.is_bool else walk.function("ne", arg, 0.0)


def rounded(walk: Shapes, tensor: Rows, dtype: torch.dtype) -> Rows:
    """A tensor made one of floats: a cast to a shorter dtype rounds."""
    if dtype == torch.float64:
        return walk.doubled(tensor)
    if tensor.has_doubles:
        tensor = walk.double("identity", tensor, is_short=True)
    precision = SHORT_FLOATS.get(name_of(dtype))
    is_exact = (
        tensor.dtype.is_bool
        or tensor.dtype.name == name_of(dtype)
        or (tensor.is_integer and precision and walk.largest(tensor) <= 1 << precision)
    )
    if precision is None or is_exact:
        return tensor
    return walk.function(f"to_{name_of(dtype)}", tensor)


def cast(walk: Shapes, node: Node, tensor: Rows, *args: Operand, dtype: Any = None, **kwargs: Operand) -> Operand:
    if dtype == torch.bool:
        return _nonzero(walk, tensor)
    if dtype is not None and dtype.is_floating_point:
        return rounded(walk, tensor, dtype)
    if dtype is None or tensor.dtype.is_bool:
        return tensor
    name, (low, high) = name_of(dtype), limits(name_of(dtype))
    if tensor.has_doubles:
        if not walk.is_within(tensor, max(low, -EXACT), min(high, EXACT)):
            raise NotFused(f"float64 made {name}, which float32 may not hold")
        return walk.double("to_integer", tensor, _of_no_number(low), is_short=True)
    if tensor.dtype.is_float:
        return _made_integer(walk, tensor, low, high)
    if not DTYPES[name].holds(tensor.dtype) and not walk.is_within(tensor, low, high):
        raise NotFused(f"{tensor.dtype.name} made {name}, which may not hold it")
    return tensor


def _of_no_number(low: int) -> float:
    """What torch makes of NaN on x86, as an integer from `low` on: the least one of 32 or 64 bits, of which shorter integers
    have the last bits.
    """
    return float(low) if low <= -(2**31) else 0.0


def _made_integer(walk: Shapes, tensor: Rows, low: int, high: int) -> Rows:
    """Floats as integers from `low` to `high`, as torch has it on x86: a number that neither they nor 32 bits hold, and what is
    no number, becomes the least integer; of shorter integers the bits are those of 32.
    """
    f = walk.function
    if walk.is_within(tensor, low, high):
        return f("to_integer", tensor, _of_no_number(low))
    least = min(float(low), -(2.0**31))
    whole = f("where", f("lt", f("abs", tensor), -least), f("to_integer", tensor, least), least)
    if low <= least:
        return whole
    count = high - low + 1
    rest = f("sub", whole, f("mul", f("floor", f("mul", whole, 1 / count)), count))
    wrapped = f("where", f("gt", rest, high), f("sub", rest, count), rest)
    return f("minimum", f("maximum", wrapped, low), high)  # which it is already: for its bounds


def _scaled(walk: Shapes, tensor: Rows, scale: Operand, shift: Operand) -> Rows:
    """Times `scale` plus `shift`, numbers for each element of dimension 1, or None."""
    shape = (-1,) + (1,) * (tensor.planes.ndim - 2)
    for name, numbers in (("mul", scale), ("add", shift)):
        if numbers is not None:
            tensor = walk.function(name, tensor, numbers.reshape(shape))
    return tensor


def _batch_norm(
    walk: Shapes,
    node: Node,
    tensor: Rows,
    weight: Operand,
    bias: Operand,
    mean: Operand,
    variance: Operand,
    momentum: float,
    eps: float,
) -> Operand:
    if tensor.axis == 1:
        raise NotFused("batch normalisation of rows")
    centred = _scaled(walk, tensor, None, -mean)  # first: the mean may be far larger than the rest
    scale = (variance + eps).rsqrt() * (1.0 if weight is None else weight)
    return [_scaled(walk, centred, scale, bias)]


def _layer_norm(
    walk: Shapes, node: Node, tensor: Rows, shape: tuple[int, ...], weight: Operand, bias: Operand, eps: float
) -> Operand:
    rank = tensor.planes.ndim
    if tensor.has_doubles:
        dims, count, f = range(rank - len(shape), rank), float(math.prod(shape)), walk.function
        centred = _centred_doubles(walk, tensor, dims)
        variance = f("div", _joined(walk, "add", f("mul", centred, centred), dims), count)
        normed = f("div", centred, f("sqrt", f("add", variance, eps)))
        normed = normed if weight is None else f("mul", normed, weight)
        return [normed if bias is None else f("add", normed, bias)]

    def norm(value: Value, times: int) -> Value:
        gain, shift = (None if array is None else array.reshape(-1).numpy() for array in (weight, bias))
        return ir.norm(value, gain, shift, eps, times)

    return [walk.spread(tensor, range(rank - len(shape), rank), norm)]


def _norm_of_batch(
    walk: Shapes, node: Node, tensor: Rows, weight: Operand, bias: Operand, training: bool, momentum: float, eps: float
) -> Operand:
    """Over all but the channels, which are rows and elements in one dimension where each row is normalised alone."""
    if tensor.axis != 1 or tensor.outer != 1 or tensor.planes.shape[0] != 1:
        raise NotFused("batch normalisation over the rows")
    dims = range(2, tensor.planes.ndim)
    normed = walk.spread(tensor, dims, lambda value, times: ir.norm(value, None, None, eps, times))
    shape = (1, -1, *(1 for _ in dims))
    for name, numbers in (("mul", weight), ("add", bias)):
        if isinstance(numbers, Rows):
            normed = walk.function(name, normed, replace(numbers, planes=numbers.planes.reshape(shape), axis=1))
        elif numbers is not None:
            raise NotFused("batch normalisation over the rows")
    return [normed]


def _group_norm(
    walk: Shapes,
    node: Node,
    tensor: Rows,
    weight: Operand,
    bias: Operand,
    rows: int,
    channels: int,
    size: int,
    groups: int,
    eps: float,
) -> Operand:
    if tensor.axis != 0:
        raise NotFused("group normalisation of rows")
    need_rows(tensor)
    shape = tensor.planes.shape
    grouped = Rows(tensor.planes.reshape(1, groups, -1), 0, tensor.domain)
    normed = _layer_norm(walk, node, grouped, (channels * size // groups,), None, None, eps)[0]
    return [_scaled(walk, replace(normed, planes=normed.planes.reshape(shape)), weight, bias)]


def _joined(walk: Shapes, name: str, tensor: Rows, dims: Any) -> Rows:
    """The function `name` of all elements of some dimensions, by halves; these dimensions have size 1 then."""
    for dim in range(tensor.planes.ndim) if dims is None or not dims else [dim % tensor.planes.ndim for dim in dims]:
        while (size := tensor.planes.shape[dim]) > 1 or dim == tensor.axis:
            first, second = (rows.take(tensor, dim, slice(start, start + size // 2)) for start in (0, size // 2))
            half = walk.function(name, first, second)
            rest = [rows.take(tensor, dim, slice(size - 1, size))] if size % 2 else []
            tensor = rows.concatenate([half, *rest], dim)
    return tensor


def _centred_doubles(walk: Shapes, tensor: Rows, dims: Any) -> Rows:
    """Less the mean of these dimensions; of numbers less the largest, so that equal numbers give zero."""
    shifted = walk.function("sub", tensor, _joined(walk, "maximum", tensor, dims))
    total = _joined(walk, "add", shifted, dims)
    return walk.function("sub", shifted, walk.function("div", total, float(tensor.planes.size // total.planes.size)))


def _joined_to(walk: Shapes, node: Node, name: str, tensor: Rows, dims: Any) -> Rows:
    """As _joined(), in the shape of the node."""
    joined = _joined(walk, name, tensor, dims)
    shape, axis, _ = walk.rows_of(node)
    return Rows(joined.planes.reshape(shape), axis, tensor.domain, joined.dtype)


def _softmax_of_doubles(walk: Shapes, tensor: Rows, dim: int, is_log: bool) -> Rows:
    shifted = walk.function("sub", tensor, _joined(walk, "maximum", tensor, [dim]))
    exps = walk.function("exp", shifted)
    total = _joined(walk, "add", exps, [dim])
    return walk.function("sub", shifted, walk.function("log", total)) if is_log else walk.function("div", exps, total)


def softmax(walk: Shapes, node: Node, tensor: Rows, dim: int, half_to_float: Operand, is_log: bool = False) -> Operand:
    if tensor.has_doubles:
        return _softmax_of_doubles(walk, tensor, dim, is_log)

    def build(value: Value, times: int) -> Any:
        shifted = walk.map("sub", value, walk.each(walk.reduce("amax", value, times), value))
        exps = walk.map("exp", shifted)
        total = walk.each(walk.reduce("sum", exps, times), value)
        return walk.map("sub", shifted, walk.map("log", total)) if is_log else walk.map("div", exps, total)

    return walk.spread(tensor, [dim], build)


def _reduction(name: str) -> Callable[..., Operand]:
    def run(walk: Shapes, node: Node, tensor: Rows, dims: Any = None, keep: bool = False, **kwargs: Operand) -> Operand:
        if kwargs.get("dtype") not in (None, torch.float32, torch.float16, torch.bfloat16) and tensor.dtype.is_float:
            raise NotFused(f"{name} of another dtype")
        dims = dims if isinstance(dims, (list, tuple)) or dims is None else [dims]
        if tensor.has_doubles:
            joined = _joined_to(walk, node, {"amax": "maximum", "amin": "minimum"}.get(name, "add"), tensor, dims)
            count = tensor.planes.size // joined.planes.size
            return walk.function("div", joined, count) if name == "mean" else joined
        return _reduced(walk, node, tensor, dims, functools.partial(walk.reduce, name))

    return run


def _extreme(name: str) -> Callable[..., Operand]:
    """max and min: of two tensors, or along a dimension, with the place where it is."""

    def run(walk: Shapes, node: Node, tensor: Rows, *args: Operand, **kwargs: Operand) -> Operand:
        if not args or isinstance(args[0], (Rows, torch.Tensor)):
            raise NotFused("a sum or maximum over all rows")
        dim, keep = (*args, False)[:2]
        is_place_used = any(user.users for user in node.users if user.args[1] == 1)
        place = _place(name)(walk, node, tensor, dim) if is_place_used else None
        return [_reduction(name)(walk, node, tensor, dim), place]

    return run


def _place(name: str) -> Callable[..., Operand]:
    """argmax and argmin: the first place of the extreme, or of what is no number."""

    def run(walk: Shapes, node: Node, tensor: Rows, dim: Any = None, keep: bool = False) -> Operand:
        if tensor.is_integer and not walk.is_small(tensor):
            raise NotFused("the place of an extreme among integers that float32 may not hold")

        def build(value: Value, times: int) -> Any:
            m, width = walk.map, value.width // times
            places = ir.constant(value.domain, np.tile(np.arange(width), times))
            extreme = walk.each(walk.reduce(name, value, times), value)
            is_it = m("maximum", m("eq", value, extreme), m("ne", value, value))
            return walk.reduce("amin", m("where", is_it, places, walk.constant(width, value)), times)

        return _reduced(walk, node, tensor, None if dim is None else [dim], build)

    return run


def _any(name: str) -> Callable[..., Operand]:
    def run(walk: Shapes, node: Node, tensor: Rows, dims: Any = None, keep: bool = False) -> Operand:
        return _reduction(name)(walk, node, _nonzero(walk, tensor), dims)

    return run


_LEAST = 1e-37  # a normal number


def _variance(
    walk: Shapes,
    node: Node,
    tensor: Rows,
    dims: Any = None,
    correction: Any = None,
    keepdim: bool = False,
    is_root: bool = False,
) -> Operand:
    correction = 1 if correction is None else correction
    if tensor.has_doubles:
        centred = _centred_doubles(walk, tensor, dims)
        total = _joined_to(walk, node, "add", walk.function("mul", centred, centred), dims)
        mean = walk.function("div", total, float(max(0.0, tensor.planes.size // total.planes.size - correction)))
        return walk.function("sqrt", mean) if is_root else mean

    def build(value: Value, times: int) -> Any:
        m = walk.map
        # By a power of two, which rounds nothing: no square or sum overflows or vanishes whose result does not.
        largest = walk.reduce("amax", m("abs", value), times)
        scale = m("exp2", m("floor", m("log2", m("maximum", largest, walk.constant(_LEAST, largest)))))
        scaled = m("div", value, walk.each(scale, value))
        shifted = m("sub", scaled, walk.each(walk.reduce("amax", scaled, times), value))
        centred = m("sub", shifted, walk.each(walk.reduce("mean", shifted, times), value))
        total = walk.reduce("sum", m("mul", centred, centred), times)
        mean = m("div", total, walk.constant(max(0.0, value.width // times - correction), value))
        return m("mul", m("sqrt", mean), scale) if is_root else m("mul", m("mul", mean, scale), scale)

    return _reduced(walk, node, tensor, dims, build)


def _with_mean(walk: Shapes, node: Node, tensor: Rows, dims: Any = None, **options: Any) -> Operand:
    """`options`: of _variance()."""
    shape, axis, _ = walk.shape_of(node)
    mean = walk.reduced(tensor, dims, shape, axis, functools.partial(walk.reduce, "mean"))
    return [_variance(walk, node, tensor, dims, **options), mean]


def norm(walk: Shapes, order: float, what: str) -> Callable[[Any, int], Any]:
    """The norm of this order, as a function of a value and the times that it is reduced."""
    m = walk.map
    known = {
        2: lambda x, times: m("sqrt", walk.reduce("sum", m("mul", x, x), times)),
        1: lambda x, times: walk.reduce("sum", m("abs", x), times),
        math.inf: lambda x, times: walk.reduce("amax", m("abs", x), times),
        -math.inf: lambda x, times: walk.reduce("amin", m("abs", x), times),
        0: lambda x, times: walk.reduce("sum", m("ne", x, walk.constant(0.0, x)), times),
    }

    def of_order(x: Any, times: int) -> Any:
        powers = m("pow", m("abs", x), walk.constant(order, x))
        total = walk.reduce("sum", powers, times)
        return m("pow", total, walk.constant(1 / order, total))

    if order in known:
        return known[order]
    if not 0 < order < math.inf:
        raise NotFused(f"{what} of order {order}")
    return of_order


def _vector_norm(
    walk: Shapes, node: Node, tensor: Rows, order: float = 2, dims: Any = None, keep: bool = False, **kwargs: Operand
) -> Operand:
    if tensor.has_doubles and order in (1, 2, math.inf):
        terms = walk.function("mul", tensor, tensor) if order == 2 else walk.function("abs", tensor)
        total = _joined_to(walk, node, "maximum" if order == math.inf else "add", terms, dims)
        return walk.function("sqrt", total) if order == 2 else total
    build = norm(walk, order, "a norm")
    # Of one number the norm is its size, as torch has it: its power may be too large or too small for a float32.
    return _reduced(
        walk, node, tensor, dims, lambda x, times: walk.map("abs", x) if x.width == times and order != 0 else build(x, times)
    )


def _product(walk: Shapes, node: Node, tensor: Rows, dim: Any = None, keep: bool = False, **kwargs: Operand) -> Operand:
    return _joined_to(walk, node, "mul", tensor, None if dim is None else [dim])


def _formula(build: Callable) -> Callable[..., Operand]:
    """An operation of one tensor and numbers, as a formula of maps: build(walk's map, number, x, *numbers)."""

    def run(walk: Shapes, node: Node, tensor: Rows, *numbers: Operand, **kwargs: Operand) -> Operand:
        if any(isinstance(number, (Rows, Pairs, torch.Tensor)) for number in numbers):
            raise NotFused(f"{node.target} of tensors")

        if tensor.has_doubles:
            return build(walk.function, float, tensor, *numbers, **kwargs)

        def with_value(x: Any) -> Any:
            return build(walk.map, lambda number: walk.constant(number, x), x, *numbers, **kwargs)

        return walk.elementwise(with_value, tensor)

    return run


def _clamp(walk: Shapes, node: Node, tensor: Rows, low: Operand = None, high: Operand = None) -> Operand:
    for name, limit in (("maximum", low), ("minimum", high)):
        if limit is not None:
            tensor = walk.function(name, tensor, limit)
    return tensor


def _gelu(m: Callable, c: Callable, x: Operand, approximate: str = "none") -> Operand:
    half = m("mul", x, c(0.5))
    if approximate == "none":
        return m("mul", half, m("add", m("erf", m("mul", x, c(math.sqrt(0.5)))), c(1.0)))
    cube = m("mul", m("mul", x, m("mul", x, x)), c(0.044715))
    return m("mul", half, m("add", m("tanh", m("mul", m("add", x, cube), c(math.sqrt(2 / math.pi)))), c(1.0)))


def _elu(m: Callable, c: Callable, x: Operand, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Operand:
    low = m("mul", m("expm1", m("mul", x, c(input_scale))), c(alpha * scale))
    return m("where", m("gt", x, c(0.0)), m("mul", x, c(scale)), low)


def _leaky_relu(m: Callable, c: Callable, x: Operand, slope: float = 0.01) -> Operand:
    return m("where", m("gt", x, c(0.0)), x, m("mul", x, c(slope)))


def _power(walk: Shapes, node: Node, tensor: Rows, exponent: Operand) -> Operand:
    known = {2: lambda m, c, x: m("mul", x, x), 0.5: lambda m, c, x: m("sqrt", x), 1: lambda m, c, x: x}
    known[3] = lambda m, c, x: m("mul", m("mul", x, x), x)
    known[-1] = lambda m, c, x: m("reciprocal", x)
    if isinstance(tensor, (Rows, Pairs)) and isinstance(exponent, (int, float)) and exponent in known:
        return _formula(known[exponent])(walk, node, tensor)
    if isinstance(tensor, (int, float)) and tensor == 2:
        return walk.function("exp2", exponent)
    return walk.function("pow", tensor, exponent)


def _logical(name: str) -> Callable[..., Operand]:
    def run(walk: Shapes, node: Node, *args: Operand) -> Operand:
        return walk.function(name, *(_nonzero(walk, arg) for arg in args))

    return run


def _bitwise(name: str) -> Callable[..., Operand]:
    def run(walk: Shapes, node: Node, *args: Operand) -> Operand:
        if node.meta["val"].dtype != torch.bool:
            raise NotFused(f"bits of {name_of(node.meta['val'].dtype)}")
        return _logical(name)(walk, node, *args)

    return run


def _where(walk: Shapes, node: Node, condition: Operand, a: Operand, b: Operand) -> Operand:
    return walk.function("where", condition, a, b)


def _not(m: Callable, c: Callable, x: Operand) -> Operand:
    return m("eq", x, c(0.0))


def _fmod(walk: Shapes, node: Node, a: Operand, b: Operand) -> Operand:
    if not (node.meta["val"].dtype.is_floating_point or (walk.is_small(a) and walk.is_small(b))):
        raise NotFused("a rest of integers that float32 may not hold")
    return walk.function("fmod", a, b)


def _rest(walk: Shapes, node: Node, a: Operand, b: Operand) -> tuple[Operand, Operand]:
    """That of fmod, and whether a division that rounds down has another one."""
    m = walk.function
    rest = _fmod(walk, node, a, b)
    is_below = m("lt", b, 0.0) if isinstance(b, Rows) else torch.as_tensor(b) < 0
    return rest, m("mul", m("ne", rest, 0.0), m("ne", m("lt", rest, 0.0), is_below))


def _remainder(walk: Shapes, node: Node, a: Operand, b: Operand) -> Operand:
    rest, is_other = _rest(walk, node, a, b)
    return walk.function("where", is_other, walk.function("add", rest, b), rest)


def _quotient(walk: Shapes, node: Node, a: Operand, b: Operand, rounding_mode: Any = None) -> Operand:
    """a / b, or the integer below it ("floor") or next to it on the side of zero ("trunc"): of a number without its rest, so
    that it is exact.
    """
    f = walk.function
    if rounding_mode is None:
        return f("div", a, b)
    if node.meta["val"].dtype.is_floating_point and rounding_mode == "trunc":
        return f("trunc", f("div", a, b))
    rest, is_other = _rest(walk, node, a, b)
    quotient = f("round", f("div", f("sub", a, rest), b))
    quotient = f("sub", quotient, is_other) if rounding_mode == "floor" else quotient
    if node.meta["val"].dtype.is_floating_point:
        return f("where", f("eq", b, 0.0) if isinstance(b, Rows) else torch.as_tensor(b) == 0, f("div", a, b), quotient)
    largest = float(walk.largest(a)) if isinstance(a, Rows) else float(np.abs(numbers_of(a)[1]).max())
    return f("minimum", f("maximum", quotient, -largest), largest) if largest <= EXACT else quotient


def _round(walk: Shapes, node: Node, tensor: Rows, decimals: int = 0) -> Operand:
    if decimals == 0:
        return walk.function("round", tensor)
    scale = 10.0 ** abs(decimals)
    name, back = ("mul", "div") if decimals > 0 else ("div", "mul")
    return walk.function(back, walk.function("round", walk.function(name, tensor, scale)), scale)


def _choose_qparams(walk: Shapes, node: Node, *args: Operand) -> Operand:
    raise NotFused("a scale that all rows together give (choose_qparams)")


OPERATIONS: dict[str, Callable[..., Operand]] = {
    "_to_copy": cast,
    "choose_qparams": _choose_qparams,
    "choose_qparams_symmetric": _choose_qparams,
    "native_layer_norm": _layer_norm,
    "_native_batch_norm_legit_no_training": _batch_norm,
    "_native_batch_norm_legit": _norm_of_batch,
    "native_group_norm": _group_norm,
    "_softmax": softmax,
    "_log_softmax": functools.partial(softmax, is_log=True),
    "sum": _reduction("sum"),
    "mean": _reduction("mean"),
    "prod": _product,
    "amax": _reduction("amax"),
    "amin": _reduction("amin"),
    "max": _extreme("amax"),
    "min": _extreme("amin"),
    "argmax": _place("amax"),
    "argmin": _place("amin"),
    "any": _any("amax"),
    "all": _any("amin"),
    "var": _variance,
    "std": functools.partial(_variance, is_root=True),
    "var_mean": _with_mean,
    "std_mean": functools.partial(_with_mean, is_root=True),
    "linalg_vector_norm": _vector_norm,
    "clamp": _clamp,
    "hardtanh": lambda walk, node, x, low=-1.0, high=1.0: _clamp(walk, node, x, low, high),
    "gelu": _formula(_gelu),
    "elu": _formula(_elu),
    "leaky_relu": _formula(_leaky_relu),
    "square": _formula(lambda m, c, x: m("mul", x, x)),
    "isnan": _formula(lambda m, c, x: m("ne", x, x)),
    "isinf": _formula(lambda m, c, x: m("eq", m("abs", x), c(math.inf))),
    "div": _quotient,
    "floor_divide": functools.partial(_quotient, rounding_mode="floor"),
    "fmod": _fmod,
    "remainder": _remainder,
    "round": _round,
    "logical_not": lambda walk, node, x: _formula(_not)(walk, node, _nonzero(walk, x)),
    "logical_and": _logical("mul"),
    "logical_or": _logical("maximum"),
    "logical_xor": _logical("ne"),
    "bitwise_and": _bitwise("mul"),
    "bitwise_or": _bitwise("maximum"),
    "bitwise_xor": _bitwise("ne"),
    "bitwise_not": lambda walk, node, x: _bitwise("ne")(walk, node, x, True),
    "pow": _power,
    "where": _where,
}
