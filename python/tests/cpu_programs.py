# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The targets that this CPU runs, and calls of its programs."""

import ctypes

import pytest

GUARD = 3  # elements around the rows of a plane, which no program may write
RUNNABLE = [
    level for level, flag in (("x86-64-v4", "avx512vl"), ("x86-64-v3", "avx2")) if flag in open("/proc/cpuinfo").read().split()
]

needs_level = pytest.mark.skipif(not RUNNABLE, reason="no CPU of level x86-64-v3 here")


class Block(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("pitch", ctypes.c_int64)]
