# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A package after the program has run it on a GPU; the program is a script that prints what a test passes."""

import json
import zipfile

import pytest
import torch

from exporting import THREE_TO_TWO, Module, bind
from tensoa.command import run
from tensoa.compiler import inductor
from tensoa.errors import InputError
from tensoa.export import Options, check_on_gpu, export, main
from tensoa.package import archive, gpu_check
from tensoa.package.cases import KINDS
from tensoa.package.fused import code_for
from tensoa.package.manifest import GpuCheck, GpuCode, Target

ROWS = [{"block": "preds", "max_rel_error": error} for error in (1e-7, 3e-7, 2e-7)]
FOUND = {"gpu": "Test GPU", "architecture": "sm_90", "rows": ROWS, "is_right": True}


def program(folder, numbers="true", graphs="true"):
    """A `tensoa` whose `check` writes FOUND, then ends as the shell code `numbers`, or `graphs` with --cuda-graphs."""
    (folder / "found.json").write_text(json.dumps(FOUND))
    script = folder / "tensoa"
    script.write_text(
        f"""#!/bin/bash
for last; do :; done
[ "$1" = check ] && [ -f "$2" ] || exit 9
cp {folder}/found.json "$last"
if [ "$3" = --cuda-graphs ]; then {graphs}; else {numbers}; fi
"""
    )
    script.chmod(0o755)
    return script


def package(folder, report=lambda line: None, name="p.pt2", **options):
    path = folder / name
    export(Module(lambda m, x: x @ m.weight), bind(*THREE_TO_TWO), path, Options("cuda", report=report, **options))
    return path


@pytest.fixture
def gpu(monkeypatch):
    """A machine with a GPU, as far as torch says."""
    monkeypatch.setattr(gpu_check, "has_gpu", lambda: True)
    compiled = inductor.Compiled({"model/data/aotinductor/model/a.so": b"code"}, [], None, "sm_90", "Test GPU")
    monkeypatch.setattr(inductor, "compile", lambda *args: compiled)


def test_torchinductor_rounds_products_on_gpus_too():
    """Triton joins `a * b - c * d` to a multiply-add without it."""
    assert inductor.options_for("cuda")["emulate_precision_casts"] is True
    assert "emulate_precision_casts" in torch._inductor.config.get_config_copy()
    assert "emulate_precision_casts" not in inductor.options_for("cpu")


WHY = """echo '{"cuda_graphs": "it synchronises"}' > "$last"; echo "tensoa: it synchronises" >&2; exit 1"""


@pytest.mark.parametrize(
    "graphs, expected",
    [
        ("true", True),
        (WHY, "it synchronises"),
        ("rm $last; kill -SEGV $$", "the process died of SIGSEGV"),
        ("rm $last; echo 'tensoa: no room' >&2; exit 2", "no room"),
        ("rm $last; exit 3", "exit status 3 without a word"),
    ],
)
def test_graphs_that_work_or_why_not(graphs, expected, tmp_path):
    (tmp_path / "p.pt2").write_text("a package")
    check = gpu_check.run(program(tmp_path, graphs=graphs), tmp_path / "p.pt2")
    assert check == GpuCheck("sm_90", "Test GPU", {"preds": 3e-7}, expected)
    assert gpu_check.summary_lines(check) == [
        "checked on Test GPU (sm_90): relative error 3.0e-07",
        "CUDA graphs: " + ("can be captured" if expected is True else f"no: {expected}"),
    ]


@pytest.mark.parametrize(
    "numbers, message",
    [
        ("echo 'tensoa: p differs by 1' >&2; exit 1", "the package fails on this machine's GPU: p differs by 1"),
        ("kill -ABRT $$", "the process died of SIGABRT"),
        ('echo {} > "$last"', "exit status 0 without a word"),
    ],
)
def test_wrong_package_is_refused_and_stays_as_it_is(numbers, message, tmp_path, gpu):
    path = package(tmp_path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=message):
        check_on_gpu(path, program(tmp_path, numbers=numbers))
    assert path.read_bytes() == before
    other = tmp_path / "other.pt2"
    with pytest.raises(InputError, match=message):
        package(tmp_path, program=program(tmp_path, numbers=numbers), name="other.pt2")
    assert not other.exists()


WRONG_AT_FIRST = 'echo x >> "$0.calls"; [ $(wc -l < "$0.calls") -gt {} ] || {{ echo "tensoa: p differs by 1" >&2; exit 1; }}'
REASON = "the package fails on this machine's GPU: p differs by 1"


@pytest.mark.parametrize(
    "failures, lines",
    [
        (0, ["fused into 1 kernel:", "  linear 3 -> 2"]),
        (
            1,
            [
                f"fused in part, not whole: {REASON}; 1 part, the rest by TorchInductor:",
                "  part of 1 kernel:",
                "    linear 3 -> 2",
            ],
        ),
        (2, [f"not fused or fused in part: {REASON}; compiled by TorchInductor"]),
    ],
)
def test_a_program_that_fails_on_the_gpu_is_replaced_as_on_cpus(failures, lines, tmp_path, gpu):
    said, tensoa = [], program(tmp_path, numbers=WRONG_AT_FIRST.format(failures))
    manifest = archive.read(package(tmp_path, said.append, program=tensoa))[1]
    rows = "rows: each is calculated from itself alone"
    assert said == [*lines, "checked on Test GPU (sm_90): relative error 3.0e-07", "CUDA graphs: can be captured", rows]
    assert ("fused" in manifest, "parts" in manifest) == (failures == 0, failures == 1)
    assert [check["architecture"] for check in manifest["gpu_checks"]] == ["sm_90"]


def test_a_tensoa_that_cannot_be_run_ends_the_export(tmp_path, gpu):
    with pytest.raises(InputError, match="--program .*: cannot run: No such file"):
        package(tmp_path, program=tmp_path / "nothing")


def test_exported_package_says_on_which_gpu_it_was_checked(tmp_path, gpu):
    lines = []
    path = package(tmp_path, lines.append, program=program(tmp_path))
    assert lines[-3:-1] == ["checked on Test GPU (sm_90): relative error 3.0e-07", "CUDA graphs: can be captured"]
    files, manifest = archive.read(path)
    status = {code["architecture"]: (code["status"], code.get("gpu")) for code in manifest["fused"]["cuda"]["code"]}
    assert status.pop("sm_90") == ("checked", "Test GPU")
    assert set(status.values()) == {("built, not run", None)}
    assert [check["architecture"] for check in manifest["gpu_checks"]] == ["sm_90"]

    # A second check, after which graphs work no more.
    check_on_gpu(path, program(tmp_path, graphs=WHY), report=lines.append)
    again_files, again = archive.read(path)
    assert again_files == files
    assert [check["cuda_graphs"] for check in again["gpu_checks"]] == ["it synchronises"]


def test_checks_on_other_gpus_are_kept():
    found = [GpuCheck(architecture, gpu, {}, True) for architecture, gpu in (("sm_80", "a"), ("sm_90", "b"), ("sm_90", "c"))]
    target = Target("cuda", [], gpu_checks=found[:2])
    gpu_check.record_check(target, found[2])
    assert [check.gpu for check in target.gpu_checks] == ["a", "c"]


@pytest.mark.parametrize(
    "architecture, expected",
    [("sm_80", "sm_80"), ("sm_86", "sm_86"), ("sm_89", "sm_86"), ("sm_90", None), ("vax", None)],
)
def test_code_that_a_gpu_runs(architecture, expected):
    found = code_for([GpuCode(name, "", "") for name in ("sm_80", "sm_86", "sm_120", "sm_90a")], architecture)
    assert (found and found.architecture) == expected


def test_without_a_gpu_or_a_program_one_line_says_what_was_not_done(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_check, "has_gpu", lambda: False)
    for options, missing in (({}, "no --program"), ({"program": "tensoa"}, "no GPU")):
        lines = []
        path = package(tmp_path, lines.append, **options)
        assert lines[-2] == f"not run: {missing} here; on a GPU: tensoa compile --check {path} --program build/tensoa"
        _, manifest = archive.read(path)
        assert "gpu_checks" not in manifest
    with pytest.raises(InputError, match="cannot be checked, there is no GPU here"):
        check_on_gpu(path, "tensoa")


def test_package_holds_what_the_module_gives(tmp_path):
    files, manifest = archive.read(package(tmp_path))
    assert manifest["recorded"]["tolerance"] == 3e-5
    cases = [(case["numbers"], case["rows"]) for case in manifest["recorded"]["cases"]]
    assert cases == [*(("normal", rows) for rows in (1, 2, 33, 1000)), *((kind, 100) for kind in KINDS[1:])]
    record = files["model/check/33.bin"]
    x = torch.frombuffer(bytearray(record[: 33 * 3 * 4]), dtype=torch.float32).view(3, 33)
    y = torch.frombuffer(bytearray(record[33 * 3 * 4 :]), dtype=torch.float64).view(2, 33)
    assert torch.allclose(y, 0.5 * x.double().sum(0).expand(2, 33), rtol=1e-14)


@pytest.mark.parametrize("precision, tolerance", [("tf32", 3e-3), ("bf16", 3e-2)])
def test_coarse_products_are_checked_as_such(precision, tolerance, tmp_path):
    _, manifest = archive.read(package(tmp_path, precision=precision))
    assert manifest["recorded"]["tolerance"] == tolerance


# ---- the command


def spoiled(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_command_refuses_in_one_line(tmp_path, monkeypatch, capsys):
    path = package(tmp_path)
    (tmp_path / "text.pt2").write_text("no package")
    with zipfile.ZipFile(tmp_path / "zip.pt2", "w") as file:
        file.writestr("a", "b")
    cpu = tmp_path / "cpu.pt2"
    export(Module(lambda m, x: x @ m.weight), bind(*THREE_TO_TWO), cpu, Options(report=lambda line: None))

    def says(message, *arguments):
        capsys.readouterr()
        assert run(lambda: main([str(argument) for argument in arguments])) == 2
        output = capsys.readouterr().err
        assert message in output and output.count("\n") == 1

    says("expected also --program PROGRAM", "--check", path)
    says("no MODEL and no --out", "--check", path, "--program", "x", "--out", "y.pt2")
    says("text.pt2: its checksum is missing", "--check", tmp_path / "text.pt2", "--program", "x")
    says("zip.pt2: its checksum is missing", "--check", tmp_path / "zip.pt2", "--program", "x")
    says("none.pt2: cannot read", "--check", tmp_path / "none.pt2", "--program", "x")
    says("cpu.pt2: is for cpu", "--check", cpu, "--program", "x")
    monkeypatch.setattr(gpu_check, "has_gpu", lambda: True)
    says("--program none: cannot run: No such file", "--check", path, "--program", "none")
    spoiled(path)
    says("p.pt2: its checksum is wrong", "--check", path, "--program", "x")
    with pytest.raises(InputError, match="program x for cpu: expected none"):
        Options(program="x")


def test_command_checks_a_package(tmp_path, gpu, capsys):
    path = package(tmp_path)
    assert run(lambda: main(["--check", str(path), "--program", str(program(tmp_path))])) == 0
    assert "checked on Test GPU" in capsys.readouterr().out
    assert archive.read(path)[1]["gpu_checks"][0]["gpu"] == "Test GPU"
