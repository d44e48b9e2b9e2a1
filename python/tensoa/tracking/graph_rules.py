# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tensoa.tracking.graph_rules --data DIR --cuts CUTS.json --out RULES.json

Learns which pairs of hits are candidate edges, for `tensoa track --graph` and `tensoa graph --graph`, from graphs
that `tensoa graph generate:EVENTS --graph CUTS.json --output DIR` wrote with wide cuts:

- the layer map: the pairs of layers on which neighbouring hits of a particle lie, the purest ones first until
  99.95 % of all neighbours are there;
- the filter: a network of one hidden layer that scores what the map leaves by the circle through both hits and the
  beam line; it lets the part --keep of the true neighbours pass.

Neighbours are hits of one particle, on different layers, with at most one other hit of it between them, by distance
from the origin: they are what connects a track; more distant pairs pass where they look like neighbours. The first
tenth of the events sets the cut, and the figures that are printed. Exit status 2 with one line on stderr for wrong
input.
"""

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from tensoa.command import check_writable, replacing, run
from tensoa.errors import InputError
from tensoa.graphs import EDGES, columns_of
from tensoa.tracking.circle import LEAST, line_along
from tensoa.tracking.graphs import HITS

HIDDEN = 16  # PairFilter::kHidden in tensoa/track/graph_rules.hpp
OF_MAP = 0.9995  # of the neighbours
TRUE_WEIGHT = 4.0  # of a neighbour against another pair in training
STEPS, EVENTS_A_STEP, RATE = 2500, 2, 1e-2


def pair_features(source: Tensor, target: Tensor) -> Tensor:
    """The features of pairs of hits for the filter, [E, 8]; the twin of pair_features() in C++ (impl/pair_features.hpp).

    source, target: [E, 4] float32, x, y, z and r in mm.
    """
    x, y, z, r = source.unbind(1)
    dx, dy, dz, _ = (target - source).unbind(1)
    across = torch.sqrt(dx * dx + dy * dy)
    sine = (x * target[:, 1] - y * target[:, 0]) / (r * target[:, 3]).clamp(min=LEAST)
    curvature = 2.0 * sine.abs() / across.clamp(min=LEAST)
    cotangent, z0 = line_along(curvature, r, target[:, 3], z, dz)
    side = torch.where(z + target[:, 2] < 0, -1.0, 1.0)
    return torch.stack(
        [
            curvature * 200,
            side * cotangent / torch.sqrt(1 + cotangent.abs()),
            side * z0 / 100,
            r / 500,
            target[:, 3] / 500,
            side * z / 1000,
            side * target[:, 2] / 1000,
            torch.sqrt(across * across + dz * dz) / 300,
        ],
        dim=1,
    )


@dataclass(frozen=True)
class Pairs:
    """The pairs of one event, and which are neighbours."""

    hits: Tensor  # [n, 4] float32: x, y, z, r in mm
    layer: Tensor  # [n] int64
    source: Tensor  # [E] int64
    target: Tensor
    is_neighbour: Tensor  # [E] bool
    neighbours: int  # of the event, also those that are not a pair

    def only(self, keep):
        return Pairs(self.hits, self.layer, self.source[keep], self.target[keep], self.is_neighbour[keep], self.neighbours)

    def features(self):
        return pair_features(self.hits[self.source], self.hits[self.target])


def neighbours(hits, layer, particle):
    """The keys (source row * n + target row) of neighbouring hits; the source has the smaller r."""
    order = torch.argsort(hits[:, :3].norm(dim=1))
    order = order[torch.argsort(particle[order], stable=True)]
    keys = []
    for step in (1, 2):
        a, b = order[:-step], order[step:]
        fits = (particle[a] == particle[b]) & (particle[a] != 0) & (layer[a] != layer[b])
        a, b = a[fits], b[fits]
        is_ordered = hits[a, 3] <= hits[b, 3]
        keys.append(torch.where(is_ordered, a, b) * len(hits) + torch.where(is_ordered, b, a))
    return torch.cat(keys)


def read_pairs(folder, name):
    """The pairs of one event. Raises InputError: what, got, expected."""
    path = Path(folder) / (name + HITS)
    position = columns_of(path, ("x", "y", "z"), "float32")
    layer, particle = columns_of(path, ("layer", "particle_id"), "int64").t().contiguous()
    hits = torch.cat([position, position[:, :2].double().norm(dim=1, keepdim=True).float()], dim=1)
    source, target = columns_of(Path(folder) / (name + EDGES), ("source", "target"), "int64").t().contiguous()
    keys = neighbours(hits, layer, particle)
    is_neighbour = torch.isin(source * len(hits) + target, keys)
    return Pairs(hits, layer, source, target, is_neighbour, len(keys))


def layer_map(events):
    """All layers of the events [L], ascending, and which may follow which, [L, L] bool by source and target."""
    layers = torch.unique(torch.cat([event.layer for event in events]))
    layers = layers[layers != 0]
    size = len(layers)
    all_pairs, of_neighbours = torch.zeros(size * size), torch.zeros(size * size)
    for event in events:
        known = (event.layer[event.source] != 0) & (event.layer[event.target] != 0)
        number = torch.searchsorted(layers, event.layer)
        of_pair = number[event.source] * size + number[event.target]
        all_pairs += torch.bincount(of_pair[known], minlength=size * size)
        of_neighbours += torch.bincount(of_pair[known & event.is_neighbour], minlength=size * size)
    if not of_neighbours.any():
        raise InputError("the events have no neighbouring hits on known layers, expected generated or other true ones")
    order = torch.argsort(of_neighbours / all_pairs.clamp(min=1), descending=True, stable=True)
    reached = of_neighbours[order].double().cumsum(0) / of_neighbours.double().sum()
    follows = torch.zeros(size * size, dtype=torch.bool)
    follows[order[: int((reached < OF_MAP).sum()) + 1]] = True
    return layers, follows.reshape(size, size)


def allowed(event, layers, follows):
    """Which pairs of the event the map lets pass."""
    number = torch.searchsorted(layers, event.layer).clamp(max=len(layers) - 1)
    known = (event.layer[event.source] != 0) & (event.layer[event.target] != 0)
    return ~known | follows[number[event.source], number[event.target]]


def train_filter(events, seed):
    """A filter, as a module of features [E, 8] -> scores [E]."""
    torch.manual_seed(seed)
    features = [event.features() for event in events]
    sample = torch.cat(features[:10])
    network = nn.Sequential(nn.Linear(sample.shape[1], HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1), nn.Flatten(0))
    mean, width = sample.mean(dim=0), sample.std(dim=0).clamp(min=1e-6)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for _ in range(STEPS):
        rows = torch.randint(len(events), (EVENTS_A_STEP,)).tolist()
        inputs = torch.cat([features[row] for row in rows])
        truth = torch.cat([events[row].is_neighbour for row in rows]).float()
        loss = binary_cross_entropy_with_logits(network((inputs - mean) / width), truth, pos_weight=torch.tensor(TRUE_WEIGHT))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():  # the normalisation becomes part of the first layer
        first = network[0]
        first.weight /= width
        first.bias -= first.weight @ mean
    return network.eval()


@torch.no_grad()
def set_cut(network, events, keep):
    """Shifts the scores so that the part `keep` of the events' neighbours has one of at least 0."""
    scores = torch.cat([network(event.features())[event.is_neighbour] for event in events])
    network[2].bias -= torch.quantile(scores.double(), 1.0 - keep).float()


def rules_of(cuts, layers, follows, network):
    """The JSON of `tensoa track --graph`."""
    first, last = network[0], network[2]
    return {
        "cuts": cuts,
        "layers": layers.tolist(),
        "layer_pairs": [[int(layers[a]), int(layers[b])] for a, b in follows.nonzero().tolist()],
        "filter": {
            "hidden_weight": first.weight.t().tolist(),
            "hidden_bias": first.bias.tolist(),
            "weight": last.weight[0].tolist(),
            "bias": last.bias.item(),
        },
    }


def read_cuts(path):
    """The cuts of a file of graph rules that has nothing else."""
    try:
        rules = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot read: {error}") from error
    if not isinstance(rules, dict) or set(rules) != {"cuts"}:
        raise InputError(f'{path}: expected the cuts of a candidate graph alone, {{"cuts": {{…}}}}')
    return rules["cuts"]


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m tensoa.tracking.graph_rules",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", required=True, metavar="DIR", help="folder that 'tensoa graph' wrote, with the cuts")
    parser.add_argument("--cuts", required=True, metavar="CUTS.json", help="the cuts of the graphs in DIR")
    parser.add_argument("--out", required=True, metavar="RULES.json", help="rules to write")
    parser.add_argument("--keep", type=float, default=0.99, help="part of the neighbours that passes (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random choices (default: %(default)s)")
    options = parser.parse_args(arguments)
    if not 0.0 < options.keep < 1.0:
        raise InputError(f"--keep: got {options.keep}, expected a part between 0 and 1")
    return options


def main(arguments=None):
    options = parse(arguments)
    check_writable(options.out)
    cuts = read_cuts(options.cuts)
    names = sorted(path.name.removesuffix(EDGES) for path in Path(options.data).glob("*" + EDGES))
    if len(names) < 2:
        raise InputError(f"{options.data}: got {len(names)} events, expected at least 2, as 'tensoa graph' writes them")
    events = [read_pairs(options.data, name) for name in names]
    n_held_out = max(1, len(events) // 10)
    layers, follows = layer_map(events[n_held_out:])
    passed = [event.only(allowed(event, layers, follows)) for event in events]
    held_out, passed = passed[:n_held_out], passed[n_held_out:]
    network = train_filter(passed, options.seed)
    set_cut(network, held_out, options.keep)
    with replacing(options.out) as temporary:
        lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in rules_of(cuts, layers, follows, network).items()]
        Path(temporary).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    say(events[:n_held_out], held_out, int(follows.sum()), network)


@torch.no_grad()
def say(events, after_map, layer_pairs, network):
    """Prints what is left, on average, of the events held out."""
    after_filter = [event.only(network(event.features()) >= 0) for event in after_map]
    total = sum(event.neighbours for event in events)
    for what, some in (("cuts", events), (f"{layer_pairs} pairs of layers", after_map), ("filter", after_filter)):
        pairs = sum(len(event.source) for event in some) / len(some)
        true = sum(int(event.is_neighbour.sum()) for event in some) / total
        print(f"after the {what}: {pairs:.0f} pairs an event, {100 * true:.2f} % of the neighbouring hits")


if __name__ == "__main__":
    sys.exit(run(main))
