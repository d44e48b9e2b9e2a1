# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the TorchScript models of the tests of pytorch/, and the answer of one of them in float64.

    python make_models.py FOLDER
"""

import re
import sys
import warnings
import zipfile
from pathlib import Path
from typing import NamedTuple, Optional

import torch
from torch import Tensor, nn

warnings.filterwarnings("ignore", "`torch.jit")
MODELS = {}


def model(cls):
    """Adds a module to the models: WritesInput becomes writes_input.pt."""
    MODELS[re.sub("(?<!^)(?=[A-Z])", "_", cls.__name__).lower()] = cls
    return cls


@model
class Mlp(nn.Module):
    """3 -> 64 -> 64 -> 2, of the benchmarks."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layers = nn.Sequential(
            nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, x):
        return self.layers(x)


@model
class Identity(nn.Module):
    """Its result is its input, not a copy."""

    def forward(self, x):
        return x


@model
class Affine(nn.Module):
    def forward(self, x):
        return 2 * x + 1


@model
class Pair(nn.Module):
    def forward(self, x):
        return x + 1, x * 2


@model
class Nested(nn.Module):
    def forward(self, x):
        return x + 1, (x * 2, x * 3)


@model
class ListOfTwo(nn.Module):
    def forward(self, x):
        return [x + 1, x * 2]


@model
class DictOfTwo(nn.Module):
    def forward(self, x) -> dict[str, Tensor]:
        return {"twice": x * 2, "plus_one": x + 1}


class TwoTensors(NamedTuple):
    twice: Tensor
    plus_one: Tensor


@model
class NamedPair(nn.Module):
    def forward(self, x):
        return TwoTensors(x * 2, x + 1)


@model
class Swap(nn.Module):
    """Results that lie in the memory of the inputs."""

    def forward(self, a, b):
        return b, a


@model
class Graph(nn.Module):
    """Two collections of different length: x [n, 3], edge_index [2, E] -> [E]."""

    def forward(self, x, edge_index):
        source, target = edge_index[0], edge_index[1]
        return (x[source] * x[target]).sum(1)


@model
class Moments(nn.Module):
    """[n, R, C] and [n, R]: matrix times vector, plus a scalar of the collection."""

    def forward(self, matrix, vector, offset):
        return (matrix @ vector.unsqueeze(2)).squeeze(2) + offset


@model
class WritesInput(nn.Module):
    def forward(self, x):
        x.mul_(2)
        return x + 1


@model
class WritesView(nn.Module):
    """Writes one of two inputs, through a view of a part of it."""

    def forward(self, a, b):
        part = b[:, 1:]
        part.add_(10)
        return a + b


@model
class WritesSometimes(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            x.zero_()
        return x + 1


# Models that double b in place, each in its own way, and give a + 2 b.


@model
class DoublesPlainly(nn.Module):
    def forward(self, a, b):
        b.mul_(2)
        return a + b


@model
class DoublesBySlices(nn.Module):
    def forward(self, a, b):
        b[:1] *= 2
        b[1:, 0] = b[1:, 0] * 2
        b[1:, 1:].add_(b[1:, 1:])
        return a + b


@model
class DoublesByMask(nn.Module):
    def forward(self, a, b):
        large = b > 500
        b[large] = b[large] * 2
        b.masked_scatter_(~large, b[~large] * 2)
        return a + b


@model
class DoublesByOut(nn.Module):
    def forward(self, a, b):
        torch.add(b, b, out=b)
        return a + b


@model
class DoublesInAList(nn.Module):
    def forward(self, a, b):
        both = [b]
        both[0].mul_(2)
        return a + b


@model
class DoublesInATuple(nn.Module):
    def forward(self, a, b):
        pair = (a, b)
        pair[1].mul_(2)
        return pair[0] + pair[1]


@model
class DoublesInADict(nn.Module):
    def forward(self, a, b):
        named = {"b": b}
        named["b"].mul_(2)
        return a + b


@model
class DoublesInALoop(nn.Module):
    def forward(self, a, b):
        for i in range(b.size(1)):
            b[:, i].mul_(2)
        return a + b


@model
class DoublesByTurns(nn.Module):
    """Two buffers that swap: the second round writes b. How many rounds there are, is in the data."""

    def forward(self, a, b):
        now, then = b, torch.zeros_like(b)
        for i in range(b.size(1)):
            then.copy_(now * (2 - i))
            now, then = then, now
        return a + now


@model
class DoublesByTurnsInAWhile(nn.Module):
    def forward(self, a, b):
        now, then = b, torch.zeros_like(b)
        change = 2.0
        while change > 0.5:
            then.copy_(now * change)
            change = change - 1.0 + 0.0 * float((then - now).abs().max())
            now, then = then, now
        return a + now


@model
class DoublesInABranch(nn.Module):
    def forward(self, a, b):
        c = b if bool(b.sum() > 0) else b + 1
        c.mul_(2)
        return a + b


@model
class DoublesAfterSwap(nn.Module):
    def forward(self, a, b):
        a, b = b, a
        a.mul_(2)
        return a + b


class Doubler(nn.Module):
    def forward(self, x):
        return x.mul_(2)


@model
class DoublesInASubmodule(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Identity(), Doubler())

    def forward(self, a, b):
        return a + self.layers(b)


def double(x):
    return x.view_as(x).mul_(2)


@model
class DoublesInAFunction(nn.Module):
    def forward(self, a, b):
        return a + double(b)


@model
class DoublesAnOptional(nn.Module):
    def forward(self, a, b: Optional[Tensor] = None):
        if b is None:
            return a
        b.mul_(2)
        return a + b


@model
class DoublesTransposed(nn.Module):
    def forward(self, a, b):
        b.t_().mul_(2)
        return a + b.t()


@model
class DoublesResized(nn.Module):
    def forward(self, a, b):
        b.resize_(b.numel())
        b.mul_(2)
        return a + b.view(a.size(0), a.size(1))


@model
class DoublesData(nn.Module):
    def forward(self, a, b):
        b.detach().data.mul_(2)
        return a + b


@model
class DoublesStrided(nn.Module):
    def forward(self, a, b):
        b.as_strided(b.size(), b.stride(), b.storage_offset()).mul_(2)
        return a + b


# The same by operators that give their argument back, or a view of it, without saying so in their
# schemas: alias analysis takes their results for new tensors.


@model
class DoublesBySet(nn.Module):
    def forward(self, a, b):
        c = torch.empty_like(a)
        c.set_(b)
        c.mul_(2)
        return a + c


@model
class DoublesOfOneType(nn.Module):
    def forward(self, a, b):
        c = b.type_as(a)
        c.mul_(2)
        return a + c


@model
class DoublesUndropped(nn.Module):
    def forward(self, a, b):
        c = nn.functional.alpha_dropout(b, 0.5, False)
        c.mul_(2)
        return a + c


@model
class DoublesEinsum(nn.Module):
    def forward(self, a, b):
        c = torch.einsum("ij->ji", b)
        c.mul_(2)
        return a + c.t()


@model
class DoublesBroadcast(nn.Module):
    def forward(self, a, b):
        c = torch.broadcast_tensors([a, b])[1]
        c.mul_(2)
        return a + c


@model
class DoublesByTwoSteps(nn.Module):
    def forward(self, a, b):
        c = torch.atleast_3d(b.type_as(a).t()).sum_to_size([b.size(1), b.size(0), 1])
        c.mul_(2)
        return a + c.squeeze(2).t()


@model
class DoublesForked(nn.Module):
    def forward(self, a, b):
        doubled = torch.jit.fork(double, b)
        return a + torch.jit.wait(doubled)


# Nothing of an input is written.


@model
class WritesNewTensors(nn.Module):
    """As most networks do: ReLU(inplace=True), += of a sum."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.norm = nn.LayerNorm(2)
        nn.init.eye_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, a, b):
        c = nn.functional.relu(self.linear(b), inplace=True)
        self.norm(c).mul_(0)
        torch.matmul(a, b.t()).softmax(1).add_(1)
        c += b
        return a + c


# Inputs of every form.


@model
class ThreeOptionals(nn.Module):
    def forward(self, x, y: Optional[Tensor] = None, z: Optional[Tensor] = None):
        result = x.clone()
        if y is not None:
            result += 10 * y
        if z is not None:
            result += 100 * z
        return result


@model
class Convolution(nn.Module):
    """[n, 2, 3, 4] -> [n, 3, 2, 3]; the weights count from 0."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, kernel_size=2, bias=False)
        self.conv.weight.data = torch.arange(24.0).view(3, 2, 2, 2)

    def forward(self, x):
        return self.conv(x)


@model
class RowSum(nn.Module):
    """[n]"""

    def forward(self, x):
        return x.sum(1)


@model
class RowSumOfMask(nn.Module):
    def forward(self, mask):
        return mask.float().sum(1)


@model
class FloatOfSegments(nn.Module):
    def forward(self, batch):
        return batch.float()


@model
class RowSumKept(nn.Module):
    """[n, 1]"""

    def forward(self, x):
        return x.sum(1, keepdim=True)


@model
class Mean(nn.Module):
    """[1, 3]"""

    def forward(self, x):
        return x.mean(0, keepdim=True)


@model
class Transposed(nn.Module):
    """[3, n]"""

    def forward(self, x):
        return x.t().contiguous()


@model
class PairWithWrongSecond(nn.Module):
    def forward(self, x):
        return x + 1, x.double()


@model
class Double(nn.Module):
    def forward(self, x):
        return x.double()


@model
class Complex(nn.Module):
    """A dtype that no column has."""

    def forward(self, x):
        return torch.complex(x, x)


@model
class Dictionary(nn.Module):
    def forward(self, x) -> dict[str, Tensor]:
        return {"x": x}


@model
class DictionaryOfThree(nn.Module):
    def forward(self, x) -> dict[str, Tensor]:
        return {"thrice": x * 3, "plus_one": x + 1, "twice": x * 2}


@model
class DictionaryOfLists(nn.Module):
    def forward(self, x) -> dict[str, list[Tensor]]:
        return {"x": [x, x]}


@model
class DictionaryOfNumbers(nn.Module):
    """Its keys are not names."""

    def forward(self, x) -> dict[int, Tensor]:
        return {1: x}


class Named(NamedTuple):
    plus_one: Tensor
    twice: Tensor


@model
class GivesNamedTuple(nn.Module):
    def forward(self, x) -> Named:
        return Named(x + 1, x * 2)


@model
class NamedTupleInTuple(nn.Module):
    def forward(self, x):
        return x * 3, Named(x + 1, x * 2)


@model
class DictionaryInTuple(nn.Module):
    def forward(self, x):
        return x * 3, {"twice": x * 2}, x + 1


@model
class TwoDictionaries(nn.Module):
    def forward(self, x):
        return {"x": x + 1}, {"x": x * 2}


@model
class ListOfLists(nn.Module):
    def forward(self, x):
        return [[x + 1], [x * 2, x * 3]]


@model
class EmptyList(nn.Module):
    def forward(self, x) -> list[Tensor]:
        return []


@model
class NoneInTuple(nn.Module):
    def forward(self, x) -> tuple[Tensor, Optional[Tensor]]:
        return x, None


@model
class GivesOptional(nn.Module):
    def forward(self, x) -> Optional[Tensor]:
        return x + 1 if x.numel() > 0 else None


@model
class GivesNumber(nn.Module):
    def forward(self, x) -> float:
        return float(x.sum())


@model
class GivesSparse(nn.Module):
    def forward(self, x):
        return x + 1, x.to_sparse()


@model
class GivesTwoDtypes(nn.Module):
    """[n, 2] float64, [n, 3] int64."""

    def forward(self, x):
        return x[:, :2].double() / 3, (x * 2).long()


@model
class PassesTwo(nn.Module):
    def forward(self, a, b):
        return a, b


@model
class Rotates(nn.Module):
    """The columns of x, one place on; a view of x."""

    def forward(self, x):
        return x[:, 1], x[:, 2], x[:, 0]


@model
class Raises(nn.Module):
    def forward(self, x):
        if bool((x >= 0).all()):
            raise ValueError("all hits are on one side")
        return x


@model
class WrongShape(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 2)

    def forward(self, x):
        return self.linear(x)


def multiplied(x: Tensor, weights: Tensor) -> Tensor:
    return torch.matmul(x, weights)


class Factor:
    """A class of TorchScript."""

    def __init__(self, weights: Tensor):
        self.weights = weights

    def times(self, x: Tensor) -> Tensor:
        return multiplied(x, self.weights)


class WrongShapeInPart(nn.Module):
    """Fails in what forward calls; freezing leaves nothing of it but the operator."""

    def __init__(self):
        super().__init__()
        self.register_buffer("weights", torch.ones(5, 2))

    def by_method(self, x):
        return multiplied(x, self.weights)

    def forward(self, x):
        return self.by_method(x)


@model
class WrongShapeInMethod(WrongShapeInPart):
    """forward calls a method, which calls a function."""


@model
class WrongShapeInClass(WrongShapeInPart):
    def by_method(self, x):
        factors = [Factor(self.weights)]
        for i in range(x.shape[0]):
            factors.append(Factor(self.weights * i))
        return factors[-1].times(x)


@model
class WrongShapeInFork(WrongShapeInPart):
    def by_method(self, x):
        return torch.jit.wait(torch.jit.fork(multiplied, x, self.weights))


@model
class DoubleLinear(nn.Module):
    """Weights of float64."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2).double()

    def forward(self, x):
        return self.layer(x)


@model
class TrainedNorm(nn.Module):
    """A part of it was left in training, and then normalises by the rows of the call."""

    def __init__(self):
        super().__init__()
        self.eval()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        return self.norm(x)


@model
class EvaluatedNorm(TrainedNorm):
    """The same, ready to run."""

    def __init__(self):
        super().__init__()
        self.eval()


@model
class Dropout(nn.Module):
    """Is the identity in evaluation only."""

    def forward(self, x):
        return nn.functional.dropout(x, 0.5, self.training)


@model
class ConvNorm(nn.Module):
    """(x - 1) / 2 of [n, 2, L]; freezing leaves one operator of two."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 2, 1, bias=False)
        self.norm = nn.BatchNorm1d(2)
        with torch.no_grad():
            self.conv.weight.copy_(torch.eye(2).unsqueeze(2))
            self.norm.running_mean.fill_(1)
            self.norm.running_var.fill_(4 - self.norm.eps)

    def forward(self, x):
        return self.norm(self.conv(x))


@model
class TakesNumber(nn.Module):
    def forward(self, x, number: int):
        return x + number


@model
class KeepsInput(nn.Module):
    """Reads, in the next call, the memory of this one."""

    def __init__(self):
        super().__init__()
        self.kept = torch.zeros(1, 1)

    def forward(self, x):
        answer = self.kept.sum() + x
        self.kept = x
        return answer


@model
class CountsCalls(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls += 1
        return x + self.calls


class Statistics(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("var", torch.ones(2))


@model
class UpdatesStatistics(Statistics):
    """Forces training, in evaluation too."""

    def forward(self, x):
        return nn.functional.batch_norm(x, self.mean, self.var, None, None, True, 0.5, 1e-5)


@model
class UpdatesStatisticsNatively(Statistics):
    def forward(self, x):
        return torch.native_batch_norm(x, None, None, self.mean, self.var, True, 0.5, 1e-5)[0] + self.mean


@model
class WritesStatistics(nn.Module):
    """x, and the statistics of two channels as inputs of one row of two columns."""

    def forward(self, x, mean, var):
        return nn.functional.batch_norm(x, mean[0], var[0], None, None, True, 0.5, 1e-5)


@model
class CountsCallsInSecret(nn.Module):
    """Writes its buffer by an operator that does not state that it gives the buffer back."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        calls = self.calls.type_as(x)
        calls += 1
        return x + calls


@model
class Forks(nn.Module):
    """Of two tasks, one is never waited for."""

    def forward(self, x):
        twice = torch.jit.fork(torch.add, x, x)
        torch.jit.fork(torch.mul, x, x)
        return torch.jit.wait(twice)


@model
class TakesOptional(nn.Module):
    """x, or x + y: the usual signature of graph networks with edge features or without."""

    def forward(this, x, y: Optional[Tensor] = None, scale: float = 1.0):  # noqa: N805
        return x * scale if y is None else x + y


@model
class PicksColumns(nn.Module):
    """The second column, then the first: the index is a buffer of integers."""

    def __init__(self):
        super().__init__()
        self.register_buffer("index", torch.tensor([1, 0]))

    def forward(self, x):
        return x[:, self.index]


class Squares(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.square(x)


@model
class NoForward(nn.Module):
    @torch.jit.export
    def infer(self, x: Tensor) -> Tensor:
        return x


def write_unknown_operator(folder: Path):
    """A file of a torch with an operator that this one does not have."""
    torch.jit.script(Squares()).save(str(folder / "squares.pt"))
    with zipfile.ZipFile(folder / "squares.pt") as known, zipfile.ZipFile(folder / "unknown_operator.pt", "w") as unknown:
        for name in known.namelist():
            unknown.writestr(name, known.read(name).replace(b"torch.square(", b"torch.no_such_operator("))


def main(folder: Path):
    folder.mkdir(parents=True, exist_ok=True)
    for name, cls in MODELS.items():
        torch.jit.script(cls()).save(str(folder / f"{name}.pt"))

    # The weights, 33 rows of input in float32, and the answer in float64.
    mlp = Mlp()
    x = torch.rand(33, 3) * 4 - 2
    parts = [parameter.detach() for parameter in mlp.parameters()] + [x]
    answer = mlp.double()(x.double()).detach()
    (folder / "mlp.bin").write_bytes(
        b"".join(part.numpy().tobytes() for part in [part.float() for part in parts] + [answer]))

    whole = (folder / "mlp.pt").read_bytes()
    (folder / "truncated.pt").write_bytes(whole[:len(whole) // 2])
    (folder / "empty.pt").write_bytes(b"")
    (folder / "text.pt").write_text("not a model\n")
    torch.save(Mlp().state_dict(), folder / "state_dict.pt")
    write_unknown_operator(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
