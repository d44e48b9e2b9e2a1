# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Constants of a program one behind the other, for every back end."""


class Pool:
    """Bytes, each content once, each at a multiple of `alignment`."""

    def __init__(self, alignment: int) -> None:
        self.alignment = alignment
        self.data = bytearray()
        self._places: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self.data)

    def padded(self, data: bytes) -> bytes:
        return data + bytes(-len(data) % self.alignment)

    def place(self, data: bytes) -> int:
        """Where these bytes lie: put there where they are new."""
        if data not in self._places:
            self.data += bytes(-len(self.data) % self.alignment)
            self._places[data] = len(self.data)
            self.data += data
        return self._places[data]
