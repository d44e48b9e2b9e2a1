# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Collections to export and to check with: memory that lies as a binding says, filled with numbers.

| numbers | floats | integers of any size | bounded integers, indices, truth values |
| --- | --- | --- | --- |
| normal | normally distributed | from -4 to 4, and row numbers | all that the model takes |
| small | the same times 2^-20 | -1, 0, 1 | the same |
| large | the same times 2^20 | of all magnitudes | the same |
| special | 0, -0, powers of two, others | the extremes, -1, 0, 1, powers of two, from 2^24 to 2^24 + 3 | the same |
| equal, far, tied, missing | as real_rows.py says | as normal | the same |

Every column of integers has both ends of its range. A row of several truth values has one that is true and one that is
false: a mask leaves something, and masks something. Blocks with examples always have rows of these. Floats of a block with
ranges (domain.py) are moved there, each by itself, so that what is equal stays equal.
"""

import math
from collections.abc import Sequence

import torch

from tensoa.binding.blocks import Argument, Binding, Block
from tensoa.binding.real_rows import REAL_ROWS, SCALE, real_rows

ROWS = (1021, 1549, 2053, 2557, 3061, 3571, 4073, 4591, 5101, 5623, 6131, 6653)  # of example collections: all different
FEW_ROWS = (101, 151, 211, 257, 307, 353, 401, 449, 503, 557, 601, 653)  # likewise, where the number does not matter
FEWEST_ROWS = (29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79)  # likewise, to try whether a model takes some at all
ROWS_OF_WIDE_BLOCKS = (5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
MOST_NUMBERS = 1 << 15  # of the inputs of a call that tries something: a row of wide blocks, as of an image, takes long
MANY_NUMBERS = 1 << 20  # likewise, where the rows are to be more than a table has
MOST_TRACED = 1 << 24  # of inputs that a model is followed with, which calculates nothing
NORMAL, SMALL, LARGE, SPECIAL = "normal", "small", "large", "special"
Range = tuple[float, float]  # the least and the largest number; infinite without a limit
EVERYWHERE: Range = (-math.inf, math.inf)
Rule = dict[str, int]  # of the rows of an output: {"collection": of an input} or {"rows": always}


def trial_rows(binding: Binding, rows: Sequence[int], most: int = MOST_NUMBERS) -> Sequence[int]:
    """These numbers of rows of example collections, or smaller ones where the blocks are so wide that the inputs would have
    more than `most` numbers.
    """
    width = sum(len(block.places) for block in binding.inputs)
    smaller = [few for few in (FEW_ROWS, FEWEST_ROWS, ROWS_OF_WIDE_BLOCKS) if few[0] < rows[0]]
    return next((few for few in (rows, *smaller) if few[0] * width <= most), ROWS_OF_WIDE_BLOCKS)


def collections_of(binding: Binding) -> list[int]:
    return sorted({block.collection for block in binding.inputs})


def output_arguments(block: Block, rule: Rule) -> list[Argument]:
    return block.output_arguments(is_fixed="rows" in rule)


def rows_by(rules: Sequence[Rule], rows: dict[int, int]) -> list[int]:
    return [rule["rows"] if "rows" in rule else rows[rule["collection"]] for rule in rules]


def bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.dtype == torch.bool else tensor.view(torch.uint8)


def as_double(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor


def is_integer(dtype: torch.dtype) -> bool:
    return not dtype.is_floating_point and dtype != torch.bool


def all_of(dtype: torch.dtype) -> tuple[int, int]:
    """The range of all integers of a dtype, as Block.integers."""
    return torch.iinfo(dtype).min, torch.iinfo(dtype).max


def moved(numbers: torch.Tensor, ends: Range) -> torch.Tensor:
    """Numbers of any size, between the ends: each by itself, NaN stays NaN."""
    low, high = ends
    if ends == EVERYWHERE:
        return numbers
    if math.isinf(high):
        return low + numbers.abs()
    if math.isinf(low):
        return high - numbers.abs()
    return (low + high) / 2 + (high - low) / 2 * (numbers / (1 + numbers.abs()))


class Columns:
    """Memory for a binding, filled with numbers; what the program must not touch is kept for comparison.

    `rows` of each input collection, `rules` for the rows of the outputs; without rules there are no outputs. All planes of
    a block have one pitch where blocks are `is_whole`, as in a collection; else each argument has its own. `numbers`: one
    of the table above.
    """

    def __init__(
        self,
        binding: Binding,
        rows: dict[int, int],
        rules: Sequence[Rule],
        device: str,
        seed: int = 0,
        is_misaligned: bool = False,
        is_whole: bool = False,
        numbers: str = NORMAL,
    ) -> None:
        self.random = torch.Generator().manual_seed(seed)
        self.rows_below = max(1, min(rows.values(), default=1))
        self.device, self.is_misaligned, self.is_whole, self.numbers = device, is_misaligned, is_whole, numbers
        self.first_example = seed
        self.memory: list[torch.Tensor] = []
        self.blocks: list[tuple[int, int]] = []  # (address, pitch)
        self.written: list[tuple[int, tuple]] = []  # which memory, and where in it
        self.pitch = max(rows.values(), default=0) + 12
        self.inputs = [self._arguments(block, block.input_arguments(), rows[block.collection])[0] for block in binding.inputs]
        self.outputs = [
            self._arguments(block, output_arguments(block, rule), count, is_written=True)
            for block, rule, count in zip(binding.outputs, rules, rows_by(rules, rows))
        ]
        self.before = [memory.clone() for memory in self.memory]

    def _draw(self, size: int, low: int, high: int) -> torch.Tensor:
        """Integers from `low` to `high`."""
        return torch.randint(low, high + 1, (size,), generator=self.random)

    def _floats(self, size: int) -> torch.Tensor:
        return torch.randn(size, generator=self.random)

    def _filled(self, size: int, block: Block) -> torch.Tensor:
        """Numbers for a whole memory."""
        dtype = block.column_dtype
        if dtype == torch.bool:
            return self._draw(size, 0, 1).to(dtype)
        if is_integer(dtype):
            return self._integers(size, block).to(dtype)
        scale = SCALE.get(dtype, 2**20)
        if self.numbers == SPECIAL:
            signs, powers = 2 * self._draw(size, 0, 1) - 1, self._draw(size, -10, 10)
            chosen, others = self._draw(size, 0, 3), self._floats(size)
            numbers = torch.where(chosen == 0, 0.0, torch.ldexp(torch.ones(size), powers)) * signs
            return torch.where(chosen == 3, others, numbers).to(dtype)
        return (self._floats(size) * {SMALL: 1 / scale, LARGE: scale}.get(self.numbers, 1)).to(dtype)

    def _integers(self, size: int, block: Block) -> torch.Tensor:
        dtype = block.column_dtype
        low, high = block.integers or (0, min(self.rows_below - 1, all_of(dtype)[1]))
        if (low, high) != all_of(dtype):
            return self._draw(size, low, high)
        if self.numbers == SMALL:
            return self._draw(size, max(low, -1), 1)
        bits_of_dtype = high.bit_length()
        powers = 1 << self._draw(size, 0, bits_of_dtype - 1)
        signs = 2 * self._draw(size, 0, 1) - 1 if low < 0 else 1
        if self.numbers == LARGE:
            return signs * (powers + self._draw(size, 0, high // 2) % powers)
        if self.numbers == SPECIAL:
            extremes = torch.tensor([low, high, max(low, -1), 0, 1])[self._draw(size, 0, 4)]
            numbers = torch.where(self._draw(size, 0, 1) == 1, extremes, signs * powers)
            if bits_of_dtype > 24:  # neighbours that are one number in float32
                numbers = torch.where(self._draw(size, 0, 2) == 0, (1 << 24) + self._draw(size, 0, 3), numbers)
            return numbers
        few = self._draw(size, max(low, -4), 4)
        return torch.where(self._draw(size, 0, 1) == 1, few, self._draw(size, 0, min(self.rows_below - 1, high)))

    def _arrange(self, planes: torch.Tensor, block: Block) -> None:
        """Puts into the planes [planes, rows] of an input what there must be, whatever was drawn."""
        count, rows = planes.shape
        if block.examples is not None:
            at = (torch.arange(rows) + self.first_example) % block.examples.shape[1]
            planes.copy_(block.examples[:, at])
        elif block.column_dtype.is_floating_point:
            if self.numbers in REAL_ROWS:
                planes.copy_(real_rows(self.numbers, count, rows, block.column_dtype, self.random))
            for plane, ends in zip(planes, block.ranges or ()):
                plane.copy_(moved(plane, ends))
        elif block.column_dtype == torch.bool and count > 1:
            every = torch.arange(rows)
            planes[every % count, every] = True
            planes[(every + 1) % count, every] = False
        elif is_integer(block.column_dtype) and block.integers and block.integers != all_of(block.column_dtype):
            for row, number in enumerate(block.integers[:rows]):
                planes[:, row] = number

    def _arguments(
        self, block: Block, arguments: Sequence[Argument], rows: int, is_written: bool = False
    ) -> list[torch.Tensor]:
        tensors: list[torch.Tensor] = []
        for argument in arguments:
            first = argument.first if self.is_whole else 0
            if not (self.is_whole and tensors):
                planes = max(block.places) + 1 if self.is_whole else argument.planes * argument.step
                self.pitch += 6  # all different, larger than all rows, and none a multiple of another
                offset = 1 if self.is_misaligned else 0
                pitch = max(self.pitch, rows + 1)
                memory = self._filled(offset + planes * pitch, block)
                if not is_written and rows > 0:
                    at = torch.tensor(block.places) - (0 if self.is_whole else argument.first)
                    lines = memory[offset:].view(planes, pitch)[:, :rows]
                    chosen = lines[at]
                    self._arrange(chosen, block)
                    lines[at] = chosen
                memory = memory.to(self.device)
                self.memory.append(memory)
                self.blocks.append((memory[offset:].data_ptr(), pitch))
            stride = argument.step * pitch if argument.planes > 1 else rows
            row_stride = 0 if block.kind == "scalar" else 1
            shape = (argument.planes, rows), (max(stride, 1), row_stride), offset + first * pitch
            tensors.append(memory.as_strided(*shape))
            if is_written:
                self.written.append((len(self.memory) - 1, shape))
        return tensors

    def changed(self) -> bool:
        """Memory that changed though it must not: inputs, and what lies between and behind the rows of outputs."""
        for at, shape in self.written:
            self.before[at].as_strided(*shape).copy_(self.memory[at].as_strided(*shape))
        return any(not torch.equal(bits(now), bits(then)) for now, then in zip(self.memory, self.before))
