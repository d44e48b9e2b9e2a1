# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The kinds of programs that a model may become, the fastest first: each is tried where those before it cannot be made."""

from collections.abc import Callable, Mapping

from tensoa.errors import Unsupported, first_line

FUSED = "fused"
IN_PARTS = "fused in part"
INDUCTOR = "compiled by TorchInductor"
PACKAGE = "compiled ahead of time"  # each of these three
EXPORTED = "run just in time by torch.export"
SCRIPTED = "run just in time by TorchScript"


class NoProgram(Unsupported):
    """`reasons`: of each kind that was tried, why it made no program."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__(text_of(reasons))
        self.reasons = dict(reasons)


def text_of(reasons: Mapping[str, str]) -> str:
    """ "not fused or fused in part: a running sum; not compiled by TorchInductor: …": kinds of one reason are together."""
    kinds: dict[str, list[str]] = {}
    for kind, reason in reasons.items():
        kinds.setdefault(reason, []).append(kind)
    return "; ".join(f"not {_either(names)}: {reason}" for reason, names in kinds.items())


def _either(names: list[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def first_possible(attempts: Mapping[str, Callable[[dict[str, str]], None]]) -> None:
    """Makes the first kind of program that is possible: calls attempts[kind](reasons), with the reasons of the kinds before it,
    until one does not raise Unsupported. Raises NoProgram with all reasons where each does. A kind of which one before it has
    raised already is not tried.
    """
    reasons: dict[str, str] = {}
    for kind, attempt in attempts.items():
        if kind in reasons:
            continue
        try:
            return attempt(reasons)
        except NoProgram as error:
            reasons |= error.reasons
        except Unsupported as error:
            reasons[kind] = first_line(error).removesuffix("; it is not written")
    raise NoProgram(reasons)


def summary(reasons: Mapping[str, str], kind: str) -> str:
    """The line for people: what the model became, and why nothing faster."""
    return "; ".join([*([text_of(reasons)] if reasons else []), kind])
