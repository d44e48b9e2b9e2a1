# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The integers that a model takes."""

import pytest
import torch
from torch import nn

from exporting import bind, block
from tensoa.binding.columns import FEW_ROWS, FEWEST_ROWS, all_of
from tensoa.binding.model import with_examples


class Table(nn.Module):
    """Reads a table of `size` rows at `shift` beyond its integers. `most`: rows of the largest call."""

    def __init__(self, size, shift=0):
        super().__init__()
        self.table, self.shift, self.most = nn.Embedding(size, 3), shift, 0

    def forward(self, kind):
        self.most = max(self.most, kind.shape[0])
        return self.table(kind[:, 0] + self.shift)


class OneHot(Table):
    def forward(self, kind):
        self.most = max(self.most, kind.shape[0])
        return (kind == torch.arange(5)).float()


class Edges(nn.Module):
    def forward(self, x, index):
        return x[index[:, 0]]


class Both(nn.Module):
    """A table, and rows of the same call."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 2)

    def forward(self, x, index, kind):
        return x[index[:, 0]] + self.table(kind[:, 0])


def found(module, *blocks):
    columns = bind([block(*one[:2], dtype=one[2], column_dtype=one[2]) for one in blocks], [block("y", "abc")])
    return [one.integers for one in with_examples(module, columns).inputs]


KIND, X = ("kind", "k", "int32"), ("x", "ab", "float32")


@pytest.mark.parametrize("size, shift", [(257, 0), (9, 1), (40, 3), (5000, 0), (3, -1)])
def test_a_table_says_which_integers_it_has_in_calls_of_few_rows(size, shift):
    module = Table(size, shift)
    assert found(module, KIND) == [(-shift, size - 1 - shift)]
    assert module.most <= max(FEWEST_ROWS)


def test_a_model_of_any_integers_is_tried_with_few_rows():
    module = OneHot(5)
    assert found(module, KIND) == [all_of(torch.int32)] and module.most <= max(FEWEST_ROWS)


def test_rows_of_the_call_are_no_table():
    assert found(Edges(), X, ("index", "i", "int64")) == [None, None]
    assert found(Both(), X, ("index", "i", "int64"), KIND) == [None, None, (0, 6)]


def test_a_table_that_is_not_read_by_the_number_itself_is_searched_for():
    class Twice(Table):
        def forward(self, kind):
            self.most = max(self.most, kind.shape[0])
            return self.table(2 * kind[:, 0])

    module = Twice(20)
    assert found(module, KIND) == [(0, 9)] and module.most >= min(FEW_ROWS)
