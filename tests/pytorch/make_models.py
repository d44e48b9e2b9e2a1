# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the TorchScript models of the tests of pytorch/, and the answer of one of them in float64.

    python make_models.py FOLDER
"""

import re
import sys
import warnings
from pathlib import Path
from typing import NamedTuple, Optional

import torch
from torch import Tensor, nn

warnings.filterwarnings("ignore", category=DeprecationWarning)
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


@model
class RowSum(nn.Module):
    """[n]"""

    def forward(self, x):
        return x.sum(1)


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


@model
class NoForward(nn.Module):
    @torch.jit.export
    def infer(self, x: Tensor) -> Tensor:
        return x


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


if __name__ == "__main__":
    main(Path(sys.argv[1]))
