# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From one machine to a farm: packages that are deployed, served by real Triton servers and used by the program."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch import nn

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "python"), str(ROOT / "tests" / "service")]

import energy  # noqa: E402
import models  # noqa: E402
import python_model  # noqa: E402
import wheels  # noqa: E402

PROGRAM = Path(os.environ.get("TENSOA_PROGRAM", ROOT / "build" / "tensoa"))
BACKEND = os.environ.get("TENSOA_TRITON_BACKEND", ROOT / "build" / "triton_backends" / "tensoa" / "libtriton_tensoa.so")
WEIGHTS = ROOT / "models" / "interaction_network.safetensors"
FUSED = Path(os.environ.get("TENSOA_FUSED_PACKAGES", ROOT / "build" / "tests" / "package" / "packages")) / "fused.pt2"
TREES = ROOT / "tests" / "fuzz" / "seeds" / "tree_file" / "xgboost.json"
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


class Energy(nn.Module):
    """The batch-normalised network of the test bench, as it was trained: tests/service/energy.py."""

    def __init__(self):
        super().__init__()
        model = models.MODELS["energy"]
        parts = []
        for matrix, bias, *normalisation in python_model.layers(models.weights(model), model.kind, list(model.widths)):
            linear = nn.Linear(*matrix.shape)
            norm = nn.BatchNorm1d(len(bias)) if normalisation else None
            parts += [linear, norm, nn.ReLU()] if norm else [linear]
            tensors = [linear.weight, linear.bias]
            tensors += [norm.running_mean, norm.running_var, norm.weight, norm.bias] if norm else []
            with torch.no_grad():
                for tensor, numbers in zip(tensors, [matrix.T, bias, *normalisation], strict=True):
                    tensor.copy_(torch.tensor(numbers))
        self.parts = nn.Sequential(*parts)

    def forward(self, x):
        return self.parts(x)


def columns_of(name, columns):
    described = [{"name": column, "plane": plane} for plane, column in enumerate(columns)]
    kind = {"kind": "plain", "element": [], "column_dtype": "float32", "dtype": "float32"}
    return {"name": name, "collection": 0, "shape": "rows", **kind, "columns": described}


@pytest.fixture(scope="module")
def regression(tmp_path_factory):
    """The energy regression as a fused package; its names of columns."""
    from tensoa import binding, export

    if reason := wheels.missing():  # its Python trains the network
        pytest.skip(reason)
    folder, columns = tmp_path_factory.mktemp("energy"), [f"layer{i}" for i in range(energy.LAYERS)]
    described = {"schema": 1, "match": "auto", "inputs": [columns_of("x", columns)], "outputs": [columns_of("y", ["energy"])]}
    (folder / "binding.json").write_text(json.dumps(described))
    export.export(Energy().eval(), binding.load(folder / "binding.json"), folder / "energy.pt2")
    return folder / "energy.pt2", columns


@pytest.fixture(scope="module")
def repository(tmp_path_factory, network):
    folder = tmp_path_factory.mktemp("models")
    tensoa("deploy", network, "--name", "network", "--to", folder)
    tensoa("deploy", FUSED, "--name", "fused", "--to", folder)
    return folder


def with_servers(repository, *commands, servers=1, options=(), backend=True):
    """Runs shell commands with servers around them; $S is their addresses. Returns what they printed, and the last status."""
    script = "S=$TENSOA_TEST_TRITON; " + " && ".join(commands)
    run = [ROOT / "tests" / "service" / "run.py"]
    run += ["--repository", repository, "--backend", f"tensoa={BACKEND}"] if backend else []
    done = subprocess.run(
        [*map(str, run), "--servers", str(servers), *options, "--", "bash", "-c", script],
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


def test_the_report_has_the_figures_of_each_server(repository, tmp_path):
    page, figures = tmp_path / "run.html", tmp_path / "run.json"
    done = with_servers(
        repository,
        quoted("track", "generate:6", "--threads", 1, "--report", page, "--json", figures)
        + " --model grpc://$S,127.0.0.1:1/network; echo $S",
        servers=2,
    )
    assert done.returncode == 0, done.stderr
    run = json.loads(figures.read_text())
    servers = {server["server"]: server for server in run["servers"]}
    gone = servers.pop("127.0.0.1:1")
    assert sorted(servers) == sorted(done.stdout.split()[-1].split(","))
    assert sum(server["requests"] for server in servers.values()) >= run["events"]
    for server in servers.values():
        assert not any(server[key] for key in ("failures", "failures_by_code", "is_suspect", "is_gone"))
        assert min(server[key] for key in ("requests", "bytes_sent", "bytes_received", "queue", "compute")) > 0
        assert 0 < server["latency_p50"] <= server["latency_p99"]
    assert gone["is_suspect"] and gone["bytes_received"] == 0
    assert [gone[key] for key in ("latency_p50", "latency_p99", "queue", "compute")] == [None] * 4
    assert gone["failures"] == gone["requests"] == sum(gone["failures_by_code"].values())
    assert sum(server["retries"] for server in servers.values()) >= gone["failures"]
    text = page.read_text()
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert data["summary"]["servers"] == run["servers"]
    assert '<table id="servers">' in text


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
        quoted("infer", *inputs, "--output", remote) + " --model grpc://$S/fused --rows independent",
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


class Blocks(nn.Module):
    """Blocks of all kinds in, two out."""

    def forward(self, plain, direction, wide, layer, scale):
        x = torch.cat([plain, direction, wide, layer.to(torch.float32)], dim=1) * scale[:, :1]
        return torch.tanh(x[:, :2] + x[:, 2:3] * x[:, 5:6]), x[:, 3:5] - x[:, 6:7]


def block(name, columns, kind="plain", element=(), column_dtype="float32", dtype=None):
    described = [{"name": column, "plane": plane} for plane, column in enumerate(columns)]
    dtypes = {"column_dtype": column_dtype, "dtype": dtype or column_dtype}
    return {"name": name, "collection": 0, "shape": "rows", "kind": kind, "element": list(element), **dtypes, "columns": described}


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    """A package with vectors, converted columns, integers and numbers of an event."""
    from tensoa import binding, export

    folder = tmp_path_factory.mktemp("blocks")
    inputs = [
        block("plain", ["pt", "eta"]),
        block("direction", ["u"], "vector", [3]),
        block("wide", ["energy"], column_dtype="float64", dtype="float32"),
        block("layer", ["layer"], column_dtype="int32"),
        block("scale", ["gain", "offset"], "scalar"),
    ]
    outputs = [block("scores", ["signal", "noise"]), block("place", ["x", "y"])]
    (folder / "binding.json").write_text(json.dumps({"schema": 1, "match": "auto", "inputs": inputs, "outputs": outputs}))
    export.export(Blocks().eval(), binding.load(folder / "binding.json"), folder / "blocks.pt2")
    return folder / "blocks.pt2"


def description_of(model):
    return json.loads(tensoa("inspect", "--json", model))


def names_in(description):
    """Of each block its name and its columns."""
    return [[(one["name"], one["kind"], one["columns"]) for one in description[key]] for key in ("inputs", "outputs")]


def table_for(description):
    """Columns of the names and dtypes that a model reads: lists, a row for each of 7 events, where it reads several collections or
    numbers of an event; else 5000 rows. Trees get missing values."""
    draw = np.random.default_rng(1)
    collections = [int((re.search(r"n(\d)", one["type"]) or [0, 0])[1]) for one in description["inputs"]]
    has_lists = max(collections) > 0 or any(one["kind"] == "scalar" for one in description["inputs"])

    def numbers(dtype, count):
        if dtype.startswith("int"):
            return draw.integers(0, 3, count).astype(dtype)  # rows of each collection
        values = draw.normal(size=count).astype(dtype)
        if "trees" in description:
            values[draw.random(count) < 0.1] = np.nan
        return values

    columns = {}
    for one, collection in zip(description["inputs"], collections, strict=True):
        planes = int(re.findall(r"\d+", one["type"])[-1]) if one["kind"] == "vector" else 0
        for column in one["columns"]:
            for name in [f"{column['name']}.{i}" for i in range(planes)] or [column["name"]]:
                dtype = one["column_dtype"]
                if not has_lists:
                    columns[name] = numbers(dtype, 5000)
                elif one["kind"] == "scalar":
                    columns[name] = numbers(dtype, 7)
                else:
                    lists = [numbers(dtype, (event + 3) * (1 + 2 * collection)) for event in range(7)]
                    columns[name] = pa.array(lists, pa.list_(pa.from_numpy_dtype(dtype)))
    return pa.table(columns)


def test_a_url_is_taken_like_the_file_that_it_serves(network, blocks, tmp_path):
    """Packages of one block and of several, with lists and vectors, trees, a network on graphs: no command line is another."""
    files = {"fused": FUSED, "graph": FUSED.with_name("fused_graph.pt2"), "blocks": blocks, "trees": TREES, "network": network}
    commands = []
    for name, file in files.items():
        tensoa("deploy", file, "--name", name, "--to", tmp_path / "models")
        pq.write_table(table_for(description_of(file)), tmp_path / f"{name}.in.parquet")
        infer = ["infer", "--rows-per-chunk", 1000, "--input", tmp_path / f"{name}.in.parquet", "--output"]
        tensoa(*infer, tmp_path / f"{name}.here.parquet", "--model", file)
        url = f"grpc://$S/{name}"
        commands += [
            f"{quoted(*infer, tmp_path / name)}.there.parquet --model {url}",
            f"{quoted('inspect')} {url} --json > {tmp_path / name}.json",
            f"{quoted('check')} {url} --against {quoted(file)[len(quoted()) :]}",
            f"{quoted('check', file)} --against {url}",
            f"{quoted('deploy', file)} --check {url}",
        ]
    done = with_servers(tmp_path / "models", *commands)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("worst: relative error 0.00e+00") == 2 * len(files)
    assert done.stdout.count("cases have the bits of") == len(files)
    for name, file in files.items():
        here, there = tmp_path / f"{name}.here.parquet", tmp_path / f"{name}.there.parquet"
        assert pq.read_table(here).column_names == pq.read_table(there).column_names
        assert here.read_bytes() == there.read_bytes()
        assert names_in(json.loads((tmp_path / f"{name}.json").read_text())) == names_in(description_of(file))


def test_the_energy_of_16000_cells_is_that_of_this_machine_and_of_the_network(regression, tmp_path):
    package, columns = regression
    tensoa("deploy", package, "--name", "regression", "--to", tmp_path / "models")
    cells, true = energy.showers(16_000, seed=3)
    rows, local, remote, plain = (tmp_path / f"{name}.parquet" for name in ("rows", "local", "remote", "plain"))
    pq.write_table(pa.table({name: cells[:, i] for i, name in enumerate(columns)}), rows)
    inputs = ["--input", rows, "--columns", ",".join(columns)]
    tensoa("infer", "--model", package, *inputs, "--output", local)
    done = with_servers(
        tmp_path / "models",
        quoted("deploy", package) + " --check grpc://$S/regression",
        quoted("infer", *inputs, "--output", remote) + " --model grpc://$S/regression --rows independent",
        quoted("infer", *inputs, "--output", plain) + " --model grpc://$S/energy --rows independent",
        options=["--triton", "energy"],
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cases have the bits of" in done.stdout
    here, there, numpy = (pq.read_table(file).columns[-1].to_numpy() for file in (local, remote, plain))
    assert here.tobytes() == there.tobytes()
    np.testing.assert_allclose(there, numpy, rtol=1e-4, atol=1e-4)  # as the test bench computes it
    assert energy.resolution(there[:, None], true) < 0.25


def test_top_shows_what_the_servers_do(tmp_path):
    tensoa("deploy", FUSED, "--name", "fused", "--to", tmp_path / "models")
    rows = tmp_path / "rows.parquet"
    draw = np.random.default_rng(1)
    pq.write_table(pa.table({name: draw.normal(size=5000).astype(np.float32) for name in "xyz"}), rows)
    infer = quoted("infer", "--input", rows, "--columns", "x,y,z", "--output", tmp_path / "out.parquet")
    infer += " --model grpc://$S/fused --rows independent"
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


SECURED = {
    "TLS": "--ca $TENSOA_TEST_CERTIFICATES/authority.pem",
    "MTLS": "--ca $TENSOA_TEST_CERTIFICATES/authority.pem --cert $TENSOA_TEST_CERTIFICATES/client.pem"
    " --key $TENSOA_TEST_CERTIFICATES/client.key",
    "TLS_TOKEN": "--ca $TENSOA_TEST_CERTIFICATES/authority.pem --token $TENSOA_TEST_TOKEN_FILE",
}


def test_secured_servers_are_reached_by_all_commands(tmp_path):
    rows, here = tmp_path / "rows.parquet", tmp_path / "here.parquet"
    draw = np.random.default_rng(1)
    pq.write_table(pa.table({name: draw.normal(size=500).astype(np.float32) for name in "abc"}), rows)
    infer = quoted("infer", "--input", rows, "--columns", "a,b,c", "--rows", "independent")
    commands = [f"{infer} --output {here} --model grpc://$TENSOA_TEST_KSERVE/mlp"]
    for name, options in SECURED.items():
        url = f"grpcs://$TENSOA_TEST_KSERVE_{name}/mlp"
        commands += [
            f"{infer} --output {tmp_path / name}.parquet --model {url} {options}",
            f"{quoted('inspect')} {url} {options}",
            f"{quoted('inspect')} {url} {options} --runtime",
            f"{quoted('check')} {url} --against {url} {options} --rows 3",
            f"{quoted('top')} {url} {options} --once --interval 0.1",
        ]
    plain = "grpc://$TENSOA_TEST_KSERVE_TOKEN/mlp"
    commands += [
        'echo "Bearer $(cat $TENSOA_TEST_TOKEN_FILE)" > $TENSOA_TEST_FOLDER/header',
        f"{quoted('inspect')} {plain} --header Authorization=@$TENSOA_TEST_FOLDER/header",
    ]
    done = with_servers(tmp_path / "none", *commands, options=["--kserve", "--tls"], backend=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("KServe v2") == 4
    assert done.stdout.count("worst: relative error 0") == 3
    for name in SECURED:
        assert (tmp_path / f"{name}.parquet").read_bytes() == here.read_bytes()


def test_secured_servers_refuse_what_is_missing(tmp_path):
    trusted, wrong = SECURED["TLS"], "--ca $TENSOA_TEST_CERTIFICATES/stranger.pem"
    calls = [
        ("TLS", "", "certificate verify failed"),
        ("TLS", wrong, "certificate verify failed"),
        ("MTLS", trusted, "a client's certificate"),
        ("TLS_TOKEN", trusted, "UNAUTHENTICATED (16)"),
        ("TLS_TOKEN", f"{trusted} --token $TENSOA_TEST_EXPIRED_TOKEN_FILE", "UNAUTHENTICATED (16)"),
    ]
    commands = [
        f"{quoted('inspect')} grpcs://$TENSOA_TEST_KSERVE_{name}/mlp {options} --deadline 3; echo status $?"
        for name, options, _ in calls
    ]
    done = with_servers(tmp_path / "none", "; ".join(commands), options=["--kserve", "--tls"], backend=False)
    lines = [line for line in done.stderr.splitlines() if line.startswith("tensoa: ")]  # the others are gRPC's own
    statuses = done.stdout.split()[1::2]
    assert len(statuses) == len(calls) and "0" not in statuses
    assert len(lines) == len(calls), done.stderr
    for line, (_, _, says) in zip(lines, calls, strict=True):
        assert says in line


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
