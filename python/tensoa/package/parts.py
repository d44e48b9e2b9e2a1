# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Parts of a model that are fused programs, as calls of libraries inside a program of TorchInductor (docs/ahead_of_time.md).

The program calls the operator tensoa::part(Tensor[] inputs, str name) -> Tensor[]. Its tensors are planes, [planes, rows] with
the rows side by side, so that columns go in where they lie. Here the operator calls a library by ctypes; in C++,
pytorch/src/inductor/fused_parts.cpp does; both may be in one process.
"""

import functools
import hashlib
import operator
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tensoa.binding import Binding
from tensoa.command import step
from tensoa.compiler import cpu, routes
from tensoa.compiler.cpu.processors import CPU_FLAGS
from tensoa.compiler.errors import NotFused, surprises_as_not_fused
from tensoa.compiler.frontend.follow import PlaneTensor
from tensoa.compiler.frontend.graph import Graph
from tensoa.compiler.parts import Limits, Part, Partition, name_of
from tensoa.package.fused import FOLDER, Files, Program, cuda_files
from tensoa.package.manifest import BUILT, CHECKED, CpuVariant, FusedPart, PartTensor, Unfused

OF_OTHERS = "a tensor that is not made of rows"  # follows from another operator that is not fused
CPU_LIMITS = Limits(planes=1024)
# H100, 16 -> 1024 -> 1024 -> 2, one row: 88 us with 1024 planes between torch and two parts, 59 by TorchInductor.
CUDA_LIMITS = Limits(planes=256)
aten = torch.ops.aten


@dataclass
class _Loaded:
    """A part that the operator can call here. `run` is missing until it is built."""

    outputs: list[PartTensor]
    domains: list[int]
    run: Callable[[list[torch.Tensor], list[torch.Tensor]], None] | None = None


_parts: dict[str, _Loaded] = {}  # of this process, by name
_library = torch.library.Library("tensoa", "FRAGMENT")
if not hasattr(torch.ops.tensoa, "part"):  # else libtensoa_torch.so has defined it
    _library.define("part(Tensor[] inputs, str name) -> Tensor[]")


def _results(inputs: list[torch.Tensor], name: str) -> list[torch.Tensor]:
    return [
        inputs[output.rows_of].new_empty((output.planes, inputs[output.rows_of].shape[1]), dtype=getattr(torch, output.dtype))
        for output in _parts[name].outputs
    ]


def _call(inputs: list[torch.Tensor], name: str) -> list[torch.Tensor]:
    if name not in _parts:  # of a package that tensoa.Model has loaded
        return torch.ops.tensoa.loaded_part(inputs, name)
    part = _parts[name]
    inputs = [one if one.stride(1) == 1 or one.shape[1] <= 1 else one.contiguous() for one in inputs]
    results = _results(inputs, name)
    if part.run is None:
        raise RuntimeError(f"the part {name} is not built")
    part.run(inputs, results)
    return results


torch.library.register_fake("tensoa::part", _results, lib=_library)
_library.impl("part", _call, "CPU", allow_override=True)


def _load(library: Path, domains: list[int]) -> Callable[[list[torch.Tensor], list[torch.Tensor]], None]:
    program = Program(library)

    def run(inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> None:
        tensors = [*inputs, *outputs]
        rows = [inputs[at].shape[1] if at >= 0 else 0 for at in domains]
        program.over([(one.data_ptr(), one.stride(0)) for one in tensors], rows, tensors)()

    return run


class Partitioned(nn.Module):
    """A model some parts of which are calls of tensoa::part; takes tensors of the input blocks, gives a dict."""

    def __init__(self, graph: torch.fx.GraphModule, constants: list[torch.Tensor], binding: Binding) -> None:
        super().__init__()
        self.graph_module, self.binding, self.count = graph, binding, len(constants)
        for i, constant in enumerate(constants):
            self.register_buffer(f"constant_{i}", constant)

    def forward(self, *tensors: torch.Tensor, **named: torch.Tensor) -> dict[str, torch.Tensor]:
        given = [named[block.name] for block in self.binding.inputs] if named else tensors
        constants = [self.get_buffer(f"constant_{i}") for i in range(self.count)]
        results = self.graph_module(*constants, *given)
        return {block.name: result for block, result in zip(self.binding.outputs, results)}


@dataclass
class Compiled:
    """`module` instead of the model; what the manifest says of its parts, and their files."""

    module: Partitioned
    parts: list[FusedPart]
    unfused: list[Unfused]
    files: Files
    weights: list[bytes]  # of parts, where each of several files has them


def for_cpu(exported: torch.export.ExportedProgram, binding: Binding, flags: set[str], folder: str) -> Compiled:
    """Raises NotFused where no part of the model is worth it, or this machine runs no program of ours."""
    if platform.machine() != "x86_64":
        raise NotFused(f"there are no fused programs for {platform.machine()}")
    find = functools.partial(routes.parts_for_cpu, limits=CPU_LIMITS)
    return _compiled(exported, binding, "cpu", find, lambda part: _built_for_cpu(part, flags, Path(folder)))


def for_cuda(exported: torch.export.ExportedProgram, binding: Binding, precision: str, deterministic: bool) -> Compiled:
    """As for_cpu. The parts are not run here."""
    find = functools.partial(routes.parts_for_cuda, limits=CUDA_LIMITS, precision=precision, deterministic=deterministic)
    return _compiled(exported, binding, "cuda", find, lambda part: _built_for_cuda(part, precision, deterministic))


def _compiled(
    exported: torch.export.ExportedProgram,
    binding: Binding,
    device: str,
    find: Callable[[Graph], Partition],
    built: Callable[[Part], tuple[FusedPart, Files, bytes]],
) -> Compiled:
    step("finding parts that can be fused")
    with surprises_as_not_fused():
        graph = Graph(exported, binding)
        found = find(graph)
    if not found.parts:
        raise NotFused("no part of it is worth a kernel")
    step("compiling the fused parts")
    made, files, names, weights = [], {}, {}, []
    for part in found.parts:
        entry, of_part, its_weights = built(part)
        made.append(entry)
        files.update(of_part)
        weights.append(its_weights)
        names[id(part)] = entry.name
    return Compiled(_module(graph, found, names, binding, device), made, _unfused(found), files, weights)


def _unfused(found: Partition) -> list[Unfused]:
    kept = [(name_of(node), reason) for node, reason in found.left.items() if reason != OF_OTHERS]
    return [Unfused(operation, reason) for operation, reason in dict.fromkeys(kept)]


def _described(part: Part, stages: list[str], *code: bytes) -> FusedPart:
    """`code`: all that makes the part what it is."""

    def input_with_rows_of(domain: int) -> int:
        return next((i for i, tensor in enumerate(part.inputs) if tensor.domain == domain), -1)

    name = hashlib.sha256(b"".join(code)).hexdigest()[:32]
    outputs = [PartTensor(one.planes, one.dtype, input_with_rows_of(one.domain)) for one in part.outputs]
    domains = [input_with_rows_of(domain) for domain in range(part.domains)]
    _parts[name] = _Loaded(outputs, domains)
    return FusedPart(name, len(part.inputs), outputs, domains, stages)


def _built_for_cpu(part: Part, flags: set[str], folder: Path) -> tuple[FusedPart, Files, bytes]:
    program = routes.of_program(part.program)
    source = program.source
    made = _described(part, program.stages, source.text.encode(), source.weights)
    name, loaded = made.name, _parts[made.name]
    variants, files = [], {}
    for level in cpu.LEVELS:
        library = folder / f"{name}-{level}.so"
        cpu.build(source, level, library)
        is_for_here = flags.issuperset(CPU_FLAGS[level])
        if is_for_here and loaded.run is None:
            loaded.run = _load(library, made.domains)
        file = f"{FOLDER}{name}/{level}.so"
        variants.append(CpuVariant(level, file, CPU_FLAGS[level], CHECKED if is_for_here else BUILT))
        files[file] = library.read_bytes()
    if loaded.run is None:
        raise NotFused("this processor runs none of the programs, so that they cannot be checked")
    made.cpu = variants
    return made, files, source.weights


def _built_for_cuda(part: Part, precision: str, deterministic: bool) -> tuple[FusedPart, Files, bytes]:
    kernels = routes.kernels_of_part(part.program, precision, deterministic)
    kernels.rows_at_once = 0  # what runs between the parts has memory for all rows, too
    made = _described(part, kernels.stages, kernels.made.source.encode(), kernels.made.weights)
    made.cuda, files = cuda_files(kernels, f"{FOLDER}{made.name}/")
    return made, files, kernels.made.weights


# ---- the graph with calls of parts


def _module(graph: Graph, found: Partition, names: dict[int, str], binding: Binding, device: str) -> Partitioned:
    made = torch.fx.Graph()
    env: dict[Any, torch.fx.Node] = {}
    placeholders = [*graph.constants, *graph.inputs]
    for node in placeholders:
        env[node] = made.placeholder(node.name)
    for item in found.order:
        if isinstance(item, Part):
            inputs = [_as_planes(made, env[tensor.node], tensor) for tensor in item.inputs]
            call = made.call_function(torch.ops.tensoa.part.default, (inputs, names[id(item)]))
            for i, tensor in enumerate(item.outputs):
                planes = made.call_function(operator.getitem, (call, i))
                env[tensor.node] = _from_planes(made, planes, tensor)
        elif item.op == "call_function" and not name_of(item).startswith("_assert"):
            env[item] = made.node_copy(item, lambda node: env[node])
            if item.target is aten.view.default:  # columns do not lie as the tensors that it was exported with
                env[item].target = aten.reshape.default
            if "device" in item.kwargs:
                env[item].update_kwarg("device", torch.device(device))
    output = next(node for node in graph.nodes if node.op == "output")
    made.output(torch.fx.node.map_arg(output.args[0], lambda node: env[node]))
    made.eliminate_dead_code()
    module = torch.fx.GraphModule(nn.Module(), made)
    return Partitioned(module, list(graph.constants.values()), binding)


def _as_planes(made: torch.fx.Graph, node: torch.fx.Node, tensor: PlaneTensor) -> torch.fx.Node:
    others = [dim for dim in range(len(tensor.shape)) if dim != tensor.axis]
    node = made.call_function(aten.permute.default, (node, [*others, tensor.axis]))
    if len(others) == 1:
        return node
    return made.call_function(aten.reshape.default, (node, [tensor.planes, -1]))


def _from_planes(made: torch.fx.Graph, node: torch.fx.Node, tensor: PlaneTensor) -> torch.fx.Node:
    others = [dim for dim in range(len(tensor.shape)) if dim != tensor.axis]
    if len(others) != 1:
        node = made.call_function(aten.reshape.default, (node, [*(tensor.shape[dim] for dim in others), -1]))
    order = [*others, tensor.axis]
    return made.call_function(aten.permute.default, (node, [order.index(dim) for dim in range(len(order))]))
