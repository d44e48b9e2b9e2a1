# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Files that are not a model, or not a whole one: what they are, and what to do."""

from fractions import Fraction

import pytest
import torch
import torch.fx
from safetensors.torch import save_file
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
        "load; expected --trust-pickle, which runs code that is in the file, or a file of torch.export.save (FILE.pt2) or "
        "torch.jit.save (FILE.pt)"
    )
    for weights in (module.state_dict(), dict(module.state_dict()), {"state_dict": module.state_dict(), "epoch": 3}):
        torch.save(weights, path, **form)
        assert refusal(path) == (
            f"holds weights, not a model; expected FILE.py:FACTORY, a function that makes the network, and --weights {path}"
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


def test_a_binding_that_is_not_json_is_refused_with_the_line_to_type(tmp_path):
    (tmp_path / "b.txt").write_text("pt eta")
    line = "tensoa compile MODEL --out FILE.pt2 --columns BLOCK=COLUMN,COLUMN"
    with pytest.raises(
        InputError, match=rf"got no JSON \(.*\), expected what describe\(metadata\) writes; without it: {line}$"
    ):
        binding.load(tmp_path / "b.txt")


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.second(self.first(x).relu())


@pytest.mark.parametrize("beginning", ["", "model."])
@pytest.mark.parametrize("kind", ["safetensors", "pt", "ckpt"])
def test_a_module_gets_the_weights_of_a_file(kind, beginning, tmp_path):
    trained, path = Pair(), tmp_path / f"a.{kind}"
    tensors = {beginning + name: tensor for name, tensor in trained.state_dict().items()}
    if kind == "safetensors":
        save_file(tensors, path)
    else:
        torch.save({"state_dict": tensors} if kind == "ckpt" else tensors, path)
    made = checkpoints.with_weights(Pair(), str(path))
    x = torch.randn(5, 3)
    assert torch.equal(made(x), trained(x))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda tensors: tensors.pop("first.bias"), "it has no first.bias"),
        (lambda tensors: tensors.update(third=torch.ones(2)), "the module has no third"),
        (lambda tensors: tensors.update({"first.bias": torch.ones(5)}), r"first.bias is \[5\], expected \[4\]"),
    ],
)
def test_weights_of_another_module_are_refused_by_their_names(change, message, tmp_path):
    tensors, path = dict(Pair().state_dict()), tmp_path / "a.safetensors"
    change(tensors)
    save_file(tensors, path)
    with pytest.raises(InputError, match=f"a.safetensors: is not of this module: {message}"):
        checkpoints.with_weights(Pair(), str(path))


def test_a_file_that_is_not_safetensors_is_refused(tmp_path):
    (tmp_path / "a.safetensors").write_bytes(b"hello")
    with pytest.raises(InputError, match="cannot read the weights"):
        checkpoints.with_weights(Pair(), str(tmp_path / "a.safetensors"))


def test_a_pickled_graph_module_is_loaded_where_it_is_trusted(tmp_path):
    module = torch.fx.symbolic_trace(Pair())
    torch.save(module, tmp_path / "a.pt")
    x = torch.randn(5, 3)
    assert torch.equal(checkpoints.unpickled(str(tmp_path / "a.pt"))(x), module(x))


def test_a_pickle_of_something_else_is_refused(tmp_path):
    torch.save(Fraction(1, 3), tmp_path / "a.pt")
    with pytest.raises(InputError, match="holds a pickled Fraction, expected a torch.nn.Module"):
        checkpoints.unpickled(str(tmp_path / "a.pt"))
