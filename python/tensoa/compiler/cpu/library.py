# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From C++ to a shared library."""

import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tensoa.compiler.cpu.source import WEIGHTS, Source
from tensoa.compiler.errors import NotFused
from tensoa.errors import InputError

LEVELS = ("x86-64-v4", "x86-64-v3")  # best first
FLAGS = (
    "-std=c++20 -O3 -fPIC -fvisibility=hidden -ffp-contract=off -fno-math-errno -fno-trapping-math "
    "-fno-exceptions -fno-rtti -mprefer-vector-width=512"
).split()
LINKED = "-shared -Wl,--as-needed -Wl,-z,noexecstack".split()
SECONDS = 20  # of CPU, for the compiler; most programs take 2 or 3
COMPILERS = ("g++", "clang++")


def compiler() -> str | None:
    """The C++ compiler: that of $CXX, or the first of COMPILERS that is there; None: the clang in the package ziglang.
    Raises InputError where neither is installed.
    """
    wanted = os.environ.get("CXX")
    for name in [wanted] if wanted else COMPILERS:
        found = shutil.which(name)
        if found is not None:
            return os.path.abspath(found)  # it runs in another folder
    if wanted:
        raise InputError(f"got no C++ compiler '{wanted}', expected g++ 12 or later, or clang++: set CXX")
    if importlib.util.find_spec("ziglang") is None:
        raise InputError(
            f"got no C++ compiler, neither {' nor '.join(COMPILERS)}; expected one of them, or the package ziglang, which has "
            "one: pip install ziglang"
        )
    return None


def _command(found: str | None, level: str, path: str) -> list[str]:
    """The command that compiles program.cpp to the library `path`."""
    if found is not None:
        return [found, *FLAGS, *LINKED, f"-march={level}", "program.cpp", "-o", path, "-lm"]
    zig = [sys.executable, "-m", "ziglang"]
    # Two steps, because for a library of C++ it would first build its own standard library, a minute of CPU.
    steps = (
        [*zig, "c++", *FLAGS, f"-march={level.replace('-', '_')}", "-c", "program.cpp", "-o", "program.o"],
        [*zig, "cc", *LINKED, "-nostdlib", "-s", "program.o", "-o", path],
    )
    caches = 'export ZIG_GLOBAL_CACHE_DIR="$TMPDIR" ZIG_LOCAL_CACHE_DIR="$TMPDIR"'
    return ["/bin/sh", "-c", " && ".join([caches, *map(shlex.join, steps)])]


#: The compiler must not use more CPU seconds, nor outlive this process: whatever ends it, kill or crash, closes the pipe
#: that the shell in the background reads, which then ends the compiler with all its parts (one process group) and removes
#: its temporary files. Arguments: the seconds, the folder of these files, the command.
_GUARD = """
ulimit -S -t "$1" || :; export TMPDIR="$2"; shift 2
exec 3<&0 </dev/null
(cat <&3; rm -rf "$TMPDIR"; kill -KILL 0) >/dev/null 2>&1 &
exec 3<&-
exec "$@"
"""


def _guarded(command: list[str], seconds: int, folder: str) -> tuple[int, float, str]:
    """(exit status, CPU seconds, stderr) of a command in its own folder, with English messages; no process of it is left
    when this returns, raises, or the process ends.
    """
    process = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "tensoa-compile", str(seconds), folder, *command],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        cwd=folder, env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    assert process.stdin is not None and process.stderr is not None
    try:
        messages = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, used.ru_utime + used.ru_stime, messages
    finally:
        process.stdin.close()
        process.stderr.close()
        process.wait()


def build(source: Source, level: str, path: str | os.PathLike[str]) -> None:
    """Compiles what generate() made for an x86-64 level (LEVELS) into the shared library `path`.

    Raises InputError where there is no compiler, or it fails; NotFused where it takes longer than SECONDS.
    """
    if level not in LEVELS:
        raise InputError(f"got the instruction set level '{level}', expected one of {', '.join(LEVELS)}")
    found = compiler()
    command = _command(found, level, str(Path(path).absolute()))
    with tempfile.TemporaryDirectory(prefix="tensoa-compile-") as folder:
        Path(folder, "program.cpp").write_text(source.text)
        Path(folder, WEIGHTS).write_bytes(source.weights)
        status, seconds, messages = _guarded(command, SECONDS, folder)
    if not status:
        return
    killed = re.search(r"([\w ]+) signal terminated program", messages)
    if round(seconds) >= SECONDS or (killed and "CPU" in killed[1]):
        raise NotFused(f"the size of its code: the compiler took longer than {SECONDS} CPU s")
    if killed or status < 0:
        name = killed[1].strip() if killed else signal.Signals(-status).name
        raise NotFused(f"the size of its code: the compiler ended with the signal '{name}'")
    lines = [line for line in messages.splitlines() if "error" in line] or [f"status {status}"]
    raise InputError(f"{found or 'ziglang'} cannot compile a fused program for {level}: {lines[0][:300]}")
