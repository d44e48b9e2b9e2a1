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
import functools
import hashlib
import json
import platform
import shutil
import tempfile
import warnings
import zipfile
from pathlib import Path

import torch
from torch import nn

from tensoa import gpu_check, inductor, torchscript
from tensoa.checks import record, result_rows, told_recorded, validate, with_examples, with_lengths
from tensoa.columns import ROWS, Columns, collections_of, output_arguments
from tensoa.command import InputError, check_writable, first_line, replacing, step
from tensoa.fusion import package
from tensoa.fusion.capture import NotFused

SCHEMA = 2
RECORD = "extra/tensoa.json"
MARK = b"tensoa sha256 "  # before 64 hexadecimal digits, the comment of the archive
TARGETS = ("cpu", "cuda")
PRECISIONS = ("tf32x3", "ieee", "tf32", "bf16")  # the first where none is asked for
DETERMINISTIC = False  # sums by index on GPUs, where nothing is asked for


def _examples(binding):
    """A tensor for each input block, as the model knows it."""
    rows = {collection: ROWS[2 * i] for i, collection in enumerate(collections_of(binding))}
    columns = Columns(binding, rows, (), "cpu")
    return [block.tensor(argument).contiguous() for block, argument in zip(binding.inputs, columns.inputs)]


class _OnTensors(nn.Module):
    """The model with a list of tensors, one for each block, as its argument and as its result."""

    def __init__(self, module, binding):
        super().__init__()
        self.module, self.binding = module, binding

    def forward(self, tensors):
        return self.binding.apply(self.module, tensors)


def exported_program(module, binding):
    """The model alone as torch.export sees it: a list of tensors, one for each block, to another; with free numbers of
    rows.
    """
    shapes = [{1 if block.is_transposed else 0: torch.export.Dim.AUTO} for block in binding.inputs]
    arguments = (_examples(binding),)
    with torch.no_grad():
        return torch.export.export(_OnTensors(module, binding), arguments, dynamic_shapes=(shapes,), strict=False)


def _fused(module, binding, rules, target, precision, deterministic, folder):
    """(facts of the manifest, files) of the model as a fused program. Raises NotFused."""
    module = module.to("cpu")
    step("torch.export")
    try:
        exported = exported_program(module, binding)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001: torch.export throws many kinds
        raise NotFused(f"torch.export cannot follow it ({first_line(error)})") from error
    step("finding what can be fused")
    program = package.program_of(exported, binding, rules)
    step("compiling the fused program")
    if target == "cuda":
        entry, files = package.for_cuda(program, precision, deterministic)
        return {"fused": entry, "checks": []}, files
    check = functools.partial(validate, module=module, binding=binding, rules=rules, is_whole=True)
    entry, files, checks = package.for_cpu(program, package.cpu_flags(), check, folder)
    return {"fused": entry, "checks": checks}, files


def _told(stages):
    """Lines for people; stages that are alike are told once."""
    count = len(stages)
    times = {stage: stages.count(stage) for stage in stages}
    alike = [f"  {stage}" + (f" ({n} times)" if n > 1 else "") for stage, n in times.items()]
    return [f"fused into {count} kernel{'s' * (count > 1)}:", *alike]


def _told_lengths(binding, lengths):
    """Lines for people: which input blocks need equal numbers of rows though they are of several collections."""
    for first in dict.fromkeys(lengths.values()):
        group = [collection for collection, other in lengths.items() if other == first]
        if len(group) > 1:
            names = [f'"{block.name}"' for block in binding.inputs if block.collection == first]
            yield f"equal numbers of rows: the model needs them of the blocks {', '.join(names)}"


def _manifest(binding, rules, target, facts):
    return {
        "schema": SCHEMA,
        "binding": binding.text,
        "inputs": [[vars(argument) for argument in block.input_arguments()] for block in binding.inputs],
        "outputs": [
            [vars(argument) for argument in output_arguments(block, rule)]
            for block, rule in zip(binding.outputs, rules)
        ],
        "rows": rules,
        "target": target,
        "machine": platform.machine(),
        "torch": torch.__version__,
        **facts,
    }


def write(path, records, manifest):
    """Writes a package: the files, the manifest (a dict) and the checksum over both."""
    manifest = json.dumps(manifest, indent=1).encode()
    records = {"model/.data/version": b"6\n", **records}  # torch reads no archive without one
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in (*sorted(records.items()), ("model/" + RECORD, manifest)):
            archive.writestr(zipfile.ZipInfo(name), content)
        archive.comment = MARK + b"0" * 64
    content = Path(path).read_bytes()[:-64]
    Path(path).write_bytes(content + hashlib.sha256(content).hexdigest().encode())


def read(path):
    """(files, manifest) of a package, as write() takes them. Raises InputError."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from error
    expected = "expected a package (.pt2) that was written by python -m tensoa.export"
    if content[-64 - len(MARK) : -64] != MARK:
        raise InputError(f"{path}: its checksum is missing; {expected}")
    if hashlib.sha256(content[:-64]).hexdigest().encode() != content[-64:]:
        raise InputError(f"{path}: its checksum is wrong: it was changed or damaged; {expected}")
    try:
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        manifest = json.loads(files.pop("model/" + RECORD))
        schema = manifest["schema"]
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({first_line(error)}); {expected}") from error
    if schema != SCHEMA:
        raise InputError(f"{path}: its format is {schema}, this version of tensoa reads {SCHEMA}; export it again")
    return files, manifest


def check_on_gpu(path, program, report=print):
    """Runs the package `path` on this machine's GPU (tensoa.gpu_check) and writes what was found into it.

    `program` is the path of `tensoa`. Raises InputError, and leaves the package as it is, where it gives wrong numbers.
    """
    files, manifest = read(path)
    if manifest["target"] != "cuda":
        raise InputError(f"{path}: is for {manifest['target']}, where a package is checked when it is exported")
    if not gpu_check.has_gpu():
        raise InputError(f"{path}: cannot be checked, there is no GPU here")
    check = gpu_check.run(program, path)
    gpu_check.enter(manifest, check)
    for line in gpu_check.told(check):
        report(line)
    with replacing(path) as temporary:
        write(temporary, files, manifest)


def export(
    module, binding, path, target="cpu", precision=None, fuse=True, report=print, program=None, deterministic=DETERMINISTIC
):
    """Writes the package of `module` for the columns of `binding`, whole or not at all.

    A model that is a row program (tensoa.fusion) becomes few kernels of our own, unless `fuse` is false; others go through
    TorchInductor, which needs a GPU for `target` "cuda". `precision` of the fused kernels' matrix products on a GPU: one of
    PRECISIONS. `deterministic`: their sums by index are the same bits at every call, whatever runs beside; on a CPU they
    always are. `report` is called with lines about what was fused, or why nothing was. The module is set to evaluation. On
    CPU the package is run beside it before it is written; for "cuda", `program` (the path of `tensoa`) runs it on this
    machine's GPU, where there is one. Raises InputError: what, got, expected.
    """
    if target not in TARGETS:
        raise InputError(f"target: got {target}, expected one of {', '.join(TARGETS)}")
    if precision is not None and (target != "cuda" or precision not in PRECISIONS):
        raise InputError(f"precision {precision} on {target}: expected one of {', '.join(PRECISIONS)}, for cuda")
    if program is not None and target != "cuda":
        raise InputError(f"program {program} for {target}: expected none, it runs packages for cuda")
    if not isinstance(module, nn.Module):
        raise InputError(f"the model is a {type(module).__name__}, expected a torch.nn.Module")
    check_writable(path)
    with contextlib.suppress(NotImplementedError):  # an exported program is in evaluation already
        module = module.eval()
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="tensoa-export-") as folder:
        warnings.simplefilter("ignore")
        module = torchscript.interpreted(module, binding)
        module.requires_grad_(False)
        binding, lengths = with_lengths(module.to("cpu"), binding)
        for line in _told_lengths(binding, lengths):
            report(line)
        binding = with_examples(module, binding)
        rules = result_rows(module, binding, "cpu")
        recorded, tests = record(module, binding, rules, precision)
        for line in told_recorded(recorded):
            report(line)
        facts = None
        if fuse:
            try:
                facts, files = _fused(module, binding, rules, target, precision or PRECISIONS[0], deterministic, folder)
                for line in _told(facts["fused"]["stages"]):
                    report(line)
                files = {"model/" + name: content for name, content in files.items()}
            except NotFused as reason:
                report(f"not fused, because of {reason}; compiled by TorchInductor")
                if deterministic and target == "cuda":
                    report("its sums by index may differ in their last bits from call to call")
        if facts is None:
            facts, files = inductor.compile(module, binding, rules, target, folder)
        files.update({"model/" + name: content for name, content in tests.items()})
        if any(first != collection for collection, first in lengths.items()):
            facts["lengths"] = [lengths.get(collection, collection) for collection in range(max(lengths) + 1)]
        manifest = _manifest(binding, rules, target, {**facts, "recorded": recorded})
        whole = Path(folder) / "package.pt2"
        write(whole, files, manifest)
        if target == "cuda" and recorded["cases"]:
            _check_here(whole, path, program, report)
        with replacing(path) as temporary:
            shutil.copyfile(whole, temporary)


def _check_here(whole, path, program, report):
    """Checks a new package, or says why it is not."""
    if program is not None and gpu_check.has_gpu():
        check_on_gpu(whole, program, report)
        return
    missing = "no GPU" if program is not None else "no --program"
    report(f"not run: {missing} here; on a GPU: python -m tensoa.export --check {path} --program build/tensoa")
