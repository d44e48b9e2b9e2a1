# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The text that every program begins with."""

from pathlib import Path

#: The instructions that CUDA C++ has no name for; tests give what stands here on a CPU.
INSTRUCTIONS = Path(__file__).parent / "kernels" / "instructions.cuh"
