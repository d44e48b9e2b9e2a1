# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Candidate graphs as `tensoa graph` writes them, of any application: a file of nodes, and NAME-edges.parquet."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import torch
from torch import Tensor

from tensoa.errors import InputError

INDEX_COLUMNS = ("source", "target")
EDGES = "-edges.parquet"


@dataclass(frozen=True)
class Graph:
    """One event (or several, joined). Tensors of one device.

    x [n, columns] float32: what is known of nodes. edge_index [2, E] int64: rows of x. edge_attr [E, columns] float32.
    truth [E] float32: 1 where both nodes are of one particle, else 0.
    """

    name: str
    x: Tensor
    edge_index: Tensor
    edge_attr: Tensor
    truth: Tensor

    def to(self, device):
        tensors = {key: value.to(device) for key, value in vars(self).items() if isinstance(value, Tensor)}
        return replace(self, **tensors)


def columns_of(path, names, dtype):
    """The named columns of a parquet file as one array [rows, columns]."""
    try:
        file = pyarrow.parquet.ParquetFile(path)
        if missing := [name for name in names if name not in file.schema_arrow.names]:
            raise InputError(f"{path}: got no column {missing[0]}, expected {', '.join(names)}")
        table = file.read(columns=list(names))
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"{path}: cannot read: {' '.join(str(error).split())[:160]}") from error
    array = np.stack([table[name].to_numpy() for name in names], axis=1).astype(dtype)
    if not np.isfinite(array).all():
        raise InputError(f"{path}: got NaN or infinite values in {', '.join(names)}, expected numbers")
    return torch.from_numpy(array)


def read_graph(folder, name, nodes_suffix, node_columns, edge_columns):
    """The graph of one event, on the CPU, its nodes in NAME + nodes_suffix. Raises InputError: what, got, expected."""
    nodes, edges = Path(folder) / (name + nodes_suffix), Path(folder) / (name + EDGES)
    x = columns_of(nodes, node_columns, np.float32)
    edge_index = columns_of(edges, INDEX_COLUMNS, np.int64).t().contiguous()
    if edge_index.numel() and not 0 <= edge_index.min() <= edge_index.max() < len(x):
        raise InputError(f"{edges}: got rows {edge_index.min()} to {edge_index.max()}, expected 0 to {len(x) - 1}")
    edge_attr = columns_of(edges, edge_columns, np.float32)
    truth = columns_of(edges, ("truth",), np.float32).squeeze(1)
    return Graph(name, x, edge_index, edge_attr, truth)


def joined(graphs):
    """Several graphs as one graph of separate parts."""
    starts = np.cumsum([0] + [len(graph.x) for graph in graphs[:-1]]).tolist()
    return Graph(
        name="+".join(graph.name for graph in graphs),
        x=torch.cat([graph.x for graph in graphs]),
        edge_index=torch.cat([graph.edge_index + start for graph, start in zip(graphs, starts)], dim=1),
        edge_attr=torch.cat([graph.edge_attr for graph in graphs]),
        truth=torch.cat([graph.truth for graph in graphs]),
    )
