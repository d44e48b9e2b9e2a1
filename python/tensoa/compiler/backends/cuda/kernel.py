# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Sizes of the tiles of kernels/rows.cuh."""

TILE_ROWS = 16
REGISTER_TILES = 24  # of a value: wider ones live in local memory, and loops over them are not unrolled
