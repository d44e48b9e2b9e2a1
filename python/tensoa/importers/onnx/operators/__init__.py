# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The operators of ONNX, in functions of torch, by theme."""

from tensoa.importers.onnx.operators import (
    control,
    convolution,
    elementwise,
    indices,
    matrices,
    ml,
    movement,
    normalisation,
    pooling,
    quantisation,
    recurrent,
    reductions,
    resizing,
    sizes,
    tensorflow,
)
from tensoa.importers.onnx.operators.table import OPERATORS, find

__all__ = ["OPERATORS", "find"]
_THEMES = (control, convolution, elementwise, indices, matrices, ml, movement)  # they fill the table
_MORE = (normalisation, pooling, quantisation, recurrent, reductions, resizing, sizes, tensorflow)
