# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Which threads calculate the rows of a stage on a GPU."""

import itertools

import pytest

from tensoa.compiler.schedule.teams import TeamReason, of_block, of_warps, team_bytes

MEMORY = 99 * 1024


@pytest.mark.parametrize(
    "row_bytes, rows, reason", [(64, 32, TeamReason.MANY), (576, 32, TeamReason.MANY), (1152, 16, TeamReason.WIDE)]
)
def test_wide_rows_are_shared_by_lanes(row_bytes, rows, reason):
    team = of_warps(row_bytes, 0, 256, MEMORY)
    assert (team.rows, team.reason, team.groups) == (rows, reason, 32 // rows)
    assert team.is_warp and 0 < team.count <= 8 and team.count * team_bytes(row_bytes, team.element_step) <= MEMORY


def test_rows_without_room_have_no_warps():
    assert of_warps(4800, 0, 256, MEMORY) is None
    assert of_warps(64, MEMORY, 256, MEMORY) is None


def test_memory_of_keys_is_that_of_each_warp():
    alone, with_keys = (of_warps(576, common, 256, MEMORY) for common in (0, 8192))
    assert with_keys.count < alone.count


@pytest.mark.parametrize("row_bytes", [64, 1152])
def test_fragments_of_tensor_cores_lie_in_different_banks(row_bytes):
    """A lane has a pair of elements of one of eight rows; each load has one of the pair."""
    step = of_warps(row_bytes, 0, 256, MEMORY).element_step
    banks = {(2 * pair * step + row) % 32 for pair, row in itertools.product(range(4), range(8))}
    assert len(banks) == 32


@pytest.mark.parametrize("is_one, reason", [(True, TeamReason.ONCE), (False, TeamReason.FEW)])
def test_a_block_is_a_team_with_rows_one_behind_the_other(is_one, reason):
    team = of_block(4, 128, is_one)
    assert not team.is_warp and (team.rows, team.threads, team.groups, team.reason) == (4, 128, 1, reason)
