# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes network.pt2, the package of the example, into the current folder."""

# [compile]
import torch

import tensoa

network = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
# [/compile]

with torch.no_grad():  # known weights, for expected_output.txt
    for parameter in network.parameters():
        parameter.fill_(0.5)

# [compile]
tensoa.compile(network, "network.pt2", columns={"input": ["x", "y", "z"]}, outputs=["score"])
# [/compile]
