#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Jets of 1 to 60 constituents in an array of Awkward Array: tensoa.Model on it as it lies, and ONNX Runtime on a padded copy.

    PYTHONPATH=python .venv/bin/python bench/python_call/lists.py [--jets 100000] [--folder FOLDER]

Two networks: "each", a multilayer perceptron of each constituent; "set", self-attention among the constituents of a jet, then
a perceptron. Both give one number for each constituent, in the lists of the jets. Padding is what the documentation of Awkward
Array shows: pad_none, fill_none, to_numpy, a mask for the attention; all jets together, and 1 000 at a time. One thread each.
Median of 7 rounds, interleaved.
"""

import argparse
import platform
import statistics
import time
from pathlib import Path

import awkward as ak
import numpy as np
import onnxruntime
import torch
from run import processor
from torch import nn

import tensoa

ROOT = Path(__file__).resolve().parents[2]
NAMES, LONGEST, ROUNDS, PART = ("pt", "eta", "phi", "energy"), 60, 7, 1000


class Each(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, jets, mask=None):
        return self.layers(jets)


class Set(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 16), nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, jets, mask=None):
        h = self.first(jets)
        scores = h @ h.transpose(-1, -2) / 4
        if mask is not None:
            scores = scores + mask
        return self.last(torch.softmax(scores, -1) @ h)


def write(name, module, folder):
    package, onnx = folder / f"{name}.pt2", folder / f"{name}.onnx"
    if not package.exists():
        tensoa.compile(module, package, columns={"jets": NAMES}, outputs={"score": ["score"]})
    if not onnx.exists():
        given = {"jets": torch.zeros(2, LONGEST, 4)}
        if name == "set":
            given["mask"] = torch.zeros(2, 1, LONGEST)
        axes = {one: {0: "n"} for one in [*given, "score"]}
        torch.onnx.export(
            module, tuple(given.values()), onnx, input_names=[*given], output_names=["score"], dynamic_axes=axes, dynamo=False
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return tensoa.Model(package), onnxruntime.InferenceSession(str(onnx), options, providers=["CPUExecutionProvider"])


def padded(session, jets, at_once):
    """ONNX Runtime's answers in the lists of `jets`."""
    parts = []
    for first in range(0, len(jets), at_once):
        some = jets[first : first + at_once]
        count = ak.num(some)
        columns = [
            ak.to_numpy(ak.fill_none(ak.pad_none(some[name], LONGEST), np.float32(0)), allow_missing=False) for name in NAMES
        ]
        given = {"jets": np.stack(columns, -1)}
        is_there = np.arange(LONGEST) < ak.to_numpy(count)[:, None]
        if len(session.get_inputs()) == 2:
            given["mask"] = np.where(is_there, np.float32(0), np.float32(-1e9))[:, None, :]
        score = session.run(None, given)[0][..., 0]
        parts.append(score[is_there])
    return ak.unflatten(np.concatenate(parts), ak.num(jets))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "python_lists")
    parser.add_argument("--jets", type=int, default=100_000)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    random = np.random.default_rng(0)
    counts = random.integers(1, LONGEST + 1, options.jets)
    jets = ak.zip({name: ak.unflatten(random.normal(size=counts.sum()).astype("f4"), counts) for name in NAMES})
    print(f"{processor()}, Python {platform.python_version()}, Awkward {ak.__version__}, ONNX Runtime {onnxruntime.__version__}")
    print(f"{options.jets} jets, {counts.sum()} constituents")
    for name, module in (("each", Each()), ("set", Set())):
        model, session = write(name, module, options.folder)
        calls = {
            "tensoa.Model": lambda: model(jets),
            "padding, ONNX Runtime, all together": lambda: padded(session, jets, len(jets)),
            f"padding, ONNX Runtime, {PART} jets at a time": lambda: padded(session, jets, PART),
        }
        if name == "set" and options.jets > 20_000:  # its attention would be 1.4 GB
            del calls["padding, ONNX Runtime, all together"]
        answers, *others = [call() for call in calls.values()]
        for other in others:
            difference = float(np.max(np.abs(ak.flatten(answers.score) - ak.flatten(other))))
            assert difference < 1e-4, difference
        rounds = {one: [] for one in calls}
        for _ in range(ROUNDS):
            for one, call in calls.items():
                start = time.perf_counter()
                call()
                rounds[one].append(time.perf_counter() - start)
        model(jets)
        print(f"\n{name}: {model.last_copies}")
        ours = statistics.median(rounds["tensoa.Model"])
        for one, times in rounds.items():
            middle = statistics.median(times)
            print(f"  {1e3 * middle:9.1f} ms  {1e6 * middle / options.jets:7.3f} µs a jet  {middle / ours:6.2f} x  {one}")


if __name__ == "__main__":
    main()
