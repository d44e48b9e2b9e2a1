# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the programs of torch.export of the tests of pytorch/, the same modules as TorchScript where that can be,
and what they give in eager mode for inputs with which a test can be repeated.

    python make_exported.py FOLDER

For each module NAME: NAME.pt2, NAME.pt, and for each number of rows N the raw bytes of its inputs and results, in
NAME.N.in0, NAME.N.out0, …, each column after the other.
"""

import re
import sys
import warnings
from collections import namedtuple
from pathlib import Path

import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional

warnings.filterwarnings("ignore")
ROWS = (0, 1, 16, 1000)
MODULES = {}


def floats(columns):
    """An input of float32 [n, columns]."""
    return lambda n, generator: torch.randn(n, columns, generator=generator)


def indices(n, generator):
    """An input of int64 [n], each below n."""
    return torch.randint(0, max(n, 1), (n,), generator=generator)


def file_name(cls):
    """IndexAdd becomes index_add."""
    return re.sub("(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


def module(*inputs):
    """Adds a module."""

    def add(cls):
        MODULES[file_name(cls)] = (cls, inputs)
        return cls

    return add


@module(floats(3))
class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, x):
        return self.layers(x)


@module(floats(3))
class Scores(nn.Module):
    """One column, which the module gives as [n]."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 8), nn.Linear(8, 1)

    def forward(self, x):
        return torch.sigmoid(self.second(functional.gelu(self.first(x)))).squeeze(-1)


@module(floats(3))
class OtherNames(nn.Module):
    """Of sub and div, whose results are written in place: they do not lie in memory of the constants."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.5, -1.0, 2.0]))

    def forward(self, x):
        return torch.divide(torch.subtract(self.mean, x).mul_(3.0), self.mean).add_(1.0)


@module(floats(3))
class Classes(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        return functional.softmax(self.layer(x), dim=1)


@module(floats(3), floats(2))
class TwoInTwoOut(nn.Module):
    def forward(self, a, b):
        return {"product": a[:, :2] * b, "sum": a.sum(1) + b.sum(1)}


@module(floats(3), indices, indices)
class InteractionNetwork(nn.Module):
    """Messages along edges, added up at their targets."""

    def __init__(self):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
        self.node = nn.Linear(7, 2)

    def forward(self, x, source, target):
        messages = self.message(torch.cat([x[source], x[target]], 1))
        sums = torch.zeros(x.shape[0], 4, dtype=x.dtype, device=x.device)
        sums.index_add_(0, target, messages)
        return self.node(torch.cat([x, sums], 1))


@module(floats(6))
class Attention(nn.Module):
    """Over the 3 elements of a row."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(2, 2, batch_first=True)
        self.norm = nn.LayerNorm(6)

    def forward(self, x):
        elements = x.reshape(x.shape[0], 3, 2)
        mixed, _ = self.attention(elements, elements, elements, need_weights=False)
        return self.norm(mixed.reshape(-1, 6))


@module(floats(6))
class ConvolutionAndBatchNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.norm = nn.Conv1d(2, 4, 2), nn.BatchNorm1d(4)
        nn.init.uniform_(self.norm.running_mean)
        nn.init.uniform_(self.norm.running_var, 0.5, 1.5)

    def forward(self, x):
        mixed = functional.relu(self.norm(self.convolution(x.reshape(-1, 2, 3))), inplace=True)
        return mixed.mean(2)


@module(floats(6))
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(2, 4, batch_first=True)

    def forward(self, x):
        return self.gru(x.view(x.shape[0], 3, 2))[0][:, -1]


@module(floats(3), indices)
class IntegersAndMasks(nn.Module):
    def forward(self, x, index):
        mask = (x > 0) & (index.unsqueeze(1) % 2 == 0)
        kept = torch.where(mask, x, torch.tensor(-1.0))
        return kept.masked_fill(x > 1, float("inf")), index * 2 + 1


@module(floats(6))
class TopAndSorted(nn.Module):
    def forward(self, x):
        values, places = torch.topk(x, 2, dim=1)
        return values, places, torch.sort(x, dim=1, descending=True)[0]


@module(floats(3))
class SizesAndConstants(nn.Module):
    """Arithmetic on the number of rows, constants that no input changes, a graph within torch.no_grad()."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 3.0]), persistent=False)
        self.weight = nn.Parameter(torch.randn(3, 3))

    def forward(self, x):
        n = x.shape[0]
        with torch.no_grad():
            mixed = x @ (self.weight @ self.weight.t() + torch.eye(3)) * self.scale
        both = torch.cat([mixed, x]).view(2, n, 3)
        padded = functional.pad(both, (0, 0, 0, n + 1))
        rank = torch.arange(n, device=x.device, dtype=x.dtype) / (2 * n - n // 2)
        return padded[:, :n].sum(0), rank


@module(floats(3))
class ReadTwice(nn.Module):
    """Operators that read one value twice, and are its last readers; the second one in a list."""

    def forward(self, x):
        shifted = x + 1
        square = shifted * shifted
        return torch.sigmoid(torch.cat([square, square], 1))


@module(floats(3))
class TruthValues(nn.Module):
    """True and False as numbers."""

    def forward(self, x):
        mask = ((x > 0) == False).masked_fill(x > 1, True)  # noqa: E712
        return torch.where(mask & torch.full((3,), True, dtype=torch.bool), x, 2 * x)


Pair = namedtuple("Pair", ["twice", "plus_one"])
torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="make_exported.Pair")


@module(floats(3))
class NamedPair(nn.Module):
    def forward(self, x):
        return Pair(x * 2, x + 1)


@module(floats(3))
class Returned(nn.Module):
    """A result that is the input, and one that is a view of it."""

    def forward(self, x):
        return x, x[:, 1:]


# ---- operators that read row-major tensors alone, and views of columns that are written


def bags(n, generator):
    """An input of int64 [n, 2], each below 10."""
    return torch.randint(0, 10, (n, 2), generator=generator)


class RowMajor(nn.Module):
    """With run_decompositions(), a group norm and a sum of embeddings that check less than those of Python."""

    def __init__(self):
        super().__init__()
        self.norm = nn.GroupNorm(2, 6)
        self.bag = nn.EmbeddingBag(10, 6, mode="sum")

    def forward(self, x, words):
        squared = torch.view_as_complex((x + 1).view(-1, 3, 2)) ** 2
        largest = torch.take_along_dim(x, x.argmax().view(1))
        return self.norm(x) + self.bag(words), torch.view_as_real(squared.sum(1)) + largest


class WrittenViews(nn.Module):
    """Each write reaches the tensors that share its memory."""

    def forward(self, x):
        doubled = x * 2
        rows = doubled.view(-1, 3)
        pairs = torch.view_as_complex(doubled.view(-1, 2))
        rows[:, 0] += 1
        pairs.mul_(1j)
        return doubled, rows.sum(1).view(-1, 2)


# The test registers its kernel.
rows_of = torch.library.Library("tensoa_rows", "DEF")
rows_of.define("sums(Tensor x) -> Tensor")
rows_of.impl("sums", lambda x: x.sum(1), "CPU")
torch.library.register_fake("tensoa_rows::sums", lambda x: x.new_empty(x.shape[0]), lib=rows_of)


class CustomOfRows(nn.Module):
    """The kernel reads memory of x as if x were row-major."""

    def forward(self, x):
        return torch.ops.tensoa_rows.sums(x * 2)


# ---- what torch 2.11 cannot save, and what is written is read by a tensoa of torch 2.11, too


class NewerDtypes(nn.Module):
    """Constants of the dtypes that the format has had since."""

    def __init__(self):
        super().__init__()
        self.register_buffer("whole", torch.tensor([1, 2, 2**32 - 1], dtype=torch.uint32))
        self.register_buffer("large", torch.tensor([3, 4, 2**40], dtype=torch.uint64))
        self.register_buffer("power", torch.tensor([0.5, 1, 4]).to(torch.float8_e8m0fnu))

    def forward(self, x):
        return (x + self.whole.float() + self.large.float()) * self.power.float()


# The test registers its kernel.
operators = torch.library.Library("tensoa_weights", "DEF")
operators.define("weighted(Tensor x, int[][] factors, float[][] terms) -> Tensor")


@torch.library.impl(operators, "weighted", "CPU")
def weighted(x, factors, terms):
    return x * torch.tensor(factors[1], dtype=x.dtype) + torch.tensor(terms[1], dtype=x.dtype)


@torch.library.register_fake("tensoa_weights::weighted", lib=operators)
def weighted_fake(x, factors, terms):
    return torch.empty_like(x)


class ListsOfLists(nn.Module):
    def forward(self, x):
        return torch.ops.tensoa_weights.weighted(x, ((1,), (2, 3, 4)), ((0.5,), (0.25, 0.5, 1.5)))


def leaves(value):
    if isinstance(value, torch.Tensor):
        return [value]
    members = value.values() if isinstance(value, dict) else value
    return [leaf for member in members for leaf in leaves(member)]


def export(module, inputs, rows=Dim.DYNAMIC):
    shapes = tuple({0: rows} if rows else None for _ in inputs)
    return torch.export.export(module, inputs, dynamic_shapes=shapes)


def write_module(folder, name, cls, inputs, seed=1, decomposed=False):
    torch.manual_seed(seed)
    module = cls().eval()
    generator = torch.Generator().manual_seed(2)
    program = export(module, tuple(make(7, generator) for make in inputs))
    torch.export.save(
        program.run_decompositions() if decomposed else program, folder / f"{name}.pt2")
    try:
        torch.jit.script(module).save(str(folder / f"{name}.pt"))
    except Exception as error:  # of TorchScript, which does not support all of Python
        print(f"{name} is not TorchScript: {str(error).splitlines()[0]}")
    for n in ROWS:
        tensors = [make(n, generator) for make in inputs]
        with torch.no_grad():
            results = leaves(module(*tensors)) if n > 0 else []
        for kind, all_of_kind in (("in", tensors), ("out", results)):
            for i, tensor in enumerate(all_of_kind):
                # Columns, one after another.
                flat = tensor.reshape(n, -1).t().contiguous() if n > 0 else tensor
                (folder / f"{name}.{n}.{kind}{i}").write_bytes(flat.numpy().tobytes())


def write_example(module, path):
    """As docs/just_in_time.md shows it."""
    # [export]
    rows = torch.export.Dim.DYNAMIC
    program = torch.export.export(module.eval(), (torch.randn(7, 3),), dynamic_shapes=({0: rows},))
    torch.export.save(program, path)
    # [/export]


# ---- programs that are refused


class WritesInput(nn.Module):
    def forward(self, x):
        x.mul_(2)
        return x + 1


class WritesBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls.add_(1)
        return x + self.calls


class Branches(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


class TakesANumber(nn.Module):
    def forward(self, x, factor: int):
        return x * factor


class GivesANumber(nn.Module):
    def forward(self, x):
        return x + 1, x.shape[0]


@torch.library.custom_op("tensoa_test::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def twice_fake(x):
    return torch.empty_like(x)


class Custom(nn.Module):
    def forward(self, x):
        return twice(x)


class Fixed(nn.Module):
    def forward(self, x):
        return x + 1


class BatchNormInTraining(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        return self.norm(x)


def write_refused(folder):
    x = torch.randn(7, 3)

    def save(name, program):
        torch.export.save(program, folder / f"{name}.pt2")

    for cls in (WritesInput, WritesBuffer, Branches, Custom, GivesANumber):
        save(file_name(cls), export(cls().eval(), (x,)))
    save("writes_buffer_functional", export(WritesBuffer().eval(), (x,)).run_decompositions({}))
    save("writes_input_functional", export(WritesInput().eval(), (x,)).run_decompositions({}))
    save("batch_norm_in_training", export(BatchNormInTraining().train(), (x,)))
    save("takes_a_number", torch.export.export(
        TakesANumber(), (x, 3), dynamic_shapes=({0: Dim.DYNAMIC}, Dim.DYNAMIC)))
    save("fixed", export(Fixed(), (x,), rows=None))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (cls, inputs) in MODULES.items():
        write_module(folder, name, cls, inputs)
    write_module(folder, "row_major", RowMajor, (floats(6), bags))
    write_module(folder, "row_major_decomposed", RowMajor, (floats(6), bags), decomposed=True)
    write_module(folder, "written_views", WrittenViews, (floats(6),))
    write_module(folder, "custom_of_rows", CustomOfRows, (floats(6),))
    for cls in (NewerDtypes, ListsOfLists):
        try:
            write_module(folder, file_name(cls), cls, (floats(3),))
        except Exception as error:  # torch throws many kinds
            (folder / f"{file_name(cls)}.pt2").unlink(missing_ok=True)
            print(f"torch {torch.__version__} saves no {cls.__name__}: {str(error).splitlines()[0]}")
    write_module(folder, "mlp_of_other_weights", *MODULES["mlp"], seed=5)
    write_example(Mlp(), folder / "example.pt2")
    write_refused(folder)
