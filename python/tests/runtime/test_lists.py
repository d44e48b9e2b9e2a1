# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""tensoa.Model on columns in lists (Awkward Array, offsets): what torch gives for each group, in the lists that were given."""

import pickle
import signal
import time

import numpy as np
import pandas
import pytest
import torch
from torch import nn

import runtime_models as models
import tensoa
from exporting import bind, block
from tensoa.export import Options, export

awkward = pytest.importorskip("awkward")
Model = models.require_runtime()
from tensoa import coffea  # noqa: E402 - needs the run time

NAMES = ["pt", "eta", "phi"]


class Attention(nn.Module):
    """A row for each row, which all rows of its call change."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Linear(3, 8), nn.Linear(8, 2)

    def forward(self, jets):
        h = self.first(jets)
        return self.last(nn.functional.scaled_dot_product_attention(h, h, h))


class Edges(nn.Module):
    """Edges between hits of an event, whose field is one number."""

    def forward(self, hits, index, field):
        sums = hits.new_zeros(hits.shape[0], 2).index_add(0, index[0], hits[index[1]])
        return (hits[index[0]] * hits[index[1]]).sum(1, keepdim=True) * field[index[0]], sums


class Own(nn.Module):
    """Rows, and one number for each call, as a separate row."""

    def forward(self, jets, field):
        return nn.functional.scaled_dot_product_attention(jets, jets, jets)[:, :1], field * 2


class Constant(nn.Module):
    """Two rows for each call in addition to the rows."""

    def forward(self, jets):
        h = nn.functional.scaled_dot_product_attention(jets, jets, jets)
        return h[:, :1], torch.ones(2, 1) * 0.5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def attention(folder):
    outputs = {"answers": ["m", "n"]}
    tensoa.compile(Attention(), folder / "attention.pt2", columns={"jets": NAMES}, outputs=outputs)
    return Model(folder / "attention.pt2")


@pytest.fixture(scope="module")
def edges(folder):
    columns = ["hits=x,y", "index.T=source,target:int64@edges", "field=field@call"]
    tensoa.compile(Edges(), folder / "edges.pt2", columns=columns, outputs={"score": ["score"], "sums": ["u", "v"]})
    return Model(folder / "edges.pt2")


@pytest.fixture(scope="module")
def row(folder):
    return Model(models.write_row(folder))


def offsets_of(counts):
    return np.concatenate([[0], np.cumsum(counts)])


def numbers(rows, names=NAMES, seed=0):
    return dict(zip(names, np.random.default_rng(seed).normal(size=(len(names), rows)).astype("f4"), strict=True))


def in_lists(columns, counts):
    return awkward.zip({name: awkward.unflatten(column, counts) for name, column in columns.items()})


def flat(array):
    return awkward.to_numpy(awkward.flatten(array, axis=None))


def by_groups(module, columns, offsets):
    """The results of torch for each group alone, one after another."""
    rows = torch.from_numpy(np.stack(list(columns.values()), 1))
    parts = [module(rows[a:b]).detach().numpy() for a, b in zip(offsets, offsets[1:], strict=False)]
    return np.concatenate(parts)


COUNTS = [[3, 0, 5, 1], [1], [0, 0], [], list(range(40))]


@pytest.mark.parametrize("counts", COUNTS, ids=len)
def test_each_list_is_a_call_where_rows_depend_on_each_other(attention, counts):
    columns = numbers(sum(counts))
    answers = attention(in_lists(columns, np.array(counts, int)))
    assert str(answers.type) == f"{len(counts)} * var * {{m: float32, n: float32}}"
    assert awkward.num(answers).tolist() == counts
    if sum(counts):
        expected = by_groups(Attention(), columns, offsets_of(counts))
        np.testing.assert_allclose(np.stack([flat(answers.m), flat(answers.n)], 1), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("counts", COUNTS, ids=len)
def test_rows_that_are_independent_are_one_call(row, counts):
    columns = numbers(sum(counts), "xyz")
    answers = row(in_lists(columns, np.array(counts, int)))
    assert awkward.num(answers).tolist() == counts
    whole = row(columns)
    assert flat(answers.m).tolist() == whole["m"].tolist() and flat(answers.n).tolist() == whole["n"].tolist()


def test_lists_of_lists_come_back_as_they_were(attention, row):
    columns = numbers(9)
    events = awkward.unflatten(in_lists(columns, [3, 0, 5, 1]), [2, 0, 2])
    answers = attention(events)
    assert awkward.num(answers, axis=2).tolist() == [[3, 0], [], [5, 1]]
    np.testing.assert_allclose(flat(answers.m), by_groups(Attention(), columns, [0, 3, 3, 8, 9])[:, 0], rtol=1e-5, atol=1e-6)
    xyz = awkward.zip(dict(zip("xyz", (events.pt, events.eta, events.phi), strict=True)))
    assert awkward.num(row(xyz), axis=2).tolist() == [[3, 0], [], [5, 1]]


def test_records_without_lists_are_a_table(row):
    columns = numbers(7, "xyz")
    answers = row(awkward.zip({**columns, "event": np.arange(7)}))
    assert str(answers.type) == "7 * {m: float32, n: float32}"
    assert answers.m.tolist() == row(columns)["m"].tolist()


def test_columns_may_be_given_one_by_one(attention):
    columns = numbers(9)
    jets = in_lists(columns, [4, 5])
    answers = attention(pt=jets.pt, eta=jets.eta, phi=jets.phi)
    assert answers.m.tolist() == attention(jets).m.tolist()
    events = awkward.Array({"jets": jets, "weight": [1.0, 2.0]})
    assert attention(events).n.tolist() == attention(jets).n.tolist()  # jets.pt: block and column
    renamed = awkward.Array({"Jet": awkward.zip({"pt": jets.pt, "eta": jets.eta, "mass": jets.phi})})
    names = {"Jet.pt": "pt", "Jet.eta": "eta", "Jet.mass": "phi"}
    assert Model(attention.path, columns=names)(renamed).m.tolist() == attention(jets).m.tolist()


def test_what_lies_in_lists_is_read_in_place(attention, row):
    memory = np.random.default_rng(0).normal(size=(3, 9)).astype("f4")  # at equal distances
    jets = in_lists(dict(zip(NAMES, memory, strict=True)), [4, 5])
    attention(jets)
    assert (attention.last_copies.bytes_in, attention.last_copies.bytes_out) == (0, 0)
    row(x=jets.pt, y=jets.eta, z=jets.phi)
    assert (row.last_copies.bytes_in, row.last_copies.bytes_out) == (0, 0)
    attention(jets[[1, 0]])  # in another order: Awkward Array itself has to write them
    assert attention.last_copies.bytes_in >= memory.nbytes


def ways_to_lie(jets):
    """The same jets as other layouts of Awkward Array."""
    counts = awkward.num(jets)
    layout = jets.layout
    starts, stops = (awkward.index.Index64(side.data) for side in (layout.starts, layout.stops))
    yield "ListArray", awkward.Array(awkward.contents.ListArray(starts, stops, layout.content))
    indices = awkward.index.Index64(np.arange(len(jets)))
    yield "IndexedArray", awkward.Array(awkward.contents.IndexedArray(indices, layout))
    yield "IndexedOptionArray", awkward.Array(awkward.contents.IndexedOptionArray(indices, layout))
    yield "UnmaskedArray", awkward.Array(awkward.contents.UnmaskedArray(layout))
    mask = awkward.index.Index8(np.ones(len(jets), np.int8))
    yield "ByteMaskedArray", awkward.Array(awkward.contents.ByteMaskedArray(mask, layout, valid_when=True))
    yield "a slice", awkward.concatenate([jets[:1], jets])[1:]
    yield "masked and taken back", awkward.concatenate([jets, jets])[np.arange(2 * len(jets)) < len(jets)]
    yield (
        "offsets of 32 bits",
        awkward.Array(
            awkward.contents.ListOffsetArray(awkward.index.Index32(layout.offsets.data.astype("i4")), layout.content)
        ),
    )
    yield "records of lists", awkward.zip({name: jets[name] for name in NAMES}, depth_limit=1)
    yield "more in the records", awkward.with_field(jets, awkward.local_index(jets), "number")
    yield (
        "from a filter",
        awkward.concatenate([jets, jets], axis=1)[awkward.local_index(awkward.concatenate([jets, jets], axis=1)) < counts],
    )


def test_every_layout_of_awkward_array_gives_the_same(attention):
    jets = in_lists(numbers(9), [3, 0, 5, 1])
    expected = attention(jets)
    for name, other in ways_to_lie(jets):
        assert attention(other).tolist() == expected.tolist(), name


def test_lists_of_one_length_are_groups_too(attention):
    columns = numbers(12)
    jets = awkward.zip({name: awkward.to_regular(awkward.Array(column.reshape(4, 3))) for name, column in columns.items()})
    regular = awkward.Array(jets.layout)
    assert flat(attention(regular).m).tolist() == flat(attention(in_lists(columns, [3] * 4)).m).tolist()


def test_blocks_of_an_event_have_lists_of_their_own(edges):
    random = np.random.default_rng(1)
    hits, links = [4, 2, 7], [5, 0, 9]
    x, y = random.normal(size=(2, sum(hits))).astype("f4")
    source, target = (np.concatenate([random.integers(0, n, k) for n, k in zip(hits, links, strict=True)]) for _ in range(2))
    field = np.array([1, 2, 3], "f4")
    events = awkward.Array(
        {
            "hits": in_lists({"x": x, "y": y}, hits),
            "index": in_lists({"source": source, "target": target}, links),
            "field": field,
        }
    )
    answers = edges(events)
    assert awkward.num(answers.score).tolist() == links and awkward.num(answers.u).tolist() == hits
    of_hits, of_links = offsets_of(hits), offsets_of(links)
    for e in range(3):
        h, k = slice(*of_hits[e : e + 2]), slice(*of_links[e : e + 2])
        tensors = np.stack([x[h], y[h]], 1), np.stack([source[k], target[k]]), np.full((hits[e], 1), field[e])
        score, sums = Edges()(*map(torch.from_numpy, tensors))
        np.testing.assert_allclose(answers.score[e].to_numpy(), score[:, 0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(answers.v[e].to_numpy(), sums[:, 1], rtol=1e-5, atol=1e-6)
    groups = {"hits": of_hits, "index": of_links}
    again = edges(x=x, y=y, source=source, target=target, field=field, groups=groups)
    assert again["score"].tolist() == flat(answers.score).tolist() and again["u"].tolist() == flat(answers.u).tolist()
    one_field = edges(x=x, y=y, source=source, target=target, field=2.0, groups=groups)
    np.testing.assert_allclose(one_field["score"][: links[0]], 2 * again["score"][: links[0]], rtol=1e-6)


@pytest.fixture(scope="module")
def constant(folder):
    outputs = {"first": ["first"], "constant": ["half"]}
    tensoa.compile(Constant(), folder / "constant.pt2", columns={"jets": NAMES}, outputs=outputs)
    return Model(folder / "constant.pt2")


def test_results_without_rows_are_repeated_for_each_list(constant):
    answers = constant(in_lists(numbers(9), [3, 0, 5, 1]))
    assert str(answers.half.type) == "4 * 2 * float32" and answers.half.tolist() == [[0.5, 0.5]] * 4
    assert awkward.num(answers["first"]).tolist() == [3, 0, 5, 1]


def test_results_are_one_table_where_all_have_the_same_number_of_rows(constant):
    columns = numbers(4)
    answers = constant(pandas.DataFrame(columns), groups=[0, 1, 4])
    assert isinstance(answers, dict) and answers["half"].tolist() == [0.5] * 4 and len(answers["first"]) == 4
    flat_answers = constant(awkward.zip(columns))
    assert [*flat_answers] == ["first", "half"] and flat_answers["half"].tolist() == [0.5] * 2
    assert len(flat_answers["first"]) == 4


def test_rows_of_the_numbers_of_a_call_are_one_for_each_group(folder):
    inputs = [block("jets", NAMES), block("field", ["field"], collection=1, kind="scalar")]
    outputs = [block("first", ["first"]), block("twice", ["twice"], collection=1)]
    export(Own(), bind(inputs, outputs), folder / "own.pt2", Options(report=str))
    model = Model(folder / "own.pt2")
    columns = numbers(5000)
    answers = model(columns | {"field": 2.0}, groups=[0, 2000, 5000])
    assert answers["twice"].tolist() == [4, 4] and len(answers["first"]) == 5000
    jets = in_lists(numbers(4), [3, 1])
    answers = model(pt=jets.pt, eta=jets.eta, phi=jets.phi, field=np.array([1, 2], "f4"))
    assert answers.twice.tolist() == [2, 4] and awkward.num(answers["first"]).tolist() == [3, 1]


def event_of():
    """Columns of `edges`: two events of two hits and one edge each."""
    x, y = awkward.Array([[1.0, 2.0], [3.0, 4.0]]), awkward.Array([[1.0, 1.0], [1.0, 1.0]])
    links = awkward.Array([[0], [1]])
    floats = {name: awkward.values_astype(one, "float32") for name, one in (("x", x), ("y", y))}
    return {**floats, "source": links, "target": links}


def test_numbers_of_a_call_have_the_lists_around_the_groups(edges):
    inner = {name: awkward.Array([column.tolist(), []]) for name, column in event_of().items()}  # both in the first event
    inner = {name: awkward.values_astype(column, "float32" if name in "xy" else "int64") for name, column in inner.items()}
    field = np.array([10, 100], "f4")
    with pytest.raises(
        tensoa.BindingError, match=r"field has the shape \[2\] and other lists, expected one number, or one for"
    ):
        edges(**inner, field=field)
    own = awkward.values_astype(awkward.Array([[10, 100], []]), "float32")
    assert edges(**inner, field=own).score.tolist() == [[[20], [1700]], []]
    single = awkward.values_astype(awkward.Array([[7], []]), "float32")
    with pytest.raises(tensoa.BindingError, match="field has the shape .* other lists"):
        edges(**event_of(), field=single)


def test_the_first_column_does_not_say_what_comes_back(edges):
    columns = event_of()
    expected = edges(**columns, field=2.0).tolist()
    assert edges(field=2.0, **columns).tolist() == expected
    assert edges({"field": torch.tensor(2.0), **columns}).tolist() == expected
    assert edges(field=np.array([2, 2], "f4"), **columns).tolist() == expected
    traced = {name: awkward.Array(column.layout.to_typetracer(forget_length=True)) for name, column in columns.items()}
    assert str(edges(field=2.0, **traced).type) == str(edges(**traced, field=2.0).type)


def test_results_of_several_numbers_of_rows_are_arrays_of_their_own(edges):
    columns = {name: awkward.flatten(column) for name, column in event_of().items()}
    answers = edges(**columns, field=1.0)
    assert {name: len(column) for name, column in answers.items()} == {"score": 2, "u": 4, "v": 4}


def test_dimensions_of_one_row_are_no_lists(attention):
    columns = numbers(9)
    jets = in_lists(columns, [4, 5])
    expected = attention(jets)
    stacked = awkward.concatenate([jets[name][..., np.newaxis] for name in NAMES], axis=-1)
    assert str(stacked.type) == "2 * var * 3 * float32"
    answers = attention(stacked)
    assert answers[..., 0].tolist() == expected.m.tolist() and awkward.num(answers).tolist() == [4, 5]
    turned = np.ascontiguousarray(np.stack([*columns.values()], 1))
    assert attention(awkward.from_numpy(turned, regulararray=True)).tolist() == attention(turned).tolist()


def test_blocks_of_columns_by_rows_cannot_be_in_lists(edges):
    hits = awkward.unflatten(awkward.Array(np.ones((4, 2), "f4")), [1, 3])
    index = awkward.unflatten(awkward.Array(np.zeros((2, 4), "i8")), [1, 1])
    with pytest.raises(tensoa.BindingError, match=r"block index is \[columns, rows\], which lists of rows are not"):
        edges(hits, index, np.ones(2, "f4"))


def test_offsets_are_those_of_the_call_whatever_becomes_of_them(attention):
    columns = awkward.zip(numbers(4))
    offsets = np.array([0, 1, 4])
    answers = attention(columns, groups=offsets)
    offsets[1] = 3
    assert awkward.num(answers).tolist() == [1, 3]


def test_results_that_lie_on_each_other_are_refused(attention):
    columns, memory = numbers(6), np.empty(20, "f4")
    for out, on in (
        ({"m": memory[:6], "n": memory[5:11]}, "block answers of out lies on block answers"),
        ({"m": columns["pt"][1:], "n": memory[:5]}, "block answers of out lies on block jets"),
    ):
        rows = len(out["m"])
        given = {name: column[:rows] for name, column in columns.items()}
        with pytest.raises(tensoa.BindingError, match=on):
            attention(given, groups=[0, 2, rows], out=out)
    table = np.empty((6, 2), "f4")  # side by side in each row: apart
    expected = attention(columns, groups=[0, 2, 6])
    attention(columns, groups=[0, 2, 6], out=table)
    assert table[:, 0].tolist() == expected["m"].tolist() and table[:, 1].tolist() == expected["n"].tolist()


def test_a_call_of_many_groups_can_be_ended(attention):
    def end(number, frame):
        raise KeyboardInterrupt

    columns = {name: np.zeros(3_000_000, "f4") for name in NAMES}
    before = signal.signal(signal.SIGALRM, end)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        start = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            attention(columns, groups=np.arange(3_000_001))
        assert time.perf_counter() - start < 2.5
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(attention(numbers(3))["m"]) == 3


def test_groups_of_offsets_are_as_lists(attention):
    columns = numbers(9)
    answers = attention(columns, groups=[0, 3, 3, 8, 9])
    assert answers["m"].tolist() == flat(attention(in_lists(columns, [3, 0, 5, 1])).m).tolist()
    out = {name: np.empty(9, "f4") for name in "mn"}
    assert attention(columns, groups=np.array([0, 3, 3, 8, 9], "u4"), out=out) is out
    assert out["n"].tolist() == answers["n"].tolist()
    assert attention(columns)["m"].tolist() != answers["m"].tolist()  # all rows in one call


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        ([0, 5, 3, 9], r"groups run backwards: 5, then 3 \(place 2\)"),
        ([1, 9], "groups begin with 1, expected 0"),
        ([0, 4], "groups end with 4, column pt has 9 rows; expected the same"),
        ([0.0, 9.0], r"groups are numpy.ndarray of float64 of shape \(2,\), expected integers"),
        ([], r"groups are numpy.ndarray of float64 of shape \(0,\), expected integers \[groups \+ 1\]"),
        ({}, "groups is an empty dict, expected a dict {block: offsets} with jets"),
        (np.ma.MaskedArray([0, 4, 9], [False, True, False]), "groups are a masked array"),
        ([0, None, 9], "groups are list, expected integers|groups are numpy.ndarray of object"),
        ({"jet": [0, 9]}, "groups has jet, which is not a block with rows; there are jets; the nearest is jets"),
    ],
)
def test_groups_that_are_none_are_refused(attention, groups, says):
    with pytest.raises(tensoa.BindingError, match=says):
        attention(numbers(9), groups=groups)


def test_lists_that_do_not_go_together_are_refused(attention, edges):
    columns = numbers(9)
    jets, others = in_lists(columns, [4, 5]), in_lists(columns, [5, 4])
    with pytest.raises(tensoa.BindingError, match="column eta is in other lists than column pt; .* ak.broadcast_arrays"):
        attention(pt=jets.pt, eta=others.eta, phi=jets.phi)
    hits = in_lists(numbers(9, "xy"), [4, 5])
    links = awkward.values_astype(in_lists(numbers(9, ["source", "target"]), [3, 3, 3]), "int64")
    event = {"x": hits.x, "y": hits.y, "source": links.source, "target": links.target}
    with pytest.raises(tensoa.BindingError, match="column source is in 3 lists, column x in 2; expected the same number"):
        edges(**event, field=1.0)
    with pytest.raises(tensoa.BindingError, match="column source is in no lists, as column x is"):
        edges(x=hits.x, y=hits.y, source=np.array([0]), target=np.array([0]), field=1.0)
    links = awkward.unflatten(np.zeros(3, int), [1, 2])
    event |= {"source": links, "target": links}
    with pytest.raises(
        tensoa.BindingError, match=r"column field has the shape \[3\], expected one number, or one for each of 2"
    ):
        edges(**event, field=np.ones(3, "f4"))
    with pytest.raises(tensoa.BindingError, match="which it does not read"):
        attention(pt=jets.pt, eta=jets.eta, phi=jets.phi, mass=jets.pt)


def test_nulls_unions_and_other_numbers_are_refused(attention):
    jets = in_lists(numbers(4), [2, 2])
    with pytest.raises(tensoa.BindingError, match="column pt has nulls, the first in row 1; expected none: .*fill_none"):
        attention(awkward.mask(jets, [True, False]))
    with pytest.raises(tensoa.BindingError, match="column eta has nulls, the first in row 2"):
        attention(awkward.with_field(jets, awkward.mask(jets.eta, [[True, True], [False, True]]), "eta"))
    with pytest.raises(tensoa.BindingError, match=r'column pt is float64, expected float32: ak.values_astype\(x, "float32"\)'):
        attention(awkward.values_astype(jets, "float64"))
    text = awkward.with_field(jets, awkward.Array([["a", "b"], ["c", "d"]]), "phi")
    with pytest.raises(tensoa.BindingError, match="column phi is string, expected numbers"):
        attention(text)
    union = awkward.with_field(jets, awkward.Array([[1.5, "b"], [2.5, "d"]]), "phi")
    with pytest.raises(tensoa.BindingError, match="column phi is union"):
        attention(union)
    unsigned = awkward.values_astype(jets, "uint32")
    with pytest.raises(tensoa.BindingError, match=r'column pt is uint32, expected float32: ak.values_astype\(x, "float32"\)'):
        attention(unsigned)
    with pytest.raises(tensoa.BindingError, match="is one record of Awkward Array, expected an array of them"):
        attention(jets[0][0])
    twice = awkward.Array({"jets": jets, "jets.pt": jets.pt})
    with pytest.raises(tensoa.BindingError, match="column jets.pt is there 2 times, expected once"):
        attention(twice)
    with pytest.raises(tensoa.BindingError, match="got no column phi, .* there are pt, eta$"):
        attention(jets[["pt", "eta"]])


def test_arrays_of_no_type_are_empty_columns(attention):
    unknown = awkward.Array([[], []])
    assert attention(pt=unknown, eta=unknown, phi=unknown).tolist() == [[], []]


def test_types_without_numbers_are_answered_and_say_what_is_read(attention, row):
    jets = awkward.with_field(in_lists(numbers(9), [4, 5]), awkward.unflatten(np.arange(9), [4, 5]), "number")
    form = jets.layout.form_with_key("node{id}")
    traced, report = awkward.typetracer.typetracer_with_report(form, highlevel=True)
    answers = attention(traced)
    assert awkward.backend(answers) == "typetracer"
    assert str(answers.type) == "## * var * {m: float32, n: float32}"
    read = {name: form.content.contents[i].form_key for i, name in enumerate(form.content.fields)}
    assert {name for name, key in read.items() if key in report.data_touched} == {"pt", "eta", "phi"}


def test_only_columns_that_are_read_are_loaded(attention):
    jets = in_lists(numbers(9), [4, 5])
    form, length, buffers = awkward.to_buffers(awkward.with_field(jets, awkward.num(jets), "count"))
    loaded = []
    lazy = {key: lambda key=key: (loaded.append(key), buffers[key])[1] for key in buffers}
    virtual = awkward.from_buffers(form, length, lazy)
    assert attention(virtual).tolist() == attention(jets).tolist()
    count = form.contents[form.fields.index("count")] if form.is_record else form.content.content("count")
    assert not any(key.startswith(f"{count.form_key}-data") for key in loaded) and loaded


def test_virtual_arrays_that_are_loaded_may_be_read_only(attention, row):
    """As those of files of Parquet: coffea gives such, and a column is read by several models."""
    columns = numbers(9)
    for model, jets in ((attention, in_lists(columns, [4, 5])), (row, awkward.zip(dict(zip("xyz", columns.values()))))):
        form, length, buffers = awkward.to_buffers(jets)
        for buffer in buffers.values():
            buffer.flags.writeable = False
        virtual = awkward.from_buffers(form, length, {key: lambda key=key: buffers[key] for key in buffers})
        assert model(virtual).tolist() == model(virtual).tolist() == model(jets).tolist()
        model(virtual)
        copied = model.last_copies.bytes_in
        model(jets)
        assert copied == model.last_copies.bytes_in


def test_options_in_dimensions_of_one_row_are_no_lists(attention):
    """As ak.concatenate gives where jets were masked."""

    def stacked(is_there):
        columns = [awkward.mask(awkward.Array(column), is_there) for column in numbers(9).values()]
        return awkward.concatenate([column[:, np.newaxis] for column in columns], axis=1)

    assert str(stacked(np.ones(9, bool)).type) == "9 * 3 * ?float32"
    assert attention(stacked(np.ones(9, bool))).tolist() == attention(np.stack([*numbers(9).values()], 1)).tolist()
    with pytest.raises(tensoa.BindingError, match="block jets has nulls, the first in row 4"):
        attention(stacked(np.arange(9) != 4))


def test_a_cluster_runs_a_model_over_the_partitions_of_files(attention, tmp_path):
    dask_awkward = pytest.importorskip("dask_awkward")
    distributed = pytest.importorskip("distributed")
    counts = np.arange(30) % 7
    jets = in_lists(numbers(sum(counts)), counts)
    for part in range(3):
        events = awkward.Array({"jets": jets[10 * part : 10 * part + 10], "number": np.arange(10)})
        awkward.to_parquet(events, tmp_path / f"part{part}.parquet")
    events = dask_awkward.from_parquet(str(tmp_path))
    answers = attention(events.jets)
    assert awkward.backend(answers._meta) == "typetracer" and answers.npartitions == 3
    needed = dask_awkward.inspect.report_necessary_columns(answers.m)
    assert {name.split(".")[-1] for names in needed.values() for name in names} == set(NAMES)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        computed = answers.compute()
    assert computed.tolist() == attention(jets).tolist()


def test_calls_of_dask_are_of_whole_lists(attention, row):
    dask_awkward = pytest.importorskip("dask_awkward")
    jets = in_lists(numbers(9), [4, 5])
    lazy = dask_awkward.from_awkward(jets, 2)
    names = ["label", "meta", "token"]
    given = dict(zip(names, (lazy.pt, lazy.eta, lazy.phi), strict=True))
    renamed = Model(attention.path, columns=names)
    assert renamed(**given).compute().tolist() == attention(jets).tolist() == renamed(given).compute().tolist()
    whole = dask_awkward.from_awkward(awkward.zip(numbers(4)), 2)
    with pytest.raises(
        tensoa.BindingError, match="are in no lists, and its rows depend on each other: a partition would not be"
    ):
        attention(whole)
    xyz = awkward.zip(numbers(4, "xyz"))
    assert row(dask_awkward.from_awkward(xyz, 2)).compute().tolist() == row(xyz).tolist()
    with pytest.raises(tensoa.BindingError, match="expected neither out= nor groups="):
        attention(lazy, groups=[0, 9])
    with pytest.raises(tensoa.BindingError, match="got arrays of dask-awkward and others"):
        attention(pt=lazy.pt, eta=lazy.eta, phi=np.zeros(9, "f4"))


class WithMass(coffea.tensoa_wrapper):
    """As users of coffea write them; here, so that it can be pickled."""

    def prepare_awkward(self, events):
        return (events.jets,), {}

    def postprocess_awkward(self, answers, events):
        return awkward.with_field(events.jets, answers.m, "m")


def test_a_wrapper_of_coffea_prepares_runs_and_finishes(attention):
    jets = in_lists(numbers(9), [4, 5])
    wrapper = pickle.loads(pickle.dumps(WithMass(attention.path)))
    tagged = wrapper(awkward.Array({"jets": jets, "number": [1, 2]}))
    assert tagged.m.tolist() == attention(jets).m.tolist() and tagged.pt.tolist() == jets.pt.tolist()
    plain = coffea.tensoa_wrapper(attention.path, columns={"a": "pt", "b": "eta", "c": "phi"})
    assert plain(a=jets.pt, b=jets.eta, c=jets.phi).n.tolist() == attention(jets).n.tolist()


@pytest.mark.skipif("torch" not in tensoa._runtime._PARTS, reason="built without torch")
def test_a_wrapper_of_coffea_takes_the_file_of_torch_wrapper(tmp_path):
    torch.jit.script(Attention()).save(tmp_path / "attention.pt")
    wrapper = coffea.tensoa_wrapper(tmp_path / "attention.pt", columns={"jets": NAMES}, outputs={"answers": ["m", "n"]})
    columns, counts = numbers(9), [3, 0, 5, 1]
    answers = pickle.loads(pickle.dumps(wrapper))(in_lists(columns, counts))
    assert awkward.num(answers).tolist() == counts
    expected = by_groups(Attention(), columns, offsets_of(counts))
    np.testing.assert_allclose(np.stack([flat(answers.m), flat(answers.n)], 1), expected, rtol=1e-5, atol=1e-6)


def test_a_call_of_many_lists_takes_as_long_as_calls_of_each(attention):
    """0 bytes of padding: the time goes with the rows."""
    counts = np.random.default_rng(0).integers(1, 60, 300)
    columns, offsets = numbers(sum(counts)), offsets_of(counts)
    jets = in_lists(columns, counts)

    def one_by_one():
        for a, b in zip(offsets, offsets[1:], strict=False):
            attention({name: column[a:b] for name, column in columns.items()})

    def seconds(call):
        times = []
        for _ in range(7):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return min(times)

    assert seconds(lambda: attention(jets)) < 2 * seconds(one_by_one)
