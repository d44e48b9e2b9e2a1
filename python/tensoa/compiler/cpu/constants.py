# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Constants of a program in the order in which the kernels read them."""

import numpy as np

from tensoa.compiler.functions import Array

BLOCK = 16  # outputs of a block of packed weights; rows of memory are padded to it


def padded(width: int) -> int:
    return -(-width // BLOCK) * BLOCK


def pack_linear(weight: Array, bias: Array | None) -> Array:
    """Blocks of 16 outputs: their biases, then for every input their weights. Outputs that are none are zero."""
    outputs, inputs = weight.shape
    packed = np.zeros((padded(outputs) // BLOCK, inputs + 1, BLOCK), np.float32)
    rows = np.zeros((padded(outputs), inputs + 1), np.float32)
    rows[:outputs, 1:] = weight
    if bias is not None:
        rows[:outputs, 0] = bias
    packed[:] = rows.reshape(-1, BLOCK, inputs + 1).transpose(0, 2, 1)
    return packed.reshape(-1)
