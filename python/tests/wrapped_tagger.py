# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A TorchScript file inside a module of the user's, as docs/ahead_of_time.md shows it."""

import torch
from torch import nn


# [wrapped]
class Tagger(nn.Module):
    """A file that takes [jets, features, particles], for columns that are [jets, particles, features]."""

    def __init__(self, path):
        super().__init__()
        self.model = torch.jit.load(path, "cpu")

    def forward(self, x):
        return self.model(x.transpose(1, 2)).softmax(1)


def tagger():
    return Tagger("tagger.pt")


# [/wrapped]
