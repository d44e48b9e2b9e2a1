# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Networks of which the authors published code alone: their classes, with the sizes of their examples and weights of a seed."""

import torch


def point_net() -> torch.nn.Module:
    from model import PointNetCls

    torch.manual_seed(0)
    return PointNetCls(k=16).eval()


def set_transformer() -> torch.nn.Module:
    from models import SetTransformer

    torch.manual_seed(0)
    return SetTransformer(dim_input=2, num_outputs=4, dim_output=5).eval()


def deep_set() -> torch.nn.Module:
    from models import DeepSet

    torch.manual_seed(0)
    return DeepSet(dim_input=2, num_outputs=4, dim_output=5).eval()


class LogProbability(torch.nn.Module):
    """The request to a flow."""

    def __init__(self, flow: torch.nn.Module) -> None:
        super().__init__()
        self.flow = flow

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.flow.log_prob(x)


def autoregressive_flow() -> torch.nn.Module:
    from nflows.distributions.normal import StandardNormal
    from nflows.flows.base import Flow
    from nflows.transforms.autoregressive import MaskedAffineAutoregressiveTransform
    from nflows.transforms.base import CompositeTransform
    from nflows.transforms.permutations import ReversePermutation

    torch.manual_seed(0)
    steps = []
    for _ in range(5):
        steps += [ReversePermutation(features=4), MaskedAffineAutoregressiveTransform(features=4, hidden_features=32)]
    return LogProbability(Flow(CompositeTransform(steps), StandardNormal([4]))).eval()
