# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""C++ of typed programs: random ones beside torch, models of many kinds beside the interpreter, and the route to a package."""

import os

import numpy as np
import pytest
import torch
from test_frontend import Function, captured, inputs

import random_graphs
from bindings import block, bound
from cpu_programs import RUNNABLE, needs_level
from tensoa.compiler import routes
from tensoa.compiler.errors import NotFused
from tensoa.compiler.typed import build, cpu, interpret
from tensoa.compiler.typed.passes import simplified
from tensoa.compiler.typed.program import Output, Program
from tensoa.dtypes import DTYPES, FLOAT32, INT64
from typed_programs import Library, loaded
from wide_models import all_kinds

SEEDS = int(os.environ.get("TENSOA_GRAPHS", "60"))  # 20 000 in `make nightly`
KINDS = all_kinds()
SOME = (
    "MLP",
    "flow",
    "DeepSets, 30 padded",
    "attention, pair bias",
    "graph network",
    "Conv1d, 3 wide, pooling",
    "GravNet",
    "sort",
)


@needs_level
@pytest.mark.parametrize("first", range(0, SEEDS, random_graphs.BATCH))
@pytest.mark.parametrize("level", RUNNABLE[:1])
def test_random_programs_are_right(first, level):
    messages, refused, count = random_graphs.check_cpu(first, level)
    assert not messages, "\n".join(messages)
    assert refused < count


@needs_level
@pytest.mark.parametrize("level", RUNNABLE)
@pytest.mark.parametrize("name", SOME)
def test_models(name, level, tmp_path):
    kind = KINDS[name]
    binding = kind.binding()
    program = captured(kind.module, binding)
    library = Library(program, tmp_path, level)
    collections = sorted({one.collection for one in binding.inputs})
    for count in (0, 1, 5, 20, 100):
        rows = {collection: count * (1 + 2 * i) for i, collection in enumerate(collections)}
        planes, _ = inputs(binding, {key: max(1, n) for key, n in rows.items()}, count)
        planes = {key: plane[: rows[binding.inputs[key[0]].collection]] for key, plane in planes.items()}
        truth = interpret.interpret(program, planes, list(rows.values()))
        found = library.run(planes, list(rows.values()))
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


def test_what_has_no_code_is_refused_with_type_and_operation():
    scores = build.contract(hits(3), hits(3, block=1), "ak", "bk", "ab")
    program = Program(("hits",), (Output(2, (0,), build.reduce("max", scores, [1]), FLOAT32),))
    with pytest.raises(NotFused, match=r"pairs of rows \(contract\[ak,bk->ab\]: float32\[hits, hits\]\)"):
        cpu.generate(simplified(program))
    order = build.gather(hits(1, dtype=INT64), build.sort(hits(1), 0, 1), [None, build.axis(1)])
    program = Program(("hits",), (Output(2, (0,), build.view(order, ("hits", 1), [build.affine(0), build.axis(1)]), INT64),))
    with pytest.raises(NotFused, match="all rows in an order"):
        cpu.generate(simplified(program))


def test_every_root_has_a_reason():
    x = hits(4)
    twice = build.apply("exp", x)
    y = build.apply("add", build.apply("mul", twice, x), build.apply("neg", twice))
    text = cpu.dump(simplified(Program(("hits",), (Output(1, (0, 1, 2, 3), y, FLOAT32),))))
    assert "column[block 0, planes 0..3]: float32[hits, 4] -> column+i1 (it is a column)" in text
    assert "map[exp]: float32[hits, 4] -> map+i1 (several readers would calculate it again)" in text
    assert "map[mul]" not in text


def test_the_environment_chooses_the_compiler(monkeypatch):
    from tensoa.binding.model import result_rows
    from tensoa.compiler.frontends import torch_export

    binding = bound([block("x", 3)], [block("y", 2)])
    module = Function(torch.nn.Linear(3, 2)).eval()
    exported = torch_export.exported_program(module, binding)
    rules = result_rows(module, binding, "cpu")
    before = routes.for_cpu(exported, binding, rules)
    monkeypatch.setenv(routes.SWITCH, "typed")
    after = routes.for_cpu(exported, binding, rules)
    assert "contract_rows<" in after.source.text and "contract_rows<" not in before.source.text
    assert (before.domains, after.domains) == ([0], [0]) and after.stages == ["column 3, contract 2"]
