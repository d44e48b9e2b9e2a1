# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The servers that several tests share, and calls with the official Python client."""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as client
from tritonclient.utils import InferenceServerException

import models
import python_model
from testbench import KserveServer, Triton, write_repository

DTYPES = {"FP32": "f4", "FP64": "f8", "INT32": "i4", "INT64": "i8", "BOOL": "?"}
# A new connection: gRPC lends one to further channels of the same address, also while it dies. And no limits.
CHANNEL = {"use_local_subchannel_pool": 1, "max_send_message_length": -1, "max_receive_message_length": -1}
CHANNEL_ARGS = [(f"grpc.{name}", value) for name, value in CHANNEL.items()]


def inputs_of(model: models.Model, rows: int = 5) -> dict[str, Any]:
    """Returns random inputs; every size that is free is `rows`. Those of `slow` and `failing` are 0."""
    draw = np.random.default_rng(1)
    scale = 0 if model.kind in ("slow", "failing") else 3
    return {
        tensor.name: (scale * draw.standard_normal([rows if size < 0 else size for size in model.shape(tensor)])).astype(
            DTYPES[tensor.dtype]
        )
        for tensor in model.inputs
    }


def infer(address: str, name: str, arrays: dict[str, Any], seconds: float | None = None, **secured: Any) -> dict[str, Any]:
    """Calls ModelInfer on a new connection and returns the outputs."""
    with contextlib.closing(client.InferenceServerClient(address, channel_args=CHANNEL_ARGS, **secured)) as connection:
        given = []
        for key, array in arrays.items():
            dtype = next(dtype for dtype, text in DTYPES.items() if array.dtype == np.dtype(text))
            tensor = client.InferInput(key, list(array.shape), dtype)
            tensor.set_data_from_numpy(array)
            given.append(tensor)
        result = connection.infer(name, given, client_timeout=seconds)
        return {output.name: result.as_numpy(output.name) for output in result.get_response().outputs}


def expected(name: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """Returns what the model must answer, computed here."""
    model = models.MODELS[name]
    weights = python_model.layers(models.weights(model), model.kind, list(model.widths))
    return python_model.run(model.kind, arrays, weights)


def fails(code: str, address: str, name: str = "mlp", seconds: float = 5.0, text: str = "", **secured: Any) -> None:
    """Calls ModelInfer, which must end with this gRPC status, and `text` in the message."""
    with pytest.raises(InferenceServerException) as caught:
        infer(address, name, {"x": np.ones((2, 3), "f4")}, seconds, **secured)
    assert caught.value.status() == f"StatusCode.{code}", caught.value
    assert text in caught.value.message()


def works(address: str, name: str = "mlp", seconds: float = 5.0, **secured: Any) -> None:
    """Calls ModelInfer, which must answer."""
    assert infer(address, name, {"x": np.ones((2, 3), "f4")}, seconds, **secured)["y"].shape == (2, 2)


@pytest.fixture(scope="session")
def triton(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Triton]:
    folder = tmp_path_factory.mktemp("triton")
    with Triton(write_repository(folder / "models", models.MODELS), folder=folder) as server:
        yield server


@pytest.fixture(scope="session")
def kserve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KserveServer]:
    with KserveServer(folder=tmp_path_factory.mktemp("kserve")) as server:
        yield server
