# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""--ca, --cert, --key, --token, --header and --deadline, in each command that takes the URL of a model. Servers that need them
are in tests/triton/test_farm.py."""

import time

import pytest

from conftest import package, refuse, tensoa

NOWHERE = "grpc://127.0.0.1:1/network"  # no server has port 1
OPTIONS = ["--ca", "--cert", "--key", "--token", "--header", "--deadline"]
SECRET = "2f6c1f0e"


def calls(model, folder):
    """Of each command a call with this model."""
    rows = folder / "rows.csv"
    rows.write_text("x,y,z\n1,2,3\n")
    return {
        "track": ["track", "generate:1:1:20", "--model", model],
        "infer": ["infer", "--model", model, "--input", rows, "--output", folder / "out.csv"],
        "check": ["check", model, "--against", model],
        "inspect": ["inspect", model],
        "top": ["top", model, "--once"],
        "deploy": ["deploy", package("fused.pt2"), "--check", model],
    }


COMMANDS = ["track", "infer", "check", "inspect", "top", "deploy"]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_that_takes_a_url_has_the_options(command):
    done = tensoa(command, "--help")
    assert done.returncode == 0
    group = done.stdout.partition("Models on servers")[2]
    assert all(f"{option} " in group for option in OPTIONS)
    assert ("--fallback" in group) == (command in ("track", "infer"))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_deadline_ends_the_search_for_a_server(command, tmp_path):
    """Its default is 10 s."""
    start = time.monotonic()
    done = tensoa(*calls(NOWHERE, tmp_path)[command], "--deadline", "0.5")
    assert time.monotonic() - start < 6
    assert done.returncode == 1
    assert "127.0.0.1:1" in done.stderr
    assert "Options::" not in done.stderr and ("--fallback" in done.stderr) == (command in ("track", "infer"))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_token_is_not_sent_without_tls(command, tmp_path):
    (tmp_path / "token").write_text(SECRET)
    done = refuse(*calls(NOWHERE, tmp_path)[command], "--token", tmp_path / "token", says=["grpc://, which is not encrypted"])
    assert SECRET not in done.stderr


@pytest.mark.parametrize("command", ["track", "infer", "check", "inspect"])
@pytest.mark.parametrize("option", OPTIONS)
def test_a_model_that_is_a_file_has_no_servers(command, option, tmp_path):
    (tmp_path / "file").write_text(SECRET)
    values = {"--header": ["a=b"], "--deadline": ["1"], "--cert": [tmp_path / "file", "--key", tmp_path / "file"]}
    values["--key"] = [tmp_path / "file", "--cert", tmp_path / "file"]
    arguments = [*calls(package("fused.pt2"), tmp_path)[command], option, *values.get(option, [tmp_path / "file"])]
    first = "--cert" if option == "--key" else option
    refuse(*arguments, says=[first, "fused.pt2, which is a file", "expected the URL"])


def test_options_of_servers_are_for_the_check_of_deploy(tmp_path):
    arguments = ["deploy", package("fused.pt2"), "--to", tmp_path / "models", "--deadline", "3"]
    refuse(*arguments, says=["--deadline", "--check"])
    assert not (tmp_path / "models").exists()


def test_one_of_two_models_that_are_compared_may_be_a_file(tmp_path):
    file = package("fused.pt2")
    for first, second in [(file, NOWHERE), (NOWHERE, file)]:
        done = tensoa("check", first, "--against", second, "--deadline", "0.3", "--header", "a=b")
        assert (done.returncode, "127.0.0.1:1" in done.stderr) == (1, True), done.stderr


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("authorization", ["without '='", "NAME=VALUE"]),
        ("=" + SECRET, ['of the name ""', "letters"]),
        ("a b=" + SECRET, ['the name "a b"']),
        ("grpc-timeout=" + SECRET, ['the name "grpc-timeout"', "gRPC's own"]),
        ("key-bin=" + SECRET, ['the name "key-bin"']),
        ("key=" + SECRET + "\nother: 1", ['the value of the header (--header) "key"', "a line of ASCII"]),
        ("key=" + SECRET + "\x1b[1m", ['the value of the header (--header) "key"']),
        ("key=" + SECRET + "ü", ['the value of the header (--header) "key"']),
        ("key=@none/secret", ["none/secret: cannot be read"]),
        ("key=@.", ["--header", ".: is a folder, expected a file"]),
    ],
)
def test_headers_that_cannot_be_sent_are_refused_without_their_values(header, says):
    done = refuse("inspect", NOWHERE, "--header", header, says=["--header", *says])
    assert SECRET not in done.stderr


@pytest.mark.parametrize("option", ["--ca", "--cert", "--key", "--token"])
def test_files_that_are_not_there_or_folders_are_refused(option, tmp_path):
    refuse("inspect", NOWHERE, option, "none.pem", says=[option, "none.pem"])
    refuse("inspect", NOWHERE, option, tmp_path, says=[option, f"directory: {tmp_path}"])


def test_a_certificate_needs_its_key(tmp_path):
    (tmp_path / "client.pem").write_text("")
    refuse("inspect", NOWHERE, "--cert", tmp_path / "client.pem", says=["--cert", "--key"])
    refuse("inspect", NOWHERE, "--key", tmp_path / "client.pem", says=["--key", "--cert"])


@pytest.mark.parametrize("value", ["0", "-1", "1e9", "nan", "inf", "soon"])
def test_times_that_are_none_are_refused(value):
    refuse("inspect", NOWHERE, "--deadline", value, says=["--deadline", f"got {value}, expected a number, 0.001 to 86400"])
    refuse("top", NOWHERE, "--interval", value, says=["--interval", f"got {value}, expected a number, 0.1 to 3600"])
