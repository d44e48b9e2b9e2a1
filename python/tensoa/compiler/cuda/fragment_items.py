# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Items of the rows of a block (schedule/items.py) in fragments: sixteen of them in a warp, whatever row they are of."""

from collections.abc import Sequence

import numpy as np

from tensoa.compiler import operations as ops
from tensoa.compiler.cuda.expressions import memory_type
from tensoa.compiler.cuda.fragment_layers import LayerPrinter
from tensoa.compiler.cuda.fragments import Held, NotHeld, coordinates
from tensoa.compiler.cuda.layouts import FOURS, TILE, Layout, layout_of, tiles_of
from tensoa.compiler.cuda.near_weights import NearWeights
from tensoa.compiler.cuda.products import ProductPrinter
from tensoa.compiler.cuda.rows import StagePrinter
from tensoa.compiler.cuda.target import Target
from tensoa.compiler.functions import Array
from tensoa.compiler.schedule.addresses import Linear, base_of, elements_of, variable
from tensoa.compiler.schedule.items import Axes, Given
from tensoa.compiler.schedule.nests import ItemLoop, Loop, Nest
from tensoa.compiler.tensors import Tensor


class ItemPrinter(LayerPrinter):
    """Prints a group. `outer`: the printer of the block, whose memory it reads and writes. Raises NotHeld."""

    def __init__(self, loop: ItemLoop, outer: StagePrinter, weights: NearWeights, target: Target, precision: str) -> None:
        super().__init__(loop.inner, weights, target, precision, 1)
        self.loop, self.outer = loop, outer

    def print_all(self) -> str:
        for nest in self.loop.nests:
            self.written(nest)
        body, count = "\n".join(self.lines), int(np.prod(self.loop.group.sizes))
        return f"""for (int unit = thread / 32; 16 * unit < {count} * n; unit += kThreads / 32) {{
const Warp warp(0, 1);
const Tile tile(unit, {count} * n, warp);
{body}
}}"""

    def pointers(self, kind: str, pointer: str, at: Linear, sizes: Sequence[int], axes: Axes) -> str:
        """The name of two pointers to where the items begin. `at`: of variables of `axes`."""
        name, loops = self.name(), [Loop(f"i{place}", size) for place, size in zip(axes, sizes)]
        start = f"{ProductPrinter.item(loops)} return {pointer} + ({at.text()});"
        each = ", ".join(f"{name}_of(static_cast<int>(tile.row[{r}]))" for r in range(2))
        self.line(f"const auto {name}_of = [&](int item) -> {kind}* {{ {start} }};")
        self.line(f"{kind}* const {name}[2] = {{{each}}};")
        return name

    def earlier(self, root: Tensor) -> Held:
        op, (x,) = root.op, root.args
        assert isinstance(op, Given)
        names = [f"{'i' if i in op.axes else 'e'}{i}" for i in range(len(x.shape))]
        index = [None if isinstance(size, str) else variable(name) for name, size in zip(names, x.shape)]
        address = self.outer.address(x, index)
        at = coordinates(root, np.arange(elements_of(root)))
        others = [i for i, size in enumerate(x.shape) if isinstance(size, int) and i not in op.axes]
        offsets = _offsets(address.at, [f"e{i}" for i in others], [one for one in at if one is not None])
        first = address.at.without(*(f"e{i}" for i in others))
        kind = f"const {memory_type(x.dtype)}"
        name = self.pointers(kind, address.pointer, first, [n for i in op.axes if isinstance(n := x.shape[i], int)], op.axes)
        if self.is_unpacked(root):
            each = [f"{name}[r][{int(offset)}]" for offset in offsets]
            return self.unpacked(root, [f"({one} != 0)" if root.dtype.is_bool else one for one in each])
        is_aligned = self.is_aligned(x, first)
        layout, order = self.own_layout(root), np.argsort(offsets)
        if is_aligned and (np.diff(offsets[order]) == 1).all() and self.is_only_summed(root):
            layout = tuple(int(order[e]) if e >= 0 else -1 for e in layout)
        elif not (is_aligned and (np.diff(offsets) == 1).all()):
            layout = layout_of(elements_of(root), sorted(self.starts.get(root, ())), False)
        held = Held(self.name(), layout, True)
        self.noted(held)
        self.line(f"Fragment<{held.tiles}> {held.name};")
        self.moved_by_tiles("read", held, name, offsets, is_aligned)
        return held

    def is_only_summed(self, root: Tensor) -> bool:
        """Whether its elements may lie in any order: sums read them, or functions of them and of constants that sums read."""
        todo = [root]
        for value in todo:
            for user in self.nests.stage.values:
                bases = [base_of(arg) for arg in user.args]
                if value not in bases or isinstance(user.op, ops.Reduce):
                    continue
                if not isinstance(user.op, (ops.Map, ops.Cast)) or any(one.rows and one is not value for one in bases):
                    return False
                todo.append(user)
        return root not in self.starts

    def written(self, nest: Nest) -> None:
        group, root = self.loop.group, nest.root
        held, axes = self.held(group.made[root]), group.axes[root]
        place = self.outer.places[nest.buffer.root]
        others = [i for i, size in enumerate(root.shape) if isinstance(size, int) and i not in axes]
        to, names = nest.target.times(place.step), [f"i{i}" for i in others]
        at = coordinates(group.made[root], np.arange(elements_of(group.made[root])))
        offsets = _offsets(to, names, [one for one in at if one is not None])
        kind, first = memory_type(root.dtype), to.without(*names)
        name = self.pointers(kind, place.pointer, first, group.sizes, axes)
        if held.layout is None:
            for e, offset in enumerate(offsets):
                number = f"static_cast<{kind}>({held.name}[{e}][r])"
                self.line(f"\n#pragma unroll\nfor (int r = 0; r < 2; ++r) if (warp.quad == {e % 4} && tile.inside[r]) "
                          f"{name}[r][{int(offset)}] = {number};")  # fmt: skip
            return
        self.line("\n#pragma unroll\nfor (int r = 0; r < 2; ++r) if (tile.inside[r]) {")
        self.moved_by_tiles("write", held, f"r, {name}[r]", offsets, self.is_aligned(nest.buffer.root, first))
        self.line("}")

    def is_aligned(self, tensor: Tensor, first: Linear) -> bool:
        """Whether each item begins at a multiple of 16 bytes. Rows do."""
        return tensor.dtype.name == "float32" and all(number % 4 == 0 for number in (first.offset, *first.terms.values()))

    def moved_by_tiles(self, verb: str, held: Held, rows: str, offsets: Array, is_aligned: bool) -> None:
        """Numbers between a fragment and memory. `offsets`: of each element from where its item begins."""
        assert held.layout is not None
        tiles, n = tiles_of(held.layout), 0
        while n < len(tiles):
            first, both = tiles[n][0], held.layout[TILE * n : TILE * n + len(FOURS)]
            if is_aligned and _is_four(both, offsets):
                self.line(f"{verb}_four({held.name}, {n}, {rows}, {int(offsets[first])}, warp);")
                n += 2
                continue
            steps = _steps(tiles[n], offsets)
            count = sum(element >= 0 for element in tiles[n])
            where = f"Steps{{{', '.join(map(str, steps))}}}" if steps is not None else self.table(tiles[n], offsets)
            self.line(f"{verb}_tile({held.name}, {n}, {rows}, {where}, {count}, warp);")
            n += 1

    def table(self, tile: Layout, offsets: Array) -> str:
        """C++ of the offset at each position of a tile."""
        return f"Table{{{self.weights.at('int', np.array([offsets[max(0, e)] for e in tile], np.int32).tobytes())}}}"


def _offsets(at: Linear, names: Sequence[str], coordinates: Sequence[Array]) -> Array:
    """The part of an address that depends on some variables, for each of their coordinates."""
    return np.array(sum((one * at.step(name) for name, one in zip(names, coordinates)), np.zeros(1, int)))


def _is_four(layout: Layout, offsets: Array) -> bool:
    """Whether sixteen elements are neighbours in memory, of which each lane has four."""
    if len(layout) < len(FOURS) or min(layout) < 0:
        return False
    first = int(offsets[layout[0]])
    return first % 4 == 0 and [int(offsets[element]) for element in layout] == [first + place for place in FOURS]


def _steps(tile: Layout, offsets: Array) -> tuple[int, int, int] | None:
    """The offset of the first element, the step from lane to lane, and that to a lane's second element; None where there are
    other ones.
    """
    count = sum(element >= 0 for element in tile)
    if any(element < 0 for element in tile[:count]):
        raise NotHeld("padding between elements of an item")
    at = [int(offsets[element]) for element in tile[:count]]
    first, second, third = at[0], at[1] if count > 1 else at[0], at[2] if count > 2 else at[0]
    steps = first, third - first, second - first
    return steps if at == [first + place // 2 * steps[1] + place % 2 * steps[2] for place in range(count)] else None
