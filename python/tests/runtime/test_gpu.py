# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""tensoa.Model on a GPU: arrays of other libraries where they lie, on their streams, without waiting. Skipped without a GPU."""

import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

import runtime_models as models
import tensoa

Model = models.require_runtime()
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")

LONG = 200_000_000  # cycles: a tenth of a second
SEEDS = Path(__file__).parents[3] / "tests" / "fuzz" / "seeds" / "tree_file"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def row(folder):
    return Model(models.write_row(folder, target="cuda"), device="cuda:0")


@pytest.fixture(scope="module")
def graph(folder):
    return Model(models.write_graph(folder, target="cuda"), device="cuda:0")


def on_gpu(columns):
    return {name: torch.as_tensor(np.ascontiguousarray(column)).cuda() for name, column in columns.items()}


def assert_same(got, expected):
    assert list(got) == list(expected)
    for name, column in expected.items():
        np.testing.assert_allclose(torch.as_tensor(got[name]).cpu(), column, rtol=1e-5, atol=1e-5, err_msg=name)


def copied(model):
    return model.last_copies.bytes_in, model.last_copies.bytes_out


class ArrayInterface:
    """An array with the CUDA array interface alone, as Numba's."""

    def __init__(self, tensor, **others):
        self.tensor = tensor
        self.__cuda_array_interface__ = dict(tensor.__cuda_array_interface__) | others


class Stream:
    """A stream as CUDA Python's have it, and one as CuPy's."""

    def __init__(self, handle, name="__cuda_stream__"):
        setattr(self, name, (lambda: (0, handle)) if name == "__cuda_stream__" else handle)


# ---- what is given and what comes back


def test_tensors_give_tensors_on_the_gpu(row):
    columns = models.row_columns(1000)
    answers = row(on_gpu(columns))
    assert_same(answers, models.row_answers(columns))
    assert all(isinstance(answer, torch.Tensor) and answer.device == torch.device("cuda:0") for answer in answers.values())
    assert_same(row(**on_gpu(columns)), models.row_answers(columns))


def test_a_package_for_several_targets_runs_on_both_with_the_program_of_each(folder, row):
    columns = models.row_columns()
    path = models.write_row(folder, target="cpu,cuda")
    here, there = Model(path, device="cpu"), Model(path, device="cuda:0")
    assert_same(here(**columns), models.row_answers(columns))
    got, expected = there(**on_gpu(columns)), row(**on_gpu(columns))
    assert all(torch.equal(got[name], expected[name]) for name in expected)


def test_columns_at_one_distance_are_not_copied(row):
    columns = models.row_columns(1000)
    memory, answers = torch.empty(3, 1024, device="cuda"), torch.empty(2, 1024, device="cuda")
    together = {name: memory[i, :1000] for i, name in enumerate("xyz")}
    for name, column in columns.items():
        together[name].copy_(torch.from_numpy(column))
    out = {name: answers[i, :1000] for i, name in enumerate("mn")}
    assert row(together, out=out) is out
    assert_same(out, models.row_answers(columns))
    assert copied(row) == (0, 0)


@pytest.mark.parametrize("rows", [0, 1, 33, 10_000])
@pytest.mark.parametrize("turned", [False, True])
def test_a_whole_block_gives_a_tensor(row, rows, turned):
    columns = models.row_columns(rows)
    features = torch.from_numpy(np.stack(list(columns.values()), 1)).cuda()
    if turned:
        features = features.T.contiguous().T
    answers = row(features)
    assert answers.shape == (rows, 2)
    assert_same({"m": answers[:, 0], "n": answers[:, 1]}, models.row_answers(columns))
    if rows > 1:
        assert copied(row) == ((0, 0) if turned else (rows * 3 * 4, 0))
    out = torch.empty((rows, 2), device="cuda")
    assert row(features, out=out) is out
    assert torch.equal(out, answers)


def test_every_kind_of_block(graph):
    blocks = models.graph_blocks(100, 300)
    expected = models.graph_answers(blocks)
    tensors = on_gpu(blocks)
    assert_same(graph(tensors), expected)
    assert_same(graph(tensors | {"field": float(blocks["field"][0])}), expected)
    assert_same(graph(*tensors.values()), {name: column[:, None] for name, column in expected.items()})
    columns = {name: column if isinstance(column, float) else torch.from_numpy(column.copy()).cuda()
               for name, column in models.graph_columns(blocks).items()}  # fmt: skip
    assert_same(graph(columns), expected)


def test_the_first_array_on_the_gpu_says_the_library(graph):
    blocks = models.graph_blocks(100, 300)
    tensors = on_gpu(blocks)
    for first in ({"field": blocks["field"]}, {"field": torch.from_numpy(blocks["field"])}):
        answers = graph(first | {name: tensor for name, tensor in tensors.items() if name != "field"})
        assert all(isinstance(answer, torch.Tensor) for answer in answers.values())
        assert_same(answers, models.graph_answers(blocks))
    offsets = {"hits": np.array([0, 100]), "edges": np.array([0, 300])}
    answers = graph(groups=offsets, **tensors)
    assert all(isinstance(answer, torch.Tensor) for answer in answers.values())


def test_numbers_may_be_written_after_the_call(graph):
    blocks = models.graph_blocks(100, 300)
    tensors = on_gpu(blocks)
    graph(tensors)
    torch.cuda.synchronize()
    for memory in (torch.from_numpy(blocks["field"].copy()).pin_memory(), blocks["field"].copy()):
        torch.cuda._sleep(LONG)
        answers = graph(tensors | {"field": memory})
        memory[:] = float("nan")
        torch.cuda.synchronize()
        assert_same(answers, models.graph_answers(blocks))


def test_groups_are_separate_calls(graph):
    events = [models.graph_blocks(hits, edges, seed) for seed, (hits, edges) in enumerate([(10, 25), (3, 0), (40, 100)])]
    blocks = {name: np.concatenate([event[name] for event in events], 1 if name == "index" else 0) for name in events[0]}
    hits = np.cumsum([0] + [len(event["hits"]) for event in events])
    edges = np.cumsum([0] + [len(event["edges"]) for event in events])
    expected = [models.graph_answers(event) for event in events]
    answers = graph(on_gpu(blocks), groups={"hits": hits, "edges": edges})
    assert_same(answers, {name: np.concatenate([event[name] for event in expected]) for name in expected[0]})


@pytest.mark.parametrize("strides", [True, False])
def test_arrays_with_the_array_interface_alone(row, strides):
    columns = models.row_columns(1000)
    given = {name: ArrayInterface(tensor, **({} if strides else {"strides": None})) for name, tensor in on_gpu(columns).items()}
    answers = row(given)
    assert repr(answers["m"]) == "DeviceArray(float32[1000], device='cuda:0')"
    assert answers["m"].shape == (1000,) and answers["m"].dtype == "float32" and len(answers["m"]) == 1000
    expected = models.row_answers(columns)
    assert_same({name: torch.from_dlpack(answer) for name, answer in answers.items()}, expected)
    assert_same({name: torch.as_tensor(answer, device="cuda") for name, answer in answers.items()}, expected)
    out = {name: ArrayInterface(torch.empty(1000, device="cuda")) for name in "mn"}
    row(given, out=out)
    torch.cuda.synchronize()
    assert_same({name: array.tensor for name, array in out.items()}, expected)


def test_the_array_interface_alone_is_enough_whatever_the_stream_of_who_takes_it(row):
    columns = models.row_columns(1000)
    given = {name: ArrayInterface(tensor) for name, tensor in on_gpu(columns).items()}
    stream, other = torch.cuda.Stream(), torch.cuda.Stream()
    row(given, stream=stream)
    with torch.cuda.stream(stream):
        torch.cuda._sleep(LONG)
    answers = row(given, stream=stream)
    with torch.cuda.stream(other):
        got = {name: torch.as_tensor(answer, device="cuda") * 2 for name, answer in answers.items()}
        del answers
    row(given, stream=stream)
    torch.cuda.synchronize()
    assert_same(got, {name: 2 * answer for name, answer in models.row_answers(columns).items()})


def test_an_array_that_a_call_gave_goes_into_the_next_one(row, folder):
    columns = models.row_columns(1000)
    other = Model(folder / "row-cuda.pt2", device="cuda:0")
    first = other({name: ArrayInterface(tensor) for name, tensor in on_gpu(columns).items()})
    second = row(x=first["m"], y=first["n"], z=first["m"])
    del other, first
    gc.collect()
    expected = models.row_answers(columns)
    expected = models.row_answers({"x": expected["m"], "y": expected["n"], "z": expected["m"]})
    assert_same({name: torch.from_dlpack(answer) for name, answer in second.items()}, expected)
    with pytest.raises(tensoa.BindingError, match=r"the array lies on cuda:0; copy it with a library of GPU arrays"):
        np.asarray(second["m"])


def test_arrays_of_cupy(row):
    cupy = pytest.importorskip("cupy")
    columns = models.row_columns(1000)
    expected = models.row_answers(columns)
    given = {name: cupy.asarray(column) for name, column in columns.items()}
    answers = row(given)
    assert all(isinstance(answer, cupy.ndarray) for answer in answers.values())
    assert_same({name: cupy.asnumpy(answer) for name, answer in answers.items()}, expected)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        answers = row({name: cupy.asarray(column) for name, column in columns.items()})
        stream.synchronize()
        assert_same({name: cupy.asnumpy(answer) for name, answer in answers.items()}, expected)
        assert_same({name: cupy.asnumpy(answer) for name, answer in row(given, stream=stream).items()}, expected)
    table = cupy.asarray(np.stack(list(columns.values()), 1))
    assert_same({"m": cupy.asnumpy(row(table)[:, 0])}, {"m": expected["m"]})
    with pytest.raises(tensoa.BindingError, match=r"column x has a stride of -4 bytes on cuda:0, expected a multiple"):
        row(given | {"x": given["x"][::-1]})
    cut = cupy.asarray(np.repeat(columns["x"], 3))[::3]
    assert_same({name: cupy.asnumpy(answer) for name, answer in row(given | {"x": cut}).items()}, expected)


def test_trees_read_tensors_where_they_lie():
    path = SEEDS / "xgboost.json"
    on_cpu, gpu = Model(path), Model(path, device="cuda:0")
    names = on_cpu.inputs[0].columns
    columns = {name: np.random.default_rng(i).normal(size=500).astype(np.float32) for i, name in enumerate(names)}
    expected = on_cpu(columns)
    assert_same(gpu(on_gpu(columns)), expected)
    assert copied(gpu) == (0, 0)
    table = torch.from_numpy(np.stack(list(columns.values()), 1)).cuda()
    answers = gpu(table)
    assert_same({"": answers[:, 0]}, {"": next(iter(expected.values()))})


# ---- in the order of streams


def test_calls_run_on_the_stream_of_torch_and_do_not_wait(row):
    columns = models.row_columns(1000)
    row(on_gpu(columns))
    given = {name: torch.zeros(1000, device="cuda") for name in columns}
    new = on_gpu(columns)
    for stream in (torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.default_stream()):
        with torch.cuda.stream(stream):
            row(given)  # what a stream needs once
            torch.cuda.synchronize()
            torch.cuda._sleep(LONG)
            for name, column in new.items():
                given[name].copy_(column)
            begin = time.perf_counter()
            answers = row(given)
            took = time.perf_counter() - begin
            assert not stream.query()
            assert took < 0.05
            doubled = {name: answer * 2 for name, answer in answers.items()}
            for column in given.values():
                column.zero_()
        torch.cuda.synchronize()
        assert_same(doubled, {name: 2 * answer for name, answer in models.row_answers(columns).items()})


@pytest.mark.parametrize("kind", ["torch", "handle", "__cuda_stream__", "cuda_stream", "ptr"])
def test_a_stream_that_is_given(row, kind):
    columns = models.row_columns(1000)
    given = {name: torch.zeros(1000, device="cuda") for name in columns}
    new = on_gpu(columns)
    stream = torch.cuda.Stream()
    handle = stream.cuda_stream
    chosen = stream if kind == "torch" else handle if kind == "handle" else Stream(handle, kind)
    row(given, stream=chosen)
    torch.cuda.synchronize()
    torch.cuda._sleep(LONG)  # on torch's own stream, which makes the columns and reads the answers
    for name, column in new.items():
        given[name].copy_(column)
    doubled = {name: answer * 2 for name, answer in row(given, stream=chosen).items()}
    assert not stream.query()
    torch.cuda.synchronize()
    assert_same(doubled, {name: 2 * answer for name, answer in models.row_answers(columns).items()})


def test_columns_that_are_let_go_are_not_used_again_before_the_call_has_read_them(row):
    columns = models.row_columns(100_000)
    stream = torch.cuda.Stream()
    row(on_gpu(columns), stream=stream)
    with torch.cuda.stream(stream):
        torch.cuda._sleep(LONG)
    given = on_gpu(columns)
    torch.cuda.current_stream().synchronize()
    answers = row(given, stream=stream)
    del given
    for _ in range(20):  # of torch's stream, which does not wait
        torch.full((100_000,), float("nan"), device="cuda")
    torch.cuda.synchronize()
    assert_same(answers, models.row_answers(columns))


def test_answers_that_are_let_go_are_not_used_again_before_others_have_read_them(row):
    stream = torch.cuda.Stream()
    columns = models.row_columns(100_000)
    given, other = on_gpu(columns), {name: torch.full((100_000,), float("nan"), device="cuda") for name in columns}
    row(given, stream=stream)
    torch.cuda.synchronize()
    answers = row(given, stream=stream)
    torch.cuda._sleep(LONG)
    doubled = {name: answer * 2 for name, answer in answers.items()}  # on torch's stream, after a while
    del answers
    for _ in range(5):
        row(other, stream=stream)
    torch.cuda.synchronize()
    assert_same(doubled, {name: 2 * answer for name, answer in models.row_answers(columns).items()})


def test_memory_of_answers_is_used_again(row):
    given = {name: torch.zeros(1_000_000, device="cuda") for name in "xyz"}
    free = []
    for _ in range(200):
        row(given)
        free.append(torch.cuda.mem_get_info()[0])
    assert min(free[20:]) >= free[20] - (1 << 20)


def test_threads_each_on_a_stream(row):
    expected, wrong = {}, []
    for seed in range(4):
        expected[seed] = models.row_answers(models.row_columns(5000, seed))

    def work(seed):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            given = on_gpu(models.row_columns(5000, seed))
            for _ in range(100):
                answers = row(given)
            stream.synchronize()
            for name, answer in answers.items():
                if not np.allclose(answer.cpu(), expected[seed][name], rtol=1e-5, atol=1e-5):
                    wrong.append((seed, name))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert not wrong


def test_columns_of_calls_before_are_let_go(row):
    row(on_gpu(models.row_columns(1000)))
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for _ in range(20):
        row(on_gpu(models.row_columns(1_000_000)), stream=torch.cuda.Stream())
    torch.cuda.synchronize()
    row(on_gpu(models.row_columns(1000)))  # on another stream
    assert torch.cuda.memory_allocated() < before + (1 << 20)


def test_streams_that_come_once_leave_nothing(row):
    features = torch.stack(list(on_gpu(models.row_columns(1000)).values()), 1)
    expected = row(features)
    for _ in range(200):
        assert torch.equal(row(features, stream=torch.cuda.Stream()), expected)


# ---- what is refused


def test_what_does_not_lie_on_the_gpu_of_the_model(row, folder):
    columns = models.row_columns()
    tensors = on_gpu(columns)
    with pytest.raises(tensoa.BindingError, match=r"column x lies on cpu, the model was loaded on cuda:0; expected both"):
        row(columns)
    with pytest.raises(tensoa.BindingError, match=r"column y lies on cpu, the model was loaded on cuda:0"):
        row(tensors | {"y": columns["y"]})
    with pytest.raises(tensoa.BindingError, match=r"column m of out lies on cpu, the model was loaded on cuda:0"):
        row(tensors, out={"m": np.empty(10, "f4"), "n": np.empty(10, "f4")})
    host = Model(models.write_row(folder))
    with pytest.raises(tensoa.BindingError, match=r"column x lies on cuda:0, the model was loaded on cpu"):
        host(tensors)
    with pytest.raises(tensoa.BindingError, match=r"got a stream, and was loaded on the cpu; expected none"):
        host(columns, stream=torch.cuda.current_stream())
    with pytest.raises(tensoa.BindingError, match=r"column x lies on cpu, the model was loaded on cuda:0"):
        row(tensors | {"x": ArrayInterface(tensors["x"], data=(columns["x"].ctypes.data, False))})
    if torch.cuda.device_count() > 1:
        with pytest.raises(tensoa.BindingError, match=r"column x lies on cuda:1, the model was loaded on cuda:0"):
            row(tensors | {"x": tensors["x"].to("cuda:1")})
        with pytest.raises(tensoa.DeviceError, match=r"got a stream of cuda:1 as one of cuda:0"):
            row(tensors, stream=torch.cuda.Stream("cuda:1"))


@pytest.mark.skipif("torch" not in tensoa._runtime._PARTS, reason="built without torch")
def test_torchscript_runs_on_the_gpu_of_its_columns(tmp_path):
    path = tmp_path / "network.pt"
    network = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    torch.jit.script(network).save(path)
    model = Model(path, device="cuda:0", columns={"input": ["x", "y", "z"]}, outputs=["two=m,n"])
    columns = on_gpu(dict(zip("xyz", np.random.default_rng(4).normal(size=(3, 500)).astype("f4"))))
    with torch.no_grad():
        expected = network(torch.stack([columns[name].cpu() for name in "xyz"], 1)).numpy()
    answers = model(columns)
    assert answers["m"].device == torch.device("cuda:0")
    assert_same(answers, {"m": expected[:, 0], "n": expected[:, 1]})


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU")
def test_each_gpu_has_its_own_model(row):
    """Both at the same time, in threads; answers may be read from the other one."""
    models_of = [row, Model(row.path, device="cuda:1")]
    drawn = np.random.default_rng(5).normal(size=(20, 3, 3000)).astype("f4")

    def work(number):
        device = torch.device("cuda", number % 2)
        x, y, z = torch.as_tensor(drawn[number]).to(device)
        answers = models_of[number % 2](x=x, y=y, z=z)
        assert answers["m"].device == device
        other = answers["m"].to(torch.device("cuda", 1 - number % 2))
        np.testing.assert_allclose(other.cpu(), drawn[number][0] * drawn[number][1] + drawn[number][2], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(answers["n"].cpu(), drawn[number][0] - 2 * drawn[number][2], rtol=1e-5, atol=1e-5)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(20)))
    assert torch.cuda.current_device() == 0


def test_streams_that_are_none(row):
    tensors = on_gpu(models.row_columns())
    for stream, says in (
        ("stream", r"stream is str, expected a stream of torch, CuPy or CUDA Python, or its handle as a number"),
        (1.5, r"stream is float"),
        (True, r"stream is bool"),
        (-1, r"stream is int"),
    ):
        with pytest.raises(tensoa.BindingError, match=says):
            row(tensors, stream=stream)
    with pytest.raises(tensoa.ConfigError, match=r"got the handle 2, the per-thread default stream"):
        row(tensors, stream=2)


def test_arrays_that_cannot_be_read(row):
    tensors = on_gpu(models.row_columns())
    with pytest.raises(tensoa.BindingError, match=r"column x is float64, expected float32: x.to\(torch.float32\)"):
        row(tensors | {"x": tensors["x"].double()})
    with pytest.raises(tensoa.BindingError, match=r"column x is torch.Tensor of torch.float32, which does not give its memory"):
        row(tensors | {"x": tensors["x"].clone().requires_grad_()})
    with pytest.raises(tensoa.BindingError, match=r"column z has 9 rows, column x has 10; expected equal numbers"):
        row(tensors | {"z": tensors["z"][:9]})
    masked = ArrayInterface(tensors["x"], mask=ArrayInterface(torch.ones(10, dtype=torch.bool, device="cuda")))
    with pytest.raises(tensoa.BindingError, match=r"column x has masked numbers, expected none"):
        row(tensors | {"x": masked})
    swapped = ArrayInterface(tensors["x"], typestr=">f4")
    with pytest.raises(tensoa.BindingError, match=r"column x is >f4, expected float32"):
        row(tensors | {"x": swapped})
    with pytest.raises(tensoa.BindingError, match=r"column m of out is read-only, and is to be written"):
        out = torch.empty(10, device="cuda")
        row(tensors, out={"m": ArrayInterface(out, data=(out.data_ptr(), True)), "n": out.clone()})
