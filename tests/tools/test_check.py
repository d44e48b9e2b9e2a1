# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""`tensoa check`: two models that give the same numbers, and two that do not."""

import json
import sys

import pytest
import torch
from exporting import bind, block
from torch import nn

from conftest import ROOT, Close, edited, names_in, package, refuse, save, succeed, tensoa, write_event

sys.path.append(str(ROOT / "tests" / "pytorch"))


class AlmostClose(nn.Module):
    """Differs from Close by a thousandth."""

    def __init__(self):
        super().__init__()
        self.close = Close()

    def forward(self, x, edge_index):
        return self.close(x, edge_index) * 0.999


class SometimesNothing(nn.Module):
    """The network of the package, but for the row 32, if there is one."""

    def __init__(self):
        super().__init__()
        from make_models import Mlp

        self.mlp = Mlp()

    def forward(self, x):
        y = self.mlp(x)
        mask = torch.arange(y.size(0)) == 32
        return torch.where(mask.unsqueeze(1), torch.full_like(y, float("nan")), y)


def mlp(tmp_path):
    from make_models import Mlp

    return save(Mlp(), tmp_path / "mlp.pt")


def differ(*arguments, says):
    """Runs a check that must end with status 1 and one line on stderr."""
    done = tensoa("check", *arguments)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    for part in says:
        assert part in done.stderr
    return done


def test_package_and_module_give_the_same_at_all_rows_and_offsets(tmp_path, out):
    succeed("check", package("mlp-cpu.pt2"), "--against", mlp(tmp_path), "--json", out / "check.json")
    result = json.loads((out / "check.json").read_text())
    assert names_in(out) == ["check.json"]
    assert (result["device"], result["against_device"], result["is_right"]) == ("cpu", "cpu", True)
    expected = [(f"{rows} rows from {offset}", 2 * rows) for rows in (0, 1, 2, 33, 1000, 4097) for offset in (0, 1)]
    assert [(row["inputs"], row["n"]) for row in result["rows"]] == expected
    assert all(row["max_rel_error"] <= 1e-6 and row["block"] == "preds" for row in result["rows"])
    assert result["max_rel_error"] == max(row["max_rel_error"] for row in result["rows"])


def test_every_kind_of_column_and_fixed_rows():
    path = package("kinds-cpu.pt2")
    text = succeed("check", path, "--against", path, "--rows", 1, 33).stdout
    for part in ("abc", "moved", "id", "summary", "33 rows from 1"):
        assert part in text


def test_one_wrong_row_is_found_where_it_is(tmp_path, out):
    wrong = save(SometimesNothing(), tmp_path / "wrong.pt")
    succeed("check", package("mlp-cpu.pt2"), "--against", wrong, "--rows", 0, 1, 32)
    path = out / "check.json"
    differ(
        package("mlp-cpu.pt2"), "--against", wrong, "--rows", 32, 33, "--json", path,
        says=["mlp-cpu.pt2", "wrong.pt", 'block "preds"', "33 rows from", "tolerance 3e-05"],
    )  # fmt: skip
    result = json.loads(path.read_text())
    assert not result["is_right"]
    errors = [row["max_rel_error"] for row in result["rows"]]
    assert max(errors[:2]) <= 1e-6 and errors[2:] == [None, None]  # None: not finite


def test_edge_scorers_are_compared_on_events(tmp_path, model, out):
    write_event(tmp_path, "one")
    other = save(AlmostClose(), tmp_path / "other.pt")
    succeed("check", model, "--against", model, tmp_path)
    done = differ(model, "--against", other, tmp_path, says=["event one", 'block "score"', "1.0", "e-03"])
    assert "worst: relative error 1.0" in done.stdout
    succeed("check", model, "--against", other, tmp_path, "--tolerance", 2e-3)
    assert "event generated-1-1" in succeed("check", model, "--against", model).stdout


def test_package_of_an_edge_scorer_is_compared_on_columns_and_events(our_model):
    path = package("edge_network-cpu.pt2")
    text = succeed("check", path, "--against", our_model, "--rows", 1, 33).stdout
    for part in ("33 rows from 1", "event generated-1-0"):
        assert part in text


def test_package_is_compared_with_what_it_was_made_to_give(out):
    path = out / "check.json"
    for name in ("mlp-cpu.pt2", "kinds-cpu.pt2", "graph-cpu.pt2", "edge_network-cpu.pt2"):
        succeed("check", package(name), "--json", path)
        result = json.loads(path.read_text())
        assert result["is_right"] and result["tolerance"] == 3e-5
        # Made-up hits are far from helices: the network's float32 results of them are wider apart than the tolerance, which the
        # package records.
        assert result["max_rel_error"] <= (1e-2 if name.startswith("edge_network") else 3e-5)
        assert [row["inputs"] for row in result["rows"]].count("1000 rows from 1") == len({row["block"] for row in result["rows"]})
    assert "against" not in result and "gpu" not in result


def test_package_that_gives_something_else_is_found(tmp_path):
    def spoil(manifest, records):
        record = bytearray(records["model/check/33.bin"])
        record[-1] ^= 0x40  # the exponent of the last result
        records["model/check/33.bin"] = bytes(record)

    path = edited(package("mlp-cpu.pt2"), tmp_path / "other.pt2", spoil)
    differ(path, says=["other.pt2 differs from what it was made to give", 'block "preds"', "33 rows from 0"])
    differ(path, "--tolerance", 1e-9, says=["tolerance 1e-09"])


@pytest.fixture(scope="module")
def for_both(tmp_path_factory):
    """A package for both targets."""
    from tensoa.export import Options, export

    path = tmp_path_factory.mktemp("both") / "both.pt2"
    columns = bind([block("x", ["a", "b"])], [block("y", ["p", "q"])])
    export(nn.Linear(2, 2), columns, path, Options("cpu,cuda", precision="bf16", report=lambda line: None))
    return path


def test_a_package_for_several_targets_is_checked_on_each_that_is_here(for_both, out):
    done = succeed("check", for_both, "--json", out / "check.json")
    found = json.loads((out / "check.json").read_text())
    names = ["cpu", "cuda:0"] if torch.cuda.is_available() else ["cpu"]
    assert [one["device"] for one in found["devices"]] == names
    assert [one["tolerance"] for one in found["devices"]] == [3e-5, 3e-2][: len(names)]
    assert found["is_right"] and found["not_checked"] == ([] if torch.cuda.is_available() else ["cuda"])
    assert ("not checked for cuda: there is no such device here\n" in done.stdout) == bool(found["not_checked"])
    succeed("check", for_both, "--device", "cpu", "--json", out / "check.json")
    assert json.loads((out / "check.json").read_text())["device"] == "cpu"


def test_a_target_that_gives_something_else_is_found(for_both, tmp_path):
    def spoil(manifest, records):
        record = bytearray(records["model/check/33.bin"])
        record[-1] ^= 0x40  # the exponent of the last result
        records["model/check/33.bin"] = bytes(record)

    differ(edited(for_both, tmp_path / "wrong.pt2", spoil), says=["wrong.pt2", "differs from what it was made to give"])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda_graphs_of_a_package_for_several_targets_are_tried_on_the_gpu(for_both):
    assert "CUDA graphs: captured" in succeed("check", for_both, "--cuda-graphs").stdout


class Centred(nn.Module):
    """Each number less the mean of its column."""

    def forward(self, x):
        return x - x.mean(dim=0, keepdim=True)


def test_rows_are_divided_among_calls_where_the_package_says_that_they_are_independent(tmp_path):
    assert ", 334 a call" in succeed("check", package("mlp-cpu.pt2")).stdout
    from tensoa.export import Options, export
    from tensoa.package.manifest import ANALYSIS

    path = tmp_path / "centred.pt2"
    export(Centred(), bind([block("x", ["a", "b"])], [block("y", ["p", "q"])]), path, Options(report=lambda line: None))
    assert " a call" not in succeed("check", path).stdout
    lie = {"answer": "independent", "analysis": ANALYSIS}
    lies = edited(path, tmp_path / "lies.pt2", lambda manifest, records: manifest.update(row_dependence=lie))
    differ(lies, says=["lies.pt2 differs from what it was made to give", " a call"])


def test_recorded_results_that_are_not_whole_or_not_there(tmp_path, model):
    def cut(manifest, records):
        records["model/check/33.bin"] = records["model/check/33.bin"][:-1]

    path = edited(package("mlp-cpu.pt2"), tmp_path / "cut.pt2", cut)
    refuse("check", path, says=["cut.pt2", "its recorded results are cut off"])
    path = edited(package("mlp-cpu.pt2"), tmp_path / "old.pt2", lambda manifest, records: manifest.pop("recorded"))
    refuse("check", path, says=["old.pt2", "holds no results to be compared with; say --against OTHER"])
    refuse("check", model, says=["close.pt", "say --against OTHER"])


@pytest.mark.parametrize(
    "edit",
    [
        lambda right: right[:1],
        lambda right: right[:-1],
        lambda right: [*right, right[-1]],
        lambda right: [*right[:-1], right[-1][:-1]],
        lambda right: [[*right[0], 1.0], *right[1:]],
        lambda right: [[] for _ in right],
    ],
    ids=["one output", "an output less", "an output more", "a plane less", "a plane more", "no planes"],
)
def test_recorded_tolerances_are_one_for_each_plane_of_each_output(edit, tmp_path):
    def spoil(manifest, records):
        case = manifest["recorded"]["cases"][-1]
        assert len(case["tolerances"]) > 2
        case["tolerances"] = edit(case["tolerances"])

    path = edited(package("kinds-cpu.pt2"), tmp_path / "spoilt.pt2", spoil)
    refuse("check", path, says=["spoilt.pt2", "its recorded tolerances are not those of its output columns"])


def test_cuda_graphs_are_tried_on_gpus_only(model):
    path = package("mlp-cpu.pt2")
    refuse("check", path, "--cuda-graphs", says=["--cuda-graphs", "mlp-cpu.pt2 on cpu has none", "a package for CUDA"])
    refuse("check", model, "--cuda-graphs", says=["--cuda-graphs", "close.pt on cpu"])
    refuse("check", path, "--cuda-graphs", "--against", model, says=["--cuda-graphs", "--against"])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("name", ["mlp", "kinds", "graph", "edge_network"])
def test_cuda_package_is_right_and_can_be_captured(name, out):
    path = package(f"{name}-cuda.pt2")
    succeed("check", path, "--json", out / "numbers.json")
    text = succeed("check", path, "--cuda-graphs", "--json", out / "graphs.json").stdout
    assert "CUDA graphs: captured, and replayed with the same results" in text
    numbers, graphs = (json.loads((out / file).read_text()) for file in ("numbers.json", "graphs.json"))
    assert numbers["gpu"] == graphs["gpu"] == torch.cuda.get_device_name(0)
    assert numbers["architecture"] == "sm_{}{}".format(*torch.cuda.get_device_capability(0))
    assert graphs["cuda_graphs"] is True


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_cuda_graphs_of_no_rows_say_nothing():
    says = ["nothing was compared", "--rows"]
    refuse("check", package("mlp-cuda.pt2"), "--cuda-graphs", "--rows", 0, says=says)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_cuda_package_that_cannot_be_captured_says_why(out):
    path = package("synchronises-cuda.pt2")
    succeed("check", path)
    done = tensoa("check", path, "--cuda-graphs", "--json", out / "graphs.json")
    assert done.returncode == 1, done.stderr
    ours = [line for line in done.stderr.splitlines() if line.startswith("tensoa: ")]  # torch logs the call with its stack, too
    assert len(ours) == 1 and "CUDA graphs are off" in ours[0] and "capturing a call failed" in ours[0], done.stderr
    assert "capturing a call failed" in json.loads((out / "graphs.json").read_text())["cuda_graphs"]


def test_models_that_cannot_be_compared(tmp_path, model):
    path = package("mlp-cpu.pt2")
    refuse("check", path, "--against", package("kinds-cpu.pt2"), says=["kinds-cpu.pt2"])
    refuse("check", path, "--against", model, says=["takes 2 inputs (x, edge_index), got 1"])
    refuse("check", mlp(tmp_path), "--against", model, says=["mlp.pt", "edge_index"])
    refuse("check", path, "--against", mlp(tmp_path), "generate:1", says=["mlp-cpu.pt2"])


def test_bad_use(tmp_path, model):
    refuse("check", model, says=["--against"])
    refuse("check", "--against", model, says=["MODEL"])
    refuse("check", model, "--against", tmp_path / "nothing.pt", says=["nothing.pt", "there is no such file"])
    for value in ("-1", "nan", "inf", "2"):
        refuse("check", model, "--against", model, "--tolerance", value, says=["--tolerance", f"got {value}, expected a number, 0 to 1"])
    refuse("check", model, "--against", model, "--device", "cuda:99", says=["cuda:99"])
    refuse("check", model, "--against", model, "--json", tmp_path / "no" / "file", says=["file"])


@pytest.mark.parametrize("name", ["tampered_middle.pt2", "truncated.pt2"])
def test_bad_packages(name, tmp_path):
    refuse("check", package(name), "--against", mlp(tmp_path), says=[name])


def test_package_for_another_machine(tmp_path):
    whole = package("mlp-cpu.pt2")
    path = edited(whole, tmp_path / "vax.pt2", lambda manifest, records: manifest.update(machine="vax"))
    refuse("check", path, "--against", mlp(tmp_path), says=["vax.pt2", "was made for vax"])
