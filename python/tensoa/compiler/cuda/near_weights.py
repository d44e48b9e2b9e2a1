# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The weights of a kernel whose blocks copy some of them into shared memory."""

import numpy as np

from tensoa.compiler.constants import Pool
from tensoa.compiler.cuda.expressions import Weights
from tensoa.compiler.functions import Array


class NearWeights(Weights):
    """Weights of which the first ones are copied into shared memory, up to `limit` bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(Pool(16))
        self.limit, self.near = limit, Pool(16)
        self.known: dict[bytes, str] = {}

    def at(self, kind: str, data: bytes, is_rare: bool = False) -> str:
        if data not in self.known:
            padded = self.pool.padded(data)
            is_near = not is_rare and len(self.near) + len(padded) <= self.limit
            pool, name = (self.near, "near") if is_near else (self.pool, "far")
            self.known[data] = f"({name} + {pool.place(padded)})"
        return f"reinterpret_cast<const {kind}*>{self.known[data]}"

    def rare(self, numbers: Array) -> str:
        """Floats that are hardly ever read."""
        return self.at("float", np.ascontiguousarray(numbers, np.float32).tobytes(), True)

    @property
    def data(self) -> bytes:
        return bytes(self.near.data + self.pool.data)
