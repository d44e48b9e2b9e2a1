# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Tiles of rows and their products (kernels/rows.cuh, kernels/layers.cuh): sizes, and how layers multiply."""

TILE_ROWS = 16
REGISTER_TILES = 24  # of a value: wider ones live in local memory, and loops over them are not unrolled
CHUNK = 16  # tiles of outputs that are accumulated at a time
TOGETHER = 4  # warps that own a tile together

#: How linear layers multiply, the first where none is requested. "ieee": float32. "tf32x3": three tensor core products of
#: split numbers, at the accuracy of float32 and of 3xTF32, for rows of any size: one number counts to 2^-22 of itself or
#: 2^-38 of the largest one in its row, a weight to 2^-35 of the largest one of its output. The pieces are float16, which
#: needs half the products and half the memory of tf32 pieces; every row is first multiplied by a power of two, even where a
#: bound is known (tanh, a layer norm), because nothing is known of how small its numbers are. Tensor cores add with
#: truncation, so sums are off by up to about 1e-6 of the largest one. "tf32" and "bf16": one product of rounded numbers.
#: Layers of few inputs or outputs are always float32.
SCHEMES = {"tf32x3": "Half3", "ieee": "Fma", "tf32": "Tf32", "bf16": "Bf16"}
PRECISIONS = tuple(SCHEMES)
