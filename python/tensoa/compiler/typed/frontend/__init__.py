# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From torch.export to typed programs."""

from tensoa.compiler.typed.frontend.capture import capture

__all__ = ["capture"]
