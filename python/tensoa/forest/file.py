# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The bytes of the file of a package that holds an ensemble: to_bytes() of forest/include/tensoa/forest/ensemble.hpp."""

import json
from typing import Any

import numpy as np

from tensoa.errors import InputError
from tensoa.forest.ensemble import LISTS, Ensemble, Link, require_whole

MAGIC = b"tensoa forest 1\n"
UNIT = 8  # everything begins at a multiple of it
PRECISIONS = {"float32": np.float32, "float64": np.float64}
#: The members of the header that are not lists, and their types.
MEMBERS = {
    "columns": int, "column_names": [str], "outputs": int, "features": str, "sums": str, "leaf_size": int, "base": [float],
    "base_is_last": bool, "factor": float, "divisor": float, "link": str, "link_scale": float, "source": str,
    "objective": str, "classes": [str],
}  # fmt: skip


def to_bytes(ensemble: Ensemble) -> bytes:
    header: dict[str, Any] = {name: getattr(ensemble, name) for name in MEMBERS}
    header["features"], header["sums"] = np.dtype(ensemble.features).name, np.dtype(ensemble.sums).name
    header["link"] = ensemble.link.value
    lists = {name: _without_gaps(np.asarray(getattr(ensemble, name), kind)) for name, kind in LISTS.items()}
    header["counts"] = {name: len(values) for name, values in lists.items()}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode(errors="replace")
    text += b" " * (-len(text) % UNIT)
    parts = [MAGIC, len(text).to_bytes(UNIT, "little"), text]
    for values in lists.values():
        content = values.tobytes()
        parts += [content, bytes(-len(content) % UNIT)]
    return b"".join(parts)


def _without_gaps(values: np.ndarray) -> np.ndarray:
    """The same numbers, with zeros in what is unused between them."""
    made = np.zeros(len(values), values.dtype)
    for name in values.dtype.names or (Ellipsis,):
        made[name] = values[name]
    return made


def from_bytes(content: bytes, subject: str) -> Ensemble:
    """Raises InputError, which begins with `subject`, where the bytes are not a whole ensemble."""
    try:
        ensemble = _read(content)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{subject}its ensemble of trees cannot be read: {str(error)[:200]}; import the model again"
        ) from error
    require_whole(ensemble, subject)
    return ensemble


def _read(content: bytes) -> Ensemble:
    if not content.startswith(MAGIC):
        raise ValueError('it does not begin with "tensoa forest 1"')
    at = len(MAGIC) + UNIT
    length = int.from_bytes(content[len(MAGIC) : at], "little")
    if len(content) < at or length % UNIT or length > len(content) - at:
        raise ValueError(f"its header has {length} bytes, {max(0, len(content) - at)} are left, expected a multiple of 8")
    header = json.loads(content[at : at + length])
    values = {name: _member(header, name, kind) for name, kind in MEMBERS.items()}
    values["features"], values["sums"] = (_chosen(values, name, PRECISIONS) for name in ("features", "sums"))
    values["link"] = _chosen(values, "link", {link.value: link for link in Link})
    counts, at = _member(header, "counts", dict), at + length
    for name, kind in LISTS.items():
        count = _member(counts, name, int)
        size = count * kind.itemsize
        padded = size + -size % UNIT
        if padded > len(content) - at:
            raise ValueError(f"it is cut off: it has {count} {name}, but {len(content) - at} bytes are left")
        values[name] = np.frombuffer(content, kind, count, at)
        at += padded
    if at != len(content):
        raise ValueError(f"it has {len(content) - at} bytes too many")
    return Ensemble(**values)


def _fits(value: Any, kind: Any) -> bool:
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    return isinstance(value, kind)


def _member(header: Any, name: str, kind: Any) -> Any:
    value = header.get(name) if isinstance(header, dict) else None
    is_list = isinstance(kind, list)
    fits = isinstance(value, list) and all(_fits(one, kind[0]) for one in value) if is_list else _fits(value, kind)
    if not fits:
        expected = f"a list of {kind[0].__name__}" if is_list else kind.__name__
        raise ValueError(f'"{name}" is {str(value)[:60]}, expected {expected}')
    return value


def _chosen(values: dict, name: str, choices: dict) -> Any:
    if values[name] not in choices:
        raise ValueError(f'"{name}" is "{values[name]}", which is unknown')
    return choices[values[name]]
