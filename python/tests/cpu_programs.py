# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What this CPU runs; and values of row programs, in few words."""

import ctypes

import numpy as np
import pytest

from tensoa.compiler.ir import Value, linear

GUARD = 3  # elements around the rows of a plane, which no program may write
RUNNABLE = [
    level for level, flag in (("x86-64-v4", "avx512vl"), ("x86-64-v3", "avx2")) if flag in open("/proc/cpuinfo").read().split()
]

needs_level = pytest.mark.skipif(not RUNNABLE, reason="no CPU of level x86-64-v3 here")


class Block(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("pitch", ctypes.c_int64)]


def columns(domain, block, planes, dtype="float32", is_scalar=False):
    attributes = {"block": block, "planes": tuple(planes), "dtype": dtype, "is_scalar": is_scalar}
    return Value("input", domain, len(planes), (), attributes)


def index(domain, block, plane, dtype="int32"):
    return Value("index", domain, 1, (), {"block": block, "plane": plane, "dtype": dtype})


def norm(x, random=None, eps=1e-5):
    weight = None if random is None else random.normal(size=x.width).astype(np.float32)
    bias = None if random is None else random.normal(size=x.width).astype(np.float32)
    return Value("norm", x.domain, x.width, (x,), {"weight": weight, "bias": bias, "eps": eps, "is_centered": False})


def reduce(x, name):
    return Value("reduce", x.domain, 1, (x,), {"name": name})


def dense(x, width, random):
    return linear(x, random.normal(size=(width, x.width)) / np.sqrt(x.width), random.normal(size=width))
