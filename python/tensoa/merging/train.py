# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tensoa.merging.train --data DIR --out WEIGHTS.safetensors (--epochs N | --minutes M)

Trains our network that merges fragments on the candidate graphs that `tensoa graph --of fragments generate:EVENTS
--output DIR` wrote. Next to the weights it writes the validation curve, WEIGHTS.json: epoch, train_loss, valid_loss,
valid_edge_auc.

All graphs are kept on the device. One step has events with about --edges edges together; every tenth
event by name is held out for validation. An edge counts by the square root of the smaller energy of its fragments, between 0.05
and 20 GeV: a wrong edge of a soft fragment does less harm. AdamW; the learning rate rises over the first 5 % and falls
to zero along a cosine. Exit status 2 with one line on stderr for wrong input.
"""

import argparse
import sys

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from tensoa.command import check_device, check_writable, run
from tensoa.edge_metrics import edge_auc
from tensoa.errors import InputError
from tensoa.graph_training import Clock, progress_bar, rate, take_step, write
from tensoa.graphs import joined
from tensoa.merging.graphs import NODE_COLUMNS, read_graphs
from tensoa.merging.network import FragmentNetwork

ENERGY = NODE_COLUMNS.index("energy")
HELD_OUT = 10  # one event of this number


def weights_of(graph):
    """How much each edge counts, [E]."""
    source, target = graph.edge_index
    energy = graph.x[:, ENERGY]
    return torch.minimum(energy[source], energy[target]).clamp(0.05, 20.0).sqrt()


class Loss(torch.nn.Module):
    """Network and loss in one forward."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, graph):
        logits = self.network.logits(graph.x, graph.edge_index, graph.edge_attr)
        weights = weights_of(graph)
        losses = binary_cross_entropy_with_logits(logits, graph.truth, weights, reduction="sum")
        return losses / weights.sum()


def batches(graphs, edges, generator):
    """The graphs of each step of one epoch, in random order: at least one graph, and together at most `edges` edges."""
    batch, size = [], 0
    for row in torch.randperm(len(graphs), generator=generator).tolist():
        if batch and size + len(graphs[row].truth) > edges:
            yield batch
            batch, size = [], 0
        batch.append(graphs[row])
        size += len(graphs[row].truth)
    yield batch


@torch.no_grad()
def validate(loss, graphs):
    """Loss and edge AUC over all edges of the graphs."""
    graph = joined(graphs)
    logits = loss.network.logits(graph.x, graph.edge_index, graph.edge_attr)
    return {"valid_loss": float(loss(graph)), "valid_edge_auc": edge_auc(logits, graph.truth)}


def train(loss, graphs, held_out, options):
    """Trains the network in `loss`; returns the validation curve. All graphs are on the device already."""
    order = torch.Generator().manual_seed(options.seed)
    optimizer = torch.optim.AdamW(loss.parameters())
    epoch_steps = max(1, sum(1 for _ in batches(graphs, options.edges, torch.Generator().manual_seed(options.seed))))
    clock = Clock((options.epochs or 0) * epoch_steps, options.minutes, options.device)
    progress, curve = 0.0, []
    with progress_bar(options.progress) as show:
        while progress < 1.0:
            values = []
            for batch in batches(graphs, options.edges, order):
                values.append(take_step(loss, optimizer, joined(batch), options.rate * rate(progress)))
                progress = clock.tick()
                show(progress, curve)
                if progress >= 1.0:
                    break
            point = {"epoch": len(curve) + 1, "train_loss": float(torch.stack(values).mean())}
            curve.append(point | validate(loss, held_out))
    return curve


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m tensoa.merging.train", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, metavar="DIR", help="folder that 'tensoa graph --of fragments' wrote")
    parser.add_argument("--out", required=True, metavar="WEIGHTS.safetensors", help="weights file to write")
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--epochs", type=int, help="number of passes over the events")
    length.add_argument("--minutes", type=float, help="train for so long")
    parser.add_argument("--hidden", type=int, default=32, help="width of all layers (default: %(default)s)")
    parser.add_argument("--iterations", type=int, default=3, help="rounds of messages (default: %(default)s)")
    parser.add_argument("--edges", type=int, default=16000, help="edges a step (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=3e-3, help="peak learning rate (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random choices (default: %(default)s)")
    parser.add_argument(
        "--device", default="cuda" if torch.cuda.is_available() else "cpu", help="torch device (default: %(default)s)"
    )
    parser.add_argument(
        "--progress", action="store_true", default=sys.stderr.isatty(), help="draw the progress bar in any case"
    )
    options = parser.parse_args(arguments)
    for name in ("epochs", "minutes", "edges", "rate"):
        value = getattr(options, name)
        if value is not None and not value > 0:
            parser.error(f"--{name}: got {value}, expected more than 0")
    return options


def main(arguments=None):
    options = parse(arguments)
    check_device(options.device)
    check_writable(options.out)
    everything = [graph.to(options.device) for graph in read_graphs(options.data)]
    held_out, graphs = everything[::HELD_OUT], [graph for row, graph in enumerate(everything) if row % HELD_OUT]
    if not graphs:
        raise InputError(f"{options.data}: got {len(everything)} events with an edge, expected at least 2")
    torch.manual_seed(options.seed)
    network = FragmentNetwork(options.hidden, options.iterations).to(options.device)
    network.set_normalisation(graphs)
    curve = train(Loss(network), graphs, held_out, options)
    facts = {"events": len(graphs), "edges": options.edges, "rate": options.rate, "seed": options.seed}
    write(network, curve, options.out, facts)


if __name__ == "__main__":
    sys.exit(run(main))
