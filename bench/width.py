# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What the exporter makes of models of many kinds, and how fast that is: docs/width.md.

    python bench/width.py [--device cpu|cuda] [--no-peers] [--most SECONDS] [--jobs N] [--compare PROGRAM] [PART OF A NAME...]
    python bench/width.py --before TREE [--device cpu|cuda] [--jobs N] [--compare PROGRAM] [PART OF A NAME...]

The models are those of python/tests/wide_models.py. Each is exported by a separate process, whose CPU seconds count with
those of all that it starts (compilers); the error is the largest difference from the module in float64, relative to the
largest number, as the exporter measures it (on a GPU: from the module in float32, as `tensoa check` measures it there, where
TENSOA_PROGRAM is the program). Then the package, the just-in-time program, a package by TorchInductor alone, TorchScript and,
on a CPU, ONNX Runtime run the same rows in turns on one thread (bench/peers/width.cpp, built as PROGRAM).

benchmarks/results/width.json has what was found, of each kind and device the last run; docs/width.md is written from it. With
--no-peers nothing is timed or written. Exit status 1 where an export takes more than --most CPU seconds (60), or a kind fails
that did not.

--before: packages next to those that an earlier commit, in TREE (git worktree add TREE COMMIT), makes of the same kinds, in turns
by the program of this tree. A line for each kind that both fuse: the time of ours over that of before at 1, 16 and 1 000 rows;
then the geometric mean of all. Nothing is written.
"""

import argparse
import functools
import io
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, suppress
from pathlib import Path
from statistics import geometric_mean

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "tests")]
sys.path.append(str(ROOT / "bench"))
import measuring  # noqa: E402

RESULTS, PAGE = ROOT / "benchmarks" / "results" / "width.json", ROOT / "docs" / "width.md"
ROWS = (1, 16, 1000)
LONGEST = 400  # seconds of a kind, with its peers
EXCEPTION = r"^tensoa\.[\w.]+: "  # the class of ours, as Python prints it
TEMPORARY = r"(/[\w.-]+)*/tmp[a-z0-9_]{8}/"  # a folder of tempfile
PEERS = {
    "inductor": "TorchInductor",
    "torchscript": "TorchScript",
    "onnxruntime": "ONNX Runtime",
    "onnxruntime_packed": "ONNX Runtime, packed",
}
COLUMNS = {"ours": "ours", "just_in_time": "just in time", **PEERS}
HEAD = """\
<!-- SPDX-FileCopyrightText: 2026 The tensoa authors -->
<!-- SPDX-License-Identifier: Apache-2.0 -->
# Kinds of models: what is fused, and how fast

Written by `make width` ([bench/width.py](../bench/width.py)) from [its results](../benchmarks/results/width.json). The models are
small, with random weights ([their code](../python/tests/wide_models.py)). A run of some kinds replaces their lines alone, so
lines may be of several runs; the commit is that of the last one.

- **Package**: what the exporter makes of the model. *Fused into 1 kernel*: one loop over rows, on a CPU one C function. Parts
  that are not fused run by TorchInductor; the operation that is in the way is named.
- **Error**: the largest difference over the largest number; on a CPU from the module in float64, on a GPU as the exporter
  found it. Among the rows are powers of two, equal rows and ties: where neighbours are equally far, another one may be chosen than the
  module chooses. A model with random numbers inside draws others than the module.
"""
SECTION = """
## {title}

{machine}, torch {torch}{onnxruntime}, commit {commit}. {exported} of {count} kinds become packages, {fused} of them fused completely.

| model | package | error |
| --- | --- | ---: |
"""
TIMES = """
Microseconds of a call of 1, 16 and 1 000 rows: medians of runs in turns, {clock}.

- **Ours**: the package, on columns. **Just in time**: the file of torch.export, on the same columns.
- **TorchInductor**: the package of `--no-fuse`. **TorchScript**: the module, traced on a CPU. Both read the same columns.
{peers}- **Worst**: the time of the fastest of {compared} over ours, the least of the three
  numbers of rows. Above 1 ours is faster.

"""
CLOCKS = {
    "cpu": "one thread's processor time",
    "cuda": "wall time of many calls enqueued one after another and waited for once",
}
ONNX = (
    "- **ONNX Runtime**: on row-major tensors that exist already. **Packed**: with the copies from columns and into columns.\n"
)
LONGEST_TEXT = 240  # characters of a reason
NO_FILE = "its file could not be written"
EMPTY = """
`-`: this program did not run the model with this number of rows; in *worst*: none of the others did. By program, the first words of
its message, or that its file could not be written:

"""


def seconds():
    """CPU seconds of this process and all that it waited for."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def export(kind, device, path):
    """Writes the package `path`: the exporter's first line, the error, CPU seconds."""
    from tensoa.export import Options
    from tensoa.export import export as write_package

    lines, start = [], seconds()
    program = os.environ.get("TENSOA_PROGRAM") if device == "cuda" else None
    write_package(
        kind.module,
        kind.binding(),
        path,
        Options(device, program=program, report=lines.append),
    )
    with zipfile.ZipFile(path) as package:
        manifest = json.loads(package.read(next(n for n in package.namelist() if n.endswith("tensoa.json"))))
    checks = manifest["checks"] or manifest.get("gpu_checks") or []
    error = max(
        (error for check in checks for error in check["relative_error"].values()),
        default=None,
    )
    made = next((line for line in lines if "fused" in line), lines[0])
    found = {"made": made.rstrip(":"), "seconds": seconds() - start}
    return found if error is None else {**found, "error": error}


def write_rows(kind, folder):
    """The rows that all run; returns the columns, and five rows of them."""
    from tensoa.binding.columns import Columns, collections_of
    from tensoa.binding.model import with_examples, with_lengths
    from tensoa.package.recorded import input_bytes

    columns, lengths = with_lengths(kind.module, kind.binding())
    columns = with_examples(kind.module, columns)

    def rows_of(count):
        return {collection: count * (1 + 2 * lengths.get(collection, collection)) for collection in collections_of(columns)}

    for count in ROWS:
        made = Columns(columns, rows_of(count), (), "cpu")
        (folder / f"inputs_{count}.bin").write_bytes(input_bytes(columns, made.inputs))
    return columns, Columns(columns, rows_of(5), (), "cpu")


def write_peers(kind, device, folder, is_fused):
    """The model as its peers take it, and the rows; what cannot be written is left out."""
    from tensoa import just_in_time
    from tensoa.errors import InputError
    from tensoa.export import Options
    from tensoa.export import export as write_package

    if is_fused:
        with suppress(InputError):
            write_package(
                kind.module, kind.binding(), folder / "inductor.pt2", Options(device, fuse=False, report=lambda line: None)
            )
    else:
        shutil.copyfile(folder / "ours.pt2", folder / "inductor.pt2")
    with suppress(Exception):  # torch throws many kinds
        just_in_time.write(
            kind.module,
            kind.binding(),
            folder / "just_in_time.pt2",
            report=lambda line: None,
        )
    columns, made = write_rows(kind, folder)
    tensors = tuple(block.tensor(one).contiguous() for block, one in zip(columns.inputs, made.inputs))
    measuring.write_peers(kind.module, tensors, columns.inputs, columns.outputs, folder)


def compared(compare, device, folder):
    """What compare_width prints, or a note on its failure."""
    from tensoa.errors import InputError

    try:
        return measuring.compare_width(compare, device, folder, ROWS)
    except InputError as error:
        return {"notes": {"compare_width": str(error)[:400]}}


def one(name, device, compare):
    """Prints one line of JSON for the kind `name`."""
    import warnings

    from wide_models import all_kinds

    warnings.simplefilter("ignore")
    kind = all_kinds()[name]
    kind.module.eval()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        found = export(kind, device, folder / "ours.pt2")
        if compare is not None:
            with redirect_stderr(io.StringIO()):
                write_peers(kind, device, folder, found["made"].startswith("fused"))
            found |= compared(compare, device, folder)
    print(json.dumps(found))


def without_temporary(text):
    """Without folders whose names are others in each run."""
    return re.sub(TEMPORARY, "", text)


def run(name, options):
    """The kind `name` in a process: what it found; "made" says why where it failed."""
    command = [sys.executable, __file__, "--one", name, "--device", options.device]
    command += ["--no-peers"] if options.no_peers else ["--compare", options.compare]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return {"made": f"not exported: took more than {LONGEST} s", "failed": True}
    if done.returncode == 0:
        return json.loads(without_temporary(done.stdout.splitlines()[-1]))
    problem = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    return {
        "made": f"not exported: {re.sub(EXCEPTION, '', without_temporary(problem))[:240]}",
        "failed": True,
    }


def worst(times):
    """The least ratio of the best peer's time to ours, or None."""
    ratios = [
        min(of_rows[peer] for peer in PEERS if peer in of_rows) / of_rows["ours"]
        for of_rows in times.values()
        if any(peer in of_rows for peer in PEERS)
    ]
    return min(ratios, default=None)


def columns_of(timed):
    """Those that have a time of one of the kinds, at least. `timed`: the kinds that have times."""
    return [who for who in COLUMNS if any(who in of_rows for one in timed.values() for of_rows in one["times"].values())]


def times_table(timed):
    """The lines of the table of times; without the columns that are empty."""
    there = columns_of(timed)
    text = f"| model | {' | '.join(COLUMNS[who] for who in there)} | worst |\n| --- |{' ---: |' * (len(there) + 1)}\n"
    for name, times in ((name, one["times"]) for name, one in timed.items()):
        cells = [
            " / ".join(
                f"{of_rows[who]:.{1 if of_rows[who] < 100 else 0}f}" if who in of_rows else "-" for of_rows in times.values()
            )
            for who in there
        ]
        ratio = worst(times)
        text += f"| {name} | {' | '.join(cells)} | {'-' if ratio is None else f'{ratio:.2f}'} |\n"
    return text


def reason(note):
    """The first statement of a note, without the file, what stands in brackets, and what to do."""
    said = re.sub(r"^(model \S+: |ONNX Runtime: (.*Status Message: )?)", "", without_temporary(note)).partition("; ")[0]
    return cell(re.sub(r" \([^()]*\)", "", said).partition(", ")[0].rstrip(".!"))


def missing_times(timed):
    """A line for each column of the table of times and reason why a cell is empty, with the kinds."""
    lines = {}
    for who in columns_of(timed):
        for name, one in timed.items():
            if all(who in of_rows for of_rows in one["times"].values()):
                continue
            notes = one.get("notes", {})
            note = notes.get(who) or notes.get(who.removesuffix("_packed"))
            lines.setdefault((COLUMNS[who].removesuffix(", packed"), reason(note) if note else NO_FILE), {})[name] = None
    return "".join(f"- {who}, {', '.join(f'*{name}*' for name in names)}: {why}\n" for (who, why), names in lines.items())


def cell(made):
    """What the exporter said, without what to do about it, and cut where it is long."""
    said = " ".join(made.replace("|", "/").partition("; ")[0].split())
    return said if len(said) <= LONGEST_TEXT else said[:LONGEST_TEXT].rpartition(" ")[0] + " …"


def page(results):
    """The lines of docs/width.md."""
    text = HEAD
    for device, title in (("cpu", "One thread of a CPU"), ("cuda", "A GPU")):
        if device not in results:
            continue
        about, kinds = results[device]["about"], results[device]["kinds"]
        text += SECTION.format(
            title=title,
            machine=about["machine"],
            torch=about["torch"],
            onnxruntime=f", ONNX Runtime {about['onnxruntime']}" if device == "cpu" else "",
            commit=about.get("commit", "not recorded"),
            count=len(kinds),
            exported=sum("failed" not in one for one in kinds.values()),
            fused=sum(one["made"].startswith("fused into") for one in kinds.values()),
        )
        for name, one in kinds.items():
            error = f"{one['error']:.1e}" if "error" in one else ""
            text += f"| {name} | {cell(one['made'])} | {error} |\n"
        timed = {name: one for name, one in kinds.items() if one.get("times")}
        peers = [name for peer, name in PEERS.items() if device == "cpu" or not peer.startswith("onnxruntime")]
        text += TIMES.format(
            clock=CLOCKS[device],
            peers=ONNX if device == "cpu" else "",
            compared=f"{', '.join(peers[:-1])} and {peers[-1]}",
        ) + times_table(timed)
        if lines := missing_times(timed):
            text += EMPTY + lines
    return text


EXPORT = """
import sys, warnings
warnings.simplefilter("ignore")
name, device, path, *folders = sys.argv[1:]
sys.path[:0] = folders
from tensoa.export import Options, export
from wide_models import all_kinds
kind = all_kinds()[name]
kind.module.eval()
lines = []
export(kind.module, kind.binding(), path, Options(device, report=lines.append))
print(next((line for line in lines if "fused" in line), lines[0]))
"""


def made_by(tree, name, device, path):
    """The exporter's first line; empty where the kind is missing or not exported there."""
    folders = [str(tree / "python"), str(tree / "python" / "tests")]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", EXPORT, name, device, str(path), *folders]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.stdout.strip().splitlines()[-1] if done.returncode == 0 else ""


def ratios(name, options):
    """{rows: time of ours / time of before}, or the reason why they were not compared."""
    from wide_models import all_kinds

    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        for tree, package in ((ROOT, "ours.pt2"), (options.before, "inductor.pt2")):
            how = made_by(tree, name, options.device, folder / package)
            if not how.startswith("fused into"):
                return f"{'here' if tree == ROOT else 'before'}: {how or 'not exported'}"
        write_rows(all_kinds()[name], folder)
        found = compared(options.compare, options.device, folder)
    if found.get("notes"):
        return json.dumps(found["notes"])[:300]
    return {rows: of["ours"] / of["inductor"] for rows, of in found["times"].items()}


def compare_with_before(each):
    """`each`: (name, what ratios() returns) of all kinds."""
    every = []
    for name, found in each:
        words = found if isinstance(found, str) else " / ".join(f"{ratio:.3f}" for ratio in found.values())
        every += [] if isinstance(found, str) else found.values()
        print(f"{name}: {words}", flush=True)
    print(f"geometric mean of {len(every)} ratios: {geometric_mean(every):.4f}" if every else "nothing to compare")


def keep(each, options, order):
    """Adds to the results, and writes the page, after each kind. `each`: (name, what run() returns). Returns an exit status."""
    results = measuring.read(RESULTS, {})
    known = results.get(options.device, {"kinds": {}})["kinds"]
    failed = False
    for name, found in each:
        failed |= found.get("seconds", 0) > options.most
        failed |= "failed" in found and name in known and "failed" not in known[name]
        print(f"{name}: {json.dumps(found)}", flush=True)
        if not options.no_peers:
            known[name] = found
            kinds = {one: known[one] for one in order if one in known}
            results[options.device] = {"about": measuring.about(options.device), "kinds": kinds}
            measuring.write(RESULTS, results)
            PAGE.write_text(page(results))
    return int(failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", choices=CLOCKS, default="cpu")
    parser.add_argument("--most", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=1, help="kinds at a time; with peers their times disturb each other")
    parser.add_argument("--compare", default=str(measuring.COMPARE), help="the program compare_width")
    parser.add_argument("--no-peers", action="store_true", help="export only")
    parser.add_argument("--before", type=lambda path: Path(path).resolve(), metavar="TREE", help="of an earlier commit")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("parts", nargs="*")
    options = parser.parse_intermixed_args()
    if options.one:
        return one(options.one, options.device, None if options.no_peers else options.compare)
    from wide_models import all_kinds

    order = list(all_kinds())
    names = measuring.chosen(order, options.parts)
    with ThreadPoolExecutor(options.jobs) as pool:
        of_one = functools.partial(ratios if options.before else run, options=options)
        each = zip(names, pool.map(of_one, names), strict=True)
        return compare_with_before(each) if options.before else keep(each, options, order)


if __name__ == "__main__":
    sys.exit(main())
