# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Jets with unequal numbers of constituents, of Awkward Array: one call for all, nothing is padded.

    python 08_ragged_data.py

Writes jets.pt2. Prints, at the end:

    jet 0: 3 constituents, tag 24.6
    jet 1: 0 constituents, tag 0.5
    jet 2: 2 constituents, tag 9.1
"""

import awkward
import numpy as np
import torch

import tensoa


class JetTagger(torch.nn.Module):
    """A network for each constituent, the sum over those of a jet, a network for each jet."""

    def __init__(self):
        super().__init__()
        self.each = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU())
        self.all = torch.nn.Linear(5, 1)

    def forward(self, constituents, jet, mass):
        sums = mass.new_zeros(mass.shape[0], 4).index_add(0, jet[:, 0], self.each(constituents))
        return self.all(torch.cat([sums, mass], 1))


tagger = JetTagger()
with torch.no_grad():  # known weights instead of trained ones
    for parameter in tagger.parameters():
        parameter.fill_(0.5)

# [compile]
columns = ["constituents=pt,dr@constituents", "jet=jet:int64@constituents", "mass=mass@jets"]
tensoa.compile(tagger, "jets.pt2", columns=columns, outputs=["tag"])
# [/compile]

# [lists]
pt = awkward.values_astype(awkward.Array([[10, 5, 3], [], [4, 2]]), "float32")
dr = awkward.values_astype(awkward.Array([[0.1, 0.2, 0.3], [], [0.0, 0.1]]), "float32")
counts = awkward.num(pt)
jet = np.repeat(np.arange(len(pt)), counts)  # of each constituent
model = tensoa.Model("jets.pt2")
tags = model(pt=awkward.flatten(pt), dr=awkward.flatten(dr), jet=jet, mass=np.array([5, 0, 1], "float32"))["tag"]
# [/lists]
for number, (count, tag) in enumerate(zip(counts, tags)):
    print(f"jet {number}: {count} constituents, tag {tag:g}")
