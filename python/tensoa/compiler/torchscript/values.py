# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""TorchScript's operators on numbers, texts, lists and dicts, and those that only it has on tensors, as functions of Python."""

import copy
import functools
import math
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

Value = Any  # of TorchScript: a tensor, a number or a symbol of one, a text, None, a list, tuple or dict of values, an object
#: The ScalarType numbers of c10, which TorchScript writes instead of dtypes.
DTYPES = (
    "uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool qint8 quint8 qint32 bfloat16"
).split()
LAYOUTS = {0: torch.strided}
MEMORY_FORMATS = (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d)


class OnData:
    """A truth value or number out of a tensor, which depends on the data."""


def is_known(tensor: torch.Tensor) -> bool:
    """Whether the numbers of a tensor can be looked at: always but for what torch.export traces."""
    return not torch.compiler.is_exporting() or type(tensor) in (torch.Tensor, nn.Parameter)


def is_symbol(value: Value) -> bool:
    """Whether a number or truth value depends on a number of rows."""
    return isinstance(value, (torch.SymInt, torch.SymBool, torch.SymFloat)) and value.node.constant is None


def _bool(value: Value) -> bool | torch.SymBool | OnData:
    if isinstance(value, torch.Tensor):
        return bool(value) if is_known(value) else OnData()
    return value if isinstance(value, (OnData, torch.SymBool)) else bool(value)


def _number(value: Value, convert: Callable[[Value], Value]) -> Value:
    if not isinstance(value, torch.Tensor):
        return convert(value)
    return convert(value.item()) if is_known(value) else value.item()


def _int(value: Value) -> Value:
    return _number(value, lambda number: int(number) if isinstance(number, str) else torch.sym_int(number))  # type: ignore[no-untyped-call]


def _float(value: Value) -> Value:
    return _number(value, lambda number: float(number) if isinstance(number, str) else torch.sym_float(number))  # type: ignore[no-untyped-call]


def _not(value: Value) -> Value:
    return value if isinstance(value, OnData) else torch.sym_not(value)  # type: ignore[no-untyped-call]


def _divided(a: Value, b: Value, mode: str | None = None) -> Value:
    if mode is None:
        return a / b
    return a // b if mode == "floor" or (a >= 0) == (b >= 0) else -(-a // b)


def cast(number: Value, kind: torch.dtype) -> Value:
    """A number as one of a dtype is."""
    if kind == torch.bool:
        return number != 0
    return torch.sym_float(number) if kind.is_floating_point else torch.sym_int(number)  # type: ignore[no-untyped-call]


def kind_of(number: Value, tensors: Sequence[torch.Tensor]) -> torch.dtype:
    """The dtype of a number among an operator's tensors: as in torch, it makes no tensor wider."""
    if isinstance(number, (bool, torch.SymBool)):
        return torch.bool
    if not isinstance(number, (float, torch.SymFloat)):
        return torch.int64
    kinds = [tensor.dtype for tensor in tensors if tensor.dtype.is_floating_point or tensor.dtype.is_complex]
    return functools.reduce(torch.promote_types, kinds) if kinds else torch.get_default_dtype()


def _least(choose: Callable[..., Value], pick: Callable[..., Value]) -> Callable[..., Value]:
    return lambda first, second=None: choose(first) if isinstance(first, list) else pick(first, second)


def _range_length(start: int, stop: int, step: int) -> int:
    return max(0, (stop - start + step - (1 if step > 0 else -1)) // step)


def _slice(values: Value, start: int | None = None, stop: int | None = None, step: int = 1) -> Value:
    return values[slice(start, stop, step)]


def _set_item(container: Value, key: Value, value: Value) -> None:
    container[key] = value


def _warn(*_: Value) -> None:
    return None


def _sorted_in_place(values: list[Any], reverse: bool = False) -> None:
    values.sort(reverse=reverse)


def _size(tensor: torch.Tensor, dim: int | None = None) -> list[int] | int:
    return list(tensor.shape) if dim is None else tensor.shape[dim]


def _is_contiguous(tensor: torch.Tensor, layout: int = 0) -> bool:
    if torch.compiler.is_exporting():
        raise ValueError("how tensors lie in memory is not known yet")
    return tensor.is_contiguous(memory_format=MEMORY_FORMATS[layout])


def tensor_of(
    data: Value, dtype: torch.dtype | None = None, device: torch.device | None = None, requires_grad: bool = False
) -> torch.Tensor:
    """torch.tensor of a number, or of a list of numbers of one type and of lists."""
    if isinstance(data, list) and any(map(_has_symbol, data)):
        return torch.stack([tensor_of(value, dtype, device) for value in data])
    if _has_symbol(data):
        return torch.scalar_tensor(data, dtype=dtype or kind_of(data, ()), device=device)
    return torch.tensor(data, dtype=dtype, device=device)


def _has_symbol(data: Value) -> bool:
    return any(map(_has_symbol, data)) if isinstance(data, list) else is_symbol(data)


#: aten operators of numbers, texts, lists and dicts; those that tensors have, too, are taken where no argument is a tensor.
PLAIN: dict[str, Callable[..., Value]] = {
    "add": lambda a, b, alpha=1: a + b if alpha == 1 else a + alpha * b,
    "sub": lambda a, b, alpha=1: a - b if alpha == 1 else a - alpha * b,
    "rsub": lambda a, b, alpha=1: b - a if alpha == 1 else b - alpha * a,
    "mul": operator.mul,
    "add_": operator.iadd,  # of lists
    "mul_": operator.imul,
    "div": _divided,
    "floordiv": operator.floordiv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "fmod": math.fmod,
    "pow": operator.pow,
    "neg": operator.neg,
    "abs": abs,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "__and__": operator.and_,
    "__or__": operator.or_,
    "__xor__": operator.xor,
    "__lshift__": operator.lshift,
    "__rshift__": operator.rshift,
    "__not__": _not,
    "__is__": operator.is_,
    "__isnot__": operator.is_not,
    "Int": _int,
    "IntImplicit": _int,
    "Float": _float,
    "FloatImplicit": _float,
    "ScalarImplicit": lambda value: _number(value, lambda number: number),
    "item": lambda value: _number(value, lambda number: number),
    "Bool": _bool,
    "is_nonzero": _bool,
    "str": str,
    "format": lambda text, *values: text.format(*values),
    "warn": _warn,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "detach": lambda number: number,
    "clone": lambda number, *_: number,
    **{name: getattr(math, name) for name in "sqrt exp log log2 log10 sin cos tan tanh atan2 isnan isinf".split()},
    "len": len,
    "append": lambda values, value: (values.append(value), values)[1],
    "extend": lambda values, more: values.extend(more),
    "insert": lambda values, at, value: values.insert(at, value),
    "pop": lambda container, *at: container.pop(*at),
    "reverse": lambda values: values.reverse(),
    "sort": _sorted_in_place,
    "sorted": sorted,
    "clear": lambda container: container.clear(),
    "copy": copy.copy,
    "index": lambda values, value: values.index(value),
    "count": lambda values, value: values.count(value),
    "list": list,
    "dict": dict,
    "slice": _slice,
    "sum": sum,
    "any": any,
    "all": all,
    "__getitem__": operator.getitem,
    "__contains__": operator.contains,
    "_set_item": _set_item,
    "Delete": operator.delitem,
    "keys": lambda mapping: list(mapping.keys()),
    "values": lambda mapping: list(mapping.values()),
    "items": lambda mapping: list(mapping.items()),
    "get": lambda mapping, key, default=None: mapping.get(key, default),
    "update": lambda mapping, more: mapping.update(more),
    "setdefault": lambda mapping, key, default: mapping.setdefault(key, default),
    "lower": str.lower,
    "upper": str.upper,
    "startswith": str.startswith,
    "endswith": str.endswith,
    "join": str.join,
    "split": str.split,
    "replace": str.replace,
    "strip": str.strip,
    "__derive_index": lambda index, start, step: start + index * step,
    "__range_length": _range_length,
    "device": torch.device,
}

#: aten operators that only TorchScript has, on tensors.
ON_TENSORS: dict[str, Callable[..., Value]] = {
    "size": _size,
    "dim": lambda tensor: tensor.dim(),
    "len": lambda tensor: tensor.shape[0],
    "numel": lambda tensor: tensor.numel(),
    "stride": lambda tensor, dim=None: list(tensor.stride()) if dim is None else tensor.stride(dim),
    "is_floating_point": lambda tensor: tensor.is_floating_point(),
    "is_complex": lambda tensor: tensor.is_complex(),
    "is_contiguous": _is_contiguous,
    "__not__": lambda tensor: _not(_bool(tensor)),
    "_convolution": lambda *arguments: torch.ops.aten.convolution(*arguments[:9]),  # what traces have
    "__is__": operator.is_,
    "__isnot__": operator.is_not,
    **{name: PLAIN[name] for name in "Int IntImplicit Float FloatImplicit ScalarImplicit item Bool is_nonzero".split()},
    "__interpolate": lambda tensor, size, scale, mode, align, recompute, *antialias: nn.functional.interpolate(
        tensor, size, scale, mode, align, recompute, *antialias
    ),
}

PRIM: dict[str, Callable[..., Value]] = {
    "NumToTensor": lambda number: number,
    "unchecked_cast": lambda value: value,
    "unchecked_unwrap_optional": lambda value: value,
    "ListConstruct": lambda *values: list(values),
    "TupleConstruct": lambda *values: values,
    "DictConstruct": lambda *values: dict(zip(values[::2], values[1::2])),
    "TupleIndex": operator.getitem,
    "ListUnpack": tuple,
    "TupleUnpack": tuple,
    "Uninitialized": lambda: None,
    "Print": _warn,
    "Enter": _warn,
    "Exit": _warn,
    "dtype": lambda tensor: DTYPES.index(str(tensor.dtype).removeprefix("torch.")),
    "device": lambda tensor: tensor.device,
    "layout": lambda tensor: next(number for number, layout in LAYOUTS.items() if layout == tensor.layout),
    "is_cuda": lambda tensor: tensor.is_cuda,
    "is_cpu": lambda tensor: tensor.device.type == "cpu",
    "requires_grad": lambda tensor: False,
    "data": lambda tensor: tensor.detach(),
    "shape": lambda tensor: list(tensor.shape),
    "min": _least(min, torch.sym_min),
    "max": _least(max, torch.sym_max),
    "abs": abs,
    "rangelist": lambda stop: list(range(stop)),
    "type": lambda device: device.type,
    "index": lambda device: device.index,
    "CreateObject": types.SimpleNamespace,
}
CLASSES: dict[str, type] = {
    "TensorType": torch.Tensor,
    "IntType": int,
    "FloatType": float,
    "BoolType": bool,
    "StringType": str,
    "NoneType": type(None),
    "ListType": list,
    "DictType": dict,
    "TupleType": tuple,
}
