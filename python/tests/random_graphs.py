# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Random typed programs, the numbers that they are called with, and what torch makes of them.

    python python/tests/random_graphs.py --seeds 0:1000 [--cpu | --cuda [sm_90]] [--jobs 2]

A program draws from the whole table of operations: all dtypes, views, products with batches, gathers, scatters, scans, sorts,
a second row axis. One in three is a network of rows: layers, norms, tables, rows at places. Numbers are hard: NaN, infinities,
-0, denormals, extremes of integers, equal columns and rows, rows far from zero; also no rows at all. Exit status 1, and a
minimal program for each seed that differs, where one does.

The reference is torch in float64, rounded to the dtype of each tensor after each operation. Where an operation may be rounded
in several ways (sums, products of matrices, exp and the like) the reference is evaluated again with noise of that size; the
spread of the results is the tolerance. Equal arguments of a function have equal noise, so what cancels has to cancel. Without
such operations results must be equal.
"""

import argparse
import contextlib
import dataclasses
import functools
import itertools
import math
import random
import sys
import tempfile
import traceback
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from cpu_library import Library, compiled_quickly, loaded
from cuda_library import CudaLibrary, cuda_libraries
from tensoa.compiler import build, cpu, interpret
from tensoa.compiler import operations as ops
from tensoa.compiler.errors import NotFused
from tensoa.compiler.functions import BOOLS, FLOATS, FUNCTIONS, INTEGERS, JOININGS, kind_of, start_of
from tensoa.compiler.operations import affine, axis, storage
from tensoa.compiler.passes import simplified
from tensoa.compiler.program import Output, Program, rebuilt
from tensoa.compiler.tensors import in_order
from tensoa.dtypes import BOOL, DTYPES, FLOAT32, INT64

ROWS = ("hits", "edges")
SIZES = (1, 2, 3, 4, 5, 7, 8, 16, 17)
MOST_ELEMENTS = 400  # of a row
COUNTS = (0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 47, 48, 50, 97)

# ---- programs


def drawn(seed, operations=12, first_block=0):
    """A Draw of the program of a seed."""
    return (Draw if seed % 3 else Network)(seed, operations, first_block)


class Draw:
    """Draws a program: a pool of tensors that grows by one operation at a time."""

    PREFIX, WIDTHS = "draw_", SIZES  # of the functions that draw an operation; outputs of a layer

    def __init__(self, seed, operations=12, first_block=0):
        self.random = random.Random(seed)
        self.pool, self.blocks, self.first_block = [], 0, first_block
        self.begin()
        draws = [getattr(self, name) for name in dir(self) if name.startswith(self.PREFIX)]
        for _ in range(self.random.randint(1, operations)):
            made = self.random.choice(draws)(self.some())
            if made is not None and math.prod(made.inner) <= MOST_ELEMENTS and len(made.rows) <= 2 and len(made.shape) <= 6:
                self.pool.append(made)
        self.shown = self.random.choice([1, 3, 3, 8])

    def begin(self):
        for _ in range(self.random.randint(2, 4)):
            self.column(self.random.choice(ROWS))

    # -- leaves

    def dtype(self, *kinds):
        weights = {"float32": 6, "float64": 2, "int64": 3, "int32": 2, "bool": 2}
        names = [name for name, dtype in DTYPES.items() if not kinds or kind_of(dtype) in kinds]
        return DTYPES[self.random.choices(names, [weights.get(name, 1) for name in names])[0]]

    def column(self, symbol, dtype=None):
        inner = self.random.choice([(1,), (2,), (3,), (4,), (8,), (17,), (3, 4), (2, 5)])
        planes = list(range(math.prod(inner)))
        if self.random.random() < 0.2:
            self.random.shuffle(planes)
        made = build.column(self.first_block + self.blocks, planes, dtype or self.dtype(), (symbol, *inner))
        self.blocks += 1
        self.pool.append(made)
        return made

    def some(self):
        """A tensor of the pool, a late one more often."""
        return self.pool[min(self.random.randrange(len(self.pool)), self.random.randrange(len(self.pool))) * -1 - 1]

    def numbers(self, dtype, shape):
        kind = kind_of(dtype)
        if kind == FLOATS:
            values = [
                self.random.choice([self.random.gauss(0, 1), self.random.gauss(0, 1), 0.0, 1.0, -2.0])
                for _ in range(math.prod(shape))
            ]
        elif kind == BOOLS:
            values = [self.random.random() < 0.5 for _ in range(math.prod(shape))]
        else:
            low, high = dtype.limits
            values = [self.random.randint(max(low, -5), min(high, 9)) for _ in range(math.prod(shape))]
        return build.constant(np.array(values).reshape(shape), dtype)

    def repeated(self, x, shape):
        """x along new or longer axes, or None."""
        rest, index = list(shape), []
        for size in reversed(x.shape):
            while rest and rest[-1] != size and size != 1:
                rest.pop()
            if not rest:
                return None
            rest.pop()
            index.insert(0, affine(0) if size == 1 else axis(len(rest)))
        return build.view(x, shape, index)

    def like(self, x, dtype=None):
        """A tensor of the shape of x."""
        dtype = dtype or x.dtype
        others = [y for y in self.pool if y.shape == x.shape]
        if others and self.random.random() < 0.6:
            return self.cast(self.random.choice(others), dtype)
        y = self.repeated(self.some(), x.shape) if self.random.random() < 0.7 else None
        if y is not None:
            return self.cast(y, dtype)
        return build.view(self.numbers(dtype, ()), x.shape, ())

    def cast(self, x, dtype):
        """To integers only what they hold: torch says nothing of others."""
        if kind_of(x.dtype) == FLOATS and kind_of(dtype) == INTEGERS:
            low, high = (build.filled(n, x.dtype, x.shape) for n in (max(dtype.limits[0], -100), 100))
            x = build.apply("minimum", build.apply("maximum", x, low), high)
            x = build.apply("where", build.apply("eq", x, x), x, low)
        return build.cast(x, dtype)

    # -- operations

    def draw_column(self, _):
        self.column(self.random.choice(ROWS))

    def draw_iota(self, x):
        place = self.random.randrange(len(x.shape)) if x.shape else None
        if place is None:
            return None
        return build.view(build.iota(x.shape[place], self.random.choice([DTYPES["int32"], INT64])), x.shape, [axis(place)])

    def draw_map(self, x):
        function = self.random.choice([f for f in FUNCTIONS.values() if kind_of(x.dtype) in f.takes])
        if function.name == "where":
            return build.apply("where", self.like(x, BOOL), x, self.like(x))
        args = [x] + [self.like(x) for _ in range(function.arity - 1)]
        if function.name in ("shl", "shr"):
            args[1] = build.apply(
                "minimum",
                build.apply("maximum", args[1], build.filled(0, x.dtype, x.shape)),
                build.filled(70, x.dtype, x.shape),
            )
        self.random.shuffle(args)
        return build.apply(function.name, *args)

    def draw_maps(self, x):
        for _ in range(self.random.randint(2, 4)):
            x = self.draw_map(x)
            self.pool.append(x)
        return x

    draw_another_map = draw_more_maps = draw_maps

    def draw_cast(self, x):
        return self.cast(x, self.dtype())

    def joining(self, x):
        names = [j.name for j in JOININGS.values() if kind_of(x.dtype) in j.takes and j.name != "prod"]
        return self.random.choice(names) if names else None

    def draw_reduce(self, x):
        axes = [i for i in range(len(x.shape)) if self.random.random() < 0.5]
        return build.reduce(self.joining(x), x, axes) if axes else None

    def draw_scan(self, x):
        if not x.shape or kind_of(x.dtype) == BOOLS:
            return None
        return build.scan(self.joining(x), x, self.random.randrange(len(x.shape)))

    def draw_sort(self, x):
        if not x.shape:
            return None
        place = self.random.randrange(len(x.shape))
        size = x.shape[place]
        return build.sort(x, place, self.random.randint(1, size if isinstance(size, int) else 3), self.random.random() < 0.5)

    def draw_layer(self, x):
        """A product with constants over the last axis."""
        if not x.shape or not isinstance(x.shape[-1], int) or kind_of(x.dtype) == BOOLS:
            return None
        left = "abcdef"[: len(x.shape)]
        weight = self.numbers(x.dtype, (self.random.choice(self.WIDTHS), x.shape[-1]))
        made = build.contract(x, weight, left, "z" + left[-1], left[:-1] + "z")
        if self.random.random() < 0.7:
            bias = build.expand(self.numbers(x.dtype, (made.shape[-1],)), made.shape, [len(made.shape) - 1])
            made = build.apply("add", made, bias)
        return build.apply("relu", made) if self.random.random() < 0.4 else made

    def draw_contract(self, x):
        """Labels are shared where sizes are equal."""
        y = self.cast(self.some(), x.dtype)
        if kind_of(x.dtype) == BOOLS or not x.shape or not y.shape:
            return None
        left, right = "abcdefg"[: len(x.shape)], ""
        for i, size in enumerate(y.shape):
            same = [label for label, other in zip(left, x.shape) if other == size and label not in right]
            right += self.random.choice(same) if same and self.random.random() < 0.7 else "hijklmn"[i]
        labels = dict.fromkeys(left + right)
        out = [label for label in labels if not (label in left and label in right) or self.random.random() < 0.3]
        self.random.shuffle(out)
        made = build.contract(x, y, left, right, "".join(out))
        return made if len(made.rows) <= 2 else None

    def draw_permute(self, x):
        order = list(range(len(x.shape)))
        self.random.shuffle(order)
        return build.permute(x, order)

    def fixed(self, x):
        return [i for i, size in enumerate(x.shape) if isinstance(size, int)]

    def draw_part(self, x):
        places = self.fixed(x)
        if not places:
            return None
        place = self.random.choice(places)
        kind, size = self.random.choice(["slice", "flip", "select", "step", "windows", "split"]), x.shape[place]
        if kind == "select":
            return build.select(x, place, self.random.randrange(size))
        if kind == "flip":
            return build.part(x, place, size - 1, size, -1)
        if kind == "step":
            return build.part(x, place, 0, (size + 1) // 2, 2)
        if kind == "split":
            factors = [n for n in range(2, size) if size % n == 0]
            return build.split(x, place, (factors[0], size // factors[0])) if factors else None
        start = self.random.randrange(size)
        wide = self.random.randint(1, size - start)
        if kind == "slice":
            return build.part(x, place, start, wide)
        index = [axis(i + (i > place)) for i in range(len(x.shape))]
        index[place] = affine(0, (place, 1), (place + 1, 1))
        return build.view(x, (*x.shape[:place], size - wide + 1, wide, *x.shape[place + 1 :]), index)

    def draw_diagonal(self, x):
        pairs = [(i, j) for i in range(len(x.shape)) for j in range(i) if x.shape[i] == x.shape[j]]
        if not pairs:
            return None
        i, j = self.random.choice(pairs)
        index = [axis(k - (k > i)) for k in range(len(x.shape))]
        index[i] = axis(j)
        return build.view(x, (*x.shape[:i], *x.shape[i + 1 :]), index)

    def draw_repeat(self, x):
        return build.with_axis(x, self.random.randint(0, len(x.shape)), self.random.choice([*SIZES[:5], *ROWS]))

    def draw_concat(self, x):
        places = self.fixed(x)
        if not places:
            return None
        place = self.random.choice(places)
        parts = [y for y in self.pool if len(y.shape) == len(x.shape) and y.shape[:place] == x.shape[:place]]
        parts = [y for y in parts if y.shape[place + 1 :] == x.shape[place + 1 :] and isinstance(y.shape[place], int)]
        parts = [self.cast(y, x.dtype) for y in self.random.choices(parts, k=self.random.randint(1, 2))] + [x]
        self.random.shuffle(parts)
        return build.concat(parts, place)

    def places(self, shape, size):
        """Integers of this shape that are places of an axis of `size`, mostly."""
        like = build.filled(0, INT64, shape)
        drawn = self.like(like)
        if isinstance(size, int):
            n = build.filled(size, INT64, shape)
            drawn = build.apply("fmod", build.apply("fmod", drawn, n), n)
            if self.random.random() < 0.7:
                drawn = build.apply("abs", drawn)
        return self.cast(drawn, DTYPES["int32"]) if self.random.random() < 0.3 else drawn

    def draw_gather(self, x):
        """Places of other rows, or inside of a row; of the axes of x, or of some of them."""
        if not x.shape:
            return None
        place = self.random.randrange(len(x.shape))
        rows = self.random.choice(ROWS) if isinstance(x.shape[place], str) else None
        count = rows or self.random.choice(SIZES[:5])
        shape = (*x.shape[:place], count, *x.shape[place + 1 :])
        places = self.places(shape, x.shape[place])
        if self.random.random() < 0.5:  # one place for all other fixed axes
            base = self.places((count,), x.shape[place])
            places = build.view(base, shape, [axis(place)])
        return build.gather(x, places, [None if i == place else axis(i) for i in range(len(shape))])

    draw_another_gather = draw_gather

    def draw_search(self, x):
        """Among elements in order, or as they are."""
        places = self.fixed(x)
        if not places or kind_of(x.dtype) == BOOLS:
            return None
        place, is_right = self.random.choice(places), self.random.random() < 0.5
        index = [None if i == place else axis(i) for i in range(len(x.shape))]
        if self.random.random() < 0.7:
            x = build.gather(x, build.sort(x, place, x.shape[place]), index)
        shape = (*x.shape[:place], self.random.choice(SIZES[:5]), *x.shape[place + 1 :])
        numbers = self.like(build.filled(0, x.dtype, shape))
        return build.lookup(lambda at: ops.Search(at, is_right), x, numbers, index)

    def draw_table(self, _):
        """Rows of a constant by one place each, or of one that is the same in all rows."""
        rows, count, width = self.random.choice(ROWS), self.random.choice(SIZES), self.random.choice(SIZES)
        table = self.numbers(self.dtype(), (count, width))
        if self.random.random() < 0.3:
            count, table = rows, build.view(self.numbers(self.dtype(), (width,)), (rows, width), [axis(1)])
        places = build.view(self.places((rows,), count), (rows, width), [axis(0)])
        return build.gather(table, places, [None, axis(1)])

    def draw_scatter(self, x):
        if not x.shape or kind_of(x.dtype) == BOOLS:
            return None
        place = self.random.randrange(len(x.shape))
        size = self.random.choice(ROWS) if isinstance(x.shape[place], str) else self.random.choice(SIZES[:6])
        places = self.places(x.shape, size)
        if self.random.random() < 0.6:
            places = build.view(self.places((x.shape[place],), size), x.shape, [axis(place)])
        return build.scatter(self.joining(x), x, places, place, size)

    def draw_softmax(self, x):
        """Over any axis, rows too."""
        if kind_of(x.dtype) != FLOATS or not x.shape:
            return None
        place = self.random.randrange(len(x.shape))

        def back(y):
            return build.with_axis(y, place, x.shape[place])

        e = build.apply("exp", build.apply("sub", x, back(build.reduce("max", x, [place]))))
        return build.apply("div", e, back(build.reduce("sum", e, [place])))

    # -- a second axis of rows

    def of_rows(self, x, width=None):
        """A tensor of the pool of rows and one fixed axis, of the dtype of x; None where none is in the pool."""
        found = [y for y in self.pool if len(y.shape) == 2 and len(y.rows) == 1 and isinstance(y.shape[0], str)]
        found = [y for y in found if width is None or y.shape[1] == width]
        return self.cast(self.random.choice(found), x.dtype) if found else None

    def draw_pairs(self, x):
        """Products, differences or distances of rows and rows, of which some may be left out."""
        x = self.of_rows(x if kind_of(x.dtype) != BOOLS else self.pool[0])
        if x is None or kind_of(x.dtype) == BOOLS:
            return None
        y = self.of_rows(x, x.shape[1])
        if self.random.random() < 0.5:
            made = build.contract(x, y, "ak", "bk", "ab")
        else:
            off = build.apply("sub", build.with_axis(x, 1, y.shape[0]), build.with_axis(y, 0, x.shape[0]))
            if self.random.random() < 0.3:
                return off
            made = build.reduce("sum", build.apply("mul", off, off), [2])
        if kind_of(x.dtype) == FLOATS and self.random.random() < 0.4:
            made = build.apply(self.random.choice(["sqrt", "tanh", "neg"]), made)
        if kind_of(x.dtype) == FLOATS and self.random.random() < 0.4:
            own, other = (build.select(one, 1, 0) for one in (x, y))
            test = self.random.choice(["lt", "eq", "ne"])
            mask = build.apply(test, build.with_axis(own, 1, y.shape[0]), build.with_axis(other, 0, x.shape[0]))
            made = build.apply("where", mask, made, build.filled(-math.inf, made.dtype, made.shape))
        return made

    def draw_attention(self, x):
        """Softmax over rows and a sum of rows by it, with the scores of a head or of several."""
        scores = self.draw_pairs(x)
        if scores is None or kind_of(scores.dtype) != FLOATS:
            return None
        place = self.random.randrange(2)
        largest = build.reduce("max", scores, [place])
        if self.random.random() < 0.4:
            is_low = build.apply("eq", largest, build.filled(-math.inf, largest.dtype, largest.shape))
            largest = build.apply("where", is_low, build.filled(0, largest.dtype, largest.shape), largest)
        weight = build.apply("exp", build.apply("sub", scores, build.with_axis(largest, place, scores.shape[place])))
        total = build.reduce("sum", weight, [place])
        self.pool += [scores, weight, total]
        share = build.apply("div", weight, build.with_axis(total, place, scores.shape[place]))
        labels = "abcd"[: len(scores.shape)]
        values = [y for y in self.pool if len(y.shape) == 2 and y.shape[0] == scores.shape[place]]
        if not values or kind_of(values[-1].dtype) == BOOLS:
            return share
        value = self.cast(self.random.choice(values), share.dtype)
        kept = labels.replace(labels[place], "")
        return build.contract(share, value, labels, labels[place] + "z", kept + "z")

    draw_more_attention = draw_attention

    def draw_nearest(self, x):
        """The first rows in the order of scores: their numbers, or what these rows have."""
        scores = self.draw_pairs(x)
        if scores is None or len(scores.shape) != 2:
            return None
        places = build.sort(scores, 1, self.random.choice([1, 3, 5]), self.random.random() < 0.5)
        numbers = build.gather(scores, places, [axis(0), None])
        self.pool += [places, numbers]
        there = [y for y in self.pool if len(y.shape) == 2 and y.shape[0] == scores.shape[1] and isinstance(y.shape[1], int)]
        if not there:
            return numbers
        y = self.random.choice(there)
        return build.gather(y, build.with_axis(places, 2, y.shape[1]), [None, axis(2)])

    # -- the program

    def program(self, first_output=None):
        first = self.first_block + self.blocks if first_output is None else first_output
        last = [as_output(x) for x in self.pool][-self.shown :]
        outputs = [Output(first + i, tuple(range(math.prod(x.inner))), x, x.dtype) for i, x in enumerate(dict.fromkeys(last))]
        return Program(ROWS, tuple(outputs))


class Network(Draw):
    """Draws a network: the tensors of its pool are rows of float32."""

    PREFIX, WIDTHS = "row_", (1, 2, 3, 4, 5, 8, 12, 16, 20, 24, 40)
    row_layer = row_another_layer = row_third_layer = Draw.draw_layer
    row_softmax = Draw.draw_softmax

    def begin(self):
        self.at = {symbol: self.rows(symbol, 1, INT64) for symbol in ROWS}
        self.pool = [self.rows(symbol, self.random.choice(self.WIDTHS)) for symbol in (*ROWS, self.random.choice(ROWS))]
        self.contexts = []  # vectors without rows

    def rows(self, symbol, width, dtype=FLOAT32):
        self.blocks += 1
        return build.column(self.first_block + self.blocks - 1, range(width), dtype, (symbol, width))

    def one_place(self, symbol, width, size):
        """A place along an axis of `size` for each row, of all its elements; of some, none."""
        place = build.select(self.at[symbol], 1, 0)
        if self.random.random() < 0.6:
            n = build.filled(size, INT64, place.shape) if isinstance(size, int) else None
            place = build.apply("abs", place if n is None else build.apply("fmod", place, n))
        return build.view(place, (symbol, width), [axis(0)])

    def row_function(self, x):
        names = ["relu", "tanh", "sigmoid", "exp", "neg", "abs", "reciprocal", "sqrt"]
        y = build.apply(self.random.choice(names), x)
        return build.apply(self.random.choice(["add", "mul", "sub", "maximum"]), y, self.like(x, FLOAT32))

    def row_residual(self, x):
        return build.apply("add", x, self.like(x, FLOAT32))

    def row_norm(self, x):
        """Less the mean, by the root of the variance."""
        width, shape = x.shape[1], x.shape

        def mean(y):
            total = build.reduce("sum", y, [1])
            if self.random.random() < 0.5:
                return build.with_axis(build.apply("div", total, build.filled(width, FLOAT32, total.shape)), 1, width)
            return build.with_axis(build.apply("mul", total, build.filled(1 / width, FLOAT32, total.shape)), 1, width)

        off = build.apply("sub", x, mean(x))
        variance = build.apply("add", mean(build.apply("mul", off, off)), build.filled(1e-5, FLOAT32, shape))
        made = build.apply("div", off, build.apply("sqrt", variance))
        return build.apply("mul", made, build.view(self.numbers(FLOAT32, (width,)), shape, [axis(1)]))

    def row_of_another_dtype(self, x):
        """Calculated in one that is wider or narrower, also right after a layer."""
        wide = self.cast(self.draw_layer(x) if self.random.random() < 0.5 else x, self.dtype())
        made = self.draw_scan(wide) if self.random.random() < 0.5 and kind_of(wide.dtype) != BOOLS else self.draw_map(wide)
        return self.cast(made, FLOAT32)

    def row_largest(self, x):
        """One number of each row, or of all rows, for each of its elements."""
        place = self.random.randrange(2)
        return build.with_axis(build.reduce(self.random.choice(["sum", "max", "min"]), x, [place]), place, x.shape[place])

    def row_context(self, x):
        """Rounds of rows and a vector of all of them, each joined to what the other, or an earlier one, was."""
        x = build.contract(x, self.numbers(FLOAT32, (4, x.shape[1])), "ab", "zb", "az")
        for _ in range(self.random.randint(1, 3)):
            made = build.reduce(self.random.choice(["sum", "max", "min"]), self.row_function(x), [0])
            if self.contexts and self.random.random() < 0.7:
                made = build.apply(self.random.choice(["add", "mul"]), made, self.random.choice(self.contexts))
            self.contexts.append(build.apply(self.random.choice(["exp", "tanh", "relu"]), made))
            context = build.view(self.random.choice(self.contexts), x.shape, [axis(1)])
            x = build.apply(self.random.choice(["add", "sub", "mul"]), self.row_function(x), context)
        return x

    def row_table(self, x):
        size, width = self.random.choice(self.WIDTHS), self.random.choice(self.WIDTHS)
        table = self.numbers(FLOAT32, (size, width))
        return build.gather(table, self.one_place(x.shape[0], width, size), [None, axis(1)])

    def row_at_places(self, x):
        symbol = self.random.choice(ROWS)
        return build.gather(x, self.one_place(symbol, x.shape[1], x.shape[0]), [None, axis(1)])

    row_at_other_places = row_at_places

    def row_layer_at_places(self, x):
        """Of some of the elements."""
        return self.draw_layer(self.row_at_places(self.row_part(x) if self.random.random() < 0.6 else x))

    def row_joined(self, x):
        size = self.random.choice(ROWS)
        places = self.one_place(x.shape[0], x.shape[1], size)
        return build.scatter(self.random.choice(["sum", "max", "min"]), x, places, 0, size)

    def row_concat(self, x):
        others = [y for y in self.pool if y.shape[0] == x.shape[0]]
        return build.concat([x, *self.random.choices(others, k=self.random.randint(1, 2))], 1)

    def row_part(self, x):
        start = self.random.choice([0, self.random.randrange(x.shape[1])])
        return build.part(x, 1, start, self.random.randint(1, x.shape[1] - start))


def as_output(x):
    """A tensor of rows and then fixed sizes that has all numbers of x, or a sum of them."""
    if len(x.rows) > 1:
        first, *others = [i for i, size in enumerate(x.shape) if isinstance(size, str)]
        x = build.reduce("max", x, others)
    if not x.rows:
        return build.with_axis(x, 0, ROWS[0])
    first = [i for i, size in enumerate(x.shape) if isinstance(size, str)][0]
    return build.permute(x, [first, *(i for i in range(len(x.shape)) if i != first)])


# ---- numbers


def numbers(dtype, planes, rows, most, draw):
    """Hard numbers for the planes of a block; `most`: the number of rows that places name."""
    shape, kind = (planes, rows), draw.integers(0, 6)
    if dtype.is_bool:
        return draw.integers(0, 2, shape).astype(bool)
    if not dtype.is_float:
        low, high = dtype.limits
        if kind < 4:
            x = draw.integers(max(low, -1), min(high, max(most, 2)), shape)
        else:
            x = draw.choice(np.array([low, high, low + 1, high - 1, 0, 1, 2, 3]), shape)
        return x.astype(dtype.name)
    x = draw.normal(size=shape)
    if kind == 1:
        special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, np.inf, -np.inf, np.nan, 1e-40, -1e-42, 1e30, -3.0, 88.0, 1e-5]
        x = np.where(draw.random(shape) < 0.5, draw.choice(np.array(special), shape), x)
    elif kind == 2:
        x[:] = x[:1]  # equal columns
    elif kind == 3:
        x[:] = x[:, :1]  # equal rows
    elif kind == 4:
        x = 1000 + x / 100  # far from zero
    elif kind == 5:
        x = np.round(x * 2)  # ties
    if draw.random() < 0.6:
        some = draw.choice(np.array([np.nan, np.nan, np.nan, np.inf, -np.inf, -0.0]), shape)
        x = np.where(draw.random(shape) < draw.choice([0.02, 0.1, 0.5]), some, x)
    return build.rounded(x.astype(storage(dtype)), dtype)


def columns(program):
    """The columns of a program, by block."""
    found = {}
    for tensor in program.tensors():
        if isinstance(tensor.op, ops.Column):
            found[tensor.op.block] = tensor
    return found


def planes_of(program, rows, seed):
    draw, counts, made = np.random.default_rng(seed), dict(zip(program.rows, rows)), {}
    for block, tensor in sorted(columns(program).items()):
        data = numbers(tensor.dtype, len(tensor.op.planes), counts[tensor.shape[0]], max(rows), draw)
        made.update({(block, plane): data[plane] for plane in range(len(data))})
    return made


# ---- torch

#: Of functions that may be rounded in several ways, in last places of the dtype.
ULPS = 6
_EPSILON = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
_LEAST = {"float16": 2.0**-24, "bfloat16": 2.0**-133, "float32": 2.0**-149, "float64": 2.0**-1074}
_TORCH = {
    "sqrt": lambda x: torch.from_numpy(np.asarray(np.sqrt(x.numpy()))),  # MKL's, which torch calls, is not rounded right
    "neg": torch.neg, "abs": torch.abs, "relu": torch.relu, "sigmoid": torch.sigmoid, "and": torch.bitwise_and,
    "or": torch.bitwise_or, "xor": torch.bitwise_xor, "not": torch.bitwise_not, "where": torch.where,
}  # fmt: skip


class Reference:
    """Evaluates tensors by torch. `noise`: 0 for none, else a seed."""

    def __init__(self, program, planes, rows, noise=0):
        self.planes, self.counts, self.noise = planes, dict(zip(program.rows, rows)), noise
        self.draw = np.random.default_rng(noise)
        self.values = {}

    def size(self, n):
        return self.counts[n] if isinstance(n, str) else n

    def shape(self, tensor):
        return [self.size(n) for n in tensor.shape]

    def __call__(self, tensor):
        for one in in_order(tensor):
            if one not in self.values:
                args = [self.values[arg] for arg in one.args]
                value = getattr(self, f"of_{one.op.name}")(one, one.op, *args)
                self.values[one] = self.rounded(value, one.dtype)
        return self.values[tensor]

    def rounded(self, x, dtype):
        if dtype.is_float:
            return x.double().to(getattr(torch, dtype.name)).double()
        return x.to(getattr(torch, dtype.name))

    def noisy(self, x, dtype, size=None, by=()):
        """x and an error of some last places of `size`; the same where the numbers `by` are the same.

        A sum (it has a size) that is 0 has either sign: that of its terms, or of the 0 that it begins with. Equal rows may be
        added in one order or in several: in some samples equal sums have equal errors. Large terms that cancel may leave an
        error of any size: in some samples none is larger than the sum.
        """
        if not self.noise or not dtype.is_float:
            return x
        if size is not None and self.noise % 2:
            by = (x, size)
        if by:
            mixed = np.full(x.shape, self.noise * 0x9E3779B97F4A7C15 & (1 << 64) - 1, np.uint64)
            for one in by:
                bits = np.where(one.numpy() == 0, 0.0, one.numpy()).view(np.uint64)
                mixed = (mixed ^ bits) * np.uint64(0xBF58476D1CE4E5B9)
                mixed ^= mixed >> np.uint64(29)
            unit = torch.from_numpy(np.asarray((mixed >> np.uint64(11)).astype(np.float64) / 2.0**52 - 1))
        else:
            unit = torch.from_numpy(np.asarray(self.draw.uniform(-1, 1, tuple(x.shape))))
        unit = torch.copysign(0.5 + unit.abs() / 2, unit)  # never so little that nothing changes
        error = _EPSILON[dtype.name] * ULPS * unit * (x.abs() if size is None else size)
        last_place = torch.clamp(2 * _EPSILON[dtype.name] * x.abs(), min=_LEAST[dtype.name])
        least = torch.where(error == 0, 0.0, last_place)  # which rounding does not undo
        error = torch.copysign(torch.maximum(error.abs(), least), unit)
        if size is not None and self.noise % 4 > 1:
            error = torch.where(x == 0, error, error.clamp(-x.abs(), x.abs()))
        result = torch.where(error.isfinite(), x + error, x)
        return result if size is None else torch.where(result == 0, torch.copysign(torch.zeros_like(x), unit), result)

    def summed(self, x, dtype, size):
        """A sum; `size`: of the magnitudes of its finite terms. Where they overflow and infinity is added, it may be NaN."""
        if self.noise % 2 and dtype.is_float:
            x = torch.where(x.isinf() & (size > torch.finfo(getattr(torch, dtype.name)).max), math.nan, x)
        return self.noisy(x, dtype, size)

    def extreme(self, x, dtype):
        """The largest or least number, which is either one of 0 and -0."""
        return self.noisy(x, dtype, torch.zeros_like(x)) if dtype.is_float else x

    def of_column(self, tensor, op):
        data = np.stack([self.planes[op.block, plane] for plane in op.planes], 1)
        return torch.from_numpy(data).reshape(self.shape(tensor))

    def of_constant(self, tensor, op):
        return torch.from_numpy(op.data.copy())

    def of_iota(self, tensor, op):
        return torch.arange(self.size(op.size))

    def of_logarithms(self, value, dtype, *x):
        """Of a sum of exponentials: what is rounded may be as large as its arguments."""
        size = value.abs() + 1
        for one in x:
            size = size + magnitudes(one)
        return self.noisy(value, dtype, torch.where(size.isfinite(), size, 0.0))

    def of_map(self, tensor, op, *args):
        is_integer = not args[-1].is_floating_point()
        if op.fn in ("div", "fmod") and is_integer:
            x, y = args
            negates = (y == -1) & (torch.iinfo(y.dtype).min < 0)  # torch also finds 255 of uint8 equal to -1
            safe = torch.where((y == 0) | negates, 1, y).to(y.dtype)
            if op.fn == "div":  # the least by -1 is the least, as it wraps
                result = torch.where(negates, -x, torch.div(x, safe, rounding_mode="trunc"))
            else:
                result = torch.where(negates, 0, torch.fmod(x, safe)).to(x.dtype)
            return torch.where(y == 0, torch.zeros_like(x), result)
        names = {"shl": "bitwise_left_shift", "shr": "bitwise_right_shift"}
        if op.fn == "add" and has_product(tensor, 4):  # the others may be terms of its sum
            return self.summed(args[0] + args[1], tensor.dtype, magnitudes(args[0]) + magnitudes(args[1]))
        if op.fn == "fma":  # of float64 the reference rounds the product, too
            product, added = args[0] * args[1], args[2]
            return self.summed(product + added, tensor.dtype, magnitudes(product) + magnitudes(added))
        value = (_TORCH.get(op.fn) or getattr(torch, names.get(op.fn, op.fn)))(*args)
        if op.fn in ("maximum", "minimum"):
            return self.extreme(value, tensor.dtype)
        if op.fn == "sigmoid" and self.noise % 2:  # by an exponential that overflows where it is a denormal number
            value = torch.where(value < torch.finfo(getattr(torch, tensor.dtype.name)).tiny, 0.0, value)
        if op.fn == "logaddexp":
            return self.of_logarithms(value, tensor.dtype, *args)
        return value if FUNCTIONS[op.fn].is_exact or is_integer else self.noisy(value, tensor.dtype, by=args)

    def of_cast(self, tensor, op, x):
        return x != 0 if op.dtype.is_bool else x

    def wide(self, x):
        return x.double() if x.is_floating_point() else x

    def of_reduce(self, tensor, op, x):
        axes = list(op.axes)
        if op.fn == "sum":
            size = roundings(math.prod(x.shape[i] for i in axes)) * magnitudes(x).sum(axes)
            return self.summed(x.sum(axes, dtype=x.dtype), tensor.dtype, size)
        if math.prod(x.shape[i] for i in axes) == 0:
            shape = [n for i, n in enumerate(x.shape) if i not in axes]
            return torch.full(shape, start_of(op.fn, tensor.dtype), dtype=x.dtype)
        if op.fn == "logaddexp":
            return self.of_logarithms(torch.logsumexp(x, axes), tensor.dtype, magnitudes(x).sum(axes))
        return self.extreme(x.amax(axes) if op.fn == "max" else x.amin(axes), tensor.dtype)

    def of_contract(self, tensor, op, x, y):
        spec = f"{op.left},{op.right}->{op.out}"
        if not x.is_floating_point():
            return self.products(op, x, y)
        size = torch.einsum(spec, magnitudes(x), magnitudes(y))
        total = math.prod([n for label, n in zip(op.left + op.right, [*x.shape, *y.shape]) if label not in op.out])
        return self.summed(torch.einsum(spec, x, y), tensor.dtype, size * roundings(total))

    def products(self, op, x, y):
        """Of integers, which einsum of torch has no wrapping sums of for all dtypes."""
        labels = list(dict.fromkeys(op.out + op.left + op.right))
        wide = []
        for value, own in ((x, op.left), (y, op.right)):
            value = value.permute([own.index(label) for label in labels if label in own])
            for i, label in enumerate(labels):
                value = value if label in own else value.unsqueeze(i)
            wide.append(value)
        product = wide[0] * wide[1]
        axes = list(range(len(op.out), len(labels)))
        return product.sum(axes, dtype=x.dtype) if axes else product

    def of_view(self, tensor, op, x):
        shape = self.shape(tensor)
        if not op.index:
            return x.expand(shape)
        at = []
        for one in op.index:
            index = torch.full([1] * len(shape), one.offset)
            for number, factor in one.terms:
                steps = [1] * len(shape)
                steps[number] = shape[number]
                index = index + factor * torch.arange(shape[number]).reshape(steps)
            at.append(index)
        return x[tuple(at)].expand(shape)

    def of_concat(self, tensor, op, *parts):
        return torch.cat(parts, op.axis)

    def of_gather(self, tensor, op, x, places):
        result = torch.full(self.shape(tensor), math.nan if x.is_floating_point() else 0, dtype=x.dtype)
        for at in np.ndindex(*result.shape):
            place = int(places[at])
            if 0 <= place < x.shape[op.axis]:
                index = [place if one is None else one.offset + sum(f * at[a] for a, f in one.terms) for one in op.index]
                result[at] = x[tuple(index)]
        return result

    def of_search(self, tensor, op, x, numbers):
        lines = [one.movedim(op.axis, -1).contiguous() for one in (x, numbers)]
        return torch.searchsorted(*lines, right=op.is_right).movedim(-1, op.axis).int()

    def of_scatter(self, tensor, op, x, places):
        start = start_of(op.fn, tensor.dtype)
        if not x.is_floating_point():
            return self.of_scatter_of_integers(self.shape(tensor), op, x, places, start)
        result = torch.full(self.shape(tensor), start, dtype=x.dtype)
        size, count = torch.zeros(2, *result.shape, dtype=torch.float64)
        join = {"sum": lambda a, b: a + b, "max": torch.maximum, "min": torch.minimum, "logaddexp": torch.logaddexp}[op.fn]
        for at in np.ndindex(*x.shape):
            place = int(places[at])
            if 0 <= place < result.shape[op.axis]:
                to = (*at[: op.axis], place, *at[op.axis + 1 :])
                result[to] = join(result[to], x[at])
                size[to] += magnitudes(x[at])
                count[to] += 1
        if op.fn == "logaddexp":
            return self.of_logarithms(result, tensor.dtype, size)
        if op.fn != "sum":
            return self.extreme(result, tensor.dtype)
        return self.summed(result, tensor.dtype, size * count.apply_(roundings))

    def of_scatter_of_integers(self, shape, op, x, places, start):
        """In any order: they are not rounded."""
        size = shape[op.axis]
        is_inside = (places >= 0) & (places < size)
        result = torch.full((*shape[: op.axis], size + 1, *shape[op.axis + 1 :]), start, dtype=x.dtype)
        how = {"sum": "sum", "max": "amax", "min": "amin"}[op.fn]
        return result.scatter_reduce(op.axis, torch.where(is_inside, places, size).long(), x, how).narrow(op.axis, 0, size)

    def of_sort(self, tensor, op, x):
        x = x.to(torch.int8) if x.dtype == torch.bool else x
        order = (
            torch.argsort(x, dim=op.axis, descending=op.is_largest, stable=True)
            .int()
            .narrow(op.axis, 0, min(op.k, x.shape[op.axis]))
        )
        missing = [0, 0] * (x.dim() - 1 - op.axis) + [0, op.k - order.shape[op.axis]]
        return torch.nn.functional.pad(order, missing, value=-1)

    def of_scan(self, tensor, op, x):
        if op.fn == "logaddexp":
            return self.of_logarithms(torch.logcumsumexp(x, op.axis), tensor.dtype, magnitudes(x).cumsum(op.axis))
        if op.fn != "sum":
            return self.extreme((torch.cummax if op.fn == "max" else torch.cummin)(x, op.axis).values, tensor.dtype)
        return self.summed(x.cumsum(op.axis, dtype=x.dtype), tensor.dtype, magnitudes(x).cumsum(op.axis))


def magnitudes(x):
    """Of what is finite."""
    return torch.where(x.isfinite(), x.double().abs(), 0.0)


def roundings(terms):
    """The noise of a sum: its roundings have any direction, but those of many equal terms the same one."""
    return max(1.0, math.sqrt(terms), terms / 4) / ULPS


def has_product(tensor, levels):
    """Whether it is a product of matrices, or a sum with one at most `levels` sums below."""
    is_sum = levels and isinstance(tensor.op, ops.Map) and tensor.op.fn == "add"
    return isinstance(tensor.op, ops.Contract) or (is_sum and any(has_product(arg, levels - 1) for arg in tensor.args))


# ---- comparing


@dataclass
class Truth:
    """The reference of a tensor, and the largest error of a result; where the reference is not certain, any result is right."""

    value: np.ndarray
    tolerance: np.ndarray

    def wrong(self, got):
        """Where `got` is not right."""
        value, got = self.value, got
        if value.dtype.kind != "f":
            return (value != got) & (self.tolerance == 0)
        with np.errstate(all="ignore"):
            is_equal = (value == got) | (np.isnan(value) & np.isnan(got))
            is_near = np.abs(got.astype(np.float64) - value) <= self.tolerance
        return ~(is_equal | is_near | np.isinf(self.tolerance))


SAMPLES = 4
POLES = ("reciprocal", "div", "rsqrt", "log")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
MANY_SAMPLES = 60  # of what seems wrong: a place in an order of nearly equal numbers may be the same in a few samples


class Oracle:
    def __init__(self, program, planes, rows, samples=SAMPLES):
        self.references = [Reference(program, planes, rows, noise) for noise in range(samples + 1)]
        self.judged = set()

    def __call__(self, tensor):
        for one in in_order(tensor):
            if one not in self.judged:
                self.judged.add(one)
                if one.args and one.args[-1].dtype.is_float:
                    self.judge(one)
        return self.truth(tensor)

    def judge(self, tensor):
        """Where a function jumps, and its arguments are too near for samples to say on which side, its value is not certain."""
        is_truth = isinstance(tensor.op, ops.Cast) and tensor.dtype.is_bool
        function = "ne" if is_truth else getattr(tensor.op, "fn", None)
        if function not in (*POLES, *COMPARISONS):
            return
        *others, last = map(self.truth, tensor.args)
        if function in POLES:
            near = self.near(last.value, last.tolerance)
            for reference in self.references[1:]:
                reference.values[tensor] = torch.where(near, math.nan, reference(tensor))
        else:
            near = self.near(last.value - sum(x.value for x in others), last.tolerance + sum(x.tolerance for x in others))
            for reference in self.references[1::2]:
                reference.values[tensor] = reference(tensor) ^ near

    @staticmethod
    def near(value, tolerance):
        return torch.from_numpy(np.asarray((np.abs(value) <= tolerance) & (tolerance > 0)))

    def truth(self, tensor):
        with np.errstate(all="ignore"):
            value, *others = [reference(tensor).numpy() for reference in self.references]
            if value.dtype.kind != "f":
                differs = np.any([value != other for other in others], axis=0)
                return Truth(value, np.where(differs, np.inf, 0.0))
            spread = np.max([np.where(value == other, 0.0, np.abs(value - other)) for other in others], axis=0)
            both = np.all([np.isnan(value) & np.isnan(other) for other in others], axis=0)
            spread = np.where(both, 0.0, np.where(np.isnan(spread), np.inf, spread))
            tiny = 2 * _LEAST[tensor.dtype.name]
            tolerance = np.where(spread == 0, 0.0, 4 * spread + tiny)
            if spread.any():  # a tensor that is not exact: a number that no sample changes may be off by two last places
                size = np.where(np.isfinite(value), np.abs(value), 0.0)
                tolerance = np.maximum(tolerance, 4 * _EPSILON[tensor.dtype.name] * size + tiny)
            return Truth(value, tolerance)


def first_wrong(program, planes, rows, evaluate):
    """The first tensor that `evaluate` (a program to its values) gets wrong: (tensor, got, truth), or None."""
    oracle = Oracle(program, planes, rows, MANY_SAMPLES)
    for tensor in program.tensors():
        if tensor.rows and len(tensor.rows) <= 2:
            shown = as_output(tensor)
            one = Program(program.rows, (Output(99, tuple(range(math.prod(shown.inner))), shown, shown.dtype),))
            got, truth = evaluate(one)[0], oracle(shown)
            if truth.wrong(got).any():
                return tensor, got, truth
    return None


def of_values(tensor, values):
    """The tensor on columns and constants that have the values of its arguments: (tensor, planes)."""
    args, planes = [], {}
    for i, arg in enumerate(tensor.args):
        value = values(arg)
        if isinstance(arg.op, ops.Constant) or (isinstance(arg.op, ops.View) and isinstance(arg.args[0].op, ops.Constant)):
            args.append(arg)
        elif arg.shape and isinstance(arg.shape[0], str) and len(arg.rows) == 1:
            flat = value.reshape(len(value), -1)
            args.append(build.column(i, range(flat.shape[1]), arg.dtype, arg.shape))
            planes.update({(i, p): np.ascontiguousarray(flat[:, p]) for p in range(flat.shape[1])})
        else:
            return None
    return rebuilt(tensor, tuple(args)), planes


def report(seed, rows, program, planes, evaluate, what):
    """The minimal program of a seed that fails, with its numbers."""
    found = first_wrong(program, planes, rows, evaluate)
    if found is None:
        return f"seed {seed}, {what}: the whole program is wrong, no tensor alone\n{program.dump()}"
    tensor, got, truth = found
    reference = Reference(program, planes, rows)

    def values(one):
        return reference(one).numpy().astype(storage(one.dtype))

    alone = of_values(tensor, values)
    lines = [f"seed {seed}, {what}, rows {rows}: wrong from {tensor!r} on"]
    if alone is not None:
        shown = as_output(alone[0])
        one = Program(program.rows, (Output(99, tuple(range(math.prod(shown.inner))), shown, shown.dtype),))
        again = evaluate(one, alone[1])[0]
        oracle = Oracle(one, alone[1], rows, MANY_SAMPLES)
        if oracle(shown).wrong(again).any():
            tensor, got, truth, program = alone[0], again, oracle(shown), one
            lines.append("alone, on columns with the values of its arguments:")
    else:
        one = Program(
            program.rows, (Output(99, tuple(range(math.prod(as_output(tensor).inner))), as_output(tensor), tensor.dtype),)
        )
        program = one
    bad = np.argwhere(truth.wrong(got))
    at = tuple(bad[0])
    lines.append(f"{len(bad)} of {got.size} wrong; at {[int(i) for i in at]}: got {got[at]!r}")
    lines.append(f"expected {truth.value[at]!r} +- {truth.tolerance[at]:.3g}")
    return "\n".join([*lines, program.dump()])


def check(seed, operations=12):
    """The error of the interpreter on the program of a seed; None where it is right."""
    try:
        return _check(seed, operations)
    except Exception:
        return f"seed {seed}\n{traceback.format_exc()}"


def _check(seed, operations):
    draw = drawn(seed, operations)
    program = draw.program()
    chosen = random.Random(seed + 1)
    rows = (chosen.choice(COUNTS[:-4]), chosen.choice(COUNTS[:-4]))
    planes = planes_of(program, rows, seed)

    def evaluate(one, other_planes=None):
        return interpret.interpret(one, planes if other_planes is None else other_planes, rows)

    if _is_wrong(program, planes, rows, [evaluate(program)]):
        return report(seed, rows, program, planes, evaluate, "interpreter")
    return None


BATCH = 12  # programs of one library
QUICK = 15  # of 16 libraries are compiled quickly: the C++ is what is tested; the others as packages are


def check_cpu(first, count=BATCH, level=None):
    """(messages, programs that are refused, all) of a batch of seeds: the C++ against torch."""
    try:
        return _check_cpu(range(first, first + count), level)
    except NotFused:  # takes the compiler too long; on a busy machine sooner
        if count == 1:
            return [], 1, 1
        halves = (check_cpu(first, count // 2, level), check_cpu(first + count // 2, count - count // 2, level))
        return tuple(a + b for a, b in zip(*halves))
    except Exception:
        return [f"seeds {first}:{first + count}\n{traceback.format_exc()}"], 0, count


def _check_cpu(seeds, level):
    chosen = random.Random(seeds[0])
    rows = (chosen.choice(COUNTS), chosen.choice(COUNTS))
    programs, refused, blocks = {}, 0, 0
    for seed in seeds:
        draw = drawn(seed, 12, blocks)
        try:
            cpu.schedule(simplified(draw.program()))
        except NotFused:
            refused += 1
            continue
        programs[seed] = draw
        blocks += draw.blocks
    made, outputs = {}, []
    for seed, draw in programs.items():
        made[seed] = draw.program(blocks + len(outputs))
        outputs += made[seed].outputs
    if not outputs:
        return [], refused, len(seeds)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        with compiled_quickly() if seeds[0] // BATCH % 16 < QUICK else contextlib.nullcontext():
            library = Library(Program(ROWS, tuple(outputs)), folder, level)
        planes = planes_of(library.program, rows, seeds[0])
        messages = []
        found = library.run(planes, rows)
        for seed, program in made.items():
            if _is_wrong(program, planes, rows, [_outputs(program, found)]):
                messages.append(_report(seed, rows, program, planes, folder, Library, level, "C++"))
    return messages, refused, len(seeds)


def check_cuda(first, count=BATCH, architecture=None):
    """The same of the CUDA C++, on a GPU of that architecture; None: the source by an emulation of the host. Products in
    float32: the oracle measures a number by its terms, tf32x3 by the largest number of its row.
    """
    try:
        return _check_cuda(range(first, first + count), architecture)
    except Exception:
        return [f"seeds {first}:{first + count}\n{traceback.format_exc()}"], 0, count


def _check_cuda(seeds, architecture):
    chosen = random.Random(seeds[0])
    rows = (chosen.choice(COUNTS), chosen.choice(COUNTS))
    programs = {seed: drawn(seed).program() for seed in seeds}
    messages, deterministic = [], bool(seeds[0] // len(seeds) % 2)
    with tempfile.TemporaryDirectory() as folder:
        made = cuda_libraries(programs, Path(folder), architecture, deterministic=deterministic)
        for seed, library in made.items():
            program, planes = programs[seed], planes_of(programs[seed], rows, seed)
            results = [_outputs(program, found) for found in library.runs(planes, rows)]
            least = 2.0**-126 if architecture else 0.0  # sums by index of a GPU take denormal numbers for 0
            if _is_wrong(program, planes, rows, results, least):
                library = functools.partial(CudaLibrary, precision="ieee", deterministic=deterministic)
                messages.append(_report(seed, rows, program, planes, Path(folder), library, architecture, "CUDA"))
    return messages, len(seeds) - len(made), len(seeds)


def _is_wrong(program, planes, rows, results, least=0.0):
    """Whether one of the results is: a value for each output. `least`: floats that differ by less are equal."""

    def differs(samples):
        oracle = Oracle(program, planes, rows, samples)
        for i, output in enumerate(program.outputs):
            truth = oracle(output.value)
            if truth.value.dtype.kind == "f":
                truth = Truth(truth.value, np.maximum(truth.tolerance, least))
            if any(truth.wrong(values[i]).any() for values in results):
                return True
        return False

    return differs(SAMPLES) and differs(MANY_SAMPLES)


def _outputs(program, found):
    """A value for each output, of planes by block."""
    return [_shaped(output, found[output.block]) for output in program.outputs]


def _shaped(output, planes):
    return loaded(planes, output.column).T.reshape(planes.shape[1], *output.value.inner)


def _report(seed, rows, program, planes, folder, kind, target, what):
    count = iter(range(1000))

    def evaluate(one, other_planes=None):
        """Blocks of a column may have any number; those of outputs are behind them."""
        last = max([block for block, _ in (planes if other_planes is None else other_planes)], default=0)
        moved = Program(one.rows, tuple(dataclasses.replace(o, block=last + 1 + i) for i, o in enumerate(one.outputs)))
        library = kind(moved, folder, target, f"seed{seed}_{next(count)}")  # a library of a name is loaded once
        found = library.run(planes if other_planes is None else other_planes, rows)
        return _outputs(moved, found)

    return report(seed, rows, program, planes, evaluate, what)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0:300")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cpu", action="store_true", help="the C++ for this CPU, not the interpreter")
    parser.add_argument("--level", help="of the instruction set")
    parser.add_argument("--cuda", nargs="?", const="host", help="the CUDA C++, on a GPU of this architecture or emulated")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    failures = refused = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        if options.cpu:
            found = pool.map(check_cpu, range(first, last, BATCH), itertools.repeat(BATCH), itertools.repeat(options.level))
        elif options.cuda:
            architecture = None if options.cuda == "host" else options.cuda
            found = pool.map(check_cuda, range(first, last, BATCH), itertools.repeat(BATCH), itertools.repeat(architecture))
        else:
            found = (([message] if message else [], 0, 1) for message in pool.map(check, range(first, last), chunksize=8))
        for messages, skipped, _ in found:
            refused += skipped
            for message in messages:
                failures += 1
                print(message, flush=True)
    print(f"{last - first} programs, {refused} refused, {failures} wrong")
    return int(failures > 0)


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())
