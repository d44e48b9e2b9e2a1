# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What `pip install ./python` installs."""

import shutil
import subprocess
import sys
from pathlib import Path

PYTHON = Path(__file__).parents[1]


def test_the_wheel_has_every_module_and_every_kernel_text(tmp_path):
    source = tmp_path / "python"
    shutil.copytree(PYTHON, source, ignore=shutil.ignore_patterns("__pycache__", "tests", "*.egg-info", "build"))
    folder = tmp_path / "installed"
    build = [sys.executable, "-c", "import setuptools; setuptools.setup()", "-q", "build", "--build-lib", str(folder)]
    done = subprocess.run(build, cwd=source, capture_output=True, text=True, check=False)  # what a wheel is made of
    assert done.returncode == 0, done.stderr
    packed = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    files = {path.relative_to(PYTHON).as_posix() for path in (PYTHON / "tensoa").rglob("*") if path.is_file()}
    expected = {name for name in files if name.endswith((".py", ".hpp", ".cuh", ".json", ".pyi", "py.typed"))}
    assert packed == expected
    assert {name.split("/")[1] for name in expected} > {"compiler", "package", "importers", "tracking", "models"}
    code = "import tensoa.export, tensoa.models; from tensoa.compiler.backends import cpu; assert 'kBlock' in cpu.kernel_text()"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env={"PYTHONPATH": str(folder)}, check=False)
    assert done.returncode == 0
