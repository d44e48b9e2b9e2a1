# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Which value of a model an output block gets: that of its name, in order only where no name says anything, never a guess."""

import json

import pytest

from exporting import bind, block
from tensoa.errors import InputError
from tensoa.export import Options, export
from tensoa.importers.files import load_module
from tensoa.importers.outputs import chosen, notes, with_places


def blocks(names, match="auto"):
    return bind([block("x", "ab")], [block(name, "uv") for name in names], match)


INNER = {"dense/BiasAdd:0": "dense/BiasAdd:0", "relu": "r7"}


@pytest.mark.parametrize(
    "names, outputs, expected",
    [
        (["b", "a"], ["a", "b", "c"], {"b": "b", "a": "a"}),
        (["dense/BiasAdd"], ["y"], {"dense/BiasAdd": "dense/BiasAdd:0"}),
        (["dense/BiasAdd:0", "y"], ["y"], {"dense/BiasAdd:0": "dense/BiasAdd:0", "y": "y"}),
        (["y:0", "z"], ["y", "z:0"], {"y:0": "y", "z": "z:0"}),
        (["relu"], ["y"], {"relu": "r7"}),
        (["score"], ["y"], {"y": "y"}),
        (["first", "second"], ["a", "b"], {"a": "a", "b": "b"}),
        (["Y"], ["y"], {"y": "y"}),
    ],
)
def test_blocks_get_the_values_of_their_names(names, outputs, expected):
    assert chosen(blocks(names), outputs, INNER) == expected


@pytest.mark.parametrize(
    "names, outputs, message",
    [
        (
            ["a", "logit"],
            ["a", "logits"],
            'block "logit": the model has no output and no inner value of this name; its outputs',
        ),
        (["first"], ["a", "b"], 'its outputs are "a", "b"'),
        (["a", "b", "c"], ["a", "b"], 'block "c": the model has no output'),
        (["B", "A"], ["a", "b"], 'block "B": the model has no output and no inner value of this name'),
        (["Relu"], ["y"], 'its outputs are "y"; the nearest name is "relu"'),
        (["dense_BiasAdd"], ["y"], 'the nearest name is "dense/BiasAdd:0"'),
        (["biasadd", "y"], ["y"], 'the nearest name is "dense/BiasAdd:0"'),
    ],
)
def test_a_name_that_fits_nothing_is_an_error(names, outputs, message):
    with pytest.raises(InputError) as caught:
        chosen(blocks(names), outputs, INNER)
    assert message in str(caught.value)


def test_outputs_that_the_binding_names_are_kept():
    assert chosen(blocks(["b", "a"], "order"), ["a", "b"], INNER) == {"a": "a", "b": "b"}
    with pytest.raises(InputError, match="1 output blocks, to be taken in order, the model has 2 outputs"):
        chosen(blocks(["b"], "order"), ["a", "b"], INNER)
    with pytest.raises(InputError, match='block "score": the model has no output'):
        chosen(blocks(["score"], "name"), ["y"], INNER)
    assert chosen(None, ["a", "b"], INNER) == {"a": "a", "b": "b"}


def test_a_place_is_not_the_name_of_another_value():
    assert with_places({"a:0": "v", "a": "w"}) == {"a:0": "v", "a": "w"}
    assert notes({"a": "a", "b": "c"}, ["a"]) == ['block "b" is not an output of the model, but its inner value "c"']


def lwtnn(tmp_path):
    def dense(outputs):
        return {"architecture": "dense", "weights": [0.1 * i for i in range(2 * outputs)], "bias": [0.0] * outputs,
                "activation": "linear"}  # fmt: skip

    text = {
        "inputs": [{"name": "jet", "variables": [{"name": name, "offset": 0, "scale": 1} for name in "ab"]}],
        "input_sequences": [],
        "nodes": [
            {"type": "input", "sources": [0], "size": 2},
            *({"type": "feed_forward", "sources": [0], "layer_index": i} for i in range(2)),
        ],
        "layers": [dense(2), dense(3)],
        "outputs": {"two": {"labels": ["u", "v"], "node_index": 1}, "three": {"labels": ["x", "y", "z"], "node_index": 2}},
    }
    (tmp_path / "n.json").write_text(json.dumps(text))
    return str(tmp_path / "n.json")


def test_outputs_of_lwtnn_are_taken_by_name_and_left_out(tmp_path):
    path, jet = lwtnn(tmp_path), block("jet", "ab")
    for outputs, names in (
        ([block("three", "zyx"), block("two", "uv")], ["three", "two"]),
        ([block("three", "xyz")], ["three"]),
        ([block("A", "uv"), block("B", "xyz")], ["two", "three"]),
    ):
        columns, lines = bind([jet], outputs, "auto"), []
        module = load_module(path, columns)
        export(module, columns, tmp_path / "m.pt2", Options(report=lines.append))
        assert module.result_names == names
        in_order = 'outputs in order, as the blocks have other names: "two" is block "A", "three" is block "B"'
        assert (in_order in lines) == (outputs[0]["name"] == "A")
    with pytest.raises(InputError, match='block "threex": the model has no output .* the nearest name is "three"'):
        load_module(path, bind([jet], [block("two", "uv"), block("threex", "xyz")], "auto"))


def test_columns_that_are_taken_in_order_are_said(tmp_path):
    columns, lines = bind([block("jet", "pq")], [block("two", "mn")], "auto"), []
    export(load_module(lwtnn(tmp_path), columns), columns, tmp_path / "m.pt2", Options(report=lines.append))
    assert lines[:2] == [
        'input "jet": columns in order, as they have other names: "a" is p, "b" is q',
        'output "two": columns in order, as they have other names: "u" is m, "v" is n',
    ]
