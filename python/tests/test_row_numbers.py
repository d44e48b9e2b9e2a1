# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Which conditions on numbers of rows hold for any."""

import pytest

from tensoa.row_numbers import _holds_always

ROWS, OTHERS = "L['x'].size()[0]", "L['y'].size()[0]"


@pytest.mark.parametrize(
    "condition",
    [
        "rows == rows",
        "rows >= 1",
        "min(rows, 3*rows) == rows",
        "rows == 1 or rows == rows",
        "(((-1) + 5*rows) // rows) == 4",
        "4 == ((5*rows - 1) // rows)",
        "(rows // (rows + 1)) == 0",
        "((2*rows) // rows) == 2",
        "(rows // (rows + others)) == 0",
    ],
)
def test_what_holds_for_any_number_of_rows_is_not_a_branch(condition):
    assert _holds_always(*named(condition))


@pytest.mark.parametrize(
    "condition",
    [
        "rows > 1",
        "rows != 5",
        "rows == others",
        "(((-1) + 5*rows) // rows) == 5",
        "((rows - 1) // 4) == 0",
        "((rows + 1) // rows) == 1",  # of one row it is 2
        "(rows // others) == 0",
        "unknown(rows) == 1",
    ],
)
def test_what_holds_for_some_numbers_of_rows_alone_is_a_branch(condition):
    assert not _holds_always(*named(condition))


def named(condition):
    text = condition.replace("rows", ROWS).replace("others", OTHERS)
    return text, {ROWS: "rows0", OTHERS: "rows1"}
