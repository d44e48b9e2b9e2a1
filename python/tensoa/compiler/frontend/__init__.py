# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From models of torch, by torch.export, to typed programs."""

from tensoa.compiler.frontend.capture import capture
from tensoa.compiler.frontend.exported import exported_program
from tensoa.compiler.frontend.graph import Graph

__all__ = ["Graph", "capture", "exported_program"]
