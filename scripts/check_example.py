#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Runs an example, and compares what it prints with what its first comment says.

    check_example.py SOURCE COMMAND...

The indented lines after "Prints…:" in SOURCE are what COMMAND must print on stdout; after "Prints, at the end:" it may print
more before. Numbers with a decimal point may differ by 1e-4 of their size, nothing else may. SOURCE must have fewer than 100
lines. Exit status 1 on a finding.
"""

import math
import re
import subprocess
import sys
from pathlib import Path

COMMENT = re.compile(r"^\s*(?://|#|!>?|/?\*)? ?")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\w)")


def printed_lines(source):
    """What the first comment says, and whether other lines may come before."""
    lines = iter(source.splitlines())
    said = next((line for line in lines if "Prints" in line and line.rstrip().endswith(":")), None)
    if said is None:
        raise LookupError("no line with Prints…: in it")
    expected = []
    for line in lines:
        text = COMMENT.sub("", line, count=1).rstrip() if not line.startswith("    ") else line.rstrip()
        if text and not text.startswith("    "):
            break
        if text:
            expected.append(text[4:])
    if not expected:
        raise LookupError(f"no indented lines after {said.strip()}")
    return expected, "at the end" in said


def is_same(expected, got):
    """Whether two lines are the same, but for the last digits of their numbers."""
    if NUMBER.sub("#", expected) != NUMBER.sub("#", got):
        return False
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(got))
    return all(a == b or ("." in a + b and math.isclose(float(a), float(b), rel_tol=1e-4)) for a, b in pairs)


def findings(path, command):
    source = path.read_text(encoding="utf-8")
    if len(source.splitlines()) >= 100:
        yield f"{len(source.splitlines())} lines, expected fewer than 100"
    expected, has_more = printed_lines(source)
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        yield f"exit status {run.returncode}"
    got = [line.rstrip() for line in run.stdout.splitlines() if line.strip()]
    compared = got[-len(expected) :] if has_more else got
    if len(compared) != len(expected) or not all(map(is_same, expected, compared)):
        yield "\n".join(["got", *(f"    {line}" for line in got), "expected", *(f"    {line}" for line in expected)])


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: check_example.py SOURCE COMMAND...")
    try:
        found = [f"{sys.argv[1]}: {finding}" for finding in findings(Path(sys.argv[1]), sys.argv[2:])]
    except (OSError, LookupError) as error:
        found = [f"{sys.argv[1]}: {error}"]
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    sys.exit(1 if found else 0)
