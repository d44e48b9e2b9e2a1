# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The errors that users see: those of the C++ library, with its messages, and InputError of the commands."""


class Error(Exception):
    """All errors of tensoa."""


class ConfigError(Error, ValueError):
    """A wrong option, or a call that can never work."""


class InputError(Error):
    """Wrong input or use. The message is one line: what, got, expected."""


class Unsupported(InputError):
    """A model of which a program of one kind cannot be made: another kind may run it (tensoa.program_kinds)."""


class OutputError(Error, OSError):
    """An output that cannot be written. Nothing half-written is left behind."""


class LoadError(Error, OSError):
    """A model file that is missing, truncated, of another kind, or another one than it should be."""


class BindingError(Error, ValueError):
    """Columns that a model does not take: a name, dtype, number of rows, device or shape is wrong."""


class DeviceError(Error, RuntimeError):
    """A device that is not there, is full, or failed."""


class DeviceFullError(DeviceError, MemoryError):
    """The memory of a device does not hold what was requested. The device works on."""


class DeviceLostError(DeviceError):
    """A device that this process can use no more."""


class EngineError(Error, RuntimeError):
    """A model that failed while it ran."""


class ServiceError(EngineError):
    """A call that no server answered, or that one answered wrongly. Columns are as they were."""

    code = 2  # of gRPC (grpc.io/docs/guides/status-codes); 9: the servers have another model than the one that was loaded
    server = ""  # "host:port" of the last attempt
    may_retry = False  # whether the same call may succeed later


def first_line(error: object) -> str:
    """The text of an error, short enough for a line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]
