# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tensoa.models train NAME --out WEIGHTS.safetensors [--seed N] [--steps N]
python -m tensoa.models export FOLDER [--only NAME] [--target cpu|cuda]

train makes the weights of a model from generated data, on one thread, and prints its figures on data that it has not
seen. export writes for each model, with the weights of models/:

    NAME-TARGET.pt2      the package, compiled ahead of time
    NAME.pt              the TorchScript file
    NAME.json            the binding of both
    NAME/I-in-BLOCK.bin  example I: the input tensors, row-major, in their dtype
    NAME/I-out-BLOCK.bin and what the network gives for them in float64, as float64

Exit status 2 with one line on stderr for wrong input.
"""

import argparse
import copy
import json
import sys
import time
from pathlib import Path

import torch

from tensoa import binding, models
from tensoa.command import check_writable, run, working
from tensoa.export import Options
from tensoa.export import export as write_package
from tensoa.models import common
from tensoa.options import TARGETS


def train(options):
    check_writable(options.out)
    torch.set_num_threads(1)
    module = models.module(options.name)
    steps = options.steps or module.STEPS
    start = time.monotonic()
    with working(f"training {options.name}"):
        network = module.train(options.seed, steps)
    seconds = time.monotonic() - start
    figures = module.evaluate(network)
    common.save(network, options.out, {"seed": options.seed, "steps": steps, "torch": torch.__version__})
    print(f"{options.name}: {steps} steps in {seconds:.0f} s")
    print(json.dumps(figures, indent=1))


def export(options):
    for name in [options.only] if options.only else models.NAMES:
        print(f"exporting {name} for {options.target}", flush=True)
        module, folder = models.module(name), Path(options.folder)
        (folder / name).mkdir(parents=True, exist_ok=True)
        network, text = module.model(), module.binding()
        columns = binding.parse(text)
        (folder / f"{name}.json").write_text(json.dumps(text, indent=2) + "\n")
        torch.jit.script(network).save(str(folder / f"{name}.pt"))
        write_examples(folder / name, network, columns, module.examples())
        with working(f"compiling {name}") as report:
            write_package(network, columns, folder / f"{name}-{options.target}.pt2", Options(options.target, report=report))


@torch.no_grad()
def write_examples(folder, network, columns, examples):
    exact = copy.deepcopy(network).double()
    for i, tensors in enumerate(examples):
        for block, tensor in zip(columns.inputs, tensors, strict=True):
            (folder / f"{i}-in-{block.name}.bin").write_bytes(tensor.contiguous().numpy().tobytes())
        results = exact(*(tensor.double() if tensor.is_floating_point() else tensor for tensor in tensors))
        for block, result in zip(columns.outputs, columns.results(results), strict=True):
            (folder / f"{i}-out-{block.name}.bin").write_bytes(result.contiguous().numpy().tobytes())


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m tensoa.models", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("train", help="train a model on generated data")
    command.add_argument("name", choices=models.NAMES)
    command.add_argument("--out", required=True, metavar="WEIGHTS.safetensors", help="weights file to write")
    command.add_argument("--seed", type=int, default=1, help="of all random numbers (default: %(default)s)")
    command.add_argument("--steps", type=int, help="of the optimizer (default: as shipped)")
    command.set_defaults(act=train)
    command = commands.add_parser("export", help="write packages, TorchScript files and examples")
    command.add_argument("folder", metavar="FOLDER", help="to write to; made where it is missing")
    command.add_argument("--only", choices=models.NAMES, help="one model (default: all)")
    command.add_argument("--target", choices=TARGETS, default="cpu", help="of the packages (default: cpu)")
    command.set_defaults(act=export)
    options = parser.parse_args(arguments)
    options.act(options)


if __name__ == "__main__":
    sys.exit(run(main))
