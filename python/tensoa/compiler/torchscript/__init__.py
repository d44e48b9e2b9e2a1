# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""TorchScript models as plain modules.

torch.export follows Python, not TorchScript. `Interpreted` holds the inlined graph of a TorchScript model as a list of steps
and runs them from Python, each operator through torch.ops. Lists, dicts, numbers, branches and loops are Python's own, so
torch.export sees the operators on tensors and nothing else: loops of a known length are unrolled, branches on constants
are taken, assertions and optional arguments leave no trace.
"""

from tensoa.compiler.torchscript.compare import interpreted, without_script
from tensoa.compiler.torchscript.module import Interpreted

__all__ = ["Interpreted", "interpreted", "without_script"]
