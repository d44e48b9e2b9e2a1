#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Jets for LundNet, whose own are not in its repository: 1 000 of WW and 1 000 of QCD events.

    pip install pythia8mc fastjet
    python bench/published/jets.py SOURCES OUT.npz [JETS]

SOURCES: src/lundnet of LundNet, whose JetTree makes the declusterings. Pythia 8 at 14 TeV with its default tune, no detector;
the hardest jet of an event by Cambridge/Aachen with R = 1, pT > 500 GeV and |y| < 2.5. A separate program: fastjet crashes
in a process that has loaded pyarrow.
"""

import importlib
import sys
import types
from pathlib import Path

import fastjet
import numpy as np
import pythia8mc

PROCESSES = {
    "QCD": ["HardQCD:all = on"],
    "W": ["WeakDoubleBoson:ffbar2WW = on", "24:onMode = off", "24:onIfAny = 1 2 3 4 5"],
}
COMMON = ["Print:quiet = on", "Beams:eCM = 14000.", "Random:setSeed = on", "Random:seed = 7", "PhaseSpace:pTHatMin = 450."]
NEUTRINOS = (12, 14, 16)


def hardest_jets(process, count):
    """(jet, its clustering, which must outlive it) of `count` events that have one."""
    pythia = pythia8mc.Pythia("", False)
    for line in [*COMMON, *PROCESSES[process]]:
        pythia.readString(line)
    pythia.init()
    definition = fastjet.JetDefinition(fastjet.cambridge_algorithm, 1.0)
    while count > 0:
        if not pythia.next():
            continue
        particles = [pythia.event[i] for i in range(pythia.event.size())]
        seen = [p for p in particles if p.isFinal() and p.idAbs() not in NEUTRINOS]
        clustering = fastjet.ClusterSequence([fastjet.PseudoJet(p.px(), p.py(), p.pz(), p.e()) for p in seen], definition)
        jets = fastjet.sorted_by_pt(clustering.inclusive_jets(500.0))
        if len(jets) and abs(jets[0].rap()) < 2.5:
            count -= 1
            yield jets[0], clustering


def tree(root):
    """(numbers of all declusterings, edges in both directions), as LundNet's DGLGraphDatasetLund makes them."""
    if root.lundCoord is None:
        return np.zeros((1, 5), "float32"), np.zeros((0, 2), "int64")
    rows, ends, left = [root.lundCoord.state()], [], [(0, root)]
    while left:
        at, node = left.pop()
        for branch in (node.harder, node.softer):
            if branch is not None and branch.lundCoord is not None:
                ends += [(len(rows), at), (at, len(rows))]
                left.append((len(rows), branch))
                rows.append(branch.lundCoord.state())
    return np.array(rows, "float32"), np.array(ends, "int64").reshape(-1, 2)


def main():
    sources, out, *count = sys.argv[1:]
    package = types.ModuleType("lundnet")
    package.__path__ = [str(Path(sources).resolve())]
    sys.modules["lundnet"] = package
    jet_tree = importlib.import_module("lundnet.JetTree").JetTree
    trees, is_w = [], []
    for process in PROCESSES:
        made = [tree(jet_tree(jet)) for jet, clustering in hardest_jets(process, int(*count or [1000]))]
        trees += made
        is_w += [process == "W"] * len(made)
    order = np.random.default_rng(7).permutation(len(trees))
    np.savez(
        out,
        rows=np.concatenate([trees[i][0] for i in order]),
        edges=np.concatenate([trees[i][1] for i in order]),
        rows_of=[len(trees[i][0]) for i in order],
        edges_of=[len(trees[i][1]) for i in order],
        is_w=np.array(is_w)[order],
    )


if __name__ == "__main__":
    main()
