# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Candidate graphs as `tensoa graph INPUT... --output DIR` writes them: NAME-hits.parquet and NAME-edges.parquet."""

from pathlib import Path

from tensoa import graphs
from tensoa.errors import InputError
from tensoa.graphs import EDGES

R_SCALE, Z_SCALE = 3000.0, 400.0  # mm; phi is in units of pi
NODE_COLUMNS = ("r_scaled", "phi_scaled", "z_scaled")
EDGE_COLUMNS = ("dr", "dphi", "dz", "dR")
HITS = "-hits.parquet"


def read_graph(folder, name):
    """The graph of one event, on the CPU. Raises InputError: what, got, expected."""
    return graphs.read_graph(folder, name, HITS, NODE_COLUMNS, EDGE_COLUMNS)


def read_graphs(folder):
    """All graphs of a folder, sorted by name. Raises InputError where the folder is empty."""
    names = sorted(path.name.removesuffix(EDGES) for path in Path(folder).glob("*" + EDGES))
    if not names:
        raise InputError(f"{folder}: got no *{EDGES}, expected the output folder of 'tensoa graph'")
    return [read_graph(folder, name) for name in names]
