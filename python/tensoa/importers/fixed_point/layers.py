# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Layers on fixed-point numbers, and networks of them."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tensoa.errors import InputError
from tensoa.importers.fixed_point.number import Cast, Fixed, Layer, Range, rounded

BITS = {torch.float32: 24, torch.float64: 53}


class Dense(Layer):
    """Products and their sum, in the type of the accumulator; exact without one.

    `weight` [outputs, inputs] and `bias` [outputs] are numbers, not steps. Raises InputError where the sum may saturate:
    then it would depend on the order.
    """

    weight: torch.Tensor
    bias: torch.Tensor

    def __init__(self, given: Range, weight: np.ndarray, bias: np.ndarray, types: Sequence[Fixed], sums: Fixed | None) -> None:
        super().__init__()
        weight_type, bias_type = types
        whole = steps(weight, weight_type)
        product = given.fraction + weight_type.range.fraction
        fraction = sums.range.fraction if sums is not None else max(product, bias_type.range.fraction)
        offset = _shifted(steps(bias, bias_type), fraction - bias_type.range.fraction, sums)
        self.shift, self.sums = fraction - product, sums
        if self.shift >= 0:
            whole = whole * 2**self.shift
        self.register_buffer("weight", torch.tensor(whole.astype(np.float64)))
        self.register_buffer("bias", torch.tensor(offset.astype(np.float64)))
        ends = [whole * given.least, whole * given.largest]
        low, high = np.minimum(*ends), np.maximum(*ends)
        product_bits = max([0, *(int(abs(x)).bit_length() for x in (low.min(), high.max()))])
        if self.shift < 0:
            low, high = low // 2**-self.shift, -(-high // 2**-self.shift)
        # Partial sums, too: of the products below zero, and of those above.
        least = min(int(x) for x in np.minimum(low, 0).sum(1) + np.minimum(offset, 0))
        largest = max(int(x) for x in np.maximum(high, 0).sum(1) + np.maximum(offset, 0))
        self.range = Range(fraction, least, largest)
        self.bits = max(product_bits, self.range.bits, given.bits)
        self.overflows = sums is not None and (least < sums.range.least or largest > sums.range.largest)
        if sums is not None and self.overflows:
            if sums.overflow != "WRAP":
                raise InputError(
                    f"its sums of {least * 2.0**-fraction:g} to {largest * 2.0**-fraction:g} may saturate in the accumulator "
                    f"{sums}, which depends on their order; expected one with more integer bits"
                )
            self.range = sums.range

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.shift >= 0:
            x = functional.linear(x, self.weight, self.bias)
        else:
            products = x.unsqueeze(-2) * (self.weight * 2.0**self.shift)
            x = rounded(products, self.sums.rounding).sum(-1) + self.bias  # type: ignore[union-attr]
        return self.sums.overflowed(x) if self.sums is not None and self.overflows else x


class FloatDense(Layer):
    """Products of any floats with fixed-point weights, and their sum: in float64, rounded to float32, which quantizers take."""

    weight: torch.Tensor
    bias: torch.Tensor

    def __init__(self, weight: np.ndarray, bias: np.ndarray, types: Sequence[Fixed]) -> None:
        super().__init__()
        self.range, self.bits = None, BITS[torch.float64]
        for name, values, given in zip(("weight", "bias"), (weight, bias), types):
            numbers = steps(values, given).astype(np.float64) * 2.0**-given.range.fraction
            self.register_buffer(name, torch.tensor(numbers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(x, self.weight, self.bias).float().to(x.dtype)


class Scale(Layer):
    """x * scale + bias, number by number, exactly."""

    scale: torch.Tensor
    bias: torch.Tensor

    def __init__(self, given: Range, scale: np.ndarray, bias: np.ndarray, types: Sequence[Fixed]) -> None:
        super().__init__()
        product = given.fraction + types[0].range.fraction
        fraction = max(product, types[1].range.fraction)
        whole = steps(scale, types[0]) * 2 ** (fraction - product)
        offset = steps(bias, types[1]) * 2 ** (fraction - types[1].range.fraction)
        self.register_buffer("scale", torch.tensor(whole.astype(np.float64)))
        self.register_buffer("bias", torch.tensor(offset.astype(np.float64)))
        ends = [whole * given.least + offset, whole * given.largest + offset]
        self.range = Range(fraction, int(min(x.min() for x in ends)), int(max(x.max() for x in ends)))
        products = max(int(abs(whole).max()) * max(abs(given.least), abs(given.largest)), int(abs(offset).max()))
        self.bits = max(self.range.bits, products.bit_length())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale + self.bias


class Relu(Layer):
    def __init__(self, given: Range) -> None:
        super().__init__()
        self.range, self.bits = Range(given.fraction, max(given.least, 0), max(given.largest, 0)), given.bits

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)


class FixedPoint(nn.Module):
    """Floats to floats, with fixed-point numbers between: layers after each other, in float32 where that is exact.
    `last`: a function of floats that follows them.

    Raises InputError with the name of the layer that takes more bits than float64 has.
    """

    scale: torch.Tensor

    def __init__(self, layers: Sequence[tuple[str, Layer]], last: nn.Module | None = None) -> None:
        super().__init__()
        self.result_names: list[str] = []
        self.notes: list[str] = []
        name, widest = max(layers, key=lambda pair: pair[1].bits)
        dtype = next((dtype for dtype, bits in BITS.items() if widest.bits <= bits), None)
        if dtype is None:
            raise InputError(f'layer "{name}": takes numbers of {widest.bits} bits, {BITS[torch.float64]} are exact')
        self.layers = nn.Sequential(*(layer for _, layer in layers))
        given = layers[-1][1].range
        self.register_buffer("scale", torch.tensor(2.0**-given.fraction if given is not None else 1.0))
        self.last = last
        self.to(dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = (self.layers(x.to(self.scale.dtype)) * self.scale).to(x.dtype)
        return y if self.last is None else self.last(y)


def steps(values: np.ndarray, given: Fixed) -> np.ndarray:
    """Whole numbers of Python, which have any size: numbers in the steps of a type, rounded and within it as it says."""
    exact = Cast(None, given)(torch.tensor(np.asarray(values, np.float64)))
    return np.vectorize(int, otypes=[object])(exact.numpy()) if exact.numel() else exact.numpy().astype(object)


def _shifted(whole: np.ndarray, shift: int, to: Fixed | None) -> np.ndarray:
    """Steps of another size, in the type `to` where there is one."""
    if to is None or shift >= 0 and all(to.range.least <= x << shift <= to.range.largest for x in whole):
        return whole * 2**shift
    return steps(np.array([float(x) for x in whole]) * 2.0 ** (shift - to.range.fraction), to)
