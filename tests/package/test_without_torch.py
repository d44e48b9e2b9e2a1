# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The program of a build without torch: packages run, and what needs torch says so in one line."""

import json
import os
import subprocess
from pathlib import Path

import pytest

PROGRAM = os.environ["TENSOA_PROGRAM"]
PACKAGES = Path(os.environ["TENSOA_FUSED_PACKAGES"])


def tensoa(*arguments):
    command = [PROGRAM, *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def succeed(*arguments):
    done = tensoa(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def refuse(*arguments):
    done = tensoa(*arguments)
    assert done.returncode == 2 and done.stderr.startswith("tensoa: ") and done.stderr.count("\n") == 1
    return done.stderr


def test_links_nothing_of_torch():
    libraries = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout
    assert "libstdc++" in libraries
    assert not [line for line in libraries.splitlines() if "torch" in line or "c10" in line]


def test_the_version_says_so():
    assert "(without torch)" in succeed("--version")


def test_a_package_is_described_run_and_compared():
    model = json.loads(succeed("inspect", PACKAGES / "fused.pt2", "--json"))
    assert [program["kind"] for program in model["programs"]] == ["fused"]
    assert "workspaces" in succeed("inspect", PACKAGES / "fused.pt2", "--runtime")
    compared = succeed("check", PACKAGES / "fused.pt2", "--against", PACKAGES / "fused_variants.pt2")
    assert "worst: relative error 0.00e+00" in compared


def test_a_package_of_torchinductor_is_described_and_not_run():
    package = PACKAGES / "inductor.pt2"
    assert json.loads(succeed("inspect", package, "--json"))["programs"][0]["kind"] == "inductor"
    line = refuse("check", package, "--against", package)
    assert "inductor.pt2: its program is one of TorchInductor, which needs torch" in line
    assert "TENSOA_PYTORCH=ON" in line


@pytest.mark.parametrize("command", [["inspect"], ["track", "generate:1", "--model"]])
def test_torchscript_needs_torch(command, tmp_path):
    model = tmp_path / "model.pt"
    model.write_bytes(b"whatever it is")
    line = refuse(*command, model)
    assert "model.pt: " in line and "torch" in line


@pytest.mark.skipif("TENSOA_BENCH_PROGRAM" not in os.environ, reason="built without tensoa-bench")
def test_a_benchmark_of_torch_needs_torch():
    done = subprocess.run([os.environ["TENSOA_BENCH_PROGRAM"], "binding"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2 and "built without" in done.stderr and done.stderr.count("\n") == 1
