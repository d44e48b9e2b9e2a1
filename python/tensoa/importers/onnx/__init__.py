# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""ONNX models of opset 7 to 21 as modules of torch.

A graph is run from Python, node by node, each operator through functions of torch. torch.export follows that: what depends
on constants and on shapes alone is done while it does, sizes that are free stay free, and what is left are operations on
tensors, which the compiler takes as it takes those of a model written with torch. The package onnx converts opset 7 to 10
to 11 before.
"""

from tensoa.importers.onnx.module import OnnxModule, import_onnx

__all__ = ["OnnxModule", "import_onnx"]
