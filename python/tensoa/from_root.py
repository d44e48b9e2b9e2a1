# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tensoa.from_root FILE.root TREE OUT.parquet [--branches NAME...]

Writes the branches of a TTree or RNTuple as columns of a Parquet file, which `tensoa infer` reads. Branches of lists of
numbers become columns of lists. Reads with uproot (pip install uproot), in steps, so that a tree may be larger than memory.

Exit status 2 with one line on stderr for what cannot be used; OUT.parquet then does not appear.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tensoa.command import run
from tensoa.errors import InputError

STEP = "64 MB"


def column(values: Any) -> Any:
    """An Arrow array of what uproot gives for a branch."""
    import awkward
    import pyarrow

    array = awkward.to_arrow(values, extensionarray=False, list_to32=True)
    return array.combine_chunks() if isinstance(array, pyarrow.ChunkedArray) else array


def convert(file: str, tree: str, out: Path, branches: Sequence[str]) -> None:
    try:
        import awkward  # noqa: F401
        import uproot
    except ImportError as error:
        raise InputError(f"{file}: ROOT files are read with uproot, which is not installed: pip install uproot") from error
    import pyarrow
    import pyarrow.parquet

    try:
        opened = uproot.open(file)
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read: {str(error).strip().splitlines()[0]}") from error
    names = sorted({name.split(";")[0] for name in opened.keys()})  # noqa: SIM118
    if tree not in names:
        raise InputError(f"{file}: has no tree {tree}; there are {', '.join(names)}")
    entries = opened[tree]
    there = list(entries.keys())
    absent = [name for name in branches if name not in there]
    if absent:
        raise InputError(f"{file}: {tree} has no branch {absent[0]}; there are {', '.join(there)}")
    part = out.with_name(f".{out.name}.part")
    writer = None
    try:
        for step in entries.iterate(list(branches) or there, step_size=STEP, library="ak"):
            table = pyarrow.table({name: column(step[name]) for name in step.fields})
            if writer is None:
                writer = pyarrow.parquet.ParquetWriter(part, table.schema, compression="zstd")
            writer.write_table(table)
        if writer is None:
            raise InputError(f"{file}: {tree} has no entries")
        writer.close()
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tensoa.from_root", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", metavar="FILE.root")
    parser.add_argument("tree", metavar="TREE")
    parser.add_argument("out", metavar="OUT.parquet", type=Path)
    parser.add_argument("--branches", nargs="+", default=[], metavar="NAME", help="default: all")
    options = parser.parse_args(arguments)
    if options.out.suffix != ".parquet":
        raise InputError(f"{options.out}: expected a file named .parquet")
    convert(options.file, options.tree, options.out, options.branches)


if __name__ == "__main__":
    sys.exit(run(main))
