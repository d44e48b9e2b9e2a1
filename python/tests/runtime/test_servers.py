# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""tensoa.Model of a URL where no server is: what is refused, and what a fallback does. Servers: tests/remote/test_python.py."""

import os
import pickle
import shutil

import numpy as np
import pytest

import runtime_models as models
import tensoa

Model = models.require_runtime()
pytestmark = pytest.mark.skipif("servers" not in tensoa._runtime._PARTS, reason="built without models of servers")
NOWHERE = "grpc://127.0.0.1:1/row"  # no server has port 1


def test_a_model_that_no_server_has():
    with pytest.raises(tensoa.ServiceError, match="127.0.0.1:1") as caught:
        Model(NOWHERE, load_deadline=0.2)
    assert isinstance(caught.value, tensoa.EngineError)
    assert caught.value.code == 14
    assert caught.value.server == "127.0.0.1:1"
    assert caught.value.may_retry


def test_other_threads_run_while_a_model_is_loaded():
    with models.others_run(), pytest.raises(tensoa.ServiceError):
        Model(NOWHERE, load_deadline=0.5)


@pytest.fixture
def row(tmp_path):
    return models.write_row(tmp_path)


def test_the_fallback_runs_where_no_server_answers(row, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # its path is made absolute
    x, y, z = np.random.default_rng(0).normal(size=(3, 7)).astype("f4")
    model = Model(NOWHERE, fallback=row.name, load_deadline=0.2, deadline=0.2)
    assert repr(model).startswith(f"tensoa.Model({NOWHERE!r}, device='cpu')\n  in   features  float32[rows, 3]  x, y, z")
    expected = Model(row)(x=x, y=y, z=z)
    np.testing.assert_array_equal(model(x=x, y=y, z=z)["m"], expected["m"])

    monkeypatch.chdir("/")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again(x=x, y=y, z=z)["n"], expected["n"])
    shutil.copy(models.write_graph(tmp_path), row)
    with pytest.raises(tensoa.LoadError, match="written after it was loaded"):
        pickle.dumps(model)


def test_a_fallback_of_trees_has_the_dtypes_of_its_servers(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    x = np.random.default_rng(1).normal(size=(200, 3))
    path = tmp_path / "trees.json"
    xgboost.train({"max_depth": 3, "seed": 1}, xgboost.DMatrix(x, x.sum(1)), num_boost_round=5).save_model(path)
    names = Model(path).inputs[0].columns
    columns = {name: np.arange(5, dtype="f8") for name in names}
    Model(path)(columns)  # trees take any numbers
    model = Model(NOWHERE, fallback=path, load_deadline=0.2, deadline=0.2)
    with pytest.raises(tensoa.BindingError, match="float64.*float32"):
        model(columns)
    given = {name: column.astype("f4") for name, column in columns.items()}
    for name, column in Model(path)(given).items():
        np.testing.assert_array_equal(model(given)[name], column)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            {"deadlines": 1},
            TypeError,
            "got the keyword deadlines, expected one of device, columns, outputs, fallback, deadline,",
        ),
        ({"deadline": "1"}, tensoa.ConfigError, "deadline: got '1', expected seconds"),
        ({"deadline": True}, tensoa.ConfigError, "deadline: got True, expected seconds"),
        ({"deadline": -1}, tensoa.ConfigError, "deadline: got -1, expected 0 or more seconds"),
        ({"deadline": float("nan")}, tensoa.ConfigError, "deadline: got nan, expected 0 or more seconds"),
        ({"deadline": 0}, tensoa.LoadError, "got a deadline of 0"),
        ({"attempts": 0}, tensoa.LoadError, "got less than one attempt (attempts=), expected 1 or more"),
        (
            {"on_new_version": "follow", "checksum": "0" * 64},
            tensoa.LoadError,
            "(on_new_version=) and got a checksum (checksum=)",
        ),
        ({"attempts": 1.5}, tensoa.ConfigError, "attempts: got 1.5, expected a number"),
        ({"on_new_version": "ask"}, tensoa.ConfigError, 'on_new_version: got \'ask\', expected "stay", "fail" or "follow"'),
        ({"headers": ["a"]}, tensoa.ConfigError, "headers: got an object of type list, expected a dict of texts"),
        ({"headers": {"a": 1}}, tensoa.ConfigError, "headers: got an object of type dict, expected a dict of texts"),
        ({"headers": {"x a:": "a"}}, tensoa.LoadError, 'got a header (headers=) of the name "x a:"'),
        ({"headers": {"": "a"}}, tensoa.LoadError, 'of the name ""'),
        ({"headers": {"grpc-timeout": "a"}}, tensoa.LoadError, "which are gRPC's own"),
        ({"checksum": "abc"}, tensoa.LoadError, "got the checksum abc, expected 64 hexadecimal digits"),
        ({"token_file": "token"}, tensoa.LoadError, "would send a token over grpc://"),
        ({"key_file": "key"}, tensoa.LoadError, "client certificate or its key"),
        ({"fallback": "nothing.pt2"}, tensoa.LoadError, "nothing.pt2: there is no such file"),
        ({"fallback": NOWHERE}, tensoa.ConfigError, "fallback: got 'grpc://127.0.0.1:1/row', expected the path of a file"),
        ({"columns": {"x": ["a"]}}, tensoa.ConfigError, "got ['a'] of type list, expected names; .* go with outputs="),
    ],
)
def test_what_is_refused(given, error, message):
    with pytest.raises(error, match=message.translate({ord(sign): "\\" + sign for sign in "()[]"})):
        Model(NOWHERE, **{"load_deadline": 0.2} | given)


def test_a_file_has_no_servers(row):
    with pytest.raises(tensoa.ConfigError, match=f"deadline: got the model {row}, which is a file, expected the URL"):
        Model(row, deadline=2)
    with pytest.raises(TypeError, match="got the keyword columnsx"):
        Model(row, columnsx=["x"])
    with pytest.raises(TypeError, match=r"tensoa.inspect: got the keyword device, expected one of fallback"):
        tensoa.inspect(row, device="cpu")
    Model(row, deadline=None)


@pytest.mark.parametrize("value", ["Bearer secret", "Bearer secret\n", "secretü", "secret\x7f", b"secret"])
def test_secrets_are_in_no_message(value, capfd):
    with pytest.raises(tensoa.Error) as caught:
        Model(NOWHERE, load_deadline=0.2, headers={"Authorization": value})
    assert "secret" not in str(caught.value) + capfd.readouterr().err


def test_a_token_that_cannot_be_sent(tmp_path):
    (tmp_path / "token").write_text("secretü")
    with pytest.raises(tensoa.LoadError, match="token: has characters beyond a line of ASCII") as caught:
        Model(NOWHERE.replace("grpc", "grpcs"), load_deadline=0.2, token_file=tmp_path / "token")
    assert "secret" not in str(caught.value)


def test_empty_paths_are_none():
    with pytest.raises(tensoa.ServiceError, match="127.0.0.1:1"):
        Model(NOWHERE, load_deadline=0.2, fallback="", token_file="", ca_file="")


def test_other_urls():
    with pytest.raises(tensoa.LoadError, match="is a URL, and no engine of this program speaks https://"):
        Model("https://somewhere/model")


def test_inspect_asks_the_servers():
    with pytest.raises(tensoa.ServiceError, match="127.0.0.1:1"):
        tensoa.inspect(NOWHERE, load_deadline=0.2)


def test_a_forked_process_is_refused(row):
    model = Model(NOWHERE, fallback=row, load_deadline=0.2, deadline=0.2)
    x = np.ones(4, "f4")
    child = os.fork()
    if child == 0:
        status = 0
        try:
            model(x=x, y=x, z=x)
        except tensoa.EngineError as error:
            status += "was forked from one that had loaded models of servers" in str(error)
        try:
            Model(NOWHERE)
        except tensoa.LoadError as error:
            status += 2 * ("spawn" in str(error))
        del model  # frees nothing that a thread would have to end
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    model(x=x, y=x, z=x)
