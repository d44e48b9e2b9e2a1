# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""tensoa compile MODEL --out FILE.pt2, also as python -m tensoa compile: see tensoa.compiling."""

import sys

from tensoa import options
from tensoa.command import run
from tensoa.errors import InputError


def main() -> None:
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print("python -m tensoa compile MODEL --out FILE.pt2 …: as tensoa compile; see --help of that")
        return
    if sys.argv[1:2] != ["compile"]:
        print(
            f"python -m tensoa: got {' '.join(sys.argv[1:2]) or 'nothing'}, expected compile; see --help of that",
            file=sys.stderr,
        )
        raise SystemExit(2)
    given = options.of_compile(sys.argv[2:])
    try:
        from tensoa import compiling  # which loads torch
    except ModuleNotFoundError as error:
        raise InputError(
            f"compile needs the package {error.name}, which {sys.executable} does not have: pip install 'tensoa[compile]'; "
            "TENSOA_PYTHON names another Python"
        ) from error
    compiling.main(given)


if __name__ == "__main__":
    sys.exit(run(main))
