# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a generated CUDA program on the GPU as the engine does, through the driver and with torch's memory."""

import ctypes

import numpy as np
import torch

_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


def params_of(generated):
    """The struct that its kernels take."""

    class Params(ctypes.Structure):
        _fields_ = [
            ("block", ctypes.c_uint64 * generated.params["blocks"]),
            ("pitch", ctypes.c_int64 * generated.params["blocks"]),
            ("rows", ctypes.c_int64 * generated.params["domains"]),
            ("buffer", ctypes.c_uint64 * generated.params["buffers"]),
            ("weights", ctypes.c_uint64),
        ]

    return Params()


class Block:
    """Planes on the GPU, `pitch` apart, that begin `offset` elements into their memory. `planes`: arrays, or how many."""

    def __init__(self, planes, rows, dtype=torch.float32, pitch=None, offset=0):
        count = planes if isinstance(planes, int) else len(planes)
        self.pitch = rows if pitch is None else pitch
        self.memory = torch.full((offset + count * self.pitch + 1,), 77, device="cuda").to(dtype)
        self.planes = self.memory[offset : offset + count * self.pitch].view(count, self.pitch)[:, :rows]
        self.address = self.memory.data_ptr() + offset * self.memory.element_size()
        if not isinstance(planes, int):
            self.planes.copy_(torch.as_tensor(np.stack(planes)))

    def numpy(self):
        return self.planes.cpu().numpy()


class Loaded:
    """A program in the memory of the current device."""

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
            self._check(self.driver.cuModuleGetFunction(ctypes.byref(function), module, kernel["name"].encode()))
            self._check(self.driver.cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED, kernel["shared_bytes"]))
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
        buffers = [
            torch.full((max(1, rows[buffer["domain"]]) * buffer["row_bytes"],), 0x7F, dtype=torch.uint8, device="cuda")
            for buffer in self.generated.buffers
        ]
        params = params_of(self.generated)
        params.weights = self.weights.data_ptr()
        for i, block in enumerate(blocks):
            params.block[i], params.pitch[i] = block.address, block.pitch
        for i in range(len(params.rows)):  # a program may have fewer domains than the test has rows
            params.rows[i] = rows[i]
        for i, buffer in enumerate(buffers):
            params.buffer[i] = buffer.data_ptr()
        argument = (ctypes.c_void_p * 1)(ctypes.addressof(params))

        def launch():
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            for step in self.generated.steps:
                if "zero" in step:
                    size = buffers[step["zero"]].numel()
                    self._check(
                        self.driver.cuMemsetD8Async(
                            ctypes.c_uint64(params.buffer[step["zero"]]), 0, ctypes.c_size_t(size), stream
                        )
                    )
                    continue
                kernel = self.generated.kernels[step["kernel"]]
                blocks_needed = -(-rows[step["domain"]] // kernel["rows_per_block"])
                if kernel["blocks_per_sm"]:
                    blocks_needed = min(blocks_needed, self.multiprocessors * kernel["blocks_per_sm"])
                if blocks_needed == 0:
                    continue
                self._check(
                    self.driver.cuLaunchKernel(
                        self.functions[step["kernel"]], blocks_needed, 1, 1, kernel["threads"], 1, 1,
                        kernel["shared_bytes"], stream, argument, None,
                    )
                )  # fmt: skip

        launch.keep = buffers, params, argument, blocks
        return launch
