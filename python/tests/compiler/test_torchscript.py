# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""TorchScript models as plain modules."""

import math
from typing import List  # as older files write them

import pytest
import torch
from torch import Tensor, nn

import wrapped_tagger
from exporting import bind, block
from tensoa.compiler import torchscript
from tensoa.compiler.frontend import exported_program
from tensoa.errors import InputError
from torchscript_models import (
    JET,
    MODELS,
    Recurrent,
    line_of,
    tensors,
    written,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # torch says that TorchScript is deprecated


@pytest.mark.parametrize("how", ["scripted", "traced", "frozen"])
@pytest.mark.parametrize("name", MODELS)
def test_model_gives_what_the_module_gives_and_is_exported_for_any_number_of_rows(name, how, tmp_path):
    torch.manual_seed(0)
    make, columns = MODELS[name]
    module = make().eval()
    plain = torchscript.interpreted(written(module, columns, how, tmp_path), columns)
    exported = exported_program(plain, columns).module(check_guards=False)
    for rows in (1, 2, 7):
        arguments = tensors(columns, rows)
        with torch.no_grad():
            expected = columns.apply(module, arguments)
            for result, other, value in zip(columns.apply(plain, arguments), exported(arguments), expected):
                torch.testing.assert_close(result, value, rtol=1e-5, atol=1e-6)
                torch.testing.assert_close(other, value, rtol=1e-5, atol=1e-6)


class Channels(nn.Module):
    """Takes [jets, features, particles], like several published taggers."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv1d(4, 6, 1)
        self.last = nn.Linear(6, 2)

    def forward(self, x):
        return self.last(torch.relu(self.convolution(x)).mean(-1))


def test_published_file_inside_a_module_is_followed_and_the_module_stays_as_it_is(tmp_path):
    torch.jit.script(Channels()).save(tmp_path / "tagger.pt")
    module = wrapped_tagger.Tagger(tmp_path / "tagger.pt").eval()
    columns = bind([block("x", "abc", [0, 4, 8], kind="vector", element=[4])], [block("y", "uv")])
    plain = torchscript.interpreted(module, columns)
    assert isinstance(module.model, torch.jit.ScriptModule)
    exported = exported_program(plain, columns).module(check_guards=False)
    x = torch.randn(7, 3, 4)
    torch.testing.assert_close(exported([x])[0], module(x), rtol=1e-5, atol=1e-6)


# ---- operators of numbers, texts, lists and dicts


class Numbers(nn.Module):
    def __init__(self):
        super().__init__()
        self.i: int = -7
        self.k: int = 3
        self.f: float = 2.5
        self.g: float = -3.75

    def forward(self, x: Tensor) -> List[float]:
        i, k, f, g = self.i, self.k, self.f, self.g
        r = [float(i + k), float(i - k), float(i * k), i / k, float(i // k), float(i % k), float(k**2), f**2]
        r += [float(-i), float(abs(i)), float(abs(g)), float(int(g)), float(int(f)), float(round(f)), float(round(g))]
        r += [float(math.floor(g)), float(math.ceil(g)), math.sqrt(f), math.exp(f), math.log(f), math.log10(f), math.sin(f)]
        r += [math.cos(f), math.tan(f), math.tanh(f), math.atan2(f, g), math.fmod(g, 2.0), g // f, g % f]
        r += [float(math.isnan(f)), float(math.isinf(f)), float(i & k), float(i | k), float(k << 2), float(k >> 1)]
        r += [float(i == k), float(i != k), float(i < k), float(i <= k), float(f > g), float(f >= g), float(not bool(i))]
        r += [float(max(i, k)), float(min(f, g)), float(max([1, 5, 2])), float(min([1.5, 0.5]))]
        r += [float(x.size(0)), float(len(x.shape)), float(len(x)), float(x.dim()), float(x.numel()), float(x.shape[-1])]
        return r


class Lists(nn.Module):
    def forward(self, x: Tensor) -> List[int]:
        a, b = [3, 1, 2], [0] * 3
        a.append(9)
        a.extend([4, 4])
        a.insert(1, 8)
        r: List[int] = []
        r += a
        r += [a.pop(), a.pop(0)]
        a.sort()
        r += a
        a.reverse()
        r += a + a[1:-1] + a[::2]
        r += [a.index(8), a.count(4), len(a), sum([1, 2, 3]), int(any([False, True])), int(all([True, False]))]
        r += [int(3 in a), int(7 in a), int([1, 2] == [1, 2]), int([1] != [2])]
        b[1] = 5
        b[-1] = 6
        r += b
        c = a.copy()
        c.clear()
        r += [len(c)] + sorted([5, 2, 9]) + list([1, 2])
        del a[0]
        for i in range(10, 2, -3):
            r.append(i)
        for j, (p, q) in enumerate(zip([1, 2], [3, 4])):
            r.append(j * p + q)
        a.sort(reverse=True)
        r += a
        t = (1, 2, 3, 4)
        r += [t[1], t[1:3][0], t[1:3][-1]]
        return r


class Texts(nn.Module):
    def forward(self, x: Tensor) -> List[str]:
        s, d = "Abc,de", {"a": 1, "b": 2}
        d["c"] = 3
        r = [s.lower(), s.upper(), s + "x", str(3), "{}-{}".format(1, "z"), ";".join(["p", "q"]), s.replace("b", "B")]
        r += [" pad ".strip(), s[0], s[1:3], str(len(s)), str(s.startswith("A")), str(s.endswith("e")), str(s == "x")]
        r += s.split(",")
        r += [str("b" in d), str("z" in d), str(d["a"]), str(d.get("q", 7)), str(len(d))]
        for k in d.keys():
            r.append(k)
        for v in d.values():
            r.append(str(v))
        for k, v in d.items():
            r.append(k + str(v))
        d.update({"a": 10})
        r += [str(d.pop("a")), str(d.setdefault("n", 4))]
        e = d.copy()
        e.clear()
        del d["b"]
        r += [str(len(e)), str(len(d)), str(dict([("u", 5)])["u"])]
        return r


@pytest.mark.parametrize("make", [Numbers, Lists, Texts])
def test_operators_of_python_are_those_of_torchscript(make):
    script, x = torch.jit.script(make()), torch.randn(4, 3)
    got, expected = torchscript.Interpreted(script)(x), script(x)
    assert list(zip(got, map(type, got))) == list(zip(expected, map(type, expected)))


#: Traces have 0-dim tensors for these: numbers among tensors, and numbers made of sizes.
NUMBERS_OF_TRACES = {
    "float": lambda x: x * 0.5,
    "float with integers": lambda x: x + torch.arange(x.shape[0]).unsqueeze(1) * 0.5,
    "float with truth values": lambda x: x + (x > 0) * 0.5,
    "float below integers": lambda x: x + (x > 0).long() / 2.5,
    "float with rare integers": lambda x: x + (x > 4.5).long() * 0.5,
    "small with large": lambda x: x * 1e6 + (x > 0).long() * 0.5,
    "root of a size": lambda x: x / (x.size(-1) ** 0.5),
    "size": lambda x: x / x.shape[1],
    "part of a size": lambda x: (x.shape[1] / 3) * x - x.shape[1] / 7,
    "power of part of a size": lambda x: torch.pow(x.shape[1] / 4.0, x),
    "part of a size as integer": lambda x: x * torch.as_tensor(x.shape[1] * 0.7).long(),
    "integer as float": lambda x: x + torch.as_tensor(x.shape[1]).float() / 5,
    "choice of numbers": lambda x: torch.where(x > x.shape[1] / 30, x, x.shape[1] / 30),
    "clamped": lambda x: torch.clamp(x, max=x.shape[1] / 30),
    "part of the rows": lambda x: x * (x.shape[0] / 3),
    "float with float64": lambda x: (x.double() * 0.1).float(),
}


class Called(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def test_weights_in_a_list_are_buffers():
    script = torch.jit.script(Recurrent(nn.LSTM)).eval()
    found = {tuple(one.shape) for one in torchscript.Interpreted(script).buffers()}
    assert found == {tuple(one.shape) for one in script.parameters()}


@pytest.mark.parametrize("is_file", [False, True])
@pytest.mark.parametrize("name", NUMBERS_OF_TRACES)
def test_numbers_of_traces_are_those_of_the_module(name, is_file, tmp_path):
    module = Called(NUMBERS_OF_TRACES[name]).eval()
    trace = torch.jit.trace(module, torch.zeros(5, 12), check_trace=False)
    in_memory = trace
    if is_file:
        trace.save(tmp_path / "model.pt")
        trace = torch.jit.load(tmp_path / "model.pt")
    columns = bind([block("x", [f"x{i}" for i in range(12)])], [block("y", [f"y{i}" for i in range(12)])])
    plain = torchscript.interpreted(trace, columns)
    exported = exported_program(plain, columns).module(check_guards=False)
    x = 3 * torch.randn(40, 12)
    expected = in_memory(x)
    for result in (plain(x), exported([x])[0]):
        torch.testing.assert_close(result, expected, rtol=1e-6, atol=1e-6)


class Dtypes(nn.Module):
    """Tests properties of tensors: TorchScript has numbers for that."""

    def forward(self, x):
        if x.dtype != torch.float32:
            raise RuntimeError("float32 please")
        if x.dtype == torch.float16 or x.dtype == torch.bfloat16:
            x = x.float() + 1
        if x.dtype in [torch.float32, torch.float64]:
            x = x * 2
        if x.layout == torch.strided:
            x = x + 3
        y = torch.ones(x.shape[0], 2, dtype=x.dtype).to(dtype=x.dtype)
        return (x > 0).to(x.dtype)[:, :2] + x[:, :2] + y.type_as(x)


class Tensors(nn.Module):
    """Makes tensors of lists and numbers."""

    def forward(self, x):
        x = x[:, [1, 0]] + torch.tensor([1.0, 2.5]) + torch.tensor([x.size(1), 2]) + torch.tensor([[1, 2]])
        x = x * torch.tensor([x.size(0), x.size(1)]) + torch.tensor([x.size(0) / 3]) + torch.tensor(x.size(0))
        mask = torch.tensor([True, False])
        half = torch.tensor([1.5, 2.5], dtype=torch.int32) + torch.tensor(0.5)
        return torch.where(mask, x, half) + torch.as_tensor([0.25, 1.0]) + torch.tensor(3, dtype=torch.float64).float()


@pytest.mark.parametrize("make", [Dtypes, Tensors])
def test_what_tensors_are_and_are_made_of_is_that_of_the_module(make):
    module = make().eval()
    plain = torchscript.interpreted(torch.jit.script(module), JET)
    exported = exported_program(plain, JET).module(check_guards=False)
    for rows in (1, 7):
        (x,) = tensors(JET, rows)
        torch.testing.assert_close(plain(x), module(x), rtol=1e-6, atol=0)
        torch.testing.assert_close(exported([x])[0], module(x), rtol=1e-6, atol=0)


class Contiguous(nn.Module):
    def forward(self, x):
        if x.is_contiguous():
            return x[:, :2]
        return x[:, :2] * 2


def test_how_a_tensor_lies_in_memory_is_asked_and_refused_ahead_of_time():
    plain = torchscript.interpreted(torch.jit.script(Contiguous()), JET)
    x = torch.randn(5, 12)
    torch.testing.assert_close(plain(x), x[:, :2])
    torch.testing.assert_close(plain(x.t().contiguous().t()), 2 * x[:, :2])
    line = line_of("if x.is_contiguous():", __file__)
    place = f"aten::is_contiguous: how tensors lie in memory is not known yet (test_torchscript.py:{line})"
    with pytest.raises(InputError) as error:
        exported_program(plain, JET)
    assert f"cannot be compiled ahead of time: {place}" in str(error.value)
