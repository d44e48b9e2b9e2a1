# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tensoa.tracking.train --data DIR --out WEIGHTS.safetensors (--epochs N | --minutes M)

Trains our interaction network on the candidate graphs that `tensoa graph generate:EVENTS --output
DIR` wrote. Next to the weights it writes the validation curve, WEIGHTS.json: epoch, train_loss,
valid_loss, valid_edge_auc. On several GPUs:

    torchrun --nproc-per-node 4 -m tensoa.tracking.train --data DIR --out WEIGHTS.safetensors --minutes 8

All graphs are kept on the device. One step is a few events, each mirrored at random (z -> -z, phi ->
-phi) and without a random part of its hits, so that the network does not rely on one density of
hits; turning events about the beam line would change nothing, it does not see phi itself. The first
events are held out for validation. AdamW; the learning rate rises over the first 5 % and falls to
zero along a cosine. A true edge counts more than a false one, by the square root of how much rarer
it is; the last bias takes that out of the scores again, which then are probabilities. Exit status 2
with one line on stderr for wrong input.
"""

import argparse
import math
import os
import sys
from contextlib import contextmanager
from dataclasses import replace

import torch
import torch.distributed
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from tensoa.command import check_device, check_writable, run
from tensoa.edge_metrics import edge_auc
from tensoa.errors import InputError
from tensoa.graph_training import Clock, progress_bar, rate, take_step, write
from tensoa.graphs import joined
from tensoa.tracking.graphs import read_graphs
from tensoa.tracking.interaction_network import InteractionNetwork

MAX_THINNING = 0.4  # part of the hits of an event that may be left out


class Loss(nn.Module):
    """Network and loss in one forward, which is what DistributedDataParallel wraps.

    `true_weight`: how much a true edge counts against a false one.
    """

    def __init__(self, network, true_weight):
        super().__init__()
        self.network = network
        self.register_buffer("true_weight", torch.tensor(true_weight))

    def of_logits(self, logits, truth):
        return binary_cross_entropy_with_logits(logits, truth, pos_weight=self.true_weight)

    def forward(self, graph):
        return self.of_logits(self.network.logits(graph.x, graph.edge_index, graph.edge_attr), graph.truth)


def mirrored(graph, generator):
    """A graph mirrored in phi and in z, with even chance each."""
    phi, z = (1.0 - 2.0 * torch.randint(2, (2,), generator=generator)).tolist()
    (r, angle, height), (dr, dphi, dz, d_r) = graph.x.unbind(1), graph.edge_attr.unbind(1)
    return replace(
        graph,
        x=torch.stack([r, phi * angle, z * height], dim=1),
        edge_attr=torch.stack([dr, phi * dphi, z * dz, d_r], dim=1),
    )


def thinned(graph, generator):
    """A graph without the edges of a random part of its hits: none up to MAX_THINNING."""
    part = MAX_THINNING * torch.rand(1, generator=generator)
    stays = (torch.rand(len(graph.x), generator=generator) >= part).to(graph.x.device)
    rows = stays[graph.edge_index].all(dim=0).nonzero().squeeze(1)
    return replace(graph, edge_index=graph.edge_index[:, rows], edge_attr=graph.edge_attr[rows], truth=graph.truth[rows])


def batches(count, size, rank, world, generator):
    """The graphs (0 to count - 1) of each step of one epoch for one rank; equally many steps on all ranks."""
    order = torch.randperm(count, generator=generator).tolist()
    steps = max(1, count // (size * world))
    mine = [order[index % count] for index in range(rank, steps * size * world, world)]
    return [mine[first : first + size] for first in range(0, len(mine), size)]


@torch.no_grad()
def validate(loss, graphs):
    """Loss and edge AUC over all edges of the graphs."""
    logits = torch.cat([loss.network.logits(graph.x, graph.edge_index, graph.edge_attr) for graph in graphs])
    truth = torch.cat([graph.truth for graph in graphs])
    return {"valid_loss": float(loss.of_logits(logits, truth)), "valid_edge_auc": edge_auc(logits, truth)}


def start(graphs, options):
    """A fresh network, normalised to the graphs, inside its loss."""
    torch.manual_seed(options.seed)
    network = InteractionNetwork(options.hidden, options.iterations)
    network.set_normalisation(graphs)
    true_part = float(torch.cat([graph.truth for graph in graphs]).mean())
    if not 0.0 < true_part < 1.0:
        raise InputError(f"{options.data}: got {true_part:.0%} true edges, expected true and false ones")
    return Loss(network, math.sqrt((1.0 - true_part) / true_part)).to(options.device)


def train(loss, graphs, held_out, options):
    """Trains the network in `loss`; returns the validation curve. All graphs are on the device already."""
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    order, own = (torch.Generator().manual_seed(seed) for seed in (options.seed, options.seed + 1 + rank))
    step_loss = nn.parallel.DistributedDataParallel(loss) if world > 1 else loss
    optimizer = torch.optim.AdamW(loss.parameters())
    epoch_steps = max(1, len(graphs) // (options.batch * world))
    clock = Clock((options.epochs or 0) * epoch_steps, options.minutes, options.device)
    progress, curve = 0.0, []
    with progress_bar(options.progress and rank == 0) as show:
        while progress < 1.0:
            values = []
            for batch in batches(len(graphs), options.batch, rank, world, order):
                graph = joined([mirrored(thinned(graphs[row], own), own) for row in batch])
                values.append(take_step(step_loss, optimizer, graph, options.rate * rate(progress)))
                progress = clock.tick()
                show(progress, curve)
                if progress >= 1.0:
                    break
            if rank == 0:
                point = {"epoch": len(curve) + 1, "train_loss": float(torch.stack(values).mean())}
                curve.append(point | validate(loss, held_out))
    return curve


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m tensoa.tracking.train", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, metavar="DIR", help="folder that 'tensoa graph' wrote")
    parser.add_argument("--out", required=True, metavar="WEIGHTS.safetensors", help="weights file to write")
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--epochs", type=int, help="number of passes over the events")
    length.add_argument("--minutes", type=float, help="train for so long")
    parser.add_argument("--hidden", type=int, default=32, help="width of all layers (default: %(default)s)")
    parser.add_argument("--iterations", type=int, default=4, help="rounds of messages (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=2, help="events a step and process (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=2e-3, help="peak learning rate (default: %(default)s)")
    parser.add_argument("--held-out", type=int, default=10, help="events for validation (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random choices (default: %(default)s)")
    parser.add_argument(
        "--device",
        default="cuda" if torch.cuda.is_available() else "cpu",
        help="torch device (default: %(default)s); torchrun's processes take one GPU each",
    )
    parser.add_argument(
        "--progress",
        action="store_true",
        default=sys.stderr.isatty(),
        help="draw the progress bar even where stderr is not a terminal",
    )
    options = parser.parse_args(arguments)
    for name in ("epochs", "minutes", "batch", "rate", "held_out"):
        value = getattr(options, name)
        if value is not None and not value > 0:
            parser.error(f"--{name.replace('_', '-')}: got {value}, expected more than 0")
    return options


@contextmanager
def processes(options):
    """Joins torchrun's processes, each on its own GPU (gloo on the CPU); does nothing for a single process."""
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        yield
        return
    on_gpu = options.device.startswith("cuda")
    if on_gpu:
        options.device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(options.device)
    torch.distributed.init_process_group("nccl" if on_gpu else "gloo")
    try:
        yield
    finally:
        torch.distributed.destroy_process_group()


def main(arguments=None):
    options = parse(arguments)
    check_device(options.device)
    check_writable(options.out)
    graphs = read_graphs(options.data)
    if len(graphs) <= options.held_out:
        raise InputError(f"{options.data}: got {len(graphs)} events, expected more than the {options.held_out} held out")
    with processes(options):
        held_out, graphs = graphs[: options.held_out], graphs[options.held_out :]
        loss = start(graphs, options)
        on_device = [[graph.to(options.device) for graph in some] for some in (graphs, held_out)]
        curve = train(loss, *on_device, options)
    if curve:
        make_probabilities(loss)
        facts = {"events": len(graphs), "batch": options.batch, "rate": options.rate, "seed": options.seed}
        write(loss.network, curve, options.out, facts)


@torch.no_grad()
def make_probabilities(loss):
    """Takes the weight of true edges out of the scores: trained with it, their odds are that much too high."""
    loss.network.classifier[-1].bias -= loss.true_weight.log()


if __name__ == "__main__":
    sys.exit(run(main))
