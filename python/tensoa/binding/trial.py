# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The shape of the only argument of a model whose file says none, where it follows from what the model takes."""

from typing import Any

import torch
from torch.nn.parameter import is_lazy

from tensoa.binding.evaluation import evaluated
from tensoa.binding.model import as_exported

MOST_WIDTHS = 256
ROWS = 41  # no channels of an image, for which some layers take the first of two axes


def only_shape(module: Any) -> tuple[int | None, ...] | None:
    """[n, k], else [1, k], else [k], of which the model takes one k alone: of the sizes of its weights, and none of its
    neighbours and multiples, as models do that take any, or any number of groups of k. None where that is not so.
    """
    weights = [one for one in (*module.parameters(), *module.buffers()) if not is_lazy(one)]
    widths = sorted({size for one in weights for size in one.shape})
    if len(widths) > MOST_WIDTHS:
        return None
    leading: tuple[int | None, ...]
    for leading in ((None,), (1,), ()):
        found = [width for width in widths if _takes(module, (*leading, width))]
        if found:
            (*others, width) = found
            near = (width - 1, width + 1, 2 * width, 3 * width)
            is_only = not others and not any(_takes(module, (*leading, other)) for other in near)
            return (*leading, width) if is_only else None
    return None


def _takes(module: Any, shape: tuple[int | None, ...]) -> bool:
    try:
        with evaluated(module), as_exported():  # a call may change what the model keeps
            module(torch.ones([ROWS if size is None else size for size in shape]))
    except Exception:  # whatever the user's model throws
        return False
    return True
