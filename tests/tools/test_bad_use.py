# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Wrong calls: one line, status 2, nothing left behind."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from conftest import BENCH, PROGRAM, names_in, outputs, refuse, succeed, tensoa

ONE_EVENT = "generate:1:1:20"
USAGE = "`tensoa --help` lists what there is"


def usage(subcommand, program="tensoa"):
    return f"`{program} {subcommand} --help` lists what there is"


def test_files_of_columns_need_arrow_and_nothing_else_does(tmp_path):
    alone = shutil.copy2(PROGRAM, tmp_path / "tensoa")  # without libtensoa_arrow.so, which needs Arrow
    subprocess.run([alone, "--version"], capture_output=True, check=True)
    (tmp_path / "hits.csv").write_text("hit_id,x\n1,1\n")
    command = [alone, "graph", tmp_path / "hits.csv", "--output", tmp_path / "out"]
    message = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    for part in ["files of columns need Arrow", "libtensoa_arrow.so", "pip install 'pyarrow=="]:
        assert part in message


def test_no_library_is_loaded_from_where_a_program_is_called(tmp_path):
    """The name that a program is called by is not where it lies."""
    (tmp_path / "away" / "program").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    (tmp_path / "lib").mkdir()
    alone = shutil.copy2(PROGRAM, tmp_path / "away" / "program" / "tensoa")
    shutil.copy2(os.path.join(os.path.dirname(PROGRAM), "libtensoa_arrow.so"), tmp_path / "lib")
    (tmp_path / "here" / "hits.csv").write_text("hit_id,x\n1,1\n")
    command = ["tensoa", "graph", "hits.csv", "--output", "out"]
    done = subprocess.run(command, executable=alone, cwd=tmp_path / "here", capture_output=True, text=True, check=False)
    assert "files of columns need Arrow" in done.stderr


WITH_PYTHON = {**os.environ, "TENSOA_PYTHON": sys.executable}  # which `compile` runs
MODEL = "MODEL"  # stands for a model that fits
WITH_MODEL = ["--model", MODEL]
TRACK = ["track", *WITH_MODEL]
GENERATE = "expected generate:EVENTS[:SEED[:PARTICLES]]"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], ["subcommand is required", USAGE]),
        (["tarck"], ['"tarck" is unknown; the nearest is track; ', USAGE]),
        (["--verison"], ['"--verison" is unknown; the nearest is --version; ', USAGE]),
        (["track"], ["INPUT is required", usage("track")]),
        (["graph", ONE_EVENT], ["--output is required", usage("graph")]),
        (["describe"], ["--output is required", usage("describe")]),
        (["describe", "--output", "none/file.json"], ["cannot write none/file.json: "]),
        ([*TRACK, ONE_EVENT, "--ouput", "red"], ['"--ouput" is unknown; the nearest is --output; ', usage("track")]),
        ([*TRACK, ONE_EVENT, "--ouput=red"], ["the nearest is --output; ", usage("track")]),
        ([*TRACK, ONE_EVENT, "--json"], ["--json", "missing", usage("track")]),
        ([*TRACK, ONE_EVENT, "--json", ""], ["--json", "got an empty path", usage("track")]),
        ([*TRACK, ONE_EVENT, "--threads", "0"], ["--threads", "0 not in range 1 to 1024"]),
        ([*TRACK, ONE_EVENT, "--threads", "-2"], ["--threads", "-2 not in range 1 to 1024"]),
        ([*TRACK, ONE_EVENT, "--cut", "1.5"], ["--cut", "got 1.5", "expected 0 to 1"]),
        ([*TRACK, ONE_EVENT, "--cut", "nan"], ["--cut", "got nan", "expected 0 to 1"]),
        ([*TRACK, ONE_EVENT, "--device", "cuda:99"], ["device cuda:99 is not there; there is: cpu"]),
        ([*TRACK, ONE_EVENT, "--device", "abacus"], ['"abacus" is unknown', "expected auto, cpu or cuda:N"]),
        *(
            ([*TRACK, f"generate:{text}"], [f'"generate:{text}"', GENERATE])
            for text in ("", "0", "ten", "1:2:3:4")
        ),
        (
            ["describe", "b.json"],
            ['"b.json" stands behind no option', "expected tensoa describe --output OUTPUT"],
        ),
        (["graph", "generate:0", "--output", "graphs"], ['"generate:0"', GENERATE]),
    ],
    ids=lambda value: " ".join(value) or "nothing" if isinstance(value, list) else None,
)
def test_wrong_call_is_refused(arguments, says, out, model):
    arguments = [model if argument == MODEL else argument for argument in arguments]
    refuse(*arguments, says=says, cwd=out)
    assert names_in(out) == []


@pytest.fixture
def read_only(tmp_path):
    """A folder that cannot be written to; root can write to any but those of the kernel."""
    if os.geteuid() == 0:
        return "/sys"
    folder = tmp_path / "read_only"
    folder.mkdir(mode=0o555)
    return folder


@pytest.mark.parametrize("option", ["--output", "--report", "--json"])
@pytest.mark.parametrize("place", ["missing folder", "read-only folder"])
def test_output_in_a_bad_place_is_refused(option, place, out, model, read_only):
    """The other outputs of the call do not appear either."""
    path = out / "none" / "file.csv" if place == "missing folder" else f"{read_only}/tensoa.csv"
    others = [argument for pair in zip(*[iter(outputs(out))] * 2) if pair[0] != option for argument in pair]
    refuse("track", ONE_EVENT, "--model", model, *others, option, path, says=[f"cannot write {path}: "])
    assert names_in(out) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["infer", "--model", MODEL, "--input", "rows.csv", "--output", "a.csv", "--binding", "folder"],
        ["infer", "--model", "folder", "--input", "rows.csv", "--output", "a.csv"],
        ["inspect", MODEL, "--runtime", "--binding", "folder"],
        ["inspect", "folder"],
        ["check", "folder", "--against", MODEL],
        ["deploy", MODEL, "--to", "models", "--binding", "folder"],
        ["deploy", "folder", "--to", "models"],
        [*TRACK, ONE_EVENT, "--resume", "folder"],
        ["track", ONE_EVENT, "--model", "folder"],
        ["track", ONE_EVENT, "--model", "grpc://127.0.0.1:1/m", "--deadline", "0.1", "--fallback", "folder"],
    ],
    ids=" ".join,
)
def test_a_folder_where_a_file_is_expected_is_refused(arguments, tmp_path, model):
    (tmp_path / "folder").mkdir()
    (tmp_path / "rows.csv").write_text("x\n1\n")
    done = refuse(*(model if argument == MODEL else argument for argument in arguments), says=["folder"], cwd=tmp_path)
    assert re.search("is a folder|is not a file|is actually a directory|Is a directory", done.stderr), done.stderr
    assert names_in(tmp_path) == ["folder", "rows.csv"]


def test_output_that_is_a_folder_is_refused(out, model):
    folder = out / "folder.parquet"
    folder.mkdir()
    for option in ("--output", "--json"):
        refuse("track", ONE_EVENT, "--model", model, option, folder, says=[f"cannot write {folder}: it is a folder"])
    assert names_in(out) == ["folder.parquet"] and names_in(folder) == []


@pytest.mark.parametrize("name", ["tracks", "tracks.csv.gz"])
def test_output_of_another_format_is_refused(name, out, model):
    says = [name, "got the ending", "expected a file named .csv or .parquet"]
    refuse("track", ONE_EVENT, "--model", model, "--output", out / name, "--json", out / "run.json", says=says)
    assert names_in(out) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".json"])
def test_full_disk_is_reported(ending, tmp_path, out, model):
    full = tmp_path / f"full{ending}"
    full.symlink_to("/dev/full")
    option = "--json" if ending == ".json" else "--output"
    refuse("track", ONE_EVENT, "--model", model, option, full, says=[f"cannot write {full}: ", "No space left"])


def test_graph_folder_that_cannot_be_made_is_refused(out, read_only):
    (out / "file").write_text("as it was")
    refuse("graph", ONE_EVENT, "--output", out / "file", says=["cannot make the folder", "file", "Not a directory"])
    refuse("graph", ONE_EVENT, "--output", f"{read_only}/tensoa/graphs", says=["cannot make the folder"])
    assert names_in(out) == ["file"]


def test_file_that_was_there_stays_when_the_run_fails(out, model):
    for argument in outputs(out)[1::2]:
        argument.write_text("as it was")
    refuse("track", out / "none.csv", "--model", model, *outputs(out), says=["none.csv"])
    assert names_in(out) == ["report.html", "run.json", "tracks.csv"]
    assert {path.read_text() for path in out.iterdir()} == {"as it was"}


SUBCOMMANDS = ["track", "graph", "infer", "check", "inspect", "deploy", "describe", "top", "compile"]


@pytest.mark.parametrize(
    ("program", "subcommand"),
    [*((PROGRAM, name) for name in SUBCOMMANDS), (BENCH, "path"), (BENCH, "track")],
    ids=lambda value: getattr(value, "name", value),
)
def test_the_right_option_is_printed_for_every_misspelt_one(program, subcommand):
    """Two neighbouring letters in the other order; the option is not there by another name."""
    text = succeed(subcommand, "--help", env=WITH_PYTHON, program=program).stdout
    options = set(re.findall(r"--([a-z-]{5,})", re.split("[Oo]ptions:\n", text, maxsplit=1)[1]))
    right = {option for option in options if f"--{option}" in option_names(text)}
    assert right
    for option in right - {"help"}:
        at = next(i for i in range(1, len(option) - 1) if option[i] != option[i + 1])
        wrong = option[:at] + option[at + 1] + option[at] + option[at + 2 :]
        done = tensoa(subcommand, f"--{wrong}", env=WITH_PYTHON, program=program)
        says = f'"--{wrong}" is unknown; the nearest is --{option}; {usage(subcommand, program.name)}'
        assert done.returncode == 2 and says in done.stderr


def option_names(text):
    """The names at the beginnings of the lines of a help."""
    return {name for line in text.splitlines() for name in re.findall(r"--[a-z-]+", line[:30]) if line.startswith("  -")}


def test_a_wrong_option_of_compile_does_not_make_others_wrong(out):
    done = tensoa("compile", "--colums", "a=b", "m.onnx", env=WITH_PYTHON, cwd=out)
    assert (done.returncode, done.stderr) == (2, f'error: "--colums" is unknown; the nearest is --columns; {usage("compile")}\n')


def test_every_help_of_a_model_names_all_kinds_that_the_command_takes():
    for subcommand in ("track", "infer", "check", "inspect"):
        text = " ".join(succeed(subcommand, "--help").stdout.split())
        for kind in ("ackage", "torch.export", "TorchScript", *(["tree file"] if subcommand != "track" else [])):
            assert kind in text, (subcommand, kind)


def test_help_and_version_are_no_errors():
    for command in ([], ["track"], ["graph"]):
        assert "Usage: " in succeed(*command, "--help").stdout
    assert "torch" in succeed("--version").stdout


def test_without_a_model_the_way_to_one_is_named(out, tmp_path):
    """The default lies next to the program: first the TorchScript file, else the package."""
    program = tmp_path / "tensoa"
    shutil.copy(PROGRAM, program)
    run = [program, "track", ONE_EVENT]
    done = subprocess.run(run, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2 and done.stderr.startswith(f"tensoa: model {tmp_path}/models/tensoa.pt: there is no such")
    assert "`make models` writes it, `make demo` writes the package" in done.stderr
    (tmp_path / "models").mkdir()
    for name in ("tensoa.pt2", "tensoa.pt"):
        (tmp_path / "models" / name).write_text("nothing")
        done = subprocess.run(run, capture_output=True, text=True, timeout=120, check=False)
        assert f"model {tmp_path}/models/{name}: " in done.stderr and "there is no such" not in done.stderr


@pytest.mark.skipif(shutil.which("readelf") is None, reason="there is no readelf")
def test_program_looks_for_libraries_in_named_folders_only():
    listing = subprocess.run(["readelf", "-d", PROGRAM], capture_output=True, text=True, check=True).stdout
    folders = re.search(r"R(?:UN)?PATH.*\[(.*)\]", listing).group(1).split(":")
    assert all(folder.startswith(("/", "$ORIGIN")) for folder in folders), folders
