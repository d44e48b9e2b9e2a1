# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A second server of the KServe v2 protocol: its core methods only, on grpcio, and wrong answers on request.

Run it with the Python of .venv-service; it prints its port and serves until SIGTERM. Then it stops gracefully: it sends GOAWAY,
and the calls in flight finish. A model name MODEL.FAULT has the fault of that name, see kserve_faults.py.
"""

import argparse
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import numpy as np
from tritonclient.grpc import service_pb2 as pb

import kserve_faults
import models
import python_model
from certificates import Certificates

DTYPES = {"FP32": "<f4", "FP64": "<f8", "INT32": "<i4", "INT64": "<i8", "BOOL": "?"}
CONTENTS = {
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "BOOL": "bool_contents",
}
METHODS = ["ServerLive", "ServerReady", "ModelReady", "ServerMetadata", "ModelMetadata", "ModelInfer"]


class Refusal(Exception):
    """A status other than OK for the client."""

    def __init__(self, code: grpc.StatusCode, text: str):
        super().__init__(text)
        self.code = code


def tensor_of(given: Any, raw: bytes | None) -> Any:
    """Returns an input as an array; Refusal where the message contradicts itself."""
    if given.datatype not in DTYPES:
        raise Refusal(grpc.StatusCode.INVALID_ARGUMENT, f"input {given.name}: datatype {given.datatype} is not served")
    dtype = np.dtype(DTYPES[given.datatype])
    if raw is None:
        values = np.array(getattr(given.contents, CONTENTS[given.datatype]), dtype)
    elif len(raw) % dtype.itemsize:
        raise Refusal(grpc.StatusCode.INVALID_ARGUMENT, f"input {given.name}: {len(raw)} bytes are not whole elements")
    else:
        values = np.frombuffer(raw, dtype)
    if any(size < 0 for size in given.shape) or values.size != int(np.prod(list(given.shape), dtype=object)):
        raise Refusal(
            grpc.StatusCode.INVALID_ARGUMENT, f"input {given.name}: {values.size} elements, shape {list(given.shape)}"
        )
    return values.reshape(list(given.shape))


class Service:
    """The methods. `entries` are the models to serve, NAME or NAME=KIND."""

    def __init__(self, entries: list[str], token: str, expired: str):
        self.token, self.expired = token, expired
        self.models = dict(models.model_of(entry) for entry in entries)
        self._weights: dict[str, Any] = {}
        self.calls: dict[str, int] = {}
        self._lock = threading.Lock()

    def weights(self, name: str) -> Any:
        """Returns the layers of a model, made by the first call: one of them is trained."""
        with self._lock:
            if name not in self._weights:
                model = self.models[name]
                self._weights[name] = python_model.layers(models.weights(model), model.kind, list(model.widths))
            return self._weights[name]

    def find(self, name: str, version: str) -> tuple[str, models.Model, str]:
        """Returns the model's own name, the model, and the fault."""
        own, _, fault = name.partition(".")
        if own not in self.models or version not in ("", "1"):
            raise Refusal(grpc.StatusCode.NOT_FOUND, f"unknown model {name!r}, version {version!r}")
        return own, self.models[own], fault

    def ServerLive(self, request: Any) -> Any:
        return pb.ServerLiveResponse(live=True)

    def ServerReady(self, request: Any) -> Any:
        return pb.ServerReadyResponse(ready=True)

    def ModelReady(self, request: Any) -> Any:
        return pb.ModelReadyResponse(ready=request.name.partition(".")[0] in self.models)

    def ServerMetadata(self, request: Any) -> Any:
        return pb.ServerMetadataResponse(name="tensoa-test-server", version="1", extensions=[])

    def ModelMetadata(self, request: Any) -> Any:
        _, model, fault = self.find(request.name, request.version)
        reply = pb.ModelMetadataResponse(name=request.name, versions=["1"], platform="tensoa_test")
        for field, tensors in ((reply.inputs, model.inputs), (reply.outputs, model.outputs)):
            for tensor in tensors:
                field.add(name=tensor.name, datatype=tensor.dtype, shape=model.shape(tensor))
        return kserve_faults.spoil_metadata(fault, reply)

    def ModelInfer(self, request: Any) -> Any:
        own, model, fault = self.find(request.model_name, request.model_version)
        with self._lock:
            call = self.calls[request.model_name] = self.calls.get(request.model_name, 0) + 1
        code, text = kserve_faults.refusal(fault, request.model_name, call)
        if code:
            raise Refusal(next(status for status in grpc.StatusCode if status.value[0] == code), text)
        time.sleep(kserve_faults.delay(fault))
        reply = self.infer(own, model, request)
        return kserve_faults.spoil_reply(fault, reply)

    def infer(self, own: str, model: models.Model, request: Any) -> Any:
        raw = list(request.raw_input_contents)
        if raw and len(raw) != len(request.inputs):
            raise Refusal(grpc.StatusCode.INVALID_ARGUMENT, f"{len(raw)} raw contents for {len(request.inputs)} inputs")
        given = {tensor.name: tensor_of(tensor, raw[number] if raw else None) for number, tensor in enumerate(request.inputs)}
        if sorted(given) != sorted(tensor.name for tensor in model.inputs):
            raise Refusal(grpc.StatusCode.INVALID_ARGUMENT, f"model {own}: inputs {sorted(given)}")
        for tensor in model.inputs:
            array, shape = given[tensor.name], model.shape(tensor)
            fits = array.ndim == len(shape) and all(want in (-1, have) for want, have in zip(shape, array.shape, strict=True))
            if not fits or array.dtype != np.dtype(DTYPES[tensor.dtype]):
                got, expected = f"{array.dtype} {list(array.shape)}", f"{tensor.dtype} {shape}"
                raise Refusal(grpc.StatusCode.INVALID_ARGUMENT, f"input {tensor.name}: got {got}, expected {expected}")
        try:
            results = python_model.run(model.kind, given, self.weights(own))
        except RuntimeError as error:
            raise Refusal(grpc.StatusCode.INTERNAL, str(error)) from error
        reply = pb.ModelInferResponse(model_name=request.model_name, model_version="1", id=request.id)
        for name in [output.name for output in request.outputs] or [tensor.name for tensor in model.outputs]:
            if name not in results:
                raise Refusal(grpc.StatusCode.INVALID_ARGUMENT, f"model {own} has no output {name}")
            dtype = next(tensor.dtype for tensor in model.outputs if tensor.name == name)
            reply.outputs.add(name=name, datatype=dtype, shape=results[name].shape)
            reply.raw_output_contents.append(np.ascontiguousarray(results[name], DTYPES[dtype]).tobytes())
        return reply

    def handler(self, method: str) -> grpc.RpcMethodHandler:
        """Returns what grpcio calls for one method."""
        implementation: Callable[[Any], Any] = getattr(self, method)

        def call(request: Any, context: grpc.ServicerContext) -> Any:
            given = dict(context.invocation_metadata()).get("authorization")
            if self.expired and given == f"Bearer {self.expired}":
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "the bearer token has expired")
            if self.token and given != f"Bearer {self.token}":
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "the bearer token is missing or wrong")
            try:
                return implementation(request)
            except Refusal as refusal:
                context.abort(refusal.code, str(refusal))

        return grpc.unary_unary_rpc_method_handler(
            call,
            request_deserializer=getattr(pb, f"{method}Request").FromString,
            response_serializer=lambda reply: reply if isinstance(reply, bytes) else reply.SerializeToString(),
        )


def main() -> int:
    parser = argparse.ArgumentParser(description="A second server of the KServe v2 protocol, for tests")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--models", default=",".join(models.MODELS), help="NAME or NAME=KIND, separated by commas")
    parser.add_argument("--without", default="", help="methods that are UNIMPLEMENTED, separated by commas")
    parser.add_argument("--tls", type=Path, help="folder of certificates.py")
    parser.add_argument("--certificate", default="server", help="which certificate of that folder: server, expired, other_host")
    parser.add_argument("--mutual", action="store_true", help="the client must show a certificate of the same authority")
    parser.add_argument("--token-file", type=Path, help="file with the bearer token that every call must have")
    parser.add_argument("--expired-token-file", type=Path, help="file with a token that was valid once")
    parser.add_argument("--max-age-ms", type=int, help="GOAWAY to every connection of this age")
    parser.add_argument("--max-message", type=int, default=-1, help="largest message in bytes; -1: no limit")
    arguments = parser.parse_args()

    options = [("grpc.max_receive_message_length", arguments.max_message), ("grpc.so_reuseport", 0)]
    if arguments.max_age_ms:
        options += [("grpc.max_connection_age_ms", arguments.max_age_ms), ("grpc.max_connection_age_grace_ms", 5000)]
    tokens = [file.read_text().strip() if file else "" for file in (arguments.token_file, arguments.expired_token_file)]
    service = Service(arguments.models.split(","), *tokens)
    methods = {method: service.handler(method) for method in METHODS if method not in arguments.without.split(",")}
    server = grpc.server(futures.ThreadPoolExecutor(16), options=options)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("inference.GRPCInferenceService", methods)])
    address = f"127.0.0.1:{arguments.port}"
    if arguments.tls:
        files = Certificates(arguments.tls)
        pair = tuple((arguments.tls / f"{arguments.certificate}{end}").read_bytes() for end in (".key", ".pem"))
        authority = files.authority.read_bytes() if arguments.mutual else None
        credentials = grpc.ssl_server_credentials([pair], authority, require_client_auth=arguments.mutual)
        port = server.add_secure_port(address, credentials)
    else:
        port = server.add_insecure_port(address)
    server.start()
    print(port, flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    server.stop(grace=5).wait()
    return 0


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    sys.exit(main())
