# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Normalisation."""

import torch
from torch.nn import functional

from tensoa.importers.onnx.operators.table import Results, operator
from tensoa.importers.onnx.values import Call, Refused


def _over_channels(numbers: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """For each element of dimension 1."""
    return numbers.reshape(-1, *[1] * (x.dim() - 2))


@operator("BatchNormalization")
def _batch(call: Call) -> Results:
    call.ignore("momentum")
    if call.attribute("training_mode", 0) or len(call.node.outputs) > 1:
        raise Refused("a batch normalisation in training")
    x, scale, bias, mean, variance = call.tensors()
    return functional.batch_norm(x, mean, variance, scale, bias, False, 0.0, call.attribute("epsilon", 1e-5))


@operator("InstanceNormalization")
def _instance(call: Call) -> Results:
    x, scale, bias = call.tensors()
    axes = list(range(2, x.dim()))
    mean = x.mean(axes, keepdim=True)
    variance = ((x - mean) ** 2).mean(axes, keepdim=True)
    normed = (x - mean) / torch.sqrt(variance + call.attribute("epsilon", 1e-5))
    return normed * _over_channels(scale, x) + _over_channels(bias, x)


@operator("LayerNormalization", since=17)
def _layer(call: Call) -> Results:
    x, scale, bias = call.tensor(0), call.tensor(1), call.optional(2)
    axis, epsilon = call.axis(call.attribute("axis", -1), x.dim()), call.attribute("epsilon", 1e-5)
    call.ignore("stash_type")
    shape = x.shape[axis:]
    if len(call.node.outputs) == 1 and scale.shape == shape and (bias is None or bias.shape == shape):
        return functional.layer_norm(x, shape, scale, bias, epsilon)
    axes = list(range(axis, x.dim()))
    mean = x.mean(axes, keepdim=True)
    inverse = 1 / torch.sqrt(((x - mean) ** 2).mean(axes, keepdim=True) + epsilon)
    normed = (x - mean) * inverse * scale
    return normed if bias is None else normed + bias, mean, inverse


@operator("GroupNormalization", since=21)  # that of 18 was withdrawn
def _group(call: Call) -> Results:
    x, scale, bias = call.tensors()
    call.ignore("stash_type")
    return functional.group_norm(x, call.attribute("num_groups"), scale, bias, call.attribute("epsilon", 1e-5))


@operator("LpNormalization")
def _lp(call: Call) -> Results:
    x = call.tensor(0)
    axis, order = call.axis(call.attribute("axis", -1), x.dim()), call.attribute("p", 2)
    if order not in (1, 2):
        raise Refused(f"p {order}; expected 1 or 2")
    norm = torch.linalg.vector_norm(x, order, axis, keepdim=True)
    return torch.where(norm == 0, torch.zeros_like(x), x / norm)


@operator("MeanVarianceNormalization")
def _mean_variance(call: Call) -> Results:
    x = call.tensor(0)
    axes = call.attribute("axes", [0, 2, 3])
    mean = x.mean(axes, keepdim=True)
    return (x - mean) / (torch.sqrt((x * x).mean(axes, keepdim=True) - mean * mean) + 1e-9)


@operator("LRN")
def _local_response(call: Call) -> Results:
    x, size = call.tensor(0), call.attribute("size")
    alpha, beta, bias = call.attribute("alpha", 1e-4), call.attribute("beta", 0.75), call.attribute("bias", 1.0)
    before = (size - 1) // 2
    squares = functional.pad(x * x, [0, 0] * (x.dim() - 2) + [before, size - 1 - before])
    total = squares.unfold(1, size, 1).sum(-1)
    return x / (bias + alpha / size * total) ** beta
