# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models for tests of tensoa.Model, with what torch gives for them."""

import contextlib
import sys
import threading

import numpy as np
import torch
from torch import nn

import tensoa
from conftest import require_runtime as require_runtime
from exporting import bind, block
from tensoa import program
from tensoa.export import Options, export


@contextlib.contextmanager
def others_run():
    """Holds that another thread of Python gets on meanwhile: the call inside does not keep the interpreter's lock."""
    ticks, is_over = 0, threading.Event()

    def tick():
        nonlocal ticks
        while not is_over.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)  # none is made to give the lock away
    thread.start()
    try:
        yield
        seen = ticks
    finally:
        is_over.set()
        thread.join()
        sys.setswitchinterval(before)
    assert seen >= 10


def has_program():
    """Whether tensoa.check finds the program."""
    try:
        return bool(program.find())
    except tensoa.ConfigError:
        return False


class Row(nn.Module):
    """Columns x, y, z to m, n."""

    def forward(self, features):
        x, y, z = features.unbind(1)
        return torch.stack([x * y + z, x - 2 * z], 1)


class Graph(nn.Module):
    """Every kind of block: two collections, two columns called x, a vector, a matrix, a scalar, indices [2, rows]."""

    def forward(self, hits, index, edges, u, m, field):
        node = hits.sum(1, keepdim=True) + u[:, 2:] * field + m[:, 0, 1:]
        return edges * node[index[0]] - node[index[1]], node


GRAPH_INPUTS = [
    block("hits", "xy"),
    block("index", ["source", "target"], collection=1, shape="columns", column_dtype="int64", dtype="int64"),
    block("edges", ["x"], collection=1),
    block("u", ["u"], kind="vector", element=[3]),
    block("m", ["m"], kind="matrix", element=[2, 2]),
    block("field", ["field"], kind="scalar"),
]
GRAPH_OUTPUTS = [block("score", ["score"]), block("node", ["node"], collection=1)]


def write_row(folder, target="cpu", fuse=True):
    path = folder / f"row-{target}.pt2"
    options = Options(report=str, target=target, fuse=fuse)
    export(Row(), bind([block("features", "xyz")], [block("answers", "mn")]), path, options)
    return path


def write_graph(folder, target="cpu"):
    path = folder / f"graph-{target}.pt2"
    export(Graph(), bind(GRAPH_INPUTS, GRAPH_OUTPUTS), path, Options(report=str, target=target))
    return path


def row_columns(rows=10, seed=0):
    random = np.random.default_rng(seed)
    return {name: random.normal(size=rows).astype(np.float32) for name in "xyz"}


def row_answers(columns):
    answers = Row()(torch.stack([torch.from_numpy(np.array(columns[name], np.float32)) for name in "xyz"], 1))
    return {name: answers[:, i].numpy() for i, name in enumerate("mn")}


def graph_blocks(hits=10, edges=25, seed=0):
    """One array for each block, C-contiguous."""
    random = np.random.default_rng(seed)
    normal = lambda *shape: random.normal(size=shape).astype(np.float32)  # noqa: E731
    return {
        "hits": normal(hits, 2),
        "index": random.integers(0, hits, (2, edges)),
        "edges": normal(edges, 1),
        "u": normal(hits, 3),
        "m": normal(hits, 2, 2),
        "field": np.array([3.8], np.float32),
    }


def graph_columns(blocks):
    """The same as columns by name."""
    columns = {f"u.{i}": blocks["u"][:, i] for i in range(3)}
    columns |= {f"m.{i}.{j}": blocks["m"][:, i, j] for i in range(2) for j in range(2)}
    return columns | {
        "hits.x": blocks["hits"][:, 0],
        "y": blocks["hits"][:, 1],
        "source": blocks["index"][0],
        "target": blocks["index"][1],
        "edges.x": blocks["edges"][:, 0],
        "field": float(blocks["field"][0]),
    }


def graph_answers(blocks):
    tensors = {name: torch.from_numpy(array.copy()) for name, array in blocks.items()}
    field = tensors.pop("field")
    score, node = Graph()(*tensors.values(), field.expand(len(blocks["hits"]), 1))
    return {"score": score[:, 0].numpy(), "node": node[:, 0].numpy()}
