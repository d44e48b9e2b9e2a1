# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Where the programs of the test bench are: the virtual environment that scripts/setup_service.sh makes."""

import functools
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = Path(os.environ.get("TENSOA_SERVICE_VENV") or ROOT / ".venv-service").absolute()
PYTHON = VENV / "bin" / "python"
SKIPPED = 77  # the exit status that CTest takes for a skipped test


def missing() -> str:
    """Returns why the test bench cannot run, in one line; an empty text where it can."""
    if not (VENV / "tensoa-requirements.txt").exists():
        return f"the test bench is not installed in {VENV}; scripts/setup_service.sh installs it"
    return ""


@functools.cache
def _python_of_venv() -> tuple[Path, Path, str]:
    code = """import sys, sysconfig
print(sysconfig.get_path("purelib"), sysconfig.get_config_var("LIBDIR"), "%d.%d" % sys.version_info[:2], sep="\\n")"""
    done = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True)
    packages, libraries, version = done.stdout.splitlines()
    return Path(packages), Path(libraries), version


def packages() -> Path:
    """Returns the folder of the installed packages."""
    return _python_of_venv()[0]


def python_libraries() -> Path:
    """Returns the folder of the libpython that belongs to the Python of the virtual environment."""
    return _python_of_venv()[1]


def python_version() -> str:
    """Returns "3.11", for example."""
    return _python_of_venv()[2]


def environment() -> dict[str, str]:
    """Returns the environment for Triton: its models must find the packages and the libpython of the virtual environment."""
    path = os.environ.get("PATH", os.defpath)
    libraries = [str(python_libraries()), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return {**os.environ, "PATH": f"{VENV / 'bin'}:{path}", "LD_LIBRARY_PATH": ":".join(libraries)}
