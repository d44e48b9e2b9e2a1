# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What the exporter makes of models of many kinds: kernels or why not, the CPU seconds that it took, the error.

    python benchmarks/width.py [--most SECONDS] [PART OF A NAME...]

The models are those of python/tests/width_models.py. Each export is a process of its own, whose CPU seconds count with
those of all that it starts (compilers); "ours" are those beyond starting torch. The error is the largest difference from
the module in float64, relative to the largest number, as the exporter measures it. Exit status 1 where an export takes
more than --most CPU seconds (60), or fails.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PYTHON = Path(__file__).resolve().parent.parent / "python"
sys.path[:0] = [str(PYTHON), str(PYTHON / "tests")]


def seconds():
    """CPU seconds of this process and all that it waited for."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def export(name):
    """Prints one line of JSON for the kind `name`."""
    from tensoa import aot
    from width_models import kinds

    kind, lines, start = kinds()[name], [], seconds()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pt2"
        aot.export(kind.module, kind.binding(), path, report=lines.append)
        with zipfile.ZipFile(path) as package:
            manifest = next(n for n in package.namelist() if n.endswith("tensoa.json"))
            checks = json.loads(package.read(manifest))["checks"]
    error = max(error for check in checks for error in check["relative_error"].values())
    print(json.dumps({"told": lines[0] if lines else "", "ours": seconds() - start, "error": error}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--most", type=float, default=60)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    if options.one:
        return export(options.one)
    from width_models import kinds

    failed = False
    print("| model | made | CPU s | ours | error |\n| --- | --- | ---: | ---: | ---: |")
    for name in kinds():
        if options.parts and not any(part in name for part in options.parts):
            continue
        before = seconds()
        result = subprocess.run([sys.executable, __file__, "--one", name], capture_output=True, text=True, check=False)
        took = seconds() - before
        if result.returncode:
            failed = True
            print(f"| {name} | failed: {result.stderr.strip().splitlines()[-1][:150]} | {took:.0f} | | |", flush=True)
            continue
        found = json.loads(result.stdout.splitlines()[-1])
        failed |= took > options.most
        told = found["told"].rstrip(":")
        print(f"| {name} | {told} | {took:.0f} | {found['ours']:.0f} | {found['error']:.1e} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
