# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures made larger or smaller: along each axis a product with a matrix that is known before the model runs."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch

from tensoa.importers.onnx.operators.table import Results, operator
from tensoa.importers.onnx.values import Call, Refused

NEAREST: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _linear(x: np.ndarray, _: float) -> np.ndarray:
    return np.maximum(0, 1 - np.abs(x))


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    x = np.abs(x)
    near = (a + 2) * x**3 - (a + 3) * x**2 + 1
    return np.where(x <= 1, near, np.where(x < 2, a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a, 0))


Kernel = tuple[Callable[[np.ndarray, float], np.ndarray], int]  # and how far it reaches
KERNELS: dict[str, Kernel] = {"linear": (_linear, 1), "cubic": (_cubic, 2)}


def _places(mode: str, count: int, elements: int, scale: float, roi: Sequence[float]) -> np.ndarray:
    """Where in the input each of `count` results lies."""
    at = np.arange(count, dtype=np.float64)
    if mode == "asymmetric":
        return at / scale
    if mode == "align_corners":
        if abs(scale * elements - count) > 1e-4:
            raise Refused(f"{scale} times {elements} elements with their corners aligned, which ONNX Runtime reads otherwise")
        return at * (elements - 1) / (count - 1) if count > 1 else at * 0
    if mode == "tf_crop_and_resize":
        start, end = roi
        if count == 1:
            return np.full(1, 0.5 * (start + end) * (elements - 1))
        return start * (elements - 1) + at * (end - start) * (elements - 1) / (count - 1)
    half = (at + 0.5) / scale - 0.5
    if mode == "half_pixel":
        return half
    if mode == "pytorch_half_pixel":
        return half if count > 1 else at * 0
    if mode == "half_pixel_symmetric":
        return elements / 2 * (1 - count / (scale * elements)) + half
    raise Refused(f"coordinate_transformation_mode {mode}")


def _matrix(places: np.ndarray, elements: int, kernel: Kernel, a: float, scale: float, is_exclusive: int) -> np.ndarray:
    """[results, elements]: how much of each element is in each result."""
    function, reach = kernel
    steps = math.ceil(reach / scale)
    first = np.ceil(places) - 1
    indices = first[:, None] + np.arange(1 - steps, steps + 1)
    weights = function((indices - places[:, None]) * scale, a)
    if is_exclusive:
        weights = np.where((indices < 0) | (indices >= elements), 0, weights)
    weights = weights / weights.sum(1, keepdims=True)
    matrix = np.zeros((len(places), elements))
    rows = np.broadcast_to(np.arange(len(places))[:, None], indices.shape)
    np.add.at(matrix, (rows, np.clip(indices, 0, elements - 1).astype(int)), weights)
    return matrix


def _targets(call: Call, x: torch.Tensor, axes: list[int]) -> list[tuple[float, int] | None]:
    """[(scale, number of results)] of the axes; None for one that stays as it is."""
    if call.has(3):
        sizes = call.numbers(3)
        policy = call.attribute("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            ratios = [size / x.shape[axis] for size, axis in zip(sizes, axes)]
            scale = {"not_larger": min, "not_smaller": max}[policy](ratios)
            return [(scale, math.floor(scale * x.shape[axis] + 0.5)) for axis in axes]
        same = [isinstance(size, torch.SymInt) or size == x.shape[axis] for size, axis in zip(sizes, axes)]
        return [None if one else (size / x.shape[axis], size) for one, size, axis in zip(same, sizes, axes)]
    call.ignore("keep_aspect_ratio_policy")
    scales = [float(scale) for scale in call.array(2).reshape(-1)]
    return [None if scale == 1 else (scale, math.floor(scale * x.shape[axis])) for scale, axis in zip(scales, axes)]


@operator("Resize")
def _resize(call: Call) -> Results:
    x = call.tensor(0)
    axes = [call.axis(axis, x.dim()) for axis in call.attribute("axes") or range(x.dim())]
    mode, how = call.attribute("mode", "nearest"), call.attribute("coordinate_transformation_mode", "half_pixel")
    nearest, a = call.attribute("nearest_mode", "round_prefer_floor"), call.attribute("cubic_coeff_a", -0.75)
    is_smooth, is_exclusive = call.attribute("antialias", 0), call.attribute("exclude_outside", 0)
    outside = call.attribute("extrapolation_value", 0.0)
    if mode not in ("nearest", *KERNELS) or nearest not in NEAREST or (mode != "nearest" and not x.is_floating_point()):
        raise Refused(f"mode {mode}, nearest_mode {nearest}, of {x.dtype}")
    is_crop = how == "tf_crop_and_resize"
    roi = call.array(1).reshape(2, -1).T.tolist() if is_crop else [(0, 1)] * len(axes)
    for axis, target, part in zip(axes, _targets(call, x, axes), roi):
        if target is None and tuple(part) == (0, 1):
            continue
        elements = x.shape[axis]
        scale, count = (1.0, elements) if target is None else target
        call.check_size([*x.shape[:axis], count, *x.shape[axis + 1 :]])
        places = _places(how, count, elements, scale, part)
        if mode == "nearest":
            indices = np.clip(NEAREST[nearest](places), 0, elements - 1).astype(np.int64)
            x = x.index_select(axis, torch.from_numpy(indices).to(x.device))
        else:
            matrix = _matrix(places, elements, KERNELS[mode], a, min(1.0, scale) if is_smooth else 1.0, is_exclusive)
            x = torch.matmul(x.movedim(axis, -1), torch.from_numpy(matrix.T.copy()).to(x.device, x.dtype)).movedim(-1, axis)
        if is_crop:
            is_out = torch.from_numpy((places < 0) | (places > elements - 1)).to(x.device)
            shape = [1] * x.dim()
            shape[axis] = -1
            x = torch.where(is_out.reshape(shape), torch.full((), outside, dtype=x.dtype, device=x.device), x)
    return x
