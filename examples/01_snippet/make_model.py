# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the model of the example: one linear layer, three numbers to two.

    python make_model.py MODEL.pt
"""

import sys
import warnings

import torch


def make_layer():
    """The model; python -m tensoa.export make_model.py:make_layer makes a package of it."""
    layer = torch.nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 1.0, 1.0], [0.5, -1.0, 0.25]]))
        layer.bias.copy_(torch.tensor([0.0, 10.0]))
    return layer


if __name__ == "__main__":
    warnings.filterwarnings("ignore", "`torch.jit")  # is deprecated
    torch.jit.script(make_layer()).save(sys.argv[1])
