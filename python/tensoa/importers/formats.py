# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The formats that are read, as the page docs/models_of_others.md; its figures are those of the files of results."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tensoa.errors import InputError

COMPARED, PUBLISHED = "compare-cpu.json", "corpus.json"
HEAD = """<!-- SPDX-FileCopyrightText: 2026 The tensoa authors -->
<!-- SPDX-License-Identifier: Apache-2.0 -->
# Models of others

Written by `python -m tensoa.importers --results benchmarks/results > docs/models_of_others.md`.

Each becomes a package that runs on columns, or is loaded as it is: [decision trees](trees.md), [networks](ahead_of_time.md),
[ONNX files](onnx_files.md).
When it is imported it is compared with what the column "compared with" says; a model that differs is not written. "Published
models": how many give the answers of their framework at the first try, of how many ([which](corpus.md)). "Speed": time of the
format's own runtime over ours, one thread of a CPU; trees: 100, on 28 columns, of XGBoost and ONNX of depth 6, of LightGBM of
31 leaves; networks: a perceptron of 3, 64, 64 and 2 numbers ([all figures](compare.md)). Nothing stands where nothing was
measured.
Graph networks of others in PyTorch, with their weights and their authors' numbers: [published networks](published.md).

| format | read by | what is read | what is refused, by name | compared with | published models | speed |
| --- | --- | --- | --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Format:
    """`family`: its name in the results of published models. `peer`: the runtime in the results of benchmarks."""

    name: str
    command: str
    read: str
    refused: str
    compared: str
    family: str = ""
    model: str = ""
    peer: str = ""


COMPILE = "`tensoa compile`"
FORMATS = [
    Format(
        "XGBoost JSON, UBJ, binary",
        f"the program, {COMPILE}",
        "gbtree and dart, all forms of `base_score`, several classes and targets, leaf vectors, categories, random forests; "
        "`--best-iteration`; binary files from before 3.1, which later versions no longer read",
        "gblinear, unknown objectives",
        "XGBoost: the same bits",
        "XGBoost",
        "xgboost-100x6",
        "xgboost",
    ),
    Format(
        "LightGBM text",
        f"the program, {COMPILE}",
        "all objectives, rf and dart, categories, the three kinds of missing values",
        "linear trees, dumps",
        "LightGBM: the same bits",
        "LightGBM",
        "lightgbm-100x31",
        "lightgbm",
    ),
    Format(
        "CatBoost JSON, .cbm",
        COMPILE,
        "symmetric trees and others, features of numbers, several classes and targets, NaN; .cbm where catboost is installed",
        "categories, texts and embeddings, unknown losses, a scale with a bias",
        "CatBoost: the same bits",
    ),
    Format(
        "scikit-learn pickle, with `--trust-pickle`",
        COMPILE,
        "decision trees, random forests, extra trees, Bagging of trees, GradientBoosting, HistGradientBoosting; in a "
        "Pipeline behind scalers, SimpleImputer and OneHotEncoder, ColumnTransformer and FeatureUnion of them; other "
        "estimators, however they are composed: what skl2onnx makes ONNX of, where it is installed",
        "what skl2onnx refuses, or gives other answers for; categories of text",
        "scikit-learn: trees the same bits, others 1e-4 of a column",
        "scikit-learn",
    ),
    Format(
        "ONNX trees",
        COMPILE,
        "TreeEnsembleRegressor, TreeEnsembleClassifier (ai.onnx.ml 1 to 4), TreeEnsemble (5)",
        "other operators than Cast, ZipMap, Identity, Concat of inputs; MIN, MAX, PROBIT",
        "ONNX Runtime: the same bits in float32, 1e-6 in float64",
        "ONNX trees",
        "xgboost-100x6",
        "onnxruntime",
    ),
    Format(
        "TMVA weights.xml, BDT",
        COMPILE,
        "BDT of two classes by AdaBoost, Bagging, Grad; packed by gzip, too",
        "Fisher cuts, transformations, regression, several classes",
        "the rules of TMVA, by a second reader",
        "TMVA BDT",
    ),
    Format(
        "conifer JSON",
        COMPILE,
        "both splitting conventions, with `--splitting` files that do not state theirs; scores in float64, not in the fixed "
        "point of the firmware",
        "oblique splits",
        "the rules of conifer, by a second reader",
        "conifer",
    ),
    Format(
        "ONNX networks",
        COMPILE,
        "opset 7 to 21, [these operators](onnx_operators.md); models of a fixed number of rows become models of any",
        "other operators, attributes and types: ONNX Runtime runs the file as it is",
        "ONNX Runtime",
        "ONNX network",
        "mlp",
        "onnxruntime",
    ),
    Format(
        "torch: a module of a pickle, with `--trust-pickle`; safetensors or weights with `FILE.py:FACTORY --weights FILE`",
        COMPILE,
        "what torch.export, TorchInductor or TorchScript takes",
        "weights whose names or shapes are not those of the module",
        "torch",
        "torch",
    ),
    Format(
        "TorchScript",
        f"the program, {COMPILE}",
        "scripted and traced models, branches and loops on constants; [just in time](just_in_time.md) what torch loads",
        "state of several rows that calls change; as packages: control flow that depends on the data, which runs just in time",
        "torch",
        "TorchScript",
    ),
    Format(
        "LWTNN JSON",
        COMPILE,
        "sequential and graph: dense, normalization, maxout, highway, embedding, lstm, gru, simplernn",
        "other layers and activations",
        "nothing; the tests have LWTNN's rules in NumPy, files of others LWTNN itself",
        "LWTNN",
    ),
    Format(
        "Keras .keras, .h5, .json with weights",
        COMPILE,
        "sequential and functional models of Keras 2 and 3, with the back end of Keras 3 for torch",
        "Lambda layers, custom objects, layers that Keras 3 lacks",
        "Keras: its own `predict`; files of others of Keras 2: TensorFlow's Keras 2",
        "Keras",
    ),
    Format(
        "TensorFlow SavedModel, frozen graph (.pb, .graphdef)",
        COMPILE,
        "what tf2onnx makes ONNX of, where it and TensorFlow are installed",
        "what tf2onnx or the importer of ONNX refuses",
        "TensorFlow, ONNX Runtime",
        "TensorFlow",
    ),
    Format(
        "TMVA weights.xml, MLP and DL",
        COMPILE,
        "MLP, DNN and DL of dense layers, normalised inputs",
        "PCA, Deco, Gauss, convolutions, recurrent layers",
        "the rules of TMVA, by a second reader in the tests",
        "TMVA network",
    ),
    Format(
        "hls4ml, QKeras",
        COMPILE,
        "dense chains in fixed point: all rounding and overflow modes, relu, batch normalization; of QKeras also a first layer "
        "of floats, and softmax, sigmoid, tanh at the end",
        "tables of hls4ml (softmax, sigmoid, tanh), `alpha=auto`, graphs that are not a chain",
        "the same bits before a softmax: fractions in the tests, hls4ml, QKeras in float64",
        "QKeras",
    ),
    Format(
        "Exa.TrkX weights, checkpoint or text",
        COMPILE,
        "the edge classifier ResAGNN of the published code; text also packed by gzip",
        "other networks, numbers that are not finite",
        "nothing; the tests have its forward pass in NumPy",
    ),
]


def page(results: str | Path) -> Iterator[str]:
    """The lines of docs/models_of_others.md, with the figures of a folder of results. Raises InputError."""
    folder = Path(results)
    texts = {}
    for name in (COMPARED, PUBLISHED):
        try:
            texts[name] = (folder / name).read_text()
        except OSError as error:
            expected = "expected the folder benchmarks/results"
            raise InputError(f"{folder / name}: cannot read: {error.strerror}; {expected}") from error
    yield from HEAD.splitlines()
    times = _times(texts[COMPARED])
    published = list(json.loads(texts[PUBLISHED])["models"].values())
    for one in FORMATS:
        cells = (one.name, one.command, one.read, one.refused, one.compared, _right(one, published), _speed(one, times))
        yield "| " + " | ".join(cells) + " |"


def _right(one: Format, published: list[dict]) -> str:
    """ "9 of 10" models give the framework's answers."""
    of_format = [model["is_right"] for model in published if model["format"] == one.family]
    return f"{sum(of_format)} of {len(of_format)}" if of_format else ""


def _times(text: str) -> dict[tuple[str, str, int], float]:
    """Microseconds of a call from C++ on one thread, by model, variant and rows."""
    runs = [run for run in json.loads(text)["runs"] if run["part"] in ("networks", "trees", "trees-many")]
    rows = [row for run in runs for row in run["rows"] if row["threads"] == 1 and row["stage"] == "total"]
    return {(row["model"], row["variant"], row["n"]): row["median_us"] for row in rows}


def _speed(one: Format, times: dict[tuple[str, str, int], float]) -> str:
    over = {}
    for (model, variant, n), time in times.items():
        if (model, variant) == (one.model, one.peer):
            ours = next(times[model, name, n] for name in ("aot_fused", "tensoa") if (model, name, n) in times)
            over[n] = time / ours
    return _listed(over)


def _listed(over: dict[int, float]) -> str:
    """Of one row, a few and many."""
    chosen = [rows for rows in (1, 16, 1000, 1_000_000) if rows in over]
    return ", ".join(f"{over[rows]:.3g} × at {rows:,}".replace(",", " ") for rows in chosen)
