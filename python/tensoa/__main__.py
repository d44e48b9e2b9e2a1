# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tensoa compile MODEL --out FILE.pt2: see tensoa.compiling."""

import sys

from tensoa.command import run


def main() -> None:
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print("python -m tensoa compile MODEL --out FILE.pt2 …: a package of a model; python -m tensoa compile --help")
        return
    if sys.argv[1:2] != ["compile"]:
        print(
            f"python -m tensoa: got {' '.join(sys.argv[1:2]) or 'nothing'}, expected compile; see --help of that",
            file=sys.stderr,
        )
        raise SystemExit(2)
    from tensoa import compiling  # which loads torch

    compiling.main(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(run(main))
