# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models of many kinds (random_programs.py) as programs for CPUs and GPUs, against torch; more of them in a night."""

import numpy as np
import pytest
import torch

import random_programs
from cpu_programs import RUNNABLE
from random_programs import Compiled, CompiledForGpu

pytestmark = [
    pytest.mark.skipif(not RUNNABLE, reason="no CPU of level x86-64-v3 here"),
    pytest.mark.filterwarnings("ignore"),  # of torch.export
]
KINDS = {"floats": random_programs.of_floats, "integers": random_programs.of_integers}
SEEDS = range(12)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """models(kind): (module, names of its outputs, programs); each is made once."""
    made = {}

    def of(kind):
        if kind not in made:
            module, inputs, names = KINDS[kind]() if kind in KINDS else random_programs.of_graphs(SEEDS)
            program = random_programs.program_of(module, inputs, names)
            folder = tmp_path_factory.mktemp(kind)
            made[kind] = module, names, [make(program, folder) for make in (Compiled, CompiledForGpu)]
        return made[kind]

    return of


@pytest.mark.parametrize("kind", KINDS)
def test_functions_of_hard_numbers_are_those_of_torch(models, kind):
    module, names, programs = models(kind)
    for seed in range(25):
        planes = random_programs.planes_of(kind, seed)
        for made in programs:
            assert random_programs.of_numbers(made, module, names, planes) == {}, f"seed {seed}, {type(made).__name__}"


def test_random_networks_give_what_float64_gives(models):
    module, names, programs = models("graphs")
    for made in programs:
        assert random_programs.of_network(made, module, names, SEEDS[0]) == {}, type(made).__name__


def is_short(x):
    """Whether a number has at most 12 significant bits."""
    mantissa, _ = np.frexp(x)
    return np.isfinite(x) & (mantissa * 4096 == np.rint(mantissa * 4096))


def test_functions_are_exact_where_torch_is(models):
    """Powers of two and of ten, whole numbers, halves, through all functions, those that others are made of, too."""
    module, ((*names,),), programs = models("floats")
    powers = [2.0 ** np.arange(-149, 128), -(2.0 ** np.arange(-9, 100)), 10.0 ** np.arange(11)]
    numbers = np.concatenate([*powers, np.arange(-150, 150), np.arange(-9, 9, 0.5)]).astype(np.float32)
    planes = np.stack([np.roll(numbers, 17 * i) for i in range(6)])
    with torch.no_grad():
        truth = module(torch.from_numpy(planes.T).double()).numpy()
        of_torch = module(torch.from_numpy(planes.T)).double().numpy()
    wanted = is_short(truth) & (truth == of_torch)
    assert wanted.sum() > 20000
    for made in programs:
        (got,) = made.run([planes], [len(numbers)])
        assert random_programs.differences(names, got, truth, wanted & (got != truth)) == {}, type(made).__name__


def test_what_differs_is_found():
    names, truth = [("a", 2), ("b", 1)], np.array([[1.0, np.nan, np.inf], [2.0, -np.inf, 0.0]])
    assert not random_programs.differs(truth + 1e-9, truth, 0.0, 1e-6).any()
    for place, number in (((0, 0), 1.1), ((0, 1), 0.0), ((0, 2), np.nan), ((1, 1), np.inf), ((1, 2), np.nan)):
        got = truth.copy()
        got[place] = number
        wrong = random_programs.differs(got, truth, 1e-6, 1e-6)
        assert wrong.sum() == 1 and wrong[place]
        name, row, column = ("b" if place[1] == 2 else "a"), place[0], place[1] % 2
        (found,) = random_programs.differences(names, got, truth, wrong).items()
        assert found[0] == name and found[1].startswith(f"1 differ: [{row}, {column}] is {number}")
