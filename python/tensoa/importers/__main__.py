# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tensoa.importers --results benchmarks/results

Prints docs/models_of_others.md: the formats that are read, with the figures of a folder of results.
"""

import argparse
import sys
from collections.abc import Sequence

from tensoa.command import run
from tensoa.importers.formats import page


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tensoa.importers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", required=True, metavar="FOLDER", help="benchmarks/results")
    for line in page(parser.parse_args(arguments).results):
        print(line)


if __name__ == "__main__":
    sys.exit(run(main))
