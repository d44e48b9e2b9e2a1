# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From C++ to a library, and a compiler that does not come to an end."""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from cpu_library import Library
from cpu_programs import RUNNABLE, needs_level
from tensoa.compiler import build, cpu, interpret, routes
from tensoa.compiler.cpu import library
from tensoa.compiler.cpu.target import X86_64
from tensoa.compiler.errors import NotFused
from tensoa.compiler.passes import simplified
from tensoa.compiler.program import Output, Program
from tensoa.dtypes import DTYPES, FLOAT32
from tensoa.errors import InputError

pytestmark = needs_level


def hits(planes, dtype=FLOAT32, block=0):
    return build.column(block, range(planes), dtype, ("hits", planes))


def program_of(*values):
    """Each value is a separate output block, from block 5 on."""
    return Program(("hits",), tuple(Output(5 + i, range_of(value), value, value.dtype) for i, value in enumerate(values)))


def range_of(value):
    return tuple(range(int(np.prod(value.inner))))


def source_of(*values):
    return cpu.generate(simplified(program_of(*values)))


def test_libraries_need_libm_and_libc_only(tmp_path):
    cpu.build(source_of(build.apply("sin", hits(1))), RUNNABLE[0], tmp_path / "p.so")
    text = subprocess.run(["objdump", "-p", tmp_path / "p.so"], capture_output=True, text=True).stdout
    needed = {line.split()[1] for line in text.splitlines() if "NEEDED" in line}
    assert needed <= {"libm.so.6", "libc.so.6"}


def test_a_program_that_would_take_long_to_compile_is_not_fused():
    values, value = [], hits(3)
    for i in range(40):
        value = build.scan("sum", build.apply("sin", build.apply("add", value, build.filled(i, FLOAT32, value.shape))), 1)
        values.append(value)
    few = dataclasses.replace(X86_64, lines=100)
    with pytest.raises(NotFused, match="the size of its code: .* lines, at most 100 are compiled"):
        cpu.generate(simplified(program_of(*values)), few)
    wide = build.scan("sum", hits(X86_64.row_bytes // 4 + 1), 1)
    with pytest.raises(NotFused, match=f"bytes for a row at a time, at most {X86_64.row_bytes} are held"):
        source_of(wide)
    table = build.constant(np.zeros(1 << 19), FLOAT32)
    looked_up = build.gather(table, hits(1, DTYPES["int64"]), [None])
    with pytest.raises(NotFused, match="[0-9]+ MiB of weights, at most 1 MiB are linked into a library"):
        cpu.generate(simplified(program_of(looked_up)), dataclasses.replace(X86_64, weight_bytes=1 << 20))


@pytest.mark.skipif(not RUNNABLE, reason="no CPU of level x86-64-v3 here")
def test_a_compiler_is_found_from_where_it_was_named(tmp_path, monkeypatch):
    (tmp_path / "compiler").write_text('#!/bin/sh\nexec g++ "$@"\n')
    (tmp_path / "compiler").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CXX", "./compiler")
    cpu.build(source_of(build.apply("sin", hits(1))), "x86-64-v3", "program.so")
    assert (tmp_path / "program.so").exists()


def test_a_chain_that_is_too_long_to_follow_is_not_fused():
    value = build.column(0, (0,), FLOAT32, ("rows0", 1))
    for _ in range(3000):
        value = build.apply("sin", value)
    with pytest.raises(NotFused, match="an unexpected error .RecursionError"):
        routes.of_program(Program(("rows0",), (Output(1, (0,), value, FLOAT32),)))


SLOW = "int f(int x) {" + "".join(f"if (x == {i}) x = x * x + {i};" for i in range(40000)) + "return x; }"


def test_a_compiler_that_takes_too_long_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "SECONDS", 1)
    with pytest.raises(NotFused, match="the size of its code: the compiler took longer than 1 CPU s"):
        cpu.build(cpu.Source(SLOW), "x86-64-v3", tmp_path / "slow.so")
    assert not (tmp_path / "slow.so").exists()


@pytest.mark.parametrize(
    "script, error, message",
    [
        ("sh -c 'while :; do :; done'; echo 'Abgebrochen' >&2; exit 1", NotFused, "took longer than 1 CPU s"),
        ("kill -KILL $$", NotFused, "ended with the signal 'SIGKILL'"),
        ('echo "an error in the locale $LC_ALL" >&2; exit 1', InputError, "an error in the locale C$"),
    ],
)
def test_a_compiler_is_judged_in_every_language(script, error, message, tmp_path, monkeypatch):
    compiler = tmp_path / "compiler"
    compiler.write_text(f"#!/bin/sh\n{script}\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setattr(library, "SECONDS", 1)
    with pytest.raises(error, match=message):
        cpu.build(cpu.Source(""), "x86-64-v3", tmp_path / "no.so")


def processes_of(folder):
    """Those that name the folder in their arguments."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(folder).encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def wait_until(condition):
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_compiler_ends_with_the_process_that_started_it(number, tmp_path):
    (tmp_path / "source.cpp").write_text(SLOW)
    (tmp_path / "temporary").mkdir()
    package = str(pathlib.Path(cpu.__file__).parents[3])
    code = (
        "import sys; from tensoa.compiler import cpu; cpu.build(cpu.Source(open(sys.argv[1]).read()), 'x86-64-v3', sys.argv[2])"
    )
    exporter = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "source.cpp", tmp_path / "slow.so"],
        env={**os.environ, "PYTHONPATH": package, "TMPDIR": str(tmp_path / "temporary")},
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: len(processes_of(tmp_path)) >= 4)  # the exporter, its guard, g++, its part
    exporter.send_signal(number)
    exporter.wait()
    wait_until(lambda: not processes_of(tmp_path))
    wait_until(lambda: not list((tmp_path / "temporary").iterdir()))


def test_compiler_errors_are_named(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="cannot compile a fused program for x86-64-v3: .*error"):
        cpu.build(cpu.Source("not C++"), "x86-64-v3", tmp_path / "no.so")
    with pytest.raises(InputError, match="level 'armv8', expected one of x86-64-v4, x86-64-v3"):
        cpu.build(cpu.Source(""), "armv8", tmp_path / "no.so")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(InputError, match="no C\\+\\+ compiler 'no-such-compiler'.*set CXX"):
        cpu.build(cpu.Source(""), "x86-64-v3", tmp_path / "no.so")


@needs_level
@pytest.mark.parametrize("name", ["g++", *(f"clang++-{version}" for version in range(14, 20)), "ziglang"])
def test_other_compilers_make_programs_with_the_same_numbers(name, tmp_path, monkeypatch):
    if name == "ziglang":
        pytest.importorskip("ziglang")
        monkeypatch.setattr(library, "COMPILERS", ())
        monkeypatch.delenv("CXX", raising=False)
    elif shutil.which(name) is None:
        pytest.skip(f"no {name} here")
    else:
        monkeypatch.setenv("CXX", name)
    random = np.random.default_rng(0)
    x, y = hits(20), hits(20, DTYPES["float64"], 1)
    weight = build.constant(random.normal(size=(33, 20)), FLOAT32)
    hidden = build.apply("relu", build.contract(x, weight, "rk", "ok", "ro"))
    values = [build.apply("exp", x), hidden, build.sort(x, 1, 3), build.apply("erf", y), build.reduce("max", hidden, [1])]
    program = program_of(*values)
    for level in RUNNABLE:
        made = Library(program, tmp_path, level, name=level)
        for rows in (1, 7, 100):
            blocks = enumerate(("f4", "f8"))
            planes = {(block, i): random.normal(size=rows).astype(dtype) for block, dtype in blocks for i in range(20)}
            truth = interpret.interpret(program, planes, [rows])
            for output, got in zip(program.outputs, made.run(planes, [rows]).values()):
                right = truth[program.outputs.index(output)].reshape(rows, -1).T
                np.testing.assert_allclose(got, right, rtol=2e-5, atol=2e-5)


def test_the_first_compiler_that_is_there_is_taken(tmp_path, monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(library.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"no C\+\+ compiler, neither g\+\+ nor clang\+\+; expected .*: pip install ziglang"):
        cpu.build(cpu.Source(""), "x86-64-v3", tmp_path / "no.so")
    monkeypatch.setattr(library.importlib.util, "find_spec", lambda name: name)
    assert library.compiler() is None
    for name in ("clang++", "g++"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        assert library.compiler() == str(tmp_path / name)
