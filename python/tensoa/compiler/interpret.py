# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluates programs by what their operations mean (operations.py).

Every value is an array of the value's dtype (float16 and bfloat16 in float32, rounded after each operation).
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tensoa.compiler.build import rounded
from tensoa.compiler.functions import Array
from tensoa.compiler.operations import cast_numbers, storage
from tensoa.compiler.program import Program
from tensoa.compiler.tensors import Evaluation, Tensor, in_order


def interpret(program: Program, planes: Mapping[tuple[int, int], Array], rows: Sequence[int]) -> list[Array]:
    """The value of each output, an array [rows, …] of its tensor's dtype; `planes` of the input blocks, by block and plane;
    `rows` in the order of the program's symbols.
    """
    values = _evaluated(program.tensors(), Evaluation(planes, dict(zip(program.rows, rows))))
    return [values[output.value] for output in program.outputs]


def constant_value(tensor: Tensor) -> Array:
    """The value of a tensor that is made of constants."""
    return _evaluated(in_order(tensor), Evaluation({}, {}))[tensor]


def _evaluated(tensors: Sequence[Tensor], given: Evaluation) -> dict[Tensor, Array]:
    values: dict[Tensor, Array] = {}
    with np.errstate(all="ignore"):
        for tensor in tensors:
            value = tensor.op.value(tensor, tuple(values[arg] for arg in tensor.args), given)
            assert value.shape == given.shape(tensor) and value.dtype == storage(tensor.dtype), tensor
            values[tensor] = rounded(value, tensor.dtype)
    return values


def written(value: Array, planes: Sequence[int], column: np.dtype[np.generic]) -> list[Array]:
    """The numbers that an output writes to each of its planes."""
    flat = value.reshape(value.shape[0], math.prod(value.shape[1:]))
    return [cast_numbers(flat[:, i], column) for i in range(len(planes))]
