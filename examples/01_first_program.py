# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles a network for three columns, and runs it on four rows: the first program, in Python.

    python 01_first_program.py

Writes network.pt2, which the same program runs in C++, C and Fortran. Prints:

    input input=x,y,z
    output score=score
    fused into 1 kernel:
      linear 3 -> 8, relu, linear 8 -> 1
    rows: each is calculated from itself alone
    score = 20.5
    score = 22.5
    score = 24.5
    score = 26.5
"""

import numpy as np

# [compile]
import torch

import tensoa

network = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
# [/compile]

with torch.no_grad():  # known weights instead of trained ones
    for parameter in network.parameters():
        parameter.fill_(0.5)

# [compile]
tensoa.compile(network, "network.pt2", columns={"input": ["x", "y", "z"]}, outputs=["score"])
# [/compile]

# [call]
model = tensoa.Model("network.pt2")
x, y, z = np.array([[0, 1, 2, 3], [10, 10, 10, 10], [-1, -1, -1, -1]], "float32")
scores = model(x=x, y=y, z=z)  # {"score": an array of four numbers}
# [/call]
for score in scores["score"]:
    print(f"score = {score:g}")
