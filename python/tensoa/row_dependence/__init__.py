# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Whether what a model gives for a row depends on the other rows of the call (docs/row_dependence.md)."""

from tensoa.row_dependence.trace import DEPENDENT, INDEPENDENT, UNKNOWN, Found, row_dependence

__all__ = ["DEPENDENT", "INDEPENDENT", "UNKNOWN", "Found", "row_dependence"]
