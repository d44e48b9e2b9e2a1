# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""docs/corpus.md, of what run.py has found."""

import os
from importlib.metadata import PackageNotFoundError, version
from statistics import median

import measuring
from sources import Case

LIBRARIES = "torch onnxruntime xgboost-cpu lightgbm catboost scikit-learn keras tensorflow".split()
KINDS = {
    "fused": "fused",
    "forest": "trees, fused",
    "parts": "fused in part",
    "inductor": "TorchInductor",
    "just-in-time": "just in time",
    "onnx": "ONNX Runtime",
}
FASTEST = ("fused", "forest", "parts")
ROWS = ("1", "16", "1000")
NEAR = 0.95  # of the speed of a runtime, at least, where it is our engine
HEAD = """\
<!-- SPDX-FileCopyrightText: 2026 The tensoa authors -->
<!-- SPDX-License-Identifier: Apache-2.0 -->
# Published models, at the first try

{share}

Written by [`bench/corpus/run.py`](../bench/corpus/run.py), which describes how, from
[what it measured](../benchmarks/results/corpus.json). Each model was published by others, as a file with its weights or as code
([which](../bench/corpus/models.toml)); "seeded" are those of which the authors published code alone. Each case is one command,
`tensoa compile` with what a user types, once, within {budget} s of the processor. It is right where the program returns the answers of
the model's own runtime, for 1 and 37 rows: trees within 1e-6 on their thresholds, one ulp from them, NaN and infinities
(which scikit-learn refuses: finite numbers), networks within 1e-4, ||a - b|| / ||b|| of each column of both calls. Where ONNX
Runtime is not that near, both are compared with the reference evaluator of the package onnx in float64, and right is what is
within 1e-4 of that, or in no column farther from it than ONNX Runtime; the table marks these.

{kinds}

| field | models | right at the first try | fused, as a whole or in part |
| --- | ---: | ---: | ---: |
"""
NOT_RIGHT = """
## What is not right at the first try

| model | command | reason |
| --- | --- | --- |
"""
TABLE = """
| model | what it is | weights | program | export, s | error | tensoa, µs | own runtime, µs | TorchInductor, µs | ratio |
| --- | --- | --- | --- | ---: | ---: | --- | --- | --- | --- |
"""
TAIL = """
Program: the kind that the command made. Export: time of the processor, of the command with all that it starts. Times: of a call
from Python with 1, 16 and 1 000 rows, processor time of one thread, median of rounds in turns, on arrays that each reads without
a copy; "own runtime" is the fastest of its ways ({machine}; {versions}). Ratio: its time over ours.{load} Nothing
stands where nothing was measured; TMVA, conifer, LWTNN and QKeras are compared with the rules of the format or in another number type,
and not timed.
"""


def machine() -> dict:
    versions = {}
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            continue
    return {"machine": measuring.processor_and_level(), "cores": os.cpu_count(), "versions": versions}


def text(listed: list[Case], results: dict, budget: int) -> str:
    found = {case.name: results["models"][case.name] for case in listed if case.name in results["models"]}
    seen = [case for case in listed if case.name in found]
    right = [case for case in seen if found[case.name]["is_right"]]
    fields = list(dict.fromkeys(case.field for case in seen))
    kinds = [found[case.name]["kind"] for case in right]
    counted = ", ".join(f"{kinds.count(kind)} {_words(kind)}" for kind in dict.fromkeys(kinds))
    fastest = sum(kind in FASTEST for kind in kinds)
    page = HEAD.format(
        share=f"**{_share(len(right), len(seen))} published models of {len(fields)} fields are right at the first try, "
        f"{fastest} of them fused as a whole or in part{_refused_by_own(seen, found)}{_not_run(len(listed) - len(seen), len(listed))}.**",
        budget=budget,
        kinds=f"Programs: {counted}. {_faster([found[case.name] for case in right])}",
    )
    for field in fields:
        of_field = [case for case in seen if case.field == field]
        good = [case for case in of_field if found[case.name]["is_right"]]
        fused = sum(found[case.name]["kind"] in FASTEST for case in good)
        page += f"| [{field}](#{field.replace(' ', '-')}) | {len(of_field)} | {len(good)} | {fused} |\n"
    wrong = [case for case in seen if not found[case.name]["is_right"]]
    if wrong:
        page += NOT_RIGHT
        for case in wrong:
            page += f"| {case.name} | {_command(case)} | {_cell(_reason(found[case.name]))} |\n"
    lost = [case for case in listed if case.name not in found]
    if lost:
        page += f"\n## What has not been run\n\n{_listed_names(lost)}\n"
    for field in fields:
        page += f"\n## {field.capitalize()}\n{TABLE}"
        for case in seen:
            if case.field == field:
                page += _row(case, found[case.name])
    about = results["about"]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    return page + TAIL.format(machine=about["machine"], versions=versions, load=_load(about, found))


def _faster(right: list[dict]) -> str:
    ratios = [b / a for one in right for a, b in zip(_times(one, "ours"), _times(one, "own")) if a and b]
    same, near = (sum(ratio >= limit for ratio in ratios) for limit in (1, NEAR))
    return f"Of {len(ratios)} points that are timed compared with their own runtime, {same} are not slower than it, {near} have {NEAR} of its speed or more."


def _listed_names(cases: list[Case]) -> str:
    formats = list(dict.fromkeys(case.format for case in cases))
    return "; ".join(f"{one}: {', '.join(case.name for case in cases if case.format == one)}" for one in formats) + "."


def _load(about: dict, found: dict[str, dict]) -> str:
    loads = [one["load"] for one in found.values() if "load" in one]
    if not loads or median(loads) <= 1.5:
        return ""
    return (
        f" The machine had other work, too: its load was {median(loads):.0f} with {about['cores']} cores, median of models. Ratios are of"
        " times in turns; times are longer than on an idle one."
    )


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.0f} %)"


def _not_run(missing: int, whole: int) -> str:
    """A share of some models says nothing of the others."""
    return f"; {missing} of the {whole} in the list have not been run, so this is not a share of the list" if missing else ""


def _refused_by_own(seen: list[Case], found: dict[str, dict]) -> str:
    count = sum("own_refused" in found[case.name] for case in seen)
    return f"; {count} of the others are refused by their own runtime, too" if count else ""


def _words(kind: str) -> str:
    return KINDS.get(kind, kind)


def _reason(one: dict) -> str:
    if "own_refused" in one:
        return f"{one['refused']}. Its own runtime does not take it, either: {one['own_refused']}"
    if "refused" in one:
        return one["refused"]
    if "not_compared" in one:
        return f"written, not compared: {one['not_compared']}"
    return f"differs from {one['compared_with']} by {one['error']:.0e}"


def _row(case: Case, one: dict) -> str:
    cells = [f"{case.name}: {case.link}", f"{case.what} ({case.format}; {case.licence})", case.weights]
    if not one["is_right"]:
        return f"| {' | '.join(cells)} | **not right** | {one['cpu_seconds']:.0f} | | | | | |\n"
    ours, own, inductor = (_times(one, who) for who in ("ours", "own", "inductor"))
    ratio = " / ".join(f"{b / a:.2g}" for a, b in zip(ours, own) if a and b)
    expected = "" if one["kind"] == case.expected else f", {_words(case.expected)} expected"
    error = "0" if not one["error"] else f"{one['error']:.0e}"
    if "own_error" in one:
        error += f" of the reference evaluator, from which {one['compared_with']} differs by {one['own_error']:.0e}"
    cells += [_words(one["kind"]) + expected, f"{one['cpu_seconds']:.0f}", error]
    return f"| {' | '.join([*cells, _listed(ours), _listed(own), _listed(inductor), ratio])} |\n"


def _times(one: dict, who: str) -> list[float | None]:
    """At each number of rows; of the own runtime the fastest of its calls."""
    found: list[float | None] = []
    for rows in ROWS:
        times = one["times"].get(rows, {})
        of = [times[who]] if who in times else []
        if who == "own":
            of = [time for name, time in times.items() if name not in ("ours", "inductor")]
        found.append(min(of) if of else None)
    return found


def _listed(times: list[float | None]) -> str:
    return " / ".join(f"{time:.3g}" if time < 1000 else f"{time:.0f}" for time in times if time is not None)


def _command(case: Case) -> str:
    words = " ".join(case.words)
    return f"`tensoa compile {words if len(words) < 200 else words[:197] + '…'}`".replace("|", "\\|")


def _cell(reason: str) -> str:
    short = reason if len(reason) <= 400 else reason[:399].rpartition(" ")[0] + " …"
    return short.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
