# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Loop nests: one for each root of a stage, with the loops over its elements and the memory that it is written to."""

from dataclasses import dataclass, field

from tensoa.compiler.typed import operations as ops
from tensoa.compiler.typed.passes import is_constant, is_row_gather
from tensoa.compiler.typed.schedule.addresses import Linear, row_major, variable
from tensoa.compiler.typed.schedule.roots import Reason, Roots, roots_of
from tensoa.compiler.typed.schedule.stages import Stage, users_of
from tensoa.compiler.typed.tensors import Tensor


@dataclass(frozen=True)
class Loop:
    """A loop over one axis of a root, or, with joined neighbours, over several."""

    name: str
    size: int


@dataclass
class Buffer:
    """Scratch memory of a root: an element for each of its elements, in an order of its axes."""

    root: Tensor
    order: tuple[int, ...]  # its fixed axes, the last one changes fastest
    offset: int = 0  # bytes, of one row, in scratch memory
    size: int = 0  # bytes
    first: int = 0  # the nest that writes it, and the last one that reads it
    last: int = 0

    @property
    def strides(self) -> list[int]:
        """Of the fixed axes, in the order of the shape."""
        places = [i for i, size in enumerate(self.root.shape) if isinstance(size, int)]
        steps = row_major([size for number in self.order if isinstance(size := self.root.shape[number], int)])
        return [steps[self.order.index(place)] for place in places]


@dataclass
class Nest:
    """Calculates `root` for all `loops` and writes it to `buffer` at `target`; `index` has an entry for each axis of the root.

    `inner`: the sum whose accumulators the expression begins with; `bias`: a constant that is added to these first.
    """

    root: Tensor
    reason: Reason
    buffer: Buffer
    loops: tuple[Loop, ...]
    index: tuple[Linear | None, ...]
    target: Linear
    inner: Tensor | None = None
    bias: tuple[Tensor, Tensor] | None = None
    is_copy: bool = False  # of a root that has its own buffer, into a concat

    def text(self) -> str:
        """One line of a dump."""
        loops = " ".join(f"{loop.name}<{loop.size}" for loop in self.loops)
        inner = f", epilogue of {self.inner!r}" if self.inner is not None and self.inner is not self.root else ""
        at = f"{self.buffer.root.op.name}+{self.target.text()}"
        return f"for {loops or 'each row'}: {self.root!r} -> {at}{inner} ({self.reason.value})"


@dataclass
class Nests:
    """Of a stage: nests in order, the buffers by root, bytes of scratch memory of a row."""

    stage: Stage
    roots: Roots
    nests: list[Nest] = field(default_factory=list)
    buffers: dict[Tensor, Buffer] = field(default_factory=dict)
    bytes: int = 0

    def text(self) -> str:
        head = f"stage {self.stage.level} of {self.stage.rows}, {self.bytes} bytes of a row"
        return "\n".join([head, *(f"  {nest.text()}" for nest in self.nests)])


def order_of(root: Tensor, inner: Tensor | None) -> tuple[int, ...]:
    """The order of the axes in memory: the outputs of a layer, which its vectors are, lie next to each other."""
    places = [i for i, size in enumerate(root.shape) if isinstance(size, int)]
    if inner is None or not isinstance(inner.op, ops.Contract):
        return tuple(places)
    op = inner.op
    outputs = [i for i, label in enumerate(op.out) if label in op.right and label not in op.left]
    if len(outputs) != 1 or not is_constant(inner.args[1]) or outputs[0] not in places:
        return tuple(places)
    return (*(place for place in places if place != outputs[0]), outputs[0])


def loops_over(tensor: Tensor, order: tuple[int, ...]) -> tuple[tuple[Loop, ...], tuple[Linear | None, ...]]:
    """Loops over the axes that are not rows, the outermost first, and the index of each axis."""
    loops = tuple(Loop(f"i{i}", size) for i in order if isinstance(size := tensor.shape[i], int))
    index = tuple(None if isinstance(size, str) else variable(f"i{i}") for i, size in enumerate(tensor.shape))
    return loops, index


def nests_of(stage: Stage, orders: dict[Tensor, tuple[int, ...]]) -> Nests:
    """The loop nests of a stage. `orders`: of the axes of what is in memory between stages; this stage adds its own."""
    found = Nests(stage, roots_of(stage))
    users = users_of(stage.values, stage.earlier)
    homes = _homes(found.roots, users, stage)
    for root, reason in found.roots.reasons.items():
        if root in homes:
            concat = homes[root][0]
            buffer = found.buffers.setdefault(concat, Buffer(concat, order_of(concat, None)))
        else:
            order = orders.setdefault(root, order_of(root, found.roots.inner.get(root)))
            buffer = found.buffers.setdefault(root, Buffer(root, order))
        if isinstance(root.op, ops.Concat) and root not in stage.earlier:
            _add_parts(found, root, homes)
            continue
        found.nests.append(_nest(found, root, reason, buffer, homes.get(root)))
    return found


def _nest(found: Nests, root: Tensor, reason: Reason, buffer: Buffer, home: tuple[Tensor, int] | None) -> Nest:
    inner = found.roots.inner.get(root)
    loops, index = loops_over(root, buffer.order)
    target = _target(buffer, index, home)
    return Nest(root, reason, buffer, loops, index, target, inner, _bias_of(root, inner))


def _target(buffer: Buffer, index: tuple[Linear | None, ...], home: tuple[Tensor, int] | None) -> Linear:
    """Where an element is written, in elements."""
    total = Linear(home[1] if home else 0)
    for one, stride in zip([one for one in index if one is not None], buffer.strides):
        total = total.plus(one, stride)
    return total


def _part_offsets(concat: Tensor) -> list[int]:
    """The first element of each part."""
    assert isinstance(concat.op, ops.Concat)
    buffer = Buffer(concat, order_of(concat, None))
    place = [i for i, size in enumerate(concat.shape) if isinstance(size, int)].index(concat.op.axis)
    offsets, start = [], 0
    for arg in concat.args:
        offsets.append(start * buffer.strides[place])
        size = arg.shape[concat.op.axis]
        assert isinstance(size, int)
        start += size
    return offsets


def _homes(roots: Roots, users: dict[Tensor, list[Tensor]], stage: Stage) -> dict[Tensor, tuple[Tensor, int]]:
    """Roots that only a concat reads, which are written where that has them: {root: (concat, first element)}."""
    found: dict[Tensor, tuple[Tensor, int]] = {}
    for concat in roots.reasons:
        if not isinstance(concat.op, ops.Concat) or concat in stage.earlier:
            continue
        for arg, offset in zip(concat.args, _part_offsets(concat)):
            is_single = users.get(arg) == [concat] and concat.args.count(arg) == 1
            is_written = isinstance(arg.op, (ops.Map, ops.Cast, *_SUMS)) and arg not in stage.earlier
            if arg in roots and is_single and is_written and arg not in stage.targets:
                found[arg] = (concat, offset)
    return found


_SUMS = (ops.Reduce, ops.Contract)


def _add_parts(found: Nests, concat: Tensor, homes: dict[Tensor, tuple[Tensor, int]]) -> None:
    """A nest for each part that is not written to the concat by its own nest."""
    buffer = found.buffers[concat]
    for arg, offset in zip(concat.args, _part_offsets(concat)):
        if arg not in homes:
            loops, index = loops_over(arg, buffer.order)
            target = _target(buffer, index, (concat, offset))
            found.nests.append(Nest(arg, Reason.ELEMENTS, buffer, loops, index, target, is_copy=True))


def _bias_of(root: Tensor, inner: Tensor | None) -> tuple[Tensor, Tensor] | None:
    """The function that adds a constant for each output to a product, and that constant."""
    if inner is None or not isinstance(inner.op, ops.Contract) or not is_constant(inner.args[1]):
        return None
    op = inner.op
    if op.out[-1] in op.left or op.out[-1] not in op.right:
        return None
    last = len(inner.shape) - 1
    for function in _chain(root, inner):
        if isinstance(function.op, ops.Map) and function.op.fn == "add" and inner in function.args:
            other = [arg for arg in function.args if arg is not inner]
            is_alone = len(other) == 1 and is_constant(other[0]) and isinstance(other[0].op, ops.View)
            if is_alone and all({number for number, _ in one.terms} <= {last} for one in _view(other[0]).index):
                return function, other[0]
    return None


def _view(tensor: Tensor) -> ops.View:
    assert isinstance(tensor.op, ops.View)
    return tensor.op


def _chain(root: Tensor, inner: Tensor) -> list[Tensor]:
    """The functions between a sum and its root."""
    found: list[Tensor] = []
    tensor = root
    while tensor is not inner:
        found.append(tensor)
        following = [arg for arg in tensor.args if arg is inner or _leads_to(arg, inner)]
        tensor = following[0]
    return found


def _leads_to(tensor: Tensor, inner: Tensor) -> bool:
    return isinstance(tensor.op, (ops.Map, ops.Cast)) and any(arg is inner or _leads_to(arg, inner) for arg in tensor.args)


def reads_of(nest: Nest, roots: Roots) -> set[Tensor]:
    """The roots that a nest reads."""
    found: set[Tensor] = set()

    def visit(tensor: Tensor, is_top: bool) -> None:
        if tensor in roots and not is_top:
            found.add(tensor)
            return
        for arg in tensor.args[1:] if is_row_gather(tensor) else tensor.args:
            visit(arg, False)

    if nest.reason is not Reason.EARLIER:
        visit(nest.root, not nest.is_copy)
    return found
