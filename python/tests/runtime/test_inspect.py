# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""tensoa.inspect and tensoa.check: what the program says of a model."""

import json
import os
import subprocess
from pathlib import Path

import pytest

import runtime_models
import tensoa
from tensoa import program
from tensoa.package import archive

runtime_models.require_runtime()
needs_program = pytest.mark.skipif(not runtime_models.has_program(), reason="the program is not here")


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Two packages of other models for the same columns."""
    folder = tmp_path_factory.mktemp("packages")
    return runtime_models.write_row(folder), runtime_models.write_graph(folder)


@needs_program
def test_inspect_says_what_the_program_says(packages):
    for package in packages:
        said = json.loads(
            subprocess.run(
                [program.find()[0], "inspect", package, "--json"], env=program.find()[1], capture_output=True, check=True
            ).stdout
        )
        assert said.pop("file") == str(package)
        assert tensoa.inspect(package) == tensoa.inspect(str(package)) == said
        assert said["inputs"][0]["columns"][0]["name"]


def test_inspect_runs_nothing_and_reads_packages_for_other_machines(packages, tmp_path):
    files, manifest = archive.read(packages[0])
    archive.write(tmp_path / "other.pt2", files, manifest | {"machine": "riscv64"})
    assert tensoa.inspect(tmp_path / "other.pt2")["machine"] == "riscv64"
    with pytest.raises(tensoa.LoadError, match="riscv64"):
        tensoa.Model(tmp_path / "other.pt2")


def test_inspect_refuses_what_is_not_a_model(tmp_path):
    with pytest.raises(tensoa.LoadError, match="nowhere.pt2: there is no such file"):
        tensoa.inspect(tmp_path / "nowhere.pt2")
    (tmp_path / "text.pt2").write_text("no archive")
    with pytest.raises(tensoa.LoadError, match=r"text\.pt2"):
        tensoa.inspect(tmp_path / "text.pt2")
    with pytest.raises(TypeError, match="expected str, bytes or os.PathLike object, not int"):
        tensoa.inspect(3)


@needs_program
def test_check_compares_with_what_a_package_was_made_to_give(packages):
    found = tensoa.check(packages[0])
    assert found["is_right"] and 0 <= found["max_rel_error"] < 1e-3
    assert found["device"] == "cpu" and found["rows"]
    assert not tensoa.check(packages[0], tolerance=0)["is_right"] or found["max_rel_error"] == 0


@needs_program
def test_check_compares_two_models(packages):
    same = tensoa.check(packages[0], packages[0], rows=[0, 1, 7], tolerance=0)
    assert same["is_right"] and same["max_rel_error"] == 0
    assert {row["inputs"].split(" rows")[0] for row in same["rows"]} >= {"1", "7"}
    with pytest.raises(tensoa.InputError, match=packages[1].name):
        tensoa.check(packages[0], packages[1])


@needs_program
def test_check_of_what_cannot_run_says_why(packages, tmp_path, monkeypatch):
    with pytest.raises(tensoa.InputError, match="there is no such file"):
        tensoa.check(tmp_path / "nowhere.pt2")
    with pytest.raises(tensoa.InputError, match="cuda:99 is not there"):
        tensoa.check(packages[0], device="cuda:99")
    monkeypatch.setattr(tensoa, "_BUILD", os.fspath(tmp_path))
    with pytest.raises(tensoa.ConfigError, match="pip install . builds it, and in a checkout it is build/tensoa"):
        tensoa.check(packages[0])


@needs_program
def test_check_of_a_program_that_is_killed_names_the_signal(packages, tmp_path, monkeypatch):
    (tmp_path / "tensoa").write_text("#!/bin/sh\nkill -9 $$\n")
    (tmp_path / "tensoa").chmod(0o755)
    monkeypatch.setattr(tensoa, "_BUILD", os.fspath(tmp_path))
    with pytest.raises(tensoa.EngineError, match=r"tensoa check ended with -9 \(signal 9\)"):
        tensoa.check(Path(packages[0]))


@needs_program
def test_check_takes_rows_only_with_another_model(packages):
    with pytest.raises(tensoa.InputError, match="got rows and nothing to compare with"):
        tensoa.check(packages[0], rows=[3])


@needs_program
def test_check_says_infinity_where_one_model_gives_no_number(packages, tmp_path):
    (tmp_path / "tensoa").write_text(
        '#!/bin/sh\nfor last; do :; done\necho \'{"is_right": false, "max_rel_error": null}\' > "$last"\nexit 1\n'
    )
    (tmp_path / "tensoa").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensoa, "_BUILD", os.fspath(tmp_path))
        assert tensoa.check(packages[0])["max_rel_error"] == float("inf")


def test_a_folder_is_not_a_program(tmp_path, monkeypatch):
    (tmp_path / "tensoa").mkdir()
    monkeypatch.setattr(tensoa, "_BUILD", os.fspath(tmp_path))
    with pytest.raises(tensoa.ConfigError, match="is not there"):
        program.find()
