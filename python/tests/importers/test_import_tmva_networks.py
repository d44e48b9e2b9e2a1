# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Networks in weights.xml of TMVA, made here by its rules, compared with a walk over their neurons row by row in float64."""

import math
import xml.etree.ElementTree as xml

import numpy as np
import pytest
import torch

from exporting import CASES, bind, block
from tensoa.binding.defaults import words_of_model
from tensoa.errors import InputError
from tensoa.export import Options, export
from tensoa.importers.files import load_module
from tensoa.importers.tmva import import_tmva
from tensoa.package import archive
from tensoa.package.manifest import Manifest

NAMES = ["pt", "eta", "d0", "mass"]
RANDOM = np.random.default_rng(3)

# ---- files


def draw(*shape):
    return RANDOM.normal(size=shape)


def words(values):
    return " ".join(f"{value:.16e}" for value in np.ravel(values))


def mlp(sizes=(4, 6, 3, 1)):
    """Weights by layer, neuron and neuron of the next layer; the last neuron of a layer is the bias."""
    text = f'<Weights><Layout NLayers="{len(sizes)}">'
    for i, size in enumerate(sizes):
        is_last = i == len(sizes) - 1
        text += f'<Layer Index="{i}" NNeurons="{size + (not is_last)}">'
        for _ in range(size + (not is_last)):
            synapses = 0 if is_last else sizes[i + 1]
            text += f'<Neuron NSynapses="{synapses}">{words(draw(synapses))}</Neuron>'
        text += "</Layer>"
    return text + "</Layout></Weights>"


def dnn(functions, sizes=(4, 6, 3, 1), output="S"):
    text = f'<Weights InputWidth="{sizes[0]}" Depth="{len(functions)}" LossFunction="C" OutputFunction="{output}">'
    for inputs, outputs, function in zip(sizes, sizes[1:], functions):
        text += f'<Layer ActivationFunction="{function}">'
        for name, columns in (("Weights", inputs), ("Biases", 1)):
            text += f'<{name} rows="{outputs}" cols="{columns}">{words(draw(outputs, columns))}</{name}>'
        text += "</Layer>"
    return text + "</Weights>"


def dl(functions, sizes=(4, 6, 3, 1), output="S"):
    text = dnn(functions, sizes, output).replace(' Depth="', ' InputDepth="1" InputHeight="1" NetDepth="')
    text = text.replace("<Layer ", '<DenseLayer Width="1" ').replace("</Layer>", "</DenseLayer>")
    return text.replace('rows="', 'Rows="').replace('cols="', 'Columns="')


def ranges(names, targets=(), classes=3):
    """The transformation Normalize, in its present form; ranges of the last class are those that count."""
    chosen = [("Variable", name) for name in names] + [("Target", name) for name in targets]
    ends = [[(-1 - c - i, 2.5 + 2 * c + 0.1 * i) for i in range(len(chosen))] for c in range(classes)]
    text = '<Transform Name="Normalize"><Selection>'
    for side in ("Input", "Output"):
        inner = "".join(f'<{side} Type="{kind}" Label="{name}" Expression="{name}"/>' for kind, name in chosen)
        text += f'<{side} N{side}s="{len(chosen)}">{inner}</{side}>'
    text += "</Selection>"
    for c, pairs in enumerate(ends):
        inner = "".join(f'<Range Index="{i}" Min="{a:.16e}" Max="{b:.16e}"/>' for i, (a, b) in enumerate(pairs))
        text += f'<Class ClassIndex="{c}"><Ranges>{inner}</Ranges></Class>'
    return text + "</Transform>", dict(zip([name for _, name in chosen], ends[-1]))


def older_ranges(names):
    _, ends = ranges(names, classes=1)
    inner = "".join(f'<Variable VarIndex="{i}" Min="{a}" Max="{b}"/>' for i, (a, b) in enumerate(ends.values()))
    variables = f'<Class ClassIndex="0"><Variables>{inner}</Variables><Targets/></Class>'
    return f'<Transform Name="Normalize" NVariables="{len(names)}" NTargets="0">{variables}</Transform>', ends


def setup(weights, method="MLP", kind="Classification", release="4.2.1 [262657]", transform="", after="", **options):
    variables = "".join(f'<Variable VarIndex="{i}" Expression="{n}" Label="{n}"/>' for i, n in enumerate(NAMES))
    given = "".join(f'<Option name="{name}" modified="Yes">{value}</Option>' for name, value in options.items())
    return (
        f'<?xml version="1.0"?><MethodSetup Method="{method}::net"><GeneralInfo><Info name="TMVA Release" value="{release}"/>'
        f'<Info name="AnalysisType" value="{kind}"/></GeneralInfo><Options>{given}</Options>'
        f'<Variables NVar="4">{variables}</Variables><Spectators NSpec="0"/>{after}'
        f"<Transformations>{transform}</Transformations>{weights}</MethodSetup>"
    )


def save(text, tmp_path):
    (tmp_path / "weights.xml").write_text(text)
    return str(tmp_path / "weights.xml")


# ---- TMVA's rules


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def fast_tanh(x):
    if abs(x) > 4.97:
        return math.copysign(1, x)
    above = x * (135135 + x**2 * (17325 + x**2 * (378 + x**2)))
    return above / (135135 + x**2 * (62370 + x**2 * (3150 + x**2 * 28)))


FUNCTIONS = {
    "linear": lambda x: x,
    "sigmoid": sigmoid,
    "tanh": math.tanh,
    "fast tanh": fast_tanh,
    "ReLU": lambda x: max(x, 0.0),
    "radial": lambda x: math.exp(-x * x / 2),
}
BY_NUMBER = [
    FUNCTIONS["linear"], FUNCTIONS["ReLU"], sigmoid, math.tanh, abs,
    lambda x: x / (1 + abs(x)), lambda x: math.exp(-x * x), math.tanh,
]  # fmt: skip


def walked_mlp(text, row, hidden="sigmoid", output="linear", rule="sum"):
    layers = xml.fromstring(text).find("Weights/Layout").findall("Layer")
    values = [*map(float, row), 1.0]
    for i, layer in enumerate(layers[:-1]):
        synapses = [[float(np.float32(word)) for word in neuron.text.split()] for neuron in layer]
        is_last = i == len(layers) - 2
        sums = []
        for post in range(len(synapses[0])):
            terms = [value * weights[post] for value, weights in zip(values, synapses)]
            sums.append(sum({"sum": terms, "sqsum": [t * t for t in terms], "abssum": [abs(t) for t in terms]}[rule]))
        values = [FUNCTIONS[output if is_last else hidden](x) for x in sums] + ([] if is_last else [1.0])
    return values


def walked_dnn(text, row):
    weights = xml.fromstring(text).find("Weights")
    values = [float(x) for x in row]
    for layer in weights:
        matrix, bias = ([float(np.float32(float(word))) for word in layer.find(n).text.split()] for n in ("Weights", "Biases"))
        size = len(values)
        sums = [sum(w * x for w, x in zip(matrix[i * size : (i + 1) * size], values)) + b for i, b in enumerate(bias)]
        values = [BY_NUMBER[int(layer.get("ActivationFunction"))](x) for x in sums]
    return {"I": lambda v: v, "S": lambda v: [*map(sigmoid, v)], "M": softmax}[weights.get("OutputFunction")](values)


def softmax(values):
    return [1 / sum(math.exp(other - value) for other in values) for value in values]


def normalised(row, ends):
    return [2 * (x - a) / (b - a) - 1 for x, (a, b) in zip(row, ends.values())]


def close(network, x, expected):
    got = network.double()(torch.tensor(x)).numpy()
    np.testing.assert_allclose(got, [expected(row) for row in x], rtol=1e-5, atol=1e-6)  # ranges are float32


# ---- networks


@pytest.mark.parametrize("function", ["linear", "sigmoid", "tanh", "ReLU", "radial"])
@pytest.mark.parametrize("estimator", ["MSE", "CE"])
@pytest.mark.parametrize("rule", ["sum", "sqsum", "abssum"])
def test_mlp(tmp_path, function, estimator, rule):
    transform, ends = ranges(NAMES)
    options = {"NeuronType": function, "EstimatorType": estimator, "NeuronInputType": rule, "VarTransform": "N"}
    text = setup(mlp(), transform=transform, **options)
    hidden, output = "fast tanh" if function == "tanh" else function, "sigmoid" if estimator == "CE" else "linear"
    close(
        import_tmva(save(text, tmp_path)),
        draw(50, 4),
        lambda row: walked_mlp(text, normalised(row, ends), hidden, output, rule),
    )


def test_tanh_was_exact_before_4_2_1(tmp_path):
    for release, hidden in (("4.2.0 [262656]", "tanh"), ("4.2.1 [262657]", "fast tanh")):
        text = setup(mlp((4, 1, 1)), release=release, NeuronType="tanh")
        x = 10 * draw(50, 4)
        close(import_tmva(save(text, tmp_path)), x, lambda row: walked_mlp(text, row, hidden))
        at_end = [fast_tanh(4.97), math.tanh(4.97)]
        assert abs(at_end[0] - at_end[1]) > 1e-6


def test_defaults_and_older_ranges(tmp_path):
    """Options that older files lack are those of their TMVA: sigmoid, MSE, sum."""
    transform, ends = older_ranges(NAMES)
    text = setup(mlp(), transform=transform, release="4.0.1 [262145]")
    close(import_tmva(save(text, tmp_path)), draw(50, 4), lambda row: walked_mlp(text, normalised(row, ends)))


def test_some_variables_are_normalised_twice(tmp_path):
    (all_of, ends), (some, others) = ranges(NAMES), ranges(["mass", "eta"])
    text = setup(mlp(), transform=all_of + some)

    def expected(row):
        row = normalised(row, ends)
        for name, (a, b) in others.items():
            row[NAMES.index(name)] = 2 * (row[NAMES.index(name)] - a) / (b - a) - 1
        return walked_mlp(text, row)

    close(import_tmva(save(text, tmp_path)), draw(50, 4), expected)


def test_multiclass_is_a_softmax(tmp_path):
    classes = "<Classes>" + "".join(f'<Class Name="{name}" Index="{i}"/>' for i, name in enumerate("uvw")) + "</Classes>"
    text = setup(mlp((4, 5, 3)), kind="Multiclass", after=classes, EstimatorType="MSE")
    path, x = save(text, tmp_path), draw(50, 4)
    close(import_tmva(path), x, lambda row: softmax(walked_mlp(text, row)))
    columns = bind([block("x", ["mass", "d0", "eta", "pt"])], [block("y", "wuv")])
    turned = load_module(path, columns).double()(torch.tensor(x[:, ::-1].copy()))
    assert torch.equal(turned[:, [1, 2, 0]], import_tmva(path).double()(torch.tensor(x)))


def test_targets_of_a_regression_go_back(tmp_path):
    transform, ends = ranges(NAMES, ["energy", "angle"], classes=1)
    targets = '<Targets><Target TargetIndex="0" Label="energy"/><Target TargetIndex="1" Label="angle"/></Targets>'
    text = setup(mlp((4, 5, 2)), kind="Regression", transform=transform, after=targets)

    def expected(row):
        result = walked_mlp(text, normalised(row, ends))
        return [a + (y + 1) * (b - a) / 2 for y, (a, b) in zip(result, [ends["energy"], ends["angle"]])]

    close(import_tmva(save(text, tmp_path)), draw(50, 4), expected)


@pytest.mark.parametrize("made, method", [(dnn, "DNN"), (dl, "DL")])
@pytest.mark.parametrize("functions", [(0, 1, 2), (3, 4, 5), (6, 7, 0)], ids=str)
def test_dnn(tmp_path, made, method, functions):
    for output, kind, last in (("S", "Classification", 1), ("I", "Regression", 1), ("M", "Multiclass", 2)):
        after = '<Classes><Class Name="a"/><Class Name="b"/></Classes>' if last == 2 else ""
        text = setup(made(functions, (4, 6, 3, last), output), method, kind, after=after)
        close(import_tmva(save(text, tmp_path)), draw(50, 4), lambda row: walked_dnn(text, row))


def test_variables_go_by_label_or_expression(tmp_path):
    text = setup(mlp()).replace('Expression="mass" Label="mass"', 'Expression="sqrt(m2)" Label="mass"')
    path, x = save(text, tmp_path), torch.tensor(draw(9, 4), dtype=torch.float32)
    expected = import_tmva(path)(x)
    for names in (["mass", "pt", "eta", "d0"], ["sqrt(m2)", "pt", "eta", "d0"]):
        columns = bind([block("x", names)], [block("y", "a")])
        assert torch.equal(load_module(path, columns)(x[:, [3, 0, 1, 2]]), expected)
    with pytest.raises(InputError, match='weights.xml: block "x": the block has no mass, it has pt, eta, d0, masse; the near'):
        load_module(path, bind([block("x", ["pt", "eta", "d0", "masse"])], [block("y", "a")]))
    with pytest.raises(InputError, match="the binding has 2 input and 1 output blocks, expected one of each, the first with"):
        load_module(path, bind([block("x", NAMES[:2]), block("z", NAMES[2:])], [block("y", "a")]))


def test_the_variables_of_a_file_are_the_columns_that_need_no_words(tmp_path):
    (found,) = words_of_model(import_tmva(save(setup(mlp()), tmp_path)), None)
    assert (found.name, found.columns, found.dtype) == ("x", tuple(NAMES), "float32")


def test_package_is_fused(tmp_path):
    transform, _ = ranges(NAMES)
    path = save(setup(mlp(), transform=transform, NeuronType="tanh", EstimatorType="CE"), tmp_path)
    columns, lines = bind([block("x", NAMES)], [block("y", ["score"])]), []
    export(load_module(path, columns), columns, tmp_path / "m.pt2", Options(report=lines.append))
    assert any(line.startswith("fused into 1 kernel") for line in lines)
    manifest = Manifest.from_json(archive.read(tmp_path / "m.pt2")[1], "m.pt2")
    assert [(check.numbers, check.rows) for check in manifest.targets[0].checks] == CASES


# ---- what is refused

NET = setup(mlp(), transform=ranges(NAMES)[0])
DNN = setup(dnn((1, 1, 0)), "DNN")


@pytest.mark.parametrize(
    "text, message",
    [
        (NET.replace("MLP::", "BDT::"), "it is an ensemble of trees (BDT), expected a network; tensoa compile makes"),
        (NET.replace("MLP::", "SVM::"), 'its method is "SVM", expected one of MLP, DNN, DL'),
        ("<a/>", "is XML of a, expected a weights.xml of TMVA"),
        (NET[:-20], "cannot be read ("),
        (NET.replace("<MethodSetup", '<!DOCTYPE a [<!ENTITY b "c">]><MethodSetup'), "declares entities of XML"),
        (NET.replace('value="Classification"', 'value="MaxAnalysisType"'), "its AnalysisType is MaxAnalysisType"),
        (setup(mlp(), NeuronType="cubic"), "its NeuronType is cubic, expected one of linear, sigmoid, tanh, ReLU, radial"),
        (setup(mlp(), NeuronType="tanh", release="x"), 'its TMVA Release is "x", expected one as 4.2.1 [262657], which'),
        (setup(mlp(), EstimatorType="LL"), "its EstimatorType is LL, expected MSE or CE"),
        (setup(mlp(), NeuronInputType="max"), "its NeuronInputType is max, expected one of sum, sqsum, abssum"),
        (setup(mlp(), Normalise="True"), "its variables are transformed by the option Normalise"),
        (setup(mlp((3, 2, 1))), "it has 4 variables, its first layer takes 3"),
        (setup(mlp((4, 2, 2))), "its last layer has 2 neurons, expected 1"),
        (setup(mlp((4, 2, 2)), kind="Multiclass"), "its last layer has 2 neurons, expected 1"),
        (setup(mlp((4,))), "it has 1 layers, expected two at least"),
        (NET.replace('NSynapses="6">', 'NSynapses="6">1.0 '), "layer 0, neuron 0: got 7 weights, expected 6"),
        (NET.replace('NSynapses="6">', 'NSynapses="6">x'), "layer 0, neuron 0: could not convert string to float: 'x"),
        (NET.replace('NSynapses="6">', 'NSynapses="6">nan '), "layer 0, neuron 0: expected finite numbers"),
        (NET.replace('NNeurons="5"', 'NNeurons="6"'), "layer 0: got 5 neurons and the index 0, expected 6"),
        (NET.replace('VarIndex="1"', 'VarIndex="2"'), "variable 1 has the VarIndex 2"),
        (NET.replace('Name="Normalize"', 'Name="PCA"'), "its variables are transformed by PCA, expected Normalize (N) or none"),
        (NET.replace('Name="Normalize"', 'Name="Gauss"'), "its variables are transformed by Gauss, expected Normalize (N)"),
        (NET.replace('<Output Type="Variable" Label="pt"', '<Output Type="Variable" Label="d0"'), "Normalize: it rearranges"),
        (NET.replace('Type="Variable" Label="pt"', 'Type="Variable" Label="q"'), "Normalize: there is no Variable q, there"),
        (NET.replace('ClassIndex="1"', 'ClassIndex="3"'), "Normalize: got the classes ['0', '3', '2'], expected 0, 1, …"),
        (NET.replace('<Range Index="2"', '<Range Index="1"'), "Normalize: got 4 ranges, expected 4, with Index 0, 1, …"),
        (NET.replace('Min="-3.0000000000000000e+00"', 'Min="9"'), "Normalize, Variable 0: got Min 9.0 and Max 6.5, expected"),
        (NET.replace('Min="-3.0000000000000000e+00"', ""), "Normalize, Variable 0: could not convert"),
        (DNN.replace('Depth="3"', 'Depth="2"'), "it has 3 layers, its depth is 2"),
        (DNN.replace('InputWidth="4"', 'InputWidth="5"'), "layer 0: got weights [6, 4] and biases [6, 1], expected [n, 5]"),
        (DNN.replace('rows="6" cols="4"', 'rows="6" cols="5"'), "layer 0, Weights: got 24 numbers, expected 6 x 5"),
        (DNN.replace('rows="6" cols="4"', 'rows="6"'), "layer 0, Weights: its cols is missing, expected a number"),
        (DNN.replace('ActivationFunction="1"', 'ActivationFunction="8"'), "layer 0: its ActivationFunction is 8, expected one"),
        (DNN.replace('OutputFunction="S"', 'OutputFunction="X"'), "its OutputFunction is X, expected one of I, S, M"),
        (DNN.replace("Biases", "Bias"), "layer 0: its Biases are missing"),
        (
            setup(dl((1, 1, 0)), "DL").replace('DenseLayer Width="1"', "ConvLayer").replace("/DenseLayer", "/ConvLayer"),
            "layer 0: it is a ConvLayer, expected dense layers",
        ),
        (
            setup(dl((1, 1, 0)), "DL").replace('InputHeight="1"', 'InputHeight="2"'),
            "its input is 1 x 2 x 4, expected 1 x 1 x n",
        ),
    ],
)
def test_files_that_are_refused(tmp_path, text, message):
    with pytest.raises(InputError) as caught:
        import_tmva(save(text, tmp_path))
    assert str(caught.value).split("weights.xml: ")[1].startswith(message) and "\n" not in str(caught.value)


def test_every_beginning_of_a_file_is_refused(tmp_path):
    for size in range(0, len(NET), 37):
        with pytest.raises(InputError, match="weights.xml: "):
            import_tmva(save(NET[:size], tmp_path))
    with pytest.raises(InputError, match="nothing.xml: cannot read: No such file"):
        load_module(str(tmp_path / "nothing.xml"))
