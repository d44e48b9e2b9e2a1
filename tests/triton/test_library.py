# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Needs and exports of the back-end: no torch, no C++ library, no library of Triton, and no symbol but its entry points."""

import os
import subprocess

BACKEND = os.environ["TENSOA_TRITON_BACKEND"]
ENTRY_POINTS = {
    "TRITONBACKEND_Initialize",
    "TRITONBACKEND_GetBackendAttribute",
    "TRITONBACKEND_ModelInitialize",
    "TRITONBACKEND_ModelFinalize",
    "TRITONBACKEND_ModelInstanceInitialize",
    "TRITONBACKEND_ModelInstanceFinalize",
    "TRITONBACKEND_ModelInstanceExecute",
}


def lines_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_needs_no_torch_no_cpp_library_and_no_triton():
    # Itself: what the CUDA runtime needs is not ours to say.
    libraries = [line.split()[1] for line in lines_of("objdump", "-p", BACKEND) if line.split()[:1] == ["NEEDED"]]
    assert "libc.so.6" in libraries
    for word in ["torch", "c10", "libstdc++", "libgcc", "triton"]:
        assert not [name for name in libraries if word in name], word
    assert not [line for line in lines_of("ldd", BACKEND) if "not found" in line]


def test_exports_its_entry_points_only():
    exported = {line.split()[-1].split("@")[0] for line in lines_of("nm", "-D", "--defined-only", BACKEND)}
    assert exported == ENTRY_POINTS


def test_functions_that_old_servers_lack_are_weak():
    undefined = dict(reversed(line.split()[-2:]) for line in lines_of("nm", "-D", "--undefined-only", BACKEND))
    for name in ["TRITONBACKEND_RequestIsCancelled", "TRITONBACKEND_RequestParameterCount", "TRITONBACKEND_RequestParameter"]:
        assert undefined[name] == "w"
    assert undefined["TRITONBACKEND_ResponseSend"] == "U"
