# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What numbers of rows a program of torch.export is right for."""

import re
from collections.abc import Iterator
from typing import Any

import torch

from tensoa.errors import InputError
from tensoa.tracing import SLOWER

_LEAST = 2  # what a program may ask for: torch.export takes one row for a size that is always 1
_LEAST_LARGEST = 1 << 40  # what a program must take, to take any number
_ROWS_OF_PRODUCTS = 26  # from here on torch makes distances of products
_DISTANCES = (
    torch.ops.aten.cdist.default,
    torch.ops.aten._cdist_forward.default,
    torch.ops.aten._euclidean_dist.default,
)
_SIZE = re.compile(r"L\['\w+'\](?:\[[^\]]+\])*\.size\(\)\[\d+\]")  # as torch.export writes one of an argument
_IS_LEAST = re.compile(r"rows (>=?) (\d+)")


def limits_of(program: torch.export.ExportedProgram, size: torch.SymInt) -> Any:
    """The least and the largest number of rows of a size that is one; None where it is made of others."""
    return program.range_constraints.get(size.node.expr)


def takes_any_rows(program: torch.export.ExportedProgram, size: torch.SymInt, with_needs: bool = False) -> bool:
    """Whether a number of rows has no limits. `with_needs`: or only those that torch's operators need, which others of the same
    meaning do not; a branch of the author's below them is not seen then.
    """
    limits = limits_of(program, size)
    if limits is None or limits.upper < _LEAST_LARGEST:
        return False
    return limits.lower <= _LEAST or (with_needs and limits.lower in _needed(program))


def branches(program: torch.export.ExportedProgram) -> Iterator[str]:
    """The conditions under which torch.export followed a model that does something else without them: "rows != 5". torch checks
    them where it calls the program; nothing that is made of it does. None of them is on how numbers lie in memory, or only says
    that blocks have as many rows.
    """
    for condition in program._guards_code:
        words = _SIZE.sub("rows", condition)
        if "rows" not in words or ".stride()" in words or words == "rows == rows":
            continue
        least = _IS_LEAST.fullmatch(words)
        if least is None or int(least[2]) + (least[1] == ">") not in _needed(program):
            yield words


def require_no_branch(program: torch.export.ExportedProgram) -> None:
    """Raises InputError for a program that is right for some numbers of rows alone."""
    for condition in branches(program):
        raise InputError(
            f"the model has a branch on its number of rows, and is followed only where {condition}; "
            f"expected one way for any number (or {SLOWER})"
        )


def _needed(program: torch.export.ExportedProgram) -> set[int]:
    """Least numbers of rows that a program may ask for, because torch wants as many as are kept in order, or calculates
    distances of few rows in another way.
    """
    needed = set()
    for node in program.graph.nodes:
        if node.target is torch.ops.aten.topk.default:
            tensor, count, dim = (*node.args, -1)[:3]
            if isinstance(tensor.meta["val"].shape[dim], torch.SymInt):
                needed.add(count)
        elif node.target in _DISTANCES:
            needed.add(_ROWS_OF_PRODUCTS)
    return needed
