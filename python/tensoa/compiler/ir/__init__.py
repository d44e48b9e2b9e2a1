# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The intermediate representation: row programs, and how to build them. Imports NumPy, not torch.

program.py     Value, Output, Program: what a row program is
operations.py  the table of elementwise functions and reductions
integers.py    exact arithmetic of columns of integers
verify.py      what holds of every row program
build.py       one function for each operation: from values to a value
rows.py        tensors as arrays of planes, and what moves planes
pairs.py       tensors with a number for every pair of rows, until something over all rows takes them
builder.py     from operations on tensors to values, for front ends
bounds.py      how large the numbers of a value can be
"""

from tensoa.compiler.ir.bounds import EXACT, Bounds
from tensoa.compiler.ir.build import (
    apply,
    attend,
    columns,
    constant,
    copy,
    double,
    gather,
    index,
    linear,
    lookup,
    nearest,
    norm,
    order,
    pack,
    product,
    reduce,
    row,
    scatter,
    take,
)
from tensoa.compiler.ir.builder import Builder
from tensoa.compiler.ir.integers import Step
from tensoa.compiler.ir.operations import FUNCTIONS, REDUCTIONS, Function, Reduction
from tensoa.compiler.ir.pairs import Pairs
from tensoa.compiler.ir.program import Output, Program, Value, Visitor, in_order
from tensoa.compiler.ir.rows import InputPlane, Rows

__all__ = [
    "EXACT",
    "FUNCTIONS",
    "REDUCTIONS",
    "Bounds",
    "Builder",
    "Function",
    "InputPlane",
    "Output",
    "Pairs",
    "Program",
    "Reduction",
    "Rows",
    "Step",
    "Value",
    "Visitor",
    "apply",
    "attend",
    "columns",
    "constant",
    "copy",
    "double",
    "gather",
    "in_order",
    "index",
    "linear",
    "lookup",
    "nearest",
    "norm",
    "order",
    "pack",
    "product",
    "reduce",
    "row",
    "scatter",
    "take",
]
