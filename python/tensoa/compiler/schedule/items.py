# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Items: what each element of some axes of a row has for itself, as the hits of a jet.

A layer of all items is a layer of rows, of which there are more. Layers and functions of the same items, that need nothing of
other items in between, are a *group*: a separate stage, whose rows are the items of some rows, and whose values other than
`targets` have no memory. Groups are found from layers on: their arguments, as far as these are made item by item, and the
functions of their results.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tensoa.compiler import build
from tensoa.compiler import operations as ops
from tensoa.compiler.operations import Affine, affine, axis, is_constant
from tensoa.compiler.program import rebuilt
from tensoa.compiler.schedule.addresses import base_of
from tensoa.compiler.schedule.stages import Stage, far_args, is_free, own_args
from tensoa.compiler.tensors import Op, Shape, Tensor, make, need
from tensoa.dtypes import DType

#: The axes of a tensor whose coordinates are an item, in the order of the items.
Axes = tuple[int, ...]


@dataclass(frozen=True)
class Given(Op):
    """The tensors that an item reads from its row. `symbol`: the items of all rows."""

    name: ClassVar[str] = "given"
    symbol: str
    axes: Axes

    def result(self, args: tuple[Tensor, ...]) -> tuple[DType, Shape]:
        (x,) = args
        is_fixed = all(isinstance(x.shape[place], int) for place in self.axes)
        need(len(x.rows) == 1 and is_fixed, "one axis of rows, and items along fixed ones")
        return x.dtype, of_item(x.shape, self.axes, self.symbol)


def of_item(shape: Shape, axes: Axes, symbol: str) -> Shape:
    """The shape that an item has."""
    return tuple(symbol if isinstance(size, str) else size for i, size in enumerate(shape) if i not in axes)


@dataclass
class ItemGroup:
    """`sizes`: of the axes of items; `axes`: of each target; `stage`: the inner one, of items; `made`: each target there."""

    sizes: tuple[int, ...]
    values: list[Tensor] = field(default_factory=list)
    axes: dict[Tensor, Axes] = field(default_factory=dict)
    made: dict[Tensor, Tensor] = field(default_factory=dict)
    stage: Stage = field(default_factory=lambda: Stage("", 0))

    @property
    def leaves(self) -> list[Tensor]:
        """The tensors that items read from their row."""
        return [one.args[0] for one in self.stage.values if isinstance(one.op, Given)]


def axes_of_argument(tensor: Tensor, number: int, axes: Axes) -> Axes | None:
    """The axes of an argument whose coordinates are those of the item; None where it has not all, or reads other items too."""
    op, x = tensor.op, tensor.args[number]
    if isinstance(op, ops.View):
        found = [[i for i, one in enumerate(op.index) if any(at == place for at, _ in one.terms)] for place in axes]
        if any(len(places) != 1 or op.index[places[0]] != axis(place) for places, place in zip(found, axes)):
            return None
        is_all = all(x.shape[places[0]] == tensor.shape[place] for places, place in zip(found, axes))
        return tuple(places[0] for places in found) if is_all else None
    if isinstance(op, ops.Reduce):
        left = [i for i in range(len(x.shape)) if i not in op.axes]
        return tuple(left[place] for place in axes)
    if isinstance(op, ops.Contract):
        labels, wanted = (op.left, op.right)[number], [op.out[place] for place in axes]
        return tuple(labels.index(label) for label in wanted) if set(wanted) <= set(labels) else None
    return axes


def axes_of_result(tensor: Tensor, axes: Axes) -> Axes | None:
    """The axes of a view that are `axes` of its argument."""
    op = tensor.op
    assert isinstance(op, ops.View)
    found = tuple(op.index[place].terms[0][0] if len(op.index[place].terms) == 1 else -1 for place in axes)
    return found if -1 not in found and axes_of_argument(tensor, 0, found) == axes else None


def items_of_layer(tensor: Tensor) -> Axes:
    """The axes of a product with constant weights that are neither rows nor outputs; none of anything else."""
    op = tensor.op
    if not isinstance(op, ops.Contract) or tensor.dtype.name != "float32" or len(tensor.rows) != 1:
        return ()
    weights = [labels for labels, arg in zip((op.left, op.right), tensor.args) if is_constant(arg)]
    if len(weights) != 1:
        return ()
    return tuple(i for i, size in enumerate(tensor.shape) if isinstance(size, int) and op.out[i] not in weights[0])


class Finder:
    """Which values of a stage are made item by item, and in which pass: a group is made of what has one pass and equal items.
    `without`: values that are not.
    """

    def __init__(self, stage: Stage, without: Collection[Tensor]) -> None:
        self.stage = stage
        kinds = (ops.Map, ops.Cast, ops.Reduce, ops.Concat)
        own = [value for value in stage.values if value not in stage.earlier and value not in without and len(value.rows) == 1]
        layers = {value: items_of_layer(value) for value in own}
        self.able = {value for value in own if layers[value] or (isinstance(value.op, kinds) and not is_free(value))}
        self.axes: dict[Tensor, Axes] = {}
        for value in reversed(own):
            if layers[value]:
                self.claim(value, layers[value])
        for value in own:
            if value in self.able and value not in self.axes:
                self.follow(value)
        self.before: dict[Tensor, int] = {}
        for value in stage.values:
            self.before[value] = 0 if value in stage.earlier else self.passes(value)

    def claim(self, tensor: Tensor, axes: Axes) -> None:
        """A value and its arguments, as far as they are made item by item."""
        if tensor in self.axes or tensor not in self.able or not self.allows(tensor, axes):
            return
        self.axes[tensor] = axes
        for _, base, here in self.reads(tensor, axes):
            if here is not None:
                self.claim(base, here)

    @staticmethod
    def allows(tensor: Tensor, axes: Axes) -> bool:
        if isinstance(tensor.op, ops.Contract):
            return set(axes) == set(items_of_layer(tensor))
        return not (isinstance(tensor.op, ops.Concat) and tensor.op.axis in axes)

    def reads(self, tensor: Tensor, axes: Axes) -> Iterator[tuple[Tensor, Tensor, Axes | None]]:
        """Arguments that are not constant: each, the tensor that it is a view of, and the axes of items in that tensor."""
        for number, arg in enumerate(tensor.args):
            if is_constant(arg) and isinstance(tensor.op, ops.Contract):
                continue
            here = axes_of_argument(tensor, number, axes)
            if here is not None and isinstance(arg.op, ops.View):
                yield arg, arg.args[0], axes_of_argument(arg, 0, here)
            else:
                yield arg, base_of(arg), here

    def follow(self, tensor: Tensor) -> None:
        """A function of items and of what has memory anyway."""
        for arg in tensor.args:
            base = base_of(arg)
            known = self.axes.get(base)
            here = known if base is arg or known is None else axes_of_result(arg, known)
            axes = here if here is None or not isinstance(tensor.op, ops.Reduce) else _without(here, tensor.op.axes)
            if axes is not None and self.allows(tensor, axes) and all(self.is_ready(*one) for one in self.reads(tensor, axes)):
                self.claim(tensor, axes)
                return

    def is_ready(self, arg: Tensor, base: Tensor, here: Axes | None) -> bool:
        """Whether an argument is there, or is a function of what is there."""
        if base in self.axes or is_free(base) or base in self.stage.earlier:
            return base not in self.axes or self.axes[base] == here
        is_function = isinstance(base.op, (ops.Map, ops.Cast)) and base in self.able
        return is_function and here is not None and all(self.is_ready(*one) for one in self.reads(base, here))

    def is_inside(self, base: Tensor, here: Axes | None) -> bool:
        return here is not None and self.axes.get(base) == here

    def after(self, value: Tensor) -> int:
        """How many passes are over when it is there for others than its own items."""
        base = base_of(value)
        return self.before.get(base, 0) + (base in self.axes)

    def passes(self, tensor: Tensor) -> int:
        """How many passes have to be over before it."""
        if tensor not in self.axes:
            return max((self.after(arg) for arg in own_args(tensor)), default=0)
        return max((self.ready(base, here) for _, base, here in self.reads(tensor, self.axes[tensor])), default=0)

    def ready(self, base: Tensor, here: Axes | None) -> int:
        """How many passes are over before the same item can read it."""
        return self.before[base] if self.is_inside(base, here) else self.after(base)

    def key(self, tensor: Tensor) -> tuple[int, tuple[int, ...]]:
        sizes = (tensor.shape[place] for place in self.axes[tensor])
        return self.before[tensor], tuple(size for size in sizes if isinstance(size, int))


def _without(axes: Axes, summed: Axes) -> Axes | None:
    """Axes of a reduction's argument, as those of its result."""
    if set(axes) & set(summed):
        return None
    return tuple(place - sum(other < place for other in summed) for place in axes)


class _Inner:
    """The values of a group with items as rows."""

    def __init__(self, finder: Finder, key: tuple[int, tuple[int, ...]]) -> None:
        self.finder, self.key = finder, key
        self.symbol = " x ".join(map(str, (finder.stage.rows, *key[1])))
        self.done: dict[tuple[Tensor, Axes], Tensor] = {}

    def of(self, tensor: Tensor, axes: Axes) -> Tensor:
        found = self.done.get((tensor, axes))
        if found is None:
            found = self.done[tensor, axes] = self.made(tensor, axes)
        return found

    def is_here(self, tensor: Tensor, axes: Axes | None) -> bool:
        return self.finder.is_inside(tensor, axes) and self.finder.key(tensor) == self.key

    def made(self, tensor: Tensor, axes: Axes) -> Tensor:
        op = tensor.op
        if isinstance(op, ops.View):
            x, here = tensor.args[0], axes_of_argument(tensor, 0, axes)
            is_same = isinstance(x.op, ops.Constant) and not any(at in axes for one in op.index for at, _ in one.terms)
            if not is_same and (here is None or not self.is_here(x, here)):
                return self.given(tensor, axes)
            kept, shape = [i for i in range(len(tensor.shape)) if i not in axes], of_item(tensor.shape, axes, self.symbol)
            index = [_renumbered(one, kept) for i, one in enumerate(op.index) if is_same or i not in (here or ())]
            return build.view(x if is_same or here is None else self.of(x, here), shape, index)
        if not self.is_here(tensor, axes):
            return make(Given(self.symbol, axes), tensor)
        args = []
        for number, arg in enumerate(tensor.args):
            here = axes_of_argument(tensor, number, axes)
            args.append(arg if here is None else self.of(arg, here))
        return self.remade(tensor, axes, args)

    def given(self, tensor: Tensor, axes: Axes) -> Tensor:
        """The tensor that a view reads from the row, and may repeat."""
        op, (x,) = tensor.op, tensor.args
        assert isinstance(op, ops.View)
        used = {at for one in op.index for at, _ in one.terms} | set(axes)
        kept = [i for i, size in enumerate(tensor.shape) if i in used or isinstance(size, str)]
        once = build.view(x, tuple(tensor.shape[i] for i in kept), [_renumbered(one, kept) for one in op.index])
        given = make(Given(self.symbol, tuple(kept.index(place) for place in axes)), once)
        others = [i for i in range(len(tensor.shape)) if i not in axes]
        index = [axis(others.index(i)) for i in kept if i not in axes]
        return build.view(given, of_item(tensor.shape, axes, self.symbol), index)

    @staticmethod
    def remade(tensor: Tensor, axes: Axes, args: Sequence[Tensor]) -> Tensor:
        op = tensor.op
        if isinstance(op, ops.Contract):
            gone = {op.out[place] for place in axes}
            left, right, out = ("".join(one for one in labels if one not in gone) for labels in (op.left, op.right, op.out))
            return make(ops.Contract(left, right, out), *args)
        if isinstance(op, ops.Reduce):
            places = axes_of_argument(tensor, 0, axes) or ()
            return build.reduce(op.fn, args[0], [one - sum(other < one for other in places) for one in op.axes])
        if isinstance(op, ops.Concat):
            return build.concat(args, op.axis - sum(other < op.axis for other in axes))
        return rebuilt(tensor, tuple(args))


def _renumbered(one: Affine, kept: Sequence[int]) -> Affine:
    return affine(one.offset, *((kept.index(place), factor) for place, factor in one.terms))


def grouped(stage: Stage, without: Collection[Tensor] = ()) -> tuple[Stage, list[ItemGroup]]:
    """The stage with what is read of its groups as values that these make, and the groups in their order."""
    finder = Finder(stage, without)
    groups: dict[tuple[int, tuple[int, ...]], ItemGroup] = {}
    for value in finder.axes:
        groups.setdefault(finder.key(value), ItemGroup(finder.key(value)[1])).values.append(value)
    targets = _targets(finder)
    for key, group in groups.items():
        inner = _Inner(finder, key)
        group.axes = {value: finder.axes[value] for value in group.values if value in targets}
        group.made = {value: inner.of(value, axes) for value, axes in group.axes.items()}
        values = _values(group.made.values())
        given = {value for value in values if isinstance(value.op, Given)}
        group.stage = Stage(inner.symbol, stage.level, values, given, kept=list(dict.fromkeys(group.made.values())))
    found = [groups[key] for key in sorted(groups)]
    return _outer(stage, finder, found, targets), found


def _targets(finder: Finder) -> set[Tensor]:
    """Values with another reader than functions of the same items in the same pass."""
    found = {base_of(target) for target in finder.stage.targets}
    for value in finder.stage.values:
        if value in finder.stage.earlier or isinstance(value.op, ops.View):
            continue
        if value not in finder.axes:
            found |= {base_of(arg) for arg in own_args(value)}
            continue
        for _, base, here in finder.reads(value, finder.axes[value]):
            if base in finder.axes and not (finder.is_inside(base, here) and finder.key(base) == finder.key(value)):
                found.add(base)
    return found & set(finder.axes)


def _values(targets: Collection[Tensor]) -> list[Tensor]:
    """Arguments first; what is given has none here."""
    done: dict[Tensor, None] = {}

    def visit(tensor: Tensor) -> None:
        if tensor not in done:
            for arg in () if isinstance(tensor.op, Given) else tensor.args:
                visit(arg)
            done.setdefault(tensor)

    for target in targets:
        visit(target)
    return list(done)


def _outer(stage: Stage, finder: Finder, groups: Sequence[ItemGroup], targets: set[Tensor]) -> Stage:
    leaves = list(dict.fromkeys(leaf for group in groups for leaf in group.leaves))
    needed: dict[Tensor, None] = {}

    def visit(tensor: Tensor) -> None:
        if tensor not in needed:
            needed[tensor] = None
            if tensor not in stage.earlier and tensor not in targets:
                for arg in (*own_args(tensor), *(arg for arg in far_args(tensor) if arg in stage.earlier)):
                    visit(arg)

    for tensor in [*stage.targets, *leaves]:
        visit(tensor)
    values = [value for value in dict.fromkeys([*stage.values, *leaves]) if value in needed]
    order = {value: (finder.before.get(base_of(value), 0), value in finder.axes) for value in values}
    for value in values:
        if isinstance(value.op, ops.View) and value not in stage.earlier:
            order[value] = finder.after(value), False
    values.sort(key=order.__getitem__)
    own = [value for value in values if value in targets]
    return replace(stage, values=values, of_items=own, given=leaves)
