# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From a program of torch.export to a typed program."""

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from tensoa.binding import Binding, Block
from tensoa.compiler import build
from tensoa.compiler.errors import NotFused, surprises_as_not_fused
from tensoa.compiler.frontend import elementwise, movement, places, products, sums
from tensoa.compiler.frontend.graph import Graph
from tensoa.compiler.frontend.lowering import LOWERINGS, Context, calculated, dtype_of
from tensoa.compiler.frontend.values import Factors, Masked, Value, cast, permuted, reshaped, to_shape, value_of
from tensoa.compiler.program import Output, Program
from tensoa.compiler.tensors import Tensor, made_by

#: Operators that write elements that a mask has chosen where a mask is true.
WRITES_MASKED = ("index_put", "_unsafe_index_put")
#: Functions of numbers that torch does not call so.
ELEMENTWISE = ("_to_copy", "clone", "alias", "detach")
TABLES = (elementwise, movement, places, products, sums)  # fill LOWERINGS when they are imported


def capture(exported: torch.export.ExportedProgram, binding: Binding, rules: list[dict[str, int]]) -> Program:
    """The typed program of a torch.export.ExportedProgram that takes a tensor for each input block and gives one for each
    output block, in order. `rules`: of the rows of each output, as in the manifest of packages.

    Raises NotFused with the reason, in words for the user.
    """
    with surprises_as_not_fused(), made_by("front end"):
        return Capture(Graph(exported, binding)).program(rules)


class Capture:
    def __init__(self, graph: Graph) -> None:
        self.graph, self.binding = graph, graph.binding
        self.rows = tuple(f"rows{collection}" for collection in graph.domains)
        self.symbols = {symbol: self.rows[domain] for symbol, domain in graph.symbols.items()}
        self.values: dict[torch.fx.Node, Any] = {}

    def program(self, rules: list[dict[str, int]]) -> Program:
        results: list[Any] = []
        for node in self.graph.nodes:
            if node.op == "output":
                results = torch.fx.node.map_arg(node.args[0], self.values.__getitem__)
            else:
                self.values[node] = self.argument(node) if node.op == "placeholder" else self.lowered(node)
        outputs = [self.output(i, results[i], rule) for i, rule in enumerate(rules)]
        return Program(self.rows, tuple(outputs))

    # -- arguments and results

    def argument(self, node: torch.fx.Node) -> Value:
        if node in self.graph.constants:
            return self.constant(self.graph.constants[node])
        position = self.graph.inputs.index(node)
        return self.column(self.binding.inputs[position], position)

    @staticmethod
    def constant(numbers: torch.Tensor) -> Value:
        wide = numbers.float() if numbers.dtype in (torch.bfloat16, torch.float16) else numbers
        return value_of(build.constant(wide.numpy(), calculated(dtype_of(numbers.dtype))))

    def column(self, block: Block, position: int) -> Value:
        rows = self.rows[self.graph.domains.index(block.collection)]
        columns, element = len(block.columns), block.element
        inner = tuple(size for size in (columns, *reversed(element)) if size != 1) or (1,)
        shape = inner if block.kind == "scalar" else (rows, *inner)  # of a scalar: the one row of all
        column, dtype = dtype_of(block.column_dtype), dtype_of(block.dtype)
        value = value_of(build.column(position, block.places, column, shape))
        if block.kind == "scalar":
            value = to_shape(Value(value.tensor, (0, *value.groups)), [[rows], *(value.factors(d) for d in range(value.rank))])
        return cast(cast(self.as_model(block, value, rows), dtype), calculated(dtype))

    def as_model(self, block: Block, value: Value, rows: str) -> Value:
        """The tensor of a block out of its planes; those of a matrix lie column after column."""
        shape: list[Factors] = [[rows] if size is None else [size] if size > 1 else [] for size in block.shape(None)]
        if block.is_transposed:
            return permuted(reshaped(value, [[rows], shape[0]]), [1, 0])
        if len(block.element) == 2:
            planes = reshaped(value, [*shape[:-2], shape[-1], shape[-2]])
            return permuted(planes, [*range(planes.rank - 2), planes.rank - 1, planes.rank - 2])
        return reshaped(value, shape)

    def output(self, i: int, result: Any, rule: dict[str, int]) -> Output:
        block = self.binding.outputs[i]
        if "rows" in rule:
            raise NotFused(f'block "{block.name}": always the same number of rows')
        rows = self.rows[self.graph.domains.index(rule["collection"])]
        if not isinstance(result, Value):
            raise NotFused(f'block "{block.name}": not a tensor of the data')
        value = self.as_planes(block, cast(result, dtype_of(block.dtype)))
        if not value.tensor.rows:
            value = to_shape(value, [[rows], *(value.factors(d) for d in range(1, value.rank))])
        tensor: Tensor = value.tensor
        if tensor.rows != (rows,) or tensor.shape[0] != rows:
            raise NotFused(f'block "{block.name}": rows of another collection')
        return Output(len(self.binding.inputs) + i, tuple(block.places), tensor, dtype_of(block.column_dtype))

    def as_planes(self, block: Block, value: Value) -> Value:
        if block.is_transposed:
            return permuted(value, [1, 0])
        if len(block.element) == 2:
            return permuted(value, [*range(value.rank - 2), value.rank - 1, value.rank - 2])
        return value

    # -- operators

    def lowered(self, node: torch.fx.Node) -> Any:
        args: Any = torch.fx.node.map_arg(node.args, self.values.__getitem__)
        named: Any = torch.fx.node.map_arg(node.kwargs, self.values.__getitem__)
        if node.target is operator.getitem:
            result = args[0][args[1]]
            if result is None and node.users:
                raise NotFused(f"result {args[1]} of {node.args[0].target}")  # type: ignore[union-attr]
            return result
        if not isinstance(node.target, torch._ops.OpOverload):
            return node.meta["val"]  # arithmetic of sizes
        name = node.target._schema.name.split("::")[1]
        if name in ("sym_size", "sym_numel"):
            return node.meta["val"]
        lower = LOWERINGS.get(name) or LOWERINGS.get(name.rstrip("_"))
        if lower is None and torch.Tag.nondeterministic_seeded in node.target.tags:
            raise NotFused(f"random numbers ({name})")
        if lower is None and not node.all_input_nodes:
            return self.constant(node.target(*node.args, **node.kwargs))
        if lower is None:
            raise NotFused(f"the operation {node.target}")
        with made_by(f"front end, {node.target}"):
            context = Context(node, self.symbols)
            result = lower(context, *args, **named) if name in WRITES_MASKED else of_masked(context, lower, args, named)
        need_as_torch(context, result)
        return result


def need_as_torch(context: Context, result: Any) -> None:
    """Raises NotFused where tensors have not the dtypes and shapes that torch says of them."""
    if result is None:
        return
    results, metas = (one if isinstance(one, (list, tuple)) else [one] for one in (result, context.meta))
    for value, meta in zip(results, metas):
        if not isinstance(value, Value):
            continue
        is_same = value.dtype == calculated(dtype_of(meta.dtype)) and value.rank == len(meta.shape)
        if not is_same or not all(_is_size(context, value.factors(dim), size) for dim, size in enumerate(meta.shape)):
            own = ", ".join("*".join(map(str, value.factors(dim))) for dim in range(value.rank))
            wanted = f"{dtype_of(meta.dtype).name}[{', '.join(map(str, meta.shape))}]"
            raise NotFused(f"{context.node.target}, which gives {wanted}, and would give {value.dtype.name}[{own}] here")


def _is_size(context: Context, own: Factors, size: Any) -> bool:
    """Whether a product of factors, in whatever order, is a size of torch, or one that depends on the data."""
    try:
        wanted = context.factors(size)
    except NotFused:
        return True
    return _product(own) == _product(wanted)


def _product(factors: Factors) -> tuple[list[str], int]:
    return sorted(n for n in factors if isinstance(n, str)), math.prod(n for n in factors if isinstance(n, int))


def of_masked(context: Context, lower: Callable[..., Any], args: Any, named: Any) -> Any:
    """A lowering of arguments some of which are chosen by one mask: a function of numbers is that of all numbers, of which the
    mask chooses then.
    """
    flat = tree_leaves((args, named))
    chosen = [arg for arg in flat if isinstance(arg, Masked)]
    if not chosen:
        return lower(context, *args, **named)
    first = chosen[0]
    is_function = context.name in ELEMENTWISE or torch.Tag.pointwise in context.node.target.tags  # type: ignore[union-attr]
    is_one_mask = all(one.mask == first.mask and one.value.rank == first.value.rank for one in chosen)
    inner = first.value.rank - first.mask.rank  # axes that are the same for all of them
    if not is_function or not is_one_mask or any(isinstance(arg, Value) and arg.rank > inner for arg in flat):
        raise NotFused("elements of all rows that a mask is true for")
    whole, whole_named = tree_map(lambda arg: arg.value if isinstance(arg, Masked) else arg, (args, named))
    return Masked(lower(context, *whole, **whole_named), first.mask)
