#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Our trees next to XGBoost, LightGBM, ONNX Runtime and a plain traversal on this CPU, calls of one thread or of several.

    .venv/bin/python bench/peers/forest.py --out FILE.json

Trains two models of XGBoost and one of LightGBM on simulated events (once: they lie in build/forest_models), writes
the trees of XGBoost also as LightGBM text and as ONNX, checks both files against XGBoost, and calls `tensoa-bench
forest` with the libraries in the wheels of this environment: xgboost-cpu, lightgbm, onnxruntime, onnx.

Further peers take part where environment.py can install them, and the reason of each that is missing is printed: code that tl2cgen
(with treelite) and lleaves generate for the small models (500 trees of depth 8 take them 20 minutes and more), FastForest, and TMVA's
RBDT: its source file, compiled with the headers and libraries of ROOT's wheel, which has no TMVA.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import environment
import lightgbm
import numpy as np
import onnx
import onnxruntime
import xgboost

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = 28
TRAINING_ROWS = 400_000
ROWS = 100_000
XGBOOST = {"xgboost-100x6": (100, 6), "xgboost-500x8": (500, 8)}
LIGHTGBM = "lightgbm-100x31"
SMALL = "xgboost-100x6"  # of XGBoost: for generated code
MISSING = 0xFFFFFFFF  # the bits of a NaN that the code of tl2cgen takes for a missing value


def events(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A lepton, missing energy, four jets of (pt, eta, phi, tag), masses; values of a jet that is missing are MISSING."""
    draw = np.random.default_rng(seed)
    is_signal = draw.random(rows) < 0.5
    x = np.empty((rows, COLUMNS), np.float32)
    scale = np.where(is_signal, 1.15, 1.0)
    jets = draw.poisson(np.where(is_signal, 3.2, 2.7))
    x[:, 0] = draw.gamma(2.0, 0.5 * scale)
    x[:, 1] = draw.normal(0, np.where(is_signal, 0.9, 1.1))
    x[:, 2] = draw.uniform(-np.pi, np.pi, rows)
    x[:, 3] = draw.gamma(1.8, 0.55 * scale)
    x[:, 4] = draw.uniform(-np.pi, np.pi, rows)
    for jet in range(4):
        first = 5 + 4 * jet
        x[:, first] = draw.gamma(2.5, scale / (2.5 * (1 + 0.5 * jet)))
        x[:, first + 1] = draw.normal(0, np.where(is_signal, 1.0, 1.2))
        x[:, first + 2] = draw.uniform(-np.pi, np.pi, rows)
        x[:, first + 3] = draw.beta(np.where(is_signal, 2.0, 1.4), 2.0)
        x[jets <= jet, first : first + 4] = np.nan
    pt = np.nan_to_num(x[:, [5, 9, 13, 17]])
    x[:, 21] = np.sqrt(2 * x[:, 0] * x[:, 3] * (1 - np.cos(x[:, 2] - x[:, 4])))
    x[:, 22] = np.sqrt(2 * x[:, 5] * x[:, 9] * np.cosh(x[:, 6] - x[:, 10]))
    x[:, 23] = np.sqrt(2 * x[:, 9] * x[:, 13] * np.cosh(x[:, 10] - x[:, 14]))
    x[:, 24] = pt.sum(axis=1) + x[:, 0] + x[:, 3]
    x[:, 25] = pt.max(axis=1) / (1e-3 + pt.sum(axis=1))
    x[:, 26] = x[:, 0] * (1 + 0.2 * draw.standard_normal(rows)) - 0.3 * np.where(is_signal, x[:, 3], x[:, 24])
    x[:, 27] = np.minimum(jets, 6)
    x.view(np.uint32)[np.isnan(x)] = MISSING
    return x, is_signal.astype(np.float32)


def train(folder: Path) -> None:
    x, y = events(TRAINING_ROWS, 1)
    matrix = xgboost.QuantileDMatrix(x, y)
    for name, (trees, depth) in XGBOOST.items():
        parameters = {"objective": "binary:logistic", "tree_method": "hist", "max_depth": depth, "eta": 0.1}
        xgboost.train(parameters, matrix, trees).save_model(folder / f"{name}.json")
    lightgbm.train(
        {"objective": "binary", "num_leaves": 31, "verbose": -1}, lightgbm.Dataset(x, y), num_boost_round=100
    ).save_model(folder / f"{LIGHTGBM}.txt")


class XgboostTree:
    """A tree of the JSON file: `x < threshold` goes left, NaN where `nan_left` says."""

    def __init__(self, tree: dict) -> None:
        self.left = tree["left_children"]
        self.right = tree["right_children"]
        self.column = tree["split_indices"]
        self.nan_left = tree["default_left"]
        self.value = np.asarray(tree["split_conditions"], np.float32)  # a threshold, or that of the leaf
        self.is_leaf = [child < 0 for child in self.left]


def read_trees(file: Path) -> tuple[list[XgboostTree], float]:
    """The trees, and the margin that they start from."""
    learner = json.loads(file.read_text())["learner"]
    score = np.float32(json.loads(learner["learner_model_param"]["base_score"])[0])
    margin = -np.log(np.float32(1) / score - np.float32(1))
    return [XgboostTree(tree) for tree in learner["gradient_booster"]["model"]["trees"]], float(margin)


def lightgbm_text(trees: list[XgboostTree], base: float) -> str:
    """The same trees: x < t of float32 is x <= the number below t. The base goes into the leaves of the first tree."""
    names = " ".join(f"Column_{i}" for i in range(COLUMNS))
    infos = " ".join("[-inf:inf]" for _ in range(COLUMNS))
    head = (
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
        f"max_feature_idx={COLUMNS - 1}\nobjective=binary sigmoid:1\nfeature_names={names}\nfeature_infos={infos}\n"
    )
    parts = []
    for number, tree in enumerate(trees):
        inner = [i for i, is_leaf in enumerate(tree.is_leaf) if not is_leaf]
        leaves = [i for i, is_leaf in enumerate(tree.is_leaf) if is_leaf]
        place = {node: i for i, node in enumerate(inner)} | {node: -1 - i for i, node in enumerate(leaves)}
        start = base if number == 0 else 0.0
        lines = {
            "split_feature": [tree.column[i] for i in inner],
            "split_gain": [0] * len(inner),
            "threshold": [repr(float(np.nextafter(tree.value[i], np.float32(-np.inf)))) for i in inner],
            "decision_type": [8 + 2 * tree.nan_left[i] for i in inner],
            "left_child": [place[tree.left[i]] for i in inner],
            "right_child": [place[tree.right[i]] for i in inner],
            "leaf_value": [repr(start + float(tree.value[i])) for i in leaves],
            "leaf_weight": [1] * len(leaves),
            "leaf_count": [1] * len(leaves),
            "internal_value": [0] * len(inner),
            "internal_weight": [0] * len(inner),
            "internal_count": [1] * len(inner),
        }
        text = "".join(f"{key}={' '.join(map(str, values))}\n" for key, values in lines.items())
        parts.append(f"Tree={number}\nnum_leaves={len(leaves)}\nnum_cat=0\n{text}is_linear=0\nshrinkage=1\n\n")
    sizes = " ".join(str(len(part) + 1) for part in parts)
    return "\n".join([f"{head}tree_sizes={sizes}\n", *parts, "end of trees\n", "pandas_categorical:null\n"])


def onnx_model(trees: list[XgboostTree], base: float) -> onnx.ModelProto:
    lists: dict[str, list] = {
        f"nodes_{key}": []
        for key in "treeids nodeids featureids modes values truenodeids falsenodeids missing_value_tracks_true".split()
    }
    targets: dict[str, list] = {f"target_{key}": [] for key in "treeids nodeids ids weights".split()}
    for number, tree in enumerate(trees):
        count = len(tree.left)
        leaf = tree.is_leaf
        lists["nodes_treeids"] += [number] * count
        lists["nodes_nodeids"] += range(count)
        lists["nodes_featureids"] += [0 if leaf[i] else tree.column[i] for i in range(count)]
        lists["nodes_modes"] += ["LEAF" if leaf[i] else "BRANCH_LT" for i in range(count)]
        lists["nodes_values"] += [0.0 if leaf[i] else float(tree.value[i]) for i in range(count)]
        lists["nodes_truenodeids"] += [max(child, 0) for child in tree.left]
        lists["nodes_falsenodeids"] += [max(child, 0) for child in tree.right]
        lists["nodes_missing_value_tracks_true"] += tree.nan_left
        places = [i for i in range(count) if leaf[i]]
        targets["target_treeids"] += [number] * len(places)
        targets["target_nodeids"] += places
        targets["target_ids"] += [0] * len(places)
        targets["target_weights"] += [float(tree.value[i]) for i in places]
    node = onnx.helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        n_targets=1,
        base_values=[base],
        aggregate_function="SUM",
        **lists,
        **targets,
    )
    values = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", size])
        for name, size in (("x", COLUMNS), ("y", 1))
    ]
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    graph = onnx.helper.make_graph([node], "forest", values[:1], values[1:])
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)


def convert(folder: Path, x: np.ndarray) -> None:
    """Writes the trees of XGBoost for the other peers, and checks what these answer."""
    for name in XGBOOST:
        trees, base = read_trees(folder / f"{name}.json")
        (folder / f"{name}.txt").write_text(lightgbm_text(trees, base))
        onnx.save(onnx_model(trees, base), folder / f"{name}.onnx")
        booster = xgboost.Booster(model_file=folder / f"{name}.json")
        text = folder / f"{name}.rbdt"
        booster.dump_model(text)
        (folder / f"{name}.dump").write_text(f"{text.read_text()}base_score=[{base!r}]\n")
        truth = booster.inplace_predict(x, predict_type="margin")
        session = onnxruntime.InferenceSession(folder / f"{name}.onnx", providers=["CPUExecutionProvider"])
        answers = {
            "LightGBM": lightgbm.Booster(model_file=folder / f"{name}.txt").predict(x, raw_score=True),
            "ONNX Runtime": session.run(None, {"x": x})[0].ravel(),
        }
        for peer, answer in answers.items():
            if not np.abs(answer - truth).max() <= 1e-4:  # sums in another order
                sys.exit(f"{name}: {peer} is {np.abs(answer - truth).max()} off, expected at most 1e-4")


def generate_code(folder: Path) -> None:
    """Libraries by tl2cgen and lleaves, of small models; says which are missing."""
    for model, generator, make in (
        (SMALL, "tl2cgen", by_tl2cgen),
        (SMALL, "lleaves", by_lleaves),
        (LIGHTGBM, "lleaves", by_lleaves),
    ):
        library = folder / f"{model}.{generator}.so"
        if library.exists():
            continue
        if importlib.util.find_spec(generator) is None:
            print(f"left out: {generator} on {model}, because it is not installed")
            continue
        try:
            make(folder / model, library)
        except Exception as error:  # of whatever a generator throws
            print(f"left out: {generator} on {model}, because {type(error).__name__}: {str(error).strip().splitlines()[0]}")


def by_tl2cgen(model: Path, library: Path) -> None:
    import tl2cgen
    import treelite

    trees = treelite.frontend.load_xgboost_model(model.with_suffix(".json"))
    tl2cgen.export_lib(trees, toolchain="gcc", libpath=library, params={"parallel_comp": 8})


def by_lleaves(model: Path, library: Path) -> None:
    import lleaves

    code = library.with_suffix(".o")
    lleaves.Model(model_file=str(model.with_suffix(".txt"))).compile(cache=code, raw_score=True)
    subprocess.run(["gcc", "-shared", code, "-o", library, "-lm"], check=True)


def compiled_sources(peer: str, folder: Path, files: list[Path], flags: list[str]) -> list[str]:
    """The option of `tensoa-bench forest` for a peer of environment.SOURCES, with bench/peers/PEER.cpp around it."""
    name = peer.lower()
    library = folder / f"{name}.so"
    common = ["-O3", "-march=native", "-shared", "-fPIC"]
    subprocess.run(["g++", *common, ROOT / f"bench/peers/{name}.cpp", *files, *flags, "-o", library], check=True)
    return [f"--{name}={library}"]


def fastforest(folder: Path) -> list[str]:
    source = environment.sources("FastForest")
    parts = [source / "src" / name for name in ("common_details.cpp", "fastforest.cpp", "fastforest_functions.cpp")]
    return compiled_sources("FastForest", folder, parts, ["-std=c++20", f"-I{source / 'include'}", f"-I{source / 'src'}"])


def rbdt(folder: Path) -> list[str]:
    source, root = environment.sources("RBDT") / "tmva" / "tmva", environment.site_packages() / "ROOT"
    flags = ["-std=c++17", f"-I{source / 'inc'}", f"-I{root / 'include'}", f"-L{root / 'lib'}", "-lROOTVecOps", "-lCore"]
    return compiled_sources("RBDT", folder, [source / "src" / "RBDT.cxx"], [*flags, f"-Wl,-rpath,{root / 'lib'}"])


def from_sources(folder: Path) -> list[str]:
    """The options of all that can be compiled."""
    missing, options = environment.set_up(environment.SOURCES), []
    for peer, compile_peer in (("FastForest", fastforest), ("RBDT", rbdt)):
        if peer in missing:
            print(f"left out: {peer}, because {missing[peer]}")
        else:
            options += compile_peer(folder)
    return options


def features_of(folder: Path, rows: int) -> Path:
    """The file of features; with the same rows several times where a call has more."""
    file = folder / "features.f32"
    copies = -(-rows // ROWS)
    if copies < 2:
        return file
    more = folder / f"features-{copies}.f32"
    if not more.exists():
        more.write_bytes(file.read_bytes() * copies)
    return more


def wheel_file(module, pattern: str) -> Path:
    return next(Path(module.__file__).parent.glob(pattern))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, metavar="FILE.json")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="where the project is built")
    parser.add_argument("--repeats", default="7", help="rounds")
    parser.add_argument("--rows", nargs="+", default=[], help="rows of a call (default: that of the program)")
    parser.add_argument("--threads", nargs="+", default=["1"], help="that call at the same time (default: 1)")
    parser.add_argument("--models", nargs="+", default=[*XGBOOST, LIGHTGBM], help="which of them (default: all)")
    options = parser.parse_args()
    folder = options.build / "forest_models"
    folder.mkdir(parents=True, exist_ok=True)
    stamp = folder / "features.f32"
    if not stamp.exists():
        train(folder)
        x, _ = events(ROWS, 2)
        convert(folder, x[:10_000])
        x.tofile(stamp)
    generate_code(folder)
    libraries = [
        f"--xgboost={wheel_file(xgboost, 'lib/libxgboost.so')}",
        f"--lightgbm={wheel_file(lightgbm, 'lib/lib_lightgbm.so')}",
        f"--onnxruntime={wheel_file(onnxruntime, 'capi/libonnxruntime.so.*')}",
        *from_sources(folder),
    ]
    models = [folder / f"{name}.{'json' if name in XGBOOST else 'txt'}" for name in options.models]
    command = [options.build / "tensoa-bench", "forest", *models, *libraries]
    command += ["--features", features_of(folder, max(map(int, options.rows), default=0))]
    command += ["--threads", *options.threads, "--repeats", options.repeats, "--json", options.out]
    sys.exit(subprocess.run([*command, *(["--rows", *options.rows] if options.rows else [])], check=False).returncode)


if __name__ == "__main__":
    main()
