# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Files of which no program can be made: their own runtime runs them as they are, and a line says so."""

import signal
import sys
import zipfile

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

import tensoa
from tensoa import command, compiling
from tensoa.budget import OverBudget
from tensoa.errors import InputError, Unsupported
from tensoa.importers import own_runtime
from tensoa.package import timing

onnxruntime = pytest.importorskip("onnxruntime")
FLOAT = TensorProto.FLOAT


def of_microsoft(path, operator="Gelu", weight=None):
    """A model with an operator that ONNX Runtime has, and this package does not."""
    nodes = [helper.make_node(operator, ["x"], ["h"], domain="com.microsoft"), helper.make_node("MatMul", ["h", "w"], ["y"])]
    weight = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(3, 2), "w") if weight is None else weight
    inputs, outputs = (helper.make_tensor_value_info(name, FLOAT, ["n", size]) for name, size in (("x", 3), ("y", 2)))
    graph = helper.make_graph(nodes, "test", [inputs], [outputs], initializer=[weight])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return path


def answers(path):
    x = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    return onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


def compiled(model, path, **options):
    lines = []
    tensoa.compile(str(model), path, columns=["x=a,b,c"], report=lines.append, **options)
    return lines


def test_an_operator_that_is_not_read_leaves_the_file_to_onnx_runtime(tmp_path):
    source = of_microsoft(tmp_path / "m.onnx")
    lines = compiled(source, tmp_path / "m.pt2")
    assert lines[0].startswith(f"not compiled ahead of time: {source}: operators that are not read: com.microsoft.Gelu (node ")
    assert lines[0].endswith(f"; run as it is by ONNX Runtime: loaded with {onnxruntime.__version__}")
    assert lines[1].startswith("the file says no columns: ") and len(lines) == 2
    assert np.array_equal(answers(tmp_path / "m.pt2"), answers(source))


def test_trees_that_are_not_read_leave_the_file_to_onnx_runtime(tmp_path):
    one_split = {
        "nodes_treeids": [0] * 3, "nodes_nodeids": [0, 1, 2], "nodes_featureids": [1, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_values": [0.25, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [-1.0, 2.0],
    }  # fmt: skip
    options = {"n_targets": 1, "aggregate_function": "MIN", "domain": "ai.onnx.ml"}
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], **one_split, **options)
    inputs, outputs = (helper.make_tensor_value_info(name, FLOAT, ["n", size]) for name, size in (("x", 3), ("y", 1)))
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    source = tmp_path / "m.onnx"
    graph = helper.make_graph([node], "test", [inputs], [outputs])
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), source)
    lines = compiled(source, tmp_path / "m.pt2")
    assert "its aggregate_function is MIN, expected SUM or AVERAGE; run as it is by ONNX Runtime: loaded with" in lines[0]
    assert np.array_equal(answers(tmp_path / "m.pt2"), answers(source))
    with pytest.raises(Unsupported, match="its aggregate_function is MIN"):
        tensoa.compile(str(source), tmp_path / "gpu.pt2", columns=["x=a,b,c"], target="cuda")
    assert not (tmp_path / "gpu.pt2").exists()


def test_a_file_that_takes_more_than_its_budget_is_left_to_onnx_runtime_and_not_to_a_slower_program(tmp_path):
    nodes = [helper.make_node("Tanh", ["x" if i == 0 else f"h{i}"], [f"h{i + 1}"]) for i in range(300)]
    inputs, outputs = (helper.make_tensor_value_info(name, FLOAT, ["n", 3]) for name in ("x", "h300"))
    graph = helper.make_graph(nodes, "test", [inputs], [outputs])
    source = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), source)
    lines = compiled(source, tmp_path / "m.pt2", seconds=0.3)
    (said,) = [line for line in lines if line.startswith("not compiled ahead of time")]
    assert said.startswith("not compiled ahead of time: its time, more than 0.3 s of CPU (--seconds), at the step: ")
    assert said.endswith(f"; run as it is by ONNX Runtime: loaded with {onnxruntime.__version__}")
    assert np.array_equal(answers(tmp_path / "m.pt2"), answers(source))


def doubled(path):
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y"])],
        "test",
        [helper.make_tensor_value_info("x", FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("y", FLOAT, ["n", 3])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_a_package_that_is_clearly_slower_is_left_to_onnx_runtime(tmp_path, monkeypatch):
    source, asked = doubled(tmp_path / "m.onnx"), []

    def compared(run, tried, framework):
        asked.append(framework)
        return timing.Compared(framework, (0.25, 0.5, 1.0))

    monkeypatch.setattr(timing, "compared", compared)
    lines = compiled(source, tmp_path / "m.pt2")
    shares = "ONNX Runtime takes 0.25, 0.50, 1.00 of its time at 1, 16, 1000 rows"
    assert f"not fused: {shares}; run as it is by ONNX Runtime: loaded with {onnxruntime.__version__}" in lines
    assert np.array_equal(answers(tmp_path / "m.pt2"), answers(source))
    lines = compiled(source, tmp_path / "kept.pt2", timing=False)
    assert asked == ["ONNX Runtime"] and zipfile.is_zipfile(tmp_path / "kept.pt2")
    assert not any("ONNX Runtime takes" in line for line in lines)


def test_a_package_that_stays_says_what_onnx_runtime_takes(tmp_path, monkeypatch):
    monkeypatch.setattr(timing, "compared", lambda run, tried, framework: timing.Compared(framework, (4.0, 0.5)))
    lines = compiled(doubled(tmp_path / "m.onnx"), tmp_path / "m.pt2")
    assert "timed: ONNX Runtime takes 4.00, 0.50 of its time at 1, 16 rows" in lines


def test_a_package_with_a_program_for_gpus_is_not_timed(tmp_path, monkeypatch):
    monkeypatch.setattr(timing, "compared", None)
    for target in ("cuda", "cpu,cuda"):
        lines = compiled(doubled(tmp_path / "m.onnx"), tmp_path / "m.pt2", target=target)
        assert zipfile.is_zipfile(tmp_path / "m.pt2") and not any("timed" in line for line in lines)


def test_a_package_is_timed_outside_of_its_budget(tmp_path, monkeypatch):
    handlers = [signal.getsignal(signal.SIGALRM)]

    def compared(run, tried, framework):
        handlers.append(signal.getsignal(signal.SIGALRM))
        raise timing.NotTimed("no clock")

    monkeypatch.setattr(timing, "compared", compared)
    lines = compiled(doubled(tmp_path / "m.onnx"), tmp_path / "m.pt2")
    assert handlers[0] == handlers[1] and zipfile.is_zipfile(tmp_path / "m.pt2")
    assert "not timed: no clock" in lines


@pytest.fixture
def refused(monkeypatch):
    """For each file that ONNX Runtime does not take, its path."""
    found = []

    def refuses(source, *_):
        found.append(source)
        raise InputError("ONNX Runtime does not take it either: no such opset")

    monkeypatch.setitem(own_runtime._BY_ENDING, ".onnx", own_runtime.OwnRuntime("ONNX Runtime", refuses, ("cpu",), True))
    return found


@pytest.fixture
def used_up(monkeypatch):
    """The budget ends while a package is made."""

    def over(*_):
        raise OverBudget("its time")

    monkeypatch.setattr(compiling.export, "export", over)


def test_a_slower_package_stays_where_the_file_cannot_be_written(tmp_path, monkeypatch, refused):
    monkeypatch.setattr(timing, "compared", lambda run, tried, framework: timing.Compared(framework, (0.25,)))
    source = doubled(tmp_path / "m.onnx")
    lines = compiled(source, tmp_path / "m.pt2")
    said = "timed: ONNX Runtime takes 0.25 of its time at 1 rows; the package stays: ONNX Runtime does not take it either: "
    assert f"{said}no such opset" in lines and not any("run just in time" in line for line in lines)
    assert zipfile.is_zipfile(tmp_path / "m.pt2") and refused == [str(source)]


def test_what_onnx_runtime_does_not_take_is_not_written_twice_and_every_reason_is_said(tmp_path, monkeypatch, refused, used_up):
    def fails(*_):
        raise Unsupported("no way")

    for name in ("write", "write_script"):
        monkeypatch.setattr(compiling.export.just_in_time, name, fails)
    source = doubled(tmp_path / "m.onnx")
    with pytest.raises(Unsupported) as caught:
        compiled(source, tmp_path / "m.pt2")
    assert refused == [str(source)]
    assert str(caught.value).startswith("not compiled ahead of time: its time; ")
    assert "; not run as it is by ONNX Runtime: ONNX Runtime does not take it either: no such opset; " in str(caught.value)
    assert str(caught.value).endswith("not run just in time by torch.export or run just in time by TorchScript: no way")


def test_what_onnx_runtime_does_not_take_is_run_just_in_time(tmp_path, refused, used_up):
    lines = compiled(doubled(tmp_path / "m.onnx"), tmp_path / "m.pt2")
    (said,) = [line for line in lines if "run just in time" in line]
    assert "; not run as it is by ONNX Runtime: ONNX Runtime does not take it either: no such opset; run just in time" in said


def test_the_file_stands_alone_where_its_numbers_were_in_another(tmp_path):
    (tmp_path / "from").mkdir()
    source = of_microsoft(tmp_path / "from" / "m.onnx")
    right = answers(source)
    model = onnx.load(source)
    onnx.save(model, source, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert (tmp_path / "from" / "weights.bin").is_file()
    compiled(source, tmp_path / "m.pt2")
    assert np.array_equal(answers(tmp_path / "m.pt2"), right)


def test_what_onnx_runtime_does_not_take_either_is_refused_and_not_written(tmp_path):
    source = of_microsoft(tmp_path / "m.onnx", "NoSuchOperator")
    with pytest.raises(InputError, match="m.onnx: ONNX Runtime does not take it either: "):
        compiled(source, tmp_path / "m.pt2")
    assert not (tmp_path / "m.pt2").exists()


def test_a_file_for_the_cpu_is_not_written_for_a_gpu(tmp_path):
    with pytest.raises(Unsupported, match="operators that are not read: com.microsoft.Gelu"):
        compiled(of_microsoft(tmp_path / "m.onnx"), tmp_path / "m.pt2", target="cuda")
    assert not (tmp_path / "m.pt2").exists()


def test_without_onnx_runtime_the_line_says_that_nothing_was_loaded(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert compiled(of_microsoft(tmp_path / "m.onnx"), tmp_path / "m.pt2")[0].endswith(
        "; run as it is by ONNX Runtime: not loaded here, onnxruntime is not installed"
    )


def streaming(path):
    """Of a state whose rows are second, a number for a call, and a result that is not of the sizes that the file says."""
    nodes = [
        helper.make_node("ReduceSum", ["state", "first"], ["old"], keepdims=0),
        helper.make_node("Equal", ["rate", "fast"], ["is_fast"]),
        helper.make_node("Where", ["is_fast", "two", "one"], ["factor"]),
        helper.make_node("Mul", ["x", "factor"], ["scaled"]),
        helper.make_node("Tanh", ["scaled"], ["h"]),
        helper.make_node("Add", ["h", "old"], ["new"]),
        helper.make_node("ReduceSum", ["new", "last"], ["y"], keepdims=0),
        helper.make_node("Unsqueeze", ["new", "first"], ["new1"]),
        helper.make_node("Concat", ["new1", "state"], ["all"], axis=0),
        helper.make_node("Slice", ["all", "first", "two_steps", "first"], ["next"]),
    ]  # fmt: skip
    arrays = {
        "first": np.array([0]), "last": np.array([1]), "two_steps": np.array([2]), "fast": np.array(16000),
        "one": np.array(1, np.float32), "two": np.array(2, np.float32),
    }  # fmt: skip
    inputs = [
        helper.make_tensor_value_info("x", FLOAT, ["n", 4]),
        helper.make_tensor_value_info("state", FLOAT, [2, "n", 4]),
        helper.make_tensor_value_info("rate", TensorProto.INT64, []),
    ]
    outputs = [helper.make_tensor_value_info("y", FLOAT, [1]), helper.make_tensor_value_info("next", FLOAT, [2, "n", 4])]
    initializers = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "test", inputs, outputs, initializer=initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture
def no_package(monkeypatch):
    def refuse(*_, **__):
        raise Unsupported("no package here")

    monkeypatch.setattr(compiling.export, "write", refuse)


def test_onnx_runtime_gets_the_blocks_that_a_package_has(tmp_path, no_package):
    source, lines = streaming(tmp_path / "m.onnx"), []
    columns = ["x[n,4]", "state[2,n,4]", "rate=16000"]
    tensoa.compile(str(source), tmp_path / "m.pt2", columns=columns, report=lines.append)
    (said,) = [line for line in lines if "run as it is by ONNX Runtime" in line]
    assert said.endswith(f"loaded with {onnxruntime.__version__}, rows first")
    session = onnxruntime.InferenceSession((tmp_path / "m.pt2").read_bytes(), providers=["CPUExecutionProvider"])
    assert [one.shape for one in session.get_inputs()] == [["rows_0", 4], ["rows_0", 8]]
    assert [one.shape for one in session.get_outputs()] == [["rows_0"], ["rows_0", 8]]
    random = np.random.default_rng(0)
    x, state = (random.normal(size=size).astype(np.float32) for size in ((5, 4), (2, 5, 4)))
    itself = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    y, after = itself.run(None, {"x": x, "state": state, "rate": np.array(16000)})
    got, got_after = session.run(None, {"x": x, "state": np.moveaxis(state, 0, 1).reshape(5, 8)})
    assert np.array_equal(got, y)
    assert np.array_equal(got_after, np.moveaxis(after, 0, 1).reshape(5, 8))


def small(path, nodes, inputs, outputs, arrays=()):
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(name, FLOAT, sizes) for name, sizes in inputs.items()],
        [helper.make_tensor_value_info(name, FLOAT, sizes) for name, sizes in outputs.items()],
        initializer=[numpy_helper.from_array(array, name) for name, array in dict(arrays).items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


NODE, ZERO = helper.make_node, {"zero": np.array([0])}
FIXED = {
    "one row": ([NODE("MatMul", ["x", "w"], ["y"])], [1, 5], [1, 2], {"w": np.ones((5, 2), np.float32)}),
    "no axis for rows": ([NODE("MatMul", ["x", "w"], ["h"]), NODE("Unsqueeze", ["h", "zero"], ["y"])], [5], [1, 2],
                         {"w": np.ones((5, 2), np.float32), **ZERO}),
    "one number": ([NODE("ReduceSum", ["x"], ["y"], keepdims=0)], [1, 5], [], {}),
    "images, one at a time": ([NODE("GlobalMaxPool", ["x"], ["y"])], [1, 3, 8, 8], [1, 3, 1, 1], {}),
    "images, four at a time": ([NODE("Tanh", ["x"], ["y"])], [4, 3, 8, 8], [4, 3, 8, 8], {}),
    "rows second": ([NODE("Tanh", ["x"], ["y"])], [2, 8, 3], [2, 8, 3], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", FIXED)
def test_a_file_of_a_fixed_number_of_rows_gives_the_same_in_blocks(name, tmp_path, no_package):
    nodes, sizes, result, arrays = FIXED[name]
    source, lines = small(tmp_path / "m.onnx", nodes, {"x": sizes}, {"y": result}, arrays), []
    columns = [f"x[{','.join(map(str, sizes))}]"]
    tensoa.compile(str(source), tmp_path / "m.pt2", columns=columns, report=lines.append)
    assert [line for line in lines if line.endswith("rows first")]
    session = onnxruntime.InferenceSession((tmp_path / "m.pt2").read_bytes(), providers=["CPUExecutionProvider"])
    (given,), (gave,) = session.get_inputs(), session.get_outputs()
    assert len(given.shape) == len(gave.shape) == 2 and given.shape[0] == gave.shape[0]
    axis = 1 if name == "rows second" else 0
    x = np.random.default_rng(0).normal(size=sizes).astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    blocks = [np.moveaxis(one, axis, 0) if one.ndim > 1 else one for one in (x, expected)]
    (got,) = session.run(None, {"x": blocks[0].reshape(given.shape)})
    np.testing.assert_allclose(got, blocks[1].reshape(gave.shape), rtol=1e-6)


def test_a_file_whose_tensors_are_no_blocks_is_written_as_it_is(tmp_path, no_package):
    nodes = [NODE("Transpose", ["x"], ["xt"], perm=[1, 0]), NODE("Tanh", ["xt"], ["a"]),
             NODE("Transpose", ["e"], ["et"], perm=[1, 0]), NODE("Sigmoid", ["et"], ["b"])]  # fmt: skip
    source = small(tmp_path / "m.onnx", nodes, {"x": [3, "n"], "e": [2, "m"]}, {"a": ["n", 3], "b": ["m", 2]})
    lines = []
    tensoa.compile(str(source), tmp_path / "m.pt2", columns=["x[3,n]", "e[2,n]"], report=lines.append)
    (said,) = [line for line in lines if "run as it is by ONNX Runtime" in line]
    assert said.endswith("its tensors as they are, for as blocks of rows: its inputs have different numbers of rows: m, n")
    session = onnxruntime.InferenceSession((tmp_path / "m.pt2").read_bytes(), providers=["CPUExecutionProvider"])
    assert [one.shape for one in session.get_outputs()] == [["n", 3], ["m", 2]]


def test_columns_that_the_model_does_not_take_are_refused(tmp_path):
    """Another runtime would not take them either."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    inputs, outputs = (helper.make_tensor_value_info(name, FLOAT, ["n", size]) for name, size in (("x", 3), ("y", 2)))
    weight = numpy_helper.from_array(np.ones((3, 2), np.float32), "w")
    graph = helper.make_graph(nodes, "test", [inputs], [outputs], initializer=[weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    with pytest.raises(InputError) as caught:
        tensoa.compile(str(tmp_path / "m.onnx"), tmp_path / "m.pt2", columns=["x=a,b"], report=lambda line: None)
    assert not isinstance(caught.value, Unsupported) and not (tmp_path / "m.pt2").exists()


def test_a_program_of_torch_export_of_one_number_of_rows_is_written_as_it_is(tmp_path):
    module = torch.nn.Linear(3, 2).eval()
    torch.export.save(torch.export.export(module, (torch.randn(7, 3),)), tmp_path / "a.pt2")
    runtime = own_runtime.of(str(tmp_path / "a.pt2"))
    said = runtime.write(str(tmp_path / "a.pt2"), tmp_path / "m.pt2", None)
    assert runtime.name == "torch.export" and said == "the file as it is"
    assert (tmp_path / "m.pt2").read_bytes() == (tmp_path / "a.pt2").read_bytes()


@pytest.mark.parametrize("name", ["net.py:make", "m.keras", "trees.json", "weights.safetensors"])
def test_other_files_have_no_runtime_of_their_own(name):
    assert own_runtime.of(name) is None


def test_a_search_that_takes_too_long_leaves_the_file_to_onnx_runtime(tmp_path, monkeypatch):
    source = of_microsoft(tmp_path / "m.onnx", "Relu")
    model = onnx.load(source)
    del model.opset_import[1]
    model.graph.node[0].domain = ""
    onnx.save(model, source)

    def endless(*_):
        command.step("which integers the model takes")
        while True:
            pass

    monkeypatch.setattr(compiling, "with_examples", endless)
    lines = compiled(source, tmp_path / "m.pt2", seconds=1)
    assert lines[0].startswith(
        "not compiled ahead of time: its time, more than 1 s of CPU (--seconds), at the step: which integers the model takes; "
        "run as it is by ONNX Runtime: "
    )
    assert np.array_equal(answers(tmp_path / "m.pt2"), answers(source))
