# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the interpreted model with the model itself."""

import copy
from collections.abc import Sequence

import torch
from torch import nn

from tensoa.binding.blocks import Binding, Block
from tensoa.binding.columns import LARGE, NORMAL, ROWS, SMALL, SPECIAL, Columns, collections_of
from tensoa.binding.model import results_of, with_examples, with_lengths
from tensoa.compiler.torchscript.graph import refusal
from tensoa.compiler.torchscript.module import Interpreted
from tensoa.compiler.torchscript.values import Value
from tensoa.errors import InputError, Unsupported, first_line

#: Relative to the largest number of a plane, of the interpreted model to torch's own interpreter: the operators are the same.
TOLERANCE = 1e-6
TRACED_ROWS = (*range(1, 17), 20, 32, 50, 64, 100, 128, 256, 500, 512, 1000, 1024)  # what people trace models with


def interpreted(module: nn.Module, binding: Binding) -> nn.Module:
    """The module with every TorchScript model in it, or in its place, as a module that torch.export can follow. It was
    compared with torch's own interpreter on columns of the binding. Raises InputError.
    """
    if isinstance(module, torch.jit.ScriptModule):
        whole = Interpreted(module.eval())
        _check_arguments(whole.code.arguments, binding)
        plain: nn.Module = whole
    elif any(isinstance(part, torch.jit.ScriptModule) for part in module.modules()):
        plain = _replaced(copy.deepcopy(module))
    else:
        return module
    _compare(module, plain, with_examples(plain, with_lengths(plain, binding)[0]))
    return plain


def without_script(module: nn.Module) -> nn.Module:
    """The module, or a copy whose TorchScript models are run from Python; not compared. Raises InputError."""
    if isinstance(module, torch.jit.ScriptModule):
        return Interpreted(module.eval())
    has_script = any(isinstance(part, torch.jit.ScriptModule) for part in module.modules())
    return _replaced(copy.deepcopy(module)) if has_script else module


def _replaced(module: nn.Module) -> nn.Module:
    for name, part in module.named_children():
        setattr(module, name, Interpreted(part.eval()) if isinstance(part, torch.jit.ScriptModule) else _replaced(part))
    return module


def _check_arguments(arguments: Sequence[torch._C.Argument], binding: Binding) -> None:
    expected = [argument.name for argument in arguments]
    needed = {argument.name for argument in arguments if not argument.has_default_value()}
    names = [block.name for block in binding.inputs]
    by_name = binding.goes_by_name(expected)
    if by_name and not needed <= set(names) <= set(expected):
        raise InputError(f"the model takes {expected}, the blocks are called {sorted(names)}")
    if not by_name and not len(needed) <= len(names) <= len(expected):
        raise InputError(f"the model takes {len(expected)} arguments {expected}, there are {len(names)} blocks: {names}")


def _compare(script: nn.Module, module: nn.Module, binding: Binding) -> None:
    """Raises InputError where the interpreted model gives other numbers than the model itself, or either cannot run."""
    collections = collections_of(binding)
    for rows in ((17, 29, 41, 53, 61, 73), ROWS[::2]):
        counts = dict(zip(collections, rows))
        if _agree(script, module, binding, counts, NORMAL):
            for numbers in (SMALL, LARGE, SPECIAL):  # a model need not take every number
                _agree(script, module, binding, counts, numbers)
            return
    for count in TRACED_ROWS:
        try:
            results = _results(script, binding, dict.fromkeys(collections_of(binding), count))
        except Exception:  # most fail
            continue
        if any(count in result.shape for result in results if isinstance(result, torch.Tensor)):
            raise Unsupported(
                f"the TorchScript model takes {count} rows and fails at {next(iter(counts.values()))}: torch.jit.trace made "
                "the number of rows a constant"
            )
    results_of(module, binding, Columns(binding, counts, (), "cpu"))  # says which operator fails
    raise InputError("the TorchScript model fails on columns of the binding; expected the columns that it takes")


def _agree(script: nn.Module, module: nn.Module, binding: Binding, counts: dict[int, int], numbers: str) -> bool:
    """Whether the model itself runs. Raises InputError where the interpreted one gives something else."""
    try:
        expected = _results(script, binding, counts, numbers, is_optimized=False)
    except Exception:  # whatever operators throw
        return False
    try:
        results = _results(module, binding, counts, numbers)
    except InputError:
        raise
    except Exception as error:  # whatever operators throw
        raise refusal(first_line(error)) from error
    if _are_close(binding, results, expected):
        return True
    # In the file of a trace, a number that meets integers is float64; in the optimized model, which runs, it is float32.
    if not _are_close(binding, results, _results(script, binding, counts, numbers)):
        raise Unsupported("the TorchScript model gives other results than its operators one by one")
    return True


def _are_close(binding: Binding, results: Sequence[Value], expected: Sequence[Value]) -> bool:
    return all(map(_is_close, binding.outputs, results, expected))


def _is_close(block: Block, result: Value, other: Value) -> bool:
    if not isinstance(other, torch.Tensor) or not isinstance(result, torch.Tensor):
        return type(result) is type(other)
    if result.shape != other.shape or result.dtype != other.dtype:
        return False
    is_exact = not (other.dtype.is_floating_point or other.dtype.is_complex)
    if is_exact or other.numel() == 0 or other.dim() == 0:
        return torch.equal(result, other) or (not is_exact and torch.allclose(result, other, TOLERANCE, 0, equal_nan=True))
    of_rows = other.dim() - 1 if block.is_transposed else 0
    result, other = result.double(), other.double()
    largest = other.abs().nan_to_num(0, 0, 0).amax(of_rows, keepdim=True)
    is_same = (result == other) | (result.isnan() & other.isnan())  # also where both are the same infinity
    return bool((is_same | ((result - other).abs() <= TOLERANCE * largest)).all())


def _results(
    module: nn.Module, binding: Binding, counts: dict[int, int], numbers: str = NORMAL, is_optimized: bool = True
) -> list[Value]:
    with torch.random.fork_rng([]), torch.jit.optimized_execution(is_optimized), torch.no_grad():
        torch.manual_seed(0)
        return binding.call(module, Columns(binding, counts, (), "cpu", numbers=numbers).inputs)
