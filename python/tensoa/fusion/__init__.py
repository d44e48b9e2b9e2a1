# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models that become few kernels of our own: from torch.export's graph to code for CPUs and GPUs.

    graph.py     what a fused program is: values with rows, a handful of operations
    capture.py   from a torch.nn.Module to such a graph, or the reason why not
    passes.py    the same function with less work
    stages.py    which operations make one kernel, and what kernels hand over through memory
    cpu.py       C++ for one thread of a CPU
    cuda.py      CUDA C++ for a GPU
"""
