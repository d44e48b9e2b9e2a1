# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The form of a kernel in which values lie in fragments (fragments.py), and when it is the only one."""

from collections.abc import Sequence

from tensoa.compiler import operations as ops
from tensoa.compiler.cuda.fragment_layers import dense
from tensoa.compiler.cuda.fragment_rows import FragmentStage
from tensoa.compiler.cuda.fragments import NotHeld
from tensoa.compiler.cuda.kernel_texts import KernelText
from tensoa.compiler.cuda.memory import Memory
from tensoa.compiler.cuda.near_weights import NearWeights
from tensoa.compiler.cuda.program import KernelEntry
from tensoa.compiler.cuda.target import Target
from tensoa.compiler.cuda.tiles import REGISTER_TILES, TILE_ROWS, TOGETHER
from tensoa.compiler.cuda.weights import SHARED_BYTES
from tensoa.compiler.passes import is_row_gather
from tensoa.compiler.schedule.nests import Nests
from tensoa.compiler.schedule.stages import ONE, symbol_of
from tensoa.compiler.tensors import Tensor

WARP = 32
SPILLING = 144  # registers that a thread needs, about: up to here 128 registers and twice the warps are faster


def shared_rows(memory: Memory) -> set[str]:
    """Collections whose rows others read, or are joined to: they are few, and what is made of them is waited for."""
    found: set[str] = set()
    for nests in memory.stages:
        for value in nests.stage.values:
            if is_row_gather(value):
                found.add(symbol_of(value.args[0]))
        found.update(symbol_of(scatter) for scatter in nests.stage.scatters)
    return found


class FragmentForm:
    """The code of a stage. `parts`: warps that have the same sixteen rows; `is_alone`: whether a block of few rows would not be
    ready sooner.
    """

    def __init__(self, nests: Nests, memory: Memory, precision: str, target: Target, clears: Sequence[Tensor]) -> None:
        inner = [nest.inner for nest in nests.all_nests if nest.inner is not None]
        layers = [dense(one)[2] for one in inner if isinstance(one.op, ops.Contract)]
        if not layers and any(value.dtype.name == "float64" for value in nests.stage.values):
            raise NotHeld("numbers of float64 that each lane of a row would calculate")
        is_wide = any(weight.shape[0] > target.few_outputs and weight.shape[1] > target.few_inputs for weight in layers)
        self.rows = memory.rows_text(nests.stage.rows)
        self.parts = TOGETHER if is_wide and nests.stage.rows in shared_rows(memory) else 1
        self.weights = NearWeights(SHARED_BYTES if self.parts == 1 else 0)
        printer = FragmentStage(nests, self.weights, target, precision, self.parts, memory)
        printer.print_all(clears)
        self.lines, self.exchanged, self.exchanges = printer.lines, printer.exchanged, printer.exchanges
        registers = 8 * min(max(printer.widest, 1), REGISTER_TILES) + 48
        self.registers = registers if registers > SPILLING else min(registers, 128)
        self.is_alone = self.parts > 1 or sum(weight.size for weight in layers) <= target.serial_products

    @property
    def characters(self) -> int:
        return sum(map(len, self.lines))

    @property
    def near_bytes(self) -> int:
        return len(self.weights.near)

    @property
    def threads(self) -> int:
        """Of a kernel that has no other form."""
        if self.parts > 1:
            return WARP * self.parts
        return WARP * (16 if self.registers <= 128 else 8)

    @property
    def blocks(self) -> int:
        if self.parts > 1:
            return 3
        fits = max(1, SHARED_BYTES // max(1, self.near_bytes))
        return min(2 if self.registers <= 64 else 1, fits)

    def entry(self, name: str) -> KernelEntry:
        exchange = 2 * self.exchanged * WARP * 16
        is_one = self.parts == 1
        return KernelEntry(name, self.threads, self.near_bytes if is_one else exchange, TILE_ROWS, self.blocks if is_one else 0)

    @property
    def data(self) -> bytes:
        """Weights."""
        return self.weights.data

    def text(self, name: str, weights: int) -> KernelText:
        """Of a kernel that has no other form. `weights`: where its own begin."""
        return KernelText(name, f"{self.threads}, {self.blocks}", weights, self.rows, self.body)

    @property
    def body(self) -> str:
        """The text of the kernel after `rows`, `shared` and `far_weights` are declared."""
        body, size = "\n".join(self.lines), self.near_bytes
        head = f"""[[maybe_unused]] const char* const far = far_weights + {size};
[[maybe_unused]] const char* const near = shared;
const int tiles = static_cast<int>((rows + kTileRows - 1) / kTileRows);
"""
        if self.parts > 1:
            room = f"constexpr int kExchanged = {self.exchanged};\n" if self.exchanged else ""
            room += "const auto exchange = reinterpret_cast<float4(*)[32]>(shared);\n" if self.exchanged else ""
            end = "__syncthreads();\n" if self.exchanges else ""
            return f"""{head}{room}wait_for_work_before();
const Warp warp(threadIdx.x / 32, {self.parts});
for (int at = blockIdx.x; at < tiles; at += gridDim.x) {{
const Tile tile(at, rows, warp);
{body}
{end}}}
"""
        staged = f"stage_weights(shared, far_weights, {size});\n" if size else ""
        return f"""{head}{staged}wait_for_work_before();
const Warp warp(0, 1);
for (int at = threadIdx.x / 32 * gridDim.x + blockIdx.x; at < tiles; at += gridDim.x * (blockDim.x / 32)) {{
const Tile tile(at, rows, warp);
{body}
}}
"""


def fragments_of(nests: Nests, memory: Memory, precision: str, target: Target, clears: Sequence[Tensor]) -> FragmentForm | None:
    """None where the values of a stage do not lie in fragments."""
    if nests.stage.rows == ONE or nests.streams:
        return None
    try:
        form = FragmentForm(nests, memory, precision, target, clears)
    except NotHeld:
        return None
    return form if form.characters <= target.kernel_characters else None
