# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Common parts of the models of this folder: their files, their bindings, their training loop."""

import math
from pathlib import Path

import safetensors.torch
import torch

from tensoa.binding import SCHEMA
from tensoa.command import replacing
from tensoa.errors import InputError

WEIGHTS = Path(__file__).parents[3] / "models"


def load(network, name):
    """`network` with the weights of models/NAME.safetensors, in eval mode. Raises InputError."""
    path = WEIGHTS / f"{name}.safetensors"
    try:
        network.load_state_dict(safetensors.torch.load_file(path))
    except (OSError, safetensors.SafetensorError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: got {reason}, expected weights of the {name} (safetensors)") from error
    return network.eval()


def save(network, path, facts):
    """Writes the weights; `facts` are kept in the same file, as text."""
    tensors = {name: value.detach().contiguous() for name, value in network.state_dict().items()}
    with replacing(path) as temporary:
        safetensors.torch.save_file(tensors, temporary, {key: str(value) for key, value in facts.items()})


def block(name, columns, collection=0, kind="plain", element=(), dtype="float32", shape="rows"):
    """One block of a binding, whose columns lie one behind the other in their layout."""
    planes = math.prod(element)
    return {
        "name": name,
        "collection": collection,
        "shape": shape,
        "kind": kind,
        "element": list(element),
        "column_dtype": dtype,
        "dtype": dtype,
        "columns": [{"name": column, "plane": i * planes} for i, column in enumerate(columns)],
    }


def binding_of(inputs, outputs):
    """The JSON of a binding, its arguments in order."""
    return {"schema": SCHEMA, "match": "auto", "inputs": inputs, "outputs": outputs}


def fit(network, loss_of_step, steps, rate):
    """AdamW, the learning rate falls to zero along a cosine. `loss_of_step(i)` makes data and takes the loss."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    network.train()
    for step in range(steps):
        optimizer.zero_grad()
        loss_of_step(step).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return network.eval()


def generator(*seeds):
    """Random numbers that depend on all of `seeds`."""
    seed = 0
    for part in seeds:
        seed = (seed * 1_000_003 + part + 1) % (1 << 63)
    return torch.Generator().manual_seed(seed)


def uniform(low, high, shape, random):
    return low + (high - low) * torch.rand(shape, generator=random)


def normal(shape, random):
    return torch.randn(shape, generator=random)


def exponential(mean, shape, random):
    return -mean * torch.log1p(-torch.rand(shape, generator=random))


def auc(scores, truth):
    """The area under the ROC curve."""
    from tensoa.edge_metrics import edge_auc

    return edge_auc(scores, truth.float())
