# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Loop nests: one for each root of a stage, with the loops over its elements and the memory that it is written to."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tensoa.compiler import build
from tensoa.compiler import operations as ops
from tensoa.compiler.functions import Array
from tensoa.compiler.interpret import constant_value
from tensoa.compiler.operations import axis, is_constant
from tensoa.compiler.passes import is_row_gather, is_selection, joined_rows
from tensoa.compiler.schedule import items
from tensoa.compiler.schedule.addresses import Linear, base_of, buffer_pitch, flat, row_major, variable, width_of
from tensoa.compiler.schedule.bodies import CACHE, Order, Room, StreamGroup, body_of
from tensoa.compiler.schedule.reads import leaves
from tensoa.compiler.schedule.roots import Reason, Roots, roots_of
from tensoa.compiler.schedule.stages import Stage, users_of
from tensoa.compiler.schedule.streams import Keys, Online, are_rows, is_stream
from tensoa.compiler.tensors import BlockSize, Tensor


@dataclass(frozen=True)
class Loop:
    """A loop over one axis of a root, or, with joined neighbours, over several."""

    name: str
    size: int

    @property
    def end(self) -> str:
        """In C++; a block has `keys` rows."""
        return "keys" if isinstance(self.size, BlockSize) else str(self.size)


@dataclass
class Buffer:
    """Scratch memory of a root: an element for each of its elements, in an order of its axes.

    `is_common`: one for all rows of the stage. `pitch`: of rows that lie in memory between stages, elements from row to row.
    `units`: axes of which a thread has one element, with the others in its registers.
    """

    root: Tensor
    order: tuple[int, ...]  # its fixed axes, the last one changes fastest
    offset: int = 0  # bytes, of one row, in scratch memory
    size: int = 0  # bytes
    first: int = sys.maxsize  # the nest that writes it, and the last one that reads it
    last: int = 0
    is_common: bool = False
    pitch: int = 0
    units: frozenset[int] = frozenset()

    @property
    def strides(self) -> list[int]:
        """Of the fixed axes, in the order of the shape."""
        places = [i for i, size in enumerate(self.root.shape) if isinstance(size, int)]
        if self.units:
            own = [i for i in places if i not in self.units]
            of_own = dict(zip(own, row_major([size for i in own if isinstance(size := self.root.shape[i], int)])))
            return [of_own.get(i, 0) for i in places]
        steps = row_major([size for number in self.order if isinstance(size := self.root.shape[number], int)])
        steps[:1] = [self.pitch or steps[0]] if steps else []
        return [steps[self.order.index(place)] for place in places]


@dataclass
class Nest:
    """Calculates `root` for all `loops` and writes it to `buffer` at `target`; `index` has an entry for each axis of the root.

    `inner`: the sum whose accumulators the expression begins with; `bias`: a constant that is added to these before all else.
    `stream`: what a block is joined to, after this was multiplied by `factor`.
    """

    root: Tensor
    reason: Reason
    buffer: Buffer
    loops: tuple[Loop, ...]
    index: tuple[Linear | None, ...]
    target: Linear
    inner: Tensor | None = None
    bias: tuple[Tensor, Tensor] | None = None
    is_copy: bool = False  # of a root that has its own buffer, into a concat
    stream: Tensor | None = None
    factor: Tensor | None = None
    given: tuple[Tensor, ...] = ()  # what items read, of what they make

    def text(self) -> str:
        """One line of a dump."""
        loops = " ".join(f"{loop.name}<{loop.end}" for loop in self.loops)
        inner = f", epilogue of {self.inner!r}" if self.inner is not None and self.inner is not self.root else ""
        at = f"{self.buffer.root.op.name}+{self.target.text()}"
        return f"for {loops or 'each row'}: {self.root!r} -> {at}{inner} ({self.reason.value})"


@dataclass
class StreamLoop:
    """A loop over blocks of `size` rows. `results`: streams, and the numbers that orders have found; `online`: streams that
    are made as their largest is found.
    """

    symbol: str
    size: BlockSize
    room: Room
    results: list[Tensor]
    online: dict[Tensor, Online]
    nests: list[Nest] = field(default_factory=list)
    roots: Roots = field(default_factory=Roots)  # those of the stage, and of a block

    def text(self) -> str:
        lines = [f"for blocks of up to {int(self.size)} keys of {self.symbol}:", *(f"  {nest.text()}" for nest in self.nests)]
        for stream, found in self.online.items():
            lines.append(f"  {stream!r} is made as {found.softmax.largest!r} is found")
        return "\n  ".join(lines)


@dataclass
class ItemLoop:
    """A loop over the items of some rows: one of `nests` for each target of the group, whose values `inner` has."""

    group: items.ItemGroup
    inner: "Nests"
    roots: Roots
    nests: list[Nest] = field(default_factory=list)

    def text(self) -> str:
        head = f"for items of {' x '.join(map(str, self.group.sizes))}:"
        lines = [nest.text() for nest in (*self.inner.all_nests, *self.nests) if nest.reason is not Reason.EARLIER]
        return "\n  ".join([head, *(f"  {line}" for line in lines)])


@dataclass
class UnitLoop:
    """A loop over the units of some rows (schedule/joined.py), with the nests of each; `loops` are those over units."""

    loops: tuple[Loop, ...]
    roots: Roots
    nests: list[Nest]

    def text(self) -> str:
        head = f"for units {' '.join(f'{loop.name}<{loop.end}' for loop in self.loops)}:"
        return "\n  ".join([head, *(f"  {nest.text()}" for nest in self.nests)])


AnyLoop = StreamLoop | ItemLoop | UnitLoop


@dataclass
class Nests:
    """Of a stage: nests in order, the buffers by root, bytes of scratch memory of a row, and of that for all rows."""

    stage: Stage
    roots: Roots
    nests: list[Nest | AnyLoop] = field(default_factory=list)
    buffers: dict[Tensor, Buffer] = field(default_factory=dict)
    bytes: int = 0
    common_bytes: int = 0

    @property
    def all_nests(self) -> list[Nest]:
        """The nests of streams and of items, too."""
        return [one for nest in self.nests for one in ([nest] if isinstance(nest, Nest) else nest.nests)]

    @property
    def all_roots(self) -> list[Roots]:
        """For each of all nests, what has memory for it: a block has roots that are parts of expressions in another one."""
        return [
            one for nest in self.nests for one in ([self.roots] if isinstance(nest, Nest) else [nest.roots] * len(nest.nests))
        ]

    @property
    def streams(self) -> list[tuple[int, StreamLoop]]:
        """With the number of their first nest."""
        found, count = [], 0
        for nest in self.nests:
            if isinstance(nest, StreamLoop):
                found.append((count, nest))
            count += 1 if isinstance(nest, Nest) else len(nest.nests)
        return found

    def text(self) -> str:
        head = f"stage {self.stage.level} of {self.stage.rows}, {self.bytes} bytes of a row"
        return "\n".join([head, *(f"  {nest.text()}" for nest in self.nests)])


Orders = dict[Tensor, tuple[int, ...]]  # of the fixed axes of a root in memory, the last one changes fastest
Homes = dict[Tensor, tuple[Tensor, int]]  # the concat that a root is written to, and its first element there


def fixed_axes(tensor: Tensor) -> tuple[int, ...]:
    return tuple(i for i, size in enumerate(tensor.shape) if isinstance(size, int))


def order_of(root: Tensor, inner: Tensor | None, roots: Roots, orders: Orders) -> tuple[int, ...]:
    """The order in which most of what is read lies in memory, so that neighbours are read together; the outputs of a layer,
    which its vectors are, lie next to each other.
    """
    places = fixed_axes(root)
    index = tuple(None if isinstance(size, str) else variable(f"i{i}") for i, size in enumerate(root.shape))
    best: tuple[int, dict[int, int]] = (0, {})
    for leaf, at in leaves(root, index, roots):
        if leaf in orders:
            address = flat(at, Buffer(leaf, orders[leaf]).strides)
            steps = {i: abs(address.step(f"i{i}")) for i in places}
            best = max(best, (sum(step > 0 for step in steps.values()), steps), key=lambda pair: pair[0])
    steps = best[1]
    output = _output_axis(inner)
    return tuple(sorted(places, key=lambda i: (i == output, bool(steps.get(i)), -steps.get(i, 0))))


def _output_axis(inner: Tensor | None) -> int | None:
    """Of a layer: the axis of its outputs."""
    if inner is None or not isinstance(inner.op, ops.Contract):
        return None
    op, weight = inner.op, [is_constant(arg) for arg in inner.args]
    own, other = (op.left, op.right) if weight == [True, False] else (op.right, op.left)
    outputs = [i for i, label in enumerate(op.out) if label in own and label not in other]
    return outputs[0] if any(weight) and len(outputs) == 1 else None


def loops_over(tensor: Tensor, order: tuple[int, ...]) -> tuple[tuple[Loop, ...], tuple[Linear | None, ...]]:
    """Loops over the axes that are not rows, the outermost first, and the index of each axis."""
    loops = tuple(Loop(f"i{i}", size) for i in order if isinstance(size := tensor.shape[i], int))
    index = tuple(None if isinstance(size, str) else variable(f"i{i}") for i, size in enumerate(tensor.shape))
    return loops, index


def nests_of(
    stage: Stage, orders: Orders, groups: Sequence[items.ItemGroup] = (), rooms: Sequence[Room] = (CACHE,)
) -> Nests:  # fmt: skip
    """The loop nests of a stage. `orders`: of the axes of what is in memory between stages; this stage adds its own. `groups`:
    of items of its rows. `rooms`: where the values of blocks of keys may lie.
    """
    order = Order(stage)
    found = Nests(stage, roots_of(stage))
    for group in groups:
        for root, axes in group.axes.items():
            orders.setdefault(root, (*axes, *(place for place in fixed_axes(root) if place not in axes)))
    homes = _ordered(found, list(found.roots.reasons), stage, orders)
    done: set[Tensor] = set()
    for root in list(found.roots.reasons):
        is_made = root not in stage.earlier
        if root in stage.of_items:
            if root not in done:
                group = next(one for one in groups if root in one.axes)
                done.update(group.axes)
                found.nests.append(_items(found, group, orders, homes))
        elif is_made and is_stream(root) and root not in done:
            streams = order.group_of(root)
            done.update(streams.streams)
            found.nests.append(_stream(found, streams, orders, rooms))
        elif not is_made or not (is_stream(root) or is_selection(root)):
            found.nests += _nests(found, root, orders, homes, stage)
    return found


def _ordered(found: Nests, roots: list[Tensor], stage: Stage, orders: Orders) -> Homes:
    """Orders the axes of roots; which of them are written to a concat."""
    for root in roots:
        if root not in orders:
            is_other = root in stage.earlier or is_stream(root) or isinstance(root.op, Keys)  # rows that are joined, or read
            inner = found.roots.inner.get(root)
            orders[root] = fixed_axes(root) if is_other else order_of(root, inner, found.roots, orders)
    return _homes(roots, users_of(stage.values, stage.earlier), stage, orders)


def _nests(found: Nests, root: Tensor, orders: Orders, homes: Homes, stage: Stage) -> list[Nest]:
    owner = homes[root][0] if root in homes else root
    buffer = found.buffers.setdefault(owner, Buffer(owner, orders[owner]))
    if isinstance(root.op, ops.Concat) and root not in stage.earlier and root not in stage.of_items:
        return _parts(found, root, homes)
    return [_nest(found, root, found.roots.reasons[root], buffer, homes.get(root))]


def _items(found: Nests, group: items.ItemGroup, orders: Orders, homes: Homes) -> ItemLoop:
    """The loop of a group, and what it writes."""
    loop = ItemLoop(group, nests_of(group.stage, {}), found.roots)
    read = tuple(dict.fromkeys(leaf if leaf in found.roots else base_of(leaf) for leaf in group.leaves))
    for target in group.axes:
        (nest,) = _nests(found, target, orders, homes, found.stage)
        nest.given = read
        loop.nests.append(nest)
    return loop


def _stream(found: Nests, group: StreamGroup, orders: Orders, rooms: Sequence[Room]) -> StreamLoop:
    """The nests of a block. The values that it reads from its own row have their nests before."""
    body = body_of(group, found.stage, rooms)
    own = [root for root in body.roots.reasons if root not in body.stage.earlier]
    made = StreamLoop(group.symbol, body.size, body.room, list(group.streams), group.online)
    for stream in group.streams:
        found.buffers[stream] = found.buffers[body.results[stream]] = Buffer(stream, orders[stream])
        if isinstance(stream.op, ops.Sort):
            made.results += _selections(found, stream, orders)
    made.roots.reasons = {**found.roots.reasons, **{root: body.roots.reasons[root] for root in own}}
    made.roots.inner, made.roots.chains = body.roots.inner, body.roots.chains
    found = Nests(body.stage, made.roots, buffers=found.buffers)
    streams = {result: stream for stream, result in body.results.items()}
    homes = _ordered(found, own, body.stage, orders)
    for root in own:
        if are_rows(root):
            found.buffers[root] = keys_buffer(root, orders)
        nests = _nests(found, root, orders, homes, body.stage)
        for nest in nests if root in streams else ():
            nest.stream, nest.factor, nest.reason = streams[root], body.factors.get(streams[root]), Reason.STREAM
        made.nests += nests
    return made


def _selections(found: Nests, order: Tensor, orders: Orders) -> list[Tensor]:
    """The numbers that an order finds, read or not."""
    x = order.args[0]
    numbers = build.gather(x, order, [None if i == joined_rows(order)[0] else axis(i) for i in range(len(x.shape))])
    same = [root for root in found.roots.reasons if is_selection(root) and root.args[1] is order]
    orders.setdefault(numbers, orders[order])
    for root in same:
        orders[root] = orders[numbers]
    found.buffers |= dict.fromkeys([numbers, *same], Buffer(numbers, orders[numbers]))
    found.roots.reasons.setdefault(numbers, Reason.STREAM)
    return [numbers]


def keys_buffer(keys: Tensor, orders: Orders) -> Buffer:
    """Rows lie in memory between stages, where they are read; the planes of columns are copied."""
    (x,) = keys.args
    (place,) = [i for i, size in enumerate(x.shape) if isinstance(size, str)]
    inner = orders.get(x, fixed_axes(x))
    if isinstance(x.op, ops.Column):
        return Buffer(keys, (*inner, place), is_common=True)
    return Buffer(keys, (place, *inner), is_common=True, pitch=buffer_pitch(x) * 4 // width_of(x.dtype))


def _nest(found: Nests, root: Tensor, reason: Reason, buffer: Buffer, home: tuple[Tensor, int] | None) -> Nest:
    inner = found.roots.inner.get(root)
    loops, index = loops_over(root, buffer.order)
    target = _target(buffer, index, home)
    return Nest(root, reason, buffer, loops, index, target, inner, _bias_of(found.roots.chains[root], inner) if inner else None)


def _target(buffer: Buffer, index: tuple[Linear | None, ...], home: tuple[Tensor, int] | None) -> Linear:
    """Where an element is written, in elements."""
    total = Linear(home[1] if home else 0)
    for one, stride in zip([one for one in index if one is not None], buffer.strides):
        total = total.plus(one, stride)
    return total


def _part_offsets(buffer: Buffer) -> list[int]:
    """The first element of each part of a concat."""
    concat = buffer.root
    assert isinstance(concat.op, ops.Concat)
    place = [i for i, size in enumerate(concat.shape) if isinstance(size, int)].index(concat.op.axis)
    offsets, start = [], 0
    for arg in concat.args:
        offsets.append(start * buffer.strides[place])
        size = arg.shape[concat.op.axis]
        assert isinstance(size, int)
        start += size
    return offsets


def _homes(roots: list[Tensor], users: dict[Tensor, list[Tensor]], stage: Stage, orders: Orders) -> Homes:
    """Roots that only a concat reads, which are written where that has them: {root: (concat, first element)}."""
    found: dict[Tensor, tuple[Tensor, int]] = {}
    for concat in roots:
        if not isinstance(concat.op, ops.Concat) or concat in stage.earlier or concat in stage.of_items:
            continue
        for arg, offset in zip(concat.args, _part_offsets(Buffer(concat, orders[concat]))):
            is_single = users.get(arg) == [concat] and concat.args.count(arg) == 1
            is_written = isinstance(arg.op, (ops.Map, ops.Cast, *_SUMS)) and arg not in stage.earlier
            if arg in roots and is_single and is_written and not is_stream(arg) and arg not in stage.targets:
                found[arg] = (concat, offset)
    return found


_SUMS = (ops.Reduce, ops.Contract)


def _parts(found: Nests, concat: Tensor, homes: Homes) -> list[Nest]:
    """A nest for each part that is not written to the concat by its own nest."""
    buffer, nests = found.buffers[concat], []
    for arg, offset in zip(concat.args, _part_offsets(buffer)):
        if arg not in homes:
            loops, index = loops_over(arg, buffer.order)
            target = _target(buffer, index, (concat, offset))
            nests.append(Nest(arg, Reason.ELEMENTS, buffer, loops, index, target, is_copy=True))
    return nests


def _bias_of(chain: list[Tensor], inner: Tensor) -> tuple[Tensor, Tensor] | None:
    """The function that adds a constant for each output to a product, and that constant."""
    if not isinstance(inner.op, ops.Contract) or not is_constant(inner.args[1]):
        return None
    op, output = inner.op, inner.op.out[-1:]
    if not output or output in op.left or output not in op.right:
        return None
    last = len(inner.shape) - 1
    for function in chain:
        if isinstance(function.op, ops.Map) and function.op.fn == "add" and inner in function.args:
            other = [arg for arg in function.args if arg is not inner]
            is_alone = len(other) == 1 and is_constant(other[0]) and isinstance(other[0].op, ops.View)
            if is_alone and all({number for number, _ in one.terms} <= {last} for one in _view(other[0]).index):
                return function, other[0]
    return None


def bias_of(nest: Nest) -> Array | None:
    """The constant that is added to the accumulators before the other functions, for each output."""
    if nest.bias is None:
        return None
    added = nest.bias[1]
    numbers, last = constant_value(added.args[0]), len(added.shape) - 1
    size = added.shape[last]
    assert isinstance(size, int)
    index = tuple(one.offset + dict(one.terms).get(last, 0) * np.arange(size) for one in _view(added).index)
    return np.broadcast_to(numbers[index] if index else numbers, (size,)).astype(np.float32)


def _view(tensor: Tensor) -> ops.View:
    assert isinstance(tensor.op, ops.View)
    return tensor.op


def reads_of(nest: Nest, roots: Roots) -> set[Tensor]:
    """The roots that a nest reads."""
    found: set[Tensor] = set()

    def visit(tensor: Tensor, is_top: bool) -> None:
        if tensor in roots and not is_top:
            found.add(tensor)
            return
        for arg in () if isinstance(tensor.op, Keys) else tensor.args[1:] if is_row_gather(tensor) else tensor.args:
            visit(arg, False)

    if nest.reason is Reason.ITEMS:
        found.update(nest.given)
    elif nest.reason is not Reason.EARLIER:
        visit(nest.root, not nest.is_copy)
    if nest.factor is not None:
        visit(nest.factor, False)
    return found
