# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The properties of a CPU target, in one place."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """Sizes of the code that is written, and limits of what is compiled. The widths of vectors are in the kernels."""

    tile: int = 48  # rows of the layout whose vectors are rows
    most_few: int = 8  # rows up to which the layout whose vectors are elements is faster
    short_sum: int = 16  # terms of a sum below which lanes are not summed across
    sorted_at_once: int = 32  # elements of a sort that rows are sorted together by
    special_nests: int = 24  # up to which a stage is compiled for each number of rows at a time
    lines: int = 6000  # of C++ of a program, at most
    row_bytes: int = 1 << 19  # of scratch memory of a row, at most: 24 MiB for a tile
    weight_bytes: int = 1 << 30  # of a library, whose code and data are at most 2 GiB apart


X86_64 = Target()
