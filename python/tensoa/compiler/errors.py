# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models that the compiler does not take: another back end may."""

import contextlib
from collections.abc import Iterator

from tensoa.errors import InputError, Unsupported, first_line


class NotFused(Unsupported):
    """Why there is no fused program of a model: what it does, in words for the user."""


@contextlib.contextmanager
def surprises_as_not_fused() -> Iterator[None]:
    """Any other error than one of the user's in the block becomes a NotFused: TorchInductor may still take the model."""
    try:
        yield
    except (NotFused, InputError):
        raise
    except Exception as error:  # whatever torch, NumPy or a gap in this package throws
        raise NotFused(f"an unexpected error ({type(error).__name__}: {first_line(error)})") from error
