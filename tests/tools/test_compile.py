# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""`tensoa compile`: the program has Python make a package."""

import os
import shutil
import subprocess
import sys

from conftest import PROGRAM, ROOT, refuse, succeed, tensoa

NETWORK = """
import torch

def make():
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
"""


def environment(python):
    return {**os.environ, "TENSOA_PYTHON": str(python)}


def test_a_module_becomes_a_package_that_the_program_runs(tmp_path):
    (tmp_path / "network.py").write_text(NETWORK)
    (tmp_path / "rows.csv").write_text("x,y,z\n1,2,3\n4,5,6\n")
    package = tmp_path / "network.pt2"
    words = ["--columns", "input=x,y,z", "--outputs", "score"]
    done = succeed_in_python("compile", f"{tmp_path / 'network.py'}:make", "--out", package, *words)
    assert "score=score" in done.stdout and "fused into 1 kernel" in done.stdout
    succeed("infer", "--model", package, "--input", tmp_path / "rows.csv", "--output", tmp_path / "scores.csv")
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == 3


def succeed_in_python(*arguments):
    done = tensoa(*arguments, env=environment(sys.executable))
    assert done.returncode == 0, done.stderr
    return done


def test_help_is_that_of_the_command_and_its_name_is_in_the_list():
    done = succeed_in_python("compile", "--help")
    assert done.stdout.startswith("usage: tensoa compile ") and "field=field@call" in done.stdout
    assert "  compile " in succeed("--help").stdout


def test_wrong_use_has_the_status_of_other_commands(tmp_path):
    done = tensoa("compile", tmp_path / "none.onnx", "--out", tmp_path / "a.pt2", env=environment(sys.executable))
    assert done.returncode == 2 and done.stderr.startswith(f"error: {tmp_path / 'none.onnx'}")


def test_a_python_that_cannot_do_it_is_named(tmp_path):
    refuse("compile", "a", says=["compile: cannot start no_python", "TENSOA_PYTHON"], env=environment("no_python"))
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    done = tensoa("compile", "a", "--out", "a.pt2", env=environment(bare))
    assert done.returncode == 2 and done.stderr.startswith("error: compile needs the package ")
    assert "pip install 'tensoa[compile]'" in done.stderr and "TENSOA_PYTHON" in done.stderr


def test_a_program_without_its_package_of_python_says_where_it_looked(tmp_path):
    alone = tmp_path / "bin" / "tensoa"
    alone.parent.mkdir()
    shutil.copy(PROGRAM, alone)
    done = subprocess.run([alone, "compile", "a"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and f"looked in {tmp_path / 'python'}" in done.stderr
    (tmp_path / "share" / "tensoa").mkdir(parents=True)
    (tmp_path / "share" / "tensoa" / "python").symlink_to(ROOT / "python")
    done = subprocess.run(
        [alone, "compile", "--help"], capture_output=True, text=True, check=False, env=environment(sys.executable)
    )
    assert done.returncode == 0 and done.stdout.startswith("usage: tensoa compile ")
