# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Weights of layers in the order in which the schemes of kernels/layers.cuh read them."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

SHARED_BYTES = 99 * 1024  # of a kernel's weights; every architecture from sm_80 on has as much
_LARGEST_HALF, _SMALLEST_HALF = 65504, np.float16(2.0**-24)
_BALANCE = 10  # powers of two that the weights of inputs, or of outputs, may differ by; tf32x3


def _tf32(numbers: Array) -> Array:
    """Rounded to the nearest tf32 number."""
    return ((numbers.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


def _bf16(numbers: Array) -> Array:
    bits = numbers.view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def _half_pair(parts: list[Array]) -> bytes:
    """Two tiles of inputs at a time, then a last one, for products of 16 numbers. `parts`: [in, out] each."""
    tiles, outputs = parts[0].shape[0] // 8, parts[0].shape[1] // 8
    packed = []
    for first, depth, together in ((0, tiles // 2 * 2, 2), (tiles // 2 * 2, tiles % 2, 1)):
        if depth:
            fragments = [
                part[8 * first : 8 * (first + depth)]
                .reshape(depth // together, together, 4, 2, outputs, 8)
                .transpose(0, 4, 5, 2, 1, 3)
                for part in parts
            ]
            packed.append(np.stack(fragments, axis=4).tobytes())
    return b"".join(packed)


def balance(weight: Array) -> tuple[Array, Array]:
    """Powers of two (at most 1 for each input; one for each output) that bring the weights [outputs, inputs] / inputs *
    outputs to at most 2^10, and no input or output far below: what is small there counts as much as the rest.
    """
    _, of_input = np.frexp(np.abs(weight).max(axis=0).astype(np.float64))
    of_input = np.where(weight.any(axis=0), of_input - of_input.max(), -100)
    of_input = np.maximum(of_input if of_input.min() < -_BALANCE else 0 * of_input, -100)
    _, of_output = np.frexp(np.abs(weight * 2.0**-of_input).max(axis=1))
    most = of_output.max()
    of_output = of_output if of_output.min() < most - _BALANCE else np.full_like(of_output, most)
    return 2.0**of_input, 2.0 ** np.clip(10 - of_output, -100, 100)


def pack_weights(scheme: str, weight: Array) -> bytes:
    """`weight`: [inputs, outputs], both padded to tiles, float32."""
    weight = np.ascontiguousarray(weight)
    if scheme == "Fma":
        return weight.tobytes()
    if scheme == "Half3":
        high = np.clip(weight, -_LARGEST_HALF, _LARGEST_HALF).astype(np.float16)
        lost = (high == 0) & (weight != 0)  # times an infinity that is one too
        high[lost] = np.copysign(_SMALLEST_HALF, weight[lost])
        return _half_pair([high, (weight - high.astype(np.float32)).astype(np.float16)])
    if scheme == "Bf16":
        return _half_pair([_bf16(weight)])
    tiles, outputs = weight.shape[0] // 8, weight.shape[1] // 8
    return _tf32(weight).reshape(tiles, 4, 2, outputs, 8).transpose(0, 3, 4, 1, 2).tobytes()
