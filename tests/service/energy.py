# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The energy regression of a calorimeter: a batch-normalised network, trained on generated showers in a second or two.

As a program (with a Python that has numpy): `energy.py WIDTH...` trains it and writes the float32 numbers to stdout: for each
layer the matrix [in, out] by rows and the bias; for all but the last also mean, variance, scale and shift of the normalisation.
"""

import sys
from typing import Any

import numpy as np

from python_model import EPSILON

LAYERS = 15
ROWS, BATCH, EPOCHS = 20_000, 250, 12


def showers(rows: int, seed: int) -> tuple[Any, Any]:
    """Returns what the layers measured, GeV, float32 [rows, 15], and the true energies, GeV, float32 [rows, 1].

    Electromagnetic showers of 1 to 100 GeV: they begin anywhere in the first layers and leak out behind the last one. Each
    layer has a sampling fluctuation, noise, its own calibration, and saturates.
    """
    draw = np.random.default_rng(seed)
    energy = np.exp(draw.uniform(0, np.log(100), (rows, 1)))
    begin = draw.exponential(1.5, (rows, 1))  # radiation lengths
    depth = (np.arange(3 * LAYERS) + 0.5) * 1.4 - begin  # of the middle of a layer; the first 15 are there
    slope = 0.5
    longest = 1 + slope * (np.log(energy / 0.01) - 0.5 + 0.3 * draw.standard_normal((rows, 1)))
    profile = np.where(depth > 0, np.maximum(depth, 1e-6) ** (longest - 1) * np.exp(-slope * depth), 0)
    inside = (energy * profile / profile.sum(axis=1, keepdims=True))[:, :LAYERS]
    calibration = np.random.default_rng(0).uniform(0.6, 1.4, LAYERS)
    measured = calibration * (inside + 0.12 * np.sqrt(inside) * draw.standard_normal(inside.shape))
    measured /= 1 + np.maximum(measured, 0) / 20  # GeV
    measured += 0.02 * draw.standard_normal(inside.shape)
    return measured.astype("f4"), energy.astype("f4")


def resolution(energy: Any, true: Any) -> float:
    """Returns the root mean square of the error in units of sqrt(GeV): the stochastic term of a calorimeter."""
    return float(np.sqrt(np.mean((energy - true) ** 2 / true)))


class Training:
    """Adam on the squared error over the energy; `widths` are those of the layers, 15 first and 1 last."""

    def __init__(self, widths: list[int]):
        draw = np.random.default_rng(16)
        self.layers: list[list[Any]] = []  # matrix, bias, and of all but the last: scale, shift
        self.running: list[list[Any]] = []  # mean, variance
        for columns, rows in zip(widths[:-1], widths[1:], strict=True):
            self.layers.append([draw.standard_normal((columns, rows)) * (2 / columns) ** 0.5, np.zeros(rows)])
        for layer in self.layers[:-1]:
            rows = len(layer[1])
            layer += [np.ones(rows), np.zeros(rows)]
            self.running.append([np.zeros(rows), np.ones(rows)])
        self.moments = [[(np.zeros_like(part), np.zeros_like(part)) for part in layer] for layer in self.layers]
        self.steps = 0

    def gradients(self, x: Any, true: Any) -> list[list[Any]]:
        """Runs one batch forth and back; updates the running means and variances."""
        y, kept = x, []
        for (matrix, bias, scale, shift), running in zip(self.layers[:-1], self.running, strict=True):
            z = y @ matrix + bias
            mean, variance = z.mean(axis=0), z.var(axis=0)
            for i, now in enumerate((mean, variance)):
                running[i] = 0.9 * running[i] + 0.1 * now
            deviation = np.sqrt(variance + EPSILON)
            normal = (z - mean) / deviation
            kept.append((y, normal, deviation))
            y = np.maximum(scale * normal + shift, 0)
        matrix, bias = self.layers[-1]
        slope = 2 * (y @ matrix + bias - true) / true / len(x)
        found = [[y.T @ slope, slope.sum(axis=0)]]
        slope = slope @ matrix.T
        for (matrix, _, scale, shift), (before, normal, deviation) in zip(self.layers[-2::-1], kept[::-1], strict=True):
            slope = np.where(scale * normal + shift > 0, slope, 0)
            of_scale, of_shift = (slope * normal).sum(axis=0), slope.sum(axis=0)
            slope = scale / deviation * (slope - of_shift / len(x) - normal * of_scale / len(x))
            found.append([before.T @ slope, slope.sum(axis=0), of_scale, of_shift])
            slope = slope @ matrix.T
        return found[::-1]

    def step(self, x: Any, true: Any, rate: float) -> None:
        self.steps += 1
        for layer, moments, slopes in zip(self.layers, self.moments, self.gradients(x, true), strict=True):
            for i, (slope, (first, second)) in enumerate(zip(slopes, moments, strict=True)):
                first += 0.1 * (slope - first)
                second += 0.001 * (slope**2 - second)
                size = rate * (1 - 0.999**self.steps) ** 0.5 / (1 - 0.9**self.steps)
                layer[i] = layer[i] - size * first / (np.sqrt(second) + 1e-8)


def train(widths: list[int]) -> Any:
    """Returns the numbers of the trained network, little-endian float32."""
    x, true = (array.astype("f8") for array in showers(ROWS, seed=1))
    unit = 20.0  # GeV: so that weights and outputs are of the order of 1
    training, draw = Training(widths), np.random.default_rng(2)
    for epoch in range(EPOCHS):
        order = draw.permutation(ROWS)
        for at in range(0, ROWS, BATCH):
            rows = order[at : at + BATCH]
            training.step(x[rows], true[rows] / unit, 0.005 * (1 - epoch / EPOCHS))
    numbers = []
    for (matrix, bias, scale, shift), (mean, variance) in zip(training.layers[:-1], training.running, strict=True):
        numbers += [matrix, bias, mean, variance, scale, shift]
    numbers += [unit * part for part in training.layers[-1]]
    return np.concatenate([part.ravel() for part in numbers]).astype("<f4")


if __name__ == "__main__":
    sys.stdout.buffer.write(train([int(width) for width in sys.argv[1:]]).tobytes())
