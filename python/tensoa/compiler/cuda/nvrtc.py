# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From CUDA C++ to cubins, by the NVRTC that torch brings."""

import ctypes
import functools
import importlib.util
from pathlib import Path
from typing import Any

from tensoa.errors import InputError

#: Cubins run on the architecture that they name and later ones of the same major number.
ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")
#: The instructions that CUDA C++ has no name for, which every program begins with; tests give what stands here on a CPU.
INSTRUCTIONS = Path(__file__).parent / "kernels" / "instructions.cuh"


@functools.cache
def _nvrtc() -> ctypes.CDLL:
    """The NVRTC of torch's wheels, or that of an installed toolkit."""
    names = []
    package = importlib.util.find_spec("nvidia")
    for folder in (package.submodule_search_locations if package else None) or []:
        names += sorted(str(path) for path in Path(folder).glob("*/lib/libnvrtc.so.*"))
    names += ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]
    errors = []
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            errors.append(str(error))
    raise InputError(
        f"cannot compile for CUDA: found no NVRTC ({'; '.join(errors)}); pip install nvidia-cuda-nvrtc, or a torch for CUDA"
    )


def compile(source: str, architecture: str, log: list[str] | None = None) -> bytes:
    """The cubin of a generated source for an architecture as in ARCHITECTURES.

    `log`: a list that takes what ptxas says of each kernel (registers, spills). Raises InputError.
    """
    nvrtc = _nvrtc()
    program = ctypes.c_void_p()

    def check(status: int, what: str) -> None:
        if status:
            nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
            raise InputError(f"cannot compile for {architecture}: {what}: {nvrtc.nvrtcGetErrorString(status).decode()}")

    def text(size_function: Any, get_function: Any) -> bytes:
        size = ctypes.c_size_t()
        check(size_function(program, ctypes.byref(size)), size_function.__name__)
        data = ctypes.create_string_buffer(size.value)
        check(get_function(program, data), get_function.__name__)
        return data.raw

    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"fused.cu", 0, None, None), "create")
    try:
        options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17", b"-default-device"]
        options += [b"--fmad=false"]  # every operation is rounded, as a framework has it; what is one sum calls fmaf()
        options += [b"--ptxas-options=-v", b"--no-cache"]  # cached code comes without messages
        array = (ctypes.c_char_p * len(options))(*options)
        status = nvrtc.nvrtcCompileProgram(program, len(options), array)
        messages = text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog).rstrip(b"\0").decode()
        check(status, messages.strip()[:2000] or "nvrtcCompileProgram")
        if log is not None:
            log.append(messages)
        return text(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
