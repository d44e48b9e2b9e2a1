# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Packages of ensembles of trees: the ensemble, which columns it reads, and what the framework that trained it gives."""

import platform
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np
import torch

from tensoa import forest
from tensoa.binding import Binding, Block
from tensoa.binding.columns import Columns, all_of, collections_of, output_arguments
from tensoa.binding.model import result_rows, with_examples, with_lengths
from tensoa.command import check_writable, replacing, step
from tensoa.errors import InputError
from tensoa.forest import Ensemble, Link, Missing, Test
from tensoa.forest.ensemble import LEAF
from tensoa.importers.trees.imported import Function, Imported, check, edge_rows
from tensoa.importers.trees.match import Place, places
from tensoa.package import archive
from tensoa.package.checks import validate
from tensoa.package.manifest import Forest, Manifest, RecordedCase, RowDependence, Target
from tensoa.package.recorded import RECORDED_BYTES, input_bytes, record, result_bytes
from tensoa.row_dependence import INDEPENDENT

FILE = "forest/ensemble.bin"  # below model/
EDGES, EDGE_ROWS = "edges", 300  # of the recorded case of thresholds and special values
TOLERANCE = 1e-6  # relative, of recorded answers: margins are the same bits, links nearly


def write(
    imported: Imported,
    columns: Binding,
    path: str | PathLike,
    margin: bool = False,
    report: Callable[[str], object] = print,
) -> None:
    """Writes the package of an ensemble for the columns of a binding, whole or not at all. `margin`: it gives sums of
    leaves and not answers. Raises InputError: what, got, expected; also where the ensemble differs from its reference.
    """
    check_writable(path)
    ensemble, reference = imported.ensemble, imported.reference
    chosen = places(ensemble.column_names, ensemble.columns, columns)
    _check_output(imported, columns)
    for line in imported.notes:
        report(line)
    step("comparing with " + reference.name)
    rows = check(imported)
    if margin:
        ensemble = replace(ensemble, link=Link.NONE, link_scale=1.0)
    answers = reference.answers if reference.has_small_answers else lambda x: forest.linked(ensemble, reference.margins(x))
    right = _Module(ensemble, columns, chosen, reference.margins if margin else answers)
    own = _Module(ensemble, columns, chosen, lambda x: forest.answers(ensemble, x.T))
    columns, lengths = with_lengths(right, columns)
    columns = with_examples(right, _with_edges(right, columns) if len(ensemble.sets) else columns)
    rules = result_rows(right, columns, "cpu")
    recorded, tests = record(right, columns, rules)
    recorded.tolerance = max([TOLERANCE, *(4 * torch.finfo(block.dtype).eps for block in columns.outputs)])
    edges = _edge_case(right, columns, rules, RECORDED_BYTES - sum(map(len, tests.values())))
    if edges is not None:
        recorded.cases.append(RecordedCase(edges[0], EDGES, f"check/{EDGES}.bin"))
        tests[f"check/{EDGES}.bin"] = edges[1]

    def run(given: Columns, _: Sequence[int]) -> None:
        for block, result, arguments in zip(columns.outputs, columns.call(own, given.inputs), given.outputs):
            block.write(result, arguments)

    facts = [*facts_of(ensemble), ["checked with", f"{reference.name}, on {rows} rows"]]
    manifest = Manifest(
        binding=columns.text,
        inputs=[[vars(argument) for argument in block.input_arguments()] for block in columns.inputs],
        outputs=[[vars(argument) for argument in output_arguments(block, rule)] for block, rule in zip(columns.outputs, rules)],
        rows=rules,
        machine=platform.machine(),
        torch=torch.__version__,
        recorded=recorded,
        targets=[Target("any", validate(run, right, columns, rules, is_whole=True))],
        forest=Forest(FILE, [list(place) for place in chosen], facts),
        row_dependence=RowDependence(INDEPENDENT),
    )
    if any(first != collection for collection, first in lengths.items()):
        manifest.lengths = [lengths.get(collection, collection) for collection in range(max(lengths) + 1)]
    files = {FILE: forest.to_bytes(ensemble), **tests}
    with tempfile.TemporaryDirectory(prefix="tensoa-import-") as folder, replacing(path) as temporary:
        whole = Path(folder) / "package.pt2"
        archive.write(whole, {"model/" + name: content for name, content in files.items()}, manifest.to_json())
        Path(temporary).write_bytes(whole.read_bytes())
    for name, value in facts:
        report(f"{name}: {value}")


def facts_of(ensemble: Ensemble) -> list[list[str]]:
    """Pairs of a name and a text: facts about an ensemble for people. The same as forest/src/facts.cpp, which tree files
    are described with.
    """
    inner = ensemble.nodes[ensemble.nodes["column"] != LEAF]
    compared = inner[inner["test"] < Test.IN_SET]
    pairs = np.unique(np.stack([compared["column"].astype(np.float64), compared["threshold"]], 1), axis=0)
    columns, counts = np.unique(pairs[:, 0].astype(np.int64), return_counts=True)
    of_sets = np.unique(inner["column"][inner["test"] >= Test.IN_SET])
    names = {int(i): ensemble.column_names[i] if ensemble.column_names else str(i) for i in np.union1d(columns, of_sets)}
    facts = {
        "trained by": ensemble.source,
        "objective": ensemble.objective,
        "classes": ", ".join(ensemble.classes),
        "answers": "margins" if ensemble.link is Link.NONE else ensemble.link.value,
        "features": f"{ensemble.columns}, {len(names)} of them in tests",
        "trees": str(len(ensemble.trees)),
        "leaves": str(len(ensemble.nodes) - len(inner)),
        "deepest": str(_depth(ensemble)),
        "missing values": _missing_values(inner),
        "thresholds of a column": f"{counts.max(initial=0)} at most",
        "thresholds by column": ", ".join(f"{names[column]} {count}" for column, count in zip(columns, counts)),
        "columns of categories": ", ".join(names[column] for column in of_sets),
    }
    return [[name, value] for name, value in facts.items() if value]


def _missing_values(inner: np.ndarray) -> str:
    kinds = set(inner["missing"].tolist())
    if not kinds:
        return ""
    left = bool(kinds & {Missing.NAN_LEFT, Missing.ZERO_LEFT})
    right = bool(kinds & {Missing.NAN_RIGHT, Missing.ZERO_RIGHT})
    way = "left or right, as each node says" if left and right else "left" if left else "right"
    return ("NaN, at some nodes 0 too" if kinds & {Missing.ZERO_LEFT, Missing.ZERO_RIGHT} else "NaN") + f": {way}"


def _depth(ensemble: Ensemble) -> int:
    """Tests on the longest way to a leaf."""
    nodes = ensemble.nodes
    first = np.repeat(ensemble.trees["first_node"].astype(np.int64), ensemble.trees["nodes"])
    here, depth = np.unique(ensemble.trees["first_node"].astype(np.int64)), 0
    while True:
        here = here[nodes["column"][here] != LEAF]
        if not len(here):
            return depth
        here = np.unique(np.concatenate([first[here] + nodes["left"][here], first[here] + nodes["right"][here]]))
        depth += 1


def _check_output(imported: Imported, columns: Binding) -> None:
    ensemble = imported.ensemble
    if len(columns.outputs) != 1:
        raise InputError(f"the binding has {len(columns.outputs)} output blocks, expected one, for the answers of the model")
    block = columns.outputs[0]
    if block.name in imported.other_outputs:
        raise InputError(
            f'block "{block.name}": it has the name of another output of the model than the answers of its trees; expected '
            "another name, and a column for each answer"
        )
    if len(block.places) != ensemble.outputs:
        classes = f" ({', '.join(ensemble.classes)})" if ensemble.classes else ""
        raise InputError(
            f'block "{block.name}": it has {len(block.places)} columns, the model gives {ensemble.outputs}{classes}; expected '
            "a column for each"
        )
    names = [block.plane_name(i) for i in range(len(block.places))]
    if names != ensemble.classes and sorted(names) == sorted(ensemble.classes):
        raise InputError(
            f'block "{block.name}": its columns are {", ".join(names)}; expected the classes in the order of the model: '
            + ", ".join(ensemble.classes)
        )
    if not block.dtype.is_floating_point:
        dtype = str(block.dtype).removeprefix("torch.")
        raise InputError(f'block "{block.name}": it is of {dtype}, expected float32 or float64 for answers of trees')


class _Module:
    """A function of values [rows, features] as a model on the blocks of a binding."""

    argument_names = None

    def __init__(self, ensemble: Ensemble, columns: Binding, chosen: list[Place], function: Function) -> None:
        self.ensemble, self.binding, self.chosen, self.function = ensemble, columns, chosen, function

    def __call__(self, *tensors: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        """Raises ValueError where columns of features have several lengths."""
        blocks = [block.planes(tensor) for block, tensor in zip(self.binding.inputs, tensors or named.values())]
        features = [_numbers(blocks[place.block][place.column]) for place in self.chosen]
        rows = len(features[0]) if features else blocks[0].shape[1]
        with np.errstate(over="ignore"):
            x = np.empty((rows, len(features)), self.ensemble.features)
            for i, feature in enumerate(features):
                if len(feature) != rows:
                    raise ValueError(f"columns of {rows} and of {len(feature)} rows")
                x[:, i] = feature
        return _result(self.binding.outputs[0], self.function(x))


def _numbers(plane: torch.Tensor) -> np.ndarray:
    return (plane.double() if plane.dtype.is_floating_point else plane).numpy()


def _result(block: Block, answers: np.ndarray) -> torch.Tensor:
    """Answers [rows, outputs] as the tensor that the model gives."""
    size = block.planes_per_column
    together = replace(block, starts=tuple(range(0, len(block.starts) * size, size)))
    return together.tensor(torch.from_numpy(np.ascontiguousarray(answers.T)).to(block.column_dtype)).to(block.dtype)


def _edge_case(right: _Module, columns: Binding, rules: list[dict], most_bytes: int) -> tuple[int, bytes] | None:
    """(rows, content) of a recorded case of edge_rows(), where there is room for it."""
    bytes_per_row = sum(len(block.places) * block.column_dtype.itemsize for block in columns.inputs)
    bytes_per_row += 8 * right.ensemble.outputs
    rows = min(EDGE_ROWS, most_bytes // (bytes_per_row * (1 + 2 * max(collections_of(columns)))))
    if rows < 1:
        return None
    counts = {collection: rows * (1 + 2 * collection) for collection in collections_of(columns)}
    edges = Columns(_with_edges(right, columns), counts, rules, "cpu", is_whole=True)
    results = [block.planes(result) for block, result in zip(columns.outputs, columns.call(right, edges.inputs))]
    return rows, input_bytes(columns, edges.inputs) + result_bytes(results)


def _with_edges(right: _Module, columns: Binding) -> Binding:
    """The binding with edge_rows() as its examples; zeros where a column is not a feature."""
    values = edge_rows(right.ensemble, EDGE_ROWS, seed=2)
    number = {place: i for i, place in enumerate(right.chosen)}
    inputs = []
    for b, block in enumerate(columns.inputs):
        planes = np.zeros((len(block.places), EDGE_ROWS))
        for i in range(len(planes)):
            if Place(b, i) in number:
                planes[i] = values[:, number[Place(b, i)]]
        inputs.append(replace(block, examples=_as_columns(planes, block.column_dtype)))
    return replace(columns, inputs=tuple(inputs))


def _as_columns(planes: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    if dtype == torch.bool:
        return torch.from_numpy(planes > 0)
    if not dtype.is_floating_point:
        least, largest = (max(-(2**52), min(2**52, limit)) for limit in all_of(dtype))
        planes = np.clip(np.nan_to_num(planes), least, largest)
    return torch.from_numpy(planes).to(dtype)
