# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tensoa.export MODEL --binding BINDING.json --out FILE.pt2 [--target cpu|cuda|cpu,cuda]
python -m tensoa.export MODEL --binding BINDING.json --out FILE.pt2 --just-in-time
python -m tensoa.export --check FILE.pt2 --program build/tensoa
python -m tensoa.export WEIGHTS.safetensors --out FILE.pt

The first form compiles a model ahead of time, for the columns of a binding (describe() of tensoa/engine/describe.hpp
writes it): a package that reads and writes them where they lie. MODEL is a network as `tensoa compile --help` lists them.

What can be fused is fused (docs/ahead_of_time.md) and needs g++, clang++ or ziglang for CPUs, no GPU and no compiler for GPUs.
The rest goes through TorchInductor, with calls of the parts that can be fused, which takes half a minute and, with --target
cuda, needs the GPU that the package is for. With --target cpu,cuda the package has the programs of both, which are made one
after the other of one export; where one cannot be made, no package is written.

A package is compared with the module before it is written. --example gives rows for that, as the model will see them;
without, they are made up: normally distributed, large, small, powers of two, equal, far from zero, tied, with NaN at the end,
integers that the model takes; of columns of a logarithm, a root and the like those that give finite numbers. A fused program
that is not right, on a CPU or here on a GPU, is replaced by one with fused parts, then by that of TorchInductor, with a word.

With --just-in-time the file is a program of torch.export with free numbers of rows, compared with the module: for CPUs and
GPUs, run operator by operator by a tensoa that is built with torch, without a compiler.

With a target cuda, --program is the program `tensoa`: it runs the package on this machine's GPU, compares the results with
those of the module in float64, and tries whether its calls can be captured as CUDA graphs, each in a separate process.
A package that is wrong is not written; what was found is in the package. The third form does the same with one that is there
already, as on another GPU, and leaves it alone where it is wrong.

The last form writes the TorchScript file of our interaction network, with
forward(x [n_hits, 3], edge_index [2, n_edges] int64, edge_attr [n_edges, 4]) -> scores [n_edges] in [0, 1].

Exit status 2 with one line on stderr for what cannot be used.

In Python: export(module, tensoa.binding.load("binding.json"), "package.pt2", Options(target="cpu")). The program in a package
takes one argument or several for each block (tensoa.binding), and writes its results into those of the output blocks: it
returns nothing. The number of rows and the pitches are free.
"""

import argparse
import contextlib
import functools
import platform
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

import torch
from torch import nn

from tensoa import binding, just_in_time, program_kinds
from tensoa.binding import Binding, examples, words
from tensoa.binding.columns import output_arguments
from tensoa.binding.domain import made_up
from tensoa.binding.evaluation import evaluated
from tensoa.binding.model import result_rows, with_lengths
from tensoa.binding.real_rows import MISSING
from tensoa.budget import Budget, budget_of, within
from tensoa.command import check_writable, replacing, run, step, working
from tensoa.compiler import frontend, inductor, routes, torchscript
from tensoa.compiler.cpu.processors import cpu_flags
from tensoa.compiler.cuda import PRECISIONS
from tensoa.compiler.errors import surprises_as_not_fused
from tensoa.errors import InputError, Unsupported, first_line
from tensoa.importers import checkpoints, exatrkx, outputs
from tensoa.importers.files import load_module, load_weights
from tensoa.importers.own_runtime import AsItIs
from tensoa.options import add_network_options, targets_of
from tensoa.package import archive, fused, gpu_check, parts, reference, timing
from tensoa.package.cases import KINDS, Cases
from tensoa.package.checks import Differs, has_it_by_layout, validate
from tensoa.package.manifest import Check, Fused, FusedPart, Manifest, RowDependence, Target, Unfused
from tensoa.package.recorded import RECORDED_TOLERANCE, record, summary_lines
from tensoa.row_dependence import DEPENDENT, INDEPENDENT, UNKNOWN, row_dependence
from tensoa.tracing import not_followed


@dataclass(frozen=True)
class Options:
    """How a package is made.

    `target`: "cpu", "cuda", or both: "cpu,cuda" or a sequence of them. A model that can be fused (tensoa.compiler) becomes
    few kernels, unless `fuse` is false; others go through TorchInductor, which needs a GPU for "cuda". `precision`
    of the fused kernels' matrix products on a GPU: one of PRECISIONS, None for the first. `deterministic`: their sums by index
    are the same bits at every call, whatever else runs; on a CPU they always are. `program`: the path of `tensoa`, which runs
    a package for "cuda" on this machine's GPU, where there is one. `report` is called with lines about what was fused, or why
    nothing was. `seconds` of CPU and `memory` in GiB: what a package may take (tensoa.budget); None: by the
    size of the model. `timing`: whether a model whose own runtime may run it, too, is left to that where a package for CPUs
    takes clearly more time (tensoa.package.timing); without, the same package is written at every run.
    """

    target: str | Sequence[str] = "cpu"
    precision: str | None = None
    fuse: bool = True
    deterministic: bool = False
    program: str | PathLike | None = None
    report: Callable[[str], object] = print
    seconds: float | None = None
    memory: float | None = None
    timing: bool = True

    def __post_init__(self) -> None:
        """Raises InputError: what, got, expected."""
        targets = self.targets
        if self.precision is not None and ("cuda" not in targets or self.precision not in PRECISIONS):
            raise InputError(f"precision {self.precision} on {targets[0]}: expected one of {', '.join(PRECISIONS)}, for cuda")
        if self.program is not None and "cuda" not in targets:
            raise InputError(f"program {self.program} for {targets[0]}: expected none, it runs packages for cuda")

    @property
    def targets(self) -> tuple[str, ...]:
        return targets_of(self.target)

    def of(self, target: str) -> "Options":
        """Those of one of its targets."""
        if len(self.targets) == 1:
            return replace(self, target=target)
        precision, program = (self.precision, self.program) if target == "cuda" else (None, None)

        def report(line: str) -> None:
            self.report(f"{target}: {line}")

        return replace(self, target=target, precision=precision, program=program, report=report)

    @property
    def only(self) -> str:
        """Of one target: which."""
        (target,) = self.targets
        return target


@dataclass
class _Compiled:
    """A program: its files below model/, what the manifest says of it, and lines for people."""

    files: dict[str, bytes]
    checks: list[Check]
    fused: Fused | None = None
    cpu_flags: list[str] | None = None
    gpu_architecture: str | None = None
    gpu: str | None = None
    parts: list[FusedPart] | None = None
    unfused: list[Unfused] | None = None
    lines: list[str] = field(default_factory=list)
    differs: list[str] | None = None
    weights: list[bytes] = field(default_factory=list)  # that more than one of the files may have
    run: timing.Program | None = None  # where it runs here


@dataclass
class Made:
    """The content of a package for a target: the `kind` of the program, the `reasons` why no kind before it was possible,
    `lines` for people on what ran it, and the program, where it runs here, with what was tried with it.
    """

    kind: str
    reasons: dict[str, str]
    lines: list[str]
    run: timing.Program | None
    tried: Cases


NOT_DETERMINISTIC = "its sums by index may differ in their last bits from call to call"
MANY_OPERATIONS, MUCH_WEIGHT = 1000, 100 << 20  # an export of less takes a minute at most

#: Makes a package of a program, and runs it where that is possible; lines for people. Raises Differs where it is not right.
_Packed = Callable[[_Compiled], list[str]]


def export(module: nn.Module, columns: Binding, path: str | PathLike, options: Options = Options()) -> list[Made]:
    """Writes the package of `module`, in evaluation, for the columns of a binding, whole or not at all, and returns what it has
    for each target. The module stays as it is.

    On CPU the package is compared with the module before it is written; for "cuda" where Options.program can. Raises
    InputError: what, got, expected; NoProgram where none is possible.
    """
    if not isinstance(module, nn.Module):
        raise InputError(f"the model is a {type(module).__name__}, expected a torch.nn.Module")
    binding.require_binding(columns)
    check_writable(path)
    _check_weights(module)
    quiet = warnings.catch_warnings()
    with evaluated(module), quiet, tempfile.TemporaryDirectory(prefix="tensoa-export-") as folder:
        warnings.simplefilter("ignore")
        for line in outputs.lines(module, columns):
            options.report(line)
        module = torchscript.interpreted(module, columns)
        module.requires_grad_(False)
        columns, lengths = with_lengths(module.to("cpu"), columns)
        for line in _length_lines(columns, lengths):
            options.report(line)
        columns, domain_lines = made_up(module, columns)
        for line in domain_lines:
            options.report(line)
        rules = result_rows(module, columns, "cpu")
        tried = Cases(module, columns, rules)
        for line in reference.compared(module, columns, rules, tried):
            options.report(line)
        each = [options.of(target) for target in options.targets]
        finest = min((one.precision for one in each), key=RECORDED_TOLERANCE.__getitem__)
        recorded, tests = record(module, columns, rules, finest, tried)
        for line in summary_lines(recorded):
            options.report(line)
        exported = _exported(module.to("cpu"), columns)
        for line in _size_lines(exported, module):
            options.report(line)
        dependence = _row_dependence(exported, columns, rules)
        manifest = Manifest(
            binding=columns.text,
            inputs=[[vars(argument) for argument in block.input_arguments()] for block in columns.inputs],
            outputs=[
                [vars(argument) for argument in output_arguments(block, rule)] for block, rule in zip(columns.outputs, rules)
            ],
            rows=rules,
            machine=platform.machine(),
            torch=torch.__version__,
            recorded=recorded,
            targets=[],
            row_dependence=dependence,
        )
        if any(first != collection for collection, first in lengths.items()):
            manifest.lengths = [lengths.get(collection, collection) for collection in range(max(lengths) + 1)]
        files = {"model/" + name: content for name, content in tests.items()}
        package = _Package(Path(folder) / "package.pt2", manifest, files, len(each) > 1)
        made: list[Made] = []
        for one in each:
            packed = functools.partial(package.packed, options=one, path=path)
            with _of_several(options, one.only):
                made.append(_package_of(exported, tried, one, folder, packed))
            package.keep()
        with replacing(path) as temporary:
            shutil.copyfile(package.file, temporary)
        for one, found in zip(each, made):
            for line in found.lines:
                one.report(line)
        for line in dependence_lines(dependence):
            options.report(line)
        return made


class _Package:
    """A package in a temporary `file`, while its targets are made one after the other."""

    def __init__(self, file: Path, manifest: Manifest, files: dict[str, bytes], is_for_several: bool) -> None:
        self.file, self.kept, self.is_for_several = file, (manifest, files), is_for_several
        self.tried = self.kept

    def packed(self, compiled: _Compiled, options: Options, path: str | PathLike) -> list[str]:
        """Writes the file with one target more, for which `compiled` was made, and checks it where that is possible; lines for
        people. `path`: where the package will be. Raises Differs.
        """
        manifest, files = self.kept
        tolerance = RECORDED_TOLERANCE[options.precision]
        target = Target(
            target=options.only,
            checks=compiled.checks,
            fused=compiled.fused,
            parts=compiled.parts,
            unfused=compiled.unfused,
            cpu_flags=compiled.cpu_flags,
            gpu_architecture=compiled.gpu_architecture,
            gpu=compiled.gpu,
            differs=compiled.differs,
            tolerance=tolerance if tolerance > manifest.recorded.tolerance else None,
        )
        made, shared = compiled.files, list(manifest.shared or [])
        if self.is_for_several:
            made, lacking = archive.sharing(made, compiled.weights)
            shared += lacking
        manifest = replace(manifest, targets=[*manifest.targets, target], shared=shared or None)
        self.tried = manifest, {**files, **made}
        self._write()
        if options.target != "cuda" or not manifest.recorded.cases:
            return []
        if options.program is None or not gpu_check.has_gpu():
            missing = "no GPU" if options.program is not None else "no --program"
            return [f"not run: {missing} here; on a GPU: tensoa compile --check {path} --program build/tensoa"]
        lines = _run_on_gpu(self.file, target, options.program)
        self._write()
        return lines

    def keep(self) -> None:
        """The package that packed() wrote last stays."""
        self.kept = self.tried

    def _write(self) -> None:
        manifest, files = self.tried
        archive.write(self.file, files, manifest.to_json())


@contextlib.contextmanager
def _of_several(options: Options, target: str) -> Iterator[None]:
    """Says in errors which of several targets cannot be made."""
    try:
        yield
    except InputError as error:
        others = ",".join(other for other in options.targets if other != target)
        if not others:
            raise
        reason = str(error).removesuffix("; it is not written")
        raise InputError(f"target {target}: {reason}; no package is written; without it: --target {others}") from error


def _check_weights(module: nn.Module) -> None:
    """Raises InputError for modules whose weights torch.export does not see."""
    for name, part in module.named_modules():
        kind = type(part)
        if ".quantized" in kind.__module__ and kind.__module__.startswith("torch.ao.nn."):
            raise InputError(
                f"the model's part {name} is a {kind.__module__}.{kind.__name__}, whose weights torch.export cannot read; "
                "expected layers of numbers, or a model that torchao.quantization.pt2e quantised (prepare_pt2e, convert_pt2e): "
                "quantise the model before with that, or export it as it was"
            )


def _package_of(
    exported: torch.export.ExportedProgram | Unsupported,
    tried: Cases,
    options: Options,
    folder: str,
    packed: _Packed,
) -> Made:
    """Packs the first kind of program that is possible. Raises NoProgram."""
    made: list[Made] = []

    def pack(kind: str, compiled: _Compiled, reasons: dict[str, str], lines: Sequence[str] = ()) -> None:
        made.append(Made(kind, reasons, packed(compiled), compiled.run, tried))
        for line in [*lines, *compiled.lines]:
            options.report(line)

    def fused_whole(reasons: dict[str, str]) -> None:
        pack(program_kinds.FUSED, _fused_whole(_required(exported), tried, options, folder), reasons)

    def fused_in_part(reasons: dict[str, str]) -> None:
        compiled = _in_parts(_required(exported), reasons[program_kinds.FUSED], tried, options, folder)
        pack(program_kinds.IN_PARTS, compiled, reasons)

    def by_inductor(reasons: dict[str, str]) -> None:
        lines = [program_kinds.summary(reasons, program_kinds.INDUCTOR)] if reasons else []
        if options.deterministic and options.target == "cuda":
            lines.append(NOT_DETERMINISTIC)
        pack(program_kinds.INDUCTOR, _by_inductor(tried, options, folder), reasons, lines)

    of_ours = {program_kinds.FUSED: fused_whole, program_kinds.IN_PARTS: fused_in_part} if options.fuse else {}
    program_kinds.first_possible({**of_ours, program_kinds.INDUCTOR: by_inductor})
    return made[0]


def _required(exported: torch.export.ExportedProgram | Unsupported) -> torch.export.ExportedProgram:
    """Returns the program. Raises why it is missing."""
    if isinstance(exported, Unsupported):
        raise exported
    return exported


def _exported(module: nn.Module, columns: Binding) -> torch.export.ExportedProgram | Unsupported:
    """Or why torch.export cannot follow it."""
    step("torch.export")
    try:
        return frontend.exported_program(module, columns)
    except InputError:
        raise
    except Exception as error:  # torch.export throws many kinds
        return not_followed(error)


def _size_lines(exported: torch.export.ExportedProgram | Unsupported, module: nn.Module) -> Iterator[str]:
    """A line for people, of a model whose export may take minutes, or much memory."""
    count = 0 if isinstance(exported, Unsupported) else sum(node.op == "call_function" for node in exported.graph.nodes)
    size = sum(tensor.nbytes for tensor in {**dict(module.named_parameters()), **dict(module.named_buffers())}.values())
    found = [
        *([f"{count} operations, which are followed one by one some ten times"] if count > MANY_OPERATIONS else []),
        *([f"{size >> 20} MiB of weights, of which this takes up to twenty times the memory"] if size > MUCH_WEIGHT else []),
    ]
    if found:
        yield f"a large model: {', and '.join(found)}: its export may take minutes"


def _row_dependence(exported: torch.export.ExportedProgram | Unsupported, columns: Binding, rules: list[dict]) -> RowDependence:
    if isinstance(exported, Unsupported):
        return RowDependence(UNKNOWN, str(exported))
    found = row_dependence(exported, columns, rules)
    return RowDependence(found.answer, found.reason or None)


def dependence_lines(dependence: RowDependence) -> Iterator[str]:
    """Lines for people: whether rows depend on each other, and why."""
    if dependence.answer == INDEPENDENT:
        yield "rows: each is calculated from itself alone"
    else:
        known = "depend" if dependence.answer == DEPENDENT else "may depend"
        yield f"rows: they {known} on each other: {dependence.reason}"


def _fused_whole(exported: torch.export.ExportedProgram, tried: Cases, options: Options, folder: str) -> _Compiled:
    """Raises NotFused, and Differs where it is not right."""
    step("finding what can be fused")
    columns, rules = tried.binding, tried.rules
    runs: list[fused.Program] = []
    if options.target == "cuda":
        precision = options.precision or PRECISIONS[0]
        kernels = routes.for_cuda(exported, columns, rules, precision, options.deterministic)
        step("compiling the fused program")
        entry, files = fused.for_cuda(kernels, precision)
        checks: list[Check] = []
        weights: list[bytes] = []
    else:

        def check(run: fused.Program) -> list[Check]:
            runs.append(run)
            return validate(run, tried.module, columns, rules, is_whole=True, what="the fused program", tried=tried)

        made = routes.for_cpu(exported, columns, rules)
        step("compiling the fused program")
        entry, files, checks = fused.for_cpu(made, cpu_flags(), check, folder)
        weights = [made.source.weights]
    files = {"model/" + name: content for name, content in files.items()}
    return _Compiled(files, checks, entry, lines=_stage_lines(entry.stages), weights=weights, run=next(iter(runs), None))


def _in_parts(
    exported: torch.export.ExportedProgram,
    reason: str,
    tried: Cases,
    options: Options,
    folder: str,
) -> _Compiled:
    """A program of TorchInductor that calls fused parts. `reason`: why the model is not fused whole. Raises Unsupported."""
    columns = tried.binding
    with surprises_as_not_fused():
        if options.target == "cuda":
            made = parts.for_cuda(exported, columns, options.precision or PRECISIONS[0], options.deterministic)
        else:
            made = parts.for_cpu(exported, columns, cpu_flags(), folder)
    compiled = _by_inductor(tried, options, folder, made.module)
    compiled.lines = [f"fused in part, not whole: {reason}; {_count(len(made.parts), 'part')}, the rest by TorchInductor:"]
    for part in made.parts:
        first, *others = _stage_lines(part.stages)
        compiled.lines += ["  part of " + first.removeprefix("fused into "), *("  " + line for line in others)]
    compiled.lines += [f"  not fused: {one.operation}, because of {one.reason}" for one in made.unfused]
    compiled.files.update({"model/" + name: content for name, content in made.files.items()})
    compiled.parts, compiled.unfused, compiled.weights = made.parts, made.unfused, made.weights
    return compiled


def _by_inductor(tried: Cases, options: Options, folder: str, in_parts: nn.Module | None = None) -> _Compiled:
    """`in_parts`: what is compiled instead of the model. Without it there is no other package left, and what differs where
    inputs are missing is only said, here and in the manifest, if the model itself has it otherwise in another layout: torch
    sorts and searches NaN by it.
    """
    module, columns, rules = tried.module, tried.binding, tried.rules
    made = inductor.compile(module if in_parts is None else in_parts, columns, rules, options.only, folder)
    checks = []
    differs: list[str] = []
    if made.run is not None:
        run = functools.partial(validate, made.run, module, columns, rules, tried=tried)
        checks = run(kinds=KINDS if in_parts is not None else [kind for kind in KINDS if kind != MISSING])
        try:
            checks += run(kinds=(MISSING,)) if in_parts is None else []
        except Differs as error:
            if not has_it_by_layout(module, columns, rules, MISSING):
                raise
            differs = [f"{str(error).removesuffix('; it is not written')}; the model itself has it otherwise in another layout"]
            options.report(differs[0])
    return _Compiled(
        made.records, checks, None, made.cpu_flags, made.gpu_architecture, made.gpu, differs=differs or None, run=made.run
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number > 1)}"


def _stage_lines(stages: list[str]) -> list[str]:
    """Lines for people; stages that are alike are listed once."""
    count = len(stages)
    times = {stage: stages.count(stage) for stage in stages}
    alike = [f"  {stage}" + (f" ({n} times)" if n > 1 else "") for stage, n in times.items()]
    return [f"fused into {_count(count, 'kernel')}:", *alike]


def _length_lines(columns: Binding, lengths: dict[int, int]) -> Iterator[str]:
    """Lines for people: which input blocks need equal numbers of rows though they are of several collections."""
    for first in dict.fromkeys(lengths.values()):
        group = [collection for collection, other in lengths.items() if other == first]
        if len(group) > 1:
            names = [f'"{block.name}"' for block in columns.inputs if block.collection == first]
            yield f"equal numbers of rows: the model needs them of the blocks {', '.join(names)}"


def check_on_gpu(path: str | PathLike, program: str | PathLike, report: Callable[[str], object] = print) -> None:
    """Runs the package `path` on this machine's GPU (tensoa.package.gpu_check) and writes what was found into it.

    `program` is the path of `tensoa`. Raises Differs, and leaves the package as it is, where it gives wrong numbers or fails;
    InputError where it cannot be run.
    """
    files, text = archive.read(path)
    manifest = Manifest.from_json(text, str(path))
    target = manifest.target("cuda")
    if target is None:
        names = ",".join(one.target for one in manifest.targets)
        raise InputError(f"{path}: is for {names}, where a package is checked when it is exported")
    if not gpu_check.has_gpu():
        raise InputError(f"{path}: cannot be checked, there is no GPU here")
    for line in _run_on_gpu(path, target, program):
        report(line)
    with replacing(path) as temporary:
        archive.write(temporary, files, manifest.to_json())


def _run_on_gpu(path: str | PathLike, target: Target, program: str | PathLike) -> list[str]:
    """Adds what a check of the package on this machine's GPU finds to its target for CUDA; lines for people. Raises Differs."""
    check = gpu_check.run(program, path)
    gpu_check.record_check(target, check)
    return gpu_check.summary_lines(check)


def budget(module: nn.Module, options: Options) -> Budget:
    """The budget for a package of this module."""
    parameters = sum(weight.numel() for weight in module.parameters()) if isinstance(module, nn.Module) else 0
    return budget_of(parameters, options.seconds, options.memory)


def write(
    module: nn.Module,
    columns: Binding,
    path: str | PathLike,
    options: Options,
    is_just_in_time: bool,
    limit: Budget | None = None,
    own: AsItIs | None = None,
) -> None:
    """Writes a package, as export() does; where none can be made, or `is_just_in_time`, a program that runs just in time, with
    a line on why. Raises InputError, NoProgram where no kind of program can be made. `limit`: the budget, where some of it is
    used up already. `own`: of a runtime that is faster than programs that run just in time: it is tried before them, and what
    it takes is written over a package for CPUs that is clearly slower (tensoa.package.timing), unless Options.timing is false.
    """
    if is_just_in_time and options != replace(Options(), report=options.report):
        raise InputError(
            "--just-in-time: expected no --target, --precision, --deterministic, --program, --no-fuse, --no-timing, --seconds "
            "and --memory, which packages have"
        )

    reported: list[str] = []

    def report(line: str) -> None:
        reported.append(line)
        options.report(line)

    def just_in_time_by(kind: str, writer: Callable[..., None]) -> Callable[[dict[str, str]], None]:
        def attempt(reasons: dict[str, str]) -> None:
            lines: list[str] = []
            writer(module, columns, path, lines.append)
            if reasons or kind != program_kinds.EXPORTED:
                lines.append(program_kinds.summary(reasons, kind))
                lines.append(_columns_line(columns))
            if options.deterministic and "cuda" in options.targets:
                lines.append(NOT_DETERMINISTIC)
            for line in lines:
                if line not in reported:  # before another kind was found to be impossible
                    report(line)

        return attempt

    def package(_: dict[str, str]) -> None:
        with within(limit or budget(module, options)):
            made, *others = export(module, columns, path, replace(options, report=report))
        if own is not None and options.timing and made.run is not None and not others:  # a package for CPUs alone
            _leave_to(own, made, made.run, report)

    writers = {program_kinds.EXPORTED: just_in_time.write, program_kinds.SCRIPTED: just_in_time.write_script}
    files = {kind: just_in_time_by(kind, writer) for kind, writer in writers.items()}
    as_it_is = {own.kind: own.attempt} if own else {}
    program_kinds.first_possible(files if is_just_in_time else {program_kinds.PACKAGE: package, **as_it_is, **files})


def _leave_to(own: AsItIs, made: Made, run: timing.Program, report: Callable[[str], object]) -> None:
    """Writes the file for the model's own runtime over the package, where that is clearly slower. Lines for people say which of
    them stays, and why.
    """
    try:
        times = timing.compared(run, made.tried, own.runtime.name)
    except timing.NotTimed as error:
        report(f"not timed: {error}")
        return
    if not times.is_slower():
        report(f"timed: {times}")
        return
    try:
        own.write({**made.reasons, made.kind: str(times)})
    except InputError as error:
        report(f"timed: {times}; the package stays: {first_line(error)}")


def _columns_line(columns: Binding) -> str:
    """How the columns are named where a file is loaded that does not state them."""
    if any(len(block.columns) != len(block.places) for block in (*columns.inputs, *columns.outputs)):
        return "the file says no columns: its blocks are bound as the layout has them"
    inputs, results = (" ".join(map(words.text_of, blocks)) for blocks in (columns.inputs, columns.outputs))
    return f"the file says no columns: tensoa infer --columns {inputs} --outputs {results}"


def is_weights(path: str) -> bool:
    """Whether write_torchscript() may take a file: weights of ours or of Exa.TrkX, or any TorchScript, which it looks into."""
    return path.endswith(".safetensors") or exatrkx.takes(path) or checkpoints.kind_of(path) == "script"


def write_torchscript(weights: str, path: str | PathLike) -> None:
    """Writes the TorchScript file of our network, or of Exa.TrkX, whose weights alone are in a file. Raises InputError."""
    network = load_weights(weights) if weights.endswith(".safetensors") else exatrkx.read_weights(weights)
    with replacing(path) as temporary:
        torch.jit.script(network).save(temporary)


def has_checked(given: argparse.Namespace) -> bool:
    """Does what --check requests, and returns whether it was given. Raises InputError."""
    if given.check is None:
        return False
    if given.program is None or given.model is not None or given.out is not None:
        raise InputError(f"--check {given.check}: expected also --program PROGRAM, no MODEL and no --out")
    with working(f"checking {given.check}") as report:
        check_on_gpu(given.check, given.program, report)
    return True


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tensoa.export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", metavar="MODEL", nargs="?", help="FILE.py:FACTORY, or a file, see above")
    parser.add_argument("--out", metavar="FILE", help="package (.pt2) or TorchScript file (.pt) to write")
    add_network_options(parser)
    options = parser.parse_args(arguments)
    if has_checked(options):
        return
    if options.model is None or options.out is None:
        parser.error("expected MODEL and --out FILE, or --check FILE.pt2")
    is_package = options.out.endswith(".pt2")
    if is_package and options.binding is None:
        raise binding.without_columns(options.model, options.out)
    if options.binding is not None and not is_package:
        raise InputError(f"--out {options.out}: a package is called FILE.pt2")
    if options.just_in_time and not is_package:
        raise InputError(f"--out {options.out}: a program of torch.export is called FILE.pt2")
    if options.example is not None and not is_package:
        raise InputError(f"--example {options.example}: expected --out FILE.pt2, a package that is checked with it")
    if is_package:
        columns = binding.load(options.binding)
        if options.example is not None:
            columns = examples.with_columns(columns, examples.read(options.example))
        wanted = Options(
            options.target,
            options.precision,
            not options.no_fuse,
            options.deterministic,
            options.program,
            seconds=options.seconds,
            memory=options.memory,
            timing=not options.no_timing,
        )
        module = load_module(options.model, columns)
        with working(f"compiling {options.out}") as report:
            write(module, columns, options.out, replace(wanted, report=report), options.just_in_time)
        return
    if options.target != "cpu" or not options.model.endswith(".safetensors"):
        raise InputError(f"{options.model}: a TorchScript file is made of weights only (FILE.safetensors), for any device")
    write_torchscript(options.model, options.out)


if __name__ == "__main__":
    sys.exit(run(main))
