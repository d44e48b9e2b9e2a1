# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The texts of kernels/ as one: compilers of programs see no files of ours."""

from collections.abc import Sequence
from pathlib import Path


def joined(files: Sequence[Path]) -> str:
    """The files one behind the other, without what they include of each other, which comes before."""
    lines = [line for file in files for line in file.read_text().splitlines() if not line.startswith('#include "')]
    return "\n".join(lines) + "\n"
