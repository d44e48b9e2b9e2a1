# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The numbers of rows for which a program of torch.export is valid."""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

import sympy
import torch

from tensoa.binding import Binding
from tensoa.errors import Unsupported

_LEAST = 2  # what a program may require: torch.export takes one row for a size that is always 1
_LEAST_LARGEST = 1 << 40  # what a program must take, to take any number
_ROWS_OF_PRODUCTS = 26  # from here on torch makes distances of products
_DISTANCES = (
    torch.ops.aten.cdist.default,
    torch.ops.aten._cdist_forward.default,
    torch.ops.aten._euclidean_dist.default,
)
_SIZE = re.compile(r"L\['\w+'\](?:\[[^\]]+\])*\.size\(\)\[\d+\]")  # as torch.export writes one of an argument
_ARE_EQUAL = re.compile(rf"({_SIZE.pattern}) == ({_SIZE.pattern})")
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


def branches(program: torch.export.ExportedProgram, binding: Binding) -> Iterator[str]:
    """The conditions under which torch.export followed a model that does something else without them: "rows != 5". torch checks
    them where it calls the program; nothing that is made of it does. None of them is on how numbers lie in memory, or only says
    that blocks have the same number of rows. The inputs of the program are those of the binding.
    """
    names = _names_of_sizes(program, binding)
    for condition in program._guards_code:
        words = _SIZE.sub("rows", condition)
        if "rows" not in words or ".stride()" in words or _holds_always(condition, names):
            continue
        least = _IS_LEAST.fullmatch(words)
        if least is None or int(least[2]) + (least[1] == ">") not in _needed(program):
            yield words


def _names_of_sizes(program: torch.export.ExportedProgram, binding: Binding) -> dict[str, str]:
    """A name for each size: the same for numbers of rows of one collection, and for sizes that the program needs to be equal.
    torch has one symbol for those then, by which the callers see that they are not of one collection.
    """
    names = {size: f"rows{collection}" for size, collection in _collections(program, binding).items()}
    for size in _SIZE.findall("\n".join(program._guards_code)):
        names.setdefault(size, f"size{len(names)}")
    for condition in program._guards_code:
        if equal := _ARE_EQUAL.fullmatch(condition):
            one, other = names[equal[1]], names[equal[2]]
            names = {size: one if name == other else name for size, name in names.items()}
    return names


def _collections(program: torch.export.ExportedProgram, binding: Binding) -> dict[str, int]:
    """The collection of which a size is the number of rows, by how a condition writes it: of an element of the lists that the
    compiler (tensors) and TorchInductor (inputs: planes) have as arguments, or of an argument of the module's own.
    """
    found = {}
    for i, (block, name) in enumerate(zip(binding.inputs, program.graph_signature.user_inputs)):
        dim = 1 if block.is_transposed else 0
        for source, at in ((f"L['tensors'][{i}]", dim), (f"L['inputs'][{i}]", 1), (f"L['{name}']", dim)):
            found[f"{source}.size()[{at}]"] = block.collection
    return found


def _holds_always(condition: str, names: Mapping[str, str]) -> bool:
    """Whether it holds for any sizes, as the conditions of torch's own arithmetic: "min(rows, 3*rows) == rows", "rows == rows
    or rows == 1", and of blocks of one collection: "rows <= rows".
    """
    known = {name: 1 + sympy.Symbol(name, integer=True, nonnegative=True) for name in names.values()}
    known |= {"min": sympy.Min, "max": sympy.Max, "__builtins__": {}}

    def holds(tree: ast.expr) -> bool:
        if isinstance(tree, ast.BoolOp):
            parts = map(holds, tree.values)
            return any(parts) if isinstance(tree.op, ast.Or) else all(parts)
        if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
            return False
        try:
            sides = [
                sympy.sympify(eval(compile(ast.Expression(side), "guard", "eval"), known))
                for side in (tree.left, tree.comparators[0])
            ]
            return _RELATIONS[type(tree.ops[0])](*sides) == sympy.true or (
                isinstance(tree.ops[0], ast.Eq) and (_is_floor(*sides) or _is_floor(*reversed(sides)))
            )
        except (NameError, TypeError):  # functions that are not known here
            return False

    return holds(ast.parse(_SIZE.sub(lambda size: names[size[0]], condition), mode="eval").body)


def _is_floor(quotient: Any, whole: Any) -> bool:
    """Whether floor(x) is this integer for all sizes: x is from it to below the next, as (5 * rows - 1) / rows from 4."""
    if not isinstance(quotient, sympy.floor) or not whole.is_integer:
        return False
    (x,) = quotient.args

    def sign_of(difference: Any) -> tuple[bool, bool]:
        above, below = (one.expand() for one in sympy.fraction(sympy.together(difference)))
        return bool(below.is_positive and above.is_nonnegative), bool(below.is_positive and above.is_positive)

    return sign_of(x - whole)[0] and sign_of(whole + 1 - x)[1]


def require_no_branch(program: torch.export.ExportedProgram, binding: Binding) -> None:
    """Raises Unsupported for a program that is right for some numbers of rows alone."""
    for condition in branches(program, binding):
        raise Unsupported(f"the model has a branch on its number of rows, and is followed only where {condition}")


def _needed(program: torch.export.ExportedProgram) -> set[int]:
    """Least numbers of rows that a program may require, because torch needs the number that is kept in order, or calculates
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
