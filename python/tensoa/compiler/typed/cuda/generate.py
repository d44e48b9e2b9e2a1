# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From a typed program to the kernels of a package: one for each stage, its rows shared by blocks of threads."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tensoa.compiler.backends.cuda.generate import INSTRUCTIONS
from tensoa.compiler.backends.cuda.kernel import REGISTER_TILES, TILE_ROWS
from tensoa.compiler.backends.cuda.memory import PRECISIONS
from tensoa.compiler.backends.cuda.program import LIMITS, BufferEntry, CudaKernels, Generated, KernelEntry, Launch, Params, Zero
from tensoa.compiler.backends.kernel_text import joined
from tensoa.compiler.constants import Pool
from tensoa.compiler.errors import NotFused
from tensoa.compiler.typed import operations as ops
from tensoa.compiler.typed.cuda.expressions import Weights, literal, memory_type
from tensoa.compiler.typed.cuda.memory import Memory, begins_with_zeros, pitch_of
from tensoa.compiler.typed.cuda.products import items_of
from tensoa.compiler.typed.cuda.rows import StagePrinter
from tensoa.compiler.typed.cuda.target import SM_80, Target
from tensoa.compiler.typed.functions import JOININGS, start_of
from tensoa.compiler.typed.passes import is_row_gather
from tensoa.compiler.typed.program import Program
from tensoa.compiler.typed.schedule.addresses import elements_of, width_of
from tensoa.compiler.typed.schedule.nests import Nests
from tensoa.compiler.typed.schedule.stages import ONE, symbol_of
from tensoa.compiler.typed.schedule.words import describe
from tensoa.compiler.typed.tensors import Tensor

_TODAY = Path(INSTRUCTIONS).parent
KERNELS = [_TODAY / f"{name}.cuh" for name in "rows columns buffers sums reductions layers".split()]
KERNELS += [Path(__file__).parent / "kernels" / f"{name}.cuh" for name in ("numbers", "products")]
_ONE_BLOCK = 1 << 30  # rows of a block of a kernel that runs once


def generate(
    program: Program, domains: Sequence[int] = (), precision: str = PRECISIONS[0], deterministic: bool = False,
    target: Target = SM_80,
) -> CudaKernels:  # fmt: skip
    """The kernels of a program that the passes are done with. `domains`: the collections of its rows; `deterministic`: every
    call has to give the same bits. Raises NotFused for what there is no code for.
    """
    memory = Memory(program)
    changing = [one for nests in memory.stages for one in nests.stage.scatters if _depends_on_order(one)]
    if changing and deterministic:
        raise NotFused(f"a sum whose bits depend on the order of its rows ({changing[0]!r})")
    result = Generated(_params(program, 0), buffers=[BufferEntry(domain, size) for domain, size in memory.shapes])
    weights, source = Weights(Pool(16)), list[str]()
    for i, nests in enumerate(memory.stages):
        for tensor in memory.before[i]:
            _set_before(tensor, memory, result, source)
        kernel = _Kernel(nests, memory, weights, precision, target, memory.clears[i], result)
        name = f"stage_{len(result.kernels)}"
        source.append(kernel.text(name))
        _launch(result, kernel.entry(name), memory.domain(nests.stage.rows))
    result.params, result.weights = _params(program, len(result.buffers)), bytes(weights.pool.data)
    constants = {f"k{name.capitalize()}": length for name, length in asdict(result.params).items()}
    constants |= {"kTileRows": TILE_ROWS, "kRegisterTiles": REGISTER_TILES}
    head = f"constexpr int {', '.join(f'{name} = {number}' for name, number in constants.items())};"
    result.source = "\n".join([head, INSTRUCTIONS.read_text(), joined(KERNELS), *source])
    bytes_of_row = max(1, sum(buffer.row_bytes for buffer in result.buffers))
    is_apart = len(memory.stages) == 1 and len(program.rows) == 1 and not _reads_others(memory.stages[0])
    at_once = target.workspace_bytes // bytes_of_row // 16 * 16 if is_apart and result.buffers else 0
    return CudaKernels(result, list(domains) or list(range(len(program.rows))), described(memory), not changing, at_once)


def _depends_on_order(tensor: Tensor) -> bool:
    assert isinstance(tensor.op, ops.Scatter)
    return not JOININGS[tensor.op.fn].is_choice and tensor.dtype.is_float


def described(memory: Memory) -> list[str]:
    """What each stage does, in words."""
    return [describe(nests.stage) for nests in memory.stages]


def _params(program: Program, buffers: int) -> Params:
    blocks = [tensor.op.block for tensor in program.tensors() if isinstance(tensor.op, ops.Column)]
    blocks += [output.block for output in program.outputs]
    params = Params(max(blocks) + 1, len(program.rows), max(1, buffers))  # C++ has no empty arrays
    for what, got in asdict(params).items():
        if got > LIMITS[what]:
            raise NotFused(f"what its kernels are given: {got} {what}, at most {LIMITS[what]} are possible")
    return params


def _launch(result: Generated, entry: KernelEntry, domain: int) -> None:
    result.kernels.append(entry)
    result.steps.append(Launch(len(result.kernels) - 1, domain))


def _reads_others(nests: Nests) -> bool:
    """Whether a row needs another one, or its own number."""
    numbered = any(isinstance(value.op, (ops.Scatter, ops.Iota)) and value.rows for value in nests.stage.values)
    return numbered or bool(nests.streams) or any(map(is_row_gather, nests.stage.values))


def _set_before(tensor: Tensor, memory: Memory, result: Generated, source: list[str]) -> None:
    """A step that sets the memory of a sum to its start."""
    if begins_with_zeros(tensor):
        result.steps.append(Zero(memory.slots[tensor]))
        return
    assert isinstance(tensor.op, ops.Scatter)
    symbol, kind, name = symbol_of(tensor), memory_type(tensor.dtype), f"stage_{len(result.kernels)}"
    count = f"{memory.rows_text(symbol)} * {pitch_of(tensor)}"
    start = literal(start_of(tensor.op.fn, tensor.dtype), tensor.dtype)
    source.append(f"""extern "C" __global__ void __launch_bounds__(128)
{name}(const __grid_constant__ Params p) {{
let_next_kernel_begin();
wait_for_work_before();
{kind}* const to = static_cast<{kind}*>(p.buffer[{memory.slots[tensor]}]);
for (int64 at = int64{{blockIdx.x}} * 128 + threadIdx.x; at < {count}; at += int64{{gridDim.x}} * 128) to[at] = {start};
}}
""")
    rows = _ONE_BLOCK if symbol == ONE else max(1, 1024 // elements_of(tensor))
    _launch(result, KernelEntry(name, 128, 0, rows, 0), memory.domain(symbol))


class _Kernel:
    """The kernel of a stage."""

    def __init__(
        self, nests: Nests, memory: Memory, weights: Weights, precision: str, target: Target, clears: list[Tensor],
        result: Generated,
    ) -> None:  # fmt: skip
        self.nests, self.memory, self.target = nests, memory, target
        self.is_one = nests.stage.rows == ONE
        if nests.bytes > target.row_bytes:
            raise NotFused(f"{nests.bytes} bytes for a row at a time, at most {target.row_bytes} are held")
        widest = max((width_of(buffer.root.dtype) for buffer in nests.buffers.values()), default=4)
        # Neighbouring rows, and the fragments of tensor cores, in different banks of shared memory.
        self.pitch = 4 * (-(-(nests.bytes // 4 - 9) // 32) * 32 + 9) if widest == 4 else 8 * (-(-nests.bytes // 64) * 8 + 1)
        common = -(-nests.common_bytes // 16) * 16
        most = max((math.prod(nest.root.inner) for nest in nests.all_nests), default=1)
        self.rows = 1 if self.is_one else self._rows(most)
        while self.rows > 1 and self.rows * self.pitch + common > target.shared_bytes:
            self.rows //= 2
        self.is_near = self.rows * self.pitch + common <= target.shared_bytes
        self.common_at = -(-self.rows * self.pitch * self.is_near // 16) * 16
        self.shared_bytes = self.common_at + common
        self.slot = None if self.is_near else self._global_scratch(result)
        self.threads = target.many_threads if most * self.rows >= target.elements else target.threads
        printer = StagePrinter(nests, weights, self.rows, self.threads, memory)
        printer.precision, printer.target, printer.clears = precision, target, clears
        printer.place_all(self.pitch, "scratch")
        printer.print_all()
        self.lines = printer.lines
        size = sum(map(len, self.lines))
        if size > target.kernel_characters:
            raise NotFused(
                f"the size of its code: {size} characters of a kernel, at most {target.kernel_characters} are compiled"
            )

    def _rows(self, most: int) -> int:
        """Of a block: as few as fill the tiles of its largest product and give its threads work; then blocks are many."""
        items = max((found for nest in self.nests.all_nests if (found := items_of(nest)) is not None), default=None)
        rows, target = 1, self.target
        while rows < target.tile and (rows * most < target.elements or (items is not None and rows * items < target.tile)):
            rows *= 2
        while items is None and rows * most < target.elements and rows < target.most_rows:
            if 2 * rows * self.pitch > target.many_rows_bytes:
                break
            rows *= 2
        return rows

    def _global_scratch(self, result: Generated) -> int:
        result.buffers.append(BufferEntry(self.memory.domain(self.nests.stage.rows), self.pitch))
        return len(result.buffers) - 1

    def text(self, name: str) -> str:
        rows = self.memory.rows_text(self.nests.stage.rows)
        count = (
            "constexpr int n = 1;"
            if self.rows == 1
            else f"const int n = static_cast<int>(min(int64{{{self.rows}}}, rows - first));"
        )
        scratch = "shared" if self.is_near else f"static_cast<char*>(p.buffer[{self.slot}]) + first * {self.pitch}"
        body = "\n".join(self.lines)
        return f"""extern "C" __global__ void __launch_bounds__({self.threads})
{name}(const __grid_constant__ Params p) {{
constexpr int kThreads = {self.threads};
let_next_kernel_begin();
extern __shared__ uint4 shared_memory[];
[[maybe_unused]] char* const shared = reinterpret_cast<char*>(shared_memory);
[[maybe_unused]] char* const common = shared + {self.common_at};
[[maybe_unused]] const char* const weights = static_cast<const char*>(p.weights);
wait_for_work_before();
const int64 rows = {rows};
for (int64 first = int64{{blockIdx.x}} * {self.rows}; first < rows; first += int64{{gridDim.x}} * {self.rows}) {{
{count}
[[maybe_unused]] char* const scratch = {scratch};
{body}
__syncthreads();
}}
}}
"""

    def entry(self, name: str) -> KernelEntry:
        return KernelEntry(name, self.threads, self.shared_bytes, _ONE_BLOCK if self.is_one else self.rows, 0)
