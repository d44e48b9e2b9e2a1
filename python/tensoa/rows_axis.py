# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models whose tensors do not begin with rows, as models whose blocks do.

A block is [n, k]: n rows of k numbers. The tensor of a model may have rows along another axis ([2, n, 128]), more axes for one
row ([n, 3, 8, 8]), always the same number of rows ([1, 5], [16, 5]), or be one row ([5]). Where the rows are (Place) is said by
the words of a block or the file of the model, else found by trial. The expected results are those of the model
itself, in the number of calls that its tensors need. A program does that in one call of the model, where this gives the same;
else it has each of the calls (tensoa.row_by_row).
"""

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from tensoa.binding.blocks import Binding, Block, argument_names, named_results
from tensoa.binding.columns import Columns, collections_of
from tensoa.binding.defaults import Sizes, taken_by_file
from tensoa.binding.model import WithoutResults, as_exported, takes_rows, with_examples
from tensoa.carried import Carried
from tensoa.compiler.torchscript import without_script
from tensoa.errors import InputError, Unsupported, first_line
from tensoa.importers.results import named
from tensoa.row_by_row import of_any, of_each

Function = Callable[[Sequence[torch.Tensor]], Any]  # of the tensors of a model
TRIED = (5, 12)  # numbers of rows
MANY = (33, 307)  # of which a model takes one that takes rows as they are
MOST_PLACES = 64
RECORDED = 1009  # a number of rows, which sizes of models rarely are
TOLERANCE = 1e-4  # relative to the largest number: float32, added up in another order


@dataclass(frozen=True)
class Place:
    """Where the rows of a block are in the tensor of a model. `axis`: None where the tensor is one row. `sizes`: of the other
    axes. `count`: the number of rows that it always has, None for any.
    """

    axis: int | None
    sizes: tuple[int, ...]
    count: int | None

    def tensor(self, rows: torch.Tensor) -> torch.Tensor:
        """Of the model, from rows [count, …] of a block."""
        if self.axis is None:
            return rows.reshape(self.sizes)
        return rows.reshape(rows.shape[0], *self.sizes).movedim(0, self.axis)

    def __str__(self) -> str:
        sizes = [*map(str, self.sizes)]
        if self.axis is not None:
            sizes.insert(self.axis, "n" if self.count is None else str(self.count))
        return f"[{', '.join(sizes)}]"

    @property
    def for_any(self) -> "Place":
        """The same for any number of rows; one row gets an axis before its others."""
        return Place(self.axis or 0, self.sizes, None)


class RowsFirst(nn.Module):
    """Takes a tensor [n, …] for each input block, in their order, and gives [n, k] for each result that has rows.

    It calls the model as often as its tensors need; once where `places` take any number of rows. `axes`: of each result that of
    its rows; None where a call gives one row, or always the same.
    """

    def __init__(self, model: nn.Module, inputs: Binding, places: Sequence[Place], axes: Sequence[int | None]) -> None:
        super().__init__()
        self.model, self.inputs, self.places, self.axes = model, inputs, list(places), list(axes)
        self.argument_names = [block.name for block in inputs.inputs]
        self.result_names, self.notes = getattr(model, "result_names", ()), list(getattr(model, "notes", ()))

    @property
    def count(self) -> int | None:
        """Rows of a call; None for any."""
        return self.places[0].count

    def rows(self, tensors: Sequence[torch.Tensor], by_name: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
        return [*tensors, *(by_name[name] for name in self.argument_names[len(tensors) :])]

    def forward(self, *tensors: torch.Tensor, **by_name: torch.Tensor) -> Any:
        return self.by_calls(self.value, self.rows(tensors, by_name))

    def value(self, tensors: Sequence[torch.Tensor]) -> Any:
        """The model's results for tensors in its own shapes."""
        return self.inputs.value(self.model, tensors)

    def tensors(self, rows: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        return [place.tensor(one) for place, one in zip(self.places, rows)]

    def by_calls(self, function: Function, rows: Sequence[torch.Tensor]) -> Any:
        """The results of a function of the model's own tensors for all rows; the last call is filled up with zeros."""
        if self.count is None:
            value = function(self.tensors(rows))
            return _like(value, self.rows_of(value))
        number, pieces, value = len(rows[0]), list[list[torch.Tensor]](), None
        for begin in range(0, max(number, 1), self.count):
            value = function(self.tensors([_filled_up(one[begin : begin + self.count], self.count) for one in rows]))
            pieces.append(self.rows_of(value))
        return _like(value, [torch.cat(parts)[:number] for parts in zip(*pieces)])

    def own_value(self) -> Any:
        """The model's own results for a call."""
        with as_exported():
            return self.value(self.tensors(self.example(self.count)))

    def example(self, count: int | None = None) -> list[torch.Tensor]:
        """Rows of a call of the model."""
        return _rows(self.inputs, count or TRIED[0])

    def ranks(self) -> list[int]:
        """Of its results."""
        return [one.dim() for one in _tensors_of(self.own_value())]

    def sizes_of_results(self) -> list[Sizes]:
        """Of one row of each, as the model gives it."""
        return [self._sizes_of_row(one.shape, axis) for one, axis in zip(_tensors_of(self.own_value()), self.axes)]

    def _sizes_of_row(self, shape: torch.Size, axis: int | None) -> Sizes:
        if axis is not None:
            return (*shape[:axis], *shape[axis + 1 :])
        return tuple(shape[1:] if self.count is None or shape[:1] == (1,) else shape)

    def rows_of(self, value: Any) -> list[torch.Tensor]:
        """Of each result what has rows first."""
        return [self._rows_first(tensor, axis) for tensor, axis in zip(_tensors_of(value), self.axes)]

    def _rows_first(self, tensor: torch.Tensor, axis: int | None) -> torch.Tensor:
        if axis is None:
            return tensor if self.count is None else tensor.reshape(1, -1)
        return tensor.movedim(axis, 0).flatten(1) if tensor.dim() > 1 else tensor


class Program(RowsFirst):
    """The module that is compiled of a RowsFirst: the same in one call. `recorded`: is called instead of the model, accepts and
    returns rows first; its results are the tensors of a value of this `form`.
    """

    def __init__(
        self,
        right: RowsFirst,
        axes: Sequence[int | None],
        recorded: nn.Module | None = None,
        form: Any = None,
        model: nn.Module | None = None,
    ) -> None:
        super().__init__(model or right.model, right.inputs, [place.for_any for place in right.places], axes)
        self.recorded, self.right = recorded, [right]  # in a list: its parts are not once more those of this one
        self.form = form
        self.framework = getattr(right.model, "framework", "the model itself")

    def forward(self, *tensors: torch.Tensor, **by_name: torch.Tensor) -> Any:
        rows = self.rows(tensors, by_name)
        return self.by_calls(self.value, rows) if self.recorded is None else _like(self.form, self.recorded(*rows))

    def own_value(self) -> Any:
        (right,) = self.right
        return right.own_value()

    def sizes_of_results(self) -> list[Sizes]:
        (right,) = self.right
        return right.sizes_of_results()

    def reference(self) -> Function | None:
        """The model's own framework, in the number of calls that it needs."""
        return self._by_calls("reference")

    def reference_in_float64(self) -> Function | None:
        return self._by_calls("reference_in_float64")

    def _by_calls(self, name: str) -> Function | None:
        (right,) = self.right
        make = getattr(right.model, name, None)
        if make is None:
            return (lambda rows: right(*rows)) if name == "reference" else None
        function, names = make(), argument_names(right.model)
        if function is None:
            return None
        is_by_name = names is not None and right.inputs.goes_by_name(names)
        order = [self.argument_names.index(one) for one in names or ()] if is_by_name else range(len(self.places))
        return lambda rows: right.by_calls(lambda tensors: function([tensors[i] for i in order]), rows)


def rows_first(module: nn.Module, columns: Binding, said: Mapping[str, Sizes]) -> tuple[nn.Module, list[str]]:
    """(the module, or one that takes the blocks as they are and gives rows first, lines for people). `said`: the sizes of the
    model's tensor for blocks, by name. Raises InputError where it is not so.
    """
    inputs = replace(columns, outputs=())
    sizes = {**_sizes_of_file(module, inputs), **said}
    if isinstance(module, RowsFirst):
        return module, []
    choices = itertools.islice(_choices(inputs, sizes), MOST_PLACES)
    if _takes_as_it_is(module, inputs, sizes):
        if not _gives_several_axes(module, inputs):
            return module, []
        choices = iter([tuple(Place(0, block.shape(None)[1:], None) for block in inputs.inputs)])
    reasons: dict[str, None] = {}
    for places, is_recorded in _attempts(choices):
        try:
            with as_exported():
                return _program(module, inputs, places, is_recorded)
        except Exception as error:  # whatever the user's model throws
            reasons[f"{' and '.join(map(str, places))}: {first_line(error)}"] = None
    if not said and not isinstance(module, Carried):
        return module, []  # what it does not take is said when it is called
    sizes = said or sizes
    names = ", ".join(f"{name}[{', '.join('n' if size is None else str(size) for size in its)}]" for name, its in sizes.items())
    state = ", with the state that it keeps as columns," if isinstance(module, Carried) else ""
    raise InputError(f"columns: the model{state} does not take {names}: {'; '.join(reasons) or 'its rows have other numbers'}")


def _attempts(choices: Iterable[tuple[Place, ...]]) -> Iterator[tuple[tuple[Place, ...], bool]]:
    """(places, whether calls are recorded). Where a tensor of one row has its axis says nothing about which numbers are a row,
    so what the model itself gives for several rows is looked for in all of them first.
    """
    of_one_row = []
    for places in choices:
        if places[0].count == 1:
            of_one_row.append(places)
        yield places, places[0].count != 1
    yield from ((places, True) for places in of_one_row)


def calls_as_said(
    module: nn.Module, inputs: Binding, said: Mapping[str, Sizes]
) -> Iterator[tuple[int | None, Callable[..., Any]]]:
    """(rows of a call, None for any; a call with the same numbers times its argument), the likelier places of rows first."""
    plain = tuple(Place(0, block.shape(None)[1:], None) for block in inputs.inputs if not block.is_transposed)
    choices = itertools.islice(_choices(inputs, {**_sizes_of_file(module, inputs), **said}), MOST_PLACES)
    for places in [*([plain] if len(plain) == len(inputs.inputs) else []), *choices]:
        trial = RowsFirst(module, inputs, places, ())
        tensors = trial.tensors(_rows(inputs, trial.count or TRIED[0]))
        yield trial.count, functools.partial(_call, trial, tensors)


def _call(trial: RowsFirst, tensors: Sequence[torch.Tensor], factor: float = 1.0) -> Any:
    with as_exported():
        return trial.value([one * factor if one.is_floating_point() else one.clone() for one in tensors])


def _sizes_of_file(module: nn.Module, inputs: Binding) -> dict[str, Sizes]:
    """Of the blocks for whose arguments the file of a model says sizes."""
    of_file, names = taken_by_file(module), argument_names(module)
    if names is None:
        return {}
    arguments = [block.name for block in inputs.inputs] if inputs.goes_by_name(names) else names
    return {
        block.name: shape
        for block, name in zip(inputs.inputs, arguments)
        if name in of_file and not block.is_transposed and (shape := of_file[name].shape) is not None
    }


def _takes_as_it_is(module: nn.Module, inputs: Binding, sizes: Mapping[str, Sizes]) -> bool:
    others = [block for block in inputs.inputs if block.name in sizes and not _fits(sizes[block.name], block)]
    silent = WithoutResults(module)
    return not others and any(takes_rows(silent, inputs, (count,)) for count in MANY)


def _gives_several_axes(module: nn.Module, inputs: Binding) -> bool:
    """Whether a result of a model that takes rows as they are has more axes than [n, k]."""
    if any(block.is_transposed or block.kind == "scalar" for block in inputs.inputs):
        return False
    inputs = with_examples(WithoutResults(module), inputs)
    for count in (TRIED[0], *MANY):
        with contextlib.suppress(Exception), as_exported():  # whatever the user's model throws for one of them
            results = _tensors_of(inputs.value(module, _rows(inputs, count)))
            return any(isinstance(one, torch.Tensor) and one.dim() > 2 for one in results)
    return False


def _fits(sizes: Sizes, block: Block) -> bool:
    """Whether a block [n, …] is a tensor of these sizes, for any n."""
    own = (None, *block.shape(None)[1:])
    return len(sizes) == len(own) and sizes[0] is None and all(a is None or a == b for a, b in zip(sizes, own))


def _choices(inputs: Binding, sizes: Mapping[str, Sizes]) -> Iterator[tuple[Place, ...]]:
    """Places for all blocks, the likelier ones first: with one number of rows for a call."""
    own = [block.shape(None)[1:] for block in inputs.inputs]
    if not sizes:  # the file says nothing: all are one row, or have an axis of one row
        yield tuple(Place(None, size, 1) for size in own)
        yield tuple(Place(0, size, 1) for size in own)
        return
    each = [[*_places(sizes.get(block.name, (None, *size)), math.prod(size))] for block, size in zip(inputs.inputs, own)]
    for places in itertools.product(*each):
        if len({place.count for place in places}) == 1:
            yield places


def _places(sizes: Sizes, width: int) -> Iterator[Place]:
    """The places of rows of `width` numbers in a tensor of these sizes."""
    axes = [i for i, size in enumerate(sizes) if size is None] + [i for i, size in enumerate(sizes) if size is not None]
    for axis in axes:
        others = _filled(sizes[:axis] + sizes[axis + 1 :], width)
        if others is not None:
            yield Place(axis, others, sizes[axis])
            if sizes[axis] is None:  # where it is said of a model of one row
                yield Place(axis, others, 1)
    whole = _filled(sizes, width)
    if whole is not None:
        yield Place(None, whole, 1)


def _filled(sizes: Sizes, width: int) -> tuple[int, ...] | None:
    """The sizes of a tensor of `width` numbers; one of them may be free."""
    known = math.prod(size for size in sizes if size is not None)
    if sizes.count(None) > 1 or not known or width % known or (None not in sizes and known != width):
        return None
    return tuple(width // known if size is None else size for size in sizes)


def _program(model: nn.Module, inputs: Binding, places: Sequence[Place], is_recorded: bool) -> tuple[nn.Module, list[str]]:
    """`is_recorded`: whether calls of the model may be recorded, too. Raises whatever the model throws, and Unsupported."""
    count = places[0].count
    if count is not None and len(collections_of(inputs)) > 1:
        raise Unsupported("its blocks have other numbers of rows than each other")
    inputs = with_examples(WithoutResults(_Calls(model, inputs, places)), inputs)
    right = RowsFirst(model, inputs, places, _axes(model, inputs, places))
    what = " and ".join(f"{block.name} is {place}" for block, place in zip(inputs.inputs, places))
    if count is None:
        return Program(right, right.axes), [f"rows first: {what}{_results_text(right)}"]
    if count > 1:
        _require_independent(right)
    for way, make in itertools.islice(_ways(right).items(), None if is_recorded else 1):
        try:
            program = make()
            _require_same(program, right)
            return program, [f"rows first: {what}; {way}"]
        except Exception as error:  # whatever the user's model throws, or torch
            reason = Unsupported(f"not for others: {first_line(error)}")
    raise reason


def _results_text(right: RowsFirst) -> str:
    found = [f"axis {axis} of result {i + 1}" for i, axis in enumerate(right.axes) if axis]
    return "".join(f", {one} are rows" for one in found)


class _Calls(nn.Module):
    """Calls a model as a RowsFirst does, to try which integers it takes."""

    def __init__(self, model: nn.Module, inputs: Binding, places: Sequence[Place]) -> None:
        super().__init__()
        self.argument_names = [block.name for block in inputs.inputs]
        self.right = RowsFirst(model, inputs, places, ())

    def forward(self, *tensors: torch.Tensor, **by_name: torch.Tensor) -> None:
        self.right(*tensors, **by_name)


def _rows(inputs: Binding, number: int, seed: int = 0) -> list[torch.Tensor]:
    counts = {collection: number * (1 + 2 * i) for i, collection in enumerate(collections_of(inputs))}
    return inputs.tensors(Columns(inputs, counts, (), "cpu", seed=seed).inputs)


def _axes(model: nn.Module, inputs: Binding, places: Sequence[Place]) -> list[int | None]:
    """The axis of the rows of each result: where its size is the number of rows; for a fixed number where values follow the
    rows. Raises whatever the model throws, and Unsupported.
    """
    trial = RowsFirst(model, inputs, places, ())
    if trial.count == 1:
        return [None] * len(_tensors_of(trial.value(trial.tensors(_rows(inputs, 1)))))
    if trial.count is not None:
        return _following(trial)
    shapes = []
    for number in TRIED:
        value = trial.value(trial.tensors(_rows(inputs, number)))
        shapes.append([tensor.shape for tensor in _tensors_of(value)])
    axes = []
    for one, other in zip(*shapes):
        differing = [i for i, (a, b) in enumerate(zip(one, other)) if a != b]
        if len(one) != len(other) or len(differing) > 1:
            raise Unsupported(f"a result has the shapes {list(one)} and {list(other)} for {TRIED[0]} and {TRIED[1]} rows")
        axes.append(differing[0] if differing else None)
    if all(axis is None for axis in axes):
        raise Unsupported("no result has the rows of the inputs")
    return axes


def _following(trial: RowsFirst) -> list[int | None]:
    """The axes of results along which they are in another order where the rows are."""
    assert trial.count is not None
    rows = _rows(trial.inputs, trial.count)
    order = torch.randperm(trial.count, generator=torch.Generator().manual_seed(1))
    values = [_tensors_of(trial.value(trial.tensors(given))) for given in (rows, [one[order] for one in rows])]
    axes: list[int | None] = []
    for one, other in zip(*values):
        sizes = enumerate(one.shape)
        found = (i for i, size in sizes if size == trial.count and are_same(one.index_select(i, order), other))
        axis = next(found, None)
        if axis is None:
            raise Unsupported("a result does not follow the order of the rows: they depend on each other")
        axes.append(axis)
    return axes


def _require_independent(right: RowsFirst) -> None:
    """Raises Unsupported where the results of some rows depend on others of the same call."""
    assert right.count is not None
    rows, others = _rows(right.inputs, right.count), _rows(right.inputs, right.count, seed=1)
    kept = right.count // 2
    mixed = [torch.cat([one[:kept], other[kept:]]) for one, other in zip(rows, others)]
    for one, other in zip(_tensors_of(right(*rows)), _tensors_of(right(*mixed))):
        if not are_same(one[:kept], other[:kept]):
            raise Unsupported(f"its {right.count} rows depend on each other")


def _ways(right: RowsFirst) -> dict[str, Callable[[], Program]]:
    """Programs for any number of rows of a model that has one number, the faster ones first."""
    assert right.count is not None
    count = right.count
    model = without_script(right.model)
    once = RowsFirst(model, right.inputs, right.places, right.axes)

    def form() -> Any:
        return _like(right.value(right.tensors(_rows(right.inputs, count))), range(len(right.axes)))

    def of_call(*rows: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(once.rows_of(once.value(once.tensors(rows))))

    def of_row(*row: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(one[0] for one in of_call(*(one.expand(count, *one.shape) for one in row)))

    def by_model() -> Program:
        any_number = [place.for_any for place in right.places]
        return Program(right, _axes(model, right.inputs, any_number), model=model)

    def by_row() -> Program:
        return Program(right, [0] * len(right.axes), of_each(of_row, _rows(right.inputs, RECORDED)), form())

    def in_their_place() -> Program:
        return Program(right, [0] * len(right.axes), of_any(of_call, _rows(right.inputs, count)), form())

    ways: dict[str, Callable[[], Program]] = {"the model gives the same for all rows in one call": by_model}
    if count > 1:
        ways[f"its {count} rows do not depend on each other, and those of a call are in their place"] = in_their_place
    how = "" if count == 1 else f", {count} times, which is slower"
    return {**ways, f"each row is calculated by itself{how}": by_row}


def _require_same(program: RowsFirst, right: RowsFirst) -> None:
    """Raises Unsupported where a program gives something else than the calls that it stands for."""
    for number in (1, *(1 + (right.count or 1) * some // 2 for some in TRIED)):
        rows = _rows(right.inputs, number)
        for got, expected in zip(_tensors_of(program(*rows)), _tensors_of(right(*rows)), strict=True):
            if not are_same(got, expected):
                raise Unsupported(f"it gives something else for {number} rows in one call")


def are_same(got: torch.Tensor, expected: torch.Tensor) -> bool:
    """Of one shape and dtype, but for what is added up in another order."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    largest = expected.double().nan_to_num(0, 0, 0).abs().max().item() if expected.numel() else 0.0
    return torch.allclose(got.double(), expected.double(), TOLERANCE, TOLERANCE * largest, equal_nan=True)


def _filled_up(rows: torch.Tensor, count: int) -> torch.Tensor:
    """`count` rows: these, then zeros."""
    return torch.cat([rows, rows.new_zeros((count - rows.shape[0], *rows.shape[1:]))])


def _tensors_of(value: Any) -> list[torch.Tensor]:
    return [tensor for _, tensor in named_results(value)]


def _like(value: Any, tensors: Sequence[Any]) -> Any:
    """A value of a model, with others for the tensors that it has, and without its members that are None."""
    names = [name for name, _ in named_results(value)]
    if isinstance(value, dict):
        return dict(zip(names, tensors))
    if not all(names):
        return tuple(tensors) if len(tensors) > 1 else tensors[0]
    return named(tensors, [name for name in names if name is not None])
