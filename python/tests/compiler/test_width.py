# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Kinds of models that people have: sets inside a row become loops, whose code does not grow with the sets.

All kinds, exported: bench/width.py.
"""

import pytest

from cpu_programs import RUNNABLE, needs_level
from tensoa.binding.model import result_rows, with_examples
from tensoa.compiler import cpu, routes
from tensoa.compiler.cuda.target import SM_80
from tensoa.compiler.errors import NotFused
from tensoa.compiler.frontend import exported_program
from tensoa.package import fused
from tensoa.package.checks import validate
from width_models import Attention, DeepSets, Hits, Interaction, Kind, Recurrent, block, kinds, mlp

KINDS = kinds()


def traced(kind):
    """(module, binding, rules, exported program)"""
    module = kind.module.eval()
    columns = with_examples(module, kind.binding())
    return module, columns, result_rows(module, columns, "cpu"), exported_program(module, columns)


def kernels_of(kind):
    """The code for GPUs."""
    _, columns, rules, exported = traced(kind)
    return routes.for_cuda(exported, columns, rules, "tf32x3", False)


def program_of(kind):
    _, columns, rules, exported = traced(kind)
    return routes.for_cpu(exported, columns, rules)


def lines_of(kind):
    text = program_of(kind).source.text
    return len(text[text.index("weights_at(std::int64_t at)") :].splitlines())


@needs_level
@pytest.mark.parametrize("name", ["DeepSets, 30 padded", "attention, pair bias", "interaction network"])
def test_sets_inside_a_row_give_what_the_model_gives(name, tmp_path):
    module, columns, rules, exported = traced(KINDS[name])
    library = tmp_path / "program.so"
    cpu.build(routes.for_cpu(exported, columns, rules).source, RUNNABLE[0], library)
    found = validate(fused.Program(library), module, columns, rules, is_whole=True)
    errors = [error for check in found if check.numbers == "normal" for error in check.relative_error.values()]
    assert len(errors) >= 4 and max(errors) < 2e-6


@pytest.mark.parametrize(
    ("make", "elements", "width", "outputs"),
    [(DeepSets, 30, 5, 3), (Hits, 128, 3, 2), (Attention, 12, 8, 3), (Interaction, 8, 4, 3)],
    ids=["sets", "hits", "attention", "interaction"],
)
def test_code_does_not_grow_with_a_set(make, elements, width, outputs):
    def lines(k):
        module = make(**{"k": k, "p" if make is Interaction else "w": width})
        x = block("x", 1, kind="vector", element=(k * width,))
        return lines_of(Kind(module, [x], [block("y", outputs)]))

    assert lines(elements) < min(200, 1.5 * lines(elements // 2))  # copies would double the number


def test_operations_on_groups_are_listed():
    text = program_of(KINDS["attention, pair bias"]).stages[0]
    for words in ("12 x linear 8 -> 32", "product 12 x 8 x 12", "max 12", "sum 12"):
        assert words in text


def test_a_kernel_of_too_much_code_is_not_fused_for_cuda():
    module = Recurrent()
    with pytest.raises(NotFused, match=f"[0-9]+ characters of a kernel, at most {SM_80.kernel_characters} are compiled"):
        kernels_of(Kind(module, [block("x", 1, kind="vector", element=(360,))], [block("y", 2)]))


@pytest.mark.parametrize("name", ["attention, pair bias", "maxout", "LSTM"])
def test_sets_inside_a_row_are_one_kernel_for_cuda(name):
    made = kernels_of(KINDS[name])
    assert len(made.stages) == 1 and made.is_the_same and made.rows_at_once == 0


@pytest.mark.parametrize("width", [512, 1024])
def test_a_linear_layer_that_is_too_wide_for_one_kernel_is_not_fused_for_cuda(width):
    with pytest.raises(NotFused, match=f"a linear layer of {width} x {width} weights"):
        kernels_of(Kind(mlp(16, width, width, 2), [block("x", 16)], [block("y", 2)]))
