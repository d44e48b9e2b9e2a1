# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""CUDA C++ for a row program: one kernel for each stage, its packed weights, and the plan of the launches.

    fused = generate(program, plan(program))          # needs neither a GPU nor a toolkit
    image = compile(fused.source, "sm_90")             # a cubin, by the NVRTC that torch brings

How a kernel holds rows and multiplies is described in cuda_kernels.cuh. What is
decided here:

- the layout of a value: which of its numbers lies at which position of the tiles of 8. Parts of a `pack` keep tiles of
  their own, so that nothing moves; padding is what no number lies at;
- the arithmetic of a linear layer, see PRECISIONS;
- which weights lie in shared memory: what fits in SHARED_BYTES, which every architecture from sm_80 on has;
- whether a tile of rows belongs to one warp, with all weights near, or to the warps of a block together: domains that
  are gathered from (nodes) have far fewer rows than others (edges), there latency counts;
- the memory of buffers, reused as soon as the last reader is done, and which kernel sets sums to zero;
- how sums by index are made: by atomics, whose order is that of the moment, or, for a plan with totals, so that they are
  the same bits at every call, from lists of the rows that belong to each sum (docs/decisions/0017). What is summed is then
  stored and read, instead of added; where it is stored for another reason, or added by two indices, nothing is written
  more.
"""

import ctypes
import functools
import importlib.util
import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tensoa.command import InputError
from tensoa.fusion import graph, integers
from tensoa.fusion.stages import Stage

#: Cubins run on the architecture that they name and later ones of the same major number.
ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")

#: How linear layers multiply. "ieee": float32. "tf32x3": three tensor core products of split numbers, at the accuracy
#: of float32 and of 3xTF32, for rows of any size: one number counts to 2^-22 of itself or 2^-38 of the largest one in its
#: row, a weight to 2^-35 of the largest one of its output. The pieces are float16, which needs half the products and half
#: the memory of tf32 pieces; every row is first multiplied by a power of two, even where a bound is known (tanh, a layer
#: norm), because nothing is known of how small its numbers are. Tensor cores add with truncation, so sums are off by up
#: to about 1e-6 of the largest one. "tf32" and "bf16": one product of rounded numbers. Layers of few inputs or outputs
#: are always float32.
PRECISIONS = ("ieee", "tf32x3", "tf32", "bf16")

SHARED_BYTES = 99 * 1024
BLOCKS, DOMAINS, BUFFERS = 32, 8, 64  # at most, as the engine

#: The text that every source begins with.
INSTRUCTIONS, KERNELS = (Path(__file__).parent / f"cuda_{name}.cuh" for name in ("instructions", "kernels"))

_TILE_ROWS = 16
_TOGETHER = 4  # warps that own a tile together
_FEW_INPUTS = 4
_FEW_OUTPUTS = 2
_CHUNK = 16  # tiles of outputs that are accumulated at a time
_LARGEST_HALF, _SMALLEST_HALF = 65504, np.float16(2.0**-24)
_BALANCE = 10  # powers of two that the weights of inputs, or of outputs, may differ by; tf32x3
_NARROW = 8  # a part of a pack that is less wide is moved number by number
_REGISTER_TILES = 24  # as unroll() of cuda_kernels.cuh

_C_TYPES = {
    "bool": "bool",
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "int64",
    "float16": "Half",
    "bfloat16": "Bfloat16",
    "float32": "float",
    "float64": "double",
}

_UNARY = {
    "neg": "-x",
    "abs": "fabsf(x)",
    "sqrt": "sqrtf(x)",
    "rsqrt": "1.f / sqrtf(x)",
    "log2": "exact_log2(x)",
    "log10": "exact_log10(x)",
    "exp2": "exact_exp2(x)",
    "reciprocal": "1.f / x",
    "sigmoid": "sigmoid(x)",
    "relu": "maximum(x, 0.f)",
    "round": "rintf(x)",
    "sign": "float((x > 0.f) - (x < 0.f))",
}
_BINARY = {
    "add": "x + y",
    "sub": "x - y",
    "mul": "x * y",
    "div": "x / y",
    "minimum": "minimum(x, y)",
    "maximum": "maximum(x, y)",
    "pow": "powf(x, y)",
    "atan2": "atan2f(x, y)",
    "fmod": "fmodf(x, y)",
    "hypot": "hypotf(x, y)",
    "lt": "float(x < y)",
    "le": "float(x <= y)",
    "gt": "float(x > y)",
    "ge": "float(x >= y)",
    "eq": "float(x == y)",
    "ne": "float(x != y)",
}
#: Functions that give zero for zeros, so that padding stays zero.
_KEEP_ZERO = set(
    "neg abs sqrt expm1 log1p sin tan tanh sinh asinh atanh atan asin relu erf floor ceil round trunc sign "
    "add sub mul minimum maximum atan2 hypot lt gt ne".split()
)


@dataclass
class Generated:
    """`params` to `steps` as in the manifest of a package (docs/ahead_of_time.md); `weights`: bytes."""

    source: str
    params: dict
    kernels: list = field(default_factory=list)
    buffers: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    weights: bytes = b""


# ---- layouts: a tuple that says, for each position of the tiles, which number of the row lies there; -1 is padding.
# None: one number, which all lanes hold.


def _contiguous(width):
    return tuple(range(width)) + (-1,) * (-width % 8)


def _pieces(value, layout_of):
    """A pack's parts: ("tiles", argument, first tile, tiles, start, stop) or ("numbers", [(argument, number)])."""
    pieces = []
    for argument, (start, stop) in zip(value.args, value.ranges):
        if stop - start < _NARROW:
            if not pieces or pieces[-1][0] != "numbers":
                pieces.append(("numbers", []))
            pieces[-1][1].extend((argument, number) for number in range(start, stop))
        else:
            layout = layout_of(argument)
            used = [i // 8 for i, number in enumerate(layout) if start <= number < stop]
            pieces.append(("tiles", argument, min(used), max(used) + 1 - min(used), start, stop))
    return pieces


class _Layouts:
    def __init__(self):
        self._known = {}

    def __call__(self, value):
        if id(value) not in self._known:
            self._known[id(value)] = (value, self._make(value))  # the value is kept, so that its id stays its own
        return self._known[id(value)][1]

    def _make(self, value):
        if value.width == 1:
            return None
        if value.op in ("norm", "gather", "scatter"):
            return self(value.args[0])
        if value.op == "map":
            wide = [argument for argument in value.args if argument.width == value.width]
            return self(next((argument for argument in wide if argument.op != "constant"), wide[0]))
        if value.op == "pack":
            return tuple(number for _, part in self.pack(value) for number in part)
        return _contiguous(value.width)

    def pack(self, value):
        """Its pieces, each with the layout of its tiles in numbers of the pack."""
        result, number = [], 0
        for piece in _pieces(value, self):
            if piece[0] == "numbers":
                width = len(piece[1])
                part = tuple(range(number, number + width)) + (-1,) * (-width % 8)
            else:
                _, argument, first, tiles, start, stop = piece
                width = stop - start
                at = self(argument)[8 * first : 8 * (first + tiles)]
                part = tuple(number + i - start if start <= i < stop else -1 for i in at)
            result.append((piece, part))
            number += width
        return result


def _spread(numbers, layout):
    """An array of numbers in the order of a layout, with zeros as padding. Works on the first axis."""
    at = np.array(layout)
    result = np.zeros((len(layout), *numbers.shape[1:]), numbers.dtype)
    result[at >= 0] = numbers[at[at >= 0]]
    return result


# ---- weights in the order in which the schemes of cuda_kernels.cuh read them


def _tf32(numbers):
    """Rounded to the nearest tf32 number."""
    return ((numbers.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


def _bf16(numbers):
    bits = numbers.view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def _half_pair(parts):
    """Two tiles of inputs at a time, then a last one, for products of 16 numbers. `parts`: [in, out] each."""
    tiles, outputs = parts[0].shape[0] // 8, parts[0].shape[1] // 8
    packed = []
    for first, depth, together in ((0, tiles // 2 * 2, 2), (tiles // 2 * 2, tiles % 2, 1)):
        if depth:
            fragments = [
                part[8 * first : 8 * (first + depth)]
                .reshape(depth // together, together, 4, 2, outputs, 8)
                .transpose(0, 4, 5, 2, 1, 3)
                for part in parts
            ]
            packed.append(np.stack(fragments, axis=4).tobytes())
    return b"".join(packed)


def _as_buffer(rows):
    """Rows as store() of cuda_kernels.cuh puts them: of two tiles, each quad's numbers side by side."""
    count, width = rows.shape
    paired = width // 16 * 16
    pairs = rows[:, :paired].reshape(count, -1, 2, 4, 2).transpose(0, 1, 3, 2, 4).reshape(count, paired)
    return np.concatenate([pairs, rows[:, paired:]], axis=1)


def _balance(weight):
    """Powers of two (at most 1 for each input; one for each output) that bring the weights [outputs, inputs] / inputs *
    outputs to at most 2^10, and no input or output far below: what is small there counts as much as the rest.
    """
    _, of_input = np.frexp(np.abs(weight).max(axis=0).astype(np.float64))
    of_input = np.where(weight.any(axis=0), of_input - of_input.max(), -100)
    of_input = np.maximum(of_input if of_input.min() < -_BALANCE else 0 * of_input, -100)
    _, of_output = np.frexp(np.abs(weight * 2.0**-of_input).max(axis=1))
    most = of_output.max()
    of_output = of_output if of_output.min() < most - _BALANCE else np.full_like(of_output, most)
    return 2.0**of_input, 2.0 ** np.clip(10 - of_output, -100, 100)


def _pack(scheme, weight):
    """`weight`: [inputs, outputs], both padded to tiles, float32."""
    weight = np.ascontiguousarray(weight)
    if scheme == "Fma":
        return weight.tobytes()
    if scheme == "Half3":
        high = np.clip(weight, -_LARGEST_HALF, _LARGEST_HALF).astype(np.float16)
        lost = (high == 0) & (weight != 0)  # times an infinity that is one too
        high[lost] = np.copysign(_SMALLEST_HALF, weight[lost])
        return _half_pair([high, (weight - high.astype(np.float32)).astype(np.float16)])
    if scheme == "Bf16":
        return _half_pair([_bf16(weight)])
    tiles, outputs = weight.shape[0] // 8, weight.shape[1] // 8
    return _tf32(weight).reshape(tiles, 4, 2, outputs, 8).transpose(0, 3, 4, 1, 2).tobytes()


# ---- one kernel


def _literal(number):
    number = float(np.float32(number))
    if math.isnan(number):
        return "__int_as_float(0x7fffffff)"
    if math.isinf(number):
        return "__int_as_float(0x7f800000)" if number > 0 else "__int_as_float(0xff800000)"
    return number.hex() + "f"


class _Weights:
    """The weights of a kernel: what it copies into shared memory, then what it reads where it lies."""

    def __init__(self, shared_limit):
        self._limit = shared_limit
        self._known = {}
        self.shared = bytearray()
        self.far = bytearray()

    def add(self, data, is_rare=False):
        """Where the data lies, in C++. `is_rare`: it is hardly ever read."""
        if data not in self._known:
            padded = data + bytes(-len(data) % 16)
            near = not is_rare and len(self.shared) + len(padded) <= self._limit
            place, name = (self.shared, "shared") if near else (self.far, "far")
            self._known[data] = f"({name} + {len(place)})"
            place += padded
        return self._known[data]


class _Kernel:
    """Writes the kernel of a stage. `use()` emits a value where it is first needed."""

    def __init__(self, generator, stage, zeros, together, steps):
        self.generator = generator
        self.stage = stage
        self.zeros = zeros
        self.steps = steps  # of making lists: ("count", "allocate" or "enter", _Lists)
        self.together = together
        self.weights = _Weights(0 if together else SHARED_BYTES)
        self.layout = generator.layout
        self.lines = []
        self.count = 0  # of names
        self.names = {}
        self.layouts_used = {}
        self.exchanged = 0  # tiles of the largest exchange of linear_together()
        self.exchanges = 0
        self.turn = 0
        self.widest = 1
        self.own = {id(value) for value in stage.values}

    # -- text

    def line(self, text):
        self.lines.append(f"        {text}")

    def new_name(self, prefix="v"):
        self.count += 1
        return f"{prefix}{self.count}"

    def vector(self, numbers):
        data = np.ascontiguousarray(numbers, np.float32).tobytes()
        return f"Vector{{reinterpret_cast<const float*>{self.weights.add(data)}, warp.quad}}"

    def layout_type(self, layout):
        """A type with valid(n) for clear_padding() and others."""
        masks = tuple(
            sum(1 << i for i in range(8) if layout[8 * n + i] >= 0) for n in range(len(layout) // 8)
        )
        return self.layouts_used.setdefault(masks, f"Layout{len(self.layouts_used)}")

    def columns(self, block, planes, layout, c_type, is_output=False, steps=()):
        """The columns of a block's planes, in the order of a layout (None: one plane), after the steps."""
        const = "" if is_output else "const "
        first, width, places = planes[0], len(planes), "nullptr"
        if layout is not None and (
            layout != _contiguous(width) or any(plane != first + i for i, plane in enumerate(planes))
        ):
            table = np.array([planes[i] if i >= 0 else -1 for i in layout], np.int32).tobytes()
            places = f"reinterpret_cast<const int*>{self.weights.add(table)}"
        pointer = f"static_cast<{const}{c_type}*>(p.block[{block}])"
        text = f"Columns<{const}{c_type}>{{{pointer}, p.pitch[{block}], Planes{{{first}, {width}, {places}}}}}"
        return f"stepped({text}, {integers.code(steps, _C_TYPES)})" if steps else text

    # -- values

    def use(self, value):
        """(kind, C++) of a value. Kinds: fragment, rows (read at every use), scalar, vector, literal, stored."""
        if id(value) not in self.names:
            self.names[id(value)] = self._read(value) or getattr(self, f"_{value.op}")(value)
        return self.names[id(value)]

    def _read(self, value):
        """A value of another stage, in the own row."""
        slot = self.generator.slots.get(id(value))
        if slot is None or id(value) in self.own and id(value) not in self.generator.joined:
            return None
        return self._rows(value, f"p.buffer[{slot}]")

    def _rows(self, value, memory, index=None):
        """Rows of a buffer or of a table: the own ones, or those that an Index names."""
        name, layout = self.new_name(), self.layout(value)
        if layout is None:
            self.line(f"const Scalar {name} = load_scalar({memory}, {index or 'tile'}.{'at' if index else 'row'});")
            return "scalar", name
        place = "tile.row"
        if index:
            none = _spread(np.full(value.width, np.nan, np.float32), layout)
            place = f"{index}, {self.weights.add(_as_buffer(none[None]).tobytes(), is_rare=True)}"
        self.line(f"const Rows<{len(layout) // 8}> {name}({memory}, {place}, warp);")
        return "rows", name

    def _input(self, value, row="tile.row"):
        name, layout = self.new_name(), self.layout(value)
        row = "kFirstRow" if value.is_scalar else row
        columns = self.columns(value.block, value.planes, layout, _c_type(value.dtype), steps=value.steps)
        if layout is None:
            self.line(f"const Scalar {name} = load_scalar({columns}, {row});")
            return "scalar", name
        self.widest = max(self.widest, len(layout) // 8)
        self.line(f"const auto {name} = load<{len(layout) // 8}>({columns}, {row}, warp);")
        return "fragment", name

    def index(self, value, rows):
        """The name of an Index that names one of `rows` (C++) rows, or none."""
        key = id(value), rows
        if key not in self.names:
            self.names[key] = self.new_name("i")
            columns = self.columns(value.block, (value.plane,), None, _c_type(value.dtype), steps=value.steps)
            self.line(f"const Index {self.names[key]} = load_index({columns}, tile.row, {rows});")
        return self.names[key]

    def _constant(self, value):
        if len({number.tobytes() for number in value.array}) == 1:  # NaN is not equal to itself
            return "literal", _literal(value.array[0])
        return "vector", None

    def _gather(self, value):
        source, index = value.args[0], self.index(value.args[1], f"p.rows[{value.args[0].domain}]")
        slot = self.generator.slots.get(id(source))
        if slot is None:
            return self._input(source, f"{index}.at")
        return self._rows(source, f"p.buffer[{slot}]", index)

    def _lookup(self, value):
        table, layout = value.table.astype(np.float32), self.layout(value)
        numbers = table if layout is None else _as_buffer(_spread(table.T, layout).T)
        index = self.index(value.args[0], str(len(table)))
        return self._rows(value, self.weights.add(np.ascontiguousarray(numbers).tobytes()), index)

    def _map(self, value):
        arguments = "xyz"[: len(value.args)]
        if value.name == "where":
            body = "x != 0.f ? y : z"
        else:
            body = _UNARY.get(value.name) or _BINARY.get(value.name) or f"{value.name}f(x)"
        function = f"[]({', '.join(f'float {x}' for x in arguments)}) {{ return {body}; }}"
        layout, name = self.layout(value), self.new_name()
        for argument in value.args:  # rows are read as late as possible
            self.use(argument)
        operands = ", ".join(self.operand(argument, layout) for argument in value.args)
        if layout is None:
            self.line(f"const Scalar {name} = map_scalar({function}, {operands});")
            return "scalar", name
        self.line(f"const auto {name} = map<{len(layout) // 8}>({function}, {operands});")
        return "fragment", name

    def operand(self, value, layout):
        """What a map with this layout takes."""
        kind, text = self.use(value)
        if kind == "literal":
            return text
        if kind == "vector":
            return self.vector(_spread(value.array, layout))
        return text if kind == "scalar" else self.fragment(value, layout)

    def fragment(self, value, layout=None):
        """A fragment with the value in `layout`, its own where None."""
        kind, text = self.use(value)
        own = self.layout(value)
        layout = layout or own or (0,) + (-1,) * 7
        tiles = len(layout) // 8
        self.widest = max(self.widest, tiles)
        name = self.new_name()
        if kind in ("literal", "vector"):
            operand = text if kind == "literal" and -1 not in layout else self.vector(_spread(value.array, layout))
            self.line(f"const auto {name} = map<{tiles}>([](float x) {{ return x; }}, {operand});")
            return name
        if own == layout:
            if kind == "fragment":
                return text
            self.line(f"const auto {name} = load({text});")
            if tiles <= 2:
                self.names[id(value)] = "fragment", name
            return name
        self.line(f"Fragment<{tiles}> {name}{{}};")
        source = text if own is None else self.fragment(value)
        for position, number in enumerate(layout):
            if number >= 0:
                self._move(name, position, source, own and own.index(number))
        return name

    def _move(self, target, position, source, place):
        number = source if place is None else f"take({source}, {place}, warp)"
        self.line(f"put({target}, {position}, {number}, warp);")

    def scalar(self, value, number):
        """One number of a value as a Scalar."""
        kind, text = self.use(value)
        if kind == "scalar":
            return text
        if kind in ("literal", "vector"):
            return f"Scalar{{{{{_literal(value.array[number])}, {_literal(value.array[number])}}}}}"
        return f"take({self.fragment(value)}, {self.layout(value).index(number)}, warp)"

    def clean(self, value):
        """A fragment whose padding is zero."""
        text, layout = self.fragment(value), self.layout(value)
        if layout is None or -1 not in layout or self._is_clean(value):
            return text
        name = self.new_name()
        self.line(f"auto {name} = {text};")
        self.line(f"clear_padding<{self.layout_type(layout)}>({name}, warp);")
        return name

    def _is_clean(self, value):
        if id(value) in self.generator.slots and id(value) not in self.own:
            return True
        if value.op == "constant":  # one number stands for the padding, too
            return self.use(value)[0] == "vector"
        if value.op != "map":
            return value.op != "linear"  # weights of zero times an infinity
        return value.name in _KEEP_ZERO and all(
            self._is_clean(argument) if argument.width > 1 else value.name == "mul" and _is_finite(argument)
            for argument in value.args
        )

    def _norm(self, value):
        layout, name = self.layout(value), self.new_name()
        if layout is None:  # one number less its mean, which is zero or no number
            gain = (1.0 if value.weight is None else value.weight[0]) / np.sqrt(np.float64(value.eps))
            bias = 0.0 if value.bias is None else value.bias[0]
            function = f"[](float x) {{ return fmaf(x - x, {_literal(gain)}, {_literal(bias)}); }}"
            self.line(f"const Scalar {name} = map_scalar({function}, {self.scalar(value.args[0], 0)});")
            return "scalar", name
        ones, zeros = np.ones(value.width, np.float32), np.zeros(value.width, np.float32)
        gain = self.vector(_spread(ones if value.weight is None else value.weight, layout))
        shift = self.vector(_spread(zeros if value.bias is None else value.bias, layout))
        x = self.clean(value.args[0])
        self.line(
            f"const auto {name} = norm<{self.layout_type(layout)}, {str(value.is_centered).lower()}>({x}, {gain}, "
            f"{shift}, {value.width}, {_literal(value.eps)}, warp);"
        )
        return "fragment", name

    def _reduce(self, value):
        name, x = self.new_name(), value.args[0]
        if x.width == 1:
            return "scalar", self.scalar(x, 0)
        text, layout = self.fragment(x), self.layout(x)
        start, function = {"amax": (-math.inf, "maximum(x, y)"), "amin": (math.inf, "minimum(x, y)")}.get(
            value.name, (0.0, "x + y")
        )
        if -1 in layout:
            cleared = self.new_name()
            self.line(f"auto {cleared} = {text};")
            self.line(f"clear_padding<{self.layout_type(layout)}>({cleared}, warp, {_literal(start)});")
            text = cleared
        reduced = f"reduce({text}, {_literal(start)}, [](float x, float y) {{ return {function}; }})"
        if value.name == "mean":
            reduced = f"map_scalar([](float x) {{ return x / {_literal(x.width)}; }}, {reduced})"
        self.line(f"const Scalar {name} = {reduced};")
        return "scalar", name

    def _pack(self, value):
        if value.width == 1:
            (argument, (start, _)) = value.args[0], value.ranges[0]
            name = self.new_name()
            self.line(f"const Scalar {name} = {self.scalar(argument, start)};")
            return "scalar", name
        parts = [(self.piece(piece, part), part) for piece, part in self.layout.pack(value)]
        name = self.new_name()
        tiles = len(self.layout(value)) // 8
        self.widest = max(self.widest, tiles)
        self.line(f"Fragment<{tiles}> {name};")
        at = 0
        for text, part in parts:
            self.line(f"place({name}, {at}, {text});")
            at += len(part) // 8
        return "fragment", name

    def piece(self, piece, part):
        """A fragment of a piece of a pack."""
        name, tiles = self.new_name(), len(part) // 8
        if piece[0] == "numbers":
            numbers = [self.scalar(argument, number) for argument, number in piece[1]]
            self.line(f"Fragment<{tiles}> {name}{{}};")
            for position, number in enumerate(numbers):
                self.line(f"put({name}, {position}, {number}, warp);")
            return name
        _, argument, first, _, start, stop = piece
        source = self.clean(argument)
        if tiles == len(self.layout(argument)) // 8 and stop - start == argument.width:
            return source
        self.line(f"auto {name} = cut<{first}, {tiles}>({source});")
        self.line(f"clear_padding<{self.layout_type(part)}>({name}, warp);")
        return name

    def _sources(self, value):
        """What a linear layer reads: (C++ of something with pair() and last(), its layout in numbers of `value`)."""
        if value.op == "pack" and value.width > 1 and id(value) not in self.names and id(value) in self.own:
            sources = []
            for piece, part in self.layout.pack(value):
                whole = piece[0] == "tiles" and len(part) == len(self.layout(piece[1])) and (
                    piece[5] - piece[4] == piece[1].width
                )
                if whole:  # a pack in a pack has parts too
                    start = min(number for number in part if number >= 0)
                    for text, inner in self._sources(piece[1]):
                        sources.append((text, tuple(n + start if n >= 0 else -1 for n in inner)))
                else:
                    sources.append((self.piece(piece, part), part))
            return sources
        kind, text = self.use(value)
        if kind == "rows":
            return [(text, self.layout(value))]
        return [(self.clean(value), self.layout(value) or (0,) + (-1,) * 7)]

    def _linear(self, value):
        x, outputs = value.args[0], value.width
        sources = self._sources(x)
        bias = np.zeros(outputs, np.float32) if value.bias is None else value.bias
        if outputs <= _FEW_OUTPUTS:
            return self._dots(value, sources, bias)
        layout, name = self.layout(value), self.new_name()
        tiles = len(layout) // 8
        scheme, weight = self.generator.scheme(value), np.asarray(value.weight, np.float32)
        scaling = "Unscaled{}"
        if scheme == "Half3":
            sources, weight, scaling = self._scaled(sources, weight, layout)
        calls = []
        for text, part in sources:
            packed = _pack(scheme, _spread(_spread(weight.T, part).T, layout).T)
            depth = max(i for i, number in enumerate(part) if number >= 0) + 1
            packed = f"Packed{{{self.weights.add(packed)}, {len(part) // 8}, {depth}, {tiles}}}"
            calls.append(f"accumulate<{scheme}>(c, {text}, {packed}, first, warp);")
        body = f"[&](auto& c, int first) {{ {' '.join(calls)} }}"
        start = self.vector(_spread(np.asarray(bias, np.float32), layout))
        self.widest = max(self.widest, min(tiles, _CHUNK))
        if self.together and self.generator.is_only_stored(value):
            slot = self.generator.slots[id(value)]
            chunk = min(_CHUNK, 2 * -(-tiles // (2 * _TOGETHER)))
            self.line(
                f"linear_stored<{self.layout_type(layout)}, {tiles}, {chunk}>(p.buffer[{slot}], {start}, {scaling}, "
                f"{self.turn}, tile, warp, {body});"
            )
            self.turn = (self.turn - -(-tiles // chunk)) % _TOGETHER
            return "stored", name
        if self.together and scheme != "Fma":
            rounds = -(-tiles // (_TOGETHER * _CHUNK))
            chunk = -(-tiles // (_TOGETHER * rounds))
            self.exchanged = max(self.exchanged, min(tiles, _TOGETHER * chunk))
            self.line(
                f"const auto {name} = linear_together<{tiles}, {chunk}>({start}, {scaling}, exchange, kExchanged, "
                f"{self.exchanges % 2}, warp, {body});"
            )
            self.exchanges += -(-tiles // (_TOGETHER * chunk))
        else:
            self.line(f"const auto {name} = linear<{tiles}, {min(tiles, _CHUNK)}>({start}, {scaling}, {body});")
        self.widest = max(self.widest, tiles)
        return "fragment", name

    def _scaled(self, sources, weight, layout):
        """What Half3 multiplies: sources and weights times powers of two, and what takes these back."""
        of_input, of_output = _balance(weight)
        if of_input.min() < 1:
            sources = [(f"balanced({text}, {self.vector(_spread(of_input, part))})", part) for text, part in sources]
        largest, scaling = self.new_name(), self.new_name("s")
        self.line(f"Scalar {largest}{{}};")
        for text, _ in sources:
            self.line(f"widen({largest}, {text});")
        back = 1 / of_output
        if (back == back[0]).all():
            unit = f"{_literal(back[0])}, {math.frexp(back[0])[1] + 275}"
        else:
            unit = self.vector(_spread(back, layout))
        self.line(f"const auto {scaling} = scale_of({largest}, {unit});")
        weight = (weight / of_input * of_output[:, None]).astype(np.float32)
        return [(f"scaled({text}, {scaling})", part) for text, part in sources], weight, scaling

    def _dots(self, value, sources, bias):
        """Few outputs: each is a sum over the quad."""
        results = []
        for output in range(value.width):
            name = self.new_name()
            self.line(f"Scalar {name}{{}};")
            for text, part in sources:
                self.line(f"dot({name}, {text}, {self.vector(_spread(value.weight[output], part))});")
            self.line(f"{name} = finish({name}, {_literal(bias[output])});")
            results.append(name)
        if value.width == 1:
            return "scalar", results[0]
        name = self.new_name()
        self.line(f"Fragment<1> {name}{{}};")
        for position, result in enumerate(results):
            self.line(f"put({name}, {position}, {result}, warp);")
        return "fragment", name

    # -- sums

    def _total(self, buffer):
        slots, (x, _), layout = self.generator.slots, buffer.value.args, self.layout(buffer.value)
        lists = self.generator.lists_of(buffer.value)
        shape = "1, 1" if layout is None else f"4, {len(layout) // 4}"
        memory = f"p.buffer[{slots[id(buffer.value)]}], p.buffer[{slots[id(x)]}], p.buffer[{lists.members}]"
        self.line(f"total<{shape}>({memory}, {lists.text}, at, warp);")
        self.widest = max(self.widest, 8)  # about what it needs

    def _sum(self, buffer):
        x, index = buffer.value.args
        slot, text, layout = self.generator.slots[id(buffer.value)], self.held(x), self.layout(x)
        index = self.index(index, f"p.rows[{buffer.domain}]")
        function = "scatter_scalar" if layout is None else f"scatter<{self.layout_type(layout)}>"
        self.line(f"{function}(p.buffer[{slot}], {text}, {index}, tile, warp);")

    # -- what a stage leaves behind

    def held(self, value):
        """A Scalar or a clean Fragment."""
        return self.scalar(value, 0) if value.width == 1 else self.clean(value)

    def body(self):
        for step, lists in self.steps:
            if step == "allocate":
                self.line(f"allocate({lists.text}, tile, warp);")
                continue
            index = self.index(lists.index, f"p.rows[{lists.domain}]")
            memory = f"p.buffer[{lists.members}], " if step == "enter" else ""
            self.line(f"{step}({lists.text}, {memory}p.buffer[{lists.places}], {index}, tile, warp);")
        for buffer in self.stage.totals:
            self._total(buffer)
        for slot, layout in self.zeros:
            if layout is None:
                self.line(f"clear_scalar(p.buffer[{slot}], tile, warp);")
            else:
                self.line(f"clear<{len(layout) // 8}>(p.buffer[{slot}], tile, warp);")
        for output in self.stage.outputs:
            text, layout = self.held(output.value), self.layout(output.value)
            columns = self.columns(output.block, output.planes, layout, _c_type(output.dtype), True)
            self.line(f"write({columns}, {text}, tile, warp);")
        for buffer in self.stage.stores:
            if id(buffer.value) not in self.generator.joined:
                if self.together and self.generator.is_only_stored(buffer.value):
                    self.use(buffer.value)
                    continue
                slot = self.generator.slots[id(buffer.value)]
                self.line(f"store(p.buffer[{slot}], {self.held(buffer.value)}, tile, warp);")
        if not self.generator.has_totals:
            for buffer in self.stage.sums:
                self._sum(buffer)

    def write(self):
        """(threads, blocks on a multiprocessor, bytes of shared memory)"""
        self.body()
        warps = _TOGETHER if self.together else self._warps()
        threads = 32 * warps
        blocks = self._blocks(warps)
        exchange = 2 * self.exchanged * 32 * 16
        shared_bytes = exchange if self.together else len(self.weights.shared)
        return threads, blocks, shared_bytes

    def _registers(self):
        """About what a thread needs: the widest values, several of which live at a time."""
        return 8 * min(self.widest, _REGISTER_TILES) + 48

    def _warps(self):
        return 16 if self._registers() <= 128 else 8

    def _blocks(self, warps):
        if self.together:
            return 3
        fits = max(1, SHARED_BYTES // max(1, len(self.weights.shared)))
        return min(2 if self._registers() <= 64 else 1, fits)

    def text(self, name, far):
        threads, blocks, _ = self.write_result
        layouts = "".join(
            f"struct {layout} {{\n    static constexpr unsigned valid(int n) {{ return {_mask_text(masks)}; }}\n}};\n"
            for masks, layout in self.layouts_used.items()
        )
        lines = [
            f"namespace {name}_parts {{",
            layouts + f"constexpr int kExchanged = {self.exchanged};",
            "}",
            f'extern "C" __global__ void __launch_bounds__({threads}, {blocks})',
            f"{name}(const __grid_constant__ Params p) {{",
            f"    using namespace {name}_parts;",
            f"    const int64 rows = p.rows[{self.stage.domain}];",
            "    const int tiles = static_cast<int>((rows + kTileRows - 1) / kTileRows);",
            f"    const char* const weights = static_cast<const char*>(p.weights) + {far};",
            f"    [[maybe_unused]] const char* const far = weights + {len(self.weights.shared)};",
        ]
        if self.together:
            if self.exchanged:
                lines.append("    extern __shared__ float4 exchange[][32];")
            lines += [
                f"    const Warp warp(threadIdx.x / 32, {_TOGETHER});",
                "    for (int at = blockIdx.x; at < tiles; at += gridDim.x) {",
            ]
        else:
            if self.weights.shared:
                lines += [
                    "    extern __shared__ uint4 shared_memory[];",
                    "    char* const shared = reinterpret_cast<char*>(shared_memory);",
                    f"    stage_weights(shared, weights, {len(self.weights.shared)});",
                ]
            lines += [
                "    const Warp warp(0, 1);",
                f"    const int step = gridDim.x * {threads // 32};",
                "    for (int at = threadIdx.x / 32 * gridDim.x + blockIdx.x; at < tiles; at += step) {",
            ]
        lines.append("        const Tile tile(at, rows, warp);")
        end = "        __syncthreads();\n    }\n}\n" if self.together and self.exchanges else "    }\n}\n"
        return "\n".join(lines + self.lines) + "\n" + end


def _is_finite(value):
    return value.op == "constant" and np.isfinite(value.array).all()


def _mask_text(masks):
    """A C++ expression of n that gives masks[n]."""
    text = "0xffu"
    for n, mask in enumerate(masks):
        if mask != 0xFF:
            text = f"n == {n} ? {mask:#x}u : {text}"
    return text


def _c_type(dtype):
    name = str(dtype).removeprefix("torch.")
    if name not in _C_TYPES:
        raise InputError(f"fused CUDA program: a column of {name}, expected one of {', '.join(_C_TYPES)}")
    return _C_TYPES[name]


# ---- all of them


@dataclass
class _Lists:
    """The rows that an index adds to each row of `domain`: slots of what cuda_kernels.cuh keeps of them."""

    index: graph.Value
    domain: int
    slot: int
    at: int  # among those in one slot
    places: int
    members: int

    @property
    def text(self):
        return f"Lists(p.buffer[{self.slot}], p.rows[{self.domain}], {self.at})"


class _Generator:
    def __init__(self, program, plan, precision):
        self.program, self.plan, self.precision = program, plan, precision
        self.layout = _Layouts()
        self.has_totals = any(stage.totals for stage in plan.stages)
        self.joined = {} if self.has_totals else self._join_sums()
        self.slots, self.slot_sizes, self.zeros, self.zero_steps = {}, [], {}, {}
        self._assign_slots()
        self.lists = self._make_lists()

    def scheme(self, value):
        if self.precision == "ieee" or value.args[0].width <= _FEW_INPUTS:
            return "Fma"
        if self.precision != "tf32x3":
            return {"tf32": "Tf32", "bf16": "Bf16"}[self.precision]
        return "Half3"

    def is_only_stored(self, value):
        """Whether its stage computes a layer for others alone: tensor cores may then write straight into its buffer."""
        if value.op != "linear" or value.width <= _FEW_OUTPUTS or self.scheme(value) == "Fma":
            return False
        home = next(stage for stage in self.plan.stages if any(value is other for other in stage.values))
        return any(buffer.value is value for buffer in home.stores) and not any(
            any(argument is value for argument in other.args) for other in home.values if other.op != "gather"
        ) and not (
            not self.has_totals and any(buffer.value.args[0] is value for buffer in home.sums)
        ) and not any(output.value is value for output in home.outputs)

    def _join_sums(self):
        """Sums that are only added to one another share memory: {id of such a value: the sum whose memory it is}."""
        users = {}
        for value in self.program.values():
            for argument in value.args:
                users.setdefault(id(argument), []).append(value)
        for output in self.program.outputs:
            users.setdefault(id(output.value), []).append(output)
        sums = {id(buffer.value): buffer.value for buffer in self.plan.buffers if buffer.is_sum}
        joined = {}
        for value in self.program.values():
            if value.op != "map" or value.name != "add" or len({id(argument) for argument in value.args}) < 2:
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

    def _assign_slots(self):
        """Memory for every buffer, from the first stage that writes it to the last one that reads it."""
        stages = self.plan.stages
        lives = {}  # id of the value that names the memory -> [value, first stage, last stage]

        def root(value):
            return self.joined.get(id(value), value)

        def use(value, at):
            lives.setdefault(id(root(value)), [root(value), at, at])[2] = at

        for at, stage in enumerate(stages):
            gathered = [value.args[0] for value in stage.gathers if self.plan.buffer_of(value.args[0])]
            stored = [buffer.value for buffer in stage.stores if id(buffer.value) not in self.joined]
            summed = stage.totals if self.has_totals else stage.sums
            used = [buffer.value for buffer in stage.reads + summed] + gathered + stored
            for value in used + [buffer.value.args[0] for buffer in stage.totals]:
                use(value, at)
        free = {}
        self.zeros, self.zero_steps = {at: [] for at in range(len(stages))}, {at: [] for at in range(len(stages))}
        ends = {at: [] for at in range(len(stages))}
        born = {}
        for value, first, last in lives.values():
            if value.op == "scatter" and not self.has_totals:  # a kernel over the same rows, as late as possible, clears it
                earlier = [at for at in range(first) if stages[at].domain == value.domain]
                first = earlier[-1] if earlier else first
                (self.zeros if earlier else self.zero_steps)[first].append(value)
            born.setdefault(first, []).append((value, last))
        for at in range(len(stages)):
            for value, last in born.get(at, []):
                layout = self.layout(value)
                size = value.domain, 4 if layout is None else 4 * len(layout)
                slot = min(free.get(size, []), default=None)
                if slot is None:
                    slot = self._new_slot(*size)
                else:
                    free[size].remove(slot)
                self.slots[id(value)] = slot
                ends[max(last, at)].append((size, slot))
            for size, slot in ends[at]:
                free.setdefault(size, []).append(slot)
        for buffer in self.plan.buffers:
            self.slots[id(buffer.value)] = self.slots[id(root(buffer.value))]
        for key, value in self.joined.items():
            self.slots[key] = self.slots[id(value)]

    def _new_slot(self, domain, row_bytes):
        self.slot_sizes.append((domain, row_bytes))
        return len(self.slot_sizes) - 1

    @staticmethod
    def _lists_key(scatter):
        index = scatter.args[1]
        return scatter.domain, index.domain, index.block, index.plane

    def _make_lists(self):
        scatters = {}
        for stage in self.plan.stages:
            for buffer in stage.totals:
                scatters.setdefault(self._lists_key(buffer.value), buffer.value)
        lists, slots = {}, {}
        for key, value in scatters.items():
            alike = [other for other in scatters if other[0] == value.domain]
            if value.domain not in slots:
                slots[value.domain] = self._new_slot(value.domain, 12 * len(alike))
            index = value.args[1]
            of_index = self._new_slot(index.domain, 4), self._new_slot(index.domain, 4)
            lists[key] = _Lists(index, value.domain, slots[value.domain], alike.index(key), *of_index)
        return lists

    def lists_of(self, scatter):
        return self.lists[self._lists_key(scatter)]

    def _work(self):
        """(stage, its place in the plan or None, steps of making lists), in order: those count all at once, allocate in
        the first stage over the rows of the sums, or before the first sum, and enter where rows are first stored.
        """
        all_lists, work, left, entered = list(self.lists.values()), [], {}, set()
        for lists in all_lists:
            left.setdefault(lists.domain, []).append(("allocate", lists))
        for domain in sorted({lists.index.domain for lists in all_lists}):
            counted = [("count", lists) for lists in all_lists if lists.index.domain == domain]
            work.append((Stage(domain), None, counted))
        for at, stage in enumerate(self.plan.stages):
            if stage.sums:
                work += [(Stage(domain), None, left.pop(domain)) for domain in sorted(left)]
            steps = left.pop(stage.domain, [])
            for buffer in stage.sums if self.has_totals else ():
                lists = self.lists_of(buffer.value)
                if id(lists) not in entered:
                    entered.add(id(lists))
                    steps.append(("enter", lists))
            work.append((stage, at, steps))
        return work

    def run(self):
        params = self._params()
        gathered = {
            value.args[0].domain for value in self.program.values() if value.op == "gather"
        } | {value.domain for value in self.program.values() if value.op == "scatter"}
        lengths = ", ".join(f"k{name.capitalize()} = {length}" for name, length in params.items())
        source = [f"constexpr int {lengths};", INSTRUCTIONS.read_text(), KERNELS.read_text()]
        buffers = [{"domain": domain, "row_bytes": size} for domain, size in self.slot_sizes]
        result = Generated("", params, buffers=buffers)
        weights, known_weights, known_kernels = bytearray(), {}, {}
        result.steps += [{"zero": slot} for slot in dict.fromkeys(lists.slot for lists in self.lists.values())]
        for stage, at, steps in self._work():
            together = stage.domain in gathered and any(
                value.op == "linear" and value.width > _FEW_OUTPUTS and self.scheme(value) != "Fma"
                for value in stage.values
            )
            zeros = [(self.slots[id(value)], self.layout(value)) for value in self.zeros.get(at, ())]
            kernel = _Kernel(self, stage, zeros, together, steps)
            kernel.write_result = threads, blocks, shared_bytes = kernel.write()
            if not kernel.lines:  # what is summed was stored before
                continue
            data = bytes(kernel.weights.shared + kernel.weights.far)
            if data not in known_weights:
                weights += bytes(-len(weights) % 256)
                known_weights[data] = len(weights)
                weights += data
            key = kernel.text("stage", known_weights[data])
            if key not in known_kernels:
                name = f"stage_{len(known_kernels)}"
                known_kernels[key] = len(known_kernels)
                source.append(kernel.text(name, known_weights[data]))
                result.kernels.append(
                    {
                        "name": name,
                        "threads": threads,
                        "shared_bytes": shared_bytes,
                        "rows_per_block": _TILE_ROWS,
                        "blocks_per_sm": 0 if together else blocks,
                    }
                )
            result.steps += [{"zero": self.slots[id(value)]} for value in self.zero_steps.get(at, ())]
            result.steps.append({"kernel": known_kernels[key], "domain": stage.domain})
        result.source = "\n".join(source)
        result.weights = bytes(weights)
        return result

    def _params(self):
        """The lengths of the arrays of Params."""
        blocks = [value.block for value in self.program.values() if value.op in ("input", "index")]
        blocks += [output.block for output in self.program.outputs]
        params = {
            "blocks": max(blocks) + 1,
            "domains": len(self.program.domains),
            "buffers": max(1, len(self.slot_sizes)),  # C++ has no empty arrays
        }
        for (what, got), most in zip(params.items(), (BLOCKS, DOMAINS, BUFFERS)):
            if got > most:
                raise InputError(f"fused CUDA program: got {got} {what}, expected at most {most}")
        return params


def generate(program, plan, precision="tf32x3"):
    """The Generated program of a stages.Plan; sums are the same bits at every call where it has totals.

    Raises InputError: what, got, expected.
    """
    if precision not in PRECISIONS:
        raise InputError(f'fused CUDA program: got precision "{precision}", expected one of {", ".join(PRECISIONS)}')
    return _Generator(program, plan, precision).run()


@functools.cache
def _nvrtc():
    """The NVRTC of torch's wheels, or that of an installed toolkit."""
    names = []
    package = importlib.util.find_spec("nvidia")
    for folder in (package.submodule_search_locations if package else None) or []:
        names += sorted(str(path) for path in Path(folder).glob("*/lib/libnvrtc.so.*"))
    names += ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]
    errors = []
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            errors.append(str(error))
    raise InputError(
        f"cannot compile for CUDA: found no NVRTC ({'; '.join(errors)}); "
        "pip install nvidia-cuda-nvrtc, or a torch for CUDA"
    )


def compile(source, architecture, log=None):
    """The cubin of a generated source for an architecture as in ARCHITECTURES.

    `log`: a list that takes what ptxas says of each kernel (registers, spills). Raises InputError.
    """
    nvrtc = _nvrtc()
    program = ctypes.c_void_p()

    def check(status, what):
        if status:
            nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
            raise InputError(f"cannot compile for {architecture}: {what}: {nvrtc.nvrtcGetErrorString(status).decode()}")

    def text(size_function, get_function):
        size = ctypes.c_size_t()
        check(size_function(program, ctypes.byref(size)), size_function.__name__)
        data = ctypes.create_string_buffer(size.value)
        check(get_function(program, data), get_function.__name__)
        return data.raw

    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"fused.cu", 0, None, None), "create")
    try:
        options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17", b"-default-device"]
        options += [b"--ptxas-options=-v", b"--no-cache"]  # cached code comes without messages
        array = (ctypes.c_char_p * len(options))(*options)
        status = nvrtc.nvrtcCompileProgram(program, len(options), array)
        messages = text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog).rstrip(b"\0").decode()
        check(status, messages.strip()[:2000] or "nvrtcCompileProgram")
        if log is not None:
            log.append(messages)
        return text(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
