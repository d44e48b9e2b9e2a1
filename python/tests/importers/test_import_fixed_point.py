# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Networks of hls4ml and QKeras, bit for bit: against fractions of Python, and against both where they are
installed.
"""

import importlib.util
import io
import itertools
import json
import math
import subprocess
import sys
import tarfile
import zipfile
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import nn

from exporting import bind, block
from tensoa.errors import InputError
from tensoa.export import Options, export
from tensoa.importers.files import load_module
from tensoa.importers.fixed_point.number import OVERFLOW, ROUNDING, Cast, Fixed
from tensoa.package import archive
from tensoa.package.manifest import Manifest

RANDOM = np.random.default_rng(4)

# ---- the rules, on fractions


def fixed(value, to):
    """A number in the type `to`, which is one of ap_fixed."""
    step = Fraction(2) ** (to.integer - to.width)
    scaled = Fraction(value) / step
    below = math.floor(scaled)
    rest = scaled - below
    half = Fraction(1, 2)
    up = {
        "TRN": False,
        "TRN_ZERO": scaled < 0 and rest > 0,
        "RND": rest >= half,
        "RND_ZERO": rest > half or rest == half and scaled < 0,
        "RND_INF": rest > half or rest == half and scaled > 0,
        "RND_MIN_INF": rest > half,
        "RND_CONV": rest > half or rest == half and below % 2 == 1,
    }[to.rounding]
    whole = below + up
    largest = 2 ** (to.width - to.is_signed) - 1
    least = -largest - 1 if to.is_signed else 0
    if not least <= whole <= largest or (to.overflow == "SAT_SYM" and to.is_signed and whole == least):
        if to.overflow == "WRAP":
            whole = (whole - least) % 2**to.width + least
        elif to.overflow == "SAT_ZERO":
            whole = 0
        else:
            whole = largest if whole > largest else least + (to.overflow == "SAT_SYM" and to.is_signed)
    return whole * step


def types(widths=(3, 12), integers=(-1, 4)):
    for width, integer, signed, rounding, overflow in itertools.product(widths, integers, (True, False), ROUNDING, OVERFLOW):
        yield Fixed(width, integer, signed, rounding, overflow)


def awkward(to, rows=400):
    """Around steps, halves and ends of a type; of all magnitudes."""
    step = 2.0 ** (to.integer - to.width)
    whole = RANDOM.integers(-(2 ** (to.width + 1)), 2 ** (to.width + 1), rows).astype(np.float64)
    values = np.concatenate([whole, whole + 0.5, whole + RANDOM.random(rows), [0, -0.0, 0.25, -0.25]]) * step
    neighbours = np.concatenate([np.nextafter(np.float32(values), np.float32(end)) for end in (-np.inf, np.inf)])
    large = RANDOM.normal(size=40) * 2.0 ** RANDOM.integers(-30, 60, 40)
    return np.concatenate([values, neighbours, large]).astype(np.float32)


def test_floats_become_fixed_point_numbers():
    for to in types():
        values = awkward(to, 40)
        cast = Cast(None, to)
        for dtype in (torch.float32, torch.float64)[cast.bits > 24 :]:
            got = cast(torch.tensor(values, dtype=dtype)).double().numpy() * 2.0 ** (to.integer - to.width)
            expected = [float(fixed(float(x), to)) for x in values]
            np.testing.assert_array_equal(got, expected, str(to))


def test_types_become_others():
    starts = [Fixed(8, 3), Fixed(6, 1, False), Fixed(9, 9), Fixed(5, -2)]
    for start, to in itertools.product(starts, types((3,), (-1, 4))):
        whole = np.arange(start.range.least, start.range.largest + 1)
        cast = Cast(start.range, to)
        got = cast(torch.tensor(whole, dtype=torch.float32)).numpy()
        expected = [float(fixed(int(x) * Fraction(2) ** (start.integer - start.width), to)) for x in whole]
        np.testing.assert_array_equal(got * 2.0 ** (to.integer - to.width), expected, f"{start} to {to}")
        assert got.min() >= cast.range.least and got.max() <= cast.range.largest


def test_types_that_are_none():
    for options, message in (
        ((8, 3, True, "RND_UP"), "rounding RND_UP: expected one of TRN, TRN_ZERO, RND,"),
        ((8, 3, True, "TRN", "WRAP_SM"), "overflow WRAP_SM: expected one of WRAP, SAT,"),
        ((0, 3), "ap_fixed<0,3,TRN,WRAP>: expected 1 to 64 bits"),
    ):
        with pytest.raises(InputError, match=message):
            Fixed(*options)


# ---- files of hls4ml


def entry(name, state):
    return {"class_name": f"hls4ml.model.types.{name}", "state": state}


def type_entry(given):
    precision = {
        "width": given.width, "integer": given.integer, "signed": given.is_signed, "rounding_mode": given.rounding,
        "saturation_mode": given.overflow, "saturation_bits": 0,
    }  # fmt: skip
    return entry("NamedType", {"name": "a_t", "precision": entry("FixedPrecisionType", precision)})


class Fml:
    """A network as hls4ml stores it, and what its C++ gives, on fractions."""

    def __init__(self, size, given):
        self.layers, self.files, self.steps = {}, {}, []
        self.size = size
        self.layer("x", "Input", given)
        self.steps.append(lambda row: [fixed(x, given) for x in row])

    def layer(self, name, kind, result, **attributes):
        out = entry("TensorVariable", {"name": "a", "type": type_entry(result), "shape": [self.size]})
        before = [list(self.layers)[-1]] if self.layers else []
        state = {"inputs": before, "outputs": [name], "attributes": {name: out, **attributes}}
        self.layers[name] = {"class_name": f"hls4ml.model.layers.{kind}", "state": state}

    def weights(self, name, part, values, given):
        file = f"{name}_{part}_data.npy"
        stream = io.BytesIO()
        np.save(stream, values)
        self.files[file] = stream.getvalue()
        return entry("WeightVariable", {"name": "w", "type": type_entry(given), "data": "@ndarray:" + file, "quantizer": None})

    def dense(self, name, outputs, weight_type, bias_type, sums, result, strategy="latency", spread=1.0):
        inputs, self.size = self.size, outputs
        weight, bias = spread * RANDOM.normal(size=(inputs, outputs)), spread * RANDOM.normal(size=outputs)
        is_transposed = strategy == "resource"
        self.layer(
            name, "Dense", result, n_in=inputs, n_out=outputs, accum_t=type_entry(sums), strategy=strategy,
            weight=self.weights(name, "weight", weight.T if is_transposed else weight, weight_type),
            bias=self.weights(name, "bias", bias, bias_type), _weights_transposed=is_transposed,
        )  # fmt: skip

        def step(row):
            row_of_results = []
            for j in range(outputs):
                total = fixed(fixed(decimal(bias[j], bias_type), bias_type), sums)
                for x, w in zip(row, weight[:, j]):
                    total = fixed(total + fixed(x * fixed(decimal(w, weight_type), weight_type), sums), sums)
                row_of_results.append(fixed(total, result))
            return row_of_results

        self.steps.append(step)
        return self

    def activation(self, name, function, result):
        self.layer(name, "Activation", result, activation=function)
        self.steps.append(lambda row: [fixed(max(x, 0) if function == "relu" else x, result) for x in row])
        return self

    def normalization(self, name, scale_type, bias_type, result, kind="BatchNormalization"):
        scale, bias = RANDOM.normal(size=self.size), RANDOM.normal(size=self.size)
        parts = {"scale": self.weights(name, "scale", scale, scale_type), "bias": self.weights(name, "bias", bias, bias_type)}
        self.layer(name, kind, result, **parts)

        def step(row):
            scales = [fixed(decimal(s, scale_type), scale_type) for s in scale]
            biases = [fixed(decimal(b, bias_type), bias_type) for b in bias]
            return [fixed(x * s + b, result) for x, s, b in zip(row, scales, biases)]

        self.steps.append(step)
        return self

    def answers(self, x):
        results = []
        for row in x:
            for step in self.steps:
                row = step([Fraction(float(value)) for value in row] if step is self.steps[0] else row)
            results.append([float(value) for value in row])
        return np.array(results)

    def save(self, tmp_path, backend="Vivado"):
        files = {"model_arch.json": json.dumps(self.layers).encode(), **self.files}
        files["config.json"] = json.dumps({"config": {"Backend": backend}}).encode()
        with tarfile.open(tmp_path / "network.fml", "w:gz") as made:
            for name, content in files.items():
                member = tarfile.TarInfo("./" + name)
                member.size = len(content)
                made.addfile(member, io.BytesIO(content))
        return str(tmp_path / "network.fml")


def decimal(value, given):
    return Fraction(f"{value:.{max(0, given.width - given.integer)}f}")


def rows(count, inputs):
    return (RANDOM.normal(size=(count, inputs)) * 2.0 ** RANDOM.integers(-3, 4, (count, 1))).astype(np.float32)


def same(path, network, x):
    module = load_module(path)
    expected = network.answers(x)
    np.testing.assert_array_equal(module(torch.tensor(x)).numpy(), expected.astype(np.float32))
    np.testing.assert_array_equal(module.double()(torch.tensor(x).double()).numpy(), expected)
    return module


DEFAULT, NARROW = Fixed(16, 6), Fixed(8, 3, True, "RND", "SAT")


@pytest.mark.parametrize("strategy", ["latency", "resource"])
@pytest.mark.parametrize(
    "sums",
    [Fixed(16, 6), Fixed(24, 12), Fixed(8, 4), Fixed(9, 3, True, "RND_CONV"), Fixed(40, 20, True, "RND", "SAT")],
    ids=str,
)
def test_dense_networks_of_hls4ml(tmp_path, sums, strategy):
    """With sums that wrap around, and that round each product."""
    network = Fml(5, DEFAULT)
    network.dense("d1", 7, NARROW, Fixed(8, 3), sums, DEFAULT, strategy)
    network.activation("r1", "relu", Fixed(6, 2, False, "RND", "SAT"))
    network.normalization("n1", Fixed(10, 3), Fixed(12, 5), Fixed(12, 4, True, "TRN", "SAT_SYM"))
    network.dense("d2", 3, Fixed(16, 6), DEFAULT, sums, Fixed(18, 8, True, "RND_INF", "SAT_ZERO"), strategy)
    network.activation("l2", "linear", Fixed(10, 5))
    same(network.save(tmp_path), network, rows(60, 5))


@pytest.mark.parametrize("kind", ["BatchNormalization", "ApplyAlpha"])
def test_numbers_are_scaled_one_by_one(tmp_path, kind):
    """ApplyAlpha: the scales that hls4ml takes out of the quantizers of a layer."""
    network = Fml(5, DEFAULT).dense("d", 6, NARROW, NARROW, Fixed(24, 12), DEFAULT)
    network.normalization("a", Fixed(10, 3), Fixed(12, 5), Fixed(12, 4, True, "TRN", "SAT_SYM"), kind)
    same(network.save(tmp_path), network, rows(60, 5))


def test_sizes_that_are_equal_are_not_mixed_up(tmp_path):
    for strategy in ("latency", "resource"):
        network = Fml(4, DEFAULT).dense("d", 4, NARROW, NARROW, Fixed(30, 14), Fixed(30, 14), strategy)
        same(network.save(tmp_path), network, rows(20, 4))


def test_wide_numbers_are_of_float64(tmp_path):
    network = Fml(4, Fixed(24, 8)).dense("d", 2, Fixed(16, 6), DEFAULT, Fixed(48, 22), Fixed(24, 8))
    module = same(network.save(tmp_path), network, rows(50, 4))
    assert load_module(network.save(tmp_path)).scale.dtype == torch.float64 and module.layers[1].bits > 24
    network = Fml(4, Fixed(32, 8)).dense("wide", 2, Fixed(32, 6), DEFAULT, Fixed(64, 22), Fixed(24, 8))
    with pytest.raises(InputError, match='network.fml: layer "wide": takes numbers of [0-9]+ bits, 53 are exact'):
        load_module(network.save(tmp_path))


def test_a_block_named_as_a_layer_inside_gets_what_it_gives(tmp_path):
    """Also where what follows is not read."""
    network = Fml(4, NARROW).dense("d1", 8, NARROW, NARROW, Fixed(18, 8), Fixed(8, 3, True, "RND", "SAT"))
    steps = list(network.steps)
    network.activation("r", "relu", Fixed(6, 2, False, "RND_CONV", "SAT")).dense("d2", 2, NARROW, NARROW, DEFAULT, DEFAULT)
    path = network.activation("s", "softmax", DEFAULT).save(tmp_path)
    columns, lines = bind([block("x", "abcd")], [block("d1", "abcdefgh")], "auto"), []
    module = load_module(path, columns)
    rows = RANDOM.normal(size=(50, 4)).astype(np.float32)
    expected = []
    for row in rows:
        for step in steps:
            row = step([float(x) for x in row])
        expected.append([float(x) for x in row])
    np.testing.assert_array_equal(module(torch.from_numpy(rows)).numpy(), np.array(expected, np.float32))
    export(module, columns, tmp_path / "m.pt2", Options(report=lines.append))
    assert lines[0] == 'block "d1" is not an output of the model, but its inner value "d1"'
    with pytest.raises(InputError, match="which has no exact rule here; .*: name the output block as the layer before it"):
        load_module(path, bind([block("x", "abcd")], [block("y", "uv")], "auto"))
    with pytest.raises(InputError, match='block "d1", "d2"|requests d1, d2, expected one of them'):
        load_module(path, bind([block("x", "abcd")], [block("d1", "abcdefgh"), block("d2", "uv")], "auto"))


def test_package_of_narrow_numbers_is_fused_and_exact(tmp_path):
    network = Fml(4, NARROW).dense("d1", 8, NARROW, NARROW, Fixed(18, 8), Fixed(8, 3, True, "RND", "SAT"))
    network.activation("r", "relu", Fixed(6, 2, False, "RND_CONV", "SAT")).dense("d2", 2, NARROW, NARROW, DEFAULT, DEFAULT)
    columns, lines = bind([block("x", "abcd")], [block("y", "uv")]), []
    export(load_module(network.save(tmp_path)), columns, tmp_path / "m.pt2", Options(report=lines.append))
    assert any(line.startswith("fused into") for line in lines)
    files, text = archive.read(tmp_path / "m.pt2")
    manifest = Manifest.from_json(text, "m.pt2")
    assert {error for check in manifest.targets[0].checks for error in check.relative_error.values()} == {0.0}
    case = next(case for case in manifest.recorded.cases if case.rows == 33)
    content = files["model/" + case.file]
    x = np.frombuffer(content, "f4", 132).reshape(4, 33).T
    np.testing.assert_array_equal(np.frombuffer(content, "f8", offset=528).reshape(2, 33).T, network.answers(x))


def test_hls4ml_calculates_the_same(tmp_path):
    """Its own C++, by g++, of a network of torch."""
    hls4ml = pytest.importorskip("hls4ml")
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    model[3].running_mean.normal_()
    model[3].running_var.uniform_(0.5, 2)
    for i, (precision, strategy) in enumerate(
        (("ap_fixed<16,6>", "Latency"), ("ap_fixed<8,3,AP_RND_CONV,AP_SAT>", "Resource"), ("ap_fixed<10,3>", "Latency"))
    ):
        options = hls4ml.utils.config_from_pytorch_model(
            model.eval(), (6,), granularity="name", backend="Vivado", default_precision=precision
        )
        for name in options["LayerName"]:
            options["LayerName"][name]["Strategy"] = strategy
            if "SAT" in precision and isinstance(options["LayerName"][name].get("Precision"), dict):
                options["LayerName"][name]["Precision"]["accum"] = "ap_fixed<32,16>"
        made = hls4ml.converters.convert_from_pytorch_model(
            model, hls_config=options, output_dir=str(tmp_path / f"project{i}"), backend="Vivado"
        )
        made.compile()
        made.save(str(tmp_path / "network.fml"))
        x = rows(500, 6)
        x[:8] = awkward(Fixed(16, 6), 4)[:48].reshape(8, 6)
        got = load_module(str(tmp_path / "network.fml"))(torch.tensor(x)).numpy()
        np.testing.assert_array_equal(got, made.predict(np.ascontiguousarray(x)))


# ---- files of QKeras


def quantizer(name, **options):
    return {"class_name": name, "config": options}


class QKeras:
    """A network as QKeras stores it, and what it gives, on fractions."""

    def __init__(self, size):
        self.layers, self.weights, self.steps, self.size = [], {}, [], size
        self.add("InputLayer", "x", batch_input_shape=[None, size])

    def add(self, kind, name, **options):
        self.layers.append({"class_name": kind, "config": {"name": name, **options}})
        return self

    def activation(self, name, given, to):
        self.steps.append(lambda row: [fixed(x, to) for x in row])
        return self.add("QActivation", name, activation=given)

    def dense(self, name, outputs, kernel, bias, types):
        inputs, self.size = self.size, outputs
        arrays = {"kernel": RANDOM.normal(size=(inputs, outputs)), "bias": RANDOM.normal(size=outputs)}
        arrays = {part: array.astype(np.float32) for part, array in arrays.items()}
        self.weights[name] = arrays
        weights = [[fixed(float(w), types[0]) for w in column] for column in arrays["kernel"].T]
        biases = [fixed(float(b), types[1]) for b in arrays["bias"]]
        self.steps.append(lambda row: [sum(x * w for x, w in zip(row, ws)) + b for ws, b in zip(weights, biases)])
        return self.add(
            "QDense", name, units=outputs, use_bias=True, activation="linear", kernel_quantizer=kernel, bias_quantizer=bias
        )

    answers = Fml.answers

    def save(self, tmp_path):
        import h5py

        path = tmp_path / "network.h5"
        with h5py.File(path, "w") as file:
            file.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": {"layers": self.layers}})
            for layer, arrays in self.weights.items():
                for part, array in arrays.items():
                    file[f"model_weights/{layer}/{layer}/{part}:0"] = array
        return str(path)

    def stored_weights(self, weights):
        """As Keras 3 stores them: layers and weights by numbers."""
        import h5py

        content = io.BytesIO()
        with h5py.File(content, "w") as file:
            file.create_group("layers")
            for i, arrays in enumerate(weights.values()):
                for k, part in enumerate(("kernel", "bias")):
                    file[f"layers/q_dense{f'_{i}' if i else ''}/vars/{k}"] = arrays[part]
        return content.getvalue()

    def save_zip(self, tmp_path):
        path = tmp_path / "network.keras"
        with zipfile.ZipFile(path, "w") as made:
            made.writestr("config.json", json.dumps({"class_name": "Sequential", "config": {"layers": self.layers}}))
            made.writestr("model.weights.h5", self.stored_weights(self.weights))
        return str(path)


def small_qkeras():
    bits = quantizer("quantized_bits", bits=6, integer=1, symmetric=0, keep_negative=True, alpha=1.0, qnoise_factor=1.0)
    symmetric = quantizer("quantized_bits", bits=5, integer=0, symmetric=1, keep_negative=True, alpha=0.5)
    kinds = (Fixed(6, 2, True, "RND_CONV", "SAT"), Fixed(5, 0, True, "RND_CONV", "SAT_SYM"))
    network = QKeras(4).activation("q0", "quantized_bits(8, 2, alpha=1)", Fixed(8, 3, True, "RND_CONV", "SAT"))
    network.dense("d1", 6, bits, symmetric, kinds)
    network.activation("q1", "quantized_relu(6, 2)", Fixed(6, 2, False, "RND_CONV", "SAT"))
    network.dense("d2", 3, symmetric, bits, kinds[::-1])
    return network.activation(
        "q2", quantizer("quantized_bits", bits=9, integer=3, alpha=None), Fixed(9, 4, True, "RND_CONV", "SAT")
    )


def test_dense_networks_of_qkeras(tmp_path):
    pytest.importorskip("h5py")
    network = small_qkeras()
    module = same(network.save(tmp_path), network, rows(100, 4))
    assert max(layer.bits for layer in module.layers) <= 24


def test_files_of_qkeras_in_the_form_of_keras_3(tmp_path):
    pytest.importorskip("h5py")
    network = small_qkeras()
    path = network.save_zip(tmp_path)
    same(path, network, rows(100, 4))
    content = {}
    with zipfile.ZipFile(path) as whole:
        content = {name: whole.read(name) for name in whole.namelist()}
    for left_out, message in (("model.weights.h5", "has no "), ("layers", 'layer "d1" (QDense): has 0 weights called kernel')):
        with zipfile.ZipFile(path, "w") as made:
            made.writestr("config.json", content["config.json"])
            if left_out == "layers":
                made.writestr("model.weights.h5", network.stored_weights({}))
        with pytest.raises(InputError) as caught:
            load_module(path)
        assert message in str(caught.value) and "network.keras: " in str(caught.value)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("config.json", content["config.json"])
        made.writestr("model.weights.h5", content["model.weights.h5"][:300])
    with pytest.raises(InputError, match="network.keras: its weights cannot be read"):
        load_module(path)


def test_an_architecture_of_qkeras_with_its_weights_neighbours_it(tmp_path):
    h5py = pytest.importorskip("h5py")
    network = small_qkeras()
    network.save(tmp_path)
    with h5py.File(tmp_path / "network.h5", "r+") as file:
        (tmp_path / "network.json").write_text(file.attrs["model_config"])
        file["model_weights"].attrs["layer_names"] = [name.encode() for name in network.weights]
    same(str(tmp_path / "network.json"), network, rows(100, 4))


def test_a_first_layer_of_floats_and_a_last_one(tmp_path):
    """The sum of floats is rounded to float32 once, whatever their order, before it is quantized."""
    pytest.importorskip("h5py")
    network = small_qkeras()
    del network.layers[1], network.steps[0]
    network.steps.insert(1, lambda row: [Fraction(float(np.float32(float(x)))) for x in row])
    same(network.save(tmp_path), network, rows(100, 4))
    network.add("Activation", "s", activation="softmax")
    logits, x = network.answers, torch.tensor(rows(100, 4))
    got = load_module(network.save(tmp_path))(x)
    expected = torch.softmax(torch.tensor(np.array(logits(x.numpy()), np.float64)), -1)
    torch.testing.assert_close(got.double(), expected, rtol=1e-6, atol=1e-7)


# ---- what is refused


def small_fml():
    return Fml(4, DEFAULT).dense("d", 3, NARROW, NARROW, Fixed(24, 12), DEFAULT).activation("r", "relu", DEFAULT)


def attribute(layer, name):
    return lambda network: network.layers[layer]["state"]["attributes"][name]


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda n: n.activation("s", "softmax", DEFAULT), 'layer "s" (Activation): it is softmax, which has no exact rule'),
        (lambda n: n.layer("s", "Softmax", DEFAULT), 'layer "s" (Softmax): it is Softmax, which has no exact rule here; exp'),
        (lambda n: n.layers.pop("x"), 'layer "d" (Dense): is the first one, expected an Input'),
        (lambda n: n.layers["r"]["state"].update(inputs=["x"]), 'layer "r" (Activation): takes x; expected layers one after'),
        (lambda n: n.layers["d"]["state"]["attributes"].update(strategy="da"), 'layer "d" (Dense): its strategy is da, exp'),
        (lambda n: n.layers["d"]["state"]["attributes"].update(n_in=5), "got weights [3, 4] and biases [3], expected [3, 5]"),
        (lambda n: n.layers["d"]["state"]["attributes"].pop("accum_t"), "layer \"d\": has no 'accum_t', expected what Model"),
        (lambda n: n.files.update({"d_weight_data.npy": b"no"}), "its weight cannot be read ("),
        (
            lambda n: attribute("d", "weight")(n).update(class_name="types.CompressedWeightVariable"),
            "its weight is a CompressedWeightVariable, expected a WeightVariable: convert it without",
        ),
        (lambda n: n.files.pop("d_bias_data.npy"), "its bias cannot be read ("),
        (
            lambda n: attribute("d", "accum_t")(n)["state"].update(type_entry(Fixed(8, 2, True, "TRN", "SAT"))["state"]),
            "may saturate in the accumulator ap_fixed<8,2,TRN,SAT>, which depends on their order; expected one with more",
        ),
        (
            lambda n: attribute("d", "accum_t")(n)["state"]["precision"].update(class_name="types.FloatPrecisionType"),
            "has numbers of FloatPrecisionType, expected FixedPrecisionType",
        ),
        (
            lambda n: attribute("d", "accum_t")(n)["state"]["precision"]["state"].update(saturation_bits=2),
            "has 2 saturation bits, expected none",
        ),
    ],
)
def test_files_of_hls4ml_that_are_refused(tmp_path, change, message):
    network = small_fml()
    change(network)
    with pytest.raises(InputError) as caught:
        load_module(network.save(tmp_path))
    assert message in str(caught.value) and "network.fml: " in str(caught.value) and "\n" not in str(caught.value)


def test_damaged_files_of_hls4ml(tmp_path):
    path = small_fml().save(tmp_path, backend="Quartus")
    with pytest.raises(InputError, match="network.fml: is made for the back end Quartus, expected one of vivado, vitis"):
        load_module(path)
    whole = (tmp_path / "network.fml").read_bytes()
    for content in (b"", b"text", whole[: len(whole) // 2], whole[:40]):
        (tmp_path / "network.fml").write_bytes(content)
        with pytest.raises(InputError, match="network.fml: cannot be read"):
            load_module(path)
    with pytest.raises(InputError, match="other.fml: cannot be read"):
        load_module(str(tmp_path / "other.fml"))


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda n: n.layers.insert(1, {"class_name": "Activation", "config": {"name": "r", "activation": "relu"}}),
            'layer "r" (Activation): takes floats, expected fixed-point numbers: put QActivation(',
        ),
        (lambda n: n.layers[2].update(class_name="QConv1D"), 'layer "d1" (QConv1D): expected InputLayer, QDense, QActivation'),
        (lambda n: n.add("Activation", "s", activation="elu"), "its activation is elu, expected one of quantized_bits"),
        (
            lambda n: n.add("Activation", "s", activation={"class_name": "f", "config": {}}),
            "its activation is f, expected one of",
        ),
        (
            lambda n: n.add("Activation", "s", activation="softmax").add("Dropout", "d"),
            'layer "d" (Dropout): follows a function of floats, expected it to be the last layer',
        ),
        (lambda n: n.layers[1]["config"].update(activation="quantized_tanh(4)"), "its activation is quantized_tanh, expected"),
        (lambda n: n.layers[1]["config"].update(activation="f(open('x'))"), "its activation is f(open('x')), expected one of"),
        (lambda n: n.layers[1]["config"].update(activation="quantized_bits(1)"), "its quantized_bits has 1 bit (a binary"),
        (lambda n: n.layers[3]["config"].update(activation="quantized_relu(4,0,1)"), "its quantized_relu has use_sigmoid=1"),
        (
            lambda n: n.layers[3]["config"].update(activation="quantized_relu(4,0,negative_slope=0.25)"),
            "its quantized_relu has negative_slope=0.25, expected none",
        ),
        (lambda n: n.layers[2]["config"].update(bias_quantizer=None), "its bias_quantizer is missing, expected one of quant"),
        (
            lambda n: n.layers[2]["config"]["kernel_quantizer"]["config"].update(alpha="auto_po2"),
            "its quantized_bits has alpha=auto_po2, expected a power of two: train it with alpha=1",
        ),
        (
            lambda n: n.layers[2]["config"]["kernel_quantizer"]["config"].update(qnoise_factor=0.5),
            "its quantizer has qnoise_factor=0.5, expected 1",
        ),
        (lambda n: n.layers[2].update(inbound_nodes=[[["x", 0, 0, {}]]]), 'layer "d1" (QDense): takes x; expected layers one'),
        (lambda n: n.weights.pop("d1"), 'layer "d1" (QDense): has 0 weights called kernel, expected one'),
    ],
)
def test_files_of_qkeras_that_are_refused(tmp_path, change, message):
    pytest.importorskip("h5py")
    network = small_qkeras()
    change(network)
    with pytest.raises(InputError) as caught:
        load_module(network.save(tmp_path))
    assert message in str(caught.value) and "network.h5: " in str(caught.value) and "\n" not in str(caught.value)


#: Run in a separate process, where QKeras has the Keras that it is made for.
MAKER = """
import os, sys
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tensorflow as tf
from qkeras import QActivation, QDense, quantized_bits, quantized_relu

bits = lambda *given, **more: quantized_bits(*given, alpha=1, **more)
x = tf.keras.Input((6,))
h = QActivation(bits(8, 2))(x)
h = QDense(16, kernel_quantizer=bits(6, 0), bias_quantizer=bits(6, 0))(h)
h = QActivation("quantized_relu(6, 2)")(h)
last = quantized_relu(8, 3)
h = QDense(8, kernel_quantizer=bits(6, 1, symmetric=1), bias_quantizer=bits(8, 2), activation=last)(h)
h = QDense(3, kernel_quantizer=bits(7, 1), bias_quantizer=bits(7, 1))(h)
model = tf.keras.Model(x, QActivation("quantized_bits(12, 5, alpha=1)")(h))
random = np.random.default_rng(1)
model.set_weights([0.7 * random.normal(size=weight.shape) for weight in model.get_weights()])
model.save(sys.argv[1] + "/network.h5")
given = np.load(sys.argv[1] + "/given.npy")
np.save(sys.argv[1] + "/answers.npy", model.predict(given, verbose=0))
"""


def test_qkeras_calculates_the_same(tmp_path):
    if importlib.util.find_spec("qkeras") is None:
        pytest.skip("qkeras is not installed")
    np.save(tmp_path / "given.npy", rows(2000, 6))
    subprocess.run([sys.executable, "-c", MAKER, str(tmp_path)], check=True, capture_output=True)
    got = load_module(str(tmp_path / "network.h5"))(torch.tensor(np.load(tmp_path / "given.npy"))).numpy()
    np.testing.assert_array_equal(got, np.load(tmp_path / "answers.npy"))
