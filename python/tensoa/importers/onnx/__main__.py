# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tensoa.importers.onnx --coverage

Runs the node tests of the package onnx on the modules that ONNX models become, and prints what passed for each operator:
docs/onnx_operators.md. Takes half a minute. Exit status 2 where a test gave a wrong number.
"""

import argparse
import sys
from collections.abc import Sequence

from tensoa.command import run
from tensoa.errors import InputError
from tensoa.importers.onnx.coverage import WRONG, outcomes, page


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tensoa.importers.onnx", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--coverage", action="store_true", required=True, help="run the node tests of the package onnx")
    parser.parse_args(arguments)
    found = list(outcomes())
    for line in page(found):
        print(line)
    wrong = [one for one in found if one.result == WRONG]
    if wrong:
        raise InputError("wrong numbers: " + "; ".join(f"{one.name}: {one.reason}" for one in wrong))


if __name__ == "__main__":
    sys.exit(run(main))
