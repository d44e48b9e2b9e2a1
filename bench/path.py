#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The time that columns in place save: docs/saved_time.md and its picture, from benchmarks/results/path-*.json.

    make path                                            measures on this CPU, then writes the page
    python bench/path.py --measure cuda --into FOLDER    measures on a GPU with what is built in build/, and writes no page
    python bench/path.py --from FOLDER                   takes FOLDER/path-*.json, which were measured elsewhere

The page needs matplotlib; the CPU torch, onnx and onnxruntime.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "bench"))
import measuring  # noqa: E402

RESULTS, PAGE, PICTURE = (
    ROOT / "benchmarks" / "results",
    ROOT / "docs" / "saved_time.md",
    ROOT / "docs" / "pictures" / "saved_time.svg",
)
LINE = 500  # ms an event

# What runs: title, network, what a size counts, what it is made of.
KINDS = {
    "fragments": ("Merging fragments", "[fragment network](../models/fragment_network.md)", "edges", "fragments"),
    "hits": ("Tracks", "[interaction network](../models/interaction_network.md)", "edges", "hits"),
    "rows": ("Rows", "multi-layer perceptron 3-64-64-2", "rows", None),
}
MODELS = {
    "fragments": ("build/models/merge.pt2", "build/models/merge.pt"),
    "hits": ("build/models/tensoa.pt2", "build/models/tensoa.pt"),
    "rows": ("build/bench_packages/mlp-{device}-fused.pt2", "build/bench_packages/mlp.pt"),
}
SIZES = {
    "cpu": {
        "fragments": "generate:1:9101:10 generate:1:9101:10:20 generate:1:9101:10:200 --batch 1 2 8 --threads 1 2 --repeats 3",
        "hits": "generate:1:77:50 generate:1:77:475 --batch 1 8 --threads 1 2 --repeats 3",
        "rows": "--rows 1000 10000 100000 1000000 --threads 1 2 --repeats 3",
    },
    "cuda": {
        "fragments": "generate:1:9101:10 generate:1:9101:10:200 --batch 1 2 20 240 --repeats 5",
        "hits": "generate:1:77:50 generate:1:77:475 --batch 1 10 240 --repeats 5",
        "rows": "--rows 1000 100000 1000000 10000000 60000000 --repeats 5",
    },
}

# Comparisons: name, the way that is left, the way that is taken. A way: suffix of the model's file, variant.
HOST, ON_DEVICE, IN_PLACE = ("host_roundtrip", "pack"), ("pack_on_device",), ("in_place",)
COMPARISONS = {
    "TorchScript packed by the host, package in place": ((".pt", HOST), (".pt2", IN_PLACE)),
    "ONNX Runtime packed, package in place": ((".onnx", HOST), (".pt2", IN_PLACE)),
    "TorchScript: packed by the host, in place": ((".pt", HOST), (".pt", IN_PLACE)),
    "package: packed by the host, in place": ((".pt2", HOST), (".pt2", IN_PLACE)),
    "TorchScript: packed on the device, in place": ((".pt", ON_DEVICE), (".pt", IN_PLACE)),
    "package: packed on the device, in place": ((".pt2", ON_DEVICE), (".pt2", IN_PLACE)),
}
STYLES = dict(zip(COMPARISONS, [("C0", "-"), ("C1", "-"), ("C2", "-"), ("C3", "-"), ("C2", ":"), ("C3", ":")], strict=True))

HEAD = """\
<!-- SPDX-FileCopyrightText: 2026 The tensoa authors -->
<!-- SPDX-License-Identifier: Apache-2.0 -->
# Time saved per event

Written by [bench/path.py](../bench/path.py) from what `tensoa-bench path` measured. The results are in these
files; the page has the command and commit of each below its tables:
FILES.

A model that reads columns where they lie saves the copies that others need: columns to the host, packed into the tensors of
the model, tensors to the device, and the same back for the answer. This page states how many milliseconds an event that is, for both
applications ([merging](merging.md), [tracks](tracking.md)) and for plain rows.

![Time saved per event against the size of the event, one panel for each application and device](pictures/saved_time.svg)

Where 500 ms an event are passed: the first size that was measured above, else the largest.

LINE_TABLE

## How to read it

- **In place**: the model runs on the columns of the event; a call binds them again.
- **Packed by the host**: the columns come down, one thread packs them, the tensors go up, the model runs, the answer returns to the
  columns. All memory is kept from call to call, and pinned where a GPU copies from and to it. On a CPU only the packing is left.
- **Packed on the device**: one kernel packs, the model runs, one kernel distributes the answer.
- TorchScript and ONNX Runtime read rows. A [package](ahead_of_time.md) does not read rows: packed for it means columns side by side, which
  is cheaper; on a GPU they come down as they go up, and the host packs nothing.
- **Saved**, and the ratio of the times. All ways run in turns, in both orders. Of one model on a GPU: the median of the differences of
  two calls of one turn. Of one model on a CPU: the stages that fall away, because whole calls scatter by more than these take; the
  model itself may take another time on rows than on columns, which is then not counted. Of two models: the difference of the medians.
  The ratio is that of the medians; near 1 it may contradict the difference. The picture leaves out sizes where nothing is saved.
- Of two models most of that may be the time of the models, and not of copies: the comparisons of one model show what copies take.
- A GPU is timed by the wall clock until the answer is there; a CPU by the processor time of the thread that calls. ONNX Runtime and
  TorchScript have one thread a call.
- An event with more edges than the generator makes is a batch: one event several times, as graphs side by side.
- The graph is made before and is not in these times: it is the same for all ways.
- Each of 2 threads has its own event; the time is that of a thread, halved.
- On the CPU the time of TorchScript for an edge or row grows two- to fourfold at the largest sizes. Why was not measured; it is a part of the
  largest savings there.
"""


def ms(us):
    number = us / 1000
    return f"{number:.0f}" if abs(number) >= 100 else f"{number:.1f}" if abs(number) >= 10 else f"{number:.3g}"


class Measured:
    """The rows of one kind on one machine with one number of threads."""

    def __init__(self, rows, threads):
        self.rows = [row for row in rows if row["threads"] == threads]
        self.sizes = sorted({row["n"] for row in self.rows})

    def row(self, way, n, stage="total"):
        suffix, variants = way
        for row in self.rows:
            if (row["n"], row["stage"]) == (n, stage) and row["model"].endswith(suffix) and row["variant"] in variants:
                return row
        return None

    def stages(self, way, n):
        suffix, variants = way
        return {
            row["stage"]: row["median_us"]
            for row in self.rows
            if row["n"] == n and row["model"].endswith(suffix) and row["variant"] in variants and row["stage"] != "total"
        }

    def compared(self, name, n):
        """Milliseconds saved and the ratio, or None."""
        left, taken = (self.row(way, n) for way in COMPARISONS[name])
        if left is None or taken is None:
            return None
        if left["model"] != taken["model"]:
            return (left["median_us"] - taken["median_us"]) / 1000, left["median_us"] / taken["median_us"]
        if left["device"] != "cpu":
            return left["saved_ms"], left["median_us"] / taken["median_us"]
        stages = [self.stages(way, n) for way in COMPARISONS[name]]
        saved = sum(stages[0].values()) - stages[0]["model"] - stages[1]["bind"]
        return saved / 1000, 1 + saved / taken["median_us"]


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "| --- |" + " ---: |" * (len(header) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def number(n):
    return f"{n:,}".replace(",", "\u00a0")


def compared_there(measured):
    return [name for name in COMPARISONS if any(measured.compared(name, n) for n in measured.sizes)]


def saved_table(measured, counts, parts):
    names = compared_there(measured)
    rows = []
    for n in measured.sizes:
        row = measured.row((".pt2", IN_PLACE), n)
        cells = [number(n), *([number(row[parts]), str(row["events"])] if parts else []), ms(row["median_us"])]
        for name in names:
            both = measured.compared(name, n)
            cells.append(f"{ms(both[0] * 1000)} ms, {both[1]:.2f}" if both else "")
        rows.append(cells)
    return table([counts, *([parts, "events"] if parts else []), "package in place, ms", *names], rows)


def line_table(results):
    """Where each comparison passes the line, on each machine."""
    columns = [(machine, kind, Measured(rows_of(files[kind]), 1)) for machine, files in results.items() for kind in files]
    rows = []
    for name in COMPARISONS:
        cells = []
        for _, kind, measured in columns:
            saved = [(n, measured.compared(name, n)[0]) for n in measured.sizes if measured.compared(name, n)]
            passed = next(((n, one) for n, one in saved if one >= LINE), None)
            n, one = passed or (saved[-1] if saved else (None, None))
            cells.append("" if n is None else f"{'' if passed else 'no: '}{ms(one * 1000)} ms at {number(n)} {KINDS[kind][2]}")
        if any(cells):
            rows.append([name, *cells])
    return table([f"{LINE} ms an event", *(f"{KINDS[kind][0]}, {machine}" for machine, kind, _ in columns)], rows)


def stages_table(measured, n):
    ways = {
        "package, in place": (".pt2", IN_PLACE),
        "package, packed on the device": (".pt2", ON_DEVICE),
        "package, packed by the host": (".pt2", HOST),
        "TorchScript, in place": (".pt", IN_PLACE),
        "TorchScript, packed on the device": (".pt", ON_DEVICE),
        "TorchScript, packed by the host": (".pt", HOST),
        "ONNX Runtime, packed": (".onnx", HOST),
    }
    order = ("bind", "to host", "pack", "to device", "model", "answer")
    stages = {name: measured.stages(way, n) for name, way in ways.items() if measured.row(way, n)}
    there = [stage for stage in order if any(stage in one for one in stages.values())]
    rows = []
    for name, one in stages.items():
        whole = measured.row(ways[name], n)
        cells = [ms(one[stage]) if stage in one else "" for stage in there]
        rows.append([name, *cells, ms(whole["median_us"]), f"{whole['bytes_copied'] / 1e6:.3g}"])
    return table(["ms", *there, "whole call", "MB copied"], rows)


def threads_table(measured):
    """Time an event on one thread and on more, of the ways that users choose between."""
    ways = {
        "package in place": (".pt2", IN_PLACE),
        "TorchScript packed": (".pt", HOST),
        "ONNX Runtime packed": (".onnx", HOST),
    }
    rows = []
    for n in measured[1].sizes:
        cells = [number(n)]
        for way in ways.values():
            cells.append(" / ".join(ms(one.row(way, n)["median_us"]) for one in measured.values() if one.row(way, n)))
        rows.append(cells)
    return table(["size", *(f"{name}, ms" for name in ways)], rows)


def draw(results):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "tensoa", "svg.fonttype": "none", "font.size": 9})
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        len(results), len(KINDS), figsize=(10.5, 0.9 + 3 * len(results)), sharey=True, squeeze=False, layout="constrained"
    )
    for line, (machine, files) in zip(axes, results.items(), strict=True):
        for panel, (kind, (title, _, counts, _)) in zip(line, KINDS.items(), strict=True):
            panel.axhline(LINE, color="black", linewidth=1)
            panel.set(xscale="log", yscale="log", title=f"{title}, {machine}", xlabel=f"{counts} of an event", ylim=(1e-3, 1e4))
            panel.grid(alpha=0.3)
            if kind not in files:
                continue
            measured = Measured(rows_of(files[kind]), 1)
            for name in compared_there(measured):
                saved = [(n, measured.compared(name, n)[0]) for n in measured.sizes if measured.compared(name, n)]
                color, style = STYLES[name]
                panel.plot(*zip(*((n, one) for n, one in saved if one > 0)), style, marker=".", color=color, label=name)
        line[0].set_ylabel("ms saved")
        line[0].annotate(f"{LINE} ms", (0.02, LINE), xycoords=("axes fraction", "data"), va="bottom")
    handles = {label: handle for panel in axes.flat for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(PICTURE, metadata={"Date": None}, facecolor="white")
    PICTURE.write_text("\n".join(line.rstrip() for line in PICTURE.read_text().splitlines()) + "\n")


def file_of(kind, machine):
    """The name of the file of results."""
    return f"path-{kind}-{machine.removeprefix('NVIDIA ').split()[0].lower()}.json"


def machine_of(run):
    return "CPU" if run["rows"][0]["device"] == "cpu" else " ".join(run["machine"]["gpus"][0].split()[:2])


def rows_of(runs):
    return [row for run in runs for row in run["rows"]]


def page(results):
    names = [file_of(kind, machine) for machine, files in results.items() for kind in files]
    links = ",\n".join(f"[{name}](../benchmarks/results/{name})" for name in names)
    text = HEAD.replace("FILES", links).replace("LINE_TABLE", line_table(results).rstrip())
    for machine, files in results.items():
        text += f"\n## {machine}\n"
        for kind, (title, network, counts, parts) in KINDS.items():
            if kind not in files:
                continue
            rows = rows_of(files[kind])
            by_threads = {t: Measured(rows, t) for t in sorted({row["threads"] for row in rows})}
            measured = by_threads[1]
            largest_event = max(row["n"] for row in measured.rows if row.get("events", 1) == 1)
            text += f"\n### {title}, {machine}\n\n{network}. Saved, and the ratio:\n\n"
            text += saved_table(measured, counts, parts)
            text += f"\nWhere the time goes, {number(largest_event)} {counts}, each stage with a wait at its end:\n\n"
            text += stages_table(measured, largest_event)
            if len(by_threads) > 1:
                threads = " / ".join(map(str, by_threads))
                text += f"\nTime an event with {threads} threads, each with its own events:\n\n" + threads_table(by_threads)
            for run in files[kind]:
                text += f"\n`{run['command'].replace('tensoa bench ', 'tensoa-bench ')}`, {run['machine']['cpu']}, torch {run['versions']['torch']}, commit {run['commit']}.\n"
    return text


def read_results():
    """Runs by machine and kind; GPUs first."""
    results = {}
    for kind in KINDS:
        for path in sorted(RESULTS.glob(f"path-{kind}-*.json")):
            for run in json.loads(path.read_text())["runs"]:
                results.setdefault(machine_of(run), {}).setdefault(kind, []).append(run)
    return dict(sorted(results.items(), key=lambda item: item[0] == "CPU"))


def keep(folder):
    """Checks in what was measured there: a file for each kind."""
    for kind in KINDS:
        measured = [json.loads(path.read_text()) for path in sorted(folder.glob(f"path-{kind}*.json"))]
        if not measured:
            continue
        measuring.write(RESULTS / file_of(kind, machine_of(measured[0])), {"runs": measured})


def write_onnx(kind, path):
    sys.path[:0] = [str(ROOT / "python"), str(ROOT / "bench" / "peers")]
    import write_models

    from tensoa.merging import network

    if kind == "rows":
        write_models.write_perceptron(path.parent, path)
    elif kind == "hits":
        write_models.write_network(write_models.our_network(), path)
    else:
        write_models.write_network(network.load(ROOT / "models" / "fragment_network.safetensors"), path, 29, 7)


def measure(device, folder):
    folder.mkdir(exist_ok=True)
    for kind, sizes in SIZES[device].items():
        models = [model.format(device=device) for model in MODELS[kind]]
        command = ["build/tensoa-bench", "path", "--device", {"cpu": "cpu", "cuda": "cuda:0"}[device]]
        command += ["--of", kind, *sizes.split(), "--model", *models]
        if device == "cpu":
            onnx = (ROOT / models[0]).with_suffix(".onnx")
            subprocess.run([sys.executable, __file__, "--onnx", kind, onnx], check=True)
            command += ["--onnxruntime", measuring.onnxruntime_library()]
        file = folder / f"path-{kind}.json"
        subprocess.run([*command, "--json", file], check=True, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"})
        measuring.write(file, json.loads(measuring.without_folders(file.read_text(), folder)) | {"commit": measuring.commit()})


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--measure", choices=SIZES)
    parser.add_argument("--into", type=Path, help="measure only; the files go here")
    parser.add_argument("--from", dest="folder", type=Path)
    parser.add_argument("--onnx", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.onnx:
        return write_onnx(options.onnx[0], Path(options.onnx[1]))
    folder = (options.into or ROOT / "build" / "path").resolve() if options.measure else options.folder
    if options.measure:
        measure(options.measure, folder)
    if options.into:
        return None
    if folder:
        keep(folder)
    results = read_results()
    draw(results)
    PAGE.write_text(page(results))
    return None


if __name__ == "__main__":
    main()
