# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Operators of ai.onnx.ml around networks of scikit-learn."""

import numpy as np
import torch

from tensoa.importers.onnx.operators.table import Results, operator
from tensoa.importers.onnx.values import Call, Known, Refused

DOMAIN = "ai.onnx.ml"


def _numbers(call: Call, name: str) -> torch.Tensor:
    """An attribute, as a tensor of the model's floats."""
    return call.as_tensor(Known(np.array(call.attribute(name, []), np.float32)))


@operator("ArrayFeatureExtractor", domain=DOMAIN)
def _chosen(call: Call) -> Results:
    x = call.tensor(0)
    return (x if x.dim() > 1 else x[None])[..., call.tensor(1).reshape(-1)]


@operator("Scaler", domain=DOMAIN)
def _scaler(call: Call) -> Results:
    return (call.tensor(0).to(call.floats) - _numbers(call, "offset")) * _numbers(call, "scale")


@operator("Binarizer", domain=DOMAIN)
def _binarizer(call: Call) -> Results:
    x = call.tensor(0)
    return (x > call.attribute("threshold", 0.0)).to(x.dtype)


@operator("Normalizer", domain=DOMAIN)
def _normalizer(call: Call) -> Results:
    x, norm = call.tensor(0).to(call.floats), call.attribute("norm", "MAX")
    functions = {
        "MAX": lambda: x.abs().amax(-1, keepdim=True),
        "L1": lambda: x.abs().sum(-1, keepdim=True),
        "L2": lambda: torch.sqrt((x * x).sum(-1, keepdim=True)),
    }
    if norm not in functions:
        raise Refused(f"norm {norm}")
    total = functions[norm]()
    return torch.where(total == 0, x, x / total)


@operator("LinearRegressor", domain=DOMAIN)
def _linear(call: Call) -> Results:
    targets, post = call.attribute("targets", 1), call.attribute("post_transform", "NONE")
    if post != "NONE":
        raise Refused(f"post_transform {post}")
    weight, bias = _numbers(call, "coefficients").reshape(targets, -1), _numbers(call, "intercepts")
    return torch.nn.functional.linear(call.tensor(0).to(call.floats), weight, bias if bias.numel() else None)


@operator("LinearClassifier", domain=DOMAIN)
def _linear_classes(call: Call) -> Results:
    texts, numbers = call.attribute("classlabels_strings", []), call.attribute("classlabels_ints", [])
    post = call.attribute("post_transform", "NONE")
    call.ignore("multi_class")
    functions = {"NONE": lambda x: x, "LOGISTIC": torch.sigmoid, "SOFTMAX": lambda x: torch.softmax(x, -1)}
    if post not in functions:
        raise Refused(f"post_transform {post}")
    bias = _numbers(call, "intercepts")
    weight = _numbers(call, "coefficients").reshape(len(texts or numbers), -1)
    if len(weight) < 2 or bias.numel() not in (0, len(weight)):
        raise Refused(f"{bias.numel()} intercepts for {len(weight)} classes; expected one for each of at least two")
    scores = torch.nn.functional.linear(call.tensor(0).to(call.floats), weight, bias if bias.numel() else None)
    if call.node.outputs[0] and texts:
        raise Refused("labels that are text; leave that result out of the binding")
    labels = call.as_tensor(Known(np.array(numbers or range(len(texts)))))[scores.argmax(-1)]
    return labels, functions[post](scores)


@operator("ZipMap", domain=DOMAIN)
def _zip_map(call: Call) -> Results:
    """A column for each class, in their order: a tensor where ONNX Runtime gives a list of dictionaries."""
    labels = call.attribute("classlabels_strings", []) or call.attribute("classlabels_int64s", [])
    if labels != sorted(labels):
        raise Refused("classes that are not in order")
    return call.tensor(0)
