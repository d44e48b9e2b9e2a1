# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The table of operators: (domain, name) to what runs it, by the opset in which its meaning changed last."""

from collections.abc import Callable, Sequence

from tensoa.importers.onnx.values import Call, Refused, Value

Results = Value | Sequence[Value]  # of one operator
Operator = Callable[[Call], Results]

OPERATORS: dict[tuple[str, str], list[tuple[int, Operator]]] = {}
SIZES: dict[str, Operator] = {}  # those that also run on numbers that are known before the model runs


def operator(*names: str, since: int = 1, domain: str = "") -> Callable[[Operator], Operator]:
    """Puts a function into the table, as the meaning of these operators from the opset `since` on."""

    def put(function: Operator) -> Operator:
        for name in names:
            OPERATORS.setdefault((domain, name), []).append((since, function))
        return function

    return put


def on_known(*names: str) -> Callable[[Operator], Operator]:
    """Puts a function into the table of what runs on known numbers alone."""

    def put(function: Operator) -> Operator:
        SIZES.update(dict.fromkeys(names, function))
        return function

    return put


def find(domain: str, name: str, opset: int) -> Operator | None:
    """The function that runs the operator, None for one that is not here."""
    versions = [(since, function) for since, function in OPERATORS.get((domain, name), ()) if since <= opset]
    return max(versions, key=lambda version: version[0])[1] if versions else None


def required(domain: str, name: str, opset: int) -> Operator:
    """As find(). Raises Refused for one that is not here."""
    function = find(domain, name, opset)
    if function is None:
        raise Refused(f"{name} of opset {opset} is not read")
    return function
