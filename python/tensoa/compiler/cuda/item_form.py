# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The form of a kernel whose layers have elements of a row as items: a block has some rows, groups of items lie in fragments
(fragment_items.py), and what these read and make lies in shared memory, between barriers.
"""

import math
from collections.abc import Sequence

from tensoa.compiler import operations as ops
from tensoa.compiler.cuda.fragment_items import ItemPrinter
from tensoa.compiler.cuda.fragment_layers import dense
from tensoa.compiler.cuda.fragments import NotHeld
from tensoa.compiler.cuda.kernel_texts import KernelText
from tensoa.compiler.cuda.memory import Memory
from tensoa.compiler.cuda.near_weights import NearWeights
from tensoa.compiler.cuda.program import KernelEntry
from tensoa.compiler.cuda.rows import StagePrinter
from tensoa.compiler.cuda.target import Target
from tensoa.compiler.cuda.tiles import REGISTER_TILES
from tensoa.compiler.cuda.units import UnitPrinter
from tensoa.compiler.schedule.items import grouped
from tensoa.compiler.schedule.joined import join_nests
from tensoa.compiler.schedule.nests import ItemLoop, Nests, UnitLoop, nests_of, reads_of
from tensoa.compiler.schedule.stages import ONE
from tensoa.compiler.schedule.teams import WARP, of_block
from tensoa.compiler.tensors import Tensor


class ItemStage(StagePrinter):
    """Prints a stage with groups of items. Raises NotHeld where the values of `loop` do not lie in fragments."""

    loop: ItemLoop | None = None
    widest = 1  # tiles of a value

    def print_items(self, loop: ItemLoop) -> None:
        assert isinstance(self.weights, NearWeights)
        printer = ItemPrinter(loop, self, self.weights, self.target, self.precision)
        self.loop = loop
        text = printer.print_all()
        self.widest = max(self.widest, printer.widest)
        own = [self.nests.buffers[root] for root in loop.nests[0].given if root not in self.nests.stage.earlier]
        self.line(self.barriers.before(own, [nest.buffer for nest in loop.nests]))
        self.line(text)
        copied = [nest.root for nest in loop.nests if nest.root in self.copies]
        for root in copied:
            self.at_the_end([root])
            self.line(f"{{ {self.copied(root)} }}")

    def print_units(self, loop: UnitLoop) -> None:
        buffers = [self.nests.buffers[root] for nest in loop.nests for root in reads_of(nest, self.nests.roots)]
        reads = [one for one in buffers if one.root not in self.nests.stage.earlier and not one.units]
        self.line(self.barriers.before(reads, [nest.buffer for nest in loop.nests if not nest.buffer.units]))
        self.line(f"{{ {self.shared(loop.loops, UnitPrinter(self, loop).text())} }}")


class ItemForm:
    """The code of a stage of which a block has up to `most` rows at a time: fewer where there are few, so that all blocks have
    some.
    """

    def __init__(self, nests: Nests, memory: Memory, precision: str, target: Target, clears: Sequence[Tensor]) -> None:
        loops = [nest for nest in nests.nests if isinstance(nest, ItemLoop)]
        # Neighbouring rows begin in different banks of shared memory, at multiples of 16 bytes.
        self.pitch = -(-max(0, nests.bytes - 16) // 128) * 128 + 16
        self.common_bytes = -(-nests.common_bytes // 16) * 16
        self.most = self._rows(min(math.prod(loop.group.sizes) for loop in loops), target)
        largest = self.most * max(math.prod(nest.root.inner) for nest in nests.all_nests)
        self.threads = target.many_threads if largest >= target.elements else target.threads
        if self.scratch_bytes > target.warps_bytes:
            raise NotHeld(f"{self.scratch_bytes} bytes of a row")
        self.target, self.rows = target, memory.rows_text(nests.stage.rows)
        self.weights = NearWeights(min(target.near_weights, target.warps_bytes - self.scratch_bytes))
        self.printer = ItemStage(nests, self.weights, of_block(self.most, self.threads, False), memory)
        self.printer.precision, self.printer.target, self.printer.clears = precision, target, clears

    def print_all(self) -> None:
        """Raises NotHeld."""
        self.printer.place_all(self.pitch, "scratch")
        self.printer.print_all()

    def _rows(self, items: int, target: Target) -> int:
        """The rows that give each warp items, where memory allows. `items`: of a row, in the group with the fewest."""
        rows = 1
        while rows < target.tile and rows * items < target.tile * target.many_threads // WARP:
            if 2 * rows * self.pitch + self.common_bytes > target.item_bytes:
                break
            rows *= 2
        return rows

    @property
    def is_alone(self) -> bool:
        """Whether a block whose warps share a layer would not be ready sooner."""
        loops = [nest for nest in self.printer.nests.nests if isinstance(nest, ItemLoop)]
        return max(map(_products, loops)) <= self.target.serial_products

    @property
    def scratch_bytes(self) -> int:
        """Of a block."""
        return self.most * self.pitch + self.common_bytes

    @property
    def registers(self) -> int:
        return min(128, 8 * min(self.printer.widest, REGISTER_TILES) + 48)

    @property
    def blocks(self) -> int:
        """On a multiprocessor."""
        by_memory = self.target.processor_bytes // (self.near_bytes + 1024)
        return max(1, min(by_memory, 65536 // (self.registers * self.threads)))

    def entry(self, name: str) -> KernelEntry:
        """Of a kernel that has no other form; so has text()."""
        return KernelEntry(name, self.threads, self.near_bytes, 1, self.blocks)

    def text(self, name: str, weights: int) -> KernelText:
        return KernelText(name, f"{self.threads}, {self.blocks}", weights, self.rows, self.body)

    @property
    def lines(self) -> list[str]:
        return self.printer.lines

    @property
    def characters(self) -> int:
        return sum(map(len, self.lines))

    @property
    def near_bytes(self) -> int:
        """Of shared memory, in which weights come first."""
        return len(self.weights.near) + self.scratch_bytes

    @property
    def data(self) -> bytes:
        """Weights."""
        return self.weights.data

    @property
    def body(self) -> str:
        """The text of the kernel after `rows`, `shared` and `far_weights` are declared."""
        size, body = len(self.weights.near), "\n".join(self.lines)
        staged = f"stage_weights(shared, far_weights, {size});\n" if size else ""
        return f"""[[maybe_unused]] const char* const far = far_weights + {size};
[[maybe_unused]] const char* const near = shared;
[[maybe_unused]] const int thread = threadIdx.x, kThreads = blockDim.x;
[[maybe_unused]] char* const scratch = shared + {size};
[[maybe_unused]] char* const common = scratch + {self.most * self.pitch};
{staged}wait_for_work_before();
const int most = static_cast<int>(min(int64{{{self.most}}}, (rows + gridDim.x - 1) / gridDim.x));
for (int64 first = int64{{blockIdx.x}} * most; first < rows; first += int64{{gridDim.x}} * most) {{
const int n = static_cast<int>(min(int64{{most}}, rows - first));
{body}
__syncthreads();
}}
"""


def _products(loop: ItemLoop) -> int:
    """Of an item, in its largest layer."""
    inner = [nest.inner for nest in loop.inner.all_nests if nest.inner is not None]
    return max((dense(one)[2].size for one in inner if isinstance(one.op, ops.Contract)), default=0)


def items_form(nests: Nests, memory: Memory, precision: str, target: Target, clears: Sequence[Tensor]) -> ItemForm | None:
    """None where no layer has items whose values lie in fragments."""
    without: set[Tensor] = set()
    if nests.stage.rows == ONE or nests.streams:
        return None
    while True:
        stage, groups = grouped(nests.stage, without)
        if not groups:
            return None
        orders = {tensor: order for tensor, order in memory.orders.items() if tensor in memory.stored}
        found = nests_of(stage, orders, groups)
        join_nests(found)
        memory.place(found)
        try:
            form = ItemForm(found, memory, precision, target, clears)
        except NotHeld:
            return None
        try:
            form.print_all()
        except NotHeld:
            assert form.printer.loop is not None
            without.update(form.printer.loop.group.values)
            continue
        return form if form.characters <= target.kernel_characters else None
