# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks of a binding: their tensors, and which argument and result of a model each is."""

from typing import NamedTuple, Optional

import pytest
import torch
from torch import nn

from exporting import bind, block
from tensoa import binding
from tensoa.compiler import torchscript
from tensoa.errors import InputError


@pytest.mark.parametrize(
    "described, shape",
    [
        (block("b", "xyz"), (5, 3)),
        (block("b", "x"), (5, 1)),
        (block("b", "xyz", (0, 2, 4)), (5, 3)),
        (block("b", "xyz", (4, 0, 1)), (5, 3)),
        (block("b", "xyz", shape="columns"), (3, 5)),
        (block("b", "v", kind="vector", element=[3]), (5, 3)),
        (block("b", "vw", (0, 3), kind="vector", element=[3]), (5, 2, 3)),
        (block("b", "vw", (0, 5), kind="vector", element=[3]), (5, 2, 3)),
        (block("b", "m", kind="matrix", element=[2, 3]), (5, 2, 3)),
        (block("b", "mk", (0, 7), kind="matrix", element=[2, 3]), (5, 2, 2, 3)),
    ],
)
def test_block_is_the_tensor_that_cpp_binds(described, shape):
    one = bind([described], []).inputs[0]
    assert one.shape(5) == shape
    memory = torch.arange(20 * 8, dtype=torch.float32).view(20, 8)  # planes of pitch 8
    (argument,) = one.input_arguments()
    planes = memory[argument.first :: argument.step][: argument.planes, :5]
    tensor = one.tensor(planes)
    assert tensor.shape == shape

    # plane = start + row + column * R of a matrix, start + component of a vector
    for at in torch.cartesian_prod(*(torch.arange(size) for size in shape)).tolist():
        row, rest = (at[1], [at[0]]) if one.is_transposed else (at[0], at[1:])
        column = rest[0] if len(one.columns) > 1 or not one.element else 0
        inside = rest[-len(one.element) :] if one.element else [0]
        plane = one.starts[column] + inside[0] + (inside[1] * one.element[0] if len(inside) > 1 else 0)
        assert tensor[tuple(at)] == memory[plane, row]

    written = torch.zeros_like(memory)
    arguments = [written[a.first :: a.step][: a.planes, :5] for a in one.output_arguments()]
    one.write(tensor, arguments)
    for place in range(20):
        expected = memory[place, :5] if place in one.places else torch.zeros(5)
        assert torch.equal(written[place, :5], expected)
    assert not written[:, 5:].any()


def test_output_arguments_cover_nothing_but_the_columns():
    uneven = bind([], [block("b", "xyz", (0, 1, 3))]).outputs[0]
    covered = [a.first + i * a.step for a in uneven.output_arguments() for i in range(a.planes)]
    assert covered == [0, 1, 3]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"schema": 9}, "got schema 9, expected 1"),
        ({"match": "luck"}, "expected one of auto, order, name"),
        ({"inputs": None}, '"inputs" is null, expected list'),
        ({"inputs": [block("b", "xy", (1, 2))]}, "expected to be counted from 0"),
        ({"inputs": [block("b", "x", dtype="complex64")]}, '"dtype" is "complex64"'),
        ({"inputs": [block("b", "x", kind="vector")]}, "expected 1 sizes for a vector column"),
        (
            {"inputs": [block("b", ["pt", "eta", "phi"], (0, 1, 0))]},
            'binding: block "b": the columns pt and phi have both plane 0, expected another for each',
        ),
        (
            {"outputs": [block("b", ["u", "v"], (0, 2), kind="vector", element=[3])]},
            'block "b": the columns u and v have both plane 2, expected another for each',
        ),
    ],
)
def test_binding_that_cannot_be_read_says_why(change, message):
    with pytest.raises(InputError, match=message):
        binding.parse({"schema": 1, "match": "order", "inputs": [], "outputs": [], **change})


def test_a_column_may_be_in_a_block_twice():
    assert bind([block("b", "xxy", (0, 0, 1))], []).inputs[0].columns == ("x", "x", "y")


# ---- arguments and results by name


class Weighted(nn.Module):
    def forward(self, x, charge, quality: Optional[torch.Tensor] = None):
        total = x + 10 * charge
        return total if quality is None else total + 100 * quality


def called(names, match="auto", module=None):
    """The result of Weighted for blocks of these names that hold 1, 2, …"""
    columns = bind([block(name, "u") for name in names], [block("out", "v")], match)
    return columns.apply(module or Weighted(), [torch.tensor(i + 1.0) for i in range(len(names))])[0].item()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("x charge quality", 321),
        ("charge x quality", 312),
        ("quality x charge", 132),
        ("x charge", 21),
        ("charge x", 12),
        ("hits cells flags", 321),
        ("hits charge", 21),
    ],
)
def test_names_of_arguments_decide_unless_the_order_is_asked_for(names, expected):
    assert called(names.split()) == called(names.split(), module=torch.jit.script(Weighted())) == expected
    assert called(names.split(), "order") == (321 if names.count(" ") == 2 else 21)


@pytest.mark.parametrize("names", [("charge", "hits"), ("hits", "x", "quality"), ("x", "quality", "cells")])
def test_a_block_with_the_name_of_another_argument_is_refused(names):
    with pytest.raises(InputError, match=r"the model takes \['x', 'charge', 'quality'\], block .* is number"):
        called(names)


def test_arguments_without_names_go_in_order():
    class Any(nn.Module):
        def forward(self, *all):
            return all[0] + 10 * all[1]

    assert called(["b", "a"], module=Any()) == 21


class Sums(NamedTuple):
    plus: torch.Tensor
    minus: torch.Tensor


@pytest.mark.parametrize(
    ("names", "match", "expected"),
    [
        (["plus", "minus"], "auto", [1, 2]),
        (["minus", "plus"], "auto", [2, 1]),
        (["minus", "plus"], "order", [1, 2]),
        (["minus", "plus"], "name", [2, 1]),
        (["first", "second"], "auto", [1, 2]),
        (["first", "minus"], "auto", [1, 2]),
        (["first", "plus"], "auto", 'gave "plus" in the place of block "first"'),
        (["first", "second"], "name", 'gave "plus", the output blocks are'),
    ],
)
def test_members_of_named_tuples_go_by_their_names(names, match, expected):
    columns = bind([], [block(name, "u") for name in names], match)
    if isinstance(expected, list):
        assert columns.results(Sums(1, 2)) == columns.results([Sums(1, 2)]) == expected
    else:
        with pytest.raises(InputError, match=expected):
            columns.results(Sums(1, 2))


def test_entries_of_dicts_go_by_name_and_the_others_take_what_is_left():
    columns = bind([], [block(name, "u") for name in ("a", "plus", "b", "key")])
    assert columns.results([{"key": 1}, 2, Sums(3, 4)]) == [2, 3, 4, 1]  # a, plus, b (minus is not a block), key
    with pytest.raises(InputError, match='two results called "key"'):
        columns.results([{"key": 1}, {"key": 2}, 3, 4])


def test_a_torchscript_model_is_exported_by_the_names_of_its_arguments_and_results(tmp_path):
    class Both(nn.Module):
        def forward(self, x, charge) -> Sums:
            return Sums(x + charge, x - charge)

    columns = bind([block("charge", "u"), block("x", "v")], [block("minus", "m"), block("plus", "p")], "auto")
    plain = torchscript.interpreted(torch.jit.script(Both()), columns)
    minus, plus = columns.apply(plain, [torch.tensor([[2.0]] * 3), torch.tensor([[5.0]] * 3)])
    assert (minus[0].item(), plus[0].item()) == (3, 7)
