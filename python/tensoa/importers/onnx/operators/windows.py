# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Where windows of convolutions and pools lie."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional

from tensoa.importers.onnx.values import Call, Refused

Pad = tuple[int, int]  # (before, behind)


@dataclass
class Windows:
    """For each dimension of a picture; `pads` are (before, behind)."""

    sizes: list[int]
    strides: list[int]
    dilations: list[int]
    pads: list[Pad]

    def spans(self) -> list[int]:
        """Elements from the first to the last of a window."""
        return [(size - 1) * dilation + 1 for size, dilation in zip(self.sizes, self.dilations)]


def windows(call: Call, picture: Sequence[int], sizes: Sequence[int]) -> Windows:
    """The windows that the attributes of a node say. `picture`: the elements of each dimension."""
    rank = len(sizes)
    if len(picture) != rank:
        raise Refused(f"a window of {rank} dimensions in a picture of {len(picture)}")
    strides, dilations = call.attribute("strides", [1] * rank), call.attribute("dilations", [1] * rank)
    automatic, given = call.attribute("auto_pad", "NOTSET"), call.attribute("pads", [0] * 2 * rank)
    made = Windows(list(sizes), strides, dilations, list(zip(given[:rank], given[rank:])))
    if any(number < 1 for number in (*sizes, *strides, *dilations)) or any(len(one) != rank for one in (strides, dilations)):
        raise Refused(f"windows of {sizes}, strides {strides}, dilations {dilations}; expected {rank} positive numbers each")
    if automatic == "VALID":
        made.pads = [(0, 0)] * rank
    elif automatic in ("SAME_UPPER", "SAME_LOWER"):
        made.pads = []
        for elements, stride, span in zip(picture, strides, made.spans()):
            more = max(0, (-(-elements // stride) - 1) * stride + span - elements)
            less = more // 2
            made.pads.append((less, more - less) if automatic == "SAME_UPPER" else (more - less, less))
    elif automatic != "NOTSET":
        raise Refused(f"auto_pad {automatic}")
    return made


def padded(x: torch.Tensor, pads: Sequence[Pad], number: float = 0.0) -> torch.Tensor:
    """`pads`: (before, behind) for each of the last dimensions."""
    if not any(one for pair in pads for one in pair):
        return x
    return functional.pad(x, [one for pair in reversed(pads) for one in pair], value=number)
