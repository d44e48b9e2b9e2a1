# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What the kernels of a program share: buffers, who clears sums, and the lists of sums that are the same at every call."""

from dataclasses import dataclass
from typing import NamedTuple

from tensoa.compiler.backends.cuda.layouts import Layouts
from tensoa.compiler.buffers import Life, Slots
from tensoa.compiler.ir import Program, Value
from tensoa.compiler.stages import Plan, Stage

#: How linear layers multiply, the first where none is asked for. "ieee": float32. "tf32x3": three tensor core products of
#: split numbers, at the accuracy of float32 and of 3xTF32, for rows of any size: one number counts to 2^-22 of itself or
#: 2^-38 of the largest one in its row, a weight to 2^-35 of the largest one of its output. The pieces are float16, which
#: needs half the products and half the memory of tf32 pieces; every row is first multiplied by a power of two, even where a
#: bound is known (tanh, a layer norm), because nothing is known of how small its numbers are. Tensor cores add with
#: truncation, so sums are off by up to about 1e-6 of the largest one. "tf32" and "bf16": one product of rounded numbers.
#: Layers of few inputs or outputs are always float32.
SCHEMES = {"tf32x3": "Half3", "ieee": "Fma", "tf32": "Tf32", "bf16": "Bf16"}
PRECISIONS = tuple(SCHEMES)

TOGETHER = 4  # warps that own a tile together
FEW_INPUTS = 4
FEW_OUTPUTS = 2


def is_extreme(value: Value) -> bool:
    """Whether it is the largest or the least by index: its buffer holds keys (kernels/buffers.cuh)."""
    return value.op == "scatter" and value.name != "sum"


@dataclass
class Lists:
    """The rows that an index adds to each row of `domain`: slots of what kernels/sums.cuh keeps of them."""

    index: Value
    domain: int
    slot: int
    at: int  # among those in one slot
    places: int
    members: int

    @property
    def text(self) -> str:
        return f"Lists(p.buffer[{self.slot}], p.rows[{self.domain}], {self.at})"


class Work(NamedTuple):
    """One kernel: a stage, its place in the plan (None: it only makes lists), and steps of making lists, as (what, lists)."""

    stage: Stage
    at: int | None
    steps: list[tuple[str, Lists]]


class Memory:
    """Of a program with `precision`. `slots.of[id of a value]`: its buffer, also of sums that share one (`joined`).

    `zeros[at]`: sums that the kernel of stage `at` clears; `zero_steps[at]`: those that are cleared before it.
    """

    def __init__(self, program: Program, plan: Plan, precision: str) -> None:
        self.program, self.plan, self.precision = program, plan, precision
        far = [value.far_args for value in program.values() if value.op != "gather"]
        self._dense = {id(argument) for args in far for argument in args if argument.width > 1}
        self.layout = Layouts()
        self.has_totals = any(stage.totals for stage in plan.stages)
        self.joined = {} if self.has_totals else self._join_sums()
        self.zeros: dict[int, list[Value]] = {at: [] for at in range(len(plan.stages))}
        self.zero_steps: dict[int, list[Value]] = {at: [] for at in range(len(plan.stages))}
        self.buffers = Slots(self._lives())
        self._name_all()
        self.lists = self._make_lists()

    def is_total(self, value: Value) -> bool:
        """Whether it is a scatter that is summed from lists, not by atomics."""
        return value.op == "scatter" and self.has_totals and not is_extreme(value)

    def scheme(self, value: Value) -> str:
        """What multiplies in a linear layer, by its name in kernels/layers.cuh."""
        return "Fma" if value.args[0].width <= FEW_INPUTS else SCHEMES[self.precision]

    def has_products(self, stage: Stage) -> bool:
        """Whether tensor cores compute a layer of it."""
        return any(value.op == "linear" and value.width > FEW_OUTPUTS and self.scheme(value) != "Fma" for value in stage.values)

    def is_dense(self, value: Value) -> bool:
        """Whether its rows lie side by side in memory without padding: the parts of a row are one row to some."""
        return id(value) in self._dense

    def is_only_stored(self, value: Value) -> bool:
        """Whether its stage computes a layer for others alone: tensor cores may then write straight into its buffer."""
        if self.is_dense(value) or value.op != "linear" or value.width <= FEW_OUTPUTS or self.scheme(value) == "Fma":
            return False
        home = next(stage for stage in self.plan.stages if any(value is other for other in stage.values))
        is_stored = any(buffer.value is value for buffer in home.stores)
        is_read = any(any(argument is value for argument in other.args) for other in home.values if other.op != "gather")
        is_summed = any(buffer.value.args[0] is value and not self.is_total(buffer.value) for buffer in home.sums)
        return is_stored and not (is_read or is_summed or any(output.value is value for output in home.outputs))

    def _join_sums(self) -> dict[int, Value]:
        """Sums that are only added to one another share memory: {id of such a value: the sum whose memory it is}."""
        users: dict[int, list] = {}
        for value in self.program.values():
            for argument in value.args:
                users.setdefault(id(argument), []).append(value)
        for output in self.program.outputs:
            users.setdefault(id(output.value), []).append(output)
        sums = {
            id(buffer.value): buffer.value for buffer in self.plan.buffers if buffer.is_scatter and not is_extreme(buffer.value)
        }
        joined: dict[int, Value] = {}
        for value in self.program.values():
            if value.op != "map" or value.name != "add" or len({id(argument) for argument in value.args}) < 2:
                continue
            if self.is_dense(value):
                continue
            if all(
                (id(argument) in sums or id(argument) in joined)
                and len(users[id(argument)]) == 1
                and self.layout(argument) == self.layout(value.args[0])
                for argument in value.args
            ):
                roots = [joined.get(id(argument), argument) for argument in value.args]
                for key, root in list(joined.items()):
                    if root is roots[1]:
                        joined[key] = roots[0]
                joined[id(roots[1])] = joined[id(value)] = roots[0]
        return joined

    def _root(self, value: Value) -> Value:
        """The value whose memory it has."""
        return self.joined.get(id(value), value)

    def _lives(self) -> list[Life]:
        """Every buffer, from the first stage that writes it to the last one that reads it. Shapes are (domain, bytes of a
        row).
        """
        stages = self.plan.stages
        used: dict[int, tuple[Value, list[int]]] = {}
        for at, stage in enumerate(stages):
            gathered = [x for value in stage.gathers for x in value.far_args if self.plan.buffer_of(x)]
            stored = [buffer.value for buffer in stage.stores if id(buffer.value) not in self.joined]
            summed = stage.totals + [buffer for buffer in stage.sums if not self.is_total(buffer.value)]
            values = [buffer.value for buffer in stage.reads + summed] + gathered + stored
            for value in values + [buffer.value.args[0] for buffer in stage.totals]:
                root = self._root(value)
                used.setdefault(id(root), (root, []))[1].append(at)
        lives = []
        for value, places in used.values():
            first = places[0]
            if value.op == "scatter" and not self.is_total(value):
                # A kernel over the same rows, as late as possible, clears it.
                earlier = [at for at in range(first) if stages[at].domain == value.domain]
                first = earlier[-1] if earlier else first
                (self.zeros if earlier else self.zero_steps)[first].append(value)
            layout = self.layout(value)
            width = value.width if self.is_dense(value) or layout is None else len(layout)
            domain, times = self.program.parts(value.domain)
            lives.append(Life(value, (domain, 4 * times * width), first, places[-1]))
        return lives

    def _name_all(self) -> None:
        """The slots of values that share memory."""
        self.slots = dict(self.buffers.of)
        for buffer in self.plan.buffers:
            self.slots[id(buffer.value)] = self.slots[id(self._root(buffer.value))]
        for key, value in self.joined.items():
            self.slots[key] = self.slots[id(value)]

    @staticmethod
    def _lists_key(scatter: Value) -> tuple:
        index = scatter.args[1]
        return scatter.domain, index.domain, index.block, index.plane, index.steps

    def _make_lists(self) -> dict[tuple, Lists]:
        scatters: dict[tuple, Value] = {}
        for stage in self.plan.stages:
            for buffer in stage.totals:
                scatters.setdefault(self._lists_key(buffer.value), buffer.value)
        lists, slots = {}, {}
        for key, value in scatters.items():
            alike = [other for other in scatters if other[0] == value.domain]
            if value.domain not in slots:
                slots[value.domain] = self.buffers.add((value.domain, 12 * len(alike)))
            index = value.args[1]
            of_index = self.buffers.add((index.domain, 4)), self.buffers.add((index.domain, 4))
            lists[key] = Lists(index, value.domain, slots[value.domain], alike.index(key), *of_index)
        return lists

    def lists_of(self, scatter: Value) -> Lists:
        return self.lists[self._lists_key(scatter)]

    def work(self) -> list[Work]:
        """The kernels, in order. Lists are counted all at once, allocated in
        the first stage over the rows of the sums, or before the first sum, and entered where rows are first stored.
        """
        all_lists, work, entered = list(self.lists.values()), [], set()
        left: dict[int, list[tuple[str, Lists]]] = {}
        for lists in all_lists:
            left.setdefault(lists.domain, []).append(("allocate", lists))
        for domain in sorted({lists.index.domain for lists in all_lists}):
            counted = [("count", lists) for lists in all_lists if lists.index.domain == domain]
            work.append(Work(Stage(domain), None, counted))
        for at, stage in enumerate(self.plan.stages):
            if stage.sums:
                work += [Work(Stage(domain), None, left.pop(domain)) for domain in sorted(left)]
            steps = left.pop(stage.domain, [])
            for lists in (self.lists_of(buffer.value) for buffer in stage.sums if self.is_total(buffer.value)):
                if id(lists) not in entered:
                    entered.add(id(lists))
                    steps.append(("enter", lists))
            work.append(Work(stage, at, steps))
        return work
