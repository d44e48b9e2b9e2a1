# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""CUDA C++ of values that lie in registers of a warp with sixteen rows (kernels/fragments.cuh): functions, sums and layers
follow each other without memory and barriers.

A value is *held* in a fragment, in a layout (layouts.py), or, where it is narrow or no float32, unpacked: each number in all
lanes of its row. Views and functions without memory are read element by element: where each element of a value comes from is
known when the code is written, so that tiles are renamed, or else numbers move between lanes.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tensoa.compiler import operations as ops
from tensoa.compiler.cuda.expressions import cast_text, literal, type_of
from tensoa.compiler.cuda.layouts import TILE, Layout, inside, layout_of, places, sources_of, spread, taken
from tensoa.compiler.cuda.near_weights import NearWeights
from tensoa.compiler.cuda.target import Target
from tensoa.compiler.functions import FUNCTIONS, Array, start_of
from tensoa.compiler.passes import is_row_gather
from tensoa.compiler.printing import STRUCTS, substituted
from tensoa.compiler.schedule.addresses import base_of, elements_of, row_major
from tensoa.compiler.schedule.nests import Nest, Nests
from tensoa.compiler.schedule.roots import Reason, added_rows, is_table_row
from tensoa.compiler.tensors import Op, Tensor

#: For each axis the coordinates of some elements; None for rows.
Coordinates = Sequence[Array | None]
MOST_MOVES = 16  # numbers of a value that move between lanes
UNPACKED = 4  # float32 numbers that are held unpacked; of others MOST_UNPACKED
MOST_UNPACKED = 16


class NotHeld(Exception):
    """A stage whose values do not lie in fragments."""


@dataclass(frozen=True)
class Held:
    """`layout`: of a fragment; None: unpacked. `is_clean`: its padding is zero. `column`: that it was read of."""

    name: str
    layout: Layout | None = None
    is_clean: bool = False
    column: Tensor | None = None

    @property
    def tiles(self) -> int:
        return len(self.layout or ()) // TILE


def flat(index: Coordinates, tensor: Tensor) -> Array:
    """The elements of a row, or of what a place names, at some coordinates."""
    steps = iter(row_major(tensor.inner))
    axes = [(one, 0 if isinstance(size, str) else next(steps)) for one, size in zip(index, tensor.shape)]
    return np.array(sum((one * step for one, step in axes if one is not None), np.zeros(1, int)))


def coordinates(tensor: Tensor, elements: Array) -> Coordinates:
    """Of elements of a row."""
    found = iter(np.unravel_index(elements, tensor.inner) if tensor.inner else ())
    return [None if isinstance(size, str) else np.array(next(found)) for size in tensor.shape]


def through(index: Sequence[ops.Affine | None], x: Tensor, at: Coordinates) -> Coordinates:
    """The coordinates of the argument of a view or a gather; those of a place are None."""
    found: list[Array | None] = []
    count = max((len(one) for one in at if one is not None), default=1)
    for one, size in zip(index, x.shape):
        if one is None or isinstance(size, str):
            found.append(None)
        else:
            terms = (factor * here for number, factor in one.terms if (here := at[number]) is not None)
            found.append(np.array(sum(terms, np.full(count, one.offset))))
    return found


class FragmentPrinter:
    """The values of a stage. `parts`: how many warps have the same rows; each makes some outputs of a layer for all."""

    def __init__(self, nests: Nests, weights: NearWeights, target: Target, precision: str, parts: int) -> None:
        self.nests, self.weights, self.target, self.precision, self.parts = nests, weights, target, precision, parts
        self.nest_of: dict[Tensor, Nest] = {nest.root: nest for nest in nests.all_nests if not nest.is_copy}
        self.lines: list[str] = []
        self.helds: dict[Tensor, Held] = {}
        self.moved: dict[tuple[str, int], str] = {}
        self.count = self.widest = 0
        self.starts = self._starts()

    # ---- text

    def line(self, text: str) -> None:
        self.lines.append(text)

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def fragment(self, layout: Layout, value: str, is_clean: bool = False) -> Held:
        """A fragment of `value`, C++ of n and i."""
        held = Held(self.name(), layout, is_clean or min(layout) >= 0)
        self.line(f"Fragment<{held.tiles}> {held.name};")
        self.line(f"\n#pragma unroll\nfor (int n = 0; n < {held.tiles}; ++n)\n#pragma unroll\nfor (int i = 0; i < 4; ++i) "
                  f"{held.name}.at[n][i] = {value};")  # fmt: skip
        self.noted(held)
        return held

    def noted(self, held: Held) -> None:
        self.widest = max(self.widest, held.tiles)
        if held.tiles > self.target.fragment_tiles:
            raise NotHeld(f"{held.tiles} tiles of a value")

    def unpacked(self, tensor: Tensor, values: Sequence[str]) -> Held:
        """Numbers in C++ of r."""
        if len(values) > MOST_UNPACKED:
            raise NotHeld(f"{len(values)} numbers that each lane of a row would calculate ({tensor!r})")
        held, kind = Held(self.name()), type_of(tensor.dtype)
        self.line(f"{kind} {held.name}[{len(values)}][2];")
        for e, value in enumerate(values):
            self.line(f"\n#pragma unroll\nfor (int r = 0; r < 2; ++r) {held.name}[{e}][r] = {value};")
        return held

    def vector(self, numbers: Array, layout: Layout) -> str:
        padded = spread(np.asarray(numbers, np.float32), layout)
        return f"Vector{{{self.weights.floats(padded)}, warp.quad}}"

    # ---- values that are held

    def _starts(self) -> dict[Tensor, set[int]]:
        """Where parts of a value begin and end that are read by themselves."""
        found: dict[Tensor, set[int]] = {}
        for tensor in reversed(self.nests.stage.values):
            for read, elements in self.reads_of(tensor):
                own = found.get(tensor, ()) if isinstance(tensor.op, (ops.Map, ops.Cast)) else ()
                if len(elements) > 1 and elements_of(read) > UNPACKED and (np.diff(elements) == 1).all():
                    first, last = int(elements[0]), int(elements[-1]) + 1
                    found.setdefault(read, set()).update({first, last, *(first + start for start in own)})
        return found

    def reads_of(self, tensor: Tensor) -> Iterator[tuple[Tensor, Array]]:
        """The roots that a value reads, and which elements; for a root, those that its functions read for each element."""
        if tensor in self.nests.roots:
            yield from self.leaves(tensor, coordinates(tensor, np.arange(elements_of(tensor))), True)
        for arg in tensor.args if not isinstance(tensor.op, (ops.Map, ops.Cast, ops.View)) else ():
            if base_of(arg) in self.nests.roots and arg is not base_of(arg) and not isinstance(tensor.op, ops.Concat):
                yield base_of(arg), self.read_by(arg)

    @staticmethod
    def read_by(view: Tensor) -> Array:
        """The elements of what a view is of."""
        at = coordinates(view, np.arange(elements_of(view)))
        while isinstance(view.op, ops.View):
            at = through(view.op.index, view.args[0], at)
            view = view.args[0]
        return np.broadcast_to(flat(at, view), max(1, len(flat(at, view))))

    def own_layout(self, root: Tensor) -> Layout:
        """Of what may lie in any order."""
        return layout_of(elements_of(root), sorted(self.starts.get(root, ())))

    def is_unpacked(self, tensor: Tensor) -> bool:
        return elements_of(tensor) <= UNPACKED or tensor.dtype.name != "float32"

    def held(self, root: Tensor) -> Held:
        found = self.helds.get(root)
        if found is None:
            found = self.made(root)
            self.helds[root] = found
        return found

    def made(self, root: Tensor) -> Held:
        nest = self.nest_of.get(root)
        if root in self.nests.stage.earlier:
            return self.earlier(root)
        if isinstance(root.op, ops.Column):
            return self.column(root)
        if is_row_gather(root) or is_table_row(root):
            return self.gathered(root)
        if isinstance(root.op, ops.Concat):
            return self.joined_parts(root)
        if nest is not None and nest.inner is not None:
            return self.summed(nest)
        if isinstance(root.op, ops.Sort):
            return self.ordered(root, root.op)
        if nest is not None and nest.reason is Reason.ROWS:
            for gather in added_rows(root):
                self.held(gather)
        return self.function(root)

    def earlier(self, root: Tensor) -> Held:
        raise NotImplementedError

    def column(self, root: Tensor) -> Held:
        raise NotImplementedError

    def planes_read(self, root: Tensor) -> list[str]:
        """C++ of r: each number of a column."""
        raise NotImplementedError

    def gathered(self, root: Tensor) -> Held:
        raise NotImplementedError

    def function(self, root: Tensor) -> Held:
        """A root of any other kind."""
        layout = self.narrow_layout(root)
        if layout is not None:
            return self.in_layout(root, layout)
        if self.is_unpacked(root):
            each = range(elements_of(root))
            return self.unpacked(root, [self.value(root, coordinates(root, np.array([e])), None, True) for e in each])
        return self.in_layout(root, self.layout_for(root, True) or self.own_layout(root))

    def narrow_layout(self, root: Tensor) -> Layout | None:
        """That of a narrow value which goes on as a fragment: half of what lanes would calculate, if all had all numbers."""
        if root.dtype.name != "float32" or not UNPACKED // 2 < elements_of(root) <= UNPACKED:
            return None
        users = [value for value in self.nests.stage.values if any(base_of(arg) is root for arg in value.args)]
        is_of_functions = all(isinstance(value.op, (ops.Map, ops.Cast, ops.Reduce, ops.Sort)) for value in users)
        return self.layout_for(root, True) if is_of_functions else None

    def in_layout(self, tensor: Tensor, layout: Layout) -> Held:
        return self.fragment(layout, self.value(tensor, coordinates(tensor, places(layout)), layout, True))

    def layout_for(self, tensor: Tensor, is_top: bool = False) -> Layout | None:
        """The layout of the first fragment of which each element reads a different one."""
        for leaf, read in self.leaves(tensor, coordinates(tensor, np.arange(elements_of(tensor))), is_top):
            held = self.held(leaf)
            found = held.layout and len(read) == elements_of(tensor) and taken(read, held.layout)
            if found:
                return found
        return None

    def leaves(self, tensor: Tensor, at: Coordinates, is_top: bool = False) -> Iterator[tuple[Tensor, Array]]:
        """The held tensors that an expression reads, and which elements."""
        if tensor in self.helds or (tensor in self.nests.roots and not is_top):
            yield tensor, flat(at, tensor)
        elif isinstance(tensor.op, ops.View):
            yield from self.leaves(tensor.args[0], through(tensor.op.index, tensor.args[0], at))
        elif isinstance(tensor.op, (ops.Map, ops.Cast)):
            for arg in tensor.args:
                yield from self.leaves(arg, at)

    def joined_parts(self, concat: Tensor) -> Held:
        """A concat along its last axis: tiles one behind the other; narrow neighbours share tiles."""
        if len(concat.inner) > 1:
            raise NotHeld(f"several axes ({concat!r})")
        parts = [(self.part(part), elements_of(part)) for part in concat.args]
        if self.is_unpacked(concat):
            return self.unpacked(concat, [self.operand(held, np.array([e]), None) for held, size in parts for e in range(size)])
        layout, pieces, start = list[int](), list[tuple[int, Held, int]](), 0
        narrow = list[tuple[Held, int]]()
        for held, size in parts:
            if held.layout is None:
                narrow += [(held, e) for e in range(size)]
            else:
                layout += self._narrow(pieces, narrow, len(layout), start)
                pieces.append((len(layout), held, -1))
                layout += [start + e if e >= 0 else -1 for e in held.layout]
            start += size
        layout += self._narrow(pieces, narrow, len(layout), start)
        made = Held(self.name(), tuple(layout), all(held.is_clean or held.layout is None for _, held, _ in pieces))
        self.noted(made)
        self.line(f"Fragment<{made.tiles}> {made.name}{{}};")
        for place, held, e in pieces:
            one = f"Scalar{{{{{held.name}[{e}][0], {held.name}[{e}][1]}}}}"
            first = f"put({made.name}, {place}, {one}, warp);"
            self.line(first if held.layout is None else f"place({made.name}, {place // TILE}, {held.name});")
        return made

    @staticmethod
    def _narrow(pieces: list[tuple[int, Held, int]], narrow: list[tuple[Held, int]], at: int, stop: int) -> list[int]:
        """Puts unpacked numbers at position `at`; the last one is element `stop` - 1. Their layout."""
        count = len(narrow)
        pieces += [(at + i, held, e) for i, (held, e) in enumerate(narrow)]
        narrow.clear()
        return [*range(stop - count, stop), *[-1] * (-count % TILE)]

    def part(self, tensor: Tensor) -> Held:
        """Of a concat: held already, or made for it."""
        if tensor in self.nests.roots or tensor in self.helds:
            return self.held(tensor)
        return self.function(tensor)

    # ---- expressions: C++ of r, or, where there is a layout, of n and i

    def value(self, tensor: Tensor, at: Coordinates, layout: Layout | None, is_top: bool = False) -> str:
        if tensor in self.helds or (tensor in self.nests.roots and not is_top):
            return self.operand(self.held(tensor), flat(at, tensor), layout)
        printer = _PRINTERS.get(type(tensor.op))
        if printer is None:
            raise NotHeld(f"{tensor!r}")
        return printer(self, tensor.op, tensor, at, layout)

    def of_view(self, op: ops.View, tensor: Tensor, at: Coordinates, layout: Layout | None) -> str:
        return self.value(tensor.args[0], through(op.index, tensor.args[0], at), layout)

    def of_map(self, op: ops.Map, tensor: Tensor, at: Coordinates, layout: Layout | None) -> str:
        return f"({substituted(FUNCTIONS[op.fn].cpp, [self.value(arg, at, layout) for arg in tensor.args])})"

    def of_cast(self, op: ops.Cast, tensor: Tensor, at: Coordinates, layout: Layout | None) -> str:
        (arg,) = tensor.args
        return cast_text(self.value(arg, at, layout), arg.dtype, op.dtype)

    def of_constant(self, op: ops.Constant, tensor: Tensor, at: Coordinates, layout: Layout | None) -> str:
        elements = flat(at, tensor)
        numbers = op.data.reshape(-1)[elements]
        if (elements == elements[0]).all() or (numbers == numbers[0]).all():
            return literal(numbers[0], op.dtype)
        if layout is None or op.dtype.name != "float32":
            raise NotHeld(f"{tensor!r}")
        by_element = np.zeros(max(layout) + 1, np.float32)
        by_element[[element for element in layout if element >= 0]] = numbers[np.array(layout) >= 0]
        return f"{self.vector(by_element, layout)}.at(n, i)"

    def of_iota(self, op: ops.Iota, tensor: Tensor, at: Coordinates, layout: Layout | None) -> str:
        if at[0] is None:
            return f"static_cast<{type_of(op.dtype)}>(tile.row[{'r' if layout is None else 'i / 2'}])"
        if (at[0] != at[0][0]).any():
            raise NotHeld(f"{tensor!r}")
        return literal(int(at[0][0]), op.dtype)

    def operand(self, held: Held, elements: Array, layout: Layout | None) -> str:
        row = "r" if layout is None else "i / 2"
        if (elements == elements[0]).all():
            if held.layout is None:
                return f"{held.name}[{elements[0]}][{row}]"
            return f"{self.taken(held, int(elements[0]))}.at[{row}]"
        assert layout is not None
        if held.layout is not None:
            tiles = sources_of(elements, layout, held.layout)
            if tiles is not None:
                apart = tiles[0]
                if tiles == list(range(apart, apart + len(tiles))):
                    return f"{held.name}.at[n{f' + {apart}' if apart else ''}][i]"
                made = self.name()
                self.line(f"Fragment<{len(tiles)}> {made};")
                for n, m in enumerate(tiles):
                    self.line(f"place({made}, {n}, cut<{m}, 1>({held.name}));")
                return f"{made}.at[n][i]"
        return f"{self.by_number(held, elements, layout)}.at[n][i]"

    def by_number(self, held: Held, elements: Array, layout: Layout) -> str:
        """A fragment whose numbers come from other lanes."""
        wanted = [(place, int(e)) for place, (own, e) in enumerate(zip(layout, elements)) if own >= 0]
        if held.layout is not None and len(wanted) > MOST_MOVES:
            raise NotHeld(f"{len(wanted)} numbers that move")
        made, tiles = self.name(), len(layout) // TILE
        self.line(
            f"Fragment<{tiles}> {made}{{}};" if held.layout is not None else f"auto {made} = spread_over<{tiles}>({held.name});"
        )
        for place, e in wanted:
            one = f"{held.name}[{e}]" if held.layout is None else self.taken(held, e)
            self.line(f"put({made}, {place}, {one}, warp);")
        return made

    def taken(self, held: Held, element: int) -> str:
        """One number of a fragment, in all lanes of the row."""
        assert held.layout is not None
        found = self.moved.get((held.name, element))
        if found is None:
            found = self.moved[held.name, element] = self.name()
            if held.column is not None:  # a load for all lanes, and no shuffles
                each = self.planes_read(held.column)[element]
                self.line(f"Scalar {found};\n#pragma unroll\nfor (int r = 0; r < 2; ++r) {found}.at[r] = {each};")
            else:
                self.line(f"const Scalar {found} = take({held.name}, {held.layout.index(element)}, warp);")
        return found

    # ---- sums

    def summed(self, nest: Nest) -> Held:
        """The root of a sum, with the functions that follow it."""
        inner, root = nest.inner, nest.root
        assert inner is not None
        if isinstance(inner.op, ops.Contract):
            held = self.layer(nest, inner)
            if nest.bias is not None:
                self.helds[nest.bias[0]] = held
        else:
            held = self.reduced(inner)
        self.helds[inner] = held
        found = self.helds.get(root)
        if found is None:
            found = self.function(root) if held.layout is None or self.is_unpacked(root) else self.in_layout(root, held.layout)
        for one in [inner, *([nest.bias[0]] if nest.bias is not None else [])]:
            if one is not root:
                del self.helds[one]
        return found

    def layer(self, nest: Nest, inner: Tensor) -> Held:
        raise NotImplementedError

    # ---- orders

    def ordered(self, root: Tensor, op: ops.Sort) -> Held:
        """The order of few numbers, which each lane of a row has."""
        (x,), places = root.args, coordinates(root, np.arange(elements_of(root)))
        size, kind = x.shape[op.axis], type_of(x.dtype)
        if not isinstance(size, int) or max(size, elements_of(root)) > MOST_UNPACKED:
            raise NotHeld(f"an order that each lane of a row would find ({root!r})")
        held, is_largest = Held(self.name()), str(op.is_largest).lower()
        self.line(f"int {held.name}[{elements_of(root)}][2];")
        for e in range(elements_of(root)):
            at = [None if one is None else one[e : e + 1] for one in places]
            if at[op.axis] != 0:  # an order is made where its first place is
                continue
            numbers = [self.value(x, [*at[: op.axis], np.array([j]), *at[op.axis + 1 :]], None) for j in range(size)]
            step = math.prod(n for n in root.shape[op.axis + 1 :] if isinstance(n, int))
            self.line(
                f"\n#pragma unroll\nfor (int r = 0; r < 2; ++r) {{ const {kind} x[] = {{{', '.join(numbers)}}}; "
                f"const auto order = order_of<{op.k}>(x, {is_largest});\n#pragma unroll\n"
                f"for (int j = 0; j < {op.k}; ++j) {held.name}[{e} + j * {step}][r] = order.places[j]; }}"
            )
        return held

    def reduced(self, tensor: Tensor) -> Held:
        op, (x,) = tensor.op, tensor.args
        assert isinstance(op, ops.Reduce)
        inner_axes = [i for i, size in enumerate(x.shape) if not isinstance(size, str)]
        kept = [i for i in inner_axes if i not in op.axes]
        terms = list(np.ndindex(*(size for i in op.axes if isinstance(size := x.shape[i], int))))
        found = self.reduced_by_tiles(tensor, op, kept, terms)
        if found is not None:
            return found
        sums = []
        for e in range(elements_of(tensor)):
            of_kept = np.unravel_index(e, tensor.inner) if tensor.inner else ()
            at: list[Array | None] = [None] * len(x.shape)
            for i, number in zip(kept, of_kept):
                at[i] = np.full(len(terms), number)
            for place, i in enumerate(op.axes):
                at[i] = np.array([term[place] for term in terms])
            sums.append(self.sum_of(x, at, len(terms), op.fn))
        return self.unpacked(tensor, sums)

    def reduced_by_tiles(
        self, tensor: Tensor, op: ops.Reduce, kept: Sequence[int], terms: Sequence[tuple[int, ...]]
    ) -> Held | None:
        """Sums of whole tiles, where each term of the results has its own tiles."""
        (x,), layout = tensor.args, self.own_layout(tensor)
        if self.is_unpacked(tensor):
            return None
        of_kept = np.unravel_index(places(layout), tensor.inner)
        ats = []
        for term in terms:
            numbers = dict(zip(kept, of_kept)) | {i: np.full(len(layout), number) for i, number in zip(op.axes, term)}
            ats.append([numbers.get(i) for i in range(len(x.shape))])
        reads = [(self.held(leaf).layout, read) for at in ats for leaf, read in self.leaves(x, at)]
        if not all(own is not None and len(read) == len(layout) and sources_of(read, layout, own) for own, read in reads):
            return None
        struct = STRUCTS[op.fn]
        held = self.fragment(layout, self.value(x, ats[0], layout))
        for at in ats[1:]:
            joined = f"{struct}::join({held.name}.at[n][i], {self.value(x, at, layout)})"
            held = self.fragment(layout, joined)
        return held

    def sum_of(self, x: Tensor, at: Coordinates, count: int, fn: str) -> str:
        """Of `count` terms, in C++ of r."""
        kind, struct = type_of(x.dtype), STRUCTS[fn]
        start = literal(start_of(fn, x.dtype), x.dtype)
        layout = None
        for leaf, read in self.leaves(x, at):
            held = self.held(leaf)
            if held.layout is not None and len(read) == count:
                layout = layout or taken(read, held.layout)
        if layout is None:
            text = start
            for k in range(count):
                one = [None if axis is None else axis[k : k + 1] for axis in at]
                text = f"{struct}::join({text}, {self.value(x, one, None)})"
                if count > MOST_UNPACKED:
                    raise NotHeld(f"a sum of {count} numbers")
            return text
        name, where = self.name(), inside(layout)
        there = [None if axis is None else axis[places(layout)] for axis in at]
        joined = self.joined(fn, x, there, layout, f"{name}[i]")
        self.line(f"{kind} {name}[4] = {{{start}, {start}, {start}, {start}}};")
        self.line(
            f"\n#pragma unroll\nfor (int n = 0; n < {len(layout) // TILE}; ++n)\n#pragma unroll\n"
            f"for (int i = 0; i < 4; ++i) {f'if {where} ' if where else ''}{name}[i] = {joined};"
        )
        pair = f"{struct}::join({name}[2 * r], {name}[2 * r + 1])"
        self.line(f"\n#pragma unroll\nfor (int r = 0; r < 2; ++r) {name}[r] = joined_lanes<{struct}, 4>({pair});")
        return f"{name}[r]"

    def joined(self, fn: str, x: Tensor, at: Coordinates, layout: Layout, before: str) -> str:
        """C++ of `before` with one number more; a sum of products rounds each once."""
        is_product = isinstance(x.op, ops.Map) and x.op.fn == "mul" and x not in self.helds and x not in self.nests.roots
        if fn == "sum" and is_product and x.dtype.name == "float32":
            return f"fmaf({', '.join(self.value(arg, at, layout) for arg in x.args)}, {before})"
        return f"{STRUCTS[fn]}::join({before}, {self.value(x, at, layout)})"


_PRINTERS: dict[type[Op], Callable[..., str]] = {
    ops.View: FragmentPrinter.of_view,
    ops.Map: FragmentPrinter.of_map,
    ops.Cast: FragmentPrinter.of_cast,
    ops.Constant: FragmentPrinter.of_constant,
    ops.Iota: FragmentPrinter.of_iota,
}
