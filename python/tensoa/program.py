# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The program `tensoa`: bin/tensoa where tensoa is installed, build/tensoa in a checkout."""

import importlib.util
import os
import sys
from typing import NoReturn

import tensoa
from tensoa.errors import ConfigError

_INSTALLED = os.path.join(tensoa._PREFIX, "bin", "tensoa")


def find() -> tuple[str, dict[str, str]]:
    """Its path, and the environment in which it starts. Raises ConfigError."""
    built = os.path.normpath(os.path.join(tensoa._BUILD, "tensoa"))
    if (os.environ.get("TENSOA_BUILD") or not os.path.exists(_INSTALLED)) and _is_program(built):
        return built, dict(os.environ)
    if not _is_program(_INSTALLED):
        raise ConfigError(f"{_INSTALLED}: is not there; pip install . builds it, and in a checkout it is build/tensoa")
    found = importlib.util.find_spec("pyarrow")
    if found is None or not found.origin:
        return _INSTALLED, dict(os.environ)  # which says so where it needs it
    # Where it is not in the folder of tensoa (pip install --user, --target).
    paths = os.pathsep.join(filter(None, [os.environ.get("LD_LIBRARY_PATH"), os.path.dirname(found.origin)]))
    return _INSTALLED, os.environ | {"LD_LIBRARY_PATH": paths}


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def main() -> NoReturn:
    if sys.argv[1:2] == ["compile"]:
        from tensoa import __main__ as module  # done by Python, with torch
        from tensoa.command import run

        raise SystemExit(run(module.main))
    try:
        program, environment = find()
    except ConfigError as error:
        print(f"tensoa: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    os.execve(program, ["tensoa", *sys.argv[1:]], environment)
