# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers of rows of example collections."""

import pytest

from tensoa.binding.columns import FEW_ROWS, FEWEST_ROWS, MOST_NUMBERS, ROWS, ROWS_OF_WIDE_BLOCKS, trial_rows
from tensoa.binding.words import inputs_of, words_of

LEVELS = (ROWS, FEW_ROWS, FEWEST_ROWS, ROWS_OF_WIDE_BLOCKS)


def of_width(width):
    return inputs_of([words_of(f"x[n,{width}]")], {})


@pytest.mark.parametrize("rows", LEVELS)
def test_narrow_blocks_have_the_rows_that_are_asked_for(rows):
    assert trial_rows(of_width(1), rows) is rows


@pytest.mark.parametrize("rows", LEVELS)
@pytest.mark.parametrize("width", [40, 400, 1200, 6000])
def test_wide_blocks_have_fewer_rows_and_a_limited_size(rows, width):
    found = trial_rows(of_width(width), rows)
    assert found[0] <= rows[0] and found in LEVELS
    assert found[0] * width <= MOST_NUMBERS
    larger = [level for level in LEVELS if found[0] < level[0] <= rows[0]]
    assert all(level[0] * width > MOST_NUMBERS for level in larger)  # no more of them are left out than need be


def test_the_widest_blocks_have_several_rows_whatever_that_takes():
    assert trial_rows(of_width(MOST_NUMBERS), ROWS) == ROWS_OF_WIDE_BLOCKS


def test_what_is_only_followed_may_have_more_numbers():
    assert trial_rows(of_width(MOST_NUMBERS), ROWS, 128 * MOST_NUMBERS) == FEW_ROWS


@pytest.mark.parametrize("level", LEVELS)
def test_numbers_of_rows_of_several_collections_differ(level):
    assert len({*level}) == len(level) >= 12
