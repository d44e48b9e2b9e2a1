# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Typed tensors, what they mean, and programs of them."""
