# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From the inlined graph of a TorchScript model to steps that Python runs."""

import functools
import re
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import torch

from tensoa.compiler.torchscript.values import (
    CLASSES,
    DTYPES,
    LAYOUTS,
    MEMORY_FORMATS,
    ON_TENSORS,
    PLAIN,
    PRIM,
    OnData,
    Value,
    cast,
    is_known,
    is_symbol,
    kind_of,
    tensor_of,
)
from tensoa.errors import InputError, Unsupported, first_line


def refusal(what: str, where: str | None = None) -> Unsupported:
    where = f" ({where})" if where else ""
    return Unsupported(f"the TorchScript model cannot be compiled ahead of time: {what}{where}")


def _are_numbers(arguments: Sequence[Value], takes_tensor: Sequence[bool]) -> bool:
    """Whether an operator on tensors is given numbers instead: a trace has sizes as tensors (NumToTensor is ignored)."""
    values = [value for value, is_tensor in zip(arguments, takes_tensor) if is_tensor and value is not None]
    is_number = [not isinstance(value, torch.Tensor) for value in values]
    return any(is_number) and all(n or (value.dim() == 0 and is_known(value)) for value, n in zip(values, is_number))


def _plain(value: Value) -> Value:
    return value.item() if isinstance(value, torch.Tensor) else value


_Slots = tuple[int, ...]  # the numbers of values in a frame


@dataclass(frozen=True, eq=False)
class _Step:
    """`outputs` of the frame become run(frame, *inputs of the frame)."""

    run: Callable[..., Value]
    inputs: _Slots
    outputs: _Slots
    name: str
    node: torch._C.Node  # of torch, for its place in the source


_Steps = tuple[_Step, ...]


@dataclass(frozen=True, eq=False)
class _Body:
    inputs: _Slots
    outputs: _Slots
    steps: _Steps
    raises: bool


class Frame(list[Any]):
    """The values of one call, by number."""

    #: Of the inputs: what a model requests by name is meant for the machine where it was saved.
    device: torch.device | None = None


def _place(node: torch._C.Node) -> str | None:
    """file.py:12, where the author wrote what a node does: scripts have one place, traces a stack of them."""
    source: Any = node.sourceRange()  # a text, though torch's stubs say SourceRange
    places = re.findall(r'File "([^"]*)", line (\d+)|^(\S+\.py)\((\d+)\)', source, re.MULTILINE)
    places = [(path or other, line or number) for path, line, other, number in places]
    of_author = [place for place in places if "/torch/" not in place[0] and "__torch__" not in place[0]]
    for path, line in of_author or places:
        return f"{Path(path).name}:{line}"
    return None


def _is_number_of_trace(node: torch._C.Node, value: Value) -> bool:
    """Whether a constant tensor may have been a number of Python, which files of traces do not tell."""
    if not isinstance(value, torch.Tensor) or value.dim() > 0 or value.dtype != torch.float64:
        return False
    users = [use.user.kind().removeprefix("aten::") for use in node.output().uses()]
    return all(map(torch._C._should_allow_numbers_as_tensors, users))


UNKNOWN = object()
#: In addition to the operators of PLAIN: those whose result is constant where the arguments are.
FOLDED = ("prim::isinstance", "prim::unchecked_cast", "prim::unchecked_unwrap_optional", "prim::min", "prim::max", "prim::abs")


@functools.cache
def _schema(text: str) -> torch._C.FunctionSchema:
    return torch._C.parse_schema(text)


_Converter = Callable[[Frame, Value], Value]


def _converters(schema: torch._C.FunctionSchema) -> list[_Converter | None]:
    """For each argument of an operator: a function of (frame, value), or None."""

    def convert(kind: str) -> _Converter | None:
        if kind == "ScalarType":
            return lambda frame, value: getattr(torch, DTYPES[value]) if type(value) is int else value
        if kind == "Layout":
            return lambda frame, value: LAYOUTS[value] if type(value) is int else value
        if kind == "MemoryFormat":
            return lambda frame, value: MEMORY_FORMATS[value] if type(value) is int else value
        if kind == "Device":
            return lambda frame, value: None if value is None else frame.device
        return None

    kinds = (str(argument.real_type).removeprefix("Optional[").removesuffix("]") for argument in schema.arguments)
    return [convert(kind) for kind in kinds]


#: Values that the steps of a graph cannot change, and that say which branch is taken.
SCALARS = (bool, int, float, str, type(None), torch.dtype, torch.device)

_Taken = tuple[list[torch._C.Value], torch._C.Block | None]  # the results of a branch or a loop, and which block runs
_Part = tuple[torch.jit.ScriptModule, str]  # the model or a part of it, and its path


class Compiler:
    """Makes the steps of a graph. What GetAttr takes from the model is known now: a tensor, or a constant; and so is what
    follows from constants alone. Branches that are never taken, as those of training, and loops without a round are left out
    before they are judged.
    """

    def __init__(self, script: torch.jit.ScriptModule) -> None:
        self.script = script
        self.slots: dict[str, int] = {}
        self.initial: dict[int, Value] = {}
        self.tensors: dict[int, torch.Tensor] = {}
        self.paths: dict[str, int] = {}  # the slot of each tensor of the model that the graph reads
        self.of_self: dict[int, _Part] = {}  # slots of the model and its parts: (part, name)
        graph = script.forward.inlined_graph if hasattr(script.forward, "inlined_graph") else script.inlined_graph
        first, *inputs = graph.inputs()
        self.of_self[self.slot(first)] = (script, "")
        self.inputs = tuple(self.slot(value) for value in inputs)
        self.steps = self.steps_of(graph.nodes())
        self.outputs = tuple(self.slot(value) for value in graph.outputs())

    def slot(self, value: torch._C.Value) -> int:
        return self.slots.setdefault(value.debugName(), len(self.slots))

    def steps_of(self, nodes: Iterable[torch._C.Node]) -> _Steps:
        return tuple(step for node in nodes for step in self.step(node))

    def block(self, block: torch._C.Block) -> _Body:
        steps = self.steps_of(block.nodes())
        inputs = tuple(self.slot(value) for value in block.inputs())
        outputs = tuple(self.slot(value) for value in block.outputs())
        return _Body(inputs, outputs, steps, any(step.name == "prim::RaiseException" for step in steps))

    def constant(self, slot: int, value: Value) -> None:
        if isinstance(value, torch.Tensor) and value.dim() > 0:
            self.tensors[slot] = value
        else:
            self.initial[slot] = value

    def step(self, node: torch._C.Node) -> _Steps:
        """The steps that are to be run for a node: none for what is known now."""
        kind = node.kind()
        inputs = tuple(self.slot(value) for value in node.inputs())
        outputs = tuple(self.slot(value) for value in node.outputs())
        if kind == "prim::Constant":
            value: Value = node.output().toIValue()
            self.constant(outputs[0], value.item() if _is_number_of_trace(node, value) else value)
            return ()
        if kind in ("prim::GetAttr", "prim::SetAttr") and inputs[0] in self.of_self:
            self.attribute(node, inputs, outputs)
            return ()
        if (body := self.taken(node, kind, inputs)) is not None:
            results, block = body
            steps = self.steps_of(block.nodes()) if block is not None else ()
            for output, result in zip(node.outputs(), results):
                self.slots[output.debugName()] = self.slot(result)
            return steps
        if len(outputs) == 1 and (value := self.folded(node, kind, inputs)) is not UNKNOWN:
            self.initial[outputs[0]] = value
            return ()
        if kind == "prim::If":
            blocks = [self.block(block) for block in node.blocks()]
            for output, *given in zip(outputs, *(block.outputs for block in blocks)):
                self.join(output, *given)
            if not any(block.steps for block in blocks) and all(output in self.initial for output in outputs):
                return ()
            return (_Step(self.branch(node, blocks), inputs, outputs, kind, node),)
        return (self.made(node, kind, inputs, outputs),)

    def join(self, output: int, first: int, second: int) -> None:
        """The result of a branch is known where both blocks have the same constant."""
        values = [self.initial.get(slot, UNKNOWN) for slot in (first, second)]
        if all(isinstance(value, SCALARS) for value in values) and len({(type(value), repr(value)) for value in values}) == 1:
            self.initial[output] = values[0]

    def taken(self, node: torch._C.Node, kind: str, inputs: _Slots) -> _Taken | None:
        """(results, block) of a branch or a loop where constants say which block runs, once or (None) never; else None."""
        if kind == "prim::If" and inputs[0] in self.initial:
            first, second = node.blocks()
            block = first if self.initial[inputs[0]] else second
            return list(block.outputs()), block
        if kind == "prim::Loop":
            most, goes_on = self.initial.get(inputs[0], 1), self.initial.get(inputs[1], True)
            if goes_on is False or (type(most) is int and most <= 0):
                return list(node.inputs())[2:], None
        return None

    def folded(self, node: torch._C.Node, kind: str, inputs: _Slots) -> Value:
        """The result of an operator on constants; UNKNOWN where its value may depend on more."""
        values = [self.initial.get(slot, UNKNOWN) for slot in inputs]
        name = kind.removeprefix("aten::")
        is_compared = name in ("__is__", "__isnot__") and any(value is None for value in values)
        if is_compared and any(slot in self.tensors for slot in inputs):
            return name == "__isnot__"
        is_plain = (kind.startswith("aten::") and name in PLAIN) or kind in FOLDED
        if not is_plain or not values or not all(isinstance(value, SCALARS) for value in values):
            return UNKNOWN
        try:
            step = self.made(node, kind, inputs, ())
            value = step.run(Frame(), *values)
        except Exception:  # which the step raises when it is run, if it is
            return UNKNOWN
        return value if isinstance(value, SCALARS) else UNKNOWN

    def made(self, node: torch._C.Node, kind: str, inputs: _Slots, outputs: _Slots) -> _Step:
        return _Step(self.function(node, kind), inputs, outputs, kind, node)

    def attribute(self, node: torch._C.Node, inputs: _Slots, outputs: _Slots) -> None:
        part, path = self.of_self[inputs[0]]
        name = node.s("name")
        path = f"{path}.{name}".removeprefix(".")
        if node.kind() == "prim::SetAttr":
            raise refusal(f"it keeps {path} between calls", _place(list(node.inputs())[1].node()))
        value = getattr(part, name)
        if isinstance(value, torch.jit.ScriptModule):
            self.of_self[outputs[0]] = (value, path)
        elif isinstance(value, torch.Tensor):
            self.tensors[outputs[0]] = value
            self.paths[path] = outputs[0]
        elif isinstance(value, (torch.ScriptObject, torch._C.ScriptModule)):
            raise refusal(f"{path} is an object of C++, as quantized models have", _place(node))
        else:
            self.initial[outputs[0]] = value

    def function(self, node: torch._C.Node, kind: str) -> Callable[..., Value]:
        space, _, name = kind.partition("::")
        if kind == "prim::Loop":
            return self.loop(node)
        if kind == "prim::RaiseException":
            return self.raising(node)
        if kind == "prim::isinstance":
            return self.is_instance(node)
        if kind == "prim::TupleConstruct":
            return self.tuple(node)
        if kind in ("prim::GetAttr", "prim::SetAttr"):
            attribute = node.s("name")
            if kind == "prim::GetAttr":
                return lambda frame, value: getattr(value, attribute)
            return lambda frame, value, other: setattr(value, attribute, other)
        if space == "prim" and name in PRIM:
            function = PRIM[name]
            return lambda frame, *arguments: function(*arguments)
        if node.schema() == "(no schema)":
            raise refusal(f"its operator {kind}", _place(node))
        return self.operator(node, space, name)

    def tuple(self, node: torch._C.Node) -> Callable[..., Value]:
        named = re.search(r": NamedTuple\((.*)\) = prim::TupleConstruct", str(node))
        names = re.findall(r"(\w+) : ", named[1]) if named else []
        if len(names) != len(list(node.inputs())):
            return lambda frame, *values: values
        make = _named_tuple(names)
        return lambda frame, *values: make(*values)

    def branch(self, node: torch._C.Node, blocks: Sequence[_Body]) -> Callable[..., Value]:
        safe = [block for block in blocks if not block.raises]

        def run(frame: Frame, condition: Value) -> Value:
            if isinstance(condition, OnData) or is_symbol(condition):
                if len(safe) == 1:  # an assertion: the checks of the exporter run it on numbers
                    return _run_block(frame, safe[0])
                if isinstance(condition, OnData):
                    raise refusal("a branch that depends on the data", _place(node))
            return _run_block(frame, blocks[0 if condition else 1])

        return run

    def loop(self, node: torch._C.Node) -> Callable[..., Value]:
        (body,) = (self.block(block) for block in node.blocks())

        def run(frame: Frame, most: Value, goes_on: Value, *first: Value) -> Value:
            count = 0
            carried: Sequence[Value] = first
            while True:
                if isinstance(goes_on, OnData) or isinstance(most, torch.Tensor):
                    raise refusal("a loop whose length depends on the data", _place(node))
                if is_symbol(goes_on) or is_symbol(most):
                    raise refusal("a loop whose length depends on the number of rows", _place(node))
                if not goes_on or count >= most:
                    return carried[0] if len(carried) == 1 else carried
                for slot, value in zip(body.inputs, (count, *carried)):
                    frame[slot] = value
                run_steps(frame, body.steps)
                goes_on, *carried = (frame[slot] for slot in body.outputs)
                count += 1

        return run

    def raising(self, node: torch._C.Node) -> Callable[..., NoReturn]:
        def run(frame: Frame, message: Value, *_: Value) -> NoReturn:
            raise RuntimeError(f"it raises {message!r}" if message else "it raises an exception")

        return run

    def is_instance(self, node: torch._C.Node) -> Callable[..., bool]:
        kinds = [kind.kind() for kind in node.tys("types")]
        if not all(kind in CLASSES for kind in kinds):
            raise refusal("its operator prim::isinstance of the model's own class", _place(node))
        classes = tuple(CLASSES[kind] for kind in kinds)

        def run(frame: Frame, value: Value) -> bool:
            return isinstance(value, classes) or (int in classes and isinstance(value, torch.SymInt))

        return run

    def operator(self, node: torch._C.Node, space: str, name: str) -> Callable[..., Value]:
        schema = _schema(node.schema())
        overload: Any = getattr(getattr(getattr(torch.ops, space), name), schema.overload_name or "default", None)
        if space == "aten" and str(node.schema()).startswith(("aten::tensor", "aten::as_tensor.list")):
            overload = tensor_of  # torch.ops takes no list of Python there
        converters = _converters(schema)
        names = [argument.name for argument in schema.arguments]
        named = [argument.kwarg_only for argument in schema.arguments]
        takes_tensor = [str(argument.type) in ("Tensor", "Optional[Tensor]") for argument in schema.arguments]
        is_on_tensor = bool(takes_tensor) and takes_tensor[0]
        gives_float = [str(result.type) for result in schema.returns] == ["float"]  # also where Python gives an integer
        has_training = "train" in names or "training" in names
        takes_numbers = torch._C._should_allow_numbers_as_tensors(name)
        plain = PLAIN.get(name) if space == "aten" else None
        if (space, name) == ("aten", "to"):
            plain = _number_to(names)
        on_tensors = ON_TENSORS.get(name) if space == "aten" else None
        if overload is None and plain is None and on_tensors is None:
            raise refusal(f"its operator {node.kind()}", _place(node))

        def run(frame: Frame, *arguments: Value) -> Value:
            if plain is not None and (not is_on_tensor or _are_numbers(arguments, takes_tensor)):
                result = plain(*(_plain(value) if is_on_tensor else value for value in arguments))
                return torch.sym_float(result) if gives_float and not isinstance(result, OnData) else result  # type: ignore[no-untyped-call]
            if on_tensors is not None:
                return on_tensors(*arguments)
            if has_training:
                _check_evaluation(node, dict(zip(names, arguments)))
            positional: list[Value] = []
            keywords: dict[str, Value] = {}
            for value, change, is_named, is_tensor, key in zip(arguments, converters, named, takes_tensor, names):
                if change is not None:
                    value = change(frame, value)
                elif is_tensor and not (value is None or isinstance(value, torch.Tensor) or takes_numbers):
                    tensors = [other for other in arguments if isinstance(other, torch.Tensor)]
                    value = torch.scalar_tensor(value, dtype=kind_of(value, tensors), device=frame.device)
                if is_named:
                    keywords[key] = value
                else:
                    positional.append(value)
            return overload(*positional, **keywords)

        return run


def _named_tuple(names: Sequence[str]) -> Callable[..., Value]:
    return namedtuple("Results", names)


def _number_to(names: Sequence[str]) -> Callable[..., Value]:
    """aten::to of a number, whose arguments have these names."""

    def run(*arguments: Value) -> Value:
        named = dict(zip(names, arguments))
        kind = named.get("dtype")
        if kind is None:
            return named["self"] if "other" not in named else cast(named["self"], kind_of(named["other"], ()))
        return cast(named["self"], getattr(torch, DTYPES[kind]))

    return run


def _check_evaluation(node: torch._C.Node, values: Mapping[str, Value]) -> None:
    """A model that was traced while it was being trained is trained for ever."""
    is_trained = values.get("train") is True or values.get("training") is True
    draws = values.get("p", values.get("dropout", 0.0)) > 0
    if is_trained and (draws or values.get("running_mean") is not None):
        raise InputError(
            f"the TorchScript model was saved while it was being trained ({node.kind()}, {_place(node)}); "
            "call eval() before torch.jit.trace or torch.jit.script"
        )


def run_steps(frame: Frame, steps: Sequence[_Step]) -> None:
    for step in steps:
        try:
            result = step.run(frame, *[frame[slot] for slot in step.inputs])
        except InputError:
            raise
        except Exception as error:  # whatever operators throw
            if isinstance(error, _Failed):
                raise
            if torch.compiler.is_exporting():
                raise refusal(f"{step.name}: {first_line(error)}", _place(step.node)) from error
            raise _Failed(f"{first_line(error)} ({step.name}, {_place(step.node)})") from error
        if len(step.outputs) == 1:
            frame[step.outputs[0]] = result
        else:
            for slot, value in zip(step.outputs, result or ()):
                frame[slot] = value


class _Failed(RuntimeError):
    """An error of an operator, with its place."""


def _run_block(frame: Frame, block: _Body) -> Value:
    run_steps(frame, block.steps)
    values = tuple(frame[slot] for slot in block.outputs)
    return values[0] if len(values) == 1 else values
