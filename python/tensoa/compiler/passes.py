# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The same function with less work. Every pass is a rule for one value; values are rebuilt from the inputs up."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from tensoa.compiler import ir
from tensoa.compiler.ir import Program, Value

#: Where more than this is subtracted before a layer, in units of what the layer reads, it is subtracted first: small
#: differences of large numbers are lost afterwards. Error over that of torch, 64 inputs: 1.5 here, 2.1 at 2, 15 at 16.
LARGEST_SHIFT = 1.5


def _rebuilt(program: Program, rule: Callable[[Value], Value | None], users: dict[int, int] | None = None) -> Program:
    """The program with `rule(value)` (None: as it is) for every value whose arguments were rebuilt, in order.

    `users`: how often values are used, by id; kept up for the rebuilt ones.
    """
    new: dict[int, Value] = {}
    known: dict[tuple, Value] = {}
    done: dict[int, Value] = {}
    alive: list[Value] = []

    def same(value: Value) -> Value:
        """The one value of what it computes."""
        key = [value.op, value.domain, value.width, *(id(argument) for argument in value.args)]
        for name, attribute in sorted(value.attributes.items()):
            if isinstance(attribute, np.ndarray):
                attribute = (attribute.shape, attribute.tobytes())
            key.append((name, attribute))
        return known.setdefault(tuple(key), value)

    def build(value: Value) -> Value:
        """A value that a rule made, with all that it is made of."""
        if id(value) in done:
            return done[id(value)]
        alive.append(value)  # its id is not given to another
        made = same(value.of(tuple(build(argument) for argument in value.args)))
        alive.append(made)
        done[id(value)] = done[id(made)] = made
        return made

    for value in program.values():
        copy = value.of(tuple(new[id(argument)] for argument in value.args))
        alive.append(copy)
        if users is not None and copy is not value:
            users[id(copy)] = users.get(id(copy), 0) + users[id(value)]
        new[id(value)] = build(rule(copy) or copy)
        if users is not None and new[id(value)] is not copy:
            users[id(new[id(value)])] = users[id(copy)]
    return replace(program, outputs=[replace(output, value=new[id(output.value)]) for output in program.outputs])


def _users(program: Program) -> dict[int, int]:
    users: dict[int, int] = {}
    for value in program.values():
        for argument in value.args:
            users[id(argument)] = users.get(id(argument), 0) + 1
    for output in program.outputs:
        users[id(output.value)] = users.get(id(output.value), 0) + 1
    return users


def _constant(value: Value, width: int) -> np.ndarray | None:
    """The numbers of a constant, as many as the width, in float64; None of other values."""
    if value.op != "constant":
        return None
    return np.broadcast_to(value.array.astype(np.float64), (width,))


Number = tuple[Value, int]  # a value, and the place of one of its numbers
Affine = tuple[Value, np.ndarray, np.ndarray]  # (x, scale, shift): x * scale + shift, with constants


def _affine(value: Value, known: dict[Value, Affine | None]) -> Affine | None:
    """(x, scale, shift) where value = x * scale + shift with constants; None otherwise. `known`: what was found before."""
    steps, x = [], value
    while x not in known:
        found = _affine_step(x)
        steps.append((x, found))
        if found is None:
            break
        x = found[0]
    for x, found in reversed(steps):
        inner = None if found is None else known[found[0]]
        if found is not None and inner is not None:
            found = inner[0], inner[1] * found[1], inner[2] * found[1] + found[2]
        known[x] = found
    return known[value]


def _affine_step(value: Value) -> Affine | None:
    if value.op != "map" or value.name not in ("add", "sub", "mul", "div"):
        return None
    a, b = value.args
    width = value.width
    right, left = _constant(b, width), _constant(a, width)
    one, zero = np.ones(width), np.zeros(width)
    if right is not None and a.width == width:
        return {
            "add": (a, one, right),
            "sub": (a, one, -right),
            "mul": (a, right, zero),
            "div": (a, 1.0 / right, zero) if right.all() else None,
        }[value.name]
    if left is not None and b.width == width and value.name != "div":
        return {"add": (b, one, left), "sub": (b, -one, left), "mul": (b, left, zero)}[value.name]
    return None


def _linear(x: Value, weight: np.ndarray, bias: np.ndarray | None, times: int) -> Value:
    return ir.linear(x, weight, None if bias is None or not bias.any() else bias, times)


def _of_groups(found: Affine | None, times: int) -> Affine | None:
    """What _affine() found, with the numbers of a group; None where groups differ."""
    if found is None:
        return None
    x, *numbers = found
    numbers = [array.reshape(times, -1) for array in numbers]
    return (x, *(array[0] for array in numbers)) if all((array == array[0]).all() for array in numbers) else None


def _weights(value: Value) -> tuple[np.ndarray, np.ndarray]:
    """weight and bias of a linear in float64; the bias is zero where there is none."""
    bias = np.zeros(len(value.weight)) if value.bias is None else value.bias.astype(np.float64)
    return value.weight.astype(np.float64), bias


def fold_affine(program: Program) -> Program:
    """Constants before and after a linear layer (normalisation, batch normalisation) become part of it; after it where
    nothing else needs it as it was.
    """
    users: dict[int, int] = {}
    known: dict[Value, Affine | None] = {}

    def rule(value: Value) -> Value | None:
        if value.op == "linear":
            found = _of_groups(_affine(value.args[0], known), value.times)
            if found:
                x, scale, shift = found
                weight, bias = _weights(value)
                if abs(shift).max() <= LARGEST_SHIFT:
                    return _linear(x, weight * scale, bias + weight @ shift, value.times)
                if scale.all() and (scale != 1).any():
                    centred = ir.apply("add", x, ir.constant(x.domain, np.tile(shift / scale, value.times)))
                    return _linear(centred, weight * scale, bias, value.times)
        found = _affine(value, known)
        if found and found[0].op == "linear" and users.get(id(found[0])) == 1:
            found = _of_groups(found, found[0].times)
            if found:
                x, scale, shift = found
                weight, bias = _weights(x)
                return _linear(x.args[0], weight * scale[:, None], bias * scale + shift, x.times)
        return None

    before = None
    while before != len(program.values()):
        before = len(program.values())
        users.clear()
        users.update(_users(program))
        program = _rebuilt(program, rule, users)
    return program


def move_to_sources(program: Program) -> Program:
    """A linear layer of gathered rows becomes a gather of a linear layer: W [a; b][row] = (A a)[row] + (B b)[row].

    Edges are many and nodes are few, so the layer is computed for few rows. Not where only narrow rows are gathered: to
    read them is cheaper than to read what the layer makes of them. (gnn_speed: 42 % of the operations of a
    message-passing network.)
    """

    def rule(value: Value) -> Value | None:
        if value.op != "linear" or value.times > 1:
            return None
        x = value.args[0]
        if x.op == "gather":
            parts = [(x, 0, x.width)]
        elif x.op == "pack":
            parts = [(argument, *where) for argument, where in zip(x.args, x.ranges)]
        else:
            return None
        terms, at = [], 0
        for argument, start, stop in parts:
            terms.append((argument, start, stop, value.weight[:, at : at + stop - start]))
            at += stop - start
        wide = {
            id(argument.args[1])
            for argument, start, stop, _ in terms
            if argument.op == "gather" and 4 * (stop - start) >= value.width
        }
        moved = [term for term in terms if term[0].op == "gather" and id(term[0].args[1]) in wide]
        rest = [term for term in terms if not any(term is other for other in moved)]
        if not moved:
            return None
        by_index: dict[int, tuple[Value, list]] = {}
        for argument, start, stop, weight in moved:
            source, index = argument.args
            by_index.setdefault(id(index), (index, []))[1].append((source, start, stop, weight))
        bias, sums = value.bias, []
        if rest:
            inputs = ir.pack([(argument, start, stop) for argument, start, stop, _ in rest])
            sums.append(ir.linear(inputs, np.concatenate([weight for *_, weight in rest], axis=1), bias))
            bias = None
        for index, sources in by_index.values():
            inputs = ir.pack([(source, start, stop) for source, start, stop, _ in sources])
            weight = np.concatenate([weight for *_, weight in sources], axis=1)
            sums.append(ir.gather(ir.linear(inputs, weight, bias), index))
            bias = None
        total = sums[0]
        for addend in sums[1:]:
            total = ir.apply("add", total, addend)
        return total

    return _rebuilt(program, rule)


def centre_norms(program: Program) -> Program:
    """The layers before a layer normalisation are centred at export, so that its mean is zero and need not be computed."""
    users = _users(program)

    def centred(value: Value, times: int) -> Value | None:
        """The value minus the mean of each group, or None where that costs something."""
        if users.get(id(value), 0) != 1:
            return None
        if value.op == "linear" and value.times == times:
            weight, bias = _weights(value)
            return _linear(value.args[0], weight - weight.mean(axis=0), bias - bias.mean(), times)
        if value.op == "gather":
            source = centred(value.args[0], times)
            return None if source is None else ir.gather(source, value.args[1])
        if value.op == "map" and value.name in ("add", "sub") and all(a.width == value.width for a in value.args):
            found = [centred(argument, times) for argument in value.args]
            args = [argument for argument in found if argument is not None]
            return ir.apply(value.name, *args) if len(args) == len(found) else None
        return None

    def rule(value: Value) -> Value | None:
        if value.op != "norm" or value.is_centered:
            return None
        x = centred(value.args[0], value.times)
        if x is None:
            return None
        return Value("norm", value.domain, value.width, (x,), {**value.attributes, "is_centered": True})

    return _rebuilt(program, rule, users)


def heads_apart(program: Program) -> Program:
    """Attention one head at a time, for generators without loops over parts of a row. What all rows are read of has memory of
    its own: rows that are summed may lie in another order.
    """

    def stored(x: Value) -> Value:
        return ir.copy(x) if x.op == "scatter" else x

    def rule(value: Value) -> Value | None:
        if value.op not in ("attend", "nearest"):
            return None
        own, *far = value.args
        args = own, *map(stored, far)
        if value.times == 1:
            return value.of(args)
        heads = []
        for head in range(value.times):
            widths = [argument.width // value.times for argument in args]
            parts = [ir.pack([(x, head * width, (head + 1) * width)]) for x, width in zip(args, widths)]
            q, k, v = parts
            heads.append(ir.attend(q, k, v, value.score, value.weights))
        return ir.pack([(head, 0, head.width) for head in heads])

    return _rebuilt(program, rule)


def unrolled(program: Program) -> Program:
    """The program without groups: for generators that keep a row in registers, and so have no loops over parts of it."""
    numbers: dict[int, list[Number]] = {}  # of each value, in the new program
    known: dict[tuple, Value] = {}

    def value_of(parts: list[Number]) -> Value:
        packed = ir.pack([(value, at, at + 1) for value, at in parts])
        if packed.op != "pack":
            return packed
        return known.setdefault((tuple(id(argument) for argument in packed.args), packed.ranges), packed)

    def groups(value: Value, argument: Value) -> list[list[Number]]:
        parts, count = numbers[id(argument)], argument.width // value.times
        return [parts[i : i + count] for i in range(0, len(parts), count)]

    def made(value: Value, args: list[Value]) -> Value:
        attributes = {name: value.attributes[name] for name in value.attributes if name != "times"}
        return Value(value.op, value.domain, value.width // value.times, tuple(args), attributes)

    def products(value: Value) -> Iterator[Value]:
        x, y = value.args
        for left, right in zip(groups(value, x), groups(value, y)):
            columns = len(right) // value.inner
            for row in range(0, len(left), value.inner):
                for column in range(columns):
                    pair = value_of(left[row : row + value.inner]), value_of(right[column::columns])
                    yield ir.reduce("sum", ir.apply("mul", *pair))

    def build(value: Value) -> list[Number]:
        if value.op == "pack":
            parts = [numbers[id(argument)][slice(*where)] for argument, where in zip(value.args, value.ranges)]
            return [number for part in parts for number in part]
        if value.op == "product":
            results = list(products(value))
        elif value.times > 1:
            of_args = zip(*(groups(value, argument) for argument in value.args))
            results = [made(value, [value_of(group) for group in of_group]) for of_group in of_args]
        elif value.args:
            results = [made(value, [value_of(numbers[id(argument)]) for argument in value.args])]
        else:
            results = [value]
        return [(result, i) for result in results for i in range(result.width)]

    for value in program.values():
        numbers[id(value)] = build(value)
    outputs = [replace(output, value=value_of(numbers[id(output.value)])) for output in program.outputs]
    return _rebuilt(replace(program, outputs=outputs), lambda value: None)


def simplify(program: Program) -> Program:
    """All passes."""
    return centre_norms(move_to_sources(fold_affine(_rebuilt(program, lambda value: None))))
