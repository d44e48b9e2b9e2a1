# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What every function of an operator is given: a Builder that knows the domains of sizes."""

import torch

from tensoa.compiler.errors import NotFused
from tensoa.compiler.ir import Builder


class Shapes(Builder):
    """`symbols`: of sizes, their domain. `device`: whose torch gives the numbers."""

    def __init__(self, symbols: dict, device: str) -> None:
        super().__init__()
        self.symbols, self.device = symbols, device

    def domain_of(self, size: int | torch.SymInt) -> tuple[int, int | None]:
        """(how many elements of each row, domain) of a size; domain None for a number."""
        if isinstance(size, int):
            return size, None
        number = size.node.maybe_as_int()
        if number is not None:
            return int(number), None
        elements, symbol = size.node.expr.as_coeff_Mul()
        if symbol not in self.symbols or not elements.is_Integer or elements < 1:
            raise NotFused(f"a dimension of {size.node.expr} elements")
        return int(elements), self.symbols[symbol]

    def rows_of(self, node: torch.fx.Node) -> tuple[tuple[int, ...], int, int]:
        """As shape_of(), of what has rows."""
        shape, axis, domain = self.shape_of(node)
        if axis is None or domain is None:
            raise NotFused("a result without rows")
        return shape, axis, domain

    def shape_of(self, node: torch.fx.Node) -> tuple[tuple[int, ...], int | None, int | None]:
        """(shape as of Rows.planes, axis, domain) of what a node gives (first); axis None without rows."""
        shape, axis, domain = [], None, None
        value = node.meta["val"]
        for i, size in enumerate((value[0] if isinstance(value, (list, tuple)) else value).shape):
            elements, found = self.domain_of(size)
            shape.append(elements)
            if found is None:
                continue
            if axis is not None:
                raise NotFused("a tensor with rows in two dimensions")
            axis, domain = i, found
        return tuple(shape), axis, domain
