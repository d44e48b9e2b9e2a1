# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks of columns in words, as people type them where no C++ layout describes them:

    features=pt,eta,phi            a block [n, 3] of float32 columns
    charge=charge:int32            of columns of another dtype
    x=r,phi,z@hits                 blocks of one collection, here "hits", have the same number of rows
    edge_index.T=from,to:int64@edges   [2, n], as edge lists are
    field=field@call               one number for the whole call, which the model gets in every row of the first block: [n, 1]
    state[2,n,64]=h_0,h_1,…        the shape of the model's tensor, with n where rows are: each row has the other sizes, flat
    x[5]=a,b,c,d,e                 a tensor that is one row: the model runs for each
    rate=16000                     a constant, of an argument that is one number for a call in a file of ONNX
    image[n,3,8,8]                 columns called image_0.0.0, … image_2.7.7; of x[n,2]: x_0 and x_1

Without a dtype, columns are float32, or integers or truth values where the example has such.
"""

import difflib
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch

from tensoa.binding.blocks import Binding, Block
from tensoa.binding.examples import way_out
from tensoa.binding.parse import SCHEMA, parse
from tensoa.dtypes import DTYPES, name_of
from tensoa.errors import InputError

NAME = r"(?P<name>[^=@]+?)(?P<sizes>\[\s*(n|\d+)\s*(,\s*(n|\d+)\s*)*\])?(?P<transposed>\.T)?\s*"
WORDS = re.compile(NAME + r"(=(?P<columns>[^=:@]+))?(:\s*(?P<dtype>\w+)\s*)?(@\s*(?P<rows>\w+))?")
CALL = "call"  # the collection that scalars are typed with
EXAMPLE = "features=pt,eta,phi charge=charge:int32 edge_index.T=from,to:int64@edges"


@dataclass(frozen=True)
class Words:
    """The words of one block. `rows`: the collection; `dtype`: nothing where it was not said; `sizes`: of the model's
    tensor, None where rows are (tensoa.rows_axis), nothing where they were not said.
    """

    name: str
    columns: tuple[str, ...]
    dtype: str = ""
    rows: str = ""
    is_transposed: bool = False
    sizes: tuple[int | None, ...] = ()

    @property
    def is_counted(self) -> bool:
        """Whether its columns have the names that counted() gives them."""
        return bool(self.sizes) and self.columns == counted(self.name, self.sizes)


def words_of(text: str, option: str = "columns") -> Words:
    """Raises InputError."""
    found = WORDS.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None or found["name"].strip() in ("", ".T") or (found["columns"] is None and found["sizes"] is None):
        raise _not_understood(option, text)
    name, is_transposed, sizes = _name_of(found)
    columns = tuple(one.strip() for one in found["columns"].split(",")) if found["columns"] else counted(name, sizes)
    if not all(columns):
        raise _not_understood(option, text)
    return _checked(Words(name, columns, found["dtype"] or "", found["rows"] or "", is_transposed, sizes), option)


def _not_understood(option: str, text: str) -> InputError:
    return InputError(f"{option}: got '{text}', expected BLOCK=COLUMN,COLUMN…, as in: {EXAMPLE}")


def _name_of(found: re.Match) -> tuple[str, bool, tuple[int | None, ...]]:
    """(name, whether it is transposed, sizes)."""
    sizes = (found["sizes"] or "").strip("[]").split(",") if found["sizes"] else ()
    return (
        found["name"].strip(),
        found["transposed"] is not None,
        tuple(None if size.strip() == "n" else int(size) for size in sizes),
    )


def counted(name: str, sizes: Sequence[int | None]) -> tuple[str, ...]:
    """A name for each number of a row: x of one alone; x_0, x_1, …; of several axes x_0.0, x_0.1, …, as of vectors and matrices
    (soa/plane_name.hpp). An engine that reads files of ONNX gives the same names.
    """
    of_row = [size for size in sizes if size is not None]
    if None not in sizes and sizes and sizes[0] == 1:
        of_row = of_row[1:]
    if math.prod(of_row) == 1:
        return (name,)
    first = [name] if of_row[0] == 1 else [f"{name}_{i}" for i in range(of_row[0])]
    return tuple(".".join(parts) for parts in itertools.product(first, *(map(str, range(size)) for size in of_row[1:])))


def _checked(words: Words, option: str) -> Words:
    twice = next((name for name, times in Counter(words.columns).items() if times > 1), None)
    if twice is not None:
        raise InputError(f"{option}: block {words.name} has the column {twice} twice, expected each once")
    of_row = math.prod(size for size in words.sizes if size is not None)
    is_fixed = None not in words.sizes  # some of its sizes may be a number of rows that is always the same
    fits = of_row == len(words.columns) or (
        is_fixed and any(of_row == (size or 0) * len(words.columns) for size in words.sizes)
    )
    if words.sizes and (words.is_transposed or words.sizes.count(None) > 1 or not of_row or not fits):
        raise InputError(
            f"{option}: block {words.name}{shape_text(words.sizes)}{'.T' * words.is_transposed} has {len(words.columns)} "
            f"columns; expected one n, where rows are, and one column for each number of a row, {of_row}; no .T"
        )
    if words.dtype and words.dtype not in DTYPES:
        raise InputError(f"{option}: block {words.name} is of '{words.dtype}', expected one of {', '.join(DTYPES)}")
    return words


def words_of_names(name: str, columns: Iterable[str], option: str = "columns") -> Words:
    """Of names alone. Raises InputError."""
    found = re.fullmatch(NAME, name)
    names = tuple(columns) if isinstance(columns, Iterable) else (columns,)
    if found is None or not names or not all(isinstance(column, str) and column for column in names):
        raise InputError(f"{option}: block {name} has {list(names)}, expected names of columns")
    plain, is_transposed, sizes = _name_of(found)
    return _checked(Words(plain, names, is_transposed=is_transposed, sizes=sizes), option)


def inputs_of(words: Sequence[Words], example: Mapping[str, torch.Tensor | None], match: str = "auto") -> Binding:
    """A binding of input blocks alone. `example`: columns by name, which say the dtypes of integers and truth values. Raises
    InputError.
    """
    _check_names(words)
    collections = [*dict.fromkeys(one.rows for one in words if one.rows != CALL)]
    if not collections:
        raise InputError(f"columns: all blocks are @{CALL}, one number for the whole call; expected a block with rows")
    blocks = []
    for one in words:
        is_scalar = one.rows == CALL
        if is_scalar and one.is_transposed:
            raise InputError(
                f"columns: block {one.name} is .T and @{CALL}; numbers of the whole call are [n, {len(one.columns)}]"
            )
        collection = 0 if is_scalar else collections.index(one.rows)
        kind = "scalar" if is_scalar else "plain"
        blocks.append(block(one.name, collection, one.columns, _dtype(one, example), one.is_transposed, kind))
    return parse({"schema": SCHEMA, "match": match, "inputs": blocks, "outputs": []})


def with_outputs(inputs: Binding, outputs: Sequence[dict]) -> Binding:
    """The binding with output blocks, as block() makes them."""
    return parse({**inputs.text, "outputs": list(outputs)})


def block(
    name: str, collection: int, columns: Sequence[str], dtype: str, is_transposed: bool = False, kind: str = "plain"
) -> dict:
    """The JSON of a block of columns side by side, `kind`: "plain" or "scalar"."""
    return {
        "name": name,
        "collection": collection,
        "shape": "columns" if is_transposed else "rows",
        "kind": kind,
        "element": [],
        "column_dtype": dtype,
        "dtype": dtype,
        "columns": [{"name": column, "plane": place} for place, column in enumerate(columns)],
    }


def shape_text(sizes: Sequence[int | None]) -> str:
    return f"[{','.join('n' if size is None else str(size) for size in sizes)}]"


def text_of(one: Block, rows: str = "", sizes: Sequence[int | None] = ()) -> str:
    """The words for a block, as typed. `rows`: the name of its collection, where it has one. `sizes`: as in Words."""
    dtype = name_of(one.column_dtype)
    is_counted = bool(sizes) and one.columns == counted(one.name, sizes)
    columns = "" if is_counted else f"={','.join(one.columns)}"
    shape = shape_text(sizes) if sizes else ".T" * one.is_transposed
    words = f"{one.name}{shape}{columns}" + (f":{dtype}" if dtype != "float32" else "")
    collection = CALL if one.kind == "scalar" else rows
    return f"{words}@{collection}" if collection else words


def nearest(name: str, names: Sequence[str]) -> str | None:
    """The only one that ends in this name, as jets.pt, else the one that has the most letters in common."""
    ends = [other for other in names if other.endswith(f".{name}")]
    return ends[0] if len(ends) == 1 else next(iter(difflib.get_close_matches(name, names, 1)), None)


def require_columns(one: Words, example: Mapping[str, torch.Tensor | None]) -> None:
    """Raises InputError, with the nearest names, for columns that the example does not have."""
    missing = [name for name in one.columns if name not in example]
    if missing:
        others: Mapping[str, str] = getattr(example, "others", {})
        unknown = [name for name in missing if name not in others]
        near = [*dict.fromkeys(other for name in unknown if (other := nearest(name, [*example])) is not None)]
        advice = f"; the nearest name{'s are' if len(near) > 1 else ' is'} {', '.join(near)}" if near else ""
        listed = getattr(example, "listed", ", ".join(example))
        raise InputError(
            f"columns: block {one.name}: the example has no {', '.join(missing)} in numbers; it has {listed}{advice}"
            + way_out([others[name] for name in missing if name in others])
        )


def _check_names(words: Sequence[Words]) -> None:
    names = [one.name for one in words]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"columns: there are two blocks called {twice}, expected another name for each argument of the model")


def _dtype(one: Words, example: Mapping[str, torch.Tensor | None]) -> str:
    found = {name: example[name] for name in one.columns if example.get(name) is not None}
    if any(name in example for name in one.columns):
        require_columns(one, example)
    if one.dtype:
        return one.dtype
    dtypes = {name: tensor.dtype for name, tensor in found.items() if tensor is not None}
    kinds = {name_of(dtype) for dtype in dtypes.values() if not dtype.is_floating_point}
    if not kinds:
        return "float32"
    if len(kinds) > 1 or not kinds <= {*DTYPES} or any(dtype.is_floating_point for dtype in dtypes.values()):
        listed = ", ".join(f"{name} of {name_of(dtype)}" for name, dtype in dtypes.items())
        raise InputError(
            f"columns: block {one.name} has {listed} in the example; expected one dtype of "
            f"{', '.join(DTYPES)}: say which the model takes, as in {one.name}={','.join(one.columns)}:float32"
        )
    return kinds.pop()
