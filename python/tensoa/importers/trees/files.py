# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Which importer a file is for: its content says so, not its name."""

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from tensoa.errors import InputError
from tensoa.importers.trees import conifer, lightgbm, onnx, sklearn, tmva, xgboost
from tensoa.importers.trees.imported import Imported

GZIP = b"\x1f\x8b"
READ = "XGBoost (JSON or UBJ), LightGBM (text), scikit-learn (pickle), ONNX, TMVA (XML), conifer (JSON)"
#: Beginnings of files that are not read, and the advice.
OTHERS = {
    b"binf": xgboost.BINARY,
    b"bs64": xgboost.BINARY,
    b"CONFIG-offset": "is a serialised booster of XGBoost; save_model() it as JSON",
    b"\x89HDF": "is an HDF5 file, not an ensemble of trees",
    b'{"name":"tree"': "is a dump of LightGBM; save_model() it as text",
}


@dataclass(frozen=True)
class ImportOptions:
    """`best_iteration`: stop where early stopping found the best. `trust_pickle`: loading a pickle runs code that is in it.
    `splitting`: "<" or "<=", which goes left in files of conifer that do not say it.
    """

    best_iteration: bool = False
    trust_pickle: bool = False
    splitting: str | None = None


def load(path: str | PathLike, options: ImportOptions) -> Imported:
    """The model of a file. Raises InputError."""
    subject = f"{path}: "
    content = _content(path)
    formats: list[tuple[Callable[[bytes], bool], Callable[[], Imported], bool]] = [
        (xgboost.is_json, lambda: xgboost.read(content, subject, options.best_iteration), True),
        (xgboost.is_ubjson, lambda: xgboost.read(content, subject, options.best_iteration), True),
        (lightgbm.takes, lambda: lightgbm.read(content, subject), False),
        (onnx.takes, lambda: onnx.read(content, subject), False),
        (tmva.takes, lambda: tmva.read(content, subject), False),
        (conifer.takes, lambda: conifer.read(content, subject, options.splitting), False),
        (sklearn.takes, lambda: sklearn.read(content, subject, options.trust_pickle), False),
    ]
    for takes, read, has_best_iteration in formats:
        if takes(content):
            if options.best_iteration and not has_best_iteration:
                raise InputError(f"{path}: files of this format have no best iteration; import it without --best-iteration")
            if options.splitting is not None and takes is not conifer.takes:
                raise InputError(f"{path}: files of this format say how they split; import it without --splitting")
            return read()
    advice = next((text for beginning, text in OTHERS.items() if content.startswith(beginning)), "is of an unknown format")
    advice = xgboost.BINARY if xgboost.is_binary(content) else advice
    raise InputError(f"{path}: {advice}; expected an ensemble of trees of {READ}")


def is_ensemble(path: str | PathLike) -> bool:
    """Whether a file is an ensemble of trees that load() reads; ONNX and TMVA have networks, too."""
    if not Path(path).is_file():
        return False
    content = _content(path)
    if onnx.takes(content):
        return b"TreeEnsemble" in content
    if tmva.takes(content):
        return b'Method="BDT' in content[:4096]
    return (
        xgboost.is_json(content)
        or xgboost.is_ubjson(content)
        or any(one.takes(content) for one in (lightgbm, conifer, sklearn))
    )


def _content(path: str | PathLike) -> bytes:
    try:
        content = Path(path).read_bytes()
        return gzip.decompress(content) if content.startswith(GZIP) else content
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot read: {getattr(error, 'strerror', None) or error}") from error
