# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The edge-classifying network of Exa.TrkX (ResAGNN), from its published weights."""

import gzip
import re
import zlib
from pathlib import Path

import torch
from torch import Tensor, nn

from tensoa.binding.parse import line_in_words
from tensoa.errors import InputError, first_line
from tensoa.importers import checkpoints

GZIP_MAGIC = b"\x1f\x8b"
BEGINNING = re.compile(rb"\d+\r?\n\d+\r?\nL \d+ \d+\r?\n")  # of the text
#: Names of the networks in files of torch, and what comes between them and the numbers of their layers.
PARTS = {
    "input": ("input_network", "node_encoder"),
    "edge": ("edge_network.network", "edge_network"),
    "node": ("node_network.network", "node_network"),
}
ACTIVATIONS = "ReLU Tanh SiLU GELU ELU LeakyReLU Sigmoid Softplus".split()


class ExaTrkX(nn.Module):
    """The network as published: node states h = [encoded features, features], edges weigh the messages.

    forward(x [n, f], edge_index [2, E] int64: source row, target row) -> scores [E].
    """

    def __init__(self, iterations: int, input: nn.Sequential, edge: nn.Sequential, node: nn.Sequential):
        super().__init__()
        self.iterations = iterations
        self.input = input
        self.edge = edge
        self.node = node

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        source, target = edge_index[0], edge_index[1]
        h = torch.cat([self.input(x), x], dim=1)
        for _ in range(self.iterations):
            from_source, from_target = h[source], h[target]
            weight = torch.sigmoid(self.edge(torch.cat([from_source, from_target], dim=1)))
            message = torch.zeros_like(h)
            message = message.index_add(0, target, weight * from_source)
            message = message.index_add(0, source, weight * from_target)
            h = h + torch.cat([self.node(torch.cat([message, h], dim=1)), x], dim=1)
        return torch.sigmoid(self.edge(torch.cat([h[source], h[target]], dim=1))).squeeze(1)


class _Reader:
    """Hands out the lines of a text one by one; every complaint names the file and the line."""

    def __init__(self, path):
        self.path = path
        self.lines = _read_text(path).splitlines()
        self.number = 0

    def fail(self, what):
        raise InputError(f"{self.path}: line {self.number}: {what}")

    def line(self, expected):
        if self.number == len(self.lines):
            raise InputError(f"{self.path}: got the end of the file after line {self.number}, expected {expected}")
        self.number += 1
        return self.lines[self.number - 1]

    def count(self, text, expected):
        """A whole number of at least one."""
        if not (text.isascii() and text.isdecimal() and int(text) > 0):
            self.fail(f"got '{text[:40]}', expected {expected}")
        return int(text)

    def tensor(self, shape, what):
        """One line of numbers as a float32 tensor."""
        size = shape.numel()
        words = self.line(f"{size} {what}").split()
        if len(words) != size:
            self.fail(f"got {len(words)} numbers, expected {size} {what}")
        try:
            values = torch.tensor([float(word) for word in words], dtype=torch.float32)
        except ValueError as error:
            self.fail(f"{error}, expected {size} {what}")
        if not values.isfinite().all():
            self.fail(f"got a number that is not finite in float32 among {size} {what}")
        return values.reshape(shape)


def _read_text(path):
    try:
        data = Path(path).read_bytes()
        if data.startswith(GZIP_MAGIC):
            data = gzip.decompress(data)
        return data.decode("ascii")
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot read the weights: {reason}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: got binary data, expected weights as text, plain or gzip") from error


def _is_text(path):
    """Whether a file begins as the text of the weights: iterations, entries of the first network, a linear layer."""
    try:
        with open(path, "rb") as file:
            is_packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        with gzip.open(path) if is_packed else open(path, "rb") as file:
            return BEGINNING.match(file.read(100)) is not None
    except (OSError, EOFError, zlib.error):
        return False


def _read_entry(reader, width):
    """One entry of a network. `width`: what the entry before it puts out (0: unknown). Returns (module, its width)."""
    expected = "'L out in', 'N dim' or 'A ReLU'"
    words = reader.line(expected).split()
    kind = (words[0] if words else "", len(words))
    if kind == ("L", 3):
        outputs = reader.count(words[1], "a number of outputs")
        inputs = reader.count(words[2], "a number of inputs")
        if width not in (0, inputs):
            reader.fail(f"got a linear layer of {inputs} inputs, expected {width}")
        weight = reader.tensor(torch.Size([outputs, inputs]), "weights")
        bias = reader.tensor(torch.Size([outputs]), "biases")
        module = nn.Linear(inputs, outputs)
    elif kind == ("N", 2):
        outputs = reader.count(words[1], "a width")
        if width != outputs:
            reader.fail(f"got layer normalisation of width {outputs}, expected {width or 'a linear layer first'}")
        weight = reader.tensor(torch.Size([outputs]), "scales")
        bias = reader.tensor(torch.Size([outputs]), "shifts")
        module = nn.LayerNorm(outputs, eps=1e-5)
    elif words == ["A", "ReLU"] and width:
        return nn.ReLU(), width
    else:
        reader.fail(f"got '{' '.join(words)[:40]}', expected {expected}")
    module.load_state_dict({"weight": weight, "bias": bias})
    return module, outputs


def _read_network(reader, name, inputs, outputs):
    """One network; `inputs` and `outputs` are the widths it must have (0: any)."""
    expected = f"the number of entries of the {name} network"
    modules, width = [], inputs
    for _ in range(reader.count(reader.line(expected), expected)):
        module, width = _read_entry(reader, width)
        modules.append(module)
    if outputs not in (0, width):
        reader.fail(f"got {width} outputs of the {name} network, expected {outputs}")
    return nn.Sequential(*modules), width


def _read_text_weights(path):
    reader = _Reader(path)
    expected = "the number of iterations"
    iterations = reader.count(reader.line(expected), expected)
    encoder, encoded = _read_network(reader, "input", 0, 0)
    if not isinstance(encoder[0], nn.Linear):
        reader.fail("got an input network that does not begin with a linear layer")
    state = encoded + encoder[0].in_features
    edge, _ = _read_network(reader, "edge", 2 * state, 1)
    node, _ = _read_network(reader, "node", 2 * state, encoded)
    if any(line.strip() for line in reader.lines[reader.number :]):
        reader.fail("got more text, expected the end of the file")
    return ExaTrkX(iterations, encoder, edge, node)


# ---- files of torch


def parts_of(tensors):
    """{part: {number of the layer: {"weight": tensor, "bias": tensor}}} of tensors by name, or None where they are of
    another network.
    """
    parts = {part: {} for part in PARTS}
    for name, tensor in tensors.items():
        for part, prefixes in PARTS.items():
            prefix = next((prefix for prefix in prefixes if name.startswith(prefix + ".")), None)
            layer, _, kind = name.removeprefix(f"{prefix}.").partition(".")
            if prefix and layer.isdecimal() and kind in ("weight", "bias"):
                parts[part].setdefault(int(layer), {})[kind] = tensor.detach().float()
                break
        else:
            return None
    complete = all(part and all(len(layer) == 2 for layer in part.values()) for part in parts.values())
    return parts if complete else None


def _network(path, part, layers, activation, is_activated):
    """The nn.Sequential of linear layers, norms and activations; the activations are where no layer has weights."""
    modules = []
    for number in range(max(layers) + 1):
        layer = layers.get(number)
        if layer is None:
            modules.append(getattr(nn, activation)())
            continue
        shape = layer["weight"].shape
        if len(shape) not in (1, 2) or layer["bias"].shape != shape[:1]:
            raise InputError(f"{path}: layer {number} of the {part} network is neither linear nor a layer normalisation")
        module = nn.Linear(shape[1], shape[0]) if len(shape) == 2 else nn.LayerNorm(shape[0])
        module.load_state_dict(layer)
        modules.append(module)
    return nn.Sequential(*modules, *([getattr(nn, activation)()] if is_activated else []))


def takes(path):
    """Whether a file has the weights of this network and nothing else: of torch.save, or text, which may be damaged."""
    kind = checkpoints.kind_of(path)
    try:
        return _is_text(path) if kind is None else kind == "weights" and parts_of(checkpoints.load(path).tensors) is not None
    except InputError:
        return False


def _from_tensors(path, tensors, iterations, activation):
    parts = parts_of(tensors)
    if parts is None:
        raise InputError(
            f"{path}: got weights of {', '.join(sorted({name.partition('.')[0] for name in tensors})) or 'nothing'}, "
            "expected those of input_network, edge_network and node_network (Exa.TrkX ResAGNN)"
        )
    if type(iterations) is not int or iterations < 1:
        raise InputError(f"{path}: got n_graph_iters {iterations}, expected a number of iterations")
    if activation not in ACTIVATIONS:
        raise InputError(f"{path}: got hidden_activation {activation}, expected one of {', '.join(ACTIVATIONS)}")
    networks = {part: _network(path, part, layers, activation, part == "input") for part, layers in parts.items()}
    return _checked(path, ExaTrkX(iterations, **networks))


def _checked(path, network):
    """The network, if its layers fit together."""
    if not isinstance(network.input[0], nn.Linear):
        raise InputError(f"{path}: got an input network that does not begin with a linear layer")
    try:
        with torch.no_grad():
            scores = network(torch.zeros(2, network.input[0].in_features), torch.zeros(2, 3, dtype=torch.int64))
    except RuntimeError as error:
        raise InputError(f"{path}: its layers do not fit together: {first_line(error)}") from error
    if scores.shape != (3,):
        raise InputError(f"{path}: got {list(scores.shape[1:])} scores an edge, expected one")
    return network


def _read_checkpoint(path):
    checkpoint = checkpoints.load(path)
    parameters = checkpoint.parameters
    return _from_tensors(path, checkpoint.tensors, parameters.get("n_graph_iters"), parameters.get("hidden_activation", "ReLU"))


def _read_script(path):
    """The network of a TorchScript file, which must compute the same."""
    try:
        script = torch.jit.load(path, "cpu").eval()
    except Exception as error:  # torch throws many kinds
        raise InputError(f"{path}: cannot read the weights: {first_line(error)}") from error
    names = {module.original_name for module in script.modules()}
    activation = next((name for name in ACTIVATIONS if name in names), "ReLU")
    network = _from_tensors(path, dict(script.state_dict()), getattr(script, "n_graph_iters", None), activation).eval()
    random = torch.Generator().manual_seed(1)
    x = torch.randn(30, network.input[0].in_features, generator=random)
    edges = torch.randint(0, 30, (2, 90), generator=random)
    try:
        with torch.no_grad():
            got, expected = script(x, edges).reshape(-1), network(x, edges)
        is_same = any(torch.allclose(scores, expected, atol=1e-4) for scores in (got, got.sigmoid()))
    except Exception:  # whatever another network throws
        is_same = False
    if not is_same:
        raise InputError(
            f"{path}: computes other scores than the Exa.TrkX network with these weights; compile it as it is: "
            f"{line_in_words(path)}"
        )
    return network


def read_weights(path):
    """The network in a file of weights, in eval mode, float32. Raises InputError: what, got, expected."""
    read = {"script": _read_script, "weights": _read_checkpoint, None: _read_text_weights}[checkpoints.kind_of(path)]
    return read(path).eval()
