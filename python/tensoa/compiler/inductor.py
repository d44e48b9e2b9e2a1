# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Programs by TorchInductor: of any model that torch.export can follow."""

import contextlib
import ctypes
import operator
import platform
import re
import unittest.mock
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tensoa.binding import Binding, Block
from tensoa.binding.columns import MOST_TRACED, ROWS, Columns, collections_of, output_arguments, trial_rows
from tensoa.command import check_device, step
from tensoa.compiler.cpu.processors import CPU_FLAGS, cpu_flags
from tensoa.errors import InputError, Unsupported, first_line
from tensoa.row_numbers import limits_of, require_no_branch, takes_any_rows
from tensoa.tracing import author_line, not_followed, require_no_state, right_states, signature_of, traced

aten = torch.ops.aten


class Program(nn.Module):
    """The model with columns as arguments: picks the inputs, calls it, writes the outputs. Where the model `needs_row_major`
    tensors, it gets copies.
    """

    def __init__(self, module: nn.Module, binding: Binding, needs_row_major: bool = False) -> None:
        super().__init__()
        self.module, self.binding, self.needs_row_major = module, binding, needs_row_major

    def forward(self, inputs: list[torch.Tensor], outputs: list[list[torch.Tensor]]) -> None:
        if self.needs_row_major:
            tensors = self.binding.tensors(inputs)
        else:
            tensors = [block.tensor(argument) for block, argument in zip(self.binding.inputs, inputs)]
        results = self.binding.apply(self.module, tensors)
        for block, result, arguments in zip(self.binding.outputs, results, outputs):
            block.write(result, arguments)


def _export(module: nn.Module, binding: Binding, rules: list[dict[str, int]], device: str) -> torch.export.ExportedProgram:
    """The program as torch.export sees it, with free numbers of rows and pitches."""
    example_rows = trial_rows(binding, ROWS, MOST_TRACED)
    rows = {collection: example_rows[2 * i] for i, collection in enumerate(collections_of(binding))}
    columns = Columns(binding, rows, rules, device, is_misaligned=device != "cpu")
    free = {1: torch.export.Dim.AUTO}
    fixed: dict[int, Any] = {}
    shapes = (
        [free for _ in binding.inputs],
        [[fixed if "rows" in rule else free for _ in arguments] for rule, arguments in zip(rules, columns.outputs)],
    )

    def program_of(needs_row_major: bool) -> torch.export.ExportedProgram:
        return traced(Program(module, binding, needs_row_major), (columns.inputs, columns.outputs), shapes)

    try:
        try:
            program = program_of(needs_row_major=False)
        except InputError:
            raise
        except Exception:  # a view that columns do not have, among what torch.export cannot follow
            program = program_of(needs_row_major=True)
        signature = signature_of(program)
    except InputError:
        raise
    except Exception as error:  # torch.export throws many kinds
        raise not_followed(error) from error
    _check_mutations(signature, len(binding.inputs))
    _check_free(program, binding, rules)
    _suit(program, device)
    return program


def _suit(program: torch.export.ExportedProgram, device: str) -> None:
    """Replaces or refuses what would be wrong on `device`, also in subgraphs, as those of autocast."""
    for part in program.graph_module.modules():
        if not isinstance(part, torch.fx.GraphModule):
            continue
        if device == "cpu":
            _allow_empty_attention(part.graph)
            part.recompile()
        else:
            _check_floats(part.graph)


def _check_floats(graph: torch.fx.Graph) -> None:
    """Raises Unsupported where the model takes a float out of a tensor: TorchInductor passes it to kernels of GPUs as an
    integer, 0.87 as 0 (torch 2.11 to 2.15, where what calls a kernel has `int64_t` for every symbol).
    """
    for node in graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload) and isinstance(node.meta.get("val"), torch.SymFloat):
            raise Unsupported(
                f"the model takes a float out of a tensor{author_line(node)}: TorchInductor truncates it to an integer on "
                "GPUs; expected it to stay in the tensor, without item()"
            )


def _allow_empty_attention(graph: torch.fx.Graph) -> None:
    """torch's kernel of attention on CPUs divides by the number of elements, which ends the process where there are none;
    products and softmax do not.
    """
    for node in list(graph.nodes):
        if node.target is not aten.scaled_dot_product_attention.default:
            continue
        if all(_fixed(tensor.meta["val"].shape[-2]) is not None for tensor in node.args[:2]):
            continue
        with graph.inserting_before(node):
            both = graph.call_function(aten._scaled_dot_product_attention_math.default, node.args, node.kwargs)
            both.meta["val"] = (node.meta["val"], None)
            result = graph.call_function(operator.getitem, (both, 0))
            result.meta["val"] = node.meta["val"]
        node.replace_all_uses_with(result)
        graph.erase_node(node)


def _check_mutations(signature: torch.export.ExportGraphSignature, inputs: int) -> None:
    """Proof that the program writes its outputs and nothing else."""
    require_no_state(signature.buffers_to_mutate.values())
    names, written = list(signature.user_inputs), set(signature.user_inputs_to_mutate.values())
    for name in names[:inputs]:
        if name in written:
            raise Unsupported(f"the model writes its input {name}; expected one that leaves it alone: clone() it there")
    unwritten = [name for name in names[inputs:] if name not in written]
    if unwritten:
        raise Unsupported(f"the program does not write {unwritten[0]}; expected every output block to be written")


def _fixed(size: int | torch.SymInt) -> int | None:
    """The number that torch.export fixed a size or a stride to, or None."""
    return size if isinstance(size, int) else size.node.maybe_as_int()


def _check_free(program: torch.export.ExportedProgram, binding: Binding, rules: list[dict[str, int]]) -> None:
    """Raises Unsupported where torch.export fixed a number of rows or a pitch, or found a rule for it."""
    names = program.graph_signature.user_inputs
    tensors = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"}
    inputs = [(block, block.collection) for block in binding.inputs]
    outputs = [
        (block, rule.get("collection")) for block, rule in zip(binding.outputs, rules) for _ in output_arguments(block, rule)
    ]
    lengths: dict[Any, tuple[Block, int]] = {}
    for name, (block, collection) in zip(names, inputs + outputs):
        rows, pitch = tensors[name].shape[1], tensors[name].stride(0)
        if tensors[name].shape[0] > 1 and _fixed(pitch) is not None:
            raise Unsupported(f'block "{block.name}": torch.export fixed its pitch to {pitch}, a fault of the exporter')
        if collection is None:
            continue
        if _fixed(rows) is not None:
            raise Unsupported(f'block "{block.name}": torch.export follows it for exactly {rows} rows; expected any number')
        if not takes_any_rows(program, rows):
            limits = limits_of(program, rows)
            raise Unsupported(f'block "{block.name}": the model takes {rows.node.expr} rows ({limits}), not any number')
        other, other_collection = lengths.setdefault(rows.node.expr, (block, collection))
        if other_collection != collection:
            raise Unsupported(
                f'the model needs equal numbers of rows of the blocks "{other.name}" and "{block.name}"; '
                "expected blocks of one collection there"
            )
    require_no_branch(program, binding)


@contextlib.contextmanager
def _compiler_for(level: str) -> Iterator[None]:
    """Code for a level of x86-64 that a package can name, instead of "whatever this machine has"."""
    from torch._inductor import cpp_builder

    flags = cpp_builder._get_optimization_cflags

    def flags_of_level(*arguments: Any, **options: Any) -> tuple[list[str], list[str]]:
        compiling, linking = flags(*arguments, **options)
        return [f"march={level}" if flag == "march=native" else flag for flag in compiling], linking

    with unittest.mock.patch.object(cpp_builder, "_get_optimization_cflags", flags_of_level):
        yield


def _needed_flags(wrapper: str, level: str | None) -> list[str]:
    """The features that a processor needs to run the code, by the names of /proc/cpuinfo."""
    if level is None:
        return sorted(cpu_flags())
    command = next(line for line in wrapper.splitlines() if " -c -o " in line)
    used = set(CPU_FLAGS[level])
    used |= {flag.replace("-", "_") for flag in re.findall(r" -m((?:avx|amx|fma|f16c)\S*)", command)}
    return sorted({"avx512vnni": "avx512_vnni", "avx512bf16": "avx512_bf16"}.get(flag, flag) for flag in used)


def options_for(device: str) -> dict[str, bool | int]:
    """The options of TorchInductor."""
    options: dict[str, bool | int] = {"cpp.threads": 1}
    if device == "cuda":  # the last: Triton rounds a product before it adds, as it does on CPUs
        options |= {"aot_inductor.embed_kernel_binary": True, "emulate_precision_casts": True}
    return options


def _archive_of(program: torch.export.ExportedProgram, device: str, folder: str) -> tuple[Path, dict[str, bytes], list[str]]:
    """The records of the AOTInductor archive, by name, and the processor flags that the code needs."""
    level = None
    if platform.machine() == "x86_64":
        level = "x86-64-v4" if cpu_flags().issuperset(CPU_FLAGS["x86-64-v4"]) else "x86-64-v3"
    path = Path(folder) / "model.pt2"
    from torch._inductor.utils import fresh_cache

    try:
        with _compiler_for(level) if level else contextlib.nullcontext(), fresh_cache(), right_states():
            _compile_and_package(program, path, options_for(device))
    except Exception as error:  # torch and its compilers throw many kinds
        why = _line_of_compiler(error) or first_line(error)
        raise Unsupported(f"the model cannot be compiled for {device}: {why}") from error
    with zipfile.ZipFile(path) as archive:
        records = {_name_in_package(name, device): archive.read(name) for name in archive.namelist()}
    wrapper = next(text for name, text in records.items() if name.endswith(".wrapper.cpp")).decode()
    if any(b"#pragma omp parallel" in text for name, text in records.items() if name.endswith(".cpp")):
        raise Unsupported("the compiled program starts its own threads; this is a fault of the exporter")
    flags = _needed_flags(wrapper, level)
    return path, {name: text for name, text in records.items() if not name.endswith(".cpp")}, flags


def _compile_and_package(program: torch.export.ExportedProgram, path: Path, options: dict[str, bool | int]) -> None:
    """TorchInductor would compile a program and start a Python for each set of instructions that the processor has, to see
    whether the compiler supports it: a quarter of the time of a package. That is only done where the compiler fails.
    """
    from torch._inductor import cpu_vec_isa

    make = torch._inductor.aoti_compile_and_package
    try:
        make(program, package_path=str(path), inductor_configs={**options, "cpp.vec_isa_ok": True})
    except Exception as error:
        if _line_of_compiler(error) is None:
            raise
        cpu_vec_isa.valid_vec_isa_list.cache_clear()
        for instructions in cpu_vec_isa.supported_vec_isa_list:  # some remember that they were not to be tried
            getattr(type(instructions).__bool__, "cache_clear", lambda: None)()
        make(program, package_path=str(path), inductor_configs=options)


def _line_of_compiler(error: Exception) -> str | None:
    """The C++ compiler's line on what is wrong; None for errors that are not of this compiler."""
    from torch._inductor.exc import CppCompileError

    inner = getattr(error, "inner_exception", error)  # of torch._inductor.exc.InductorError
    if type(inner) is not CppCompileError:  # those derived from it are of compilers for GPUs
        return None
    errors = (line for line in inner.output.splitlines() if re.search(r"(?<!collect2: )\berror: ", line))
    return first_line(next(errors, inner.output or inner))


def _name_in_package(name: str, device: str) -> str:
    """Of a record of torch's archive of the model "model": a package may have programs for several devices."""
    folder = "/data/aotinductor/"
    return name.replace(f"{folder}model/", f"{folder}{device}/", 1)


@dataclass
class Compiled:
    """`records`: of the archive. `run` calls the program here; None of one for GPUs."""

    records: dict[str, bytes]
    cpu_flags: list[str]
    run: "Loaded | None" = None
    gpu_architecture: str | None = None
    gpu: str | None = None


def compile(module: nn.Module, binding: Binding, rules: list[dict[str, int]], target: str, folder: str) -> Compiled:
    """The model as TorchInductor compiles it, for the GPU that is here where `target` is "cuda"."""
    check_device(target)
    module = module.to(target)
    step("torch.export")
    program = _export(module, binding, rules, target)
    step("compiling by TorchInductor")
    archive, records, flags = _archive_of(program, target, folder)
    if target == "cuda":
        major, minor = torch.cuda.get_device_capability()
        return Compiled(records, flags, None, f"sm_{major}{minor}", torch.cuda.get_device_name())
    return Compiled(records, flags, Loaded(archive))


class Loaded:
    """A program of TorchInductor for this processor. Raises Unsupported where it fails."""

    def __init__(self, archive: Path) -> None:
        ctypes.CDLL("libstdc++.so.6", mode=ctypes.RTLD_GLOBAL)  # why: pytorch/src/inductor/aot_runner.cpp
        self.loader = torch._C._aoti.AOTIModelPackageLoader(str(archive), "model", True, 1, -1)

    def __call__(self, columns: Columns, rows: Sequence[int]) -> None:
        self.prepared(columns, rows)()

    def prepared(self, columns: Columns, rows: Sequence[int]) -> Callable[[], None]:
        """Returns the call with these columns."""
        arguments = [*columns.inputs, *(argument for arguments in columns.outputs for argument in arguments)]

        def call() -> None:
            try:
                self.loader.run(arguments)
            except Exception as error:  # torch throws many kinds
                raise Unsupported(f"what TorchInductor makes of the model fails: {first_line(error)}") from error

        return call
