# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The code of one kernel."""

from tensoa.compiler.backends.cuda.across import Across
from tensoa.compiler.backends.cuda.layouts import mask_text
from tensoa.compiler.backends.cuda.memory import TOGETHER, Memory, Work
from tensoa.compiler.backends.cuda.program import KernelEntry
from tensoa.compiler.backends.cuda.values import c_type
from tensoa.compiler.backends.cuda.weights import SHARED_BYTES
from tensoa.compiler.ir import REDUCTIONS, Value
from tensoa.compiler.stages import Buffer

TILE_ROWS = 16
REGISTER_TILES = 24  # of a value: wider ones live in local memory, and loops over them are not unrolled


class Kernel(Across):
    """The kernel of a stage: `together`, its warps own a tile together."""

    def __init__(self, memory: Memory, work: Work, together: bool) -> None:
        super().__init__(memory, work.stage, together)
        self.steps = work.steps
        self.zeros = memory.zeros[work.at] if work.at is not None else []
        self._write()

    def _total(self, buffer: Buffer) -> None:
        slots, (x, _), layout = self.memory.slots, buffer.value.args, self.layout(buffer.value)
        lists = self.memory.lists_of(buffer.value)
        shape = "1, 1" if layout is None else f"4, {len(layout) // 4}"
        memory = f"p.buffer[{slots[id(buffer.value)]}], p.buffer[{slots[id(x)]}], p.buffer[{lists.members}]"
        self.line(f"total<{shape}>({memory}, {lists.text}, at, warp);")
        self.widest = max(self.widest, 8)  # about what it needs

    def _sum(self, buffer: Buffer) -> None:
        x, index = buffer.value.args
        slot, text, layout = self.memory.slots[id(buffer.value)], self._held(x), self.layout(x)
        at = self.index(index, f"p.rows[{buffer.domain}]")
        join = REDUCTIONS[buffer.value.name].functor
        function = f"scatter_scalar<{join}>" if layout is None else f"scatter<{join}, {self.layout_type(layout)}>"
        self.line(f"{function}(p.buffer[{slot}], {text}, {at}, tile, warp);")

    def _held(self, value: Value) -> str:
        """A Scalar or a clean Fragment."""
        return self.scalar(value, 0) if value.width == 1 else self.clean(value)

    def _write(self) -> None:
        for step, lists in self.steps:
            if step == "allocate":
                self.line(f"allocate({lists.text}, tile, warp);")
                continue
            index = self.index(lists.index, f"p.rows[{lists.domain}]")
            memory = f"p.buffer[{lists.members}], " if step == "enter" else ""
            self.line(f"{step}({lists.text}, {memory}p.buffer[{lists.places}], {index}, tile, warp);")
        for buffer in self.stage.totals:
            self._total(buffer)
        for value in self.zeros:
            slot, layout = self.memory.slots[id(value)], self.layout(value)
            if layout is None:
                self.line(f"clear_scalar(p.buffer[{slot}], tile, warp);")
            else:
                self.line(f"clear<{len(layout) // 8}>(p.buffer[{slot}], tile, warp);")
        for output in self.stage.outputs:
            text, layout = self._held(output.value), self.layout(output.value)
            columns = self.columns(output.block, output.planes, layout, c_type(output.dtype), True)
            self.line(f"write({columns}, {text}, tile, warp);")
        for buffer in self.stage.stores:
            if id(buffer.value) not in self.memory.joined:
                if self.together and self.memory.is_only_stored(buffer.value):
                    self.use(buffer.value)
                    continue
                slot = self.memory.slots[id(buffer.value)]
                place = f", {self.planes(buffer.value)}" if self.memory.is_dense(buffer.value) else ""
                self.line(f"store(p.buffer[{slot}], {self._held(buffer.value)}{place}, tile, warp);")
        for buffer in self.stage.sums:
            if not self.memory.is_total(buffer.value):
                self._sum(buffer)

    @property
    def threads(self) -> int:
        if self.together:
            return 32 * TOGETHER
        return 32 * (16 if self._registers() <= 128 else 8)

    @property
    def blocks(self) -> int:
        """On a multiprocessor."""
        if self.together:
            return 3
        fits = max(1, SHARED_BYTES // max(1, len(self.weights.shared)))
        return min(2 if self._registers() <= 64 else 1, fits)

    def entry(self, name: str) -> KernelEntry:
        exchange = 2 * self.exchanged * 32 * 16
        shared_bytes = exchange if self.together else len(self.weights.shared)
        return KernelEntry(name, self.threads, shared_bytes, TILE_ROWS, 0 if self.together else self.blocks)

    def _registers(self) -> int:
        """About what a thread needs: the widest values, several of which live at a time."""
        return 8 * min(self.widest, REGISTER_TILES) + 48

    def text(self, name: str, far: int) -> str:
        """`far`: where the weights of the kernel begin among those of all."""
        layouts = "".join(
            f"struct {layout} {{\n    static constexpr unsigned valid(int n) {{ return {mask_text(masks)}; }}\n}};\n"
            for masks, layout in self.layouts_used.items()
        )
        lines = [
            f"namespace {name}_parts {{",
            layouts + f"constexpr int kExchanged = {self.exchanged};",
            "}",
            f'extern "C" __global__ void __launch_bounds__({self.threads}, {self.blocks})',
            f"{name}(const __grid_constant__ Params p) {{",
            f"    using namespace {name}_parts;",
            "    let_next_kernel_begin();",
            f"    const int64 rows = {self.rows_of(self.stage.domain)};",
            "    const int tiles = static_cast<int>((rows + kTileRows - 1) / kTileRows);",
            f"    const char* const weights = static_cast<const char*>(p.weights) + {far};",
            f"    [[maybe_unused]] const char* const far = weights + {len(self.weights.shared)};",
        ]
        if self.together:
            if self.exchanged:
                lines.append("    extern __shared__ float4 exchange[][32];")
            lines += [
                "    wait_for_work_before();",
                f"    const Warp warp(threadIdx.x / 32, {TOGETHER});",
                "    for (int at = blockIdx.x; at < tiles; at += gridDim.x) {",
            ]
        else:
            if len(self.weights.shared):
                lines += [
                    "    extern __shared__ uint4 shared_memory[];",
                    "    char* const shared = reinterpret_cast<char*>(shared_memory);",
                    f"    stage_weights(shared, weights, {len(self.weights.shared)});",
                ]
            lines += [
                "    wait_for_work_before();",
                "    const Warp warp(0, 1);",
                f"    const int step = gridDim.x * {self.threads // 32};",
                "    for (int at = threadIdx.x / 32 * gridDim.x + blockIdx.x; at < tiles; at += step) {",
            ]
        lines.append("        const Tile tile(at, rows, warp);")
        end = "        __syncthreads();\n    }\n}\n" if self.together and self.exchanges else "    }\n}\n"
        return "\n".join(lines + self.lines) + "\n" + end
