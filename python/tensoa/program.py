# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The program `tensoa` of an installed wheel: starts the one that is compiled, bin/tensoa beside this file."""

import glob
import importlib.util
import os
import sys
from typing import NoReturn

_PROGRAM = os.path.join(os.path.dirname(os.path.realpath(__file__)), "bin", "tensoa")


def main() -> NoReturn:
    if sys.argv[1:2] == ["compile"]:
        from tensoa import __main__ as module  # done by Python, with torch
        from tensoa.command import run

        raise SystemExit(run(module.main))
    if not os.path.exists(_PROGRAM):
        _fail(f"{_PROGRAM}: is not there; pip install . builds it, and in a checkout it is build/tensoa")
    found = importlib.util.find_spec("pyarrow")
    arrow = os.path.dirname(found.origin) if found and found.origin else ""
    if not glob.glob(os.path.join(glob.escape(arrow), "libarrow.so.25*")):
        _fail(
            f"the program needs pyarrow 25, got {f'another one in {arrow}' if arrow else 'none'}; pip install 'pyarrow==25.*'"
        )
    # Where it is not beside tensoa (pip install --user, --target).
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [os.environ.get("LD_LIBRARY_PATH"), arrow]))
    os.execv(_PROGRAM, ["tensoa", *sys.argv[1:]])


def _fail(message: str) -> NoReturn:
    print(f"tensoa: {message}", file=sys.stderr)
    raise SystemExit(2)
