# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The description of a binding (JSON that describe() of tensoa/engine/describe.hpp writes), and its tensors.

A block is a named tensor over columns. In memory it is planes: rows of numbers that lie at one distance, the pitch. A
program that runs on columns takes each block as one argument or several, every one a tensor [planes, rows] with strides
(step * pitch, 1), from which it makes the tensor in the model's shape.
"""

from tensoa.binding.blocks import Argument, Binding, Block, argument_names, require_binding
from tensoa.binding.parse import SCHEMA, load, parse, without_columns

__all__ = [
    "SCHEMA",
    "Argument",
    "Binding",
    "Block",
    "argument_names",
    "load",
    "parse",
    "require_binding",
    "without_columns",
]
