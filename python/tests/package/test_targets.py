# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Packages for several targets: one export, the programs of each, and nothing where one of them cannot be made."""

import numpy as np
import pytest
import torch
from torch import nn

import tensoa
from exporting import THREE_TO_TWO, Module, bind
from tensoa.compiler import inductor, routes
from tensoa.compiler.errors import NotFused
from tensoa.errors import InputError
from tensoa.export import Options, check_on_gpu, export
from tensoa.options import TARGETS, targets_of
from tensoa.package import archive, fused, gpu_check
from tensoa.package.manifest import GpuCheck, Manifest

BOTH = "cpu,cuda"


def linear():
    return Module(lambda m, x: x @ m.weight)


def package(folder, target, report=lambda line: None, module=None, **options):
    path = folder / f"{target if isinstance(target, str) else 'list'}.pt2"
    export(module or linear(), bind(*THREE_TO_TWO), path, Options(target, report=report, **options))
    return path


def manifest_of(path):
    return Manifest.from_json(archive.read(path)[1], str(path))


@pytest.mark.parametrize(
    "given, expected",
    [
        ("cpu", ("cpu",)),
        ("cuda", ("cuda",)),
        ("cpu,cuda", TARGETS),
        ("cuda,cpu", TARGETS),
        (["cuda"], ("cuda",)),
        (("cuda", "cpu"), TARGETS),
    ],
)
def test_targets_are_named_by_a_text_or_a_list_in_any_order(given, expected):
    assert targets_of(given) == expected == Options(given).targets


@pytest.mark.parametrize("given", ["", "tpu", "cpu,tpu", "cpu,cpu", "cpu,", "cpu, cuda", [], ["cpu", "cpu"], ["cpu", 3]])
def test_targets_that_are_unknown_or_named_twice_are_refused(given, tmp_path):
    got = given if isinstance(given, str) else ",".join(map(str, given))
    with pytest.raises(InputError) as error:
        tensoa.compile(linear(), tmp_path / "p.pt2", columns=["x=a,b,c"], target=given)
    assert str(error.value) == f"target: got '{got}', expected cpu, cuda or cpu,cuda, each once"
    assert not any(tmp_path.iterdir())


def test_a_package_of_both_has_the_programs_of_two_and_shares_the_rest(tmp_path):
    alone = {target: archive.read(package(tmp_path, target)) for target in TARGETS}
    files, text = archive.read(package(tmp_path, BOTH))
    assert text["schema"] == 3 and [one["target"] for one in text["targets"]] == [*TARGETS]
    for one in text["targets"]:
        own = alone[one["target"]][1]
        assert one == {key: own[key] for key in one}
        assert one["fused"].keys() & {*TARGETS} == {one["target"]}
    shared = {key: value for key, value in alone["cpu"][1].items() if key not in text["targets"][0] and key != "schema"}
    assert {key: text[key] for key in shared} == shared and "target" not in text
    assert "shared" not in text  # few weights
    assert files.keys() == alone["cpu"][0].keys() | alone["cuda"][0].keys()
    for name in files:
        of_cpu, of_cuda = (alone[target][0].get(name) for target in TARGETS)
        assert files[name] in (of_cpu, of_cuda), name


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, x):
        return self.layers(x)


def test_libraries_for_the_cpu_share_their_weights(tmp_path):
    torch.manual_seed(1)
    model = Wide()
    alone = archive.read(package(tmp_path, "cpu", module=model))[0]
    files, text = archive.read(package(tmp_path, BOTH, module=model))
    libraries = [variant["file"] for variant in text["targets"][0]["fused"]["cpu"]]
    assert [one["file"] for one in text["shared"]] == libraries and len({one["part"] for one in text["shared"]}) == 1
    for one in text["shared"]:
        short, part = files["model/" + one["file"]], files["model/" + one["part"]]
        assert short[: one["at"]] + part + short[one["at"] :] == alone["model/" + one["file"]]


def test_parts_that_one_file_has_or_that_are_short_stay_where_they_are():
    part, other = bytes(range(256)) * 16, b"x" * archive.LEAST_SHARED
    files = {"model/a": b"1" + part + b"2", "model/b": part, "model/c": other}
    kept, shared = archive.sharing(files, [part[:-1], other, part, b"1", b""])
    assert [(one.file, one.at) for one in shared] == [("a", 1), ("b", 0)]
    (name,) = {"model/" + one.part for one in shared}
    assert kept == {"model/a": b"12", "model/b": b"", "model/c": other, name: part}


def test_the_model_is_exported_and_its_results_recorded_once(tmp_path, monkeypatch):
    from tensoa import export as module

    calls = []
    for name in ("_exported", "record", "_row_dependence"):
        real = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *given, real=real, name=name, **named: (calls.append(name), real(*given, **named))[1]
        )
    package(tmp_path, BOTH)
    assert sorted(calls) == ["_exported", "_row_dependence", "record"]


def test_lines_say_for_which_target_they_are(tmp_path):
    lines = []
    path = package(tmp_path, BOTH, lines.append)
    assert lines == [
        "cpu: fused into 1 kernel:",
        "cpu:   linear 3 -> 2",
        "cuda: fused into 1 kernel:",
        "cuda:   linear 3 -> 2",
        f"cuda: not run: no --program here; on a GPU: tensoa compile --check {path} --program build/tensoa",
        "rows: each is calculated from itself alone",
    ]


def test_a_target_may_be_fused_in_part_where_another_is_fused(tmp_path, monkeypatch):
    def refuse(*_):
        raise NotFused("the weather")

    monkeypatch.setattr(routes, "for_cpu", refuse)
    lines = []
    cpu, cuda = manifest_of(package(tmp_path, BOTH, lines.append)).targets
    assert lines[0] == "cpu: fused in part, not whole: the weather; 1 part, the rest by TorchInductor:"
    assert cpu.fused is None and cpu.parts is not None and cuda.fused is not None and cuda.parts is None
    assert "model/data/aotinductor/cpu/" in "".join(archive.read(tmp_path / f"{BOTH}.pt2")[0])


@pytest.mark.parametrize("made", [[], ["cpu"]])
def test_where_a_target_cannot_be_made_nothing_is_written_and_it_is_said_which_and_why(made, tmp_path, monkeypatch):
    def fail(module, columns, rules, target, folder):
        raise InputError(f"no compiler for {target}")

    failing = "cuda" if made else "cpu"
    monkeypatch.setattr(inductor, "compile", fail)
    monkeypatch.setattr(fused, f"for_{failing}", lambda *_: (_ for _ in ()).throw(NotFused("the weather")))
    with pytest.raises(InputError) as error:
        package(tmp_path, BOTH)
    other = "cpu" if made else "cuda"
    assert str(error.value) == (
        f"target {failing}: no compiler for {failing}; no package is written; without it: --target {other}"
    )
    assert not any(tmp_path.iterdir())


def test_a_target_alone_that_cannot_be_made_says_what_it_always_said(tmp_path):
    class Ragged(nn.Module):
        def forward(self, x):
            return x[x[:, 0] > 0]

    with pytest.raises(InputError) as error:
        package(tmp_path, "cpu", module=Ragged())
    assert not str(error.value).startswith("target")


def test_rough_products_of_one_target_are_no_excuse_for_another(tmp_path):
    text = archive.read(package(tmp_path, BOTH, precision="bf16"))[1]
    assert text["recorded"]["tolerance"] == 3e-5
    assert [one.get("tolerance") for one in text["targets"]] == [None, 3e-2]
    with pytest.raises(InputError, match="precision bf16 on cpu: expected one of"):
        Options("cpu", precision="bf16")


def test_the_check_on_a_gpu_is_recorded_in_its_target(tmp_path, monkeypatch):
    found = GpuCheck("sm_90", "Test GPU", {"preds": 1e-7}, True)
    monkeypatch.setattr(gpu_check, "has_gpu", lambda: True)
    monkeypatch.setattr(gpu_check, "run", lambda program, path: found)
    lines = []
    path = package(tmp_path, BOTH, lines.append, program="tensoa")
    assert "cuda: checked on Test GPU (sm_90): relative error 1.0e-07" in lines
    cpu, cuda = manifest_of(path).targets
    assert (cpu.gpu_checks, cuda.gpu_checks) == (None, [found])
    assert {code.architecture: code.status for code in cuda.fused.cuda.code}["sm_90"] == "checked"
    before = archive.read(path)[0]
    found.gpu = "Another GPU"
    check_on_gpu(path, "tensoa", lines.append)
    assert archive.read(path)[0] == before and manifest_of(path).target("cuda").gpu_checks[0].gpu == "Another GPU"
    with pytest.raises(InputError, match="cpu.pt2: is for cpu, where a package is checked when it is exported"):
        check_on_gpu(package(tmp_path, "cpu"), "tensoa")


def test_trees_are_for_any_device_and_take_no_target(tmp_path):
    import pickle

    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(n_estimators=2, max_depth=2, random_state=1)
    forest.fit(np.arange(30.0).reshape(10, 3), np.arange(10.0))
    (tmp_path / "trees.pkl").write_bytes(pickle.dumps(forest))
    with pytest.raises(
        InputError, match="an ensemble of trees, which run on any device; expected no options of networks, got target"
    ):
        tensoa.compile(tmp_path / "trees.pkl", tmp_path / "p.pt2", columns=["x=a,b,c"], target=BOTH, trust_pickle=True)


def test_the_module_stays_on_its_device_and_in_its_mode(tmp_path):
    module = linear().train()
    package(tmp_path, BOTH, module=module)
    assert module.training and {parameter.device for parameter in module.parameters()} <= {torch.device("cpu")}
