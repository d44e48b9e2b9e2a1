# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What the exporter makes of models of many kinds, and how fast that is: docs/width.md.

    python bench/width.py [--no-peers] [--most SECONDS] [--jobs N] [--build FOLDER] [PART OF A NAME...]

The models are those of python/tests/wide_models.py. Each is exported by a process of its own, whose CPU seconds count with
those of all that it starts (compilers); the error is the largest difference from the module in float64, relative to the
largest number, as the exporter measures it. Then the package, one by TorchInductor alone, TorchScript and ONNX Runtime run
the same rows in turns on one thread (bench/peers/width.cpp, in the build FOLDER).

benchmarks/results/width.json has what was found, of each kind the last run; docs/width.md is written from it. With --no-peers
nothing is timed or written. Exit status 1 where an export takes more than --most CPU seconds (60), or a kind fails that did not.
"""

import argparse
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "tests")]
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "width.json", ROOT / "docs" / "width.md"
ROWS = (1, 16, 1000)
PEERS = {"inductor": "TorchInductor", "torchscript": "TorchScript", "onnxruntime": "ONNX Runtime"}
HEAD = """\
<!-- SPDX-FileCopyrightText: 2026 The tensoa authors -->
<!-- SPDX-License-Identifier: Apache-2.0 -->
# Kinds of models: what is fused, and how fast

Written by `make width` ([bench/width.py](../bench/width.py)) from [what it measured](../benchmarks/results/width.json), {machine},
torch {torch}, ONNX Runtime {onnxruntime}. The models are small, with random weights
([here](../python/tests/wide_models.py)). Error: the largest difference from the module in float64, relative to the largest number.
The rows include powers of two, where neighbours are equally far and another one may be chosen than the module chooses.

Of {count} kinds that were run {fused} are fused; {exported} can be exported. What is not fused runs by TorchInductor, and the exporter says
because of which operation. Each row is the last run of its kind; a kind of that file without a row has not been run.

| model | made | error |
| --- | --- | ---: |
"""
TIMES = """
## Speed

Microseconds a call at 1, 16 and 1 000 rows, one thread, the same run, all in turns; processor time, median. Ours: the package, on
columns. TorchInductor: the package of `--no-fuse`, on the same columns. TorchScript: on the same columns. ONNX Runtime: on row-major
tensors that lie there already, so without packing. Worst: the least ratio of the best peer's time to ours.

| model | ours | TorchInductor | TorchScript | ONNX Runtime | worst |
| --- | ---: | ---: | ---: | ---: | ---: |
"""


def seconds():
    """CPU seconds of this process and all that it waited for."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def export(kind, path):
    """Writes the package `path`: the exporter's first line, the error, CPU seconds."""
    from tensoa.export import Options
    from tensoa.export import export as write_package

    lines, start = [], seconds()
    write_package(kind.module, kind.binding(), path, Options(report=lines.append))
    with zipfile.ZipFile(path) as package:
        manifest = next(n for n in package.namelist() if n.endswith("tensoa.json"))
        checks = json.loads(package.read(manifest))["checks"]
    error = max(error for check in checks for error in check["relative_error"].values())
    made = next((line for line in lines if "fused" in line), lines[0])
    return {"made": made.rstrip(":"), "error": error, "seconds": seconds() - start}


def write_peers(kind, folder, is_fused):
    """The model as its peers take it, and the rows; what cannot be written is left out."""
    import torch

    from tensoa.binding.columns import Columns, collections_of
    from tensoa.binding.model import with_examples, with_lengths
    from tensoa.export import Options
    from tensoa.export import export as write_package
    from tensoa.package.recorded import input_bytes

    if is_fused:
        write_package(kind.module, kind.binding(), folder / "inductor.pt2", Options(fuse=False, report=lambda line: None))
    else:
        shutil.copyfile(folder / "ours.pt2", folder / "inductor.pt2")
    module = kind.module.float()
    columns, lengths = with_lengths(module, kind.binding())
    columns = with_examples(module, columns)

    def rows_of(count):
        return {collection: count * (1 + 2 * lengths.get(collection, collection)) for collection in collections_of(columns)}

    for count in ROWS:
        made = Columns(columns, rows_of(count), (), "cpu")
        (folder / f"inputs_{count}.bin").write_bytes(input_bytes(columns, made.inputs))
    made = Columns(columns, rows_of(5), (), "cpu")
    tensors = tuple(block.tensor(one).contiguous() for block, one in zip(columns.inputs, made.inputs))
    with suppress(Exception), redirect_stdout(io.StringIO()):  # torch throws many kinds
        torch.jit.trace(module, tensors, strict=False, check_trace=False).save(str(folder / "model.pt"))
    names, outputs = [block.name for block in columns.inputs], [block.name for block in columns.outputs]
    free = {block.name: {1 if block.is_transposed else 0: f"n{block.collection}"} for block in columns.inputs}
    with suppress(Exception), redirect_stdout(io.StringIO()):
        torch.onnx.export(module, tensors, str(folder / "model.onnx"), input_names=names, output_names=outputs,
                          dynamic_axes=free, opset_version=18, dynamo=False)  # fmt: skip


def one(name, build):
    """Prints one line of JSON for the kind `name`."""
    import warnings

    from wide_models import all_kinds

    warnings.simplefilter("ignore")
    kind = all_kinds()[name]
    kind.module.eval()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        found = export(kind, folder / "ours.pt2")
        if build is not None:
            import onnxruntime

            with redirect_stderr(io.StringIO()):
                write_peers(kind, folder, found["made"].startswith("fused"))
            library = next(Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.*"))
            program = [Path(build) / "bench" / "peers" / "compare_width", library, folder, *map(str, ROWS)]
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            timed = subprocess.run(program, capture_output=True, text=True, check=False, env=environment)
            if timed.returncode:
                (folder / "model.onnx").unlink(missing_ok=True)
                found["note"] = timed.stderr.strip()[:200]
                timed = subprocess.run(program, capture_output=True, text=True, check=False, env=environment)
            found["times"] = json.loads(timed.stdout) if timed.returncode == 0 else {}
    print(json.dumps(found))


def run(name, build):
    """The kind `name` in a process: what it found; "made" says why where it failed."""
    command = [sys.executable, __file__, "--one", name, *(["--build", build] if build else ["--no-peers"])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    problem = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    return {"made": f"not exported: {(problem.partition('InputError: ')[2] or problem)[:240]}", "failed": True}


def worst(times):
    """The least ratio of the best peer's time to ours, or None."""
    ratios = [
        min(of_rows[peer] for peer in PEERS if peer in of_rows) / of_rows["ours"]
        for of_rows in times.values()
        if any(peer in of_rows for peer in PEERS)
    ]
    return min(ratios, default=None)


def page(found):
    """The lines of docs/width.md."""
    kinds = found["kinds"]
    is_fused = [one["made"].startswith("fused") for one in kinds.values()]
    text = HEAD.format(
        fused=sum(is_fused), count=len(kinds), exported=sum("failed" not in one for one in kinds.values()), **found["about"]
    )
    for name, one in kinds.items():
        error = f"{one['error']:.1e}" if "error" in one else ""
        text += f"| {name} | {one['made'].replace('|', '/')} | {error} |\n"
    text += TIMES
    for name, one in kinds.items():
        times = one.get("times")
        if not times:
            continue
        cells = [
            " / ".join(f"{of_rows[who]:.{1 if of_rows[who] < 100 else 0}f}" if who in of_rows else "-" for of_rows in times.values())
            for who in ("ours", *PEERS)
        ]
        ratio = worst(times)
        text += f"| {name} | {' | '.join(cells)} | {'-' if ratio is None else f'{ratio:.2f}'} |\n"
    return text


def about():
    import onnxruntime
    import torch

    lines = Path("/proc/cpuinfo").read_text().splitlines()
    machine = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    level = "AVX-512" if any("avx512f" in line for line in lines if line.startswith("flags")) else "AVX2"
    return {"machine": f"{machine} ({level})", "torch": torch.__version__, "onnxruntime": onnxruntime.__version__}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--most", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=1, help="exports at a time; with peers their times disturb each other")
    parser.add_argument("--build", default=str(ROOT / "build"), help="where compare_width is built")
    parser.add_argument("--no-peers", action="store_true", help="export only")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    build = None if options.no_peers else options.build
    if options.one:
        return one(options.one, build)
    from wide_models import all_kinds

    names = [name for name in all_kinds() if not options.parts or any(part in name for part in options.parts)]
    if build:
        subprocess.run(["cmake", "--build", build, "--target", "compare_width"], check=True, stdout=subprocess.DEVNULL)
    before = json.loads(RESULTS.read_text())["kinds"] if RESULTS.exists() else {}
    failed = False
    with ThreadPoolExecutor(options.jobs) as pool:
        for name, found in zip(names, pool.map(lambda name: run(name, build), names), strict=True):
            failed |= found.get("seconds", 0) > options.most
            failed |= "failed" in found and name in before and "failed" not in before[name]
            print(f"{name}: {json.dumps(found)}", flush=True)
            if build:
                known = json.loads(RESULTS.read_text())["kinds"] if RESULTS.exists() else {}
                known[name] = found
                kinds = {name: known[name] for name in all_kinds() if name in known}
                RESULTS.write_text(json.dumps({"about": about(), "kinds": kinds}, indent=1) + "\n")
                PAGE.write_text(page(json.loads(RESULTS.read_text())))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
