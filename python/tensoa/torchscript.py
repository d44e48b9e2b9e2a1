# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""TorchScript models as plain modules.

torch.export follows Python, not TorchScript. `Interpreted` holds the inlined graph of a TorchScript model as a list of steps
and runs them from Python, each operator through torch.ops. Lists, dicts, numbers, branches and loops are Python's own, so
torch.export sees the operators on tensors and nothing else: loops of a known length are unrolled, branches on constants
are taken, assertions and optional arguments leave no trace.
"""

import copy
import functools
import math
import operator
import re
import types
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from tensoa.checks import results_of, with_examples, with_lengths
from tensoa.columns import LARGE, NORMAL, ROWS, SMALL, SPECIAL, Columns, collections_of
from tensoa.command import InputError, first_line

ADVICE = "export it from the torch.nn.Module it was made of, or run it just in time"
TOLERANCE = 1e-6  # relative to the largest number of a plane, of the interpreted model to torch's own interpreter: the operators are the same
TRACED_ROWS = (*range(1, 17), 20, 32, 50, 64, 100, 128, 256, 500, 512, 1000, 1024)  # what people trace models with
#: The ScalarType numbers of c10, which TorchScript writes instead of dtypes.
DTYPES = (
    "uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool qint8 quint8 qint32 bfloat16"
).split()
LAYOUTS = {0: torch.strided}
MEMORY_FORMATS = (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d)


class OnData:
    """A truth value or number out of a tensor that torch.export does not know."""


def refusal(what, where=None):
    where = f" ({where})" if where else ""
    return InputError(f"the TorchScript model cannot be compiled ahead of time: {what}{where}; {ADVICE}")


# ---- values of Python


def _is_known(tensor):
    """Whether the numbers of a tensor can be looked at: always but for what torch.export traces."""
    return not torch.compiler.is_exporting() or type(tensor) in (torch.Tensor, nn.Parameter)


def _is_symbol(value):
    """Whether a number or truth value depends on a number of rows."""
    return isinstance(value, (torch.SymInt, torch.SymBool, torch.SymFloat)) and value.node.constant is None


def _bool(value):
    if isinstance(value, torch.Tensor):
        return bool(value) if _is_known(value) else OnData()
    return value if isinstance(value, (OnData, torch.SymBool)) else bool(value)


def _number(value, convert):
    if not isinstance(value, torch.Tensor):
        return convert(value)
    return convert(value.item()) if _is_known(value) else value.item()


def _int(value):
    return _number(value, lambda number: int(number) if isinstance(number, str) else torch.sym_int(number))


def _float(value):
    return _number(value, lambda number: float(number) if isinstance(number, str) else torch.sym_float(number))


def _not(value):
    return value if isinstance(value, OnData) else torch.sym_not(value)


def _divided(a, b, mode=None):
    if mode is None:
        return a / b
    return a // b if mode == "floor" or (a >= 0) == (b >= 0) else -(-a // b)


def _cast(number, kind):
    """A number as one of a dtype is."""
    if kind == torch.bool:
        return number != 0
    return torch.sym_float(number) if kind.is_floating_point else torch.sym_int(number)


def _kind_of(number, tensors):
    """The dtype of a number that an operator takes beside tensors: it makes none of them wider, as numbers in torch."""
    if isinstance(number, (bool, torch.SymBool)):
        return torch.bool
    if not isinstance(number, (float, torch.SymFloat)):
        return torch.int64
    kinds = [tensor.dtype for tensor in tensors if tensor.dtype.is_floating_point or tensor.dtype.is_complex]
    return functools.reduce(torch.promote_types, kinds) if kinds else torch.get_default_dtype()


def _least(choose, pick):
    return lambda first, second=None: choose(first) if isinstance(first, list) else pick(first, second)


def _range_length(start, stop, step):
    return max(0, (stop - start + step - (1 if step > 0 else -1)) // step)


def _slice(values, start=None, stop=None, step=1):
    return values[slice(start, stop, step)]


def _set_item(container, key, value):
    container[key] = value


def _warn(*_):
    return None


def _sorted_in_place(values, reverse=False):
    values.sort(reverse=reverse)


def _size(tensor, dim=None):
    return list(tensor.shape) if dim is None else tensor.shape[dim]


def _is_contiguous(tensor, layout=0):
    if torch.compiler.is_exporting():
        raise ValueError("how tensors lie in memory is not known yet")
    return tensor.is_contiguous(memory_format=MEMORY_FORMATS[layout])


def _tensor(data, dtype=None, device=None, requires_grad=False):
    """torch.tensor of a number, or of a list of numbers of one type and of lists."""
    if isinstance(data, list) and any(map(_has_symbol, data)):
        return torch.stack([_tensor(value, dtype, device) for value in data])
    if _has_symbol(data):
        return torch.scalar_tensor(data, dtype=dtype or _kind_of(data, ()), device=device)
    return torch.tensor(data, dtype=dtype, device=device)


def _has_symbol(data):
    return any(map(_has_symbol, data)) if isinstance(data, list) else _is_symbol(data)


#: aten operators of numbers, texts, lists and dicts; those that tensors have, too, are taken where no argument is a tensor.
PLAIN = {
    "add": lambda a, b, alpha=1: a + b if alpha == 1 else a + alpha * b,
    "sub": lambda a, b, alpha=1: a - b if alpha == 1 else a - alpha * b,
    "rsub": lambda a, b, alpha=1: b - a if alpha == 1 else b - alpha * a,
    "mul": operator.mul,
    "add_": operator.iadd,  # of lists
    "mul_": operator.imul,
    "div": _divided,
    "floordiv": operator.floordiv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "fmod": math.fmod,
    "pow": operator.pow,
    "neg": operator.neg,
    "abs": abs,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "__and__": operator.and_,
    "__or__": operator.or_,
    "__xor__": operator.xor,
    "__lshift__": operator.lshift,
    "__rshift__": operator.rshift,
    "__not__": _not,
    "__is__": operator.is_,
    "__isnot__": operator.is_not,
    "Int": _int,
    "IntImplicit": _int,
    "Float": _float,
    "FloatImplicit": _float,
    "ScalarImplicit": lambda value: _number(value, lambda number: number),
    "item": lambda value: _number(value, lambda number: number),
    "Bool": _bool,
    "is_nonzero": _bool,
    "str": str,
    "format": lambda text, *values: text.format(*values),
    "warn": _warn,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "detach": lambda number: number,
    "clone": lambda number, *_: number,
    **{name: getattr(math, name) for name in "sqrt exp log log2 log10 sin cos tan tanh atan2 isnan isinf".split()},
    "len": len,
    "append": lambda values, value: (values.append(value), values)[1],
    "extend": lambda values, more: values.extend(more),
    "insert": lambda values, at, value: values.insert(at, value),
    "pop": lambda container, *at: container.pop(*at),
    "reverse": lambda values: values.reverse(),
    "sort": _sorted_in_place,
    "sorted": sorted,
    "clear": lambda container: container.clear(),
    "copy": copy.copy,
    "index": lambda values, value: values.index(value),
    "count": lambda values, value: values.count(value),
    "list": list,
    "dict": dict,
    "slice": _slice,
    "sum": sum,
    "any": any,
    "all": all,
    "__getitem__": operator.getitem,
    "__contains__": operator.contains,
    "_set_item": _set_item,
    "Delete": operator.delitem,
    "keys": lambda mapping: list(mapping.keys()),
    "values": lambda mapping: list(mapping.values()),
    "items": lambda mapping: list(mapping.items()),
    "get": lambda mapping, key, default=None: mapping.get(key, default),
    "update": lambda mapping, more: mapping.update(more),
    "setdefault": lambda mapping, key, default: mapping.setdefault(key, default),
    "lower": str.lower,
    "upper": str.upper,
    "startswith": str.startswith,
    "endswith": str.endswith,
    "join": str.join,
    "split": str.split,
    "replace": str.replace,
    "strip": str.strip,
    "__derive_index": lambda index, start, step: start + index * step,
    "__range_length": _range_length,
    "device": torch.device,
}

#: aten operators that only TorchScript has, on tensors.
ON_TENSORS = {
    "size": _size,
    "dim": lambda tensor: tensor.dim(),
    "len": lambda tensor: tensor.shape[0],
    "numel": lambda tensor: tensor.numel(),
    "stride": lambda tensor, dim=None: list(tensor.stride()) if dim is None else tensor.stride(dim),
    "is_floating_point": lambda tensor: tensor.is_floating_point(),
    "is_complex": lambda tensor: tensor.is_complex(),
    "is_contiguous": _is_contiguous,
    "__not__": lambda tensor: _not(_bool(tensor)),
    "_convolution": lambda *arguments: torch.ops.aten.convolution(*arguments[:9]),  # what traces have
    "__is__": operator.is_,
    "__isnot__": operator.is_not,
    **{name: PLAIN[name] for name in "Int IntImplicit Float FloatImplicit ScalarImplicit item Bool is_nonzero".split()},
    "__interpolate": lambda tensor, size, scale, mode, align, recompute, *antialias: nn.functional.interpolate(
        tensor, size, scale, mode, align, recompute, *antialias
    ),
}

PRIM = {
    "NumToTensor": lambda number: number,
    "unchecked_cast": lambda value: value,
    "unchecked_unwrap_optional": lambda value: value,
    "ListConstruct": lambda *values: list(values),
    "TupleConstruct": lambda *values: values,
    "DictConstruct": lambda *values: dict(zip(values[::2], values[1::2])),
    "TupleIndex": operator.getitem,
    "ListUnpack": tuple,
    "TupleUnpack": tuple,
    "Uninitialized": lambda: None,
    "Print": _warn,
    "Enter": _warn,
    "Exit": _warn,
    "dtype": lambda tensor: DTYPES.index(str(tensor.dtype).removeprefix("torch.")),
    "device": lambda tensor: tensor.device,
    "layout": lambda tensor: next(number for number, layout in LAYOUTS.items() if layout == tensor.layout),
    "is_cuda": lambda tensor: tensor.is_cuda,
    "is_cpu": lambda tensor: tensor.device.type == "cpu",
    "requires_grad": lambda tensor: False,
    "data": lambda tensor: tensor.detach(),
    "shape": lambda tensor: list(tensor.shape),
    "min": _least(min, torch.sym_min),
    "max": _least(max, torch.sym_max),
    "abs": abs,
    "rangelist": lambda stop: list(range(stop)),
    "type": lambda device: device.type,
    "index": lambda device: device.index,
    "CreateObject": types.SimpleNamespace,
}
CLASSES = {
    "TensorType": torch.Tensor,
    "IntType": int,
    "FloatType": float,
    "BoolType": bool,
    "StringType": str,
    "NoneType": type(None),
    "ListType": list,
    "DictType": dict,
    "TupleType": tuple,
}


# ---- the graph


def _are_numbers(arguments, takes_tensor):
    """Whether an operator on tensors is given numbers instead: a trace has sizes as tensors (NumToTensor is no step here)."""
    values = [value for value, is_tensor in zip(arguments, takes_tensor) if is_tensor and value is not None]
    is_number = [not isinstance(value, torch.Tensor) for value in values]
    return any(is_number) and all(n or (value.dim() == 0 and _is_known(value)) for value, n in zip(values, is_number))


def _plain(value):
    return value.item() if isinstance(value, torch.Tensor) else value


@dataclass(frozen=True, eq=False)
class _Step:
    """`outputs` of the frame become run(frame, *inputs of the frame)."""

    run: object
    inputs: tuple
    outputs: tuple
    name: str
    node: object  # of torch, for its place in the source


@dataclass(frozen=True, eq=False)
class _Block:
    inputs: tuple
    outputs: tuple
    steps: tuple
    raises: bool


class _Frame(list):
    """The values of one call, by number."""

    device = None  # of the inputs: what a model asks for by name is meant for the machine where it was saved


def _place(node):
    """file.py:12, where the author wrote what a node does: scripts have one place, traces a stack of them."""
    places = re.findall(r'File "([^"]*)", line (\d+)|^(\S+\.py)\((\d+)\)', node.sourceRange(), re.MULTILINE)
    places = [(path or other, line or number) for path, line, other, number in places]
    of_author = [place for place in places if "/torch/" not in place[0] and "__torch__" not in place[0]]
    for path, line in of_author or places:
        return f"{Path(path).name}:{line}"
    return None


def _is_number_of_trace(node, value):
    """Whether a constant tensor may have been a number of Python, which files of traces do not tell."""
    if not isinstance(value, torch.Tensor) or value.dim() > 0 or value.dtype != torch.float64:
        return False
    users = [use.user.kind().removeprefix("aten::") for use in node.output().uses()]
    return all(map(torch._C._should_allow_numbers_as_tensors, users))


@functools.cache
def _schema(text):
    return torch._C.parse_schema(text)


def _converters(schema):
    """For each argument of an operator: a function of (frame, value), or None."""

    def convert(kind):
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


class _Compiler:
    """Makes the steps of a graph. What GetAttr takes from the model is known now: a tensor, or a constant."""

    def __init__(self, script):
        self.script = script
        self.slots, self.initial, self.tensors = {}, {}, {}
        self.of_self = {}  # slots of the model and its parts: (part, name)
        graph = script.forward.inlined_graph if hasattr(script.forward, "inlined_graph") else script.inlined_graph
        first, *inputs = graph.inputs()
        self.of_self[self.slot(first)] = (script, "")
        self.inputs = tuple(self.slot(value) for value in inputs)
        self.steps = self.steps_of(graph.nodes())
        self.outputs = tuple(self.slot(value) for value in graph.outputs())

    def slot(self, value):
        return self.slots.setdefault(value.debugName(), len(self.slots))

    def steps_of(self, nodes):
        return tuple(step for step in map(self.step, nodes) if step is not None)

    def block(self, block):
        steps = self.steps_of(block.nodes())
        inputs = tuple(self.slot(value) for value in block.inputs())
        outputs = tuple(self.slot(value) for value in block.outputs())
        return _Block(inputs, outputs, steps, any(step.name == "prim::RaiseException" for step in steps))

    def constant(self, slot, value):
        if isinstance(value, torch.Tensor) and value.dim() > 0:
            self.tensors[slot] = value
        else:
            self.initial[slot] = value

    def step(self, node):
        kind = node.kind()
        inputs = tuple(self.slot(value) for value in node.inputs())
        outputs = tuple(self.slot(value) for value in node.outputs())
        if kind == "prim::Constant":
            value = node.output().toIValue()
            self.constant(outputs[0], value.item() if _is_number_of_trace(node, value) else value)
            return None
        if kind in ("prim::GetAttr", "prim::SetAttr") and inputs[0] in self.of_self:
            self.attribute(node, inputs, outputs)
            return None
        return _Step(self.function(node, kind), inputs, outputs, kind, node)

    def attribute(self, node, inputs, outputs):
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
        elif isinstance(value, (torch.ScriptObject, torch._C.ScriptModule)):
            raise refusal(f"{path} is an object of C++, as quantized models have", _place(node))
        else:
            self.initial[outputs[0]] = value

    def function(self, node, kind):
        space, _, name = kind.partition("::")
        if kind == "prim::If":
            return self.branch(node)
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

    def tuple(self, node):
        names = re.search(r": NamedTuple\((.*)\) = prim::TupleConstruct", str(node))
        names = re.findall(r"(\w+) : ", names[1]) if names else []
        if len(names) != len(list(node.inputs())):
            return lambda frame, *values: values
        make = namedtuple("Results", names)
        return lambda frame, *values: make(*values)

    def branch(self, node):
        blocks = [self.block(block) for block in node.blocks()]
        safe = [block for block in blocks if not block.raises]

        def run(frame, condition):
            if isinstance(condition, OnData) or _is_symbol(condition):
                if len(safe) == 1:  # an assertion: the checks of the exporter run it on numbers
                    return _run_block(frame, safe[0])
                if isinstance(condition, OnData):
                    raise refusal("a branch that depends on the data", _place(node))
            return _run_block(frame, blocks[0 if condition else 1])

        return run

    def loop(self, node):
        (body,) = (self.block(block) for block in node.blocks())

        def run(frame, most, goes_on, *carried):
            count = 0
            while True:
                if isinstance(goes_on, OnData) or isinstance(most, torch.Tensor):
                    raise refusal("a loop whose length depends on the data", _place(node))
                if _is_symbol(goes_on) or _is_symbol(most):
                    raise refusal("a loop whose length depends on the number of rows", _place(node))
                if not goes_on or count >= most:
                    return carried[0] if len(carried) == 1 else carried
                for slot, value in zip(body.inputs, (count, *carried)):
                    frame[slot] = value
                _run_steps(frame, body.steps)
                goes_on, *carried = (frame[slot] for slot in body.outputs)
                count += 1

        return run

    def raising(self, node):
        def run(frame, message, *_):
            raise RuntimeError(f"it raises {message!r}" if message else "it raises an exception")

        return run

    def is_instance(self, node):
        classes = tuple(CLASSES.get(kind.kind()) for kind in node.tys("types"))
        if None in classes:
            raise refusal("its operator prim::isinstance of a class of its own", _place(node))

        def run(frame, value):
            return isinstance(value, classes) or (int in classes and isinstance(value, torch.SymInt))

        return run

    def operator(self, node, space, name):
        schema = _schema(node.schema())
        overload = getattr(getattr(getattr(torch.ops, space), name), schema.overload_name or "default", None)
        if space == "aten" and str(node.schema()).startswith(("aten::tensor", "aten::as_tensor.list")):
            overload = _tensor  # torch.ops takes no list of Python there
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

        def run(frame, *arguments):
            if plain is not None and (not is_on_tensor or _are_numbers(arguments, takes_tensor)):
                result = plain(*(_plain(value) if is_on_tensor else value for value in arguments))
                return torch.sym_float(result) if gives_float and not isinstance(result, OnData) else result
            if on_tensors is not None:
                return on_tensors(*arguments)
            if has_training:
                _check_evaluation(node, dict(zip(names, arguments)))
            positional, keywords = [], {}
            for value, change, is_named, is_tensor, key in zip(arguments, converters, named, takes_tensor, names):
                if change is not None:
                    value = change(frame, value)
                elif is_tensor and not (value is None or isinstance(value, torch.Tensor) or takes_numbers):
                    tensors = [other for other in arguments if isinstance(other, torch.Tensor)]
                    value = torch.scalar_tensor(value, dtype=_kind_of(value, tensors), device=frame.device)
                if is_named:
                    keywords[key] = value
                else:
                    positional.append(value)
            return overload(*positional, **keywords)

        return run


def _number_to(names):
    """aten::to of a number, whose arguments have these names."""

    def run(*arguments):
        named = dict(zip(names, arguments))
        kind = named.get("dtype")
        if kind is None:
            return named["self"] if "other" not in named else _cast(named["self"], _kind_of(named["other"], ()))
        return _cast(named["self"], getattr(torch, DTYPES[kind]))

    return run


def _check_evaluation(node, values):
    """A model that was traced while it was being trained is trained for ever."""
    is_trained = values.get("train") is True or values.get("training") is True
    draws = values.get("p", values.get("dropout", 0.0)) > 0
    if is_trained and (draws or values.get("running_mean") is not None):
        raise InputError(
            f"the TorchScript model was saved while it was being trained ({node.kind()}, {_place(node)}); "
            "call eval() before torch.jit.trace or torch.jit.script"
        )


def _run_steps(frame, steps):
    for step in steps:
        try:
            result = step.run(frame, *[frame[slot] for slot in step.inputs])
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001: whatever operators throw
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
    """What an operator says, with its place."""


def _run_block(frame, block):
    _run_steps(frame, block.steps)
    values = tuple(frame[slot] for slot in block.outputs)
    return values[0] if len(values) == 1 else values


class _Code:
    """What a graph does; copies of a module share it."""

    def __init__(self, script):
        compiler = _Compiler(script)
        self.size = len(compiler.slots)
        self.initial, self.tensors = compiler.initial, compiler.tensors
        self.inputs, self.steps, self.outputs = compiler.inputs, compiler.steps, compiler.outputs
        self.arguments = script.forward.schema.arguments[1:]

    def __deepcopy__(self, memo):
        return self


class Interpreted(nn.Module):
    """A TorchScript model that is run from Python. Raises InputError for what cannot be."""

    def __init__(self, script):
        super().__init__()
        self.code = _Code(script)
        registered = {}
        self.names = {}  # of the buffer for each slot
        for slot, tensor in self.code.tensors.items():
            if id(tensor) not in registered:
                registered[id(tensor)] = f"tensor_{len(registered)}"
                self.register_buffer(registered[id(tensor)], tensor.detach())
            self.names[slot] = registered[id(tensor)]
        self.code.tensors = list(self.code.tensors)

    @property
    def argument_names(self):
        return [argument.name for argument in self.code.arguments]

    def forward(self, *arguments, **named):
        frame = _Frame([None] * self.code.size)
        for slot, value in self.code.initial.items():
            frame[slot] = copy.copy(value) if isinstance(value, (list, dict)) else value
        for slot, name in self.names.items():
            frame[slot] = getattr(self, name)
        for slot, value in zip(self.code.inputs, self.bound(arguments, named)):
            frame[slot] = value
            if isinstance(value, torch.Tensor) and frame.device is None:
                frame.device = value.device
        _run_steps(frame, self.code.steps)
        results = tuple(frame[slot] for slot in self.code.outputs)
        return results[0] if len(results) == 1 else results

    def bound(self, arguments, named):
        """A value for each argument of the model."""
        expected = self.code.arguments
        if len(arguments) > len(expected):
            raise TypeError(f"it takes {len(expected)} arguments, there are {len(arguments)}")
        named = dict(named)
        values = list(arguments)
        for argument in expected[len(arguments) :]:
            if argument.name in named:
                values.append(named.pop(argument.name))
            elif argument.has_default_value():
                values.append(argument.default_value)
            else:
                raise TypeError(f"its argument {argument.name} is missing")
        if named:
            raise TypeError(f"it has no argument {min(named)}")
        return values


# ---- for the exporter


def interpreted(module, binding):
    """The module with every TorchScript model in it, or in its place, as a module that torch.export can follow. It was
    compared with torch's own interpreter on columns of the binding. Raises InputError.
    """
    if isinstance(module, torch.jit.ScriptModule):
        plain = Interpreted(module.eval())
        _check_arguments(plain.code.arguments, binding)
    elif any(isinstance(part, torch.jit.ScriptModule) for part in module.modules()):
        plain = _replaced(copy.deepcopy(module))
    else:
        return module
    _compare(module, plain, with_examples(plain, with_lengths(plain, binding)[0]))
    return plain


def _replaced(module):
    for name, part in module.named_children():
        is_script = isinstance(part, torch.jit.ScriptModule)
        setattr(module, name, Interpreted(part.eval()) if is_script else _replaced(part))
    return module


def _check_arguments(arguments, binding):
    expected = [argument.name for argument in arguments]
    needed = {argument.name for argument in arguments if not argument.has_default_value()}
    names = [block.name for block in binding.inputs]
    by_name = binding.goes_by_name(expected)
    if by_name and not needed <= set(names) <= set(expected):
        raise InputError(f"the model takes {expected}, the blocks are called {sorted(names)}")
    if not by_name and not len(needed) <= len(names) <= len(expected):
        raise InputError(f"the model takes {len(expected)} arguments {expected}, there are {len(names)} blocks: {names}")


def _compare(script, module, binding):
    """Raises InputError where the interpreted model gives other numbers than the model itself, or either cannot run."""
    collections = collections_of(binding)
    for rows in ((17, 29, 41, 53), ROWS[::2]):
        counts = dict(zip(collections, rows))
        if _agree(script, module, binding, counts, NORMAL):
            for numbers in (SMALL, LARGE, SPECIAL):  # a model need not take every number
                _agree(script, module, binding, counts, numbers)
            return
    for count in TRACED_ROWS:
        try:
            results = _results(script, binding, dict.fromkeys(collections_of(binding), count))
        except Exception:  # noqa: BLE001: most fail
            continue
        if any(count in result.shape for result in results if isinstance(result, torch.Tensor)):
            raise InputError(
                f"the TorchScript model takes {count} rows and fails at {next(iter(counts.values()))}: torch.jit.trace made "
                f"the number of rows a constant; take torch.jit.script, or {ADVICE}"
            )
    results_of(module, binding, Columns(binding, counts, (), "cpu"))  # says which operator fails
    raise InputError(f"the TorchScript model fails on columns of the binding; {ADVICE}")


def _agree(script, module, binding, counts, numbers):
    """Whether the model itself runs. Raises InputError where the interpreted one gives something else."""
    try:
        expected = _results(script, binding, counts, numbers, is_optimized=False)
    except Exception:  # noqa: BLE001: whatever operators throw
        return False
    try:
        results = _results(module, binding, counts, numbers)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001: whatever operators throw
        raise refusal(first_line(error)) from error
    if not _are_close(binding, results, expected):
        # Of a trace in a file, a number beside integers is float64, but float32 as the model is run: optimized.
        if not _are_close(binding, results, _results(script, binding, counts, numbers)):
            raise InputError(f"the TorchScript model gives other results than its operators one by one; {ADVICE}")
    return True


def _are_close(binding, results, expected):
    return all(map(_is_close, binding.outputs, results, expected))


def _is_close(block, result, other):
    if not isinstance(other, torch.Tensor) or not isinstance(result, torch.Tensor):
        return type(result) is type(other)
    if result.shape != other.shape or result.dtype != other.dtype:
        return False
    is_exact = not (other.dtype.is_floating_point or other.dtype.is_complex)
    if is_exact or other.numel() == 0 or other.dim() == 0:
        return torch.equal(result, other) or (not is_exact and torch.allclose(result, other, TOLERANCE, 0, equal_nan=True))
    of_rows = other.dim() - 1 if block.is_transposed else 0
    result, other = result.double(), other.double()
    largest = other.abs().nan_to_num(0, 0, 0).amax(of_rows, keepdim=True)
    is_same = (result == other) | (result.isnan() & other.isnan())  # also where both are the same infinity
    return bool((is_same | ((result - other).abs() <= TOLERANCE * largest)).all())


def _results(module, binding, counts, numbers=NORMAL, is_optimized=True):
    with torch.random.fork_rng([]), torch.jit.optimized_execution(is_optimized), torch.no_grad():
        torch.manual_seed(0)
        return binding.call(module, Columns(binding, counts, (), "cpu", numbers=numbers).inputs)
