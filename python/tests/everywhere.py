# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A module's fused program on all that it is generated for: each level of CPUs, kernels of GPUs on a CPU, and a GPU that is
here.
"""

from types import SimpleNamespace

import torch

import cuda_programs
from cpu_programs import RUNNABLE
from cuda_programs import MANY, switched_on
from tensoa.binding.columns import Columns, collections_of
from tensoa.binding.model import result_rows, with_examples
from tensoa.compiler import cpu, cuda, frontend, routes
from tensoa.package import fused

ROWS = (1, 7, 100)  # of both layouts of CPUs


class Everywhere:
    """The fused program of a module, compiled; `image`: for sm_90, which NVRTC takes too."""

    def __init__(self, module, binding, folder):
        module = module.eval()
        self.binding = with_examples(module, binding)
        self.rules = result_rows(module, self.binding, "cpu")
        exported = frontend.exported_program(module, self.binding)
        source = routes.for_cpu(exported, self.binding, self.rules).source
        self.runs = {}
        for level in RUNNABLE:
            cpu.build(source, level, folder / f"{level}.so")
            self.runs[level] = fused.Program(folder / f"{level}.so")
        generated = routes.for_cuda(exported, self.binding, self.rules, cuda.PRECISIONS[0], False).made
        self.image = cuda.compile(generated.source, "sm_90")
        (loaded,) = cuda_programs.on_cpu([generated], folder)
        self.runs["kernels of GPUs"] = self._of_gpu(loaded)
        self.runs["kernels of GPUs, of many rows"] = self._of_gpu(loaded, [MANY])
        if torch.cuda.is_available():
            major, minor = torch.cuda.get_device_capability()
            image = cuda.compile(generated.source, f"sm_{major}{minor}")
            self.runs["cuda"] = self._of_gpu(cuda_programs.Loaded(generated, image))

    @staticmethod
    def _of_gpu(loaded, switches=()):
        def run(columns, rows):
            blocks = [SimpleNamespace(address=address, pitch=pitch) for address, pitch in columns.blocks]
            with switched_on(switches):
                loaded.bind(blocks, rows)()
            if loaded.device == "cuda":
                torch.cuda.synchronize()

        return run

    def results(self, rows=ROWS, fill=None, **options):
        """(where, inputs as tensors of the model, planes of each output) of calls with `rows`. `fill(inputs)` changes
        the columns before.
        """
        for count in rows:
            of_collection = {collection: count * (1 + 2 * collection) for collection in collections_of(self.binding)}
            for name, run in self.runs.items():
                device = "cuda" if name == "cuda" else "cpu"
                columns = Columns(self.binding, of_collection, self.rules, device, seed=count, is_whole=True, **options)
                if fill is not None:
                    fill(columns.inputs)
                    columns.before = [memory.clone() for memory in columns.memory]
                run(columns, list(of_collection.values()))
                assert not columns.changed(), f"{name}: memory that is not its own"
                tensors = [block.tensor(argument).cpu() for block, argument in zip(self.binding.inputs, columns.inputs)]
                yield name, tensors, [torch.cat(arguments).cpu() for arguments in columns.outputs]
