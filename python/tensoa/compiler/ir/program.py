# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Row programs: what a model does to rows of numbers.

A value has the rows of a domain (hits, edges: a collection of the binding) and `width` numbers in each row. All operations
but four stay in their row: `gather` reads rows of another domain, `scatter` reduces rows into another domain, to their sum,
the largest or the least; `attend` and `nearest` read all rows of a domain. So everything between these is one loop over
rows, which is one kernel (stages.py).

A back end that keeps a row in registers wants short rows: lift.py makes groups of a row rows of a domain of their own, and
then `regroup`, `multiply`, `pick` and `fold` read what other such domains have of the same row.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from tensoa.errors import InputError

#: The operations and their attributes; those with a value need not be given. Values of FREE operations are read again where
#: they are needed, never handed over between stages.
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "input": {"block": ..., "planes": ..., "dtype": ..., "is_scalar": ..., "steps": ()},
    "index": {"block": ..., "plane": ..., "dtype": ..., "steps": ()},
    "constant": {"array": ...},
    "linear": {"weight": ..., "bias": ..., "times": 1},
    "product": {"inner": ..., "times": 1},
    "map": {"name": ...},
    "double": {"name": ..., "kinds": ..., "is_short": False},
    "norm": {"weight": ..., "bias": ..., "eps": ..., "is_centered": False, "times": 1},
    "reduce": {"name": ..., "times": 1},
    "order": {"count": ..., "is_largest": False, "times": 1},
    "take": {"inner": 1, "times": 1},
    "pack": {"ranges": ...},
    "lookup": {"table": ...},
    "row": {"number": ...},
    "gather": {},
    "scatter": {"name": "sum"},
    "attend": {"score": ..., "weights": "softmax", "times": 1},
    "nearest": {"score": ..., "count": ..., "is_largest": False},
    "regroup": {"places": ...},
    "multiply": {"places": ...},
    "pick": {"places": ...},
    "fold": {"places": ..., "name": ...},
}
FREE = ("input", "index", "constant")
#: How many of the first arguments are of the own row, of operations that read the others where they lie in memory.
_OWN = {"regroup": 0, "multiply": 1, "pick": 1, "fold": 0, "attend": 1, "nearest": 1}
ARGUMENT = 1 << 24  # see `places` of Value
Score = tuple[tuple, ...]


def _read_only(value: Any) -> Any:
    """An array as one that nothing can write; its owner still can."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value


@dataclass(eq=False, frozen=True)
class Value:
    """[rows of `domain`, `width`], float32 (or int64 for `index`). Made by `op` from `args`.

    | op | args | attributes | in every row |
    | --- | --- | --- | --- |
    | input | | block, planes, dtype, is_scalar, steps | the numbers of these planes of input block `block` after the
      steps (integers.py), as float32; of scalar columns the first number of each plane, in every row |
    | index | | block, plane, dtype, steps | one number of an integer plane after the steps, to gather and scatter with |
    | constant | | array [width] | the same numbers in every row |
    | linear | x | times, weight [out, in], bias [out] or None | weight @ x + bias, of every group of x |
    | product | x, y | times, inner | of every group of x, a matrix [a, inner], and of y, [inner, c]: x @ y, [a, c] |
    | map | one or more | name | a function of FUNCTIONS (operations.py); arguments have the same width, or width 1, which
      stands for all |
    | double | any | name, kinds, is_short | a function of FUNCTIONS in float64. A number of float64 is two words of 32 bits: a
      value has the high ones of all its numbers, then the low ones. `kinds` of the parameters: "words", "floats" (float32
      numbers), both from the next of the arguments, or the bytes of constants. The result is words, or float32 where it
      `is_short`; parameters have as many numbers, or one, which stands for all |
    | norm | x | times, weight, bias ([width of a group] or None), eps, is_centered | layer normalisation of every group;
      the mean of each is zero where `is_centered` |
    | reduce | x | times, name | a function of REDUCTIONS (operations.py): one number of every group |
    | order | x | times, count, is_largest | of every group the places of its `count` least (or largest) numbers, in order: the
      first place first where numbers are equal; what is no number is larger than all |
    | take | x, places | times, inner | of every group of x, elements of `inner` numbers, those that the same group of
      `places` names, side by side; NaN for a place that is none |
    | pack | any | ranges: (start, stop) of each argument | the numbers side by side |
    | lookup | index | table [rows, width] | row `index` of a constant table |
    | row | x | number | number `number` of x as an index; -1, which names no row, where it is no number |
    | gather | x, index | | row `index` of x; the result has the domain of `index` |
    | scatter | x, index | name | the function `name` of REDUCTIONS ("sum", "amax" or "amin"), number by number, of all rows of
      x whose index is this row; its `start` (0, -inf, inf) where none is; the result has the domain `domain` |
    | attend | q, k, v | times, score, weights | of each group the sum over all rows j of v's domain of w[j] * v[j], where w is
      the score of q in this row and k in row j ("sum"), or the softmax of the scores ("softmax"; "safe" is zero, not NaN,
      where all scores are -inf); zero where there is no row j |
    | nearest | q, k | score, count, is_largest | the `count` rows j of k's domain with the least (or largest) score of q in
      this row and k in row j, in order: the first row first where scores are equal; what is no number is larger than all;
      -1 where there are fewer rows |
    | regroup | any | places [groups, 1, width] | the numbers that `places` names |
    | multiply | x, any | places [groups, inner, width] | x times the matrix that `places` names |
    | pick | place, any | places [groups, n, width] | of n vectors that `places` names that at `place`; NaN where it is none |
    | fold | any | places [groups, n, width], name | a function of REDUCTIONS of the n vectors that `places` names |

    A score is a tuple of steps (pairs.py), the last of which is its number.
    A group is one of `times` equal parts of a row, side by side (1 where it is not said): the elements of a set in a row.
    The last four have a lifted domain (Program), and read values of other lifted domains, or of none, in the row that theirs
    is a part of. A place is ARGUMENT * k + number: of the k-th of `any`, the number in all its parts of the row, side by side.
    There are as many groups as parts of a row, or a divisor of it: then as many neighbouring parts have the same.
    Values are compared by identity, and never change. Make them with the functions of build.py.
    """

    op: str
    domain: int  # position in Program.domains
    width: int
    args: "tuple[Value, ...]" = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = ATTRIBUTES.get(self.op)
        if known is None:
            raise InputError(f"a row program has no operation '{self.op}', expected one of {', '.join(ATTRIBUTES)}")
        given = {name: _read_only(value) for name, value in self.attributes.items()}
        object.__setattr__(self, "attributes", MappingProxyType({**known, **given}))
        wrong = [name for name, value in self.attributes.items() if value is ... or name not in known]
        if wrong:
            raise InputError(f"{self.op}: got the attributes {list(self.attributes)}, expected {list(known)}")

    def of(self, args: "tuple[Value, ...]") -> "Value":
        """The same operation of these arguments; the value itself where they are its own."""
        if all(a is b for a, b in zip(args, self.args)):
            return self
        return Value(self.op, self.domain, self.width, args, self.attributes)

    @property
    def times(self) -> int:
        return self.attributes.get("times", 1)

    @property
    def numbers(self) -> int:
        """How many numbers a row has, of which those of float64 have two words each."""
        return self.width // 2 if self.op == "double" and not self.is_short else self.width

    @property
    def is_free(self) -> bool:
        return self.op in FREE or (self.op == "regroup" and all(argument.is_free for argument in self.args))

    @property
    def own_args(self) -> "tuple[Value, ...]":
        """The arguments that are needed in the own row."""
        return self.args[1:] if self.op == "gather" else self.args[: _OWN.get(self.op)]

    @property
    def far_args(self) -> "tuple[Value, ...]":
        """The arguments that are read from memory: they were stored before, or are columns or constants."""
        return self.args[:1] if self.op == "gather" else self.args[_OWN[self.op] :] if self.op in _OWN else ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["attributes"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self) -> str:
        return f"{self.op}[{self.domain}:{self.width}]"


@dataclass(frozen=True)
class Output:
    """`value` is written to block `block` (inputs are counted too, they come first): plane `planes[i]` takes number i of
    each row, as `dtype`. What is no number becomes the integer 0.
    """

    block: int
    planes: tuple[int, ...]
    value: Value
    dtype: str = "float32"


@dataclass(frozen=True)
class Program:
    """`domains[i]`: the input collection of the binding that has the rows of domain i.

    `lifted`: (domain, times) of more domains, numbered behind them: each row of `domain` is `times` rows there.
    Where the environment has TENSOA_VERIFY_IR=1, each program that is made is verified (verify.py).
    """

    domains: tuple
    outputs: list[Output]
    lifted: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if os.environ.get("TENSOA_VERIFY_IR", "0") != "0":
            from tensoa.compiler.ir.verify import verify  # which reads programs

            verify(self)

    def parts(self, domain: int) -> tuple[int, int]:
        """(the domain of whose rows these are parts, how many parts a row has)"""
        return self.lifted[domain - len(self.domains)] if domain >= len(self.domains) else (domain, 1)

    def values(self) -> list[Value]:
        """All values that the outputs need, arguments before those that use them."""
        return in_order([output.value for output in self.outputs], lambda value: value.args)


def in_order(roots: Sequence[Value], arguments_of: Callable[[Value], Sequence[Value]]) -> list[Value]:
    """All values that `roots` need, arguments (`arguments_of(value)`) before those that use them."""
    seen, ordered = set(), []
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        value, is_done = stack.pop()
        if is_done:
            ordered.append(value)
        elif id(value) not in seen:
            seen.add(id(value))
            stack.append((value, True))
            stack.extend((argument, False) for argument in reversed(arguments_of(value)) if id(argument) not in seen)
    return ordered


class Visitor:
    """What is done to a value depends on its operation: `visit` calls the method `of_OP`. Each operation is named, so that a
    new one is not taken for another.
    """

    def __init_subclass__(cls) -> None:
        unknown = [name for name in vars(cls) if name.startswith("of_") and name[3:] not in ATTRIBUTES]
        if unknown:
            raise TypeError(f"{cls.__name__}: {', '.join(unknown)}, of no operation of a row program")

    def visit(self, value: Value, *args: Any) -> Any:
        method = getattr(self, f"of_{value.op}", None)
        if method is None:
            raise InputError(f"{type(self).__name__}: nothing for the operation '{value.op}'")
        return method(value, *args)
