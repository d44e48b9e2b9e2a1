# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tensoa.importers.exatrkx WEIGHTS --out FILE.pt
python -m tensoa.importers.exatrkx WEIGHTS --binding BINDING.json --out FILE.pt2 [--target cpu|cuda|cpu,cuda]

Turns the weights of the Exa.TrkX edge-classifying network (ResAGNN) into a TorchScript file with
forward(x [n_hits, 3], edge_index [2, n_edges] int64) -> scores [n_edges] in [0, 1], or into a package that is compiled
ahead of time (tensoa.export) for the columns that `tensoa describe --without-edge-columns` writes. WEIGHTS is
  FILE.pt      a TorchScript file, as published: it must give the same scores, or their logits
  FILE.ckpt    a checkpoint of PyTorch Lightning with its hyperparameters, which neither Lightning nor its classes need
  text         plain or gzip, as below
Other networks in a TorchScript file go through python -m tensoa.export as they are.

The text holds, in this order, the number of message-passing iterations and three networks: input, edge, node.
A network is its number of entries, then the entries:

    L out in    a linear layer; next a line with out*in weights (row-major [out, in]) and one with out biases
    N dim       layer normalisation, eps 1e-5; next a line of dim scales and one of dim shifts
    A ReLU      the activation

Iterations and shapes come from the file. Exit status 2 with one line on stderr if the file is not as described.
"""

import argparse
import sys
from collections.abc import Sequence

from tensoa import binding
from tensoa.command import run, working
from tensoa.errors import InputError
from tensoa.export import Options, export, write_torchscript
from tensoa.importers.exatrkx import read_weights
from tensoa.options import text_of_targets


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tensoa.importers.exatrkx",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("weights", metavar="WEIGHTS", help="TorchScript file, checkpoint or text")
    parser.add_argument("--out", required=True, metavar="FILE", help="TorchScript file (.pt) or package (.pt2) to write")
    parser.add_argument("--binding", metavar="BINDING.json", help="the columns that a package is made for")
    parser.add_argument(
        "--target", type=text_of_targets, default="cpu", help="of a package: cpu, cuda or cpu,cuda (default: cpu)"
    )
    options = parser.parse_args(arguments)
    if options.out.endswith(".pt2") != (options.binding is not None):
        raise InputError(f"--out {options.out}: a package is called FILE.pt2 and needs --binding, nothing else has one")
    if options.binding is not None:
        network, columns = read_weights(options.weights), binding.load(options.binding)
        with working(f"compiling {options.out}") as report:
            export(network, columns, options.out, Options(options.target, report=report))
        return
    write_torchscript(options.weights, options.out)


if __name__ == "__main__":
    sys.exit(run(main))
