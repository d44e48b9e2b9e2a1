#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
r"""Networks that others have published, with their weights: do they give their authors' numbers here? docs/published.md.

    pip install --no-deps admet-ai==2.0.1 chgnet==0.4.2
    pip install ase chemprop rdkit pymatgen nvidia-ml-py3 pythia8mc fastjet typed-argument-parser
    python bench/published/jets.py SOURCES JETS.npz
    PYTHONPATH=python python bench/published/run.py MIRRORS --jets JETS.npz

MIRRORS: a folder of git repositories, OWNER+NAME for github.com/OWNER/NAME; models.toml says which file of which commit is
read, models.py what is done with it. The modules of the authors run here, from these repositories
and the packages named above. Published models without numbers of their authors: bench/corpus.

Each network is exported, as a package and just in time, and run by the program compare_width on columns with the data that
its authors' numbers are of. Its answers are compared with those of the authors' code in PyTorch, of the same data, and with
the numbers. One thread calls them with 1, 16 and all crystals, jets or molecules, compared with TorchScript, ONNX Runtime
and the authors' module in PyTorch.

benchmarks/results/published.json has what was found, of each network the last run; docs/published.md is written from it. Exit
status 1 where a number is not the authors' within the tolerance.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
import tomllib
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "bench" / "corpus")]
sys.path.append(str(ROOT / "bench"))

import numpy as np  # noqa: E402
import measuring  # noqa: E402
import torch  # noqa: E402
from models import KINDS, Batch, Published  # noqa: E402
from tensoa import just_in_time  # noqa: E402
from tensoa.errors import InputError  # noqa: E402
from tensoa.export import Options, export  # noqa: E402
from tensoa.package.recorded import input_bytes  # noqa: E402

RESULTS, PAGE = ROOT / "benchmarks" / "results" / "published.json", ROOT / "docs" / "published.md"
AGREEMENT = 1e-4  # of the authors' code, ||a - b|| / ||b|| of a column
SIZES = (1, 16)  # crystals, jets or molecules of a call; and all
ENGINES = {"ours": "package", "just_in_time": "just in time"}
COLUMNS = {
    "ours": "package",
    "just_in_time": "just in time",
    "torchscript": "TorchScript",
    "onnxruntime": "ONNX Runtime",
    "eager": "PyTorch",
}
HEAD = """\
<!-- SPDX-FileCopyrightText: 2026 The tensoa authors -->
<!-- SPDX-License-Identifier: Apache-2.0 -->
# Published networks and their authors' numbers

Written by `bench/published/run.py`, which describes how, from [what it measured](../benchmarks/results/published.json).
Networks that others have trained and published, with weights and numbers of theirs
([which files](../bench/published/models.toml)). Each runs in C++ on columns, as a [package](ahead_of_time.md) and
[just in time](just_in_time.md), on the data that its numbers are of. Of LundNet that data could not be had: its jets are made here
with Pythia 8 ([how](../bench/published/jets.py)), so its numbers can agree within the statistical spread at best.
Of ADMET-AI the numbers of the first 100 drugs are compared. Models that others have published without numbers: [published models](corpus.md).
"""
NETWORK = """
## {name}

A {what}. [Paper]({paper}), [weights]({published}) ({licence}),
[numbers]({where}). Changed in the authors' module:
{changed}. {made}; the export took {seconds:.0f} s.

Differences in {unit}, at most {tolerance:g}:

| the authors' number | theirs | their code in PyTorch | package | just in time |
| --- | ---: | ---: | ---: | ---: |
"""


def exported(model, folder: Path) -> dict:
    """Writes ours.pt2, just_in_time.pt2 and those of the peers that can be; what the exporter says."""
    lines: list[str] = []
    start = time.perf_counter()
    export(model.module, model.binding(), folder / "ours.pt2", Options(report=lines.append))
    found = {"seconds": time.perf_counter() - start, "made": next(line for line in lines if "fused" in line).rstrip(":")}
    just_in_time.write(model.module, model.binding(), folder / "just_in_time.pt2", report=lambda line: None)
    tensors = tuple(model.batch(range(min(2, model.count))).tensors)
    measuring.write_peers(model.module, tensors, model.binding().inputs, model.binding().outputs, folder)
    return found


def compared(compare: Path, folder: Path, model, batch: Batch) -> tuple[dict, dict]:
    """(answers by engine: of each output an array [rows, columns]; times by engine in microseconds)."""
    rows = ":".join(map(str, batch.rows))
    planes = [tensor if one.is_transposed else tensor.t() for one, tensor in zip(model.binding().inputs, batch.tensors)]
    (folder / f"inputs_{rows}.bin").write_bytes(input_bytes(model.binding(), planes))
    found = measuring.compare_width(compare, "cpu", folder, [rows])
    wanted = model.module(*batch.tensors)
    shapes = [tuple(one.shape) for one in ([wanted] if isinstance(wanted, torch.Tensor) else wanted)]
    answers = {}
    for engine in ENGINES:
        file = folder / f"answers_{engine}_{rows}.bin"
        if not file.exists():
            raise InputError(f"{ENGINES[engine]}: {found['notes'].get(engine, 'gave nothing')}")
        numbers = np.split(np.fromfile(file), np.cumsum([count * columns for count, columns in shapes])[:-1])
        answers[engine] = [one.reshape(columns, count).T for one, (count, columns) in zip(numbers, shapes)]
    return answers, found["times"][rows]


def eager_time(model, batch: Batch) -> float:
    """Microseconds of a call of the module, processor time of one thread."""

    def seconds() -> float:
        start = time.process_time()
        model.module(*batch.tensors)
        return time.process_time() - start

    first = max(seconds(), 1e-6)
    return statistics.median(seconds() for _ in range(int(min(50, max(3, 2 / first))))) * 1e6


def relative(answers: list[np.ndarray], wanted: list[np.ndarray]) -> float:
    return max(
        float(np.linalg.norm(a - b) / (np.linalg.norm(b) or 1.0))
        for ours, theirs in zip(answers, wanted)
        for a, b in zip(ours.T, theirs.astype("float64").T)
    )


def run(published: Published, compare: Path) -> dict:
    """What is found of one network. Raises InputError."""
    model = KINDS[published.kind](published)
    with tempfile.TemporaryDirectory(prefix="tensoa-published-") as name, torch.no_grad():
        folder = Path(name)
        found = exported(model, folder)
        everything = range(model.count)
        theirs = model.theirs(everything)
        found["times"] = {}
        for size in sorted({*SIZES, model.count}):
            batch = model.batch(range(size))
            answers, times = compared(compare, folder, model, batch)
            found["times"][size] = times | {"eager": eager_time(model, batch)}
            if size == model.count:
                found["rows"] = batch.rows
                found["numbers"] = {"theirs": model.compared(theirs)}
                found["numbers"] |= {engine: model.compared(answers[engine]) for engine in ENGINES}
                found["from_their_code"] = {engine: relative(answers[engine], theirs) for engine in ENGINES}
    numbers = [number for engine in ENGINES for number in found["numbers"][engine]]
    right = all(number["difference"] <= published.tolerance for number in numbers)
    found["is_right"] = right and max(found["from_their_code"].values()) <= AGREEMENT
    return found


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def page(networks: list[Published], results: dict) -> str:
    text, about = HEAD, results["about"]
    for published in networks:
        found = results["models"].get(published.name)
        if found is None:
            continue
        text += NETWORK.format(**vars(published), made=found["made"][0].upper() + found["made"][1:], seconds=found["seconds"])
        for ones in zip(*found["numbers"].values()):
            cells = [f"{number(one.get('found'))} ({one['difference']:.1e})".strip() for one in ones]
            text += f"| {ones[0]['number']} | {number(ones[0].get('published'))} | {' | '.join(cells)} |\n"
        differences = ", ".join(f"{ENGINES[engine]} {most:.0e}" for engine, most in found["from_their_code"].items())
        text += f"\nLargest ||a - b|| / ||b|| of a column from their code: {differences}.\n"
        text += f"\n| calls of | {' | '.join(COLUMNS.values())} |\n| ---: |{' ---: |' * len(COLUMNS)}\n"
        for size, times in found["times"].items():
            text += f"| {size} | {' | '.join(f'{times[who]:.0f}' if who in times else '-' for who in COLUMNS)} |\n"
    return (
        text
        + f"""
Calls: microseconds, processor time of one thread, median; {about["machine"]}, torch {about["torch"]},
ONNX Runtime {about["onnxruntime"]}, commit {about["commit"]}. All but PyTorch run from C++ on the same columns, ONNX Runtime on row-major
tensors that lie there already. Where nothing stands, the network could not be written in that form or did not run.
"""
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirrors", type=Path, metavar="MIRRORS")
    parser.add_argument("--jets", type=Path, default=Path("jets.npz"), metavar="FILE.npz", help="what jets.py wrote")
    parser.add_argument("--compare", type=Path, default=measuring.COMPARE, help="the program compare_width")
    parser.add_argument("--only", nargs="*", default=[], metavar="PART", help="of a name; the results of the others stay")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    entries = tomllib.loads((HERE / "models.toml").read_text())["model"]
    networks = [Published(**entry, mirrors=options.mirrors, jets=options.jets) for entry in entries]
    results = measuring.read(RESULTS, {"models": {}})
    names = measuring.chosen([published.name for published in networks], options.only)
    is_right = True
    for published in networks:
        if published.name not in names:
            continue
        try:
            found = run(published, options.compare)
        except InputError as error:
            print(f"{published.name}: {error}", file=sys.stderr)
            is_right = False
            continue
        print(f"{published.name}: {json.dumps(found)}", flush=True)
        is_right &= found["is_right"]
        results["about"] = measuring.about()
        results["models"][published.name] = found
        measuring.write(RESULTS, results)
    if RESULTS.exists():
        PAGE.write_text(page(networks, measuring.read(RESULTS, {})))
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
