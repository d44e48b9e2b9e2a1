# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""How far off a program may be."""

import torch

from tensoa.binding.columns import LARGE, NORMAL, SMALL, SPECIAL
from tensoa.binding.domain import HARDLY_ANY
from tensoa.package.cases import Case

HARD = (SMALL, LARGE, SPECIAL)  # kinds of numbers
ROUGH = 1e-2  # an error of the model's own precision above which it says nothing of a program
# How much larger than the model's own error a program's may be. On numbers that are hard both are large, and which is the
# larger is chance: the worst of hundreds of planes may have it several times.
MARGIN, MARGIN_OF_HARD_NUMBERS = 4, 16
MOST_OF_LAST_PLACE = 1e-5  # what half a unit in the last place of inputs and weights counts at most: more is a choice
WRONG_CHOICES = 2e-3  # of integers and truth values: the share that may differ, where two numbers may be as good: not of
# models that take no floats, and give the same in float64
ILL_CONDITIONED = 2e-3  # the share of rows of normal numbers that may be, as much as a choice may differ
MANY = 33  # rows, of which one may be
STEP = 2e-3  # of the largest number: what the other one of two neighbours counts at most, with the margin


class Right:
    """The verdict of the cases of one kind of numbers on one output block; plane by plane, since one may hold energies and the
    next probabilities. Errors are relative to the largest number of the plane in all cases.

    Numbers that are finite in one precision of the model and not in the other are not judged. All others that are not
    finite must be just so: both no numbers, or the same infinity.
    """

    def __init__(self, cases: list[Case], at: int) -> None:
        self.at = at
        self.margin = MARGIN_OF_HARD_NUMBERS if cases[0].numbers in HARD else MARGIN
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
        one_row = 1 if self.is_quantised or got.shape[1] >= MANY else 0
        most = max(one_row, ILL_CONDITIONED * got.shape[1])
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

    def says_something(self, case: int) -> bool:
        """Whether the case has enough finite numbers in any plane: a comparison of NaN alone is none."""
        if self.is_choice or self.finite[case].shape[1] == 0:
            return True
        return bool((self.finite[case].double().mean(1) >= HARDLY_ANY).any())

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


def is_settled(case: Case, most: float = ROUGH) -> bool:
    """Whether the model gives about the same where its arithmetic is a last place off; of hard numbers it need not. `most`: the
    error that still is about the same.
    """
    if case.numbers == NORMAL or case.is_quantised:
        return True
    shaken = case.shaken
    if shaken is None:
        return False
    for at, result in enumerate(shaken):
        right = Right([case], at)
        limits = (right.margin * right.own_error).clamp(min=WRONG_CHOICES if right.is_choice else most)
        if not (right.errors(0, result) <= limits).all():
            return False
    return True


def is_as_far_from_itself(case: Case, at: int, errors: torch.Tensor) -> bool:
    """Whether the model is about as far from itself as a program is from it (`errors` of the planes of block `at`), where its
    arithmetic is a last place off, or of two equal numbers the other one comes first (the worst planes are compared); or, plane
    by plane in the worst of several draws, its inputs and weights are rounded otherwise.
    """
    right = Right([case], at)
    if case.numbers == NORMAL or case.is_quantised or right.is_choice:
        return False
    if case.shaken is not None and errors.amax() <= right.margin * right.errors(0, case.shaken[at]).amax():
        return True
    draws = [right.errors(0, near[at]) for near in case.rounded_otherwise() if near is not None]
    if not draws:
        return False
    own = torch.stack(draws).amax(0).clamp(max=MOST_OF_LAST_PLACE) * (right.eager_error > 0)  # of exact planes none
    return bool((errors <= torch.maximum(right.own_error, right.margin * own)).all())


def by_numbers(cases: list[Case]) -> dict[str, list[int]]:
    """The positions of the cases of each kind of numbers."""
    return {kind: [i for i, case in enumerate(cases) if case.numbers == kind] for kind in {c.numbers: 0 for c in cases}}
