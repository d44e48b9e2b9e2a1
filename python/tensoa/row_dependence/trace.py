# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A call of an exported program on tensors that have sizes and no numbers, in which the rows are followed."""

import operator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tensoa.binding import Binding
from tensoa.errors import first_line
from tensoa.row_dependence.rules import OPERATORS, PRIMES, Call, Count, Mixes, Rows, State, Unknown, has_rule, results_of
from tensoa.row_numbers import branches, limits_of, takes_any_rows
from tensoa.tracing import author_line

INDEPENDENT, DEPENDENT, UNKNOWN = "independent", "dependent", "unknown"

_SIZES = frozenset(("size", "shape", "sizes", "repeats", "dims", "end"))  # arguments that may be numbers of rows
_SPACES = ("aten", "quantized_decomposed")  # of operators that have rules


def _is_pointwise(func: torch._ops.OpOverload, plain: str) -> bool:
    """Whether torch says that an operator is, or that its functional form is: of abs it does, of abs_ it does not."""
    same = getattr(getattr(torch.ops.aten, plain, None), func._overloadname, func) if func.namespace == "aten" else func
    return torch.Tag.pointwise in func.tags or torch.Tag.pointwise in same.tags


@dataclass(frozen=True)
class Found:
    """`answer`: INDEPENDENT where it is proven, DEPENDENT, or UNKNOWN; `reason`: the operation, and the author's line, where
    it is not proven.
    """

    answer: str
    reason: str = ""


def row_dependence(exported: torch.export.ExportedProgram, binding: Binding, rules: list[dict]) -> Found:
    """Of a program that takes a tensor for each input block and gives one for each output block, in order. `rules`: of the
    rows of each output, as in the manifest of packages.
    """
    for block, rule in zip(binding.outputs, rules):
        if "rows" in rule:
            return Found(DEPENDENT, f"output {block.name} always has {rule['rows']} rows")
    run = _Run(exported)
    try:
        outputs = run.outputs(_inputs(exported, binding))
        for block, rule, output in zip(binding.outputs, rules, outputs, strict=True):
            expected = Rows(rule["collection"], 1 if block.is_transposed else 0)
            if run.trace.state(output) != expected:
                raise Mixes(f"output {block.name} is not made of the rows of its collection")
        _check_any_rows(exported, binding)
    except Mixes as error:
        return Found(DEPENDENT, _sentence(run, error))
    except Exception as error:  # of torch, where an operator does not run without numbers
        return Found(UNKNOWN, _sentence(run, error))
    return Found(INDEPENDENT)


def _sentence(run: "_Run", error: Exception) -> str:
    if run.node is None:
        return first_line(error)
    what = first_line(error)
    return f"{run.trace.last or run.node.target} {what}{author_line(run.node)}"


def _inputs(exported: torch.export.ExportedProgram, binding: Binding) -> list[tuple[torch.Tensor, State]]:
    """Of each input block a tensor with many rows. Raises Unknown for a program that does not take any number."""
    names = exported.graph_signature.user_inputs
    placeholders = {node.name: node for node in exported.graph.nodes if node.op == "placeholder"}
    found: list[tuple[torch.Tensor, State]] = []
    collections: dict[Any, int] = {}  # by the symbol of their number of rows
    if len(names) != len(binding.inputs):
        raise Unknown("other arguments than the input blocks")
    for name, block in zip(names, binding.inputs):
        value = placeholders[str(name)].meta["val"]
        dim = 1 if block.is_transposed else 0
        sizes, state = list(value.shape), None
        if block.kind != "scalar":
            if not isinstance(sizes[dim], torch.SymInt):
                raise Mixes(f"block {block.name} always has {sizes[dim]} rows")
            if collections.setdefault(sizes[dim].node.expr, block.collection) != block.collection:
                raise Mixes(f"block {block.name} has the same number of rows as a block of another collection")
            sizes[dim], state = PRIMES[block.collection], Rows(block.collection, dim)
        if not all(isinstance(size, int) for size in sizes):
            raise Unknown(f"block {block.name} has its own free sizes")
        found.append((torch.empty(sizes, dtype=value.dtype, device="meta"), state))
    return found


def _check_any_rows(exported: torch.export.ExportedProgram, binding: Binding) -> None:
    """Raises Unknown where the program is known to be that of the model for some numbers of rows alone."""
    for condition in branches(exported, binding):
        raise Unknown(f"a branch on the number of rows, followed only where {condition}")
    for node in exported.graph.nodes:
        value = node.meta.get("val") if node.op == "placeholder" else None
        for size in value.shape if isinstance(value, torch.Tensor) else ():
            if isinstance(size, torch.SymInt) and not takes_any_rows(exported, size):
                raise Unknown(f"a number of rows that is not any ({limits_of(exported, size)})")


class _Trace(TorchDispatchMode):
    """Follows the rows through all operators that run under it, after torch has taken them apart."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""  # the operator that runs
        self.depends_on_count = False  # an argument of the operators that run now is a number of rows
        self._states: dict[int, tuple[torch.Tensor, State]] = {}

    def state(self, tensor: torch.Tensor) -> State:
        return self._states.get(id(tensor), (tensor, None))[1]

    def set(self, tensor: torch.Tensor, state: State) -> None:
        self._states[id(tensor)] = (tensor, state)  # which keeps it alive, and its id its own

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = dict(kwargs or {})
        schema = func._schema
        space, _, name = schema.name.partition("::")
        self.last = f"{space}.{name}"
        if space not in _SPACES:
            raise Unknown("which no rule follows")
        plain = name if name.startswith("__") else name.rstrip("_")
        is_pointwise = _is_pointwise(func, plain)
        if not has_rule(plain, is_pointwise):
            with self:
                made = func.decompose(*args, **kwargs)
            if made is not NotImplemented:
                return made
        given = {argument.name: value for argument, value in zip(schema.arguments, args)} | kwargs
        named = {one.name: given.get(one.name, one.default_value) for one in schema.arguments}
        if torch.Tag.nondeterministic_seeded in func.tags:
            raise Unknown("draws random numbers")
        if any(argument.name == "device" for argument in schema.arguments):
            kwargs["device"] = torch.device("meta")
        # Where columns do not lie as the tensors that it was exported with, a view is a copy (package/parts.py).
        is_view = func is torch.ops.aten.view.default
        results = args[0].reshape(*args[1:]) if is_view else func(*args, **kwargs)
        flat = [one for one in torch.utils._pytree.tree_leaves(results) if isinstance(one, torch.Tensor)]
        writes = plain not in OPERATORS["moved"]  # transpose_ turns, and writes nothing
        into = [named[one.name] for one in schema.arguments if writes and one.alias_info and one.alias_info.is_write]
        written = [one for one in torch.utils._pytree.tree_leaves(into) if isinstance(one, torch.Tensor)]
        before = {id(tensor): self.state(tensor) for tensor in written}
        states = results_of(Call(plain, named, self.state, flat, written), is_pointwise)
        for tensor, state in zip(flat, states, strict=True):
            if state is None and self.depends_on_count:
                state = Count()
            if id(tensor) in before and state != before[id(tensor)]:
                raise Unknown("writes other rows into a tensor")
            self.set(tensor, state)
        return results


class _Run:
    """`node`: the one that runs."""

    def __init__(self, exported: torch.export.ExportedProgram) -> None:
        self.exported, self.trace = exported, _Trace()
        self.node: torch.fx.Node | None = None
        self._counts: dict[torch.fx.Node, bool] = {}  # numbers made of those of rows: whether it is one times a constant

    def outputs(self, inputs: list[tuple[torch.Tensor, State]]) -> list[torch.Tensor]:
        signature = self.exported.graph_signature
        if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
            raise Unknown("something is written")
        named = {
            **signature.inputs_to_parameters,
            **signature.inputs_to_buffers,
            **signature.inputs_to_lifted_tensor_constants,
        }
        values = {**self.exported.state_dict, **self.exported.constants}
        arguments: list[Any] = []
        remaining = iter(inputs)
        for node in self.exported.graph.nodes:
            if node.op != "placeholder":
                continue
            if node.name in named:
                arguments.append(values[named[node.name]].detach().to("meta"))
            else:
                tensor, state = next(remaining)
                self.trace.set(tensor, state)
                arguments.append(tensor)
        with torch.no_grad(), self.trace:
            results = self._graph(self.exported.graph_module, arguments)
        self.node = None
        return list(results)

    def _graph(self, module: torch.fx.GraphModule, arguments: list[Any]) -> Any:
        env: dict[torch.fx.Node, Any] = {}
        remaining = iter(arguments)
        for node in module.graph.nodes:
            if node.op == "placeholder":
                env[node] = next(remaining)
            elif node.op == "get_attr":
                value = operator.attrgetter(str(node.target))(module)
                env[node] = value.to("meta") if isinstance(value, torch.Tensor) else value
            elif node.op == "output":
                return torch.fx.node.map_arg(node.args[0], lambda one: env[one])
            else:
                self.node = node
                env[node] = self._call(node, env)
        return None

    def _call(self, node: torch.fx.Node, env: dict[torch.fx.Node, Any]) -> Any:
        target: Any = node.target
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda one: env[one])
        if isinstance(target, torch._ops.HigherOrderOperator):
            at = next((i for i, one in enumerate(args) if isinstance(one, torch.fx.GraphModule)), None)
            if at is None or not target.name().startswith("wrap_with"):
                raise Unknown("calls other graphs")
            return self._graph(args[at], list(args[at + 1 :]))
        if getattr(target, "__name__", "").startswith(("_assert", "sym_constrain")):
            return None
        counts = [one for one in node.all_input_nodes if one in self._counts]
        self.trace.last, self.trace.depends_on_count = str(target), bool(counts)
        if isinstance(target, torch._ops.OpOverload) and target is not torch.ops.aten.sym_size.int:
            self._check_counts(node, target)
        result = target(*args, **kwargs)
        if isinstance(result, (int, float, bool)):
            is_size = target in (torch.ops.aten.sym_size.int, torch.ops.aten.sym_numel.default)
            has_rows = is_size and any(result % prime == 0 for prime in PRIMES)
            if counts or has_rows:
                is_product = is_size or target in (operator.mul, operator.floordiv)
                are_plain = all(self._counts[one] for one in counts)
                self._counts[node] = is_product and are_plain and _is_one_count(result)
        return result

    def _check_counts(self, node: torch.fx.Node, target: torch._ops.OpOverload) -> None:
        """Numbers of rows may be sizes of tensors. Raises Mixes where one is used as something else."""
        names = [argument.name for argument in target._schema.arguments]
        given = dict(zip(names, node.args)) | dict(node.kwargs)
        for name, value in given.items():
            used: list[torch.fx.Node] = []
            torch.fx.node.map_arg(value, used.append)
            counts = [one for one in used if one in self._counts]
            if counts and (name not in _SIZES or not all(self._counts[one] for one in counts)):
                raise Mixes("with the number of rows of the call")


def _is_one_count(number: Any) -> bool:
    """Whether it is the number of rows of one collection, times a constant."""
    if not isinstance(number, int) or isinstance(number, bool) or number <= 0:
        return False
    dividing = [prime for prime in PRIMES if number % prime == 0]
    return len(dividing) == 1 and number // dividing[0] < min(PRIMES)
