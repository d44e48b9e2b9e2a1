# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Trains small models of XGBoost and LightGBM and saves them with rows and the framework's own margins.

    make_tree_files.py FOLDER

FOLDER/NAME.json, NAME.ubj or NAME.txt is a model; NAME.rows, NAME.margins and NAME.answers are matrices: rows and columns
as int64, then float64 values, row after row. NAME.best_margins are margins up to the best iteration. Models that answer
with a class have no NAME.answers.
"""

import json
import sys
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import xgboost
from numpy.typing import NDArray

COLUMNS = 7
CATEGORIES = (5, 6)  # the columns of categories: few, and more than 64
FLOAT_MAX = float(np.finfo(np.float32).max)
# Values that no training data has. LightGBM takes up to 1e-35f for zero.
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 1e-38, -1e-38, FLOAT_MAX, -FLOAT_MAX]
SPECIAL += [sign * float(np.nextafter(np.float32(1e-35), to)) for sign in (1, -1) for to in (0, np.float32(1))]
SPECIAL += [float(np.float32(1e-35)), -float(np.float32(1e-35))]
SPECIAL_CATEGORIES = [np.nan, np.inf, -np.inf, -0.0, -0.5, -1.0, -7.0, 1.5, 63.0, 64.0, 127.0, 128.0, 1e6, 16777216.0, 3e9]

Matrix = NDArray[Any]


class Case:
    """A name, and the data that a model of it is trained with."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / name
        self.random = np.random.default_rng(sum(name.encode()))
        self.x = self.rows(1500)
        numbers = np.nan_to_num(self.x)
        self.y = numbers[:, 0] * 2 + np.sin(3 * numbers[:, 1]) + numbers[:, 2] * (numbers[:, 5] > 2)
        self.y += (numbers[:, 6] % 7 - 3) / 2 + self.random.normal(size=len(numbers)) / 5

    def rows(self, n: int) -> Matrix:
        """Random ones: missing values, zeros, whole numbers, tiny ones, two columns of categories."""
        x = self.random.normal(size=(n, COLUMNS))
        x[:, 2] = np.round(x[:, 2] * 2)
        x[self.random.random(n) < 0.4, 3] = 0
        x[:, 4] *= 1e-36
        x[:, 5] = self.random.integers(0, 6, n)
        x[:, 6] = self.random.integers(0, 150, n)
        x[self.random.random((n, COLUMNS)) < 0.08] = np.nan
        return x.astype(np.float32).astype(np.float64)

    def edges(self, thresholds: list[tuple[int, float]], number: type) -> Matrix:
        """Random rows, with each threshold and its neighbours, and the special values in each column."""
        changes = []
        for column, threshold in dict.fromkeys(thresholds):
            t = number(threshold)
            changes += [(column, value) for value in (t, np.nextafter(t, number(-np.inf)), np.nextafter(t, number(np.inf)))]
        for column in range(COLUMNS):
            changes += [(column, value) for value in (SPECIAL_CATEGORIES if column in CATEGORIES else SPECIAL)]
        x = self.rows(400 + len(changes))
        for row, (column, value) in enumerate(changes):
            x[row, column] = value
        x[-1] = np.nan
        return x

    def write(self, ending: str, matrix: Matrix) -> None:
        matrix = np.asarray(matrix, np.float64)
        matrix = matrix.reshape(len(matrix), -1)
        header = np.array(matrix.shape, np.int64).tobytes()
        self.path.with_suffix(ending).write_bytes(header + np.ascontiguousarray(matrix).tobytes())


# ---- XGBoost


def booster_of(model: xgboost.Booster) -> dict[str, Any]:
    return json.loads(model.save_raw("json"))["learner"]["gradient_booster"]


def xgboost_predict(model: xgboost.Booster, x: Matrix, margin: bool, rounds: int = 0) -> Matrix:
    if "weight_drop" in booster_of(model):
        # In place, dart adds the base to each tree and takes it off again.
        return model.predict(xgboost.DMatrix(x), output_margin=margin)
    # In place: a DMatrix refuses infinities.
    kind = "margin" if margin else "value"
    return model.inplace_predict(x.astype(np.float32), iteration_range=(0, rounds), predict_type=kind)


def xgboost_thresholds(model: xgboost.Booster) -> list[tuple[int, float]]:
    booster = booster_of(model)
    found = []
    for tree in booster.get("gbtree", booster)["model"]["trees"]:
        types = tree.get("split_type") or [0] * len(tree["left_children"])
        nodes = zip(tree["left_children"], types, tree["split_indices"], tree["split_conditions"], strict=True)
        found += [(column, value) for left, kind, column, value in nodes if left != -1 and kind == 0]
    return found


def write_xgboost(case: Case, model: xgboost.Booster) -> None:
    for ending in ("json", "ubj"):
        case.path.with_suffix(f".{ending}").write_bytes(model.save_raw(ending))
    x = case.edges(xgboost_thresholds(model), np.float32)
    if "weight_drop" in booster_of(model):
        x = np.clip(x, -FLOAT_MAX, FLOAT_MAX)
    case.write(".rows", x)
    case.write(".margins", xgboost_predict(model, x, margin=True))
    if case.path.name != "xgboost_softmax":
        case.write(".answers", xgboost_predict(model, x, margin=False))
    if model.attr("best_iteration") is not None:
        case.write(".best_margins", xgboost_predict(model, x, True, model.best_iteration + 1))


def train_xgboost(
    case: Case,
    y: Matrix,
    params: dict[str, Any],
    rounds: int = 8,
    categories: bool = False,
    names: bool = False,
    **data: Any,
) -> xgboost.Booster:
    types = ["c" if categories and column in CATEGORIES else "q" for column in range(COLUMNS)]
    matrix = xgboost.DMatrix(
        case.x,
        y,
        feature_types=types if categories else None,
        feature_names=[f'col "{column}" µ' for column in range(COLUMNS)] if names else None,
        enable_categorical=categories,
        **data,
    )
    stop = params.pop("early_stop", None)
    # On half of the truth the error is least on the way.
    evals = [(xgboost.DMatrix(case.x, y / 2), "half")] if stop else []
    params = {"max_depth": 4, "nthread": 1, "seed": 1, "verbosity": 0, **params}
    return xgboost.train(params, matrix, rounds, evals=evals, early_stopping_rounds=stop, verbose_eval=False)


def as_before_2(model: xgboost.Booster) -> xgboost.Booster:
    """The same in the form of XGBoost 1: plain base_score, directions as booleans, no groups of rounds."""
    whole = json.loads(model.save_raw("json"))
    whole["version"] = [1, 4, 2]
    learner = whole["learner"]
    learner["learner_model_param"] = {"base_score": "2.5E-1", "num_class": "0", "num_feature": str(COLUMNS)}
    trees = learner["gradient_booster"]["model"]
    del trees["iteration_indptr"], trees["cats"]
    for tree in trees["trees"]:
        tree["default_left"] = [bool(left) for left in tree["default_left"]]
    old = xgboost.Booster()
    old.load_model(bytearray(json.dumps(whole).encode()))
    return old


def make_xgboost(folder: Path) -> None:
    def case(name: str) -> Case:
        return Case(folder, f"xgboost_{name}")

    for name, objective in {
        "regression": "reg:squarederror",
        "pseudohuber": "reg:pseudohubererror",
        "absolute": "reg:absoluteerror",
        "quantile": "reg:quantileerror",
    }.items():
        one = case(name)
        write_xgboost(one, train_xgboost(one, one.y, {"objective": objective, "quantile_alpha": 0.3}, names=True))
    for name, objective in {
        "binary": "binary:logistic",
        "logistic": "reg:logistic",
        "raw": "binary:logitraw",
        "hinge": "binary:hinge",
    }.items():
        one = case(name)
        write_xgboost(one, train_xgboost(one, one.y > 0.7, {"objective": objective}))
    for name, objective in {
        "poisson": "count:poisson",
        "gamma": "reg:gamma",
        "tweedie": "reg:tweedie",
        "cox": "survival:cox",
        "squaredlog": "reg:squaredlogerror",
    }.items():
        one = case(name)
        write_xgboost(one, train_xgboost(one, np.round(np.abs(one.y)) + 1, {"objective": objective}))
    one = case("aft")
    bounds = {"label_lower_bound": np.abs(one.y) + 1, "label_upper_bound": np.abs(one.y) + 2}
    write_xgboost(one, train_xgboost(one, np.abs(one.y), {"objective": "survival:aft"}, **bounds))
    for name in ("pairwise", "ndcg", "map"):
        one = case(f"rank_{name}")
        groups = {"qid": np.arange(len(one.y)) // 30}
        write_xgboost(one, train_xgboost(one, one.y > 0.7, {"objective": f"rank:{name}"}, **groups))
    for name in ("softprob", "softmax"):
        one = case(name)
        write_xgboost(one, train_xgboost(one, np.digitize(one.y, [-1, 1]), {"objective": f"multi:{name}", "num_class": 3}))

    one = case("categories")
    write_xgboost(one, train_xgboost(one, one.y, {}, categories=True))
    one = case("one_category")
    write_xgboost(one, train_xgboost(one, one.y, {"max_cat_to_onehot": 1000}, categories=True))
    one = case("forest")
    forest = {"num_parallel_tree": 5, "subsample": 0.6, "colsample_bynode": 0.6, "eta": 1}
    write_xgboost(one, train_xgboost(one, one.y, forest, 2))
    one = case("dart")
    dart = {"booster": "dart", "rate_drop": 0.4, "one_drop": 1}
    write_xgboost(one, train_xgboost(one, one.y > 0, {**dart, "objective": "binary:logistic"}, 12))
    one = case("dart_softprob")
    write_xgboost(one, train_xgboost(one, np.digitize(one.y, [0]), {**dart, "objective": "multi:softprob", "num_class": 2}))
    one = case("leafwise")
    write_xgboost(one, train_xgboost(one, one.y, {"grow_policy": "lossguide", "max_depth": 0, "max_leaves": 31}))
    one = case("pruned")
    write_xgboost(one, train_xgboost(one, one.y, {"tree_method": "exact", "gamma": 15}))

    one = case("targets")
    several = np.stack([one.y, -one.y, one.y**2], 1)
    write_xgboost(one, train_xgboost(one, several, {"num_parallel_tree": 2}))
    one = case("leaf_vectors")
    write_xgboost(one, train_xgboost(one, several, {"multi_strategy": "multi_output_tree"}))
    one = case("quantiles")
    write_xgboost(one, train_xgboost(one, one.y, {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.5, 0.9]}))

    one = case("best_iteration")
    write_xgboost(one, train_xgboost(one, one.y, {"early_stop": 2, "num_parallel_tree": 2}, 20))
    one = case("given_base")
    write_xgboost(one, train_xgboost(one, one.y > 0, {"objective": "binary:logistic", "base_score": 0.17}))
    one = case("before_2")
    old = as_before_2(train_xgboost(one, one.y > 0, {"objective": "binary:logistic"}))
    write_xgboost(one, old)
    one = case("one_leaf")
    write_xgboost(one, train_xgboost(one, one.y, {"gamma": 1e9}, 2))


# ---- LightGBM


def lightgbm_thresholds(model: lightgbm.Booster) -> list[tuple[int, float]]:
    found: list[tuple[int, float]] = []

    def visit(node: dict[str, Any]) -> None:
        if "split_feature" not in node:
            return
        if node["decision_type"] == "<=":
            found.append((node["split_feature"], node["threshold"]))
        visit(node["left_child"])
        visit(node["right_child"])

    for tree in model.dump_model()["tree_info"]:
        visit(tree["tree_structure"])
    return found


def write_lightgbm(folder: Path, name: str, label: Any, params: dict[str, Any], rounds: int = 8, **data: Any) -> None:
    one = Case(folder, f"lightgbm_{name}")
    categories = data.pop("categories", False)
    params = {"num_threads": 1, "verbose": -1, "seed": 1, "num_leaves": 12, "min_data_in_leaf": 5, **params}
    matrix = lightgbm.Dataset(
        one.x, label(one.y), categorical_feature=list(CATEGORIES) if categories else "auto", params=params, **data
    )
    model = lightgbm.train(params, matrix, rounds)
    model.save_model(one.path.with_suffix(".txt"))
    x = one.edges(lightgbm_thresholds(model), np.float64)
    margins = model.predict(x, raw_score=True)
    one.write(".answers", model.predict(x))
    # Of a random forest LightGBM calls the sum the raw score.
    one.write(".rows", x)
    one.write(".margins", margins / model.current_iteration() if params.get("boosting") == "rf" else margins)


def make_lightgbm(folder: Path) -> None:
    def number(y: Matrix) -> Matrix:
        return y

    def positive(y: Matrix) -> Matrix:
        return np.abs(y) + 0.5

    def share(y: Matrix) -> Matrix:
        return 1 / (1 + np.exp(-y))

    def is_large(y: Matrix) -> Matrix:
        return y > 0.7

    def three(y: Matrix) -> Matrix:
        return np.digitize(y, [-1, 1])

    for objective in ("regression", "regression_l1", "huber", "fair", "quantile", "mape"):
        write_lightgbm(folder, objective, number, {"objective": objective})
    for objective in ("poisson", "gamma", "tweedie"):
        write_lightgbm(folder, objective, positive, {"objective": objective})
    for objective in ("cross_entropy", "cross_entropy_lambda"):
        write_lightgbm(folder, objective, share, {"objective": objective})
    for objective in ("multiclass", "multiclassova"):
        write_lightgbm(folder, objective, three, {"objective": objective, "num_class": 3, "sigmoid": 0.7})
    for objective in ("lambdarank", "rank_xendcg"):
        write_lightgbm(folder, objective, is_large, {"objective": objective}, group=[30] * 50)
    write_lightgbm(folder, "sqrt", number, {"objective": "regression", "reg_sqrt": True})
    write_lightgbm(folder, "binary", is_large, {"objective": "binary", "sigmoid": 1.7})
    write_lightgbm(folder, "zero_missing", number, {"zero_as_missing": True})
    write_lightgbm(folder, "none_missing", number, {"use_missing": False})
    categories = {"max_cat_to_onehot": 2, "cat_smooth": 1, "min_data_per_group": 5}
    write_lightgbm(folder, "categories", number, categories, categories=True)
    write_lightgbm(folder, "one_category", number, {"max_cat_to_onehot": 1000, "min_data_per_group": 5}, categories=True)
    forest = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
    write_lightgbm(folder, "forest", number, forest, 7)
    write_lightgbm(folder, "forest_binary", is_large, {**forest, "objective": "binary"}, 7)
    write_lightgbm(folder, "dart", number, {"boosting": "dart", "drop_rate": 0.5})
    write_lightgbm(folder, "names", number, {}, feature_name=[f"feature_{column}µ" for column in range(COLUMNS)])
    write_lightgbm(folder, "one_leaf", number, {"min_gain_to_split": 1e9}, 2)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    make_xgboost(folder)
    make_lightgbm(folder)


if __name__ == "__main__":
    main()
