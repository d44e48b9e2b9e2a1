# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models that keep a state between calls, as models that take it and give it.

A package keeps nothing between calls. A buffer that a call of one row changes, where calls after each other give other numbers
because of it, becomes an argument of its name and a result next_NAME: the caller keeps its columns for each row, and passes
those of one call on to the next.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import nn

from tensoa.binding.blocks import argument_names, named_results
from tensoa.binding.defaults import Taken, taken_by_file
from tensoa.binding.evaluation import evaluated
from tensoa.compiler.torchscript import Interpreted
from tensoa.importers.results import named

CALLS = 12  # of which all must give the same where nothing is carried
LARGE = (1000.0, -1000.0)  # times the numbers of a call between two equal ones
MOST_NUMBERS = 16  # of the beginning, that are written out


class Carried(nn.Module):
    """`state`: {argument: name of the buffer}."""

    def __init__(self, model: nn.Module, state: dict[str, str]) -> None:
        super().__init__()
        self.model, self.state = model, dict(state)
        buffers = dict(model.named_buffers())
        own = argument_names(model) or []
        of_file = taken_by_file(model)
        self.argument_names = [*own, *state]
        self.taken_by_file = [
            *(of_file[name] for name in own if name in of_file),
            *(Taken(name, buffers[path].dtype, tuple(buffers[path].shape)) for name, path in state.items()),
        ]
        self.notes = list(getattr(model, "notes", ()))
        self.framework = getattr(model, "framework", "the model itself")

    def forward(self, *tensors: torch.Tensor, **by_name: torch.Tensor) -> Any:
        given = dict(zip(self.argument_names, tensors)) | by_name
        state = [given.pop(name) for name in self.state]
        paths = list(self.state.values())
        call, after = _called(self.model, paths, state, given)
        found = named_results(call)
        names = [name or ("output" if len(found) == 1 else f"output_{i}") for i, (name, _) in enumerate(found)]
        for name in self.state:
            names.append(_free(f"next_{name}", names))
        return named([*(one for _, one in found), *after], names)

    def lines(self) -> Iterator[str]:
        """For people: what is carried, and what it begins with."""
        buffers = dict(self.model.named_buffers())
        for name, path in self.state.items():
            numbers = buffers[path].reshape(-1).tolist()
            begins = "0" if not any(numbers) else ", ".join(f"{one:.17g}" for one in numbers[:MOST_NUMBERS])
            more = "" if not any(numbers) or len(numbers) <= MOST_NUMBERS else ", … (the buffer of the file)"
            yield (
                f"state: each call changes {path}; the caller keeps it for each row: columns of {name}, which begin with "
                f"{begins}{more}, are those of next_{name} in the next call"
            )


def _called(
    model: nn.Module, paths: Sequence[str], state: Sequence[torch.Tensor], given: dict[str, torch.Tensor]
) -> tuple[Any, list[torch.Tensor]]:
    """(what the model gives, its state after that) where it begins with this state. It is as it was afterwards."""
    if isinstance(model, torch.jit.ScriptModule):
        buffers = dict(model.named_buffers())
        before = [buffers[path].clone() for path in paths]
        _copy(buffers, paths, state)
        try:
            return model(**given), [buffers[path].clone() for path in paths]
        finally:
            _copy(buffers, paths, before)
    places = [_place(model, path) for path in paths]
    kept = [owner._buffers[name] for owner, name in places]
    for (owner, name), one in zip(places, state):
        owner._buffers[name] = one.clone()
    try:
        value = model(**given)
        return value, [_of(owner, name) for owner, name in places]
    finally:
        for (owner, name), one in zip(places, kept):
            owner._buffers[name] = one


def _copy(buffers: dict[str, torch.Tensor], paths: Sequence[str], numbers: Sequence[torch.Tensor]) -> None:
    with torch.no_grad():
        for path, one in zip(paths, numbers):
            buffers[path].copy_(one)


def _place(model: nn.Module, path: str) -> tuple[nn.Module, str]:
    path = model.buffer_names[path] if isinstance(model, Interpreted) else path
    part, _, name = path.rpartition(".")
    return model.get_submodule(part), name


def _of(owner: nn.Module, name: str) -> torch.Tensor:
    found = owner._buffers[name]
    assert found is not None
    return found


def with_state(module: nn.Module, names: Sequence[str]) -> nn.Module:
    """The module, or one that takes and gives the state that some of these names of blocks are of."""
    own = argument_names(module)
    if isinstance(module, Carried) or own is None:
        return module
    paths = _names([path for path, _ in module.named_buffers()], own)
    state = {name: paths[name] for name in names if name in paths}
    return Carried(module, state) if state else module


def state_of(module: nn.Module, calls: Iterator[tuple[int | None, Callable[..., Any]]]) -> list[str]:
    """The names of what with_state() carries. `calls`: (number of rows, call of the module with numbers times its argument), of
    which the first that does not raise is tried. A state that several rows of a call have together is none of a row, and is not
    carried.
    """
    own, buffers = argument_names(module), {name: one for name, one in module.named_buffers() if one is not None}
    if own is None or not buffers:
        return []
    before = {name: one.clone() for name, one in buffers.items()}
    for rows, call in calls:
        with evaluated(module):
            try:
                first = _results(call())
                for factor in LARGE:  # a largest number stays where the same rows come again
                    with contextlib.suppress(Exception):  # what does not take such numbers
                        call(factor)
                now = dict(module.named_buffers())
                changed = [name for name, one in before.items() if not _are_equal(now[name], one)]
                if any(now[name].shape != before[name].shape for name in changed):
                    continue  # its rows are not those of a call
                others = (_results(call()) for _ in range(CALLS - 1) if changed)
                is_state = any(not all(map(_are_equal, first, other)) for other in others)
            except Exception:  # whatever the user's model throws
                continue
        names = {path: name for name, path in _names(list(before), own).items()}
        is_state = is_state and rows == 1 and not _draws(module, call, first)
        return [names[path] for path in changed] if is_state else []
    return []


def _are_equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    """As torch.equal, but NaN is what NaN is."""
    return a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())


def _draws(module: nn.Module, call: Callable[..., Any], first: Sequence[torch.Tensor]) -> bool:
    """Whether the module, as it was before the first call, gives something else than in that: random numbers."""
    with evaluated(module):
        return not all(map(_are_equal, first, _results(call())))


def _names(paths: Sequence[str], own: Sequence[str]) -> dict[str, str]:
    """An argument for each buffer: its own name where no other has that, else with those of the parts that it is in. `own`: the
    names of the arguments that there are.
    """
    last = [path.rpartition(".")[2] for path in paths]
    found: dict[str, str] = {}
    for name, path in zip(last, paths):
        found[_free(name if last.count(name) == 1 else path.replace(".", "_"), (*found, *own))] = path
    return found


def _free(name: str, taken: Sequence[str]) -> str:
    """The name, with underscores appended until it is not one of `taken`."""
    return name if name not in taken else _free(f"{name}_", taken)


def _results(value: Any) -> list[torch.Tensor]:
    return [one.clone() for _, one in named_results(value) if isinstance(one, torch.Tensor)]
