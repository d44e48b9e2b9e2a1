# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Convolutions."""

import torch
from torch.nn import functional

from tensoa.importers.onnx.operators.table import Results, operator
from tensoa.importers.onnx.operators.windows import padded, windows
from tensoa.importers.onnx.values import Call, Refused

CONVOLUTIONS = {1: torch.conv1d, 2: torch.conv2d, 3: torch.conv3d}
TRANSPOSED = {1: torch.conv_transpose1d, 2: torch.conv_transpose2d, 3: torch.conv_transpose3d}


def convolved(call: Call, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    made = windows(call, x.shape[2:], call.attribute("kernel_shape", list(weight.shape[2:])))
    groups, rank = call.attribute("group", 1), len(made.sizes)
    if rank not in CONVOLUTIONS or made.sizes != list(weight.shape[2:]):
        raise Refused(f"kernels of {made.sizes} with weights of the shape {list(weight.shape)}; expected 1 to 3 dimensions")
    before = [pair[0] for pair in made.pads]
    if all(a == b for a, b in made.pads):
        return CONVOLUTIONS[rank](x, weight, bias, made.strides, before, made.dilations, groups)
    return CONVOLUTIONS[rank](padded(x, made.pads), weight, bias, made.strides, 0, made.dilations, groups)


@operator("Conv")
def _convolution(call: Call) -> Results:
    return convolved(call, call.tensor(0), call.tensor(1), call.optional(2))


@operator("ConvTranspose")
def _transposed(call: Call) -> Results:
    x, weight, bias = call.tensor(0), call.tensor(1), call.optional(2)
    rank = x.dim() - 2
    if rank not in TRANSPOSED:
        raise Refused(f"a picture of {rank} dimensions; expected 1 to 3")
    call.ignore("kernel_shape")
    strides, dilations = call.attribute("strides", [1] * rank), call.attribute("dilations", [1] * rank)
    more, pads = call.attribute("output_padding", [0] * rank), call.attribute("pads", [0] * 2 * rank)
    wanted, automatic = call.attribute("output_shape"), call.attribute("auto_pad", "NOTSET")
    spans = [(size - 1) * dilation + 1 for size, dilation in zip(weight.shape[2:], dilations)]
    sizes = [(n - 1) * stride + span + add for n, stride, span, add in zip(x.shape[2:], strides, spans, more)]
    pairs = list(zip(pads[:rank], pads[rank:]))
    if automatic == "VALID":
        pairs = [(0, 0)] * rank
    elif automatic != "NOTSET" or wanted is not None:
        wanted = [n * stride for n, stride in zip(x.shape[2:], strides)] if wanted is None else wanted[-rank:]
        cuts = [size - want for size, want in zip(sizes, wanted)]
        is_upper = automatic == "SAME_UPPER"
        pairs = [(cut // 2, cut - cut // 2) if is_upper else (cut - cut // 2, cut // 2) for cut in cuts]
    steps = [weight, None, strides, 0, 0, call.attribute("group", 1), dilations]
    full = TRANSPOSED[rank](x, *steps)
    # Elements that no window writes are zeros behind the last; what is cut away is padding below zero.
    changes = [(-before, add - behind) for (before, behind), add in zip(pairs, more)]
    result = functional.pad(full, [number for pair in reversed(changes) for number in pair])
    return result if bias is None else result + bias.reshape(-1, *[1] * rank)


@operator("Col2Im", since=18)
def _fold(call: Call) -> Results:
    x, picture, block = call.tensor(0), call.numbers(1), call.numbers(2)
    rank = len(picture)
    strides, dilations = call.attribute("strides", [1] * rank), call.attribute("dilations", [1] * rank)
    pads = call.attribute("pads", [0] * 2 * rank)
    if rank != 2:
        raise Refused(f"a picture of {rank} dimensions; expected 2")
    call.check_size([*x.shape[:1], *picture])
    sizes = [size + pads[i] + pads[i + rank] for i, size in enumerate(picture)]
    whole = functional.fold(x, tuple(sizes), tuple(block), dilations, 0, strides)
    return whole[..., pads[0] : pads[0] + picture[0], pads[1] : pads[1] + picture[1]]
