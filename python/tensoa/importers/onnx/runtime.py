# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime, where it is installed."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch

from tensoa.errors import InputError, first_line
from tensoa.importers.results import named

FOLDER = "session.model_external_initializers_file_folder_path"


def session(path: str, inputs: Sequence[str], results: Mapping[str, str]) -> Callable[[Sequence[torch.Tensor]], Any] | None:
    """The model in a file, on one thread: tensors in the order of `inputs` to `results`, the names of values by what they are
    called. None where ONNX Runtime is not installed. Raises InputError where it does not take the model.
    """
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry(FOLDER, str(Path(path).parent.resolve()))
    values = [*dict.fromkeys(results.values())]
    try:
        made = onnxruntime.InferenceSession(_with_outputs(path, values), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # it throws many kinds
        raise InputError(f"{path}: ONNX Runtime does not take it: {first_line(error)}") from error

    def run(tensors: Sequence[torch.Tensor]) -> Any:
        arrays = {name: tensor.numpy(force=True) for name, tensor in zip(inputs, tensors)}
        found = {name: torch.from_numpy(_array(result)) for name, result in zip(values, made.run(values, arrays))}
        return named([found[value] for value in results.values()], [*results])

    return run


def _with_outputs(path: str, values: Sequence[str]) -> bytes:
    """The model in a file, where these values are outputs, too."""
    model = onnx.load(path, load_external_data=False)
    there = {value.name for value in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in values if name not in there)
    return model.SerializeToString()


def _array(result: Any) -> np.ndarray:
    """What ZipMap gives, a dictionary for each row, as a column for each class in order."""
    if isinstance(result, list):
        return np.array([[row[label] for label in sorted(row)] for row in result], np.float32)
    return result
