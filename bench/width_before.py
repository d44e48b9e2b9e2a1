# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Packages of many kinds of models beside those that an earlier commit makes of them, in turns in one run.

    git worktree add build-before COMMIT
    python bench/width_before.py build-before [--device cpu|cuda] [--jobs N] [--compare PROGRAM] [PART OF A NAME...]

Both are run by the program of this tree (bench/peers/width.cpp). A line for each kind that both fuse: the time of ours over
that of before at 1, 16 and 1 000 rows; then the geometric mean of all.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import geometric_mean

import width

EXPORT = """
import sys, warnings
warnings.simplefilter("ignore")
name, device, path, *folders = sys.argv[1:]
sys.path[:0] = folders
from tensoa.export import Options, export
from wide_models import all_kinds
kind = all_kinds()[name]
kind.module.eval()
lines = []
export(kind.module, kind.binding(), path, Options(device, report=lines.append))
print(next((line for line in lines if "fused" in line), lines[0]))
"""


def made(tree, name, device, path):
    """The exporter's first line; nothing where the kind is not known or not exported there."""
    folders = [str(tree / "python"), str(tree / "python" / "tests")]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", EXPORT, name, device, str(path), *folders]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.stdout.strip().splitlines()[-1] if done.returncode == 0 else ""


def ratios(name, options):
    """{rows: time of ours / time of before}, or words on why there are none."""
    from wide_models import all_kinds

    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        for tree, package in ((width.ROOT, "ours.pt2"), (options.before, "inductor.pt2")):
            how = made(tree, name, options.device, folder / package)
            if not how.startswith("fused into"):
                return f"{'here' if tree == width.ROOT else 'before'}: {how or 'not exported'}"
        width.write_rows(all_kinds()[name], folder)
        found = width.compared(options.compare, options.device, folder)
    if found.get("notes"):
        return json.dumps(found["notes"])[:300]
    return {rows: of["ours"] / of["inductor"] for rows, of in found["times"].items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=lambda path: Path(path).resolve(), help="the tree of the earlier commit")
    parser.add_argument("--device", choices=width.CLOCKS, default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="kinds at a time")
    parser.add_argument("--compare", default=str(width.COMPARE), help="the program compare_width")
    parser.add_argument("parts", nargs="*")
    options = parser.parse_intermixed_args()
    from wide_models import all_kinds

    names = [name for name in all_kinds() if not options.parts or any(part in name for part in options.parts)]
    every = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for name, found in zip(names, pool.map(lambda name: ratios(name, options), names), strict=True):
            words = found if isinstance(found, str) else " / ".join(f"{ratio:.3f}" for ratio in found.values())
            every += [] if isinstance(found, str) else found.values()
            print(f"{name}: {words}", flush=True)
    print(f"geometric mean of {len(every)} ratios: {geometric_mean(every):.4f}" if every else "nothing to compare")


if __name__ == "__main__":
    main()
