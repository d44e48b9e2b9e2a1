# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The manifest of a package: what is written is read again, and what is not a manifest is refused by the name of its key."""

import copy
import json
import math

import pytest

from tensoa.compiler.cuda.program import BufferEntry, KernelEntry, Launch, Params, Zero
from tensoa.errors import InputError
from tensoa.package import archive
from tensoa.package.manifest import (
    ANALYSIS,
    Check,
    CudaProgram,
    Forest,
    Fused,
    GpuCheck,
    GpuCode,
    Manifest,
    Recorded,
    RecordedCase,
    RowDependence,
    Target,
)


def whole():
    cuda = CudaProgram(
        params=Params(2, 1, 1),
        kernels=[KernelEntry("stage_0", 512, 0, 16, 2)],
        buffers=[BufferEntry(0, 32)],
        steps=[Zero(0), Launch(0, 0)],
        weights="fused/weights.bin",
        code=[GpuCode("sm_80", "fused/sm_80.cubin", "built, not run")],
    )
    return Manifest(
        binding={"schema": 1, "note": None},
        inputs=[[{"first": 0, "step": 1, "planes": 3}]],
        outputs=[[{"first": 0, "step": 1, "planes": 2}]],
        rows=[{"collection": 0}],
        machine="x86_64",
        torch="2.11.0",
        recorded=Recorded(3e-5, [RecordedCase(33, "normal", "check/33.bin"), RecordedCase(1, "small", "a", [[0.5]])]),
        targets=[
            Target(
                target="cuda",
                checks=[Check([1], "normal", {"y": 1e-7}, {"y": 0.0})],
                fused=Fused([0], ["linear 3 -> 2"], True, cuda=cuda, precision="tf32x3"),
                gpu_checks=[GpuCheck("sm_90", "H100", {"y": 1e-7}, "it synchronises"), GpuCheck("sm_80", "A100", {}, True)],
            )
        ],
    )


def test_what_is_written_is_read_again():
    text = json.loads(json.dumps(whole().to_json()))
    assert Manifest.from_json(text, "p.pt2") == whole()
    assert text["fused"]["cuda"]["steps"] == [{"zero": 0}, {"kernel": 0, "domain": 0, "times": 1}]
    assert text["binding"] == {"schema": 1, "note": None}  # as it was described
    assert "lengths" not in text and "gpu" not in text["fused"]["cuda"]["code"][0]


def test_a_manifest_of_one_target_has_its_keys_as_before_and_one_of_several_a_list():
    one = whole()
    text = json.loads(json.dumps(one.to_json()))
    assert (text["schema"], text["target"], "targets" in text) == (2, "cuda", False)
    several = whole()
    several.targets.insert(0, Target("cpu", [], cpu_flags=["avx2"], tolerance=3e-2))
    text = json.loads(json.dumps(several.to_json()))
    assert (text["schema"], "target" in text, "fused" in text) == (3, False, False)
    assert text["targets"][0] == {"target": "cpu", "checks": [], "cpu_flags": ["avx2"], "tolerance": 3e-2}
    assert Manifest.from_json(text, "p.pt2") == several
    assert several.target("cuda") == one.targets[0] and one.target("cpu") is None
    text["targets"][1]["fused"]["domains"] = ["a"]
    with pytest.raises(InputError, match='manifest, "targets", "fused", "domains": got a, expected int'):
        Manifest.from_json(text, "p.pt2")


def test_whether_rows_depend_on_each_other_is_read_again_and_may_be_missing():
    manifest = whole()
    assert "row_dependence" not in manifest.to_json()
    manifest.row_dependence = RowDependence("dependent", "aten.mean along the rows")
    text = json.loads(json.dumps(manifest.to_json()))
    assert text["row_dependence"] == {"answer": "dependent", "reason": "aten.mean along the rows", "analysis": ANALYSIS}
    assert Manifest.from_json(text, "p.pt2") == manifest
    text["row_dependence"]["analysis"] = "a"
    with pytest.raises(InputError, match='"row_dependence", "analysis": got a, expected int'):
        Manifest.from_json(text, "p.pt2")


def test_ensembles_of_trees_are_read_again():
    manifest = whole()
    manifest.targets[0].fused, manifest.forest = None, Forest("forest/ensemble.bin", [[0, 1], [2, 0]], [["trees", "3"]])
    text = json.loads(json.dumps(manifest.to_json()))
    assert Manifest.from_json(text, "p.pt2") == manifest and "fused" not in text
    text["forest"]["columns"] = [[0, "x"]]
    with pytest.raises(InputError, match='manifest, "forest", "columns": got x, expected int'):
        Manifest.from_json(text, "p.pt2")


@pytest.mark.parametrize(
    "edit, message",
    [
        (lambda text: text.update(schema=1), "its format is 1, this version of tensoa reads 2 and 3; compile the model again"),
        (
            lambda text: text.update(schema=4),
            "p.pt2: its format is 4, this version of tensoa reads 2 and 3; a newer tensoa wrote it: update this one",
        ),
        (lambda text: text.pop("schema"), "p.pt2: its format is None, this version"),
        (lambda text: text.pop("rows"), 'p.pt2: its manifest: "rows" is missing'),
        (lambda text: text.update(colour="red"), 'p.pt2: its manifest: "colour" is unknown'),
        (
            lambda text: text["fused"]["cuda"]["params"].pop("blocks"),
            '"fused", "cuda", "params": "blocks" is missing',
        ),
        (lambda text: text.update(target=3), 'p.pt2: its manifest, "target": got 3, expected str'),
        (lambda text: text["recorded"].update(cases={}), 'manifest, "recorded", "cases": got {}, expected'),
        (lambda text: text["fused"].update(domains=["a"]), 'manifest, "fused", "domains": got a, expected int'),
        (lambda text: text["fused"].update(deterministic=1), 'manifest, "fused", "deterministic": got 1, expected bool'),
    ],
)
def test_what_is_not_a_manifest_is_refused_by_the_name_of_its_key(edit, message):
    text = copy.deepcopy(whole().to_json())
    edit(text)
    with pytest.raises(InputError) as error:
        Manifest.from_json(text, "p.pt2")
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("text", [None, [], "text", 3])
def test_json_that_is_not_an_object_is_refused(text):
    with pytest.raises(InputError, match="p.pt2: its format is None"):
        Manifest.from_json(text, "p.pt2")


def test_numbers_that_json_has_not_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        archive.write(tmp_path / "model.pt2", {}, {"error": math.inf})
    assert not (tmp_path / "model.pt2").exists()
