# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Requests a second of the back-end tensoa, beside Triton's python back-end with ONNX Runtime, for one network.

    PYTHONPATH=python .venv/bin/python bench/service/make_mlp.py build/mlp
    .venv-service/bin/python bench/service/triton_backend.py --package build/mlp/mlp.pt2 --onnx build/mlp/mlp.onnx \
        --binding build/mlp/binding.json --json benchmarks/results/triton-backend.json

Both models are deployed by `tensoa deploy` into one real server, with two instances each, and get the same bytes by gRPC
from this process. Rounds of the two are interleaved; the figures are medians of rounds. The environment needs
nvidia-pytriton, tritonclient[grpc] and onnxruntime.
"""

import argparse
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from pathlib import Path

import grpc
import numpy as np
from tritonclient.grpc import service_pb2

ROOT = Path(__file__).parents[2]
METHOD = "/inference.GRPCInferenceService/ModelInfer"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_seconds(root):
    """CPU time of a process and its children: the python back-end runs models in processes."""
    ticks, parents = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        pid = int(stat.parent.name)
        parents[pid], ticks[pid] = int(fields[1]), int(fields[11]) + int(fields[12])
    of_server = [pid for pid in ticks if pid == root or parents[pid] == root]
    return sum(ticks[pid] for pid in of_server) / os.sysconf("SC_CLK_TCK")


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


class Client:
    def __init__(self, port):
        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=options)
        self.infer = self.channel.unary_unary(METHOD)  # bytes in, bytes out

    def request(self, model, values):
        tensor = service_pb2.ModelInferRequest.InferInputTensor(name="x", datatype="FP32", shape=values.shape)
        request = service_pb2.ModelInferRequest(model_name=model, inputs=[tensor], raw_input_contents=[values.tobytes()])
        return request.SerializeToString()

    def answer(self, body):
        return np.frombuffer(service_pb2.ModelInferResponse.FromString(body).raw_output_contents[0], np.float32)

    def compute_time(self, model):
        """Nanoseconds in the model, and requests, since the start of the server."""
        ask = self.channel.unary_unary(
            "/inference.GRPCInferenceService/ModelStatistics",
            request_serializer=service_pb2.ModelStatisticsRequest.SerializeToString,
            response_deserializer=service_pb2.ModelStatisticsResponse.FromString,
        )
        infer = ask(service_pb2.ModelStatisticsRequest(name=model)).model_stats[0].inference_stats.compute_infer
        return infer.ns, infer.count

    def rate(self, body, in_flight, seconds):
        """Requests a second with a constant number in flight."""
        done, lock, end = [0], threading.Semaphore(in_flight), time.perf_counter() + seconds
        begin = time.perf_counter()

        def finished(future):
            future.result()
            done[0] += 1
            lock.release()

        while time.perf_counter() < end:
            lock.acquire()
            self.infer.future(body).add_done_callback(finished)
        for _ in range(in_flight):
            lock.acquire()
        return done[0] / (time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser()
    for name in ["--package", "--onnx", "--binding", "--json"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        deploy = [ROOT / "build" / "tensoa", "deploy", "--to", folder / "models"]
        subprocess.run([*deploy, options.package, "--name", "ours"], check=True)
        subprocess.run(
            [*deploy, options.onnx, "--name", "python", "--variant", "python", "--binding", options.binding], check=True
        )
        for name in ["ours", "python"]:
            with (folder / "models" / name / "config.pbtxt").open("a") as config:
                config.write("instance_group [ { count: 2 kind: KIND_CPU } ]\n")
        server, port = start(folder, folder / "models")
        try:
            rows = measure(Client(port), server.pid, options)
        except Exception:
            print((folder / "log").read_text()[-3000:], file=sys.stderr)
            raise
        finally:
            server.terminate()
            server.wait(30)
    result = {
        "command": " ".join(__doc__.split("\n\n")[1].split()),
        "what": "requests a second, medians of interleaved rounds, and CPU time of the server for a request; the client, in "
        "Python, shares the cores with the server",
        "network": "15 -> 64 -> 64 -> 1, ReLU, float32",
        "server": "Triton 2.51 of nvidia-pytriton 0.7.0, 2 instances each",
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "rounds": options.rounds,
        "seconds_of_a_round": options.seconds,
        "rows": rows,
    }
    Path(options.json).write_text(json.dumps(result, indent=2) + "\n")


def measure(client, server, options):
    grpc.channel_ready_future(client.channel).result(60)
    table = []
    for count in [16, 16_000]:
        values = np.random.default_rng(1).normal(size=(1, 15, count)).astype(np.float32)
        bodies = {model: client.request(model, values) for model in ["ours", "python"]}
        for _ in range(100):
            try:
                answers = {model: client.answer(client.infer(body, timeout=30)) for model, body in bodies.items()}
                break
            except grpc.RpcError:
                time.sleep(0.5)
        difference = float(np.abs(answers["ours"] - answers["python"]).max())
        for in_flight in [1, 64]:
            rates = {model: [] for model in bodies}
            cpu = dict.fromkeys(bodies, 0.0)
            calls = dict.fromkeys(bodies, 0)
            before = client.compute_time("ours")
            for _ in range(options.rounds):
                for model, body in bodies.items():
                    cpu_before, (_, calls_before) = cpu_seconds(server), client.compute_time(model)
                    rates[model].append(client.rate(body, in_flight, options.seconds))
                    cpu[model] += cpu_seconds(server) - cpu_before
                    calls[model] += client.compute_time(model)[1] - calls_before
            medians = {model: statistics.median(all_rates) for model, all_rates in rates.items()}
            row = {"shape": [count, 15], "in_flight": in_flight, "ours_per_s": round(medians["ours"], 1)}
            row |= {"python_per_s": round(medians["python"], 1), "ratio": round(medians["ours"] / medians["python"], 2)}
            row |= {"ours_range": [round(min(rates["ours"]), 1), round(max(rates["ours"]), 1)]}
            row |= {
                "python_range": [round(min(rates["python"]), 1), round(max(rates["python"]), 1)],
                "max_difference": difference,
            }
            nanoseconds, requests = (now - then for now, then in zip(client.compute_time("ours"), before, strict=True))
            for model in bodies:
                row[f"{model}_server_cpu_us"] = round(cpu[model] / calls[model] * 1e6)
            row["ours_us_in_the_model"] = round(nanoseconds / requests / 1000, 1)
            table.append(row)
            print(row, flush=True)
    return table


if __name__ == "__main__":
    main()
