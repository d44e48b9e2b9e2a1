# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Random modules, rows as real files have them, and what float32 may make of them (random_packages.py).

What is right is what torch gives in float64. How far float32 may be from it is measured: torch runs the module in float32,
and again with its inexact operations (sums, products of matrices, exp, norms) off by their own error, so that an error
grows here as it grows there. Arithmetic number by number is exact in all runs: there an answer is the same, or wrong.
"""

import math
import random

import numpy as np
import torch
from torch import nn
from torch.nn import functional as f
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

import random_programs
from bindings import GRAPH, block
from tensoa.binding.model import as_exported

# ---- rows


def _far(draw, shape):
    """The mean of each column is 10^3 to 10^6 times its spread."""
    return 10.0 ** draw.uniform(-2, 2) * (10.0 ** draw.uniform(3, 6, (1, shape[1])) + draw.normal(size=shape))


def _ended(draw, shape, end):
    numbers = np.sort(draw.normal(size=shape), axis=1)
    for row, count in zip(numbers, draw.integers(1, max(2, shape[1] // 2), shape[0])):
        row[-count:] = end
    return numbers


def _somewhere(draw, shape, numbers):
    return np.where(draw.uniform(size=shape) < 0.3, draw.choice(numbers, shape), draw.normal(size=shape))


#: Numbers [rows, columns] of one kind.
KINDS = {
    "normal": lambda draw, shape: draw.normal(size=shape),
    "equal columns": lambda draw, shape: np.repeat(draw.uniform(0.1, 300, (shape[0], 1)), shape[1], axis=1),
    "equal pairs": lambda draw, shape: np.repeat(draw.normal(size=(shape[0], shape[1] // 2 + 1)), 2, axis=1)[:, : shape[1]],
    "equal rows": lambda draw, shape: np.repeat(draw.normal(size=(1, shape[1])), shape[0], axis=0),
    "constant": lambda draw, shape: np.full(shape, draw.choice([0.1, 50.0, 1000.0, -5000.3])),
    "far": _far,
    "far rows": lambda draw, shape: draw.normal(size=shape) + 10.0 ** draw.uniform(3, 6, (shape[0], 1)),
    "zeros": lambda draw, shape: np.zeros(shape),
    "small integers": lambda draw, shape: draw.integers(-4, 5, shape),
    "ties": lambda draw, shape: draw.choice(draw.normal(size=3), shape),
    "sorted": lambda draw, shape: np.sort(draw.normal(size=shape), axis=1),
    "repeated": lambda draw, shape: np.repeat(draw.normal(size=(shape[0] // 3 + 1, shape[1])), 3, axis=0)[: shape[0]],
    "padded": lambda draw, shape: _ended(draw, shape, 0.0),
    "NaN at the end": lambda draw, shape: _ended(draw, shape, math.nan),
    "infinite": lambda draw, shape: _somewhere(draw, shape, [math.inf, -math.inf]),
    "negative zeros": lambda draw, shape: _somewhere(draw, shape, [-0.0, 0.0]),
    "denormal": lambda draw, shape: _somewhere(draw, shape, [1e-40, -1e-42, 1e-45]),
    "sizes": lambda draw, shape: draw.choice([-1.0, 1.0], shape) * 10.0 ** draw.uniform(-8, 8, shape),
}
ROWS = 12  # of each kind


def floats(draw, columns, kinds=tuple(KINDS), rows=ROWS):
    """float32 numbers [rows of each kind, columns]."""
    with np.errstate(over="ignore"):
        return np.concatenate([KINDS[kind](draw, (rows, columns)) for kind in kinds]).astype(np.float32)


def integers(draw, columns, largest, kinds=tuple(KINDS), rows=ROWS):
    """Small and large integers, equal ones where those of floats are."""
    found = []
    for kind in kinds:
        most = {"normal": largest, "sizes": largest, "zeros": 0}.get(kind, 5)
        numbers = draw.integers(-most, most + 1, (rows, columns))
        if kind in ("equal columns", "constant"):
            numbers[:] = numbers[:, :1]
        if kind in ("equal rows", "constant"):
            numbers[:] = numbers[:1]
        found.append(np.sort(numbers, axis=1) if kind == "sorted" else numbers)
    return np.concatenate(found)


# ---- what float32 may make of them

#: Operations that give one certain number (each is rounded once, or moves numbers): their results are the same everywhere.
#: sqrt is none of them: that of torch with AVX-512 is off by one in the last place for a sixth of all numbers.
EXACT = set(
    "add sub rsub mul div neg abs relu clamp clamp_min clamp_max minimum maximum floor ceil round trunc sign "
    "fmod remainder where masked_fill eq ne lt le gt ge isnan isinf logical_and logical_or logical_not _to_copy "
    "clone copy cat stack sort topk kthvalue gather index index_select amax amin max min argmax argmin argsort "
    "constant_pad_nd flip roll repeat one_hot searchsorted bucketize nan_to_num square threshold hardtanh frac "
    "copysign median view slice select expand permute t transpose unsqueeze squeeze alias detach _unsafe_view "
    "reshape split unbind zeros ones full zeros_like ones_like full_like arange scalar_tensor lift_fresh fill "
    "nonzero slice_scatter".split()
)
#: Sums and products, whose order is free, and which may be rounded once: they may be off by the rounding of their terms.
SUMS = set("sum mean mm addmm bmm baddbmm convolution index_add scatter_add scatter_reduce dot mv addcmul".split())
#: An error of the mean moves all numbers of a row.
NORMS = {"native_layer_norm", "native_group_norm"}
#: One of several equal numbers, and torch does not state which: where it is zero, its sign may be either.
OF_EQUALS = set("sort topk kthvalue median amax amin max min".split())
EPS = {torch.float32: 2.0**-23, torch.float64: 2.0**-52}


def _map(function, arguments):
    return tree_map(lambda x: function(x) if isinstance(x, torch.Tensor) and x.is_floating_point() else x, arguments)


class Noise(TorchDispatchMode):
    """Inexact operations are off by about their own error: at seeds 0 and 1 all to one side, at 2 norms to zero. `groups`:
    {number of rows: the group of each row}; the error of a number is the largest of the same column in its group, since
    torch's may be right by chance, and twice that, since what is right may be on either side of it.
    """

    def __init__(self, seed, groups):
        super().__init__()
        self.random, self.groups = torch.Generator().manual_seed(seed), groups
        self.side, self.is_to_zero = {0: -1, 1: 1}.get(seed), seed == 2

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        results = function(*args, **kwargs)
        name = function._schema.name.split("::")[1].rstrip("_")
        is_extreme = any(isinstance(one, str) and one in ("amax", "amin") for one in args)
        if name in OF_EQUALS:
            return _map(lambda y: self._either_zero(y, args[0]), results)
        if name in EXACT or is_extreme or function.is_view or function._schema.is_mutable:
            return results
        if isinstance(results, (tuple, list)):
            exact = self._exact(function, args, kwargs)
            is_norm = name in NORMS and results[0].dim() > 1 and results[0].numel() > 0
            terms = results[0].abs().flatten(1).amax(1) if is_norm else None
            return type(results)(
                self._off(y, *(e[i] for e in exact), None if i else terms, is_norm and not i) for i, y in enumerate(results)
            )
        if not isinstance(results, torch.Tensor):
            return results
        factors = {key: abs(value) if key in ("alpha", "beta", "value") else value for key, value in kwargs.items()}
        terms = function(*_map(torch.abs, args), **factors) if name in SUMS else None
        return self._off(results, *self._exact(function, args, kwargs), terms=terms)

    @staticmethod
    def _exact(function, args, kwargs):
        """The results in float32 and in float64."""
        single, double = (_map(convert, (args, kwargs)) for convert in (lambda x: x.float(), lambda x: x.float().double()))
        if kwargs.get("dtype") in EPS:
            double[1]["dtype"], single[1]["dtype"] = torch.float64, torch.float32
        return function(*single[0], **single[1]), function(*double[0], **double[1])

    def _noise(self, y):
        """Numbers of -1 to 1."""
        if self.side is not None:
            return self.side * torch.ones_like(y, dtype=torch.float64)
        return (torch.rand(y.shape, generator=self.random, dtype=torch.float64, device="cpu") * 2 - 1).to(y.device)

    def _either_zero(self, y, x):
        """Zeros of either sign, in rows of `x` that have both."""
        is_by_row = x.dim() > 1 and x.shape[0] == y.shape[:1].numel() and y.dim() > 0
        is_zero, is_negative = x == 0, torch.signbit(x)
        zeros = (is_zero & is_negative, is_zero & ~is_negative)
        both = [(one.flatten(1).any(1) if is_by_row else one.any()) for one in zeros]
        is_open = (both[0] & both[1]).reshape(-1, *[1] * max(y.dim() - 1, 0)) & (y == 0)
        return torch.where(is_open, self._noise(y).sign().to(y.dtype) * 0.0, y)

    def _off(self, y, single, double, terms=None, is_norm=False):
        if not isinstance(y, torch.Tensor) or y.dtype not in EPS or y.numel() == 0:
            return y
        eps = EPS[y.dtype]
        error = (double - single).abs().nan_to_num(0.0, 0.0, 0.0).double() * (2 * eps / EPS[torch.float32])
        groups = self.groups.get(y.shape[0]) if y.dim() else None
        if groups is not None:
            index = groups.reshape(-1, *[1] * (y.dim() - 1)).expand(y.shape)
            largest = torch.zeros_like(error).scatter_reduce(0, index, error, "amax")
            error = largest.gather(0, index)
        error = error + 2 * eps * y.abs().double().nan_to_num(0.0, 0.0, 0.0)
        if terms is not None:
            terms = terms.reshape(-1, *[1] * (y.dim() - 1)) if terms.dim() < y.dim() else terms
            error = error + 2 * eps * terms.double().nan_to_num(0.0, 0.0, 0.0)
        if self.is_to_zero and is_norm:
            return torch.where(y.abs() <= error, 0.0 * y, y)
        return torch.where(y.isfinite(), (y.double() + self._noise(y) * error).to(y.dtype), y)


RUNS, MANY_RUNS = 12, 150  # many where numbers seem wrong: what one rounding in ten decides may be missing in few


def runs_of(module, double, arguments, groups, count=RUNS):
    """[run, rows, columns] in float64 for each output: float64 (`double` is that module), float32, and `count` times float32
    that is off.
    """
    wide = [argument.double() if argument.is_floating_point() else argument for argument in arguments]
    with as_exported():  # torch's fast path of attention is one operation, and Noise does not reach the sums inside
        runs = [double(*wide), module(*arguments)]
        for seed in range(count):
            with Noise(seed, groups):
                runs.append(module(*arguments))
    return [np.stack([one.detach().double().cpu().numpy() for one in results]) for results in zip(*runs)]


def is_wrong(got, runs, eps):
    """Where: outside of all runs by more than they differ, and more than rounding; not the NaN or infinity that all give."""
    with np.errstate(all="ignore"):
        low, high = runs.min(0), runs.max(0)
        slack = high - low + 4 * eps * np.maximum(np.abs(low), np.abs(high)) + 2e-38
        is_inside = (got >= low - slack) & (got <= high + slack)
        is_same = (runs == runs[0]).all(0) & np.isinf(runs[0])
    wrong = np.isfinite(runs).all(0) & ~is_inside
    return wrong | (np.isnan(runs).all(0) & ~np.isnan(got)) | (is_same & (got != runs[0]))


# ---- modules

OF_TWO = [torch.add, torch.sub, torch.mul, torch.div, torch.minimum, torch.maximum, torch.fmod, torch.remainder, torch.atan2]
REDUCTIONS = {
    **{name: lambda x, name=name: getattr(x, name)(-1, keepdim=True) for name in "sum mean amax amin logsumexp".split()},
    **{name: lambda x, name=name: getattr(x, name)(-1, keepdim=True, correction=0) for name in ("var", "std")},
    "norm": lambda x: torch.linalg.vector_norm(x, dim=-1, keepdim=True),
    "how many": lambda x: (x > 0).sum(-1, keepdim=True).to(x.dtype),
    "argmax": lambda x: x.argmax(-1, keepdim=True).to(x.dtype),
}


class RandomModule(nn.Module):
    """Steps that a seed draws. A subclass says what it starts from."""

    steps = ()  # names of methods, those that come several times more often

    def __init__(self, seed):
        super().__init__()
        self.seed, self.layers = seed, nn.ModuleDict()

    def layer(self, at, make):
        if str(at) not in self.layers:
            torch.manual_seed(1000 * self.seed + len(self.layers))
            self.layers[str(at)] = make().eval()
        return self.layers[str(at)]

    def run(self, **pools):
        """The results: numbers of rows, of [rows, at most 12]. `pools`: tensors of each kind, floats [rows, any] first."""
        draw, self.pools = random.Random(self.seed), {name: list(tensors) for name, tensors in pools.items()}
        for at in range(draw.randint(3, 8)):
            getattr(self, draw.choice(self.steps))(draw, at)
        return torch.cat(self.pools["x"][-2:], 1)[:, :12] * 1.0

    def one(self, draw, pool="x"):
        """One of a pool; what came last more often."""
        tensors = self.pools[pool]
        return tensors[-1 - min(int(draw.expovariate(0.6)), len(tensors) - 1)]

    def put(self, x, pool="x"):
        self.pools[pool].append(x if pool != "x" else x[:, :24])

    # ---- number by number

    def of_two(self, draw, at):
        x, y = self.one(draw), self.one(draw)
        width = min(x.shape[1], y.shape[1])
        self.put(draw.choice(OF_TWO)(x[:, :width], y[:, :width]))

    def difference_of_products(self, draw, at):
        x = self.one(draw)
        n = max(1, x.shape[1] // 2)
        a, b = x[:, :n], x[:, -n:]
        kind = draw.randrange(6)
        if kind == 0:
            y = torch.sqrt(a * a - b * b)
        elif kind == 1:
            y = a * b.flip(1) - a.flip(1) * b
        elif kind == 2:
            y = a * 1.1 - b * 1.1
        elif kind == 3:
            y = b * b - 4.0 * a * draw.choice([0.25, 0.3])
        elif kind == 4:
            y = (a * a + b * b).sqrt() - (a * a + b * b).flip(1).sqrt()
        else:
            y = torch.addcmul(a * b, a, b, value=-1.0)
        self.put(draw.choice([torch.floor, torch.sign, torch.abs, torch.neg, torch.relu])(y) if draw.random() < 0.4 else y)

    def function(self, draw, at):
        x = self.one(draw)
        x = x[:, :6] if x.shape[1] >= 6 else x.repeat(1, 6)[:, :6]
        self.put(draw.choice(list(random_programs.OF_FLOATS.values()))(x, x.flip(1)).to(x.dtype))  # also in float64

    def compared(self, draw, at):
        x, y = self.one(draw), self.one(draw)
        width = min(x.shape[1], y.shape[1])
        x, y = x[:, :width], y[:, :width]
        truth = draw.choice([torch.lt, torch.le, torch.eq, torch.ne])(x, y)
        if draw.random() < 0.5:
            truth = truth | (x > draw.choice([0.0, 1.0])) & ~torch.isnan(y)
        self.put(torch.where(truth, x, y * 2.0) if draw.random() < 0.5 else truth.to(x.dtype))

    def cast(self, draw, at):
        x = self.one(draw)
        kind = draw.randrange(4)
        if kind == 0:
            x = x.clamp(-1e4, 1e4)
        y = draw.choice([x.long(), x.int()]) if kind < 3 else (x > 0).int() + (x > 1).int()
        self.put(y.to(x.dtype) if draw.random() < 0.7 else (y > 0).to(x.dtype))

    # ---- in a row

    def linear(self, draw, at):
        x, outputs = self.one(draw), draw.choice([1, 2, 3, 8, 16])
        width, bias = x.shape[1], draw.random() < 0.7
        self.put(
            draw.choice([torch.relu, torch.tanh, f.silu, torch.abs])(self.layer(at, lambda: nn.Linear(width, outputs, bias))(x))
        )

    def norm(self, draw, at):
        x = self.one(draw)
        width = x.shape[1]
        if draw.random() < 0.6 or width % 2 or width < 4:
            self.put(self.layer(at, lambda: nn.LayerNorm(width))(x))
        else:
            self.put(self.layer(at, lambda: nn.GroupNorm(2, width))(x))

    def batch_norm(self, draw, at):
        x = self.one(draw)

        def make():
            layer = nn.BatchNorm1d(x.shape[1])
            layer.running_mean.normal_()
            layer.running_var.uniform_(0.5, 2.0)
            return layer

        self.put(self.layer(at, make)(x))

    def reduce(self, draw, at):
        x = self.one(draw)
        y = draw.choice(list(REDUCTIONS.values()))(x)
        self.put(y if draw.random() < 0.5 else x - y)

    def soft(self, draw, at):
        x = self.one(draw)
        self.put(draw.choice([lambda: x.softmax(1), lambda: x.log_softmax(1), lambda: f.normalize(x, dim=1)])())

    def ordered(self, draw, at):
        x = self.one(draw)
        kind, width = draw.randrange(7), x.shape[1]
        if kind == 0:
            y = x.sort(1, descending=draw.random() < 0.5).values
        elif kind == 1:
            y = x.topk(draw.randint(1, width), 1, largest=draw.random() < 0.5).values
        elif kind == 2:
            y = x.kthvalue(draw.randint(1, width), 1, keepdim=True).values
        elif kind == 3:
            y = x.cumsum(1)
        elif kind == 4:
            y = x.cumprod(1)
        elif kind == 5:
            y = x.cummax(1).values - x.cummin(1).values
        else:
            y = torch.searchsorted(x.sort(1).values, self.one(draw)[:, :3].contiguous(), right=draw.random() < 0.5).to(x.dtype)
        self.put(y)

    def chosen(self, draw, at):
        x = self.one(draw)
        places = x.sort(stable=True, dim=1).indices if draw.random() < 0.5 else x.argmin(1, keepdim=True)
        y = self.one(draw)
        self.put(y.gather(1, places.clamp(max=y.shape[1] - 1)))

    def moved(self, draw, at):
        x, y = self.one(draw), self.one(draw)
        first = draw.randrange(x.shape[1])
        cut = draw.randint(first + 1, x.shape[1])
        self.put(
            draw.choice([lambda: torch.cat([x, y], 1), lambda: x[:, first:cut], lambda: x.flip(1), lambda: x.roll(1, 1)])()
        )


class Rows(RandomModule):
    """x, y: float32 [rows, 8]."""

    inputs = [block("x", 8), block("y", 8)]
    steps = (
        "of_two of_two difference_of_products difference_of_products function function compared cast linear linear norm norm "
        "batch_norm reduce reduce reduce soft ordered ordered chosen moved"
    ).split()

    def forward(self, x, y):
        return self.run(x=[y, x])

    @staticmethod
    def columns(draw):
        both = floats(draw, 16)
        return [both[:, :8], both[:, 8:]], None


class Mixed(RandomModule):
    """float32, float64, int64, int32 and int16."""

    inputs = [block("x", 6), block("d", 4, "float64"), block("k", 3, "int64"), block("i", 3, "int32"), block("q", 2, "int16")]
    steps = (
        "of_two difference_of_products compared cast reduce linear of_doubles of_doubles of_integers of_integers joined".split()
    )

    def forward(self, x, d, k, i, q):
        return self.run(x=[x], d=[d], k=[i, q, k.clamp(-1000, 1000), k.clamp(-9, 9)])

    def of_doubles(self, draw, at):
        a, b = self.one(draw, "d"), self.one(draw, "d")
        width = min(a.shape[1], b.shape[1])
        a, b = a[:, :width], b[:, :width]
        kind = draw.randrange(6)
        if kind == 0:
            y = a * b.flip(1) - a.flip(1) * b
        elif kind == 1:
            y = draw.choice([torch.add, torch.sub, torch.mul, torch.minimum])(a, b)
        elif kind == 2:
            y = torch.sqrt(a * a - b * b)
        elif kind == 3:
            y = draw.choice([torch.exp, torch.sin, torch.log1p, torch.floor, torch.abs])(a)
        elif kind == 4:
            y = a - a.mean(1, keepdim=True)
        else:
            y = torch.where(a > b, a, b * 0.5)
        self.put(y, "d")

    def of_integers(self, draw, at):
        a, b = self.one(draw, "k"), self.one(draw, "k")
        width = min(a.shape[1], b.shape[1])
        a, b = a[:, :width], b[:, :width]
        kind, n = draw.randrange(6), draw.choice([2, 3, 7])
        if kind == 0:
            y = draw.choice([torch.add, torch.sub, torch.minimum, torch.maximum])(a, b)
        elif kind == 1:
            y = a % n
        elif kind == 2:
            y = torch.div(a, n, rounding_mode=draw.choice(["floor", "trunc"]))
        elif kind == 3:
            y = torch.where(a > b, a, -b)
        elif kind == 4:
            y = (a == b).int() + a.abs()
        else:
            y = a * n
        self.put(y, "k")

    def joined(self, draw, at):
        x = self.pools["x"][0]
        kind = draw.randrange(4)
        if kind == 0:
            self.put(self.one(draw, "d").to(x.dtype))
        elif kind == 1:
            self.put(self.one(draw, "k").to(x.dtype))
        elif kind == 2:
            self.put(self.one(draw, "k")[:, :1] * self.one(draw))
        else:
            self.put(self.one(draw).double(), "d")

    def run(self, **pools):
        x = super().run(**pools)
        last = [x, self.pools["d"][-1].to(x.dtype), self.pools["k"][-1].to(x.dtype)]
        return self.pools["d"][-1] * 1.0 if self.seed % 4 == 0 else torch.cat(last, 1)

    @staticmethod
    def columns(draw):
        wide = floats(draw, 4).astype(np.float64)
        wide[: 2 * ROWS] += draw.normal(size=(2 * ROWS, 4)) * 1e-9  # what float32 does not hold
        planes = (
            integers(draw, 3, 1 << 40),
            integers(draw, 3, 1 << 20).astype(np.int32),
            integers(draw, 2, 300).astype(np.int16),
        )
        return [floats(draw, 6), wide, *planes], None


class Sets(RandomModule):
    """Six elements of four numbers in every row, and how many of them are there."""

    inputs = [block("s", 24), block("n", 1, "int32")]
    steps = "of_set of_set of_set attention heads neighbours masked pooled pooled product".split()
    steps += "difference_of_products norm linear".split()

    def forward(self, s, n):
        s = s.view(-1, 6, 4)
        is_there = torch.arange(6) < n.clamp(0, 6)
        return self.run(x=[s.flatten(1)], s=[s], m=[is_there])

    def of_set(self, draw, at):
        s = self.one(draw, "s")
        width, outputs = s.shape[2], draw.choice([2, 4, 8])
        kind = draw.randrange(4)
        if kind == 0:
            y = torch.relu(self.layer(at, lambda: nn.Linear(width, outputs))(s))
        elif kind == 1:
            y = self.layer(at, lambda: nn.LayerNorm(width))(s)
        elif kind == 2:
            y = s - s.mean(1, keepdim=True)
        else:
            y = self.layer(at, lambda: nn.Conv1d(width, outputs, 3, padding=1))(s.transpose(1, 2)).transpose(1, 2)
        self.put(y, "s")

    def attention(self, draw, at):
        s = self.one(draw, "s")
        q, k = (self.layer(f"{at}{i}", lambda: nn.Linear(s.shape[2], 4))(s) for i in "qk")
        mask = self.pools["m"][0][:, None, :] if draw.random() < 0.5 else None
        self.put(f.scaled_dot_product_attention(q, k, s, attn_mask=mask), "s")

    def heads(self, draw, at):
        s = self.one(draw, "s")
        if s.shape[2] % 2 == 0:
            layer = self.layer(at, lambda: nn.MultiheadAttention(s.shape[2], 2, batch_first=True))
            self.put(layer(s, s, s, need_weights=False)[0], "s")

    def neighbours(self, draw, at):
        s = self.one(draw, "s")
        distance = (s[:, :, None] - s[:, None]).square().sum(3)
        self.put(distance.topk(3, 2, largest=False).values, "s")

    def masked(self, draw, at):
        s = self.one(draw, "s")
        self.put(s.masked_fill(~self.pools["m"][0][..., None], draw.choice([0.0, -9.0])), "s")

    def pooled(self, draw, at):
        s = self.one(draw, "s")
        kind = draw.randrange(5)
        if kind == 0:
            y = s.sum(1)
        elif kind == 1:
            y = s.amax(1)
        elif kind == 2:
            y = s.var(1)
        elif kind == 3:
            weights = self.pools["m"][0].to(s.dtype)[..., None]
            y = (s * weights).sum(1) / weights.sum(1).clamp(min=1)
        else:
            y = (s.softmax(1) * s).sum(1)
        self.put(y)

    def product(self, draw, at):
        s = self.one(draw, "s")
        self.put((s[:, :3] @ s.transpose(1, 2)[:, :, :4]).flatten(1))

    @staticmethod
    def columns(draw):
        return [floats(draw, 24), draw.integers(0, 8, (ROWS * len(KINDS), 1)).astype(np.int32)], None


class Across(RandomModule):
    """Rows of an event that read each other."""

    inputs = [block("x", 6)]
    steps = "attention attention nearest linear norm reduce difference_of_products moved".split()

    def forward(self, x):
        return self.run(x=[x])

    def attention(self, draw, at):
        x = self.one(draw)
        q, k = (self.layer(f"{at}{i}", lambda: nn.Linear(x.shape[1], 4))(x) for i in "qk")
        self.put(f.scaled_dot_product_attention(q[None], k[None], x[None])[0])

    def nearest(self, draw, at):
        x = self.one(draw)[:, :3]
        self.put(torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist").topk(1, 1, largest=False).values)

    @staticmethod
    def columns(draw):
        """Events of one kind of numbers each."""
        sizes = draw.integers(1, 40, len(KINDS))
        events = [floats(draw, 6, [kind], int(rows)) for kind, rows in zip(KINDS, sizes)]
        return [np.concatenate(events)], np.repeat(np.arange(len(sizes)), sizes)


class Graphs(random_programs.RandomGraph):
    """Those of random_programs.py: the rows of an event are lists of nodes and edges."""

    inputs = GRAPH

    @staticmethod
    def columns(draw):
        sizes = [(1, 1), (2, 5), (5, 0), (50, 9), (9, 57), (97, 300)]
        kinds = ["normal", "equal rows", "small integers", "ties", "far", "equal columns"]
        found = []
        for kind, (nodes, edges) in zip(draw.permutation(kinds), sizes):
            index = draw.integers(0, nodes, (edges, 2))
            found.append((floats(draw, 3, [kind], nodes), index, floats(draw, 4, [kind], edges)))
        return found, None


MODULES = {"rows": Rows, "mixed": Mixed, "sets": Sets, "across": Across, "graphs": Graphs}
