# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""run.py as CTest starts it."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from testbench import wait_until

HERE = Path(__file__).parent


def run(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, HERE / "run.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)


def python(code: str) -> list[str | Path]:
    return ["--", sys.executable, "-c", code]


def test_exit_status_is_that_of_the_command() -> None:
    assert run("--", "true").returncode == 0
    assert run("--", "sh", "-c", "exit 5").returncode == 5
    assert run("--", "sh", "-c", "kill -SEGV $$").returncode == 128 + signal.SIGSEGV


def test_bad_use() -> None:
    assert run("--kserve").returncode == 2
    done = run("--triton", "nothing", "--", "true")
    assert done.returncode == 2 and "there is no model nothing" in done.stderr
    assert run("--envoy", "--", "true").returncode == 2
    assert "there is no program nothing" in run("--", "nothing").stderr


def test_skips_where_nothing_is_installed(tmp_path: Path) -> None:
    done = run("--kserve", "--", tmp_path / "bin" / "python", env={**os.environ, "TENSOA_SERVICE_VENV": str(tmp_path)})
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (77, "", 1)
    assert "scripts/setup_service.sh" in done.stdout


def test_environment_and_control(tmp_path: Path) -> None:
    code = f"""
import os, socket, sys
sys.path.insert(0, {str(HERE)!r})
from conftest import fails, works
with socket.create_connection(os.environ["TENSOA_TEST_CONTROL"].split(":")) as control:
    lines = control.makefile("rw")
    def say(command):
        lines.write(command + "\\n")
        lines.flush()
        return lines.readline().strip()
    for name in ("TENSOA_TEST_TRITON", "TENSOA_TEST_ENVOY", "TENSOA_TEST_KSERVE", "TENSOA_TEST_PROXY"):
        works(os.environ[name])
    assert os.path.getsize(os.environ["TENSOA_TEST_REPOSITORY"] + "/mlp/1/weights.f32") == 4 * (4 * 64 + 65 * 64 + 65 * 2)
    assert os.listdir(os.environ["TENSOA_TEST_FOLDER"]) == []
    assert say("proxy set half_open=1") == "ok"
    fails("DEADLINE_EXCEEDED", os.environ["TENSOA_TEST_PROXY"], seconds=0.3)
    assert say("triton 0 pause") == "ok"
    fails("DEADLINE_EXCEEDED", os.environ["TENSOA_TEST_TRITON"], seconds=0.3)
    assert say("triton 0 resume") == "ok"
    assert say("kserve kill") == "ok"
    fails("UNAVAILABLE", os.environ["TENSOA_TEST_KSERVE"])
    assert say("kserve start") == "ok"
    works(os.environ["TENSOA_TEST_KSERVE"])
    assert say("kserve start").startswith("error: ")
    assert say("triton 1 kill").startswith("error: ")
    assert say("dance").startswith("error: unknown command 'dance'")
"""
    done = run("--triton", "mlp", "--envoy", "--kserve", "--proxy", "--logs", tmp_path / "logs", *python(code))
    assert done.returncode == 0, done.stderr
    assert {"triton-0.log", "envoy.log", "kserve.log"} <= set(os.listdir(tmp_path / "logs"))


def test_secured_servers() -> None:
    code = f"""
import os, sys
sys.path.insert(0, {str(HERE)!r})
from conftest import client, fails, works
folder = os.environ["TENSOA_TEST_CERTIFICATES"]
trusted = {{"ssl": True, "root_certificates": folder + "/authority.pem"}}
own = {{"private_key": folder + "/client.key", "certificate_chain": folder + "/client.pem"}}
works(os.environ["TENSOA_TEST_KSERVE_TLS"], **trusted)
works(os.environ["TENSOA_TEST_KSERVE_MTLS"], **trusted, **own)
fails("UNAVAILABLE", os.environ["TENSOA_TEST_KSERVE_MTLS"], **trusted)
fails("UNAUTHENTICATED", os.environ["TENSOA_TEST_KSERVE_TOKEN"])
token = open(os.environ["TENSOA_TEST_TOKEN_FILE"]).read().strip()
headers = {{"authorization": "Bearer " + token}}
assert client.InferenceServerClient(os.environ["TENSOA_TEST_KSERVE_TOKEN"]).is_server_live(headers=headers)
"""
    done = run("--tls", *python(code))
    assert done.returncode == 0, done.stderr


def test_logs_are_shown_when_the_command_fails() -> None:
    done = run("--kserve", "--", "false")
    assert done.returncode == 1 and "the end of the log of kserve" in done.stderr


def test_no_process_outlives_a_killed_run(tmp_path: Path) -> None:
    said = tmp_path / "said"
    command = f"echo $$ $TENSOA_TEST_KSERVE $TENSOA_TEST_FOLDER >{said}.new; mv {said}.new {said}; sleep 60"
    child = subprocess.Popen([sys.executable, HERE / "run.py", "--kserve", "--", "sh", "-c", command])
    wait_until(said.exists, "the command")
    pid, address, folder = said.read_text().split()
    child.kill()
    child.wait()

    def is_gone() -> bool:
        with socket.socket() as probe:
            refused = probe.connect_ex(("127.0.0.1", int(address.split(":")[1]))) != 0
        return refused and not Path("/proc", pid).exists() and not Path(folder).parent.exists()

    wait_until(is_gone, "the end of the server and the command", seconds=10)
