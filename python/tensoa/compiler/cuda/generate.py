# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From a typed program to the kernels of a package: one for each stage, its rows shared by blocks of threads."""

import math
from collections.abc import Sequence
from dataclasses import asdict

from tensoa.compiler import operations as ops
from tensoa.compiler.constants import Pool
from tensoa.compiler.cuda.expressions import Weights, literal, memory_type
from tensoa.compiler.cuda.fragment_form import FragmentForm, fragments_of
from tensoa.compiler.cuda.item_form import ItemForm, items_form
from tensoa.compiler.cuda.kernel_texts import KernelText, printed
from tensoa.compiler.cuda.memory import Memory, begins_with_zeros, pitch_of
from tensoa.compiler.cuda.nvrtc import INSTRUCTIONS
from tensoa.compiler.cuda.products import item_count, operand_of
from tensoa.compiler.cuda.program import LIMITS, BufferEntry, CudaKernels, Generated, KernelEntry, Launch, Params, Zero
from tensoa.compiler.cuda.stream_lanes import BLOCKS_OF_ONE, BLOCKS_OF_TWO, LANES_OF_ROWS, exchanged_bytes, rows_of_team
from tensoa.compiler.cuda.streams import StreamPrinter
from tensoa.compiler.cuda.target import SM_80, Target
from tensoa.compiler.cuda.tiles import PRECISIONS, REGISTER_TILES, TILE_ROWS
from tensoa.compiler.errors import NotFused
from tensoa.compiler.functions import start_of
from tensoa.compiler.passes import is_row_gather
from tensoa.compiler.printing import joined
from tensoa.compiler.program import Program
from tensoa.compiler.same_bits import depends_on_order, with_the_same_bits
from tensoa.compiler.schedule.addresses import elements_of, width_of
from tensoa.compiler.schedule.nests import Nests
from tensoa.compiler.schedule.stages import ONE, symbol_of
from tensoa.compiler.schedule.teams import Team, TeamReason, of_block, of_warps, team_bytes
from tensoa.compiler.schedule.words import describe
from tensoa.compiler.selected import selected
from tensoa.compiler.tensors import Tensor

_FILES = "rows columns layers numbers products lanes streams fragments".split()
KERNELS = [INSTRUCTIONS.with_name(f"{name}.cuh") for name in _FILES]
_LINE = 128  # bytes of memory that are read together: the weights of each kernel begin with one
_ONE_BLOCK = 1 << 30  # rows of a block of a kernel that runs once
#: Rounds of all blocks, up to which rows are few: more would have to wait for each other.
ROUNDS_OF_FEW = 2


def generate(
    program: Program, domains: Sequence[int] = (), precision: str = PRECISIONS[0], deterministic: bool = False,
    target: Target = SM_80,
) -> CudaKernels:  # fmt: skip
    """The kernels of a program that the passes are done with. `domains`: the collections of its rows; `deterministic`: every
    call has to give the same bits. Raises NotFused for what there is no code for.
    """
    program = selected(with_the_same_bits(program) if deterministic else program)
    memory = Memory(program)
    is_the_same = not any(depends_on_order(one) for nests in memory.stages for one in nests.stage.scatters)
    result = Generated(_params(program, 0), buffers=[BufferEntry(domain, size) for domain, size in memory.shapes])
    weights, source, texts = Pool(_LINE), list[str](), list[KernelText]()
    for i, nests in enumerate(memory.stages):
        for tensor in memory.before[i]:
            _set_before(tensor, memory, result, source)
        kernel = _kernel(nests, memory, precision, target, memory.clears[i], result)
        name = f"stage_{len(result.kernels)}"
        texts.append(kernel.text(name, weights.place(weights.padded(kernel.data))))
        _launch(result, kernel.entry(name), memory.domain(nests.stage.rows))
    result.params, result.weights = _params(program, len(result.buffers)), bytes(weights.data)
    constants = {f"k{name.capitalize()}": length for name, length in asdict(result.params).items()}
    constants |= {"kTileRows": TILE_ROWS, "kRegisterTiles": REGISTER_TILES, "kRoundsOfFew": ROUNDS_OF_FEW}
    head = f"constexpr int {', '.join(f'{name} = {number}' for name, number in constants.items())};"
    result.source = "\n".join([head, INSTRUCTIONS.read_text(), joined(KERNELS), *source, *printed(texts)])
    bytes_of_row = max(1, sum(buffer.row_bytes for buffer in result.buffers))
    is_apart = len(memory.stages) == 1 and len(program.rows) == 1 and not _reads_others(memory.stages[0])
    at_once = target.workspace_bytes // bytes_of_row // 16 * 16 if is_apart and result.buffers else 0
    return CudaKernels(result, list(domains) or list(range(len(program.rows))), described(memory), is_the_same, at_once)


def described(memory: Memory) -> list[str]:
    """The work of each stage, in words."""
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


def _kernel(
    nests: Nests, memory: Memory, precision: str, target: Target, clears: list[Tensor], result: Generated
) -> "_Kernel | FragmentForm | ItemForm":
    if nests.bytes > target.row_bytes:
        raise NotFused(f"{nests.bytes} bytes for a row at a time, at most {target.row_bytes} are held")
    fragments: FragmentForm | ItemForm | None = fragments_of(nests, memory, precision, target, clears)
    if fragments is None:
        fragments = items_form(nests, memory, precision, target, clears)
    if fragments is not None and fragments.is_alone:
        return fragments
    return _Kernel(nests, memory, precision, target, clears, result, fragments)


class _Form:
    """A stage as the code of a team. `shared_bytes`: of a block; `pitch`: bytes from row to row of scratch memory that has rows
    one behind the other.
    """

    def __init__(self, team: Team, printer: StreamPrinter, shared_bytes: int, pitch: int) -> None:
        self.team, self.lines, self.shared_bytes = team, printer.lines, shared_bytes
        printer.place_all(pitch, "scratch")
        printer.print_all()

    @property
    def characters(self) -> int:
        return sum(map(len, self.lines))


class _Kernel:
    """The kernel of a stage: the code for few rows, and, where it has another one, that for many."""

    def __init__(
        self, nests: Nests, memory: Memory, precision: str, target: Target, clears: list[Tensor], result: Generated,
        fragments: FragmentForm | ItemForm | None,
    ) -> None:  # fmt: skip
        self.nests, self.memory, self.target, self.weights = nests, memory, target, Weights(Pool(16))
        self.precision, self.clears = precision, clears
        self.fragments = fragments
        self.common = -(-nests.common_bytes // 16) * 16
        self.streams = [stream for _, stream in nests.streams if stream.room.is_of_lanes]
        self.few = self._few(result)
        self.many = self._many() if self.fragments is None else None

    def _few(self, result: Generated) -> _Form:
        nests, target, is_one = self.nests, self.target, self.nests.stage.rows == ONE
        widest = max((width_of(buffer.root.dtype) for buffer in nests.buffers.values()), default=4)
        # Neighbouring rows, and the fragments of tensor cores, in different banks of shared memory.
        self.pitch = 4 * (-(-(nests.bytes // 4 - 9) // 32) * 32 + 9) if widest == 4 else 8 * (-(-nests.bytes // 64) * 8 + 1)
        most = max((math.prod(nest.root.inner) for nest in nests.all_nests), default=1)
        rows = 1 if is_one else rows_of_team(self.streams) if self.streams else self._rows(most)
        threads = target.many_threads if self.streams or most * rows >= target.elements else target.threads
        common = max([self.common, *(exchanged_bytes(one, of_block(rows, threads, is_one)) for one in self.streams)])
        while rows > 1 and rows * self.pitch + common > target.shared_bytes:
            rows //= 2
        is_near = rows * self.pitch + common <= target.shared_bytes
        self.common_at = -(-rows * self.pitch * is_near // 16) * 16
        self.slot = None if is_near else self._global_scratch(result)
        form = self._form(of_block(rows, threads, is_one), self.common_at + common, self.pitch)
        size = form.characters
        if size > target.kernel_characters:
            raise NotFused(
                f"the size of its code: {size} characters of a kernel, at most {target.kernel_characters} are compiled"
            )
        return form

    def _many(self) -> _Form | None:
        """None where rows do not repeat, or are keys, of which there are many then; where they are too wide for a warp, or
        where it would be too much code.
        """
        if self.few.team.reason is TeamReason.ONCE or any(one.symbol == self.nests.stage.rows for one in self.streams):
            return None
        self.memory.place(self.nests, lambda nest: operand_of(nest, self.nests.roots, self.target))
        team = of_warps(self.nests.bytes, self.common, self.few.team.threads, self.target.warps_bytes)
        if team is None:
            return None
        self.team_bytes = team_bytes(self.nests.bytes, team.element_step)
        form = self._form(team, team.count * (self.team_bytes + self.common))
        return form if self.few.characters + form.characters <= self.target.kernel_characters else None

    def _form(self, team: Team, shared_bytes: int, pitch: int = 0) -> _Form:
        printer = StreamPrinter(self.nests, self.weights, team, self.memory)
        printer.precision, printer.target, printer.clears = self.precision, self.target, self.clears
        return _Form(team, printer, shared_bytes, pitch)

    def _rows(self, most: int) -> int:
        """Of a block: as few as fill the tiles of its largest product and give its threads work; then blocks are many."""
        items = max((found for nest in self.nests.all_nests if (found := item_count(nest)) is not None), default=None)
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

    def text(self, name: str, weights: int) -> KernelText:
        """`weights`: where those of the kernel begin."""
        rows = self.memory.rows_text(self.nests.stage.rows)
        is_few = f"rows <= int64{{gridDim.x}} * {self.few.team.rows} * kRoundsOfFew{self._more_of_few()}"
        few, many = self._text_of_few(), self._text_of_many() if self.has_many else ""
        body = f"if ({is_few}) {{\n{few}}} else {{\n{many}}}" if many else f"{{\n{few}}}"
        threads = self.few.team.threads
        bounds = str(threads) if self.few.team.reason is TeamReason.ONCE else f"{threads}, {self._blocks}"
        return KernelText(name, bounds, weights, rows, body)

    def _more_of_few(self) -> str:
        """Where each thread has keys, rows are few until each has a row."""
        team = self.few.team
        more = max(1, team.threads // (team.rows * ROUNDS_OF_FEW))
        keys = [f"{self.memory.rows_text(one.symbol)} >= {team.threads // team.rows * int(one.size)}" for one in self.streams]
        return f" * ({' || '.join(keys)} ? {more} : 1)" if keys else ""

    def _text_of_few(self) -> str:
        team, size = self.few.team, self._near_bytes
        count = (
            "constexpr int n = 1;"
            if team.rows == 1
            else f"const int n = static_cast<int>(min(int64{{{team.rows}}}, rows - first));"
        )
        scratch = "shared" if self.slot is None else f"static_cast<char*>(p.buffer[{self.slot}]) + first * {self.pitch}"
        near = f"shared + {self.few.shared_bytes}" if size else "far_weights"
        staged = f"stage_weights(shared + {self.few.shared_bytes}, far_weights, {size});\n" if size else ""
        body = "\n".join(self.few.lines)
        return f"""[[maybe_unused]] constexpr int kThreads = {team.threads};
[[maybe_unused]] const int thread = threadIdx.x;
[[maybe_unused]] char* const common = shared + {self.common_at};
[[maybe_unused]] const char* const weights = {near};
{staged}wait_for_work_before();
for (int64 first = int64{{blockIdx.x}} * {team.rows}; first < rows; first += int64{{gridDim.x}} * {team.rows}) {{
{count}
[[maybe_unused]] char* const scratch = {scratch};
{body}
__syncthreads();
}}
"""

    @property
    def has_many(self) -> bool:
        return self.many is not None or self.fragments is not None

    @property
    def data(self) -> bytes:
        """Weights: those of the code for few rows come first."""
        few = bytes(self.weights.pool.data)
        return few + bytes(-len(few) % 16) + (self.fragments.data if self.fragments is not None else b"")

    def _text_of_many(self) -> str:
        if self.fragments is not None:
            size = -(-len(self.weights.pool) // 16) * 16
            return f"far_weights += {size};\n{self.fragments.body}"
        assert self.many is not None
        team, body = self.many.team, "\n".join(self.many.lines)
        begin = f"(int64{{threadIdx.x / 32}} * gridDim.x + blockIdx.x) * {team.rows}"
        return f"""[[maybe_unused]] constexpr int kThreads = {team.threads};
[[maybe_unused]] const int thread = threadIdx.x % 32, q = thread % {team.rows};
[[maybe_unused]] char* const scratch = shared + threadIdx.x / 32 * {self.team_bytes + self.common};
[[maybe_unused]] char* const common = scratch + {self.team_bytes};
[[maybe_unused]] const char* const weights = far_weights;
wait_for_work_before();
if (threadIdx.x / 32 >= {team.count}) return;
for (int64 first = {begin}; first < rows; first += int64{{gridDim.x}} * {team.count * team.rows}) {{
const int n = static_cast<int>(min(int64{{{team.rows}}}, rows - first));
{body}
__syncwarp();
}}
"""

    @property
    def _near_bytes(self) -> int:
        """Of the weights that a block of few rows copies into shared memory; a multiple of 16."""
        size = -(-len(self.weights.pool) // 16) * 16
        return size if size <= self.target.near_weights and self.few.shared_bytes + size <= self.target.warps_bytes else 0

    def entry(self, name: str) -> KernelEntry:
        team, shared = self.few.team, self.few.shared_bytes + self._near_bytes
        if not self.has_many:
            return KernelEntry(name, team.threads, shared, _ONE_BLOCK if team.reason is TeamReason.ONCE else team.rows, 0)
        return KernelEntry(name, team.threads, max(shared, self._many_bytes), team.rows, self._blocks)

    @property
    def _blocks(self) -> int:
        """On a multiprocessor; a thread has 128 registers or more."""
        shared = max(self.few.shared_bytes + self._near_bytes, self._many_bytes)
        if self.streams and not self.has_many:
            return BLOCKS_OF_ONE if self.few.team.rows <= LANES_OF_ROWS else BLOCKS_OF_TWO
        threads = self.target.processor_threads if self.fragments is None else 65536 // (8 * -(-self.fragments.registers // 8))
        return max(1, min(self.target.processor_bytes // (shared + 1024), threads // self.few.team.threads))

    @property
    def _many_bytes(self) -> int:
        if self.fragments is not None:
            return self.fragments.near_bytes
        return self.many.shared_bytes if self.many is not None else 0
