# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tensoa.export MODEL --binding BINDING.json --out FILE.pt2 [--target cpu|cuda]
python -m tensoa.export --check FILE.pt2 --program build/tensoa
python -m tensoa.export WEIGHTS.safetensors --out FILE.pt

The first form compiles a model ahead of time, for the columns of a binding (describe() of tensoa/engine/describe.hpp
writes it): a package that reads and writes them where they lie. MODEL is
  FILE.py:FACTORY       a function without arguments that returns a torch.nn.Module
  FILE.pt2              an exported program (torch.export.save)
  FILE.pt               a TorchScript model (scripted or traced, also by others) without control flow that depends on the data
  FILE.safetensors      weights of our interaction network
What can be fused is fused (docs/ahead_of_time.md) and needs g++ for CPUs, no GPU and no compiler for GPUs. The rest goes
through TorchInductor, which takes half a minute and, with --target cuda, needs the GPU that the package is for.

A package is checked beside the module before it is written. --examples gives rows for that, as the model will see them;
without, they are made up: normally distributed, large, small, powers of two, integers that the model takes.

With --target cuda, --program is the program `tensoa`: it runs the package on this machine's GPU, beside what the module
gives in float64, and tries whether its calls can be captured as CUDA graphs, each in a process of its own. A package that
is wrong is not written; what was found is in the package. The second form does the same with one that is there already, as
on another GPU, and leaves it alone where it is wrong.

The third form writes the TorchScript file of our interaction network, with
forward(x [n_hits, 3], edge_index [2, n_edges] int64, edge_attr [n_edges, 4]) -> scores [n_edges] in [0, 1].

Exit status 2 with one line on stderr for what cannot be used.
"""

import argparse
import importlib.util
import re
import sys
import zipfile
from pathlib import Path

import torch

from tensoa import aot, binding, checkpoints, examples, import_exatrkx, interaction_network
from tensoa.command import InputError, first_line, replacing, run, working


def load_module(source):
    """The torch.nn.Module of FILE.py:FACTORY, FILE.pt2 or FILE.safetensors. Raises InputError."""
    path, _, factory = source.rpartition(":")
    if path.endswith(".py"):
        return _made_by(Path(path), factory)
    if source.endswith(".safetensors"):
        return interaction_network.load(source)
    if source.endswith(".pt2"):
        return _loaded(source, "an exported program (torch.export.save)", lambda: _exported_program(source))
    if source.endswith((".pt", ".ckpt")):
        return _script(source)
    raise InputError(f"{source}: got none of FILE.py:FACTORY, FILE.pt2, FILE.pt and FILE.safetensors")


def _script(path):
    if checkpoints.kind_of(path) == "weights":
        advice = "expected FILE.py:FACTORY, a function that makes the network and loads them"
        if import_exatrkx.takes(path):
            advice = f"python -m tensoa.import_exatrkx {path} --out FILE.pt makes one of them"
        raise InputError(f"{path}: holds weights, not a model; {advice}")
    return _loaded(path, "a TorchScript model (torch.jit.save)", lambda: torch.jit.load(path, "cpu"))


def _exported_program(path):
    zipfile.ZipFile(path).close()  # torch 2.15 logs a traceback when the file is something else
    return torch.export.load(path).module()


def _made_by(path, factory):
    if not path.is_file():
        raise InputError(f"{path}: no such file, expected Python code with a function {factory}()")
    sys.path.insert(0, str(path.parent.resolve()))  # for what it imports from beside it
    try:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if not hasattr(module, factory):
            raise InputError(f"{path}: has no {factory}, expected a function of this name")
        return getattr(module, factory)()
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001: whatever the user's code throws
        raise InputError(f"{path}: {factory}() fails with {type(error).__name__}: {first_line(error)}") from error
    finally:
        sys.path.pop(0)


def _loaded(path, expected, load):
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file, expected {expected}")
    try:
        return load()
    except Exception as error:  # noqa: BLE001: torch throws many kinds
        unknown = re.search(r"Unknown builtin op: (\S+?)\.?\s", str(error))
        if unknown:
            raise InputError(
                f"{path}: needs the operator {unknown[1]} of an extension of torch; export it from the torch.nn.Module with "
                "operators of torch in its place, or run it just in time in a program that links the extension"
            ) from error
        raise InputError(f"{path}: got {first_line(error)}, expected {expected}") from error


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m tensoa.export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", metavar="MODEL", nargs="?", help="FILE.py:FACTORY, FILE.pt2, FILE.pt or FILE.safetensors")
    parser.add_argument("--binding", metavar="BINDING.json", help="the columns that a package is made for")
    parser.add_argument(
        "--examples", metavar="FILE", help="Parquet or CSV: rows that the package is checked with, by the names of columns"
    )
    parser.add_argument("--out", metavar="FILE", help="package (.pt2) or TorchScript file (.pt) to write")
    parser.add_argument("--target", choices=aot.TARGETS, default="cpu", help="of a package (default: cpu)")
    parser.add_argument("--precision", choices=aot.PRECISIONS, help="of matrix products on GPUs (default: tf32x3)")
    parser.add_argument(
        "--deterministic",
        action=argparse.BooleanOptionalAction,
        default=aot.DETERMINISTIC,
        help="on GPUs, sums by index that are the same bits at every call"
        f" (default: {'yes' if aot.DETERMINISTIC else 'no'})",
    )
    parser.add_argument("--no-fuse", action="store_true", help="leave everything to TorchInductor")
    parser.add_argument("--program", metavar="PROGRAM", help="tensoa, to run a package for cuda on this machine's GPU")
    parser.add_argument("--check", metavar="FILE.pt2", help="run a package that is there already")
    options = parser.parse_args(arguments)
    if options.check is not None:
        if options.program is None or options.model is not None or options.out is not None:
            raise InputError(f"--check {options.check}: expected --program PROGRAM beside it, no MODEL and no --out")
        with working(f"checking {options.check}") as report:
            aot.check_on_gpu(options.check, options.program, report)
        return
    if options.model is None or options.out is None:
        parser.error("expected MODEL and --out FILE, or --check FILE.pt2")
    is_package = options.out.endswith(".pt2")
    if is_package != (options.binding is not None):
        raise InputError(
            f"--out {options.out}: " + ("a package needs --binding" if is_package else "a package is called FILE.pt2")
        )
    if options.examples is not None and not is_package:
        raise InputError(f"--examples {options.examples}: expected --out FILE.pt2, a package that is checked with them")
    if is_package:
        columns = binding.load(options.binding)
        if options.examples is not None:
            columns = examples.with_columns(columns, examples.read(options.examples))
        module = load_module(options.model)
        with working(f"compiling {options.out}") as report:
            fuse = not options.no_fuse
            aot.export(
                module, columns, options.out, options.target, options.precision, fuse, report, options.program,
                options.deterministic,
            )  # fmt: skip
        return
    if options.target != "cpu" or not options.model.endswith(".safetensors"):
        raise InputError(f"{options.model}: a TorchScript file is made of weights only (FILE.safetensors), for any device")
    network = interaction_network.load(options.model)
    with replacing(options.out) as temporary:
        torch.jit.script(network).save(temporary)


if __name__ == "__main__":
    sys.exit(run(main))
