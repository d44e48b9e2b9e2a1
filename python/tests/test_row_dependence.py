# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Whether rows depend on each other, compared with calls in float64 in which one row is another one."""

import warnings
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from row_models import ALONE, STEPS, STEPS_WITH_OTHERS, TOGETHER, WIDTH, Function, RandomSteps, oracle_sees_dependence
from tensoa import binding, row_numbers
from tensoa.binding.columns import ROWS
from tensoa.binding.model import result_rows, with_examples, with_lengths
from tensoa.compiler.frontend import exported_program
from tensoa.row_dependence import DEPENDENT, INDEPENDENT, UNKNOWN, Found, row_dependence


def block(name: str, columns: int = WIDTH, dtype: str = "float32", collection: int = 0, shape: str = "rows") -> dict:
    names = [{"name": f"{name}{i}", "plane": i} for i in range(columns)]
    return {
        "name": name,
        "collection": collection,
        "shape": shape,
        "kind": "plain",
        "element": [],
        "columns": names,
        "column_dtype": dtype,
        "dtype": dtype,
    }


def found(module: nn.Module, inputs: list[dict], outputs: list[dict]) -> Found:
    module = module.eval().requires_grad_(False)
    columns = binding.parse({"schema": 1, "match": "order", "inputs": inputs, "outputs": outputs})
    columns, _ = with_lengths(module, columns)
    columns = with_examples(module, columns)
    rules = result_rows(module, columns, "cpu")
    return row_dependence(exported_program(module, columns), columns, rules)


def of_floats(function: Callable | nn.Module, width: int = WIDTH) -> Found:
    module = function if isinstance(function, nn.Module) else Function(function)
    with torch.no_grad():
        outputs = module.eval()(torch.randn(ROWS[0], width))
    columns = outputs.shape[1] if outputs.dim() > 1 else 1
    return found(module, [block("x", width)], [block("y", columns)])


@pytest.mark.parametrize("name", ALONE)
def test_models_that_calculate_each_row_alone_are_proven(name):
    assert of_floats(ALONE[name]) == Found(INDEPENDENT)


@pytest.mark.parametrize("name", TOGETHER)
def test_what_makes_rows_dependent_is_named_with_the_line_of_the_author(name):
    function, reason = TOGETHER[name]
    got = of_floats(function)
    assert got.answer == DEPENDENT and reason in got.reason, got
    if name not in ("attention", "one for all"):
        assert "at row_models.py:" in got.reason


def test_rows_of_several_blocks_are_those_of_one_collection():
    blocks = [block("x"), block("z", 2)]
    assert found(Function(lambda x, z: x[:, :2] * z), blocks, [block("y", 2)]).answer == INDEPENDENT


def test_rows_of_several_collections_are_each_their_own():
    blocks = [block("hits"), block("edges", 2, "int64", collection=1)]
    both = [block("y"), block("z", 2, "int64")]
    assert found(Function(lambda x, e: (x * 2, e + 1)), blocks, both).answer == INDEPENDENT

    def messages(x, e):
        return torch.zeros_like(x).index_add(0, e[:, 0], x[e[:, 1]])

    assert found(Function(messages), blocks, [block("y")]).answer == DEPENDENT

    def scores(x, e):
        return x[e[:, 0]] * x[e[:, 1]]

    got = found(Function(scores), blocks, [block("y")])
    assert got.answer == DEPENDENT and "by an index of other rows" in got.reason


def test_columns_as_rows_of_the_tensor_have_their_rows_in_the_other_dimension():
    sides = [block("x", shape="columns")], [block("y", shape="columns")]
    assert found(Function(lambda x: x.softmax(0)), *sides).answer == INDEPENDENT
    assert found(Function(lambda x: x.softmax(1)), *sides).answer == DEPENDENT


def test_tables_and_categories_are_of_each_row():
    integers = [block("i", 1, "int64")]
    table = nn.Embedding(20, 3)
    assert found(Function(lambda i: table(i[:, 0].clamp(0, 19))), integers, [block("y", 3)]).answer == INDEPENDENT
    one_hot = Function(lambda i: F.one_hot(i[:, 0].clamp(0, 3), 4).float())
    assert found(one_hot, integers, [block("y", 4)]).answer == INDEPENDENT


def test_an_operator_that_no_rule_follows_proves_nothing():
    library = torch.library.Library("tensoa_test_rows", "DEF")
    library.define("relu(Tensor x) -> Tensor")  # the name of one that has a rule
    library.impl("relu", lambda x: x - x.mean(0), "CompositeExplicitAutograd")
    got = of_floats(lambda x: torch.ops.tensoa_test_rows.relu(x))
    assert got.answer == UNKNOWN and "tensoa_test_rows.relu" in got.reason


# ---- the number of rows


@pytest.mark.parametrize(
    "is_few",
    [lambda n: n == 5, lambda n: n != 9, lambda n: n % 7 == 0, lambda n: n * 4 < 100, lambda n: n > 4, lambda n: n // 8 > 2],
)
def test_a_branch_on_the_number_of_rows_proves_nothing(is_few):
    got = of_floats(lambda x: x * 2 if is_few(x.shape[0]) else x * 3)
    assert got.answer != INDEPENDENT and "number of rows" in got.reason


@pytest.mark.parametrize(
    "condition, always",
    [
        ("min({x}, 3*{x}) == {x}", True),
        ("2*{x} > {x}", True),
        ("{x} != 5", False),
        ("{x} % 7 == 0", False),
        ("{x} == {y}", False),
        ("{x} < 100", False),
        ("unheard_of({x}) == {x}", False),
    ],
)
def test_a_condition_that_holds_for_any_number_of_rows_is_not_a_branch(condition, always):
    words = condition.format(x="L['x'].size()[0]", y="L['y'].size()[0]")
    sizes = {"L['x'].size()[0]": "size0", "L['y'].size()[0]": "size1"}
    assert row_numbers._holds_always(words, sizes) is always


def test_conditions_that_others_imply_are_no_branches():
    """torch 2.15 also has the condition that a broadcast argument has one row or the rows of the other."""
    columns = binding.parse(
        {"schema": 1, "match": "order", "inputs": [block("x"), block("y", collection=1)], "outputs": [block("z")]}
    )
    program = exported_program(Function(lambda x, y: x * 2 + y.sum(0)), columns)
    x, y, z = (f"L['tensors'][{i}].size()[0]" for i in range(3))

    def branches(*conditions):
        program._guards_code = list(conditions)
        return [*row_numbers.branches(program, columns)]

    assert branches(f"{z} == {x} or {x} == 1", f"{z} == {x}") == []
    assert branches(f"{x} == {z}", f"{z} == 1 or {x} == {z} and {x} <= {z}") == []
    assert branches(f"{y} == {x} or {x} == 1") == ["rows == rows or rows == 1"]
    assert branches(f"{x} == {z}", f"{x} == {z} and {x} == {y}") == ["rows == rows and rows == rows"]


def test_blocks_of_one_collection_are_equally_long_in_conditions():
    """scatter takes no more rows of an index than of what it scatters; torch.export does not see that these are equal."""

    def scattered(x, index, edges):
        return torch.zeros_like(x).scatter_reduce(0, index.expand(-1, 3), edges, "amax")

    inputs = [block("x"), block("index", 1, "int64", collection=1), block("edges", collection=1)]
    columns = binding.parse({"schema": 1, "match": "order", "inputs": inputs, "outputs": [block("y")]})
    program = exported_program(Function(scattered), columns)
    (condition,) = program._guards_code
    assert "<=" in condition and [*row_numbers.branches(program, columns)] == []
    inputs[2]["collection"] = 2
    assert [*row_numbers.branches(program, binding.parse(columns.text))] == ["rows <= rows"]


def test_a_branch_of_a_saved_program_is_still_known(tmp_path):
    columns = binding.parse({"schema": 1, "match": "order", "inputs": [block("x")], "outputs": [block("y")]})
    program = exported_program(Function(lambda x: x * 2 if x.shape[0] % 7 == 0 else x), columns)
    torch.export.save(program, tmp_path / "model.pt2")
    got = row_dependence(torch.export.load(tmp_path / "model.pt2"), columns, [{"collection": 0}])
    assert got.answer == UNKNOWN and "rows % 7" in got.reason


def test_a_branch_of_torch_may_hide_one_of_the_author():
    """From 26 rows on torch's distances are products, so that torch.export does not ask whether there are 5 any more."""
    got = of_floats(lambda x: torch.cdist(x, torch.eye(4)) * (1 if x.shape[0] == 5 else 2))
    assert got.answer == UNKNOWN and "a number of rows that is not any" in got.reason


# ---- other collections


TWO = [block("x"), block("e", 2, collection=1)]


# ---- random programs against the oracle


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_random_programs_are_never_called_independent_where_a_row_changes_another(first):
    answers = []
    for seed in range(first, first + 20):
        module = RandomSteps(seed)
        got = of_floats(module)
        is_seen = oracle_sees_dependence(module)
        assert not (got.answer == INDEPENDENT and is_seen), (seed, got)
        answers.append((got.answer, is_seen))
    assert (INDEPENDENT, False) in answers and (DEPENDENT, True) in answers  # both are among them


@pytest.mark.parametrize("i", range(len(STEPS)))
def test_each_step_is_judged_as_the_oracle_sees_it(i):
    for seed in range(4):
        module = RandomSteps(0)
        module.steps = [(STEPS[i], seed)]
        got = of_floats(module)
        assert (got.answer == INDEPENDENT) == (not oracle_sees_dependence(module)), (seed, got)


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_programs_of_two_collections_are_never_called_independent_where_one_changes_the_other(first):
    answers = []
    for seed in range(first, first + 20):
        module = RandomSteps(seed, has_others=True)
        got = found(module, TWO, [block("y")])
        is_seen = oracle_sees_dependence(module, has_others=True)
        assert not (got.answer == INDEPENDENT and is_seen), (seed, got)
        answers.append((got.answer, is_seen))
    assert (DEPENDENT, True) in answers


@pytest.mark.parametrize("i", range(len(STEPS_WITH_OTHERS)))
def test_each_step_of_two_collections_is_judged_as_the_oracle_sees_it(i):
    module = RandomSteps(0)
    module.steps = [(STEPS_WITH_OTHERS[i], 0)]
    got = found(module, TWO, [block("y")])
    assert (got.answer == INDEPENDENT) == (not oracle_sees_dependence(module, has_others=True)), got


def test_padding_that_shifts_rows_is_seen():
    assert of_floats(lambda x: F.pad(x.t(), (1, -1)).t()).answer == DEPENDENT
    assert of_floats(lambda x: F.pad(x, (1, -1))).answer == INDEPENDENT


def test_a_number_of_rows_as_the_end_of_a_slice_is_seen():
    columns = [block("x")], [block("y", 1)]
    assert found(Function(lambda x: x[:, : x.shape[0]].sum(1, keepdim=True)), *columns).answer != INDEPENDENT


def test_numbers_of_the_rows_of_another_collection_are_an_index_of_other_rows():
    blocks = [block("x"), block("e", collection=1)]
    module = Function(lambda x, e: x.repeat(9, 1)[torch.arange(e.shape[0])] * e)
    assert found(module, blocks, [block("y")]).answer != INDEPENDENT


# ---- what calls of few rows do not show


FEW = {
    "numbers in 8 bits": lambda x: x[torch.arange(x.shape[0]).to(torch.int8).long()],
    "numbers in half": lambda x: x[torch.arange(x.shape[0]).half().long()],
    "numbers made in half": lambda x: x[torch.arange(x.shape[0], dtype=torch.float16).long()],
    "the first thousand": lambda x: x[: 2 * 1000003],
    "the last thousand": lambda x: x[-2 * 1000003 :],
    "channels of all rows": lambda x: F.channel_shuffle(x.reshape(1, -1, 2, 1, 1), 2).reshape(-1, 4),
}


@pytest.mark.parametrize("name", FEW)
def test_what_calls_of_few_rows_do_not_show_is_found(name):
    assert of_floats(FEW[name]).answer != INDEPENDENT


def test_memory_that_all_rows_share_is_not_written_for_each():
    def shared(x):
        y = torch.zeros(1, WIDTH).expand(x.shape[0], WIDTH)
        y[x > 0] = 1.0
        return y + x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert of_floats(shared).answer != INDEPENDENT


def test_which_rule_an_operator_has_does_not_depend_on_those_before():
    assert of_floats(lambda x: torch.where(x > 0, x, 0.0)).answer == INDEPENDENT
    assert of_floats(lambda x: x + torch.where(x > 0)[0].sum()).answer != INDEPENDENT
