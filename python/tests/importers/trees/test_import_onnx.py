# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Ensembles of trees in ONNX compared with ONNX Runtime: sums are the same bits in float32."""

import importlib
import json

import numpy as np
import pytest

import tensoa
from exporting import block
from tensoa import forest
from tensoa.command import run
from tensoa.forest import Link
from tensoa.importers.trees.onnx_nodes import MODES
from tree_models import COLUMNS, binding_text, checked, command, contents, load, refusal, rows

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

DOMAIN = "ai.onnx.ml"
X, Y = rows(missing=0)


def random_trees(seed, modes, trees=6, targets=1, weights=None):
    """Lists of attributes of TreeEnsembleRegressor: trees of random shapes."""
    random = np.random.default_rng(seed)
    lists = {f"nodes_{name}": [] for name in "treeids nodeids featureids modes values truenodeids falsenodeids".split()}
    lists |= {f"target_{name}": [] for name in "treeids nodeids ids weights".split()}
    tracks = []
    for tree in range(trees):
        inner = int(random.integers(0, 9))
        names = list(range(2 * inner + 1))
        children, is_leaf = {}, [True] * (2 * inner + 1)
        for i in range(inner):
            node = int(random.choice([n for n in range(2 * i + 1) if is_leaf[n]]))
            children[node], is_leaf[node] = (2 * i + 1, 2 * i + 2), False
        for node, name in enumerate(names):
            true, false = (names[child] for child in children[node]) if node in children else (0, 0)
            value = float(np.float32(random.choice([*random.normal(size=5), 0.0, 1.0, 2.0])))
            mode = "LEAF" if is_leaf[node] else str(random.choice(modes))
            entry = tree, name, int(random.integers(0, COLUMNS)), mode, value, true, false
            for key, number in zip([key for key in lists if key.startswith("nodes_")], entry):
                lists[key].append(number)
            tracks.append(int(random.integers(0, 2)))
            for target in random.permutation(targets)[: random.integers(1, targets + 1)] if is_leaf[node] else []:
                weight = float(np.float32(random.normal() if weights is None else weights(random)))
                for key, number in zip("treeids nodeids ids weights".split(), (tree, name, int(target), weight)):
                    lists[f"target_{key}"].append(number)
    return lists, tracks


def saved(tmp_path, kind, attributes, opset=3, dtype=TensorProto.FLOAT, before=(), after=(), columns=COLUMNS):
    outputs = ["label", "scores"] if kind == "TreeEnsembleClassifier" else ["scores"]
    node = helper.make_node(kind, [before[-1].output[0] if before else "x"], outputs, domain=DOMAIN)
    attributes = {"n_targets": 1, **attributes} if kind == "TreeEnsembleRegressor" else attributes
    node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
    result = TensorProto.DOUBLE if kind == "TreeEnsemble" and dtype == TensorProto.DOUBLE else TensorProto.FLOAT
    graph = helper.make_graph(
        [*before, node, *after], "g", [helper.make_tensor_value_info("x", dtype, ["n", columns])],
        [helper.make_tensor_value_info("scores", result, None)],
    )  # fmt: skip
    opsets = [helper.make_opsetid(DOMAIN, opset), helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="a test")
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def classifier(lists, labels):
    """The same lists for TreeEnsembleClassifier."""
    renamed = {name.replace("target_", "class_"): values for name, values in lists.items()}
    kind = "classlabels_strings" if isinstance(labels[0], str) else "classlabels_int64s"
    return {**renamed, kind: labels}


@pytest.mark.parametrize("modes", [[mode] for mode in MODES[:6]] + [list(MODES[:4]), list(MODES[:6])])
def test_modes_of_nodes(tmp_path, modes):
    for seed in range(4):
        lists, tracks = random_trees(seed, modes)
        checked(saved(tmp_path, "TreeEnsembleRegressor", {**lists, "n_targets": 1}))
        made = checked(saved(tmp_path, "TreeEnsembleRegressor", {**lists, "nodes_missing_value_tracks_true": tracks}))
        assert made.reference.name == f"ONNX Runtime {onnxruntime.__version__}" and made.reference.tolerance == 0


@pytest.mark.parametrize("opset", [1, 2, 3, 4])
@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
def test_several_targets(tmp_path, opset, transform):
    lists, _ = random_trees(7, MODES[:4], targets=3)
    extra = {"n_targets": 3, "post_transform": transform, "base_values": [0.5, -1.5, 0.25]}
    made = checked(saved(tmp_path, "TreeEnsembleRegressor", {**lists, **extra}, opset))
    assert (made.ensemble.outputs, made.ensemble.leaf_size, made.ensemble.base_is_last) == (3, 3, True)
    assert made.ensemble.link.value == {"LOGISTIC": "sigmoid"}.get(transform, transform.lower())


def test_a_regressor_of_one_target_is_not_transformed(tmp_path):
    lists, _ = random_trees(1, MODES[:4])
    made = checked(saved(tmp_path, "TreeEnsembleRegressor", {**lists, "post_transform": "LOGISTIC", "base_values": [0.3]}))
    assert made.ensemble.link is Link.NONE
    assert made.notes == ["ONNX Runtime ignores the post_transform LOGISTIC of one target, and so does the package"]


def test_blocks_that_name_other_outputs_or_classes_in_another_order_are_refused(tmp_path, capsys):
    lists, _ = random_trees(7, MODES[:4], targets=3)
    after = [helper.make_node("Identity", ["scores"], ["probabilities"]), helper.make_node("Identity", ["label"], ["class"])]
    path = saved(tmp_path, "TreeEnsembleClassifier", classifier(lists, ["x", "y", "z"]), after=after)
    model = onnx.load(path)
    del model.graph.output[:]
    for name, kind in (("class", TensorProto.STRING), ("probabilities", TensorProto.FLOAT)):
        model.graph.output.append(helper.make_tensor_value_info(name, kind, None))
    onnx.save(model, path)
    for name, columns, message in (
        ("probabilities", "xyz", None),
        ("scores", "abc", None),
        ("class", "xyz", 'block "class": it has the name of another output of the model than the answers of its trees'),
        ("scores", "zyx", "its columns are z, y, x; expected the classes in the order of the model: x, y, z"),
    ):
        out = tmp_path / f"{name}{columns}.pt2"
        text = {**binding_text([block("features", "abcde")], columns), "outputs": [block(name, columns)]}
        (tmp_path / "b.json").write_text(json.dumps(text))
        arguments = [str(path), "--binding", str(tmp_path / "b.json"), "--out", str(out)]
        assert run(lambda: importlib.import_module("tensoa.import").main(arguments)) == (0 if message is None else 2)
        assert out.exists() == (message is None) and (message or "") in capsys.readouterr().err


@pytest.mark.parametrize("base", [{}, {"base_values": [0.7]}])
def test_averages(tmp_path, base):
    lists, _ = random_trees(2, MODES[:4])
    made = checked(saved(tmp_path, "TreeEnsembleRegressor", {**lists, "aggregate_function": "AVERAGE", **base}))
    assert made.ensemble.divisor == 6


@pytest.mark.parametrize("transform, link", [("NONE", Link.NONE), ("LOGISTIC", Link.SIGMOID), ("SOFTMAX", Link.NONE)])
@pytest.mark.parametrize("base", [{}, {"base_values": [-0.4]}])
def test_two_classes_of_one_score(tmp_path, transform, link, base):
    """Those of the second; of the first ONNX Runtime makes them, whether they may be negative or not."""
    lists, _ = random_trees(3, MODES[:4])
    attributes = {**classifier(lists, ["no", "yes"]), "post_transform": transform, **base}
    made = checked(saved(tmp_path, "TreeEnsembleClassifier", attributes))
    assert (made.ensemble.outputs, made.ensemble.classes, made.ensemble.link) == (1, ["yes"], link)
    lists, _ = random_trees(3, MODES[:4], weights=lambda random: random.random() / 6)
    attributes = {**classifier(lists, [0, 1]), "post_transform": transform, **base}
    made = checked(saved(tmp_path, "TreeEnsembleClassifier", attributes))
    assert (made.ensemble.outputs, made.ensemble.classes, made.ensemble.link) == (1, ["1"], link)


def test_small_probabilities_of_which_onnx_runtime_loses_digits(tmp_path):
    """It takes 1 - sigmoid(-x) in float32, so that its 2e-4 is 1e-8 away from the right one."""
    lists, _ = random_trees(3, MODES[:4], weights=lambda random: 0.0)
    lists["target_weights"] = [-8.506504 if tree == 0 else 0.0 for tree in lists["target_treeids"]]
    attributes = {**classifier(lists, ["no", "yes"]), "post_transform": "LOGISTIC"}
    status, out = command(saved(tmp_path, "TreeEnsembleClassifier", attributes), [block("a", "abcde")], ["s"])
    assert status == 0 and contents(out)[0].recorded.cases


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_scores_of_each_class(tmp_path, classes, transform):
    lists, _ = random_trees(5, MODES[:4], targets=classes)
    attributes = {**classifier(lists, list(range(classes))), "post_transform": transform}
    made = checked(saved(tmp_path, "TreeEnsembleClassifier", attributes))
    assert made.ensemble.outputs == classes


def test_numbers_of_float64(tmp_path):
    lists, _ = random_trees(4, MODES[:4])
    values = numpy_helper.from_array(np.array(lists.pop("nodes_values")) + 1e-12)
    weights = numpy_helper.from_array(np.array(lists.pop("target_weights")) + 1e-12)
    extra = {"nodes_values_as_tensor": values, "target_weights_as_tensor": weights}
    made = checked(saved(tmp_path, "TreeEnsembleRegressor", {**lists, **extra}, dtype=TensorProto.DOUBLE))
    assert made.ensemble.features is made.ensemble.sums is np.float64
    assert (made.ensemble.nodes["threshold"] != made.ensemble.nodes["threshold"].astype("f4")).any()


# ---- TreeEnsemble


def tensors(lists, tracks=None, dtype=np.float32, members=None, **more):
    """The same trees as attributes of TreeEnsemble; `members` of nodes of the mode BRANCH_EQ make it BRANCH_MEMBER."""
    leaves = {}
    for key in zip(lists["target_treeids"], lists["target_nodeids"]):
        leaves[key] = len(leaves)
    keys = list(zip(lists["nodes_treeids"], lists["nodes_nodeids"]))
    inner = {key: i for i, key in enumerate(key for key, mode in zip(keys, lists["nodes_modes"]) if mode != "LEAF")}
    out = {name: [] for name in "featureids truenodeids falsenodeids trueleafs falseleafs".split()}
    modes, splits, kept, roots, values = [], [], [], [], []
    for i, key in enumerate(keys):
        if key not in inner:
            assert i and keys[i - 1][0] == key[0], "a tree of one leaf"
            continue
        if not i or keys[i - 1][0] != key[0]:
            roots.append(inner[key])
        mode = MODES.index(lists["nodes_modes"][i])
        if members is not None and mode == 4:
            mode, values = 6, [*values, *members(len(values)), np.nan]
        modes.append(mode)
        splits.append(lists["nodes_values"][i])
        kept.append(0 if tracks is None else tracks[i])
        out["featureids"].append(lists["nodes_featureids"][i])
        for side in ("true", "false"):
            child = (key[0], lists[f"nodes_{side}nodeids"][i])
            out[f"{side}leafs"].append(int(child in leaves))
            out[f"{side}nodeids"].append(leaves[child] if child in leaves else inner[child])
    if values:
        more["membership_values"] = numpy_helper.from_array(np.array(values[:-1], dtype))
    return {
        **{f"nodes_{name}": numbers for name, numbers in out.items()},
        "nodes_modes": numpy_helper.from_array(np.array(modes, np.uint8)),
        "nodes_splits": numpy_helper.from_array(np.array(splits, dtype)),
        "nodes_missing_value_tracks_true": kept,
        "tree_roots": roots,
        "leaf_targetids": lists["target_ids"],
        "leaf_weights": numpy_helper.from_array(np.array(lists["target_weights"], dtype)),
        **more,
    }


def with_inner_nodes(seed, modes):
    """random_trees() of which none is a leaf alone."""
    while True:
        lists, tracks = random_trees(seed, modes)
        first = [lists["nodes_treeids"].index(tree) for tree in range(6)]
        if all(lists["nodes_modes"][i] != "LEAF" for i in first):
            return lists, tracks
        seed += 100


@pytest.mark.parametrize("modes", [MODES[:4], MODES[:6]])
def test_tree_ensemble(tmp_path, modes):
    for seed in range(4):
        lists, tracks = with_inner_nodes(seed, modes)
        made = checked(saved(tmp_path, "TreeEnsemble", tensors(lists, tracks, n_targets=1), 5))
        regressor = load(saved(tmp_path, "TreeEnsembleRegressor", {**lists, "nodes_missing_value_tracks_true": tracks}))
        x = rows()[0]
        np.testing.assert_array_equal(forest.margins(made.ensemble, x.T), forest.margins(regressor.ensemble, x.T))


def test_tree_ensemble_of_float64_and_averages(tmp_path):
    lists, _ = with_inner_nodes(1, MODES[:4])
    attributes = tensors(lists, dtype=np.float64, n_targets=1, aggregate_function=0)
    made = checked(saved(tmp_path, "TreeEnsemble", attributes, 5, TensorProto.DOUBLE))
    assert made.ensemble.divisor == 6 and made.ensemble.features is np.float64


@pytest.mark.parametrize("members", [lambda i: [1, 2, 5], lambda i: [0, 1][i % 2 :]])
def test_members_of_lists(tmp_path, members):
    for seed in range(3):
        lists, _ = with_inner_nodes(seed, ["BRANCH_LEQ", "BRANCH_EQ"])
        checked(saved(tmp_path, "TreeEnsemble", tensors(lists, members=members, n_targets=1), 5))


# ---- files of others


@pytest.mark.parametrize(
    "name, y, outputs",
    [
        ("RandomForestClassifier", np.digitize(Y, [0, 1]), 3),
        ("RandomForestClassifier", Y > 0, 1),
        ("RandomForestRegressor", Y, 1),
        ("GradientBoostingClassifier", np.digitize(Y, [0, 1]), 3),
        ("GradientBoostingClassifier", Y > 0, 1),
        ("ExtraTreesRegressor", Y, 1),
    ],
)
def test_files_of_skl2onnx(tmp_path, name, y, outputs):
    skl2onnx = pytest.importorskip("skl2onnx")
    from sklearn import ensemble

    model = getattr(ensemble, name)(n_estimators=7, max_depth=6).fit(X, y)
    (tmp_path / "model.any").write_bytes(skl2onnx.to_onnx(model, X[:1]).SerializeToString())
    made = checked(tmp_path / "model.any")
    assert made.ensemble.outputs == outputs and made.ensemble.source.startswith("ONNX, skl2onnx ")


def test_inputs_of_width_1_are_the_names_of_the_features(tmp_path):
    lists, _ = random_trees(1, MODES[:4])
    path = saved(tmp_path, "TreeEnsembleRegressor", lists)
    model = onnx.load(path)
    names = ["pt", "eta", "phi", "m", "q"]
    del model.graph.input[:]
    model.graph.input.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 1]) for name in names)
    (trees,) = model.graph.node
    model.graph.node.insert(0, helper.make_node("Concat", names, [trees.input[0]], axis=1))
    onnx.save(model, path)
    ensemble, x = checked(path).ensemble, X.astype(np.float32)
    expected = onnxruntime.InferenceSession(str(path)).run(None, {name: x[:, [i]] for i, name in enumerate(names)})[0]
    np.testing.assert_allclose(forest.answers(ensemble, x.T), expected, atol=1e-6)  # added in another order
    assert ensemble.column_names == names
    model.graph.node[0].attribute[0].i = 0
    onnx.save(model, path)
    assert "its graph has the operator Concat, expected one of" in refusal(path)
    model.graph.node[0].attribute[0].i = 1
    model.graph.node.append(helper.make_node("Concat", [trees.output[0], "pt"], ["more"], axis=1))
    onnx.save(model, path)
    assert "its graph has the operator Concat, expected one of" in refusal(path)


def test_casts_and_the_command(tmp_path):
    lists, _ = random_trees(1, MODES[:4])
    cast = [helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT), helper.make_node("Identity", ["f"], ["g"])]
    path = saved(tmp_path, "TreeEnsembleRegressor", lists, dtype=TensorProto.INT64, before=cast)
    status, out = command(path, [block("a", "abcde", column_dtype="int64", dtype="int64")], ["s"])
    assert status == 0
    manifest, files = contents(out)
    assert ["trained by", "ONNX, a test"] in manifest.forest.facts
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options)
    for case in manifest.recorded.cases:
        content = files["model/" + case.file]
        x = np.frombuffer(content, "i8", 5 * case.rows).reshape(5, -1).T
        answers = np.frombuffer(content, "f8", offset=40 * case.rows)
        np.testing.assert_allclose(answers, session.run(None, {"x": x})[0].ravel(), rtol=1e-6)


def test_columns_without_names_are_those_of_the_input_as_its_runtime_has_them(tmp_path):
    said = []
    tensoa.compile(
        saved(tmp_path, "TreeEnsembleRegressor", random_trees(1, MODES[:4])[0]), tmp_path / "m.pt2", report=said.append
    )
    assert said[:3] == [
        "input x[n,5]",
        "output score=score",
        "columns: x_0 to x_4, as the file has no names for them; yours: --columns x=COLUMN,…",
    ]
    (block_of_x,) = contents(tmp_path / "m.pt2")[0].binding["inputs"]
    assert [one["name"] for one in block_of_x["columns"]] == ["x_0", "x_1", "x_2", "x_3", "x_4"]


# ---- what is refused


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"nodes_modes": ["BRANCH_MEMBER"]}, "tree 0, node 1: its mode is BRANCH_MEMBER, expected one of LEAF, BRANCH_LEQ"),
        ({"nodes_values": [0.0]}, "its nodes_values has 1 numbers, expected 3"),
        ({"nodes_nodeids": [1, 2, 2]}, "tree 0, node 2: two nodes have this number"),
        ({"nodes_truenodeids": [1, 0, 0]}, "tree 0, node 1: two nodes lead to it"),
        ({"nodes_truenodeids": [9, 0, 0]}, "tree 0: nodes_truenodeids has node 9, which is not there"),
        ({"nodes_featureids": [-3, 0, 0]}, "tree 0, node 1: its column is -3, there are 5"),
        ({"nodes_featureids": [5, 0, 0]}, "tree 0, node 1: its column is 5, there are 5"),
        ({"nodes_values": [float("nan"), 0.0, 0.0]}, "tree 0, node 1: its threshold is nan, expected a number"),
        ({"target_nodeids": [1, 3]}, "tree 0, node 1: it has a weight, but is not a leaf"),
        ({"target_nodeids": [2, 7]}, "tree 0: target_nodeids has node 7, which is not there"),
        ({"target_ids": [0, 1]}, "a leaf adds to output 1, there are 1"),
        ({"target_weights": [0.0, float("inf")]}, "tree 0, node 3: its leaf value is inf, expected a finite number"),
        ({"n_targets": 0}, "it has 0 outputs, expected 1 to 65536"),
        ({"base_values": [1.0, 2.0]}, "it has 2 base values, expected 1"),
        ({"aggregate_function": "MAX"}, "its aggregate_function is MAX, expected SUM or AVERAGE"),
        ({"aggregate_function": "MEDIAN"}, 'its aggregate_function is "MEDIAN", expected one of AVERAGE, SUM, MIN, MAX'),
        ({"post_transform": "PROBIT"}, "its post_transform is PROBIT, which ONNX Runtime calculates with an error of 1e-3"),
        ({"nodes_missing_value_tracks_true": [1]}, "its nodes_missing_value_tracks_true has 1 numbers, expected 3"),
    ],
)
def test_damaged_lists_are_refused(tmp_path, changed, message):
    stump = {
        "nodes_treeids": [0, 0, 0], "nodes_nodeids": [1, 2, 3], "nodes_featureids": [0, 0, 0],
        "nodes_modes": ["BRANCH_LT", "LEAF", "LEAF"], "nodes_values": [0.5, 0.0, 0.0], "nodes_truenodeids": [2, 0, 0],
        "nodes_falsenodeids": [3, 0, 0], "target_treeids": [0, 0], "target_nodeids": [2, 3], "target_ids": [0, 0],
        "target_weights": [1.0, 2.0], "n_targets": 1,
    }  # fmt: skip
    if "nodes_modes" in changed:
        changed = {"nodes_modes": [*changed["nodes_modes"], "LEAF", "LEAF"]}
    assert refusal(saved(tmp_path, "TreeEnsembleRegressor", {**stump, **changed})).startswith(message)


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"nodes_modes": numpy_helper.from_array(np.array([7], np.uint8))}, "node 0: its mode is 7, expected 0 to 6"),
        ({"nodes_truenodeids": [5]}, "node 0: it leads to leaf 5, there are 2"),
        ({"nodes_trueleafs": [0], "nodes_truenodeids": [0]}, "tree 0, node 0: two nodes lead to it"),
        ({"nodes_falseleafs": [0]}, "node 0: it leads to node 1, there are 1"),
        ({"tree_roots": [1]}, "its tree_roots has a number that is not a node, there are 1"),
        ({"leaf_targetids": [0]}, "its leaf_targetids has 1 numbers, expected 2"),
        (
            {"nodes_modes": numpy_helper.from_array(np.array([6], np.uint8))},
            "its membership_values has 0 sets, expected 1",
        ),
    ],
)
def test_damaged_tensors_are_refused(tmp_path, changed, message):
    stump = {
        "nodes_modes": numpy_helper.from_array(np.array([1], np.uint8)), "nodes_featureids": [0],
        "nodes_splits": numpy_helper.from_array(np.array([0.5], np.float32)), "nodes_truenodeids": [0],
        "nodes_falsenodeids": [1], "nodes_trueleafs": [1], "nodes_falseleafs": [1], "tree_roots": [0],
        "leaf_targetids": [0, 0], "leaf_weights": numpy_helper.from_array(np.array([1, 2], np.float32)), "n_targets": 1,
    }  # fmt: skip
    assert refusal(saved(tmp_path, "TreeEnsemble", {**stump, **changed}, 5)).startswith(message)


def test_other_graphs_are_refused(tmp_path):
    lists, _ = random_trees(1, MODES[:4])
    scaled = [helper.make_node("Mul", ["x", "x"], ["y"])]
    message = refusal(saved(tmp_path, "TreeEnsembleRegressor", lists, before=scaled))
    assert message.startswith("its graph has the operator Mul, expected one of TreeEnsembleRegressor, TreeEnsembleClassifier")
    assert "its trees see int64, expected float or double" in refusal(
        saved(tmp_path, "TreeEnsembleRegressor", lists, dtype=TensorProto.INT64)
    )
    graph = helper.make_graph([], "g", [], [])
    (tmp_path / "empty").write_bytes(helper.make_model(graph, ir_version=8).SerializeToString())
    assert refusal(tmp_path / "empty").startswith("its graph has 0 ensembles of trees, expected one of")


def test_files_that_are_cut_off_are_refused(tmp_path):
    content = saved(tmp_path, "TreeEnsembleRegressor", random_trees(1, MODES[:4])[0]).read_bytes()
    for end in range(8, len(content) - 1, 41):
        assert refusal(tmp_path / "cut", content[:end])
