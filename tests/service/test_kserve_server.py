# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""kserve_server.py, seen by the official Python client and by bare gRPC."""

import concurrent.futures
import time
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
import tritonclient.grpc as client
from tritonclient.grpc import service_pb2 as pb

import models
from conftest import expected, fails, infer, inputs_of, works
from testbench import Certificates, KserveServer


def call(address: str, name: str) -> Any:
    """Calls ModelInfer of a network with three inputs and returns the message."""
    request = pb.ModelInferRequest(model_name=name, raw_input_contents=[np.ones(6, "f4").tobytes()])
    request.inputs.add(name="x", datatype="FP32", shape=[2, 3])
    with grpc.insecure_channel(address) as channel:
        method = channel.unary_unary(
            "/inference.GRPCInferenceService/ModelInfer",
            request_serializer=pb.ModelInferRequest.SerializeToString,
            response_deserializer=pb.ModelInferResponse.FromString,
        )
        return method(request, timeout=5)


@pytest.mark.parametrize("name", models.MODELS)
def test_answers_and_metadata(kserve: KserveServer, name: str) -> None:
    arrays = inputs_of(models.MODELS[name])
    arrays = {key: array[:1] for key, array in arrays.items()} if name in ("slow", "failing") else arrays
    results, right = infer(kserve.address, name, arrays), expected(name, arrays)
    for key, array in right.items():
        np.testing.assert_array_equal(results[key], array)
    found = client.InferenceServerClient(kserve.address).get_model_metadata(name)
    assert [tensor.name for tensor in found.outputs] == sorted(right) or len(right) > 1


def test_has_the_core_methods_only(kserve: KserveServer) -> None:
    connection = client.InferenceServerClient(kserve.address)
    assert connection.is_server_live() and connection.is_server_ready() and connection.is_model_ready("mlp")
    assert not connection.is_model_ready("nothing")
    assert list(connection.get_server_metadata().extensions) == []
    for method in (
        connection.get_model_repository_index,
        connection.get_inference_statistics,
        connection.get_system_shared_memory_status,
        lambda: connection.get_model_config("mlp"),
    ):
        with pytest.raises(client.InferenceServerException) as caught:
            method()
        assert caught.value.status() == "StatusCode.UNIMPLEMENTED"


@pytest.mark.parametrize("code", ["INVALID_ARGUMENT", "NOT_FOUND", "RESOURCE_EXHAUSTED", "INTERNAL", "UNAVAILABLE"])
def test_status_on_request(kserve: KserveServer, code: str) -> None:
    fails(code, kserve.address, f"mlp.code-{grpc.StatusCode[code].value[0]}", text="on request")


def test_refuses_what_does_not_fit(kserve: KserveServer) -> None:
    for arrays in (
        {"x": np.ones((2, 4), "f4")},
        {"x": np.ones(3, "f4")},
        {"x": np.ones((2, 3), "f8")},
        {"z": np.ones((2, 3), "f4")},
    ):
        with pytest.raises(client.InferenceServerException, match="INVALID_ARGUMENT"):
            infer(kserve.address, "mlp", arrays)
    fails("NOT_FOUND", kserve.address, "nothing")
    fails("NOT_FOUND", kserve.address, "mlp.stopping", text="has no available versions")


def test_first_calls_fail(kserve: KserveServer) -> None:
    fails("UNAVAILABLE", kserve.address, "mlp.flaky-2", text="call 1 of 2")
    fails("UNAVAILABLE", kserve.address, "mlp.flaky-2", text="call 2 of 2")
    works(kserve.address, "mlp.flaky-2")


def test_wrong_replies(kserve: KserveServer) -> None:
    whole = call(kserve.address, "mlp")
    raw = whole.raw_output_contents[0]
    assert len(raw) == 16
    assert call(kserve.address, "mlp.truncated").raw_output_contents[0] == raw[:-1]
    assert call(kserve.address, "mlp.overlong").raw_output_contents[0] == raw + bytes(4)
    assert len(call(kserve.address, "mlp.missing-output").outputs) == 0
    assert len(call(kserve.address, "mlp.missing-raw").raw_output_contents) == 0
    assert len(call(kserve.address, "mlp.extra-output").outputs) == 2
    assert call(kserve.address, "mlp.wrong-name").outputs[0].name == "another"
    assert call(kserve.address, "mlp.wrong-dtype").outputs[0].datatype == "INT32"
    assert list(call(kserve.address, "mlp.wrong-rank").outputs[0].shape) == [2, 2, 1]
    assert list(call(kserve.address, "mlp.negative-shape").outputs[0].shape) == [-1]
    assert list(call(kserve.address, "mlp.huge-shape").outputs[0].shape) == [2**62, 4]
    assert call(kserve.address, "mlp.other-model").model_name == "another"
    assert np.isnan(np.frombuffer(call(kserve.address, "mlp.nan").raw_output_contents[0], "f4")).all()
    typed = call(kserve.address, "mlp.typed").outputs[0].contents.fp32_contents
    assert np.array(typed, "f4").tobytes() == raw
    assert call(kserve.address, "mlp.empty") == pb.ModelInferResponse()
    with pytest.raises(grpc.RpcError, match="deserializing"):
        call(kserve.address, "mlp.garbage")
    with pytest.raises(grpc.RpcError, match="RESOURCE_EXHAUSTED"):  # grpcio's own limit is 4 MiB
        call(kserve.address, "mlp.big-5")


def test_graceful_stop_ends_the_call_in_flight(tmp_path: Path) -> None:
    with KserveServer(["mlp"], folder=tmp_path) as server, concurrent.futures.ThreadPoolExecutor() as pool:
        reply = pool.submit(call, server.address, "mlp.delay-1")
        time.sleep(0.4)
        assert server.stop() < 4
        assert len(reply.result().raw_output_contents[0]) == 16
        fails("UNAVAILABLE", server.address)


def test_goaway_by_age_of_the_connection(tmp_path: Path) -> None:
    with KserveServer(["mlp"], options=["--max-age-ms", "300"], folder=tmp_path) as server:
        connection = client.InferenceServerClient(server.address)
        for _ in range(10):
            assert connection.is_server_live()
            time.sleep(0.1)


def test_tls_and_client_certificates(tmp_path: Path) -> None:
    files = Certificates.make(tmp_path / "certificates")
    trusted: dict[str, Any] = {"ssl": True, "root_certificates": str(files.authority)}
    with KserveServer(["mlp"], options=["--tls", files.folder], folder=tmp_path) as server:
        works(server.address, **trusted)
        works(server.address.replace("127.0.0.1", "localhost"), **trusted)
        fails("UNAVAILABLE", server.address)
        fails("UNAVAILABLE", server.address, ssl=True, root_certificates=str(files.stranger))
    with KserveServer(["mlp"], options=["--tls", files.folder, "--mutual"], folder=tmp_path) as server:
        fails("UNAVAILABLE", server.address, **trusted)
        works(server.address, **trusted, private_key=str(files.client_key), certificate_chain=str(files.client))
    for wrong in ("expired", "other_host"):
        with KserveServer(["mlp"], options=["--tls", files.folder, "--certificate", wrong], folder=tmp_path) as server:
            fails("UNAVAILABLE", server.address, **trusted)


def test_bearer_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "expired").write_text("earlier\n")
    options: list[str | Path] = ["--token-file", tmp_path / "token", "--expired-token-file", tmp_path / "expired"]
    with KserveServer(["mlp"], options=options, folder=tmp_path) as server:
        fails("UNAUTHENTICATED", server.address)
        connection = client.InferenceServerClient(server.address)
        assert connection.is_server_live(headers={"authorization": "Bearer secret"})
        with pytest.raises(client.InferenceServerException, match="UNAUTHENTICATED"):
            connection.is_server_live(headers={"authorization": "Bearer other"})
        with pytest.raises(client.InferenceServerException, match="has expired"):
            connection.is_server_live(headers={"authorization": "Bearer earlier"})
