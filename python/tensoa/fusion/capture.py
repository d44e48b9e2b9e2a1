# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From an exported model to a row program.

A tensor of the model is an array of planes, with the dimension of the rows left at size 1: what moves numbers about
(permute, cat, select, expand …) moves planes here and costs nothing when the program runs.

Programs calculate in float32. Tensors of truth values are zeros and ones there, and integers are right where float32 holds
them: while they are known to be below 2^24, or where only their order counts (clamp, where, a comparison with what is
below). All else that torch would do in another dtype is not fused.
"""

import contextlib
import functools
import itertools
import math
import struct
from dataclasses import dataclass, replace

import numpy as np
import torch

from tensoa.command import InputError, first_line
from tensoa.fusion import graph, integers
from tensoa.fusion.graph import Output, Program, Value


#: Operations that take sizes.
SHAPED = "full full_like empty_like zeros ones view reshape expand slice repeat native_group_norm".split()
#: Operations that torch.export would take apart: over rows and more at once, or into ranges of uint16, which torch does
#: not calculate on a CPU.
KEPT = [torch.ops.aten.linear.default, torch.ops.aten.matmul.default, torch.ops.aten.eye.default, torch.ops.aten.eye.m]
#: Operations whose result is one of the numbers they are given.
CHOOSING = (
    "alias clone contiguous detach lift_fresh_copy dropout _to_copy view reshape permute transpose t select slice "
    "split split_with_sizes unsqueeze squeeze expand repeat constant_pad_nd cat flip roll index index_select gather "
    "embedding amax amin max min maximum minimum clamp where full full_like empty_like zeros ones"
).split()
#: Operations that take elements and rows in one dimension, the elements first.
FLAT = "alias clone contiguous view reshape linear".split()
EXACT = 1 << 24  # integers up to here are float32 numbers


class NotFused(Exception):
    """Why a model is no row program: what it does, in words for the user."""


@contextlib.contextmanager
def surprises_as_not_fused():
    """Any other error than one of the user's in the block becomes a NotFused: TorchInductor may still take the model."""
    try:
        yield
    except (NotFused, InputError):
        raise
    except Exception as error:  # noqa: BLE001: whatever torch, NumPy or a gap in this package throws
        raise NotFused(f"an unexpected error ({type(error).__name__}: {first_line(error)})") from error


@dataclass(frozen=True)
class InputPlane:
    """A plane of an input block, not yet used as a number or as an index."""

    block: int
    plane: int
    dtype: str  # of the column
    domain: int
    is_scalar: bool  # one number for all rows
    steps: tuple = ()  # of integers.py


@dataclass(eq=False)
class Rows:
    """A tensor with rows: `planes` has its shape, with 1 in the place `axis` of the rows. A plane is an InputPlane, a
    (Value, number in its row), or a Python number, the same in all rows.

    A dimension that is rows and elements in one, as after view(-1, F), has the elements of one row in that place; `outer`
    of them vary more slowly than the rows.
    """

    planes: np.ndarray
    axis: int
    domain: int
    dtype: torch.dtype = torch.float32  # of the model's tensor
    outer: int = 1

    @property
    def is_whole(self):
        """Whether these are integers."""
        return not self.dtype.is_floating_point and self.dtype != torch.bool


def _name(dtype):
    return str(dtype).removeprefix("torch.")


def _objects(shape, items):
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = item
    return array.reshape(shape)


def _bits(plane):
    """A plane as a key: of numbers those of a double, since 0 == -0 and NaN != NaN."""
    return struct.pack("d", plane) if isinstance(plane, (int, float)) else plane


class _Capture:
    def __init__(self, symbols):
        self.symbols = symbols  # of sizes: their domain
        self.made = {}
        self.env = {}
        self.bound = graph.Bounds()

    # ---- values

    def once(self, key, make):
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def _input(self, planes):
        first = planes[0]
        if any((plane.block, plane.steps) != (first.block, first.steps) for plane in planes):
            raise ValueError("planes of several blocks, or after several steps, are not one input")
        places = tuple(plane.plane for plane in planes)
        attributes = {"block": first.block, "planes": places, "dtype": first.dtype, "is_scalar": first.is_scalar}
        attributes["steps"] = first.steps
        return self.once(
            ("input", first.block, places, first.steps), lambda: Value("input", first.domain, len(places), (), attributes)
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
                if run and (run[0].block, run[0].steps) != (plane.block, plane.steps):
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
        return self.once(("number", _bits(number), domain), lambda: graph.constant(domain, [number]))

    def value(self, planes, domain):
        """The planes of an array, side by side."""
        planes = list(planes.reshape(-1))
        if all(isinstance(plane, (int, float)) for plane in planes):
            key = ("constant", domain, *map(_bits, planes))
            return self.once(key, lambda: graph.constant(domain, planes))
        packed = graph.pack(self.parts(self.read_once(planes), domain))
        if packed.op != "pack":
            return packed
        key = ("pack", tuple(id(part) for part in packed.args), packed.ranges)
        return self.once(key, lambda: packed)

    def read_once(self, planes):
        """Planes, where input planes that come several times are taken from a value that has each once."""
        inputs = [plane for plane in planes if isinstance(plane, InputPlane)]
        distinct = sorted(set(inputs), key=lambda plane: (plane.block, plane.steps, plane.plane))
        if len(distinct) == len(inputs):
            return planes
        places = {}
        for _, group in itertools.groupby(distinct, key=lambda plane: (plane.block, plane.steps)):
            group = list(group)
            value = self._input(group)
            places.update((plane, (value, i)) for i, plane in enumerate(group))
        return [places.get(plane, plane) for plane in planes]

    def map(self, name, *args):
        return self.once(("map", name, *(id(arg) for arg in args)), lambda: graph.apply(name, *args))

    def index(self, rows):
        """The one integer plane of a tensor that is used to gather or scatter."""
        self.need_rows(rows)
        planes = list({plane: None for plane in rows.planes.reshape(-1)}) if isinstance(rows, Rows) else []
        if len(planes) != 1 or not isinstance(planes[0], InputPlane) or planes[0].is_scalar:
            raise NotFused("indices that are computed, or not one column")
        if rows.dtype not in (torch.int32, torch.int64):
            raise NotFused(f"indices of {_name(rows.dtype)}")
        plane = planes[0]
        attributes = {"block": plane.block, "plane": plane.plane, "dtype": plane.dtype, "steps": plane.steps}
        return self.once(
            ("index", plane.block, plane.plane, plane.steps), lambda: Value("index", plane.domain, 1, (), attributes)
        )

    # ---- shapes

    def domain_of(self, size):
        """(how many elements of each row, domain) of a size; domain None for a number."""
        number = size if isinstance(size, int) else size.node.maybe_as_int()
        if number is not None:
            return int(number), None
        elements, symbol = size.node.expr.as_coeff_Mul()
        if symbol not in self.symbols or not elements.is_Integer or elements < 1:
            raise NotFused(f"a dimension of {size.node.expr} elements")
        return int(elements), self.symbols[symbol]

    def shape_of(self, node):
        """(shape as of Rows.planes, axis, domain) of what a node gives (first); axis None without rows."""
        shape, axis, domain = [], None, None
        value = node.meta["val"]
        for i, size in enumerate((value[0] if isinstance(value, (list, tuple)) else value).shape):
            elements, found = self.domain_of(size)
            shape.append(elements)
            if found is None:
                continue
            if axis is None:
                axis, domain = i, found
            else:
                raise NotFused("a tensor with rows in two dimensions")
        return tuple(shape), axis, domain

    def rows(self, shape, axis, value):
        """The numbers of a value as a tensor of this shape."""
        return Rows(_objects(shape, [(value, i) for i in range(value.width)]), axis, value.domain)

    # ---- operations

    def broadcast(self, *args):
        """Arrays of planes of one shape, and the axis and domain of its rows."""
        axis = domain = elements = None
        arrays = []
        rank = max(arg.planes.ndim if isinstance(arg, Rows) else torch.as_tensor(arg).dim() for arg in args)
        for arg in args:
            if isinstance(arg, Rows):
                at = arg.axis + rank - arg.planes.ndim
                size = arg.planes.shape[arg.axis]
                if axis is not None and (axis, domain, elements) != (at, arg.domain, size):
                    raise NotFused("arithmetic between tensors of different rows")
                axis, domain, elements = at, arg.domain, size
                arrays.append(arg.planes)
            else:
                tensor = torch.as_tensor(arg)
                arrays.append(_objects(tuple(tensor.shape), tensor.reshape(-1).tolist()))
        others = [array for arg, array in zip(args, arrays) if not isinstance(arg, Rows)]
        if any(array.ndim >= rank - axis and array.shape[array.ndim - rank + axis] != 1 for array in others):
            raise NotFused("a constant that differs from row to row")
        arrays = np.broadcast_arrays(*arrays)
        return arrays, axis, domain

    def operand(self, planes, domain):
        flat = list(planes.reshape(-1))
        if len(set(map(_bits, flat))) == 1:
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
        """build(value, times) of the planes along `dims`, a group for each position of the others, those that are the
        same once: [planes of the result] of each group, the dimensions in order, the shape with them as the last.
        """
        rank = tensor.planes.ndim
        dims = sorted({dim % rank for dim in dims}) if dims else list(range(rank))
        if tensor.axis in dims:
            raise NotFused("a sum or maximum over all rows")
        moved = np.moveaxis(tensor.planes, dims, range(rank - len(dims), rank))
        groups = [tuple(group) for group in moved.reshape(math.prod(moved.shape[: rank - len(dims)]), -1)]
        keys = [tuple(map(_bits, group)) for group in groups]
        distinct = dict(zip(keys, groups))
        places = {key: i for i, key in enumerate(distinct)}
        planes = [plane for group in distinct.values() for plane in group]
        value = build(self.value(_objects((-1,), planes), tensor.domain), len(places))
        width = value.width // len(places)
        made = [[(value, i) for i in range(places[key] * width, (places[key] + 1) * width)] for key in keys]
        return made, dims, moved.shape

    def reduced(self, node, tensor, dims, build):
        made, _, _ = self.over(tensor, dims, build)
        shape, axis, domain = self.shape_of(node)
        return Rows(_objects(shape, [plane for group in made for plane in group]), axis, domain)

    def spread(self, tensor, dims, build):
        """As over(), for functions that give as many numbers as they take."""
        made, dims, shape = self.over(tensor, dims, build)
        rank = tensor.planes.ndim
        planes = _objects(shape, [plane for group in made for plane in group])
        return Rows(np.moveaxis(planes, range(rank - len(dims), rank), dims), tensor.axis, tensor.domain)

    def reduce(self, name, value, times):
        if value.width == times:
            return value
        return self.once(("reduce", name, id(value), times), lambda: graph.reduce(name, value, times))

    def each(self, value, like):
        """The numbers of groups, for a map with all numbers of the groups, `like`."""
        if value.width in (1, like.width):
            return value
        count = like.width // value.width
        planes = _objects((-1,), [(value, i) for i in range(value.width) for _ in range(count)])
        return self.value(planes, value.domain)

    def constant(self, number, like):
        return self.number(number, like.domain)

    def linear(self, x, weight, bias=None, times=1):
        return graph.linear(x, weight.numpy(), None if bias is None else bias.numpy(), times)

    def gathered(self, tensor, index):
        self.need_rows(tensor)
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

    def need_rows(self, *tensors):
        for tensor in tensors:
            if isinstance(tensor, Rows) and tensor.planes.shape[tensor.axis] != 1:
                raise NotFused("rows and elements in one dimension")

    def scattered(self, node, base, index, source):
        """base with the rows of `source` added at `index`."""
        shape, axis, domain = self.shape_of(node)
        if axis is None:
            raise NotFused("a sum into something without rows")
        self.need_rows(base, source)
        if shape[axis] != 1:
            raise NotFused("rows and elements in one dimension")
        if not isinstance(source, Rows):
            source = self.filled(source, shape, axis, index.domain)
        if source.planes.ndim < len(shape):
            source = replace(
                source,
                planes=source.planes[(None,) * (len(shape) - source.planes.ndim)],
                axis=source.axis + len(shape) - source.planes.ndim,
            )
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

    def small(self, arg):
        """Whether all numbers are integers (or truth values) that float32 holds."""
        if not isinstance(arg, Rows):
            tensor = torch.as_tensor(arg)
            return not tensor.is_floating_point() and bool((tensor.abs() < EXACT).all())
        return arg.dtype == torch.bool or (arg.is_whole and self.largest(arg) < EXACT)

    def largest(self, rows):
        parts = self.parts(rows.planes.reshape(-1), rows.domain)
        return max((self.bound(value) for value, _, _ in parts), default=0.0)

    # ---- the graph

    def run(self, node):
        name = node.target.__name__ if callable(node.target) else str(node.target)
        args = torch.fx.node.map_arg(node.args, lambda argument: self.env[argument])
        kwargs = torch.fx.node.map_arg(node.kwargs, lambda argument: self.env[argument])
        if name == "getitem":
            return args[0][args[1]]
        name = name.partition(".")[0]
        if name.startswith("_assert"):
            return None
        result = node.meta["val"]
        if isinstance(result, torch.SymInt):
            return result  # arithmetic on numbers of rows
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            raise NotFused(f"random numbers ({name})")
        result = self.operation(node, name, args, kwargs)
        if isinstance(result, list):
            return [self.typed(name, item, value) for item, value in zip(result, node.meta["val"])]
        return self.typed(name, result, node.meta["val"])

    def typed(self, name, result, value):
        """The result of an operation, with the dtype of the model's tensor. Raises where float32 does not do."""
        if not isinstance(result, Rows):
            return result
        result = replace(result, dtype=value.dtype)
        if value.dtype not in (torch.float32, torch.bool) and not result.is_whole:
            raise NotFused(f"numbers of {_name(value.dtype)}")
        if result.is_whole and name not in CHOOSING and not _are_columns(result):
            if self.largest(result) > min(EXACT, torch.iinfo(value.dtype).max) or value.dtype == torch.uint8:
                raise NotFused(f"arithmetic on integers ({name} of {_name(value.dtype)})")
        return result

    def operation(self, node, name, args, kwargs):
        flat = [*args, *kwargs.values()]
        flat = [item for arg in flat for item in (arg if isinstance(arg, (list, tuple)) else [arg])]
        if name not in SHAPED and any(isinstance(item, torch.SymInt) for item in flat):
            raise NotFused(f"{name} of a number of rows")
        if name in ("full", "full_like", "empty_like", "zeros", "ones"):
            return self.full(node, name, args, kwargs)
        if name in ("expand", "repeat") and not isinstance(args[0], Rows):
            shape, axis, domain = self.shape_of(node)
            sizes = [1 if isinstance(size, torch.SymInt) else size for size in args[1]]
            tensor = args[0].expand(shape) if name == "expand" else args[0].repeat(sizes)
            return tensor if axis is None else self.filled(tensor, shape, axis, domain)
        if not any(isinstance(item, Rows) for item in flat):
            return node.target(*args, **kwargs)
        if name not in FLAT and any(isinstance(item, Rows) and item.outer != 1 for item in flat):
            raise NotFused(f"{name} of elements and rows in one dimension")
        stepped = self.stepped(node, name, args, kwargs)
        if stepped is not None:
            return stepped
        operation = OPERATIONS.get(name)
        if operation is not None:
            return operation(self, node, *args, **kwargs)
        if name not in graph.UNARY and name not in graph.BINARY:
            raise NotFused(f"the operation {name}")
        if kwargs:
            raise NotFused(f"{name} with {', '.join(kwargs)}")
        if name in graph.COMPARISONS:
            self.check_comparison(args)
        elif node.meta["val"].dtype == torch.bool:
            name = {"add": "maximum"}.get(name, name)
        return self.elementwise(lambda *values: self.map(name, *values), *args)

    def stepped(self, node, name, args, kwargs):
        """Arithmetic of columns of integers with constants, or None for all else."""
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor) or value.dtype.is_floating_point or value.dtype == torch.bool:
            return None
        tensor = next(arg for arg in [*args, *kwargs.values()] if isinstance(arg, (Rows, list, tuple)))
        if not isinstance(tensor, Rows) or not _are_columns(tensor) or tensor.dtype.is_floating_point:
            return None
        if name == "_to_copy":
            steps = [] if _holds(value.dtype, tensor.dtype) else [("cast", 0)]
        elif kwargs:
            return None
        else:
            steps = _steps(name, args)
        low, high = integers.limits(_name(value.dtype))
        if steps is None or any(name in ("maximum", "minimum") and not low <= number <= high for name, number in steps):
            return None
        added = tuple((*step, _name(value.dtype)) for step in steps)
        planes = [replace(plane, steps=plane.steps + added) for plane in tensor.planes.reshape(-1)]
        return replace(tensor, planes=_objects(tensor.planes.shape, planes))

    def check_comparison(self, args):
        tensors = [arg for arg in args if isinstance(arg, (Rows, torch.Tensor))]
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor) and tensor.dim() and tensor.dtype == torch.float64:
                raise NotFused("numbers of float64")
        is_float = any(isinstance(arg, float) or getattr(arg, "dtype", torch.bool).is_floating_point for arg in args)
        if not is_float and not any(self.small(arg) for arg in args):
            raise NotFused("comparisons of integers that float32 may not hold")

    def full(self, node, name, args, kwargs):
        shape, axis, domain = self.shape_of(node)
        number = {"ones": 1.0}.get(name, args[1] if name.startswith("full") else 0.0)
        if isinstance(number, torch.SymInt):
            raise NotFused(f"{name} of a number of rows")
        dtype = node.meta["val"].dtype
        if axis is None:
            return torch.full(shape, number, dtype=dtype)
        return self.filled(torch.tensor(number, dtype=dtype), shape, axis, domain)


def _are_columns(rows):
    return all(isinstance(plane, InputPlane) for plane in rows.planes.reshape(-1))


def _steps(name, args):
    """(name, constant) of the steps that an operation of a tensor of integers is; None where it is none."""
    numbers = [
        int(arg) if isinstance(arg, torch.Tensor) and arg.dim() == 0 and not arg.is_floating_point() else arg for arg in args
    ]
    if any(not isinstance(number, (Rows, int, type(None))) for number in numbers):
        return None
    at = [i for i, number in enumerate(numbers) if isinstance(number, Rows)]
    if name == "neg":
        return [("rsub", 0)]
    if name == "clamp" and at == [0]:
        low, high = (*numbers[1:], None, None)[:2]
        return [step for step in (("maximum", low), ("minimum", high)) if step[1] is not None]
    if len(at) != 1 or len(numbers) != 2:
        return None
    number = numbers[1 - at[0]]
    if name == "sub":
        return [("add", -number)] if at == [0] else [("rsub", number)]
    return [(name, number)] if name in ("add", "mul", "maximum", "minimum") else None


def _same(capture, node, tensor, *args, **kwargs):
    return tensor


def _nonzero(capture, arg):
    """As truth values."""
    if not isinstance(arg, Rows):
        return torch.as_tensor(arg) != 0
    return arg if arg.dtype == torch.bool else capture.elementwise(lambda *x: capture.map("ne", *x), arg, 0.0)


def _holds(wide, narrow):
    """Whether every number of the integers (or truth values) `narrow` is one of the integers `wide`."""
    if torch.bool in (wide, narrow):
        return narrow == torch.bool
    from_, to = torch.iinfo(narrow), torch.iinfo(wide)
    return to.min <= from_.min and from_.max <= to.max


def _cast(capture, node, tensor, *args, dtype=None, **kwargs):
    if dtype == torch.bool:
        return _nonzero(capture, tensor)
    if dtype is None or dtype.is_floating_point or tensor.dtype == torch.bool:
        return tensor
    if tensor.dtype.is_floating_point:
        whole = capture.elementwise(lambda x: capture.map("trunc", x), tensor)
        is_short = torch.iinfo(dtype).bits < 32  # what a longer one does not hold, torch leaves undefined
        if is_short and (torch.iinfo(dtype).min == 0 or capture.largest(whole) > torch.iinfo(dtype).max):
            raise NotFused(f"{_name(tensor.dtype)} made {_name(dtype)}, which may not hold it")
        return whole
    if not _holds(dtype, tensor.dtype) and (torch.iinfo(dtype).min == 0 or capture.largest(tensor) > torch.iinfo(dtype).max):
        raise NotFused(f"{_name(tensor.dtype)} made {_name(dtype)}, which may not hold it")
    return tensor


def _view(capture, node, tensor, *args):
    shape, axis, domain = capture.shape_of(node)
    before = math.prod(tensor.planes.shape[: tensor.axis]) * tensor.outer
    if axis is None or before % math.prod(shape[:axis]) != 0:
        raise NotFused("a reshape across the rows")
    outer = before // math.prod(shape[:axis])
    if shape[axis] % outer != 0:
        raise NotFused("a reshape across the rows")
    return replace(tensor, planes=tensor.planes.reshape(shape), axis=axis, outer=outer)


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


def _linear(capture, node, tensor, weight, bias=None):
    if not isinstance(tensor, Rows) or isinstance(weight, Rows) or isinstance(bias, Rows):
        raise NotFused("a layer whose weights depend on the inputs")
    if tensor.axis == tensor.planes.ndim - 1:
        raise NotFused("a product over all rows")
    made, _, shape = capture.over(tensor, [-1], lambda value, times: capture.linear(value, weight, bias, times))
    planes = _objects((*shape[:-1], weight.shape[0]), [plane for group in made for plane in group])
    return replace(tensor, planes=planes)


def _matmul(capture, node, a, b):
    ranks = [arg.planes.ndim if isinstance(arg, Rows) else arg.dim() for arg in (a, b)]
    if ranks[1] == 2 and not isinstance(b, Rows):
        return _linear(capture, node, a, b.t())
    if ranks == [2, 2]:
        return _mm(capture, node, a, b)
    if min(ranks) < 2:
        raise NotFused("a product with a vector")
    if ranks[0] == 2 and not isinstance(a, Rows):
        return _swapped(_linear(capture, node, _swapped(b), a))
    return _bmm(capture, node, a, b)


def _bmm(capture, node, a, b):
    """[…, i, k] by […, k, j]"""
    (left, right), axis, domain = capture.broadcast(
        _unsqueezed(a, -2), _swapped(_unsqueezed(b, -3))
    )  # […, i, j, k]
    if axis >= left.ndim - 1:
        raise NotFused("a product over all rows")
    times, inner = math.prod(left.shape[:-3]), left.shape[-1]
    x = capture.value(left[..., :, 0, :], domain)
    y = capture.value(right[..., 0, :, :].swapaxes(-1, -2), domain)
    value = graph.product(x, y, inner, times)
    return Rows(_objects(left.shape[:-1], [(value, i) for i in range(value.width)]), axis, domain)


def _unsqueezed(tensor, dim):
    return _unsqueeze(None, None, tensor, dim) if isinstance(tensor, Rows) else tensor.unsqueeze(dim)


def _swapped(tensor):
    return _transpose(None, None, tensor, -1, -2) if isinstance(tensor, Rows) else tensor.transpose(-1, -2)


def _convolution(capture, node, tensor, weight, bias, stride, padding, dilation, is_transposed, more, groups):
    """One element wide it is a linear layer over the channels, for each place."""
    is_one_wide = not isinstance(weight, Rows) and math.prod(weight.shape[2:]) == 1 and not is_transposed
    if not is_one_wide or groups != 1 or any(size != 1 for size in stride) or any(padding):
        raise NotFused("a convolution over more than one element, with strides, padding or groups")
    if not isinstance(tensor, Rows) or tensor.axis != 0 or tensor.planes.ndim != weight.ndim:
        raise NotFused("a convolution over the rows")
    last = tensor.planes.ndim - 1
    moved = _permute(capture, node, tensor, [0, *range(2, last + 1), 1])
    return _permute(capture, node, _linear(capture, node, moved, weight.flatten(1), bias), [0, last, *range(1, last)])


def _mm(capture, node, a, b, bias=None):
    if isinstance(a, Rows) and not isinstance(b, Rows) and a.axis == 0:
        return _linear(capture, node, a, b.t(), bias)
    if isinstance(b, Rows) and not isinstance(a, Rows) and b.axis == 1 and bias is None:
        capture.need_rows(b)
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

    def norm(value, times):
        flat = [None if array is None else array.reshape(-1).numpy() for array in (weight, bias)]
        return graph.norm(value, *flat, eps, times)

    return [capture.spread(tensor, range(rank - len(shape), rank), norm)]


def _scaled(capture, tensor, scale, shift):
    """Times `scale` plus `shift`, numbers for each element of dimension 1, or None."""
    shape = (-1,) + (1,) * (tensor.planes.ndim - 2)
    for name, numbers in (("mul", scale), ("add", shift)):
        if numbers is not None:
            build = functools.partial(capture.map, name)
            tensor = capture.elementwise(build, tensor, numbers.reshape(shape))
    return tensor


def _batch_norm(capture, node, tensor, weight, bias, mean, variance, momentum, eps):
    if tensor.axis == 1:
        raise NotFused("batch normalisation of rows")
    centred = _scaled(capture, tensor, None, -mean)  # first: the mean may be far larger than the rest
    scale = (variance + eps).rsqrt() * (1.0 if weight is None else weight)
    return [_scaled(capture, centred, scale, bias)]


def _group_norm(capture, node, tensor, weight, bias, rows, channels, size, groups, eps):
    if tensor.axis != 0:
        raise NotFused("group normalisation of rows")
    capture.need_rows(tensor)
    shape = tensor.planes.shape
    grouped = Rows(tensor.planes.reshape(1, groups, -1), 0, tensor.domain)
    normed = _layer_norm(capture, node, grouped, [channels * size // groups], None, None, eps)[0]
    return [_scaled(capture, replace(normed, planes=normed.planes.reshape(shape)), weight, bias)]


def _softmax(capture, node, tensor, dim, half_to_float, is_log=False):
    def build(value, times):
        shifted = capture.map("sub", value, capture.each(capture.reduce("amax", value, times), value))
        exps = capture.map("exp", shifted)
        total = capture.each(capture.reduce("sum", exps, times), value)
        return capture.map("sub", shifted, capture.map("log", total)) if is_log else capture.map("div", exps, total)

    return capture.spread(tensor, [dim], build)


def _reduction(name):
    def run(capture, node, tensor, dims=None, keep=False, **kwargs):
        if kwargs.get("dtype") not in (None, torch.float32) and tensor.dtype.is_floating_point:
            raise NotFused(f"{name} of another dtype")
        dims = dims if isinstance(dims, (list, tuple)) or dims is None else [dims]
        return capture.reduced(node, tensor, dims, functools.partial(capture.reduce, name))

    return run


def _extreme(name):
    """max and min: of two tensors, or along a dimension, with the place where it is."""

    def run(capture, node, tensor, *args, **kwargs):
        if not args or isinstance(args[0], (Rows, torch.Tensor)):
            raise NotFused("a sum or maximum over all rows")
        dim, keep = (*args, False)[:2]
        is_place_used = any(user.users for user in node.users if user.args[1] == 1)
        place = _place(name)(capture, node, tensor, dim) if is_place_used else None
        return [_reduction(name)(capture, node, tensor, dim), place]

    return run


def _place(name):
    """argmax and argmin: the first place of the extreme, or of what is no number."""

    def run(capture, node, tensor, dim=None, keep=False):
        if tensor.is_whole and not capture.small(tensor):
            raise NotFused("the place of an extreme among integers that float32 may not hold")

        def build(value, times):
            m, width = capture.map, value.width // times
            places = graph.constant(value.domain, np.tile(np.arange(width), times))
            extreme = capture.each(capture.reduce(name, value, times), value)
            is_it = m("maximum", m("eq", value, extreme), m("ne", value, value))
            return capture.reduce("amin", m("where", is_it, places, capture.constant(width, value)), times)

        return capture.reduced(node, tensor, None if dim is None else [dim], build)

    return run


def _any(name):
    def run(capture, node, tensor, dims=None, keep=False):
        return _reduction(name)(capture, node, _nonzero(capture, tensor), dims)

    return run


def _variance(capture, node, tensor, dims=None, correction=None, keepdim=False):
    correction = 1 if correction is None else correction

    def build(value, times):
        centred = capture.map("sub", value, capture.each(capture.reduce("mean", value, times), value))
        total = capture.reduce("sum", capture.map("mul", centred, centred), times)
        return capture.map("div", total, capture.constant(max(0.0, value.width // times - correction), value))

    return capture.reduced(node, tensor, dims, build)


def _vector_norm(capture, node, tensor, order=2, dims=None, keep=False, **kwargs):
    m = capture.map
    known = {
        2: lambda x, times: m("sqrt", capture.reduce("sum", m("mul", x, x), times)),
        1: lambda x, times: capture.reduce("sum", m("abs", x), times),
        math.inf: lambda x, times: capture.reduce("amax", m("abs", x), times),
    }
    if order not in known:
        raise NotFused(f"a norm of order {order}")
    return capture.reduced(node, tensor, dims, known[order])


def _flip(capture, node, tensor, dims):
    dims = [dim % tensor.planes.ndim for dim in dims]
    if tensor.axis in dims:
        raise NotFused("rows in reverse order")
    return replace(tensor, planes=np.flip(tensor.planes, dims))


def _roll(capture, node, tensor, shifts, dims=()):
    dims = [dim % tensor.planes.ndim for dim in dims]
    if tensor.axis in dims or not dims:
        raise NotFused("rows moved to others")
    return replace(tensor, planes=np.roll(tensor.planes, shifts, dims))


def _embedding(capture, node, table, tensor, *args, **kwargs):
    """Rows of a constant table, for each number of the tensor."""
    if isinstance(table, Rows):
        return _index_select(capture, node, table, 0, tensor)
    items = []
    for plane in tensor.planes.reshape(-1):
        index = capture.index(replace(tensor, planes=_objects((1,), [plane])))
        value = capture.once(
            ("lookup", id(table), id(index)),
            lambda: Value("lookup", index.domain, table.shape[1], (index,), {"table": table.numpy()}),
        )
        items += [(value, i) for i in range(value.width)]
    return Rows(_objects((*tensor.planes.shape, table.shape[1]), items), tensor.axis, tensor.domain)


def _repeat(capture, node, tensor, sizes):
    axis = tensor.axis + len(sizes) - tensor.planes.ndim
    if isinstance(sizes[axis], torch.SymInt) or sizes[axis] != 1:
        raise NotFused("rows put behind rows")
    return Rows(np.tile(tensor.planes, sizes), axis, tensor.domain)


def _pad(capture, node, tensor, widths, number=0.0):
    pairs = [(0, 0)] * (tensor.planes.ndim - len(widths) // 2) + list(zip(widths[::2], widths[1::2]))[::-1]
    if any(pairs[tensor.axis]) or min(min(pair) for pair in pairs) < 0:
        raise NotFused("more or fewer rows")
    return replace(tensor, planes=np.pad(tensor.planes, pairs, constant_values=float(number)))


def _gather(capture, node, tensor, dim, index, **kwargs):
    """Rows by an index that is the same for all elements that it has."""
    if not isinstance(tensor, Rows) or not isinstance(index, Rows) or dim % tensor.planes.ndim != tensor.axis:
        raise NotFused("columns taken by an index that depends on the inputs")
    part = tuple(slice(size) for size in index.planes.shape)
    return capture.gathered(replace(tensor, planes=tensor.planes[part]), capture.index(index))


def _index_select(capture, node, tensor, dim, index):
    indices = [None] * (dim % tensor.planes.ndim) + [index]
    return _index(capture, node, tensor, indices)


def _index(capture, node, tensor, indices):
    used = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    if len(used) != 1:
        raise NotFused("indices in several dimensions")
    dim, index = used[0]
    if not isinstance(tensor, Rows):
        if dim or tensor.dim() != 2:
            raise NotFused("constants taken by index")
        return _embedding(capture, node, tensor, index)
    if dim == tensor.axis:
        if not isinstance(index, Rows) or (index.planes.ndim != 1 and tensor.axis != 0):
            raise NotFused("rows taken by an index that is not one column")
        if index.planes.ndim == 1:
            return capture.gathered(tensor, capture.index(index))
        columns = [replace(index, planes=_objects((1,), [plane])) for plane in index.planes.reshape(-1)]
        parts = [capture.gathered(tensor, capture.index(column)).planes[0] for column in columns]
        planes = np.stack(parts).reshape(*index.planes.shape, *tensor.planes.shape[1:])
        return Rows(planes, index.axis, index.domain)
    if isinstance(index, Rows):
        raise NotFused("columns taken by an index that depends on the inputs")
    if index.dim() != 1 or index.dtype == torch.bool:
        raise NotFused("columns taken by an index that is no list")
    return Rows(tensor.planes.take(index.numpy(), axis=dim), tensor.axis, tensor.domain)


def _index_put(capture, node, base, indices, source, accumulate=False):
    used = [index for index in indices if index is not None]
    if not accumulate or len(used) != 1 or indices[0] is None:
        raise NotFused("rows that are overwritten by index")
    if not isinstance(used[0], Rows) or used[0].planes.ndim != 1:
        raise NotFused("rows summed by an index that is not one column")
    return capture.scattered(node, base, capture.index(used[0]), source)


def _scatter_add(capture, node, base, dim, index, source):
    shape, axis, _ = capture.shape_of(node)
    if axis is None or dim % len(node.meta["val"].shape) != axis:
        raise NotFused("a scatter inside a row")
    column = capture.index(index)  # the same for all elements that it has; others are not summed
    part = tuple(slice(size) for size in index.planes.shape)
    planes = _objects(shape, [0.0] * math.prod(shape))
    if isinstance(source, Rows):
        if source.axis != axis:
            raise NotFused("a sum whose rows are not those of its index")
        planes[part] = source.planes[part]
        source = replace(source, planes=planes)
    return capture.scattered(node, base, column, source)


def _scatter_reduce(capture, node, base, dim, index, source, how, include_self=True):
    if how not in ("sum", "mean") or (how == "sum" and not include_self):
        raise NotFused(f"rows reduced by index ({how})")
    shape, axis, _ = capture.shape_of(node)
    zero = torch.zeros(())
    ones = Rows(_objects((1,) * len(shape), [1.0]), axis, index.domain)
    sums = _scatter_add(capture, node, base if include_self else zero, dim, index, source)
    if how == "sum":
        return sums
    one = replace(ones, planes=np.broadcast_to(ones.planes, index.planes.shape))
    counts = _scatter_add(capture, node, zero, dim, index, one)
    m = capture.map
    if include_self:
        return capture.elementwise(lambda x, n, k: m("div", x, m("add", n, k)), sums, counts, 1.0)

    def mean(x, n, k, old):
        return m("where", m("ge", n, k), m("div", x, m("maximum", n, k)), old)

    return capture.elementwise(mean, sums, counts, 1.0, base)


def _formula(build):
    """An operation of one tensor and numbers, as a formula of maps: build(capture's map, number, x, *numbers)."""

    def run(capture, node, tensor, *numbers, **kwargs):
        if any(isinstance(number, (Rows, torch.Tensor)) for number in numbers):
            raise NotFused(f"{node.target} of tensors")

        def with_value(x):
            return build(capture.map, lambda number: capture.constant(number, x), x, *numbers, **kwargs)

        return capture.elementwise(with_value, tensor)

    return run


def _clamp(capture, node, tensor, low=None, high=None):
    for name, limit in (("maximum", low), ("minimum", high)):
        if limit is not None:
            tensor = capture.elementwise(functools.partial(capture.map, name), tensor, limit)
    return tensor


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
    if isinstance(tensor, (int, float)) and tensor == 2:
        return capture.elementwise(lambda x: capture.map("exp2", x), exponent)
    return capture.elementwise(lambda *values: capture.map("pow", *values), tensor, exponent)


def _logical(name):
    def run(capture, node, *args):
        return capture.elementwise(lambda *values: capture.map(name, *values), *(_nonzero(capture, arg) for arg in args))

    return run


def _bitwise(name):
    def run(capture, node, *args):
        if node.meta["val"].dtype != torch.bool:
            raise NotFused(f"bits of {_name(node.meta['val'].dtype)}")
        return _logical(name)(capture, node, *args)

    return run


def _where(capture, node, condition, a, b):
    return capture.elementwise(lambda *values: capture.map("where", *values), condition, a, b)


def _not(m, c, x):
    return m("eq", x, c(0.0))


def _remainder(capture, node, a, b):
    """Of a division that rounds down: that of fmod, with the sign of b."""
    m = capture.map

    def build(x, y):
        rest, zero = m("fmod", x, y), capture.constant(0.0, x)
        is_other = m("mul", m("ne", rest, zero), m("ne", m("lt", rest, zero), m("lt", y, zero)))
        return m("where", is_other, m("add", rest, y), rest)

    return capture.elementwise(build, a, b)


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
    "repeat": _repeat,
    "constant_pad_nd": _pad,
    "flip": _flip,
    "roll": _roll,
    "embedding": _embedding,
    "linear": _linear,
    "convolution": _convolution,
    "matmul": _matmul,
    "bmm": _bmm,
    "mm": _mm,
    "addmm": _addmm,
    "native_layer_norm": _layer_norm,
    "_native_batch_norm_legit_no_training": _batch_norm,
    "native_group_norm": _group_norm,
    "_softmax": _softmax,
    "_log_softmax": lambda *args: _softmax(*args, is_log=True),
    "sum": _reduction("sum"),
    "mean": _reduction("mean"),
    "amax": _reduction("amax"),
    "amin": _reduction("amin"),
    "max": _extreme("amax"),
    "min": _extreme("amin"),
    "argmax": _place("amax"),
    "argmin": _place("amin"),
    "any": _any("amax"),
    "all": _any("amin"),
    "var": _variance,
    "linalg_vector_norm": _vector_norm,
    "index_select": _index_select,
    "index": _index,
    "index_put": _index_put,
    "scatter_add": _scatter_add,
    "scatter_reduce": _scatter_reduce,
    "gather": _gather,
    "clamp": _clamp,
    "hardtanh": lambda capture, node, x, low=-1.0, high=1.0: _clamp(capture, node, x, low, high),
    "gelu": _formula(_gelu),
    "elu": _formula(_elu),
    "leaky_relu": _formula(_leaky_relu),
    "square": _formula(lambda m, c, x: m("mul", x, x)),
    "isnan": _formula(lambda m, c, x: m("ne", x, x)),
    "isinf": _formula(lambda m, c, x: m("eq", m("abs", x), c(math.inf))),
    "remainder": _remainder,
    "logical_not": lambda capture, node, x: _formula(_not)(capture, node, _nonzero(capture, x)),
    "logical_and": _logical("mul"),
    "logical_or": _logical("maximum"),
    "logical_xor": _logical("ne"),
    "bitwise_and": _bitwise("mul"),
    "bitwise_or": _bitwise("maximum"),
    "bitwise_xor": _bitwise("ne"),
    "bitwise_not": lambda capture, node, x: _bitwise("ne")(capture, node, x, True),
    "pow": _power,
    "where": _where,
}


def _block_rows(block, position, domain):
    """The tensor that the model knows, as planes."""
    name, steps = _name(block.column_dtype), ()
    if block.dtype != torch.float32 and block.dtype != block.column_dtype:
        if block.dtype == torch.bool or block.dtype.is_floating_point or block.column_dtype.is_floating_point:
            raise NotFused(f'block "{block.name}" of {_name(block.dtype)} in columns of {name}')
        steps = () if _holds(block.dtype, block.column_dtype) else (("cast", 0, _name(block.dtype)),)
    if block.dtype.is_floating_point and block.dtype != torch.float32:
        raise NotFused(f'block "{block.name}" of {_name(block.dtype)}')
    is_scalar = block.kind == "scalar"
    planes = [InputPlane(position, place, name, domain, is_scalar, steps) for place in block.places]
    columns, element = len(block.columns), block.element
    array = _objects((columns, math.prod(element)), planes)
    if block.is_transposed:
        return Rows(array.reshape(columns, 1), 1, domain, block.dtype)
    if len(element) == 2:  # planes of a matrix lie column after column
        array = array.reshape(columns, element[1], element[0]).transpose(0, 2, 1)
    shape = block.shape(1)
    return Rows(array.reshape(shape), 0, domain, block.dtype)


def capture(exported, binding, rules):
    """The row program of a torch.export.ExportedProgram that takes a tensor for each input block and gives one for each
    output block, in order. `rules`: of the rows of each output, as in the manifest of packages.

    Raises NotFused with the reason, in words for the user.
    """
    table = torch.export.default_decompositions()
    for operation in KEPT:
        table.pop(operation, None)
    program = exported.run_decompositions(table)
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
        is_whole = not block.dtype.is_floating_point
        if block.dtype != block.column_dtype or not (is_whole or block.dtype == torch.float32):
            raise NotFused(f'block "{block.name}" of {_name(block.dtype)} in columns of {_name(block.column_dtype)}')
        domain = domains.index(rule["collection"])
        if not isinstance(result, Rows):
            result = trace.filled(result, block.shape(1), 1 if block.is_transposed else 0, domain)
        trace.need_rows(result)
        if result.domain != domain:
            raise NotFused(f'block "{block.name}": rows of another collection')
        if is_whole and trace.largest(result) > EXACT:
            raise NotFused(f'block "{block.name}" of {_name(block.dtype)} that float32 may not hold')
        planes = result.planes
        if not block.is_transposed and len(block.element) == 2:
            planes = planes.swapaxes(-1, -2)
        places, value = tuple(block.places), trace.value(planes, domain)
        outputs.append(Output(len(binding.inputs) + i, places, value, _name(block.dtype)))
    return outputs
