# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The values that get memory inside a stage, and why: the decision is the schedule.

A root is calculated once for a row and written to scratch memory. All else is a part of the expression of its readers: views
cost nothing, cheap functions are calculated again. A sum or a product of matrices whose only reader is a chain of functions
belongs to the root at the end of the chain, which then works on the accumulators in registers (the epilogue).
"""

from dataclasses import dataclass, field
from enum import Enum

from tensoa.compiler import operations as ops
from tensoa.compiler.functions import FUNCTIONS
from tensoa.compiler.operations import axis
from tensoa.compiler.passes import is_row_gather, is_selection
from tensoa.compiler.schedule.addresses import base_of
from tensoa.compiler.schedule.stages import Stage, is_free, own_args, users_of
from tensoa.compiler.schedule.streams import Keys, Previous, are_rows, is_stream
from tensoa.compiler.tensors import Tensor

#: The cost of a function that is not cheap, of which a cheap one has 1; what costs more than one cheap function is not
#: calculated twice.
COSTLY = 9
_MOST_TERMS = 60  # of an expression, which compilers take long for


class Reason(Enum):
    """Why a tensor has memory."""

    EARLIER = "an earlier stage made it"
    COLUMN = "it is a column"
    TARGET = "later stages, a scatter or an output read it"
    ROWS = "its rows come from memory"
    TABLE = "its rows are those of a constant"
    ELEMENTS = "its elements are made together"
    OPERAND = "an operation reads it in its own order"
    SHARED = "several readers would calculate it again"
    REPEATED = "a view repeats it, so that it would be calculated again"
    SUM = "a sum is made for it"
    LONG = "its expression is long"
    STREAM = "it is made of all rows, block after block"
    KEYS = "it is a block of rows"
    ITEMS = "it is made item by item"


def added_rows(tensor: Tensor) -> list[Tensor]:
    """The gathers of a sum of whole rows of memory in float32, in the order in which they are added; none of anything else."""
    if isinstance(tensor.op, ops.Map) and tensor.op.fn == "add" and tensor.args[0] is not tensor.args[1]:
        left, right = (added_rows(arg) if isinstance(arg.op, ops.Map) else [arg] * is_whole_row(arg) for arg in tensor.args)
        return [*left, *right] if left and len(right) == 1 else []
    return []


def is_whole_row(tensor: Tensor) -> bool:
    """Whether it is a row of memory, by one place."""
    x = tensor.args[0] if tensor.args else tensor
    return is_row_gather(tensor) and _is_of_one_place(tensor) and not is_free(x) and not isinstance(x.op, ops.View)


def passed_on(stage: Stage) -> set[Tensor]:
    """Rows of memory that are only joined to other rows, each as a whole. They need no memory of their own: they go from memory
    to memory at the end of the stage, so their places have to be there until then.
    """
    users = users_of(stage.values, stage.earlier)
    read = {base_of(one) for one in (*stage.kept, *stage.shared, *(output.value for output in stage.outputs))}
    found = {scatter.args[0] for scatter in stage.scatters if is_whole_row(scatter.args[0]) and _joins_whole(scatter)}
    others = {scatter.args[0] for scatter in stage.scatters if not _joins_whole(scatter)}
    return {one for one in found - others - read - stage.earlier if not users[one]}


def _joins_whole(scatter: Tensor) -> bool:
    """Whether a row is joined to one place, element by element."""
    assert isinstance(scatter.op, ops.Scatter)
    x, places = scatter.args
    index = places.op.index if isinstance(places.op, ops.View) else ()
    is_one = bool(index) and all(number == 0 for one in index for number, _ in one.terms)
    return is_one and len(x.shape) == 2 and scatter.op.axis == 0


def is_table_row(tensor: Tensor) -> bool:
    """Whether it is a row of a constant, by one place."""
    return _is_of_one_place(tensor) and isinstance(tensor.args[0].op, ops.Constant)


def _is_of_one_place(tensor: Tensor) -> bool:
    if not isinstance(tensor.op, ops.Gather) or tensor.dtype.name != "float32":
        return False
    x, places = tensor.args
    index = places.op.index if isinstance(places.op, ops.View) else ()
    is_row = tensor.op.index == (None, axis(1)) and len(tensor.shape) == 2 and tensor.shape[1] == x.shape[1]
    is_one = bool(index) and all(number == 0 for one in index for number, _ in one.terms)
    return is_row and is_one and places.dtype.name == "int64" and isinstance(tensor.shape[0], str)


@dataclass
class Roots:
    """`reasons`: of each root, in the order of the values; `inner`: the sum that a root is an epilogue of; `chains`: the
    functions from that sum to the root, the first one first.
    """

    reasons: dict[Tensor, Reason] = field(default_factory=dict)
    inner: dict[Tensor, Tensor] = field(default_factory=dict)
    chains: dict[Tensor, list[Tensor]] = field(default_factory=dict)

    def __contains__(self, tensor: Tensor) -> bool:
        return tensor in self.reasons


SUMS = (ops.Reduce, ops.Contract)


class _Decision:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.users = users_of(stage.values, {*stage.earlier, *stage.of_items})
        self.roots = Roots()
        self.added: dict[Tensor, None] = {}  # gathers that are parts of sums of rows
        self.size: dict[Tensor, int] = {}

    def mark(self, tensor: Tensor, reason: Reason, with_constants: bool = False) -> None:
        """Marks the tensor below a view; one that is the same for all rows only where it is read as memory of the row."""
        base = base_of(tensor)
        if isinstance(base.op, (ops.Constant, ops.Iota, Keys)):
            if with_constants:
                self.roots.reasons.setdefault(tensor, reason)
        else:
            self.roots.reasons.setdefault(base, reason)

    def sums_of_rows(self) -> None:
        """Rows of memory that are added and not read otherwise are added as they are read."""
        for tensor in reversed(self.stage.values):
            found = added_rows(tensor) if tensor not in self.added and tensor not in self.stage.earlier else []
            parts, inner = [*found], tensor.args[:1] if found else ()
            while inner and inner[0] not in parts:
                parts.append(inner[0])
                inner = inner[0].args[:1]
            is_alone = all(len(self.users[one]) == 1 and one not in self.stage.targets for one in parts)
            if found and is_alone and not any(one in self.stage.earlier for one in parts):
                self.mark(tensor, Reason.ROWS)
                self.added |= dict.fromkeys((*parts, tensor))

    def required(self) -> None:
        """Roots that the operations need."""
        self.sums_of_rows()
        for tensor in self.stage.values:
            if tensor in self.added and is_row_gather(tensor):
                self.mark(tensor.args[1], Reason.OPERAND, with_constants=True)
            elif tensor in self.stage.earlier:
                self.mark(tensor, Reason.EARLIER)
            elif tensor in self.stage.of_items:
                self.mark(tensor, Reason.ITEMS)
            elif isinstance(tensor.op, ops.Column):
                self.mark(tensor, Reason.COLUMN)
            elif isinstance(tensor.op, Keys):
                if are_rows(tensor):
                    self.roots.reasons.setdefault(tensor, Reason.KEYS)
            elif is_stream(tensor) or is_selection(tensor) or isinstance(tensor.op, Previous):
                self.mark(tensor, Reason.STREAM)
                for arg in own_args(tensor):
                    self.mark(arg, Reason.OPERAND)
            elif is_row_gather(tensor):
                self.mark(tensor, Reason.ROWS)
                self.mark(tensor.args[1], Reason.OPERAND, with_constants=True)
            elif is_table_row(tensor):
                self.mark(tensor, Reason.TABLE)
                self.mark(tensor.args[1], Reason.OPERAND, with_constants=True)
            elif tensor.op.is_together:
                self.mark(tensor, Reason.ELEMENTS)
                for arg in tensor.args if not isinstance(tensor.op, ops.Concat) else ():
                    self.mark(arg, Reason.OPERAND, with_constants=True)
            elif isinstance(tensor.op, ops.Contract):
                for arg in tensor.args:
                    self.mark(arg, Reason.OPERAND)
            elif isinstance(tensor.op, ops.Lookup):
                self.mark(tensor.args[0], Reason.OPERAND, isinstance(base_of(tensor.args[0]).op, ops.Iota))
        for target in self.stage.targets:
            self.mark(target, Reason.TARGET, with_constants=True)
        for read in self.stage.given:
            self.mark(read, Reason.OPERAND, with_constants=True)

    def cost(self, tensor: Tensor) -> int:
        """Of one element, from roots."""
        if tensor in self.roots or is_free(tensor):
            return 0
        if isinstance(tensor.op, ops.View):
            return self.cost(tensor.args[0])
        if isinstance(tensor.op, ops.Map):
            own = 1 if FUNCTIONS[tensor.op.fn].is_cheap else COSTLY
        else:
            own = 1 if isinstance(tensor.op, ops.Cast) else COSTLY
        return own + sum(self.cost(arg) for arg in own_args(tensor))

    def terms(self, tensor: Tensor) -> int:
        """How long the text of an element is."""
        found = self.size.get(tensor)
        if found is None:
            found = 1 + sum(1 if arg in self.roots else self.terms(arg) for arg in tensor.args)
            self.size[tensor] = found
        return found

    def chosen(self) -> None:
        """Functions that would be calculated several times."""
        for tensor in self.stage.values:
            if tensor in self.roots or not isinstance(tensor.op, (ops.Map, ops.Cast, ops.Lookup)):
                continue
            cost = self.cost(tensor)
            grows = any(isinstance(user.op, ops.View) and _count(user) > _count(tensor) for user in self.users[tensor])
            readers = self.users[tensor]
            is_square = any(reader.args.count(tensor) > 1 for reader in readers)  # compilers see that of cheap functions
            if cost > 1 and len(readers) > 1 or cost >= COSTLY and is_square:
                self.mark(tensor, Reason.SHARED)
            elif grows and cost > 2:
                self.mark(tensor, Reason.REPEATED)
            elif self.terms(tensor) > _MOST_TERMS:
                self.mark(tensor, Reason.LONG)

    def absorbed(self) -> None:
        """Sums become parts of the roots that their results go to."""
        for tensor in self.stage.values:
            is_there = tensor in self.stage.earlier or tensor in self.stage.of_items
            if not isinstance(tensor.op, SUMS) or is_there or is_stream(tensor):
                continue
            top, chain = tensor, []
            while top not in self.roots and len(self.users[top]) == 1 and _continues(self.users[top][0], top):
                top = self.users[top][0]
                chain.append(top)
            if top in self.roots.inner:
                top, chain = tensor, []
            self.mark(top, Reason.SUM)
            self.roots.inner[top], self.roots.chains[top] = tensor, chain


def _count(tensor: Tensor) -> int:
    count = 1
    for size in tensor.inner:
        count *= size
    return count


def _continues(user: Tensor, tensor: Tensor) -> bool:
    """Whether a reader is the next function of a chain, which reads the value once."""
    is_function = isinstance(user.op, (ops.Map, ops.Cast)) and user.shape == tensor.shape
    return is_function and user.args.count(tensor) == 1


def roots_of(stage: Stage) -> Roots:
    """The roots of a stage in the order of its values."""
    decision = _Decision(stage)
    decision.required()
    decision.chosen()
    decision.absorbed()
    found = decision.roots
    found.reasons = {value: found.reasons[value] for value in stage.values if value in found.reasons}
    return found
