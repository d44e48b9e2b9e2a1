# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From typed programs to C++ for one thread of a CPU."""

from tensoa.compiler.typed.cpu.generate import described, dump, generate, schedule

__all__ = ["described", "dump", "generate", "schedule"]
