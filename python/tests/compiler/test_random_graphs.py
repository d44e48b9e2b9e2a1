# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Random typed programs: the interpreter compared with torch in float64."""

import dataclasses

import numpy as np
import pytest

import random_graphs
from tensoa.compiler import functions, operations


@pytest.mark.parametrize("first", range(0, 100, 10))
def test_the_interpreter_means_what_torch_means(first):
    wrong = [message for seed in range(first, first + 10) if (message := random_graphs.check(seed))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("fault", ["fmod", "maximum", "sum", "wrap"])
def test_a_fault_is_found_and_shown_as_a_minimal_program(monkeypatch, fault):
    table = functions.FUNCTIONS
    if fault == "fmod":
        monkeypatch.setitem(table, "fmod", dataclasses.replace(table["fmod"], numpy=np.mod))
    elif fault == "maximum":  # loses NaN
        monkeypatch.setitem(table, "maximum", dataclasses.replace(table["maximum"], numpy=np.fmax))
    elif fault == "sum":  # the largest instead
        monkeypatch.setattr(operations, "_joined", lambda fn, x, axes, start: x.max(axes, initial=0).astype(x.dtype))
    else:  # integers that saturate
        monkeypatch.setattr(operations, "cast_numbers", lambda x, to: np.clip(x, 0, 100).astype(to))
    found = next((m for seed in range(2000) if (m := random_graphs.check(seed)) and "wrong" in m), None)
    assert found is not None and "program of rows" in found and len(found.splitlines()) < 30
