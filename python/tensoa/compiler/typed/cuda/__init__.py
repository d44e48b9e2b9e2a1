# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From typed programs to CUDA C++: a kernel for each stage, and the plan of the launches."""

from tensoa.compiler.typed.cuda.generate import KERNELS, generate

__all__ = ["KERNELS", "generate"]
