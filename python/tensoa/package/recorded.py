# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Inputs and results of a model that its package keeps, for `tensoa check` on the machine where it shall run."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from tensoa.binding import Binding, Block
from tensoa.binding.columns import NORMAL, collections_of, rows_by
from tensoa.command import step
from tensoa.package.cases import CASES, MOST_ROWS, Cases
from tensoa.package.judging import MARGIN, MOST_OF_LAST_PLACE, ROUGH, Right, by_numbers, is_settled
from tensoa.package.manifest import Recorded, RecordedCase

# Relative, ||a - b|| / ||b||, of a program on another machine, by the precision of its matrix products.
RECORDED_TOLERANCE = {None: 3e-5, "ieee": 3e-5, "tf32x3": 3e-5, "tf32": 3e-3, "bf16": 3e-2}
RECORDED_BYTES = 256 << 10  # of all recorded numbers together


def record(
    module: Any, binding: Binding, rules: list[dict], precision: str | None = None, tried: Cases | None = None
) -> tuple[Recorded, dict[str, bytes]]:
    """(what the manifest says, files): inputs, and what the module gives for them, in float64 where it can do that. What
    `tensoa check` compares a package with, on the machine where it shall run. Wide columns have fewer rows there, so that
    all of it stays below RECORDED_BYTES. What any result would pass is left out: numbers on which the model is rough, see
    summary_lines(), or gives hardly anything finite.
    """
    step("what the model gives")
    dtypes = [block.dtype for block in (*binding.inputs, *binding.outputs) if block.dtype.is_floating_point]
    tolerance = max([RECORDED_TOLERANCE[precision], *(4 * torch.finfo(dtype).eps for dtype in dtypes)])
    most = MOST_ROWS
    while most > 1 and _recorded_bytes(binding, rules, most) > RECORDED_BYTES:
        most = most * 3 // 4
    cases, inputs = [], []
    for case in (tried or Cases(module, binding, rules)).of(most, is_whole=True):
        cases.append(case)
        columns = case.released()
        inputs.append(input_bytes(binding, columns.inputs))
    entries: list[RecordedCase] = []
    files: dict[str, bytes] = {}
    unjudged: dict[str, str] = {}
    for numbers, chosen in by_numbers(cases).items():
        right = [Right([cases[i] for i in chosen], at) for at in range(len(binding.outputs))]
        for place, i in enumerate(chosen):
            tolerances = [one.norm_tolerances(tolerance, place) for one in right]
            results, is_clear = zip(*(one.recorded(place) for one in right))
            content = inputs[i] + result_bytes(results)
            is_too_much = bool(files) and len(content) + sum([len(other) for other in files.values()]) > RECORDED_BYTES
            if numbers == NORMAL:
                is_vague = any(one > MARGIN * max(ROUGH, tolerance) for block in tolerances for one in block)
            else:
                is_unsettled = any(one.is_rough() for one in right) or not is_settled(cases[i], MARGIN * MOST_OF_LAST_PLACE)
                is_vague = is_unsettled or not all(is_clear)
                if is_unsettled and cases[i].short is not None:
                    unjudged[numbers] = str(cases[i].short).removeprefix("torch.")
            if is_too_much or is_vague or not any(one.says_something(place) for one in right):
                continue
            name = f"check/{cases[i].count}.bin" if numbers == NORMAL else f"check/{numbers}.bin"
            files[name] = content
            entry = RecordedCase(cases[i].count, numbers, name)
            if any(one.is_choice for one in right) or any(one > tolerance for block in tolerances for one in block):
                entry.tolerances = tolerances
            entries.append(entry)
    return Recorded(tolerance, entries, unjudged or None), files


def input_bytes(binding: Binding, arguments: Sequence[torch.Tensor]) -> bytes:
    """The beginning of the file of a recorded case: the planes of the input blocks. result_bytes() follow."""
    return b"".join(_bytes(_planes(*pair)) for pair in zip(binding.inputs, arguments))


def result_bytes(results: Iterable[torch.Tensor]) -> bytes:
    return b"".join(_bytes(planes.double()) for planes in results)


def summary_lines(recorded: Recorded) -> Iterator[str]:
    """Lines for people about what record() gave."""
    if recorded.unjudged:
        kinds, dtypes = " and ".join(recorded.unjudged), " and ".join(dict.fromkeys(recorded.unjudged.values()))
        yield (
            f"not judged on {kinds} numbers: the model rounds to {dtypes}, and changes there by more than {ROUGH:.0e} by that "
            "alone; export with --example to have it judged on rows that it is made for"
        )
    if all(case.numbers != NORMAL for case in recorded.cases):
        yield (
            f"too rough to be judged: the model differs from itself in float64 by more than {ROUGH:.0e}, so `tensoa check` "
            "has no results on such numbers to compare with; export with --example that the model is made for"
        )


def _recorded_bytes(binding: Binding, rules: list[dict], most: int) -> int:
    total = 0
    for count in {(numbers, min(count, most)) for numbers, count in CASES}:
        rows = {collection: count[1] * (1 + 2 * collection) for collection in collections_of(binding)}
        for block in binding.inputs:
            lines = min(1, count[1]) if block.kind == "scalar" else rows[block.collection]
            total += len(block.places) * lines * block.column_dtype.itemsize
        total += sum(len(block.places) * lines * 8 for block, lines in zip(binding.outputs, rows_by(rules, rows)))
    return total


def _bytes(tensor: torch.Tensor) -> bytes:
    return tensor.clone(memory_format=torch.contiguous_format).flatten().view(torch.uint8).numpy().tobytes()


def _planes(block: Block, argument: torch.Tensor) -> torch.Tensor:
    """The planes of an input in the order of its columns; of scalars one number each."""
    (given,) = block.input_arguments()
    planes = argument[[(place - given.first) // given.step for place in block.places]]
    return planes[:, :1] if block.kind == "scalar" else planes
