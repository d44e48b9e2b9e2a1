# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What numbers of rows a program of torch.export is right for."""

import ast
import re
from collections.abc import Iterator
from typing import Any

import sympy
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
_RELATIONS: dict[type[ast.cmpop], Any] = {
    ast.Eq: sympy.Eq,
    ast.NotEq: sympy.Ne,
    ast.Lt: sympy.Lt,
    ast.LtE: sympy.Le,
    ast.Gt: sympy.Gt,
    ast.GtE: sympy.Ge,
}


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
        if "rows" not in words or ".stride()" in words or words == "rows == rows" or _holds_always(condition):
            continue
        least = _IS_LEAST.fullmatch(words)
        if least is None or int(least[2]) + (least[1] == ">") not in _needed(program):
            yield words


def _holds_always(condition: str) -> bool:
    """Whether it holds for sizes of any number, as what torch asks of its own arithmetic: "min(rows, 3*rows) == rows"."""
    names: dict[str, str] = {}
    tree = ast.parse(_SIZE.sub(lambda size: names.setdefault(size[0], f"size{len(names)}"), condition), mode="eval").body
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        return False
    known = {name: sympy.Symbol(name, integer=True, positive=True) for name in names.values()}
    known |= {"min": sympy.Min, "max": sympy.Max, "__builtins__": {}}
    try:
        sides = [eval(compile(ast.Expression(side), "guard", "eval"), known) for side in (tree.left, tree.comparators[0])]
        return _RELATIONS[type(tree.ops[0])](*sides) == sympy.true
    except (NameError, TypeError):  # functions that are not known here
        return False


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
