# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From an exported model to a row program.

A tensor of the model is an array of planes, with the dimension of the rows left at size 1: what moves numbers about
(permute, cat, select, expand …) moves planes here and costs nothing when the program runs.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch

from tensoa.fusion import graph
from tensoa.fusion.graph import Output, Program, Value


#: Operations that take sizes.
SHAPED = "full full_like empty_like zeros ones view reshape expand slice".split()


class NotFused(Exception):
    """Why a model is no row program: what it does, in words for the user."""


@dataclass(frozen=True)
class InputPlane:
    """A plane of an input block, not yet used as a number or as an index."""

    block: int
    plane: int
    dtype: str  # of the column
    domain: int
    is_number: bool  # of float32 (or a truth value), as the model sees it
    is_scalar: bool  # one number for all rows


@dataclass(eq=False)
class Rows:
    """A tensor with rows: `planes` has its shape, with 1 in the place `axis` of the rows. A plane is an InputPlane, a
    (Value, number in its row), or a Python number, the same in all rows.
    """

    planes: np.ndarray
    axis: int
    domain: int


def _objects(shape, items):
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = item
    return array.reshape(shape)


class _Capture:
    def __init__(self, symbols):
        self.symbols = symbols  # of sizes: their domain
        self.made = {}
        self.env = {}

    # ---- values

    def once(self, key, make):
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def _input(self, planes):
        first = planes[0]
        places = tuple(plane.plane for plane in planes)
        attributes = {"block": first.block, "planes": places, "dtype": first.dtype, "is_scalar": first.is_scalar}
        return self.once(
            ("input", first.block, places), lambda: Value("input", first.domain, len(places), (), attributes)
        )

    def parts(self, planes, domain):
        """(value, start, stop) for planes in order."""
        found, run = [], []

        def end():
            if run:
                value = self._input(run)
                found.append((value, 0, value.width))
                run.clear()

        for plane in planes:
            if isinstance(plane, InputPlane):
                if not plane.is_number:
                    raise NotFused("arithmetic on integers")
                if run and run[0].block != plane.block:
                    end()
                run.append(plane)
                continue
            end()
            if isinstance(plane, tuple):
                value, at = plane
                if found and found[-1][0] is value and found[-1][2] == at:
                    found[-1] = (value, found[-1][1], at + 1)
                else:
                    found.append((value, at, at + 1))
            else:
                value = self.number(plane, domain)
                found.append((value, 0, 1))
        end()
        return found

    def number(self, number, domain):
        return self.once(("number", float(number), domain), lambda: graph.constant(domain, [number]))

    def value(self, planes, domain):
        """The planes of an array, side by side."""
        planes = list(planes.reshape(-1))
        if all(isinstance(plane, (int, float)) for plane in planes):
            key = ("constant", domain, tuple(planes))
            return self.once(key, lambda: graph.constant(domain, planes))
        packed = graph.pack(self.parts(planes, domain))
        if packed.op != "pack":
            return packed
        key = ("pack", tuple(id(part) for part in packed.args), packed.ranges)
        return self.once(key, lambda: packed)

    def map(self, name, *args):
        return self.once(("map", name, *(id(arg) for arg in args)), lambda: graph.apply(name, *args))

    def index(self, rows):
        """The one integer plane of a tensor that is used to gather or scatter."""
        planes = list({plane: None for plane in rows.planes.reshape(-1)}) if isinstance(rows, Rows) else []
        if len(planes) != 1 or not isinstance(planes[0], InputPlane) or "float" in planes[0].dtype or planes[0].is_scalar:
            raise NotFused("indices that are computed, or not one column")
        plane = planes[0]
        attributes = {"block": plane.block, "plane": plane.plane, "dtype": plane.dtype}
        return self.once(
            ("index", plane.block, plane.plane), lambda: Value("index", plane.domain, 1, (), attributes)
        )

    # ---- shapes

    def domain_of(self, size):
        """The domain of a size, or None for a number."""
        if isinstance(size, int):
            return None
        number = size.node.maybe_as_int()
        if number is not None:
            return None
        expression = size.node.expr
        if expression not in self.symbols:
            raise NotFused(f"a dimension of {expression} elements")
        return self.symbols[expression]

    def shape_of(self, node):
        """(shape with 1 for the rows, axis, domain) of what a node gives; axis None without rows."""
        shape, axis, domain = [], None, None
        for i, size in enumerate(node.meta["val"].shape):
            found = self.domain_of(size)
            if found is None:
                shape.append(int(size))
            elif axis is None:
                axis, domain = i, found
                shape.append(1)
            else:
                raise NotFused("a tensor with rows in two dimensions")
        return tuple(shape), axis, domain

    def rows(self, shape, axis, value):
        """The numbers of a value as a tensor of this shape."""
        return Rows(_objects(shape, [(value, i) for i in range(value.width)]), axis, value.domain)

    # ---- operations

    def broadcast(self, *args):
        """Arrays of planes of one shape, and the axis and domain of its rows."""
        axis = domain = None
        arrays = []
        rank = max(arg.planes.ndim if isinstance(arg, Rows) else torch.as_tensor(arg).dim() for arg in args)
        for arg in args:
            if isinstance(arg, Rows):
                at = arg.axis + rank - arg.planes.ndim
                if axis is not None and (axis != at or domain != arg.domain):
                    raise NotFused("arithmetic between tensors of different rows")
                axis, domain = at, arg.domain
                arrays.append(arg.planes)
            else:
                tensor = torch.as_tensor(arg)
                arrays.append(_objects(tuple(tensor.shape), tensor.reshape(-1).tolist()))
        arrays = np.broadcast_arrays(*arrays)
        if arrays[0].ndim <= axis or arrays[0].shape[axis] != 1:
            raise NotFused("a constant that differs from row to row")
        return arrays, axis, domain

    def operand(self, planes, domain):
        flat = list(planes.reshape(-1))
        if len(flat) > 1 and all(plane == flat[0] for plane in flat[1:]):
            flat = flat[:1]
        return self.value(_objects((len(flat),), flat), domain)

    def elementwise(self, build, *args):
        """build(self.map, values) over broadcast arguments."""
        arrays, axis, domain = self.broadcast(*args)
        value = build(*(self.operand(array, domain) for array in arrays))
        shape = arrays[0].shape
        if value.width == 1 and math.prod(shape) > 1:
            return Rows(_objects(shape, [(value, 0)] * math.prod(shape)), axis, domain)
        return self.rows(shape, axis, value)

    def over(self, tensor, dims, build):
        """build(value of the planes along `dims`) for each position of the others: [values], their shape, their axis."""
        rank = tensor.planes.ndim
        dims = sorted({dim % rank for dim in dims}) if dims else list(range(rank))
        if tensor.axis in dims:
            raise NotFused("a sum or maximum over all rows")
        moved = np.moveaxis(tensor.planes, dims, range(rank - len(dims), rank))
        kept = moved.shape[: rank - len(dims)]
        groups = moved.reshape(math.prod(kept), -1)
        return [build(self.value(group, tensor.domain)) for group in groups], dims, moved.shape

    def reduced(self, node, tensor, dims, build):
        values, _, _ = self.over(tensor, dims, build)
        shape, axis, domain = self.shape_of(node)
        return Rows(_objects(shape, [(value, 0) for value in values]), axis, domain)

    def spread(self, tensor, dims, build):
        """As over(), for functions that give as many numbers as they take."""
        values, dims, shape = self.over(tensor, dims, build)
        planes = _objects(shape, [(value, i) for value in values for i in range(value.width)])
        rank = tensor.planes.ndim
        planes = np.moveaxis(planes, range(rank - len(dims), rank), dims)
        return Rows(planes, tensor.axis, tensor.domain)

    def reduce(self, name, value):
        if value.width == 1:
            return value
        return self.once(("reduce", name, id(value)), lambda: Value("reduce", value.domain, 1, (value,), {"name": name}))

    def constant(self, number, like):
        return self.number(number, like.domain)

    def linear(self, x, weight, bias=None):
        return graph.linear(x, weight.numpy(), None if bias is None else bias.numpy())

    def gathered(self, tensor, index):
        planes = list(tensor.planes.reshape(-1))
        values = [
            self.once(("gather", id(value), id(index)), lambda value=value: graph.gather(value, index))
            for value in {id(part[0]): part[0] for part in self.parts(planes, tensor.domain)}.values()
        ]
        by_source = {id(value.args[0]): value for value in values}
        items = []
        for value, start, stop in self.parts(planes, tensor.domain):
            items += [(by_source[id(value)], i) for i in range(start, stop)]
        return Rows(_objects(tensor.planes.shape, items), tensor.axis, index.domain)

    def scattered(self, node, base, index, source):
        """base with the rows of `source` added at `index`."""
        shape, axis, domain = self.shape_of(node)
        if axis is None:
            raise NotFused("a sum into something without rows")
        if not isinstance(source, Rows):
            source = self.filled(source, shape, axis, index.domain)
        if source.axis != axis or source.domain != index.domain:
            raise NotFused("a sum whose rows are not those of its index")
        planes = np.broadcast_to(source.planes, shape)
        value = graph.scatter(self.value(planes, index.domain), index, domain)
        total = self.rows(shape, axis, value)
        is_zero = not isinstance(base, Rows) and not torch.as_tensor(base).any()
        is_zero |= isinstance(base, Rows) and all(plane == 0 for plane in base.planes.reshape(-1))
        return total if is_zero else self.elementwise(lambda a, b: self.map("add", a, b), base, total)

    def filled(self, number, shape, axis, domain):
        tensor = torch.as_tensor(number)
        planes = np.broadcast_to(_objects(tuple(tensor.shape), tensor.reshape(-1).tolist()), shape)
        return Rows(planes, axis, domain)

    # ---- the graph

    def run(self, node):
        name = node.target.__name__ if callable(node.target) else str(node.target)
        args = torch.fx.node.map_arg(node.args, lambda argument: self.env[argument])
        kwargs = torch.fx.node.map_arg(node.kwargs, lambda argument: self.env[argument])
        if name == "getitem":
            return args[0][args[1]]
        if name.startswith("sym_size"):
            return node.meta["val"]
        flat = [*args, *kwargs.values()]
        flat = [item for arg in flat for item in (arg if isinstance(arg, (list, tuple)) else [arg])]
        name = name.partition(".")[0]
        if name.startswith("_assert"):
            return None
        if name not in SHAPED and any(isinstance(item, torch.SymInt) for item in flat):
            raise NotFused(f"{name} of a number of rows")
        if name in ("full", "full_like", "empty_like", "zeros", "ones"):
            return self.full(node, name, args)
        if not any(isinstance(item, Rows) for item in flat):
            return node.target(*args, **kwargs)
        if name in graph.UNARY or name in graph.BINARY:
            if kwargs:
                raise NotFused(f"{name} with {', '.join(kwargs)}")
            return self.elementwise(lambda *values: self.map(name, *values), *args)
        operation = OPERATIONS.get(name)
        if operation is None:
            raise NotFused(f"the operation {name}")
        return operation(self, node, *args, **kwargs)

    def full(self, node, name, args):
        shape, axis, domain = self.shape_of(node)
        number = {"zeros": 0.0, "ones": 1.0}.get(name)
        if number is None:
            number = args[1] if name.startswith("full") else 0.0
        if axis is None:
            return torch.full(shape, float(number))
        return self.filled(float(number), shape, axis, domain)


def _same(capture, node, tensor, *args, **kwargs):
    return tensor


def _cast(capture, node, tensor, *args, dtype=None, **kwargs):
    planes = list(tensor.planes.reshape(-1))
    if dtype is None or all(isinstance(plane, InputPlane) and "int" in str(dtype) for plane in planes):
        return tensor  # an index by another name
    if dtype != torch.float32:
        raise NotFused(f"numbers of {str(dtype).removeprefix('torch.')}")
    planes = [
        InputPlane(plane.block, plane.plane, plane.dtype, plane.domain, True, plane.is_scalar) if isinstance(plane, InputPlane) else plane
        for plane in planes
    ]
    return Rows(_objects(tensor.planes.shape, planes), tensor.axis, tensor.domain)


def _view(capture, node, tensor, *args):
    shape, axis, domain = capture.shape_of(node)
    before = math.prod(tensor.planes.shape[: tensor.axis])
    if axis is None or math.prod(shape[:axis]) != before:
        raise NotFused("a reshape across the rows")
    return Rows(tensor.planes.reshape(shape), axis, domain)


def _permute(capture, node, tensor, dims):
    dims = [dim % tensor.planes.ndim for dim in dims]
    return Rows(tensor.planes.transpose(dims), dims.index(tensor.axis), tensor.domain)


def _transpose(capture, node, tensor, a, b):
    dims = list(range(tensor.planes.ndim))
    dims[a], dims[b] = dims[b], dims[a]
    return _permute(capture, node, tensor, dims)


def _select(capture, node, tensor, dim, at):
    dim %= tensor.planes.ndim
    if dim == tensor.axis:
        raise NotFused("one row taken out of all")
    return Rows(tensor.planes.take(at, axis=dim), tensor.axis - (dim < tensor.axis), tensor.domain)


def _slice(capture, node, tensor, dim=0, start=None, stop=None, step=1):
    dim %= tensor.planes.ndim
    if dim == tensor.axis:
        if capture.shape_of(node)[2] == tensor.domain and start in (0, None) and step == 1:
            return tensor
        raise NotFused("some of the rows taken out of all")
    at = (slice(None),) * dim + (slice(start, stop, step),)
    return Rows(tensor.planes[at], tensor.axis, tensor.domain)


def _split(capture, node, tensor, sizes, dim=0):
    dim %= tensor.planes.ndim
    if dim == tensor.axis:
        raise NotFused("some of the rows taken out of all")
    sizes = sizes if isinstance(sizes, (list, tuple)) else [sizes] * -(-tensor.planes.shape[dim] // sizes)
    ends = np.cumsum(sizes)[:-1]
    return [Rows(part, tensor.axis, tensor.domain) for part in np.split(tensor.planes, ends, axis=dim)]


def _unsqueeze(capture, node, tensor, dim):
    dim %= tensor.planes.ndim + 1
    return Rows(np.expand_dims(tensor.planes, dim), tensor.axis + (dim <= tensor.axis), tensor.domain)


def _squeeze(capture, node, tensor, dims):
    rank = tensor.planes.ndim
    dims = [dim % rank for dim in (dims if isinstance(dims, (list, tuple)) else [dims])]
    dims = [dim for dim in dims if dim != tensor.axis and tensor.planes.shape[dim] == 1]
    axis = tensor.axis - sum(dim < tensor.axis for dim in dims)
    return Rows(tensor.planes.squeeze(tuple(dims)), axis, tensor.domain)


def _expand(capture, node, tensor, *args, **kwargs):
    shape, axis, domain = capture.shape_of(node)
    if axis is None or domain != tensor.domain:
        raise NotFused("one tensor for all rows")
    return Rows(np.broadcast_to(tensor.planes, shape), axis, domain)


def _cat(capture, node, tensors, dim=0):
    rows = next(tensor for tensor in tensors if isinstance(tensor, Rows))
    dim %= rows.planes.ndim
    if dim == rows.axis:
        raise NotFused("rows put behind rows")
    planes = []
    for tensor in tensors:
        if not isinstance(tensor, Rows):
            raise NotFused("a constant that differs from row to row")
        if tensor.domain != rows.domain:
            raise NotFused("tensors of different rows side by side")
        planes.append(tensor.planes)
    return Rows(np.concatenate(planes, axis=dim), rows.axis, rows.domain)


def _mm(capture, node, a, b, bias=None):
    if isinstance(a, Rows) and not isinstance(b, Rows) and a.axis == 0:
        value = capture.linear(capture.value(a.planes, a.domain), b.t(), bias)
        return capture.rows((1, value.width), 0, value)
    if isinstance(b, Rows) and not isinstance(a, Rows) and b.axis == 1 and bias is None:
        value = capture.linear(capture.value(b.planes, b.domain), a)
        return capture.rows((value.width, 1), 1, value)
    raise NotFused("a product of two tensors that both depend on the inputs, or over all rows")


def _addmm(capture, node, bias, a, b, **kwargs):
    if kwargs:
        raise NotFused("addmm with factors")
    if isinstance(bias, torch.Tensor) and bias.dim() == 1 and isinstance(a, Rows):
        return _mm(capture, node, a, b, bias)
    return capture.elementwise(lambda x, y: capture.map("add", x, y), _mm(capture, node, a, b), bias)


def _layer_norm(capture, node, tensor, shape, weight, bias, eps):
    rank = tensor.planes.ndim

    def norm(value):
        flat = [None if array is None else array.reshape(-1).numpy() for array in (weight, bias)]
        attributes = {"weight": flat[0], "bias": flat[1], "eps": eps, "is_centered": False}
        return Value("norm", value.domain, value.width, (value,), attributes)

    return [capture.spread(tensor, range(rank - len(shape), rank), norm)]


def _batch_norm(capture, node, tensor, weight, bias, mean, variance, momentum, eps):
    scale = (variance + eps).rsqrt() * (1.0 if weight is None else weight)
    shift = (0.0 if bias is None else bias) - mean * scale
    shape = (-1,) + (1,) * (tensor.planes.ndim - 2)
    scaled = capture.elementwise(lambda a, b: capture.map("mul", a, b), tensor, scale.reshape(shape))
    return [capture.elementwise(lambda a, b: capture.map("add", a, b), scaled, shift.reshape(shape))]


def _softmax(capture, node, tensor, dim, half_to_float, is_log=False):
    def build(value):
        shifted = capture.map("sub", value, capture.reduce("amax", value))
        exps = capture.map("exp", shifted)
        total = capture.reduce("sum", exps)
        return capture.map("sub", shifted, capture.map("log", total)) if is_log else capture.map("div", exps, total)

    return capture.spread(tensor, [dim], build)


def _reduction(name):
    def run(capture, node, tensor, dims=None, keep=False, **kwargs):
        if kwargs.get("dtype") not in (None, torch.float32):
            raise NotFused(f"{name} of another dtype")
        dims = dims if isinstance(dims, (list, tuple)) or dims is None else [dims]
        return capture.reduced(node, tensor, dims, lambda value: capture.reduce(name, value))

    return run


def _vector_norm(capture, node, tensor, order=2, dims=None, keep=False, **kwargs):
    if order != 2:
        raise NotFused(f"a norm of order {order}")

    def build(value):
        return capture.map("sqrt", capture.reduce("sum", capture.map("mul", value, value)))

    return capture.reduced(node, tensor, dims, build)


def _index_select(capture, node, tensor, dim, index):
    indices = [None] * (dim % tensor.planes.ndim) + [index]
    return _index(capture, node, tensor, indices)


def _index(capture, node, tensor, indices):
    if not isinstance(tensor, Rows):
        raise NotFused("constants taken by index")
    used = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    if len(used) != 1:
        raise NotFused("indices in several dimensions")
    dim, index = used[0]
    if dim == tensor.axis:
        if not isinstance(index, Rows) or index.planes.ndim != 1:
            raise NotFused("rows taken by an index that is not one column")
        return capture.gathered(tensor, capture.index(index))
    if isinstance(index, Rows):
        raise NotFused("columns taken by an index that depends on the inputs")
    if index.dim() != 1 or index.dtype == torch.bool:
        raise NotFused("columns taken by an index that is no list")
    return Rows(tensor.planes.take(index.numpy(), axis=dim), tensor.axis, tensor.domain)


def _index_put(capture, node, base, indices, source, accumulate=False):
    used = [index for index in indices if index is not None]
    if not accumulate or len(used) != 1 or indices[0] is None:
        raise NotFused("rows that are overwritten by index")
    return capture.scattered(node, base, capture.index(used[0]), source)


def _scatter_add(capture, node, base, dim, index, source):
    axis = capture.shape_of(node)[1]
    if axis is None or dim % len(node.meta["val"].shape) != axis:
        raise NotFused("a scatter inside a row")
    return capture.scattered(node, base, capture.index(index), source)


def _formula(build):
    """An operation of one tensor and numbers, as a formula of maps: build(capture's map, number, x, *numbers)."""

    def run(capture, node, tensor, *numbers, **kwargs):
        if any(isinstance(number, (Rows, torch.Tensor)) for number in numbers):
            raise NotFused(f"{node.target} of tensors")

        def with_value(x):
            return build(capture.map, lambda number: capture.constant(number, x), x, *numbers, **kwargs)

        return capture.elementwise(with_value, tensor)

    return run


def _clamp(m, c, x, low=None, high=None):
    if low is not None:
        x = m("maximum", x, c(low))
    return x if high is None else m("minimum", x, c(high))


def _gelu(m, c, x, approximate="none"):
    half = m("mul", x, c(0.5))
    if approximate == "none":
        return m("mul", half, m("add", m("erf", m("mul", x, c(math.sqrt(0.5)))), c(1.0)))
    cube = m("mul", m("mul", x, m("mul", x, x)), c(0.044715))
    return m("mul", half, m("add", m("tanh", m("mul", m("add", x, cube), c(math.sqrt(2 / math.pi)))), c(1.0)))


def _elu(m, c, x, alpha=1.0, scale=1.0, input_scale=1.0):
    low = m("mul", m("expm1", m("mul", x, c(input_scale))), c(alpha * scale))
    return m("where", m("gt", x, c(0.0)), m("mul", x, c(scale)), low)


def _leaky_relu(m, c, x, slope=0.01):
    return m("where", m("gt", x, c(0.0)), x, m("mul", x, c(slope)))


def _power(capture, node, tensor, exponent):
    known = {2: lambda m, c, x: m("mul", x, x), 0.5: lambda m, c, x: m("sqrt", x), 1: lambda m, c, x: x}
    known[3] = lambda m, c, x: m("mul", m("mul", x, x), x)
    known[-1] = lambda m, c, x: m("reciprocal", x)
    if isinstance(tensor, Rows) and isinstance(exponent, (int, float)) and exponent in known:
        return _formula(known[exponent])(capture, node, tensor)
    return capture.elementwise(lambda *values: capture.map("pow", *values), tensor, exponent)


def _where(capture, node, condition, a, b):
    return capture.elementwise(lambda *values: capture.map("where", *values), condition, a, b)


def _both(name):
    return lambda capture, node, a, b: capture.elementwise(lambda *values: capture.map(name, *values), a, b)


OPERATIONS = {
    **dict.fromkeys("alias clone contiguous detach lift_fresh_copy dropout".split(), _same),
    "_to_copy": _cast,
    "view": _view,
    "reshape": _view,
    "permute": _permute,
    "transpose": _transpose,
    "t": lambda capture, node, tensor: _transpose(capture, node, tensor, 0, 1),
    "select": _select,
    "slice": _slice,
    "split_with_sizes": _split,
    "split": _split,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "expand": _expand,
    "cat": _cat,
    "mm": _mm,
    "addmm": _addmm,
    "native_layer_norm": _layer_norm,
    "_native_batch_norm_legit_no_training": _batch_norm,
    "_softmax": _softmax,
    "_log_softmax": lambda *args: _softmax(*args, is_log=True),
    "sum": _reduction("sum"),
    "mean": _reduction("mean"),
    "amax": _reduction("amax"),
    "amin": _reduction("amin"),
    "linalg_vector_norm": _vector_norm,
    "index_select": _index_select,
    "index": _index,
    "index_put": _index_put,
    "scatter_add": _scatter_add,
    "clamp": _formula(_clamp),
    "hardtanh": _formula(lambda m, c, x, low=-1.0, high=1.0: _clamp(m, c, x, low, high)),
    "gelu": _formula(_gelu),
    "elu": _formula(_elu),
    "leaky_relu": _formula(_leaky_relu),
    "square": _formula(lambda m, c, x: m("mul", x, x)),
    "log2": _formula(lambda m, c, x: m("mul", m("log", x), c(1 / math.log(2)))),
    "log10": _formula(lambda m, c, x: m("mul", m("log", x), c(1 / math.log(10)))),
    "exp2": _formula(lambda m, c, x: m("exp", m("mul", x, c(math.log(2))))),
    "logical_not": _formula(lambda m, c, x: m("eq", x, c(0.0))),
    "bitwise_not": _formula(lambda m, c, x: m("eq", x, c(0.0))),
    "logical_and": _both("mul"),
    "bitwise_and": _both("mul"),
    "logical_or": _both("maximum"),
    "bitwise_or": _both("maximum"),
    "pow": _power,
    "where": _where,
}


def _block_rows(block, position, domain):
    """The tensor that the model knows, as planes."""
    name = str(block.column_dtype).removeprefix("torch.")
    is_number = block.dtype in (torch.float32, torch.bool)
    if not is_number and block.dtype.is_floating_point:
        raise NotFused(f'block "{block.name}" of {str(block.dtype).removeprefix("torch.")}')
    is_scalar = block.kind == "scalar"
    planes = [InputPlane(position, place, name, domain, is_number, is_scalar) for place in block.places]
    columns, element = len(block.columns), block.element
    array = _objects((columns, math.prod(element)), planes)
    if block.is_transposed:
        return Rows(array.reshape(columns, 1), 1, domain)
    if len(element) == 2:  # planes of a matrix lie column after column
        array = array.reshape(columns, element[1], element[0]).transpose(0, 2, 1)
    shape = block.shape(1)
    return Rows(array.reshape(shape), 0, domain)


def capture(exported, binding, rules):
    """The row program of a torch.export.ExportedProgram that takes a tensor for each input block and gives one for each
    output block, in order. `rules`: of the rows of each output, as in the manifest of packages.

    Raises NotFused with the reason, in words for the user.
    """
    program = exported.run_decompositions()
    signature = program.graph_signature
    if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
        raise NotFused("something that is written")
    domains = tuple(sorted({block.collection for block in binding.inputs}))
    constants = {**program.state_dict, **program.constants}
    named = {**signature.inputs_to_parameters, **signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    users = [node for node in placeholders if node.name not in named]
    if len(users) != len(binding.inputs):
        raise NotFused("other arguments than the input blocks")
    position = {node: i for i, node in enumerate(users)}
    symbols = {}
    for node, i in position.items():
        block = binding.inputs[i]
        size = node.meta["val"].shape[1 if block.is_transposed else 0]
        if isinstance(size, int) or size.node.maybe_as_int() is not None:
            raise NotFused(f"exactly {size} rows of block {block.name}")
        limits = program.range_constraints.get(size.node.expr)
        if limits is None or limits.lower > 2 or limits.upper < 1 << 40:
            raise NotFused(f"a number of rows of block {block.name} that is not any ({limits})")
        domain = domains.index(block.collection)
        if symbols.setdefault(size.node.expr, domain) != domain:
            raise NotFused("equal numbers of rows of two collections")
    trace = _Capture(symbols)
    for node in program.graph.nodes:
        if node.op == "output":
            results = torch.fx.node.map_arg(node.args[0], lambda argument: trace.env[argument])
        elif node.op != "placeholder":
            with torch.no_grad():
                trace.env[node] = trace.run(node)
        elif node in position:
            block = binding.inputs[position[node]]
            trace.env[node] = _block_rows(block, position[node], domains.index(block.collection))
        else:
            trace.env[node] = constants[named[node.name]].detach().cpu()
    return Program(domains, _outputs(trace, results, binding, rules, domains))


def _outputs(trace, results, binding, rules, domains):
    outputs = []
    for i, (block, result, rule) in enumerate(zip(binding.outputs, results, rules)):
        if "rows" in rule:
            raise NotFused(f'block "{block.name}": always the same number of rows')
        if block.dtype != torch.float32 or block.column_dtype != torch.float32:
            raise NotFused(f'block "{block.name}" of {str(block.column_dtype).removeprefix("torch.")}')
        domain = domains.index(rule["collection"])
        if not isinstance(result, Rows):
            result = trace.filled(result, block.shape(1), 1 if block.is_transposed else 0, domain)
        if result.domain != domain:
            raise NotFused(f'block "{block.name}": rows of another collection')
        planes = result.planes
        if not block.is_transposed and len(block.element) == 2:
            planes = planes.swapaxes(-1, -2)
        outputs.append(Output(len(binding.inputs) + i, tuple(block.places), trace.value(planes, domain)))
    return outputs
