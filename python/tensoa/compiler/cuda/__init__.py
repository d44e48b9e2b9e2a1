# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From typed programs to CUDA C++: a kernel for each stage, and the plan of the launches.

kernels = cuda.generate(passes.simplified(program))
image = cuda.compile(kernels.made.source, "sm_90")  # a cubin, by the NVRTC that torch brings
"""

from tensoa.compiler.cuda.generate import KERNELS, generate
from tensoa.compiler.cuda.nvrtc import ARCHITECTURES, INSTRUCTIONS, compile
from tensoa.compiler.cuda.program import LIMITS, CudaKernels, Generated, Launch, Zero
from tensoa.compiler.cuda.tiles import PRECISIONS

__all__ = [
    "ARCHITECTURES",
    "INSTRUCTIONS",
    "KERNELS",
    "LIMITS",
    "PRECISIONS",
    "CudaKernels",
    "Generated",
    "Launch",
    "Zero",
    "compile",
    "generate",
]
