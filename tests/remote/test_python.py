# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""tensoa.Model of models on real servers, some of which are updated (tests/service/run.py; files of make_updates.py)."""

import contextlib
import hashlib
import os
import pickle
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tensoa

SERVERS = os.environ["TENSOA_TEST_TRITON"]
FILES = Path(os.environ["TENSOA_TEST_UPDATES"])
URL = f"grpc://{SERVERS}/updated.tensoa"
FOREIGN = f"grpc://{SERVERS}/mlp"
X, Y, Z = np.random.default_rng(5).normal(size=(3, 64)).astype("f4")


def local(name):
    return tensoa.Model(FILES / f"{name}.pt2")(x=X, y=Y, z=Z)


def checksum(name):
    return hashlib.sha256((FILES / f"{name}.pt2").read_bytes()).hexdigest()


def act(command):
    host, port = os.environ["TENSOA_TEST_CONTROL"].split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(f"{command}\n".encode())
        answer = connection.makefile().readline().strip()
    assert answer == "ok", f"{command}: {answer}"


def served_by(address):
    """Returns the checksum of the file that a server has; None while it has none."""
    with contextlib.suppress(tensoa.Error):
        return tensoa.inspect(f"grpc://{address}/updated.tensoa", load_deadline=5)["checksum"]
    return None


def serve(name):
    """Gives a file to all servers that have another one, and waits until they say that they have it."""
    addresses = SERVERS.split(",")
    for number, address in enumerate(addresses):
        if served_by(address) != checksum(name):
            act(f"triton {number} serve updated.tensoa {FILES / name}.pt2")
    end = time.monotonic() + 60
    for address in addresses:
        while (found := served_by(address)) != checksum(name):
            assert time.monotonic() < end, f"{address} has {found}"
            time.sleep(0.05)


@pytest.fixture(autouse=True)
def first():
    serve("first")


def assert_same(got, expected):
    assert list(got) == ["a", "b"]
    for name in got:
        np.testing.assert_array_equal(np.asarray(got[name]), expected[name])


def test_columns_have_the_names_of_the_file_of_the_servers():
    model = tensoa.Model(URL)
    assert repr(model).splitlines() == [
        f"tensoa.Model({URL!r}, device='cpu')",
        "  in   x  float32[rows, 3]  x, y, z",
        "  out  y  float32[rows, 2]  a, b",
        "  rows: independent",
    ]
    assert_same(model(x=X, y=Y, z=Z), local("first"))
    frame = pd.DataFrame({"pt": X, "eta": Y, "phi": Z}, index=np.arange(64) + 7)
    answers = tensoa.Model(URL, columns=["pt", "eta", "phi"])(frame)
    assert isinstance(answers, pd.DataFrame)
    assert list(answers.index) == list(frame.index)
    assert_same(answers, local("first"))


def test_page(tmp_path, monkeypatch):
    """The code of docs/python.md."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(FILES / "first.pt2", "network.pt2")
    x, y, z = X, Y, Z
    url = URL
    # [servers]
    import tensoa

    model = tensoa.Model(url, deadline=2.0, fallback="network.pt2")
    scores = model(x=x, y=y, z=z)
    # [/servers]
    assert_same(scores, local("first"))


def test_answers_lie_in_the_arrays_of_the_caller():
    model = tensoa.Model(URL)
    out = {"a": np.zeros(64, "f4"), "b": np.zeros((64, 2), "f4")[:, 1]}
    assert model(x=X, y=Y, z=Z, out=out) is out
    assert_same(out, local("first"))
    assert_same(model(x=X, y=Y, z=Z, groups=[0, 10, 10, 64]), local("first"))
    assert model(x=X[:0], y=Y[:0], z=Z[:0])["a"].shape == (0,)


def test_many_threads_call_one_model():
    model = tensoa.Model(URL)
    with ThreadPoolExecutor(8) as pool:
        for answers in pool.map(lambda _: model(x=X, y=Y, z=Z), range(100)):
            assert_same(answers, local("first"))


def test_what_servers_do_not_take_is_refused():
    model = tensoa.Model(URL)
    with pytest.raises(tensoa.BindingError, match=f"model {re.escape(URL)}: .*float64.*float32"):
        model(x=X.astype("f8"), y=Y, z=Z)
    with pytest.raises(tensoa.LoadError, match="nothing"):
        tensoa.Model(f"grpc://{SERVERS}/nothing")


def test_a_model_of_another_platform_has_names_of_tensors():
    model = tensoa.Model(FOREIGN)
    assert model.inputs[0].columns == ("x.0", "x.1", "x.2")
    assert model.rows_are_independent is None
    whole = model(np.stack([X, Y, Z], 1))
    assert whole.shape == (64, 2)
    named = tensoa.Model(FOREIGN, columns=["pt", "eta", "phi"])(pt=X, eta=Y, phi=Z)
    np.testing.assert_allclose(named["y.1"], whole[:, 1], rtol=1e-6)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again(np.stack([X, Y, Z], 1)), whole, rtol=1e-6)


def test_an_update_is_not_an_answer_unless_it_is_followed():
    stay, fail = tensoa.Model(URL, deadline=3), tensoa.Model(URL, on_new_version="fail", fallback=FILES / "first.pt2")
    follow = tensoa.Model(URL, on_new_version="follow")
    back = tensoa.Model(URL, fallback=FILES / "first.pt2")
    serve("second")
    for model in (stay, fail):
        with pytest.raises(tensoa.ServiceError, match="no server has the model that was loaded") as caught:
            model(x=X, y=Y, z=Z)
        assert caught.value.code == 9
        assert caught.value.may_retry
    assert "on_new_version=" in str(caught.value)
    assert_same(back(x=X, y=Y, z=Z), local("first"))
    assert_same(follow(x=X, y=Y, z=Z), local("second"))
    assert_same(tensoa.Model(URL)(x=X, y=Y, z=Z), local("second"))


def test_names_go_with_the_file():
    serve("order")
    expected = tensoa.Model(FILES / "order.pt2")(x=X, y=Y, z=Z)
    assert tensoa.Model(URL).inputs[0].columns == ("z", "y", "x")
    assert_same(tensoa.Model(URL)(x=X, y=Y, z=Z), expected)


def test_a_pickled_model_is_the_same_model_elsewhere():
    state = pickle.dumps(tensoa.Model(URL, deadline=5.0))
    model = pickle.loads(state)
    assert_same(model(x=X, y=Y, z=Z), local("first"))
    assert pickle.dumps(model) == pickle.dumps(pickle.loads(pickle.dumps(model)))
    following = pickle.dumps(tensoa.Model(URL, on_new_version="follow"))
    serve("second")
    assert_same(pickle.loads(following)(x=X, y=Y, z=Z), local("second"))
    del model
    code = "import pickle, sys; pickle.load(sys.stdin.buffer).inputs"
    done = subprocess.run([sys.executable, "-c", code], input=state, capture_output=True, check=False, timeout=60)
    assert f"no server has the model that is expected, of checksum {checksum('first')}" in done.stderr.decode()


def test_a_checksum_of_your_own():
    assert tensoa.inspect(URL)["checksum"] == checksum("first")
    assert_same(tensoa.Model(URL, checksum=checksum("first"))(x=X, y=Y, z=Z), local("first"))
    with pytest.raises(tensoa.ServiceError, match="no server has the model that is expected"):
        tensoa.Model(URL, checksum=checksum("second"), load_deadline=1)


def test_a_server_that_does_not_answer_is_given_up():
    address = SERVERS.split(",")[0]
    model = tensoa.Model(f"grpc://{address}/updated.tensoa", deadline=0.5, attempt_deadline=0.3, attempts=1)
    act("triton 0 pause")
    try:
        with pytest.raises(tensoa.ServiceError, match=f"server {address}") as caught:
            model(x=X, y=Y, z=Z)
        foreign = tensoa.Model(FOREIGN.replace(SERVERS, SERVERS.split(",")[1]), deadline=0.5)
        act("triton 1 pause")
        with pytest.raises(tensoa.ServiceError, match="^group 0: model grpc://") as in_group:
            foreign(np.stack([X, Y, Z], 1), groups=[0, 10, 64])
    finally:
        act("triton 0 resume")
        act("triton 1 resume")
    assert caught.value.code == in_group.value.code == 4
    assert caught.value.server == address


def test_a_model_that_is_loaded_while_servers_are_updated_is_one_file():
    """Whatever is loaded: its checksum and its answers are of one file."""
    expected = {checksum(name): local(name)["a"] for name in ("first", "second")}
    is_over = threading.Event()

    def load():
        while not is_over.is_set():
            with contextlib.suppress(tensoa.ServiceError, tensoa.LoadError):  # it is just being replaced
                model = tensoa.Model(URL)
                found = model(x=X, y=Y, z=Z)["a"]
                np.testing.assert_array_equal(found, expected[model.__getstate__()[4]])

    with ThreadPoolExecutor(4) as pool:
        loaders = [pool.submit(load) for _ in range(4)]
        try:
            for name in ("second", "first", "second", "first"):
                serve(name)
        finally:
            is_over.set()
        for loader in loaders:
            loader.result()


def test_a_pool_of_forked_processes_says_that_it_cannot_call_servers():
    code = textwrap.dedent(
        """
        import multiprocessing, sys
        import tensoa
        def columns(model):
            return model.inputs[0].columns
        if __name__ == "__main__":
            for start in ("fork", "spawn"):
                model = tensoa.Model(sys.argv[1])
                with multiprocessing.get_context(start).Pool(2) as pool:
                    try:
                        print(pool.map_async(columns, [model]).get(60))
                    except tensoa.LoadError as error:
                        print(error)
        """
    )
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "pool_of_processes.py"
        script.write_text(code)
        answers = Path(folder) / "answers"
        with answers.open("w") as file:  # a pipe would be held open by processes of the pool that are left
            subprocess.run([sys.executable, script, URL], stdout=file, check=True, timeout=150)
        forked, spawned = answers.read_text().splitlines()
    assert "was forked from one that had loaded models of servers" in forked
    assert spawned == "[('x', 'y', 'z')]"


def test_an_interpreter_that_shuts_down_while_calls_run():
    code = textwrap.dedent(
        """
        import sys, threading, time
        import numpy as np, tensoa
        model = tensoa.Model(sys.argv[1])
        x = np.ones(64, "f4")
        def work():
            while True:
                model(x=x, y=x, z=x)
        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.2)
        print("end")
        """
    )
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", code, URL], capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr
