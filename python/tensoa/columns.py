# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Collections to export and to check with: memory that lies as a binding says, filled with numbers."""

import torch

ROWS = (1021, 1549, 2053, 2557, 3061, 3571, 4073, 4591)  # of the example collections: all different
PITCHES = 4603  # of the example blocks: larger than all rows and all different


def collections_of(binding):
    return sorted({block.collection for block in binding.inputs})


def output_arguments(block, rule):
    return block.output_arguments(is_fixed="rows" in rule)


def rows_by(rules, rows):
    return [rule["rows"] if "rows" in rule else rows[rule["collection"]] for rule in rules]


def bits(tensor):
    return tensor if tensor.dtype == torch.bool else tensor.view(torch.uint8)


def as_double(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


class Columns:
    """Memory for a binding, filled with numbers; what the program must not touch is kept for comparison.

    `rows` of each input collection, `rules` for the rows of the outputs; without rules there are no outputs. All planes of
    a block have one pitch where blocks are `is_whole`, as in a collection; else each argument has its own.
    """

    def __init__(self, binding, rows, rules, device, seed=0, is_misaligned=False, is_whole=False):
        self.random = torch.Generator().manual_seed(seed)
        self.largest_index = max(1, min(rows.values(), default=1))
        self.device, self.is_misaligned, self.is_whole = device, is_misaligned, is_whole
        self.memory, self.blocks, self.written = [], [], []
        self.pitch = PITCHES
        self.inputs = [
            self._arguments(block, block.input_arguments(), rows[block.collection])[0] for block in binding.inputs
        ]
        self.outputs = [
            self._arguments(block, output_arguments(block, rule), count, is_written=True)
            for block, rule, count in zip(binding.outputs, rules, rows_by(rules, rows))
        ]
        self.before = [memory.clone() for memory in self.memory]

    def _numbers(self, size, block):
        dtype = block.column_dtype
        if dtype.is_floating_point:
            return torch.randn(size, generator=self.random).to(dtype)
        largest = 2 if dtype == torch.bool else min(self.largest_index, torch.iinfo(torch.int8).max + 1)
        if dtype in (torch.int32, torch.int64):
            largest = self.largest_index
        largest = min(largest, block.below or largest)
        return torch.randint(0, largest, (size,), generator=self.random).to(dtype)

    def _arguments(self, block, arguments, rows, is_written=False):
        tensors = []
        for argument in arguments:
            first = argument.first if self.is_whole else 0
            if not (self.is_whole and tensors):
                planes = max(block.places) + 1 if self.is_whole else argument.planes * argument.step
                self.pitch += 6  # all different, and none a multiple of another
                offset = 1 if self.is_misaligned else 0
                pitch = max(self.pitch, rows + 1)
                memory = self._numbers(offset + planes * pitch, block).to(self.device)
                self.memory.append(memory)
                self.blocks.append((memory[offset:].data_ptr(), pitch))
            stride = argument.step * pitch if argument.planes > 1 else rows
            row_stride = 0 if block.kind == "scalar" else 1
            shape = (argument.planes, rows), (max(stride, 1), row_stride), offset + first * pitch
            tensors.append(memory.as_strided(*shape))
            if is_written:
                self.written.append((len(self.memory) - 1, shape))
        return tensors

    def changed(self):
        """Memory that changed though it must not: inputs, and what lies between and behind the rows of outputs."""
        for at, shape in self.written:
            self.before[at].as_strided(*shape).copy_(self.memory[at].as_strided(*shape))
        return any(not torch.equal(bits(now), bits(then)) for now, then in zip(self.memory, self.before))
