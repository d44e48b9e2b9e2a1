# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models that become few kernels: from a model to code for CPUs and GPUs (docs/compiler.md).

routes       fused programs of a model or of its parts, for CPUs and GPUs
parts        parts of a model that become programs, where the whole does not
torchscript/ TorchScript models as modules that torch.export can follow
frontend/    models of torch as typed programs
tensors      typed tensors, whose operations are in operations, their meaning in interpret, and their makers in build
passes       the same function with less work; same_bits, selected and layer_weights are further ones
schedule/    typed programs as stages, roots and loop nests
cpu/, cuda/  loop nests as C++ and CUDA C++; printing has what both print alike
inductor     programs by TorchInductor, for what is not fused
"""
