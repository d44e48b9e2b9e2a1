# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Files of Keras 3, compared with its own predict."""

import copy
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import torch

from exporting import CASES, agreement, bind, block
from tensoa import compiling
from tensoa.binding.defaults import words_of_model
from tensoa.errors import InputError
from tensoa.export import Options, export
from tensoa.importers.files import load_module
from tensoa.importers.keras import legacy
from tensoa.package import archive
from tensoa.package.manifest import Manifest

os.environ["KERAS_BACKEND"], os.environ["KERAS_TORCH_DEVICE"] = "torch", "cpu"
keras = pytest.importorskip("keras")
h5py = pytest.importorskip("h5py")
layers = keras.layers
RANDOM = np.random.default_rng(5)


def drawn(model):
    """The model with weights that no initialiser gives: biases and moving averages that are not 0 or 1, too."""
    for variable in model.variables:
        if variable.dtype.startswith("float"):
            draw = RANDOM.normal(size=variable.shape) * 0.5
            variable.assign(np.abs(draw) + 0.5 if "variance" in variable.path else draw)
    return model


def saved(model, tmp_path, ending="keras"):
    path = str(tmp_path / f"model.{ending}")
    drawn(model).save(path)
    return path


def same(model, path, *arrays):
    """Keras' own predict of the model that was saved."""
    expected = model.predict(list(arrays) if len(arrays) > 1 else arrays[0], verbose=0)
    got = load_module(path)(*(torch.tensor(array) for array in arrays))
    for a, b in zip(*([value] if not isinstance(value, (list, tuple)) else value for value in (got, expected))):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-5, atol=1e-6)


def draw(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def dense():
    return keras.Sequential(
        [
            keras.Input((4,), name="x"),
            layers.Dense(8, "relu"),
            layers.BatchNormalization(),
            layers.Dropout(0.5),
            layers.Dense(2),
        ]
    )


def two_inputs():
    jet, tracks = keras.Input((3,), name="jet"), keras.Input((5,), name="tracks")
    joined = layers.Concatenate()([layers.Dense(6, "elu")(jet), layers.Dense(6, "tanh")(tracks)])
    joined = layers.LayerNormalization()(joined)
    flavour = layers.Dense(2, "softmax", name="flavour")(joined)
    return keras.Model([jet, tracks], [flavour, layers.Dense(1, name="energy")(joined)])


SEQUENCES = {
    "conv": [layers.Conv1D(6, 3, padding="same", activation="relu"), layers.MaxPooling1D(2), layers.Flatten()],
    "gru": [layers.GRU(6, return_sequences=True), layers.GRU(4)],
    "gru of Keras 2": [layers.GRU(4, reset_after=False, go_backwards=True)],
    "rnn": [layers.SimpleRNN(5, return_sequences=True), layers.Flatten()],
    "lstm": [layers.Bidirectional(layers.LSTM(5))],
    "attention": [layers.Dense(4, "gelu"), layers.GlobalAveragePooling1D()],
}


def test_columns_are_counted_where_none_are_named(tmp_path):
    jet, tracks = words_of_model(load_module(saved(two_inputs(), tmp_path)), None)
    assert (jet.columns, tracks.columns[-1]) == (("jet_0", "jet_1", "jet_2"), "tracks_4")


@pytest.mark.parametrize("ending", ["keras", "h5"])
def test_dense_network(tmp_path, ending):
    model = dense()
    same(model, saved(model, tmp_path, ending), draw(40, 4))


def test_a_copy_in_double_precision_is_the_same_model(tmp_path):
    """Which its package is judged with."""
    inputs = keras.Input((6, 3), name="x")
    x = layers.BatchNormalization()(layers.Conv1D(4, 3, padding="same", activation="relu")(inputs))
    model = keras.Model(inputs, layers.Dense(2, activation="softmax")(layers.Flatten()(x)))
    module = load_module(saved(model, tmp_path))
    x = torch.tensor(draw(7, 6, 3))
    exact = copy.deepcopy(module).double()(x.double())
    assert exact.dtype == torch.float64
    torch.testing.assert_close(exact.float(), module(x), rtol=1e-5, atol=1e-6)
    assert not torch.equal(exact, module(x).double())


def test_two_inputs_and_two_results(tmp_path):
    model = two_inputs()
    path = saved(model, tmp_path)
    same(model, path, draw(40, 3), draw(40, 5))
    module = load_module(path)
    assert module.argument_names == ["jet", "tracks"] and module.result_names == ["flavour", "energy"]


@pytest.mark.parametrize("kind", SEQUENCES)
def test_sequences(tmp_path, kind):
    model = keras.Sequential([keras.Input((8, 3)), *SEQUENCES[kind], layers.Dense(2)])
    same(model, saved(model, tmp_path), draw(33, 8, 3))


def test_embedding(tmp_path):
    model = keras.Sequential([keras.Input((3,), dtype="int32"), layers.Embedding(9, 4), layers.Flatten(), layers.Dense(2)])
    same(model, saved(model, tmp_path), RANDOM.integers(0, 9, (40, 3)).astype(np.int32))


def test_package(tmp_path):
    """Of columns in another order, and compared with Keras before it is written."""
    columns = bind([block("tracks", "abcde"), block("jet", "xyz")], [block("energy", "e"), block("flavour", "lh")], "auto")
    path, lines = saved(two_inputs(), tmp_path), []
    export(load_module(path, columns), columns, tmp_path / "m.pt2", Options(report=lines.append))
    assert lines[0] == agreement(f"Keras {keras.__version__}")
    assert any(line.startswith("fused into") for line in lines)
    manifest = Manifest.from_json(archive.read(tmp_path / "m.pt2")[1], "m.pt2")
    assert [(check.numbers, check.rows) for check in manifest.targets[0].checks] == CASES


def test_layers_inside_are_results_where_blocks_have_their_names(tmp_path):
    """In any order, of a file in any form; what fits nothing is an error with the outputs."""
    model = two_inputs()
    inner = next(layer.name for layer in model.layers if layer.name.startswith("layer_normalization"))
    jet, tracks = block("jet", "xyz"), block("tracks", "abcde")
    for ending in ("keras", "h5"):
        path = saved(model, tmp_path, ending)
        columns = bind([jet, tracks], [block("energy", "e"), block(inner, [f"h{i}" for i in range(12)])], "auto")
        module, lines = load_module(path, columns), []
        part = keras.Model(model.inputs, [model.get_layer("energy").output, model.get_layer(inner).output])
        arrays = draw(40, 3), draw(40, 5)
        for got, right in zip(module(*map(torch.tensor, arrays)), part.predict(list(arrays), verbose=0)):
            np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-6)
        export(module, columns, tmp_path / "m.pt2", Options(report=lines.append))
        assert lines[0] == f'block "{inner}" is not an output of the model, but its inner value "{inner}"'
        assert lines[1] == agreement(f"Keras {keras.__version__}")
        with pytest.raises(
            InputError, match='block "energies": .* its outputs are "flavour", "energy"; the nearest name is "energy"'
        ):
            load_module(path, bind([jet, tracks], [block("flavour", "lh"), block("energies", "e")], "auto"))


def test_a_model_that_differs_from_keras_is_not_written(tmp_path):
    columns = bind([block("x", "abcd")], [block("y", "uv")])
    module = load_module(saved(dense(), tmp_path), columns)
    right = module.reference()
    module.reference = lambda: lambda tensors: right(tensors) + 1e-3
    with pytest.raises(InputError, match=f'block "y", column .: Keras {keras.__version__} differs from the model by'):
        export(module, columns, tmp_path / "m.pt2")
    assert not (tmp_path / "m.pt2").exists()


# ---- files of Keras 2


def as_keras_2(path, change, version="2.4.0"):
    """The .h5 as Keras 2 writes it: `change` gets each layer's configuration, its class in it."""
    with h5py.File(path, "r+") as file:
        config = json.loads(file.attrs["model_config"])
        for layer in config["config"]["layers"]:
            change(layer["class_name"], layer["config"])
        del file.attrs["model_config"]
        file.attrs["model_config"] = json.dumps(config)
        file.attrs["keras_version"] = version
    return path


OLD = {
    "SpatialDropout1D": {"noise_shape": None, "trainable": True},
    "Dropout": {"noise_shape": None},
    "GRU": {"time_major": False, "implementation": 2},
    "SeparableConv1D": {"groups": 1, "kernel_initializer": "zeros", "kernel_regularizer": None, "kernel_constraint": None},
    "BatchNormalization": {"axis": [2]},
}


def test_fields_of_keras_2_are_left_out(tmp_path):
    steps = [layers.SeparableConv1D(5, 3), layers.BatchNormalization(), layers.SpatialDropout1D(0.1)]
    model = keras.Sequential([keras.Input((8, 3)), *steps, layers.GRU(4), layers.Dropout(0.1), layers.Dense(2)])
    path = as_keras_2(saved(model, tmp_path, "h5"), lambda kind, config: config.update(OLD.get(kind, {})))
    before = open(path, "rb").read()
    same(model, path, draw(33, 8, 3))
    assert open(path, "rb").read() == before


def test_a_first_layer_of_keras_2_says_what_the_model_takes(tmp_path):
    model = dense()
    path = saved(model, tmp_path, "h5")
    with h5py.File(path, "r+") as file:
        config = json.loads(file.attrs["model_config"])
        first, *rest = config["config"]["layers"]
        rest[0]["config"]["batch_input_shape"] = [None, 4]
        config["config"] = {"name": "model", "layers": rest}
        del file.attrs["model_config"]
        file.attrs["model_config"] = json.dumps(config)
        file.attrs["keras_version"] = b"2.2.4"
    same(model, path, draw(33, 4))


def test_hard_sigmoid_of_keras_2_has_the_slope_of_keras_2(tmp_path):
    model = keras.Sequential([keras.Input((4,)), layers.Dense(3, "hard_sigmoid"), layers.Activation("hard_sigmoid")])
    path, x = saved(model, tmp_path, "h5"), draw(50, 4)
    kernel, bias = (weight.numpy() for weight in model.layers[0].weights)

    def right(slope):
        return np.clip(slope * np.clip(slope * (x @ kernel + bias) + 0.5, 0, 1) + 0.5, 0, 1)

    np.testing.assert_allclose(load_module(path)(torch.tensor(x)).numpy(), right(1 / 6), atol=1e-6)
    as_keras_2(path, lambda kind, config: None)
    np.testing.assert_allclose(load_module(path)(torch.tensor(x)).numpy(), right(0.2), atol=1e-6)
    np.testing.assert_allclose(load_module(path).reference()([torch.tensor(x)]).numpy(), right(0.2), atol=1e-6)


def test_recurrent_hard_sigmoid_of_keras_2(tmp_path):
    model = keras.Sequential([keras.Input((1, 3)), layers.SimpleRNN(2), layers.Reshape((1, 2))])
    model.add(layers.LSTM(4, recurrent_activation="hard_sigmoid"))
    path, x = as_keras_2(saved(model, tmp_path, "h5"), lambda kind, config: None), draw(20, 1, 3)
    rnn, lstm = model.layers[0], model.layers[2]
    hidden = np.tanh(x[:, 0] @ rnn.weights[0].numpy() + rnn.weights[2].numpy())
    gates = hidden @ lstm.weights[0].numpy() + lstm.weights[2].numpy()
    i, _, c, o = np.split(gates, 4, 1)
    hard = [np.clip(0.2 * gate + 0.5, 0, 1) for gate in (i, o)]
    expected = hard[1] * np.tanh(hard[0] * np.tanh(c))
    np.testing.assert_allclose(load_module(path)(torch.tensor(x)).numpy(), expected, atol=1e-6)


def test_an_architecture_with_its_weights_next_to_it(tmp_path):
    model = drawn(dense())
    (tmp_path / "jets.json").write_text(model.to_json())
    refused(
        tmp_path / "jets.json", "holds layers of Keras, expected their weights next to it, in one of jets_weights.h5, jets.w"
    )
    whole, weights = str(tmp_path / "whole.h5"), tmp_path / "jets_weights.h5"
    model.save(whole)
    with h5py.File(whole) as source, h5py.File(weights, "w") as file:  # as Keras 2 saves weights
        file.attrs.update(source["model_weights"].attrs)
        for name in source["model_weights"]:
            source["model_weights"].copy(name, file)
    same(model, str(tmp_path / "jets.json"), draw(20, 4))
    weights.write_bytes(weights.read_bytes()[:700])
    with pytest.raises(InputError, match="jets_weights.h5: cannot be read"):
        load_module(str(tmp_path / "jets.json"))
    with h5py.File(weights, "w") as file:
        file.create_group("layers")
    with pytest.raises(InputError, match="jets_weights.h5: has no layer_names, expected what model.save_weights"):
        load_module(str(tmp_path / "jets.json"))


# ---- what is refused


@pytest.mark.parametrize(
    "layer, field, value, expected",
    [(layers.GRU(3, name="track"), "time_major", True, False), (layers.DepthwiseConv1D(2, name="track"), "groups", 2, 1)],
)
def test_fields_of_keras_2_that_change_the_model_are_named(tmp_path, layer, field, value, expected):
    path = saved(keras.Sequential([keras.Input((4, 3)), layer]), tmp_path, "h5")
    as_keras_2(path, lambda kind, config: config.update({field: value} if kind == type(layer).__name__ else {}))
    message = f'layer "track" ({type(layer).__name__}) has {field}={value}, expected {expected}'
    with pytest.raises(InputError) as caught:
        load_module(path)
    assert str(caught.value) == f"{path}: {message}"


def refused(path, message):
    with pytest.raises(InputError) as caught:
        load_module(str(path))
    assert f"{path.name if hasattr(path, 'name') else path}: {message}" in str(caught.value) and "\n" not in str(caught.value)


def test_code_in_a_file_is_not_run(tmp_path):
    model = keras.Sequential([keras.Input((4,)), layers.Lambda(lambda x: x * 2, name="twice")])
    for ending in ("keras", "h5"):
        model.save(tmp_path / f"model.{ending}")
        refused(tmp_path / f"model.{ending}", 'layer "twice" is a Lambda, code in a file, which is not run; write it as')


@keras.saving.register_keras_serializable("mine")
class Twice(layers.Layer):
    def call(self, x):
        return x * 2


def test_custom_layers_are_named(tmp_path):
    keras.Sequential([keras.Input((4,)), Twice(name="doubled")]).save(tmp_path / "model.keras")
    refused(tmp_path / "model.keras", 'layer "doubled" has Twice, which is not of Keras; register the class and export')


def test_files_that_are_no_models(tmp_path):
    model = dense()
    model.save_weights(tmp_path / "model.weights.h5")
    refused(tmp_path / "model.weights.h5", "holds weights, not a model; expected a whole model (model.save)")
    for name, content in (("a.keras", b"text"), ("a.h5", b"text"), ("b.keras", b"")):
        (tmp_path / name).write_bytes(content)
        refused(tmp_path / name, "cannot be read (")
    refused(tmp_path / "none.keras", "no such file, expected a whole model (model.save)")
    model.save(tmp_path / "model.keras")
    whole = (tmp_path / "model.keras").read_bytes()
    (tmp_path / "cut.keras").write_bytes(whole[: len(whole) // 2])
    refused(tmp_path / "cut.keras", "cannot be read (")
    for config, message in ((b"[", "its configuration is not JSON"), (b"{}", "its configuration has no class_name")):
        with zipfile.ZipFile(tmp_path / "odd.keras", "w") as made:
            made.writestr("config.json", config)
        refused(tmp_path / "odd.keras", message)
    with zipfile.ZipFile(tmp_path / "odd.keras", "w") as made:
        made.writestr("config.json", json.dumps({"class_name": "Dense", "module": "keras.layers", "config": {"units": 3}}))
    refused(tmp_path / "odd.keras", f"Keras {keras.__version__} does not take it: ")


def test_free_sizes_are_refused_with_the_words_for_them(tmp_path):
    keras.Sequential([keras.Input((None, 3), name="hits"), layers.GlobalAveragePooling1D()]).save(tmp_path / "model.keras")
    free = 'input "hits": the file leaves its sizes free; expected them in words: --columns "hits[n, SIZE, 3]"'
    refused(tmp_path / "model.keras", free)


def test_sizes_that_the_file_leaves_free_are_those_of_the_words(tmp_path):
    signal = keras.Input((None, 4), name="signal")
    inner = layers.Conv1D(8, 5, activation="relu")(signal)
    model = keras.Model(signal, layers.Cropping1D(3)(layers.Conv1D(2, 3)(inner)))
    path, lines = saved(model, tmp_path), []
    compiling.compile(path, tmp_path / "m.pt2", columns=["signal[n,20,4]"], report=lines.append)
    assert any(line.startswith("rows first: signal is [n, 20, 4]") for line in lines)
    assert any(line.startswith("compared with Keras") and ": the same in " in line for line in lines)
    x = draw(5, 20, 4)
    got = load_module(path, sizes={"signal": (None, 20, 4)})(torch.from_numpy(x))
    np.testing.assert_allclose(got.numpy(), model.predict(x, verbose=0), rtol=1e-5, atol=1e-6)


def test_without_keras_the_message_says_what_to_install(tmp_path):
    dense().save(tmp_path / "model.keras")
    code = (
        "import sys; sys.modules['keras'] = None\n"
        "from tensoa.importers.files import load_module\n"
        f"load_module({str(tmp_path / 'model.keras')!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=os.getcwd())
    assert "model.keras: needs the package keras, which is not here; pip install keras" in done.stderr


def test_lists_of_layers_are_those_of_sequential_models_before_keras_2_2_3():
    dense = {"class_name": "Dense", "config": {"name": "d", "units": 2}}
    inner = {"class_name": "Sequential", "config": [dense]}
    got = legacy.updated({"class_name": "Sequential", "config": [inner, dense]})
    assert [one["class_name"] for one in got["config"]["layers"]] == ["Sequential", "Dense"]
    assert got["config"]["layers"][0]["config"]["layers"] == [dense]
