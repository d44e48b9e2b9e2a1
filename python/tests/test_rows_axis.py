# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models whose rows are not first: what they give is compared with calls of the model itself, at its own shape."""

import pytest
import torch
from torch import nn

import tensoa
from tensoa.compiling import _in_words, _words
from tensoa.errors import InputError
from tensoa.rows_axis import rows_first


class OfOneRow(nn.Module):
    """[5] to [3]; of [n, 5] it gives something else."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(5, 3)

    def forward(self, x):
        return torch.softmax(self.layer(x) * x.sum(), 0)


class OfABatchOfOne(OfOneRow):
    def forward(self, x):
        return self.layer(x.view(1, 5)).view(1, 3)


class Streaming(nn.Module):
    """A step of a network whose state [2, n, 4] has rows second."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.cell = nn.GRU(3, 4, num_layers=2)

    def forward(self, x, state):
        y, after = self.cell(x[None], state)
        return {"y": y[0], "after": after}


class OfMany(nn.Module):
    """Always 311 rows, which do not depend on each other."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(3, 4)

    def forward(self, x):
        return self.layer(x).reshape(311, 2, 2).sum(2)


class OfSixteen(OfMany):
    """Always 16 rows, a number that other sizes have, too."""

    def __init__(self):
        super().__init__()
        self.wide, self.narrow = nn.Linear(3, 16), nn.Linear(16, 2)

    def forward(self, x):
        return self.narrow(self.wide(x).view(16, 16).relu())


class Mixing(OfMany):
    def forward(self, x):
        return torch.arange(64.0 * 64).view(64, 64) @ self.layer(x)


class Image(nn.Sequential):
    def __init__(self):
        torch.manual_seed(0)
        super().__init__(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 2))


def found(model, *columns):
    """(the module of rows, what is said of it)."""
    asked = [*_words(columns)]
    model.eval()
    return rows_first(model, _in_words(model, asked, [], None, str), {one.name: one.sizes for one in asked if one.sizes})


def by_rows(model, x):
    return torch.stack([model(row) for row in x])


@pytest.mark.parametrize("columns", ["x[5]=a,b,c,d,e", "x[5]"])
def test_a_tensor_that_is_one_row_is_calculated_for_each(columns):
    model = OfOneRow()
    module, lines = found(model, columns)
    assert lines == ["rows first: x is [5]; each row is calculated by itself"]
    x = torch.randn(23, 5)
    torch.testing.assert_close(module(x), by_rows(model, x))


def test_a_batch_of_one_is_found_without_a_word():
    model = OfABatchOfOne()
    module, lines = found(model, "x=a,b,c,d,e")
    assert len(lines) == 1 and lines[0].endswith("; each row is calculated by itself")
    x = torch.randn(23, 5)
    torch.testing.assert_close(module(x), torch.cat([model(row[None]) for row in x]))


def test_what_a_module_takes_as_it_is_stays_as_it_is():
    model = nn.Linear(3, 2)
    assert found(model, "input=a,b,c") == (model, [])


@pytest.mark.parametrize("is_script", [False, True])
def test_a_state_whose_rows_are_second_is_columns(is_script):
    model = Streaming().eval()
    module, lines = found(torch.jit.script(model) if is_script else model, "x=a,b,c", "state[2,n,4]")
    assert lines == ["rows first: x is [n, 3] and state is [2, n, 4], axis 1 of result 2 are rows"]
    x, state = torch.randn(7, 3), torch.randn(7, 8)
    expected = model(x, state.view(7, 2, 4).movedim(1, 0))
    results = module(x, state)
    assert [*results] == ["y", "after"]
    torch.testing.assert_close(results["y"], expected["y"])
    torch.testing.assert_close(results["after"], expected["after"].movedim(1, 0).flatten(1))


def test_images_have_a_column_for_each_number():
    model = Image()
    module, lines = found(model, "input[n,1,4,4]")
    assert lines == ["rows first: input is [n, 1, 4, 4]"]
    x = torch.randn(9, 16)
    torch.testing.assert_close(module(x), model(x.view(9, 1, 4, 4)))


@pytest.mark.parametrize(
    "model, count, says",
    [
        (OfMany, 311, "its 311 rows do not depend on each other, and those of a call are in their place"),
        (OfSixteen, 16, "each row is calculated by itself, 16 times, which is slower"),
    ],
)
def test_a_fixed_number_of_rows_that_do_not_depend_on_each_other_becomes_any(model, count, says):
    model = model()
    module, lines = found(model, f"x[{count},3]=a,b,c")
    assert lines == [f"rows first: x is [{count}, 3]; {says}"]
    x = torch.randn(2 * count, 3)
    expected = torch.cat([model(x[:count]), model(x[count:])])
    torch.testing.assert_close(module(x), expected)
    torch.testing.assert_close(module(x[: count + 3]), expected[: count + 3])
    torch.testing.assert_close(module(x[:1]), expected[:1])


def test_a_fixed_number_of_rows_that_depend_on_each_other_is_refused():
    with pytest.raises(InputError) as error:
        found(Mixing(), "x[64,3]=a,b,c")
    assert "the model does not take x[64, 3]" in str(error.value) and "they depend on each other" in str(error.value)


class OfASequence(nn.Module):
    """[1, 6] as a sequence of 3 steps: torch.vmap has no rule for an LSTM."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.memory = nn.LSTM(2, 4)

    def forward(self, x):
        return self.memory(x.view(3, 1, 2))[1][0].view(1, 4)


def test_operators_without_a_rule_of_vmap_are_calculated_for_each_row():
    model = OfASequence()
    module, lines = found(model, "x[1,6]")
    assert lines == ["rows first: x is [1, 6]; each row is calculated by itself"]
    x = torch.randn(9, 6)
    torch.testing.assert_close(module(x), torch.cat([model(row[None]) for row in x]))


class OfPairs(nn.Module):
    """[n, 3] to [n, 2, 2]."""

    def forward(self, x):
        return torch.stack([x[:, :2], x[:, 1:]], 1)


def test_results_of_several_axes_are_columns_that_are_counted():
    module, said = found(OfPairs(), "x=a,b,c")
    rows = torch.randn(7, 3)
    assert torch.equal(module(rows), OfPairs()(rows).flatten(1))
    assert said == ["rows first: x is [n, 3]"]
    made = _in_words(OfPairs(), [*_words(["x=a,b,c"])], [], None, said.append)
    assert made.outputs[0].columns == ("output_0.0", "output_0.1", "output_1.0", "output_1.1")


@pytest.mark.parametrize(
    "columns, says",
    [
        ("x[2,n]=a,b,c", "block x[2,n] has 3 columns"),
        ("x[n,n]=a", "block x[n,n] has 1 columns"),
        ("x[n,3].T=a,b,c", "block x[n,3].T has 3 columns"),
        ("x[n,m]=a,b,c", "block x[n,m]"),
    ],
)
def test_sizes_that_are_not_those_of_a_row_are_refused(columns, says, tmp_path):
    with pytest.raises(InputError) as error:
        tensoa.compile(OfOneRow(), tmp_path / "m.pt2", columns=[columns])
    assert says in str(error.value) or "expected the names of its arguments" in str(error.value)


def test_a_package_of_one_row_is_compared_with_calls_of_the_model(tmp_path):
    lines = []
    tensoa.compile(OfOneRow(), tmp_path / "m.pt2", columns={"x[5]": ["a", "b", "c", "d", "e"]}, report=lines.append)
    assert any(line.startswith("compared with the model itself: the same in ") for line in lines)
    assert "fused into 1 kernel:" in lines and "rows: each is calculated from itself alone" in lines
