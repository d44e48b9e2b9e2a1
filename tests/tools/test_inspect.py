# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""`tensoa inspect`: what it says of a file is what is in it."""

import json

import pytest
import torch
from torch import Tensor, nn

from conftest import PACKAGES, Close, edited, package, refuse, save, succeed, tensoa


def inspect(path):
    return json.loads(succeed("inspect", path, "--json").stdout)


class TwoOfThree(nn.Module):
    """Writes the second of its arguments, counts nothing, has 12 numbers."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, a, b, scale: float = 2.0) -> tuple[Tensor, Tensor]:
        b += 1
        return self.layer(a) * scale, b * 2


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls += 1
        return x + self.calls


def test_torchscript_signature_weights_and_what_may_be_written(tmp_path):
    path = save(TwoOfThree(), tmp_path / "two.pt")
    model = inspect(path)
    assert (model["compilation"], model["target"], model["match"]) == ("just-in-time", "any", "auto")
    assert model["bytes"] == path.stat().st_size
    assert "torch" not in model and model["format"].startswith("TorchScript ")
    assert (model["weights"], model["weight_bytes"]) == (12, 48)
    assert model["inputs"] == [
        {"name": "a", "type": "Tensor", "may_be_written": False},
        {"name": "b", "type": "Tensor", "may_be_written": True},
        {"name": "scale", "type": "float", "may_be_written": False},
    ]
    assert [output["type"] for output in model["outputs"]] == ["Tuple[Tensor, Tensor]"]
    assert not model["keeps_state"]
    assert "may be written, copied at every call: b" in succeed("inspect", path).stdout


def test_torchscript_that_keeps_state(tmp_path):
    path = save(Counts(), tmp_path / "counts.pt")
    assert inspect(path)["keeps_state"]
    assert "refused when loaded" in succeed("inspect", path).stdout


def test_package_signature_target_programs_and_checks():
    path = package("kinds-cpu.pt2")
    model = inspect(path)
    assert (model["compilation"], model["target"]) == ("ahead-of-time", "cpu")
    assert model["torch"] == torch.__version__
    assert model["bytes"] == path.stat().st_size
    types = {block["name"]: block["type"] for block in model["inputs"] + model["outputs"]}
    assert types == {
        "uneven": "float32[n0, 3]",
        "even": "float32[n0, 3]",
        "times": "float64[2, n0]",
        "layer": "int32[n0, 1]",
        "direction": "float32[n0, 3]",
        "jacobian": "float32[n0, 2, 3]",
        "constants": "float32[n0, 2]",
        "abc": "float32[n0, 3]",
        "moved": "float32[n0, 2]",
        "id": "int64[n0, 1]",
        "summary": "float64[1, 2]",
    }
    assert model["inputs"][0]["columns"] == [{"name": n, "plane": p} for n, p in (("w", 3), ("x", 0), ("u", 5))]
    assert not any(block["may_be_written"] for block in model["inputs"])
    assert model["programs"] and all(program["bytes"] > 1000 for program in model["programs"])
    assert {1, 1000} <= {check["rows"][0] for check in model["checks"]}
    for check in model["checks"]:
        outputs = {"abc", "moved", "id"} | ({"summary"} if check["numbers"] != "missing" else set())  # a sum with NaN is none
        assert set(check["relative_error"]) == set(check["relative_error_eager"]) == outputs
    text = succeed("inspect", path).stdout
    for part in ("uneven", "w@3, x@0, u@5", f"torch {torch.__version__}", "never written", "rows 1000: abc"):
        assert part in text


def fuse(manifest, records):
    """The records of a fused program, as docs/package_format.md has them."""
    records["model/fused/x86-64-v4.so"] = b"4" * 4000
    manifest["fused"] = {
        "domains": [0],
        "stages": ["rows of 0: input, linear 64, relu", "rows of 0: linear 2"],
        "deterministic": False,
        "cpu": [{"name": "x86-64-v4", "file": "fused/x86-64-v4.so", "cpu_flags": ["avx512f"], "status": "checked"}],
    }


def fuse_for_both(manifest, records):
    """As fuse(), and another program for GPUs."""
    fuse(manifest, records)
    records["model/fused/sm_90.cubin"] = b"9" * 900
    records["model/fused/weights.bin"] = b""
    cuda = {
        "kernels": [],
        "buffers": [],
        "steps": [],
        "weights": "fused/weights.bin",
        "code": [{"architecture": "sm_90", "file": "fused/sm_90.cubin", "status": "built, not run"}],
    }
    cpu = {key: manifest.pop(key) for key in ("target", "cpu_flags", "checks", "fused")}
    of_gpus = {"domains": [0], "stages": ["rows of 0: linear 64"], "deterministic": True, "cuda": cuda}
    check = {"architecture": "sm_90", "gpu": "H200", "relative_error": {"preds": 3e-7}, "cuda_graphs": True}
    targets = [cpu, {"target": "cuda", "checks": [], "fused": of_gpus, "gpu_checks": [check]}]
    manifest.update(schema=3, targets=targets)


def test_fused_parts_with_their_variants(tmp_path):
    path = edited(package("mlp-cpu.pt2"), tmp_path / "fused.pt2", fuse)
    model = inspect(path)
    fused = [program for program in model["programs"] if program["kind"] == "fused"]
    assert fused == [{"kind": "fused", "name": "x86-64-v4", "status": "checked", "cpu_flags": ["avx512f"], "bytes": 4000}]
    assert model["fused_stages"] == ["rows of 0: input, linear 64, relu", "rows of 0: linear 2"]
    text = succeed("inspect", path).stdout
    for part in ("x86-64-v4", "checked", "2  rows of 0: linear 2"):
        assert part in text


def test_the_programs_of_several_targets_are_apart(tmp_path):
    path = edited(package("mlp-cpu.pt2"), tmp_path / "both.pt2", fuse_for_both)
    model = inspect(path)
    assert (model["format"], model["target"]) == ("package 3", "cpu,cuda")
    assert not model.keys() & {"programs", "fused_stages", "checks", "gpu_checks", "deterministic"}
    cpu, cuda = model["targets"]
    assert [(one["target"], one["deterministic"]) for one in (cpu, cuda)] == [("cpu", False), ("cuda", True)]
    assert [program["kind"] for program in cpu["programs"]] == ["fused", "inductor"]
    assert cuda["programs"] == [{"kind": "fused", "name": "sm_90", "status": "built, not run", "cpu_flags": [], "bytes": 900}]
    assert (len(cuda["fused_stages"]), cuda["checks"], cuda["gpu_checks"][0]["gpu"]) == (1, [], "H200")
    text = succeed("inspect", path).stdout
    at = [text.index(part) for part in ("target: cpu,cuda, ", "programs for cpu:", "programs for cuda:", "checked on H200 (sm_90)")]
    assert at == sorted(at) and text.index("rows 1000: preds") < at[2]
    assert text.endswith("between targets: results differ in their last bits, as the programs do\n")
    assert "between targets" not in succeed("inspect", package("mlp-cpu.pt2")).stdout


@pytest.mark.parametrize(
    "says, line", [(True, "results: the same bits at every call"), (False, "may differ in their last bits"), (None, None)]
)
def test_whether_a_fused_program_gives_the_same_bits_at_every_call(says, line, tmp_path):
    def edit(manifest, records):
        fuse(manifest, records)
        manifest["fused"].pop("deterministic")
        manifest["fused"].update({} if says is None else {"deterministic": says})

    path = edited(package("mlp-cpu.pt2"), tmp_path / "fused.pt2", edit)
    assert inspect(path).get("deterministic") is says
    text = succeed("inspect", path).stdout
    assert (line in text) if line else ("results:" not in text)


def test_what_was_found_on_gpus(tmp_path):
    found = [
        {"architecture": "sm_80", "gpu": "A100", "relative_error": {"preds": 2e-7}, "cuda_graphs": True},
        {"architecture": "sm_90", "gpu": "H200", "relative_error": {"preds": 3e-7}, "cuda_graphs": "it synchronises"},
    ]
    enter = lambda manifest, records: manifest.update(gpu_checks=found)  # noqa: E731
    path = edited(package("mlp-cpu.pt2"), tmp_path / "p.pt2", enter)
    assert inspect(path)["gpu_checks"] == found
    assert inspect(package("mlp-cpu.pt2"))["gpu_checks"] == []
    text = succeed("inspect", path).stdout
    for part in (
        "checked on A100 (sm_80), relative errors: preds 2.0e-07\n  CUDA graphs: can be captured",
        "checked on H200 (sm_90), relative errors: preds 3.0e-07\n  CUDA graphs: no: it synchronises",
    ):
        assert part in text


@pytest.mark.parametrize("change", [{"torch": "1.13.1+cpu"}, {"machine": "vax"}, {"target": "cuda"}])
def test_packages_for_elsewhere_are_described_too(change, tmp_path):
    path = edited(package("mlp-cpu.pt2"), tmp_path / "other.pt2", lambda manifest, records: manifest.update(change))
    assert inspect(path).items() >= change.items()


def test_no_code_of_a_package_is_unpacked(tmp_path):
    succeed("inspect", package("mlp-cpu.pt2"), env={"TENSOA_PACKAGE_FOLDER": "/proc/nothing"})


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("truncated.pt2", "checksum is missing"),
        ("empty.pt2", "is empty"),
        ("foreign.pt2", "checksum is missing"),
        ("tampered_middle.pt2", "checksum is wrong"),
        ("no_archive.pt2", "not a package that this version can read"),
        ("no_rows.pt2", "rows"),
        ("other_schema.pt2", "99"),
    ],
)
def test_bad_packages(name, says):
    refuse("inspect", package(name), says=[name, says])


def lose(key):
    return lambda manifest, records: manifest.pop(key)


@pytest.mark.parametrize("key", ["schema", "binding", "torch", "target", "machine", "checks"])
def test_packages_with_half_a_manifest(key, tmp_path):
    path = edited(package("mlp-cpu.pt2"), tmp_path / "half.pt2", lose(key))
    refuse("inspect", path, says=["half.pt2", "not a package that this version can read", key])


def test_fused_program_that_is_not_there(tmp_path):
    def half(manifest, records):
        fuse(manifest, records)
        records.pop("model/fused/x86-64-v4.so")

    path = edited(package("mlp-cpu.pt2"), tmp_path / "half.pt2", half)
    refuse("inspect", path, says=["half.pt2", "fused/x86-64-v4.so"])


def test_program_of_torch_export(tmp_path):
    rows = torch.export.Dim.DYNAMIC
    program = torch.export.export(Close(), (torch.zeros(3, 3), torch.zeros(2, 5).long()), dynamic_shapes=({0: rows}, {1: rows}))
    torch.export.save(program, tmp_path / "export.pt2")
    description = json.loads(succeed("inspect", tmp_path / "export.pt2", "--json").stdout)
    assert description["compilation"] == "just-in-time" and description["format"].startswith("torch.export ")
    assert [argument["type"] for argument in description["inputs"]] == ["float32[?, 3]", "int64[2, ?]"]
    assert not any(argument["may_be_written"] for argument in description["inputs"])
    assert description["operators"] and all(count > 0 for count in description["operators"].values())
    text = succeed("inspect", tmp_path / "export.pt2").stdout
    assert "graph: " in text and " x aten." in text and "written by: torch " in text


def test_files_that_are_no_models(tmp_path):
    (tmp_path / "text.pt").write_text("hello")
    torch.save({"a": torch.zeros(1)}, tmp_path / "weights.pt")
    refuse("inspect", tmp_path / "text.pt", says=["text.pt", "is text and not a model"])
    refuse("inspect", tmp_path / "weights.pt", says=["weights.pt", "not a TorchScript file", "torch.jit.script"])
    refuse("inspect", tmp_path / "nothing.pt", says=["nothing.pt", "there is no such file"])
    refuse("inspect", tmp_path, says=["is not a file"])
    refuse("inspect", says=["MODEL"])


# ---- --runtime


def runtime(path, *options):
    return json.loads(succeed("inspect", path, "--runtime", "--json", *options).stdout)


def test_runtime_of_a_package_grows_with_its_rows_but_for_the_weights():
    path = package("mlp-cpu.pt2")
    few, many = runtime(path, "--rows", 1000), runtime(path, "--rows", 100_000)
    weights = 4 * (3 * 64 + 64 + 64 * 64 + 64 + 64 * 2 + 2)
    assert few["device"] == "cpu" and few["inputs"] == "1000 rows"
    assert few["weights"] == many["weights"] == pytest.approx(weights, rel=0.01)  # the smallest are code
    assert many["collections"] >= 90 * few["collections"] > 0
    assert many["activations"] > 50 * few["activations"] > 1000 * 64
    assert many["peak"] >= many["weights"] + many["collections"] + many["activations"]
    assert many["process_peak"] > many["peak"]
    assert few["threads_before"] == few["threads_after"]


def test_runtime_of_torchscript_that_scores_edges(our_model):
    figures = runtime(our_model)
    assert "hits" in figures["inputs"] and "edges" in figures["inputs"]
    assert figures["weights"] > 4 * 40_000 and figures["activations"] > figures["weights"]
    text = succeed("inspect", our_model, "--runtime").stdout
    for part in ("weights", "activations", "the most of a call", "before the model was loaded"):
        assert part in text


def test_runtime_of_torchscript_on_the_columns_of_a_binding(tmp_path):
    class Sum(nn.Module):
        def forward(self, features):
            return features[:, :2] + features[:, 1:]

    path = save(Sum(), tmp_path / "sum.pt")
    assert runtime(path, "--binding", PACKAGES / "mlp.json", "--rows", 500)["activations"] == 500 * 2 * 4
    refuse("inspect", path, "--runtime", "--binding", tmp_path / "none.json", says=["none.json: cannot be read: No such file"])
    refuse("inspect", path, "--runtime", "--binding", path, says=["sum.pt", "binding"])


def test_runtime_of_a_model_that_fails(tmp_path):
    refuse("inspect", save(nn.Linear(5, 5), tmp_path / "five.pt"), "--runtime", says=["five.pt"])
    refuse("inspect", tmp_path / "none.pt", "--runtime", says=["none.pt", "no such file"])


def test_options_of_runtime_need_it():
    assert tensoa("inspect", "model.pt", "--rows", "5").returncode == 2
