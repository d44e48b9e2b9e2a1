# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Where buffers lie in the scratch memory of a stage: first fit, and used again after the last nest that reads them."""

import math

from tensoa.compiler.typed.schedule.addresses import base_of
from tensoa.compiler.typed.schedule.nests import Buffer, Nests, reads_of
from tensoa.compiler.typed.tensors import Tensor
from tensoa.dtypes import DType

LINE = 64  # bytes of a cache line, and of a vector


def width_of(dtype: DType) -> int:
    """Bytes of a number in scratch memory: integers of up to 32 bits and truth values are int32, short floats are float."""
    return 8 if dtype.name in ("float64", "int64") else 4


def elements_of(tensor: Tensor) -> int:
    return math.prod(tensor.inner)


def place(nests: Nests, kept: set[Tensor]) -> None:
    """Gives the buffers their offsets. `kept`: roots that lie in memory between stages instead."""
    end = len(nests.nests)
    owner = {id(nest.buffer): nest.buffer for nest in nests.nests}
    for buffer in owner.values():
        buffer.size = -(-elements_of(buffer.root) * width_of(buffer.root.dtype) // LINE) * LINE
        writers = [i for i, nest in enumerate(nests.nests) if nest.buffer is buffer]
        buffer.first, buffer.last = writers[0], writers[-1]
    for i, nest in enumerate(nests.nests):
        for root in reads_of(nest, nests.roots):
            buffer = nests.buffers[root]
            buffer.last = max(buffer.last, i)
    for target in nests.stage.targets:
        root = target if target in nests.roots else base_of(target)
        nests.buffers[root].last = end
    _first_fit(nests, [buffer for buffer in owner.values() if buffer.root not in kept])


def _first_fit(nests: Nests, buffers: list[Buffer]) -> None:
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
        nests.bytes = max(nests.bytes, offset + buffer.size)
