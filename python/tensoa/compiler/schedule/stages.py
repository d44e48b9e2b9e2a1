# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Stages: which tensors are calculated in one loop over the rows of a collection.

A tensor that is read in other rows has to be complete in memory before, so its readers are in a later stage; so are the readers
of what rows are joined to. Values of pairs of rows are in no stage: streams calculate them. Levels count these; a stage is a
level and a row symbol. Tensors are then calculated as late as possible, in stages that there are, so that few values are in
memory between stages.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tensoa.compiler import operations as ops
from tensoa.compiler.errors import NotFused
from tensoa.compiler.passes import is_row_gather, is_selection
from tensoa.compiler.program import Output, Program
from tensoa.compiler.schedule.addresses import base_of
from tensoa.compiler.schedule.streams import Keys, is_pair, is_stream, leaves_of
from tensoa.compiler.tensors import Tensor

ONE = "one"  # the symbol of what has no rows: it is calculated once


@dataclass
class Stage:
    """`values`: what is calculated or read here, arguments first; `kept`: what the same rows of later stages read."""

    rows: str
    level: int
    values: list[Tensor] = field(default_factory=list)
    earlier: set[Tensor] = field(default_factory=set)  # of `values`: in memory since an earlier stage
    kept: list[Tensor] = field(default_factory=list)
    shared: list[Tensor] = field(default_factory=list)  # what any row of later stages reads
    scatters: list[Tensor] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    of_items: list[Tensor] = field(default_factory=list)  # of `values`: what groups of items make
    given: list[Tensor] = field(default_factory=list)  # what these read

    @property
    def targets(self) -> list[Tensor]:
        """The tensors that must be calculated."""
        joined = [arg for scatter in self.scatters for arg in scatter.args]
        return list(dict.fromkeys([*self.kept, *self.shared, *joined, *(output.value for output in self.outputs)]))

    @property
    def stored(self) -> list[Tensor]:
        """The tensors that it leaves in memory for later stages."""
        return [*self.shared, *self.kept, *self.scatters]

    @property
    def read(self) -> set[Tensor]:
        """The tensors that it reads from earlier stages."""
        values = [value for value in self.values if value not in self.earlier]
        return {*self.earlier, *(arg for value in values for arg in far_args(value) if not is_free(arg))}


def symbol_of(tensor: Tensor) -> str:
    return tensor.rows[0] if tensor.rows else ONE


def is_free(tensor: Tensor) -> bool:
    """Whether every stage can read it without memory: columns of rows, constants, row numbers, and views of them."""
    if isinstance(tensor.op, ops.View):
        return is_free(tensor.args[0])
    return isinstance(tensor.op, (ops.Constant, ops.Iota, Keys)) or (isinstance(tensor.op, ops.Column) and bool(tensor.rows))


def joins_rows(tensor: Tensor) -> bool:
    """Whether it is a scatter along rows."""
    return isinstance(tensor.op, ops.Scatter) and isinstance(tensor.args[0].shape[tensor.op.axis], str)


def far_args(tensor: Tensor) -> tuple[Tensor, ...]:
    """Arguments that are read in any row."""
    if isinstance(tensor.op, Keys):
        return tensor.args
    if is_row_gather(tensor):
        return (base_of(tensor.args[0]),)
    if is_selection(tensor):
        return ()
    own = tensor.rows
    if is_stream(tensor):
        here, far = leaves_of(tensor)
        return (*(one for one in far if not is_free(one)), *(one for one in here if _is_of_no_row(one, tensor)))
    return tuple(base_of(arg) for arg in tensor.args if own and _is_of_no_row(arg, tensor))


def _is_of_no_row(arg: Tensor, reader: Tensor) -> bool:
    """Whether it was calculated once, for all rows of its reader."""
    return bool(reader.rows) and not arg.rows and not is_free(arg)


def own_args(tensor: Tensor) -> tuple[Tensor, ...]:
    """Arguments that are read in the same row, or that are constants."""
    if isinstance(tensor.op, Keys):
        return ()
    if is_row_gather(tensor) or is_selection(tensor):
        return tensor.args[1:]
    if is_stream(tensor):
        return tuple(one for one in leaves_of(tensor)[0] if not _is_of_no_row(one, tensor))
    far = far_args(tensor)
    return tuple(arg for arg in tensor.args if base_of(arg) not in far)


class _Levels:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.order = [tensor for tensor in program.tensors() if not is_pair(tensor)]
        self.level: dict[Tensor, int] = {}
        for tensor in self.order:
            self.level[tensor] = self.earliest(tensor)
        self.delay()

    def earliest(self, tensor: Tensor) -> int:
        after = [self.level[arg] + joins_rows(tensor) for arg in own_args(tensor)]
        after += [self.level[arg] + (not is_free(arg)) for arg in far_args(tensor)]
        return max(after, default=0)

    def delay(self) -> None:
        """Each tensor as late as its readers allow, in stages that there are."""
        there = {(self.level[t], symbol_of(t)) for t in self.order if not is_free(t)}
        until = {output.value: self.level[output.value] for output in self.program.outputs}
        for tensor in reversed(self.order):
            level = self.level[tensor]
            if not is_free(tensor):
                later = joins_rows(tensor)  # the result is there after the stage that joins the rows
                made_with = symbol_of(tensor.args[0]) if later else symbol_of(tensor)
                most = until.get(tensor, level)
                level = max([level, *(at + later for at, rows in there if rows == made_with and at + later <= most)])
            self.level[tensor] = level
            for arg in own_args(tensor):
                until[arg] = min(until.get(arg, level), level - joins_rows(tensor))
            for arg in far_args(tensor):
                until[arg] = min(until.get(arg, level), level - 1)
        for tensor in self.order:
            if is_selection(tensor):  # its order makes it
                self.level[tensor] = self.level[tensor.args[1]]


def stages_of(program: Program) -> list[Stage]:
    """The stages of a program in their order. Raises NotFused for what has no stage."""
    _refuse(program)
    return _Cut(program).stages()


def _refuse(program: Program) -> None:
    """Values of pairs of rows are read by streams only."""
    for tensor in program.tensors():
        if is_stream(tensor):
            leaves_of(tensor)
        elif not is_pair(tensor) and not is_selection(tensor) and any(map(is_pair, tensor.args)):
            raise NotFused(f"some of the numbers of all pairs of rows ({tensor!r})")


class _Cut:
    """Which stage calculates, keeps and reads what: from the outputs backwards."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.level = _Levels(program).level
        self.made: dict[tuple[int, str], Stage] = {}
        self.stored: set[Tensor] = set()

    def stage(self, level: int, rows: str) -> Stage:
        return self.made.setdefault((level, rows), Stage(rows, level))

    def stages(self) -> list[Stage]:
        work: list[tuple[Tensor, Stage]] = []
        for output in self.program.outputs:
            stage = self.stage(self.level[output.value], symbol_of(output.value))
            stage.outputs.append(output)
            work.append((output.value, stage))
        seen: set[tuple[Tensor, int, str]] = set()
        while work:
            tensor, stage = work.pop()
            if (tensor, stage.level, stage.rows) not in seen:
                seen.add((tensor, stage.level, stage.rows))
                work += self.needed(tensor, stage)
        found = [self.made[key] for key in sorted(self.made)]
        for stage in found:
            self.fill(stage)
        return found

    def needed(self, tensor: Tensor, stage: Stage) -> list[tuple[Tensor, Stage]]:
        """The tensors that must be calculated, and where, so that a stage has a tensor."""
        if self.is_earlier(tensor, stage):
            return self.store(tensor, is_shared=False)
        found = [(arg, stage) for arg in own_args(tensor)]
        for arg in far_args(tensor):
            found += [] if is_free(arg) else self.store(arg, is_shared=True)
        return found

    def is_earlier(self, tensor: Tensor, stage: Stage) -> bool:
        """Views are made again of what is in memory."""
        if is_free(tensor) or isinstance(tensor.op, ops.View):
            return False
        return joins_rows(tensor) or self.level[tensor] < stage.level

    def store(self, tensor: Tensor, is_shared: bool) -> list[tuple[Tensor, Stage]]:
        if joins_rows(tensor):
            stage = self.stage(self.level[tensor] - 1, symbol_of(tensor.args[0]))
            if tensor in stage.scatters:
                return []
            stage.scatters.append(tensor)
            return [(arg, stage) for arg in tensor.args]
        stage = self.stage(self.level[tensor], symbol_of(tensor))
        stored = stage.shared if is_shared else stage.kept
        if tensor in stored:
            return []
        stored.append(tensor)
        return [(tensor, stage)]

    def fill(self, stage: Stage) -> None:
        done: dict[Tensor, None] = {}

        def visit(tensor: Tensor) -> None:
            if tensor in done:
                return
            if self.is_earlier(tensor, stage):
                stage.earlier.add(tensor)
            else:
                for arg in own_args(tensor):
                    visit(arg)
                for arg in far_args(tensor) if not is_row_gather(tensor) else ():
                    if _is_of_no_row(arg, tensor):
                        stage.earlier.add(arg)
                        done.setdefault(arg)
            done.setdefault(tensor)

        for target in stage.targets:
            visit(target)
        stage.values = list(done)


def users_of(values: Sequence[Tensor], earlier: set[Tensor]) -> dict[Tensor, list[Tensor]]:
    """Who reads each value in its own row."""
    users: dict[Tensor, list[Tensor]] = {value: [] for value in values}
    for value in values:
        if value not in earlier:
            for arg in dict.fromkeys(own_args(value)):
                if arg in users:
                    users[arg].append(value)
    return users
