#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
r"""Published models, at the first try: docs/corpus.md.

    pip download --no-deps -d FILES/wheels …                  the packages that models.toml names
    python bench/corpus/run.py FILES [--inductor] [PART OF A NAME …]

FILES: a folder of git repositories, OWNER+NAME for github.com/OWNER/NAME, and of wheels. models.toml says which file of which commit or
wheel is looked at, and what a user types for it; nothing of it is in this repository. The code of the authors runs here: pickles,
TorchScript, and modules, which the factories of modules/ make.

Each case is one command, `tensoa compile`, once, within 120 s of the processor. The file that it writes is then compared with the runtime that
the model was made for (case.py): the answers for 1 and 37 rows, and the time of a call at 1, 16 and 1 000. --inductor: also
and with a package of the same command with --no-fuse, which is TorchInductor's. What fails at the first try has failed.

LWTNN itself, of a work tree of github.com/lwtnn/lwtnn, Eigen and boost, as TENSOA_LWTNN:
    g++ -std=c++17 -O2 -I LWTNN/include -I /usr/include/eigen3 bench/corpus/lwtnn_reference.cpp LWTNN/src/[A-Z]*.cxx \
      LWTNN/src/lightweight_nn_streamers.cxx LWTNN/src/parse_json.cxx -o PROGRAM

XGBoost of before 3.1, which reads its binary form, as TENSOA_XGBOOST:
    pip install --no-deps --target FOLDER xgboost-cpu==3.0.5

benchmarks/results/corpus.json has what was found, of each model the last run; docs/corpus.md is written from it. Exit status 1
where a model that was right no longer is.
"""

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "python")]
sys.path.append(str(ROOT / "bench"))

import page  # noqa: E402
import measuring  # noqa: E402
from sources import Case, cases  # noqa: E402
from tensoa.errors import InputError  # noqa: E402

RESULTS, PAGE = ROOT / "benchmarks" / "results" / "corpus.json", ROOT / "docs" / "corpus.md"
BUDGET = 120  # seconds of the processor, of the command with all that it starts: other work on the machine does not count
LONGEST = 900  # seconds on the clock, of the command, and of what is compared and timed afterwards
LINE = 500  # characters of it that are kept: a model may have 40 000 columns
NICE = ["nice", "-n", os.environ.get("TENSOA_NICE", "10")]


def run_in(folder: Path, command: list[str], seconds: int) -> tuple[int, str, str]:
    """(exit status, stdout, stderr), with all that it has started ended after `seconds`: then the status is -9."""
    path = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))  # the tensoa of this_run()
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "errors": "replace"}  # of runtimes that crash
    started = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **pipes)
    try:
        out, err = started.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        out, err = started.communicate()
        return -9, out, err
    return started.returncode, out, err


def compiled(case: Case, folder: Path, out: str, more: list[str]) -> dict:
    """What the one command did: its seconds, of the processor with all that it started, and why it failed."""
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    limit = ["prlimit", f"--cpu={BUDGET}"]  # of each process; together they are counted below
    command = [*NICE, *limit, sys.executable, "-m", "tensoa", "compile", *case.words, "--out", out, *more]
    status, said, errors = run_in(folder, command, LONGEST)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = {"seconds": round(time.monotonic() - start, 1), "cpu_seconds": round(cpu, 1), "said": said.splitlines()[-6:]}
    if status == -9 or cpu > BUDGET:
        found["refused"] = f"no answer within {BUDGET} s of the processor; its last line: {reason_of(0, errors, BUDGET)}"
    elif status != 0:
        found["refused"] = reason_of(status, errors, BUDGET).removeprefix("error: ")
    return found


def reason_of(status: int, errors: str, seconds: int) -> str:
    lines = [line for line in errors.splitlines() if line.strip()]
    reason = f"no answer within {seconds} s" if status == -9 else (lines or [f"ended with status {status}"])[-1]
    return re.sub(r"/\S*/tensoa-corpus-\w+/", "", reason)


def run_case(request: dict, folder: Path) -> tuple[int, str, str]:
    (folder / "case.json").write_text(json.dumps(request))
    return run_in(folder, [*NICE, sys.executable, str(HERE / "case.py"), "case.json"], LONGEST)


def found_of(case: Case, files: Path, with_inductor: bool) -> dict:
    with tempfile.TemporaryDirectory(prefix="tensoa-corpus-") as name:
        folder = Path(name)
        bytes_of = case.lay(files, folder)
        found = {"format": case.format, "bytes": bytes_of, "is_right": False, **compiled(case, folder, "model.pt2", [])}
        request = {"own": str(folder / case.argument), "format": case.format, "words": case.columns}
        request |= {
            "outputs": [word.partition("=")[0] for word in case.outputs],
            "below": case.below,
            "splitting": case.splitting,
        }
        if "refused" in found:
            status, _, errors = run_case(request, folder)
            return found | ({"own_refused": reason_of(status, errors, LONGEST)} if status != 0 else {})
        request |= {"model": str(folder / "model.pt2"), "said": found["said"]}
        if with_inductor and "refused" not in compiled(case, folder, "inductor.pt2", ["--no-fuse"]):
            request["inductor"] = str(folder / "inductor.pt2")
        status, said, errors = run_case(request, folder)
        if status != 0:
            return found | {"not_compared": reason_of(status, errors, LONGEST)}
        return found | json.loads(said.strip().splitlines()[-1])


def this_run() -> str:
    """The day, and the last commit of the tensoa that ran: neither of this folder nor of results, + with changes that are in none."""
    of_tensoa = [".", *(f":!{folder}" for folder in ("bench", "benchmarks", "docs", "tests"))]
    command = ["git", "diff", "HEAD", "--quiet", "--", *of_tensoa]
    changed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 1
    return f"{date.today()} {measuring.last_commit(*of_tensoa)}{'+' if changed else ''}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, metavar="FILES")
    parser.add_argument("only", nargs="*", metavar="PART", help="of a name; the results of the others stay")
    parser.add_argument("--list", type=Path, default=HERE / "models.toml", help="of the models")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--inductor", action="store_true", help="also time a package of TorchInductor alone")
    parser.add_argument("--missing", action="store_true", help="only those without a result")
    options = parser.parse_intermixed_args()  # names after options, too
    listed = cases(options.list)
    results = measuring.read(options.results, {"models": {}})
    names = measuring.chosen([case.name for case in listed], options.only)
    is_worse = False
    for case in listed:
        before = results["models"].get(case.name)
        if case.name not in names or (options.missing and before):
            continue
        try:
            found = found_of(case, options.files.resolve(), options.inductor)
        except InputError as error:  # its files are not here
            print(f"{case.name}: {error}", file=sys.stderr)
            continue
        found |= {"run": this_run(), "load": round(os.getloadavg()[0], 1), "said": [line[:LINE] for line in found["said"]]}
        is_worse |= bool(before and before["is_right"] and not found["is_right"])
        said = found.get("refused") or found.get("not_compared") or f"{found['kind']}, error {found['error']:.0e}"
        print(f"{case.name}: {'right' if found['is_right'] else 'FAILED'}, {found['seconds']} s, {said}", flush=True)
        results["models"][case.name] = found
        versions = results.get("about", {}).get("versions", {})  # of the runtimes that others had, too
        results["about"] = page.machine()
        results["about"]["versions"] = versions | results["about"]["versions"]
        options.results.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    if results["models"]:
        options.page.write_text(page.text(listed, results, BUDGET))
    return 1 if is_worse else 0


if __name__ == "__main__":
    sys.exit(main())
