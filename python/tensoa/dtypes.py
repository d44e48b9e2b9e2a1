# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The element types of columns: the one table of what each is called where."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DType:
    """An element type. `cpp` and `cuda`: its name in programs for CPUs and for GPUs (kernels/ of the back ends)."""

    name: str
    cpp: str
    cuda: str
    is_float: bool = False
    limits: tuple[int, int] | None = None  # the least and the largest, of integers and truth values

    @property
    def is_bool(self) -> bool:
        return self.name == "bool"

    @property
    def is_integer(self) -> bool:
        """Whether it is a type of integers; truth values are not."""
        return not self.is_float and not self.is_bool


def _integer(bits: int, is_signed: bool, cuda: str) -> DType:
    name = f"{'' if is_signed else 'u'}int{bits}"
    limits = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    return DType(name, f"std::{name}_t", cuda, limits=limits)


#: By name, in the order in which messages list them.
DTYPES = {
    dtype.name: dtype
    for dtype in (
        DType("bool", "bool", "bool", limits=(0, 1)),
        _integer(8, False, "unsigned char"),
        _integer(8, True, "signed char"),
        _integer(16, True, "short"),
        _integer(32, True, "int"),
        _integer(64, True, "int64"),
        DType("float16", "Half", "Half", is_float=True),
        DType("bfloat16", "BFloat", "Bfloat16", is_float=True),
        DType("float32", "float", "float", is_float=True),
        DType("float64", "double", "double", is_float=True),
    )
}
BOOL, INT64, FLOAT32 = DTYPES["bool"], DTYPES["int64"], DTYPES["float32"]


def name_of(dtype: object) -> str:
    """The name of a dtype of torch, or of a name itself."""
    return str(dtype).removeprefix("torch.")
