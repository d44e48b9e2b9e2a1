# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What CUDA programs make of numbers: everywhere on a CPU (cuda_on_cpu.hpp), and on the GPU where there is one."""

import numpy as np
import pytest

import cuda_programs
import row_programs
from tensoa.compiler import ir, stages
from tensoa.compiler.backends import cuda
from tensoa.compiler.backends.cuda.weights import SHARED_BYTES
from tensoa.compiler.ir import Output, Program, Value
from test_cuda import (
    PROGRAMS,
    assert_close,
    columns,
    compiled,
    index,
    linear,
    message_passing,
    needs_gpu,
    norm,
    numbers_for,
    relu,
    results_of,
)  # fmt: skip


def outputs(*values, first):
    """Each value to a block of its own."""
    domains = tuple(range(1 + max(value.domain for value in values)))
    return Program(domains, [Output(first + i, tuple(range(v.width)), v) for i, v in enumerate(values)])


def layer(x, width=19, seed=0, weight=None):
    """Without a bias, which would hide what is small."""
    random = np.random.default_rng(seed)
    return ir.linear(x, random.normal(size=(width, x.width)) if weight is None else weight)


def softmax(x):
    exps = ir.apply("exp", ir.apply("sub", x, Value("reduce", 0, 1, (x,), {"name": "amax"})))
    return ir.apply("div", exps, Value("reduce", 0, 1, (exps,), {"name": "sum"}))


FUNCTIONS = "tanh sin erf sigmoid norm softmax pack itself".split()


def layers_after_functions():
    """Blocks 2, 4, …: functions of block 0, and of block 1, which is the logarithm of how large they shall be. Blocks
    3, 5, …: layers of these.
    """
    x, logarithm = columns(21), columns(21, at=1)
    small = [ir.apply(name, x) for name in ("tanh", "sin", "erf")]
    small += [ir.apply("sigmoid", logarithm), norm(x, is_plain=True), softmax(logarithm)]
    small += [ir.pack([(small[0], 0, 21), (small[3], 3, 18)]), x]
    return outputs(*[value for h in small for value in (h, layer(h))], first=2)


#: Weights of inputs and outputs of very different sizes, as constants before and after a layer leave them.
RANDOM = np.random.default_rng(3)
OF_INPUTS, OF_OUTPUTS = 10.0 ** RANDOM.uniform(-12, 0, 21), 10.0 ** RANDOM.uniform(-12, 0, 19)
UNEQUAL = {
    "inputs": RANDOM.normal(size=(19, 21)) * OF_INPUTS,
    "outputs": RANDOM.normal(size=(19, 21)) * OF_OUTPUTS[:, None],
    "both": RANDOM.normal(size=(19, 21)) * OF_INPUTS * OF_OUTPUTS[:, None],
    "neither, and large": RANDOM.normal(size=(19, 21)) * 1e20,
    "neither, and small": RANDOM.normal(size=(19, 21)) * 1e-20,
}


def layers_of_unequal_weights():
    return outputs(*[layer(columns(21), weight=weight) for weight in UNEQUAL.values()], first=1)


#: Zeros, of both kinds of places; and exactly representable ones, whose low piece is zero.
SPARSE = np.round(RANDOM.normal(size=(19, 21)), 1).astype(np.float32)
SPARSE[RANDOM.uniform(size=(19, 21)) < 0.3] = 0.0
SPARSE[:4] = [[1.0], [-2.0], [1e-12], [0.5]]
SPARSE[2:4, ::2] = 1e-25  # beside others too small for a piece, but not zero


DENSE = RANDOM.normal(size=(19, 21))


def layers_of_infinities():
    x = columns(21)
    h = layer(x, weight=SPARSE)
    again = layer(relu(layer(x, weight=DENSE)), weight=np.abs(DENSE[:5, :19]))  # padding must not spread
    factor = ir.pack([(columns(1, at=1), 0, 1)])
    scaled = layer(relu(ir.apply("mul", x, factor)), weight=np.abs(DENSE))
    score = ir.apply("sigmoid", linear(ir.apply("log", ir.apply("abs", x)), 1))
    return outputs(h, again, scaled, score, norm(factor), norm(factor, is_plain=True), first=2)


def infinities_between_stages():
    """Through a layer that is only stored, and through one that warps exchange."""
    x, at = columns(21), index(1, 1)
    stored = layer(x, weight=DENSE)
    exchanged = relu(layer(relu(layer(x, weight=DENSE[::-1])), weight=np.abs(DENSE[:13, :19])))
    ends = ir.gather(stored, at), ir.gather(exchanged, at)
    few = [layer(relu(end), weight=np.abs(DENSE[:11, : end.width])) for end in ends]
    return outputs(*few, first=2)


def node_layers(width):
    """Nodes that edges gather from, so that the warps of a block share their rows."""
    h = relu(linear(relu(linear(columns(3), width)), width, 1))
    ends = [ir.gather(linear(h, 8, 2), index(1, 1, plane)) for plane in (0, 1)]
    return Program((0, 1), [Output(2, (0,), linear(ir.pack([(end, 0, 8) for end in ends]), 1))])


def logarithms_and_powers():
    x = columns(1)
    logarithm = ir.apply("log2", x)
    values = ir.apply("floor", logarithm), ir.apply("log10", x), ir.apply("exp2", x)
    return outputs(logarithm, *values, first=1)


NUMBERS = {
    ("logarithms and powers", "tf32x3"): logarithms_and_powers,
    ("functions", "tf32x3"): layers_after_functions,
    ("unequal weights", "tf32x3"): layers_of_unequal_weights,
    **{("infinities", precision): layers_of_infinities for precision in cuda.PRECISIONS},
    ("infinities between stages", "tf32x3"): infinities_between_stages,
    ("node layers", "tf32x3"): lambda: node_layers(520),
    **{(name, "tf32x3"): PROGRAMS[name] for name in ("mlp", "message passing", "reductions", "tables", "maps")},
    **{("message passing", precision): message_passing for precision in ("ieee", "tf32", "bf16")},
    ("totals", "tf32x3"): message_passing,
}


def with_totals(name):
    return name == "totals"


@pytest.fixture(scope="module")
def programs():
    return {key: make() for key, make in NUMBERS.items()}


@pytest.fixture(scope="module")
def on_cpu(programs, tmp_path_factory):
    made = [
        cuda.generate(program, stages.plan(program, with_totals(name)), precision)
        for (name, precision), program in programs.items()
    ]
    return dict(zip(programs, cuda_programs.on_cpu(made, tmp_path_factory.mktemp("cuda_on_cpu"))))


@pytest.fixture(params=["CPU", pytest.param("GPU", marks=needs_gpu)])
def load(request, programs):
    """load(name, precision): a program, and the same loaded."""

    def loaded(name, precision="tf32x3"):
        program = programs[name, precision]
        if request.param == "CPU":
            return program, request.getfixturevalue("on_cpu")[name, precision]
        return program, cuda_programs.Loaded(*compiled(program, precision, with_totals(name)))

    return loaded


def assert_accurate(got, x, weight, name):
    """As a sum in float32: to a few units of the sum of the sizes of all products."""
    x, weight = x.astype(np.float64), np.asarray(weight, np.float64)
    allowed = 1.5e-6 * (np.abs(x) @ np.abs(weight.T)) + 1e-44
    worst = (np.abs(got - x @ weight.T) / allowed).max()
    assert worst < 1, f"{name}: {worst * 1.5e-6:.1e} of the sum of sizes"


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-6, 1e-10, 1e-20, 1e-30, 1e-36, 1e10, 1e30])
@pytest.mark.parametrize("is_mixed", [False, True])
def test_layers_have_the_accuracy_of_float32_whatever_the_size_of_their_inputs(load, scale, is_mixed):
    program, loaded = load("functions")
    random, rows = np.random.default_rng(5), 40
    sizes = scale * (10.0 ** random.uniform(-6, 0, (21, rows)) if is_mixed else np.ones((21, rows)))
    x = (random.normal(size=(21, rows)) * sizes).astype(np.float32)
    got = results_of(program, loaded, {0: x, 1: np.log(np.minimum(sizes, 1.0))}, (rows,))
    for name, h, y, output in zip(FUNCTIONS, got[::2], got[1::2], program.outputs[1::2]):
        assert np.isfinite(h).all() and (scale > 1 or (h != 0).any())
        assert_accurate(y, h, output.value.weight, f"{name} at {scale}")


def test_small_weights_count_as_much_as_large_ones(load):
    program, loaded = load("unequal weights")
    random, rows = np.random.default_rng(6), 40
    for sizes in (np.ones(21), 1 / OF_INPUTS, 1e-6 / OF_INPUTS):
        x = (random.normal(size=(rows, 21)) * sizes).astype(np.float32)
        for (name, weight), y in zip(UNEQUAL.items(), results_of(program, loaded, {0: x.T}, (rows,))):
            if sizes[0] == 1 or name in ("inputs", "both"):
                assert_accurate(y, x, weight.astype(np.float32), name)


def kinds(x):
    """0 where finite, else which infinity; 9 where no number."""
    return np.where(np.isnan(x), 9, np.where(np.isinf(x), np.sign(x), 0))


def with_infinities(planes, rows, seed=7):
    """Rows with none, one and several infinities, and NaN."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(planes, rows)).astype(np.float32)
    for row in range(1, rows):
        places = random.choice(planes, size=min(planes, 1 + row % 3), replace=False)
        x[places, row] = random.choice([np.inf, -np.inf] if row % 2 else [np.inf, -np.inf, np.nan])
    x[0, rows // 2 :: 3] = 0.0  # log gives an infinity
    return x


def assert_same_kinds(got, truth, names):
    for a, b, name in zip(got, truth, names):
        wrong = np.argwhere(kinds(a) != kinds(b))
        assert not len(wrong), f"{name}: {len(wrong)} of {a.size}, at {wrong[0]}: {a[*wrong[0]]}, not {b[*wrong[0]]}"


@pytest.mark.parametrize("precision", cuda.PRECISIONS)
def test_infinities_stay_what_float32_makes_of_them(load, precision):
    program, loaded = load("infinities", precision)
    rows = 90
    arrays = {0: with_infinities(21, rows), 1: with_infinities(1, rows, 8)}
    with np.errstate(all="ignore"):
        truth = row_programs.evaluate(program, arrays, (rows,))
    got = results_of(program, loaded, arrays, (rows,))
    assert_same_kinds(got, truth, "layer,layer of relu,product,score,norm of one number,plain norm of one".split(","))
    for a, b in zip(got, truth):
        tolerance = {"tf32": 1e-2, "bf16": 5e-2}.get(precision, 1e-5)
        np.testing.assert_allclose(a[np.isfinite(b)], b[np.isfinite(b)], rtol=tolerance, atol=5 * tolerance)


def test_infinities_stay_so_between_kernels(load):
    program, loaded = load("infinities between stages")
    rows = (60, 77)
    arrays = {**numbers_for(program, rows), 0: with_infinities(21, 60)}
    with np.errstate(all="ignore"):
        truth = row_programs.evaluate(program, arrays, rows)
    assert_same_kinds(results_of(program, loaded, arrays, rows), truth, ["stored", "exchanged"])


def test_logarithms_of_powers_and_powers_are_exact(load):
    program, loaded = load("logarithms and powers")
    exponents = np.arange(-149, 128)
    log2, floor, _, _ = results_of(program, loaded, {0: 2.0 ** exponents[None]}, (len(exponents),))
    assert (log2[:, 0] == exponents).all() and (floor[:, 0] == exponents).all()
    *_, exp2 = results_of(program, loaded, {0: exponents[None]}, (len(exponents),))
    assert (exp2[:, 0] == 2.0**exponents).all()
    *_, log10, _ = results_of(program, loaded, {0: 10.0 ** np.arange(11)[None]}, (11,))
    assert (log10[:, 0] == np.arange(11)).all()


def test_logarithms_and_powers_are_exact_to_two_units(load):
    program, loaded = load("logarithms and powers")
    random, rows = np.random.default_rng(9), 20000
    of_all_sizes, exponents = 2.0 ** random.uniform(-149, 128, rows), random.uniform(-149, 128, rows)
    for numbers in (of_all_sizes, exponents, random.uniform(0.5, 2, rows)):
        x = numbers.astype(np.float32)[None]
        for name, got in zip(("log2", None, "log10", "exp2"), results_of(program, loaded, {0: x}, (rows,))):
            with np.errstate(all="ignore"):
                exact = getattr(np, name)(x[0].astype(np.float64)) if name else got[:, 0]
                truth = exact.astype(np.float32).astype(np.float64)  # CUDA's manual counts from the rounded result, too
                units = np.abs(got[:, 0] - truth) / np.spacing(np.abs(truth).astype(np.float32))
            at = np.isfinite(truth) & (np.abs(truth) < 3.4e38)
            assert units[at].max() <= 2, f"{name}: {units[at].max()} units"
    special = np.array([0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, 1000.0, -1000.0])[None]
    with np.errstate(all="ignore"):
        for name, got in zip(("log2", None, "log10", "exp2"), results_of(program, loaded, {0: special}, (8,))):
            if name:
                assert_same_kinds([got[:, 0]], [getattr(np, name)(special[0].astype(np.float32))], [name])


@pytest.mark.parametrize("name, precision", [key for key in NUMBERS if key[0] in (*PROGRAMS, "node layers")])
def test_programs_give_what_float64_gives(load, name, precision):
    program, loaded = load(name, precision)
    for rows in ((1, 1), (37, 111)):
        arrays = numbers_for(program, rows)
        results = results_of(program, loaded, arrays, rows), row_programs.evaluate(program, arrays, rows)
        assert_close(results, {"tf32": 2e-2, "bf16": 1e-1}.get(precision, 5e-6))


def test_totals_give_what_float64_gives(load):
    program, loaded = load("totals")
    for rows in ((1, 1), (5, 0), (3, 700), (37, 111)):
        arrays = numbers_for(program, rows)
        assert_close((results_of(program, loaded, arrays, rows), row_programs.evaluate(program, arrays, rows)), 5e-6)


@pytest.mark.parametrize("width", [32, 500, 520, 832, 1024, 4096])
def test_no_kernel_asks_for_more_shared_memory_than_every_gpu_has(width):
    for precision in cuda.PRECISIONS if width < 4096 else ("tf32x3",):
        program = node_layers(width)
        made = cuda.generate(program, stages.plan(program), precision)
        assert max(kernel.shared_bytes for kernel in made.kernels) <= SHARED_BYTES
