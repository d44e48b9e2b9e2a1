# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What the exporter makes of models of many kinds: kernels or why not, the CPU seconds that it took, the error.

    python bench/width.py [--most SECONDS] [--jobs N] [PART OF A NAME...]

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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PYTHON = Path(__file__).resolve().parent.parent / "python"
sys.path[:0] = [str(PYTHON), str(PYTHON / "tests")]


def seconds():
    """CPU seconds of this process and all that it waited for."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def export(name):
    """Prints one line of JSON for the kind `name`."""
    from tensoa.export import Options
    from tensoa.export import export as write_package
    from width_models import kinds

    kind, lines, start = kinds()[name], [], seconds()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pt2"
        write_package(kind.module, kind.binding(), path, Options(report=lines.append))
        with zipfile.ZipFile(path) as package:
            manifest = next(n for n in package.namelist() if n.endswith("tensoa.json"))
            checks = json.loads(package.read(manifest))["checks"]
    error = max(error for check in checks for error in check["relative_error"].values())
    print(json.dumps({"first_line": lines[0] if lines else "", "ours": seconds() - start, "error": error}))


def run(name):
    """Exports the kind `name` in a process: exit status, CPU seconds, lines of its output, of its errors."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([sys.executable, __file__, "--one", name], stdout=output, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        return process.returncode, used.ru_utime + used.ru_stime, output.readlines(), errors.read().strip().splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--most", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=1, help="exports at a time")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    if options.one:
        return export(options.one)
    from width_models import kinds

    names = [name for name in kinds() if not options.parts or any(part in name for part in options.parts)]
    failed = False
    print("| model | made | CPU s | ours | error |\n| --- | --- | ---: | ---: | ---: |")
    with ThreadPoolExecutor(options.jobs) as pool:
        for name, (status, took, lines, problem) in zip(names, pool.map(run, names), strict=True):
            failed |= status != 0 or took > options.most
            if status != 0:
                print(f"| {name} | failed: {problem[-1][:150] if problem else status} | {took:.0f} | | |", flush=True)
                continue
            found = json.loads(lines[-1])
            first_line = found["first_line"].rstrip(":")
            print(f"| {name} | {first_line} | {took:.0f} | {found['ours']:.0f} | {found['error']:.1e} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
