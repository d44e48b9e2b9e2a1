# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Saves a model as TorchScript and by torch.export, and runs both files without compiling.

    python 05_just_in_time.py

Writes linear.pt and exported.pt2. Prints, for both:

    m = [300.0, 303.0, 306.0, 309.0], n = [-40.0, -40.25, -40.5, -40.75]
    m = [300.0, 303.0, 306.0, 309.0], n = [-40.0, -40.25, -40.5, -40.75]
"""

import warnings

import numpy as np
import torch

import tensoa


def make_linear():
    linear = torch.nn.Linear(3, 2)
    with torch.no_grad():  # known weights instead of trained ones
        linear.weight.copy_(torch.tensor([[1.0, 1.0, 1.0], [0.5, -1.0, 0.25]]))
        linear.bias.copy_(torch.tensor([0.0, 10.0]))
    return linear.eval()


with warnings.catch_warnings(action="ignore"):  # TorchScript is deprecated
    torch.jit.script(make_linear()).save("linear.pt")
rows = torch.export.Dim.DYNAMIC
torch.export.save(torch.export.export(make_linear(), (torch.randn(7, 3),), dynamic_shapes=({0: rows},)), "exported.pt2")

x = np.arange(4, dtype="float32")
for path in ("linear.pt", "exported.pt2"):
    model = tensoa.Model(path, columns={"input": ["x", "y", "z"]}, outputs={"preds": ["m", "n"]})
    answers = model(x=x, y=x + 100, z=x + 200)
    print(", ".join(f"{name} = {answers[name].tolist()}" for name in answers))
