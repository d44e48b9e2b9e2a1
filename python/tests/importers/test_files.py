# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Files that are no model, or not a whole one: what they are, and what to do."""

import pytest
import torch
from torch import nn

from tensoa import binding
from tensoa.errors import InputError
from tensoa.importers import checkpoints
from tensoa.importers.files import load_module
from tensoa.importers.trees import files as trees

#: How torch.save writes: archives, with a later protocol of pickle, and as it did before torch 1.6.
FORMS = [{}, {"pickle_protocol": 4}, {"_use_new_zipfile_serialization": False}]


def refusal(path):
    with pytest.raises(InputError) as caught:
        load_module(str(path))
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and "\n" not in message
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ending", ["pt", "ckpt", "pth"])
def test_a_pickled_module_is_not_called_weights(form, ending, tmp_path):
    module, path = nn.Sequential(nn.Linear(3, 2)), tmp_path / f"a.{ending}"
    torch.save(module, path, **form)
    assert refusal(path) == (
        "holds a pickled torch.nn.modules.container.Sequential, no state_dict, which only its Python code can "
        f'load; expected FILE.py:FACTORY, a function that returns torch.load("{path}", weights_only=False), or a file of '
        "torch.export.save (FILE.pt2) or torch.jit.save (FILE.pt)"
    )
    for weights in (module.state_dict(), dict(module.state_dict()), {"state_dict": module.state_dict(), "epoch": 3}):
        torch.save(weights, path, **form)
        assert refusal(path) == (
            "holds weights, not a model; expected FILE.py:FACTORY, a function that makes the network and loads them"
        )
        if "pickle_protocol" not in form:  # which torch's reader of weights does not read
            assert checkpoints.load(path).tensors.keys() == {"0.weight", "0.bias"}
    for tensors in ([torch.ones(2)], torch.ones(2), nn.Parameter(torch.ones(2))):
        torch.save(tensors, path, **form)
        assert refusal(path).startswith("holds weights, not a model")


def test_no_file_of_torch_save_is_trees(tmp_path):
    path = tmp_path / "a.pt"
    torch.save(nn.Linear(3, 2).state_dict(), path, _use_new_zipfile_serialization=False)
    assert path.read_bytes().startswith(checkpoints.OLD)
    assert not trees.is_ensemble(path)
    with pytest.raises(InputError, match="a.pt: is a file of torch.save, not an ensemble of trees; expected an ensemble of"):
        trees.load(path, trees.ImportOptions())


def test_a_damaged_file_of_torch_save_is_refused(tmp_path):
    path = tmp_path / "a.pt"
    path.write_bytes(checkpoints.OLD + b"\x80")
    assert refusal(path).startswith("holds weights, not a model")
    with pytest.raises(InputError, match="cannot read the weights"):
        checkpoints.load(path)


def test_torchscript_may_have_any_ending(tmp_path):
    torch.jit.script(nn.Linear(3, 2)).save(tmp_path / "a.pth")
    assert load_module(str(tmp_path / "a.pth"))(torch.ones(1, 3)).shape == (1, 2)


TABLES = [
    ("a.parquet", b"PAR1\xc0", "a Parquet file"),
    ("a.arrow", b"ARROW1\0\0", "an Arrow file"),
    ("a.feather", b"FEA1\xc0", "a Feather file"),
    ("a.ipc", b"\xff\xff\xff\xff\xc0", "an Arrow stream"),
    ("a.csv", b"pt,eta\n1,2\n", "a CSV file"),
]


@pytest.mark.parametrize("name, content, kind", TABLES)
def test_rows_are_neither_a_model_nor_a_binding(name, content, kind, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    assert refusal(path) == f"is {kind}, rows and not a model; expected FILE.py:FACTORY or the file of a model"
    with pytest.raises(InputError) as caught:
        binding.load(path)
    assert str(caught.value) == (
        f"{path}: is {kind}, rows and not what describe(metadata) writes; rows belong to --example, or "
        "without a description: tensoa compile MODEL --out FILE.pt2 --columns BLOCK=COLUMN,COLUMN "
        "--example FILE.parquet"
    )


def test_a_binding_that_is_no_json_is_refused_with_the_line_to_type(tmp_path):
    (tmp_path / "b.txt").write_text("pt eta")
    line = "tensoa compile MODEL --out FILE.pt2 --columns BLOCK=COLUMN,COLUMN"
    with pytest.raises(
        InputError, match=rf"got no JSON \(.*\), expected what describe\(metadata\) writes; without it: {line}$"
    ):
        binding.load(tmp_path / "b.txt")
