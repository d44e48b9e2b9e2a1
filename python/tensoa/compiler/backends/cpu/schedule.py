# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What a stage computes, in which order, and what becomes a part of something else."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tensoa.compiler.ir import Value, in_order
from tensoa.compiler.stages import Plan, Stage

MAPS = ("map", "double")  # number by number
SPANS = 8  # runs of features that a layer reads where they lie
SHORT = 4  # features: a layer reads shorter runs one after the other, after they are put side by side


class Action(NamedTuple):
    """What is done with a value when it is there: "write" to a buffer, "scatter" into one, or "output"."""

    kind: str
    to: Any  # a Buffer, or the Output
    by: Value | None = None  # the index of a scatter


class Root(NamedTuple):
    value: Value
    actions: list[Action]


class PassedOn(NamedTuple):
    """Gathered rows, times a number of each row or not, that are only summed."""

    rows: Value
    factor: Value | None


class Sum(NamedTuple):
    """Several gathers, and other values, that are added."""

    gathers: list[Value]
    others: list[Value]


def is_relu(value: Value) -> bool:
    return value.op == "map" and value.name == "relu"


class Schedule:
    """Of one stage. Values are named by their ids: those of the plan, which outlives it.

    `order`: the values, arguments first; `roots`: what leaves the stage; `users`: who needs a value in its place in scratch
    memory; `absorbed`: what is only a part of what its user does; `last`: the last that reads a value.
    """

    def __init__(self, stage: Stage, plan: Plan) -> None:
        self.plan = plan
        self.computed = {id(value) for value in stage.values}
        self.roots = self._roots(stage)
        needed = [buffer.value.args[1] for buffer in stage.sums] + [root.value for root in self.roots.values()]
        self.order = in_order(needed, self.args)
        self.users: dict[int, list[Value]] = {id(value): [] for value in self.order}
        for value in self.order:
            for argument in self.distinct(value) if value.op == "pack" else self.args(value):
                self.users[id(argument)].append(value)
        self.absorbed: set[int] = set()
        self.passed_on: dict[int, PassedOn] = {}
        self.sums: dict[int, Sum] = {}
        self._find_passed_on()
        self._find_sums()
        self._find_absorbed()
        self.last: dict[int, Value] = {}
        for value in self.order:
            if id(value) not in self.absorbed:
                self.last.update((id(leaf), value) for leaf in self.leaves(value))

    # ---- of a value

    def args(self, value: Value) -> tuple[Value, ...]:
        """What must be in scratch memory (or an index in its array) for `value`."""
        if id(value) not in self.computed:
            return ()
        return value.own_args

    def distinct(self, value: Value) -> list[Value]:
        return list({id(argument): argument for argument in self.args(value)}.values())

    def leaves(self, value: Value) -> Iterator[Value]:
        """The values in scratch memory that the code of `value` reads."""
        for argument in self.distinct(value):
            if id(argument) in self.absorbed:
                yield from self.leaves(argument)
            else:
                yield argument

    def picked(self, value: Value) -> Iterator[Value]:
        """Those of the leaves that it reads in another order."""
        for argument in self.distinct(value):
            if id(argument) in self.absorbed:
                yield from self.leaves(argument) if argument.op == "pack" else self.picked(argument)

    def is_done_by_linear(self, value: Value) -> bool:
        return is_relu(value) and value.args[0].op == "linear" and id(value.args[0]) in self.absorbed

    def may_replace(self, value: Value) -> bool:
        """Whether it may be written where one of its arguments is, number by number."""
        if self.is_done_by_linear(value) or id(value) in self.sums:
            return False
        return value.op in ("map", "norm") and (value.args[0] if is_relu(value) else value).times == 1

    def _is_free(self, value: Value) -> bool:
        """Only values computed here need it."""
        return id(value) in self.computed and id(value) not in self.roots

    def _only_user(self, value: Value) -> Value | None:
        users = self.users[id(value)]
        return users[0] if self._is_free(value) and len(users) == 1 else None

    def _reads_buffer(self, value: Value) -> bool:
        return value.op == "gather" and self.plan.buffer_of(value.args[0]) is not None

    def _reads_parts(self, user: Value, packed: Value) -> bool:
        """Whether `user` reads the parts of a pack where they lie."""
        if user.op == "linear":
            return len(packed.ranges) <= SPANS or packed.width >= SHORT * len(packed.ranges)
        if user.op in MAPS:
            return id(user) not in self.passed_on
        if user.op == "pack":  # one that reads parts of it several times, as windows do, reads them side by side
            return id(user) in self.absorbed and user.width <= packed.width
        return user.op == "reduce"

    # ---- of the stage

    def _roots(self, stage: Stage) -> dict[int, Root]:
        roots: dict[int, Root] = {}

        def add(value: Value, action: Action) -> None:
            roots.setdefault(id(value), Root(value, [])).actions.append(action)

        for buffer in stage.stores:
            add(buffer.value, Action("write", buffer))
        for buffer in stage.sums:
            value, index = buffer.value.args
            add(value, Action("scatter", buffer, index))
        for output in stage.outputs:
            add(output.value, Action("output", output))
        return roots

    def _find_passed_on(self) -> None:
        for value, actions in self.roots.values():
            if self.users[id(value)] or any(action.kind != "scatter" for action in actions):
                continue
            if self._reads_buffer(value):
                self.passed_on[id(value)] = PassedOn(value, None)
            elif value.op == "map" and value.name == "mul":
                for rows, factor in (value.args, value.args[::-1]):
                    is_one = rows.width == value.width and factor.width == 1 and factor.op != "constant"
                    if is_one and self._reads_buffer(rows) and self._only_user(rows) is value and factor is not rows:
                        self.passed_on[id(value)] = PassedOn(rows, factor)
                        self.absorbed.add(id(rows))
                        break

    def _find_sums(self) -> None:
        """Rows of memory are added before they become a tile."""

        def terms(value: Value, is_top: bool = True) -> list[tuple[Value, list[Value]]]:
            is_sum = value.op == "map" and value.name == "add" and id(value) in self.computed
            user = self._only_user(value)
            is_part = is_top or (user is not None and user.width == value.width)
            if not (is_sum and is_part and all(argument.width == value.width for argument in value.args)):
                return [(value, [])]
            return [(term, [*adds, value]) for argument in value.args for term, adds in terms(argument, False)]

        for value in reversed(self.order):
            if id(value) in self.absorbed or id(value) in self.passed_on:
                continue
            found = terms(value)
            gathers = [term for term, _ in found if self._reads_buffer(term) and self._only_user(term) is not None]
            if len(gathers) > 1:
                others = [term for term, _ in found if not any(term is gather for gather in gathers)]
                self.sums[id(value)] = Sum(gathers, others)
                self.absorbed |= {id(add) for _, adds in found for add in adds if add is not value}
                self.absorbed |= {id(gather) for gather in gathers}

    def _find_absorbed(self) -> None:
        rules: tuple[Callable[[Value], bool], ...] = (self._is_before_relu, self._is_in_map, self._is_read_in_place)
        for value in reversed(self.order):  # users come first
            if id(value) not in self.absorbed and id(value) not in self.sums and any(rule(value) for rule in rules):
                self.absorbed.add(id(value))

    def _is_before_relu(self, value: Value) -> bool:
        """A layer that the relu after it is done with."""
        user = self._only_user(value)
        return value.op in ("linear", "norm") and user is not None and is_relu(user)

    def _is_in_map(self, value: Value) -> bool:
        """A function of numbers in the same place of a row as the one that needs it."""
        user = self._only_user(value)
        if value.op not in MAPS or user is None or user.op not in MAPS or user.numbers != value.numbers:
            return False
        if value.op == "double":
            return id(user) not in self.passed_on
        first = value.args[0]
        is_done_with_layer = is_relu(value) and first.op in ("linear", "norm") and self._only_user(first) is value
        return id(user) not in self.passed_on and not is_done_with_layer

    def _is_read_in_place(self, value: Value) -> bool:
        """Parts that all read where they lie, and constants that maps read where they are."""
        if not self._is_free(value):
            return False
        users = self.users[id(value)]
        if value.op == "pack":
            return all(self._reads_parts(user, value) for user in users)
        return value.op == "constant" and all(user.op in MAPS for user in users)
