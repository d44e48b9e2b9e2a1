# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Follows the graph of an exported program, node by node."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontends.torch_export import arithmetic, indices, layers, movement, order, pairs, places, windows
from tensoa.compiler.frontends.torch_export.shapes import Shapes
from tensoa.compiler.ir import EXACT, FUNCTIONS, Pairs, Rows, Step
from tensoa.compiler.ir.builder import Operand
from tensoa.compiler.ir.integers import STEPS, limits
from tensoa.compiler.ir.rows import Double, numbers_of, plane_array
from tensoa.dtypes import DTYPES, DType, name_of

#: Operators that are no function of FUNCTIONS by their own name; each is called with (walk, node, *args, **kwargs).
OPERATIONS: dict[str, Callable[..., Operand]] = {
    **movement.OPERATIONS,
    **arithmetic.OPERATIONS,
    **layers.OPERATIONS,
    **windows.OPERATIONS,
    **order.OPERATIONS,
    **indices.OPERATIONS,
}
#: Operators that make a tensor of one number, and what is to be written: zeros are as good as any.
FILLED = "full full_like empty empty_like empty_permuted empty_strided zeros ones".split()
#: Operators that take sizes.
SHAPED = [*FILLED, *"view reshape expand slice slice_scatter repeat native_group_norm".split()]
#: Operators whose result is one of the numbers they are given.
CHOOSING = (
    "alias clone contiguous detach lift_fresh_copy dropout _to_copy view reshape permute transpose t select slice "
    "slice_scatter select_scatter copy "
    "split split_with_sizes unsqueeze squeeze expand repeat constant_pad_nd cat stack flip roll diagonal index _unsafe_index "
    "index_select gather embedding sort topk kthvalue amax amin max min maximum minimum clamp where"
).split() + FILLED
#: What makes -0 of floats that stand for integers, none of which is -0.
MINUS_ZEROS = "mul neg fmod remainder div floor_divide prod cumprod scatter scatter_reduce".split()
#: Steps of columns of integers that take such constants only, on their right.
OF_CONSTANTS = {
    **dict.fromkeys(("remainder", "floor_divide"), (1, math.inf)),
    **dict.fromkeys(("left_shift", "right_shift"), (0, 63)),
}
#: Functions that give the same of integers that were wrapped before.
WRAPPING = "add sub mul bitwise_and bitwise_or bitwise_xor".split()
SHIFTS = {"__lshift__": "left_shift", "__rshift__": "right_shift"}
SHIFTS |= {f"bitwise_{name}": name for name in SHIFTS.values()}
#: Operators that take elements and rows in one dimension, the elements first.
FLAT = "alias clone contiguous view reshape linear".split()


def dtype_of(dtype: torch.dtype) -> DType:
    """The DType of one of torch. Raises NotFused where columns have no such type."""
    found = DTYPES.get(name_of(dtype))
    if found is None:
        raise NotFused(f"numbers of {name_of(dtype)}")
    return found


class Walk(Shapes):
    """`env`: what every node gave."""

    def __init__(self, symbols: dict, device: str) -> None:
        super().__init__(symbols, device)
        self.env: dict[torch.fx.Node, Any] = {}

    def run(self, node: torch.fx.Node) -> Any:
        """What a node gives: Rows, a constant tensor, a number, or a list of these."""
        name = node.target.__name__ if callable(node.target) else str(node.target)
        args: Any = torch.fx.node.map_arg(node.args, lambda argument: self.env[argument])
        kwargs: Any = torch.fx.node.map_arg(node.kwargs, lambda argument: self.env[argument])
        if name == "getitem":
            return args[0][args[1]]
        name = name.partition(".")[0]
        if name.startswith("_assert"):
            return None
        result = node.meta["val"]
        if isinstance(result, (torch.SymInt, torch.SymBool)):
            return result  # arithmetic on numbers of rows
        if name != "scaled_dot_product_attention" and torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            raise NotFused(f"random numbers ({name})")
        result = self._operation(node, name, args, kwargs)
        if isinstance(result, list):
            return [self._typed(name, item, value) for item, value in zip(result, node.meta["val"])]
        return self._typed(name, result, node.meta["val"])

    def _typed(self, name: str, result: Any, value: torch.Tensor) -> Any:
        """The result of an operation, with the dtype of the model's tensor. Raises where float32 does not do."""
        if isinstance(result, places.Chosen):
            return replace(result, tensor=self._typed(name, result.tensor, value))
        if not isinstance(result, (Rows, Pairs)):
            return result
        dtype = dtype_of(value.dtype)
        result = replace(result, dtype=dtype)
        if isinstance(result, Pairs):
            if dtype.is_integer or dtype.name == "float64":
                raise NotFused(f"{'integers' if dtype.is_integer else 'float64'} between rows ({name})")
            return result
        is_double = dtype.name == "float64"
        if any(isinstance(plane, Double) != is_double and not _is_number(plane) for plane in result.planes.reshape(-1)):
            raise NotFused(f"{name} of float64")
        is_calculated = (
            result.is_integer and name not in CHOOSING and not result.are_columns and not places.are_numbers_of_rows(result)
        )
        if is_calculated and (dtype.name == "uint8" or self.largest(result) > min(EXACT, limits(dtype.name)[1])):
            raise NotFused(f"arithmetic on integers ({name} of {dtype.name})")
        may_be_minus_zero = is_calculated and name in MINUS_ZEROS
        return replace(self.function("add", result, 0.0), dtype=dtype) if may_be_minus_zero else result

    def _operation(self, node: torch.fx.Node, name: str, args: tuple, kwargs: dict) -> Any:
        flat = [*args, *kwargs.values()]
        flat = [item for arg in flat for item in (arg if isinstance(arg, (list, tuple)) else [arg])]
        if name == "arange" and any(isinstance(item, torch.SymInt) for item in flat):
            return places.arange(self, node, *args)
        if name not in SHAPED and any(isinstance(item, torch.SymInt) for item in flat):
            raise NotFused(f"{name} of a number of rows")
        if name in FILLED:
            return self._full(node, name, args)
        if name in ("expand", "repeat") and not isinstance(args[0], Rows):
            shape, axis, domain = self.shape_of(node)
            sizes = [1 if isinstance(size, torch.SymInt) else size for size in args[1]]
            tensor = args[0].expand(shape) if name == "expand" else args[0].repeat(sizes)
            return tensor if axis is None or domain is None else self.filled(tensor, shape, axis, domain)
        if any(isinstance(item, Pairs) for item in flat):
            return pairs.run(self, node, name, args, kwargs)
        if name != "index_put" and any(isinstance(arg, places.Chosen) for arg in args):
            mask = places.common_mask(name, args)
            whole = [arg.tensor if isinstance(arg, places.Chosen) else arg for arg in args]
            return places.Chosen(self._operation(node, name, tuple(whole), kwargs), mask)
        target: Any = node.target  # an OpOverload, which has tags
        if not any(isinstance(item, Rows) for item in flat):
            return target(*args, **kwargs)
        if name not in FLAT and any(isinstance(item, Rows) and item.outer != 1 for item in flat):
            raise NotFused(f"{name} of elements and rows in one dimension")
        args, kwargs = torch.utils._pytree.tree_map(_lengthened, (args, kwargs))
        if torch.Tag.pointwise in target.tags and name not in WRAPPING:
            _check_numbers([*args, *kwargs.values()])
        if getattr(node.meta["val"], "dtype", None) == torch.float64 and name != "_to_copy":
            args = torch.utils._pytree.tree_map(self._of_doubles, args)
        if name in ("add", "mul") and not kwargs and any(places.are_numbers_of_rows(arg) for arg in args):
            return places.counted(self, name, args)
        stepped = self._stepped(node, name, args, kwargs)
        if stepped is not None:
            return stepped
        operation = OPERATIONS.get(name)
        if operation is not None:
            return operation(self, node, *args, **kwargs)
        function = FUNCTIONS.get(name)
        if function is None:
            raise NotFused(f"the operation {name}")
        if kwargs:
            raise NotFused(f"{name} with {', '.join(kwargs)}")
        if function.is_truth:
            self._check_comparison(args)
        elif node.meta["val"].dtype == torch.bool:
            name = {"add": "maximum"}.get(name, name)
        return self.function(name, *args)

    def _stepped(self, node: torch.fx.Node, name: str, args: tuple, kwargs: dict) -> Rows | None:
        """Arithmetic of columns of integers with constants, or None for all else."""
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor) or value.dtype.is_floating_point or value.dtype == torch.bool:
            return None
        tensor = next(arg for arg in [*args, *kwargs.values()] if isinstance(arg, (Rows, list, tuple)))
        if not isinstance(tensor, Rows) or not tensor.are_columns or tensor.dtype.is_float:
            return None
        dtype = dtype_of(value.dtype)
        steps: list[tuple[str, Any]] | None
        if name == "_to_copy":
            steps = [] if dtype.holds(tensor.dtype) else [("cast", 0)]
        elif name == "div" and kwargs == {"rounding_mode": "floor"}:
            steps = _steps("floor_divide", args)
        elif kwargs:
            return None
        else:
            steps = _steps(name, args)
        if steps is None:
            return None
        planes = tensor.planes
        low, high = limits(dtype.name)
        for step, numbers in steps:
            shape, constants = numbers_of(numbers)
            least, largest = {"maximum": (low, high), "minimum": (low, high), **OF_CONSTANTS}.get(step, (-math.inf, math.inf))
            if not all(least <= number <= largest for number in constants):
                return None
            wide = np.broadcast_shapes(planes.shape, shape)
            pairs_of = zip(np.broadcast_to(planes, wide).reshape(-1), np.broadcast_to(numbers, wide).reshape(-1).tolist())
            added = [replace(plane, steps=(*plane.steps, Step(step, number, dtype.name))) for plane, number in pairs_of]
            planes = plane_array(wide, added)
        axis = tensor.axis + planes.ndim - tensor.planes.ndim
        return None if planes.shape[axis] != tensor.planes.shape[tensor.axis] else Rows(planes, axis, tensor.domain)

    def _of_doubles(self, arg: Any) -> Any:
        """An argument of an operation that gives float64."""
        return self.doubled(arg) if isinstance(arg, Rows) and arg.dtype.is_float else arg

    def _check_comparison(self, args: tuple) -> None:
        for tensor in args:
            if isinstance(tensor, torch.Tensor) and tensor.dim() and tensor.dtype == torch.float64:
                raise NotFused("numbers of float64")
        if not any(map(_is_float, args)) and not any(self.is_small(arg) for arg in args):
            raise NotFused("comparisons of integers that float32 may not hold")

    def _full(self, node: torch.fx.Node, name: str, args: tuple) -> Any:
        shape, axis, domain = self.shape_of(node)
        number = {"ones": 1.0}.get(name, args[1] if name.startswith("full") else 0.0)
        if isinstance(number, torch.SymInt):
            raise NotFused(f"{name} of a number of rows")
        dtype = node.meta["val"].dtype
        if axis is None or domain is None:
            return torch.full(shape, number, dtype=dtype)
        return self.filled(torch.tensor(number, dtype=dtype), shape, axis, domain)


def _lengthened(arg: Any) -> Any:
    """Constants of short floats as float32, which NumPy has."""
    is_short = isinstance(arg, torch.Tensor) and arg.is_floating_point() and arg.element_size() < 4
    return arg.float() if is_short else arg


def _is_number(plane: Any) -> bool:
    return isinstance(plane, (int, float))


def _check_numbers(args: list) -> None:
    """torch wraps a number that the dtype of the integers beside it does not hold."""
    dtypes = [arg.dtype for arg in args if isinstance(arg, Rows) and arg.is_integer]
    numbers = [int(arg) for arg in args if not isinstance(arg, Rows) and _is_integer(arg)]
    for dtype in dtypes:
        low, high = limits(dtype.name)
        wrapped = [number for number in numbers if not low <= number <= high]
        if wrapped:
            raise NotFused(f"{wrapped[0]} beside {dtype.name}, which does not hold it")


def _is_integer(arg: Any) -> bool:
    """Whether it is one integer that torch gives the dtype of what is beside it."""
    return isinstance(arg, int) or (isinstance(arg, torch.Tensor) and not arg.dim() and not _is_float(arg))


def _is_float(arg: Any) -> bool:
    if isinstance(arg, (Rows, Pairs)):
        return arg.dtype.is_float
    return arg.dtype.is_floating_point if isinstance(arg, torch.Tensor) else isinstance(arg, float)


def _steps(name: str, args: tuple) -> list[tuple[str, Any]] | None:
    """(name, constant or array of them) of the steps that an operation of a tensor of integers is; None where it is none."""
    if any(not isinstance(arg, (Rows, torch.Tensor, int, type(None))) or _is_float(arg) for arg in args):
        return None
    numbers = [arg.long().numpy() if isinstance(arg, torch.Tensor) else arg for arg in args]
    at = [i for i, number in enumerate(numbers) if isinstance(number, Rows)]
    if name == "neg":
        return [("rsub", 0)]
    if name == "abs":
        return [("abs", 0)]
    if name == "clamp" and at == [0]:
        low, high = (*numbers[1:], None, None)[:2]
        return [step for step in (("maximum", low), ("minimum", high)) if step[1] is not None]
    if len(at) != 1 or len(numbers) != 2:
        return None
    number = numbers[1 - at[0]]
    if name == "sub":
        return [("add", -number)] if at == [0] else [("rsub", number)]
    name = SHIFTS.get(name, name)
    is_first = at == [0] or name not in OF_CONSTANTS
    return [(name, number)] if name in STEPS and is_first else None
