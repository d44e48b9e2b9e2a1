# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The part of ONNX that is read: the node tests of the backend test suite of the package `onnx`, each on an OnnxModule.

A test names the opset in which its operator changed last, so one below 11 holds for all that are read. Tests of opsets
after 21 are run too, as opset 21, where onnx takes them so: they are counted by themselves.
"""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import torch
from onnx import checker, numpy_helper

from tensoa.errors import InputError, first_line
from tensoa.importers.onnx import read
from tensoa.importers.onnx.graph import array_of_tensor, tensor_of
from tensoa.importers.onnx.module import OnnxModule
from tensoa.importers.onnx.operators import OPERATORS, tensorflow

PASSED, WRONG, REFUSED = "passed", "wrong", "refused"
HALVES = {"float16": 2.0**-10, "bfloat16": 2.0**-7}  # from 1 to the next number: two of these may differ, whatever a test says
HEAD = """# Operators of ONNX

Written by `python -m tensoa.importers.onnx --coverage > docs/onnx_operators.md`, with the node tests of onnx {version} and
torch {torch}. A model with another operator, attribute or type is refused when it is read or exported, and the
message names the node.

A test passes where the module gives the expected numbers, of the expected type and shape. It is refused where the module
says that it does not take the model: strings, sequences, types that torch lacks (float8, int4), training, losses, loops,
negative indices that are not constants for GatherElements and ScatterElements, conditions that depend on the inputs.
Tests of opset 1 to 10 are of operators that have not changed since. Half precision may differ by two units in the last place.

| tests of | number | passed | wrong | refused | share that passes |
| --- | --- | --- | --- | --- | --- |
"""


@dataclass
class Outcome:
    """Of one test. `operators`: those of its nodes, more than one where it is the function that an operator stands for;
    `is_later`: of an opset after 21.
    """

    name: str
    operators: tuple[str, ...]
    is_later: bool
    result: str
    reason: str = ""


def outcomes(names: Iterable[str] | None = None) -> Iterator[Outcome]:
    """Of the tests of opset 1 to 21, and of those of later ones that opset 21 has; of some `names` only, or of all."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = load_model_tests(kind="node")
        chosen = None if names is None else set(names)
        for test in tests:
            if chosen is None or test.name in chosen:
                model = _as_read(test.model)
                if model is not None:
                    yield _outcome(test, *model)


def _as_read(model: Any) -> tuple[onnx.ModelProto, bool] | None:
    """(the model in an opset that is read, whether it had a later one), None where there is no such."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    entries = [entry for entry in copy.opset_import if entry.domain in ("", "ai.onnx")]
    if any(entry.domain not in ("", "ai.onnx", "ai.onnx.ml") for entry in copy.opset_import) or not entries:
        return None
    version = entries[0].version
    if read.FIRST <= version <= read.LAST:
        return copy, False
    for entry in entries:
        entry.version = read.LAST
    if version > read.LAST:
        try:
            checker.check_model(copy, full_check=True)
        except Exception:  # onnx throws many kinds
            return None
    return copy, version > read.LAST


def _outcome(test: Any, model: onnx.ModelProto, is_later: bool) -> Outcome:
    operators = tuple(sorted({node.op_type for node in model.graph.node}))
    outcome = Outcome(test.name, operators, is_later, PASSED)
    try:
        module = OnnxModule(*read.graph(model, test.name))
        for inputs, expected in test.data_sets:
            names = [value.name for value in test.model.graph.input]
            given = {name: tensor_of(_array(one)) for name, one in zip(names, inputs)}
            with torch.no_grad():
                results = module(**{name: given[name] for name in module.argument_names})
            results = results if isinstance(results, tuple) else (results,)
            for result, one in zip(results, expected):
                _compare(array_of_tensor(result), _array(one), test)
    except InputError as error:
        outcome.result, outcome.reason = REFUSED, first_line(error)
    except AssertionError as error:
        outcome.result, outcome.reason = WRONG, " ".join(str(error).split())[:300]
    return outcome


def page(all_outcomes: Iterable[Outcome]) -> Iterator[str]:
    """The lines of docs/onnx_operators.md."""
    found = list(all_outcomes)
    yield from HEAD.format(version=onnx.__version__, torch=torch.__version__.partition("+")[0]).splitlines()
    for title, is_later in (("opset 1 to 21", False), ("later opsets, read as 21", True)):
        counts = Counter(one.result for one in found if one.is_later == is_later)
        total = counts.total()
        share = f"{100 * counts[PASSED] / total:.1f} %" if total else "-"
        yield f"| {title} | {total} | {counts[PASSED]} | {counts[WRONG]} | {counts[REFUSED]} | {share} |"
    yield from ("", "## Operators that are read", "", "| operator | passed | wrong | refused |", "| --- | --- | --- | --- |")
    own = sorted(key for key in OPERATORS if key[0] != tensorflow.DOMAIN)
    for domain, name in own:
        counts = Counter(one.result for one in found if one.operators == (name,))
        yield f"| {f'{domain}.{name}' if domain else name} | {counts[PASSED]} | {counts[WRONG]} | {counts[REFUSED]} |"
    known = {name for _, name in own}
    others = Counter(one.operators[0] for one in found if len(one.operators) == 1 and one.operators[0] not in known)
    yield from ("", "## Operators that have tests and are refused", "")
    yield ", ".join(f"{name} ({count})" for name, count in sorted(others.items()))


def _array(value: object) -> np.ndarray:
    if isinstance(value, onnx.TensorProto):
        value = numpy_helper.to_array(value)
    if not isinstance(value, (np.ndarray, np.generic)):
        raise InputError(f"a {type(value).__name__}, expected a tensor")
    return np.array(value)


def _compare(got: np.ndarray, expected: np.ndarray, test: Any) -> None:
    """Raises AssertionError."""
    rtol = max(test.rtol, 2 * HALVES.get(expected.dtype.name, 0.0))
    if expected.dtype.name == "bfloat16":
        expected = expected.astype(np.float32)
    assert got.dtype == expected.dtype, f"got {got.dtype}, expected {expected.dtype}"
    assert got.shape == expected.shape, f"got the shape {got.shape}, expected {expected.shape}"
    if got.dtype.kind == "f":
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=test.atol)
    else:
        np.testing.assert_array_equal(got, expected)
