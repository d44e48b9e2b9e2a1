# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models that the compiler does not take: another back end may."""

import contextlib
from collections.abc import Iterator

from tensoa.errors import InputError, Unsupported, first_line


class NotFused(Unsupported):
    """Why a model is no row program: what it does, in words for the user."""


class MalformedProgram(Exception):
    """A defect of the compiler: a row program against the rules of ir/verify.py. Never taken for NotFused."""


@contextlib.contextmanager
def surprises_as_not_fused() -> Iterator[None]:
    """Any other error than one of the user's in the block becomes a NotFused: TorchInductor may still take the model."""
    try:
        yield
    except (NotFused, InputError, MalformedProgram):
        raise
    except Exception as error:  # whatever torch, NumPy or a gap in this package throws
        raise NotFused(f"an unexpected error ({type(error).__name__}: {first_line(error)})") from error
