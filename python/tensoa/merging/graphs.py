# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Graphs of fragments as `tensoa graph --of fragments INPUT... --output DIR` writes them: NAME-fragments.parquet and
NAME-edges.parquet.
"""

from pathlib import Path

import numpy as np

from tensoa.errors import InputError
from tensoa.tracking.graphs import EDGES, INDEX_COLUMNS, Graph, columns_of

# tensoa/merge/event.hpp says what each is.
NODE_COLUMNS = (
    *("x", "y", "z", "eta", "phi", "axis_x", "axis_y", "axis_z", "variance_1", "variance_2", "variance_3"),
    *("sigma_1", "sigma_2", "sigma_3", "clusters", "cells", "energy", "em_energy", "first_layer", "last_layer"),
    *("peak_layer", "peak_part", "core_part", "mean_radius", "z_min", "z_max", "cluster_density", "fragment_density", "time"),
)
EDGE_COLUMNS = ("energy_difference", "dz", "transverse", "nearest", "farthest", "time_difference", "cosine")
NO_TIME = -99.0
FRAGMENTS = "-fragments.parquet"


def read_graph(folder, name):
    """The graph of one event, on the CPU. Raises InputError: what, got, expected."""
    fragments, edges = Path(folder) / (name + FRAGMENTS), Path(folder) / (name + EDGES)
    x = columns_of(fragments, NODE_COLUMNS, np.float32)
    edge_index = columns_of(edges, INDEX_COLUMNS, np.int64).t().contiguous()
    if edge_index.numel() and not 0 <= edge_index.min() <= edge_index.max() < len(x):
        raise InputError(f"{edges}: got rows {edge_index.min()} to {edge_index.max()}, expected 0 to {len(x) - 1}")
    truth = columns_of(edges, ("truth",), np.float32).squeeze(1)
    return Graph(name, x, edge_index, columns_of(edges, EDGE_COLUMNS, np.float32), truth)


def read_graphs(folder):
    """All graphs of a folder with an edge, sorted by name. Raises InputError where there is none."""
    names = sorted(path.name.removesuffix(FRAGMENTS) for path in Path(folder).glob("*" + FRAGMENTS))
    graphs = [graph for graph in (read_graph(folder, name) for name in names) if len(graph.truth)]
    if not graphs:
        raise InputError(f"{folder}: got no *{FRAGMENTS} with an edge, expected the folder of 'tensoa graph --of fragments'")
    return graphs
