# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models of LightGBM: the text that Booster.save_model writes, and LightGBM itself for comparison."""

import re

import numpy as np

from tensoa.errors import InputError, first_line
from tensoa.forest import Ensemble
from tensoa.importers.trees import tree_file
from tensoa.importers.trees.imported import Imported, Reference, own_reference


def takes(content: bytes) -> bool:
    return content.startswith((b"tree\n", b"tree\r\n"))


def read(content: bytes, subject: str) -> Imported:
    """The model in the bytes of a text file. Raises InputError, which begins with `subject`."""
    ensemble, notes = tree_file.read(content, subject)
    return Imported(ensemble, _reference(content.decode(errors="replace"), ensemble, subject), notes)


def _reference(text: str, ensemble: Ensemble, subject: str) -> Reference:
    try:
        import lightgbm
    except ImportError:
        return own_reference(ensemble, "lightgbm")
    text = re.sub(r"(?m)^tree_sizes=.*\n", "", text, count=1)  # wrong ones abort the process
    try:
        booster = lightgbm.Booster(model_str=text)
    except Exception as error:
        raise InputError(f"{subject}LightGBM {lightgbm.__version__} cannot read it: {first_line(error)}") from error

    def predicted(x: np.ndarray, is_raw: bool) -> np.ndarray:
        if not len(x):
            return np.empty((0, ensemble.outputs))
        return np.asarray(booster.predict(x, raw_score=is_raw, num_threads=1)).reshape(len(x), -1)

    return Reference(
        f"LightGBM {lightgbm.__version__}",
        lambda x: predicted(x, True) / ensemble.divisor,  # raw scores of random forests are sums
        lambda x: predicted(x, False),
    )
