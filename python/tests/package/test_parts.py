# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models some parts of which are fused programs: the parts, and what they give."""

import copy

import pytest
import torch
from torch import nn

from cuda_programs import on_cpu
from tensoa.binding.columns import Columns, as_double
from tensoa.compiler import routes
from tensoa.compiler.cpu.processors import cpu_flags
from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontend import Graph, exported_program
from tensoa.compiler.parts import Partition
from tensoa.package import parts
from width_models import Kind, block, mlp


class Attention(nn.Module):
    """Among all rows, with an input that both kinds of operations read."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(4, 24), mlp(12, 16, 2)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, 1)
        y = torch.softmax(q @ k.t() / 4 + (x @ x.t()) / 8, 1).cummax(1).values @ v
        return self.out(torch.cat([x, y], 1))


class TwoResults(nn.Module):
    """Of different parts, with the largest number of each column so far between them."""

    def __init__(self):
        super().__init__()
        self.first, self.second = mlp(4, 16, 3), mlp(3, 16, 2)

    def forward(self, x):
        h = torch.relu(self.first(x))
        return h, self.second(h.cummax(0).values)


class Edges(nn.Module):
    """Two collections; the largest so far of the products of the messages of each node."""

    def __init__(self):
        super().__init__()
        self.edge, self.node = mlp(8, 16, 8), mlp(12, 16, 2)

    def forward(self, x, edges):
        m = torch.relu(self.edge(torch.cat([x[edges[0]], x[edges[1]]], 1)))
        index = edges[1][:, None].expand(-1, 8)
        products = m.new_ones(x.shape[0], 8).scatter_reduce(0, index, m, "prod")
        return self.node(torch.cat([x, products.cummax(0).values], 1))


class ThreeDimensions(nn.Module):
    """Tensors between torch and the parts have three dimensions, and truth values."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 6), nn.Linear(6, 3)

    def forward(self, x):
        h = torch.tanh(self.a(x.view(-1, 2, 2)))
        h = h.cumsum(0) / 10
        return torch.where(h > 0.1, self.b(h).sum(2, keepdim=True), h).sum(2)


class Flat(nn.Module):
    """A view of rows and columns as one dimension, which what a part gives does not have."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 16), mlp(20, 16, 2)

    def forward(self, x):
        largest = torch.tanh(self.first(x)).view(-1).cummax(0).values.view(-1, 16)
        return self.second(torch.cat([x, largest], 1))


class Halves(nn.Module):
    """Both halves of what the second part makes go to what the first one could make."""

    def __init__(self):
        super().__init__()
        self.first, self.scale, self.second = mlp(4, 16, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        scale, shift = self.scale(self.first(x).cummax(0).values).chunk(2, 1)
        return self.second(x) * (1 + scale) + shift


class Masked(nn.Module):
    """Elements that a mask chooses, of one part, are written into a tensor of torch."""

    def __init__(self):
        super().__init__()
        self.first, self.second = mlp(4, 16, 3), mlp(3, 16, 2)

    def forward(self, x):
        h = torch.tanh(self.first(x))
        most = h.cummax(0).values.clone()
        most[h > 0.1] = h[h > 0.1] * 2
        return self.second(most)


EDGES = [block("x", 4), block("edges", 2, "int64", 1, "columns")]
MODELS = {
    "attention": Kind(Attention(), [block("x", 4)], [block("y", 2)]),
    "two results": Kind(TwoResults(), [block("x", 4)], [block("h", 3), block("y", 2)]),
    "edges": Kind(Edges(), EDGES, [block("y", 2)]),
    "halves": Kind(Halves(), [block("x", 4)], [block("y", 2)]),
    "flat": Kind(Flat(), [block("x", 4)], [block("y", 2)]),
    "three dimensions": Kind(ThreeDimensions(), [block("x", 4)], [block("y", 2)]),
    "masked": Kind(Masked(), [block("x", 4)], [block("y", 2)]),
}
WORDS = {
    "attention": ([["linear 4 -> 24"], ["linear 12 -> 16, relu, linear 16 -> 2"]], "cummax"),
    "two results": ([["linear 4 -> 16, relu, linear 16 -> 3, relu"], ["linear 3 -> 16, relu, linear 16 -> 2"]], "cummax"),
    "flat": (None, "cummax"),
    "halves": (None, "cummax"),
    "three dimensions": (None, "cumsum"),
    "edges": (None, "cummax"),
    "masked": (None, "cummax"),
}


class Memory:
    """A tensor as a block of cuda_programs."""

    def __init__(self, tensor):
        self.address, self.pitch = tensor.data_ptr(), tensor.stride(0)


def graph_of(kind):
    module = kind.module.eval().requires_grad_(False)
    return Graph(exported_program(module, kind.binding()), kind.binding())


def found_in(module, columns=4, outputs=2) -> Partition:
    return routes.parts_for_cpu(graph_of(Kind(module, [block("x", columns)], [block("y", outputs)])), parts.CPU_LIMITS)


def expect(got, module, binding, columns):
    """Results as near to those of float64 as torch's: a sum that is small compared with its terms differs by their rounding."""
    of_torch = binding.call(module, columns.inputs)
    exact = binding.call(copy.deepcopy(module).double(), columns.inputs, convert=as_double)
    for a, b, truth in zip(got, of_torch, exact, strict=True):
        largest, error = (x.abs().max().item() if x.numel() else 0.0 for x in (truth, b - truth))
        torch.testing.assert_close(a.double(), truth, rtol=2e-5, atol=2e-6 * max(1.0, largest) + 4 * error)


@pytest.mark.parametrize("name", MODELS)
def test_parts_are_the_largest_programs_between_operations_of_torch(name):
    found = routes.parts_for_cpu(graph_of(MODELS[name]), parts.CPU_LIMITS)
    words, operation = WORDS[name]
    got = [routes.of_program(part.program).stages for part in found.parts]
    assert len(got) == 2
    assert words is None or got == words
    assert operation in {parts.name_of(node) for node in found.left}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_in_parts_gives_what_the_model_gives(name, tmp_path):
    kind = MODELS[name]
    binding, module = kind.binding(), kind.module.eval().requires_grad_(False)
    made = parts.for_cpu(exported_program(module, binding), binding, cpu_flags(), str(tmp_path))
    for rows in (1, 2, 16, 33, 1000, 0):
        counts = {0: rows, 1: 3 * rows} if name == "edges" else {0: rows}
        columns = Columns(binding, counts, (), "cpu", seed=rows, is_misaligned=rows % 2 == 1)
        as_they_lie = [one.tensor(argument) for one, argument in zip(binding.inputs, columns.inputs)]
        expect(binding.apply(made.module, as_they_lie), module, binding, columns)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_kernels_for_gpus_of_the_parts_give_what_the_model_gives(name, deterministic, tmp_path, monkeypatch):
    kind = MODELS[name]
    binding, module = kind.binding(), kind.module.eval().requires_grad_(False)
    programs, make = [], routes.kernels_of_part

    def remembered(*arguments):
        programs.append(make(*arguments))
        return programs[-1]

    monkeypatch.setattr(routes, "kernels_of_part", remembered)
    made = parts.for_cuda(exported_program(module, binding), binding, "ieee", deterministic)
    assert all(file.startswith(f"fused/{made.parts[0].name}/") for file in list(made.files)[:2])
    for part, program in zip(made.parts, on_cpu([one.made for one in programs], tmp_path), strict=True):
        domains = part.domains

        def run(inputs, outputs, program=program, domains=domains):
            rows = [inputs[at].shape[1] if at >= 0 else 0 for at in domains]
            program.bind([Memory(tensor) for tensor in [*inputs, *outputs]], rows)()

        parts._parts[part.name].run = run
    graph = made.module.graph_module
    for node in graph.graph.nodes:
        if "device" in node.kwargs:
            assert node.kwargs["device"].type == "cuda"
            node.update_kwarg("device", "cpu")
    graph.recompile()
    for rows in (1, 16, 33):
        counts = {0: rows, 1: 3 * rows} if name == "edges" else {0: rows}
        columns = Columns(binding, counts, (), "cpu", seed=rows)
        expect(binding.call(made.module, columns.inputs), module, binding, columns)


def test_wide_layers_stay_with_torch_on_gpus():
    class Wide(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.wide, self.after = mlp(4, 16, 200), nn.Linear(200, 800), nn.Linear(800, 200)
            self.last = mlp(200, 16, 2)

        def forward(self, x):
            return self.last(self.after(torch.relu(self.wide(self.before(x)))))

    kind = Kind(Wide().eval().requires_grad_(False), [block("x", 4)], [block("y", 2)])
    made = parts.for_cuda(exported_program(kind.module, kind.binding()), kind.binding(), "ieee", True)
    assert [part.stages for part in made.parts] == [
        ["linear 4 -> 16, relu, linear 16 -> 200"],
        ["linear 200 -> 16, relu, linear 16 -> 2"],
    ]
    assert [(one.operation, one.reason) for one in made.unfused] == [
        ("linear", "a linear layer of 800 x 200 weights, more than a kernel reads fast"),
        ("relu", "a tensor that a part cannot read"),  # of 800 planes
        ("linear", "a tensor that a part cannot read"),
    ]


def test_what_a_part_is_not_worth_stays_with_torch():
    class Small(nn.Module):
        def forward(self, x):
            return torch.relu(x[:, :2].cumsum(0) + 1)

    assert found_in(Small()).parts == []


def test_three_pointwise_operations_are_worth_a_part():
    class Three(nn.Module):
        def forward(self, x):
            return torch.sigmoid(torch.relu(x[:, :2].cumsum(0) + 1) * 2)

    assert len(found_in(Three()).parts) == 1


def test_a_model_without_a_part_is_refused_with_a_reason(tmp_path):
    kind = Kind(nn.Softmax(0), [block("x", 2)], [block("y", 2)])
    with pytest.raises(NotFused, match="no part of it is worth a kernel"):
        parts.for_cpu(exported_program(kind.module, kind.binding()), kind.binding(), cpu_flags(), str(tmp_path))


class NegativeIndices(nn.Module):
    """Rows by indices that torch computes and that count from the end."""

    def __init__(self):
        super().__init__()
        self.before, self.after = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        order = torch.argsort(x[:, 0]) - x.shape[0]
        return self.after(self.before(x)[order])


def test_rows_by_an_index_that_torch_computes_stay_with_torch(tmp_path):
    kind = Kind(NegativeIndices().eval().requires_grad_(False), [block("x", 4)], [block("y", 2)])
    binding = kind.binding()
    made = parts.for_cpu(exported_program(kind.module, binding), binding, cpu_flags(), str(tmp_path))
    assert any("an index that torch computes" in one.reason for one in made.unfused)
    columns = Columns(binding, {0: 33}, (), "cpu")
    got, expected = binding.call(made.module, columns.inputs), binding.call(kind.module, columns.inputs)
    torch.testing.assert_close(got, expected, rtol=2e-5, atol=2e-6)


def test_equal_parts_have_one_name(tmp_path):
    """Attention twice with the same weights: the parts between are the same text, and share a library."""

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            for _ in range(2):
                x = self.layer(x).cumsum(0)
            return x

    kind = Kind(Twice().requires_grad_(False), [block("x", 4)], [block("y", 4)])
    made = parts.for_cpu(exported_program(kind.module, kind.binding()), kind.binding(), cpu_flags(), str(tmp_path))
    assert len(made.parts) == 2 and len({part.name for part in made.parts}) == 1
