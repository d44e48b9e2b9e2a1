# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Who calculates the rows of a stage on a GPU, and why: the roles of rows, elements, lanes and registers."""

from dataclasses import dataclass
from enum import Enum

WARP = 32  # threads


class TeamReason(Enum):
    """Why a team is as it is."""

    ONCE = "it is calculated once"
    FEW = "few rows: all threads of a block share the elements of some, so that one row is ready soon"
    MANY = "many rows: each lane of a warp has its own, so that no lane waits for others and addresses are the same for all"
    LANE = "rows that join keys: each lane has a share of the keys, and what there is so far lies in its registers"
    WIDE = "many wide rows: lanes of a warp share one, so that fast memory holds more warps"


@dataclass(frozen=True)
class Team:
    """`threads` that calculate up to `rows` rows together, from nest to nest; a block has `count` teams.

    `element_step`, `row_step`: elements of scratch memory from one element of a row to the next one, and from row to row; a
    `row_step` of 0: rows lie one behind the other, at the distance that the stage needs.
    """

    rows: int
    threads: int
    count: int
    element_step: int
    row_step: int
    reason: TeamReason

    @property
    def groups(self) -> int:
        """Lanes of a warp that share a row, or all threads."""
        return self.threads // self.rows if self.is_warp else 1

    @property
    def is_warp(self) -> bool:
        return self.row_step == 1


def of_block(rows: int, threads: int, is_one: bool) -> Team:
    """The team that a block of threads is."""
    return Team(rows, threads, 1, 1, 0, TeamReason.ONCE if is_one else TeamReason.FEW)


def of_lane() -> Team:
    """A thread with its own rows and keys."""
    return Team(1, 1, 1, 1, 0, TeamReason.LANE)


def of_warps(row_bytes: int, common_bytes: int, threads: int, memory: int) -> Team | None:
    """Warps with the rows with which three warps share `memory` bytes. None where 16 rows are too many: a block with few rows
    is faster than warps that read all weights for fewer.

    Scratch memory has rows next to each other, and a step from element to element with which neither elements nor the
    fragments of tensor cores (8 rows, 4 pairs of elements) meet in a bank.
    """
    for rows in (32, 16):
        step = rows + 4
        count = min(threads // WARP, memory // max(1, team_bytes(row_bytes, step) + common_bytes))
        if count >= min(threads // WARP, 3):
            return Team(rows, WARP, count, step, 1, TeamReason.MANY if rows == WARP else TeamReason.WIDE)
    return None


def team_bytes(row_bytes: int, element_step: int) -> int:
    """Scratch memory of a warp. `row_bytes`: of all elements of a row."""
    return -(-row_bytes * element_step // 16) * 16
