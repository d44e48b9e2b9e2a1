# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models of XGBoost, the files of Booster.save_model: JSON, UBJ, and binary before 3.1; and XGBoost itself for comparison."""

import json

import numpy as np

from tensoa import forest
from tensoa.errors import InputError, first_line
from tensoa.forest import Ensemble
from tensoa.importers.trees import tree_file
from tensoa.importers.trees.imported import Imported, Reference, own_reference

BOOSTERS = (b"gbtree", b"gblinear", b"dart")


def is_binary(content: bytes) -> bool:
    """Whether it is the form of before 3.1: 136 bytes of parameters, then two texts, of the objective and of the booster."""
    if content.startswith(b"binf"):
        return True
    at, texts = 136, []
    for _ in range(2):
        size = int.from_bytes(content[at : at + 8], "little")
        texts.append(content[at + 8 : at + 8 + size])
        at += 8 + size
    return texts[1] in BOOSTERS


def is_json(content: bytes) -> bool:
    return content.lstrip()[:1] == b"{" and b'"learner"' in content[:4096]


def is_ubjson(content: bytes) -> bool:
    return content[:1] == b"{" and content[1:2] == b"L" and b"learner" in content[:64]


def read(content: bytes, subject: str, best_iteration: bool = False) -> Imported:
    """The model in the bytes of a JSON or UBJ file, or of one before 3.1. Raises InputError, which begins with `subject`."""
    ensemble, notes = tree_file.read(content, subject, best_iteration)
    return Imported(ensemble, _reference(content, ensemble, best_iteration, subject), notes)


def _reference(content: bytes, ensemble: Ensemble, best_iteration: bool, subject: str) -> Reference:
    try:
        import xgboost
    except ImportError:
        return own_reference(ensemble, "xgboost")
    try:
        booster = xgboost.Booster({"nthread": 1}, model_file=bytearray(content))
    except Exception as error:  # XGBoost throws many kinds
        if is_binary(content):  # of before 3.1
            return own_reference(ensemble, f"XGBoost {xgboost.__version__}", "cannot read binary files, 3.0 can")
        raise InputError(f"{subject}XGBoost {xgboost.__version__} cannot read it: {first_line(error)}") from error
    rounds = (0, booster.best_iteration + 1) if best_iteration else (0, 0)  # 0: all
    is_dart = json.loads(booster.save_config())["learner"]["gradient_booster"]["name"] == "dart"

    def predicted(x: np.ndarray, kind: str) -> np.ndarray:
        if not len(x):
            return np.empty((0, ensemble.outputs), np.float32)
        if is_dart:  # its prediction in place rounds otherwise, and a DMatrix refuses infinities
            largest = np.finfo(np.float32).max
            matrix = xgboost.DMatrix(np.clip(x, -largest, largest), nthread=1)
            given = booster.predict(matrix, output_margin=kind == "margin", iteration_range=rounds, validate_features=False)
        else:
            given = booster.inplace_predict(x, iteration_range=rounds, predict_type=kind, validate_features=False)
        return given.reshape(len(x), -1)

    def answers(x: np.ndarray) -> np.ndarray:
        if ensemble.objective == "multi:softmax":  # it gives the number of the class
            return forest.linked(ensemble, predicted(x, "margin"))
        return predicted(x, "value")

    return Reference(f"XGBoost {xgboost.__version__}", lambda x: predicted(x, "margin"), answers)
