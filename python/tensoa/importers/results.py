# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Results of models of other frameworks."""

from collections.abc import Sequence
from typing import Any

import torch


class Results(tuple):
    """As a named tuple, with any text as names."""

    _fields: tuple[str, ...]


def named(tensors: Sequence[torch.Tensor], names: Sequence[str]) -> Any:
    """A tensor, or several with their names."""
    if len(tensors) == 1:
        return tensors[0]
    results = Results(tensors)
    results._fields = tuple(names)
    return results
