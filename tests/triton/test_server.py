# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The back-end in the real Triton server: its answers have the bits of the program's own.

The server comes from the wheel nvidia-pytriton in the environment TENSOA_SERVICE_VENV (docs/triton.md); without it the
tests skip. Requests go by HTTP, whose bodies arrive in pieces, at any address.
"""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(os.environ.get("TENSOA_PROGRAM", ROOT / "build" / "tensoa"))
BACKENDS = Path(os.environ.get("TENSOA_TRITON_BACKENDS", ROOT / "build" / "triton_backends"))
PACKAGES = Path(os.environ.get("TENSOA_FUSED_PACKAGES", ROOT / "build" / "tests" / "package" / "packages"))
VENV = Path(os.environ.get("TENSOA_SERVICE_VENV", ROOT / ".venv-service"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A running server. `process` is its process, `log` the path of what it prints."""

    def __init__(self, binary, repository, folder, *options):
        self.port, grpc = free_port(), free_port()
        self.log = folder / "server.log"
        command = [
            *[binary, f"--model-repository={repository}", f"--backend-directory={BACKENDS}", "--http-address=127.0.0.1"],
            *[f"--http-port={self.port}", "--grpc-address=127.0.0.1", f"--grpc-port={grpc}", "--allow-metrics=false"],
            *["--exit-timeout-secs=5", *options],
        ]
        environment = {"PATH": os.environ["PATH"], "TENSOA_PACKAGE_FOLDER": str(folder / "packages")}
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def is_ready(self):
        try:
            return self.get("v2/health/ready")[0] == 200
        except OSError:
            return False

    def wait(self):
        end = time.monotonic() + 60
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(self.log.read_text()[-3000:])
            time.sleep(0.1)

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}", timeout=30) as answer:
            return answer.status, answer.read()

    def infer(self, model, name, values, **parameters):
        """The first output of a model, and the parameters of the answer. `values` are [1, planes, n] float32."""
        tensor = {"name": name, "shape": values.shape, "datatype": "FP32", "parameters": {"binary_data_size": values.nbytes}}
        request = {"inputs": [tensor], "parameters": {"binary_data_output": True, **parameters}}
        head = json.dumps(request).encode()
        call = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v2/models/{model}/infer",
            data=head + values.tobytes(),
            headers={"Inference-Header-Content-Length": str(len(head)), "Content-Type": "application/octet-stream"},
        )
        with urllib.request.urlopen(call, timeout=60) as answer:
            body = answer.read()
            size = int(answer.headers["Inference-Header-Content-Length"] or len(body))  # absent where no bytes follow
        described = json.loads(body[:size])
        output = described["outputs"][0]
        return np.frombuffer(body[size:], np.float32).reshape(output["shape"]), described.get("parameters", {})

    def describe(self, model, name, values):
        """The parameters of an answer without outputs."""
        tensor = {"name": name, "shape": values.shape, "datatype": "FP32", "data": values.ravel().tolist()}
        request = {"inputs": [tensor], "parameters": {"tensoa_describe": True}}
        call = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v2/models/{model}/infer", data=json.dumps(request).encode()
        )
        with urllib.request.urlopen(call, timeout=60) as answer:
            described = json.load(answer)
        assert not described["outputs"]
        return described["parameters"]

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="module")
def binary():
    found = sorted(VENV.glob("lib/python3*/site-packages/pytriton/tritonserver/bin/tritonserver"))
    if not found:
        pytest.skip(f"there is no tritonserver in {VENV}: pip install nvidia-pytriton==0.7.0 there")
    return found[0]


@pytest.fixture(scope="module")
def server(binary, tmp_path_factory):
    folder = tmp_path_factory.mktemp("triton")
    subprocess.run([PROGRAM, "deploy", PACKAGES / "fused.pt2", "--to", folder / "repo"], check=True, capture_output=True)
    bare = folder / "repo" / "bare.tensoa" / "1"  # no configuration: the back-end makes it
    bare.mkdir(parents=True)
    shutil.copy(PACKAGES / "fused.pt2", bare / "model.pt2")
    running = Server(binary, folder / "repo", folder)
    try:
        running.wait()
        yield running
    finally:
        running.stop()


def features(rows):
    return np.random.default_rng(rows).normal(size=(1, 3, rows)).astype(np.float32)


def local(values, folder):
    """The program's results for the same columns."""
    source, target = folder / "in.parquet", folder / "out.parquet"
    pq.write_table(pa.table({name: values[0, i] for i, name in enumerate("xyz")}), source)
    subprocess.run(
        [PROGRAM, "infer", "--model", PACKAGES / "fused.pt2", "--input", source, "--output", target],
        check=True,
        capture_output=True,
    )
    table = pq.read_table(target)
    return np.stack([table[name].to_numpy() for name in ("m", "n")])[None]


@pytest.mark.parametrize("model", ["fused", "bare.tensoa"])
@pytest.mark.parametrize("rows", [1, 7, 1000, 70_000])
def test_answers_have_the_bits_of_the_program(server, model, rows, tmp_path):
    values = features(rows)
    got, parameters = server.infer(model, "features", values)
    assert got.tobytes() == local(values, tmp_path).tobytes()
    assert len(parameters["tensoa_checksum"]) == 64


def test_no_rows_are_an_answer(server):
    assert server.infer("fused", "features", features(0))[0].shape == (1, 2, 0)


def test_64_requests_in_flight(server, tmp_path):
    sizes = [1 + (i * 37) % 200 for i in range(256)]
    expected = {rows: local(features(rows), tmp_path).tobytes() for rows in set(sizes[:8])}
    alone = {rows: server.infer("fused", "features", features(rows))[0].tobytes() for rows in set(sizes)}
    assert all(alone[rows] == expected[rows] for rows in expected)
    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda rows: server.infer("fused", "features", features(rows))[0].tobytes(), sizes))
    assert answers == [alone[rows] for rows in sizes]


def refused(server, values, **parameters):
    with pytest.raises(urllib.error.HTTPError) as caught:
        server.infer("fused", "features", values, **parameters)
    return caught.value.read().decode()


def test_wrong_requests_are_refused_and_others_answered(server):
    assert "got checksum abc, serves" in refused(server, features(3), tensoa_checksum="abc")
    assert "features" in refused(server, features(4).transpose(0, 2, 1))
    assert "[1, 3, n]" in refused(server, np.concatenate([features(3)] * 2))
    assert server.infer("fused", "features", features(3))[0].shape == (1, 2, 3)


@pytest.mark.parametrize("model", ["fused", "bare.tensoa"])
def test_the_server_describes_what_it_runs(server, model):
    file = (PACKAGES / "fused.pt2").read_bytes()
    parameters = server.describe(model, "features", features(1))
    published = json.loads(parameters["tensoa_model"])
    assert published["checksum"] == parameters["tensoa_checksum"] == hashlib.sha256(file).hexdigest()
    assert [column["name"] for column in published["binding"]["inputs"][0]["columns"]] == ["x", "y", "z"]
    assert [column["name"] for column in published["binding"]["outputs"][0]["columns"]] == ["m", "n"]
    assert published["columns"] == "named"


def test_a_package_that_needs_torch_is_refused_by_name(binary, tmp_path):
    folder = tmp_path / "repo" / "m.tensoa" / "1"
    folder.mkdir(parents=True)
    shutil.copy(PACKAGES / "inductor.pt2", folder / "model.pt2")
    server = Server(binary, tmp_path / "repo", tmp_path, "--exit-on-error=true")
    try:
        assert server.process.wait(60) != 0
    finally:
        server.stop()
    assert "programs of the kind inductor only" in server.log.read_text()
