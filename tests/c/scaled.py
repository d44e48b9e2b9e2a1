# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A model with a number for the whole call."""

from torch import nn


class Scaled(nn.Module):
    def forward(self, x, field):
        return x * field + 1


def factory():
    return Scaled()
