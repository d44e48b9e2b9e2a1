# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Where buffers lie in the scratch memory of a stage: first fit, and used again after the last nest that reads them."""

import sys
from collections.abc import Callable, Collection

from tensoa.compiler import operations as ops
from tensoa.compiler.schedule.addresses import base_of, elements_of, flat, width_of
from tensoa.compiler.schedule.nests import Buffer, Nest, Nests, UnitLoop, reads_of
from tensoa.compiler.schedule.reads import has_lookup, leaves
from tensoa.compiler.schedule.roots import Roots
from tensoa.compiler.tensors import Tensor

LINE = 64  # bytes of a cache line, and of a vector


def place(
    nests: Nests, kept: set[Tensor], overwritten: Callable[[Nest], Tensor | None] = lambda _: None, is_in_place: bool = False,
    late: Collection[Tensor] = (),
) -> None:  # fmt: skip
    """Gives the buffers their offsets. `kept`: roots that lie in memory between stages instead. `overwritten(nest)`: the root
    that a nest has read before it writes; another one may then lie where it was. `is_in_place`: what a nest of a block of keys
    writes lies where the same elements of a root lie that it is the last one to read, so that caches have more of the block.
    `late`: roots that are calculated at the end of the stage.
    """
    everything, roots = nests.all_nests, nests.all_roots
    owner = {id(buffer): buffer for buffer in (*nests.buffers.values(), *(nest.buffer for nest in everything))}
    for buffer in owner.values():
        buffer.first, buffer.last = sys.maxsize, 0
        buffer.size = -(-elements_of(buffer.root) * width_of(buffer.root.dtype) // LINE) * LINE
    for time, nest in enumerate(everything):
        buffer = nest.buffer
        buffer.first, buffer.last = min(buffer.first, time), max(buffer.last, time)
    for first, stream in nests.streams:
        last = first + len(stream.nests)
        for result in stream.results:  # is there before the first block and after the last one
            buffer = nests.buffers[result]
            buffer.first, buffer.last = min(buffer.first, first), max(buffer.last, last)
        for time in range(first, last):
            for buffer in (nests.buffers[root] for root in reads_of(everything[time], roots[time])):
                buffer.last = max(buffer.last, time if buffer.first > first else last)  # other blocks read it again
    left = list[int]()  # nests of the same unit that follow: other threads may not be done with what this one reads
    for loop in nests.nests:
        count = 1 if isinstance(loop, Nest) else len(loop.nests)
        left += range(count - 1, -1, -1) if isinstance(loop, UnitLoop) else [0] * count
    for time, nest in enumerate(everything):
        for root in reads_of(nest, roots[time]):
            buffer = nests.buffers[root]
            buffer.last = len(everything) if nest.root in late else max(buffer.last, time + left[time])
    for target in nests.stage.targets:
        root = target if target in nests.roots else base_of(target)
        nests.buffers[root].last = len(everything)
    for time, nest in enumerate(everything):
        used = overwritten(nest)
        if used is not None and nests.buffers[used].last == time:
            nests.buffers[used].last -= 1
    homes = _in_place(nests, kept) if is_in_place else {}
    of_lanes = [one for _, stream in nests.streams if stream.room.is_of_lanes for one in stream.nests if one.stream is None]
    others = {id(nest.buffer) for nest in everything if not any(nest is one for one in of_lanes)}
    registers = {id(nest.buffer) for nest in of_lanes} - others
    placed = [one for one in owner.values() if one.root not in kept and id(one) not in registers and not one.units]
    placed = [one for one in placed if id(one) not in homes]
    nests.bytes = _first_fit([one for one in placed if not one.is_common])
    nests.common_bytes = _first_fit([one for one in placed if one.is_common and not one.pitch])
    for buffer in owner.values():
        buffer.offset = homes.get(id(buffer), buffer).offset


def _in_place(nests: Nests, kept: set[Tensor]) -> dict[int, Buffer]:
    """The buffer at whose place another one lies, which stays until the other one is not read any more."""
    homes: dict[int, Buffer] = {}
    for first, stream in nests.streams:
        for time, nest in enumerate(stream.nests, first):
            found = _last_read(nest, time, nests, stream.roots)
            if found is not None and not kept & {nest.buffer.root, found.root}:
                home = homes[id(nest.buffer)] = homes.get(id(found), found)
                home.last = max(home.last, nest.buffer.last)
    return homes


def _last_read(nest: Nest, time: int, nests: Nests, roots: Roots) -> Buffer | None:
    """A buffer of which a nest is the last one to read, of each element that it writes the same one."""
    buffer, is_function = nest.buffer, isinstance(nest.root.op, (ops.Map, ops.Cast)) and nest.inner is None
    if not is_function or nest.is_copy or nest.stream is not None or buffer.first < time or has_lookup(nest.root, roots):
        return None
    found = [(leaf, at) for leaf, at in leaves(nest.root, nest.index, roots) if leaf in nests.buffers]
    read = [(leaf, flat(at, nests.buffers[leaf].strides)) for leaf, at in found]
    for leaf, _ in read:
        one = nests.buffers[leaf]
        is_alike = (one.size, one.is_common, one.root) == (buffer.size, buffer.is_common, leaf)
        is_alike &= width_of(leaf.dtype) == width_of(nest.root.dtype) and buffer.root is nest.root
        if is_alike and one.last == time and all(at == nest.target for other, at in read if other is leaf):
            return one
    return None


def _first_fit(buffers: list[Buffer]) -> int:
    """Gives them their offsets; the bytes of all together."""
    placed: list[Buffer] = []
    for buffer in sorted(buffers, key=lambda one: one.first):
        alive = sorted((one for one in placed if one.last >= buffer.first), key=lambda one: one.offset)
        offset = 0
        for other in alive:
            if offset + buffer.size <= other.offset:
                break
            offset = max(offset, other.offset + other.size)
        buffer.offset = offset
        placed.append(buffer)
    return max((buffer.offset + buffer.size for buffer in placed), default=0)
