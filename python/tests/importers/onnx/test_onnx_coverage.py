# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The node tests of the package onnx."""

import onnx
import pytest
import torch

from conftest import ROOT
from tensoa.importers.onnx import coverage
from tensoa.importers.onnx.operators import OPERATORS, tensorflow

PAGE = ROOT / "docs" / "onnx_operators.md"


@pytest.fixture(scope="module")
def outcomes():
    return list(coverage.outcomes())


def test_no_number_is_wrong(outcomes):
    assert [(one.name, one.reason) for one in outcomes if one.result == coverage.WRONG] == []


def test_refusals_say_why(outcomes):
    refused = [one for one in outcomes if one.result == coverage.REFUSED]
    assert refused and all(one.reason and "\n" not in one.reason for one in refused)


def test_page_is_the_one_that_the_command_prints(outcomes):
    text = PAGE.read_text().splitlines()
    listed = {line.split("|")[1].strip() for line in text if line.startswith("| ") and line.count("|") == 5}
    expected = {f"{domain}.{name}" if domain else name for domain, name in OPERATORS if domain != tensorflow.DOMAIN}
    assert listed - {"operator", "---"} == expected
    torch_version = torch.__version__.partition("+")[0]
    if f"onnx {onnx.__version__} and\ntorch {torch_version}." in PAGE.read_text():
        assert text == list(coverage.page(outcomes))
