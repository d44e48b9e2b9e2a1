#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
r"""Models that others have published, as packages, beside the frameworks that they are of.

    PYTHONPATH=python .venv/bin/python bench/others/run.py MIRRORS --program build/tensoa --out FILE.md

MIRRORS: a folder of git repositories, OWNER+NAME for github.com/OWNER/NAME, with or without a work tree. models.toml says
which file of which commit is looked at. Each becomes a package, which the program runs on columns and compares with the
answers of the framework: of trees on random values, on thresholds, one ulp beside them, NaN, infinities and denormal numbers;
of networks on random numbers and on zeros, with those of TMVA by a second reader (tmva_rules.py). Nothing of the
repositories is run. Of pickles only classes of scikit-learn and numpy are loaded.

--lwtnn PROGRAM: LWTNN itself, of a work tree of github.com/lwtnn/lwtnn, Eigen and boost:
    g++ -std=c++17 -O2 -I LWTNN/include -I /usr/include/eigen3 bench/others/lwtnn_reference.cpp LWTNN/src/[A-Z]*.cxx \
      LWTNN/src/lightweight_nn_streamers.cxx LWTNN/src/parse_json.cxx -o PROGRAM
Without it, networks of LWTNN are compared with nothing.

Exit status 1 where a model gives other answers than its framework.
"""

import argparse
import contextlib
import functools
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import torch
from networks import KINDS, OfLwtnn, Reference, block, parsed
from repositories import content_of
from tensoa import binding
from tensoa.binding.columns import Columns
from tensoa.binding.model import result_rows
from tensoa.errors import InputError
from tensoa.export import Options, export
from tensoa.importers.files import load_module
from tensoa.importers.trees import files as tree_files
from tensoa.package import archive, forest
from tensoa.package.recorded import input_bytes, result_bytes
from torch import nn

HERE = Path(__file__).resolve().parent
EXPORT_SAYS = re.compile(r": (.* by \S+) \(relative, .*(; the model itself from float64 by [^,)]*)")
ROWS = 500
SAFE = ("sklearn.", "_loss.", "numpy.", "joblib.", "scipy.sparse.")  # modules
SAFE_NAMES = {("builtins", "slice"), ("_codecs", "encode")}
PAGE = """<!-- SPDX-FileCopyrightText: 2026 The tensoa authors -->
<!-- SPDX-License-Identifier: Apache-2.0 -->
# Models of others

Written by `bench/others/run.py`, which says how they are compared, with {versions}.
The files are not here: `bench/others/models.toml` has repository, commit and path.

Of trees the difference is the largest absolute one, of margins and of answers, between what the program gives for the package
and what the framework gives, and, where the program reads the file itself, between the two ways. Of networks it is the largest
||a - b|| / ||b|| of an output column. A network is fused into one kernel a stage, or goes through TorchInductor. "Run": the day
and the commit of tensoa, + with changes that were committed later.

| format | file | licence | bytes | what it is | compared with | rows | largest difference | run | result |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""
FRAMEWORKS = "xgboost xgboost-cpu lightgbm scikit-learn onnxruntime onnx torch keras tensorflow tf2onnx".split()


@dataclass
class Model:
    family: str
    repository: str
    commit: str
    path: str
    licence: str
    what: str = ""
    beside: list[str] = field(default_factory=list)  # files that it needs in its folder
    splitting: str | None = None  # of conifer: what goes left, where the file does not say it
    shapes: list[list[int]] = field(default_factory=list)  # of a row of each argument, of TorchScript
    outputs: list[str] = field(default_factory=list)  # of TensorFlow: those that are asked for, inner ones too

    def content(self, mirrors: Path, path: str = "") -> bytes:
        """Of the model, or of another file of its commit. Raises InputError."""
        return content_of(mirrors, self.repository, self.commit, path or self.path)


@dataclass
class Answer:
    """What became of a model: `is_right` where the program gave the framework's answers, or where it was refused."""

    what: str
    framework: str
    rows: int
    difference: str
    result: str
    is_right: bool = True


def checked(program: Path, package: Path, *more: str) -> dict:
    """What `tensoa check` says. Raises InputError where it cannot compare."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run(
            [program, "check", package, *more, "--json", out.name], capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 1):
            raise InputError(done.stderr.strip().removeprefix("tensoa: "))
        return json.loads(Path(out.name).read_text())


# ---- trees


@contextlib.contextmanager
def safe_pickles():
    """Names of other modules in a pickle are an error before they are looked up."""
    from joblib.numpy_pickle import NumpyUnpickler

    find = NumpyUnpickler.find_class

    def find_safe(self, module, name):
        if not f"{module}.".startswith(SAFE) and (module, name) not in SAFE_NAMES:
            raise InputError(f"the pickle asks for {module}.{name}; it is not loaded")
        return find(self, module, name)

    NumpyUnpickler.find_class = find_safe
    try:
        yield
    finally:
        NumpyUnpickler.find_class = find


def run_trees(model: Model, path: Path, program: Path) -> Answer:
    with safe_pickles():
        imported = tree_files.load(path, tree_files.ImportOptions(trust_pickle=True, splitting=model.splitting))
    ensemble = imported.ensemble
    names = ensemble.column_names or [f"f{i}" for i in range(ensemble.columns)]
    outputs = [f"answer_{k}" for k in range(ensemble.outputs)]
    of, sums = (np.dtype(kind).name for kind in (ensemble.features, ensemble.sums))
    columns = parsed([block("features", names, of)], [block("answers", outputs, sums)], "order")
    package = path.parent / "package.pt2"
    found = {}
    for kind in ("margins", "answers"):
        forest.write(imported, columns, package, margin=kind == "margins", report=lambda line: None)
        found[kind] = checked(program, package)
    differences = {kind: max(row["max_abs_error"] for row in check["rows"]) for kind, check in found.items()}
    facts = dict(forest.facts_of(ensemble))
    what = f"{facts['objective']}, {ensemble.columns} features, {facts['trees']} trees, depth {facts['deepest']}"
    rows = sum(row["n"] for row in found["margins"]["rows"]) // len(outputs)
    text = ", ".join(f"{kind} {'0' if not most else f'{most:.0e}'}" for kind, most in differences.items())
    is_right = all(check["is_right"] for check in found.values())
    if model.family in ("XGBoost", "LightGBM"):  # the program reads these itself, too
        beside = checked(program, package, "--against", str(path))
        text += f", read in C++ {beside['max_rel_error']:.0e}".replace("0e+00", "0")
        is_right &= beside["is_right"]
    same = "the same bits" if not differences["margins"] else "the same"
    return Answer(what, imported.reference.name, rows, text, same if is_right else "differs", is_right)


# ---- networks


def run_network(model: Model, path: Path, program: Path) -> Answer:
    network = KINDS[model.family](path, model.shapes, model.outputs)
    columns = network.columns()
    module = load_module(str(path), columns)
    package = path.parent / "package.pt2"
    lines: list[str] = []
    export(module, columns, package, Options(report=lines.append))
    off = next((line for line in lines if "that is off" in line), "")  # the framework, as a second reader in float64 says
    fused = "fused" if any(line.startswith("fused into") for line in lines) else "by TorchInductor"
    numbers = sum(constant.numel() for constant in (*module.parameters(), *module.buffers()))
    what = f"{network.size()}, {numbers} weights"
    reference = network.reference(module)
    if reference is None:
        check = checked(program, package)
        compared = "the module in float64 alone"
        rows = sum(row["n"] for row in check["rows"]) // sum(len(one.places) for one in columns.outputs)
    else:
        check = beside_framework(program, package, columns, module, reference)
        compared, rows = network.framework, 2 * ROWS
    text = f"{check['max_rel_error']:.0e} relative"
    if off:
        check = beside_framework(program, package, columns, module, module.reference_in_float64())
        text += f", {check['max_rel_error']:.0e} from the rules of ONNX in float64; {''.join(EXPORT_SAYS.search(off).groups())}"
    is_right = check["is_right"]
    if model.family == "TorchScript":  # the program runs these just in time, too
        beside = checked(program, package, "--against", str(path), "--rows", "0", "1", "2", "33", "1000")
        text += f", just in time {beside['max_rel_error']:.0e}"
        is_right &= beside["is_right"]
    return Answer(what, compared, rows, text, fused if is_right else "differs", is_right)


def beside_framework(program: Path, package: Path, columns: binding.Binding, module: nn.Module, reference: Reference) -> dict:
    record_framework(package, columns, module, reference)
    return checked(program, package)


def record_framework(package: Path, columns: binding.Binding, module: nn.Module, reference: Reference) -> None:
    """Puts the framework's answers in the place of what the package was made to give; one row in ten is of zeros."""
    records, manifest = archive.read(package)
    rules = result_rows(module, columns, "cpu")
    given = Columns(columns, {0: ROWS}, rules, "cpu", seed=7, is_whole=True)
    for argument in given.inputs:
        argument[:, ::10] = 0
    tensors = [one.tensor(argument).contiguous() for one, argument in zip(columns.inputs, given.inputs)]
    results = columns.results(reference(tensors))
    planes = [one.planes(result.to(one.dtype)) for one, result in zip(columns.outputs, results)]
    records["model/check/framework.bin"] = input_bytes(columns, given.inputs) + result_bytes(planes)
    recorded = manifest["recorded"]
    recorded["cases"] = [{"rows": ROWS, "numbers": "normal", "file": "check/framework.bin"}]
    archive.write(package, records, manifest)


# ---- all


def run(model: Model, mirrors: Path, program: Path) -> tuple[Answer, int]:
    with tempfile.TemporaryDirectory(prefix="tensoa-others-") as folder:
        size = 0
        try:
            content = model.content(mirrors)
            size = len(content)
            path = Path(folder) / "files" / Path(model.path).name
            contents = {path: content}
            for name in model.beside:
                contents[path.parent / Path(name).relative_to(Path(model.path).parent)] = model.content(mirrors, name)
            for file, bytes_of in contents.items():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(bytes_of)
            path = path.parent if path.name == "saved_model.pb" else path
            return (run_network if model.family in KINDS else run_trees)(model, path, program), size
        except InputError as error:
            reason = re.sub(rf"{folder}/files/?", "", str(error)).replace("|", "\\|")
            return Answer("", "", 0, "", f"refused: {reason}"), size


def first_cells(model: Model) -> str:
    link = f"[{model.repository}:{model.path}](https://github.com/{model.repository}/blob/{model.commit}/{model.path})"
    return f"| {model.family} | {link} | "


def row(model: Model, answer: Answer, size: int) -> str:
    what = "; ".join(filter(None, (model.what, answer.what)))
    cells = (model.licence, size, what, answer.framework, answer.rows or "", answer.difference, this_run(), answer.result)
    return first_cells(model) + " | ".join(map(str, cells)) + " |"


@functools.cache
def this_run() -> str:
    command = ["git", "describe", "--always", "--exclude=*", "--dirty=+"]
    return f"{date.today()} {subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False).stdout.strip()}"


def versions() -> str:
    found = []
    for name in FRAMEWORKS:
        with contextlib.suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return ", ".join(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirrors", type=Path, metavar="MIRRORS")
    parser.add_argument("--program", type=Path, required=True, help="tensoa")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.md")
    parser.add_argument("--list", type=Path, default=HERE / "models.toml", help="of the models")
    parser.add_argument("--family", nargs="*", default=[], help="only these; the rows of the others stay in FILE")
    parser.add_argument("--lwtnn", type=Path, metavar="PROGRAM", help="LWTNN itself")
    options = parser.parse_args()
    torch.set_num_threads(1)
    OfLwtnn.program = options.lwtnn
    models = [Model(**entry) for entry in tomllib.loads(options.list.read_text())["model"]]
    is_right = True
    for model in models:
        if options.family and model.family not in options.family:
            continue
        answer, size = run(model, options.mirrors, options.program.resolve())
        print(f"{model.family}, {model.repository}:{model.path}: {answer.result} {answer.difference}", flush=True)
        write(options.out, models, first_cells(model), row(model, answer, size))
        is_right &= answer.is_right
    return 0 if is_right else 1


def write(path: Path, models: list[Model], cells: str, row: str) -> None:
    """Puts a row in its place among those that are there."""
    rows = {cells: row}
    for line in path.read_text().splitlines() if path.exists() else []:
        rows.setdefault(line[: line.find(" | ", line.find("](https://")) + 3], line)
    listed = [rows[first_cells(model)] for model in models if first_cells(model) in rows]
    path.write_text(PAGE.format(versions=versions()) + "\n".join(listed) + "\n")


if __name__ == "__main__":
    sys.exit(main())
