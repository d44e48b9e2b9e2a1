# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What is asked of a model before it is compiled, and of a program after that."""

import copy
from dataclasses import replace

import torch

from tensoa.columns import ROWS, Columns, as_double, bits, collections_of, rows_by
from tensoa.command import InputError, first_line

TOLERANCE = 1e-5  # relative, of float32; of other dtypes as much coarser as they are
CHECKED_ROWS = (0, 1, 2, 33, 1000)
LIMITS = (None, 100, 64, 50, 32, 20, 16, 10, 8, 6, 5, 4, 3, 2)  # of made-up integers, those that are tried

# Relative, ||a - b|| / ||b||, of a program on another machine, by the precision of its matrix products.
RECORDED_TOLERANCE = {None: 3e-5, "ieee": 3e-5, "tf32x3": 3e-5, "tf32": 3e-3, "bf16": 3e-2}


def results_of(module, binding, columns):
    """The results of the module itself. Raises InputError for what it cannot take or should not give."""
    before = [tensor.clone() for tensor in columns.memory]
    try:
        with torch.no_grad():
            results = binding.call(module, columns.inputs)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001: whatever the user's model throws
        raise InputError(
            f"the model fails on columns of the binding: {first_line(error)}; expected a model that takes "
            + ", ".join(f"{block.name} {list(block.shape('n'))}".replace("'", "") for block in binding.inputs)
        ) from error
    if any(not torch.equal(bits(a), bits(b)) for a, b in zip(before, columns.memory)):
        raise InputError("the model writes one of its inputs; expected one that leaves them alone: clone() it there")
    for block, result in zip(binding.outputs, results):
        block.check_result(result)
    return results


def with_examples(module, binding):
    """The binding, with integers to be made up that the model takes: for each block the largest of LIMITS. A table that is
    read with a column may have fewer rows than the collections that integers otherwise are rows of.
    """
    collections = collections_of(binding)
    rows = {collection: ROWS[2 * i] for i, collection in enumerate(collections)}

    def limited(limits):
        return replace(binding, inputs=tuple(replace(block, below=b) for block, b in zip(binding.inputs, limits)))

    def runs(limits):
        try:
            candidate = limited(limits)
            with torch.no_grad():
                candidate.call(module, Columns(candidate, rows, (), "cpu").inputs)
        except Exception:  # noqa: BLE001: whatever the user's model throws
            return False
        return True

    limits = [None] * len(binding.inputs)
    if len(collections) > len(ROWS) // 2 or runs(limits):
        return binding
    is_integer = [not (block.dtype.is_floating_point or block.dtype == torch.bool) for block in binding.inputs]
    limits = [1 if integer else None for integer in is_integer]
    if not any(is_integer) or not runs(limits):
        return binding  # it fails for another reason, which result_rows() tells
    for i in range(len(limits)):
        if is_integer[i]:
            limits[i] = next((b for b in LIMITS if runs([*limits[:i], b, *limits[i + 1 :]])), 1)
    return limited(limits)


def result_rows(module, binding, device):
    """The number of rows of each output: the position of the input collection that it follows, or a number."""
    collections = collections_of(binding)
    if not binding.inputs or not binding.outputs:
        raise InputError("the binding has no inputs or no outputs; expected at least one block of each")
    if len(collections) > len(ROWS) // 2:
        raise InputError(f"the binding has {len(collections)} input collections, at most {len(ROWS) // 2} are possible")
    seen = []
    for first in (0, 1):
        rows = {collection: ROWS[first + 2 * i] for i, collection in enumerate(collections)}
        results = results_of(module, binding, Columns(binding, rows, (), device))
        dimension = [1 if block.is_transposed else 0 for block in binding.outputs]
        seen.append((rows, [result.shape[at] for result, at in zip(results, dimension)]))
    rules = []
    for i, block in enumerate(binding.outputs):
        (rows, counts), (other_rows, other_counts) = seen
        follows = [c for c in collections if rows[c] == counts[i] and other_rows[c] == other_counts[i]]
        if follows:
            rules.append({"collection": follows[0]})
        elif counts[i] == other_counts[i]:
            rules.append({"rows": counts[i]})
        else:
            raise InputError(
                f'block "{block.name}": the model gave {counts[i]} rows for inputs of {list(rows.values())} rows; '
                "expected as many as one of the input collections has, or always the same number"
            )
    return rules


def _cases(binding, rules):
    """(number of rows, rows of each collection) of the calls that are tried; as GeneratedColumns of `tensoa check`."""
    for count in CHECKED_ROWS:
        rows = {collection: count * (1 + 2 * collection) for collection in collections_of(binding)}
        if count == 0 and not all(block.column_dtype.is_floating_point for block in binding.inputs):
            continue  # an index into nothing
        if sum(rows_by(rules, rows)) > 0:  # else nothing would run
            yield count, rows


def _exact(module):
    try:
        return copy.deepcopy(module).double()
    except Exception:  # noqa: BLE001: an exported program has fixed dtypes
        return None


def record(module, binding, rules, precision=None):
    """(entry of the manifest, files): inputs, and what the module gives for them, in float64 where it can do that. What
    `tensoa check` compares a package with, on the machine where it shall run.
    """
    exact, cases, files = _exact(module), [], {}
    dtypes = [block.dtype for block in (*binding.inputs, *binding.outputs) if block.dtype.is_floating_point]
    tolerance = max([RECORDED_TOLERANCE[precision], *(4 * torch.finfo(dtype).eps for dtype in dtypes)])
    for count, rows in _cases(binding, rules):
        columns = Columns(binding, rows, rules, "cpu", seed=count, is_whole=True)
        eager = [block.planes(result) for block, result in zip(binding.outputs, results_of(module, binding, columns))]
        truth = _truth(exact, binding, columns) or eager
        parts = [_planes(block, argument) for block, argument in zip(binding.inputs, columns.inputs)]
        parts += [result.double() for result in truth]
        files[f"check/{count}.bin"] = b"".join(_bytes(part) for part in parts)
        cases.append({"rows": count, "file": f"check/{count}.bin"})
        errors = [_norm_error(got, exactly) for got, exactly in zip(eager, truth)]
        tolerance = max([tolerance, *(4 * error for error in errors if error < float("inf"))])
    return {"tolerance": tolerance, "cases": cases}, files


def _bytes(tensor):
    return tensor.clone(memory_format=torch.contiguous_format).flatten().view(torch.uint8).numpy().tobytes()


def _planes(block, argument):
    """The planes of an input in the order of its columns; of scalars one number each."""
    planes = argument if len(argument) == len(block.places) else argument[block.places]
    return planes[:, :1] if block.kind == "scalar" else planes


def validate(run, module, binding, rules, is_whole=False):
    """Calls `run(columns, rows of each domain)` beside the module, in float32 and float64. Raises InputError where it
    differs too much.
    """
    exact = _exact(module)
    checks = []
    for count, rows in _cases(binding, rules):
        columns = Columns(binding, rows, rules, "cpu", seed=count, is_misaligned=count % 2 == 1, is_whole=is_whole)
        expected = [block.planes(result) for block, result in zip(binding.outputs, results_of(module, binding, columns))]
        truth = _truth(exact, binding, columns) or expected
        run(columns, list(rows.values()))
        if columns.changed():
            raise InputError(f"the package writes memory that is not its own at {count} rows; it is not written")
        check = {"rows": list(rows.values()), "relative_error": {}, "relative_error_eager": {}}
        for block, arguments, eager, exactly in zip(binding.outputs, columns.outputs, expected, truth):
            error, eager_error = (_relative_error(x, exactly) for x in (torch.cat(arguments), eager))
            check["relative_error"][block.name] = error
            check["relative_error_eager"][block.name] = eager_error
            dtypes = [b.dtype for b in (*binding.inputs, block) if b.dtype.is_floating_point]
            coarser = max([torch.finfo(dtype).eps / torch.finfo(torch.float32).eps for dtype in dtypes], default=1)
            if not error <= max(TOLERANCE * max(1, coarser), 4 * eager_error):
                raise InputError(
                    f'block "{block.name}": the package differs from the model by {error:.2e} (relative, at {count} '
                    f"rows, the model itself from float64 by {eager_error:.2e}), expected at most {TOLERANCE:.0e}; "
                    "it is not written"
                )
        checks.append(check)
    return checks


def _truth(exact, binding, columns):
    """The results in float64, as planes, or None where the model has fixed dtypes."""
    if exact is None:
        return None
    try:
        with torch.no_grad():
            results = binding.call(exact, columns.inputs, convert=as_double)
    except Exception:  # noqa: BLE001: a model may insist on its dtypes
        return None
    return [block.planes(result) for block, result in zip(binding.outputs, results)]


def _relative_error(got, expected):
    """The largest difference over the largest number; infinity where one is not finite and the other is."""
    got, expected = got.double(), expected.double()
    if got.numel() == 0:
        return 0.0
    finite = torch.isfinite(expected)
    if not torch.equal(torch.isfinite(got), finite):
        return float("inf")
    scale = expected[finite].abs().max().item() if finite.any() else 0.0
    difference = (got[finite] - expected[finite]).abs().max().item() if finite.any() else 0.0
    return difference / scale if scale > 0 else difference


def _norm_error(got, expected):
    """||a - b|| / ||b||; infinity where that is no number."""
    difference, norm = (got.double() - expected.double()).norm().item(), expected.double().norm().item()
    return 0.0 if difference == 0 else difference / norm if norm > 0 and difference < float("inf") else float("inf")
