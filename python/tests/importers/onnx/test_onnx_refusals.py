# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""ONNX files that are damaged, foreign, or of what is not read: refused in one line that names the node."""

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from onnx.helper import make_node
from packages import FLOAT, INT64, of_nodes, refused

from exporting import bind, block, refusal
from tensoa.errors import InputError
from tensoa.importers.files import load_module
from tensoa.importers.onnx import import_onnx

X, Y = {"x": (FLOAT, ["n", 3])}, {"y": (FLOAT, ["n", 2])}
WEIGHT = {"w": np.arange(6, dtype=np.float32).reshape(3, 2)}
PRODUCT = make_node("MatMul", ["x", "w"], ["y"], name="product")


def product(path, **more):
    return of_nodes(path, [PRODUCT], X, Y, WEIGHT, **more)


# ---- files


def test_every_beginning_of_a_file_is_refused(tmp_path):
    whole = product(tmp_path / "m.onnx").read_bytes()
    for size in range(len(whole)):
        (tmp_path / "m.onnx").write_bytes(whole[:size])
        refused(tmp_path / "m.onnx", "")


def test_damaged_bytes_are_refused_or_give_a_model(tmp_path):
    """Never another error, whatever one byte becomes."""
    whole = product(tmp_path / "m.onnx").read_bytes()
    random = np.random.default_rng(1)
    results = {True: 0, False: 0}
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= int(random.integers(1, 256))
        (tmp_path / "m.onnx").write_bytes(damaged)
        try:
            import_onnx(tmp_path / "m.onnx")(torch.ones(2, 3))
            results[True] += 1
        except InputError as error:
            assert "\n" not in str(error)
            results[False] += 1
    assert min(results.values()) > 20


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "has no graph, expected an ONNX model"),
        (b"\x80\x02}q\x00.", "expected an ONNX model"),
        (b"<?xml version='1.0'?><MethodSetup/>", "is truncated or something else, expected an ONNX model"),
        (b'{"learner": {}}', "expected an ONNX model"),
    ],
)
def test_foreign_files(content, message, tmp_path):
    (tmp_path / "m.onnx").write_bytes(content)
    refused(tmp_path / "m.onnx", message)


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="No such file or directory, expected an ONNX model"):
        load_module(str(tmp_path / "m.onnx"))


@pytest.mark.parametrize("opset", [6, 22])
def test_opsets(opset, tmp_path):
    refused(product(tmp_path / "m.onnx", opset=opset), f"m.onnx: opset {opset}; 7 to 21 are read")


def test_opset_of_another_domain(tmp_path):
    path = product(tmp_path / "m.onnx", domains={"ai.onnx.ml": 6})
    refused(path, "opset 6 of ai.onnx.ml; 1 to 5 are read")


def external(path):
    model = onnx.load(str(product(path)))
    onnx.save_model(model, str(path), save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path


def test_weights_in_a_file_next_to_the_model(tmp_path):
    path = external(tmp_path / "m.onnx")
    expected = torch.ones(2, 3) @ torch.from_numpy(WEIGHT["w"])
    assert torch.equal(import_onnx(path)(torch.ones(2, 3)), expected)
    content = (tmp_path / "weights.bin").read_bytes()
    (tmp_path / "weights.bin").write_bytes(content[:-4])
    refused(path, 'initialiser "w": its numbers')
    (tmp_path / "weights.bin").unlink()
    refused(path, 'initialiser "w": its numbers are in "weights.bin", which is not there; expected the file next to the model')


# ---- graphs


def test_nodes_in_a_circle(tmp_path):
    nodes = [make_node("Add", ["x", "b"], ["a"], name="first"), make_node("Neg", ["a"], ["b"])]
    nodes.append(make_node("MatMul", ["b", "w"], ["y"]))
    refused(of_nodes(tmp_path / "m.onnx", nodes, X, Y, WEIGHT), 'is not valid: nodes need the results of each other: "')


@pytest.mark.parametrize(
    "attributes, message",
    [
        ({"classlabels_strings": ["a", "b"]}, "labels that are text; leave that result out of the binding"),
        ({"classlabels_ints": [0, 1], "post_transform": "PROBIT"}, "post_transform PROBIT"),
        ({"classlabels_ints": [0]}, "2 intercepts for 1 classes; expected one for each of at least two"),
    ],
)
def test_linear_classifiers(attributes, message, tmp_path):
    weights = {"coefficients": [1.0] * 6, "intercepts": [0.5, 1.0]}
    node = make_node("LinearClassifier", ["x"], ["label", "y"], **weights, **attributes, domain="ai.onnx.ml")
    outputs = {"label": (INT64, ["n"]), **Y}
    path = of_nodes(tmp_path / "m.onnx", [node], X, outputs, domains={"ai.onnx.ml": 1})
    with pytest.raises(InputError, match=message):
        import_onnx(path)(torch.ones(2, 3))


def test_all_unknown_operators_are_listed(tmp_path):
    nodes = [
        make_node("GridSample", ["x", "x"], ["a"], name="sample"),
        make_node("Frobnicate", ["a"], ["b"], name="first"),
        make_node("Frobnicate", ["b"], ["c"]),
        make_node("FusedMatMul", ["c", "w"], ["y"], name="fused", domain="com.microsoft"),
    ]
    message = (
        'operators that are not read: Frobnicate (node "first", "c"); GridSample (node "sample"); '
        'com.microsoft.FusedMatMul (node "fused"); docs/onnx_operators.md lists those that are'
    )
    refused(of_nodes(tmp_path / "m.onnx", nodes, X, Y, WEIGHT, domains={"com.microsoft": 1}), message)


def test_operator_of_a_later_opset(tmp_path):
    nodes = [make_node("Gelu", ["x"], ["y"], name="late")]
    refused(of_nodes(tmp_path / "m.onnx", nodes, X, Y), 'operators that are not read: Gelu (node "late")')


def test_missing_initialiser(tmp_path):
    refused(of_nodes(tmp_path / "m.onnx", [PRODUCT], X, Y), "is not valid: ")


def test_initialiser_with_too_few_numbers(tmp_path):
    path = product(tmp_path / "m.onnx")
    model = onnx.load(str(path))
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:-4]
    path.write_bytes(model.SerializeToString())
    refused(path, "")
    model.graph.initializer[0].dims[0] = 1 << 40
    path.write_bytes(model.SerializeToString())
    refused(path, "")


@pytest.mark.parametrize(
    "inputs, message",
    [
        ({"x": (TensorProto.STRING, ["n", 3])}, 'input "x" is of string, expected numbers of float32, '),
        ({"x": (TensorProto.FLOAT8E5M2, ["n", 3])}, 'input "x" is of float8e5m2, expected numbers of'),
        ({"x": (TensorProto.COMPLEX64, ["n", 3])}, 'input "x" is of complex64, expected numbers of'),
    ],
)
def test_types_of_inputs(inputs, message, tmp_path):
    nodes = [make_node("Shape", ["x"], ["y"])]
    refused(of_nodes(tmp_path / "m.onnx", nodes, inputs, {"y": (TensorProto.INT64, [2])}), message)


def test_sequences(tmp_path):
    model = onnx.load(str(of_nodes(tmp_path / "m.onnx", [make_node("Identity", ["x"], ["y"])], X, X | Y)))
    sequence = helper.make_tensor_sequence_value_info("x", FLOAT, ["n", 3])
    model.graph.input[0].CopyFrom(sequence)
    model.graph.output[0].CopyFrom(helper.make_tensor_sequence_value_info("y", FLOAT, ["n", 3]))
    del model.graph.output[1:]
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    refused(tmp_path / "m.onnx", 'input "x" is a sequence; expected a tensor')


@pytest.mark.parametrize(
    "nodes, constants, message",
    [
        ([make_node("ConstantOfShape", ["s"], ["y"], name="big")], {"s": [1 << 40]}, 'node "big" (ConstantOfShape): a tensor'),
        ([make_node("Expand", ["w", "s"], ["y"], name="big")], {"s": [1 << 30, 1, 1]}, "expected at most 268435456 elements"),
        ([make_node("Tile", ["w", "s"], ["y"], name="big")], {"s": [1 << 30, 1]}, 'node "big" (Tile): a tensor of the shape'),
        ([make_node("Range", ["a", "b", "c"], ["y"])], {"a": 0, "b": 1 << 50, "c": 1}, 'node "y" (Range): a tensor'),
        ([make_node("Range", ["a", "b", "c"], ["y"])], {"a": 0, "b": 9, "c": 0}, 'node "y" (Range): '),
        ([make_node("Pad", ["w", "s"], ["y"])], {"s": [0, 0, 1 << 40, 0]}, 'node "y" (Pad): a tensor of the shape'),
        ([make_node("Reshape", ["w", "s"], ["y"])], {"s": [5, -1]}, 'node "y" (Reshape): '),
        ([make_node("Squeeze", ["w", "s"], ["y"])], {"s": [0]}, 'node "y" (Squeeze): axis 0 has 3 elements, expected one'),
        ([make_node("Transpose", ["w"], ["y"], perm=[0, 0])], {}, 'node "y" (Transpose): '),
        ([make_node("Gather", ["w", "s"], ["y"])], {"s": [7]}, 'node "y" (Gather): index 7 is out of bounds'),
        ([make_node("Softmax", ["w"], ["y"], axis=5)], {}, 'node "y" (Softmax): axis 5 of a tensor of 2 dimensions'),
        ([make_node("Slice", ["w", "s", "s", "s", "z"], ["y"])], {"s": [0], "z": [0]}, 'node "y" (Slice): a step of 0'),
        ([make_node("Cast", ["w"], ["y"], to=8)], {}, 'node "y" (Cast): the type 8; expected one that tensors have'),
        ([make_node("Concat", ["w", "s"], ["y"], axis=0)], {"s": [1]}, 'node "y" (Concat): '),
    ],
)  # fmt: skip
def test_constants_that_do_not_fit(nodes, constants, message, tmp_path):
    constants = {name: np.array(number, np.int64) for name, number in constants.items()} | WEIGHT
    refused(of_nodes(tmp_path / "m.onnx", nodes, X, Y, constants), message)


def test_attribute_that_is_not_in_the_operator(tmp_path):
    nodes = [make_node("Relu", ["x"], ["y"], name="activation", alpha=0.5)]
    refused(of_nodes(tmp_path / "m.onnx", nodes, X, Y), "alpha")


# ---- on columns


def fails(path, message, *tensors):
    with pytest.raises(InputError) as caught:
        import_onnx(path)(*tensors)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def branches():
    graphs = {}
    for branch, operator in (("then_branch", "Relu"), ("else_branch", "Neg")):
        value = helper.make_tensor_value_info(branch, FLOAT, ["n", 3])
        graphs[branch] = helper.make_graph([make_node(operator, ["x"], [branch])], branch, [], [value])
    return graphs


def test_branches_of_constants_are_taken_and_others_refused(tmp_path):
    x = torch.tensor([[-1.0, 2.0, -3.0]])
    for condition, expected in ((True, torch.relu(x)), (False, -x)):
        nodes = [make_node("If", ["c"], ["y"], name="choice", **branches())]
        path = of_nodes(tmp_path / "m.onnx", nodes, X, {"y": (FLOAT, ["n", 3])}, {"c": np.array(condition)})
        assert torch.equal(import_onnx(path)(x), expected)
    nodes = [
        make_node("ReduceMax", ["x"], ["m"], keepdims=0),
        make_node("Cast", ["m"], ["c"], to=TensorProto.BOOL),
        make_node("If", ["c"], ["y"], name="choice", **branches()),
    ]
    path = of_nodes(tmp_path / "m.onnx", nodes, X, {"y": (FLOAT, ["n", 3])})
    fails(path, 'node "choice" (If): its condition "c" depends on the inputs of the model; expected a constant', x)


def test_inputs_that_do_not_fit(tmp_path):
    path = product(tmp_path / "m.onnx")
    fails(path, 'input "x": got the shape [4, 5], the model takes [n, 3]', torch.ones(4, 5))
    fails(path, 'input "x": got int64, the model takes float32', torch.ones(4, 3, dtype=torch.int64))
    fails(path, "the model takes x; got nothing")
    fails(path, "the model takes x; got 0, 1", torch.ones(4, 3), torch.ones(4, 3))


def test_shape_that_depends_on_the_data_is_refused_by_the_export(tmp_path):
    nodes = [
        make_node("ReduceMax", ["k"], ["m"], keepdims=1, axes=[0]),
        make_node("Mul", ["m", "zero"], ["none"]),
        make_node("Add", ["none", "three"], ["size"]),
        make_node("Concat", ["all", "size"], ["shape"], axis=0),
        make_node("Reshape", ["x", "shape"], ["y"], name="reshaped"),
    ]
    constants = {"zero": np.array([0]), "three": np.array([3]), "all": np.array([-1])}
    inputs = X | {"k": (INT64, ["n"])}
    path = of_nodes(tmp_path / "m.onnx", nodes, inputs, {"y": (FLOAT, ["n", 3])}, constants)
    blocks = [block("x", "abc"), block("k", "k", column_dtype="int64", dtype="int64")]
    (tmp_path / "out").mkdir()
    module = Squeezed(import_onnx(path))
    message = refusal(module, bind(blocks, [block("y", "abc")]), tmp_path / "out")
    assert 'node "reshaped" (Reshape): its input "shape" depends on the inputs of the model; expected a constant' in message


class Squeezed(torch.nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x, k):
        return self.module(x, k[:, 0])
