# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The page that bench/published/run.py writes, from the results that are checked in."""

import importlib.util
import json
import sys
import tomllib

from conftest import ROOT


def test_the_page_of_published_networks_is_that_of_the_results(monkeypatch):
    folder = ROOT / "bench" / "published"
    monkeypatch.syspath_prepend(folder)  # of models.py
    spec = importlib.util.spec_from_file_location("run_published", folder / "run.py")
    run = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run)
    networks = [run.Published(**entry) for entry in tomllib.loads((folder / "models.toml").read_text())["model"]]
    assert run.PAGE.read_text() == run.page(networks, json.loads(run.RESULTS.read_text()))
    monkeypatch.delitem(sys.modules, "models")  # tests/service has another one
