# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Programs: what is written to the output blocks; how passes rebuild them; and their text."""

from collections.abc import Callable
from dataclasses import dataclass

from tensoa.compiler import operations as ops
from tensoa.compiler.build import view
from tensoa.compiler.tensors import Malformed, Tensor, in_order, made_by, make
from tensoa.dtypes import DType


@dataclass(frozen=True)
class Output:
    """Element i of a row of `value`, row-major, is written to planes[i] of the block, as a number of the dtype `column`."""

    block: int
    planes: tuple[int, ...]
    value: Tensor
    column: DType


@dataclass(frozen=True)
class Program:
    """`rows`: the row symbols, in the order of the row counts of a call. Verified when it is made."""

    rows: tuple[str, ...]
    outputs: tuple[Output, ...]

    def __post_init__(self) -> None:
        for output in self.outputs:
            value = output.value
            if len(value.rows) != 1 or not isinstance(value.shape[0], str):
                raise Malformed(f"output block {output.block} is {value!r}, expected rows and then fixed sizes")
        for tensor in self.tensors():
            if unknown := set(tensor.rows) - set(self.rows):
                raise Malformed(f"{tensor!r} has rows of {', '.join(sorted(unknown))}, expected {', '.join(self.rows)}")

    def tensors(self) -> list[Tensor]:
        """Arguments first."""
        return in_order(*(output.value for output in self.outputs))

    def dump(self) -> str:
        """One line a tensor; the same text for equal programs."""
        names = {tensor: f"%{i}" for i, tensor in enumerate(self.tensors())}
        lines = [f"program of rows {', '.join(self.rows)}"]
        for tensor, name in names.items():
            head = " ".join(filter(None, [tensor.op.name, f"[{tensor.op.describe()}]" if tensor.op.describe() else ""]))
            lines.append(f"  {name} = {head}({', '.join(names[arg] for arg in tensor.args)}): {tensor.type}")
        for output in self.outputs:
            planes = ",".join(map(str, output.planes))
            lines.append(f"  block {output.block}, planes {planes} of {output.column.name} = {names[output.value]}")
        return "\n".join(lines)


def rebuilt(tensor: Tensor, args: tuple[Tensor, ...]) -> Tensor:
    """The same operation on other arguments."""
    if args == tensor.args:
        return tensor
    if isinstance(tensor.op, ops.View):
        return view(args[0], tensor.op.shape, tensor.op.index)
    return make(tensor.op, *args)


def transformed(program: Program, rule: Callable[[Tensor], Tensor | None], name: str) -> Program:
    """The driver of all passes: `rule` of each tensor, whose arguments are done; None leaves it as it is."""
    done: dict[Tensor, Tensor] = {}
    with made_by(name):
        for tensor in program.tensors():
            new = rebuilt(tensor, tuple(done[arg] for arg in tensor.args))
            done[tensor] = rule(new) or new
        outputs = (Output(o.block, o.planes, done[o.value], o.column) for o in program.outputs)
        return Program(program.rows, tuple(outputs))
