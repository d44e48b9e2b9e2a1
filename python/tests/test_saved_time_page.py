# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The page that `make path` writes, from the results that are checked in."""

import importlib.util
import re

from conftest import ROOT


def test_the_page_of_saved_time_is_that_of_the_results_and_links_their_files():
    spec = importlib.util.spec_from_file_location("path", ROOT / "bench" / "path.py")
    path = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(path)
    text = path.page(path.read_results())
    assert path.PAGE.read_text() == text
    linked = re.findall(r"\(\.\./benchmarks/results/(path-.*?\.json)\)", text)
    assert sorted(linked) == sorted(file.name for file in path.RESULTS.glob("path-*.json"))
