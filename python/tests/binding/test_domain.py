# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Made-up rows lie where a model gives finite numbers; where it gives none, that is said and counts as no check."""

import math
from dataclasses import replace

import pytest
import torch

from exporting import CASES, THREE_TO_TWO, Module, bind, block
from tensoa import just_in_time
from tensoa.binding import domain
from tensoa.binding.columns import EVERYWHERE, REAL_ROWS, Columns, moved
from tensoa.binding.domain import made_up, with_domain
from tensoa.binding.model import with_examples
from tensoa.errors import InputError
from tensoa.export import Options, export
from tensoa.package import archive
from tensoa.package.checks import Differs, validate

RULES = [{"collection": 0}]
FINITE = "made-up rows are where the model gives finite numbers: "
UNCHECKED = (
    "the model gives hardly any finite numbers for all rows that were made up; export with --example, rows that the model is "
    "made for"
)


def two(*results):
    return torch.stack(results, 1)


#: Each gives finite numbers in less than a quarter of the rows that are normally distributed.
MODELS = {
    "logarithms": lambda m, x: two(x.log().sum(1), (x[:, 0].log() + x[:, 1].log()) * x[:, 2].log10()),
    "root of a threshold": lambda m, x: torch.sqrt(x[:, :2] - 50),
    "root of what is below": lambda m, x: torch.sqrt(-x[:, :2] - 3),
    "acos": lambda m, x: torch.acos(8 * x[:, :2]) + torch.asin(8 * x[:, 2:]),
    "log1p of negative": lambda m, x: torch.log1p(-8 * x[:, :2].abs()),
    "power of a fraction": lambda m, x: (x[:, :2] - 4) ** 0.3,
    "division by differences": lambda m, x: two(
        *2 * [(x[:, 0] / (x[:, 0] - x[:, 1] - 5)).log() / (x[:, 2] - x[:, 1] - 5).sqrt()]
    ),
    "different domains": lambda m, x: two(x[:, 0].log() + (1 - x[:, 1] ** 2).sqrt(), torch.acosh(x[:, 2]) - (-x[:, 1]).rsqrt()),
    "mass": lambda m, x: two(*2 * [(x[:, 0] ** 2 - 100 * x[:, 1] ** 2 - 100 * x[:, 2] ** 2).sqrt()]),
    "window": lambda m, x: two(torch.acos((x[:, 0] - 100) / 2), (x[:, 1] + 100).log() * (x[:, 2] + 500).sqrt()),
    "all rows together": lambda m, x: (x.log().mean(0) * x)[:, :2],
}


def share(module, columns, numbers="normal"):
    """Of finite numbers in the plane that has the fewest."""
    results = columns.call(module, Columns(columns, {0: 300}, (), "cpu", seed=5, numbers=numbers).inputs)
    return results[0].isfinite().double().mean(0).min().item()


@pytest.mark.parametrize("name", MODELS)
def test_rows_are_in_the_domain_of_the_model(name):
    module, columns = Module(MODELS[name]), bind(*THREE_TO_TWO)
    assert share(module, columns) < 0.25
    found, lines = with_domain(module, columns)
    assert share(module, found) > 0.6
    assert [line[: len(FINITE)] for line in lines] == [FINITE]
    assert found.text == columns.text


@pytest.mark.parametrize("name", ["logarithms", "different domains", "all rows together"])
def test_a_program_is_checked_in_the_domain_and_not_by_nothing(name):
    """A program that is wrong wherever the model gives a number."""
    module, columns = Module(MODELS[name]), bind(*THREE_TO_TWO)

    def run(data, rows):
        results = columns.call(module, data.inputs)[0].t()
        data.outputs[0][0].copy_(torch.where(results.isfinite(), results + 1, results))

    found, _ = with_domain(module, columns)
    with pytest.raises(Differs, match="differs from the model"):
        validate(run, module, found, RULES)


def test_where_most_numbers_are_finite_nothing_changes():
    for function in (lambda m, x: x @ m.weight, lambda m, x: x[:, :2].log()):
        columns = bind(*THREE_TO_TWO)
        assert with_domain(Module(function), columns) == (columns, [])


def test_the_search_is_done_once_for_a_model_and_its_columns():
    calls = []
    module = Module(lambda m, x: calls.append(None) or two((x[:, 0] - 5).log(), x[:, 1]))
    columns = bind(*THREE_TO_TWO)
    first, count = made_up(module, columns), len(calls)
    assert count > 1 and share(module, first[0]) > 0.6
    calls.clear()
    assert made_up(module, columns) is first and not calls
    assert made_up(module, bind(*THREE_TO_TWO)) is not first and len(calls) == count


def test_only_columns_that_need_it_have_a_range():
    module = Module(lambda m, x: two((x[:, 1] - 5).log(), x[:, 0] + x[:, 2]))
    columns, lines = with_domain(module, bind(*THREE_TO_TWO))
    assert columns.inputs[0].ranges == (EVERYWHERE, (64, math.inf), EVERYWHERE)
    assert lines == [FINITE + "y above 64"]


def test_one_column_of_many_is_found():
    """By what operations on the way give: the result is NaN until all are found."""
    names = [f"c{i}" for i in range(30)]
    columns = bind([block("x", names)], [block("y", "a")])
    module = Module(lambda m, x: ((x[:, ::3] - 2).log().sum(1) + torch.acos(x[:, 1::3] * 2).sum(1))[:, None] + x[:, 2:3])
    found, _ = with_domain(module, columns)
    assert share(module, found) == 1


def test_a_choice_among_nan_is_none():
    module = Module(lambda m, x: (x - 9).log().argmax(1, keepdim=True))
    columns = bind([block("x", "abc")], [block("y", "i", column_dtype="int64", dtype="int64")])
    assert with_domain(module, columns)[1] == [FINITE + "a, b, c above 64"]
    module = Module(lambda m, x: (-1 - x.abs()).log().argmax(1, keepdim=True))
    assert with_domain(module, columns)[1] == [f'not checked: block "y", i: {UNCHECKED}']


def test_integers_have_a_domain():
    columns = bind([block("x", "ab", column_dtype="int64", dtype="int64")], [block("y", "c")])
    module = Module(lambda m, x: (-x).float().log().sum(1, keepdim=True))
    found, lines = with_domain(module, with_examples(module, columns))
    assert found.inputs[0].integers == (-63, -1) and lines == [FINITE + "a, b from -63 to -1"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("ends", [(0, math.inf), (-math.inf, -64), (-1, 1), (98, 102)])
def test_numbers_of_all_kinds_are_moved_and_stay_equal(ends, dtype):
    name = str(dtype).removeprefix("torch.")
    columns = bind([block("x", "abc", column_dtype=name, dtype=name)], [block("y", "c")])
    columns = replace(columns, inputs=tuple(replace(one, ranges=(ends,) * 3) for one in columns.inputs))
    for kind in ("normal", "small", "large", "special", *REAL_ROWS):
        numbers = Columns(columns, {0: 100}, (), "cpu", numbers=kind).inputs[0]
        is_missing = numbers.isnan()
        assert is_missing.any() == (kind == "missing")
        assert ((numbers >= ends[0]) & (numbers <= ends[1]) | is_missing).all()
        if kind == "equal":
            assert (numbers[0, ::4] == numbers[1, ::4]).all()
    assert moved(torch.tensor([-3.0, torch.nan]), (0, math.inf))[0] == 3


NOWHERE = Module(lambda m, x: torch.stack([x[:, 0] / (x[:, 0] - x[:, 0]), x[:, 1]], 1))
NEVER = Module(lambda m, x: torch.log(-x[:, :2].abs() - 1))


def test_what_is_finite_nowhere_is_reported_and_is_not_a_check(tmp_path):
    lines = []
    export(NOWHERE, bind(*THREE_TO_TWO), tmp_path / "p.pt2", Options(report=lines.append))
    assert lines[0] == f'not checked: block "preds", m: {UNCHECKED}'
    assert archive.read(tmp_path / "p.pt2")[1]["checks"]  # of the other column
    export(NEVER, bind(*THREE_TO_TWO), tmp_path / "p.pt2", Options(report=lines.append))
    manifest = archive.read(tmp_path / "p.pt2")[1]
    assert f'not checked: block "preds", m, n: {UNCHECKED}' in lines
    assert manifest["checks"] == [] and manifest["recorded"]["cases"] == []


def test_examples_outside_the_domain_are_said():
    columns = bind(*THREE_TO_TWO)
    inputs = tuple(replace(one, examples=torch.full((3, 5), -2.0)) for one in columns.inputs)
    _, lines = with_domain(Module(lambda m, x: x[:, :2].log()), replace(columns, inputs=inputs))
    assert lines == [
        'not checked: block "preds", m, n: the model gives hardly any finite numbers for the rows of --example; export with '
        "other --example, rows that the model is made for"
    ]


def test_a_package_in_the_domain_is_checked_with_all_kinds(tmp_path):
    lines = []
    export(Module(MODELS["logarithms"]), bind(*THREE_TO_TWO), tmp_path / "p.pt2", Options(report=lines.append))
    assert lines[0] == FINITE + "x, y, z above 0" and lines[1].startswith("fused into")
    checks = archive.read(tmp_path / "p.pt2")[1]["checks"]
    assert [(check["numbers"], check["rows"]) for check in checks] == CASES


def test_a_search_ends_with_its_time_at_the_best_that_it_has(monkeypatch):
    module, calls = Module(lambda m, x: calls.append(0) or MODELS["logarithms"](m, x)), []
    monkeypatch.setattr(domain, "MOST_SECONDS", 0.0)
    found, lines = with_domain(module, bind(*THREE_TO_TWO))
    assert len(calls) == 1 and found == bind(*THREE_TO_TWO)
    assert lines.pop().endswith("finite numbers ended after 1000 calls or 0 s of CPU; give some with --example")
    assert all(UNCHECKED in line for line in lines)


# ---- just in time


def test_just_in_time_compares_in_the_domain(tmp_path):
    lines = []
    just_in_time.write(Module(MODELS["logarithms"]), bind(*THREE_TO_TWO), tmp_path / "j.pt2", lines.append)
    assert lines[0] == FINITE + "x, y, z above 0" and "relative error to the module 0.0e+00" in lines[1]
    just_in_time.write(NEVER, bind(*THREE_TO_TWO), tmp_path / "j.pt2", lines.append)
    assert lines[2] == f'not checked: block "preds", m, n: {UNCHECKED}' and lines[3].endswith("not compared with the module")


@pytest.mark.parametrize("wrong", [lambda y: y * 0, lambda y: y.nan_to_num(0.0), lambda y: y + torch.nan])
def test_just_in_time_finds_wrong_numbers_next_to_nan(wrong, tmp_path, monkeypatch):
    """NaN in the model's numbers hid all others, and NaN in the program's was not a difference."""

    def loaded(path):
        program = load(path)
        program.module = lambda: lambda x: wrong(x[:, :2].log())
        return program

    load = torch.export.load
    monkeypatch.setattr(torch.export, "load", loaded)
    with pytest.raises(InputError, match="its program gives other numbers than the model"):
        just_in_time.write(Module(lambda m, x: x[:, :2].log()), bind(*THREE_TO_TWO), tmp_path / "j.pt2", lambda line: None)
