# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Packages: models that were compiled ahead of time for columns that a binding describes.

    from tensoa import aot, binding
    aot.export(module, binding.load("binding.json"), "package.pt2")

The program in a package takes one argument or several for each block (tensoa.binding), and writes its results into
those of the output blocks: it returns nothing. The number of rows and the pitches are free. A package is an AOTInductor
archive with one more record, tensoa.json (docs/ahead_of_time.md), and a SHA-256 of everything before it at its end.
"""

import contextlib
import copy
import functools
import hashlib
import json
import os
import platform
import re
import tempfile
import unittest.mock
import warnings
import zipfile
from pathlib import Path

import torch
from torch import nn

from tensoa.binding import Binding
from tensoa.command import InputError, check_device, check_writable, replacing
from tensoa.fusion import package
from tensoa.fusion.capture import NotFused

SCHEMA = 2
RECORD = "extra/tensoa.json"
MARK = b"tensoa sha256 "  # before 64 hexadecimal digits, the comment of the archive
TARGETS = ("cpu", "cuda")
ROWS = (1021, 1549, 2053, 2557, 3061, 3571, 4073, 4591)  # of the example collections: all different
PITCHES = 4603  # of the example blocks: larger than all rows and all different
TOLERANCE = 1e-5  # relative, of float32; of other dtypes as much coarser as they are
CHECKED_ROWS = (0, 1, 2, 33, 1000)

PRECISIONS = ("tf32x3", "ieee", "tf32", "bf16")  # the first where none is asked for


class Program(nn.Module):
    """The model with columns as arguments: picks the inputs, calls it, writes the outputs."""

    def __init__(self, module: nn.Module, binding: Binding):
        super().__init__()
        self.module = module
        self.binding = binding

    def forward(self, inputs, outputs):
        results = self.binding.call(self.module, inputs)
        for block, result, arguments in zip(self.binding.outputs, results, outputs):
            block.write(result, arguments)


# ---- columns to export and to check with


class Columns:
    """Memory for a binding, filled with numbers; what the program must not touch is kept for comparison.

    `rows` of each input collection, `rules` for the rows of the outputs; without rules there are no outputs. All planes of
    a block have one pitch where blocks are `is_whole`, as in a collection; else each argument has its own.
    """

    def __init__(self, binding, rows, rules, device, seed=0, is_misaligned=False, is_whole=False):
        self.random = torch.Generator().manual_seed(seed)
        self.largest_index = max(1, min(rows.values(), default=1))
        self.device, self.is_misaligned, self.is_whole = device, is_misaligned, is_whole
        self.memory, self.blocks, self.written = [], [], []
        self.pitch = PITCHES
        self.inputs = [
            self._arguments(block, block.input_arguments(), rows[block.collection])[0] for block in binding.inputs
        ]
        self.outputs = [
            self._arguments(block, _output_arguments(block, rule), count, is_written=True)
            for block, rule, count in zip(binding.outputs, rules, _rows_by(rules, rows))
        ]
        self.before = [memory.clone() for memory in self.memory]

    def _numbers(self, size, dtype):
        if dtype.is_floating_point:
            return torch.randn(size, generator=self.random).to(dtype)
        largest = 2 if dtype == torch.bool else min(self.largest_index, torch.iinfo(torch.int8).max + 1)
        if dtype in (torch.int32, torch.int64):
            largest = self.largest_index
        return torch.randint(0, largest, (size,), generator=self.random).to(dtype)

    def _arguments(self, block, arguments, rows, is_written=False):
        tensors = []
        for argument in arguments:
            first = argument.first if self.is_whole else 0
            if not (self.is_whole and tensors):
                planes = max(block.places) + 1 if self.is_whole else argument.planes * argument.step
                self.pitch += 6  # all different, and none a multiple of another
                offset = 1 if self.is_misaligned else 0
                pitch = max(self.pitch, rows + 1)
                memory = self._numbers(offset + planes * pitch, block.column_dtype).to(self.device)
                self.memory.append(memory)
                self.blocks.append((memory[offset:].data_ptr(), pitch))
            stride = argument.step * pitch if argument.planes > 1 else rows
            row_stride = 0 if block.kind == "scalar" else 1
            shape = (argument.planes, rows), (max(stride, 1), row_stride), offset + first * pitch
            tensors.append(memory.as_strided(*shape))
            if is_written:
                self.written.append((len(self.memory) - 1, shape))
        return tensors

    def changed(self):
        """Memory that changed though it must not: inputs, and what lies between and behind the rows of outputs."""
        for at, shape in self.written:
            self.before[at].as_strided(*shape).copy_(self.memory[at].as_strided(*shape))
        return any(not torch.equal(_bits(now), _bits(then)) for now, then in zip(self.memory, self.before))


def _bits(tensor):
    return tensor if tensor.dtype == torch.bool else tensor.view(torch.uint8)


def _double(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


def first_line(error):
    """What an error says, short enough for a line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]


# ---- from a module to a program


def _collections(binding):
    return sorted({block.collection for block in binding.inputs})


def _eager(module, binding, columns):
    """The results of the module itself. Raises InputError for what it cannot take or should not give."""
    before = [tensor.clone() for tensor in columns.memory]
    try:
        with torch.no_grad():
            results = binding.call(module, columns.inputs)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001: whatever the user's model throws
        raise InputError(
            f"the model fails on columns of the binding: {first_line(error)}; expected a model that takes "
            + ", ".join(f"{block.name} {list(block.shape('n'))}".replace("'", "") for block in binding.inputs)
        ) from error
    if any(not torch.equal(_bits(a), _bits(b)) for a, b in zip(before, columns.memory)):
        raise InputError("the model writes one of its inputs; expected one that leaves them alone: clone() it there")
    for block, result in zip(binding.outputs, results):
        block.check_result(result)
    return results


def _result_rows(module, binding, device):
    """The number of rows of each output: the position of the input collection that it follows, or a number."""
    collections = _collections(binding)
    if not binding.inputs or not binding.outputs:
        raise InputError("the binding has no inputs or no outputs; expected at least one block of each")
    if len(collections) > len(ROWS) // 2:
        raise InputError(f"the binding has {len(collections)} input collections, at most {len(ROWS) // 2} are possible")
    seen = []
    for first in (0, 1):
        rows = {collection: ROWS[first + 2 * i] for i, collection in enumerate(collections)}
        results = _eager(module, binding, Columns(binding, rows, (), device))
        dimension = [1 if block.is_transposed else 0 for block in binding.outputs]
        seen.append((rows, [result.shape[at] for result, at in zip(results, dimension)]))
    rules = []
    for i, block in enumerate(binding.outputs):
        (rows, counts), (other_rows, other_counts) = seen
        follows = [c for c in collections if rows[c] == counts[i] and other_rows[c] == other_counts[i]]
        if follows:
            rules.append({"collection": follows[0]})
        elif counts[i] == other_counts[i]:
            rules.append({"rows": counts[i]})
        else:
            raise InputError(
                f'block "{block.name}": the model gave {counts[i]} rows for inputs of {list(rows.values())} rows; '
                "expected as many as one of the input collections has, or always the same number"
            )
    return rules


def _output_arguments(block, rule):
    return block.output_arguments(is_fixed="rows" in rule)


def _rows_by(rules, rows):
    return [rule["rows"] if "rows" in rule else rows[rule["collection"]] for rule in rules]


HINTS = {
    "GuardOnDataDependentSymNode": "its control flow or shapes depend on the data; use torch.where, or run it just in time",
    "UserError": "torch.export cannot follow it; rewrite what it names, or run it just in time",
    "Unsupported": "torch.export cannot follow it; rewrite what it names, or run it just in time",
}


def _export(module, binding, rules, device):
    """The program as torch.export sees it, with free numbers of rows and pitches."""
    rows = {collection: ROWS[2 * i] for i, collection in enumerate(_collections(binding))}
    columns = Columns(binding, rows, rules, device, is_misaligned=device != "cpu")
    free = {1: torch.export.Dim.AUTO}
    fixed = {}
    shapes = (
        [free for _ in binding.inputs],
        [[fixed if "rows" in rule else free for _ in arguments] for rule, arguments in zip(rules, columns.outputs)],
    )
    try:
        with torch.no_grad():
            program = torch.export.export(
                Program(module, binding), (columns.inputs, columns.outputs), dynamic_shapes=shapes, strict=False
            )
        signature = program.run_decompositions({}).graph_signature
    except Exception as error:  # noqa: BLE001: torch.export throws many kinds
        hint = HINTS.get(type(error).__name__, "torch.export cannot follow it; run it just in time")
        raise InputError(f"the model cannot be compiled ahead of time: {first_line(error)} ({hint})") from error
    _check_mutations(signature, len(binding.inputs))
    _check_free(program, binding, rules)
    return program


def _examples(binding):
    """A tensor for each input block, as the model knows it."""
    rows = {collection: ROWS[2 * i] for i, collection in enumerate(_collections(binding))}
    columns = Columns(binding, rows, (), "cpu")
    return [block.tensor(argument).contiguous() for block, argument in zip(binding.inputs, columns.inputs)]


def _from_script(module, binding):
    """A TorchScript model as a module that torch.export can follow. Raises InputError."""
    from torch._export.converter import TS2EPConverter

    tensors = _examples(binding)
    if binding.by_name:
        by_name = dict(zip([block.name for block in binding.inputs], tensors))
        names = [argument.name for argument in module.forward.schema.arguments[1:]]
        if sorted(names) != sorted(by_name):
            raise InputError(f"the model takes {names}, the blocks are called {sorted(by_name)}")
        tensors = [by_name[name] for name in names]
    try:
        plain = TS2EPConverter(module.eval(), tuple(tensors)).convert().module(check_guards=False)
    except Exception as error:  # noqa: BLE001: torch throws many kinds
        raise InputError(
            f"the TorchScript model cannot be compiled ahead of time: {first_line(error)}; export it from the "
            "torch.nn.Module it was made of, or run it just in time"
        ) from error
    return _Named(plain, names) if binding.by_name else plain


class _Named(nn.Module):
    """A module that takes its arguments by name."""

    def __init__(self, module, names):
        super().__init__()
        self.module, self.names = module, names

    def forward(self, **arguments):
        return self.module(*(arguments[name] for name in self.names))


class _OnTensors(nn.Module):
    """The model with a list of tensors, one for each block, as its argument and as its result."""

    def __init__(self, module, binding):
        super().__init__()
        self.module, self.binding = module, binding

    def forward(self, tensors):
        return self.binding.apply(self.module, tensors)


def _exported(module, binding):
    """The model alone as torch.export sees it: a list of tensors, one for each block, to another; with free numbers of
    rows.
    """
    shapes = [{1 if block.is_transposed else 0: torch.export.Dim.AUTO} for block in binding.inputs]
    arguments = (_examples(binding),)
    with torch.no_grad():
        return torch.export.export(_OnTensors(module, binding), arguments, dynamic_shapes=(shapes,), strict=False)


def _check_mutations(signature, inputs):
    """Proof that the program writes its outputs and nothing else."""
    if signature.buffers_to_mutate:
        names = ", ".join(sorted(name.removeprefix("module.") for name in signature.buffers_to_mutate.values()))
        raise InputError(f"the model changes itself ({names}); expected one that keeps nothing between calls")
    written = set(signature.user_inputs_to_mutate.values())
    for name in signature.user_inputs[:inputs]:
        if name in written:
            raise InputError(f"the model writes its input {name}; expected one that leaves it alone: clone() it there")
    unwritten = [name for name in signature.user_inputs[inputs:] if name not in written]
    if unwritten:
        raise InputError(f"the program does not write {unwritten[0]}; expected every output block to be written")


def _fixed(size):
    """The number that torch.export fixed a size or a stride to, or None."""
    return size if isinstance(size, int) else size.node.maybe_as_int()


def _check_free(program, binding, rules):
    """Raises InputError where torch.export fixed a number of rows or a pitch, or found a rule for it."""
    names = program.graph_signature.user_inputs
    tensors = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"}
    inputs = [(block, block.collection) for block in binding.inputs]
    outputs = [
        (block, rule.get("collection"))
        for block, rule in zip(binding.outputs, rules)
        for _ in _output_arguments(block, rule)
    ]
    lengths = {}
    for name, (block, collection) in zip(names, inputs + outputs):
        rows, pitch = tensors[name].shape[1], tensors[name].stride(0)
        if tensors[name].shape[0] > 1 and _fixed(pitch) is not None:
            raise InputError(f'block "{block.name}": torch.export fixed its pitch to {pitch}, a fault of the exporter')
        if collection is None:
            continue
        if _fixed(rows) is not None:
            raise InputError(f'block "{block.name}": the model needs exactly {rows} rows; expected any number')
        limits = program.range_constraints.get(rows.node.expr)
        if limits is None or limits.lower > 2 or limits.upper < 1 << 40:
            raise InputError(f'block "{block.name}": the model takes {rows.node.expr} rows ({limits}), not any number')
        other, other_collection = lengths.setdefault(rows.node.expr, (block, collection))
        if other_collection != collection:
            raise InputError(
                f'the model needs equal numbers of rows of the blocks "{other.name}" and "{block.name}"; '
                "expected blocks of one collection there"
            )


# ---- from a program to a package


@contextlib.contextmanager
def _compiler_for(level):
    """Code for a level of x86-64 that a package can name, instead of "whatever this machine has"."""
    from torch._inductor import cpp_builder

    flags = cpp_builder._get_optimization_cflags

    def flags_of_level(*arguments, **options):
        compiling, linking = flags(*arguments, **options)
        return [f"march={level}" if flag == "march=native" else flag for flag in compiling], linking

    with unittest.mock.patch.object(cpp_builder, "_get_optimization_cflags", flags_of_level):
        yield


def _cpu_flags():
    text = Path("/proc/cpuinfo").read_text()
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return set(found.group(1).split()) if found else set()


def _needed_flags(wrapper, level):
    """What a processor must have to run the code, by the names of /proc/cpuinfo."""
    if level is None:
        return sorted(_cpu_flags())
    command = next(line for line in wrapper.splitlines() if " -c -o " in line)
    used = set(package.CPU_FLAGS[level])
    used |= {flag.replace("-", "_") for flag in re.findall(r" -m((?:avx|amx|fma|f16c)\S*)", command)}
    return sorted({"avx512vnni": "avx512_vnni", "avx512bf16": "avx512_bf16"}.get(flag, flag) for flag in used)


def _compile(program, device, folder):
    """The records of the AOTInductor archive, by name, and the processor flags that the code needs."""
    level = None
    if platform.machine() == "x86_64":
        level = "x86-64-v4" if _cpu_flags().issuperset(package.CPU_FLAGS["x86-64-v4"]) else "x86-64-v3"
    options = {"cpp.threads": 1, "aot_inductor.embed_kernel_binary": True} if device == "cuda" else {"cpp.threads": 1}
    path = Path(folder) / "model.pt2"
    from torch._inductor.utils import fresh_cache

    try:
        with _compiler_for(level) if level else contextlib.nullcontext(), fresh_cache():
            torch._inductor.aoti_compile_and_package(program, package_path=str(path), inductor_configs=options)
    except Exception as error:  # noqa: BLE001: torch and its compilers throw many kinds
        raise InputError(f"the model cannot be compiled for {device}: {first_line(error)}") from error
    with zipfile.ZipFile(path) as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    wrapper = next(text for name, text in records.items() if name.endswith(".wrapper.cpp")).decode()
    if any(b"#pragma omp parallel" in text for name, text in records.items() if name.endswith(".cpp")):
        raise InputError("the compiled program starts threads of its own; this is a fault of the exporter")
    flags = _needed_flags(wrapper, level)
    return path, {name: text for name, text in records.items() if not name.endswith(".cpp")}, flags


def _validate(run, module, binding, rules, is_whole=False):
    """Calls `run(columns, rows of each domain)` beside the module, in float32 and float64. Raises InputError where it
    differs too much.
    """
    try:
        exact = copy.deepcopy(module).double()
    except Exception:  # noqa: BLE001: an exported program has fixed dtypes
        exact = None
    checks = []
    for count in CHECKED_ROWS:
        rows = {collection: count * (1 + 2 * i) for i, collection in enumerate(_collections(binding))}
        if count == 0 and not all(block.column_dtype.is_floating_point for block in binding.inputs):
            continue  # an index into nothing
        if sum(_rows_by(rules, rows)) == 0:
            continue  # nothing would run
        columns = Columns(binding, rows, rules, "cpu", seed=count, is_misaligned=count % 2 == 1, is_whole=is_whole)
        expected = [block.planes(result) for block, result in zip(binding.outputs, _eager(module, binding, columns))]
        truth = _truth(exact, binding, columns) or expected
        run(columns, list(rows.values()))
        if columns.changed():
            raise InputError(f"the package writes memory that is not its own at {count} rows; it is not written")
        check = {"rows": list(rows.values()), "relative_error": {}, "relative_error_eager": {}}
        for block, arguments, eager, exactly in zip(binding.outputs, columns.outputs, expected, truth):
            error, eager_error = (_relative_error(x, exactly) for x in (torch.cat(arguments), eager))
            check["relative_error"][block.name] = error
            check["relative_error_eager"][block.name] = eager_error
            dtypes = [b.dtype for b in (*binding.inputs, block) if b.dtype.is_floating_point]
            coarser = max([torch.finfo(dtype).eps / torch.finfo(torch.float32).eps for dtype in dtypes], default=1)
            if not error <= max(TOLERANCE * max(1, coarser), 4 * eager_error):
                raise InputError(
                    f'block "{block.name}": the package differs from the model by {error:.2e} (relative, at {count} '
                    f"rows, the model itself from float64 by {eager_error:.2e}), expected at most {TOLERANCE:.0e}; "
                    "it is not written"
                )
        checks.append(check)
    return checks


def _truth(exact, binding, columns):
    """The results in float64, as planes, or None where the model has fixed dtypes."""
    if exact is None:
        return None
    try:
        with torch.no_grad():
            results = binding.call(exact, columns.inputs, convert=_double)
    except Exception:  # noqa: BLE001: a model may insist on its dtypes
        return None
    return [block.planes(result) for block, result in zip(binding.outputs, results)]


def _relative_error(got, expected):
    """The largest difference over the largest number; infinity where one is not finite and the other is."""
    got, expected = got.double(), expected.double()
    if got.numel() == 0:
        return 0.0
    finite = torch.isfinite(expected)
    if not torch.equal(torch.isfinite(got), finite):
        return float("inf")
    scale = expected[finite].abs().max().item() if finite.any() else 0.0
    difference = (got[finite] - expected[finite]).abs().max().item() if finite.any() else 0.0
    return difference / scale if scale > 0 else difference


def _manifest(binding, rules, target, facts):
    return {
        "schema": SCHEMA,
        "binding": binding.text,
        "inputs": [[vars(argument) for argument in block.input_arguments()] for block in binding.inputs],
        "outputs": [
            [vars(argument) for argument in _output_arguments(block, rule)]
            for block, rule in zip(binding.outputs, rules)
        ],
        "rows": rules,
        "target": target,
        "machine": platform.machine(),
        "torch": torch.__version__,
        **facts,
    }


def _write(path, records, manifest):
    """Writes a package: the files, the manifest (a dict) and the checksum over both."""
    manifest = json.dumps(manifest, indent=1).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in (*sorted(records.items()), ("model/" + RECORD, manifest)):
            archive.writestr(zipfile.ZipInfo(name), content)
        archive.comment = MARK + b"0" * 64
    content = Path(path).read_bytes()[:-64]
    Path(path).write_bytes(content + hashlib.sha256(content).hexdigest().encode())


def _fused(module, binding, rules, target, precision, folder):
    """(facts of the manifest, files) of the model as a fused program. Raises NotFused."""
    module = module.to("cpu")
    try:
        exported = _exported(module, binding)
    except Exception as error:  # noqa: BLE001: torch.export throws many kinds
        raise NotFused(f"torch.export cannot follow it ({first_line(error)})") from error
    program = package.program_of(exported, binding, rules)
    if target == "cuda":
        entry, files = package.for_cuda(program, precision)
        return {"fused": entry, "checks": []}, files
    check = functools.partial(_validate, module=module, binding=binding, rules=rules, is_whole=True)
    entry, files, checks = package.for_cpu(program, _cpu_flags(), check, folder)
    return {"fused": entry, "checks": checks}, files


def _told(stages):
    """Lines for people; stages that are alike are told once."""
    count = len(stages)
    times = {stage: stages.count(stage) for stage in stages}
    alike = [f"  {stage}" + (f" ({n} times)" if n > 1 else "") for stage, n in times.items()]
    return [f"fused into {count} kernel{'s' * (count > 1)}:", *alike]


def _compiled(module, binding, rules, target, folder):
    """(facts of the manifest, files) of the model as TorchInductor compiles it."""
    check_device(target)
    module = module.to(target)
    program = _export(module, binding, rules, target)
    archive, records, flags = _compile(program, target, folder)
    facts = {"cpu_flags": flags, "checks": []}
    if target == "cpu":
        loader = torch._C._aoti.AOTIModelPackageLoader(str(archive), "model", True, 1, -1)

        def run(columns, rows):
            loader.run([*columns.inputs, *(argument for arguments in columns.outputs for argument in arguments)])

        facts["checks"] = _validate(run, module, binding, rules)
    else:
        major, minor = torch.cuda.get_device_capability()
        facts.update(gpu_architecture=f"sm_{major}{minor}", gpu=torch.cuda.get_device_name())
    return facts, records


def export(module, binding, path, target="cpu", precision=None, fuse=True, report=print):
    """Writes the package of `module` for the columns of `binding`, whole or not at all.

    A model that is a row program (tensoa.fusion) becomes few kernels of our own, unless `fuse` is false; others go through
    TorchInductor, which needs a GPU for `target` "cuda". `precision` of the fused kernels' matrix products on a GPU: one of
    PRECISIONS. `report` is called with lines about what was fused, or why nothing was. The module is set to evaluation. On
    CPU the package is run beside it before it is written. Raises InputError: what, got, expected.
    """
    if target not in TARGETS:
        raise InputError(f"target: got {target}, expected one of {', '.join(TARGETS)}")
    if precision is not None and (target != "cuda" or precision not in PRECISIONS):
        raise InputError(f"precision {precision} on {target}: expected one of {', '.join(PRECISIONS)}, for cuda")
    if not isinstance(module, nn.Module):
        raise InputError(f"the model is a {type(module).__name__}, expected a torch.nn.Module")
    check_writable(path)
    with contextlib.suppress(NotImplementedError):  # an exported program is in evaluation already
        module = module.eval()
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="tensoa-export-") as folder:
        warnings.simplefilter("ignore")
        if isinstance(module, torch.jit.ScriptModule):
            module = _from_script(module, binding)
        module.requires_grad_(False)
        rules = _result_rows(module.to("cpu"), binding, "cpu")
        facts = None
        if fuse:
            try:
                facts, files = _fused(module, binding, rules, target, precision or PRECISIONS[0], folder)
                for line in _told(facts["fused"]["stages"]):
                    report(line)
                files = {"model/" + name: content for name, content in files.items()}
            except NotFused as reason:
                report(f"not fused, because of {reason}; compiled by TorchInductor")
        if facts is None:
            facts, files = _compiled(module, binding, rules, target, folder)
        with replacing(path) as temporary:
            _write(temporary, files, _manifest(binding, rules, target, facts))
