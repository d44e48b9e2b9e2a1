# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The values of a node: its inputs, its attributes, and checks of them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from tensoa.importers.onnx.graph import DTYPES, Graph, Node, tensor_of

MOST = 1 << 28  # elements of a tensor that a node makes by itself


class Refused(Exception):
    """Why a node cannot be run; the message follows the name of the node."""


class Known:
    """Numbers that are known before the model runs: constants, and sizes, which may be symbols of torch.export.

    `array` has the dtype object where there are symbols. `tensor`: the same for torch, None until it is needed.
    """

    def __init__(self, array: np.ndarray, tensor: torch.Tensor | None = None) -> None:
        self.array, self.tensor = array, tensor

    @property
    def has_symbols(self) -> bool:
        return self.array.dtype == object


def known(numbers: Any, dtype: Any = np.int64) -> Known:
    """Of a number, a list or an array of integers and symbols; of the dtype where there are no symbols."""
    array = numbers if isinstance(numbers, np.ndarray) else _objects(numbers)
    if array.dtype == object and not any(isinstance(number, torch.SymInt) for number in array.flat):
        array = np.array(array.tolist(), dtype).reshape(array.shape)
    return Known(array)


def _objects(numbers: Any) -> np.ndarray:
    is_list = isinstance(numbers, (list, tuple))
    array: np.ndarray = np.empty((len(numbers),) if is_list else (), object)
    for i, number in enumerate(numbers if is_list else [numbers]):
        array.reshape(-1)[i] = number
    return array


Value = torch.Tensor | Known


class Call:
    """One run of a node. `floats`: the torch.dtype of the model's float32 numbers, float64 in a copy of double precision."""

    def __init__(
        self,
        node: Node,
        inputs: Sequence[Value | None],
        opset: int,
        floats: torch.dtype,
        device: torch.device,
        run: Callable[[Graph], list[Value]],
    ) -> None:
        self.node, self.inputs, self.opset, self.floats, self.device, self.run = node, inputs, opset, floats, device, run
        self.read: set[str] = set()  # attributes

    # ---- attributes

    def attribute(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return self.node.attributes.get(name, default)

    def ignore(self, *names: str) -> None:
        """Attributes that do not matter for inference."""
        self.read.update(names)

    # ---- inputs

    @property
    def is_known(self) -> bool:
        """Whether all inputs are integers or truth values that are known before the model runs."""
        given = [value for value in self.inputs if value is not None]
        return bool(given) and all(isinstance(value, Known) and value.array.dtype.kind in "iubO" for value in given)

    def on_arrays(self) -> "Call | None":
        """The same on the CPU, where all inputs, and there are some, are numbers that are known before the model runs."""
        inputs: list[Value | None] = []
        for value in self.inputs:
            if isinstance(value, torch.Tensor):
                return None
            given = value and (known(value.array) if value.has_symbols else Known(value.array))
            if given is not None and given.has_symbols:
                return None
            inputs.append(given)
        if not any(inputs) or any(isinstance(one, Graph) for one in self.node.attributes.values()):
            return None
        return Call(self.node, inputs, self.opset, self.floats, torch.device("cpu"), self.run)

    def has(self, i: int) -> bool:
        return i < len(self.inputs) and self.inputs[i] is not None

    def value(self, i: int) -> Value:
        if not self.has(i):
            raise Refused(f"its input {i} is missing")
        return self.inputs[i]  # type: ignore[return-value]

    def tensor(self, i: int) -> torch.Tensor:
        return self.as_tensor(self.value(i))

    def optional(self, i: int) -> torch.Tensor | None:
        return self.tensor(i) if self.has(i) else None

    def tensors(self) -> list[torch.Tensor]:
        return [self.tensor(i) for i in range(len(self.inputs))]

    def as_tensor(self, value: Value) -> torch.Tensor:
        if isinstance(value, torch.Tensor):
            return value
        if value.tensor is None:
            if value.has_symbols:
                numbers = [torch.full((), number, dtype=torch.int64, device=self.device) for number in value.array.flat]
                return torch.stack(numbers).reshape(value.array.shape)
            tensor = tensor_of(value.array)
            return tensor.to(self.device, self.floats if tensor.dtype == torch.float32 else tensor.dtype)
        return value.tensor

    def array(self, i: int) -> np.ndarray:
        """An input that must be known before the model runs."""
        value = self.value(i)
        if isinstance(value, Known):
            return value.array
        if torch.compiler.is_exporting():
            raise Refused(f'its input "{self.node.inputs[i]}" depends on the inputs of the model; expected a constant')
        return value.numpy(force=True)

    def numbers(self, i: int) -> list:
        """As array(): integers or symbols, in a list."""
        return [number if isinstance(number, torch.SymInt) else int(number) for number in self.array(i).reshape(-1)]

    def integer(self, i: int) -> Any:
        numbers = self.numbers(i)
        if len(numbers) != 1:
            raise Refused(f'its input "{self.node.inputs[i]}" has {len(numbers)} elements, expected one')
        return numbers[0]

    # ---- checks

    def dtype(self, number: int) -> torch.dtype:
        """Of a type of ONNX."""
        if number not in DTYPES:
            raise Refused(f"the type {number}; expected one that tensors have")
        return self.floats if DTYPES[number] == torch.float32 else DTYPES[number]

    def axis(self, axis: int, rank: int) -> int:
        """Counted from the first."""
        if not -rank <= axis < rank:
            raise Refused(f"axis {axis} of a tensor of {rank} dimensions")
        return axis % rank

    def check_size(self, shape: Sequence) -> None:
        """Raises Refused for a tensor that is too large to be meant."""
        total = 1
        for size in shape:
            if isinstance(size, int):
                if size < 0:
                    raise Refused(f"a tensor of the shape {list(shape)}")
                total *= size
        if total > MOST:
            raise Refused(f"a tensor of the shape {list(shape)}; expected at most {MOST} elements")
