# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What programs for GPUs are made of: tiles of rows and products by tensor cores (kernels/), packed weights, and the plan of
the launches. tensoa.compiler.typed.cuda writes the programs.

    image = compile(program.source, "sm_90")           # a cubin, by the NVRTC that torch brings
"""

from tensoa.compiler.backends.cuda.nvrtc import ARCHITECTURES, INSTRUCTIONS, compile
from tensoa.compiler.backends.cuda.program import LIMITS, CudaKernels, Generated, Launch, Zero
from tensoa.compiler.backends.cuda.tiles import PRECISIONS

__all__ = [
    "ARCHITECTURES",
    "INSTRUCTIONS",
    "LIMITS",
    "PRECISIONS",
    "CudaKernels",
    "Generated",
    "Launch",
    "Zero",
    "compile",
]
