# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""C++ of typed programs: random ones against torch, models of many kinds against the interpreter, and the way to a package."""

import contextlib
import signal
import subprocess

import numpy as np
import pytest
import torch
from torch import nn

import random_graphs
from conftest import PROGRAM
from cpu_library import Library, compiled_quickly, loaded
from cpu_programs import RUNNABLE, needs_level
from tensoa import export
from tensoa.binding import words
from tensoa.binding.parse import SCHEMA, parse
from tensoa.compiler import build, cpu, interpret
from tensoa.compiler.operations import axis
from tensoa.compiler.passes import simplified
from tensoa.compiler.program import Output, Program
from tensoa.compiler.schedule import nests, roots
from tensoa.compiler.schedule.stages import users_of
from tensoa.dtypes import DTYPES, FLOAT32, INT64
from test_frontend import captured, inputs
from wide_models import SOME, all_kinds
from width_models import Kind, block

KINDS = all_kinds()


@needs_level
@pytest.mark.parametrize("first", range(0, 300, 60))
def test_random_programs_are_right(first):
    """`make fuzz-graphs` has more programs."""
    with compiled_quickly():
        _check_random(first, 60)


@needs_level
def test_random_programs_are_right_with_the_flags_of_packages():
    _check_random(0, random_graphs.BATCH)


def _check_random(first, count):
    messages, refused, _ = random_graphs.check_cpu(first, count)
    assert not messages, "\n".join(messages)
    assert refused < count / 4


@needs_level
@pytest.mark.parametrize("level", RUNNABLE)
@pytest.mark.parametrize("name", SOME)
def test_models(name, level, tmp_path):
    kind = KINDS[name]
    binding = kind.binding()
    program = captured(kind.module, binding)
    made = Library(program, tmp_path, level)
    collections = sorted({one.collection for one in binding.inputs})
    for count in (0, 1, 5, 20, 100):
        rows = {collection: count * (1 + 2 * i) for i, collection in enumerate(collections)}
        planes, _ = inputs(binding, {key: max(1, n) for key, n in rows.items()}, count)
        planes = {key: plane[: rows[binding.inputs[key[0]].collection]] for key, plane in planes.items()}
        truth = interpret.interpret(program, planes, list(rows.values()))
        found = made.run(planes, list(rows.values()))
        for output, value in zip(program.outputs, truth):
            got = loaded(found[output.block], output.column).T.reshape(value.shape)
            scale = np.nanmax(np.abs(value), initial=0.0)
            np.testing.assert_allclose(got, value, rtol=2e-5, atol=2e-5 * scale)


def hits(*inner, block=0, dtype=FLOAT32):
    return build.column(block, range(int(np.prod(inner))), dtype, ("hits", *inner))


@needs_level
def test_what_cancels_in_torch_cancels(tmp_path):
    x = [build.select(hits(4), 1, i) for i in range(4)]
    products = [build.apply("mul", x[0], x[1]), build.apply("mul", x[2], x[3])]
    y = build.apply("sub", build.apply("exp", products[0]), build.apply("exp", products[1]))
    program = Program(("hits",), (Output(1, (0,), y, FLOAT32),))
    planes = {(0, i): np.linspace(-3, 3, 70, dtype=np.float32) for i in range(4)}
    assert not Library(program, tmp_path).run(planes, [70])[1].any()


@needs_level
def test_the_variance_of_equal_numbers_is_zero_in_every_row(tmp_path):
    """The mean of squares less the square of the mean: each square is rounded, in rows of both layouts."""
    x = hits(4)
    quarter = build.filled(0.25, FLOAT32, ("hits",))
    mean, of_squares = (build.apply("mul", build.reduce("sum", one, [1]), quarter) for one in (x, build.apply("mul", x, x)))
    program = Program(("hits",), (Output(1, (0,), build.apply("sub", of_squares, build.apply("mul", mean, mean)), FLOAT32),))
    library = Library(program, tmp_path)
    for rows in (3, 60):
        plane = np.random.default_rng(rows).normal(size=rows).astype(np.float32)
        assert not library.run({(0, i): plane for i in range(4)}, [rows])[1].any()


@needs_level
@pytest.mark.parametrize("level", RUNNABLE)
def test_small_terms_next_to_a_large_bias_are_rounded_once(level, tmp_path):
    layer = nn.Linear(64, 8).requires_grad_(False)
    layer.bias.fill_(1.0)
    binding = Kind(layer, [block("x", 64)], [block("y", 8)]).binding()
    made = Library(captured(layer, binding), tmp_path, level)
    for count in (3, 50):
        x = np.random.default_rng(count).normal(scale=2**-20, size=(64, count)).astype(np.float32)
        found = np.stack(made.run({(0, i): x[i] for i in range(64)}, [count])[1])
        wanted = layer.double()(torch.from_numpy(x.T).double()).T.numpy()
        layer.float()
        assert np.abs(found - wanted).max() < 1.01 * 2**-24


@needs_level
@pytest.mark.parametrize("level", RUNNABLE)
def test_what_rounding_takes_does_not_grow_with_the_number_of_terms(level, tmp_path):
    layer = nn.Linear(2000, 8, bias=False).requires_grad_(False)
    layer.weight.abs_()  # terms that do not cancel
    made = Library(captured(layer, Kind(layer, [block("x", 2000)], [block("y", 8)]).binding()), tmp_path, level)
    for count in (3, 50):
        x = np.random.default_rng(count).uniform(size=(2000, count)).astype(np.float32)
        found = np.stack(made.run({(0, i): x[i] for i in range(2000)}, [count])[1])
        wanted = layer.weight.double().numpy() @ x.astype(np.float64)
        assert np.abs(found / wanted - 1).max() < 6 * 2**-24


@needs_level
def test_all_columns_of_integers(tmp_path):
    """Short integers wrap around as torch's do."""
    for name in ("int8", "int16", "uint8", "int32", "int64"):
        dtype = DTYPES[name]
        x, y = (build.select(hits(2, dtype=dtype), 1, i) for i in range(2))
        functions = [build.apply(fn, x, y) for fn in ("add", "sub", "mul", "div", "fmod", "shl", "shr", "maximum")]
        outputs = [Output(1 + i, (0,), one, dtype) for i, one in enumerate(functions)]
        program = Program(("hits",), tuple(outputs))
        low, high = dtype.limits
        special = np.array([low, low + 1, -1 if low else 0, 0, 1, 2, 7, 63, high - 1, high], name)
        planes = {(0, 0): np.repeat(special, 10), (0, 1): np.tile(special, 10)}
        found = Library(program, tmp_path, name=name).run(planes, [100])
        for output, truth in zip(outputs, interpret.interpret(program, planes, [100])):
            np.testing.assert_array_equal(found[output.block][0], truth, f"{name} {output.value.op}")


@needs_level
@pytest.mark.parametrize("fn", ["sum", "max"])
def test_rows_that_are_only_joined_to_other_rows_go_from_memory_to_memory(fn, tmp_path):
    """Places outside of the rows read NaN, or join nothing."""
    source = build.apply("exp", hits(20))
    x = build.gather(source, build.view(build.select(edges(2), 1, 0), ("edges", 20), [axis(0)]), [None, axis(1)])
    joined = build.scatter(fn, x, build.view(build.select(edges(2), 1, 1), ("edges", 20), [axis(0)]), 0, "hits")
    program = Program(("hits", "edges"), (Output(2, tuple(range(20)), joined, FLOAT32),))
    made, draw = Library(program, tmp_path), np.random.default_rng(3)
    assert "pass_row<" in made.source.text
    for rows in ([1, 1], [3, 7], [100, 230]):
        planes = {(0, i): draw.normal(size=rows[0]).astype(np.float32) for i in range(20)}
        planes |= {(1, 0): draw.integers(0, rows[0], rows[1]), (1, 1): draw.integers(-1, rows[0] + 1, rows[1])}
        planes[1, 0][0] = rows[0]
        truth = interpret.interpret(program, planes, rows)[0].T
        np.testing.assert_allclose(made.run(planes, rows)[2], truth, rtol=1e-5)


@needs_level
def test_calculated_places_of_rows_that_are_joined_stay_until_they_are(tmp_path):
    source = build.apply("exp", hits(20))
    from_, to = (build.apply("abs", build.select(edges(2), 1, i)) for i in (0, 1))
    x = build.gather(source, build.view(from_, ("edges", 20), [axis(0)]), [None, axis(1)])
    joined = build.scatter("max", x, build.view(to, ("edges", 20), [axis(0)]), 0, "hits")
    other = build.apply("exp", build.apply("neg", build.column(4, range(20), FLOAT32, ("edges", 20))))
    outputs = tuple(Output(block, tuple(range(20)), value, FLOAT32) for block, value in ((2, joined), (3, other)))
    program = Program(("hits", "edges"), outputs)
    made, draw = Library(program, tmp_path), np.random.default_rng(3)
    assert "pass_row<" in made.source.text
    for rows in ([3, 7], [100, 230]):
        planes = {(0, i): draw.normal(size=rows[0]).astype(np.float32) for i in range(20)}
        planes |= {(4, i): draw.normal(size=rows[1]).astype(np.float32) for i in range(20)}
        planes |= {(1, i): draw.integers(1 - rows[0], rows[0], rows[1]) for i in (0, 1)}
        found = made.run(planes, rows)
        for output, truth in zip(outputs, interpret.interpret(program, planes, rows)):
            np.testing.assert_allclose(found[output.block], truth.T, rtol=1e-5)


@needs_level
def test_what_has_no_rows_is_read_by_rows_and_by_what_has_none(tmp_path):
    """Nothing lies where rows have it in scratch memory, though a later stage reads it in place."""
    x = hits(20)
    one = build.apply("exp", build.reduce("max", x, [0]))
    left = build.apply("sub", build.apply("exp", x), build.view(one, x.shape, [axis(1)]))
    other = build.apply("add", build.apply("exp", build.reduce("max", left, [0])), one)
    values = (left, build.view(other, x.shape, [axis(1)]))
    outputs = tuple(Output(2 + i, tuple(range(20)), value, FLOAT32) for i, value in enumerate(values))
    made, draw = Library(Program(("hits",), outputs), tmp_path), np.random.default_rng(3)
    for rows in ([1], [17], [100]):
        planes = {(0, i): draw.normal(size=rows[0]).astype(np.float32) for i in range(20)}
        found = made.run(planes, rows)
        for output, truth in zip(outputs, interpret.interpret(made.program, planes, rows)):
            np.testing.assert_allclose(found[output.block], truth.T, rtol=1e-5, atol=1e-5)


@needs_level
@pytest.mark.parametrize("width", [1, 4, 16, 21])
def test_rows_of_a_table(width, tmp_path):
    """A place outside of it reads NaN."""
    table = build.constant(np.arange(9 * width, dtype=np.float32).reshape(9, width), FLOAT32)
    places = build.select(hits(1, dtype=DTYPES["int64"]), 1, 0)
    x = build.gather(table, build.view(places, ("hits", width), [axis(0)]), [None, axis(1)])
    made = Library(Program(("hits",), (Output(1, tuple(range(width)), x, FLOAT32),)), tmp_path)
    for rows in (1, 4, 70):
        planes = {(0, 0): np.resize(np.array([0, 8, 9, -1, 3, 1 << 40]), rows)}
        truth = interpret.interpret(made.program, planes, [rows])[0].T
        np.testing.assert_array_equal(made.run(planes, [rows])[1], truth)


@needs_level
@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "int32", "int64"])
def test_floats_become_integers(name, tmp_path):
    """Those that an int32 or an int64 does not hold become the least one."""
    x = build.select(hits(1), 1, 0)
    program = Program(("hits",), (Output(1, (0,), build.cast(x, DTYPES[name]), DTYPES[name]),))
    special = [0.0, -0.0, 0.9, -0.9, 127.5, 128, -129, 300, 2**31, -(2**31), 2**31 + 999, 1e20, -1e20, np.inf, -np.inf, np.nan]
    planes, made = {(0, 0): np.array(special * 4, np.float32)}, Library(program, tmp_path)
    for rows in (3, 64):
        some = {key: plane[-rows:] for key, plane in planes.items()}
        np.testing.assert_array_equal(made.run(some, [rows])[1][0], interpret.interpret(program, some, [rows])[0])


@needs_level
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_signs_of_zero(name, tmp_path):
    dtype = DTYPES[name]
    special = np.array([0.0, -0.0, 1e-40, -1e-40, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, np.nan], name)
    x, y = (build.select(hits(2, dtype=dtype), 1, i) for i in range(2))
    functions = [build.apply(one, x, y) for one in ("atan2", "add", "sub", "mul", "div", "fmod", "hypot")]
    functions += [build.apply(one, x) for one in ("neg", "abs", "sqrt", "sin", "tan", "atan", "tanh", "asinh")]
    functions += [build.apply(one, x) for one in ("expm1", "log1p", "floor", "ceil", "trunc", "round", "reciprocal", "erf")]
    program = Program(("hits",), tuple(Output(1 + i, (0,), one, dtype) for i, one in enumerate(functions)))
    planes = {(0, 0): np.repeat(special, len(special)), (0, 1): np.tile(special, len(special))}
    made, count, wrong = Library(program, tmp_path), len(special) ** 2, []
    for first, rows in ((0, count), (0, 3), (11, 4), (22, 1)):  # in tiles, and few
        some = {key: plane[first : first + rows] for key, plane in planes.items()}
        found = made.run(some, [rows])
        for output, truth in zip(program.outputs, interpret.interpret(program, some, [rows])):
            got = found[output.block][0]
            is_off = (np.signbit(got) != np.signbit(truth)) & ~np.isnan(truth)
            wrong += [output.value.op.fn] if is_off.any() or not np.allclose(got, truth, 1e-5, 1e-44, equal_nan=True) else []
    assert not wrong


def test_every_root_has_a_reason():
    x = hits(4)
    twice = build.apply("exp", x)
    y = build.apply("add", build.apply("mul", twice, x), build.apply("neg", twice))
    text = cpu.dump(simplified(Program(("hits",), (Output(1, (0, 1, 2, 3), y, FLOAT32),))))
    assert "column[block 0, planes 0..3]: float32[hits, 4] -> column+i1 (it is a column)" in text
    assert "map[exp]: float32[hits, 4] -> map+i1 (several readers would calculate it again)" in text
    assert "map[mul]" not in text


@contextlib.contextmanager
def seconds_of_cpu(most):
    """Fails where the block takes longer."""

    def stop(number, frame):
        pytest.fail(f"it took longer than {most} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, most)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def messages(iterations):
    """A graph network each of whose iterations reads the state of nodes twice: 2 ** iterations ways lead to the first one."""
    state, (source, target) = hits(4), (build.select(edges(2), 1, i) for i in range(2))
    for i in range(iterations):
        weight = build.constant(np.linspace(-1, 0.9 + 0.1 / (i + 1), 32).reshape(4, 8), FLOAT32)
        sent = build.gather(state, build.view(source, ("edges", 4), [build.axis(0)]), [None, build.axis(1)])
        sum_ = build.scatter("sum", sent, build.view(target, ("edges", 4), [build.axis(0)]), 0, "hits")
        state = build.contract(build.concat([state, sum_], 1), weight, "nk", "ok", "no")
    return state


def edges(*inner):
    return build.column(1, range(int(np.prod(inner))), INT64, ("edges", *inner))


def doubled(times):
    """A layer whose result is added to what 2 ** times ways lead to."""
    x = hits(4)
    y = build.contract(x, build.constant(np.eye(4), FLOAT32), "nk", "ok", "no")
    for _ in range(times):
        x = build.apply("mul", x, build.apply("sub", build.filled(1, FLOAT32, x.shape), x))
    return build.apply("add", x, y)


def test_time_follows_the_number_of_tensors_not_of_ways_between_them():
    for value in (messages(30), doubled(60)):
        program = Program(("hits", "edges"), (Output(2, range(4), value, FLOAT32),))
        with seconds_of_cpu(20):
            cpu.generate(simplified(program))


@needs_level
def test_a_product_that_is_one_number_for_all_rows(tmp_path):
    added = build.reduce("sum", hits(4), [0])
    product = build.contract(added, build.constant(np.array([1.0, 2, 3, 4]), FLOAT32), "k", "k", "")
    value = build.apply("add", product, build.constant(np.array(3.0), FLOAT32))
    of_rows = build.apply("mul", build.select(hits(4), 1, 0), build.view(value, ("hits",), []))
    program = Program(("hits",), (Output(2, [0], of_rows, FLOAT32),))
    planes = {(0, i): np.random.default_rng(i).normal(size=50).astype(np.float32) for i in range(4)}
    found = Library(program, tmp_path).run(planes, [50])[2][0]
    expected = planes[0, 0] * (sum((i + 1) * planes[0, i].sum(dtype=np.float64) for i in range(4)) + 3)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_memory_does_not_grow_with_the_number_of_iterations():
    found = []
    for iterations in (3, 8):
        program = Program(("hits", "edges"), (Output(2, range(4), messages(iterations), FLOAT32),))
        memory = cpu.schedule(simplified(program))[1]
        assert len(memory.shared) >= 2 * iterations - 1
        found.append(sorted(memory.sizes))
    assert found[0] == found[1]


@needs_level
def test_stages_that_differ_in_their_weights_alone_are_compiled_once(tmp_path):
    program = Program(("hits", "edges"), (Output(2, range(4), messages(6), FLOAT32),))
    made = Library(program, tmp_path)
    assert 0 < made.source.text.count("noinline]] void stage") < len(cpu.schedule(simplified(program))[0])
    draw = np.random.default_rng(1)
    planes = {(0, i): draw.normal(size=60).astype(np.float32) for i in range(4)}
    planes |= {(1, i): draw.integers(0, 60, 90) for i in range(2)}
    found = made.run(planes, [60, 90])[2].T
    np.testing.assert_allclose(found, interpret.interpret(program, planes, [60, 90])[0], rtol=1e-4, atol=1e-4)


@needs_level
def test_a_package_is_right_where_it_runs(tmp_path):
    kind, path, lines = KINDS["graph network"], tmp_path / "graph.pt2", []
    export.export(kind.module, kind.binding(), path, export.Options(report=lines.append))
    assert lines[0].startswith("fused into") and "linear" in lines[1]
    if not PROGRAM.is_file():
        pytest.skip("needs the program tensoa")
    checked = subprocess.run([PROGRAM, "check", path], capture_output=True, text=True)
    assert checked.returncode == 0 and "worst: relative error" in checked.stdout, checked.stdout + checked.stderr


class Steps(nn.Module):
    """A network that is unrolled: its loop nests are in proportion to `steps`."""

    def __init__(self, steps):
        super().__init__()
        torch.manual_seed(0)
        self.steps, self.cell = steps, nn.GRUCell(2, 3)

    def forward(self, x):
        h = x.new_zeros(len(x), 3)
        for step in range(self.steps):
            h = self.cell(x[:, 2 * step : 2 * step + 2], h)
        return h


def test_the_users_of_values_are_counted_once_a_stage_and_not_for_each_loop_nest(monkeypatch):
    counted = []
    for module in (roots, nests):
        monkeypatch.setattr(module, "users_of", lambda *given: counted.append(1) or users_of(*given))

    def count(steps):
        columns = [f"x{i}" for i in range(2 * steps)]
        x, h = words.block("x", 0, columns, "float32"), words.block("h", 0, ["a", "b", "c"], "float32")
        given = parse({"schema": SCHEMA, "match": "auto", "inputs": [x], "outputs": [h]})
        counted.clear()
        cpu.generate(simplified(captured(Steps(steps).eval(), given)))
        return len(counted)

    assert 0 < count(2) == count(8)
