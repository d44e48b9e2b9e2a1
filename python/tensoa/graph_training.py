# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Common parts of the trainings of our graph networks."""

import json
import math
import time
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed
from torch import nn

from tensoa import graph_network
from tensoa.command import replacing

WARM_UP = 0.05  # part of the training in which the learning rate rises
MAX_GRADIENT = 1.0  # norm


class Clock:
    """How much of the training is done, 0 to 1, by steps or by time, the same on all ranks."""

    def __init__(self, steps, minutes, device):
        self.steps, self.minutes, self.device = steps, minutes, device
        self.start, self.done = time.monotonic(), 0

    def tick(self):
        """Counts one step; returns the progress."""
        self.done += 1
        if self.minutes is None:
            return min(1.0, self.done / self.steps)
        progress = (time.monotonic() - self.start) / (60.0 * self.minutes)
        if torch.distributed.is_initialized():
            of_rank_0 = torch.tensor(progress, device=self.device)
            torch.distributed.broadcast(of_rank_0, 0)
            progress = float(of_rank_0)
        return min(1.0, progress)


def rate(progress):
    """The learning rate as a part of its peak."""
    if progress < WARM_UP:
        return 0.05 + 0.95 * progress / WARM_UP
    return 0.5 * (1.0 + math.cos(math.pi * (progress - WARM_UP) / (1.0 - WARM_UP)))


def take_step(step_loss, optimizer, graph, learning_rate):
    """One step of the optimizer on one graph; returns the loss before it."""
    value = step_loss(graph)
    optimizer.zero_grad()
    value.backward()
    nn.utils.clip_grad_norm_(step_loss.parameters(), MAX_GRADIENT)
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    optimizer.step()
    return value.detach()


@contextmanager
def progress_bar(wanted):
    """Yields show(progress 0 to 1, curve so far); it draws on stderr where that is wanted."""
    if not wanted:
        yield lambda progress, curve: None
        return
    from tqdm import tqdm  # only where a bar is drawn

    with tqdm(total=100, bar_format="{l_bar}{bar}| {elapsed}<{remaining}{postfix}") as bar:

        def show(progress, curve):
            bar.n = 100.0 * progress
            if curve:
                bar.set_postfix(epoch=curve[-1]["epoch"], valid_edge_auc=f"{curve[-1]['valid_edge_auc']:.4f}", refresh=False)
            bar.update(0)

        yield show


def write(network, curve, out, facts):
    """Writes the weights, with `facts` and those that all trainings have, and, next to them, the validation curve."""
    facts = facts | {
        "epochs": len(curve),
        "torch": torch.__version__,
        "valid_edge_auc": f"{curve[-1]['valid_edge_auc']:.6f}",
    }
    graph_network.save(network, out, facts)
    with replacing(Path(out).with_suffix(".json")) as temporary:
        Path(temporary).write_text(json.dumps(curve, indent=1) + "\n", encoding="utf-8")
