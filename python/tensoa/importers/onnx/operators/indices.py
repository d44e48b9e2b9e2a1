# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Elements by index: gathered, and scattered."""

import torch

from tensoa.importers.onnx.operators.table import Results, on_known, operator
from tensoa.importers.onnx.values import Call, Known, Refused, known

REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


@operator("Gather")
def _gather(call: Call) -> Results:
    x, index = call.tensor(0), call.value(1)
    axis = call.axis(call.attribute("axis", 0), x.dim())
    if isinstance(index, Known) and index.array.ndim == 0 and not index.has_symbols:
        return x.select(axis, int(index.array))
    return x[(slice(None),) * axis + (call.as_tensor(index).long(),)]


@on_known("Gather")
def _gather_known(call: Call) -> Results:
    array, index = call.array(0), call.array(1)
    axis = call.axis(call.attribute("axis", 0), array.ndim)
    return known(array[(slice(None),) * axis + (index if index.ndim else int(index),)], array.dtype)


def _from_first(call: Call, i: int, size: int) -> torch.Tensor:
    """Indices, those that count from the last made to count from the first; where they are not constants, torch refuses
    negative ones.
    """
    value = call.value(i)
    index = call.as_tensor(value).long()
    if isinstance(value, Known) and not value.has_symbols and (value.array < 0).any():
        return torch.where(index < 0, index + size, index)
    return index


@operator("GatherElements")
def _gather_elements(call: Call) -> Results:
    x = call.tensor(0)
    axis = call.axis(call.attribute("axis", 0), x.dim())
    return torch.gather(x, axis, _from_first(call, 1, x.shape[axis]))


@operator("GatherND")
def _gather_nd(call: Call) -> Results:
    x, index = call.tensor(0), call.tensor(1).long()
    batches = call.attribute("batch_dims", 0)
    places = list(index.unbind(-1))
    before = []
    for axis in range(batches):
        shape = [1] * (index.dim() - 1)
        shape[axis] = x.shape[axis]
        before.append(torch.arange(x.shape[axis], device=x.device).reshape(shape))
    return x[(*before, *places)]


@operator("ScatterElements")
def _scatter_elements(call: Call) -> Results:
    x, updates = call.tensor(0), call.tensor(2)
    axis = call.axis(call.attribute("axis", 0), x.dim())
    index = _from_first(call, 1, x.shape[axis])
    reduction = call.attribute("reduction", "none")
    if reduction == "none":
        return torch.scatter(x, axis, index, updates)
    if reduction == "add":
        return torch.scatter_add(x, axis, index, updates)
    if reduction not in REDUCTIONS:
        raise Refused(f"reduction {reduction}")
    return torch.scatter_reduce(x, axis, index, updates, REDUCTIONS[reduction])


@operator("ScatterND")
def _scatter_nd(call: Call) -> Results:
    x, index, updates = call.tensor(0), call.tensor(1).long(), call.tensor(2)
    reduction = call.attribute("reduction", "none")
    places = index.unbind(-1)
    if reduction in ("none", "add"):
        return torch.index_put(x, places, updates, accumulate=reduction == "add")
    if reduction not in REDUCTIONS:
        raise Refused(f"reduction {reduction}")
    depth = index.shape[-1]
    row = torch.zeros_like(places[0])
    for size, place in zip(x.shape, places):
        row = row * size + torch.where(place < 0, place + size, place)
    flat = x.flatten(0, depth - 1)
    sources = updates.reshape(-1, *x.shape[depth:])
    row = row.reshape(-1, *[1] * (x.dim() - depth)).expand(sources.shape)
    return torch.scatter_reduce(flat, 0, row, sources, REDUCTIONS[reduction]).reshape(x.shape)


@operator("OneHot")
def _one_hot(call: Call) -> Results:
    index, depth, values = call.tensor(0).long(), call.integer(1), call.tensor(2)
    axis = call.axis(call.attribute("axis", -1), index.dim() + 1)
    call.check_size([*index.shape, depth])
    shape = [1] * (index.dim() + 1)
    shape[axis] = depth
    index = index.unsqueeze(axis)
    is_it = torch.where(index < 0, index + depth, index) == torch.arange(depth, device=index.device).reshape(shape)
    return torch.where(is_it, values[1], values[0])


@operator("NonZero")
def _non_zero(call: Call) -> Results:
    return torch.nonzero(call.tensor(0)).t()


@operator("Compress")
def _compress(call: Call) -> Results:
    x, condition = call.tensor(0), call.array(1)
    axis = call.attribute("axis")
    x, axis = (x.flatten(), 0) if axis is None else (x, call.axis(axis, x.dim()))
    return x.index_select(axis, torch.from_numpy(condition.nonzero()[0]).to(x.device))
