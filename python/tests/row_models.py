# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Modules whose rows depend on each other or not, and an oracle that finds it in float64."""

import random
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

WIDTH = 4


class Function(nn.Module):
    def __init__(self, function: Callable) -> None:
        super().__init__()
        self.function = function

    def forward(self, *tensors):
        return self.function(*tensors)


# ---- models as people write them


class InsideRows(nn.Module):
    """A network over the particles of a jet, two of two columns each."""

    def __init__(self, inner: nn.Module, width: int) -> None:
        super().__init__()
        self.inner, self.last = inner, nn.Linear(width, 3)

    def forward(self, x):
        found = self.inner(x.reshape(x.shape[0], 2, 2))
        found = found[0] if isinstance(found, tuple) else found
        return self.last(found.mean(1))


class Picked(nn.Module):
    """The state after the last step that is there."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(1, 3, batch_first=True)

    def forward(self, x):
        steps, _ = self.layer(x[:, :, None])
        return steps[torch.arange(x.shape[0]), (x > 0).sum(1).clamp(0, 3)]


def written(x):
    y = x.clone()
    y[:, 0] = x[:, 1] * 2
    y[y < -1] = 0.0
    return y


def in_place(x):
    y = x.clone().abs_().masked_fill_(x > 1, 0.5)
    return torch.nn.functional.threshold_(y, 0.1, 0.2).lt_(x) + y


ALONE = {
    "in_place": Function(in_place),
    "dense": nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.LayerNorm(8), nn.Dropout(0.5), nn.Linear(8, 3)),
    "convolution": nn.Sequential(nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 3, 2), nn.BatchNorm1d(3), nn.MaxPool1d(2), nn.Flatten()),
    "deep sets": InsideRows(nn.Sequential(nn.Linear(2, 8), nn.GELU(), nn.Linear(8, 5)), 5),
    "attention": InsideRows(nn.TransformerEncoderLayer(2, 1, 8, batch_first=True), 2),
    "lstm": InsideRows(nn.LSTM(2, 3, num_layers=2, bidirectional=True, batch_first=True), 6),
    "gru": InsideRows(nn.GRU(2, 3, batch_first=True), 3),
    "picked": Picked(),
    "group norm": nn.GroupNorm(2, 4),
    "instance norm": Function(lambda x: F.instance_norm(x.view(-1, 2, 2)).flatten(1)),
    "written": Function(written),
    "class token": Function(lambda x: torch.cat([torch.ones(1, 1).expand(x.shape[0], 1), x], 1)),
    "zeros": Function(lambda x: torch.zeros(x.shape[0], 4) + x),
    "einsum": Function(lambda x: torch.einsum("ni,nj,jk->nk", x, x, torch.ones(4, 3))),
    "distances inside": Function(lambda x: torch.cdist(x.view(-1, 2, 2), x.view(-1, 2, 2)).flatten(1)),
    "distances to constants": Function(lambda x: (x[:, None] - torch.eye(4)).norm(dim=2)),
    "sorted inside": Function(lambda x: x.gather(1, x.argsort(1))),
    "statistics inside": Function(lambda x: torch.stack([x.var(1), x.mean(1), x.norm(dim=1)], 1)),
    "one column": Function(lambda x: torch.sigmoid(x[:, :1].squeeze())),
}


class AmongRows(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x[None])[0]


def running_sum_in_place(x):
    return x.clone().cumsum_(0)


TOGETHER = {
    "running sum in place": (running_sum_in_place, "aten.cumsum_ along the rows"),
    "mean": (lambda x: x - x.mean(0), "aten.mean along the rows"),
    "narrow kernel": (lambda x: torch.exp(-1e4 * torch.cdist(x, x) ** 2).sum(1, keepdim=True), "of rows with others"),
    "cut": (lambda x: torch.where(torch.cdist(x, x) < 0.02, 1.0, 0.0) @ torch.ones_like(x[:, :1]), "of rows with others"),
    "small attention": (lambda x: torch.softmax(x @ x.t(), 1) @ x * 1e-6, "of rows with others"),
    "attention": (AmongRows(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)), "of rows with others"),
    "training": (lambda x: F.batch_norm(x, None, None, training=True), "in training, along the rows"),
    "order": (lambda x: x.sort(0)[0], "aten.sort along the rows"),
    "scan": (lambda x: x.cumsum(0), "aten.cumsum along the rows"),
    "neighbour": (lambda x: x - x.roll(1, 0), "aten.roll along the rows"),
    "backwards": (lambda x: x.flip(0), "aten.flip along the rows"),
    "first": (lambda x: x - x[:1], "aten.slice of some rows"),
    "softmax": (lambda x: x.softmax(0), "aten._softmax along the rows"),
    "number of rows": (lambda x: x / x.shape[0], "with the number of rows of the call"),
    "root of the number": (lambda x: x * x.shape[0] ** 0.5, "with the number of rows of the call"),
    "place": (lambda x: x * torch.arange(x.shape[0])[:, None], "with the number of rows of the call"),
    "chosen": (lambda x: x[x.argsort(0)[:, 0]], "along the rows"),
    "one for all": (lambda x: x.sum(0, keepdim=True), "always has 1 rows"),
}


# ---- random programs against an oracle


def _unary(f: Callable) -> Callable:
    return lambda draw, x, *others: f(x)


def _dims(f: Callable) -> Callable:
    """Along a dimension, of the rows or within one."""
    return lambda draw, x, *others: f(x, draw.choice((0, 1, 1, -1)))


def _with_others(f: Callable) -> Callable:
    """With rows of another collection, too."""
    return lambda draw, x, others: f(x, others)


def _branch(is_special: Callable) -> Callable:
    return _unary(lambda x: x * 2 if is_special(x.shape[0]) else x - 1)


def _own_copy(write: Callable) -> Callable:
    """x after its copy was written into, in a part or in another form."""

    def step(x):
        y = x.clone()
        write(y, x)
        return y

    return _unary(step)


def _by_numbers(change: Callable) -> Callable:
    """Of the rows those that numbers name, which were changed in a part or in another form."""

    def step(x):
        i = torch.arange(x.shape[0])
        change(i)
        return x - x[i] * 0.5

    return _unary(step)


def _put_numbers(x):
    y, i = x.clone(), torch.arange(x.shape[0])
    y[i, x.argmax(1)] = i.to(x)
    return y


#: Of a tensor [n, WIDTH] another one. Each is one that people write; half of them may read other rows.
STEPS: list[Callable] = [
    _unary(torch.tanh),
    _unary(lambda x: F.gelu(x) + 0.1),
    _unary(lambda x: x.clamp(-1, 1)),
    _unary(lambda x: torch.where(x > 0, x, x * 0.1)),
    _unary(lambda x: x.masked_fill(x < -0.5, 0.25)),
    _unary(lambda x: x @ torch.linspace(-1, 1, WIDTH * WIDTH).view(WIDTH, WIDTH).to(x)),
    _unary(lambda x: F.layer_norm(x, (WIDTH,))),
    _unary(lambda x: x.view(-1, 2, 2).transpose(1, 2).flatten(1)),
    _unary(lambda x: (x.view(-1, 2, 2) @ x.view(-1, 2, 2)).reshape(-1, WIDTH)),
    _unary(lambda x: torch.cat([x[:, 2:], x[:, :2]], 1)),
    _unary(lambda x: torch.stack(x.unbind(1)[::-1], 1)),
    _unary(lambda x: x.gather(1, x.argsort(1))),
    _unary(lambda x: F.pad(x, (1, 0))[:, :WIDTH]),
    _unary(lambda x: F.avg_pool1d(x[:, None], 3, 1, 1)[:, 0]),
    _unary(lambda x: torch.einsum("ni,nj->nij", x, x).sum(1)),
    _unary(lambda x: x.repeat_interleave(2, 1)[:, ::2]),
    _unary(lambda x: x.repeat(1, 2)[:, 1 : WIDTH + 1]),
    _unary(lambda x: x.unsqueeze(0).squeeze(0)),
    _unary(lambda x: torch.scatter(torch.zeros_like(x), 1, x.argmax(1, keepdim=True), 1.0) * x),
    _unary(lambda x: torch.ones(x.shape[0], WIDTH, dtype=x.dtype) + x),
    _unary(lambda x: x.t().contiguous().t()),
    _dims(lambda x, dim: x.softmax(dim)),
    _dims(lambda x, dim: x.log_softmax(dim) * 0.1),
    _dims(lambda x, dim: x - x.mean(dim, keepdim=True)),
    _dims(lambda x, dim: x * x.amax(dim, keepdim=True)),
    _dims(lambda x, dim: x / (1 + x.var(dim, keepdim=True, correction=0))),
    _dims(lambda x, dim: x.cumsum(dim)),
    _dims(lambda x, dim: x.sort(dim)[0]),
    _dims(lambda x, dim: x.flip(dim)),
    _dims(lambda x, dim: x.roll(1, dim)),
    _dims(lambda x, dim: F.normalize(x, dim=dim)),
    _dims(lambda x, dim: x - x.median(dim, keepdim=True)[0]),
    _dims(lambda x, dim: x - x.logsumexp(dim, keepdim=True)),
    _dims(lambda x, dim: x - x.select(dim, 0).unsqueeze(dim)),
    _dims(lambda x, dim: x - x.narrow(dim, 0, 1)),
    _unary(lambda x: x * x.shape[0]),
    _unary(lambda x: x + torch.arange(x.shape[0]).to(x)[:, None]),
    _unary(lambda x: torch.exp(-((x[:, None] - x[None]) ** 2)).sum(1)),
    _unary(lambda x: torch.softmax(x @ x.t(), 1) @ x),
    _unary(lambda x: (x.t() @ x)[None, 0] + x),
    _unary(lambda x: x.index_select(0, x.argsort(0)[:, 0])),
    _unary(lambda x: F.avg_pool1d(x.t()[None], 3, 1, 1)[0].t()),
    _unary(lambda x: x.t().reshape(x.shape[0], WIDTH)),
    _unary(lambda x: F.batch_norm(x, None, None, training=True)),
    _unary(lambda x: x * x.max()),
    # what is made by the number of rows
    _unary(lambda x: torch.cat([x.new_zeros(x.shape[0], 1), x], 1)[:, :WIDTH]),
    _unary(lambda x: x.new_full(x.shape, 0.5) * x + x.new_ones(3).sum()),
    _unary(lambda x: x[:, None].expand(-1, 3, -1).sum(1)),
    _unary(lambda x: torch.arange(x.shape[0]).flip(0)[(x > 1e9).long()] + x),
    _unary(lambda x: torch.arange(x.shape[0])[-1 - (x > 1e9).long()] + x),
    _unary(lambda x: torch.linspace(0, 1, x.shape[0]).to(x)[(x < 1e9).long()] + x),
    _unary(_put_numbers),
    _unary(lambda x: x + x.new_ones(x.shape[0], 1).cumsum(0)),
    # branches on it
    _branch(lambda n: n == 5),
    _branch(lambda n: n != 3),
    _branch(lambda n: n % 3 == 0),
    _branch(lambda n: n > 4),
    _branch(lambda n: 2 * n < 13),
    # what is written through a view
    _own_copy(lambda y, x: y[:, 1:].mul_(2)),
    _own_copy(lambda y, x: y.view(-1, 2, 2)[:, 0].zero_()),
    _own_copy(lambda y, x: y.t()[0].add_(x[:, 1])),
    _own_copy(lambda y, x: y[1:].mul_(2)),
    _own_copy(lambda y, x: y[:-1].copy_(x[1:])),
    _own_copy(lambda y, x: y.view(-1).narrow(0, 1, 1).zero_()),
    _by_numbers(lambda i: None),
    _by_numbers(lambda i: i[1:].zero_()),
    _by_numbers(lambda i: i[1:].copy_(i[:-1].clone())),
    _by_numbers(lambda i: i.view(-1, 1).mul_(0)),
    _by_numbers(lambda i: i.unsqueeze(0).zero_()),
]

#: The same, which get a tensor [m, 2] of another collection, too.
STEPS_WITH_OTHERS: list[Callable] = [
    _with_others(lambda x, e: e.new_zeros(x.shape[0], WIDTH) + x),
    _with_others(lambda x, e: e.new_ones(3).sum() * x),
    _with_others(lambda x, e: x[:, None].expand(-1, e.shape[0], -1).sum(1)),
    _with_others(lambda x, e: x.repeat(1, e.shape[0]).sum(1, keepdim=True) + x),
    _with_others(lambda x, e: x.repeat(e.shape[0], 1).view(e.shape[0], -1, WIDTH).sum(0)),
    _with_others(lambda x, e: x + e.new_ones(1, e.shape[0]).expand(x.shape[0], -1).sum(1, keepdim=True)),
    _with_others(lambda x, e: (x[:, None] + torch.zeros(e.shape[0], 1).to(x)).sum(1)),
    _with_others(lambda x, e: x + torch.ones(x.shape[0], e.shape[0]).to(x).mean(1, keepdim=True) * e.shape[0]),
    _with_others(lambda x, e: x.unsqueeze(2).expand(-1, -1, e.shape[0]).flatten(1).sum(1, keepdim=True) + x),
    _with_others(lambda x, e: x * 2 if x.shape[0] == e.shape[0] else x),
    _with_others(lambda x, e: x + e.mean(0)[:1]),
    _with_others(lambda x, e: x + (x @ x.new_ones(WIDTH, 2) @ e.t()).amax(1, keepdim=True)),
    _with_others(lambda x, e: x.index_add(0, torch.zeros(e.shape[0], dtype=torch.int64), e.repeat(1, 2))),
]


class RandomSteps(nn.Module):
    """`has_others`: it takes a tensor of another collection, too."""

    def __init__(self, seed: int, has_others: bool = False) -> None:
        super().__init__()
        draw = random.Random(seed)
        self.steps = [(draw.choice(STEPS), draw.getrandbits(32)) for _ in range(draw.randint(1, 4))]
        if has_others:
            self.steps[draw.randrange(len(self.steps))] = (draw.choice(STEPS_WITH_OTHERS), 0)

    def forward(self, *tensors):
        x, *others = tensors
        for step, seed in self.steps:
            x = step(random.Random(seed), x, *others)
        return x


def oracle_sees_dependence(module: nn.Module, has_others: bool = False) -> bool:
    """Whether rows in float64 change with another row, with the number of rows, with their order, or with what another
    collection has. Calls of 1 to 8 rows; one that fails depends on its number.
    """
    rows, numbers = 8, torch.Generator().manual_seed(1)
    x, e = (torch.randn(rows, width, dtype=torch.float64, generator=numbers) for width in (WIDTH, 2))

    def called(x, e=e[:3]):
        with torch.no_grad():
            return module(x, e) if has_others else module(x)

    def differ(a, b):
        return a.shape != b.shape or not torch.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)

    try:
        all_rows = called(x)
        for at in range(rows):
            changed = called(torch.cat([x[:at], x[at : at + 1] * -3 + 1, x[at + 1 :]]))
            if any(differ(changed[i], all_rows[i]) for i in range(rows) if i != at):
                return True
        if differ(called(x.flip(0)).flip(0), all_rows):
            return True
        if any(differ(called(x[:count]), all_rows[:count]) for count in range(1, rows)):
            return True
        return has_others and any(differ(called(x, e[:count] * -2), all_rows) for count in range(1, rows + 1))
    except (RuntimeError, IndexError, ValueError):
        return True
