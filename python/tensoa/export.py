# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tensoa.export WEIGHTS.safetensors --out FILE.pt

Turns the weights of our interaction network into a TorchScript file with
forward(x [n_hits, 3], edge_index [2, n_edges] int64, edge_attr [n_edges, 4]) -> scores [n_edges] in [0, 1].
Exit status 2 with one line on stderr if the weights are not ours.
"""

import argparse
import sys

import torch

from tensoa import interaction_network
from tensoa.command import replacing, run


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m tensoa.export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("weights", metavar="WEIGHTS.safetensors", help="weights that tensoa.train wrote")
    parser.add_argument("--out", required=True, metavar="FILE.pt", help="the TorchScript file to write")
    options = parser.parse_args(arguments)
    network = interaction_network.load(options.weights)
    with replacing(options.out) as temporary:
        torch.jit.script(network).save(temporary)


if __name__ == "__main__":
    sys.exit(run(main))
