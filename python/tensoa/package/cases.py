# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What is tried with a model, and what is right."""

import contextlib
import copy
import functools
from collections.abc import Callable, Container, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from tensoa.binding import Binding, Block
from tensoa.binding.columns import (
    LARGE,
    NORMAL,
    SMALL,
    SPECIAL,
    Columns,
    all_of,
    as_double,
    collections_of,
    is_integer,
    rows_by,
)
from tensoa.binding.model import as_exported, results_of
from tensoa.errors import InputError

MOST_ROWS = 1000
FEW_ROWS = 33
MOST_BYTES = 256 << 20  # of one tensor in float64 that a model makes on its way: fewer rows are tried of models that make more
# 0 rows: of models with a fixed number of result rows; of others nothing runs then.
CASES = (*((NORMAL, rows) for rows in (0, 1, 2, FEW_ROWS, MOST_ROWS)), (SMALL, 100), (LARGE, 100), (SPECIAL, 100))
KINDS = (NORMAL, SMALL, LARGE, SPECIAL)
ROUGH = 1e-2  # an error of the model's own precision above which it says nothing of a program
# How much larger than the model's own error a program's may be. On numbers that are hard both are large, and which is the
# larger is chance: the worst of hundreds of planes may have it several times.
MARGIN, MARGIN_OF_HARD_NUMBERS = 4, 16
MOST_OF_LAST_PLACE = 1e-5  # what half a unit in the last place of inputs and weights counts at most: more is a choice
WRONG_CHOICES = 2e-3  # of integers and truth values: the share that may differ, where two numbers may be as good: not of
# models that take no floats, and give the same in float64


ILL_CONDITIONED = 2e-3  # the share of rows of normal numbers that may be, as much as a choice may differ
#: Operators that choose among elements, and which argument says the dimension.
ORDERS = {"topk": 2, "kthvalue": 2, "sort": 1, "argmin": 1, "argmax": 1, "min": 1, "max": 1}
DRAWS = 4  # of roundings, which say how much such a row may change
SHORT = (torch.float16, torch.bfloat16)
ARITHMETIC = frozenset(  # operators whose last place may differ from one program to the next
    "aten::" + name
    for name in (
        "add sub mul div rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh asinh acosh atanh asin acos "
        "atan atan2 sigmoid erf erfc pow hypot sum mean prod mm addmm bmm linear"
    ).split()
)
ROUNDED = frozenset("aten::" + name for name in ("add", "sub", "mul", "div"))  # of these: that every program rounds alike
QUANTISING = "quantized_decomposed"  # the namespace of such operators
STEP = 2e-3  # of the largest number: what the other one of two neighbours counts at most, with the margin


class Case:
    """Columns of one call, and what the model makes of them: planes in its own precision and in float64.

    `epsilon`: the unit of the short floats inside, where the model cannot say in float64 how far it is off.
    """

    epsilon, is_quantised = 0.0, False

    def __init__(
        self,
        module: Any,
        exact: Any,
        near: Any,
        binding: Binding,
        rules: list[dict],
        numbers: str,
        count: int,
        rows: dict[int, int],
        **options: Any,
    ) -> None:
        self.numbers, self.count, self.rows = numbers, count, rows
        self.has_floats = any(block.column_dtype.is_floating_point for block in binding.inputs)
        options = {"seed": count, "is_misaligned": count % 2 == 1, "numbers": numbers, **options}
        columns = Columns(binding, rows, rules, "cpu", **options)
        self._columns: Columns | None = columns
        self._again = lambda: Columns(binding, rows, rules, "cpu", **options)
        self._module, self._binding = module, binding
        results = results_of(module, binding, columns)
        self.eager = [block.planes(result) for block, result in zip(binding.outputs, results)]
        self.exact = _truth(exact, binding, columns, as_double) or self.eager
        self.near: list[torch.Tensor] | None = None  # in float64 too, of inputs and weights that are rounded otherwise
        if numbers != NORMAL:
            self.near = _truth(near, binding, columns, _rounded_otherwise, seed=1)

    def released(self) -> Columns:
        """The columns, which are given once and then forgotten: their planes lie far apart."""
        if self._columns is None:
            raise ValueError("the columns of this case were given already")
        columns, self._columns = self._columns, None
        return columns

    def rounded_otherwise(self) -> Iterator[list[torch.Tensor] | None]:
        """The results in float64, of inputs and weights that are rounded otherwise in each draw."""
        for seed in range(1, DRAWS + 1):
            convert = functools.partial(_rounded_otherwise, seed=seed)
            yield _truth(_near(self._module, seed), self._binding, self._again(), convert, seed)

    def is_settled(self) -> bool:
        """Whether the model gives about the same where its arithmetic is a last place off; of hard numbers it need not."""
        if self.numbers == NORMAL or self.is_quantised or self.epsilon:
            return True
        try:
            with as_exported(), _Shaken(self.count):
                results = self._binding.call(self._module, self._again().inputs)
        except Exception:  # an index that a comparison gives
            return False
        for at, (block, result) in enumerate(zip(self._binding.outputs, results)):
            right = Right([self], at)
            limit = WRONG_CHOICES if right.is_choice else ROUGH
            if not (right.errors(0, block.planes(result)) <= limit).all():
                return False
        return True

    def __str__(self) -> str:
        return f"{self.count} rows" + ("" if self.numbers == NORMAL else f" of {self.numbers} numbers")


def cases_of(
    module: Any,
    binding: Binding,
    rules: list[dict],
    most: int = MOST_ROWS,
    kinds: Container[str] = KINDS,
    **options: Any,
) -> Iterator[Case]:
    """The calls that are tried, of at most so many rows of the first collection, with these kinds of numbers."""
    exact = _exact(module)
    near = _near(module)
    has_sizes = any(
        block.examples is None and (block.column_dtype.is_floating_point or _takes_all(block)) for block in binding.inputs
    )
    seen = _seen(module, binding, rules)
    most = min(most, max(FEW_ROWS, MOST_BYTES * FEW_ROWS // max(1, 8 * seen.numbers)))  # that the memory is for
    done = set()
    for numbers, count in CASES:
        count = min(count, most)
        rows = _rows(binding, count)
        if count == 0 and not all(block.column_dtype.is_floating_point for block in binding.inputs):
            continue  # an index into nothing
        if (
            numbers not in kinds
            or (numbers, count) in done
            or sum(rows_by(rules, rows)) == 0
            or (numbers != NORMAL and not has_sizes)
            or (numbers == SPECIAL and seen.orders_rows)  # many rows are equal there, and any may be chosen
        ):
            continue
        done.add((numbers, count))
        try:
            case = Case(module, exact, near, binding, rules, numbers, count, rows, **options)
            case.epsilon = 0.0 if case.exact is not case.eager else seen.epsilon
            case.is_quantised = seen.is_quantised
            yield case
        except InputError:
            if numbers == NORMAL and not (seen.orders_rows and count < FEW_ROWS):
                raise  # a model need not take every number, nor fewer rows than it chooses


def _rows(binding: Binding, count: int) -> dict[int, int]:
    """Of each collection, `count` of the first and others of the rest."""
    return {collection: count * (1 + 2 * collection) for collection in collections_of(binding)}


class _InDouble(TorchDispatchMode):
    """Operators of torch give float64 where a model names another dtype of floats; a cast to a short one rounds first, and
    operators that quantise do it in float32.

    With a seed, results of arithmetic are a last place of float64 off: of models that calculate in float64 themselves.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__()
        self._random = None if seed is None else torch.Generator().manual_seed(seed)

    def _rounded(self, function: Any, result: Any) -> Any:
        if self._random is None or function._schema.name not in ARITHMETIC or result.dtype != torch.float64:
            return result
        return _shaken(result, 2 * torch.finfo(torch.float64).eps, self._random)

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = dict(kwargs or {})
        if function.namespace == QUANTISING:
            result = function(*tree_map(_as_float, args), **tree_map(_as_float, kwargs))
            return tree_map(lambda one: as_double(one) if isinstance(one, torch.Tensor) else one, result)
        dtype = kwargs.get("dtype")
        if dtype is None or not dtype.is_floating_point:
            return self._rounded(function, function(*args, **kwargs))
        result = function(*args, **{**kwargs, "dtype": torch.float64})
        is_rounded = function is torch.ops.aten._to_copy.default and dtype in SHORT
        return result.to(dtype).double() if is_rounded else result


@contextlib.contextmanager
def _making_doubles() -> Iterator[None]:
    """Tensors that a model makes without a dtype are of float64, as those that it is given."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class _Shaken(TorchDispatchMode):
    """Results of arithmetic are a last place off, and of equal numbers that are put in order others come first: as another
    program may have it.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        name = function.overloadpacket.__name__
        if name in ("topk", "sort") and args[0].dim() and not kwargs.get("stable"):
            at = ORDERS[name]
            dim = kwargs.get("dim", args[at] if len(args) > at else -1)
            values, places = function(args[0].flip(dim), *args[1:], **kwargs)
            return values, args[0].shape[dim] - 1 - places
        result = function(*args, **kwargs)
        if function._schema.name not in ARITHMETIC - ROUNDED or not result.is_floating_point():
            return result
        return _shaken(result, 2 * torch.finfo(result.dtype).eps, self._random).to(result.dtype)


def _as_float(arg: Any) -> Any:
    return arg.float() if isinstance(arg, torch.Tensor) and arg.is_floating_point() else arg


class _Seen(TorchDispatchMode):
    """Of the tensors that operations of torch give: the numbers in the largest, and the unit of the shortest floats; and
    whether numbers are quantised, so that one of two neighbours may be as good as the other, and whether an operation chooses
    among all rows for each row; `counts`: of rows.
    """

    numbers, epsilon, is_quantised, orders_rows = 0, 0.0, False, False

    def __init__(self, counts: Container[int]) -> None:
        super().__init__()
        self.counts = counts

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        results = function(*args, **(kwargs or {}))
        self.is_quantised = self.is_quantised or function.namespace == QUANTISING
        at = ORDERS.get(function.overloadpacket.__name__)
        if at is not None and args[0].dim():
            dim = args[at] if len(args) > at and isinstance(args[at], int) else -1
            sizes = list(args[0].shape)
            self.orders_rows |= sizes.pop(dim) in self.counts and any(size in self.counts for size in sizes)
        for result in results if isinstance(results, (tuple, list)) else [results]:
            if isinstance(result, torch.Tensor):
                self.numbers = max(self.numbers, result.numel())
                if result.dtype in SHORT:
                    self.epsilon = max(self.epsilon, torch.finfo(result.dtype).eps)
        return results


def _seen(module: Any, binding: Binding, rules: list[dict]) -> _Seen:
    """What the module calculates with."""
    rows = _rows(binding, FEW_ROWS)
    columns = Columns(binding, rows, rules, "cpu", seed=FEW_ROWS)
    seen = _Seen(set(rows.values()))
    with contextlib.suppress(Exception), torch.no_grad(), as_exported(), seen:  # whatever a model throws: a case says it
        binding.call(module, columns.inputs)
    return seen


def _takes_all(block: Block) -> bool:
    return is_integer(block.column_dtype) and block.integers == all_of(block.column_dtype)


def _exact(module: Any) -> Any:
    try:
        return copy.deepcopy(module).double()
    except Exception:  # an exported program has fixed dtypes
        return None


def _rounded_otherwise(tensor: torch.Tensor, seed: int = 1) -> torch.Tensor:
    """In float64, and half a unit in the last place more or less."""
    if not tensor.is_floating_point():
        return tensor
    return _shaken(tensor.double(), torch.finfo(tensor.dtype).eps, torch.Generator().manual_seed(seed))


def _shaken(tensor: torch.Tensor, eps: float, random: torch.Generator) -> torch.Tensor:
    signs = torch.randint(0, 2, tensor.shape, generator=random) - 0.5
    return tensor * (1 + signs * eps)


def _near(module: Any, seed: int = 1) -> Any:
    """The model in float64, with weights that are rounded otherwise."""
    near = _exact(module)
    if near is not None:
        dtypes = [weight.dtype for weight in (*module.parameters(), *module.buffers()) if weight.is_floating_point()]
        eps = max((torch.finfo(dtype).eps for dtype in dtypes), default=0.0)
        with torch.no_grad():
            for weight in (*near.parameters(), *near.buffers()):
                if weight.is_floating_point():
                    weight.copy_(_shaken(weight, eps, torch.Generator().manual_seed(seed)))
    return near


def _truth(
    exact: Any,
    binding: Binding,
    columns: Columns,
    convert: Callable[[torch.Tensor], torch.Tensor],
    seed: int | None = None,
) -> list[torch.Tensor] | None:
    """The results in float64, as planes, or None where the model has fixed dtypes."""
    if exact is None:
        return None
    try:
        with as_exported(), _making_doubles(), _InDouble(seed):
            results = binding.call(exact, columns.inputs, convert=convert)
    except Exception:  # a model may insist on its dtypes
        return None
    return [block.planes(result) for block, result in zip(binding.outputs, results)]


class Right:
    """What the cases of one kind of numbers say of one output block; plane by plane, since one may hold energies and the
    next probabilities. Errors are relative to the largest number of the plane in all cases.

    Numbers that are finite in one precision of the model and not in the other are not judged. All others that are not
    finite must be just so: both no numbers, or the same infinity.
    """

    def __init__(self, cases: list[Case], at: int) -> None:
        self.at = at
        self.margin = MARGIN if cases[0].numbers == NORMAL else MARGIN_OF_HARD_NUMBERS
        self.eager, self.exact = ([getattr(case, name)[at] for case in cases] for name in ("eager", "exact"))
        self.is_choice = not self.eager[0].dtype.is_floating_point
        self.epsilon = 0.0 if self.is_choice else cases[0].epsilon
        self.is_quantised = cases[0].is_quantised and not self.is_choice
        if self.is_choice:
            self.exact = [exact.to(eager.dtype) for exact, eager in zip(self.exact, self.eager)]
            self.eager_errors = [(a != b).double().mean(1).nan_to_num() for a, b in zip(self.eager, self.exact)]
        else:
            self.eager, self.exact = ([tensor.double() for tensor in all] for all in (self.eager, self.exact))
            self.judged = [_kind(a) == _kind(b) for a, b in zip(self.eager, self.exact)]
            self.finite = [judged & torch.isfinite(b) for judged, b in zip(self.judged, self.exact)]
            kept = torch.cat([torch.where(finite, b, 0.0) for finite, b in zip(self.finite, self.exact)], 1)
            self.largest, self.norm = kept.abs().amax(1), kept.norm(dim=1)
            self.eager_errors = [self.errors(i, eager) for i, eager in enumerate(self.eager)]
        self.eager_error = torch.stack(self.eager_errors).amax(0)
        self.change = self._of_last_place([case.near for case in cases], at)
        self.own_error = torch.maximum(self.eager_error, self.change).clamp(min=self.epsilon)
        may_be_as_good = cases[0].has_floats or bool(self.eager_error.any())  # or all choices are between integers
        self.wrong_choices = WRONG_CHOICES if may_be_as_good else 0.0

    def errors(self, case: int, got: torch.Tensor) -> torch.Tensor:
        """Of each plane: the largest difference over the largest number; of integers and truth values, the share that
        differs from both precisions of the model. Infinity where one is not finite and the other is.
        """
        exact = self.exact[case]
        if self.is_choice:
            return ((got != exact) & (got != self.eager[case])).double().mean(1).nan_to_num()
        if got.shape[1] == 0:
            return torch.zeros(len(got), dtype=torch.float64)
        got = got.double()
        difference = torch.where(self.finite[case], (got - exact).abs(), 0.0).amax(1)
        error = torch.where(self.largest > 0, difference / self.largest, difference)
        is_other = (self.judged[case] & (_kind(got) != _kind(exact))).any(1)
        return torch.where(is_other | error.isnan(), torch.inf, error)

    def without_ill_conditioned(self, place: int, case: Case, got: torch.Tensor, limits: torch.Tensor) -> torch.Tensor:
        """The results with what is right in few rows, where they differ by more than the limits and the model changes by as
        much when its inputs and weights change by half a unit in the last place; or by a step, where it is quantised.
        """
        exact = self.exact[place]
        bounds = (limits * torch.where(self.largest > 0, self.largest, 1.0))[:, None]
        apart = torch.where(self.finite[place], (got.double() - exact).abs(), 0.0)
        is_over = (apart > bounds).any(0)
        most = max(self.is_quantised, ILL_CONDITIONED * got.shape[1])
        if not 0 < int(is_over.sum()) <= most:
            return got
        change = self.is_quantised * STEP * torch.ones_like(apart) * self.largest[:, None]
        for near in () if self.is_quantised else case.rounded_otherwise():
            if near is None:
                return got
            change = torch.maximum(change, (near[self.at].double() - exact).abs().nan_to_num(posinf=0.0))
        is_kind = (~self.judged[place] | (_kind(got.double()) == _kind(exact))).all(0)
        is_settled = is_over & is_kind & (apart <= torch.maximum(bounds, self.margin * change)).all(0)
        return torch.where(is_settled, exact, got.double())

    def _of_last_place(self, near: list[list[torch.Tensor] | None], at: int) -> torch.Tensor:
        """How much each plane changes where inputs and weights are rounded otherwise: the model's own error in one draw of
        hard numbers can be small by chance, with large numbers that cancel out. Zero where the model is exact, as trees are.
        """
        if self.is_choice or any(one is None for one in near):
            return torch.zeros_like(self.eager_error)
        changes = [self.errors(i, one[at]) for i, one in enumerate(near) if one is not None]
        change = torch.stack(changes).amax(0).nan_to_num(posinf=0.0).clamp(max=MOST_OF_LAST_PLACE)
        return torch.where(self.eager_error > 0, change, 0.0)

    def is_rough(self) -> bool:
        """Whether the model differs so much from itself in float64 that it says nothing."""
        return bool((self.eager_error > ROUGH).any())

    def norm_tolerances(self, tolerance: float, case: int) -> list[float]:
        """Of each plane of a case: the largest ||a - b|| / ||b||, or share of wrong choices, that is right."""
        if self.is_choice:
            return [max(tolerance, self.wrong_choices)] * len(self.eager[0])
        differences = [torch.where(f, a - b, 0.0) for f, a, b in zip(self.finite, self.eager, self.exact)]
        errors = self.margin * torch.maximum(torch.cat(differences, 1).norm(dim=1) / self.norm, self.change)
        errors = errors.clamp(min=self.margin * self.epsilon)
        if self.is_quantised:  # few rows may be a step off, as in without_ill_conditioned()
            rows = max(1, ILL_CONDITIONED * self.exact[case].shape[1])
            errors += (
                self.margin
                * STEP
                * self.largest
                * rows**0.5
                / torch.where(self.finite[case], self.exact[case], 0.0).norm(dim=1)
            )
        return torch.where((errors > tolerance) & errors.isfinite(), errors, tolerance).tolist()

    def recorded(self, case: int) -> tuple[torch.Tensor, bool]:
        """The numbers to compare with, and whether all of them are the same kind in both precisions."""
        is_clear = self.is_choice or bool(self.judged[case].all())
        return (self.exact if is_clear and not self.is_choice else self.eager)[case].double(), is_clear


def _kind(numbers: torch.Tensor) -> torch.Tensor:
    """Of each number: finite, infinite (of which sign), or none."""
    return torch.where(numbers.isnan(), 2.0, torch.where(numbers.isinf(), numbers.sign(), 0.0))


def by_numbers(cases: list[Case]) -> dict[str, list[int]]:
    """The positions of the cases of each kind of numbers."""
    return {kind: [i for i, case in enumerate(cases) if case.numbers == kind] for kind in {c.numbers: 0 for c in cases}}
