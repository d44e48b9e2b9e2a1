# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From the stages of a row program to C++ for one thread of a CPU, and to a shared library.

    source = cpu.generate(program, stages.plan(program))
    cpu.build(source, "x86-64-v4", "program.so")

The library needs libm and libc only, keeps no state, allocates nothing, throws nothing and has this C interface:

    typedef struct { void* data; int64_t pitch; } tensoa_block;
    int64_t tensoa_program_abi(void);                          // 1
    int64_t tensoa_program_workspace(const int64_t* rows);     // bytes for so many rows in each domain
    void tensoa_program_run(const tensoa_block* blocks, const int64_t* rows, void* workspace);

`blocks`: of the inputs, then of the outputs: the first plane in memory and the elements from one plane to the next;
columns may lie at any address that suits their elements. `rows`: of each domain, 0 and more. `workspace`: aligned to
64 bytes, of one call at a time. Inputs are never written; of the outputs only their rows are. Sums are made in the
order of the rows, so results do not change from call to call. An index outside of the rows that it refers to reads
NaN and adds nothing, where torch would throw: that costs one comparison a row, and a library without exceptions
cannot throw.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from tensoa.command import InputError
from tensoa.fusion import integers
from tensoa.fusion.capture import NotFused
from tensoa.fusion.graph import BINARY, UNARY

ABI = 1
LEVELS = ("x86-64-v4", "x86-64-v3")  # best first
KERNELS = Path(__file__).with_name("cpu_kernels.hpp")
FLAGS = (
    "-std=c++20 -O3 -fPIC -shared -fvisibility=hidden -ffp-contract=fast -fno-math-errno -fno-trapping-math "
    "-fno-exceptions -fno-rtti -mprefer-vector-width=512 -Wl,--as-needed -Wl,-z,noexecstack"
).split()
TYPES = {
    "bool": "bool",
    "uint8": "std::uint8_t",
    "int8": "std::int8_t",
    "int16": "std::int16_t",
    "int32": "std::int32_t",
    "int64": "std::int64_t",
    "float16": "Half",
    "bfloat16": "BFloat",
    "float32": "float",
    "float64": "double",
}
BLOCK = 16  # kBlock of cpu_kernels.hpp
TILE = 48  # rows of a Tile
REDUCTIONS = {"sum": "Sum", "mean": "Sum", "amax": "Largest", "amin": "Smallest"}
SECONDS = 20  # of CPU, for the compiler; most programs take 2 or 3
LINES = 1000  # of all stages: 850 took 10 s
FEATURES = 1 << 17  # that a row may have in scratch memory: 24 MiB for a tile
SPANS = 8  # runs of features that a layer reads where they lie
SHORT = 4  # features: a layer reads shorter runs one after the other, after they are put side by side


def _is_relu(value):
    return value.op == "map" and value.name == "relu"


def _is_private(plan, buffer):
    """Every row of it is read only where it was written, in later stages."""
    return not buffer.is_sum and not any(
        value.args[0] is buffer.value for stage in plan.stages for value in stage.gathers
    )


def _padded(width):
    return -(-width // BLOCK) * BLOCK


def _type_of(value):
    name = str(value.dtype).removeprefix("torch.")
    if name not in TYPES:
        raise InputError(f"a fused program cannot read columns of {name}, expected one of {', '.join(TYPES)}")
    return TYPES[name]


def _column(value, plane):
    """The numbers of a plane of an input, or an index."""
    text = f"plane<{_type_of(value)}>(c, {value.block}, {plane})"
    return f"stepped({text}, {integers.code(value.steps, TYPES)})" if value.steps else text


def pack_linear(weight, bias):
    """Blocks of 16 outputs: their biases, then for every input their weights. Outputs that are none are zero."""
    outputs, inputs = weight.shape
    packed = np.zeros((_padded(outputs) // BLOCK, inputs + 1, BLOCK), np.float32)
    rows = np.zeros((_padded(outputs), inputs + 1), np.float32)
    rows[:outputs, 1:] = weight
    if bias is not None:
        rows[:outputs, 0] = bias
    packed[:] = rows.reshape(-1, BLOCK, inputs + 1).transpose(0, 2, 1)
    return packed.reshape(-1)


def _row(array):
    """A constant row, padded to what vectors read."""
    row = np.zeros(_padded(len(array)), np.float32)
    row[: len(array)] = array
    return row


def _is_run(places):
    """Whether features lie side by side."""
    return bool((np.diff(places) == 1).all())


class _Weights:
    """All constants of a program, each once."""

    def __init__(self):
        self.parts, self.places, self.size = [], {}, 0

    def place(self, array):
        """The position of `array` (its size a multiple of 16) among all."""
        key = array.tobytes()
        if key not in self.places:
            self.places[key] = self.size
            self.parts.append(array)
            self.size += len(array)
        return self.places[key]

    def text(self):
        """For the assembler, bit by bit: a compiler would take long for many numbers, and has no word for NaN."""
        numbers = np.concatenate(self.parts).view(np.uint32) if self.parts else np.zeros(BLOCK, np.uint32)
        lines = [
            f'    ".long {",".join(map(str, numbers[i : i + BLOCK]))}\\n"' for i in range(0, len(numbers), BLOCK)
        ]
        return "\n".join(
            [
                'asm(".pushsection .rodata\\n.balign 64\\ntensoa_weights:\\n"',
                *lines,
                '    ".popsection\\n");',
                'extern "C" [[gnu::visibility("hidden")]] const float tensoa_weights[];',
            ]
        )


class _Scratch:
    """Places of values in scratch memory, in features, multiples of 16. Freed places are used again."""

    def __init__(self):
        self.free, self.size = [], 0

    def take(self, width):
        width = _padded(width)
        for i, (start, stop) in enumerate(self.free):
            if stop - start >= width:
                self.free[i] = (start + width, stop)
                return start
        self.size += width
        return self.size - width

    def give(self, start, width):
        spans = sorted([*self.free, (start, start + _padded(width))])
        self.free = []
        for start, stop in spans:
            if self.free and self.free[-1][1] == start:
                self.free[-1] = (self.free[-1][0], stop)
            elif start < stop:
                self.free.append((start, stop))


class _Body:
    """The code of one stage. It names buffers and constants by their number in the stage, so that stages which do the
    same with others (the iterations of a graph network) have the same code.
    """

    def __init__(self, stage, plan):
        self.stage, self.plan = stage, plan
        # Vectors are written whole: those of the last group may end so far behind it.
        self.slack = BLOCK - 1 if any(value.times > 1 or value.op == "product" for value in stage.values) else 0
        self.lines, self.buffers, self.constants, self.scratch = [], [], [], _Scratch()
        self.computed = {id(value) for value in stage.values}
        self.slots, self.indices = {}, {}
        self._analyse()
        self._write()

    # ---- what is computed, and when

    def _args(self, value):
        """What must be in scratch memory (or an index in its array) for `value`."""
        if id(value) not in self.computed:
            return ()
        return value.args[1:] if value.op == "gather" else value.args

    def _analyse(self):
        stage = self.stage
        self.roots = {}  # what is done with a value when it is there
        for buffer in stage.stores:
            self.roots.setdefault(id(buffer.value), (buffer.value, []))[1].append(("write", buffer))
        for buffer in stage.sums:
            value, index = buffer.value.args
            self.roots.setdefault(id(value), (value, []))[1].append(("scatter", buffer, index))
        for output in stage.outputs:
            self.roots.setdefault(id(output.value), (output.value, []))[1].append(("output", output))

        needed = [buffer.value.args[1] for buffer in stage.sums]
        needed += [value for value, _ in self.roots.values()]
        self.order, seen, stack = [], set(), [(value, False) for value in reversed(needed)]
        while stack:
            value, is_done = stack.pop()
            if is_done:
                self.order.append(value)
            elif id(value) not in seen:
                seen.add(id(value))
                stack.append((value, True))
                stack.extend((argument, False) for argument in reversed(self._args(value)))

        users = self.users = {id(value): [] for value in self.order}
        for value in self.order:
            for argument in self._distinct(value) if value.op == "pack" else self._args(value):
                users[id(argument)].append(value)

        def only_user(value):
            return users[id(value)][0] if self._is_free(value) and len(users[id(value)]) == 1 else None

        self.absorbed = set()  # values that are no more than a part of what their user does
        self._find_passed_on(only_user)
        self._find_sums(only_user)
        for value in reversed(self.order):  # users come first
            user = only_user(value)
            if id(value) in self.absorbed or id(value) in self.sums:
                continue
            if value.op in ("linear", "norm") and user is not None and _is_relu(user):
                self.absorbed.add(id(value))
            elif value.op == "map" and user is not None and user.op == "map" and user.width == value.width:
                first = value.args[0]
                has_own = _is_relu(value) and first.op in ("linear", "norm") and only_user(first) is value
                if id(user) not in self.passed_on and not has_own:
                    self.absorbed.add(id(value))
            elif self._is_free(value) and value.op == "pack":
                if all(self._reads_parts(user, value) for user in users[id(value)]):
                    self.absorbed.add(id(value))
            elif self._is_free(value) and value.op == "constant":  # maps read constants where they are
                if all(user.op == "map" for user in users[id(value)]):
                    self.absorbed.add(id(value))
        self.last = {}  # the last that reads a value
        for value in self.order:
            if id(value) not in self.absorbed:
                self.last.update((id(leaf), value) for leaf in self._leaves(value))

    def _reads_buffer(self, value):
        return value.op == "gather" and self.plan.buffer_of(value.args[0]) is not None

    def _find_passed_on(self, only_user):
        """Messages that are gathered rows, times a number or not, and only summed: (gather, factor or None)."""
        self.passed_on = {}
        for value, actions in self.roots.values():
            if self.users[id(value)] or any(action[0] != "scatter" for action in actions):
                continue
            if self._reads_buffer(value):
                self.passed_on[id(value)] = value, None
            elif value.op == "map" and value.name == "mul":
                for rows, factor in (value.args, value.args[::-1]):
                    is_one = rows.width == value.width and factor.width == 1 and factor.op != "constant"
                    if is_one and self._reads_buffer(rows) and only_user(rows) is value and factor is not rows:
                        self.passed_on[id(value)] = rows, factor
                        self.absorbed.add(id(rows))
                        break

    def _find_sums(self, only_user):
        """Sums of several gathers, and of others: rows of memory are added before they become a tile."""
        self.sums = {}

        def terms(value, is_top=True):
            is_sum = value.op == "map" and value.name == "add" and id(value) in self.computed
            is_part = is_top or (only_user(value) is not None and only_user(value).width == value.width)
            if not (is_sum and is_part and all(argument.width == value.width for argument in value.args)):
                return [(value, [])]
            inner = [(term, [*adds, value]) for a in value.args for term, adds in terms(a, False)]
            return inner

        for value in reversed(self.order):
            if id(value) in self.absorbed or id(value) in self.passed_on:
                continue
            found = terms(value)
            gathers = [term for term, _ in found if self._reads_buffer(term) and only_user(term) is not None]
            if len(gathers) > 1:
                others = [term for term, _ in found if not any(term is gather for gather in gathers)]
                self.sums[id(value)] = gathers, others
                self.absorbed |= {id(add) for _, adds in found for add in adds if add is not value}
                self.absorbed |= {id(gather) for gather in gathers}

    def _is_free(self, value):
        """Only values computed here need it."""
        return id(value) in self.computed and id(value) not in self.roots

    def _reads_parts(self, user, packed):
        """Whether `user` reads the parts of a pack where they lie."""
        if user.op == "linear":
            return len(packed.ranges) <= SPANS or packed.width >= SHORT * len(packed.ranges)
        if user.op == "map":
            return id(user) not in self.passed_on
        return user.op == "reduce" or (user.op == "pack" and id(user) in self.absorbed)

    def _distinct(self, value):
        return list({id(argument): argument for argument in self._args(value)}.values())

    def _leaves(self, value):
        """The values in scratch memory that the code of `value` reads."""
        for argument in self._distinct(value):
            if id(argument) in self.absorbed:
                yield from self._leaves(argument)
            else:
                yield argument

    def _picked(self, value):
        """Those of the leaves that it reads in another order."""
        for argument in self._distinct(value):
            if id(argument) in self.absorbed:
                yield from self._leaves(argument) if argument.op == "pack" else self._picked(argument)

    # ---- the code

    def _write(self):
        for value in self.order:
            if id(value) in self.absorbed:
                continue
            if value.op == "index":
                self._index(value)
            elif id(value) not in self.passed_on:
                self._value(value)
            for action in self.roots.get(id(value), (value, ()))[1]:
                self._act(value, *action)
            for leaf in {id(leaf): leaf for leaf in [*self._leaves(value), value]}.values():
                if self.last.get(id(leaf), value) is value and id(leaf) in self.slots:
                    self.scratch.give(self.slots.pop(id(leaf)), leaf.width + self.slack)

    def _number(self, things, thing):
        """Its position among the things of the stage, where it is put if it is new."""
        for i, other in enumerate(things):
            if other is thing:
                return i
        things.append(thing)
        return len(things) - 1

    def _constant(self, array):
        for i, other in enumerate(self.constants):
            if other.tobytes() == array.tobytes():
                return f"w[{i}]"
        self.constants.append(array)
        return f"w[{len(self.constants) - 1}]"

    def _buffer(self, buffer):
        return f"b[{self._number(self.buffers, buffer)}]"

    def _place(self, value):
        return f"s + {self.slots[id(value)]} * F"

    def _places(self, value):
        """The features of scratch memory that a value in it, or a pack of such, consists of."""
        if id(value) not in self.absorbed:
            return np.arange(value.width) + self.slots[id(value)]
        found = {id(argument): self._places(argument) for argument in self._distinct(value)}
        parts = [found[id(argument)][start:stop] for argument, (start, stop) in zip(value.args, value.ranges)]
        return np.concatenate(parts)

    def _table(self, numbers):
        """Integers among the constants."""
        row = np.zeros(_padded(len(numbers)), np.int32)
        row[: len(numbers)] = numbers
        return f"places({self._constant(row.view(np.float32))})"

    def _runs(self, places, times):
        """(first feature, how many) of the runs of each of `times` groups: [times, runs, 2]; None where groups differ in
        these, or have too many for a layer.
        """
        found = []
        for group in places.reshape(times, -1):
            starts = np.flatnonzero(np.diff(group, prepend=-2) != 1)
            found.append(np.stack([group[starts], np.diff(starts, append=len(group))], axis=1))
        is_alike = all(np.array_equal(runs[:, 1:], found[0][:, 1:]) for runs in found)
        return np.stack(found) if is_alike and len(found[0]) <= SPANS else None

    def _expression(self, value, width):
        if value.op == "constant" and id(value) in self.computed:
            constant = self._constant(_row(value.array))
            return f"all({constant}[0])" if value.width == 1 else f"L::constant({constant}, i, r)"
        if id(value) in self.absorbed and value.op == "pack":
            places = self._places(value)
            if value.width == 1:
                return f"L::narrow(s + {places[0]} * F, i, r)"
            if _is_run(places):
                return f"L::wide(s + {places[0]} * F, i, r)"
            return f"L::picked(s, {self._table(places)}, i, r)"
        if id(value) in self.absorbed:
            return self._call(value, width)
        return f"L::{'wide' if value.width == width else 'narrow'}({self._place(value)}, i, r)"

    def _call(self, value, width):
        if value.name not in (*UNARY, *BINARY, "where"):
            raise InputError(f"a fused program has no function '{value.name}'")
        return f"f_{value.name}({', '.join(self._expression(argument, width) for argument in value.args)})"

    def _take(self, value):
        """A place for `value`: that of an argument where numbers are needed no more once they are replaced."""
        if self._may_replace(value):
            picked = {id(leaf) for leaf in self._picked(value)}
            for leaf in self._leaves(value):
                is_free = self.last[id(leaf)] is value and id(leaf) not in picked
                if is_free and leaf.width == value.width and id(leaf) in self.slots:
                    self.slots[id(value)] = self.slots.pop(id(leaf))
                    return
        self.slots[id(value)] = self.scratch.take(value.width + self.slack)

    def _may_replace(self, value):
        if self._done_by_linear(value) or id(value) in self.sums:
            return False
        return value.op in ("map", "norm") and (value.args[0] if _is_relu(value) else value).times == 1

    def _done_by_linear(self, value):
        return _is_relu(value) and value.args[0].op == "linear" and id(value.args[0]) in self.absorbed

    def _value(self, value):
        self.borrowed = None
        lines = self._code(value)  # names the places of arguments, one of which may become that of the value
        self._take(value)
        if self.borrowed:
            self.scratch.give(*self.borrowed)
        self.lines += [line.replace("@", self._place(value)) for line in lines]

    def _code(self, value):
        """Lines of C++; @ is the place of the value."""
        width = value.width
        if id(value) not in self.computed:
            buffer = self.plan.buffer_of(value)
            read = "recall" if _is_private(self.plan, buffer) else "read"
            return [f"L::{read}(@, {width}, {self._buffer(buffer)}, first, n);"]
        if value.op == "input":
            return self._input(value)
        if value.op == "constant":
            return [f"L::fill(@, {width}, {self._constant(_row(value.array))}, n);"]
        if value.op == "gather":
            return self._gather(value)
        if value.op == "lookup":
            table = np.stack([_row(row) for row in value.table]).reshape(-1)
            memory = f"{{const_cast<float*>({self._constant(table)}), {_padded(value.width)}, {len(value.table)}}}"
            source = f"{{&table, {self.indices[id(value.args[0])]}}}"
            call = f"L::gather(@, {value.width}, x, {self._nan(value.width)}, n);"
            return [f"{{ const Memory table{memory}; const Source x[] = {{{source}}}; {call} }}"]
        if id(value) in self.sums:
            gathers, others = self.sums[id(value)]
            lines = self._gathered(gathers)
            if others:
                total = "L::wide(@, i, r)"
                for other in others:
                    total = f"f_add({total}, {self._expression(other, width)})"
                lines.append(f"L::map(@, {width}, n, [&](int i, int r) {{ return {total}; }});")
            return lines
        if value.op == "pack":
            parts = [self._part(argument, where) for argument, where in zip(value.args, value.ranges)]
            return [f"L::pick(@, {width}, s, {self._table(np.concatenate(parts))}, n);"]
        if value.op == "reduce":
            source, x = self._source_of(value.args[0])
            count = value.args[0].width // value.times
            scale = f"1.0f / {count}" if value.name == "mean" else "1.0f"
            function = f"{REDUCTIONS[value.name]}{{}}"
            return [f"L::reduce(@, {source}, {x}, {count}, {value.times}, n, {function}, {scale});"]
        if value.op == "product":
            x, y = value.args
            shape = f"{x.width // value.times // value.inner}, {value.inner}, {y.width // value.times // value.inner}"
            return [f"L::product(@, {self._place(x)}, {self._place(y)}, {value.times}, {shape}, n);"]
        done, is_relu = value, "false"
        if _is_relu(value) and id(value.args[0]) in self.absorbed and value.args[0].op in ("linear", "norm"):
            done, is_relu = value.args[0], "true"
        if done.op == "linear":
            return self._linear(done, is_relu)
        if done.op == "norm":
            width //= done.times
            weight = np.ones(width, np.float32) if done.weight is None else done.weight
            bias = np.zeros(width, np.float32) if done.bias is None else done.bias
            constants = f"{self._constant(_row(weight))}, {self._constant(_row(bias))}"
            eps = f"static_cast<float>({float(done.eps)!r})"
            flags = f"{str(done.is_centered).lower()}, {is_relu}"
            x = self._place(done.args[0])
            return [f"L::norm(@, {x}, {width}, {done.times}, {constants}, {eps}, n, {flags});"]
        return [f"L::map(@, {width}, n, [&](int i, int r) {{ return {self._call(value, width)}; }});"]

    def _part(self, value, where):
        return self._places(value)[slice(*where)]

    def _source_of(self, value):
        """Scratch memory and the places of a value in it."""
        places = self._places(value)
        return (f"s + {places[0]} * F", "nullptr") if _is_run(places) else ("s", self._table(places))

    def _linear(self, value, is_relu):
        x, times, before = value.args[0], value.times, []
        runs = self._runs(self._places(x), times)
        if runs is None:
            at = self.scratch.take(x.width + self.slack)
            self.borrowed = at, x.width + self.slack
            before = [f"L::pick(s + {at} * F, {x.width}, s, {self._table(self._places(x))}, n);"]
            runs = self._runs(np.arange(x.width) + at, times)
        steps = set(np.diff(runs[:, :, 0], axis=0).reshape(-1).tolist())
        step = steps.pop() if len(steps) == 1 else 0
        groups = f"{{s, {self._table(runs.reshape(-1))}, {runs.shape[1]}, {times}, {step}}}"
        weights = self._constant(pack_linear(value.weight, value.bias))
        return [*before, f"L::linear(@, {value.width // times}, {groups}, {weights}, n, {is_relu});"]

    def _planes(self, planes, call):
        """`call` for every i and p of the planes."""
        return [
            "{",
            f"  static constexpr std::int64_t planes[] = {{{', '.join(map(str, planes))}}};",
            f"  for (int i = 0; i < {len(planes)}; ++i) {call};",
            "}",
        ]

    def _input(self, value):
        name, column = ("scalar", "") if value.is_scalar else ("input", " + first")
        plane = _column(value, "planes[i]")
        return self._planes(value.planes, f"L::{name}(@ + i * F, {plane}{column}, n)")

    def _gather(self, value):
        source, index = value.args
        if source.op == "input" and self.plan.buffer_of(source) is None:
            if source.is_scalar:
                return self._input(source)
            plane = _column(source, "planes[i]")
            rows = f"c.rows[{source.domain}]"
            call = f"L::gather_input(@ + i * F, {plane}, {self.indices[id(index)]}, {rows}, n)"
            return self._planes(source.planes, call)
        return self._gathered([value])

    def _gathered(self, gathers):
        """The sum of gathers from buffers."""
        width = gathers[0].width
        sources = ", ".join(self._source(self.plan.buffer_of(value.args[0]), value.args[1]) for value in gathers)
        return [f"{{ const Source x[] = {{{sources}}}; L::gather(@, {width}, x, {self._nan(width)}, n); }}"]

    def _source(self, buffer, index):
        return f"{{&{self._buffer(buffer)}, {self.indices[id(index)]}}}"

    def _nan(self, width):
        return self._constant(np.full(_padded(width), np.nan, np.float32))

    def _index(self, value):
        name = self.indices[id(value)] = f"index_{len(self.indices)}"
        column = f"{_column(value, value.plane)} + first"
        self.lines += [f"std::int64_t {name}[L::kRows];", f"L::index({name}, {column}, n);"]

    def _act(self, value, action, thing, index=None):
        if action == "output":
            plane = f"plane<{TYPES[thing.dtype]}>(c, {thing.block}, planes[i])"
            self.lines += self._planes(thing.planes, f"L::output({self._place(value)} + i * F, {plane} + first, n)")
            return
        if id(value) in self.passed_on:
            rows, factor = self.passed_on[id(value)]
            source = f"Source{self._source(self.plan.buffer_of(rows.args[0]), rows.args[1])}"
            place = self._place(factor) if factor else "nullptr"
            target = f"Source{self._source(thing, index)}"
            self.lines.append(f"L::pass_on({place}, {value.width}, {source}, {self._nan(value.width)}, {target}, n);")
            return
        if action == "write" and _is_private(self.plan, thing):
            action = "keep"
        rows = self.indices[id(index)] if action == "scatter" else "first"
        self.lines.append(f"L::{action}({self._place(value)}, {value.width}, {self._buffer(thing)}, {rows}, n);")

    def text(self, name):
        body = "\n".join(f"    {line}" for line in self.lines)
        return f"""\
template <class L>
struct {name} {{
  static void run(const Call& c, std::int64_t first, int n) {{
    constexpr int F = L::kFeature;
    float* const s = c.scratch;
    [[maybe_unused]] const Memory* const b = c.buffers;
    [[maybe_unused]] const float* const* const w = c.weights;
{body}
  }}
}};
"""


def _lay_out(plan):
    """Memory of the buffers: their slots, and for each slot (domain, pitch). What is read no more is used again."""
    last = {}
    for at, stage in enumerate(plan.stages):
        used = [*stage.reads, *stage.stores, *stage.sums, *(plan.buffer_of(value.args[0]) for value in stage.gathers)]
        last.update((id(buffer), at) for buffer in used if buffer is not None)
    slots, shapes, free = {}, [], []
    for at, stage in enumerate(plan.stages):
        for buffer in [*stage.stores, *stage.sums]:
            shape = buffer.domain, _padded(buffer.width)
            slot = next((slot for slot in free if shapes[slot] == shape), None)
            if slot is None:
                slot = len(shapes)
                shapes.append(shape)
            else:
                free.remove(slot)
            slots[id(buffer)] = slot
        free += [slots[id(buffer)] for buffer in plan.buffers if last.get(id(buffer)) == at and id(buffer) in slots]
    return slots, shapes


def generate(program, plan):
    """The C++ source of `plan`, the stages of `program`. Raises InputError for what it has no code for, and NotFused for
    what would take long to compile.
    """
    weights = _Weights()
    slots, shapes = _lay_out(plan)
    texts, steps, pitch = {}, [], BLOCK
    for stage in plan.stages:
        body = _Body(stage, plan)
        key = body.text("Stage")
        name = texts.setdefault(key, (f"Stage{len(texts)}", body))[0]
        buffers = ", ".join(f"memory[{slots[id(buffer)]}]" for buffer in body.buffers) or "Memory{}"
        pitch = max(pitch, body.scratch.size)
        places = ", ".join(f"tensoa_weights + {weights.place(array)}" for array in body.constants) or "tensoa_weights"
        steps += [f"  memory[{slots[id(buffer)]}].clear();" for buffer in stage.sums]
        steps += [
            "  {",
            f"    const Memory buffers[] = {{{buffers}}};",
            f"    const float* const constants[] = {{{places}}};",
            f"    const Call call{{blocks, rows, scratch, buffers, constants}};",
            f"    run_stage<{name}, kPitch>(call, rows[{stage.domain}]);",
            "  }",
        ]
    lines = sum(len(body.lines) for _, body in texts.values())
    if lines > LINES:
        raise NotFused(f"the size of its code: {lines} lines, at most {LINES} are compiled")
    if pitch > FEATURES:
        raise NotFused(f"{pitch} numbers for a row at a time, at most {FEATURES} are held")
    pitch |= BLOCK  # rows a power of two apart would fall on the same lines of a cache
    sizes = "".join(f" + whole_tiles(rows[{domain}]) * {width}" for domain, width in shapes)
    memory = [
        f"  memory[{i}] = {{at, {width}, rows[{domain}]}};\n  at += whole_tiles(rows[{domain}]) * {width};"
        for i, (domain, width) in enumerate(shapes)
    ]
    stages = "\n".join(body.text(name) for name, body in texts.values())
    return "\n".join(
        [
            KERNELS.read_text(),
            weights.text(),
            "\nnamespace {\n",
            stages,
            f"constexpr int kPitch = {pitch};",
            "}  // namespace",
            f"""
#define TENSOA_API extern "C" [[gnu::visibility("default")]]

TENSOA_API std::int64_t tensoa_program_abi() {{ return {ABI}; }}

TENSOA_API std::int64_t tensoa_program_workspace([[maybe_unused]] const std::int64_t* rows) {{
  return 4 * ({pitch * TILE}{sizes});
}}

TENSOA_API void tensoa_program_run(const tensoa_block* blocks, const std::int64_t* rows, void* workspace) {{
  float* const scratch = static_cast<float*>(workspace);
  [[maybe_unused]] float* at = scratch + {pitch * TILE};
  [[maybe_unused]] Memory memory[{max(len(shapes), 1)}];
""",
            *memory,
            *steps,
            "}\n",
        ]
    )


def compiler():
    """The C++ compiler: that of $CXX, or g++."""
    found = shutil.which(os.environ.get("CXX", "g++"))
    if found is None:
        raise InputError(f"got no C++ compiler '{os.environ.get('CXX', 'g++')}', expected g++ 12 or later: set CXX")
    return found


#: The compiler must not use more CPU seconds, nor outlive this process: whatever ends it, kill or crash, closes the pipe
#: that the shell in the background reads, which then ends the compiler with all its parts (one process group) and removes
#: its temporary files. Arguments: the seconds, the folder of these files, the command.
_GUARD = """
ulimit -S -t "$1" || :; export TMPDIR="$2"; shift 2
exec 3<&0 </dev/null
(cat <&3; rm -rf "$TMPDIR"; kill -KILL 0) >/dev/null 2>&1 &
exec 3<&-
exec "$@"
"""


def _guarded(command, seconds):
    """(exit status, CPU seconds, stderr) of a command, which speaks English; nothing of it is left when this returns,
    raises, or the process ends.
    """
    with tempfile.TemporaryDirectory(prefix="tensoa-compile-") as folder:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "tensoa-compile", str(seconds), folder, *command],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
        try:
            messages = process.stderr.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, used.ru_utime + used.ru_stime, messages
        finally:
            process.stdin.close()
            process.stderr.close()
            process.wait()


def build(source, level, path):
    """Compiles what generate() made for an x86-64 level (LEVELS) into the shared library `path`.

    Raises InputError where there is no compiler, or it fails; NotFused where it takes longer than SECONDS.
    """
    if level not in LEVELS:
        raise InputError(f"got the instruction set level '{level}', expected one of {', '.join(LEVELS)}")
    text = Path(path).with_suffix(".cpp")
    text.write_text(source)
    command = [compiler(), *FLAGS, f"-march={level}", str(text), "-o", str(path), "-lm"]
    status, seconds, messages = _guarded(command, SECONDS)
    if not status:
        return
    killed = re.search(r"([\w ]+) signal terminated program", messages)
    if round(seconds) >= SECONDS or (killed and "CPU" in killed[1]):
        raise NotFused(f"the size of its code: the compiler took longer than {SECONDS} CPU s")
    if killed or status < 0:
        name = killed[1].strip() if killed else signal.Signals(-status).name
        raise NotFused(f"the size of its code: the compiler ended with the signal '{name}'")
    lines = [line for line in messages.splitlines() if "error" in line] or [f"status {status}"]
    raise InputError(f"{command[0]} cannot compile a fused program for {level}: {lines[0][:300]}")
