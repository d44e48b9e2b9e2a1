# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The results of a model in float64; and with other rounding, as in another program."""

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from tensoa.binding import Binding
from tensoa.binding.columns import Columns, as_double
from tensoa.binding.model import as_exported

SHORT = (torch.float16, torch.bfloat16)
ARITHMETIC = frozenset(  # operators whose last place may differ from one program to the next
    "aten::" + name
    for name in (
        "add sub mul div rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh asinh acosh atanh asin acos "
        "atan atan2 sigmoid erf erfc pow hypot sum mean prod mm addmm bmm linear"
    ).split()
)
ROUNDED = frozenset("aten::" + name for name in ("add", "sub", "mul", "div"))  # of these: that every program rounds alike
AT_ONCE = 1 << 22  # numbers of a large weight: each needs as much memory again, several times
QUANTISING = "quantized_decomposed"  # the namespace of such operators
#: Operators that put elements in order, and which argument says the dimension. Which of equal ones comes first is open.
SORTS = {"topk": 2, "sort": 1, "kthvalue": 2}


def in_double(module: Any) -> Any:
    """A copy with weights in float64; as they are where the model keeps their dtypes, as an exported program does."""
    try:
        copied = copy.deepcopy(module)
    except Exception:  # whatever a model holds
        return None
    with contextlib.suppress(Exception):
        copied.double()
    return copied


def rounded_otherwise(tensor: torch.Tensor, seed: int = 1) -> torch.Tensor:
    """In float64, and half a unit in the last place more or less."""
    if not tensor.is_floating_point():
        return tensor
    return _shaken(tensor.double(), torch.finfo(tensor.dtype).eps, torch.Generator().manual_seed(seed))


def _shaken(tensor: torch.Tensor, eps: float, random: torch.Generator) -> torch.Tensor:
    signs = torch.randint(0, 2, tensor.shape, generator=random, dtype=torch.int8) - 0.5
    return tensor * (1 + signs * eps)


def near_in_double(module: Any, seed: int = 1) -> Any:
    """The model in float64, with weights that are rounded otherwise."""
    near = in_double(module)
    if near is not None:
        eps = max((torch.finfo(weight.dtype).eps for weight in _weights(module)), default=0.0)
        random = torch.Generator().manual_seed(seed)  # of all: two biases that cancel out are not rounded alike
        with torch.no_grad():
            for weight in _weights(near):
                lines = torch.atleast_1d(weight)
                for part in lines.split(max(1, AT_ONCE * len(lines) // max(1, lines.numel()))):
                    part.copy_(_shaken(part, eps, random))
    return near


def _weights(module: Any) -> list[torch.Tensor]:
    """Of floats; an ensemble of trees has none."""
    weights = (*module.parameters(), *module.buffers()) if isinstance(module, nn.Module) else ()
    return [weight for weight in weights if weight.is_floating_point()]


def results_in_double(
    exact: Any,
    binding: Binding,
    columns: Columns,
    convert: Callable[[torch.Tensor], torch.Tensor],
    seed: int | None = None,
) -> list[torch.Tensor] | None:
    """The results in float64, as planes, or None where the model insists on another dtype."""
    if exact is None:
        return None
    try:
        tensors = [convert(tensor) for tensor in binding.tensors(columns.inputs)]
        with calculating_in_double(seed):
            results = binding.apply(exact, tensors)
    except Exception:  # a model may insist on its dtypes
        return None
    return [block.planes(result) for block, result in zip(binding.outputs, results)]


@contextlib.contextmanager
def calculating_in_double(seed: int | None = None) -> Iterator[None]:
    """Operators of torch take and give float64, also of weights and where a model names another dtype of floats; a cast to a
    short one rounds first, and operators that quantise do it in float32.

    With a seed, results of arithmetic are a last place of float64 off: of models that calculate in float64 themselves.
    """
    with as_exported(), _making_doubles(), _InDouble(seed):
        yield


class _InDouble(TorchDispatchMode):
    """The operators of calculating_in_double()."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__()
        self._random = None if seed is None else torch.Generator().manual_seed(seed)

    def _rounded(self, function: Any, result: Any) -> Any:
        if self._random is None or function._schema.name not in ARITHMETIC or result.dtype != torch.float64:
            return result
        return _shaken(result, 2 * torch.finfo(torch.float64).eps, self._random)

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = dict(kwargs or {})
        if function.namespace == QUANTISING:
            result = function(*tree_map(_as_float, args), **tree_map(_as_float, kwargs))
            return tree_map(_as_double, result)
        if function is torch.ops.aten._assert_tensor_metadata.default:  # of an exported program, with the dtypes before
            return None
        if function is torch.ops.aten.view.dtype and args[0].is_floating_point():
            raise TypeError("float64 has other bits")
        if not function._schema.is_mutable:  # what changes a tensor must have that one
            args, kwargs = tree_map(_as_double, (args, kwargs))
        dtype = kwargs.get("dtype")
        if dtype is None or not dtype.is_floating_point:
            return self._rounded(function, function(*args, **kwargs))
        result = function(*args, **{**kwargs, "dtype": torch.float64})
        is_rounded = function is torch.ops.aten._to_copy.default and dtype in SHORT
        return result.to(dtype).double() if is_rounded else result


@contextlib.contextmanager
def _making_doubles() -> Iterator[None]:
    """Tensors that a model makes without a dtype are of float64, as those that it is given."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class Shaken(TorchDispatchMode):
    """Results of arithmetic are a last place off, and of equal numbers that are put in order others come first: as another
    program may have it.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        name = function.overloadpacket.__name__
        if name in SORTS and args[0].dim() and not kwargs.get("stable"):
            at = SORTS[name]
            dim = kwargs.get("dim", args[at] if len(args) > at else -1)
            values, places = function(args[0].flip(dim), *args[1:], **kwargs)
            return values, args[0].shape[dim] - 1 - places
        result = function(*args, **kwargs)
        if function._schema.name not in ARITHMETIC or not result.is_floating_point():
            return result
        if function._schema.name in ROUNDED and result.dtype not in SHORT:  # programs calculate in float32 instead
            return result
        return _shaken(result, 2 * torch.finfo(result.dtype).eps, self._random).to(result.dtype)


def _as_double(arg: Any) -> Any:
    return as_double(arg) if isinstance(arg, torch.Tensor) else arg


def _as_float(arg: Any) -> Any:
    return arg.float() if isinstance(arg, torch.Tensor) and arg.is_floating_point() else arg
