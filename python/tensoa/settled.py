# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models whose Python looks at numbers, as models whose operations are the same for all numbers.

What training leaves in a model: a counter that each call adds to, a branch on it, a check that raises, a selection of rows or
pairs by a mask, an `if mask.any():` around one. Of each of them a program has

* a buffer of one number, or one that a call changes: the number that it has now. Calls after each other must give the same;
* `if condition: raise`: a check. Rows for which the condition holds are NaN, where the model raises;
* x[mask], mask.nonzero(): all that might be selected, of which only what is selected is written. Rows must not depend on each
  other, which shows that nothing else of it is read;
* `if mask.any():` what is done where it holds, which must be the same as nothing where nothing is selected. That is tried with
  nothing selected, whatever the numbers are.

A model with anything else stays as it is.
"""

import contextlib
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

from tensoa.binding.blocks import Binding, argument_names, named_results
from tensoa.binding.columns import FEWEST_ROWS, NORMAL, SMALL, SPECIAL, Columns, collections_of, trial_rows
from tensoa.binding.model import as_exported, result_rows, with_examples, with_lengths
from tensoa.compiler import frontend
from tensoa.errors import InputError, Unsupported, first_line
from tensoa.row_dependence import INDEPENDENT, row_dependence
from tensoa.rows_axis import are_same
from tensoa.tracing import OTHERS

CALLS = 12  # that must give the same after each other
SEEDS = (0, 1, 2)  # of trials
MOST_BRANCHES = 256
_T = torch.Tensor
COUNTS = ("size", "numel", "len", "item", "tolist", "numpy")  # what Python reads of a tensor
_ORDER = {"lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge}


def settled(module: nn.Module, columns: Binding) -> tuple[nn.Module, list[str]]:
    """(the module, or one of the same that can be followed, lines for people). Raises Unsupported where a model changes its
    answers from call to call.
    """
    if isinstance(module, torch.jit.ScriptModule | torch.fx.GraphModule):
        return module, []
    try:
        inputs = with_examples(module, with_lengths(module, columns)[0])
        rows = [_rows(inputs, seed) for seed in SEEDS]
        with as_exported():
            found = Settled(module, columns, *_state(module, inputs, rows))
            frozen, reason = [*found.lines], _follow(found, rows)
    except Changes:
        raise
    except Exception:  # whatever the user's model throws: what it does not take is said when it is called
        return module, []
    said = []
    if reason is not None:
        found.follows, found.lines = False, frozen
        said = [f"branches and selections stay as they are: {reason}"] if reason else []
    return (found, [*dict.fromkeys(found.lines), *said]) if found.lines else (module, said)


def _follow(found: "Settled", rows: list[list[torch.Tensor]]) -> str | None:
    """None where all branches and selections are decided, and rows do not depend on each other then; else why not, nothing
    where the model does not say.
    """
    try:
        if not _decide(found, rows):
            return None
        rules = result_rows(found, found.columns, "cpu")
        program = frontend.exported_program(found, found.columns)
        is_independent = row_dependence(program, found.columns, rules).answer == INDEPENDENT
        return None if is_independent else "rows are not shown to be independent where all is calculated that may be selected"
    except Unsupported as error:
        return first_line(error)
    except Exception:  # of the user's model, and of torch.export, which throws many kinds
        return ""


class Changes(Unsupported):
    """A model that gives other numbers at each call."""


class Frozen(torch.Tensor):
    """A buffer as it is now: operations on such alone are done now, whatever is traced. `read`: where Python read one."""

    read: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        tensors = [one for one in tree_leaves((args, kwargs or {})) if isinstance(one, _T)]
        with torch._C.DisableTorchFunctionSubclass():
            if all(isinstance(one, Frozen) for one in tensors):
                with _disable_current_modes():
                    result = func(*args, **(kwargs or {}))
                if not isinstance(result, _T):
                    Frozen.read.append(_author_line())
                return tree_map(lambda one: one.as_subclass(Frozen) if isinstance(one, _T) else one, result)
            if args and isinstance(args[0], Frozen) and _is_writing(func):
                raise Unsupported("what a model keeps depends on its inputs")
            plain = tree_map(lambda one: _constant(one) if isinstance(one, Frozen) else one, (args, kwargs or {}))
            return func(*plain[0], **plain[1])


def _is_writing(func: Any) -> bool:
    name = getattr(func, "__name__", "")
    return (name.endswith("_") and not name.endswith("__")) or name in ("__setitem__", "__iadd__", "__imul__", "__isub__")


def _constant(one: torch.Tensor) -> torch.Tensor:
    with torch._C.DisableTorchFunctionSubclass(), _disable_current_modes():
        numbers, dtype = one.tolist(), one.dtype
    return torch.tensor(numbers, dtype=dtype)


# ---- what is followed


@dataclass
class _Known:
    """Known properties of a tensor. `mask`: the mask that selected it; its places are all those of the mask, in order.
    `axis`: of indices that nonzero() gives, of which axis of the mask. `extreme`: min or max of `elements`. Of other truth
    values `elements` are those of which one must be true, or none where it `is_not`.
    """

    mask: torch.Tensor | None = None
    axis: int | None = None
    extreme: str = ""
    elements: torch.Tensor | None = None
    is_not: bool = False


@dataclass
class _Branch:
    """One `if` on numbers. `holds`: what is taken."""

    holds: bool
    is_check: bool


class _Sizes(tuple):
    """Of a selection, all of whose places are `count`: how many are selected is not known."""

    count: int

    def __new__(cls, sizes: Sequence[int], count: int) -> "_Sizes":
        made = super().__new__(cls, sizes)
        made.count = count
        return made

    def __iter__(self) -> Iterator[int]:
        return iter([self[i] for i in range(len(self))])

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        if self.count in (found if isinstance(found, tuple) else (found,)):
            raise Unsupported("the number of what a selection selects is read")
        return found


class _Undecided(Exception):
    def __init__(self, known: _Known) -> None:
        super().__init__()
        self.known = known


@dataclass(eq=False)
class _Following(TorchFunctionMode):
    """Follows selections and branches. `branches`: those that are decided, in their order. Others raise _Undecided, or are as
    the numbers have it where that `is_natural`. `nothing`: the number of a branch whose mask is to select nothing.
    """

    branches: Sequence[_Branch]
    is_natural: bool = False
    nothing: int | None = None
    known: dict[int, tuple[torch.Tensor, _Known]] = field(default_factory=dict)
    violations: list[torch.Tensor] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    selections: list[str] = field(default_factory=list)
    count: int = 0
    empty: torch.Tensor | None = None
    used_empty: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def of(self, tensor: Any) -> _Known | None:
        return self.known.get(id(tensor), (None, None))[1]

    def note(self, tensor: Any, known: _Known) -> Any:
        self.known[id(tensor)] = (tensor, known)  # which keeps it alive, and its id its own
        return tensor

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        plain = {"__bool__": "truth"}.get(name) or (name.strip("_") if name.startswith("__") else name)
        if any(isinstance(one, Frozen) for one in tree_leaves(args)):
            return func(*args, **kwargs)
        if func == _T.shape.__get__ or plain in COUNTS:
            return self._counted(plain, func(*args, **kwargs), args)
        handler = getattr(self, f"_on_{plain}", None)
        if handler is not None and args and isinstance(args[0], _T):
            result = handler(func, *args, **kwargs)
            if result is not NotImplemented:
                return result
        return self._passed(func, args, kwargs)

    def _passed(self, func: Any, args: tuple, kwargs: dict) -> Any:
        given = [known for one in tree_leaves((args, kwargs)) if isinstance(one, _T) and (known := self.of(one)) is not None]
        masks = [known.mask for known in given if known.mask is not None]
        result = func(*args, **kwargs)
        if masks:
            if any(mask is not masks[0] for mask in masks) and not all(_are_equal(mask, masks[0]) for mask in masks):
                raise Unsupported("several selections in one operation")
            for one in tree_leaves(result):
                if isinstance(one, _T) and self.of(one) is None:
                    self.note(one, _Known(masks[0]))
        return result

    def _counted(self, name: str, result: Any, args: tuple) -> Any:
        """Sizes of a selection, without how many are selected. Raises Unsupported for numbers of it that Python reads."""
        known = self.of(args[0])
        if known is None or known.mask is None or torch.compiler.is_exporting():
            return result
        if not isinstance(result, torch.Size) and not (name == "size" and result != known.mask.numel()):
            raise Unsupported("Python reads numbers of a selection, or how many there are")
        return _Sizes(result, known.mask.numel()) if isinstance(result, torch.Size) else result

    # ---- branches

    def _on_truth(self, func: Any, condition: torch.Tensor) -> Any:
        known = self.of(condition)
        if known is None or known.elements is None or known.extreme:
            known = _Known(elements=condition)
        at = self.count
        self.count += 1
        if at >= len(self.branches):
            if not self.is_natural:
                raise _Undecided(known)
            return bool(known.elements.any()) != known.is_not
        branch = self.branches[at]
        if self.nothing == at:
            self.empty = known.elements
        if branch.is_check:
            is_each = branch.holds == known.is_not  # each row says for itself whether it is otherwise
            self.violations.append(known.elements if is_each else ~known.elements.any())
        self.places.append(_author_line())
        return branch.holds

    def _elements(self, tensor: torch.Tensor, neutral: bool) -> torch.Tensor:
        known = self.of(tensor)
        if known is None or known.mask is None:
            return tensor
        mask = known.mask.reshape(-1, *([1] * (tensor.dim() - 1)))
        return tensor & mask if not neutral else tensor | ~mask

    def _on_any(self, func: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs:
            return NotImplemented
        elements = self._elements(tensor.bool(), False)
        return self.note(func(elements), _Known(elements=elements))

    def _on_all(self, func: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs:
            return NotImplemented
        elements = self._elements(tensor.bool(), True)
        return self.note(func(elements), _Known(elements=~elements, is_not=True))

    def _extreme(self, func: Any, tensor: torch.Tensor, args: tuple, kwargs: dict) -> Any:
        if args or kwargs:
            return NotImplemented
        known = self.of(tensor)
        mask = None if known is None else known.mask
        return self.note(func(tensor), _Known(extreme=func.__name__, elements=tensor, mask=mask))

    def _on_min(self, func: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        return self._extreme(func, tensor, args, kwargs)

    def _on_max(self, func: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        return self._extreme(func, tensor, args, kwargs)

    def _compared(self, name: str, func: Any, left: torch.Tensor, right: Any) -> Any:
        known = self.of(left)
        if known is None or not known.extreme or isinstance(right, _T):
            return NotImplemented
        is_any = (known.extreme == "min") == (name in ("lt", "le"))
        elements = _ORDER[name](known.elements, right)
        if known.mask is not None:
            mask = known.mask.reshape(-1, *([1] * (elements.dim() - 1)))
            elements = elements & mask if is_any else elements | ~mask
        return self.note(
            elements.any() if is_any else elements.all(), _Known(elements=elements if is_any else ~elements, is_not=not is_any)
        )

    def _on_lt(self, func: Any, left: Any, right: Any) -> Any:
        return self._compared("lt", func, left, right)

    def _on_le(self, func: Any, left: Any, right: Any) -> Any:
        return self._compared("le", func, left, right)

    def _on_gt(self, func: Any, left: Any, right: Any) -> Any:
        return self._compared("gt", func, left, right)

    def _on_ge(self, func: Any, left: Any, right: Any) -> Any:
        return self._compared("ge", func, left, right)

    # ---- selections

    def _on_conv1d(self, func: Any, tensor: torch.Tensor, weight: torch.Tensor, bias: Any = None, *others: Any) -> Any:
        """Of one place: a linear layer, of which it is known that rows do not depend on each other."""
        known = self.of(tensor)
        if known is None or known.mask is None or weight.shape[-1] != 1 or others != ((1,), (0,), (1,), 1):
            return NotImplemented
        result = nn.functional.linear(tensor.transpose(-1, -2), weight.squeeze(-1), bias).transpose(-1, -2)
        return self.note(result, _Known(known.mask))

    def _on_nonzero(self, func: Any, tensor: torch.Tensor, *, as_tuple: bool = False) -> Any:
        if not as_tuple:
            return NotImplemented
        mask, found = tensor.bool(), []
        for axis, size in enumerate(mask.shape):
            shape = [1] * mask.dim()
            shape[axis] = size
            index = torch.arange(size, device=mask.device).reshape(shape).expand(mask.shape).reshape(-1)
            found.append(self.note(index, _Known(mask, axis)))
        self.selections.append(_author_line())
        return tuple(found)

    def _on_where(self, func: Any, tensor: torch.Tensor, *others: Any) -> Any:
        return NotImplemented if others else self._on_nonzero(func, tensor, as_tuple=True)

    def _selection(self, index: Any) -> tuple[torch.Tensor, list[int]] | None:
        """(mask, for each leading axis of the tensor that of the mask) of an index of a selection."""
        items = [*index] if isinstance(index, tuple) else [index]
        while items and (items[-1] is Ellipsis or (isinstance(items[-1], slice) and items[-1] == slice(None))):
            items.pop()
        if len(items) == 1 and isinstance(items[0], _T) and items[0].dtype == torch.bool and items[0].dim() > 0:
            return items[0], [*range(items[0].dim())]
        known = [self.of(one) if isinstance(one, _T) else None for one in items]
        if not known or any(one is None or one.axis is None or one.mask is not known[0].mask for one in known):
            return None
        return known[0].mask, [one.axis for one in known]

    def _mask(self, mask: torch.Tensor) -> torch.Tensor:
        """Nothing, where that is tried: of the mask of the branch, or of one like it before the next branch."""
        is_near = self.nothing is not None and self.count == self.nothing + 1
        is_empty = self.empty is not None and (self.empty is mask or (is_near and _are_equal(self.empty, mask)))
        self.used_empty |= is_empty
        return torch.zeros_like(mask) if is_empty else mask

    def _on_getitem(self, func: Any, tensor: torch.Tensor, index: Any) -> Any:
        is_of_mask = isinstance(index, tuple) and isinstance(index[0], _T) and index[0].dtype == torch.bool
        if is_of_mask and len(index) > 1 and not any(isinstance(one, _T) for one in index[1:]):
            whole = self._on_getitem(func, tensor, index[0])
            return self._passed(func, (whole, (slice(None), *index[1:])), {})
        selection = self._selection(index)
        if selection is None:
            return NotImplemented
        mask, axes = selection
        rest, order = tensor.shape[len(axes) :], sorted(range(len(axes)), key=axes.__getitem__)
        moved = tensor.permute(*order, *range(len(axes), tensor.dim()))
        for axis in range(mask.dim()):
            if axis not in axes:
                moved = moved.unsqueeze(axis)
        self.selections.append(_author_line())
        known = self.of(tensor)
        whole = moved.expand(*mask.shape, *rest).reshape(-1, *rest)
        own = mask if known is None or known.mask is None else mask & known.mask.reshape(mask.shape)
        chosen = own.reshape(-1, *([1] * len(rest)))  # others are 0: what the author has kept out may be no index, or no number
        return self.note(torch.where(chosen, whole, torch.zeros_like(whole)), _Known(own))

    def _on_setitem(self, func: Any, tensor: torch.Tensor, index: Any, value: Any) -> Any:
        selection = self._selection(index)
        if selection is None:
            return NotImplemented
        mask, axes = selection
        if any(size != 1 for axis, size in enumerate(mask.shape) if axis not in axes):
            raise Unsupported("a selection is written in one place several times")
        rest = tensor.shape[len(axes) :]
        places = self._in_places(self._mask(mask), mask, axes, ())
        if isinstance(value, _T) and value.dim() > 0:
            known = self.of(value)
            if known is None or known.mask is None or not _are_equal(known.mask, mask):
                raise Unsupported("a selection is written with what is not of the same selection")
            value = self._in_places(value, mask, axes, rest)
        places = places.reshape(*places.shape, *([1] * len(rest)))
        self.selections.append(_author_line())
        tensor.copy_(torch.where(places, value, tensor))
        return None

    def _in_places(self, value: torch.Tensor, mask: torch.Tensor, axes: list[int], rest: Sequence[int]) -> torch.Tensor:
        """Of a value for all places of the mask a tensor with the axes of the one that is written."""
        whole = value.reshape(*mask.shape, *rest)
        others = [axis for axis in range(mask.dim()) if axis not in axes]
        whole = whole.permute(*axes, *others, *range(mask.dim(), whole.dim()))
        return whole.flatten(len(axes) - 1, len(axes) + len(others) - 1) if others else whole

    def _on_index_put(self, func: Any, tensor: torch.Tensor, index: Any, value: torch.Tensor, accumulate: bool = False) -> Any:
        selection = self._selection(tuple(index))
        if selection is None:
            return NotImplemented
        mask, axes = selection
        if not accumulate:
            result = tensor.clone()
            self._on_setitem(func, result, tuple(index), value)
            return result
        return tensor + self._summed(value, mask, axes, tensor.shape[len(axes) :])

    def _on_index_put_(self, func: Any, tensor: torch.Tensor, index: Any, value: torch.Tensor, accumulate: bool = False) -> Any:
        result = self._on_index_put(func, tensor, index, value, accumulate)
        return result if result is NotImplemented else tensor.copy_(result)

    def _summed(self, value: torch.Tensor, mask: torch.Tensor, axes: list[int], rest: Sequence[int]) -> torch.Tensor:
        known = self.of(value)
        if known is None or known.mask is None or not _are_equal(known.mask, mask):
            raise Unsupported("a selection is added with what is not of the same selection")
        self.selections.append(_author_line())
        chosen = self._mask(mask).reshape(-1, *([1] * len(rest)))
        whole = torch.where(chosen, value, torch.zeros_like(value)).reshape(*mask.shape, *rest)
        others = [axis for axis in range(mask.dim()) if axis not in axes]
        whole = whole.permute(*axes, *others, *range(mask.dim(), whole.dim()))
        return whole.sum([*range(len(axes), len(axes) + len(others))]) if others else whole


def _are_equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Of numbers whether they are equal; while a model is traced, as they were when it was tried."""
    if one is other:
        return True
    if torch.compiler.is_exporting():
        return True
    if one.numel() != other.numel():
        return False
    with torch._C.DisableTorchFunctionSubclass(), torch._C.DisableTorchFunction():
        return torch.equal(one.reshape(-1), other.reshape(-1))


def _author_line() -> str:
    frames = [
        one
        for one in traceback.extract_stack()
        if Path(one.filename).is_file() and not any(Path(one.filename).is_relative_to(folder) for folder in OTHERS)
    ]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: {(frames[-1].line or '')[:100]}" if frames else "the model"


# ---- the module


class Settled(nn.Module):
    """`state`: the buffers that are as they are now, by the names of their parts and their own."""

    def __init__(
        self, model: nn.Module, columns: Binding, state: dict[tuple[str, str], torch.Tensor], lines: list[str]
    ) -> None:
        super().__init__()
        self.model, self.columns, self.lines = model, columns, lines
        self.argument_names = argument_names(model)
        self.result_names, self.notes = getattr(model, "result_names", ()), list(getattr(model, "notes", ()))
        self.framework = getattr(model, "framework", "the model itself")
        self.state = state
        self.branches: list[_Branch] = []
        self.follows = True  # branches and selections

    def forward(self, *tensors: torch.Tensor, **by_name: torch.Tensor) -> Any:
        return self.run(_Following(self.branches) if self.follows else None, tensors, by_name)

    def run(self, following: _Following | None, tensors: Sequence[torch.Tensor], by_name: dict[str, torch.Tensor]) -> Any:
        with self._frozen(), following or contextlib.nullcontext():
            value = self.model(*tensors, **by_name)
        if following is None or not following.violations:
            return value
        return tree_map(lambda one: _without(one, following.violations), value)

    @contextlib.contextmanager
    def _frozen(self) -> Iterator[None]:
        before = []
        for (part, name), numbers in self.state.items():
            owner = self.model.get_submodule(part)
            before.append((owner, name, owner._buffers.pop(name, None)))
            with _disable_current_modes():
                vars(owner)[name] = numbers.clone().as_subclass(Frozen)
        try:
            yield
        finally:
            for owner, name, buffer in before:
                vars(owner).pop(name, None)
                owner._buffers[name] = buffer

    def reference(self) -> Callable[[Sequence[torch.Tensor]], Any] | None:
        """The model's own reference, or the model itself."""
        make = getattr(self.model, "reference", None)
        return make() if make is not None else lambda tensors: self.columns.value(self.model, tensors)

    def reference_in_float64(self) -> Callable[[Sequence[torch.Tensor]], Any] | None:
        make = getattr(self.model, "reference_in_float64", None)
        return None if make is None else make()


def _without(result: torch.Tensor, violations: Sequence[torch.Tensor]) -> torch.Tensor:
    """NaN in the rows for which a model raises."""
    if not result.is_floating_point():
        raise Unsupported("a check that raises, of a model whose results cannot be NaN")
    for one in violations:
        of_row = one.reshape(result.shape[0], -1).any(1) if one.dim() else one
        result = torch.where(of_row.reshape(-1, *([1] * (result.dim() - 1))), torch.nan, result)
    return result


def _rows(inputs: Binding, seed: int) -> list[torch.Tensor]:
    numbers = (NORMAL, SMALL, SPECIAL)[seed % 3]
    counts = dict(zip(collections_of(inputs), trial_rows(inputs, FEWEST_ROWS)))
    return inputs.tensors(Columns(inputs, counts, (), "cpu", seed=seed, numbers=numbers).inputs)


def _state(module: nn.Module, inputs: Binding, rows: list[list[torch.Tensor]]) -> tuple[dict, list[str]]:
    """(buffers, lines): those that a call changes, and those of one whole number or truth value, which a branch may read.
    Raises Unsupported where calls after each other give other numbers because of that.
    """
    before = {name: one.clone() for name, one in module.named_buffers() if one is not None}
    first = _tensors(inputs.value(module, rows[0]))
    changed = [name for name, one in module.named_buffers() if not torch.equal(one, before[name])]
    try:
        for call in range(2, CALLS + 1) if changed else ():
            if not _are_same(_tensors(inputs.value(module, rows[0])), first):
                _restore(module, before)
                if not _are_same(_tensors(inputs.value(module, rows[0])), first):
                    raise Changes(
                        "the model draws random numbers: calls of the same numbers, with the same state, give others; "
                        "expected random numbers as an argument"
                    )
                raise Changes(
                    f"the model changes itself ({', '.join(changed)}): call {call} gives other numbers than the first; "
                    "expected one that gives the same, as after its warm-up"
                )
    finally:
        _restore(module, before)
    small = [name for name, one in before.items() if one.numel() == 1 and not one.is_floating_point()]
    kept = {name: before[name] for name in dict.fromkeys([*changed, *small])}
    lines = [
        f"frozen: {name}, which each call changes, stays {before[name].tolist()}; {CALLS} calls after each other give the same"
        for name in changed
    ]
    return {(name.rpartition(".")[0], name.rpartition(".")[2]): one for name, one in kept.items()}, lines


def _restore(module: nn.Module, buffers: dict[str, torch.Tensor]) -> None:
    with torch.no_grad():
        for name, one in module.named_buffers():
            one.copy_(buffers[name])


def _decide(found: Settled, rows: list[list[torch.Tensor]]) -> bool:
    """Decides all branches; whether there are selections. Raises what the model throws, and Unsupported."""
    read: list[str] = []
    for _ in range(MOST_BRANCHES):
        Frozen.read.clear()
        following = _Following(found.branches)
        try:
            found.run(following, *_given(found, rows[0]))
        except _Undecided as undecided:
            found.branches.append(_decided(found, rows, undecided.known))
            continue
        read = [*Frozen.read]
        break
    else:
        raise Unsupported("more branches than can be tried")
    for branch, place in zip(found.branches, following.places):
        says = (
            "rows for which it raises are NaN" if branch.is_check else "always done, which is nothing where nothing is selected"
        )
        found.lines.append(f"{'check' if branch.is_check else 'branch'}: {says}, at {place}")
    found.lines += [f"branch: on what the model keeps, as that is now, at {place}" for place in read]
    found.lines += [
        f"selection: all are calculated, and those written that it selects, at {place}" for place in following.selections
    ]
    compared = [_is_like_model(found, given) for given in rows] if found.lines else [True]
    if False in compared or True not in compared:
        raise Unsupported("it gives other numbers than the model")
    return bool(following.selections)


def _is_like_model(found: Settled, given: list[torch.Tensor]) -> bool | None:
    """None where the model raises."""
    args, by_name = _given(found, given)
    try:
        expected = _tensors(found.columns.value(found.model, [one.clone() for one in given]))
    except Exception:  # whatever the user's model throws
        return None
    return _are_same(_tensors(found(*args, **by_name)), expected)


def _decided(found: Settled, rows: list[list[torch.Tensor]], known: _Known) -> _Branch:
    """Decides the next branch."""
    at = len(found.branches)

    def results(given: list[torch.Tensor], holds: bool, nothing: int | None = None) -> tuple[list[torch.Tensor], bool] | None:
        """(tensors, whether something was selected with nothing); None where the author's code raises."""
        following = _Following([*found.branches, _Branch(holds, False)], is_natural=True, nothing=nothing)
        try:
            return _tensors(found.run(following, *_given(found, given))), following.used_empty
        except (Unsupported, InputError):
            raise
        except Exception:  # what the author raises
            return None

    pairs = [(given, results(given, False), results(given, True)) for given in rows]
    pairs = [pair for pair in pairs if pair[1] is not None or pair[2] is not None]  # others raise for another reason
    raising = {(no is None, yes is None) for _, no, yes in pairs}
    if raising in ({(False, True)}, {(True, False)}):
        return _Branch(raising == {(True, False)}, True)
    for given, no, _ in pairs:
        nothing = results(given, True, at)
        if known.is_not or no is None or nothing is None or not nothing[1] or not _are_same(nothing[0], no[0]):
            raise Unsupported("a branch on numbers")
    if not pairs:
        raise Unsupported("a branch that raises for all numbers")
    return _Branch(True, False)


def _given(found: Settled, rows: Sequence[torch.Tensor]) -> tuple[list[torch.Tensor], dict[str, torch.Tensor]]:
    if found.columns.goes_by_name(found.argument_names):
        return [], {block.name: tensor.clone() for block, tensor in zip(found.columns.inputs, rows)}
    return [tensor.clone() for tensor in rows], {}


def _tensors(value: Any) -> list[torch.Tensor]:
    return [tensor for _, tensor in named_results(value)]


def _are_same(one: Sequence[torch.Tensor], other: Sequence[torch.Tensor]) -> bool:
    return len(one) == len(other) and all(map(are_same, one, other))
