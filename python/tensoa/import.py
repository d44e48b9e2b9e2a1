# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tensoa.import FILE --binding BINDING.json --out FILE.pt2

Turns decision trees that another framework trained into a package for the columns of a binding (describe() of
tensoa/engine/describe.hpp writes it). FILE is an ensemble of trees as `tensoa compile --help` lists them; its content says what
it is, not its name, and it may be packed by gzip. Loading a pickle of scikit-learn runs code that is in the file: give
--trust-pickle if you trust where it is from.

Features are the columns of the input blocks with their names (x, or x_0 and x[0] for parts of a vector, or BLOCK.x where two
blocks have an x); in order where the model has no names. The output block has a column for each output of the model.

The package is compared with the framework that trained the model, where it is installed, on random values, on
thresholds and the numbers next to them, NaN, infinities and denormal numbers. A package that differs is not written; inputs and
answers of the framework are in it for `tensoa check`.

Exit status 2 with one line on stderr for what cannot be used.
"""

import argparse
import sys
from collections.abc import Sequence

from tensoa import binding
from tensoa.command import run, working
from tensoa.errors import InputError
from tensoa.importers.trees.files import ImportOptions, load
from tensoa.options import add_tree_options
from tensoa.package import forest


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tensoa.import", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", metavar="FILE", help="the model")
    parser.add_argument("--binding", metavar="BINDING.json", help="the columns that the package is made for")
    parser.add_argument("--out", metavar="FILE.pt2", required=True, help="the package to write")
    add_tree_options(parser)
    options = parser.parse_args(arguments)
    if not options.out.endswith(".pt2"):
        raise InputError(f"--out {options.out}: a package is called FILE.pt2")
    if options.binding is None:
        raise binding.without_columns(options.file, options.out)
    columns = binding.load(options.binding)
    with working(f"importing {options.file}") as report:
        imported = load(options.file, ImportOptions(options.best_iteration, options.trust_pickle, options.splitting))
        forest.write(imported, columns, options.out, options.margin, report)


if __name__ == "__main__":
    sys.exit(run(main))
