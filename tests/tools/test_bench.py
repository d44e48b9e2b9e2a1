# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The files that `tensoa-bench` writes, and wrong calls of it: one line, status 2."""

import json
import os
import shutil
import subprocess
import sys
from functools import partial

import conftest
import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest
import torch
from conftest import BENCH, ROOT, names_in, package, save, straight_tracks

succeed, refuse, run = (partial(call, program=BENCH) for call in (conftest.succeed, conftest.refuse, conftest.tensoa))

ROW = {"variant": str, "device": str, "n": int, "threads": int}
TIMES = {"median_us": float, "min_us": float, "max_us": float}


def bench(out, name, *arguments, device="cpu"):
    """The rows of the file; the rest of the file is checked."""
    path = out / "bench.json"
    arguments = [str(argument) for argument in (*arguments, "--device", device)]
    succeed(name, *arguments, "--json", path)
    assert names_in(out) == ["bench.json"]
    result = json.loads(path.read_text())
    assert set(result) == {"bench", "command", "machine", "versions", "rows"}
    assert result["bench"] == name
    assert " ".join(("tensoa-bench", name, *arguments)) in result["command"]
    assert set(result["machine"]) == {"cpu", "cores", "gpus"}
    assert set(result["versions"]) == {"tensoa", "torch", "compiler"}
    return result["rows"]


def bench_events(out, name, model, *arguments):
    return bench(out, name, "generate:2:8:40", "--model", model, *arguments)


def has(row, types):
    return all(type(row.get(key)) is kind for key, kind in types.items())


def check_path(rows, models, parts=None):
    """The ways of each model, stage by stage, and what is compared. Returns the totals of each size and number of threads."""
    assert all(has(row, ROW | TIMES | {"stage": str, "model": str}) for row in rows)
    assert all(0 <= row["min_us"] <= row["median_us"] <= row["max_us"] for row in rows)
    for row in rows:
        if row["stage"] != "total":
            assert row["stage"] in {"in_place": ("bind", "model"), "pack": ("pack", "model", "answer")}[row["variant"]]
        assert parts is None or (row[parts] > 0 and row["events"] > 0)
    totals = [row for row in rows if row["stage"] == "total"]
    for packed, direct in zip(totals[1::2], totals[::2]):
        assert (packed["model"], packed["n"], packed["threads"]) == (direct["model"], direct["n"], direct["threads"])
        assert (direct["variant"], direct["baseline"], packed["variant"]) == ("in_place", "pack", "pack")
        assert direct["ratio"] == packed["median_us"] / direct["median_us"]
        assert "ratio" not in packed and type(packed["saved_ms"]) is float
        assert packed["bytes_copied"] > direct["bytes_copied"]
        assert 0 <= packed["max_abs_error"] <= 1e-5 and 0 <= direct["max_abs_error"] <= 1e-5
    size = 2 * len(models)
    assert [row["model"] for row in totals[:size:2]] == [os.path.basename(model) for model in models]
    return [totals[i : i + size] for i in range(0, len(totals), size)]


def test_path_of_hits(out, our_model):
    sizes = check_path(bench_events(out, "path", our_model, "--repeats", 3), [our_model], "hits")
    assert len(sizes) == 2
    for direct, _ in sizes:
        assert direct["bytes_copied"] == 4 * direct["n"] > 0


def test_path_of_hits_as_a_package_and_as_torchscript(out):
    models = [package(f"edge_network{ending}") for ending in ("-cpu.pt2", ".pt")]
    arguments = ("generate:1:8:40", "--model", *models, "--batch", 1, 3, "--threads", 1, 2, "--repeats", 2)
    sizes = check_path(bench(out, "path", *arguments), models, "hits")
    assert [(size[0]["threads"], size[0]["events"]) for size in sizes] == [(1, 1), (2, 1), (1, 3), (2, 3)]
    assert sizes[2][0]["n"] == 3 * sizes[0][0]["n"] and sizes[2][0]["hits"] == 3 * sizes[0][0]["hits"]
    for package_in_place, package_packed, torchscript, torchscript_packed in sizes:
        n, hits = package_packed["n"], package_packed["hits"]
        assert [row["bytes_copied"] for row in (package_in_place, package_packed)] == [0, 12 * hits + (16 + 16 + 4) * n]
        assert torchscript_packed["bytes_copied"] - torchscript["bytes_copied"] == package_packed["bytes_copied"]


class Near(torch.nn.Module):
    """Fragments whose clusters come near belong together."""

    def forward(self, x, edge_index, edge_attr):
        return torch.exp(-edge_attr[:, 3] / 50)


def test_path_of_fragments(out, tmp_path):
    model = save(Near(), tmp_path / "near.pt")
    arguments = ("--of", "fragments", "generate:2:8:5", "--model", model, "--batch", 2, "--repeats", 2)
    sizes = check_path(bench(out, "path", *arguments), [model], "fragments")
    assert [size[0]["events"] for size in sizes] == [2, 2]
    for direct, packed in sizes:
        assert packed["bytes_copied"] == 29 * 4 * packed["fragments"] + (16 + 7 * 4 + 4 + 4) * packed["n"]


def test_path_of_rows(out):
    model = package("mlp-cpu.pt2")
    sizes = check_path(bench(out, "path", "--of", "rows", "--rows", 0, 1, 33, "--model", model, "--repeats", 2), [model])
    assert [(direct["n"], direct["bytes_copied"], packed["bytes_copied"]) for direct, packed in sizes] == [(1, 0, 20), (33, 0, 660)]


def test_path_refuses_a_model_of_another_application(out, tmp_path):
    hits, rows = package("edge_network-cpu.pt2"), package("mlp-cpu.pt2")
    near = save(Near(), tmp_path / "near.pt")
    refuse("path", "--of", "fragments", "--model", hits, says=["edge_network-cpu.pt2", "expected forward(x [n, 29]"])
    refuse("path", "--model", rows, says=["mlp-cpu.pt2", "expected forward(x [n_hits, 3]"])
    refuse("path", "--of", "rows", "--model", near, says=["near.pt", "expected a package"])


def test_path_refuses_what_it_cannot_measure(out, our_model):
    with_model = ("--model", our_model)
    refuse("path", "--of", "fragments", "generate:1:1:0", "--model", our_model, says=["no event has candidate edges"])
    refuse("path", "--of", "rows", "--model", package("mlp-cpu.pt2"), "--rows", 0, says=["no rows"])
    refuse("path", "--of", "rows", says=["--model", "expects a package"])
    refuse("path", "generate:1", "--of", "rows", *with_model, says=["INPUT", "has no meaning with --of rows"])
    refuse("path", "--of", "rows", *with_model, "--batch", 2, says=["--batch", "has no meaning with --of rows"])
    refuse("path", *with_model, "--rows", 2, says=["--rows", "has no meaning with --of hits"])
    refuse("path", *with_model, "--of", "fish", says=["--of", "fish"])
    refuse("path", *with_model, "--batch", 0, says=["--batch", "0"])
    without_library = run("path", *with_model, "--device", "cpu", "--onnxruntime", "none.so")
    assert without_library.returncode == 1 and "none.so: cannot open" in without_library.stderr


def test_accuracy_compares_with_float64(out, our_model):
    rows = bench_events(out, "accuracy", our_model)
    assert len(rows) == 2
    for row in rows:
        assert has(row, ROW | {"max_abs_error": float, "max_rel_error": float, "flips": int})
        assert (row["variant"], row["device"]) == ("jit", "cpu")
        assert 0 < row["max_abs_error"] <= 1e-3 and 0 < row["max_rel_error"] <= 3e-5 and row["flips"] <= 3


def test_latency_tells_the_tail_of_single_events(out):
    arguments = ("--rows", 1, 16, "--events", 2000)
    rows = bench(out, "latency", package("fused.pt2"), *arguments)
    assert [(row["variant"], row["n"]) for row in rows] == [("clock", 0), ("plan", 1), ("plan", 16)]
    for row in rows:
        tail = [row[key] for key in ("min_us", "median_us", "p99_us", "p99.9_us", "p99.99_us", "max_us")]
        assert tail == sorted(tail) and tail[0] > 0
        assert row["jitter_us"] == pytest.approx(row["p99.9_us"] - row["median_us"])
        assert (row["later_than_12.5_us"] > 0) == (row["max_us"] > 12.5)
    assert rows[0]["median_us"] < rows[1]["median_us"]


def test_latency_needs_to_know_the_columns(out, our_model):
    refuse("latency", our_model, says=["latency: ", "does not state which columns it reads", "a package or a tree file"])


def test_binding_compares_ours_with_the_library_and_packing(out):
    rows = bench(out, "binding", "--rows", 0, 1, 33, "--repeats", 2)
    assert all(has(row, ROW | TIMES | {"columns": int, "bytes_copied": int}) for row in rows)
    assert all(0 < row["min_us"] <= row["median_us"] <= row["max_us"] for row in rows)
    by_place = {}
    for row in rows:
        by_place.setdefault((row["n"], row["columns"]), {})[row["variant"]] = row
    assert list(by_place) == [(n, columns) for n in (0, 1, 33) for columns in (1, 3, 16, 64, 30)]
    for (n, columns), variants in by_place.items():
        rebind = "rebind_event" if columns == 30 else "rebind"
        assert set(variants) == {"pack", "from_blob", "from_blob_query", "bind", "view", rebind}
        row_bytes = 4 * (3 + 3 + 4 + 3 + 1 + 7) + 2 * 8 + 1 + 6 * 8 if columns == 30 else 4 * columns
        copied = {variant: row["bytes_copied"] for variant, row in variants.items()}
        assert copied == dict.fromkeys(variants, 0) | {"pack": n * row_bytes}
        for variant, baseline in (("bind", "from_blob"), (rebind, "pack")):
            row = variants[variant]
            assert (row["baseline"], row["ratio"]) == (baseline, variants[baseline]["median_us"] / row["median_us"])


@pytest.mark.parametrize("rows", ["-1", "many", "100000001"])
def test_binding_refuses_impossible_rows(rows):
    refuse("binding", "--rows", rows, says=["--rows", rows])


@pytest.fixture
def forward_packages(tmp_path):
    """A folder as `make bench-packages` fills it; plain and fused are the same file here."""
    sys.path.append(str(ROOT / "tests" / "pytorch"))
    from make_models import Mlp
    from tensoa import binding, just_in_time
    from tensoa.tracking import interaction_network

    folder = tmp_path / "packages"
    folder.mkdir()
    succeed("describe-forward", folder)
    network = interaction_network.load(ROOT / "models" / "interaction_network.safetensors")
    for name, module in (("mlp", Mlp()), ("edge_network", network)):
        just_in_time.write(module, binding.load(folder / f"{name}.json"), folder / f"{name}-jit.pt2")
    for name in ("mlp", "edge_network"):
        for kind in ("plain", "fused"):
            shutil.copy(package(f"{name}-cpu.pt2"), folder / f"{name}-cpu-{kind}.pt2")
    save(Mlp(), folder / "mlp.pt")
    shutil.copy(package("edge_network.pt"), folder)
    return folder


def test_forward_runs_every_variant_right(out, forward_packages):
    rows = bench(out, "forward", "generate:1:8:40", "--rows", 1, 33, "--repeats", 2, "--packages", forward_packages)
    assert all(has(row, ROW | TIMES | {"model": str, "max_rel_error": float, "bytes_copied": int}) for row in rows)
    variants = ["pack", "jit_copy", "jit_export", "aot", "aot_fused"]
    assert [row["variant"] for row in rows] == 3 * variants
    assert [(row["model"], row["n"]) for row in rows[:10:5]] == [("mlp", 1), ("mlp", 33)]
    assert rows[10]["model"] == "edge_network" and rows[10]["n"] > 100
    for row in rows:
        assert 0 < row["max_rel_error"] <= 1e-5 and row["stage"] == "total"
        assert ("flips" in row) == (row["model"] == "edge_network")
    for packed, jit, exported, aot, fused in zip(*[iter(rows)] * 5):
        n = packed["n"]
        inside, answer = (12 * n, 8 * n) if packed["model"] == "mlp" else (packed["bytes_copied"] - 8 * n, 4 * n)
        assert packed["bytes_copied"] == inside + 2 * answer  # packed, TorchScript's copy, unpacked
        assert [row["bytes_copied"] for row in (jit, exported, aot, fused)] == [answer, 0, 0, 0]
        assert "baseline" not in packed and jit["baseline"] == "pack"
        assert jit["ratio"] == packed["median_us"] / jit["median_us"]
        for row in (exported, aot, fused):
            assert (row["baseline"], row["ratio"]) == ("jit_copy", jit["median_us"] / row["median_us"])


def test_forward_says_which_package_is_missing(forward_packages):
    (forward_packages / "mlp-cpu-fused.pt2").unlink()
    refuse("forward", "--packages", forward_packages, says=["mlp-cpu-fused.pt2", "make bench-packages"])


def test_forward_describes_what_its_packages_are_made_for(out):
    succeed("describe-forward", out)
    assert names_in(out) == ["edge_network.json", "exatrkx.json", "mlp.json"]
    mlp = json.loads((out / "mlp.json").read_text())
    assert [column["name"] for column in mlp["inputs"][0]["columns"]] == ["x", "y", "z"]
    for name, blocks in (("edge_network", ["x", "edge_index", "edge_attr"]), ("exatrkx", ["x", "edge_index"])):
        network = json.loads((out / f"{name}.json").read_text())
        assert [block["name"] for block in network["inputs"]] == blocks


def test_scaling_counts_calls_of_all_threads_and_states_what_is_missing(out, forward_packages):
    arguments = ("generate:1:8:40", "--rows", 33, "--repeats", 1, "--packages", forward_packages)
    rows = bench(out, "scaling", *arguments)
    missing = [row for row in rows if row["variant"] == "not_measured"]
    assert [(row["gpus"], row["not_measured"]) for row in missing] == [(n, "GPUs there: 0") for n in (1, 2, 4, 8)]
    for model in ("mlp", "edge_network"):
        queues = [row for row in rows if (row.get("model"), row.get("stage")) == (model, "queues")]
        cores = len(os.sched_getaffinity(0))
        assert queues[0]["threads"] == 1 and queues[0]["ratio"] == 1
        assert queues[-1]["threads"] >= min(2, cores)
        for row in queues:
            assert has(row, ROW | TIMES | {"calls_per_s": int, "linear_calls_per_s": int, "ratio": float})
            assert row["baseline"] == "linear"
            assert not {"empty_kernels_calls_per_s", "full_gpu_calls_per_s", "ratio_full"} & set(row)
            assert row["calls_per_s"] == pytest.approx(1e6 / row["median_us"], abs=1)
            assert row["ratio"] == pytest.approx(row["calls_per_s"] / row["linear_calls_per_s"], rel=0.02)
        growth = [row for row in rows if (row.get("model"), row.get("stage")) == (model, "growth")]
        assert len(growth) == 1 and growth[0]["calls_per_device"] >= 10_000
        # Less than a byte a call: these packages allocate, and malloc counts what its caches hold.
        assert abs(growth[0]["heap_growth_bytes"]) < 10_000


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_scaling_on_gpus_is_compared_with_its_ceilings(out):
    packages = ROOT / "build" / "bench_packages"
    if not (packages / "edge_network-cuda-fused.pt2").exists():
        pytest.skip("`make bench-packages` was not run")
    arguments = ("generate:1:8:40", "--rows", 33, "--repeats", 1, "--packages", packages)
    rows = bench(out, "scaling", *arguments, device="cuda:0")
    raced = [row for row in rows if row["stage"] in ("queues", "gpus") and row["variant"] != "not_measured"]
    assert {(row["model"], row["variant"]) for row in raced} == {
        (model, variant) for model in ("mlp", "edge_network") for variant in ("aot_fused", "aot_graph")
    }
    for row in raced:
        rate, *ceilings = (
            row[f"{of}calls_per_s"] for of in ("", "linear_", "empty_kernels_", "full_gpu_", "one_graph_")
        )
        linear, empty, *_ = ceilings
        assert min(rate, *ceilings) > 0 and row["launches_per_call"] > 0
        assert row["full_gpu_inputs_per_call"] > 1  # calls of 33 rows fill no GPU
        assert row["baseline"] == ("linear" if linear <= empty else "empty_kernels")
        assert row["ratio"] == pytest.approx(rate / min(linear, empty), rel=0.01)
        assert row["ratio_full"] == pytest.approx(rate / min(ceilings), rel=0.01)
    several = {row["gpus"] for row in raced if row["stage"] == "gpus"}
    assert several == {count for count in (2, 4, 8) if count <= torch.cuda.device_count()}
    for row in rows:
        if row["stage"] == "growth":
            assert row["heap_growth_bytes"] <= 0 and row["gpu_growth_bytes"] == [0] * torch.cuda.device_count()
        if row["stage"] == "blocked":
            assert row["calls_returned_while_blocked"] == row["calls"]


def test_scaling_says_what_its_figures_mean():
    text = succeed("scaling", "--help").stdout
    for figure in ("linear", "empty_kernels", "full_gpu", "one_graph"):
        assert f"  {figure}_calls_per_s " in text
    assert "  ratio_full " in text


def test_scaling_says_which_package_is_missing(forward_packages):
    (forward_packages / "mlp-cpu-fused.pt2").unlink()
    arguments = ("--packages", forward_packages, "--device", "cpu")
    refuse("scaling", *arguments, says=["mlp-cpu-fused.pt2", "make bench-packages"])


def test_track_needs_a_gpu(our_model):
    refuse("track", "generate:1", "--model", our_model, "--device", "cpu", says=["got cpu", "expected a GPU"])


def test_reading_of_tables_is_compared_with_arrow(tmp_path):
    event = straight_tracks()
    table = pyarrow.table({name: [event[name]] * 5 for name in ("x", "y", "z")})
    pyarrow.parquet.write_table(table, tmp_path / "lists.parquet", row_group_size=2)
    with pyarrow.ipc.new_file(tmp_path / "lists.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=2)
    out = tmp_path / "reading.json"
    succeed("pipeline", tmp_path / "lists.parquet", tmp_path / "lists.arrow", "--repeats", 1, "--json", out)
    rows = json.loads(out.read_text())["rows"]
    assert [(row["model"], row["variant"]) for row in rows] == [(kind, variant) for kind in (".parquet", ".arrow") for variant in ("arrow", "events")]
    for row in rows:
        assert (row["n"], row["events"], row["stage"]) == (5 * len(event["x"]), 5, "read")
        assert row["bytes"] >= 3 * 8 * row["n"] and row["ns_per_byte"] > 0
    refuse("pipeline", tmp_path / "none.parquet", says=["none.parquet"])


MODEL = "MODEL"  # stands for a model that fits
WITH_MODEL = ["--model", MODEL]


def usage(*subcommand):
    return f"`{' '.join(('tensoa-bench', *subcommand))} --help` lists what there is"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], ["subcommand is required", usage()]),
        (["pth"], ['"pth" is unknown; the nearest is path; ', usage()]),
        (["path", "--repaets", "3"], ['"--repaets" is unknown; the nearest is --repeats; ', usage("path")]),
        (["path", *WITH_MODEL, "--repeats", "0"], ["--repeats", "0 not in range"]),
        (["path", *WITH_MODEL, "--device", "cuda:99"], ["device cuda:99 is not there; there is: cpu"]),
        (["accuracy", *WITH_MODEL, "generate:1:1:0"], ["no event has candidate edges"]),
        (["track", *WITH_MODEL, "--edge-room", "nan"], ["--edge-room", "got nan, expected a number, 1 to 100"]),
        (["describe-forward", "here", "there"], ['"there" stands behind no option', "expected tensoa-bench describe-forward FOLDER"]),
    ],
    ids=lambda value: " ".join(value) or "nothing" if isinstance(value, list) else None,
)
def test_wrong_call_is_refused(arguments, says, out, model):
    refuse(*(model if argument == MODEL else argument for argument in arguments), says=says, cwd=out)
    assert names_in(out) == []


def test_file_that_cannot_be_written_is_refused_before_the_measurement(out, model):
    path = out / "none" / "bench.json"
    refuse("path", "generate:1000", "--model", model, "--json", path, says=[f"cannot write {path}: No such file or directory"])


class ScoreForEachHit(torch.nn.Module):
    def forward(self, x, edge_index):
        return torch.sigmoid(x[:, 0])


@pytest.mark.parametrize("name", ["path", "accuracy"])
def test_a_model_that_does_not_fit_is_refused(name, tmp_path, out):
    path = save(ScoreForEachHit(), tmp_path / "model.pt")
    says = ["model.pt", "expected forward(x [n_hits, 3] float32, edge_index [2, n_edges] int64"]
    refuse(name, "--model", path, "--json", out / "bench.json", says=says)
    assert names_in(out) == []


def test_help_and_version_are_no_errors():
    for command in ([], ["path"]):
        assert "Usage: " in succeed(*command, "--help").stdout
    assert "torch" in succeed("--version").stdout


def test_tensors_of_torch_need_a_library_that_can_be_loaded(tmp_path):
    alone = shutil.copy(BENCH, tmp_path)
    (tmp_path / "libtensoa_bench_torch.so").touch()  # found first, and no library
    run = partial(subprocess.run, capture_output=True, text=True, timeout=120, check=False)
    done = run([alone, "binding", "--device", "cpu"], env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    for part in ("tensoa-bench: binding: ", "libtensoa_bench_torch.so, expected next to the program", "file too short"):
        assert part in done.stderr


def test_the_program_that_is_installed_carries_no_benchmarks():
    """Nor does the library of torch next to it."""
    conftest.refuse("bench", "path", says=['"bench" is unknown'])
    assert b"tensoa5bench" in BENCH.read_bytes()
    for file in (conftest.PROGRAM, *conftest.PROGRAM.parent.glob("libtensoa_torch.so")):
        assert b"tensoa5bench" not in file.read_bytes()


def test_forest_calls_from_one_thread_and_from_several_and_compares_the_answers(out, tmp_path):
    numpy, xgboost = pytest.importorskip("numpy"), pytest.importorskip("xgboost")
    x = numpy.random.default_rng(1).normal(size=(300, 4)).astype("float32")
    trees = xgboost.train({"objective": "binary:logistic", "max_depth": 3}, xgboost.DMatrix(x, x[:, 0] > 0), 5)
    trees.save_model(tmp_path / "trees.json")
    x.tofile(tmp_path / "x.f32")
    rows = bench(out, "forest", tmp_path / "trees.json", "--features", tmp_path / "x.f32", "--rows", 1, 100,
                 "--threads", 1, 2, "--repeats", 2)  # fmt: skip
    assert all(has(row, ROW | TIMES) for row in rows)
    calls = [(row["n"], row["threads"], row["variant"]) for row in rows if row["stage"] == "total"]
    assert calls == [(n, threads, name) for n in (1, 100) for threads in (1, 2) for name in ("tensoa", "plain")]
    compared = {(row["n"], row["threads"]) for row in rows if row.get("rows_off") == 0}
    assert compared == {(1, 1), (100, 1)}
    assert [row["variant"] for row in rows if row["stage"] == "load"] == ["tensoa"]
