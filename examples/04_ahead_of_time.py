# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles a model for the columns that 04_ahead_of_time.cpp has described in binding.json, and runs it from Python, too.

    ./04_ahead_of_time binding.json && python 04_ahead_of_time.py

Writes helix.pt2. Prints, at the end:

    pt = 5 GeV, radius = 4.38596 m
"""

import numpy as np
import torch

import tensoa


class Helix(torch.nn.Module):
    """Of a charged particle in a magnetic field along z."""

    def forward(self, momentum, charge, field):
        pt = momentum[:, :2].norm(dim=1, keepdim=True)
        return torch.cat([pt, pt / (0.3 * field * charge.abs())], 1)


# [compile]
tensoa.compile(Helix(), "helix.pt2", binding="binding.json")
# [/compile]

model = tensoa.Model("helix.pt2")
helix = model(momentum=np.float32([[3, 4, 1]]), charge=np.int32([1]), field=np.float32(3.8))
print(f"pt = {helix['pt'][0]:g} GeV, radius = {helix['radius'][0]:g} m")
