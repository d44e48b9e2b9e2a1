# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of Awkward Array as columns, for tensoa.Model: what lists hold, where it lies, and the offsets of the lists."""

from collections.abc import Iterator, Mapping
from typing import Any

import awkward
import numpy as np
from awkward.contents import Content, ListOffsetArray, NumpyArray, RecordArray
from awkward.index import Index64

from tensoa.errors import BindingError

Offsets = list[np.ndarray]  # int64 [lists + 1] each, those of the outermost lists first
Path = tuple[str, ...]
_NUMBERS = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")


class NullsError(BindingError):
    """Numbers are missing."""


def is_traced(array: awkward.Array) -> bool:
    """Whether it has types and no numbers: dask-awkward and coffea ask with such what a call reads and gives."""
    return awkward.backend(array) == "typetracer"


def paths(array: awkward.Array) -> dict[str, list[Path]]:
    """The columns of records, or of lists of them, by name, their fields from the outermost: {"jets.pt": [("jets", "pt")]};
    several where a name is there several times.
    """
    found: dict[str, list[Path]] = {}
    for path in _paths(array.layout.form, ()):
        found.setdefault(".".join(path), []).append(path)
    return found


def _paths(form: awkward.forms.Form, path: Path) -> Iterator[Path]:
    if form.is_record:
        for field in form.fields:
            yield from _paths(form.content(field), (*path, field))
    elif form.is_list or form.is_option or form.is_indexed:
        yield from _paths(form.content, path)
    elif path:
        yield path


def column(array: awkward.Array, path: Path, dtype: str, dims: int, subject: str) -> tuple[np.ndarray, Offsets, int]:
    """The numbers of a column, the offsets of the lists they are in, and the bytes that were copied for it.

    dtype: what is expected; an array of no known type is read as that
    dims: of what is one row; this number of innermost dimensions of fixed size are not lists
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
            _require_no_nulls(layout.mask_as_bool(valid_when=False), subject)
            layout = layout.project()
        elif layout.is_indexed:
            layout = layout.project()
        elif layout.is_regular and 0 < _dims(layout) <= dims:
            values = layout.to_backend_array()
            if isinstance(values, np.ma.MaskedArray):  # of options
                _require_no_nulls(np.asarray(np.ma.getmaskarray(values).any(axis=tuple(range(1, values.ndim)))), subject)
                values = values.data
            layout = NumpyArray(values)
        elif layout.is_list and layout.parameter("__array__") is None:  # else text, a list of bytes
            lists = layout.to_ListOffsetArray64(start_at_zero=True)
            offsets.append(np.ascontiguousarray(lists.offsets.data))
            layout = lists.content[: lists.offsets[-1]]
        elif layout.is_unknown:
            layout = layout.to_NumpyArray(dtype=np.dtype(dtype))
        elif layout.is_numpy and layout.parameter("__array__") is None and layout.data.dtype.name in _NUMBERS:
            numbers = np.asarray(layout.data)  # a virtual array that is loaded does not give memory that is read-only
            is_in_place = memory is not None and np.may_share_memory(numbers, memory)
            return numbers, offsets, 0 if is_in_place else numbers.nbytes
        elif layout.is_numpy and layout.parameter("__array__") is None:
            raise BindingError(f'{subject} is {layout.data.dtype}, expected {dtype}: ak.values_astype(x, "{dtype}")')
        else:
            raise BindingError(f"{subject} is {layout.form.type}, expected numbers")


def _memory_of(layout: Content) -> np.ndarray | None:
    while layout.is_list or layout.is_option or layout.is_indexed:
        layout = layout.content
    return np.asarray(layout.data) if layout.is_numpy else None


def _dims(layout: Content) -> int:
    """How many dimensions of fixed size what is in it has; 0 where it has no such size."""
    dims = 0
    while not layout.is_numpy and (layout.is_regular or layout.is_option or layout.is_indexed):
        layout, dims = layout.content, dims + layout.is_regular
    return dims + len(layout.inner_shape) if layout.is_numpy else 0


def _require_no_nulls(is_null: np.ndarray, subject: str) -> None:
    if is_null.any():
        raise NullsError(
            f"{subject} has nulls, the first in row {int(np.argmax(is_null))}; expected none: fill them (ak.fill_none), or "
            "leave these rows out"
        )


def array_of(columns: dict[str, tuple[np.ndarray, Offsets, int]], *, are_records: bool, are_traced: bool) -> Any:
    """Columns as an array of records in the lists that all of them are in; a dict of arrays where they are not records, because
    their numbers of rows differ.

    columns: the numbers of each, the offsets of the lists, and how many numbers each list of a further, innermost level has
        (0: there is no such level). A column called "" is the array itself.
    """

    def array(layout: Content) -> awkward.Array:
        return awkward.Array(layout.to_typetracer(forget_length=True) if are_traced else layout)

    contents = {}
    for name, (numbers, offsets, size) in columns.items():
        contents[name] = NumpyArray(numbers.reshape(-1, size, *numbers.shape[1:]) if size else numbers), offsets
    if [*columns] == [""]:
        return array(_in_lists(*contents[""]))
    if not are_records:
        return {name: array(_in_lists(*content)) for name, content in contents.items()}
    of_lists = [offsets for _, offsets in contents.values()]
    common = 0
    while all(len(offsets) > common and offsets[common] is of_lists[0][common] for offsets in of_lists):
        common += 1
    fields = [_in_lists(content, offsets[common:]) for content, offsets in contents.values()]
    return array(_in_lists(RecordArray(fields, [*columns]), of_lists[0][:common]))


def _in_lists(content: Content, offsets: Offsets) -> Content:
    for level in reversed(offsets):
        content = ListOffsetArray(Index64(level), content)
    return content


# ---- arrays of dask-awkward


class _Task:
    """A call on one partition."""

    def __init__(self, model: Any, positional: int, names: list[str]) -> None:
        self.model, self.positional, self.names = model, positional, names

    def __call__(self, *values: Any) -> Any:
        named = dict(zip(self.names, values[self.positional :], strict=True))
        return self.model(named) if named else self.model(*values[: self.positional])


def call_of_dask(model: Any, args: tuple, columns: Mapping[str, Any]) -> Any:
    """A call of `model` on each partition, later. Raises BindingError."""
    import dask_awkward

    subject = f"model {model.path}"
    if len(args) == 1 and isinstance(args[0], Mapping):
        args, columns = (), args[0]
    values = [*args, *columns.values()]
    lazy = [isinstance(value, dask_awkward.Array) for value in values]
    if not all(is_lazy or np.ndim(value) == 0 for is_lazy, value in zip(lazy, values, strict=True)):
        raise BindingError(f"{subject}: got arrays of dask-awkward and others; expected all of one kind, or numbers")
    types = [value._meta.layout.form for value, is_lazy in zip(values, lazy, strict=True) if is_lazy]
    if model.rows_are_independent is not True and not any(map(_has_lists, types)):
        raise BindingError(
            f"{subject}: got columns of dask-awkward that are in no lists, and its rows depend on each other: a partition "
            "would not be all of them; expected a list for each call of the model"
        )
    return dask_awkward.map_partitions(_Task(model, len(args), [*columns]), *values, label="tensoa")


def _has_lists(form: awkward.forms.Form) -> bool:
    if form.is_record:
        return any(_has_lists(content) for content in form.contents)
    return form.is_list or ((form.is_option or form.is_indexed) and _has_lists(form.content))
