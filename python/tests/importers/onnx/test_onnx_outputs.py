# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Outputs and inner values of ONNX graphs, requested by name, compared with ONNX Runtime on the same values."""

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import helper
from packages import FLOAT, of_nodes, refused, session

import tensoa
from conftest import require_runtime
from exporting import agreement, bind, block
from tensoa.errors import InputError
from tensoa.export import Options, export
from tensoa.importers.onnx import import_onnx

WIDTH = 3
NAMES = ("output/BiasAdd", "/fc.1/Gemm_output_0", "dense:0", "7", "a b", "Ünal", "y", "Identity", "x.1", "hidden", "out_1", "P")


def random_graph(path, random):
    """A graph of functions of [n, 3]; {value: its node's name}, its outputs."""
    names = list(random.permutation(NAMES))[: int(random.integers(4, len(NAMES)))]
    values, nodes, constants = ["input"], [], {}
    for i, name in enumerate(names):
        kind = str(random.choice(["Relu", "Tanh", "Sigmoid", "Neg", "Add", "Mul", "MatMul", "Softmax", "Identity"]))
        given = [str(random.choice(values)) for _ in range(2 if kind in ("Add", "Mul") else 1)]
        if kind == "MatMul":
            constants[f"w{i}"] = random.normal(size=(WIDTH, WIDTH)).astype(np.float32)
            given.append(f"w{i}")
        nodes.append(helper.make_node(kind, given, [name], name=f"node {i}"))
        values.append(name)
    outputs = [str(name) for name in random.permutation(names)[: int(random.integers(1, 4))]]
    shape = (FLOAT, ["n", WIDTH])
    of_nodes(path, nodes, {"input": shape}, {name: shape for name in outputs}, constants)
    return {str(node.output[0]): node.name for node in nodes}, outputs


def right(path, value, x):
    model = onnx.load(path)
    if value not in [output.name for output in model.graph.output]:
        model.graph.output.append(onnx.ValueInfoProto(name=value))
    made = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return made.run([value], {"input": x})[0]


@pytest.mark.parametrize("seed", range(40))
def test_any_values_in_any_order(seed, tmp_path):
    """By their names, with and without ":0", or by those of their nodes."""
    random = np.random.default_rng(seed)
    nodes, outputs = random_graph(tmp_path / "m.onnx", random)
    wanted = [str(name) for name in random.permutation([*nodes])[: int(random.integers(1, 4))]]
    asked = [str(random.choice([name, nodes[name], name if name.endswith(":0") else f"{name}:0"])) for name in wanted]
    columns = bind([block("input", "abc")], [block(name, "xyz") for name in asked], "auto")
    module = import_onnx(tmp_path / "m.onnx", columns)
    x = random.normal(size=(20, WIDTH)).astype(np.float32)
    for name, got in zip(wanted, columns.results(module(torch.from_numpy(x)))):
        np.testing.assert_allclose(got, right(tmp_path / "m.onnx", name, x), rtol=1e-5, atol=1e-6)
    inner = [name for name in wanted if name not in outputs]
    assert len(module.notes) == len(inner) and all(f'inner value "{name}"' in line for name, line in zip(inner, module.notes))


def test_package_of_an_inner_value_is_compared_with_onnx_runtime(tmp_path):
    """As FACILE's output/BiasAdd, behind which is a ReLU."""
    nodes = [
        helper.make_node("MatMul", ["input", "w"], ["output/MatMul:0"]),
        helper.make_node("Add", ["output/MatMul:0", "b"], ["output/BiasAdd:0"]),
        helper.make_node("Relu", ["output/BiasAdd:0"], ["output/Relu:0"]),
    ]
    constants = {"w": np.eye(WIDTH, dtype=np.float32), "b": np.float32([-9, 0, 9])}
    shape = (FLOAT, ["n", WIDTH])
    of_nodes(tmp_path / "m.onnx", nodes, {"input": shape}, {"output/Relu:0": shape}, constants)
    columns, lines = bind([block("input", "abc")], [block("output/BiasAdd", "xyz")], "auto"), []
    module = import_onnx(tmp_path / "m.onnx", columns)
    assert module(torch.zeros(1, 3)).tolist() == [[-9, 0, 9]]
    export(module, columns, tmp_path / "m.pt2", Options(report=lines.append))
    assert lines[0] == 'block "output/BiasAdd" is not an output of the model, but its inner value "output/BiasAdd:0"'
    assert lines[1] == agreement("ONNX Runtime")


def test_inner_values_with_weights_in_another_file(tmp_path):
    """ONNX Runtime finds them too, where an output is added."""
    nodes = [helper.make_node("MatMul", ["input", "w"], ["inner"]), helper.make_node("Relu", ["inner"], ["y"])]
    shape, weight = (FLOAT, ["n", WIDTH]), np.arange(9, dtype=np.float32).reshape(3, 3)
    of_nodes(tmp_path / "whole.onnx", nodes, {"input": shape}, {"y": shape}, {"w": weight})
    onnx.save(
        onnx.load(tmp_path / "whole.onnx"), tmp_path / "m.onnx", save_as_external_data=True, location="w", size_threshold=0
    )
    columns, lines = bind([block("input", "abc")], [block("inner", "xyz")], "auto"), []
    export(import_onnx(tmp_path / "m.onnx", columns), columns, tmp_path / "m.pt2", Options(report=lines.append))
    assert agreement("ONNX Runtime") in lines


def test_outputs_in_order_are_said(tmp_path):
    shape = (FLOAT, ["n", WIDTH])
    nodes = [helper.make_node("Relu", ["input"], ["p"]), helper.make_node("Tanh", ["input"], ["q"])]
    of_nodes(tmp_path / "m.onnx", nodes, {"input": shape}, {"p": shape, "q": shape})
    columns, lines = bind([block("features", "abc")], [block("first", "xyz"), block("second", "xyz")], "auto"), []
    export(import_onnx(tmp_path / "m.onnx", columns), columns, tmp_path / "m.pt2", Options(report=lines.append))
    assert lines[:2] == [
        'inputs in order, as the blocks have other names: "input" is block "features"',
        'outputs in order, as the blocks have other names: "p" is block "first", "q" is block "second"',
    ]
    for names in (["first"], ["p", "second"], ["Q", "P"], ["p", "q", "r"]):
        columns = bind([block("features", "abc")], [block(name, "xyz") for name in names], "auto")
        message = refused(tmp_path / "m.onnx", 'its outputs are "p", "q"', columns)
        assert any(f'block "{name}"' in message for name in names if name not in "pq")


@pytest.mark.parametrize("seed", range(20))
def test_other_names_are_refused(seed, tmp_path):
    random = np.random.default_rng(seed)
    nodes, outputs = random_graph(tmp_path / "m.onnx", random)
    names = [*(str(name) for name in random.permutation([*nodes])[:2]), "no such value"]
    columns = bind([block("input", "abc")], [block(str(name), "xyz") for name in random.permutation(names)], "auto")
    with pytest.raises(InputError, match='block "no such value": the model has no output and no inner value') as caught:
        import_onnx(tmp_path / "m.onnx", columns)
    assert all(f'"{name}"' in str(caught.value) for name in outputs)


def test_compile_gives_outputs_and_inner_values_by_name(tmp_path):
    """Some of the outputs, one inside, with names of columns; other names go to all outputs in order."""
    shape = (FLOAT, ["n", WIDTH])
    nodes = [helper.make_node("Tanh", ["input"], ["inside"]), helper.make_node("Neg", ["inside"], ["a"])]
    nodes += [helper.make_node("Relu", ["inside"], ["b"])]
    path = of_nodes(tmp_path / "m.onnx", nodes, {"input": shape}, {"a": shape, "b": shape})
    x = np.random.default_rng(1).normal(size=(20, WIDTH)).astype(np.float32)
    for outputs, values in (
        (["b"], ["b"]),
        (["b", "a"], ["b", "a"]),
        (["inside=u,v,w", "b"], ["inside", "b"]),
        (["first", "second"], ["a", "b"]),
    ):
        tensoa.compile(path, tmp_path / "m.pt2", columns=["input=x,y,z"], outputs=outputs, report=lambda line: None)
        got = require_runtime()(tmp_path / "m.pt2")(**dict(zip("xyz", np.ascontiguousarray(x.T))))
        assert len(got) == WIDTH * len(outputs)
        for text, value in zip(outputs, values):
            name, _, names = text.partition("=")
            columns = [got[one] for one in (names.split(",") if names else [f"{name}_{i}" for i in range(WIDTH)])]
            np.testing.assert_allclose(np.stack(columns, 1), right(path, value, x), rtol=1e-5, atol=1e-6)
    with pytest.raises(
        InputError, match='block "insidee": the model has no output and no inner value .*; the nearest name is "in'
    ):
        tensoa.compile(path, tmp_path / "m.pt2", columns=["input=x,y,z"], outputs=["insidee"])


def of_text_labels(path, outputs):
    ml, labels = {"domain": "ai.onnx.ml"}, ["down", "up"]
    weights = {"coefficients": [1.0, -2.0, 0.5, -1.0, 2.0, -0.5], "intercepts": [0.25, -0.25], "classlabels_strings": labels}
    nodes = [
        helper.make_node("LinearClassifier", ["x"], ["label", "scores"], post_transform="SOFTMAX", **weights, **ml),
        helper.make_node("Identity", ["label"], ["answer"]),
        helper.make_node("ZipMap", ["scores"], ["chances"], classlabels_strings=labels, **ml),
    ]
    kinds = {"answer": (onnx.TensorProto.STRING, ["n"]), "chances": (FLOAT, None), "scores": (FLOAT, ["n", 2])}
    of_nodes(path, nodes, {"x": (FLOAT, ["n", WIDTH])}, {name: kinds[name] for name in outputs}, domains={"ai.onnx.ml": 1})
    model = onnx.load(path)
    for value in model.graph.output:
        if value.name == "chances":
            kind = helper.make_map_type_proto(onnx.TensorProto.STRING, helper.make_tensor_type_proto(FLOAT, []))
            value.type.CopyFrom(helper.make_sequence_type_proto(kind))
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("name", ["chances", "scores"])
def test_a_result_of_text_is_left_out_with_a_line(name, tmp_path):
    path, lines = of_text_labels(tmp_path / "m.onnx", ["answer", name]), []
    tensoa.compile(path, tmp_path / "m.pt2", report=lines.append)
    assert f"output {name}={name}_0,{name}_1" in lines
    assert 'result "answer" is left out: it is text, which columns do not hold' in lines
    x = np.random.default_rng(0).normal(size=(20, WIDTH)).astype(np.float32)
    found = session(path).run([name], {"x": x})[0]
    expected = [[row["down"], row["up"]] for row in found] if isinstance(found, list) else found
    np.testing.assert_allclose(import_onnx(path)(torch.from_numpy(x)).numpy(), expected, rtol=1e-5, atol=1e-7)


def test_results_of_text_alone_are_refused(tmp_path):
    path = of_text_labels(tmp_path / "m.onnx", ["answer"])
    refused(path, "m.onnx: its results are all text, which columns do not hold: answer")


def test_a_result_of_text_that_is_asked_for_is_refused(tmp_path):
    path = of_text_labels(tmp_path / "m.onnx", ["answer", "scores"])
    with pytest.raises(InputError, match="labels that are text; leave that result out of the binding"):
        import_onnx(path, ["answer"])(torch.ones(2, WIDTH))


def of_rate(path):
    """A model of a rate, one number for a call: x * 2 where it is 16000, else x * 3; and the rate itself, in the second."""
    constants = {"rate": np.array(16000), "two": np.float32([2]), "three": np.float32([3])}
    shape = helper.make_tensor_value_info
    then, other = (
        helper.make_graph([helper.make_node("Mul", ["x", one], [name])], name, [], [shape(name, FLOAT, ["n", WIDTH])])
        for name, one in (("a", "two"), ("b", "three"))
    )
    nodes = [
        helper.make_node("Equal", ["sr", "rate"], ["is_fast"]),
        helper.make_node("If", ["is_fast"], ["y"], then_branch=then, else_branch=other),
    ]
    inputs = {"x": (FLOAT, ["n", WIDTH]), "sr": (onnx.TensorProto.INT64, [])}
    return of_nodes(path, nodes, inputs, {"y": (FLOAT, ["n", WIDTH])}, constants)


@pytest.mark.parametrize("columns, factor", [([], 2), (["x=a,b,c", "sr=8000"], 3), (["x=a,b,c", "sr=16000"], 2)])
def test_an_integer_for_a_call_is_a_constant_that_the_file_or_the_user_says(tmp_path, columns, factor):
    model, lines = require_runtime(), []
    tensoa.compile(of_rate(tmp_path / "m.onnx"), tmp_path / "m.pt2", columns=columns, report=lines.append)
    said = "sr is always 16000, as the file compares it with 16000: --columns sr=NUMBER for another"
    assert (said in lines) == (not columns) and agreement("ONNX Runtime") in lines
    x = np.random.default_rng(0).normal(size=(20, WIDTH)).astype(np.float32)
    np.testing.assert_allclose(model(tmp_path / "m.pt2")(np.asfortranarray(x)), factor * x, rtol=1e-6)


def test_a_number_that_an_argument_cannot_be_is_refused(tmp_path):
    for number, message in (("1.5", "columns: sr: got 1.5, expected a number of int64"), ("rate", "the model")):
        with pytest.raises(InputError, match=message):
            tensoa.compile(of_rate(tmp_path / "m.onnx"), tmp_path / "m.pt2", columns=["x=a,b,c", f"sr={number}"])
