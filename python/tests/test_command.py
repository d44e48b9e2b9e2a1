# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Long commands: they say what they are at, and nothing of them is left when they are ended."""

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from tensoa import command
from tensoa.errors import InputError

LONG = """
import subprocess, sys, tempfile, time
from tensoa import command

def work():
    with tempfile.TemporaryDirectory(dir=sys.argv[1]), command.replacing(sys.argv[1] + "/out"):
        with command.working("making out"):
            command.step("thinking")
            # as a compiler: a process that starts another one
            subprocess.run(["sh", "-c", "sleep 600 & echo $! > $0/pid.new; mv $0/pid.new $0/pid; wait", sys.argv[1]])

sys.exit(command.run(work))
"""


def is_running(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def wait_until(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_command_that_is_ended_leaves_no_process_and_no_file(number, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(command.__file__).parents[1])}
    with subprocess.Popen([sys.executable, "-c", LONG, str(tmp_path)], env=environment) as process:
        wait_until((tmp_path / "pid").exists, 60)
        child = int((tmp_path / "pid").read_text())
        assert is_running(child)
        process.send_signal(number)
        assert process.wait(20) == 128 + number
    wait_until(lambda: not is_running(child))
    assert [path.name for path in tmp_path.iterdir()] == ["pid"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_that_is_ignored_when_the_command_begins_stays_ignored(number):
    seen = []
    before = signal.signal(number, signal.SIG_IGN)
    try:
        assert command.run(lambda: (os.kill(os.getpid(), number), seen.append(signal.getsignal(number)))) == 0
        assert seen == [signal.SIG_IGN]
        assert signal.getsignal(number) == signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_folder_is_refused_before_the_work_that_would_be_written_there(tmp_path):
    with pytest.raises(InputError, match="cannot write: it is not a regular file"):
        command.check_writable(tmp_path)


def test_long_steps_are_printed_once_without_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(command._Progress, "PATIENCE", 0.3)
    with command.working("making out") as say:
        command.step("short")
        command.step("long")
        time.sleep(1.2)
        say("a line")
    answer = capsys.readouterr()
    assert answer.out == "a line\n"
    assert answer.err == "making out: long …\n"
    command.step("after it")
    assert capsys.readouterr().err == ""


def test_torchscript_being_deprecated_is_not_said_and_other_warnings_are():
    def work():
        warnings.warn("`torch.jit.load` is deprecated. Please switch to `torch.export`.", FutureWarning, stacklevel=1)
        warnings.warn("`torch.jit.load` is not supported in Python 3.14+ and may break.", FutureWarning, stacklevel=1)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert command.run(work) == 0
    assert ["not supported" in str(warning.message) for warning in caught] == [True]
