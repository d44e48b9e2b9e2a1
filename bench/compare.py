#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""This library next to others on one machine in one run: docs/compare.md and its pictures, from benchmarks/results/compare-*.json.

    make compare                                                  measures on this CPU, then writes the page
    python bench/compare.py --measure cuda --into FOLDER          measures on a GPU with what is built in build/, and writes no page
    python bench/compare.py --from FOLDER                         takes FOLDER/*.json, which were measured elsewhere
    python bench/compare.py --before compare-cpu.json             the page has a table more: this library then and now

Each part is a program of bench/ that also runs alone (PARTS). A library that is not installed, or does not run here, has an
empty cell, and its reason stands below. --before takes benchmarks/results/compare-*.json of any earlier commit.
Measuring needs the packages of python/requirements.txt; bench/peers/environment.py installs the other libraries.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench" / "peers"))
sys.path.append(str(ROOT / "bench"))
import environment  # noqa: E402
import measuring  # noqa: E402

RESULTS, PAGE, PICTURES = ROOT / "benchmarks" / "results", ROOT / "docs" / "compare.md", ROOT / "docs" / "pictures"
ROWS = "1 16 1000 100000 1000000"
SERVICE = "--triton identity head"
TREES = "build/forest_models/xgboost-100x6.json build/forest_models/xgboost-500x8.json build/forest_models/lightgbm-100x31.txt"

# What runs, by device and part; FILE is what it writes, CORES the number of cores.
PARTS = {
    "cpu": {
        "networks": "python bench/peers/run.py --out FILE",
        "onnx": "python bench/peers/networks.py --out FILE",
        "trees": "python bench/peers/forest.py --rows 1 16 1000 10000 100000 --threads 1 CORES --repeats 5 --out FILE",
        "trees-many": "python bench/peers/forest.py --models xgboost-100x6 lightgbm-100x31 --rows 1000000 --threads 1 CORES --repeats 1 "
        "--out FILE",
        "python": f"python bench/peers/frameworks.py build/bench_packages --rows {ROWS} --threads 1 CORES --json FILE",
        "service": f"python tests/service/run.py {SERVICE} -- build/tensoa-bench service --repeats 5 --json FILE",
        "footprint": "python bench/peers/footprint.py build/bench_packages build/networks build/peers build/forest_models --json FILE",
    },
    "cuda": {
        "networks": f"build/tensoa-bench forward --device cuda:0 --packages build/bench_packages --rows {ROWS} --repeats 7 --json FILE "
        "generate:1:77:50 generate:1:77:475 generate:1:77:2050",
        "python": f"python bench/peers/frameworks.py build/bench_packages --device cuda --rows {ROWS} --json FILE",
        "trees": f"python bench/peers/forest_gpu.py {TREES} --features build/forest_models/features.f32 --program build/tensoa-bench "
        f"--rows {ROWS} --json FILE",
        "footprint": "python bench/peers/footprint.py build/bench_packages --device cuda --json FILE",
    },
}

# Headings, and what is said there.
TEXTS = {
    "networks": (
        "Networks, called from C++",
        "A perceptron 3-64-64-2 (`mlp`; sizes are rows) and [our graph network](../models/README.md) (`edge_network`; sizes are edges). "
        "tensoa reads and writes columns.",
    ),
    "onnx": (
        "Networks of ONNX files",
        "Packages made of ONNX files next to ONNX Runtime on the same files; sizes are rows, or edges.",
    ),
    "trees": (
        "Decision trees",
        "`NAME-TREESxDEPTH`; of LightGBM TREES of 31 leaves. 28 columns, two thirds of the rows with missing values, for which "
        "FastForest and RBDT have no direction: their answers of these rows are other ones. "
        "XGBoost on a GPU is in [another table](trees.md#speed-compared-with-other-libraries).",
    ),
    "python": ("Called from Python", "The perceptron; tensoa too is called from Python. Data lies in columns."),
    "service": (
        "Over the network, next to tritonclient",
        "A Triton server on the same machine, loopback; `n` is the number of float32 numbers of a request. "
        "`identity` returns all of them, `head` a few. `cpu`: processor time of the client, `wall`: until the answer is there; "
        "`python`: next to the official client, which is called from Python, `4`: four in flight; `shared`: memory that both share.",
    ),
    "footprint": (
        "Start, memory, size on disk",
        "From Python, one row: processor time until the first answer, largest resident memory of the host (both less those of a process "
        "that imports NumPy alone), wheels without NumPy, and the file of the model. Of tensoa's wheel only the Python files and the module "
        "are counted, which a call loads; the whole wheel, with the program, headers and libraries for C++, is 37 MB. tl2cgen and lleaves generate code, which is "
        "the file; SOFIE's code reads it. "
        "torch is the wheel with CUDA, larger than the one for CPUs alone; the wheels of XGBoost and LightGBM need SciPy, which is counted. "
        "On a GPU the wheels of CUDA that torch needs are counted, for tensoa the CUDA runtime. "
        "Debug information of tensoa is not counted.",
    ),
}  # fmt: skip

FOOTPRINTS = {
    "start_ms": ("start", "ms"),
    "memory_mb": ("memory", "MB"),
    "disk_mb": ("disk", "MB"),
    "model_mb": ("file of the model", "MB"),
}

# Why a model is without a library that another model of the same heading has; by default NOT_CALLED.
NOT_CALLED = "the command has no such call"
SLOW = "500 trees of depth 8 take them 20 minutes and more"
CONVERTED = "bench/peers/forest.py converts XGBoost's models for them, and no other one"
WITHOUT = {
    ("edge_network", "sofie"): "bench/peers/write_sofie.py writes its code of `mlp` alone",
    ("xgboost-500x8", "tl2cgen"): SLOW,
    ("xgboost-500x8", "lleaves"): SLOW,
    ("lightgbm-100x31", "xgboost"): "XGBoost does not read files of LightGBM",
    ("lightgbm-100x31", "onnxruntime"): CONVERTED,
    ("lightgbm-100x31", "fastforest"): CONVERTED,
    ("lightgbm-100x31", "tl2cgen"): "bench/peers/forest.py generates its code of xgboost-100x6 alone",
}
# What no table of a GPU shows, by part.
NO_TABLE = {
    "networks": "several threads",
    "trees": "XGBoost with `device=cuda`; it is in [another table](trees.md#speed-compared-with-other-libraries), measured on an H100",
    "footprint": "memory of the GPU itself, and trees",
}

# What the titles of tables say of a stage.
STAGES = {"total": "", "latency": "a wait after each call", "gpu": "a wait after each call"}

# Columns of the tables. Peers are compared with COMPARED; SHOWN is a part of a call, or waits less often than the peers do.
COMPARED = ("aot_graph", "aot_fused", "tensoa", "remote_shared", "remote_wire")
SHOWN = ("fused_call", "tensoa_queued")
OURS = COMPARED + SHOWN
LINES = {"aot_graph": "--", "fused_call": ":", "tensoa_queued": ":"}  # of the picture; of ours all others are whole
NAMES = {
    "aot_graph": "tensoa, CUDA graph",
    "aot_fused": "tensoa",
    "fused_call": "tensoa, bare program",
    "tensoa_queued": "tensoa, waited once",
    "remote_wire": "tensoa",
    "remote_shared": "tensoa, shared memory",
    "onnxruntime": "ONNX Runtime",
    "onnxruntime_packed": "ONNX Runtime, packed",
    "sofie": "SOFIE",
    "jit_copy": "TorchScript",
    "jit_export": "torch.export",
    "jit_packed": "TorchScript, packed",
    "host_roundtrip": "TorchScript, packed by the host",
    "aot": "TorchInductor",
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
    "plain": "plain loop",
    "rbdt": "RBDT",
    "fastforest": "FastForest",
    "nvforest": "nvForest",
    "torch": "torch",
    "torchscript": "TorchScript",
    "executorch": "ExecuTorch",
    "generated_stub": "stub of gRPC",
}
HEAD = """\
<!-- SPDX-FileCopyrightText: 2026 The tensoa authors -->
<!-- SPDX-License-Identifier: Apache-2.0 -->
# Comparison

Written by [bench/compare.py](../bench/compare.py) (`make compare`): one command for all figures of a machine. More models:
[kinds of models](width.md); what packing costs for each size of an event: [time saved](saved_time.md). 0.1.0 is the first release:
from the next one on, `bench/compare.py --before` with the results of the release before it adds a table of then and now.

Measured: FILES. Changes of the library since then are not in these figures.

LOST

## How to read it

- Microseconds of a call. On a CPU: processor time of all threads of the process for each call; other
  processes of the machine do not count, but they share its caches. On a GPU: wall time of calls enqueued one after another, with one
  wait at the end, divided by their number; with *a wait after each call*, until the answer of each is there.
- All libraries of a table run in turns, in both orders; a number is the median. Only nvForest runs after tensoa, in a separate process.
- *Threads*: this number of threads call at the same time, each with its own data. A call itself has one thread.
- ONNX Runtime, SOFIE and the libraries of trees get a row-major array that exists already. *Packed*: columns become rows before the call,
  and the answer becomes columns after it.
- Answers are compared: of networks with float64 (`max_abs_error`, `max_rel_error` in the files above), ours of trees are those of
  XGBoost to the last bit.
- ONNX Runtime on a GPU was not measured: that of the GPU machine has no CUDA provider. RBDT next to tensoa, FastForest, lleaves and
  tl2cgen is in [another run](trees.md#speed-compared-with-other-libraries).
- An empty cell was not measured. *What was not measured*, below the tables of each machine, has the reason. It also names libraries
  that another table of the machine has under the same heading, and models and sizes that a table of any machine has under it.
- **Bold**: the fastest of a row. *Bare program*, a part of a call, and *waited once*, several calls before a wait, are shown and not
  compared.
"""


def number(value):
    """Three digits that count."""
    if value >= 100:
        return f"{value:,.0f}".replace(",", "\u00a0")
    return f"{value:.3g}"


def size_of(n):
    return f"{n:,}".replace(",", "\u00a0")


class Table:
    """What was measured of one model, one number of threads and one stage: sizes of calls, and ways to make them."""

    def __init__(self, part, model, threads, stage, rows):
        self.part, self.model, self.threads, self.stage = part, model, threads, stage
        self.sizes = sorted({row["n"] for row in rows})
        self.times = {}
        for row in rows:
            self.times.setdefault(row["variant"], {})[row["n"]] = row["median_us"]
        self.ours = next((name for name in OURS if name in self.times), None)
        self.variants = [name for name in OURS if name in self.times]
        self.variants += [name for name in self.times if name not in OURS]

    def peers(self, n):
        """Times of the others, the fastest first."""
        return sorted((times[n], name) for name, times in self.times.items() if name not in OURS and n in times)

    def our_time(self, n):
        """That of the fastest of ours that peers are compared with."""
        return min(self.times[name][n] for name in self.variants if name in COMPARED and n in self.times[name])

    def key(self, n):
        return self.part, self.model, self.threads, self.stage, n

    def title(self):
        threads = f"{self.threads} threads" if self.threads > 1 else ""
        words = [self.model, threads, STAGES.get(self.stage, self.stage)]
        return ", ".join(filter(None, words))

    def markdown(self):
        lines = [["n", *(NAMES.get(name, name) for name in self.variants)], ["---:"] * (len(self.variants) + 1)]
        for n in self.sizes:
            least = min(times[n] for name, times in self.times.items() if n in times and name not in SHOWN)
            cells = []
            for name in self.variants:
                time_us = self.times[name].get(n)
                text = "" if time_us is None else number(time_us)
                cells.append(f"**{text}**" if time_us == least and name not in SHOWN else text)
            lines.append([size_of(n), *cells])
        return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def tables_of(run):
    """Of one part: a table for each model, number of threads and stage that has one of ours and a peer."""
    grouped = {}
    for row in run["rows"]:
        if "median_us" in row:
            grouped.setdefault((row.get("model", ""), row.get("threads", 1), row.get("stage", "")), []).append(row)
    made = [Table(run["part"], *key, rows) for key, rows in grouped.items()]
    return [table for table in made if table.ours and set(table.variants) - set(OURS)]


def slower_calls(machine, run):
    """For each compared call: its time of a peer over ours, and a line of the table."""
    for table in tables_of(run):
        for n in table.sizes:
            peers = table.peers(n)
            if not peers or not any(n in table.times[name] for name in table.variants if name in COMPARED):
                continue
            time_us, name = peers[0]
            where = f"{TEXTS[table.part.partition('-')[0]][0]}: {table.title()}"
            yield (
                time_us / table.our_time(n),
                [
                    where,
                    machine,
                    size_of(n),
                    f"{number(table.our_time(n))} µs",
                    f"{NAMES.get(name, name)}: {number(time_us)} µs",
                ],
            )


def larger_footprints(machine, run):
    """The same of start, memory and size."""
    for kind in dict.fromkeys(row["model"] for row in run["rows"]):
        rows = [row for row in run["rows"] if row["model"] == kind]
        ours = next((row for row in rows if row["variant"] in OURS), None)
        peers = [row for row in rows if row["variant"] not in OURS]
        if not ours or not peers:
            continue
        for key, (what, unit) in FOOTPRINTS.items():
            least = min(peers, key=lambda row: row[key])
            name = NAMES.get(least["variant"], least["variant"])
            figures = [f"{number(ours[key])} {unit}", f"{name}: {number(least[key])} {unit}"]
            yield least[key] / ours[key], [f"{TEXTS['footprint'][0]}: {what}, {kind}", machine, "1", *figures]


def lost_by_theme(compared):
    """A line for each heading and machine where another library takes less: how often, which, and its share of ours."""
    themes = {}
    for ratio, (what, machine, _, _, least) in compared:
        themes.setdefault((what.partition(":")[0], machine), []).append((ratio, least.partition(":")[0]))
    for (heading, machine), entries in themes.items():
        worse = sorted(entry for entry in entries if entry[0] < 1)
        if worse:
            names = ", ".join(dict.fromkeys(name for _, name in worse))
            shares = " to ".join(dict.fromkeys(f"{ratio:.2f}" for ratio, _ in (worse[0], worse[-1])))
            yield f"{heading}, {machine}: {len(worse)} of {len(entries)}; {names}, with {shares} of ours"


def lost(results):
    """The table of what another library does in less."""
    compared = []
    for machine, runs in results.items():
        for run in runs:
            compared += (larger_footprints if run["part"] == "footprint" else slower_calls)(machine, run)
    lines = sorted((line for line in compared if line[0] < 1), key=lambda line: line[0])
    text = f"## What we lose\n\nIn **{len(lines)} of {len(compared)}** comparisons another library takes less than this one"
    if lines:
        text += ":\n\n" + "".join(f"- {line}\n" for line in lost_by_theme(compared)) + "\nEach of them"
        rows = [["what", "machine", "n", "tensoa", "the least of others", "others over tensoa"]]
        rows += [["---", "---", "---:", "---:", "---", "---:"], *([*line, f"{ratio:.2f}"] for ratio, line in lines)]
        text += ":\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n\n"
    else:
        text += ". "
    return text + "[Kinds of models](width.md) has more models, and names where others are faster."


def footprint_table(rows):
    lines = [["model", "library", *(f"{what}, {unit}" for what, unit in FOOTPRINTS.values())]]
    lines.append(["---", "---", *["---:"] * len(FOOTPRINTS)])
    for row in rows:
        lines.append([row["model"], NAMES.get(row["variant"], row["variant"]), *(number(row[key]) for key in FOOTPRINTS)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def then_and_now(before, results):
    """Our times in an earlier file of the same machine and in this run."""
    then = {}
    for run in before["runs"]:
        for table in tables_of(run):
            then |= {table.key(n): table.our_time(n) for n in table.sizes if table.peers(n)}
    rows = [["call", "n", f"commit {before['commit']}, µs", "now, µs", "now over then"], ["---", *["---:"] * 4]]
    lines = []
    for run in results.get(before["machine"], []):
        for table in tables_of(run):
            for n in table.sizes:
                if table.key(n) in then and table.peers(n):
                    times = then[table.key(n)], table.our_time(n)
                    ratio = times[1] / times[0]
                    lines.append((ratio, [f"{table.part}: {table.title()}", size_of(n), *map(number, times), f"{ratio:.2f}"]))
    rows += [line for _, line in sorted(lines, key=lambda line: -line[0])]
    return f"\n## {before['machine']}, then and now\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def draw(name, runs):
    """A panel for each model: time of a row against rows of a call."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "tensoa", "svg.fonttype": "none", "font.size": 9})
    import matplotlib.pyplot as plt

    drawn = [t for run in runs if run["part"] in ("networks", "trees", "python") for t in tables_of(run) if len(t.sizes) > 2]
    drawn = [t for t in drawn if t.threads == 1 and t.stage != "latency"]
    columns = min(3, len(drawn))
    lines = -(-len(drawn) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(10.5, 0.9 + 3 * lines), squeeze=False, layout="constrained")
    looks = {}  # colour and style of each library
    for panel, table in zip(axes.flat, drawn, strict=False):
        heading = TEXTS[table.part][0]
        panel.set(
            xscale="log",
            yscale="log",
            title=f"{table.model}, {heading[0].lower()}{heading[1:]}",
            xlabel="rows, or edges, of a call",
        )
        panel.grid(alpha=0.3)
        for variant in reversed(table.variants):
            times = table.times[variant]
            label = NAMES.get(variant, variant)
            is_ours = variant in OURS
            if label not in looks:
                peer = sum(colour != "black" for colour, _ in looks.values())
                looks[label] = ("black", LINES.get(variant, "-")) if is_ours else (f"C{peer % 10}", "-" if peer < 10 else "--")
            colour, style = looks[label]
            points = [(n, times[n] / n) for n in sorted(times) if n]
            panel.plot(*zip(*points, strict=True), style, marker=".", color=colour, linewidth=2 if is_ours else 1, label=label)
    for panel in list(axes.flat)[len(drawn) :]:
        panel.set_axis_off()
    for line in axes:
        line[0].set_ylabel("µs of a row, or edge")
    handles = {label: handle for panel in axes.flat for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False)
    picture = PICTURES / f"{name}.svg"
    figure.savefig(picture, metadata={"Date": None}, facecolor="white")
    plt.close(figure)
    picture.write_text("\n".join(line.rstrip() for line in picture.read_text().splitlines()) + "\n")


def measured_of(result):
    """{part: {model: (its libraries, its sizes)}} of the tables of one machine."""
    found = {}
    for run in result["runs"]:
        for table in tables_of(run):
            libraries, sizes = found.setdefault(run["part"].partition("-")[0], {}).setdefault(table.model, ({}, set()))
            libraries.update(dict.fromkeys(name for name in table.variants if name not in OURS))
            sizes.update(table.sizes)
    return found


def without_libraries(models, left_out):
    """For each model and reason: the libraries that other models of the heading have, but for those that have a reason."""
    every = dict.fromkeys(name for libraries, _ in models.values() for name in libraries)
    for model, (libraries, _) in models.items():
        reasons = {}
        for name in every:
            if name not in libraries and not any(f"{name} on {model}" in reason for reason in left_out):
                reasons.setdefault(WITHOUT.get((model, name), NOT_CALLED), []).append(NAMES.get(name, name))
        for reason, names in reasons.items():
            yield f"{model} without {', '.join(names)}, because {reason}"


def without_sizes(models, others, left_out):
    """Sizes that tables with some of the same sizes have, here or on other machines, but for those that have a reason."""
    every = [sizes for of_machine in (models, *others) for _, sizes in of_machine.values()]
    lacking = {}
    for model, (_, sizes) in models.items():
        wanted = set().union(*(one for one in every if one & sizes)) - sizes
        missing = [n for n in sorted(wanted) if not any(f"{model} with {n} rows" in reason for reason in left_out)]
        if missing:
            lacking.setdefault(", ".join(map(size_of, missing)), []).append(model)
    for missing, names in lacking.items():
        yield f"{', '.join(names)} with n = {missing}, because {NOT_CALLED}"


def not_measured(result, files):
    """Lines: what the programs left out, and what other tables have. `files`: those of all machines."""
    lines = [reason for run in result["runs"] for reason in run["left_out"]]
    here, others = measured_of(result), {file["machine"]: measured_of(file) for file in files if file is not result}
    made = {}
    for part, models in here.items():
        made[part] = [*without_libraries(models, lines)]
        made[part] += without_sizes(models, [parts[part] for parts in others.values() if part in parts], lines)
    for machine, parts in others.items():
        for part, models in parts.items():
            names = ", ".join(model for model in models if model not in here.get(part, {}))
            if names:
                made.setdefault(part, []).append(f"{names if part in here else 'all models'}, which only the run on the {machine} has")
    for part, words in NO_TABLE.items():
        if result["machine"] != "CPU" and any(run["part"] == part for run in result["runs"]):
            made.setdefault(part, []).append(words)
    return [*dict.fromkeys(lines), *(f"{TEXTS[part][0]}: {line}" for part, of_part in made.items() for line in of_part)]


def machine_section(name, result, files):
    machine = result["machine"]
    text = f"\n## {machine}\n\n{result['cpu']}, {result['cores']} cores, load average {' to '.join(result['load'])}, "
    text += f"commit {result['commit']}. "
    text += f"Versions: {', '.join(map(' '.join, result['versions'].items())) or 'not recorded'}.\n\n"
    text += f"![Microseconds of a row against the rows of a call, {machine}](pictures/{name}.svg)\n"
    for run in result["runs"]:
        heading, words = TEXTS[run["part"].partition("-")[0]]
        if not run["rows"]:
            continue
        many = ", many rows" if run["part"].endswith("-many") else ""
        text += f"\n### {heading}{many}, {machine}\n\n{words}\n"
        if run["part"] == "footprint":
            text += "\n" + footprint_table(run["rows"])
        for table in tables_of(run):
            text += f"\n{table.title()}:\n\n{table.markdown()}"
        text += f"\n`{run['command']}`\n"
    lines = not_measured(result, files)
    if lines:
        text += f"\n### What was not measured, {machine}\n\n" + "".join(f"- {line}\n" for line in lines)
    return text


def read_results():
    return {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS.glob("compare-*.json"))}


def page(files, before=None):
    """The text of the page. `files`: results by the name of their file; `before`: an earlier one."""
    results = {file["machine"]: file["runs"] for file in files.values()}
    links = "; ".join(
        f"{file['machine']}, commit {file['commit']} ([{name}.json](../benchmarks/results/{name}.json))" for name, file in files.items()
    )
    text = HEAD.replace("FILES", links).replace("LOST", lost(results))
    if before:
        text += then_and_now(before, results)
    return text + "".join(machine_section(name, file, files.values()) for name, file in files.items())


# Measuring.


def significant(value):
    """Numbers with five digits that count."""
    if isinstance(value, dict):
        return {key: significant(one) for key, one in value.items()}
    if isinstance(value, list):
        return [significant(one) for one in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def measure(device, folder, parts):
    """Runs the parts. Returns the number of those that failed."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [f"{peer}, because {reason}" for peer, reason in environment.set_up().items()] if device == "cpu" else []
    variables = environment.behind_ours() if device == "cpu" else os.environ
    failed = 0
    for part in parts or PARTS[device]:
        file = folder / f"{part}.json"
        file.unlink(missing_ok=True)
        words = PARTS[device][part].replace("CORES", str(os.cpu_count()) if os.cpu_count() > 1 else "").split()
        words = [sys.executable if word == "python" else str(file) if word == "FILE" else word for word in words]
        print(f"== {part}: {' '.join(words)}", flush=True)
        load, begin = f"{os.getloadavg()[0]:.1f}", time.monotonic()
        with subprocess.Popen(
            words, cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            output = []
            for line in process.stdout:
                print(line, end="", flush=True)
                output.append(line.strip())
        left_out = [
            *missing,
            *(line.removeprefix("left out: ") for line in output if line.startswith("left out: ")),
        ]
        missing = []
        if process.returncode or not file.exists():
            said = list(itertools.takewhile(lambda line: not line.startswith("== the end of the log"), output))  # of servers
            failed += process.returncode != 77  # what is not installed
            heading, last = TEXTS[part.partition("-")[0]][0], next(filter(None, reversed(said)), "")
            left_out.append(f"{heading}: exit status {process.returncode}, {last}")
        run = {"rows": []} | measuring.read(file, {})
        run |= {"part": part, "load": load, "seconds": round(time.monotonic() - begin)}
        command = measuring.without_folders(" ".join(words), folder)
        run |= {"command": command, "left_out": [measuring.without_folders(reason) for reason in left_out]}
        measuring.write(file, significant(run))
    return failed


def describe_machine(device, folder):
    gpu = ""
    if device != "cpu":
        import torch

        gpu = torch.cuda.get_device_name()
    about = {"machine": gpu or "CPU", "cpu": measuring.processor(), "cores": os.cpu_count(), "commit": measuring.commit()}
    about["versions"] = environment.versions()
    measuring.write(folder / "machine.json", about)


def keep(folder):
    """Checks in what was measured there, as one file."""
    about = json.loads((folder / "machine.json").read_text())
    device = "cpu" if about["machine"] == "CPU" else "cuda"
    runs = [json.loads(file.read_text()) for part in PARTS[device] if (file := folder / f"{part}.json").exists()]
    loads = sorted({run.pop("load") for run in runs}, key=float)
    result = about | {"load": [loads[0], loads[-1]], "runs": runs}
    short = about["machine"].removeprefix("NVIDIA ").split()[0].lower()
    measuring.write(RESULTS / f"compare-{short}.json", result)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", choices=PARTS)
    parser.add_argument("--parts", nargs="+", help="which (default: all)")
    parser.add_argument("--into", type=Path, help="measure only; the files go here")
    parser.add_argument("--from", dest="folder", type=Path)
    parser.add_argument("--before", type=Path, metavar="FILE.json", help="an earlier benchmarks/results/compare-*.json")
    options = parser.parse_args()
    failed = 0
    folder = (options.into or ROOT / "build" / "compare").resolve() if options.measure else options.folder
    if options.measure:
        failed = measure(options.measure, folder, options.parts)
        describe_machine(options.measure, folder)
    if not options.into:
        if folder:
            keep(folder)
        files = read_results()
        for name, file in files.items():
            draw(name, file["runs"])
        PAGE.write_text(page(files, json.loads(options.before.read_text()) if options.before else None))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
