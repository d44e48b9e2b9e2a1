# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Universal Binary JSON, as XGBoost writes it: lists of numbers of one type become numpy arrays."""

from typing import Any

import numpy as np

DEEPEST = 64
NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}


def parse(content: bytes) -> Any:
    """Raises ValueError for what is not whole."""
    reader = _Reader(content)
    value = reader.value(reader.marker())
    if reader.at != len(content):
        raise ValueError(f"{len(content) - reader.at} bytes are left behind its end")
    return value


class _Reader:
    def __init__(self, content: bytes) -> None:
        self.content, self.at, self.depth = content, 0, 0

    def take(self, size: int) -> bytes:
        if size < 0 or size > len(self.content) - self.at:
            raise ValueError(f"it is cut off: {size} bytes from {self.at} on, there are {len(self.content)}")
        self.at += size
        return self.content[self.at - size : self.at]

    def marker(self) -> bytes:
        return self.take(1)

    def numbers(self, kind: bytes, count: int) -> np.ndarray:
        dtype = np.dtype(NUMBERS[kind])
        return np.frombuffer(self.take(count * dtype.itemsize), dtype)

    def length(self) -> int:
        kind = self.marker()
        if kind not in NUMBERS or kind in b"dD":
            raise ValueError(f"byte {self.at - 1} is {kind!r}, expected the type of a length")
        return int(self.numbers(kind, 1)[0])

    def text(self) -> str:
        return self.take(self.length()).decode()

    def value(self, kind: bytes) -> Any:
        if kind in NUMBERS:
            return self.numbers(kind, 1)[0].item()
        if kind == b"S":
            return self.text()
        if kind == b"C":
            return self.take(1).decode("latin-1")
        if kind in (b"T", b"F", b"Z"):
            return {b"T": True, b"F": False, b"Z": None}[kind]
        if kind not in (b"[", b"{"):
            raise ValueError(f"byte {self.at - 1} is {kind!r}, expected the type of a value")
        self.depth += 1
        if self.depth > DEEPEST:
            raise ValueError(f"it is nested deeper than {DEEPEST} levels")
        value = self.list() if kind == b"[" else self.object()
        self.depth -= 1
        return value

    def list(self) -> Any:
        kind, marker = None, self.marker()
        if marker == b"$":
            kind, marker = self.marker(), self.marker()
            if marker != b"#":
                raise ValueError(f"byte {self.at - 1} is {marker!r}, expected the number of entries")
        if marker == b"#":
            count = self.length()
            if kind in NUMBERS:
                return self.numbers(kind, count)
            if kind is not None or not 0 <= count <= len(self.content) - self.at:
                raise ValueError(f"byte {self.at - 1}: a list of {count} entries of type {kind!r}")
            return [self.value(self.marker()) for _ in range(count)]
        values = []
        while marker != b"]":
            values.append(self.value(marker))
            marker = self.marker()
        return values

    def object(self) -> dict:
        values = {}
        while self.content[self.at : self.at + 1] != b"}":
            name = self.text()
            values[name] = self.value(self.marker())
        self.at += 1
        return values
