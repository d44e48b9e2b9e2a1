# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Nests that become one: what each unit, an element of some common axes, reads of the nests before is its own, as all scores of
a query are in attention. A thread then has a unit, and what only the nests of the unit read lies in its registers.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from tensoa.compiler import operations as ops
from tensoa.compiler.operations import is_constant
from tensoa.compiler.passes import is_row_gather
from tensoa.compiler.schedule.addresses import base_of, elements_of, flat, variable
from tensoa.compiler.schedule.nests import AnyLoop, Nest, Nests, UnitLoop, reads_of
from tensoa.compiler.schedule.reads import leaves
from tensoa.compiler.schedule.roots import Reason, Roots
from tensoa.compiler.tensors import Tensor

FEWEST_UNITS = 40  # of a row: fewer would leave threads of a block without work
MOST_HELD = 64  # numbers of a unit in registers
_APART = (Reason.EARLIER, Reason.COLUMN, Reason.ROWS, Reason.TABLE, Reason.KEYS, Reason.STREAM, Reason.ITEMS)


def join_nests(found: Nests) -> None:
    """Joins neighbouring nests of a stage where that saves memory."""
    nests, run, units = list[Nest | AnyLoop](), list[Nest](), frozenset[int]()
    for nest in [*found.nests, None]:
        common = units_with(run, units, nest, found.roots) if isinstance(nest, Nest) else None
        if common is not None and isinstance(nest, Nest):
            run, units = [*run, nest], common
            continue
        nests += _joined(found, run, units)
        run, units = [], frozenset()
        if isinstance(nest, Nest) and _is_joinable(nest):
            run, units = [nest], frozenset(i for i, size in enumerate(nest.root.shape) if isinstance(size, int))
        elif nest is not None:
            nests.append(nest)
    found.nests = nests


def units_with(run: Sequence[Nest], units: frozenset[int], nest: Nest, roots: Roots) -> frozenset[int] | None:
    """The common axes of a run and one more nest; None where that does not belong to it."""
    if not run or not _is_joinable(nest):
        return None
    made = {one.root: one.root.shape for one in run}
    read = [(leaf, at) for leaf, at in leaves(nest.root, nest.index, roots) if leaf in made]
    if not read or {leaf for leaf, _ in read} != reads_of(nest, roots) & set(made):
        return None
    shape = nest.root.shape

    def is_own(i: int) -> bool:
        """Whether an element of the axis reads the same one."""
        return i < len(shape) and all(leaf.shape[i] == shape[i] and at[i] == variable(f"i{i}") for leaf, at in read)

    common = frozenset(filter(is_own, units))
    return common if math.prod(size for i in common if isinstance(size := shape[i], int)) >= FEWEST_UNITS else None


def _is_joinable(nest: Nest) -> bool:
    root, inner = nest.root, nest.inner
    if nest.reason in _APART or nest.is_copy or nest.buffer.root is not root or is_row_gather(root):
        return False
    if inner is None:
        return isinstance(root.op, (ops.Map, ops.Cast))
    return not isinstance(inner.op, ops.Contract) or not any(map(is_constant, inner.args))


def _joined(found: Nests, run: list[Nest], units: frozenset[int]) -> list[Nest | UnitLoop]:
    others = [nest for nest in found.all_nests if not any(nest is one for one in run)]
    read = {root for nest in others for root in reads_of(nest, found.roots)}
    read.update(target if target in found.roots else base_of(target) for target in found.stage.targets)
    held = [nest for nest in run if nest.root not in read]
    if not held or sum(elements_of(nest.root) // count_of(nest.root, units) for nest in held) > MOST_HELD:
        return list(run)
    for nest in held:
        buffer = replace(nest.buffer, units=units)
        found.buffers.update({root: buffer for root, one in found.buffers.items() if one is nest.buffer})
        nest.buffer, nest.target = buffer, flat(nest.index, buffer.strides)
    loops = tuple(loop for loop in run[0].loops if int(loop.name[1:]) in units)
    return [UnitLoop(loops, found.roots, list(run))]


def count_of(root: Tensor, units: frozenset[int]) -> int:
    return math.prod(size for i in units if isinstance(size := root.shape[i], int))
