# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The faults of kserve_server.py: what follows the dot of a model name.

| fault | what the client sees of ModelInfer |
| code-N | gRPC status N |
| stopping | NOT_FOUND "has no available versions", as of a Triton that shuts down |
| flaky-N | UNAVAILABLE for the first N calls, then right answers |
| delay-S | the right answer after S seconds |
| truncated | the raw bytes of the last output lack one |
| overlong | the raw bytes of the last output have four too many |
| missing-output | the last output is missing |
| missing-raw | the raw bytes of the last output are missing |
| extra-output | an output that the model does not have |
| wrong-name, wrong-dtype, wrong-rank | of the first output |
| negative-shape, huge-shape | shape [-1], or [2^62, 4], of the first output |
| other-model | the reply is of another model |
| nan | all results of FP32 are NaN |
| typed | a right answer, in typed contents and not raw |
| garbage | bytes that are not a protobuf message |
| empty | a message with nothing in it |
| big-N | N MiB more than the reply needs, in an unknown field |

Of ModelMetadata: other-inputs (an input more), no-outputs, wrong-metadata (the first output has datatype FP16).
"""

from typing import Any

import numpy as np


def _number(fault: str, kind: str) -> float | None:
    """Returns N of KIND-N, or None."""
    return float(fault.removeprefix(f"{kind}-")) if fault.startswith(f"{kind}-") else None


def refusal(fault: str, name: str, call: int) -> tuple[int, str]:
    """Returns the gRPC status to answer with and its text; 0 for none. `call` counts the calls of this name from 1."""
    if (code := _number(fault, "code")) is not None:
        return int(code), f"status {int(code)} on request"
    if fault == "stopping":
        return 5, f"Request for unknown model: '{name}' has no available versions"
    if (calls := _number(fault, "flaky")) is not None and call <= calls:
        return 14, f"unavailable for call {call} of {int(calls)}"
    return 0, ""


def delay(fault: str) -> float:
    """Returns the seconds to wait before the answer."""
    return _number(fault, "delay") or 0.0


def spoil_metadata(fault: str, reply: Any) -> Any:
    """Returns the reply of ModelMetadata with the fault in it."""
    if fault == "other-inputs":
        reply.inputs.add(name="another", datatype="FP32", shape=[-1])
    elif fault == "no-outputs":
        del reply.outputs[:]
    elif fault == "wrong-metadata":
        reply.outputs[0].datatype = "FP16"
    return reply


def _unknown_field(size: int) -> bytes:
    """Returns field 1000 with `size` bytes, which every protobuf reader must skip."""
    length, left = bytearray(), size
    while left > 127:
        length.append(left & 127 | 128)
        left >>= 7
    length.append(left)
    return b"\xc2\x3e" + bytes(length) + bytes(size)


def _typed(reply: Any) -> None:
    """Moves raw contents of FP32 into typed contents."""
    for output, raw in zip(reply.outputs, reply.raw_output_contents, strict=True):
        output.contents.fp32_contents.extend(np.frombuffer(raw, "<f4").tolist())
    del reply.raw_output_contents[:]


def spoil_reply(fault: str, reply: Any) -> Any:
    """Returns the reply of ModelInfer with the fault in it: a message, or its bytes."""
    raw, outputs = reply.raw_output_contents, reply.outputs
    if fault == "truncated":
        raw[-1] = raw[-1][:-1]
    elif fault == "overlong":
        raw[-1] += bytes(4)
    elif fault == "missing-output":
        del outputs[-1:], raw[-1:]
    elif fault == "missing-raw":
        del raw[-1:]
    elif fault == "extra-output":
        outputs.add(name="another", datatype="FP32", shape=[1])
        raw.append(bytes(4))
    elif fault == "wrong-name":
        outputs[0].name = "another"
    elif fault == "wrong-dtype":
        outputs[0].datatype = "INT32"
    elif fault == "wrong-rank":
        outputs[0].shape.append(1)
    elif fault in ("negative-shape", "huge-shape"):
        outputs[0].shape[:] = [-1] if fault == "negative-shape" else [2**62, 4]
    elif fault == "other-model":
        reply.model_name = "another"
    elif fault == "nan":
        raw[0] = np.full(len(raw[0]) // 4, np.nan, "<f4").tobytes()
    elif fault == "typed":
        _typed(reply)
    elif fault == "garbage":
        return b"\xff" * 64
    elif fault == "empty":
        return b""
    elif (size := _number(fault, "big")) is not None:
        return reply.SerializeToString() + _unknown_field(int(size * 2**20))
    return reply
