# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Requests a second of the back-end tensoa, and of Triton's python back-end with ONNX Runtime, for one network.

    PYTHONPATH=python .venv/bin/python bench/service/make_mlp.py build/mlp
    .venv-service/bin/python bench/service/triton_backend.py --package build/mlp/mlp.pt2 --onnx build/mlp/mlp.onnx \
        --binding build/mlp/binding.json --json benchmarks/results/triton-backend.json

Both models are deployed by `tensoa deploy` into one real server, with two instances each, and get the same prebuilt bytes by
gRPC from `tensoa-bench service`, in turns: a client in Python takes longer for a request than the server. The environment
needs nvidia-pytriton, tritonclient[grpc] and onnxruntime.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import grpc
import numpy as np
from tritonclient.grpc import service_pb2

ROOT = Path(__file__).parents[2]
NAMES = ["of_tensoa", "of_python"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(folder, repository):
    """A server with both back-ends. @return its process and gRPC port"""
    site = next(Path(sys.prefix).glob("lib/python3*/site-packages"))
    triton = site / "pytriton" / "tritonserver"
    backends = folder / "backends"
    (backends / "python").mkdir(parents=True)
    stub = triton / "python_backend_stubs" / f"3.{sys.version_info.minor}" / "triton_python_backend_stub"
    for file in [
        triton / "backends/python/libtriton_python.so",
        triton / "backends/python/triton_python_backend_utils.py",
        stub,
    ]:
        (backends / "python" / file.name).symlink_to(file)
    (backends / "tensoa").symlink_to(ROOT / "build" / "triton_backends" / "tensoa")
    port = free_port()
    command = [triton / "bin" / "tritonserver", f"--model-repository={repository}", f"--backend-directory={backends}"]
    command += [
        "--allow-http=false",
        "--grpc-address=127.0.0.1",
        f"--grpc-port={port}",
        "--allow-metrics=false",
        "--exit-timeout-secs=5",
    ]
    command += [f"--backend-config=python,shm-region-prefix-name=tensoa_bench_{os.getpid()}_"]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TENSOA_PACKAGE_FOLDER": str(folder / "packages"),
    }
    environment["LD_LIBRARY_PATH"] = sysconfig.get_config_var("LIBDIR")
    return subprocess.Popen(command, env=environment, stdout=(folder / "log").open("w"), stderr=subprocess.STDOUT), port


def answers(port, names):
    """Of both models to the same request, once they are loaded."""
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    grpc.channel_ready_future(channel).result(60)
    infer = channel.unary_unary(
        "/inference.GRPCInferenceService/ModelInfer",
        request_serializer=service_pb2.ModelInferRequest.SerializeToString,
        response_deserializer=service_pb2.ModelInferResponse.FromString,
    )
    values = np.random.default_rng(1).normal(size=(1, 15, 1000)).astype(np.float32)
    tensor = service_pb2.ModelInferRequest.InferInputTensor(name="x", datatype="FP32", shape=values.shape)
    for _ in range(100):
        try:
            replies = [
                infer(
                    service_pb2.ModelInferRequest(model_name=name, inputs=[tensor], raw_input_contents=[values.tobytes()]),
                    timeout=30,
                )
                for name in names
            ]
            return [np.frombuffer(reply.raw_output_contents[0], np.float32) for reply in replies]
        except grpc.RpcError:
            time.sleep(0.5)
    raise SystemExit("the models are not loaded after 50 s")


def main():
    parser = argparse.ArgumentParser()
    for name in ["--package", "--onnx", "--binding", "--json"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        program = ROOT / "build" / "tensoa"
        deploy = [program, "deploy", "--to", folder / "models"]
        subprocess.run([*deploy, options.package, "--name", NAMES[0]], check=True)
        subprocess.run(
            [*deploy, options.onnx, "--name", NAMES[1], "--variant", "python", "--binding", options.binding], check=True
        )
        for name in NAMES:
            with (folder / "models" / name / "config.pbtxt").open("a") as config:
                config.write("instance_group [ { count: 2 kind: KIND_CPU } ]\n")
        server, port = start(folder, folder / "models")
        try:
            difference = float(np.abs(np.subtract(*answers(port, NAMES))).max())
            environment = {**os.environ, "TENSOA_TEST_TRITON": f"127.0.0.1:{port}"}
            command = [ROOT / "build" / "tensoa-bench", "service", "--repeats", str(options.repeats), "--json", options.json]
            subprocess.run(command, check=True, env=environment)
        except Exception:
            print((folder / "log").read_text()[-3000:], file=sys.stderr)
            raise
        finally:
            server.terminate()
            server.wait(30)
    file = Path(options.json)
    figures = json.loads(file.read_text())
    figures["command"] = " ".join((__doc__ or "").split("\n\n")[1].split())
    figures["server"] = "Triton 2.51 of nvidia-pytriton 0.7.0, 2 instances each; a network 15 -> 64 -> 64 -> 1"
    figures["max_difference"] = difference
    file.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
