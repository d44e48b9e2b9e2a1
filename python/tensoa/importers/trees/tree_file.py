# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Files of XGBoost and LightGBM, read by the reader of the run time, which also runs them as they are (forest/src/readers)."""

import tensoa
from tensoa import forest
from tensoa.errors import InputError, LoadError


def read(content: bytes, subject: str, best_iteration: bool = False) -> tuple[forest.Ensemble, list[str]]:
    """(the ensemble, notes for people). Raises InputError, which begins with `subject`."""
    try:
        ensemble, notes = tensoa.read_trees(content, subject, best_iteration)
    except ImportError as error:
        raise InputError(f"{subject}{error}") from error
    except LoadError as error:
        raise InputError(str(error)) from error
    return forest.from_bytes(ensemble, subject), notes
