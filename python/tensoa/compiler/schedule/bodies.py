# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Which streams of a stage share a loop over blocks of keys, and what is calculated in it for each block."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tensoa.compiler import operations as ops
from tensoa.compiler.operations import is_constant
from tensoa.compiler.schedule.addresses import elements_of, width_of
from tensoa.compiler.schedule.roots import Reason, Roots, roots_of
from tensoa.compiler.schedule.stages import Stage, own_args
from tensoa.compiler.schedule.streams import Blocks, Online, factor_of, is_stream, online, rescaling, symbol_of_keys
from tensoa.compiler.tensors import BlockSize, Tensor

_WEIGHTS = 64  # of a layer, at most, that each lane multiplies by itself


@dataclass(frozen=True)
class Room:
    """Where the values of a block lie, for an own row: up to `bytes` in blocks of one of these `sizes`. `is_of_lanes`: in the
    registers of a lane, with what is read and with what there is of the blocks before.
    """

    sizes: tuple[int, ...]
    bytes: int
    is_of_lanes: bool = False

    def holds(self, body: "Body") -> bool:
        reasons, results = body.roots.reasons, list(body.results.values())
        if self.is_of_lanes:
            inner = [root for root in body.roots.inner.values() if isinstance(root.op, ops.Contract)]
            weights = [arg for root in inner for arg in root.args if is_constant(arg)]
            roots = [root for root in reasons if not isinstance(root.op, ops.Sort)]  # of the largest, few lie there
            return sum(map(elements_of, weights)) <= _WEIGHTS and _bytes(roots) <= self.bytes
        least = max((root.op.k for root in results if isinstance(root.op, ops.Sort)), default=1)
        made = [root for root, reason in reasons.items() if reason not in (Reason.EARLIER, Reason.KEYS)]
        return int(body.size) // 2 < least or _bytes(root for root in made if root not in results) <= self.bytes


def _bytes(roots: Iterable[Tensor]) -> int:
    return sum(elements_of(root) * width_of(root.dtype) for root in roots)


#: Those of a tile lie in the first level of the cache.
CACHE = Room((64, 32, 16, 8), 640)
LANES = Room((4, 2, 1), 2048, True)


@dataclass
class StreamGroup:
    """Streams over the same rows, none of which needs another one; `online`: those that are made as their largest is found."""

    symbol: str
    streams: list[Tensor] = field(default_factory=list)
    online: dict[Tensor, Online] = field(default_factory=dict)


@dataclass
class Body:
    """A block: `results` of each stream, the `stage` that makes them, and what there was before the block is multiplied by."""

    size: BlockSize
    room: Room
    results: dict[Tensor, Tensor]
    factors: dict[Tensor, Tensor]
    stage: Stage
    roots: Roots


class Order:
    """Sorts the values of a stage into passes over keys: `groups` by pass and rows. A value is made before the streams of its
    pass, and after those of the pass before.
    """

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.before: dict[Tensor, int] = {}
        self.groups: dict[tuple[int, str], StreamGroup] = {}
        for value in stage.values:
            found = self.joined(value)
            self.before[value] = self.passes(value, found)
            if self.is_made(value):
                key = self.before[value], symbol_of_keys(value)
                group = self.groups.setdefault(key, StreamGroup(key[1]))
                group.streams.append(value)
                if found is not None:
                    group.online[value] = found
        stage.values.sort(key=lambda value: (self.before[value], self.is_made(value)))

    def is_made(self, value: Tensor) -> bool:
        return is_stream(value) and value not in self.stage.earlier

    def passes(self, value: Tensor, found: Online | None) -> int:
        """How many passes have to be over before it."""
        if value in self.stage.earlier:
            return 0
        if found is not None:
            return self.before[found.softmax.largest]
        return max((self.after(arg) for arg in own_args(value)), default=0)

    def after(self, value: Tensor) -> int:
        return self.before.get(value, 0) + self.is_made(value)

    def joined(self, value: Tensor) -> Online | None:
        """How it is made in the pass that finds its largest; None where it is not."""
        found = online(value) if self.is_made(value) else None
        if found is None or found.softmax.largest not in self.before or not self.is_made(found.softmax.largest):
            return None
        others = [arg for arg in own_args(value) if arg is not found.softmax.reference]
        is_ready = all(self.after(arg) <= self.before[found.softmax.largest] for arg in others)
        return found if is_ready else None

    def group_of(self, stream: Tensor) -> StreamGroup:
        return self.groups[self.before[stream], symbol_of_keys(stream)]


def body_of(group: StreamGroup, stage: Stage, rooms: Sequence[Room]) -> Body:
    """In the largest blocks that the first of `rooms` with room for one holds; else in the least that the last one has."""
    for room in rooms:
        for size in room.sizes:
            body = _body(group, stage, BlockSize(size), room)
            if room.holds(body):
                return body
    return body


def _body(group: StreamGroup, stage: Stage, size: BlockSize, room: Room) -> Body:
    scales = {found.softmax.largest: rescaling(found.softmax) for found in group.online.values()}
    results, leaves, factors = {}, dict[Tensor, None](), {}
    blocks = Blocks(size)
    for stream in group.streams:
        if stream not in group.online:
            results[stream] = blocks.result(stream)
    leaves |= blocks.own
    for stream, found in group.online.items():
        scale = scales[found.softmax.largest]
        replaced = Blocks(size, {found.softmax.reference: scale.reference})
        results[stream] = replaced.result(stream)
        factors[stream] = factor_of(stream, found, scale)
        leaves |= {leaf: None for leaf in replaced.own if leaf is not found.softmax.reference}
        leaves[found.softmax.largest] = None
    order = [scale.previous for scale in scales.values()]
    order += [results[stream] for stream in group.streams if stream not in group.online]
    order += [one for stream in group.online for one in (factors[stream], results[stream])]
    inner = Stage(stage.rows, stage.level, _values(order, leaves), set(leaves), kept=[*results.values(), *factors.values()])
    roots = roots_of(inner)
    return Body(size, room, results, factors, inner, roots)


def _values(targets: list[Tensor], leaves: dict[Tensor, None]) -> list[Tensor]:
    """The tensors that a block calculates, in the order of the targets, arguments first; blocks of rows are not calculated."""
    done: dict[Tensor, None] = dict(leaves)

    def visit(tensor: Tensor) -> None:
        if tensor not in done:
            for arg in own_args(tensor):
                visit(arg)
            done.setdefault(tensor)

    for target in targets:
        visit(target)
    return list(done)
