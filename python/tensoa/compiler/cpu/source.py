# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The source text of a library, for a C++ compiler."""

from typing import NamedTuple

#: The constants of a program, from a file next to its text: as text, those of a large table take gigabytes.
WEIGHTS = "weights.bin"
INCLUDED = f"""
asm(".pushsection .rodata\\n.balign 64\\ntensoa_weights:\\n.incbin \\"{WEIGHTS}\\"\\n.popsection\\n");
extern "C" [[gnu::visibility("hidden")]] const float tensoa_weights[];
"""


class Source(NamedTuple):
    text: str
    weights: bytes = b""  # what the file WEIGHTS holds
