# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""`tensoa describe`: the columns that packages for `tensoa track` are made for."""

import json
import zipfile

from conftest import package, succeed


def described(path, *arguments):
    succeed("describe", *arguments, "--output", path)
    return json.loads(path.read_text())


def test_columns_are_those_that_track_binds(tmp_path):
    with zipfile.ZipFile(package("edge_network-cpu.pt2")) as archive:
        manifest = json.loads(archive.read("model/extra/tensoa.json"))
    assert described(tmp_path / "binding.json") == manifest["binding"]


def test_edge_columns_are_left_out_on_request(tmp_path):
    with_all = described(tmp_path / "all.json")
    without = described(tmp_path / "without.json", "--without-edge-columns")
    assert [block["name"] for block in with_all["inputs"]] == ["x", "edge_index", "edge_attr"]
    assert without["inputs"] == with_all["inputs"][:2] and without["outputs"] == with_all["outputs"]
    assert [column["name"] for column in without["outputs"][0]["columns"]] == ["score"]


def test_exporter_takes_what_it_writes(tmp_path):
    from tensoa import binding

    described(tmp_path / "binding.json")
    x, edge_index, edge_attr = binding.load(tmp_path / "binding.json").inputs
    assert (x.shape(7), edge_index.shape(7), edge_attr.shape(7)) == ((7, 3), (2, 7), (7, 4))
