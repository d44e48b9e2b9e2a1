# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Triton and Envoy of the test bench, seen by the official Python client."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as client

import energy
import models
from conftest import expected, fails, infer, inputs_of, works
from testbench import Certificates, Envoy, ServiceProblem, Triton, write_repository


def children(prefix: str) -> list[str]:
    """The processes whose command line has `prefix` in it, and its regions of shared memory."""
    found = [region.name for region in Path("/dev/shm").glob(f"{prefix}*")]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if prefix in (folder / "cmdline").read_text() and (folder / "stat").read_text().split()[2] != "Z":
                found.append(folder.name)
        except OSError:
            continue  # it has ended meanwhile
    return found


@pytest.mark.parametrize("name", models.MODELS)
def test_models_answer_what_numpy_computes(triton: Triton, name: str) -> None:
    arrays = inputs_of(models.MODELS[name], rows=1 if name in ("slow", "failing") else 5)
    results, right = infer(triton.address, name, arrays), expected(name, arrays)
    assert sorted(results) == sorted(right)
    for key, array in right.items():
        assert results[key].dtype == array.dtype
        np.testing.assert_allclose(results[key], array, rtol=1e-6, atol=1e-6)


def test_energy_regression_of_16000_cells(triton: Triton) -> None:
    cells, true = energy.showers(16000, seed=3)
    answer = infer(triton.address, "energy", {"x": cells})["y"]
    np.testing.assert_allclose(answer, expected("energy", {"x": cells})["y"], rtol=1e-4, atol=1e-4)
    # It has learned: better than any sum of the layers, calibrated as well as can be.
    weights = np.linalg.lstsq(cells / np.sqrt(true), np.sqrt(true), rcond=None)[0]
    assert energy.resolution(answer, true) < 0.6 * energy.resolution(cells @ weights, true)


@pytest.mark.parametrize("name", models.MODELS)
def test_metadata_is_that_of_the_model(triton: Triton, name: str) -> None:
    found = client.InferenceServerClient(triton.address).get_model_metadata(name)
    model = models.MODELS[name]
    assert (found.platform, list(found.versions)) == ("python", ["1"])
    for tensors, wanted in ((found.inputs, model.inputs), (found.outputs, model.outputs)):
        have = sorted((tensor.name, tensor.datatype, list(tensor.shape)) for tensor in tensors)
        assert have == sorted((tensor.name, tensor.dtype, model.shape(tensor)) for tensor in wanted)


def test_failing_and_slow_models(triton: Triton) -> None:
    one = {"x": np.array([1], "f4")}
    with pytest.raises(Exception, match="fails for every value but 0"):
        infer(triton.address, "failing", one)
    start = time.monotonic()
    infer(triton.address, "slow", {"x": np.array([0.3], "f4")})
    assert time.monotonic() - start >= 0.3


def test_life_of_a_server(tmp_path: Path) -> None:
    server = Triton(write_repository(tmp_path / "models", ["mlp"]), folder=tmp_path)
    with server:
        works(server.address)
        assert len(children(server.shared_memory)) >= 3  # the server, a stub, its region

        server.pause()
        fails("DEADLINE_EXCEEDED", server.address, seconds=0.3)
        server.resume()
        works(server.address)

        server.kill()
        assert children(server.shared_memory) == []
        fails("UNAVAILABLE", server.address)
        server.start()
        works(server.address)

        assert server.stop() < 8
        assert children(server.shared_memory) == []
    assert "Started GRPCInferenceService" in server.log.read_text()


def test_explicit_mode(tmp_path: Path) -> None:
    repository = write_repository(tmp_path / "models", ["mlp", "identity"])
    with Triton(repository, explicit=["mlp"], folder=tmp_path) as server:
        control = client.InferenceServerClient(server.address)
        assert (control.is_model_ready("mlp"), control.is_model_ready("identity")) == (True, False)
        control.load_model("identity")
        assert control.is_model_ready("identity")
        control.unload_model("mlp")
        fails("NOT_FOUND", server.address)


def test_triton_with_client_certificates(tmp_path: Path) -> None:
    files = Certificates.make(tmp_path / "certificates")
    trusted: dict[str, Any] = {"ssl": True, "root_certificates": str(files.authority)}
    with Triton(write_repository(tmp_path / "models", ["mlp"]), tls=files, mutual=True, folder=tmp_path) as server:
        works(server.address, **trusted, private_key=str(files.client_key), certificate_chain=str(files.client))
        fails("UNAVAILABLE", server.address, **trusted)
        fails("UNAVAILABLE", server.address)


def test_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    repository = write_repository(tmp_path / "models", ["mlp"])
    (repository / "mlp" / "config.pbtxt").write_text("nonsense")
    with pytest.raises(ServiceProblem, match="(?s)ended with status 1.*failed to load all models"), Triton(repository):
        pass


def test_envoy_over_two_servers(tmp_path: Path) -> None:
    repository = write_repository(tmp_path / "models", ["mlp"])
    with (
        Triton(repository, name="one", folder=tmp_path) as one,
        Triton(repository, name="two", folder=tmp_path) as two,
        Envoy([one.address, two.address], folder=tmp_path) as envoy,
    ):

        def answered(server: Triton) -> int:
            statistics = client.InferenceServerClient(server.address).get_inference_statistics("mlp")
            return int(statistics.model_stats[0].inference_stats.success.count)

        def answers(requests: int) -> tuple[int, int]:
            """Of both servers, once they have counted all requests, which they do after they answered."""
            deadline = time.monotonic() + 30
            while (counts := (answered(one), answered(two))) and sum(counts) < requests:
                assert time.monotonic() < deadline, counts
            return counts

        for _ in range(40):
            works(envoy.address)
        before = answers(40)
        assert sum(before) == 40 and min(before) >= 5

        envoy.set_servers(envoy.servers, drained=[one.address])
        time.sleep(0.5)
        for _ in range(20):
            works(envoy.address)
        assert answers(60) == (before[0], before[1] + 20)

        envoy.set_servers(envoy.servers)
        two.kill()
        for _ in range(20):
            works(envoy.address)  # what fails is sent to the other server
        envoy.wait_for_healthy(1)
        two.start()
        envoy.wait_for_healthy(2)
