# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Graphs of fragments as `tensoa graph --of fragments INPUT... --output DIR` writes them: NAME-fragments.parquet and
NAME-edges.parquet.
"""

from pathlib import Path

from tensoa import graphs
from tensoa.errors import InputError

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
    return graphs.read_graph(folder, name, FRAGMENTS, NODE_COLUMNS, EDGE_COLUMNS)


def read_graphs(folder):
    """All graphs of a folder with an edge, sorted by name. Raises InputError where the folder has none."""
    names = sorted(path.name.removesuffix(FRAGMENTS) for path in Path(folder).glob("*" + FRAGMENTS))
    found = [graph for graph in (read_graph(folder, name) for name in names) if len(graph.truth)]
    if not found:
        raise InputError(f"{folder}: got no *{FRAGMENTS} with an edge, expected the folder of 'tensoa graph --of fragments'")
    return found
