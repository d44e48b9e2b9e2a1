# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The manifest of a package: the one place with its keys and the number of its format (docs/ahead_of_time.md).

Every key of the JSON is the name of a field here, or in compiler/cuda/program.py. What is None is not in the file.
"""

import dataclasses
import types
import typing
from dataclasses import dataclass, field
from typing import Any

from tensoa.compiler.cuda.program import BufferEntry, KernelEntry, Launch, Params, Zero
from tensoa.errors import InputError

SCHEMA, SCHEMA_OF_ONE_TARGET = 3, 2  # of one target the keys are those of the manifest itself, as they always were
ANALYSIS = 2  # of row_dependence: raised where its rules are corrected; "independent" of a lower one is not believed
CHECKED, BUILT = "checked", "built, not run"  # the status of code

Json = dict[str, Any]


@dataclass
class Check:
    """A call of the program that was compared with the model at export: the largest error of each block and of the model."""

    rows: list[int]
    numbers: str
    relative_error: dict[str, float] = field(default_factory=dict)
    relative_error_eager: dict[str, float] = field(default_factory=dict)


@dataclass
class GpuCheck:
    """The result of `tensoa check` on a GPU. `cuda_graphs`: True, or why calls cannot be captured."""

    architecture: str
    gpu: str
    relative_error: dict[str, float]
    cuda_graphs: bool | str


@dataclass
class RecordedCase:
    """Inputs and results in `file`; `tolerances` of each plane of each output block where they are not that of all."""

    rows: int
    numbers: str
    file: str
    tolerances: list[list[float]] | None = None


@dataclass
class Recorded:
    """`unjudged`: kinds of numbers on which the short floats of the model decide what it gives, and words on which."""

    tolerance: float
    cases: list[RecordedCase]
    unjudged: dict[str, str] | None = None


@dataclass
class CpuVariant:
    """A library for processors with these flags (names of /proc/cpuinfo)."""

    name: str
    file: str
    cpu_flags: list[str]
    status: str


@dataclass
class GpuCode:
    """A cubin for an architecture and later ones of its generation; `gpu`: the one that it ran on."""

    architecture: str
    file: str
    status: str
    gpu: str | None = None


@dataclass
class CudaProgram:
    """`waits`: each kernel waits for the work before it, so that it may be launched before that has ended."""

    params: Params
    kernels: list[KernelEntry]
    buffers: list[BufferEntry]
    steps: list[Zero | Launch]
    weights: str
    code: list[GpuCode]
    rows_at_once: int = 0
    waits: bool = False


@dataclass
class Fused:
    """A fused program: `cpu` or `cuda`. `stages`: what its kernels do, in words."""

    domains: list[int]
    stages: list[str]
    deterministic: bool
    cpu: list[CpuVariant] | None = None
    cuda: CudaProgram | None = None
    precision: str | None = None


@dataclass
class PartTensor:
    """A result of a part: [planes, rows], with the rows of its input number `rows_of`."""

    planes: int
    dtype: str
    rows_of: int


@dataclass
class FusedPart:
    """A fused program that TorchInductor's program calls by its name, with `inputs` tensors [planes, rows]. `domains`: the
    input that has the rows of each domain, -1 for one that the part does not have.
    """

    name: str
    inputs: int
    outputs: list[PartTensor]
    domains: list[int]
    stages: list[str]
    cpu: list[CpuVariant] | None = None
    cuda: CudaProgram | None = None


@dataclass
class Unfused:
    """An operation that is in no fused part, and why."""

    operation: str
    reason: str


@dataclass
class Forest:
    """An ensemble of trees in `file`. `columns`: of each feature the number of the input block and of the column in it,
    where a vector counts as its parts. `facts`: pairs of a name and a text, for people.
    """

    file: str
    columns: list[list[int]]
    facts: list[list[str]]


@dataclass
class RowDependence:
    """Whether what the model gives for a row depends on other rows of the call: `answer` is "independent", which is proven,
    "dependent" or "unknown", with the `reason`. `analysis`: the number of the rules that found it.
    """

    answer: str
    reason: str | None = None
    analysis: int = ANALYSIS


@dataclass
class Target:
    """The program for "cpu", "cuda" or "any" device. `tolerance`: of recorded results, where its products are rougher."""

    target: str
    checks: list[Check]
    fused: Fused | None = None
    parts: list[FusedPart] | None = None  # of TorchInductor's program
    unfused: list[Unfused] | None = None
    cpu_flags: list[str] | None = None  # of TorchInductor's programs, as the two that follow
    gpu_architecture: str | None = None
    gpu: str | None = None
    gpu_checks: list[GpuCheck] | None = None
    differs: list[str] | None = None  # from the model, which itself differs there in another layout of its inputs
    tolerance: float | None = None


@dataclass
class Shared:
    """Bytes that `file` lacks at `at`, because others have them, too: the bytes of the file `part`."""

    file: str
    at: int
    part: str


@dataclass
class Manifest:
    """`rows`: of each output, {"collection": of the input that it follows} or {"rows": always}. `inputs`, `outputs`: the
    arguments of each block.
    """

    binding: Json
    inputs: list[list[Json]]
    outputs: list[list[Json]]
    rows: list[dict[str, int]]
    machine: str
    torch: str
    recorded: Recorded
    targets: list[Target]
    forest: Forest | None = None
    row_dependence: RowDependence | None = None  # unknown where older versions wrote it
    lengths: list[int] | None = None  # for each collection the first with the same number of rows
    shared: list[Shared] | None = None  # only with several targets: before, no version knew it

    def target(self, name: str) -> Target | None:
        return next((one for one in self.targets if one.target == name), None)

    def to_json(self) -> Json:
        text = {**_without_none(dataclasses.asdict(self)), "binding": self.binding}
        if len(self.targets) > 1:
            return {**text, "schema": SCHEMA}
        (own,) = text.pop("targets")
        return {**text, **own, "schema": SCHEMA_OF_ONE_TARGET}

    @staticmethod
    def from_json(text: Any, where: str) -> "Manifest":
        """`where`: the file, for messages. Raises InputError for what is not a manifest of this format."""
        schema = text.get("schema") if isinstance(text, dict) else None
        if schema not in (SCHEMA_OF_ONE_TARGET, SCHEMA):
            advice = "compile the model again"
            if isinstance(schema, int) and schema > SCHEMA:
                advice = "a newer tensoa wrote it: update this one, or compile the model with it"
            raise InputError(
                f"{where}: its format is {schema}, this version of tensoa reads {SCHEMA_OF_ONE_TARGET} and {SCHEMA}; {advice}"
            )
        shared = {key: value for key, value in text.items() if key != "schema"}
        if schema == SCHEMA:
            return _parsed(Manifest, shared, f"{where}: its manifest")
        own = {key: shared.pop(key) for key in typing.get_type_hints(Target) if key in shared}
        manifest = _parsed(Manifest, {**shared, "targets": []}, f"{where}: its manifest")
        manifest.targets = [_parsed(Target, own, f"{where}: its manifest")]
        return manifest


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(entry) for key, entry in value.items() if entry is not None}
    return [_without_none(entry) for entry in value] if isinstance(value, (list, tuple)) else value


def _parsed(kind: Any, value: Any, where: str) -> Any:
    """A JSON value as a type of the fields above. Raises InputError."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        return _parsed(next((part for part in parts if _fits(part, value)), parts[0]), value, where)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and isinstance(value, dict):
        known = typing.get_type_hints(kind)
        missing = [f.name for f in dataclasses.fields(kind) if _is_needed(f) and f.name not in value]
        wrong = [*missing, *(key for key in value if key not in known)]
        if wrong:
            raise InputError(f'{where}: "{wrong[0]}" is {"missing" if missing else "unknown"}; export it again')
        return kind(**{key: _parsed(known[key], entry, f'{where}, "{key}"') for key, entry in value.items()})
    if origin is list and isinstance(value, list):
        return [_parsed(parts[0], entry, where) for entry in value]
    if origin is dict and isinstance(value, dict):
        return {key: _parsed(parts[1], entry, where) for key, entry in value.items()}
    if origin is None and not dataclasses.is_dataclass(kind) and _fits(kind, value):
        return value
    raise InputError(f"{where}: got {str(value)[:60]}, expected {getattr(kind, '__name__', kind)}")


def _is_needed(one: dataclasses.Field) -> bool:
    return one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING


def _fits(kind: Any, value: Any) -> bool:
    """Whether a JSON value can be of one of the types that a field may have."""
    if dataclasses.is_dataclass(kind):
        return isinstance(value, dict) and set(value) == {one.name for one in dataclasses.fields(kind)}
    origin = typing.get_origin(kind)
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, origin or kind) and (kind is bool or not isinstance(value, bool))
