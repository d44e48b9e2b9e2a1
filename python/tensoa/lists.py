# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of Awkward Array as columns, for tensoa.Model: what lists hold, where it lies, and the offsets of the lists."""

from collections.abc import Iterator

import awkward
import numpy as np
from awkward.contents import Content, ListOffsetArray, NumpyArray, RecordArray
from awkward.index import Index64

from tensoa.errors import BindingError

Offsets = list[np.ndarray]  # int64 [lists + 1] each, those of the outermost lists first


class NullsError(BindingError):
    """Numbers are missing."""


def is_traced(array: awkward.Array) -> bool:
    """Whether it has types and no numbers: dask-awkward and coffea ask with such what a call reads and gives."""
    return awkward.backend(array) == "typetracer"


def paths(array: awkward.Array) -> dict[str, tuple[str, ...]]:
    """Of each column of records, or of lists of them, its fields from the outermost: {"jets.pt": ("jets", "pt")}."""
    return {".".join(path): path for path in _paths(array.layout.form, ())}


def _paths(form: awkward.forms.Form, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if form.is_record:
        for field in form.fields:
            yield from _paths(form.content(field), (*path, field))
    elif form.is_list or form.is_option or form.is_indexed:
        yield from _paths(form.content, path)
    elif path:
        yield path


def column(array: awkward.Array, path: tuple[str, ...], dtype: str, subject: str) -> tuple[np.ndarray, Offsets, int]:
    """The numbers of a column, the offsets of the lists they are in, and the bytes that were copied for it.

    dtype: what an array of no known type is read as
    Raises NullsError; BindingError for text and unions.
    """
    layout = array.layout
    for field in path:
        layout = layout[field]
    if layout.backend.name == "typetracer":
        awkward.typetracer.touch_data(layout)
        layout = layout.form.length_zero_array(highlevel=False)
    if not layout.is_all_materialized:
        layout = awkward.materialize(layout, highlevel=False)
    memory = _memory_of(layout)
    offsets: Offsets = []
    while True:
        if layout.is_option:
            _require_no_nulls(layout, subject)
            layout = layout.project()
        elif layout.is_indexed:
            layout = layout.project()
        elif layout.is_list and layout.parameter("__array__") is None:  # else text, a list of bytes
            lists = layout.to_ListOffsetArray64(start_at_zero=True)
            offsets.append(np.ascontiguousarray(lists.offsets.data))
            layout = lists.content[: lists.offsets[-1]]
        elif layout.is_unknown:
            layout = layout.to_NumpyArray(dtype=np.dtype(dtype))
        elif layout.is_numpy:
            is_in_place = memory is not None and np.may_share_memory(layout.data, memory)
            return layout.data, offsets, 0 if is_in_place else layout.data.nbytes
        else:
            raise BindingError(f"{subject} is {layout.form.type}, expected numbers")


def _memory_of(layout: Content) -> np.ndarray | None:
    while layout.is_list or layout.is_option or layout.is_indexed:
        layout = layout.content
    return layout.data if layout.is_numpy else None


def _require_no_nulls(layout: Content, subject: str) -> None:
    is_null = layout.mask_as_bool(valid_when=False)
    if is_null.any():
        raise NullsError(
            f"{subject} has nulls, the first in row {int(np.argmax(is_null))}; expected none: fill them (ak.fill_none), or "
            "leave these rows out"
        )


def array_of(columns: dict[str, tuple[np.ndarray, Offsets, int]], is_traced: bool) -> awkward.Array:
    """Columns as an array of records in the lists that all of them are in.

    columns: the numbers of each, the offsets of the lists, and how many numbers each list of a further, innermost level has
        (0: there is no such level). A column called "" is the array itself, without records.
    """
    of_lists = [offsets for _, offsets, _ in columns.values()]
    common = 0
    while all(len(offsets) > common and offsets[common] is of_lists[0][common] for offsets in of_lists):
        common += 1
    contents = []
    for numbers, offsets, size in columns.values():
        shaped = numbers.reshape(-1, size, *numbers.shape[1:]) if size else numbers
        contents.append(_in_lists(NumpyArray(shaped), offsets[common:]))
    layout = contents[0] if list(columns) == [""] else RecordArray(contents, list(columns))
    layout = _in_lists(layout, of_lists[0][:common])
    if is_traced:
        layout = layout.to_typetracer(forget_length=True)
    return awkward.Array(layout)


def _in_lists(content: Content, offsets: Offsets) -> Content:
    for level in reversed(offsets):
        content = ListOffsetArray(Index64(level), content)
    return content
