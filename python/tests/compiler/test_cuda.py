# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""CUDA C++ of typed programs. What is called "emulated" is the CUDA source, run by an emulation of the host."""

import numpy as np
import pytest

import random_graphs
import wide_models
from cpu_library import loaded
from cuda_library import CudaLibrary, cuda_libraries
from tensoa import export
from tensoa.binding.model import result_rows
from tensoa.compiler import build, cuda, frontend, interpret, routes
from tensoa.compiler.cuda import ARCHITECTURES, compile
from tensoa.compiler.cuda.rows import Barriers
from tensoa.compiler.errors import NotFused
from tensoa.compiler.passes import simplified
from tensoa.compiler.program import Output, Program
from tensoa.dtypes import FLOAT32, INT64
from tensoa.package import archive, fused
from tensoa.package.manifest import Manifest
from test_frontend import captured, inputs
from wide_models import all_kinds

KINDS = all_kinds()
SOME = (
    *wide_models.SOME,
    "attention of all rows",
    "neighbours of all rows",
    "kinematics, float64",
    "float16 inside",
)


@pytest.mark.parametrize("first", range(0, 60, 12))
def test_random_programs_are_right_emulated(first):
    messages, refused, _ = random_graphs.check_cuda(first)
    assert not messages, "\n".join(messages)
    assert refused < 6


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """Of some models, by one run of the compiler."""
    programs = {name: captured(KINDS[name].module, KINDS[name].binding()) for name in SOME}
    return cuda_libraries(programs, tmp_path_factory.mktemp("models"), precision="tf32x3")


@pytest.mark.parametrize("name", SOME)
def test_models_are_right_emulated(name, libraries):
    binding, made = KINDS[name].binding(), libraries[name]
    collections = sorted({one.collection for one in binding.inputs})
    for count in (0, 1, 5, 20):
        rows = {collection: count * (1 + 2 * i) for i, collection in enumerate(collections)}
        planes, _ = inputs(binding, {key: max(1, n) for key, n in rows.items()}, count)
        planes = {key: plane[: rows[binding.inputs[key[0]].collection]] for key, plane in planes.items()}
        truth = interpret.interpret(made.program, planes, list(rows.values()))
        for found in made.runs(planes, list(rows.values())):
            for output, value in zip(made.program.outputs, truth):
                got = loaded(found[output.block], output.column).T.reshape(value.shape)
                scale = np.nanmax(np.abs(value), initial=0.0)
                np.testing.assert_allclose(got, value, rtol=2e-5, atol=2e-5 * scale)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_model_compiles_for_every_architecture(architecture, libraries):
    assert compile(libraries["graph network"].made.made.source, architecture)


def test_random_programs_compile_for_gpus():
    """nvcc resolves some overloads otherwise than the compiler of the emulation."""
    made = 0
    for seed in range(300, 312):
        program = simplified(random_graphs.drawn(seed).program())
        try:
            kernels = cuda.generate(program)
        except NotFused:
            continue
        made += len(compile(kernels.made.source, "sm_90")) > 0
    assert made > 6


def hits(*inner, block=0, dtype=FLOAT32, rows="hits"):
    return build.column(block, range(int(np.prod(inner))), dtype, (rows, *inner))


def program_of(*values, rows=("hits",), first=10):
    outputs = [Output(first + i, tuple(range(int(np.prod(x.inner)))), x, x.dtype) for i, x in enumerate(values)]
    return Program(rows, tuple(outputs))


def test_a_missing_barrier_is_found(tmp_path, monkeypatch):
    x = hits(40)
    y = build.apply("exp", x)
    program = program_of(build.apply("add", build.part(y, 1, 39, 40, -1), y))
    planes = {(0, i): np.full(20, i / 40, np.float32) for i in range(40)}
    truth = interpret.interpret(program, planes, [20])[0].T
    monkeypatch.setattr(Barriers, "before", lambda *_: "")
    found = CudaLibrary(program, tmp_path).runs(planes, [20])
    assert not all(np.allclose(one[10], truth, rtol=1e-5) for one in found)


def test_rows_that_shared_memory_does_not_hold_lie_in_global_memory(tmp_path):
    x = hits(100)
    products = build.apply("exp", build.apply("mul", build.with_axis(x, 2, 100), build.with_axis(x, 1, 100)))
    sums = build.scan("sum", products, 1)
    y = build.reduce("sum", build.apply("mul", build.scan("max", build.scan("sum", sums, 2), 1), sums), [2])
    program = program_of(y)
    made = CudaLibrary(program, tmp_path)
    assert made.made.made.kernels[0].shared_bytes == 0 and made.made.made.buffers[0].row_bytes > 96 * 1024
    assert 0 < made.made.rows_at_once < 1 << 20
    draw = np.random.default_rng(1)
    planes = {(0, i): draw.normal(scale=0.1, size=5).astype(np.float32) for i in range(100)}
    np.testing.assert_allclose(made.run(planes, [5])[10].T, interpret.interpret(program, planes, [5])[0], rtol=1e-5)


def forms(program):
    """For each kernel, whether it has code for many rows."""
    source = cuda.generate(simplified(program)).made.source
    return ["kRoundsOfFew" in text for text in source.split('extern "C"')[1:]]


def test_stages_have_code_for_many_rows_where_a_warp_has_room_for_some():
    x = hits(40)
    wide = build.apply("exp", build.apply("mul", build.with_axis(x, 2, 40), build.with_axis(x, 1, 40)))
    several = build.apply("add", build.scan("sum", wide, 1), build.scan("sum", wide, 2))
    assert forms(program_of(build.scan("sum", x, 1))) == [True]
    assert forms(program_of(build.reduce("sum", several, [2]))) == [False]


def test_what_is_calculated_once_has_no_code_for_many_rows():
    x = hits(3)
    total = build.apply("exp", build.reduce("sum", x, [0]))
    y = build.scan("sum", build.apply("sub", x, build.with_axis(total, 0, "hits")), 1)
    assert forms(program_of(y))[1:] == [False, True]


@pytest.mark.parametrize("width, is_whole", [(8, True), (6, False)])
def test_gathered_rows_are_read_as_whole_lines_and_places_outside_are_nan(width, is_whole, tmp_path):
    places = build.view(hits(1, block=1, dtype=INT64), ("hits", width), [build.axis(0), build.affine(0)])
    y = build.apply("exp", hits(width))
    program = program_of(build.scan("max", build.gather(y, places, [None, build.axis(1)]), 1))
    made = CudaLibrary(program, tmp_path)
    assert ("read_rows<8, 32, 36>(" in made.made.made.source) == is_whole
    draw = np.random.default_rng(2)
    planes = {(0, i): draw.normal(size=70).astype(np.float32) for i in range(width)}
    planes[1, 0] = draw.integers(-2, 75, 70)
    truth = interpret.interpret(program, planes, [70])[0].T
    assert np.isnan(truth).any()
    for found in made.runs(planes, [70]):
        np.testing.assert_allclose(found[10], truth, rtol=1e-6)


def test_rows_are_not_split_where_they_read_others():
    x, places = hits(200), hits(200, block=1, dtype=INT64)
    moved = build.gather(x, places, [None, build.axis(1)])
    wide = build.reduce("sum", build.scan("sum", build.apply("mul", *(build.with_axis(moved, i, 200) for i in (1, 2))), 1), [2])
    made = cuda.generate(simplified(program_of(wide)))
    assert made.made.buffers and made.rows_at_once == 0


def scattered():
    places = build.view(hits(1, block=1, dtype=INT64), ("hits", 4), [build.axis(0), build.affine(0)])
    return build.scatter("sum", hits(4), places, 0, "hits")


def test_sums_whose_order_is_that_of_the_moment_are_said():
    program = simplified(program_of(scattered()))
    assert not cuda.generate(program).is_the_same and cuda.generate(program, deterministic=True).is_the_same


def test_what_layers_with_weights_of_their_own_read_is_not_overwritten(tmp_path):
    """Each part of a row has its own layer, of more outputs than a lane makes at a time."""
    draw = np.random.default_rng(5)
    x = build.apply("exp", build.column(0, range(48), FLOAT32, ("hits", 2, 24)))
    for size in (24, 16):
        weight = build.constant(draw.normal(size=(2, size, 24)), FLOAT32)
        x = build.apply("relu", build.contract(x, weight, "rak", "aok", "rao"))
    program = Program(("hits",), (Output(2, tuple(range(32)), x, FLOAT32),))
    planes = {(0, i): draw.normal(size=50).astype(np.float32) / 2 for i in range(48)}
    (truth,) = interpret.interpret(program, planes, [50])
    for found in CudaLibrary(program, tmp_path).runs(planes, [50]):
        np.testing.assert_allclose(found[2], truth.reshape(50, -1).T, rtol=1e-4, atol=1e-4)


def test_a_layer_that_every_block_would_read_is_refused():
    weight = build.constant(np.ones((600, 600)), FLOAT32)
    program = simplified(program_of(build.contract(hits(600), weight, "nk", "ok", "no")))
    with pytest.raises(NotFused, match="a linear layer of 600 x 600 weights"):
        cuda.generate(program)


def test_what_is_calculated_once_for_two_collections_is_refused():
    mean = build.reduce("sum", hits(3), [0])
    other = hits(3, block=1, rows="edges")
    both = [build.apply("sub", x, build.with_axis(mean, 0, x.shape[0])) for x in (hits(3), other)]
    with pytest.raises(NotFused, match="once, for rows of 2 collections"):
        cuda.generate(simplified(program_of(*both, rows=("hits", "edges"))))


def test_a_graph_network_has_kernels_for_both_collections():
    kind = KINDS["graph network"]
    binding, module = kind.binding(), kind.module.eval()
    exported = frontend.exported_program(module, binding)
    made = routes.for_cuda(exported, binding, result_rows(module, binding, "cpu"), "tf32x3", False)
    assert made.domains == [0, 1] and "linear" in made.stages[0] and "each_of(" in made.made.source


@pytest.mark.parametrize("deterministic", [False, True])
def test_a_package_says_whether_its_results_are_always_the_same_bits(deterministic, monkeypatch, tmp_path):
    monkeypatch.setattr(fused.cuda, "ARCHITECTURES", ("sm_90",))
    kind, lines = KINDS["graph network"], []
    options = export.Options("cuda", deterministic=deterministic, report=lines.append)
    export.export(kind.module, kind.binding(), tmp_path / "graph.pt2", options)
    assert lines[0].startswith("fused into")
    manifest = Manifest.from_json(archive.read(tmp_path / "graph.pt2")[1], "graph.pt2")
    assert manifest.targets[0].fused.deterministic is deterministic
