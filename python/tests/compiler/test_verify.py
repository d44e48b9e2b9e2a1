# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The rules of row programs: good programs keep all of them, and each way to break one is caught."""

import dataclasses
import importlib
import pkgutil

import numpy as np
import pytest

import row_programs
import tensoa.compiler
from tensoa.compiler import ir, lift, passes
from tensoa.compiler.errors import MalformedProgram, NotFused, surprises_as_not_fused
from tensoa.compiler.ir import Output, Program, Value, Visitor
from tensoa.compiler.ir.program import ATTRIBUTES
from tensoa.compiler.ir.verify import text_of, verify

NODES, EDGES, PARTS = 0, 1, 2  # domains; a row of NODES has two of PARTS
SCORE = (("dot", 0, 0, 2), ("number", 0.5), ("mul", 0, 1))
TABLE = np.ones((3, 2), np.float32)


def of_each_operation():
    """A program with each operation of ATTRIBUTES."""
    x, e, source = ir.columns(NODES, 0, (0, 1, 2, 3)), ir.columns(EDGES, 1, (0, 1)), ir.index(EDGES, 2, 0)
    layer = ir.linear(x, np.ones((3, 2)), np.ones(3), times=2)
    normal = ir.norm(layer, np.ones(3, np.float32), None, 1e-5, times=2)
    total = ir.scatter(ir.apply("mul", e, ir.gather(ir.pack([(x, 1, 3)]), source)), source, NODES)
    matrix = ir.product(x, x, 2)
    order = ir.order(x, 1, times=2)
    taken = ir.take(x, order, times=2)
    wide = ir.double(NODES, "add", [(x, "floats"), np.ones(4)])
    short = ir.double(NODES, "identity", [(wide, "words")], is_short=True)
    attended = ir.attend(x, x, x, SCORE, times=2)
    near = ir.nearest(x, x, SCORE, 2)
    found = ir.gather(x, ir.row(near, 0))
    lookup = ir.lookup(ir.index(NODES, 0, 0, "int32"), TABLE)
    places = np.arange(4).reshape(2, 1, 2)
    part = Value("regroup", PARTS, 2, (x,), {"places": places})
    multiplied = Value("multiply", PARTS, 2, (part, ir.constant(NODES, np.ones(4))), {"places": np.arange(4).reshape(1, 2, 2)})
    picked = Value("pick", PARTS, 2, (ir.reduce("sum", multiplied), x), {"places": np.arange(4).reshape(1, 2, 2)})
    folded = Value("fold", NODES, 2, (picked,), {"places": np.arange(4).reshape(1, 2, 2), "name": "sum"})
    values = [normal, total, matrix, order, taken, short, attended, near, found, lookup, folded]
    outputs = [Output(3 + i, tuple(range(value.width)), value) for i, value in enumerate(values)]
    return Program(("nodes", "edges"), outputs, ((NODES, 2),))


def test_a_program_of_all_operations_keeps_the_rules():
    program = of_each_operation()
    verify(program)
    assert {value.op for value in program.values()} == set(ATTRIBUTES)


def of_op(program, op):
    return next(value for value in program.values() if value.op == op)


def changed(program, old, **changes):
    """The program with `old` as nothing that checks itself would let it be."""
    for name, change in changes.items():
        object.__setattr__(old, name, change)
    return program


def with_attributes(**changes):
    return lambda value: {"attributes": {**value.attributes, **changes}}


#: (operation, what becomes of a value of it, what is said)
BROKEN = [
    *((op, lambda value: {"attributes": {**value.attributes, "tims": 2}}, "the attributes") for op in ATTRIBUTES),
    *((op, lambda value: {"width": value.width + 1}, r"numbers|planes|parts of a row") for op in ATTRIBUTES),
    *((op, lambda value: {"domain": 3}, "domain 3 of 2, and 1 lifted") for op in ATTRIBUTES),
    *((op, lambda value: {"args": (value, *value.args[1:])}, "which needs the value itself") for op in ATTRIBUTES),
    *(
        (op, lambda value: {"domain": EDGES}, "domain|parts of a row")
        for op in ATTRIBUTES
        if op not in ("input", "index", "constant", "gather", "scatter", "map", "regroup", "fold")
    ),
    ("input", with_attributes(dtype="float33"), "the dtype float33"),
    ("input", with_attributes(planes=(0, 1, 2, -1)), "planes"),
    ("input", lambda value: {"domain": PARTS}, "columns of a lifted domain"),
    ("index", with_attributes(dtype="float32"), "the dtype float32"),
    ("constant", with_attributes(array=np.ones(4)), "array of float64"),
    ("linear", with_attributes(weight=np.ones((3, 2))), "weight of float64"),
    ("linear", with_attributes(weight=np.ones((3, 3), np.float32)), "weights"),
    ("linear", with_attributes(bias=np.ones(2, np.float32)), "a bias"),
    ("linear", with_attributes(times=3), "3 groups"),
    ("product", with_attributes(inner=3), "groups of 3"),
    ("map", with_attributes(name="gudermannian"), "the function gudermannian"),
    ("map", with_attributes(name="tanh"), "2 arguments, expected 1"),
    ("double", with_attributes(kinds=("words", "words")), "arguments|parameters"),
    ("double", with_attributes(name="sqrt"), "parameters of sqrt"),
    ("norm", with_attributes(weight=np.ones(4, np.float32)), "weights"),
    ("reduce", with_attributes(name="median"), "the reduction median"),
    ("reduce", with_attributes(times=0), "0 groups"),
    ("order", with_attributes(count=3), "3|numbers"),
    ("take", with_attributes(inner=2), "numbers"),
    ("pack", with_attributes(ranges=((3, 5),)), "numbers 3 to 5"),
    ("pack", with_attributes(ranges=((2, 2),)), "numbers 2 to 2|expected 0"),
    ("lookup", with_attributes(table=np.ones(2, np.float32)), "numbers"),
    ("lookup", lambda value: {"args": (ir.columns(NODES, 0, (0,)),)}, "which needs|names no rows"),
    ("row", with_attributes(number=2), "number 2"),
    ("gather", lambda value: {"args": (value.args[0], value.args[0])}, "names no rows"),
    ("scatter", lambda value: {"args": (value.args[1], value.args[1])}, "is no number"),
    ("scatter", with_attributes(name="mean"), "the reduction mean"),
    ("attend", with_attributes(score=(("dot", 1, 0, 2),)), "step 0 of its score"),
    ("attend", with_attributes(score=()), "no score"),
    ("attend", with_attributes(weights="hard"), "the weights hard"),
    ("nearest", with_attributes(score=(("neg", 0),)), "step 0 of its score"),
    ("nearest", with_attributes(score=(("key", 4),)), "step 0 of its score"),
    ("nearest", with_attributes(count=3), "numbers"),
    ("regroup", with_attributes(places=np.arange(6).reshape(3, 1, 2)), "2 parts of a row"),
    ("regroup", with_attributes(places=np.arange(4).reshape(2, 1, 2) + 1), "place 4"),
    ("multiply", with_attributes(places=np.arange(6).reshape(1, 3, 2)), "parts of a row"),
    ("pick", with_attributes(places=np.arange(4).reshape(1, 2, 2) + (1 << 24)), "places in the arguments"),
    ("fold", with_attributes(name="median"), "the reduction median"),
]  # fmt: skip


@pytest.mark.parametrize("op, change, message", BROKEN)
def test_a_broken_value_is_caught(op, change, message):
    program = of_each_operation()
    value = of_op(program, op)
    with pytest.raises(MalformedProgram, match=message):
        verify(changed(program, value, **change(value)))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"planes": (0,)}, "1 planes for 2 numbers"),
        ({"planes": (1, 1)}, "each once"),
        ({"planes": (-1, 0)}, "each once"),
        ({"block": 3}, "each once"),  # of another output
        ({"dtype": "float33"}, "the dtype float33"),
        ({"value": ir.index(EDGES, 2, 0), "planes": (0,)}, "not numbers"),
    ],
)
def test_a_broken_output_is_caught(change, message):
    program = of_each_operation()
    broken = [*program.outputs[:1], dataclasses.replace(program.outputs[1], **change)]
    with pytest.raises(MalformedProgram, match=message):
        Program(program.domains, broken, program.lifted)  # every program that is made is verified: here, and in the passes


def test_a_lifted_domain_that_names_none_is_caught():
    program = of_each_operation()
    for lifted in ((), ((3, 2),), ((NODES, 1),), ((NODES, 3),)):
        with pytest.raises(MalformedProgram):
            Program(program.domains, program.outputs, lifted)


def test_a_pass_that_breaks_a_program_is_caught(monkeypatch):
    """Also where the exporter looks for another way after any surprise."""
    x = ir.columns(0, 0, (0, 1))
    program = Program((0,), [Output(1, (0, 1), ir.norm(ir.linear(x, np.eye(2)), None, None, 1e-5))])
    monkeypatch.setattr(passes, "_linear", lambda x, weight, bias, times: ir.linear(x, weight[:, :1], bias, times))
    with pytest.raises(MalformedProgram, match="weights"), surprises_as_not_fused():
        passes.simplify(program)
    with pytest.raises(NotFused), surprises_as_not_fused():
        raise ZeroDivisionError


def test_programs_are_not_verified_where_nobody_asks(monkeypatch):
    monkeypatch.delenv("TENSOA_VERIFY_IR")
    Program((0,), [Output(1, (0, 1), ir.columns(5, 0, (0,)))])


def test_a_program_as_text():
    text = text_of(of_each_operation())
    for line in (
        "domain 2: 2 for each row of domain 0",
        "%0 = input[0:4](block=0, ",
        "weight=array[3, 2]",
        "block 4 planes (0, 1)",
    ):
        assert line in text


def test_values_do_not_change():
    x = ir.columns(0, 0, (0, 1))
    for name, new in (("args", ()), ("op", "row"), ("width", 3), ("attributes", {})):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(x, name, new)
    with pytest.raises(TypeError):
        x.attributes["planes"] = (1, 2)


def test_passes_keep_lifted_domains():
    x = ir.columns(0, 0, range(24))
    layer = ir.apply("relu", ir.linear(x, np.arange(12).reshape(4, 3) - 6, times=8))
    rows = lift.lifted(Program((0,), [Output(1, (0, 1), ir.linear(layer, np.ones((2, 32))))]))
    assert rows.lifted
    planes = np.random.default_rng(1).normal(size=(24, 7))
    (truth,) = row_programs.evaluate(rows, [planes], [7])
    for work in (passes.simplify, passes.heads_apart):
        assert work(rows).lifted == rows.lifted
        np.testing.assert_allclose(row_programs.evaluate(work(rows), [planes], [7])[0], truth, rtol=1e-6)


# ---- visitors


def visitors():
    for module in pkgutil.walk_packages(tensoa.compiler.__path__, "tensoa.compiler."):
        importlib.import_module(module.name)
    found, new = [], [Visitor]
    while new:
        new = [sub for visitor in new for sub in visitor.__subclasses__() if sub.__module__.startswith("tensoa.")]
        found += [visitor for visitor in new if not visitor.__subclasses__()]
    return found


#: What a visitor does not get, and why: the others name every operation.
LIFTED = {"regroup", "multiply", "pick", "fold"}
NOT_VISITED = {
    "_Values": set(),
    "Bounds": set(),
    "_Words": set(),
    "_Roots": LIFTED | {"double"},  # float64 is not lifted
    "_Arrangements": LIFTED | {"double", "pack"},  # a pack is no root
    "_Lift": LIFTED | {"double", "pack", "input", "index", "constant", "row"},  # free values, rows: where they are needed
    "Layouts": {
        "index",
        "row",
        "product",
        "take",
        "reduce",
    },  # rows have no layout; the next are lifted or copied, or one number
    "Kernel": {"index", "row", "scatter", "product", "take"},  # where they are read
}


def test_a_visitor_names_every_operation_or_says_why_not():
    found = {visitor.__name__: visitor for visitor in visitors()}
    missing = {name: {op for op in ATTRIBUTES if not hasattr(visitor, f"of_{op}")} for name, visitor in found.items()}
    assert missing == NOT_VISITED


def test_a_visitor_of_an_operation_that_is_none_is_refused():
    with pytest.raises(TypeError, match="of_linaer, of no operation"):
        type("Typo", (Visitor,), {"of_linaer": None})


def test_a_forgotten_operation_is_not_silent():
    class Forgetful(Visitor):
        def of_input(self, value):
            return value

    with pytest.raises(Exception, match="Forgetful: nothing for the operation 'constant'"):
        Forgetful().visit(ir.constant(0, [1.0]))


def test_numbers_of_a_value_cannot_be_written():
    numbers = np.zeros(3, np.float32)
    value = ir.constant(0, numbers)
    with pytest.raises(ValueError, match="read-only"):
        value.array[0] = 1
    assert value.of(value.args) is value and numbers.flags.writeable
