# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tensoa.tracking.evaluate MODEL.pt --data DIR [--device DEVICE] [--float64] [--json FILE]

Runs a TorchScript model, ours or the Exa.TrkX one, on the candidate graphs that `tensoa graph ...
--output DIR` wrote and prints one line an event: hits, edges, true edges, edge AUC, efficiency and
purity at a cut of 0.5. It shares no code with the C++ program, so that the two can be compared.
--float64 evaluates the same model in float64 too and prints how far the float32 scores are from
it. Exit status 2 with one line on stderr for wrong input.
"""

import argparse
import json
import sys
from dataclasses import replace

import torch

from tensoa import edge_metrics
from tensoa.command import check_device, replacing, run
from tensoa.errors import InputError
from tensoa.graphs import joined
from tensoa.tracking.graphs import read_graphs


def load_model(path, device):
    """A TorchScript model in eval mode on a device."""
    try:
        model = torch.jit.load(path, map_location=device).eval()
    except (OSError, RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0][:160]
        raise InputError(f"{path}: got {reason}, expected a TorchScript file") from error
    if _inputs(model) not in (2, 3):
        raise InputError(f"{path}: got forward with {_inputs(model)} inputs, expected x, edge_index[, edge_attr]")
    return model


def _inputs(model):
    return len(model.forward.schema.arguments) - 1  # the first one is the model


@torch.inference_mode()
def scores(model, graph, dtype=torch.float32):
    """The scores [E] of a model with or without edge features."""
    arguments = [graph.x.to(dtype), graph.edge_index, graph.edge_attr.to(dtype)][: _inputs(model)]
    try:
        answer = model(*arguments).reshape(-1)
    except RuntimeError as error:
        raise InputError(f"the model failed on {graph.name}: {str(error).strip().splitlines()[-1]}") from error
    if answer.shape != graph.truth.shape:
        raise InputError(f"the model gave {len(answer)} scores on {graph.name}, expected {len(graph.truth)}")
    return answer


def figures(graph, answer):
    """The line of the table on one event."""
    return {
        "event": graph.name,
        "hits": len(graph.x),
        "edges": len(graph.truth),
        "true_edges": int(graph.truth.sum()),
        "edge_auc": edge_metrics.edge_auc(answer, graph.truth),
        "edge_efficiency": edge_metrics.edge_efficiency(answer, graph.truth),
        "edge_purity": edge_metrics.edge_purity(answer, graph.truth),
    }


def evaluate(model, graphs, reference_model=None):
    """One row of figures an event, then one of all edges together.

    `reference_model`, a float64 one, adds how far the scores are from its scores.
    """
    graphs = list(graphs)
    answers = [scores(model, graph) for graph in graphs]
    graphs.append(replace(joined(graphs), name="all"))
    rows = [figures(graph, answer) for graph, answer in zip(graphs, answers + [torch.cat(answers)])]
    if reference_model:
        references = [scores(reference_model, graph, torch.float64) for graph in graphs[:-1]]
        pairs = zip(answers + [torch.cat(answers)], references + [torch.cat(references)])
        rows = [row | edge_metrics.difference(*pair) for row, pair in zip(rows, pairs)]
    return rows


def _print_table(rows):
    widths = {key: max(len(key), *(len(_text(row[key])) for row in rows)) for key in rows[0]}
    print("  ".join(key.rjust(width) for key, width in widths.items()))
    for row in rows:
        print("  ".join(_text(row[key]).rjust(width) for key, width in widths.items()))


def _text(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m tensoa.tracking.evaluate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", metavar="MODEL.pt", help="TorchScript file")
    parser.add_argument("--data", required=True, metavar="DIR", help="folder that 'tensoa graph' wrote")
    parser.add_argument("--device", default="cpu", help="torch device (default: cpu)")
    parser.add_argument("--float64", action="store_true", help="compare with a float64 evaluation")
    parser.add_argument("--json", metavar="FILE", help="write the table there too")
    options = parser.parse_args(arguments)
    check_device(options.device)
    model = load_model(options.model, options.device)
    reference = load_model(options.model, options.device).double() if options.float64 else None
    rows = evaluate(model, [graph.to(options.device) for graph in read_graphs(options.data)], reference)
    _print_table(rows)
    if options.json:
        with replacing(options.json) as temporary, open(temporary, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    sys.exit(run(main))
