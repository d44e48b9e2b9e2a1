# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Cuts a row program into stages, each one loop over the rows of a domain."""

from dataclasses import dataclass, field

from tensoa.compiler.ir import Output, Program, Value, Visitor


@dataclass
class Buffer:
    """Memory that one stage writes and later ones read: [rows of `domain`, width], a row side by side.

    `is_scatter`: it holds a scatter; every number starts as that of no row, and rows are joined to it.
    """

    value: Value
    domain: int
    width: int
    is_scatter: bool = False


@dataclass
class Stage:
    """One loop over the rows of `domain`: computes `values` (arguments first), which are all that it needs of free values,
    from its own row of a buffer, or by gather and what reads all rows from any row of a buffer.
    """

    domain: int
    values: list[Value] = field(default_factory=list)  # without those that are read from buffers
    reads: list[Buffer] = field(default_factory=list)  # buffers read in the own row
    gathers: list[Value] = field(default_factory=list)  # those among `values` that have `far_args`: in buffers, or free
    stores: list[Buffer] = field(default_factory=list)  # buffers whose value is computed here and stored, row by row
    sums: list[Buffer] = field(default_factory=list)  # buffers of scatter values whose args[0] is computed here, or before
    totals: list[Buffer] = field(default_factory=list)  # with_totals: those that are summed here, before all else
    outputs: list[Output] = field(default_factory=list)  # Outputs that are written here


@dataclass
class Plan:
    stages: list[Stage]
    buffers: list[Buffer]

    def buffer_of(self, value: Value) -> Buffer | None:
        return next((buffer for buffer in self.buffers if buffer.value is value), None)


def _levels(program: Program, values: list[Value]) -> dict[int, int]:
    """The number of the stage of each value, by id: as late as can be, so that little is handed over; stages that are
    not needed do not come into being by that.
    """
    level: dict[int, int] = {}
    for value in values:
        # Rows of other stages are there when these are done; the rows of inputs always are.
        if value.op == "scatter":
            after = [max(level[id(argument)] for argument in value.args) + 1]
        else:
            after = [level[id(argument)] for argument in value.own_args]
            after += [level[id(argument)] + (not _lies_there(value, argument)) for argument in value.far_args]
        level[id(value)] = max([0, *after])
    there = {(level[id(value)], value.domain) for value in values if not value.is_free}
    last = {id(output.value): level[id(output.value)] for output in program.outputs}
    for value in reversed(values):
        if not value.is_free and value.op != "scatter":
            until = last[id(value)]
            level[id(value)] = max(at for at, domain in there if domain == value.domain and at <= until)
        for argument in value.args:
            is_elsewhere = value.op == "scatter" or any(argument is far for far in value.far_args)
            until = level[id(value)] - is_elsewhere
            last[id(argument)] = min(until, last.get(id(argument), until))
    return level


def _lies_there(user: Value, argument: Value) -> bool:
    """Whether what `user` reads from memory lies there before the program runs."""
    if user.op in ("attend", "nearest"):
        return False
    return argument.op == "input" or (argument.op == "constant" and user.op != "gather")


def plan(program: Program, with_totals: bool = False) -> Plan:
    """The stages of a program, in the order to run them.

    `with_totals`: rows of a sum are not added by the stage that computes them. They are stored, and summed by the stage over
    the rows that they are added to. (The largest and the least do not depend on an order.)
    """
    values = program.values()
    level = _levels(program, values)

    # A free value belongs to all stages that use it; the others to that of their level and domain.
    stages: dict[tuple[int, int], Stage] = {}

    def stage_of(at: int, domain: int) -> Stage:
        return stages.setdefault((at, domain), Stage(domain))

    buffers: dict[int, Buffer] = {}  # by the id of their value
    inside, read = set(), set()  # (stage, id) of the values of a stage, and of what it reads

    def buffer_for(value: Value) -> Buffer:
        found = buffers.get(id(value))
        if found is None:
            found = buffers[id(value)] = Buffer(value, value.domain, value.width, value.op == "scatter")
            if value.op == "scatter":
                maker = level[id(value)] - 1, value.args[0].domain
                stage_of(*maker).sums.append(found)
                if with_totals and value.name == "sum":
                    stage_of(level[id(value)], value.domain).totals.append(found)
                    buffer_for(value.args[0])
                for argument in value.args:
                    need(argument, maker)
            elif value.is_free:
                stage_of(0, value.domain).stores.append(found)
                need(value, (0, value.domain))
            else:
                stage_of(level[id(value)], value.domain).stores.append(found)
        return found

    def need(value: Value, key: tuple[int, int]) -> None:
        """`value` is used by the stage `key` in its own row."""
        home = level[id(value)], value.domain
        if value.op == "row":
            need(value.args[0], key)
            add(value, key)
        elif value.is_free or (home == key and value.op != "scatter"):
            add(value, key)
        elif (key, id(value)) not in read:
            read.add((key, id(value)))
            stage_of(*key).reads.append(buffer_for(value))

    def add(value: Value, key: tuple[int, int]) -> None:
        if (key, id(value)) not in inside:
            inside.add((key, id(value)))
            stage_of(*key).values.append(value)

    for value in values:
        if value.is_free or value.op == "row":
            continue
        if value.op == "scatter":
            buffer_for(value)
            continue
        key = level[id(value)], value.domain
        for argument in value.far_args:
            if not _lies_there(value, argument):
                buffer_for(argument)
        for argument in value.own_args:
            need(argument, key)
        add(value, key)
        if value.far_args:
            stage_of(*key).gathers.append(value)
    for output in program.outputs:
        key = level[id(output.value)], output.value.domain
        need(output.value, key)
        stage_of(*key).outputs.append(output)

    order = {id(value): i for i, value in enumerate(values)}
    for stage in stages.values():
        stage.values.sort(key=lambda value: order[id(value)])
    return Plan([stages[key] for key in sorted(stages)], list(buffers.values()))


class _Words(Visitor):
    """What a value does, in words; nothing of what costs nothing."""

    def _nothing(self, value: Value) -> str:
        return ""

    of_input = of_index = of_constant = of_pack = of_row = of_scatter = of_regroup = _nothing

    def of_linear(self, value: Value) -> str:
        return f"linear {value.weight.shape[1]} -> {value.weight.shape[0]}"

    def of_norm(self, value: Value) -> str:
        return f"layer norm {value.width // value.times}"

    def of_product(self, value: Value) -> str:
        rows, columns = (x.width // value.times // value.inner for x in value.args)
        return f"product {rows} x {value.inner} x {columns}"

    def of_map(self, value: Value) -> str:
        return value.name

    def of_order(self, value: Value) -> str:
        return f"{'largest' if value.is_largest else 'least'} {value.count} of {value.args[0].width // value.times}"

    def of_take(self, value: Value) -> str:
        return f"take {value.args[1].width // value.times} of {value.args[0].width // value.times // value.inner}"

    def of_gather(self, value: Value) -> str:
        return f"{value.op} {value.width}"

    def of_attend(self, value: Value) -> str:
        return f"attend {value.args[0].width // value.times} -> {value.width // value.times}"

    def of_nearest(self, value: Value) -> str:
        return f"{'largest' if value.is_largest else 'least'} {value.count} of all rows"

    def of_multiply(self, value: Value) -> str:
        return f"product {value.places.shape[1]} x {value.width}"

    def of_pick(self, value: Value) -> str:
        return f"take 1 of {value.places.shape[1]}"

    def of_fold(self, value: Value) -> str:
        return f"{value.name} of {value.places.shape[1]}"

    def of_double(self, value: Value) -> str:
        name = {"identity": "float32" if value.is_short else "float64"}.get(value.name, value.name)
        return name if name.startswith("float") else f"{name} of float64"

    of_reduce, of_lookup = of_map, of_gather


def word_of(value: Value) -> str:
    """What a value does, in words: "linear 3 -> 64"; nothing of what costs nothing."""
    return _Words().visit(value)


def describe(stage: Stage) -> str:
    """What a stage does to its rows, in a line: "linear 3 -> 64, relu, linear 64 -> 2"; "30 x" to the groups of a row."""
    words = [f"total {buffer.width}" for buffer in stage.totals]
    for value in stage.values:
        word = word_of(value)
        if word:
            words.append((f"{value.times} x " if value.times > 1 else "") + word)
    words += [f"{buffer.value.name} {buffer.width} by index" for buffer in stage.sums]
    return ", ".join(words) or "copy"


def described(plan: Plan, program: Program) -> list[str]:
    """What each stage does; how often, to the parts of a row."""
    found = []
    for stage in plan.stages:
        _, times = program.parts(stage.domain)
        found.append((f"{times} x: " if times > 1 else "") + describe(stage))
    return found
