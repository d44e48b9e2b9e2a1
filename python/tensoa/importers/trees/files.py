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
from tensoa.importers.checkpoints import OLD
from tensoa.importers.trees import catboost, conifer, lightgbm, onnx, sklearn, tmva, xgboost
from tensoa.importers.trees.imported import Imported

GZIP = b"\x1f\x8b"
READ = (
    "XGBoost (JSON, UBJ or binary), LightGBM (text), CatBoost (JSON or cbm), scikit-learn (pickle), ONNX, TMVA (XML), "
    "conifer (JSON)"
)
#: Beginnings of files that are not read, and the advice.
OTHERS = {
    b"CONFIG-offset": "is a serialised booster of XGBoost; save_model() it as JSON",
    b"\x89HDF": "is an HDF5 file, not an ensemble of trees",
    b'{"name":"tree"': "is a dump of LightGBM; save_model() it as text",
    OLD: "is a file of torch.save, not an ensemble of trees",
}
OF_TREES = (b"CONFIG-offset", b'{"name":"tree"')  # those of OTHERS that are ensembles nevertheless


@dataclass(frozen=True)
class ImportOptions:
    """`best_iteration`: stop where early stopping found the best. `trust_pickle`: loading a pickle runs code that is in it.
    `splitting`: "<" or "<=", which goes left in files of conifer that do not state it.
    """

    best_iteration: bool = False
    trust_pickle: bool = False
    splitting: str | None = None


@dataclass(frozen=True)
class _Format:
    """`has_trees`: whether content of the format is trees, where it has networks, too. `option`: the one it alone takes."""

    takes: Callable[[bytes], bool]
    read: Callable[[bytes, str, ImportOptions], Imported]
    option: str = ""
    has_trees: Callable[[bytes], bool] = lambda content: True


def _xgboost(content: bytes, subject: str, options: ImportOptions) -> Imported:
    return xgboost.read(content, subject, options.best_iteration)


FORMATS = (
    _Format(xgboost.is_json, _xgboost, "best_iteration"),
    _Format(xgboost.is_ubjson, _xgboost, "best_iteration"),
    _Format(xgboost.is_binary, _xgboost, "best_iteration"),
    _Format(lightgbm.takes, lambda content, subject, _: lightgbm.read(content, subject)),
    _Format(catboost.takes, lambda content, subject, _: catboost.read(content, subject)),
    _Format(
        onnx.takes,
        lambda content, subject, _: onnx.read(content, subject),
        has_trees=lambda content: b"TreeEnsemble" in content,
    ),
    _Format(
        tmva.takes,
        lambda content, subject, _: tmva.read(content, subject),
        has_trees=lambda content: b'Method="BDT' in content[:4096],
    ),
    _Format(conifer.takes, lambda content, subject, options: conifer.read(content, subject, options.splitting), "splitting"),
    _Format(sklearn.takes, lambda content, subject, options: sklearn.read(content, subject, options.trust_pickle)),
)


def _format_of(content: bytes) -> _Format | None:
    if content.startswith(OLD):  # begins as a pickle does
        return None
    return next((one for one in FORMATS if one.takes(content)), None)


def load(path: str | PathLike, options: ImportOptions) -> Imported:
    """The model of a file. Raises InputError."""
    content = _content(path)
    found = _format_of(content)
    if found is None:
        advice = next((text for beginning, text in OTHERS.items() if content.startswith(beginning)), "is of an unknown format")
        raise InputError(f"{path}: {advice}; expected an ensemble of trees of {READ}")
    if options.best_iteration and found.option != "best_iteration":
        raise InputError(f"{path}: files of this format have no best iteration; import it without --best-iteration")
    if options.splitting is not None and found.option != "splitting":
        raise InputError(f"{path}: files of this format state how they split; import it without --splitting")
    return found.read(content, f"{path}: ", options)


def is_ensemble(path: str | PathLike) -> bool:
    """Whether a file is an ensemble of trees, which load() reads, or says why not."""
    if not Path(path).is_file():
        return False
    content = _content(path)
    found = _format_of(content)
    if found is None:
        return content.startswith(OF_TREES)
    return found.has_trees(content)


def _content(path: str | PathLike) -> bytes:
    try:
        content = Path(path).read_bytes()
        return gzip.decompress(content) if content.startswith(GZIP) else content
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot read: {getattr(error, 'strerror', None) or error}") from error
