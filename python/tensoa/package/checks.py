# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Compares a program with the model that it was made of."""

import sys
from collections.abc import Callable, Container, Iterable
from typing import Any

import torch

from tensoa.binding import Binding, Block
from tensoa.binding.columns import NORMAL, Columns
from tensoa.binding.model import as_exported
from tensoa.command import step
from tensoa.errors import InputError, Unsupported
from tensoa.package.cases import KINDS, Case, Cases, cases_of
from tensoa.package.judging import ROUGH, Right, by_numbers, is_as_far_from_itself, is_settled
from tensoa.package.manifest import Check


class Differs(Unsupported):
    """A program that is not right: what, got, expected."""


class WritesElsewhere(InputError):
    """A program that writes memory that is not its own. Neither its compiler nor this process is one to go on with."""


TOLERANCE = 1e-5  # relative, of float32; of other dtypes as much coarser as they are


def validate(
    run: Callable[[Columns, list[int]], None],
    module: Any,
    binding: Binding,
    rules: list[dict],
    is_whole: bool = False,
    what: str = "the package",
    kinds: Container[str] = KINDS,
    tried: Cases | None = None,
    chosen: Iterable[Case] | None = None,
) -> list[Check]:
    """Compares `run(columns, rows of each domain)` with the module, in float32 and float64, on these kinds of numbers. Raises
    Differs where it differs too much, WritesElsewhere; messages call it `what`. `tried`: those of the module, where
    other programs are compared with it, too; `chosen`: some of them, instead of all of these kinds. What it returns are the
    calls of which some results are finite.
    """
    cases, got, checks = [], [], []
    step(f"checking {what}")
    if chosen is None:
        chosen = (tried or Cases(module, binding, rules)).of(kinds=kinds, is_whole=is_whole)
    for case in chosen:
        rows = list(case.rows.values())
        columns = case.released()
        run(columns, rows)
        if columns.changed():
            raise WritesElsewhere(f"{what} writes memory that is not its own at {case}; it is not written")
        cases.append(case)
        got.append([torch.cat(arguments) for arguments in columns.outputs])
        checks.append(Check(rows, case.numbers))
    for of_kind in by_numbers(cases).values():
        for at, block in enumerate(binding.outputs):
            right = Right([cases[i] for i in of_kind], at)
            all_errors = [right.errors(place, got[i][at]) for place, i in enumerate(of_kind)]
            for place, (i, errors) in enumerate(zip(of_kind, all_errors)):
                if (cases[i].numbers != NORMAL and right.is_rough()) or not right.says_something(place):
                    continue
                # JSON has no infinity, which one number that is not finite, as it is in float64, makes of an error.
                checks[i].relative_error[block.name] = min(errors.max().item(), sys.float_info.max)
                checks[i].relative_error_eager[block.name] = min(right.eager_errors[place].max().item(), sys.float_info.max)
            limits = _limits(block, right, binding)
            for place, i in enumerate(of_kind):
                is_judged_by_row = (cases[i].numbers == NORMAL or right.is_quantised) and not right.is_choice
                if is_judged_by_row and (all_errors[place] > limits).any():
                    settled = right.without_ill_conditioned(place, cases[i], got[i][at], limits)
                    all_errors[place] = right.errors(place, settled)
            try:
                _judge(block, [cases[i] for i in of_kind], torch.stack(all_errors), right, limits, what)
            except Differs:
                of_cases = zip(of_kind, all_errors)
                if all(is_settled(cases[i]) and not is_as_far_from_itself(cases[i], at, one) for i, one in of_cases):
                    raise
    return [check for check in checks if check.relative_error]


def has_it_by_layout(module: Any, binding: Binding, rules: list[dict], kind: str) -> bool:
    """Whether the module itself gives something else for numbers of this kind where the same tensors lie in memory row by row
    and where they lie plane by plane.
    """
    for case in cases_of(module, binding, rules, kinds=(kind,)):
        tensors = [block.tensor(argument) for block, argument in zip(binding.inputs, case.released().inputs)]
        try:
            with torch.no_grad(), as_exported():
                by_planes = binding.apply(module, tensors)
                by_rows = binding.apply(module, [tensor.contiguous() for tensor in tensors])
        except RuntimeError:  # a view that columns do not have
            return False
        pairs = zip(by_planes, by_rows)
        if not all(torch.allclose(a.double(), b.double(), ROUGH, ROUGH, equal_nan=True) for a, b in pairs):
            return True
    return False


def _limits(block: Block, right: Right, binding: Binding) -> torch.Tensor:
    """Of the errors of each plane."""
    dtypes = [b.dtype for b in (*binding.inputs, block) if b.dtype.is_floating_point]
    coarser = max([torch.finfo(dtype).eps / torch.finfo(torch.float32).eps for dtype in dtypes], default=1)
    allowed = right.wrong_choices if right.is_choice else TOLERANCE * max(1, coarser)
    return torch.clamp(right.margin * right.own_error, min=allowed)


def _judge(block: Block, cases: list[Case], errors: torch.Tensor, right: Right, limits: torch.Tensor, what: str) -> None:
    """Raises Differs where an error [cases, planes] is too large, about the worst."""
    excess = torch.where(errors > 0, errors / limits, 0.0)
    case, plane = divmod(int(excess.argmax()), excess.shape[1])
    if not excess[case, plane] <= 1:
        kind = "of its numbers" if right.is_choice else "relative"
        raise Differs(
            f'block "{block.name}", column {block.plane_name(plane)}: {what} differs from the model by '
            f"{errors[case, plane]:.2e} ({kind}, at {cases[case]}; the model itself from float64 by "
            f"{right.eager_error[plane]:.2e}{_of_last_place(right, plane)}), "
            f"expected at most {limits[plane]:.2e}; it is not written"
        )


def _of_last_place(right: Right, plane: int) -> str:
    own, eager = (errors[plane].item() for errors in (right.own_error, right.eager_error))
    return f", from itself by {own:.2e} where inputs and weights change in their last place" if own > eager else ""
