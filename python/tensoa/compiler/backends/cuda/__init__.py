# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""CUDA C++ for a row program: one kernel for each stage, its packed weights, and the plan of the launches.

    fused = generate(program, plan(program))          # needs neither a GPU nor a toolkit
    image = compile(fused.source, "sm_90")             # a cubin, by the NVRTC that torch brings

How a kernel holds rows and multiplies is described in the texts of kernels/. What is
decided here:

- the layout of a value: which of its numbers lies at which position of the tiles of 8. Parts of a `pack` keep tiles of
  their own, so that nothing moves; padding is what no number lies at;
- the arithmetic of a linear layer, see PRECISIONS;
- which weights lie in shared memory: what fits in SHARED_BYTES, which every architecture from sm_80 on has;
- whether a tile of rows belongs to one warp, with all weights near, or to the warps of a block together: domains that
  are gathered from (nodes) have far fewer rows than others (edges), there latency counts;
- the memory of buffers, reused as soon as the last reader is done, and which kernel sets sums to zero;
- how sums by index are made: by atomics, whose order is that of the moment, or, for a plan with totals, so that they are
  the same bits at every call, from lists of the rows that belong to each sum (docs/decisions/0017). What is summed is then
  stored and read, instead of added; where it is stored for another reason, or added by two indices, nothing is written
  more.
"""

from tensoa.compiler.backends.cuda.generate import INSTRUCTIONS, generate, kernel_text
from tensoa.compiler.backends.cuda.memory import PRECISIONS
from tensoa.compiler.backends.cuda.nvrtc import ARCHITECTURES, compile
from tensoa.compiler.backends.cuda.program import LIMITS, CudaKernels, Generated, Launch, Zero

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
    "generate",
    "kernel_text",
]
