# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Text of programs: that of kernels/ as one, as compilers of programs see no files of ours, and numbers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np


def joined(files: Sequence[Path]) -> str:
    """The files one behind the other, without what they include of each other, which comes before."""
    lines = [line for file in files for line in file.read_text().splitlines() if not line.startswith('#include "')]
    return "\n".join(lines) + "\n"


def float_literal(number: float, nan: str, infinity: str) -> str:
    """A number of float32 in C++ or CUDA C++; `nan`, `infinity`: their names there."""
    number = float(np.float32(number))
    if np.isnan(number):
        return nan
    if np.isinf(number):
        return infinity if number > 0 else f"-{infinity}"
    return f"{number.hex()}f"
