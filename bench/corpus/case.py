# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Run as a program, in the folder of a case: what a model file returns and accepts, compared with the runtime that the model was made for.

    python case.py CASE.json    {"model": FILE, "own": FILE, "format": …, "words": […], "outputs": […], "below": {…}, "said": […],
                                 "splitting": …, "inductor": FILE}

Both get the same numbers: of trees values on their thresholds, one ulp from them, NaN and infinities, else normal ones. Each
is called from Python by one thread on arrays that it reads without a copy, columns for tensoa, rows for the others, in turns.
Prints JSON. Without a "model" it only loads the file in its own runtime.
"""

import json
import os
import re
import resource
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import tensoa  # noqa: E402
from runtimes import RUNTIMES, Runtime  # noqa: E402
from tensoa.errors import InputError  # noqa: E402

TREES = ("XGBoost", "LightGBM", "CatBoost", "scikit-learn", "ONNX trees", "TMVA BDT", "conifer")
COMPARED = 37  # rows, which no axis of a model has by chance
ROWS = (1, 16, 1000)
UNTIMED = 3  # calls before: in the first two ONNX Runtime requests memory from the kernel
TURNS, SHORTEST, LONGEST = 9, 2e-3, 12.0  # of a round of calls in seconds; of all rounds of a number of rows
MOST_SECONDS, MOST_MEMORY = 15.0, 8.0  # of one call that is timed, in GiB
TOLERANCE = {True: 1e-6, False: 1e-4}  # of trees, of networks: ||a - b|| / ||b|| of a column


def sizes_of(words: list[str]) -> dict[str, list[int | None]]:
    """Of the tensors that --columns says: {"state": [2, None, 64]} of state[2,n,64]."""
    found = {}
    for word in words:
        name, bracket, rest = word.partition("=")[0].partition("[")
        if bracket:
            sizes = rest.partition("]")[0].split(",")
            found[name] = [None if size.strip() == "n" else int(size) for size in sizes]
    return found


class Given:
    """Numbers for the blocks of a model, and the same as the tensors that its runtime takes."""

    def __init__(self, model: tensoa.Model, case: dict, rows: int, edges: np.ndarray | None) -> None:
        random, at = np.random.default_rng(rows), 0
        sizes = sizes_of(case["words"])
        collections = sorted({block.collection or 0 for block in model.inputs})
        self.blocks: list[np.ndarray] = []
        self.tensors: dict[str, np.ndarray] = {}
        for block in model.inputs:
            count = rows * (1 + 2 * collections.index(block.collection or 0))
            shape = [count if size is None else size for size in block.shape]
            dtype = np.dtype("float32" if block.dtype == "number" else block.dtype)
            if edges is not None:
                width = int(np.prod(shape[1:]))
                values = edges[:count, at : at + width].reshape(shape)
                at += width
            elif dtype.kind == "b":
                values = random.integers(0, 2, shape) > 0
            elif dtype.kind in "iu":
                below = case["below"].get(block.name, rows if len(collections) > 1 else 2)
                values = random.integers(0, below, shape)
            else:
                values = random.normal(size=shape)
            array = values.astype(dtype)
            self.blocks.append(np.asfortranarray(array) if array.ndim == 2 and shape[0] == count else array)
            self.tensors[block.name] = _as_tensor(array, sizes.get(block.name))
        constants = dict(word.split("=") for word in case["words"] if word.partition("=")[2].isdigit())
        self.tensors |= {name: np.array(int(number)) for name, number in constants.items() if name not in self.tensors}


def _as_tensor(array: np.ndarray, sizes: list[int | None] | None) -> np.ndarray:
    """Of rows of flat numbers the tensor [2, n, 64]."""
    if sizes is None or None not in sizes:
        return np.ascontiguousarray(array)
    axis = sizes.index(None)
    others = [size for size in sizes if size is not None]
    return np.ascontiguousarray(np.moveaxis(array.reshape(len(array), *others), 0, axis))


def answers_of(call: Callable[[dict], list[np.ndarray]], given: Given, runtime: Runtime, words: list[str]) -> list[np.ndarray]:
    """A runtime with a fixed number of rows gets the rows in calls of that number."""
    rows, sizes = len(given.blocks[0]), sizes_of(words)
    fixed = fixed_rows(runtime, sizes)
    if fixed in (0, rows):
        return call(given.tensors)
    parts = []
    for start in range(0, rows, fixed):
        chosen = np.minimum(np.arange(start, start + fixed), rows - 1)
        part = {name: np.take(x, chosen, _axis(sizes.get(name))) for name, x in given.tensors.items()}
        parts.append([as_rows(result, fixed)[: rows - start] for result in call(part)])
    return [np.concatenate(results) for results in zip(*parts)]


def fixed_rows(runtime: Runtime, sizes: dict[str, list[int | None]]) -> int:
    """That each call of a runtime has; 0: any."""
    counts = {shape[_axis(sizes.get(name))] for name, shape in runtime.shapes.items() if shape}
    rows = counts.pop() if len(counts) == 1 else 0
    return rows if isinstance(rows, int) else 0


def _axis(sizes: list[int | None] | None) -> int:
    return sizes.index(None) if sizes and None in sizes else 0


def as_rows(array: np.ndarray, rows: int) -> np.ndarray:
    """[rows, numbers], wherever the rows are."""
    array = np.asarray(array)
    axes = [axis for axis, size in enumerate(array.shape) if size == rows]
    if not axes:
        raise InputError(f"a result of shape {list(array.shape)}, of {rows} rows")
    return np.moveaxis(array, axes[0], 0).reshape(rows, -1)


def relative(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """||a - b|| / ||b|| of each column; infinite where only one of both is NaN or infinite."""
    a, b = ours.astype("float64"), theirs.astype("float64")
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):  # infinities
        difference = np.where(same, 0.0, a - b)
    norm = np.linalg.norm(np.where(np.isfinite(b), b, 0.0), axis=0)
    found = np.linalg.norm(np.nan_to_num(difference), axis=0) / np.where(norm > 0, norm, 1.0)
    return np.where(np.isfinite(difference).all(0), found, np.inf)


def matched(ours: list[np.ndarray], theirs: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Results by their sizes and the kind of their numbers: runtimes of trees give labels, too, and one number for two classes."""
    pairs, left = [], list(theirs)
    for one in ours:
        alike = [other for other in left if other.shape == one.shape]
        same_kind = [other for other in alike if other.dtype.kind == one.dtype.kind]
        of_two = [other for other in left if one.shape[1] == 1 and other.shape[1] == 2]
        chosen = next(iter(same_kind + of_two + alike), None)
        if chosen is None:
            raise InputError(f"a result of {one.shape[1]} numbers, the runtime gives {[other.shape[1] for other in theirs]}")
        left = [other for other in left if other is not chosen]
        pairs.append((one, chosen if chosen.shape == one.shape else chosen[:, 1:]))
    return pairs


def together(calls: list[list[np.ndarray]]) -> list[np.ndarray]:
    """Rows of the calls of 1 and of COMPARED rows: a column of one number near 0 says nothing of its size."""
    rows = (1, COMPARED)
    return [np.concatenate([as_rows(one, n) for one, n in zip(results, rows)]) for results in zip(*calls)]


def difference(ours: list[np.ndarray], theirs: list[np.ndarray]) -> float:
    """The largest of a column of a result."""
    return max(float(relative(*pair).max(initial=0.0)) for pair in matched(ours, theirs))


def is_as_near(ours: list[np.ndarray], theirs: list[np.ndarray], defined: list[np.ndarray], tolerance: float) -> bool:
    """Whether each column is within the tolerance of its definition, or no farther from that than the runtime's."""
    pairs = zip(matched(ours, defined), matched(theirs, defined), strict=True)
    return all(bool((relative(*mine) <= np.maximum(relative(*other), tolerance)).all()) for mine, other in pairs)


def as_arrays(answer: dict[str, np.ndarray] | np.ndarray) -> list[np.ndarray]:
    """Of a model with several output blocks, which gives them by name, or with one."""
    return list(answer.values()) if isinstance(answer, dict) else [answer]


def seconds_of(call: Callable[[], object], calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - start) / calls


def times(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Microseconds of a call, processor time, median of rounds in turns."""
    number, first = {}, {}
    for name, call in calls.items():
        first[name] = max(min(seconds_of(call, 1) for _ in range(UNTIMED)), 1e-7)
        number[name] = max(1, int(SHORTEST / first[name]))
    turns = max(1, min(TURNS, int(LONGEST / sum(max(SHORTEST, one) for one in first.values()))))
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(turns):
        for name, call in calls.items():
            found[name].append(seconds_of(call, number[name]))
    return {name: statistics.median(one) * 1e6 for name, one in found.items()}


def kind_of(inspected: dict) -> str:
    """The program of a package, or how the file runs."""
    if inspected.get("fused_parts"):
        return "parts"
    if inspected["format"].startswith("ONNX"):
        return "onnx"
    programs = {one["kind"] for one in inspected.get("programs", ())}
    for kind in ("inductor", "fused", "forest"):
        if kind in programs:
            return kind
    return inspected["compilation"]


def edges_of(case: dict) -> np.ndarray:
    """Of an ensemble of trees."""
    from tensoa.importers.trees import files, imported

    options = files.ImportOptions(trust_pickle=True, splitting=case["splitting"])
    edges = imported.edge_rows(files.load(case["own"], options).ensemble, max(ROWS))
    if case["format"] == "scikit-learn":  # which refuses infinities, and NaN where it was trained without
        edges = np.nan_to_num(edges.astype(np.float32))  # as the columns are
    return edges


def columns_said(said: list[str]) -> dict[str, list[str]]:
    """What the command says to type for a file that says no columns itself."""
    found = next((re.search(r"tensoa infer --columns (.+) --outputs (.+)$", line) for line in reversed(said)), None)
    return {} if found is None else {"columns": found[1].split(), "outputs": found[2].split()}


def compared(case: dict) -> dict:
    runtime = RUNTIMES[case["format"]](Path(case["own"]), case["outputs"], case["splitting"])
    if "model" not in case:
        return {}
    model = tensoa.Model(case["model"], **columns_said(case.get("said", [])))
    found: dict = {"kind": kind_of(tensoa.inspect(case["model"])), "independent": model.rows_are_independent}
    is_trees = case["format"] in TREES and found["kind"] == "forest"  # scikit-learn has other estimators, too
    edges = edges_of(case) if is_trees else None
    found["compared_with"] = runtime.name
    right = next(iter(runtime.calls.values()))
    tolerance = TOLERANCE[is_trees]
    all_given = [Given(model, case, rows, edges) for rows in (1, COMPARED)]
    each, peaks = [], []
    for given in all_given:
        each.append((as_arrays(model(*given.blocks)), answers_of(right, given, runtime, case["words"])))
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20))
    ours, theirs = (together(list(one)) for one in zip(*each))
    of_a_row = (peaks[1] - peaks[0]) / COMPARED  # GiB
    found["error"] = difference(ours, theirs)
    found["is_right"] = found["error"] <= tolerance
    if not found["is_right"] and runtime.definition is not None:
        defined = together([answers_of(runtime.definition, given, runtime, case["words"]) for given in all_given])
        found |= {"own_error": difference(theirs, defined), "error": difference(ours, defined)}
        found["is_right"] = is_as_near(ours, theirs, defined, tolerance)
    found["times"], found["notes"] = {}, {}
    ours = {"ours": model}
    if case.get("inductor"):
        ours["inductor"] = tensoa.Model(case["inductor"])
    slowest = 0.0  # seconds of a row
    for rows in ROWS:
        if slowest * rows > MOST_SECONDS:
            found["notes"][f"{rows} rows"] = f"not timed: a call takes about {slowest * rows:.0f} s"
            continue
        if of_a_row * rows > MOST_MEMORY:
            found["notes"][f"{rows} rows"] = f"not timed: a call takes about {of_a_row * rows:.0f} GiB"
            continue
        given = Given(model, case, rows, edges)
        calls: dict[str, Callable[[], object]] = {
            name: (lambda one=one, given=given: one(*given.blocks)) for name, one in ours.items()
        }
        for name, call in runtime.calls.items() if runtime.is_timed else ():
            measured = lambda call=call, given=given: answers_of(call, given, runtime, case["words"])  # noqa: E731
            try:
                measured()
            except Exception as error:  # of a runtime of others
                found["notes"][name] = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
                continue
            calls[name] = measured
        found["times"][rows] = times(calls)
        slowest = max(found["times"][rows].values()) / 1e6 / rows
    return found


if __name__ == "__main__":
    print("\n" + json.dumps(compared(json.loads(Path(sys.argv[1]).read_text()))))
