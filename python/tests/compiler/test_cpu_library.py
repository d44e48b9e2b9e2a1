# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From C++ to a library, and a compiler that does not come to an end."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from cpu_programs import (
    RUNNABLE,
    Blocks,
    columns,
    compiled,
    needs_level,
)
from tensoa.compiler import ir, routes, stages
from tensoa.compiler.backends import cpu
from tensoa.compiler.backends.cpu import library
from tensoa.compiler.backends.cpu.generate import FEATURES, LINES
from tensoa.compiler.errors import NotFused
from tensoa.compiler.ir import Output, Program, apply, constant
from tensoa.errors import InputError
from tensoa.package import fused

pytestmark = needs_level


def test_libraries_need_libm_and_libc_only(tmp_path):
    x = columns(0, 0, (0,))
    program = Program(("rows",), [Output(1, (0,), apply("sin", x))])
    compiled(program, tmp_path, RUNNABLE[0])
    text = subprocess.run(["objdump", "-p", tmp_path / f"{RUNNABLE[0]}.so"], capture_output=True, text=True).stdout
    needed = {line.split()[1] for line in text.splitlines() if "NEEDED" in line}
    assert needed <= {"libm.so.6", "libc.so.6"}


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda x: apply("gamma", x), "no function 'gamma'"),
        (lambda x: columns(0, 0, (0,), "complex64"), "a column of complex64, expected one of bool"),
    ],
)
def test_what_cannot_be_generated_is_named(make, words, monkeypatch):
    monkeypatch.delenv("TENSOA_VERIFY_IR")  # which would refuse it earlier
    program = Program(("rows",), [Output(1, (0,), make(columns(0, 0, (0,))))])
    with pytest.raises(InputError, match=words):
        cpu.generate(program, stages.plan(program))


def test_a_program_that_would_take_long_to_compile_is_not_fused(monkeypatch):
    x = columns(0, 0, range(3))
    values = [apply("sin", apply("add", x, constant(0, [i, 0, 0]))) for i in range(LINES)]
    program = Program(("rows",), [Output(1 + i, (0, 1, 2), value) for i, value in enumerate(values)])
    with pytest.raises(NotFused, match=f"the size of its code: .* lines, at most {LINES} are compiled"):
        cpu.generate(program, stages.plan(program))
    wide = apply("exp", columns(0, 0, range(FEATURES + 1)))
    program = Program(("rows",), [Output(1, (0,), ir.reduce("sum", wide))])
    with pytest.raises(NotFused, match=f"numbers for a row at a time, at most {FEATURES} are held"):
        cpu.generate(program, stages.plan(program))
    monkeypatch.setattr(sys.modules[cpu.generate.__module__], "MOST_WEIGHT", 1 << 20)
    table = np.zeros((1 << 19, 1), np.float32)
    program = Program(("rows",), [Output(1, (0,), ir.lookup(ir.index(0, 0, 0), table))])
    with pytest.raises(NotFused, match="[0-9]+ MiB of weights, at most 1 MiB are linked into a library"):
        cpu.generate(program, stages.plan(program))


@pytest.mark.skipif(not RUNNABLE, reason="no CPU of level x86-64-v3 here")
def test_a_compiler_is_found_from_where_it_was_named(tmp_path, monkeypatch):
    (tmp_path / "compiler").write_text('#!/bin/sh\nexec g++ "$@"\n')
    (tmp_path / "compiler").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CXX", "./compiler")
    program = Program(("rows",), [Output(1, (0,), apply("sin", columns(0, 0, (0,))))])
    cpu.build(cpu.generate(program, stages.plan(program)), "x86-64-v3", "program.so")
    assert (tmp_path / "program.so").exists()


def test_a_chain_that_is_too_long_to_follow_is_not_fused(tmp_path):
    value = columns(0, 0, (0,))
    for _ in range(5000):
        value = apply("sin", value)
    with pytest.raises(NotFused, match="an unexpected error .RecursionError"):
        fused.for_cpu(routes.of_rows(Program(("rows",), [Output(1, (0,), value)])), set(), None, tmp_path)


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
    package = str(pathlib.Path(cpu.__file__).parents[4])
    code = (
        "import sys; from tensoa.compiler.backends import cpu; "
        "cpu.build(cpu.Source(open(sys.argv[1]).read()), 'x86-64-v3', sys.argv[2])"
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
    x, y = columns(0, 0, range(20)), columns(0, 1, range(20), "float64")
    hidden = apply("relu", ir.linear(x, random.normal(size=(33, 20)).astype("f4"), random.normal(size=33).astype("f4")))
    values = [
        ir.norm(apply("exp", x), None, None, 1e-5),
        ir.reduce("mean", hidden),
        ir.order(x, 3),
        ir.linear(hidden, random.normal(size=(2, 33)).astype("f4"), None),
        apply("erf", y),
        apply("tanh", x),
    ]
    program = Program(("rows",), [Output(2 + i, range(value.width), value) for i, value in enumerate(values)])
    for level in RUNNABLE:
        made = compiled(program, tmp_path, level)
        for rows in (1, 7, 100):
            Blocks(program, [rows]).check(made)


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
