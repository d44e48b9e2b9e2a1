# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime, where it is installed."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from tensoa.errors import InputError, first_line
from tensoa.importers.results import named


def session(path: str, inputs: Sequence[str], outputs: Sequence[str]) -> Callable[[Sequence[torch.Tensor]], Any] | None:
    """The model in a file, on one thread: tensors in the order of `inputs` to what the module gives for `outputs`. None where
    ONNX Runtime is not installed. Raises InputError where it does not take the model.
    """
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        made = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # it throws many kinds
        raise InputError(f"{path}: ONNX Runtime does not take it: {first_line(error)}") from error

    def run(tensors: Sequence[torch.Tensor]) -> Any:
        arrays = {name: tensor.numpy(force=True) for name, tensor in zip(inputs, tensors)}
        return named([torch.from_numpy(_array(result)) for result in made.run(list(outputs), arrays)], outputs)

    return run


def _array(result: Any) -> np.ndarray:
    """What ZipMap gives, a dictionary for each row, as a column for each class in order."""
    if isinstance(result, list):
        return np.array([[row[label] for label in sorted(row)] for row in result], np.float32)
    return result
