# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The comparisons of a program, and the records in a package."""

import re

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest
import torch
from torch import nn

from exporting import CASES, THREE_TO_TWO, Module, bind, block, refusal
from tensoa.binding import examples
from tensoa.binding.columns import NORMAL, SPECIAL, Columns
from tensoa.binding.model import with_examples
from tensoa.binding.real_rows import TIED
from tensoa.compiler import cpu, inductor, routes
from tensoa.compiler.cpu import library
from tensoa.compiler.cpu.processors import CPU_FLAGS, cpu_flags
from tensoa.compiler.frontend import exported_program, sums, values
from tensoa.compiler.frontend.values import apply, cast
from tensoa.errors import InputError
from tensoa.export import Options, export
from tensoa.export import _by_inductor as of_inductor
from tensoa.package import archive, cases, fused
from tensoa.package.cases import KINDS, Cases, cases_of
from tensoa.package.checks import Differs, validate
from tensoa.package.float64 import near_in_double
from tensoa.package.judging import MOST_OF_LAST_PLACE, Right, is_as_far_from_itself
from tensoa.package.recorded import RECORDED_BYTES, record, summary_lines

# ---- programs that are compared with their model


def pretend_package(module, columns, spoil):
    """Packages whose program is the module itself, after which `spoil(inputs, outputs)` acts."""

    def run(data, rows):
        inductor.Program(module, columns)(data.inputs, data.outputs)
        spoil(data.inputs, data.outputs[0])

    with torch.no_grad():
        return validate(run, module, columns, [{"collection": 0}])


def compiled_as(module, spoil, monkeypatch, lines):
    """Checks of a program of TorchInductor that is the module itself, after which `spoil(inputs, outputs)` acts."""
    columns = bind(*THREE_TO_TWO)

    def run(data, rows):
        inductor.Program(module, columns)(data.inputs, data.outputs)
        spoil(data.inputs, data.outputs[0])

    made = inductor.Compiled({}, [], run=run)
    monkeypatch.setattr(inductor, "compile", lambda *arguments: made)
    with torch.no_grad():
        return of_inductor(Cases(module, columns, [{"collection": 0}]), Options(report=lines.append), "")


def without_nan(inputs, outputs):
    outputs[0].nan_to_num_(0.0)


def test_nan_that_a_program_loses_is_not_written(monkeypatch):
    with pytest.raises(Differs, match="rows of missing numbers"):
        compiled_as(Module(lambda m, x: x @ m.weight), without_nan, monkeypatch, [])


def test_nan_that_the_model_has_by_its_layout_is_said_and_recorded(monkeypatch):
    def by_layout(m, x):
        found = x @ m.weight
        return found if x.is_contiguous() else found.nan_to_num(0.0)

    lines = []
    found = compiled_as(Module(by_layout), without_nan, monkeypatch, lines)
    assert found.differs == lines and "rows of missing numbers" in lines[0]
    assert "missing" not in [check.numbers for check in found.checks]


def test_checks_several_numbers_of_rows():
    module = Module(lambda m, x: x @ m.weight)
    found = pretend_package(module, bind(*THREE_TO_TWO), lambda inputs, outputs: None)
    assert [(check.numbers, check.rows) for check in found] == CASES
    assert all(check.relative_error["preds"] < 1e-6 for check in found)


def test_no_rows_are_tried_where_there_are_results_nevertheless():
    def each(m, x):
        return x @ m.weight

    def total(m, x):
        return each(m, x).sum(0, keepdim=True)

    for function, rule, expected in ((total, {"rows": 1}, [0, 1, 2, 33, 1000]), (each, {"collection": 0}, [1, 2, 33, 1000])):
        recorded, _ = record(Module(function), bind(*THREE_TO_TWO), [rule])
        assert [case.rows for case in recorded.cases if case.numbers == "normal"] == expected


def right_of(function, kind):
    columns = bind(*THREE_TO_TWO)
    return Right(list(cases_of(Module(function), columns, [{"collection": 0}], kinds=(kind,))), 0)


def test_hard_numbers_count_half_a_unit_of_inputs_and_weights():
    """Not of normal numbers, at most 1e-5, not of what is exact."""
    hard = right_of(lambda m, x: x @ m.weight, SPECIAL)
    assert (hard.change > 1e-9).all() and (hard.change < 1e-6).all() and (hard.own_error >= hard.change).all()
    assert (right_of(lambda m, x: torch.sin(x @ (1e3 * m.weight)), SPECIAL).change == 1e-5).all()
    assert (right_of(lambda m, x: x @ m.weight, NORMAL).change == 0).all()
    assert (right_of(lambda m, x: torch.where(x[:, :2] < 1, 1.0, 2.0), SPECIAL).own_error == 0).all()


def steep_beyond(limit):
    """In the rows beyond it half a unit in the last place of an input changes the answer; float32 itself does not."""

    def function(m, x):
        factor = torch.where(x[:, :1] > limit, 2.0**20, 1.0)
        return torch.sin(x[:, :1] * factor).expand(-1, 2).clone()

    return Module(function)


def spoil_rows(where, by):
    def spoil(inputs, outputs):
        if inputs[0].shape[1] == 1000 and inputs[0].abs().max() < 10:  # of normal numbers
            outputs[0][:, where(inputs[0][0])] += by

    return spoil


def test_few_rows_may_differ_as_the_model_does_from_itself():
    steep, row = steep_beyond(3.3), lambda x: x > 3.3  # two rows of a thousand
    found = pretend_package(steep, bind(*THREE_TO_TWO), spoil_rows(row, 0.05))
    errors = [check.relative_error["preds"] for check in found if check.numbers == NORMAL]
    assert 0.04 < max(errors) < 0.06  # what is found is recorded
    message = "differs from the model by .* at 1000 rows;"
    for spoil in (spoil_rows(row, 5.0), spoil_rows(lambda x: x.argmin(), 0.05), spoil_rows(row, torch.nan)):
        with pytest.raises(InputError, match=message):
            pretend_package(steep, bind(*THREE_TO_TWO), spoil)
    with pytest.raises(InputError, match=message):
        pretend_package(steep_beyond(2.9), bind(*THREE_TO_TWO), spoil_rows(lambda x: x > 2.9, 0.05))


def test_an_ill_conditioned_row_excuses_no_other_kind_of_number():
    """Infinite in one plane of a row whose other plane is ill-conditioned."""

    def function(m, x):
        steep = torch.sin(x[:, 0] * torch.where(x[:, 0] > 3.3, 2.0**20, 1.0))
        return torch.stack([steep, torch.where(x[:, 0] > 3.3, torch.inf, x[:, 0])], 1)

    def spoil(inputs, outputs):
        if inputs[0].shape[1] == 1000 and inputs[0].abs().max() < 10:
            rows = inputs[0][0] > 3.3
            outputs[0][0, rows] += 0.05
            outputs[0][1, rows] = 7.0

    with pytest.raises(InputError, match="at 1000 rows"):
        pretend_package(Module(function), bind(*THREE_TO_TWO), spoil)


def test_every_plane_is_judged_by_itself():
    """A probability next to an energy."""

    def both(m, x):
        return torch.stack([1e5 * x.exp().sum(1), torch.sigmoid(x[:, 0])], 1)

    def spoil(inputs, outputs):
        outputs[0][1].mul_(1.001)

    with pytest.raises(InputError, match=r'block "preds", column n: the package differs from the model by 1.00e-03'):
        pretend_package(Module(both), bind(*THREE_TO_TWO), spoil)


@pytest.mark.parametrize(
    "wrong, numbers",
    [
        (lambda x: torch.where(x.abs() < 1e-4, 0, x), "small"),
        (lambda x: x.clamp(-1e4, 1e4), "large"),
        (lambda x: torch.where(x.abs().log2() % 1 == 0, x * 2, x), "special"),
        (lambda x: torch.where(x == 0, 1, x), "special"),
    ],
)
def test_numbers_of_many_magnitudes_zeros_and_powers_of_two_are_tried(wrong, numbers):
    def spoil(inputs, outputs):
        outputs[0].copy_(wrong(inputs[0][:2]))

    with pytest.raises(InputError, match=f"at 100 rows of {numbers} numbers"):
        pretend_package(Module(lambda m, x: x[:, :2].clone()), bind(*THREE_TO_TWO), spoil)


WHOLE = bind([block("k", "k", column_dtype="int64", dtype="int64")], [block("preds", "m")])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda k: k.clamp(min=0),
        lambda k: k.clamp(max=2**62),
        lambda k: torch.where(k == 0, 1, k),
        lambda k: torch.where(k == -(2**63), 0, k),
        lambda k: k.to(torch.int16),
    ],
)
def test_integers_have_negatives_zeros_and_extremes_where_the_model_takes_them(wrong):
    module = Module(lambda m, k: k.float())
    columns = with_examples(module, WHOLE)
    assert columns.inputs[0].integers == (-(2**63), 2**63 - 1)
    pretend_package(module, columns, lambda inputs, outputs: None)
    with pytest.raises(InputError, match="the package differs from the model"):
        pretend_package(module, columns, lambda inputs, outputs: outputs[0].copy_(wrong(inputs[0]).float()))


LARGER = bind([block("k", "ab", column_dtype="int64", dtype="int64")], [block("at", "i", column_dtype="int64", dtype="int64")])


def test_neighbours_that_are_one_number_in_float32_are_tried():
    module = Module(lambda m, k: k.argmax(1))
    columns = with_examples(module, LARGER)
    pretend_package(module, columns, lambda inputs, outputs: None)
    with pytest.raises(InputError, match="at 100 rows of special numbers"):
        pretend_package(module, columns, lambda inputs, outputs: outputs[0].copy_(inputs[0].float().argmax(0)))


def test_no_choice_between_integers_may_be_wrong():
    """One row of a thousand, which may be where the model gets floats."""

    def spoil(inputs, outputs):
        if outputs[0].shape[1] == 1000:
            outputs[0][0, 7] += 1

    module = Module(lambda m, k: k.argmax(1))
    with pytest.raises(InputError, match="differs from the model by 1.00e-03 .*expected at most 0.00e"):
        pretend_package(module, with_examples(module, LARGER), spoil)
    floats = bind(THREE_TO_TWO[0], LARGER.text["outputs"])
    for function, model, expected in ((Module(lambda m, x: x.argmax(1)), floats, 2e-3), (module, LARGER, 3e-5)):
        for case in record(function, with_examples(function, model), [{"collection": 0}])[0].cases:
            assert case.tolerances == [[expected]]
    pretend_package(Module(lambda m, x: x.argmax(1)), floats, spoil)


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda m, k: m.table(k), (0, 3)),
        (lambda m, k: m.table(k + 1), (-1, 2)),
        (lambda m, k: m.table(k.clamp(-1, 2) + 1), (-(2**63), 2**63 - 1)),
        (lambda m, k: k.float()[k.squeeze(1)], None),  # rows, which are never negative though torch takes that
    ],
)
def test_integers_stay_within_what_a_table_or_an_index_takes(function, expected):
    module = Module(function)
    module.table = nn.Embedding(4, 1)
    columns = with_examples(module, bind(WHOLE.text["inputs"], WHOLE.text["outputs"]))
    assert columns.inputs[0].integers == expected
    for rows in (1, 2, 1000):
        drawn = Columns(columns, {0: rows}, (), "cpu").inputs[0]
        low, high = expected or (0, rows - 1)
        assert low <= drawn.min() and drawn.max() <= high
        if expected and rows > 1 and high < 2**62:
            assert (drawn.min(), drawn.max()) == expected


def test_a_mask_leaves_something_and_masks_something():
    columns = bind([block("mask", "abcd", column_dtype="bool", dtype="bool")], [])
    mask = Columns(columns, {0: 1000}, (), "cpu", seed=3).inputs[0]
    assert mask.any(0).all() and (~mask).any(0).all()


def test_a_tensor_that_a_model_makes_is_float64_in_the_exact_results():
    def filled(m, x):
        y = torch.zeros(len(x), 2)
        y[:, :] = x @ m.weight
        return y

    case = next(iter(cases_of(Module(filled), bind(*THREE_TO_TWO), [{"collection": 0}])))
    assert case.exact[0].dtype == torch.float64 and torch.get_default_dtype() == torch.float32


def test_a_model_that_takes_floats_as_bits_has_no_results_in_float64():
    of_bits = Module(lambda m, x: (x.view(torch.int32)[:, :2] >> 16).float())
    case = next(iter(cases_of(of_bits, bind(*THREE_TO_TWO), [{"collection": 0}])))
    assert case.exact is case.eager


def test_what_is_not_a_number_in_both_is_right_and_only_there():
    def root(m, x):
        return x[:, :2].sqrt()

    found = pretend_package(Module(root), bind(*THREE_TO_TWO), lambda inputs, outputs: None)
    assert all(check.relative_error["preds"] < 1e-6 for check in found)
    with pytest.raises(InputError, match="differs from the model by inf"):
        pretend_package(Module(root), bind(*THREE_TO_TWO), lambda inputs, outputs: outputs[0].nan_to_num_(0))


class Encoder(nn.Module):
    """An encoder layer over the elements of a row, some of which are padding."""

    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)

    def forward(self, x, is_padding):
        return self.layer(x.unflatten(1, (3, 4)), src_key_padding_mask=is_padding)[:, 0]


def test_encoder_layers_with_a_mask_are_checked_as_torch_exports_them():
    """Rows that are masked throughout among them: they are not numbers by torch's fast path."""
    torch.manual_seed(0)
    module = Encoder().eval().requires_grad_(False)
    inputs = [block("x", "abcdefghijkl"), block("is_padding", "pqr", column_dtype="bool", dtype="bool")]
    columns = bind(inputs, [block("y", "stuv")])
    exported = exported_program(module, columns).module()

    def run(data, rows):
        data.inputs[1][:, ::5] = True
        data.before[1].copy_(data.memory[1])
        results = exported([block.tensor(x) for block, x in zip(columns.inputs, data.inputs)])
        columns.outputs[0].write(results[0], data.outputs[0])

    class Masked(nn.Module):
        """The module on what run() makes of the mask."""

        def __init__(self):
            super().__init__()
            self.module = module

        def forward(self, x, is_padding):
            is_padding = is_padding.clone()
            is_padding[::5] = True
            return self.module(x, is_padding)

    with torch.no_grad():
        found = validate(run, Masked().eval(), columns, [{"collection": 0}])
    assert [(check.numbers, check.rows) for check in found] == CASES
    assert all(check.relative_error["y"] < 1e-5 for check in found if check.numbers != "far")


def test_what_float32_cannot_hold_is_not_judged():
    found = pretend_package(Module(lambda m, x: x[:, :2].exp()), bind(*THREE_TO_TWO), lambda inputs, outputs: None)
    assert [check.relative_error["preds"] < 1e-6 for check in found] == [True] * len(CASES)


def test_numbers_of_which_the_model_itself_says_nothing_are_left_out():
    def rough(m, x):
        return torch.sin(1000 * x[:, :2])

    rules = [{"collection": 0}]
    found = pretend_package(Module(rough), bind(*THREE_TO_TWO), lambda inputs, outputs: None)
    assert {check.numbers for check in found} == set(KINDS) - {"large", "far", "equal"} and len(found) == len(CASES) - 3
    recorded = record(Module(rough), bind(*THREE_TO_TWO), rules)[0].cases
    assert [case.numbers for case in recorded] == ["normal"] * 4 + [
        kind for kind in KINDS[1:] if kind not in ("large", "far", "equal")
    ]


def test_no_result_is_recorded_that_any_package_would_pass():
    def rough(m, x):
        return torch.sin(1e9 * x[:, :2])

    recorded, files = record(Module(rough), bind(*THREE_TO_TWO), [{"collection": 0}])
    assert "normal" not in {case.numbers for case in recorded.cases} and len(files) == len(recorded.cases)
    for case in recorded.cases:
        assert all(one < 0.5 for block in case.tolerances or [] for one in block)
    (line,) = summary_lines(recorded)
    assert line.startswith("too rough to be judged: the model differs from itself in float64 by more than 1e-02")
    recorded, _ = record(Module(lambda m, x: x @ m.weight), bind(*THREE_TO_TWO), [{"collection": 0}])
    assert not list(summary_lines(recorded))


def test_recorded_results_are_bounded_however_wide_the_columns_are():
    names = [f"c{i}" for i in range(3000)]
    wide = bind([block("x", names)], [block("y", names)])
    entry, files = record(Module(lambda m, x: x * 2), wide, [{"collection": 0}])
    assert 0 < sum(map(len, files.values())) <= RECORDED_BYTES
    assert {one.file for one in entry.cases} == set(files)
    entry, files = record(Module(lambda m, x: x @ m.weight), bind(*THREE_TO_TWO), [{"collection": 0}])
    assert [(one.numbers, [one.rows]) for one in entry.cases] == CASES


def test_records_have_the_planes_in_the_order_of_the_columns():
    permuted = bind([block("x", "abc", planes=[2, 0, 1])], [block("y", "abc")])
    entry, files = record(Module(lambda m, x: x * 2), permuted, [{"collection": 0}])
    for case in entry.cases:
        given = np.frombuffer(files[case.file], "f4", 3 * case.rows)
        np.testing.assert_array_equal(2 * given, np.frombuffer(files[case.file], "f8", offset=12 * case.rows))


def events(path, rows=50, **more):
    """A file of particles: charges of -1 and 1."""
    columns = {"x": np.linspace(0, 1, rows), "y": np.ones(rows), "z": np.arange(rows) / rows}
    columns |= {"q": np.where(np.arange(rows) % 3, 1, -1), "name": ["a"] * rows, **more}
    table = pyarrow.table({name: column for name, column in columns.items() if column is not None})
    write = pyarrow.parquet.write_table if path.suffix == ".parquet" else pyarrow.csv.write_csv
    write(table, path)
    return path


WITH_CHARGE = bind([*THREE_TO_TWO[0], block("q", "q", column_dtype="int8", dtype="int8")], [block("preds", "m")])


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_checks_take_rows_of_the_users_file_by_the_names_of_columns(suffix, tmp_path):
    columns = examples.with_columns(WITH_CHARGE, examples.read(events(tmp_path / f"particles{suffix}")))
    seen = []

    def model(m, x, q):
        seen.append((x, q))
        return torch.log(x[:, :1] + q.abs()) * m.weight[0, 0]

    columns = with_examples(Module(model), columns)
    found = pretend_package(Module(model), columns, lambda inputs, outputs: None)
    assert {check.numbers for check in found} == {"normal"}
    for x, q in seen:
        assert torch.equal(x[:, 1], torch.ones(len(x), dtype=x.dtype)) and set(q.flatten().tolist()) <= {-1, 1}
        rows = (x[:, 2] * 50).round().long() % 50
        assert torch.equal(torch.where(rows % 3 > 0, 1, -1), q[:, 0].long())  # each row as it is in the file


@pytest.mark.parametrize(
    "columns, message",
    [
        ({"z": None}, 'block "features": the examples have no z; expected all of its columns'),
        (dict.fromkeys("xyzq"), "the examples have no columns; expected some of x, y, z, q"),
        ({"q": [None] * 50}, 'block "q": the examples have nulls in q; expected a number in every row'),
        ({"z": [None] + [1.0] * 49}, 'block "features": the examples have nulls in z; expected a number in every row'),
        ({"q": [1] * 9 + [300] * 41}, 'block "q": row 9 of q of the examples is 300; expected numbers that columns of int8'),
        ({"q": [0.7] * 50}, "row 0 of q of the examples is 0.7; expected numbers that columns of int8 hold"),
        ({"q": [1.0, np.nan] * 25}, "row 1 of q of the examples is nan"),
        ({"z": [1e39] * 50}, 'block "features": row 0 of z of the examples is 1e+39; expected numbers that'),
    ],
)
def test_examples_that_do_not_fit_are_refused(columns, message, tmp_path):
    with pytest.raises(InputError) as caught:
        examples.with_columns(WITH_CHARGE, examples.read(events(tmp_path / "particles.parquet", **columns)))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "dtype, held, others",
    [
        (torch.uint8, [0, 255, 255.0], [-1, 256, 255.5, np.inf]),
        (torch.int64, [-(2**63), 2**63 - 1, -(2.0**63)], [2**63, 2.0**63]),
        (torch.bool, [0, 1, True, 1.0], [-1, 2, 0.5]),
        (torch.float32, [2**40 + 1, np.inf, np.nan, 0.1, True], [1e39]),
        (torch.float16, [65504], [70000]),
    ],
)
def test_examples_are_what_columns_hold(dtype, held, others):
    name = str(dtype).removeprefix("torch.")
    columns = bind([block("q", "q", column_dtype=name, dtype=name)], [])

    def examples_of(number):
        dtype = np.array(number).dtype.str  # of uint64 numpy has two, torch takes one
        return examples.with_columns(columns, {"q": torch.as_tensor(np.array([1, number], dtype))}).inputs[0].examples

    for number in held:
        assert torch.equal(examples_of(number)[0, 1:].nan_to_num(), torch.tensor([number]).to(dtype).nan_to_num())
    for number in others:
        with pytest.raises(InputError, match="row 1 of q of the examples"):
            examples_of(number)


@pytest.mark.parametrize(
    "name, message",
    [("no.csv", "no.csv: cannot be read"), ("bad.parquet", "cannot be read"), ("x.root", "ends in .parquet, .csv")],
)
def test_examples_that_cannot_be_read_are_refused(name, message, tmp_path):
    (tmp_path / "bad.parquet").write_text("nothing")
    with pytest.raises(InputError, match=message):
        examples.read(tmp_path / name)
    (tmp_path / "empty.csv").write_text("x,y,z,q\n")
    with pytest.raises(InputError, match="examples have no"):
        examples.with_columns(WITH_CHARGE, examples.read(tmp_path / "empty.csv"))


def test_model_that_needs_several_rows_says_at_how_many_it_fails(tmp_path):
    function = lambda m, x: x.topk(5, dim=0).values.sum(0) + x @ m.weight[:, :1]  # noqa: E731
    columns = bind([block("features", "xyz")], [block("preds", "mno")])
    assert "with 1 rows: selected index k out of range" in refusal(Module(function), columns, tmp_path)


def beyond_the_rows(inputs, outputs):
    memory = outputs[0].as_strided((outputs[0].shape[1] + 1,), (1,))
    memory[-1] += 1


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda inputs, outputs: outputs[0][1, -1].add_(0.1), 'block "preds", column n: the package differs'),
        (lambda inputs, outputs: outputs[0].fill_(torch.nan), "differs from the model by inf"),
        (lambda inputs, outputs: inputs[0].add_(1), "writes memory that is not its own"),
        (beyond_the_rows, "writes memory that is not its own"),
    ],
)
def test_wrong_package_is_not_written(spoil, message):
    with pytest.raises(InputError, match=message):
        pretend_package(Module(lambda m, x: x @ m.weight), bind(*THREE_TO_TWO), spoil)


def by_ties(m, x):
    """The two best scores, which are equal where they saturate."""
    places = torch.softmax(x, 1).topk(2, dim=1).indices
    return (x - x.mean(1, keepdim=True)).tanh().gather(1, places)


def without_large(inputs, outputs):
    """Another choice among equals."""
    if inputs[0].abs().max() > 2e6:
        outputs[0].copy_(-outputs[0])


def test_large_numbers_on_which_the_model_chooses_among_equals_are_not_judged():
    columns = bind([block("x", "abcdef")], [block("preds", "uv")])
    pretend_package(Module(by_ties), columns, without_large)
    recorded = record(Module(by_ties), columns, [{"collection": 0}])[0].cases
    assert "normal" in {case.numbers for case in recorded} and "large" not in {case.numbers for case in recorded}


def test_large_numbers_on_which_the_model_is_settled_are_judged():
    with pytest.raises(InputError, match="of large numbers"):
        pretend_package(Module(lambda m, x: torch.tanh(x) @ m.weight), bind(*THREE_TO_TWO), without_large)


# ---- rows that real data has


class Nearest(nn.Module):
    """A little of the nearest other element: of equally near ones, one of them, or another one."""

    def __init__(self, is_other=False):
        super().__init__()
        self.is_other = is_other

    def forward(self, x):
        s = x.unflatten(1, (6, 4))
        apart = (s[:, :1, :2] - s[:, 1:, :2]).square().sum(2)
        last = apart.shape[1] - 1
        place = last - apart.flip(1).argmin(1) if self.is_other else apart.topk(1, 1, largest=False).indices[:, 0]
        near = s[:, 1:, 2:].gather(1, place[:, None, None].expand(-1, 1, 2))[:, 0]
        return x[:, :2] + 1e-3 * near


def test_another_one_of_equally_near_elements_is_as_right():
    columns = bind([block("x", [f"x{i}" for i in range(24)])], [block("y", ["a", "b"])])

    def run(data, rows, factor=1.0):
        inductor.Program(Nearest(is_other=True), columns)(data.inputs, data.outputs)
        data.outputs[0][0].mul_(factor)

    with torch.no_grad():
        assert validate(run, Nearest(), columns, [{"collection": 0}], kinds={TIED})
        with pytest.raises(Differs, match="differs from the model"):
            validate(lambda data, rows: run(data, rows, 1.01), Nearest(), columns, [{"collection": 0}], kinds={TIED})


def test_a_program_may_be_as_far_off_as_the_worst_of_several_roundings():
    """One draw of 39 products that cancel out may be small by chance: a logistic regression was not fused."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(39, 1), nn.Sigmoid())
    columns = bind([block("x", [f"x{i}" for i in range(39)])], [block("y", ["a"])])
    case = next(case for case in cases_of(module.requires_grad_(False), columns, [{"collection": 0}], kinds={"equal"}))
    right = Right([case], 0)
    draws = [right.errors(0, one[0]).amax() for one in case.rounded_otherwise()]
    assert max(draws) > min(draws) and max(draws) < MOST_OF_LAST_PLACE
    most = max([right.errors(0, case.shaken[0]).amax(), *draws]) * right.margin
    assert is_as_far_from_itself(case, 0, most * 0.99) and not is_as_far_from_itself(case, 0, most * 1.01)


def contracted(monkeypatch):
    """Products and sums are joined."""
    monkeypatch.setattr(library, "FLAGS", [flag.replace("contract=off", "contract=fast") for flag in library.FLAGS])


def with_rough_means(monkeypatch):
    """A mean is the sum over the count, and no more."""

    def normalised(x, dims, eps, weight, bias):
        off = apply("sub", x, sums.mean_of(x, dims, True))
        spread = sums.mean_of(apply("mul", off, off), dims, True)
        found = apply("mul", off, apply("rsqrt", apply("add", spread, values.number(eps, x.dtype))))
        return apply("add", apply("mul", found, cast(weight, x.dtype)), cast(bias, x.dtype))

    monkeypatch.setattr(sums, "normalised", normalised)


def mass(_, x):
    return torch.stack([torch.sqrt(x[:, 0] * x[:, 0] - x[:, 1] * x[:, 1]), torch.floor(10 * x[:, 0] - 10 * x[:, 1])], 1)


WIDE = "".join(chr(ord("A") + i) for i in range(40))


@pytest.mark.parametrize(
    "spoil, module, inputs, outputs",
    [(contracted, Module(mass), "xyz", "mn"), (with_rough_means, nn.LayerNorm(40), WIDE, WIDE)],
)
def test_rows_as_real_data_has_them_find_what_random_ones_do_not(spoil, module, inputs, outputs, monkeypatch, tmp_path):
    columns = bind([block("x", inputs)], [block("preds", outputs)])
    rules = [{"collection": 0}]
    exported = exported_program(module.requires_grad_(False), columns)
    level = next(level for level in cpu.LEVELS if cpu_flags().issuperset(CPU_FLAGS[level]))

    def check(kinds):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.so"
        cpu.build(routes.for_cpu(exported, columns, rules).source, level, path)
        return validate(fused.Program(path), module, columns, rules, is_whole=True, kinds=kinds)

    assert {check.numbers for check in check(KINDS)} >= {"normal", "equal"}
    spoil(monkeypatch)
    check((NORMAL,))
    with pytest.raises(Differs, match="at 100 rows of equal numbers"):
        check(("equal",))


def test_a_fused_program_that_is_not_right_is_replaced_with_a_word(monkeypatch, tmp_path):
    contracted(monkeypatch)
    lines, path = [], tmp_path / "package.pt2"
    export(Module(mass), bind([block("x", "xyz")], [block("preds", "mn")]), path, Options(report=lines.append))
    reason = 'block "preds", column m: the fused program differs from the model .*'
    assert any(re.match(f"not fused: {reason}; compiled by TorchInductor", line) for line in lines), lines
    assert archive.read(path)[1].get("fused") is None


def test_what_the_model_gives_is_calculated_once_for_all_programs():
    calls = []

    def counted(m, x):
        calls.append(len(x))
        return x @ m.weight

    tried = Cases(Module(counted), bind(*THREE_TO_TWO), [{"collection": 0}])
    first, count = list(tried.of(is_whole=True)), len(calls)
    again = list(tried.of(is_whole=True))
    assert len(calls) == count and [*map(id, first)] == [*map(id, again)]
    once, twice = first[1].released(), first[1].released()
    assert once is not twice and all(map(torch.equal, once.inputs, twice.inputs))


def test_fewer_rows_are_tried_of_models_that_calculate_much(monkeypatch):
    columns, module = (
        bind(*THREE_TO_TWO),
        Module(lambda m, x: (x @ torch.ones(3, 400) @ torch.ones(400, 400))[:, :2] + x @ m.weight),
    )
    rows = [max(case.count for case in cases_of(module, columns, [{"collection": 0}], kinds=("normal",)))]
    monkeypatch.setattr(cases, "MOST_WORK", 2 * (3 * 400 + 400 * 400 + 6) * 200)
    rows.append(max(case.count for case in cases_of(module, columns, [{"collection": 0}], kinds=("normal",))))
    assert rows == [1000, 200]


def test_weights_that_cancel_out_are_not_rounded_alike():
    cell = nn.LSTMCell(3, 64)
    near = near_in_double(cell)
    smaller = [near.bias_ih / cell.bias_ih < 1, near.bias_hh / cell.bias_hh < 1]
    assert all(one.any() for one in smaller) and not torch.equal(*smaller)
