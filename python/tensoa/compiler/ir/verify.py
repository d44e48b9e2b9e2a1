# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What holds of every row program: of its values, and of how they fit together; and a program as text."""

from collections.abc import Iterator, Sequence

import numpy as np

from tensoa.compiler.errors import MalformedProgram
from tensoa.compiler.ir.operations import FUNCTIONS, REDUCTIONS
from tensoa.compiler.ir.program import ARGUMENT, ATTRIBUTES, Program, Score, Value, Visitor
from tensoa.dtypes import DTYPES, HIGH, LOW

INDICES = ("index", "row")  # operations that name rows, whose results are no numbers
SCATTERED = ("sum", "amax", "amin")
WEIGHTS = ("softmax", "safe", "sum")


def verify(program: Program) -> None:
    """Raises MalformedProgram with the first rule that does not hold, and the program as text."""
    for broken in _broken(program):
        raise MalformedProgram(f"{broken}\n{text_of(program)}")


def text_of(program: Program) -> str:
    """A line for each domain, value and output; of arrays, their shapes."""
    values = program.values()
    names = {value: f"%{i}" for i, value in enumerate(values)}
    lines = [f"domain {i}: rows of collection {domain}" for i, domain in enumerate(program.domains)]
    for i, (domain, times) in enumerate(program.lifted):
        lines.append(f"domain {len(program.domains) + i}: {times} for each row of domain {domain}")
    for value in values:
        words = [names.get(argument, "%?") for argument in value.args]
        words += [f"{name}={_short(attribute)}" for name, attribute in value.attributes.items()]
        lines.append(f"{names[value]} = {value!r}({', '.join(words)})")
    lines += [f"block {o.block} planes {o.planes} as {o.dtype} = {names[o.value]}" for o in program.outputs]
    return "\n".join(lines)


def _short(attribute: object) -> str:
    return f"array{list(attribute.shape)}" if isinstance(attribute, np.ndarray) else repr(attribute)[:60]


def _broken(program: Program) -> Iterator[str]:
    for domain, times in program.lifted:
        if not 0 <= domain < len(program.domains) or times < 2:
            yield f"a lifted domain of {times} rows for each row of domain {domain}"
    check, seen = _Values(program), set[Value]()
    for value in program.values():
        for problem in check.problems(value, seen):
            yield f"{value!r}: {problem}"
        seen.add(value)
    written: set[tuple[int, int, str]] = set()
    for output in program.outputs:
        half = output.dtype if output.dtype in (HIGH.name, LOW.name) else ""
        places = {(output.block, plane, half) for plane in output.planes}
        name = f"output block {output.block}"
        if output.value.op in INDICES:
            yield f"{name}: rows of a domain, not numbers"
        if output.value.domain >= len(program.domains):
            yield f"{name}: rows of domain {output.value.domain}, which no collection has"
        if len(output.planes) != output.value.width:
            yield f"{name}: {len(output.planes)} planes for {output.value.width} numbers"
        if len(places) != len(output.planes) or places & written or min(output.planes, default=0) < 0:
            yield f"{name}: planes {output.planes}, each once"
        if output.dtype not in DTYPES and output.dtype not in (HIGH.name, LOW.name):
            yield f"{name}: the dtype {output.dtype}"
        written |= places


class _Values(Visitor):
    """The rules of each operation that do not hold, in words."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def problems(self, value: Value, before: set[Value]) -> Iterator[str]:
        known = ATTRIBUTES[value.op]
        if set(value.attributes) != set(known):
            yield f"the attributes {sorted(value.attributes)}, not {sorted(known)}"
            return
        if not 0 <= value.domain < len(self.program.domains) + len(self.program.lifted):
            yield f"domain {value.domain} of {len(self.program.domains)}, and {len(self.program.lifted)} lifted"
            return
        for argument in value.args:
            if argument not in before:
                yield f"the argument {argument!r}, which needs the value itself"
                return
        if value.width < 1:
            yield "no numbers in a row"
        if value.times < 1:
            yield f"{value.times} groups"
            return
        for i, argument in enumerate(value.args):
            is_index = value.op == "lookup" or (value.op in ("gather", "scatter") and i == 1)
            if (argument.op in INDICES) != is_index:
                yield f"argument {i}, {argument!r}, {'names no rows' if is_index else 'is no number'}"
        for argument in value.own_args if value.op != "scatter" else ():
            if argument.domain != value.domain:
                yield f"the argument {argument!r}, of another domain"
        for name, attribute in value.attributes.items():
            if isinstance(attribute, np.ndarray) and name != "places" and attribute.dtype != np.float32:
                yield f"{name} of {attribute.dtype}"
        yield from self.visit(value)

    # ---- what is the same for several operations

    def _args(self, value: Value, count: int) -> Iterator[str]:
        if len(value.args) != count:
            yield f"{len(value.args)} arguments, expected {count}"

    def _width(self, value: Value, width: int) -> Iterator[str]:
        if value.width != width:
            yield f"{value.width} numbers, expected {width}"

    def _groups(self, value: Value, args: Sequence[Value], inner: int = 1) -> Iterator[str]:
        for argument in args:
            if inner < 1 or argument.width % (value.times * inner):
                yield f"{value.times} groups of {inner} in {argument!r}"

    # ---- operations

    def of_input(self, value: Value) -> Iterator[str]:
        yield from self._args(value, 0)
        yield from self._width(value, len(value.planes))
        if value.dtype not in DTYPES and value.dtype not in (HIGH.name, LOW.name):
            yield f"the dtype {value.dtype}"
        if value.block < 0 or min(value.planes, default=0) < 0:
            yield f"planes {value.planes} of block {value.block}"
        _, times = self.program.parts(value.domain)
        if times != 1:
            yield "columns of a lifted domain"

    def of_index(self, value: Value) -> Iterator[str]:
        yield from self._args(value, 0)
        yield from self._width(value, 1)
        if value.dtype not in DTYPES or DTYPES[value.dtype].is_float:
            yield f"the dtype {value.dtype}"
        if value.block < 0 or value.plane < 0:
            yield f"plane {value.plane} of block {value.block}"

    def of_constant(self, value: Value) -> Iterator[str]:
        yield from self._args(value, 0)
        yield from self._width(value, value.array.size if value.array.ndim == 1 else -1)

    def of_linear(self, value: Value) -> Iterator[str]:
        yield from self._args(value, 1)
        shape = value.weight.shape
        if len(shape) != 2 or value.args[0].width != value.times * shape[1]:
            yield f"weights {shape} for {value.times} groups of {value.args[0]!r}"
        yield from self._width(value, value.times * shape[0])
        if value.bias is not None and value.bias.shape != shape[:1]:
            yield f"a bias {value.bias.shape} for weights {shape}"

    def of_product(self, value: Value) -> Iterator[str]:
        yield from self._args(value, 2)
        yield from self._groups(value, value.args, value.inner)
        x, y = (argument.width // (value.times * value.inner) for argument in value.args)
        yield from self._width(value, value.times * x * y)

    def of_map(self, value: Value) -> Iterator[str]:
        if value.name not in FUNCTIONS:
            yield f"the function {value.name}"
            return
        yield from self._args(value, FUNCTIONS[value.name].arity)
        yield from self._width(value, max((argument.width for argument in value.args), default=-1))
        if any(argument.width not in (1, value.width) for argument in value.args):
            yield f"arguments {value.args}"

    def of_double(self, value: Value) -> Iterator[str]:
        if value.name not in FUNCTIONS:
            yield f"the function {value.name}"
            return
        yield from self._args(value, sum(not isinstance(kind, bytes) for kind in value.kinds))
        if len(value.kinds) != FUNCTIONS[value.name].arity:
            yield f"{len(value.kinds)} parameters of {value.name}"
        args, counts = iter(value.args), list[float]()
        for kind in value.kinds:
            if isinstance(kind, bytes):
                counts.append(len(kind) // 8)
            elif kind in ("words", "floats"):
                counts.append(next(args).width / (2 if kind == "words" else 1))
            else:
                yield f"a parameter of {kind!r}"
        count = value.width / (1 if value.is_short else 2)
        if max(counts, default=0) != count or any(n not in (1, count) for n in counts):
            yield f"parameters of {counts} numbers"

    def of_norm(self, value: Value) -> Iterator[str]:
        yield from self._args(value, 1)
        yield from self._width(value, value.args[0].width)
        yield from self._groups(value, value.args)
        for array in (value.weight, value.bias):
            if array is not None and array.shape != (value.width // value.times,):
                yield f"weights {array.shape} of {value.times} groups"

    def of_reduce(self, value: Value) -> Iterator[str]:
        yield from self._args(value, 1)
        yield from self._width(value, value.times)
        yield from self._groups(value, value.args)
        if value.name not in REDUCTIONS:
            yield f"the reduction {value.name}"

    def of_order(self, value: Value) -> Iterator[str]:
        yield from self._args(value, 1)
        yield from self._groups(value, value.args)
        yield from self._width(value, value.times * value.count)
        if not 1 <= value.count <= value.args[0].width // value.times:
            yield f"{value.count} of {value.args[0].width // value.times} numbers"

    def of_take(self, value: Value) -> Iterator[str]:
        yield from self._args(value, 2)
        yield from self._groups(value, value.args[:1], value.inner)
        yield from self._groups(value, value.args[1:])
        yield from self._width(value, value.args[1].width * value.inner)

    def of_pack(self, value: Value) -> Iterator[str]:
        yield from self._args(value, len(value.ranges))
        yield from self._width(value, sum(stop - start for start, stop in value.ranges))
        for argument, (start, stop) in zip(value.args, value.ranges):
            if not 0 <= start < stop <= argument.width:
                yield f"numbers {start} to {stop} of {argument!r}"

    def of_lookup(self, value: Value) -> Iterator[str]:
        yield from self._args(value, 1)
        yield from self._width(value, value.table.shape[1] if value.table.ndim == 2 else -1)

    def of_row(self, value: Value) -> Iterator[str]:
        yield from self._args(value, 1)
        yield from self._width(value, 1)
        if not 0 <= value.number < value.args[0].width:
            yield f"number {value.number} of {value.args[0]!r}"

    def of_gather(self, value: Value) -> Iterator[str]:
        yield from self._args(value, 2)
        yield from self._width(value, value.args[0].width)

    def of_scatter(self, value: Value) -> Iterator[str]:
        yield from self.of_gather(value)
        if value.args[0].domain != value.args[1].domain:
            yield "rows and an index of different domains"
        if value.name not in SCATTERED:
            yield f"the reduction {value.name}"

    def of_attend(self, value: Value) -> Iterator[str]:
        yield from self._args(value, 3)
        yield from self._width(value, value.args[2].width)
        yield from self._groups(value, value.args)
        yield from self._score(value)
        if value.args[1].domain != value.args[2].domain:
            yield "keys and values of different domains"
        if value.weights not in WEIGHTS:
            yield f"the weights {value.weights}"

    def of_nearest(self, value: Value) -> Iterator[str]:
        yield from self._args(value, 2)
        yield from self._width(value, value.count)
        yield from self._score(value)

    def _score(self, value: Value) -> Iterator[str]:
        query, key = (argument.width // value.times for argument in value.args[:2])
        score: Score = value.score
        if not score:
            yield "no score"
        for at, (name, *operands) in enumerate(score):
            if name in ("dot", "distance"):
                i, j, count = operands
                is_right = 0 <= i <= query - count and 0 <= j <= key - count and count >= 1
            elif name in ("query", "key"):
                is_right = 0 <= operands[0] < (query if name == "query" else key)
            elif name == "number":
                is_right = len(operands) == 1
            else:
                is_right = name in FUNCTIONS and len(operands) == FUNCTIONS[name].arity
                is_right = is_right and all(0 <= step < at for step in operands)
            if not is_right:
                yield f"step {at} of its score, {(name, *operands)}"

    def of_regroup(self, value: Value) -> Iterator[str]:
        yield from self._places(value, 1)

    def of_multiply(self, value: Value) -> Iterator[str]:
        yield from self._places(value, value.args[0].width)

    def of_pick(self, value: Value) -> Iterator[str]:
        if value.args[0].width != 1:
            yield f"places {value.args[0]!r}"
        yield from self._places(value)

    def of_fold(self, value: Value) -> Iterator[str]:
        if value.name not in REDUCTIONS:
            yield f"the reduction {value.name}"
        yield from self._places(value)

    def _places(self, value: Value, count: int | None = None) -> Iterator[str]:
        places, (domain, parts) = value.places, self.program.parts(value.domain)
        far = value.far_args
        if (
            places.ndim != 3
            or places.shape[2] != value.width
            or parts % len(places)
            or places.shape[1] != (count or places.shape[1])
        ):
            yield f"places {places.shape} for {parts} parts of a row"
            return
        if places.min() < 0 or {*(places // ARGUMENT).flat} != {*range(len(far))}:
            yield f"places in the arguments {sorted({*(places // ARGUMENT).flat})}, of {len(far)}"
            return
        for k, argument in enumerate(far):
            of_argument, times = self.program.parts(argument.domain)
            most = (places[places // ARGUMENT == k] % ARGUMENT).max()
            if of_argument != domain or most >= times * argument.width:
                yield f"place {most} of {argument!r}, which has {times} parts of a row of domain {of_argument}"
