# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A program through all passes, in text."""

from collections.abc import Iterator

from tensoa.compiler import cpu
from tensoa.compiler.passes import simplified
from tensoa.compiler.program import Program


def dumps(program: Program) -> Iterator[tuple[str, str]]:
    """(name, text) after the front end, after each pass that changed something, and of the loop nests."""
    last = program.dump()
    yield "front end", last
    found: list[tuple[str, Program]] = []
    done = simplified(program, lambda name, made: found.append((name, made)))
    for name, made in found:
        if made.dump() != last:
            last = made.dump()
            yield name, last
    yield "loop nests", cpu.dump(done)
