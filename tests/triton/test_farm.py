# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From one machine to a farm: packages that are deployed, served by real Triton servers and used by the program."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(os.environ.get("TENSOA_PROGRAM", ROOT / "build" / "tensoa"))
BACKEND = os.environ.get("TENSOA_TRITON_BACKEND", ROOT / "build" / "triton_backends" / "tensoa" / "libtriton_tensoa.so")
WEIGHTS = ROOT / "models" / "interaction_network.safetensors"
FUSED = Path(os.environ.get("TENSOA_FUSED_PACKAGES", ROOT / "build" / "tests" / "package" / "packages")) / "fused.pt2"
NOT_INSTALLED = 77


def tensoa(*arguments, status=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == status, done.stderr + done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """The network of `tensoa track` as a fused package."""
    folder = tmp_path_factory.mktemp("network")
    tensoa("describe", "--output", folder / "binding.json")
    export = [sys.executable, "-W", "ignore", "-m", "tensoa.export", WEIGHTS, "--binding", folder / "binding.json"]
    subprocess.run([*export, "--out", folder / "network.pt2"], check=True, capture_output=True, timeout=600)
    return folder / "network.pt2"


@pytest.fixture(scope="module")
def repository(tmp_path_factory, network):
    folder = tmp_path_factory.mktemp("models")
    tensoa("deploy", network, "--name", "network", "--to", folder)
    tensoa("deploy", FUSED, "--name", "fused", "--to", folder)
    return folder


def with_servers(repository, *commands, servers=1):
    """Runs shell commands with servers around them; $S is their addresses. Returns what they printed, and the last status."""
    script = "S=$TENSOA_TEST_TRITON; " + " && ".join(commands)
    run = [ROOT / "tests" / "service" / "run.py", "--repository", repository, "--backend", f"tensoa={BACKEND}"]
    done = subprocess.run(
        [*map(str, run), "--servers", str(servers), "--", "bash", "-c", script],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    if done.returncode == NOT_INSTALLED:
        pytest.skip(done.stdout.strip() or "the servers are not installed")
    return done


def quoted(*words):
    return shlex.join([str(PROGRAM), *map(str, words)])


def test_tracks_of_three_servers_are_those_of_this_machine(repository, network, tmp_path):
    local, remote = tmp_path / "local.parquet", tmp_path / "remote.parquet"
    tensoa("track", "generate:6", "--model", network, "--output", local)
    done = with_servers(
        repository,
        quoted("track", "generate:6", "--threads", 2, "--output", remote) + " --model grpc://$S/network",
        servers=3,
    )
    assert done.returncode == 0, done.stderr
    assert "copied for the network: 0 B in" in done.stdout
    assert remote.read_bytes() == local.read_bytes()


def test_a_served_package_answers_as_here(repository, network, tmp_path):
    rows = tmp_path / "rows.parquet"
    draw = np.random.default_rng(1)
    pq.write_table(pa.table({name: draw.normal(size=5000).astype(np.float32) for name in "xyz"}), rows)
    local, remote = tmp_path / "local.parquet", tmp_path / "remote.parquet"
    inputs = ["--input", rows, "--columns", "x,y,z"]
    tensoa("infer", "--model", FUSED, *inputs, "--output", local)
    done = with_servers(
        repository,
        quoted("deploy", FUSED) + " --check grpc://$S/fused",
        quoted("deploy", network) + " --check grpc://$S/network",
        quoted("infer", *inputs, "--output", remote) + " --model grpc://$S/fused",
        quoted("inspect") + " grpc://$S/fused",
        quoted("deploy", network) + " --check grpc://$S/fused",
    )
    assert done.stdout.count("cases have the bits of") == 2, done.stdout + done.stderr
    assert "KServe v2, platform tensoa" in done.stdout
    there, here = pq.read_table(remote), pq.read_table(local)
    assert len(here.columns) == len(there.columns)
    for mine, theirs in zip(here.columns, there.columns, strict=True):
        assert mine.to_numpy().tobytes() == theirs.to_numpy().tobytes()
    assert done.returncode == 2  # the last one: other columns
    assert "the server's" in done.stderr or "takes" in done.stderr


def test_top_shows_what_the_servers_do(tmp_path):
    tensoa("deploy", FUSED, "--name", "fused", "--to", tmp_path / "models")
    rows = tmp_path / "rows.parquet"
    draw = np.random.default_rng(1)
    pq.write_table(pa.table({name: draw.normal(size=5000).astype(np.float32) for name in "xyz"}), rows)
    infer = quoted("infer", "--input", rows, "--columns", "x,y,z", "--output", tmp_path / "out.parquet")
    infer += " --model grpc://$S/fused"
    top = quoted("top") + " grpc://$S,127.0.0.1:1/fused"
    done = with_servers(
        tmp_path / "models",
        f"({top} --interval 8 --once & p=$!; sleep 2; {infer} > /dev/null; wait $p)",
        f"{top} --prometheus",
        f"(timeout --signal INT 3 {top} --interval 0.2 || echo status $?)",
    )
    assert done.returncode == 0, done.stderr + done.stdout
    lines = done.stdout.splitlines()
    heads = [line for line in lines if "requests/s" in line]
    assert len(heads) == 2
    names = heads[0].split()
    assert names[1:3] == ["server", "requests/s"]
    busy, gone = lines[1].split(), lines[2]
    assert float(busy[2]) > 0  # requests/s
    assert float(busy[7]) > 0  # compute ms
    assert "127.0.0.1:1 " in gone
    assert "UNAVAILABLE (14)" in gone
    assert 'tensoa_server_rows_total{model="grpc://' in done.stdout
    assert "\x1b" not in done.stdout
    assert len(lines) > 20
    assert lines[-1] == "status 124"


def test_top_of_what_is_not_served_is_said():
    for url, status, message in [
        ("network.pt2", 2, "expected the URL of a model on servers"),
        ("grpc://127.0.0.1:1/network", 1, "no server of grpc://127.0.0.1:1/network has the model ready"),
    ]:
        call = [PROGRAM, "top", url, "--once", "--interval", "0.1"]
        done = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == status
        assert message in done.stderr


def test_a_fallback_runs_where_no_server_answers(network, tmp_path):
    local, remote = tmp_path / "local.parquet", tmp_path / "remote.parquet"
    tensoa("track", "generate:2", "--model", network, "--output", local)
    nowhere = ["--model", "grpc://127.0.0.1:1/network", "--fallback", network]
    tensoa("track", "generate:2", *nowhere, "--output", remote)
    assert remote.read_bytes() == local.read_bytes()


def test_a_fallback_of_a_file_is_refused(network):
    done = subprocess.run(
        [PROGRAM, "track", "generate:1", "--model", network, "--fallback", network],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "expected the URL of a model on a server" in done.stderr


def test_a_server_that_is_not_there_is_said():
    done = subprocess.run(
        [PROGRAM, "inspect", "grpc://127.0.0.1:1/network"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "UNAVAILABLE (14)" in done.stderr
    assert "check host and port" in done.stderr
    assert done.stderr.count("\n") == 1
