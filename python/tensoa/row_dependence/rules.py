# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Where the rows of a call lie in the tensors that an operator gives, and whether it reads other rows for one of them.

A row of collection c has the size PRIMES[c], so that a dimension has rows in it where the prime divides its size. What no rule
here allows is not proven. pytorch/src/row_dependence/rules.cpp has the same rules for C++, over the same operators.json.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

OPERATORS = json.loads((Path(__file__).parent / "operators.json").read_text())
_END = 1 << 62  # from here on an end is that of all, in TorchScript and torch.export
_WHOLE = (torch.int32, torch.int64)  # dtypes that hold the number of any row
PRIMES = (1000003, 1000033, 1000037, 1000039, 1000081, 1000099, 1000117, 1000121)


class Mixes(Exception):
    """An operator reads other rows than the own one."""


class Unknown(Exception):
    """An operator, or a use of it, that no rule follows."""


@dataclass(frozen=True)
class Rows:
    """Element i of dimension `dim` belongs to row (i // inner) % rows; there are `outer` times all rows one after another.
    `is_number`: the elements are the numbers of the rows, as torch.arange gives them.
    """

    collection: int
    dim: int
    outer: int = 1
    inner: int = 1
    is_number: bool = False

    @property
    def size(self) -> int:
        return self.outer * PRIMES[self.collection] * self.inner

    def is_along(self, other: "Rows", rank: int, other_rank: int) -> bool:
        """Whether the rows lie alike, in tensors that broadcast."""
        return replace(self, dim=self.dim - rank) == replace(other, dim=other.dim - other_rank)


@dataclass(frozen=True)
class Count:
    """The tensor depends on how many rows there are, and on none of them."""


State = Rows | Count | None  # None: the same at every call


@dataclass
class Call:
    """An operator on tensors without numbers. `named`: its arguments, in the order of its schema; `state`: of a tensor, before
    the call; `written`: those of its arguments in which it changes numbers.
    """

    name: str  # without overload, and without the _ of those that write their argument
    named: dict[str, Any]
    state: Callable[[torch.Tensor], State]
    results: list[torch.Tensor]
    written: list[torch.Tensor] = field(default_factory=list)

    def tensors(self) -> Iterator[torch.Tensor]:
        """The tensors whose numbers it may read or write."""
        is_by_sizes = self.name in OPERATORS["by_sizes"]
        for name, value in self.named.items():
            if is_by_sizes and name == "self":
                continue
            values = value if isinstance(value, (list, tuple)) else [value]
            yield from (one for one in values if isinstance(one, torch.Tensor))

    def rows(self) -> list[tuple[torch.Tensor, Rows]]:
        """The tensors that have rows."""
        found = [(tensor, self.state(tensor)) for tensor in self.tensors()]
        return [(tensor, state) for tensor, state in found if isinstance(state, Rows) and not state.is_number]

    def rows_of(self, name: str) -> Rows | None:
        tensor = self.named.get(name)
        state = self.state(tensor) if isinstance(tensor, torch.Tensor) else None
        return state if isinstance(state, Rows) and not state.is_number else None


def results_of(call: Call, is_pointwise: bool) -> list[State]:
    """Of each result where its rows lie. `is_pointwise`: torch says so of the operator. Raises Mixes, Unknown."""
    rows = call.rows()
    has_count = any(_is_of_count(call.state(tensor)) for tensor in call.tensors())
    _check_written(call, bool(rows) or has_count)
    if not rows:
        return [_without_rows(call, result, has_count) for result in call.results]
    if has_count and call.name not in ("index", "index_put"):
        raise Mixes("with the number of rows of the call")
    rule = _rule_of(call.name, is_pointwise)
    if rule is None:
        raise Unknown("which no rule follows")
    return rule(call, rows)


def _is_of_count(state: State) -> bool:
    """Whether the numbers of a tensor follow from how many rows there are."""
    return isinstance(state, Count) or (isinstance(state, Rows) and state.is_number)


def _check_written(call: Call, has_any: bool) -> None:
    """A tensor that is written may share its memory with others, whose states stay as they are. `has_any`: it is called with
    rows, or with their number. Raises Unknown where one of those states might be wrong then.
    """
    for tensor in call.written:
        state = call.state(tensor)
        if _is_of_count(state):
            raise Unknown("writes into numbers that are made of that of the rows")
        if isinstance(state, Rows) and tensor.stride(state.dim) == 0:
            raise Unknown("writes into memory that all rows share")
        is_given_back = any(tensor is result for result in call.results)
        if state is None and has_any and not is_given_back:
            raise Unknown("writes other rows into a tensor")


def _without_rows(call: Call, result: torch.Tensor, has_count: bool) -> State:
    """A result of tensors that are the same for every row."""
    numbered = [s for s in map(call.state, call.tensors()) if isinstance(s, Rows) and s.is_number]
    if call.name in OPERATORS["keeps_numbers"] and numbered and result.dtype in _WHOLE:
        return _found(result, numbered[0])
    if has_count:
        return Count()
    found = [
        (collection, dim, size // prime)
        for collection, prime in enumerate(PRIMES)
        for dim, size in enumerate(result.shape)
        if size and size % prime == 0
    ]
    if not found:
        return None
    collection, dim, times = found[0]
    is_from_0 = call.named.get("start", 0) == 0 and call.named.get("step", 1) == 1
    if call.name == "arange" and times == 1 and is_from_0 and result.dtype in _WHOLE:
        return Rows(collection, 0, is_number=True)
    if call.name not in OPERATORS["filled"] or len(found) > 1 or _has_rows(times):
        return Count()
    return Rows(collection, dim, 1, times)


def _has_rows(size: int) -> bool:
    """Whether a number is made of one of rows."""
    return size != 0 and any(size % prime == 0 for prime in PRIMES)


def _dim_of_rows(result: torch.Tensor, rows: Rows) -> int:
    """The one dimension of a result that has rows. Raises Mixes where none has, several have, or rows of another
    collection are in one.
    """
    dims = [dim for dim, size in enumerate(result.shape) if _has_rows(size)]
    times, remainder = divmod(result.shape[dims[0]], PRIMES[rows.collection]) if len(dims) == 1 else (0, 1)
    if remainder or _has_rows(times):
        raise Mixes("into other rows")
    return dims[0]


def _found(result: torch.Tensor, rows: Rows) -> Rows:
    """The rows in a result in which they lie one after another as before. Raises Mixes where they are in none of its
    dimensions, or in several.
    """
    dim = _dim_of_rows(result, rows)
    if result.shape[dim] != rows.size:
        raise Mixes("into other rows")
    return replace(rows, dim=dim)


def _all_found(call: Call, rows: Rows) -> list[State]:
    """Results without elements, as batch_norm has them, have no rows."""
    return [_found(result, rows) if result.numel() else None for result in call.results]


# ---- rules: each gets the call and the tensors in it that have rows, one at least


def _alike(rows: Sequence[tuple[torch.Tensor, Rows]]) -> Rows:
    """The rows of tensors that broadcast."""
    first, state = rows[0]
    if not all(state.is_along(other, first.dim(), tensor.dim()) for tensor, other in rows):
        raise Mixes("of rows with others")
    return state


def _elementwise(call: Call, rows: list) -> list[State]:
    return _all_found(call, _alike(rows))


def _moved(call: Call, rows: list) -> list[State]:
    return _all_found(call, rows[0][1])


def _reshaped(call: Call, rows: list) -> list[State]:
    """By where the rows lie among all elements in order: (before, row, after)."""
    (tensor, state), result = rows[0], call.results[0]
    before = _product(tensor.shape[: state.dim]) * state.outer
    after = _product(tensor.shape[state.dim + 1 :]) * state.inner
    dim = _dim_of_rows(result, state)
    outer, of_outer = divmod(before, _product(result.shape[:dim]))
    inner, of_inner = divmod(after, _product(result.shape[dim + 1 :]))
    found = replace(state, dim=dim, outer=outer, inner=inner)
    if of_outer or of_inner or result.shape[dim] != found.size:
        raise Mixes("into other rows")
    return [found]


def _product(sizes: Sequence[int]) -> int:
    found = 1
    for size in sizes:
        found *= size
    return found


def _dims(call: Call, rank: int) -> list[int]:
    """The dimensions that an operator works along; all where it does not say."""
    given = next((call.named[name] for name in ("dim", "dims", "dimension", "dim_IntList") if name in call.named), None)
    dims = [given] if isinstance(given, int) else list(given or [])
    return [dim % max(rank, 1) for dim in dims] or list(range(rank))


def _along(call: Call, rows: list) -> list[State]:
    state = _alike(rows)
    for tensor, own in rows:
        if own.dim in _dims(call, tensor.dim()):
            raise Mixes("along the rows")
    return _all_found(call, state)


def _squeeze(call: Call, rows: list) -> list[State]:
    tensor, state = rows[0]
    is_one_number = _product(tensor.shape) == state.size
    if state.dim in _dims(call, tensor.dim()) and not is_one_number:
        raise Unknown("which takes off the dimension of the rows where there is one")
    return _all_found(call, state)


def _inside(call: Call, rows: list) -> list[State]:
    """Operators that take the last dimensions together."""
    state = _alike(rows)
    if any(own.dim >= tensor.dim() - OPERATORS["inside"][call.name] for tensor, own in rows):
        raise Mixes("along the rows")
    return _all_found(call, state)


def _first_dimension(call: Call, rows: list) -> list[State]:
    state = rows[0][1]
    if state.dim != 0 or any(own != state for _, own in rows):
        raise Mixes("along the rows")
    if call.name.endswith("convolution") and len(rows) > 1:
        raise Mixes("of rows with others")
    return _all_found(call, state)


def _product_rule(call: Call, rows: list) -> list[State]:
    """Sums of products over the dimension k: the others are in the result."""
    labels = []
    specs = OPERATORS["products"][call.name]
    for tensor, spec in zip(call.tensors(), specs):
        state = call.state(tensor)
        if not isinstance(state, Rows):
            continue
        own, at = spec.removeprefix("*"), state.dim - tensor.dim()
        label = own[at] if -at <= len(own) else str(at + len(own))
        if label == "k":
            raise Mixes("along the rows")
        labels.append((label, replace(state, dim=0)))
    if len(set(labels)) != 1:
        raise Mixes("of rows with others")
    return _all_found(call, rows[0][1])


def _select(call: Call, rows: list) -> list[State]:
    tensor, state = rows[0]
    if call.named["dim"] % tensor.dim() == state.dim:
        raise Mixes("of one row")
    return _all_found(call, state)


def _slice(call: Call, rows: list) -> list[State]:
    tensor, state = rows[0]
    end = call.named.get("end")
    if call.named.get("dim", 0) % tensor.dim() == state.dim:
        is_to_end = end is None or end >= _END or end == state.size
        if not is_to_end or call.named.get("start") not in (None, 0) or call.named.get("step", 1) != 1:
            raise Mixes("of some rows")
    elif _has_rows(end or 0):
        raise Mixes("with the number of rows of the call")
    return _all_found(call, state)


def _diagonal(call: Call, rows: list) -> list[State]:
    tensor, state = rows[0]
    if state.dim in (call.named.get("dim1", 0) % tensor.dim(), call.named.get("dim2", 1) % tensor.dim()):
        raise Mixes("along the rows")
    return _all_found(call, state)


def _written_part(call: Call, rows: list) -> list[State]:
    """select_scatter, slice_scatter: `src` is written into a part of self."""
    own, src = call.rows_of("self"), call.rows_of("src")
    if own is None or own.dim == call.named.get("dim", 0) % call.named["self"].dim():
        raise Mixes("of some rows")
    if _has_rows(call.named.get("end") or 0):
        raise Mixes("with the number of rows of the call")
    if src is not None:
        is_gone = call.name == "select_scatter" and call.named["dim"] % call.named["self"].dim() < own.dim
        if src != replace(own, dim=own.dim - is_gone):
            raise Mixes("of rows with others")
    return _all_found(call, own)


def _cat(call: Call, rows: list) -> list[State]:
    """Of tensors that all have the same rows: one without them would need the same number of elements there."""
    tensors = list(call.tensors())
    state = _alike(rows)
    if any(tensor.numel() and not isinstance(call.state(tensor), Rows) for tensor in tensors):
        raise Mixes("of rows with others")
    if call.name == "cat" and call.named.get("dim", 0) % tensors[0].dim() == state.dim:
        raise Mixes("along the rows")
    return _all_found(call, state)


def _pad(call: Call, rows: list) -> list[State]:
    tensor, state = rows[0]
    at = 2 * (tensor.dim() - 1 - state.dim)  # the last dimension comes first
    if any(call.named["pad"][at : at + 2]):
        raise Mixes("along the rows")
    return _all_found(call, state)


def _repeat(call: Call, rows: list) -> list[State]:
    (tensor, state), result = rows[0], call.results[0]
    dim = state.dim + result.dim() - tensor.dim()
    return [_found(result, replace(state, outer=state.outer * call.named["repeats"][dim]))]


def _expand(call: Call, rows: list) -> list[State]:
    return _all_found(call, rows[0][1])


def _layer_norm(call: Call, rows: list) -> list[State]:
    tensor, state = rows[0]
    if len(rows) > 1:
        raise Mixes("of rows with others")
    if state.dim >= tensor.dim() - len(call.named["normalized_shape"]):
        raise Mixes("along the rows")
    return _all_found(call, state)


def _group_norm(call: Call, rows: list) -> list[State]:
    if len(rows) > 1 or rows[0][1].dim != 0:
        raise Mixes("along the rows")
    return _all_found(call, rows[0][1])


def _batch_norm(call: Call, rows: list) -> list[State]:
    """In training, statistics of each channel (dimension 1) over all else; those of instance_norm have rows in them."""
    state = call.rows_of("input")
    if state is None:
        raise Unknown("with weights of rows")
    is_training = call.named.get("training", not call.name.endswith(("no_training", "no_update")))
    if is_training and state.dim != 1:
        raise Mixes("in training, along the rows")
    for tensor, own in rows:
        if tensor is not call.named["input"] and (state.dim != 1 or own != replace(state, dim=0)):
            raise Mixes("of rows with others")
    if not is_training:  # the statistics that it gives back are the weights'
        return [_found(call.results[0], state), *(None for _ in call.results[1:])]
    return _all_found(call, state)


def _embedding(call: Call, rows: list) -> list[State]:
    if call.rows_of("weight") is not None:
        raise Mixes("of other rows")
    return _all_found(call, rows[0][1])


def _tables(call: Call, rows: list) -> list[State]:
    """Only the first tensor has rows; the other one is looked at for each element."""
    if len(rows) > 1 or rows[0][0] is not next(call.tensors()):
        raise Mixes("of other rows")
    return _all_found(call, rows[0][1])


def _searchsorted(call: Call, rows: list) -> list[State]:
    table, own = call.rows_of("sorted_sequence"), call.rows_of("self")
    if table is not None and (table != own or table.dim == call.named["sorted_sequence"].dim() - 1):
        raise Mixes("of other rows")
    if call.rows_of("sorter") != (table if call.named.get("sorter") is not None else None):
        raise Mixes("of other rows")
    return _all_found(call, rows[0][1])


def _gather(call: Call, rows: list) -> list[State]:
    """gather, scatter and their kin: index and values have the dimensions of self."""
    own, index = call.rows_of("self"), call.rows_of("index")
    dim = call.named["dim"] % max(call.named["self"].dim(), 1)
    if own is None and call.name == "gather" and index is not None and index.dim == dim:
        return _all_found(call, index)  # elements of a table
    if own is None or index != own or own.dim == dim:
        raise Mixes("by an index of other rows")
    if any(state != own for _, state in rows):
        raise Mixes("of rows with others")
    return _all_found(call, own)


def _index_select(call: Call, rows: list) -> list[State]:
    own, index = call.rows_of("self"), call.rows_of("index")
    dim = call.named["dim"] % max(call.named["self"].dim(), 1)
    if own is not None and index is None and own.dim != dim:
        return _elementwise(call, rows)  # index_add and its kin have a source of the same dimensions
    if own is None and index is not None and call.name == "index_select":
        return _all_found(call, index)
    raise Mixes("by an index of other rows")


def _index(call: Call, rows: list) -> list[State]:
    """self[indices], and what is written there."""
    rank, own, values = call.named["self"].dim(), call.rows_of("self"), call.named.get("values")
    if any(isinstance(one, torch.Tensor) and _is_of_count(call.state(one)) for one in (call.named["self"], values)):
        raise Mixes("with the number of rows of the call")
    indices = {dim: index for dim, index in enumerate(call.named["indices"]) if index is not None}
    of_indices = {dim: call.state(index) for dim, index in indices.items()}
    if any(isinstance(state, Count) for state in of_indices.values()):
        raise Mixes("with the number of rows of the call")
    with_rows = [(indices[dim], state) for dim, state in of_indices.items() if isinstance(state, Rows)]
    is_one_value = isinstance(values, torch.Tensor) and values.numel() == 1 and call.state(values) is None
    if call.name == "index_put" and len(indices) == 1 and own is not None and is_one_value:
        (dim, mask), (_, state) = next(iter(indices.items())), next(iter(of_indices.items()))
        if mask.dtype == torch.bool and isinstance(state, Rows) and replace(state, dim=state.dim + dim) == own:
            return [own]
    if any(index.dtype in (torch.bool, torch.uint8) for index in indices.values()):
        raise Mixes("of rows that a mask chooses")
    if own is not None and own.dim in of_indices:
        at = of_indices[own.dim]
        if not (isinstance(at, Rows) and replace(at, dim=0) == Rows(own.collection, 0, own.outer, own.inner, is_number=True)):
            raise Mixes("by an index of other rows")
        if any(one.is_number for dim, one in of_indices.items() if dim != own.dim and isinstance(one, Rows)):
            raise Mixes("with the number of rows of the call")
        state = _alike([(index, replace(one, is_number=False)) for index, one in with_rows])
        if call.name == "index":
            return _all_found(call, state)
        is_right = is_one_value or (
            isinstance(values, torch.Tensor)
            and isinstance(call.state(values), Rows)
            and len(indices) == rank
            and state.is_along(call.state(values), max(i.dim() for i in indices.values()), values.dim())
        )
        if not is_right:
            raise Mixes("of rows with others")
        return [own]
    if any(state.is_number for _, state in with_rows):
        raise Mixes("with the number of rows of the call")
    if own is None and with_rows and call.name == "index":
        return _all_found(call, _alike(with_rows))
    if own is not None and not with_rows and call.name == "index":
        return _all_found(call, own)
    if own is not None and not with_rows and is_one_value:
        return [own]
    raise Mixes("by an index of other rows")


def _mixing(call: Call, rows: list) -> list[State]:
    raise Mixes("of all rows")


_RULES: dict[str, Callable[[Call, list], list[State]]] = {
    **dict.fromkeys(OPERATORS["elementwise"], _elementwise),
    **dict.fromkeys(OPERATORS["moved"], _moved),
    **dict.fromkeys(OPERATORS["reshaped"], _reshaped),
    **dict.fromkeys(OPERATORS["along"], _along),
    **dict.fromkeys(OPERATORS["inside"], _inside),
    **dict.fromkeys(OPERATORS["first_dimension"], _first_dimension),
    **dict.fromkeys(OPERATORS["products"], _product_rule),
    **dict.fromkeys(OPERATORS["tables"], _tables),
    **dict.fromkeys(OPERATORS["mixing"], _mixing),
    **dict.fromkeys(("scatter", "scatter_add", "scatter_reduce", "gather"), _gather),
    **dict.fromkeys(("index_select", "index_add", "index_copy", "index_fill"), _index_select),
    **dict.fromkeys(("index", "index_put", "_unsafe_index"), _index),
    **dict.fromkeys(("select_scatter", "slice_scatter"), _written_part),
    **dict.fromkeys(("native_layer_norm", "layer_norm", "rms_norm", "_fused_rms_norm"), _layer_norm),
    **dict.fromkeys(("native_group_norm", "group_norm"), _group_norm),
    **dict.fromkeys(
        (
            "native_batch_norm",
            "_native_batch_norm_legit",
            "_native_batch_norm_legit_no_training",
            "_batch_norm_no_update",
            "_batch_norm_with_update",
        ),
        _batch_norm,
    ),
    **dict.fromkeys(("cat", "stack"), _cat),
    "constant_pad_nd": _pad,
    "diagonal": _diagonal,
    "embedding": _embedding,
    "expand": _expand,
    "repeat": _repeat,
    "searchsorted": _searchsorted,
    "select": _select,
    "slice": _slice,
    "squeeze": _squeeze,
}


def has_rule(name: str, is_pointwise: bool) -> bool:
    """Whether an operator has one; those that torch calls pointwise get that of elementwise ones."""
    return _rule_of(name, is_pointwise) is not None


def _rule_of(name: str, is_pointwise: bool) -> Callable[[Call, list], list[State]] | None:
    return _RULES.get(name, _elementwise if is_pointwise else None)
