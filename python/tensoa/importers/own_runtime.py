# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Files that tensoa runs as they are, by the runtime that they were made for."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike

from torch import nn

from tensoa.command import check_writable, replacing
from tensoa.errors import InputError, Unsupported, first_line
from tensoa.options import TARGETS
from tensoa.program_kinds import summary


@dataclass(frozen=True)
class OwnRuntime:
    """`write(source, path, module)` writes a file that stands alone, and returns words on it. Raises InputError. `module`: what
    rows_first() (tensoa.rows_axis) has made of the source, None where that is not known. `targets`: what it runs on.
    `is_faster`: than programs that run just in time.
    """

    name: str
    write: Callable[[str, str | PathLike, nn.Module | None], str]
    targets: tuple[str, ...] = TARGETS
    is_faster: bool = False


@dataclass
class AsItIs:
    """The file of a model, which its own runtime may run. `module`: what rows_first() has made of it, once that is known."""

    runtime: OwnRuntime
    source: str
    path: str | PathLike
    report: Callable[[str], object]
    module: nn.Module | None = None

    @property
    def kind(self) -> str:
        return f"run as it is by {self.runtime.name}"

    def write(self, reasons: Mapping[str, str]) -> None:
        """With lines for people: `reasons` for which it is not another kind of program. Raises InputError."""
        said = self.runtime.write(self.source, self.path, self.module)
        self.report(f"{summary(reasons, self.kind)}: {said}")
        self.report(
            "the file says no columns: name them where it is loaded, as tensoa infer --columns and tensoa.Model(columns=…) do"
        )

    def attempt(self, reasons: Mapping[str, str]) -> None:
        """As write(), where other kinds are tried after it: raises Unsupported."""
        try:
            self.write(reasons)
        except InputError as error:
            raise Unsupported(first_line(error)) from error


def of(source: str) -> OwnRuntime | None:
    """The runtime of a file, by its name; None where tensoa has none for it."""
    return next((runtime for ending, runtime in _BY_ENDING.items() if source.endswith(ending)), None)


def _copied(source: str, path: str | PathLike, _: nn.Module | None) -> str:
    check_writable(path)
    with replacing(path) as temporary:
        shutil.copyfile(source, temporary)
    return "the file as it is"


def _onnx(source: str, path: str | PathLike, module: nn.Module | None) -> str:
    """With the numbers of its external files, and its tensors as blocks where the results are the same."""
    from tensoa.importers.onnx import blocks, read  # which need the package onnx

    check_writable(path)
    found = blocks.blocks_of(module)

    def content_of(changes: "blocks.Blocks") -> bytes:
        try:
            model = read.read(source)
            blocks.bind(model, changes)
            return model.SerializeToString()
        except InputError:
            raise
        except Exception as error:  # what protobuf throws of more than 2 GB
            raise InputError(f"{source}: cannot be one file: {first_line(error)}; give the file itself as --model") from error

    content = content_of(blocks.Blocks(fixed=found.fixed))
    try:
        import onnxruntime
    except ImportError:
        said = "not loaded here, onnxruntime is not installed"
    else:
        try:
            onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        except Exception as error:  # it throws many kinds
            raise InputError(f"{source}: ONNX Runtime does not take it either: {first_line(error)}") from error
        said = f"loaded with {onnxruntime.__version__}"
        if found.inputs:
            try:
                changed = content_of(found)
                session = onnxruntime.InferenceSession(changed, providers=["CPUExecutionProvider"])
                blocks.require_same(lambda given: session.run(None, given), module)
            except Exception as error:
                said += f", its tensors as they are, for as blocks of rows: {first_line(error)}"
            else:
                content, said = changed, f"{said}, rows first"
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(content)
    return said


_BY_ENDING = {".onnx": OwnRuntime("ONNX Runtime", _onnx, ("cpu",), is_faster=True), ".pt2": OwnRuntime("torch.export", _copied)}
