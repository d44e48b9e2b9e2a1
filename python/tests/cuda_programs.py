# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Runs generated CUDA programs: on the GPU as the engine does, through the driver and with torch's memory; or on a
CPU.
"""

import contextlib
import ctypes
import os
import subprocess
from pathlib import Path

import numpy as np
import torch

from tensoa.compiler import cuda
from tensoa.compiler.cuda.generate import ROUNDS_OF_FEW

#: Environment variables of the emulation: the last warp first; the code for many rows at all numbers of rows.
BACKWARDS, MANY = "TENSOA_WARPS_BACKWARDS", "TENSOA_MANY_ROWS"
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


@contextlib.contextmanager
def switched_on(switches):
    """Sets BACKWARDS or MANY."""
    os.environ |= dict.fromkeys(switches, "1")
    try:
        yield
    finally:
        for switch in switches:
            del os.environ[switch]


def params_of(generated):
    """The struct that its kernels take."""

    class Params(ctypes.Structure):
        _fields_ = [
            ("block", ctypes.c_uint64 * generated.params.blocks),
            ("pitch", ctypes.c_int64 * generated.params.blocks),
            ("rows", ctypes.c_int64 * generated.params.domains),
            ("buffer", ctypes.c_uint64 * generated.params.buffers),
            ("weights", ctypes.c_uint64),
        ]

    return Params()


class Block:
    """Planes `pitch` apart, that begin `offset` elements into their memory. `planes`: arrays, or how many."""

    def __init__(self, planes, rows, dtype=torch.float32, pitch=None, offset=0, device="cuda"):
        count = planes if isinstance(planes, int) else len(planes)
        self.pitch = rows if pitch is None else pitch
        self.memory = torch.full((offset + count * self.pitch + 1,), 77, device=device).to(dtype)
        self.planes = self.memory[offset : offset + count * self.pitch].view(count, self.pitch)[:, :rows]
        self.address = self.memory.data_ptr() + offset * self.memory.element_size()
        if not isinstance(planes, int):
            self.planes.copy_(torch.as_tensor(np.stack(planes)))

    def numpy(self):
        return self.planes.cpu().numpy()


def _buffers(generated, rows, device):
    """Memory between kernels that begins as a large number."""
    sizes = [max(1, rows[buffer.domain]) * buffer.row_bytes for buffer in generated.buffers]
    return [torch.full((size,), 0x7F, dtype=torch.uint8, device=device) for size in sizes]


def _filled(generated, blocks, rows, buffers, weights):
    params = params_of(generated)
    params.weights = weights.data_ptr()
    for i, block in enumerate(blocks):
        params.block[i], params.pitch[i] = block.address, block.pitch
    for i in range(len(params.rows)):  # a program may have fewer domains than the test has rows
        params.rows[i] = rows[i]
    for i, buffer in enumerate(buffers):
        params.buffer[i] = buffer.data_ptr()
    return params


class Loaded:
    """A program in the memory of the current device."""

    device = "cuda"

    def __init__(self, generated, image):
        torch.cuda.current_stream()  # torch makes the context
        torch.zeros(1, device="cuda")
        self.generated = generated
        self.driver = ctypes.CDLL("libcuda.so.1")
        module = ctypes.c_void_p()
        self._check(self.driver.cuModuleLoadData(ctypes.byref(module), image))
        self.functions = []
        for kernel in generated.kernels:
            function = ctypes.c_void_p()
            self._check(self.driver.cuModuleGetFunction(ctypes.byref(function), module, kernel.name.encode()))
            self._check(self.driver.cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED, kernel.shared_bytes))
            self.functions.append(function)
        self.weights = torch.frombuffer(bytearray(generated.weights or b"\0"), dtype=torch.uint8).cuda()
        self.multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count

    def _check(self, status):
        if status:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorName(status, ctypes.byref(text))
            raise RuntimeError(text.value.decode())

    def bind(self, blocks, rows):
        """A function that launches the program on torch's current stream."""
        buffers = _buffers(self.generated, rows, self.device)
        params = _filled(self.generated, blocks, rows, buffers, self.weights)
        argument = (ctypes.c_void_p * 1)(ctypes.addressof(params))

        def launch():
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            for step in self.generated.steps:
                if isinstance(step, cuda.Zero):
                    size = buffers[step.zero].numel()
                    self._check(
                        self.driver.cuMemsetD8Async(ctypes.c_uint64(params.buffer[step.zero]), 0, ctypes.c_size_t(size), stream)
                    )
                    continue
                kernel = self.generated.kernels[step.kernel]
                blocks_needed = -(-rows[step.domain] * step.times // kernel.rows_per_block)
                if kernel.blocks_per_sm:
                    blocks_needed = min(blocks_needed, self.multiprocessors * kernel.blocks_per_sm)
                if blocks_needed == 0:
                    continue
                self._check(
                    self.driver.cuLaunchKernel(
                        self.functions[step.kernel], blocks_needed, 1, 1, kernel.threads, 1, 1,
                        kernel.shared_bytes, stream, argument, None,
                    )
                )  # fmt: skip

        launch.keep = buffers, params, argument, blocks
        return launch


def _on_cpu(number, generated):
    """C++ of a program for cuda_on_cpu.hpp, in a separate namespace; its kernels are `p<number>_<name>`."""
    source = generated.source.replace(cuda.INSTRUCTIONS.read_text(), "")
    room = max(kernel.shared_bytes for kernel in generated.kernels) // 16 + 1
    source = source.replace("extern __shared__ uint4 shared_memory[];", "").replace('extern "C"', "static")
    source = source.replace(
        f", kRoundsOfFew = {ROUNDS_OF_FEW};", "; static const int& kRoundsOfFew = cuda_on_cpu::rounds_of_few;"
    )
    exchange = "const auto exchange = reinterpret_cast<float4(*)[32]>(shared_memory);"
    source = source.replace("extern __shared__ float4 exchange[][32];", exchange)
    kernels = "".join(
        f"""extern "C" void p{number}_{kernel.name}(const p{number}::Params* params, int blocks) {{
  cuda_on_cpu::run(blocks, {kernel.threads}, p{number}::shared_memory, sizeof(p{number}::shared_memory),
                   [=] {{ p{number}::{kernel.name}(*params); }});
}}
"""
        for kernel in generated.kernels
    )
    return f"namespace p{number} {{\nalignas(16) static uint4 shared_memory[{room}];\n{source}\n}}\n{kernels}"


class OnCpu:
    """A program whose kernels run on the CPU, by cuda_on_cpu.hpp."""

    device = "cpu"
    multiprocessors = 2

    def __init__(self, generated, library, number):
        self.generated = generated
        self.functions = [getattr(library, f"p{number}_{kernel.name}") for kernel in generated.kernels]
        memory = np.zeros(len(generated.weights) + 272, np.uint8)  # aligned as memory of a GPU
        start = -memory.ctypes.data % 256
        memory[start : start + len(generated.weights)] = np.frombuffer(generated.weights, np.uint8)
        self.weights = torch.from_numpy(memory[start:])

    def bind(self, blocks, rows):
        """A function that runs the program."""
        buffers = _buffers(self.generated, rows, self.device)
        params = _filled(self.generated, blocks, rows, buffers, self.weights)

        def launch():
            for step in self.generated.steps:
                if isinstance(step, cuda.Zero):
                    buffers[step.zero].zero_()
                    continue
                kernel = self.generated.kernels[step.kernel]
                blocks_needed = -(-rows[step.domain] * step.times // kernel.rows_per_block)
                if kernel.blocks_per_sm:
                    blocks_needed = min(blocks_needed, self.multiprocessors * kernel.blocks_per_sm)
                if blocks_needed:
                    self.functions[step.kernel](ctypes.byref(params), blocks_needed)

        launch.keep = buffers, params, blocks
        return launch


def on_cpu(programs, folder, name="programs"):
    """[OnCpu] of Generated programs, which one run of the compiler makes together."""
    folder = Path(folder)
    text = ['#include "cuda_on_cpu.hpp"\n', *(_on_cpu(i, generated) for i, generated in enumerate(programs))]
    source, library = folder / f"{name}.cpp", folder / f"{name}.so"
    source.write_text("\n".join(text))
    command = ["g++", "-std=c++20", "-O1", "-w", "-ffp-contract=off", "-mf16c", "-mfma", "-fPIC", "-shared"]
    command += [f"-I{Path(__file__).parent}", str(source), "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    loaded = ctypes.CDLL(str(library))
    return [OnCpu(generated, loaded, i) for i, generated in enumerate(programs)]
