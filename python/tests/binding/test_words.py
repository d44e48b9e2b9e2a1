# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks of columns in words."""

import time

import pytest
import torch

from tensoa.binding import words
from tensoa.errors import InputError


def inputs_of(*texts, **example):
    columns = {name: torch.zeros(3, dtype=dtype) for name, dtype in example.items()}
    return words.inputs_of([words.words_of(text) for text in texts], columns).inputs


def refusal(*texts, **example):
    with pytest.raises(InputError) as caught:
        inputs_of(*texts, **example)
    return str(caught.value)


def test_a_block_has_its_columns_side_by_side():
    (block,) = inputs_of("features=pt,eta, phi")
    assert (block.name, block.columns, block.starts) == ("features", ("pt", "eta", "phi"), (0, 1, 2))
    assert (block.kind, block.dtype, block.column_dtype, block.is_transposed) == ("plain", torch.float32, torch.float32, False)


def test_blocks_of_one_collection_have_one_number_of_rows():
    blocks = inputs_of("x=r,phi@hits", "edge_index.T=from,to:int64@edges", "edge_attr=dr@edges", "more=z@hits")
    assert [block.collection for block in blocks] == [0, 1, 1, 0]
    assert [block.is_transposed for block in blocks] == [False, True, False, False]
    assert blocks[1].dtype == torch.int64 and blocks[1].shape("n") == (2, "n")


def test_numbers_of_a_call_are_scalars_among_the_rows_of_the_first_block():
    field, hits, edges = inputs_of("field=bx,by@call", "hits=x@hits", "edges=dr@edges")
    assert (field.kind, field.collection, field.shape("n")) == ("scalar", 0, ("n", 2))
    assert (hits.kind, hits.collection, edges.collection) == ("plain", 0, 1)


def test_without_collections_all_blocks_have_the_same_number_of_rows():
    assert [block.collection for block in inputs_of("x=a", "y=b")] == [0, 0]


def test_integers_are_those_of_the_example_and_floats_are_float32():
    blocks = inputs_of("x=a", "y=b,c", "z=b:int64", "m=m", a=torch.float64, b=torch.int8, c=torch.int8, m=torch.bool)
    assert [block.dtype for block in blocks] == [torch.float32, torch.int8, torch.int64, torch.bool]


def test_spaces_and_colons_of_names_are_no_marks():
    blocks = inputs_of("edge_index.T = from , to:int64@edges", "feat:0=a")
    assert [(block.name, block.is_transposed, block.columns) for block in blocks] == [
        ("edge_index", True, ("from", "to")),
        ("feat:0", False, ("a",)),
    ]


def test_names_alone_may_have_any_letters():
    one = words.words_of_names("x.T", ["a,b", "c:int32", "d=@"])
    assert (one.name, one.columns, one.dtype, one.is_transposed) == ("x", ("a,b", "c:int32", "d=@"), "", True)
    with pytest.raises(InputError, match="columns: block x has \\['a', 1\\], expected names of columns"):
        words.words_of_names("x", ["a", 1])


def test_blocks_without_columns_in_the_example_are_float32():
    assert [block.dtype for block in inputs_of("x=a", "y=b,c", a=torch.int8)] == [torch.int8, torch.float32]


def test_what_is_typed_is_printed():
    texts = ["x=r,phi", "edge_index.T=from,to:int64", "field=field:float64@call"]
    assert [words.text_of(block) for block in inputs_of(*texts)] == texts


@pytest.mark.parametrize("text", ["", "x", "x=", "=a", "x=a,,b", "x=a:", "x=a:int64@", "x=a@b:int64", "x=a=b", "x =", "x.T="])
def test_other_forms_are_refused_with_an_example(text):
    assert refusal(text) == f"columns: got '{text}', expected BLOCK=COLUMN,COLUMN…, as in: {words.EXAMPLE}"


def test_a_block_of_very_many_columns_is_read_in_seconds():
    before = time.process_time()
    assert len(words.words_of("x[n,900,300]").columns) == 270_000
    assert time.process_time() - before < 10  # a search in all of them for each took ten minutes


def test_what_cannot_be_is_refused():
    assert refusal("x=a,b,a") == "columns: block x has the column a twice, expected each once"
    assert refusal("x=a:float").startswith("columns: block x is of 'float', expected one of ")
    assert refusal("x=a", "x=b").startswith("columns: there are two blocks called x, expected another name")
    assert refusal("x=a@call") == "columns: all blocks are @call, one number for the whole call; expected a block with rows"
    assert refusal("x=a", "y.T=b@call") == "columns: block y is .T and @call; numbers of the whole call are [n, 1]"
    assert refusal("x=a,c", a=torch.int32) == "columns: block x: the example has no c in numbers; it has a"
    mixed = refusal("x=a,b", a=torch.int32, b=torch.float32)
    assert mixed.startswith("columns: block x has a of int32, b of float32 in the example; expected one dtype of ")
    assert mixed.endswith("x=a,b:float32")


def test_numbers_of_a_row_have_the_names_of_planes_of_vectors_and_matrices():
    assert words.counted("x", (None,)) == words.counted("x", (None, 1)) == ("x",)
    assert words.counted("x", (None, 3)) == words.counted("x", (1, 3)) == words.counted("x", (3,)) == ("x_0", "x_1", "x_2")
    assert words.counted("x", (None, 2, 2)) == ("x_0.0", "x_0.1", "x_1.0", "x_1.1")
    assert words.counted("x", (None, 1, 2, 2)) == ("x.0.0", "x.0.1", "x.1.0", "x.1.1")


def test_counted_columns_are_printed_as_sizes():
    (block,) = inputs_of("image[n,1,2,2]")
    assert words.text_of(block, sizes=(None, 1, 2, 2)) == "image[n,1,2,2]"
    (block,) = inputs_of("image[n,1,1,2]=a,b:float64")
    assert words.text_of(block, sizes=(None, 1, 1, 2)) == "image[n,1,1,2]=a,b:float64"
