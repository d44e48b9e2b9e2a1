# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The circle through two hits and the beam line, and the straight line of z along its arc."""

from torch import Tensor

LEAST = 1e-3  # mm; no division by 0


def arc(curvature: Tensor, r: Tensor) -> Tensor:
    """The length of the arc from the beam line to radius r, (2 / k) arcsin(k r / 2), by its series to r^7."""
    half = 0.5 * curvature * r
    u = (half * half).clamp(max=1.0)
    return r * (1.0 + u * (1.0 / 6.0 + u * (3.0 / 40.0 + u * (15.0 / 336.0))))


def line_along(curvature: Tensor, r: Tensor, r_target: Tensor, z: Tensor, dz: Tensor) -> tuple[Tensor, Tensor]:
    """cot(theta) and z0 of the line z = z0 + s cot(theta), s the arc, through both hits. Lengths in mm."""
    s = arc(curvature, r)
    cotangent = dz / (arc(curvature, r_target) - s).clamp(min=1.0)
    return cotangent, z - s * cotangent
