# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models that become few kernels: from a model to code for CPUs and GPUs (docs/compiler.md).

routes      which compiler makes a program: typed/ for CPUs, row programs for GPUs
parts       parts of a model that become programs, where the whole does not
typed/      from a model to typed tensors, loop nests and C++
frontends/  from a model of torch to a row program, or the reason why not
ir/         what a row program is: values with rows, a handful of operations; and how to build one
passes      the same function with less work
stages      which operations make one kernel, and what kernels hand over through memory
backends/   CUDA C++ for a GPU; TorchInductor for what is not fused
"""
