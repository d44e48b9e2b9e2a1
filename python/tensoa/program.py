# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The program `tensoa` of an installed wheel: starts the one that is compiled, bin/tensoa beside this file."""

import glob
import os
import sys
from typing import NoReturn

_FOLDER = os.path.dirname(os.path.realpath(__file__))


def main() -> NoReturn:
    arrow = os.path.join(_FOLDER, "..", "pyarrow")
    if not glob.glob(os.path.join(arrow, "libarrow.so.25*")):
        found = f"found another one in {os.path.normpath(arrow)}" if os.path.isdir(arrow) else "found none beside tensoa"
        print(f"tensoa: the program needs pyarrow 25, {found}; pip install 'tensoa[program]'", file=sys.stderr)
        raise SystemExit(2)
    os.execv(os.path.join(_FOLDER, "bin", "tensoa"), ["tensoa", *sys.argv[1:]])
