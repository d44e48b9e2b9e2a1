# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Row programs in NumPy, float64: what the tests compare with."""

import numpy as np

from tensoa.compiler.ir import FUNCTIONS, REDUCTIONS, Output, Visitor, integers
from tensoa.compiler.ir.pairs import SUMS
from tensoa.compiler.ir.program import ARGUMENT


def _norm(x, weight, bias, eps, is_centered):
    mean = 0.0 if is_centered else x.mean(axis=-1, keepdims=True)
    y = (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + eps)
    return y * (1.0 if weight is None else weight) + (0.0 if bias is None else bias)


def _inside(index, rows):
    """Where an index names one of the rows."""
    return (index >= 0) & (index < rows)


def _rows_at(x, index):
    """Rows of x; NaN where the index names none."""
    result, inside = np.full((len(index), x.shape[1]), np.nan), _inside(index, len(x))
    result[inside] = x[index[inside]]
    return result


def _groups(value, array):
    """[rows, times, numbers of a group]"""
    return array.reshape(len(array), value.times, array.shape[1] // value.times)


def _column(value, columns, plane):
    """A plane of an input, after the steps."""
    column = columns[value.block][plane]
    if not value.steps:
        return column
    return integers.calculate(value.steps, column.astype(np.int64))


def _scores(score, q, k):
    """[rows, keys]"""
    steps = []
    for name, *arguments in score:
        if name == "number":
            found = np.full((len(q), len(k)), arguments[0])
        elif name in ("query", "key"):
            found = q[:, arguments[0], None] if name == "query" else k[None, :, arguments[0]]
        elif name in SUMS:
            i, j, count = arguments
            x, y = q[:, None, i : i + count], k[None, :, j : j + count]
            found = (x * y).sum(axis=2) if name == "dot" else ((x - y) ** 2).sum(axis=2)
        else:
            found = FUNCTIONS[name].numpy(*(steps[argument] for argument in arguments))
        steps.append(np.broadcast_to(found, (len(q), len(k))).astype(np.float64))
    return steps[-1]


class _Evaluation(Visitor):
    """The rows of each value, made from those of its arguments."""

    def __init__(self, columns, rows, program):
        self.columns, self.program = columns, program
        self.rows = [*rows, *(rows[domain] * times for domain, times in program.lifted)]

    def _at_places(self, value, *far):
        """[rows, n, width] of what `places` names."""
        domain, times = self.program.parts(value.domain)
        numbers = np.concatenate([x.reshape(self.rows[domain], -1) for x in far], axis=1)
        first = np.cumsum([0, *(x.size // max(1, self.rows[domain]) for x in far)])
        places = first[value.places // ARGUMENT] + value.places % ARGUMENT
        found = np.repeat(numbers[:, places], times // len(places), axis=1)
        return found.reshape(self.rows[value.domain], *places.shape[1:])

    def of_regroup(self, value, *far):
        return self._at_places(value, *far)[:, 0]

    def of_multiply(self, value, x, *far):
        return (x[:, None] @ self._at_places(value, *far))[:, 0]

    def of_pick(self, value, place, *far):
        vectors = self._at_places(value, *far)
        inside = _inside(place[:, 0], vectors.shape[1])
        at = np.where(inside, place[:, 0], 0).astype(np.int64)
        return np.where(inside[:, None], vectors[np.arange(len(at)), at], np.nan)

    def of_fold(self, value, *far):
        return REDUCTIONS[value.name].numpy(self._at_places(value, *far), axis=1)

    def of_input(self, value):
        planes = [_column(value, self.columns, plane) for plane in value.planes]
        result = np.stack(planes, axis=1).astype(np.float64)
        return np.broadcast_to(result[:1], result.shape) if value.is_scalar else result

    def of_index(self, value):
        return _column(value, self.columns, value.plane).astype(np.int64)

    def of_constant(self, value):
        return np.broadcast_to(value.array.astype(np.float64), (self.rows[value.domain], value.width))

    def of_linear(self, value, x):
        result = _groups(value, x) @ value.weight.astype(np.float64).T
        return (result if value.bias is None else result + value.bias).reshape(-1, value.width)

    def of_product(self, value, *args):
        x, y = (_groups(value, arg) for arg in args)
        x = x.reshape(*x.shape[:2], x.shape[2] // value.inner, value.inner)
        y = y.reshape(*y.shape[:2], value.inner, y.shape[2] // value.inner)
        return (x @ y).reshape(-1, value.width)

    def of_map(self, value, *args):
        result = FUNCTIONS[value.name].numpy(*args)
        return np.broadcast_to(result, (self.rows[value.domain], value.width)).astype(np.float64)

    def of_double(self, value, *args):
        """Numbers of float64 are whole in the place of their high word."""
        args = iter(args)
        operands = []
        for kind in value.kinds:
            numbers = np.frombuffer(kind) if isinstance(kind, bytes) else next(args)
            operands.append(numbers[:, : numbers.shape[1] // 2] if kind == "words" else numbers)
        result = np.broadcast_to(FUNCTIONS[value.name].numpy(*operands), (self.rows[value.domain], value.numbers))
        return result if value.is_short else np.concatenate([result, np.zeros_like(result, np.float64)], axis=1)

    def of_norm(self, value, x):
        result = _norm(_groups(value, x), value.weight, value.bias, value.eps, value.is_centered)
        return result.reshape(-1, value.width)

    def of_reduce(self, value, x):
        return REDUCTIONS[value.name].numpy(_groups(value, x), axis=2)

    def of_order(self, value, x):
        keys = np.where(np.isnan(_groups(value, x)), np.inf, _groups(value, x))
        last = np.isnan(_groups(value, x))
        sign = -1 if value.is_largest else 1
        found = np.lexsort((sign * keys, sign * last), axis=2)  # stable
        return found[:, :, : value.count].reshape(len(x), value.width).astype(np.float64)

    def of_take(self, value, x, places):
        x = x.reshape(len(x), value.times, x.shape[1] // value.times // value.inner, value.inner)
        places = _groups(value, places)
        inside = _inside(places, x.shape[2])
        found = np.take_along_axis(x, np.where(inside, places, 0).astype(np.int64)[..., None], axis=2)
        return np.where(inside[..., None], found, np.nan).reshape(len(x), value.width)

    def of_pack(self, value, *args):
        return np.concatenate([arg[:, start:stop] for arg, (start, stop) in zip(args, value.ranges)], axis=1)

    def of_lookup(self, value, index):
        return _rows_at(value.table.astype(np.float64), index)

    def of_row(self, value, x):
        number = x[:, value.number]
        return np.where(number >= 0, number, -1).astype(np.int64)

    def of_attend(self, value, q, k, v):
        results = []
        for own, keys, values in zip(*(_groups(value, part).swapaxes(0, 1) for part in (q, k, v))):
            w = _scores(value.score, own, keys)
            if value.weights != "sum" and len(keys):
                w = np.exp(w - w.max(axis=1, keepdims=True))
                w = w / w.sum(axis=1, keepdims=True)
            if value.weights == "safe" and len(keys):
                w[(_scores(value.score, own, keys) == -np.inf).all(axis=1)] = 0
            results.append(w @ values)
        return np.concatenate(results, axis=1)

    def of_nearest(self, value, q, k):
        scores = _scores(value.score, q, k)
        keys, last = np.where(np.isnan(scores), np.inf, scores), np.isnan(scores)
        sign = -1 if value.is_largest else 1
        found = np.lexsort((sign * keys, sign * last), axis=1)[:, : value.count]  # stable
        return np.pad(found, ((0, 0), (0, value.count - found.shape[1])), constant_values=-1).astype(np.float64)

    def of_gather(self, value, x, index):
        return _rows_at(x, index)

    def of_scatter(self, value, x, index):
        start, join = REDUCTIONS[value.name].start, {"sum": np.add, "amax": np.maximum, "amin": np.minimum}[value.name]
        result, inside = np.full((self.rows[value.domain], value.width), start), _inside(index, self.rows[value.domain])
        join.at(result, index[inside], x[inside])
        return result


def evaluate(program, columns, rows):
    """One array [rows, width] for each output. `columns[block][plane]`: an array; `rows[domain]`: their number.

    An index that names no row reads NaN, and is in no scatter.
    """
    done, evaluation = {}, _Evaluation(columns, rows, program)
    for value in program.values():
        done[id(value)] = evaluation.visit(value, *(done[id(argument)] for argument in value.args))
    return [done[id(output.value)] for output in program.outputs]


def side_by_side(values, first):
    """Outputs of values, those of domain d side by side in block first + d; each value is an output of its own."""
    outputs, widths = [], {}
    for value in values:
        start = widths.get(value.domain, 0)
        widths[value.domain] = start + value.width
        outputs.append(Output(first + value.domain, tuple(range(start, start + value.width)), value))
    return outputs
