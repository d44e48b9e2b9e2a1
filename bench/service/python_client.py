# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The official Python client, for `tensoa-bench service`: python_client.py HOST:PORT

Reads lines "MODEL FLOATS CALLS IN_FLIGHT" and runs that number of calls, each with a column of float32. Prints the wall time and the
processor time of all calls, in microseconds. One call in flight: `infer`; more: `async_infer`.
"""

import sys
import threading
import time
from typing import Any

import numpy as np
from tritonclient import grpc


def call(client: Any, model: str, column: Any) -> None:
    tensor = grpc.InferInput("x", column.shape, "FP32")
    tensor.set_data_from_numpy(column)
    client.infer(model, [tensor], outputs=[grpc.InferRequestedOutput("y")]).as_numpy("y")


def call_in_flight(client: Any, model: str, columns: list[Any], calls: int) -> None:
    free = threading.Semaphore(len(columns))
    errors = []

    def done(result: Any, error: Any) -> None:
        if error is not None:
            errors.append(error)
        else:
            result.as_numpy("y")
        free.release()

    for i in range(calls):
        free.acquire()
        column = columns[i % len(columns)]
        tensor = grpc.InferInput("x", column.shape, "FP32")
        tensor.set_data_from_numpy(column)
        client.async_infer(model, [tensor], done, outputs=[grpc.InferRequestedOutput("y")])
    for _ in columns:
        free.acquire()
    if errors:
        raise errors[0]


def main() -> None:
    client = grpc.InferenceServerClient(sys.argv[1])
    for line in sys.stdin:
        model, floats, calls, in_flight = line.split()
        columns = [np.ones(int(floats), dtype=np.float32) for _ in range(int(in_flight))]
        wall, processor = time.perf_counter(), time.process_time()
        if len(columns) == 1:
            for _ in range(int(calls)):
                call(client, model, columns[0])
        else:
            call_in_flight(client, model, columns, int(calls))
        print((time.perf_counter() - wall) * 1e6, (time.process_time() - processor) * 1e6, flush=True)


if __name__ == "__main__":
    main()
