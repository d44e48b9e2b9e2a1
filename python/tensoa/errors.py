# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The one error that users see."""


class InputError(Exception):
    """Wrong input or use. The message is one line: what, got, expected."""


def first_line(error: object) -> str:
    """What an error says, short enough for a line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]
