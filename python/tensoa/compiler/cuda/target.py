# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The properties of a GPU target, in one place."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """Sizes of the code that is written, and limits of what is compiled. Every architecture from sm_80 on has as much."""

    tile: int = 16  # items that tensor cores multiply at a time
    most_rows: int = 128  # of a block
    elements: int = 1024  # of the largest root, which a block has work with
    threads: int = 128  # of a block
    many_threads: int = 256  # of one with that many elements
    shared_bytes: int = 96 * 1024  # of a block's scratch memory; more of it lies in global memory
    many_rows_bytes: int = 24 * 1024  # of that of more rows than a tile
    few_inputs: int = 4  # of a layer, up to which tensor cores are not worth their splitting
    few_outputs: int = 2
    fragment_tiles: int = 24  # of a value in the registers of a warp
    serial_products: int = 8_000  # of a row: up to which a warp with sixteen rows is as soon ready as a block with few
    most_tiles: int = 4  # of outputs, whose accumulators a warp holds
    warp_tiles: int = 8  # of those of a warp that has all outputs of its rows
    kept_weights: int = 1024  # of a product, that a warp has in registers from one item to the next: 32 of each lane
    most_outputs: int = 8  # of a product without tensor cores, that a lane has at a time
    near_weights: int = 48 * 1024  # bytes of weights that a block of few rows copies into shared memory
    item_bytes: int = 72 * 1024  # of that of a block whose groups of items lie in fragments, where it has several rows
    warps_bytes: int = 99 * 1024  # of scratch memory of a block of warps with rows of their own
    processor_bytes: int = 227 * 1024  # of the shared memory of a multiprocessor
    processor_threads: int = 512  # of one, that have registers enough
    row_bytes: int = 1 << 20  # of scratch memory of a row, at most
    layer_bytes: int = 1 << 19  # of the weights of a layer, at most: each block reads them all
    kernel_characters: int = 120_000  # of a kernel, at most: NVRTC takes longer than linear time
    workspace_bytes: int = 1 << 30  # between kernels; more rows run in several parts


SM_80 = Target()
