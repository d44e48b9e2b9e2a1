# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The CUDA back end: what it writes compiles everywhere; on a GPU, that it computes what the row program says, in float64."""

import re

import numpy as np
import pytest
import torch

import cuda_programs
import row_programs
from bindings import GRAPH, block, bound
from tensoa.compiler import ir, passes, stages
from tensoa.compiler.backends import cuda
from tensoa.compiler.backends.cuda.program import Params
from tensoa.compiler.backends.cuda.values import literal
from tensoa.compiler.backends.cuda.weights import SHARED_BYTES
from tensoa.compiler.ir import Output, Program, Value
from tensoa.dtypes import DTYPES
from tensoa.errors import InputError
from tensoa.tracking.interaction_network import InteractionNetwork
from test_torch_export import captured, exatrkx

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


def columns(planes, domain=0, at=0, dtype="float32", is_scalar=False):
    """An input value of block `at`."""
    planes = tuple(range(planes)) if isinstance(planes, int) else planes
    return Value("input", domain, len(planes), (), {"block": at, "planes": planes, "dtype": dtype, "is_scalar": is_scalar})


def index(domain, at, plane=0, dtype="int64"):
    return Value("index", domain, 1, (), {"block": at, "plane": plane, "dtype": dtype})


def norm(x, seed=0, is_plain=False):
    random = np.random.default_rng(seed)
    weight = None if is_plain else random.uniform(0.5, 1.5, x.width).astype(np.float32)
    bias = None if is_plain else random.normal(size=x.width).astype(np.float32)
    return Value("norm", x.domain, x.width, (x,), {"weight": weight, "bias": bias, "eps": 1e-5, "is_centered": False})


def linear(x, width, seed=0):
    random = np.random.default_rng(seed)
    return ir.linear(x, random.normal(size=(width, x.width)) / np.sqrt(x.width), random.normal(size=width))


def relu(x):
    return ir.apply("relu", x)


def one_output(value, at=1):
    return Program((0,), [Output(at, tuple(range(value.width)), value)])


def mlp(widths=(3, 64, 64, 2)):
    x = columns(widths[0])
    for i, width in enumerate(widths[1:]):
        x = linear(relu(x) if i else x, width, i)
    return one_output(x)


def message_passing(width=19, state=5):
    """Nodes to edges and back, twice, with widths that fit nothing."""
    x, source, target = columns(state, 0, 0), index(1, 1, 0, "int32"), index(1, 1, 1, "int32")
    h = ir.pack([(norm(linear(x, width)), 0, width), (x, 0, state)])
    for i in range(2):
        ends = ir.gather(h, source), ir.gather(h, target)
        both = ir.pack([(end, 0, end.width) for end in ends])
        weight = ir.apply("sigmoid", linear(relu(norm(linear(both, 2 * width, i))), 1, i + 1))
        to_target = ir.scatter(ir.apply("mul", weight, ends[0]), target, 0)
        to_source = ir.scatter(ir.apply("mul", ends[1], weight), source, 0)
        message = ir.apply("add", to_target, to_source)
        inputs = ir.pack([(message, 0, message.width), (h, 0, h.width)])
        h = ir.apply("add", h, linear(relu(norm(linear(inputs, width, i))), h.width, i))
    degree = ir.scatter(ir.constant(1, [1.0]), target, 0)
    return Program((0, 1), [Output(2, (1,), weight), Output(3, tuple(range(h.width)), h), Output(4, (0,), degree)])


def wide():
    """Far more numbers in a row than registers."""
    x = columns(300)
    h = relu(norm(linear(x, 515)))
    return one_output(ir.apply("sub", norm(linear(h, 515, 1)), h))


def every_map():
    x, y = columns(11), columns(11, at=1)
    positive = ir.apply("add", ir.apply("abs", x), ir.constant(0, [0.5]))
    small = ir.apply("tanh", x)
    outputs = []
    for name in [n for n, f in ir.FUNCTIONS.items() if f.arity == 1]:
        of = positive if name in "sqrt rsqrt reciprocal log log2 log10 log1p".split() else x
        of = small if name in ("asin", "acos", "atanh") else of
        of = ir.apply("add", positive, ir.constant(0, [1.0])) if name == "acosh" else of
        outputs.append(ir.apply(name, of))
    for name in [n for n, f in ir.FUNCTIONS.items() if f.arity == 2]:
        outputs.append(ir.apply(name, positive if name == "pow" else x, y))
    outputs.append(ir.apply("where", ir.apply("lt", x, y), x, ir.constant(0, np.arange(11))))
    rows = ir.pack([(value, 0, 11) for value in outputs])
    return Program((0,), [Output(2, tuple(range(rows.width)), rows)])


def every_reduction():
    x = columns(13)
    parts = [(ir.apply("cos", x), 2, 13), (linear(x, 20), 9, 18), (x, 12, 13)]
    packed = ir.pack(parts)
    values = [Value("reduce", 0, 1, (packed,), {"name": name}) for name in ("sum", "mean", "amax", "amin")]
    values += [ir.pack([(packed, 3, 4)]), norm(ir.apply("cos", packed)), linear(ir.apply("cos", packed), 9)]
    values.append(ir.apply("mul", packed, columns(21, at=1)))
    values.append(linear(values[0], 6))
    values.append(norm(ir.pack([(x, 1, 2)]), is_plain=True))
    rows = ir.pack([(value, 0, value.width) for value in values])
    return Program((0,), [Output(2, tuple(range(rows.width)), rows), Output(3, (2, 0, 5), ir.pack([(x, 4, 7)]))])


def network_of(module, rows_of_graph):
    return passes.simplify(captured(module, bound(rows_of_graph, [block("score", 1, collection=1)])))


def tables():
    """Rows of constant tables, of widths with whole pairs of tiles and without."""
    random = np.random.default_rng(0)
    parts = []
    for i, width in enumerate((1, 5, 16, 27)):
        table = random.normal(size=(100, width)).astype(np.float32)
        value = Value("lookup", 0, width, (index(0, 1, i, "int32"),), {"table": table})
        parts += [value, linear(relu(value), 6, i), norm(ir.apply("add", value, columns(1)))]
    rows = ir.pack([(part, 0, part.width) for part in parts])
    return Program((0,), [Output(2, tuple(range(rows.width)), rows)])


PROGRAMS = {
    "tables": tables,
    "mlp": mlp,
    "mlp of 128": lambda: mlp((20, 128, 128, 128, 7)),
    "few columns": lambda: mlp((1, 5, 1)),
    "message passing": message_passing,
    "wide": wide,
    "maps": every_map,
    "reductions": every_reduction,
}


def blocks_of(program):
    """{block: (domain, planes, dtype, is_output)}"""
    found = {}
    for value in program.values():
        if value.op in ("input", "index"):
            planes = 1 + (max(value.planes) if value.op == "input" else value.plane)
            before = found.get(value.block, (0, 0))[1]
            found[value.block] = value.domain, max(planes, before), value.dtype, False
    for output in program.outputs:
        before = found.get(output.block, (0, 0))[1]
        found[output.block] = output.value.domain, max(1 + max(output.planes), before), "float32", True
    return found


def compiled(program, precision="tf32x3", with_totals=False):
    generated = cuda.generate(program, stages.plan(program, with_totals), precision)
    major, minor = torch.cuda.get_device_capability()
    return generated, cuda.compile(generated.source, f"sm_{major}{minor}")


def numbers_for(program, rows, scale=1.0):
    """Drawn numbers of each input block: {block: [planes, rows]}, rounded to the dtype of its columns."""
    random = np.random.default_rng(1)
    indexed = {value.args[1].block: value for value in program.values() if value.op in ("gather", "scatter")}
    arrays = {}
    for at, (domain, planes, dtype, is_output) in sorted(blocks_of(program).items()):
        many = rows[domain]
        if is_output:
            continue
        if at in indexed:
            value = indexed[at]
            most = rows[value.args[0].domain if value.op == "gather" else value.domain]
            numbers = random.integers(0, max(most, 1), (planes, many))
        elif "float" in dtype:
            numbers = random.normal(size=(planes, many)) * scale
        else:
            numbers = random.integers(0, 2 if dtype == "bool" else 100, (planes, many))
        tensor = torch.as_tensor(numbers).to(getattr(torch, dtype))
        arrays[at] = (tensor.double() if "float" in dtype else tensor).numpy()
    return arrays


def results_of(program, loaded, arrays, rows, pad=3):
    """What a loaded program gives for each output, [rows, width]; misaligned columns, any pitch."""
    found, blocks = blocks_of(program), []
    for at in range(max(found) + 1):
        domain, planes, dtype, is_output = found.get(at, (0, 1, "float32", True))
        planes = planes if is_output else list(arrays[at].astype(np.float64))
        pitch = rows[domain] + pad
        blocks.append(cuda_programs.Block(planes, rows[domain], getattr(torch, dtype), pitch, 1, loaded.device))
    before = [one.memory.clone() for one in blocks]
    loaded.bind(blocks, rows)()
    if loaded.device == "cuda":
        torch.cuda.synchronize()
    got = [blocks[output.block].numpy()[list(output.planes)].T for output in program.outputs]
    for output in program.outputs:  # nothing else was written
        blocks[output.block].planes[list(output.planes)] = 77
    assert all(torch.equal(a.nan_to_num(), one.memory.nan_to_num()) for a, one in zip(before, blocks))
    return got


def gpu_results(program, rows, precision="tf32x3", loaded=None, scale=1.0, pad=3):
    """(results, in float64), one array [rows, width] for each output."""
    loaded = loaded or cuda_programs.Loaded(*compiled(program, precision))
    arrays = numbers_for(program, rows, scale)
    return results_of(program, loaded, arrays, rows, pad), row_programs.evaluate(program, arrays, rows)


def assert_close(results, tolerance):
    for got, truth in zip(*results):
        assert np.isfinite(got).all()
        np.testing.assert_allclose(got, truth, rtol=0, atol=tolerance * max(1e-30, abs(truth).max(initial=0.0)))


# ---- without a GPU


def assert_compiles(name, precision, architectures):
    program = PROGRAMS[name]()
    source = cuda.generate(program, stages.plan(program), precision).source
    for architecture in architectures:
        assert cuda.compile(source, architecture)[:4] == b"\x7fELF"


def test_integer_columns_with_steps_and_results_of_every_dtype_compile():
    steps = (("add", 1, "int32"), ("abs", 0, "int32"), ("maximum", -2, "int32"), ("rsub", 7, "int64"), ("cast", 0, "int8"))
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    at = Value("index", 0, 1, (), {"block": 0, "plane": 0, "dtype": "int32", "steps": steps})
    number = Value("input", 0, 2, (), {"block": 0, "planes": (0, 2), "dtype": "int32", "is_scalar": False, "steps": steps})
    one = Value("input", 0, 1, (), {"block": 0, "planes": (1,), "dtype": "int32", "is_scalar": False, "steps": steps})
    wide = ir.pack([(Value("lookup", 0, 3, (at,), {"table": table}), 0, 3), (number, 0, 2)])
    dtypes = ("int64", "int32", "int8", "uint8", "bool", "float32")
    outputs = [Output(1 + i, tuple(range(5)), wide, dtype) for i, dtype in enumerate(dtypes)]
    outputs.append(Output(7, (0,), ir.apply("add", one, one), "int64"))
    program = Program((0,), outputs)
    assert cuda.compile(cuda.generate(program, stages.plan(program), "ieee").source, "sm_90")


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 0.0, -0.0])
@pytest.mark.parametrize("width", [1, 3])
def test_constants_of_every_kind_have_code(number, width):
    x = columns(width)
    program = one_output(ir.apply("where", ir.apply("gt", x, x), x, ir.constant(0, [number] * width)))
    source = cuda.generate(program, stages.plan(program), "ieee").source
    assert literal(number) in source


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_compiles_for_every_architecture(name):
    assert_compiles(name, "tf32x3", cuda.ARCHITECTURES)


@pytest.mark.parametrize("name", ["mlp", "message passing", "reductions"])
@pytest.mark.parametrize("precision", ["ieee", "tf32", "bf16"])
def test_every_precision_compiles(name, precision):
    assert_compiles(name, precision, ["sm_80"])


def spills(program, architecture):
    log = []
    cuda.compile(cuda.generate(program, stages.plan(program)).source, architecture, log)
    return [int(bytes) for bytes in re.findall(r"(\d+) bytes spill stores", log[0])]


@pytest.mark.parametrize("architecture", cuda.ARCHITECTURES)
def test_the_networks_live_in_registers(architecture):
    """But for a few words: 16 warps with those were faster than 12 without."""
    assert set(spills(mlp(), architecture)) == {0}
    assert max(spills(network_of(exatrkx(64), GRAPH[:2]), architecture)) <= 64
    assert max(spills(network_of(InteractionNetwork(32, 1), GRAPH), architecture)) <= 64


def test_a_small_network_is_one_kernel_without_buffers():
    program = mlp()
    generated = cuda.generate(program, stages.plan(program))
    assert generated.steps == [cuda.Launch(kernel=0, domain=0)]
    assert generated.buffers == []
    assert generated.params == Params(blocks=2, domains=1, buffers=1)  # the driver copies them at every launch
    (kernel,) = generated.kernels
    assert kernel.shared_bytes <= SHARED_BYTES and kernel.rows_per_block == 16


def test_rounds_of_message_passing_share_kernels_memory_and_need_no_extra_launch():
    module = exatrkx(64)
    module.iterations = 8
    program = network_of(module, GRAPH[:2])
    generated = cuda.generate(program, stages.plan(program))
    assert [step.domain for step in generated.steps] == [0, 1] * 9
    assert len(generated.kernels) <= 9
    assert len(generated.buffers) <= 8


def test_a_sum_that_no_kernel_can_clear_before_is_cleared_by_a_step():
    program = message_passing()
    generated = cuda.generate(program, stages.plan(program))
    x = columns(4, 1)
    only_edges = Program((0, 1), [Output(2, (0, 1, 2, 3), ir.scatter(x, index(1, 1), 0))])
    assert not any(isinstance(step, cuda.Zero) for step in generated.steps)
    assert cuda.generate(only_edges, stages.plan(only_edges)).steps[0] == cuda.Zero(0)


def test_what_cannot_be_generated_is_said(monkeypatch):
    monkeypatch.delenv("TENSOA_VERIFY_IR")  # which knows the dtypes, too
    program = mlp()
    with pytest.raises(InputError, match='got precision "fast", expected one of tf32x3, ieee, tf32, bf16'):
        cuda.generate(program, stages.plan(program), "fast")
    with pytest.raises(InputError, match="a column of complex64, expected one of bool"):
        one = one_output(columns(2, dtype="complex64"))
        cuda.generate(one, stages.plan(one))
    many = one_output(columns(2), at=40)
    with pytest.raises(InputError, match="got 41 blocks, expected at most 32"):
        cuda.generate(many, stages.plan(many))
    with pytest.raises(InputError, match="cannot compile for sm_10: .*gpu-architecture"):
        cuda.compile("", "sm_10")


# ---- on a GPU


@needs_gpu
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("precision", ["ieee", "tf32x3", "tf32", "bf16"])
def test_programs_give_what_float64_gives(name, precision):
    program = PROGRAMS[name]()
    loaded = cuda_programs.Loaded(*compiled(program, precision))
    tolerance = {"tf32": 2e-2, "bf16": 1e-1}.get(precision, 5e-6)
    for rows in ((1, 1), (2, 17), (37, 111), (1000, 5003)):
        assert_close(gpu_results(program, rows, loaded=loaded), tolerance)


@needs_gpu
def test_no_rows_launch_nothing_and_write_nothing():
    program = message_passing()
    loaded = cuda_programs.Loaded(*compiled(program))
    for rows in ((0, 0), (5, 0)):
        assert_close(gpu_results(program, rows, loaded=loaded), 5e-6)


@needs_gpu
@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_of_every_dtype_are_read(dtype):
    x = columns((1, 0, 3), dtype=dtype)
    assert_close(gpu_results(one_output(linear(x, 9)), (77,)), 2e-6)


@needs_gpu
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_indices_of_every_dtype_gather_and_scatter(dtype):
    at = index(1, 1, 0, dtype)
    edge = ir.gather(columns(3), at)
    total = ir.scatter(edge, at, 0)
    program = Program((0, 1), [Output(2, (0, 1, 2), edge), Output(3, (2, 1, 0), total)])
    assert_close(gpu_results(program, (50, 300)), 2e-6)


@needs_gpu
def test_scalar_columns_stand_for_all_rows():
    program = one_output(ir.apply("mul", columns(9), columns(1, at=2, is_scalar=True)), at=1)
    assert_close(gpu_results(program, (40,)), 1e-6)


@needs_gpu
@pytest.mark.parametrize("scale", [1e-30, 1e-4, 1.0, 1e5, 1e30])
def test_float32_accuracy_for_inputs_of_any_size(scale):
    bare = one_output(linear(relu(linear(columns(40), 64)), 24, 1))
    bounded = one_output(linear(relu(norm(linear(columns(40), 64))), 24, 1))
    assert_close(gpu_results(bare, (2000,), scale=scale), 2e-6)
    if scale < 1e10:  # squares fit
        assert_close(gpu_results(bounded, (2000,), scale=scale), 3e-6)


@needs_gpu
@pytest.mark.parametrize("network", ["exatrkx", "ours"])
def test_graph_networks_give_what_float64_gives(network):
    program = network_of(exatrkx(64), GRAPH[:2]) if network == "exatrkx" else network_of(InteractionNetwork(32, 4), GRAPH)
    assert_close(gpu_results(program, (500, 4001)), 2e-5)
