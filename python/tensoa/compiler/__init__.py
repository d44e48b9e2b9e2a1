# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models that become few kernels: from a model to code for CPUs and GPUs (docs/compiler.md).

routes      fused programs of a model or of its parts, for CPUs and GPUs
parts       parts of a model that become programs, where the whole does not
typed/      from a graph of operators to typed tensors, loop nests, and C++ or CUDA C++
frontends/  models of torch and of TorchScript as graphs of operators
backends/   what CUDA C++ is made of; TorchInductor for what is not fused
"""
