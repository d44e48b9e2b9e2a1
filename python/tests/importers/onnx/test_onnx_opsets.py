# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Operators in the meaning of each opset, and as ONNX Runtime has them where the tests of ONNX do not go."""

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto
from onnx.helper import make_node
from packages import FLOAT, INT64, of_nodes, session

from exporting import agreement, bind, block
from tensoa.binding.model import result_rows
from tensoa.errors import InputError
from tensoa.importers.onnx import import_onnx
from tensoa.importers.onnx.operators.elementwise import UNARY
from tensoa.package import reference

RANDOM = np.random.default_rng(3)
SHAPE = (2, 4, 6, 6)
TYPES = {("Cast", "y"): INT64, ("ArgMin", "y"): INT64, ("ArgMax", "y"): INT64, ("QuantizeLinear", "y"): TensorProto.INT8}
TYPES |= {("TopK", "z"): INT64, ("MaxPool", "z"): INT64}


def of_input(opset, node, constants=None, shape=SHAPE, tmp_path=None):
    """(what the module gives, what ONNX Runtime gives) for a node of x."""
    outputs = {name: (TYPES.get((node.op_type, name), FLOAT), None) for name in node.output}
    constants = {name: np.asarray(array) for name, array in (constants or {}).items()}
    path = of_nodes(tmp_path / "m.onnx", [node], {"x": (FLOAT, ["n", *shape[1:]])}, outputs, constants, opset)
    x = draw(*shape)
    got = import_onnx(path)(torch.from_numpy(x))
    return [one.numpy() for one in (got if isinstance(got, tuple) else (got,))], session(path).run(None, {"x": x})


def node(operator, *more, outputs=("y",), **attributes):
    return make_node(operator, ["x", *more], [*outputs], **attributes)


def draw(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


FOUR = {"a": draw(4), "b": np.abs(draw(4)) + np.float32(0.1)}
LIMITS = {"a": np.float32(-0.3), "b": np.float32(0.4)}
EIGHT = {"a": np.array([0, 0, 1, 2, 0, 0, 1, 0])}
CASES = [
    ([11, 12], node("Softmax"), {}),
    ([11, 12], node("LogSoftmax", axis=2), {}),
    ([11, 12], node("Hardmax", axis=-1), {}),
    ([13, 21], node("Softmax", axis=1), {}),
    ([11], node("ReduceSum", axes=[1, -1], keepdims=0), {}),
    ([13, 21], node("ReduceSum", "a", keepdims=0), {"a": [1, -1]}),
    ([13], node("ReduceSum", noop_with_empty_axes=1), {}),
    ([11, 13, 17], node("ReduceMean", axes=[2]), {}),
    ([18, 21], node("ReduceMean", "a"), {"a": [2]}),
    ([11, 13, 17], node("ReduceL2", axes=[-1], keepdims=0), {}),
    ([18, 20], node("ReduceMax"), {}),
    ([11], node("Squeeze", axes=[0]), {}),
    ([13, 21], node("Squeeze", "a"), {"a": [0]}),
    ([11], node("Unsqueeze", axes=[1, -1]), {}),
    ([13, 21], node("Unsqueeze", "a"), {"a": [-1, 1]}),
    ([11], node("Split", axis=1, split=[1, 3], outputs=("y", "z")), {}),
    ([13, 18], node("Split", "a", axis=1, outputs=("y", "z")), {"a": [1, 3]}),
    ([18, 21], node("Split", axis=2, num_outputs=3, outputs=("y", "z", "u")), {}),
    ([11, 13, 21], node("Clip", "a", "b"), LIMITS),
    ([11, 12, 21], node("Clip", "", "b"), LIMITS),
    ([11, 13, 18], node("Pad", "a", "b", mode="constant"), EIGHT | {"b": np.float32(1.5)}),
    ([11, 13, 18], node("Pad", "a", mode="reflect"), EIGHT),
    ([11, 18], node("Pad", "a", mode="edge"), EIGHT),
    ([11, 13], node("Pad", "a"), {"a": [0, 0, -1, 2, 0, 0, 1, -3]}),
    ([18, 21], node("Pad", "a", "", "b"), {"a": [1, 2], "b": [-1]}),
    ([19, 21], node("Pad", "a", mode="wrap"), EIGHT),
    ([11, 14, 15, 21], node("BatchNormalization", "a", "a", "a", "b"), FOUR),
    ([11, 21], node("InstanceNormalization", "a", "b"), FOUR),
    ([17, 21], node("LayerNormalization", "a", axis=-1), {"a": np.float32(range(6))}),
    ([21], node("GroupNormalization", "a", "b", num_groups=2), FOUR),
    ([11, 13], node("LRN", size=5, alpha=0.1), {}),
    ([11, 12], node("Dropout"), {}),
    ([11, 21], node("TopK", "a", axis=2, outputs=("y", "z")), {"a": [2]}),
    ([11, 21], node("TopK", "a", axis=1, largest=0, outputs=("y", "z")), {"a": [3]}),
    ([11, 13], node("ArgMin", axis=3, keepdims=0), {}),
    ([12, 13], node("ArgMax", axis=2, select_last_index=1), {}),
    ([11, 14], node("CumSum", "a", exclusive=1, reverse=1), {"a": np.int64(2)}),
    ([11, 13], node("DepthToSpace", blocksize=2, mode="CRD"), {}),
    ([11, 13], node("SpaceToDepth", blocksize=3), {}),
    ([11, 13], node("Slice", "a", "b", "c", "d"), {"a": [-1, 5], "b": [-9, 0], "c": [1, 3], "d": [-1, -2]}),
    ([11, 13], node("Slice", "a", "b"), {"a": [0, 1], "b": [2**62, -1]}),
    ([11, 13], node("Gather", "a", axis=2), {"a": [[0, -1], [2, 5]]}),
    ([11, 13], node("GatherElements", "a", axis=1), {"a": RANDOM.integers(-4, 4, (2, 3, 6, 6))}),
    ([12, 13], node("GatherND", "a", batch_dims=1), {"a": RANDOM.integers(-4, 4, (2, 3, 2))}),
    ([11, 13], node("Flatten", axis=-2), {}),
    ([11, 21], node("Transpose"), {}),
    ([11, 13], node("Tile", "a"), {"a": [1, 2, 1, 3]}),
    ([11, 13], node("Expand", "a"), {"a": [3, 1, 1, 1, 1]}),
    ([14, 21], node("Trilu", "a", upper=0), {"a": np.int64(-1)}),
    ([11, 19], node("AveragePool", kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1]), {}),
    ([11, 19], node("AveragePool", kernel_shape=[3, 3], pads=[1, 0, 1, 1], count_include_pad=1), {}),
    ([11, 19], node("AveragePool", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1), {}),
    ([19, 21], node("AveragePool", kernel_shape=[2, 2], dilations=[2, 3]), {}),
    ([11, 12], node("MaxPool", kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1], outputs=("y", "z")), {}),
    ([11, 12], node("MaxPool", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1), {}),
    ([11, 12], node("MaxPool", kernel_shape=[2, 2], strides=[4, 4], pads=[0, 0, 1, 1], ceil_mode=1), {}),
    ([11, 12], node("MaxPool", kernel_shape=[2, 2], auto_pad="SAME_LOWER", storage_order=1), {}),
    ([11], node("GlobalMaxPool"), {}),
    ([11, 18], node("LpPool", kernel_shape=[2, 2], p=3), {}),
    ([11], node("Conv", "a", auto_pad="SAME_UPPER", strides=[2, 3]), {"a": draw(3, 4, 3, 2)}),
    ([11], node("Conv", "a", pads=[1, 0, 2, 3], dilations=[2, 1], group=2), {"a": draw(6, 2, 3, 2)}),
    ([11], node("ConvTranspose", "a", strides=[2, 3], output_padding=[1, 2], pads=[1, 0, 2, 1]),
     {"a": draw(4, 3, 3, 2)}),
    ([11], node("ConvTranspose", "a", strides=[2, 2], output_shape=[13, 11]), {"a": draw(4, 3, 3, 2)}),
    ([11], node("Resize", "b", "a", mode="linear"), {"a": np.float32([1, 1, 2, 0.5]), "b": np.float32([])}),
    ([13, 19], node("Resize", "", "a", mode="linear"), {"a": np.float32([1, 1, 2, 0.5])}),
    ([13, 18], node("Resize", "", "", "a", mode="cubic", coordinate_transformation_mode="align_corners"), {"a": [2, 4, 9, 3]}),
    ([13, 19], node("Resize", "", "a", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
     {"a": np.float32([1, 1, 1.5, 3])}),
    ([13, 19, 21], node("QuantizeLinear", "a", "b", axis=1), {"a": FOUR["b"], "b": np.int8([0, 3, -4, 100])}),
    ([16, 18], node("ScatterElements", "a", "b", axis=2, reduction="add"),
     {"a": np.abs(RANDOM.integers(0, 6, (2, 4, 9, 3))), "b": draw(2, 4, 9, 3)}),
    ([18], node("ScatterND", "a", "b", reduction="max"),
     {"a": [[0, 1], [1, 3], [0, 1]], "b": draw(3, 6, 6)}),
    ([11, 16], node("ScatterND", "a", "b"), {"a": [[0, -1], [1, 2]], "b": draw(2, 6, 6)}),
    ([12, 21], node("Einsum", "a", equation="b c i j, c -> b j i"), FOUR),
    ([11, 13], node("Pow", "a"), {"a": np.float32(3)}),
    ([11, 13], node("Cast", to=INT64), {}),
    ([20], node("Gelu", approximate="tanh"), {}),
]  # fmt: skip


@pytest.mark.parametrize("opsets, of, constants", CASES, ids=lambda value: getattr(value, "op_type", None))
def test_meaning_in_each_opset(opsets, of, constants, tmp_path):
    for opset in opsets:
        shape = (1, *SHAPE[1:]) if of.op_type == "Squeeze" else SHAPE
        results, expected = of_input(opset, of, constants, shape, tmp_path)
        for got, right in zip(results, expected, strict=True):
            assert got.dtype == right.dtype and got.shape == right.shape
            np.testing.assert_allclose(got, right, rtol=2e-5, atol=2e-6)


def compared(of, tmp_path, constants=None, opset=20):
    values = {"x": (FLOAT, ["n", 4])}, {"y": (FLOAT, ["n", 4])}
    module = import_onnx(of_nodes(tmp_path / "m.onnx", [of], *values, constants, opset))
    columns = bind([block("x", "abcd")], [block("y", "efgh")])
    return [*reference.compared(module, columns, result_rows(module, columns, "cpu"))]


NOT_FINITE = ("Acos", "Acosh", "Asin", "Atanh", "Cosh", "Sinh")  # of large numbers and of far ones, which compare nothing
LOSING_NAN = ("Sign", "Hardmax")  # in ONNX Runtime, which gives a number for it
FLOATS = sorted({*UNARY} - {"BitwiseNot", "Not", "IsNaN"})
FLOATS += "LeakyRelu ThresholdedRelu HardSigmoid Gelu Shrink Softmax LogSoftmax Hardmax LpNormalization".split()


@pytest.mark.parametrize("operator", FLOATS)
def test_functions_of_special_numbers(operator, tmp_path):
    """On small and large numbers, zeros of both signs, powers of two: as ONNX Runtime and as float64."""
    lines = compared(node(operator), tmp_path)
    if operator in LOSING_NAN:
        assert "ONNX Runtime differs from the model by" in lines[0] and "rows of missing numbers" in lines[0]
        assert lines[1:] == [agreement("ONNX Runtime", less=1)]
    else:
        assert lines == [agreement("ONNX Runtime", less=2 * (operator in NOT_FINITE))]


@pytest.mark.parametrize("operator", ["Elu", "Celu", "Selu"])
def test_where_onnx_runtime_is_rough(operator, tmp_path):
    """exp(x) - 1 of small numbers: said, and not held against the model."""
    lines = compared(node(operator), tmp_path)
    assert "of small numbers; the model itself from float64 by" in lines[0] and lines[0].startswith('block "y", column ')
    assert lines[1:] == [agreement("ONNX Runtime", less=1)]


def test_dilated_pools_of_the_same_size_are_refused(tmp_path):
    of = node("MaxPool", kernel_shape=[2, 2], auto_pad="SAME_LOWER", dilations=[2, 1])
    with pytest.raises(InputError, match="auto_pad SAME_LOWER with dilations, which ONNX Runtime reads otherwise"):
        of_input(12, of, tmp_path=tmp_path)


def test_corners_of_a_part_of_an_element_are_refused(tmp_path):
    of = node("Resize", "", "a", mode="linear", coordinate_transformation_mode="align_corners")
    with pytest.raises(InputError, match="with their corners aligned, which ONNX Runtime reads otherwise"):
        of_input(13, of, {"a": np.float32([1, 1, 0.6, 1])}, tmp_path=tmp_path)


OLDER = [
    ([7, 9, 10], [node("Clip", min=-0.3, max=0.4)], None),
    ([7, 9], [node("Dropout", ratio=0.4)], None),
    ([10], [make_node("Slice", ["x", "a", "b"], ["y"])], {"a": [0, 1], "b": [2, 3]}),
    ([8, 10], [make_node("Gemm", ["x", "a", "b"], ["y"])], {"a": draw(4, 4), "b": draw(4)}),
]


@pytest.mark.parametrize("opset, nodes, constants", [(opset, *rest) for opsets, *rest in OLDER for opset in opsets])
def test_older_opsets_are_converted(opset, nodes, constants, tmp_path):
    arrays = {name: np.asarray(array) for name, array in (constants or {}).items()}
    path = of_nodes(tmp_path / "m.onnx", nodes, {"x": (FLOAT, ["n", 4])}, {"y": (FLOAT, None)}, arrays, opset)
    x = draw(3, 4)
    right = session(path).run(None, {"x": x})[0]
    np.testing.assert_allclose(import_onnx(path)(torch.from_numpy(x)).numpy(), right, rtol=1e-6)


def test_nodes_in_any_order(tmp_path):
    nodes = [
        make_node("Add", ["b", "x"], ["y"]),
        make_node("Exp", ["a"], ["b"]),
        make_node("Neg", ["x"], ["a"]),
    ]
    path = of_nodes(tmp_path / "m.onnx", nodes, {"x": (FLOAT, ["n", 4])}, {"y": (FLOAT, ["n", 4])})
    x = draw(3, 4)
    right = session(path).run(None, {"x": x})[0]
    np.testing.assert_allclose(import_onnx(path)(torch.from_numpy(x)).numpy(), right, rtol=1e-6)


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("with_map", [False, True])
def test_linear_classifier(post, with_map, tmp_path):
    ml = {"domain": "ai.onnx.ml"}
    weights = {"coefficients": draw(12).tolist(), "intercepts": draw(3).tolist(), "classlabels_ints": [1, 4, 9]}
    nodes = [make_node("LinearClassifier", ["x"], ["label", "y"], post_transform=post, **weights, **ml)]
    outputs = {"label": (INT64, ["n"]), "y": (FLOAT, ["n", 3])}
    if with_map:
        nodes.append(make_node("ZipMap", ["y"], ["z"], classlabels_int64s=[1, 4, 9], **ml))
        outputs = {"label": (INT64, ["n"]), "z": (FLOAT, ["n", 3])}
    path = of_nodes(tmp_path / "m.onnx", nodes, {"x": (FLOAT, ["n", 4])}, outputs, domains={"ai.onnx.ml": 1})
    if with_map:
        model = onnx.load(path)
        kind = onnx.helper.make_map_type_proto(INT64, onnx.helper.make_tensor_type_proto(FLOAT, []))
        model.graph.output[1].type.CopyFrom(onnx.helper.make_sequence_type_proto(kind))
        onnx.save(model, path)
    module = import_onnx(path)
    x = torch.from_numpy(draw(50, 4))
    for got, right in zip(module(x), module.reference()([x])):
        np.testing.assert_allclose(got.numpy(), right.numpy(), rtol=1e-5, atol=1e-7)
