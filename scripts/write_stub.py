#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes python/tensoa/_runtime.pyi, the types of the built run time: `make stub`. A test says when it is out of date.

scripts/write_stub.py [FILE]     run by the Python of .venv, with python/ in PYTHONPATH
"""

import subprocess
import sys
from pathlib import Path

from nanobind import stubgen
from tensoa import _runtime

ROOT = Path(__file__).resolve().parents[1]
LICENCE = "# SPDX-FileCopyrightText: 2026 The tensoa authors\n# SPDX-License-Identifier: Apache-2.0\n"


def stub():
    """The text of the stub, formatted as the project's Python is."""
    patterns = stubgen.load_pattern_file(str(ROOT / "python" / "runtime" / "stub.txt"))
    generator = stubgen.StubGen(_runtime, patterns=patterns)
    generator.put(_runtime)
    text = LICENCE + generator.get()
    for command in (["check", "--fix", "--exit-zero", "--quiet"], ["format"]):
        command = [sys.executable, "-m", "ruff", *command, "--stdin-filename", "tensoa/_runtime.pyi", "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT / "python")
        text = done.stdout
    return text


if __name__ == "__main__":
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "python" / "tensoa" / "_runtime.pyi"
    file.write_text(stub(), encoding="utf-8")
