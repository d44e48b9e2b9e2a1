# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Sizes of the products of kernels/layers.cuh."""

CHUNK = 16  # tiles of outputs that are accumulated at a time
