# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""tensoa.check."""

import json
import math
import os
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any

from tensoa import program
from tensoa.errors import ConfigError, EngineError, InputError


def check(
    model: str | os.PathLike[str],
    against: str | os.PathLike[str] | None = None,
    *,
    device: str = "auto",
    against_device: str = "auto",
    rows: Sequence[int] = (),
    tolerance: float | None = None,
) -> dict[str, Any]:
    """Compares a model with another one, or a package with its recorded results, by the program `tensoa check`.

    against: the model to compare with; None: the recorded results of a package.
    device, against_device: "cpu", "cuda:0", or "auto": the device of a package.
    rows: of the generated columns that both models run on; only with `against`.
    tolerance: the largest relative error ||a - b|| / ||b|| of a column that is accepted. None: that of the package, for
        each column; with `against` 3e-5, and the share 2e-3 of integers and truth values that may differ.

    Gives what `--json` writes: "is_right", "max_rel_error" (infinite where one model gives a number and the other none),
    "tolerance", and "rows", a dict for each output that was compared.
    Raises InputError for what cannot be compared, ConfigError without the program, EngineError where a signal ends it.
    """
    if against is None and rows:
        raise InputError(
            "check: got rows and nothing to compare with; a package contains its own rows, expected against=MODEL with them"
        )
    command, environment = program.find()
    arguments = [command, "check", os.fspath(model), "--device", device]
    if against is not None:
        arguments += ["--against", os.fspath(against), "--against-device", against_device]
    if rows:
        arguments += ["--rows", *map(str, rows)]
    if tolerance is not None:
        arguments += ["--tolerance", str(tolerance)]
    with tempfile.TemporaryDirectory() as folder:
        figures = os.path.join(folder, "check.json")
        done = subprocess.run(
            [*arguments, "--json", figures],
            env=environment,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode in (0, 1) and os.path.exists(figures):
            with open(figures, encoding="utf-8") as file:
                return json.load(file, object_hook=_with_infinity)
    message = done.stderr.strip().removeprefix("tensoa: ") or f"tensoa check ended with {done.returncode}"
    if done.returncode < 0:
        raise EngineError(f"{message} (signal {-done.returncode})")
    raise (InputError if done.returncode in (1, 2) else ConfigError)(message)


def _with_infinity(object: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: the program writes null."""
    errors = ("max_rel_error", "max_abs_error")
    return {name: math.inf if value is None and name in errors else value for name, value in object.items()}
