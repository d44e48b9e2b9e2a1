# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Packages: what is in the file that a model becomes, and what it is checked with."""
