# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""CUDA C++ of loop nests: the threads of a team (schedule/teams.py) calculate the elements of its rows.

Axes have roles. Where a block is the team, rows and the elements of a root are counted together, and each thread has some of
them; of a sum of which there are few results, the terms are shared by lanes of a warp, too. Where a warp is, rows are lanes,
and the elements are loops; products of matrices have some outputs in registers at a time. A product with constant weights is
made by tensor cores (products.py): its items and blocks of its outputs are shared by warps, and its accumulators lie in
registers.
"""

import math
from collections.abc import Sequence

from tensoa.compiler import operations as ops
from tensoa.compiler.cuda.expressions import Expressions, Weights, literal, memory_type, type_of
from tensoa.compiler.cuda.target import SM_80, Target
from tensoa.compiler.functions import JOININGS, start_of
from tensoa.compiler.printing import STRUCTS, join_of, loops_around
from tensoa.compiler.schedule.addresses import Linear
from tensoa.compiler.schedule.nests import Loop, Nest, Nests
from tensoa.compiler.schedule.reads import Leaf, terms_of
from tensoa.compiler.schedule.teams import WARP, Team
from tensoa.compiler.tensors import BlockSize, Tensor
from tensoa.dtypes import DTYPES

CHAINS = 4  # of a sum of one thread


def count_text(loops: Sequence[Loop]) -> str:
    """How many iterations loops have, in C++."""
    fixed = math.prod(loop.size for loop in loops if not isinstance(loop.size, BlockSize))
    blocks = [loop.end for loop in loops if isinstance(loop.size, BlockSize)]
    return " * ".join([*([str(fixed)] if fixed > 1 or not blocks else []), *blocks])


def decoded(loops: Sequence[Loop], number: str) -> str:
    """The loop variables of an iteration; the last loop is the innermost."""
    found = []
    for i, loop in enumerate(loops):
        inner = count_text(loops[i + 1 :])
        index = number if inner == "1" else f"{number} / ({inner})"
        found.append(f"const int {loop.name} = {index if i == 0 else f'{index} % {loop.end}'};")
    return " ".join(f"[[maybe_unused]] {one}" for one in found)


class NestPrinter(Expressions):
    """Prints the nests of a stage that work on numbers of the own row."""

    def __init__(self, nests: Nests, weights: Weights, team: Team, target: Target = SM_80) -> None:
        super().__init__(nests, weights)
        self.team, self.target = team, target
        self.copies: dict[Tensor, str] = {}  # memory between kernels that a root is written to as well

    # -- who calculates what

    def shared(self, loops: Sequence[Loop], body: str, has_rows_inside: bool = False, unroll: int = 0) -> str:
        """Each thread has some of the elements of all rows. `has_rows_inside`: neighbours are rows, as in planes of columns."""
        count = count_text(loops)
        if self.team.groups > 1:
            head = f"for (int at = thread / {self.team.rows}; at < {count}; at += {self.team.groups})"
            return f"if (q < n) {head} {{ {decoded(loops, 'at')} {body} }}"
        if self.team.is_warp:
            return f"if (q < n) {{ {loops_around(loops, body, unroll)} }}"
        if has_rows_inside:
            row, element = "at % n", "at / n"
        else:
            row, element = ("at", "0") if count == "1" else (f"at / ({count})", f"at % ({count})")
        head = f"[[maybe_unused]] const int q = {row}, e = {element}; {decoded(loops, 'e')}"
        return f"for (int at = thread; at < {count} * n; at += kThreads) {{ {head} {body} }}"

    def stored(self, nest: Nest, at: Linear, value: str, more: str = "") -> str:
        """Writes an element of the root, and, where later kernels read it, to memory between kernels."""
        return self.written(nest.buffer.root, f"{at.text()}{more}", self.with_blocks_before(nest, at, value))

    def written(self, root: Tensor, at: str, value: str) -> str:
        place, copy = self.places.get(root), self.copies.get(root)
        kind = memory_type(root.dtype)
        to = [f"{one} = " for one in (copy and f"{copy}[{at}]", place and place.element(at)) if one]
        return f"{''.join(to)}static_cast<{kind}>({value});" if to else ""

    # -- functions

    def print_map(self, nest: Nest) -> str:
        return self.shared(nest.loops, self.stored(nest, nest.target, self.value(nest.root, nest.index, not nest.is_copy)))

    # -- sums

    def print_sum(self, nest: Nest) -> str:
        inner = nest.inner
        assert inner is not None
        terms, summed = terms_of(inner, nest.index)
        over = [Loop(name, size) for name, size in summed if isinstance(size, int)]
        fn, kind = join_of(inner), type_of(inner.dtype)
        struct = STRUCTS[fn]
        if self.team.is_warp and isinstance(inner.op, ops.Contract) and nest.loops:
            return self.print_tiled(nest, terms, over)
        if self.team.is_warp and len(over) == 1 and not isinstance(over[0].size, BlockSize) and over[0].size % CHAINS == 0:
            return self.print_chains(nest, terms, over[0], fn)
        step = f"acc = {self.term(terms, struct)};"
        start = f"{kind} acc = {literal(start_of(fn, inner.dtype), inner.dtype)};"
        store = self.stored(nest, nest.target, self.epilogue(nest))
        lanes = self.lanes(nest, over)
        if lanes == 1:
            return self.shared(nest.loops, f"{start} {self.over_terms(over, step)} {store}")
        elements, terms_count = count_text(nest.loops), count_text(over)
        units = f"{elements} * n"
        unit = f"min(at, {units} * {lanes} - 1) / {lanes}"
        head = f"const int lane = at % {lanes}, unit = {unit}; [[maybe_unused]] const int q = unit / ({elements}); "
        head += decoded(nest.loops, f"(unit % ({elements}))") if nest.loops else ""
        body = f"for (int k = lane; k < {terms_count}; k += {lanes}) {{ {decoded(over, 'k')} {step} }}"
        end = f"acc = joined_lanes<{struct}, {lanes}>(acc); if (lane == 0 && at < {units} * {lanes}) {{ {store} }}"
        loop = f"for (int at = thread; at < ({units} * {lanes} + 31) / 32 * 32; at += kThreads)"
        return f"{loop} {{ {head} {start} {body} {end} }}"

    def print_tiled(self, nest: Nest, terms: Sequence[Leaf], over: Sequence[Loop]) -> str:
        """Some neighbours of a product in registers, which share what they read."""
        *outer, last = nest.loops
        assert nest.inner is not None
        kind = type_of(nest.inner.dtype)
        at_a_time = range(1, self.target.most_outputs + 1)
        size = 1 if isinstance(last.size, BlockSize) else max(n for n in at_a_time if last.size % n == 0)
        here = f"const int {last.name} = {last.name}from * {size} + j;"
        each = f"for (int j = 0; j < {size}; ++j)"
        unrolled = f"\n#pragma unroll\n{each}"
        step = f"{unrolled} {{ {here} acc[j] = {self.term(terms, 'JoinSum', 'acc[j]')}; }}"
        store = f"{unrolled} {{ {here} {self.stored(nest, nest.target, self.epilogue(nest, sum_text='acc[j]'))} }}"
        tiles = last if size == 1 else Loop(last.name, last.size // size)
        start = f"{kind} acc[{size}]; {each} acc[j] = {literal(0, nest.inner.dtype)};"
        text = f"{start} {loops_around(over, step, 4)} {store}"
        return self.shared([*outer, Loop(f"{tiles.name}from", tiles.size)], text, unroll=1)  # it is in registers

    def print_chains(self, nest: Nest, terms: Sequence[Leaf], over: Loop, fn: str) -> str:
        """A sum as several, so that few terms wait for each other."""
        assert nest.inner is not None
        kind, struct = type_of(nest.inner.dtype), STRUCTS[fn]
        each = f"\n#pragma unroll\nfor (int j = 0; j < {CHAINS}; ++j)"
        start = f"{kind} part[{CHAINS}]; {each} part[j] = {literal(start_of(fn, nest.inner.dtype), nest.inner.dtype)};"
        here = f"const int {over.name} = {over.name}from * {CHAINS} + j;"
        body = f"{each} {{ {here} part[j] = {self.term(terms, struct, 'part[j]')}; }}"
        sums = loops_around([Loop(f"{over.name}from", over.size // CHAINS)], body)
        joined = "".join(f"part[{i}] = {struct}::join(part[{i}], part[{i + n}]); " for n in (2, 1) for i in range(n))
        store = self.stored(nest, nest.target, self.epilogue(nest, sum_text="part[0]"))
        return self.shared(nest.loops, f"{start} {sums} {joined} {store}")

    def lanes(self, nest: Nest, over: Sequence[Loop]) -> int:
        """The number of lanes that share the terms of a sum, so that all threads have work, and each some terms."""
        if self.team.is_warp:
            return 1
        results = self.team.rows * math.prod(loop.size for loop in nest.loops)
        terms = math.prod(loop.size for loop in over)
        lanes = 1
        while lanes < WARP and terms >= 4 * lanes and results * lanes < self.team.threads:
            lanes *= 2
        return lanes

    def over_terms(self, over: Sequence[Loop], step: str) -> str:
        """A step for each term of a sum."""
        return loops_around(over, step)

    def term(self, factors: Sequence[Leaf], struct: str, sum_text: str = "acc") -> str:
        values = [self.value(tensor, index) for tensor, index in factors]
        if len(values) == 1:
            return f"{struct}::join({sum_text}, {values[0]})"
        return f"added_product({values[0]}, {values[1]}, {sum_text})"

    # -- what works on all elements together

    def print_sort(self, nest: Nest) -> str:
        """Each element finds how many come before it."""
        root = nest.root
        assert isinstance(root.op, ops.Sort)
        (x,), op = root.args, root.op
        if nest.stream is not None:
            return self.print_selection(nest, op)
        size = x.shape[op.axis]
        assert isinstance(size, int)
        from_, step = self.first_along(x, nest.index, op.axis)
        to = nest.target.without(f"i{op.axis}")
        others = [loop for loop in nest.loops if loop.name != f"i{op.axis}"]
        is_largest = str(op.is_largest).lower()
        rank = f"const int rank = rank_of({from_.text}, {step}, {size}, j, {is_largest});"
        store = self.stored(nest, to, "j", f" + rank * {nest.target.step(f'i{op.axis}')}")
        return self.shared([*others, Loop("j", size)], f"{rank} if (rank < {op.k}) {{ {store} }}")

    def print_selection(self, nest: Nest, op: ops.Sort) -> str:
        """Joins a block to the order of those before."""
        numbers = self.numbers_of(nest)
        others = [loop for loop in nest.loops if loop.name != f"i{op.axis}"]
        pairs = [self.first_along(one, nest.index, op.axis) for one in (nest.buffer.root, numbers, nest.root.args[0])]
        arguments = ", ".join(f"{address.text}, {step}" for address, step in pairs)
        return self.shared(others, f"select<{op.k}>({arguments}, keys, key, {str(op.is_largest).lower()});")

    def print_scan(self, nest: Nest) -> str:
        """Sums and products of float32 in double."""
        root = nest.root
        assert isinstance(root.op, ops.Scan)
        (x,), op = root.args, root.op
        is_wide = root.dtype.is_float and not JOININGS[op.fn].is_choice
        dtype = DTYPES["float64"] if is_wide else root.dtype
        others = [loop for loop in nest.loops if loop.name != f"i{op.axis}"]
        along = [loop for loop in nest.loops if loop.name == f"i{op.axis}"]
        kind = type_of(dtype)
        step = f"acc = {STRUCTS[op.fn]}::join(acc, static_cast<{kind}>({self.value(x, nest.index)})); "
        step += self.stored(nest, nest.target, f"static_cast<{type_of(root.dtype)}>(acc)")
        start = f"{kind} acc = {literal(start_of(op.fn, dtype), dtype)};"
        return self.shared(others, f"{start} {loops_around(along, step)}")

    def print_scatter(self, nest: Nest) -> str:
        """Along an axis of the row, one number after the other."""
        root = nest.root
        assert isinstance(root.op, ops.Scatter)
        (x, places), op = root.args, root.op
        name = f"i{op.axis}"
        others = [loop for loop in nest.loops if loop.name != name]
        along = [loop for loop in nest.loops if loop.name == name]
        size = x.shape[op.axis]
        assert isinstance(size, int)
        start = self.stored(nest, nest.target, literal(start_of(op.fn, root.dtype), root.dtype))
        to = f"{nest.target.without(name).text()} + static_cast<int>(place) * {nest.target.step(name)}"
        from_, at = self.address(x, nest.index), self.address(places, nest.index)
        held = self.places[nest.buffer.root].element(to)
        joined = f"{STRUCTS[op.fn]}::join({held}, {from_.pointer}[{from_.at.text()}])"
        step = f"const int64 place = {at.pointer}[{at.at.text()}]; "
        step += f"if (is_inside(place, {op.size})) {{ {self.written(nest.buffer.root, to, joined)} }}"
        return self.shared(others, f"{loops_around(along, start)} {loops_around([Loop(name, size)], step)}")
