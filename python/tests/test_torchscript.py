# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""TorchScript models as plain modules: the same numbers as torch's own interpreter, for any number of rows, and what torch
cannot compile ahead of time refused by name and place. Models are those that jet taggers and track networks are made of.
"""

import math
from typing import Dict, List, NamedTuple, Optional, Tuple  # noqa: UP035: as older files write them

import pytest
import torch
from torch import Tensor, nn

import wrapped_tagger
from tensoa import aot, torchscript
from tensoa.command import InputError
from test_export import bind, block, refusal

pytestmark = pytest.mark.filterwarnings("ignore")  # torch says that TorchScript is deprecated


class LoopOverModules(nn.Module):
    """A set of particles a jet, a network for each layer of a ModuleList."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 8), nn.Linear(8, 8)])
        self.last = nn.Linear(8, 2)

    def forward(self, x):
        particles = x.view(-1, 3, 4)
        for layer in self.layers:
            particles = torch.relu(layer(particles))
        return self.last(particles.sum(1))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cells = kind(4, 5, num_layers=2, batch_first=True)
        self.last = nn.Linear(5, 2)

    def forward(self, x):
        states, _ = self.cells(x.view(-1, 3, 4))
        return self.last(states[:, -1])


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.MultiheadAttention(4, 2, batch_first=True) for _ in range(2)])
        self.norm = nn.LayerNorm(4)
        self.last = nn.Linear(4, 2)

    def forward(self, x):
        particles = x.view(-1, 3, 4)
        for layer in self.layers:
            mixed, _ = layer(particles, particles, particles, need_weights=False)
            particles = self.norm(particles + mixed)
        return self.last(particles.mean(1))


class EdgeConvolution(nn.Module):
    """Nearest neighbours inside a jet, as ParticleNet has them, with 1-wide convolutions and batch normalisation."""

    def __init__(self):
        super().__init__()
        self.k = 2
        self.convolution = nn.Conv2d(8, 6, 1, bias=False)
        self.normalisation = nn.BatchNorm2d(6)
        self.last = nn.Linear(6, 2)

    def forward(self, x):
        points = x.view(-1, 3, 4).transpose(1, 2)
        distance = torch.cdist(points.transpose(1, 2), points.transpose(1, 2))
        index = distance.topk(self.k, dim=-1, largest=False)[1]
        jets, columns, count = points.size(0), points.size(1), points.size(2)
        index = index + torch.arange(jets, device=x.device).view(-1, 1, 1) * count
        near = points.transpose(1, 2).reshape(jets * count, columns)[index.view(-1)].view(jets, count, self.k, columns)
        pairs = torch.cat([points.unsqueeze(-1).expand(-1, -1, -1, self.k), near.permute(0, 3, 1, 2)], 1)
        return self.last(torch.relu(self.normalisation(self.convolution(pairs))).mean(-1).mean(-1))


class TrackNetwork(nn.Module):
    """As Exa.TrkX: iterations over edges, sums into hits, an argument that may be left out, assertions."""

    def __init__(self):
        super().__init__()
        self.iterations = 2
        self.edge = nn.Sequential(nn.Linear(24, 6), nn.LayerNorm(6), nn.ReLU(), nn.Linear(6, 1))
        self.node = nn.Sequential(nn.Linear(24, 12), nn.ReLU())

    def forward(self, x: Tensor, edge_index: Tensor, weight: Optional[Tensor] = None) -> Tensor:
        assert x.dim() == 2, f"got {x.dim()} dimensions"
        if edge_index.size(0) != 2:
            raise ValueError("expected two indices an edge")
        source, target = edge_index[0], edge_index[1]
        for i in range(self.iterations):
            score = torch.sigmoid(self.edge(torch.cat([x[source], x[target]], 1)))
            if weight is not None:
                score = score * weight
            total = torch.zeros(x.size(0), x.size(1), dtype=x.dtype, device=x.device)
            total = total.scatter_add(0, target.unsqueeze(1).expand(-1, x.size(1)), score * x[source])
            x = x + self.node(torch.cat([x, total], 1)) * float(i + 1)
        return self.edge(torch.cat([x[source], x[target]], 1)).squeeze(1)


class Results(NamedTuple):
    second: Tensor
    first: Tensor


class Collections(nn.Module):
    """Lists, tuples, dicts, texts and numbers, with a while loop over numbers."""

    def __init__(self):
        super().__init__()
        self.scales: List[float] = [1.0, 0.5]
        self.names: Dict[str, int] = {"a": 3, "b": 1}
        self.register_buffer("shift", torch.arange(4.0))

    def pair(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        return x[:, :2], x[:, 2:4]

    def forward(self, x: Tensor) -> Results:
        first, second = self.pair(x)
        parts: List[Tensor] = []
        for i, scale in enumerate(self.scales):
            parts.append(first * scale + second * i)
        count = 0
        while count < len(parts) + self.names["b"]:
            if count % 2 == 0 and count > 0:
                parts[0] = parts[0] - 1
            count += 1
        named = {"sum": parts[0] + parts[1]}
        named["shifted"] = torch.stack(parts).sum(0) + self.shift[:2]
        with torch.no_grad():
            total = named["sum"].clone()
        total[:, 0] += 1
        half = x.shape[1] // 2
        message = "{} of {}".format(half, len(named))
        if "shifted" in named and message == "6 of 2":
            total = total.clamp(min=-1.0) / math_of(half)
        return Results(named["shifted"], total)


def math_of(n: int) -> float:
    return float(max(n, 2)) ** 2 / 3


ROWS_AND_EDGES = [
    block("x", [f"x{i}" for i in range(12)]),
    block("edge_index", ["source", "target"], shape="columns", column_dtype="int64", dtype="int64", collection=1),
]
JET = bind([block("x", [f"x{i}" for i in range(12)])], [block("y", "uv")])
TRACK = bind(ROWS_AND_EDGES, [block("score", "s")])
PAIR = bind([block("x", [f"x{i}" for i in range(12)])], [block("second", "ab"), block("first", "cd")], "name")

MODELS = {
    "loop over modules": (LoopOverModules, JET),
    "LSTM": (lambda: Recurrent(nn.LSTM), JET),
    "GRU": (lambda: Recurrent(nn.GRU), JET),
    "transformer": (Transformer, JET),
    "edge convolution": (EdgeConvolution, JET),
    "track network": (TrackNetwork, TRACK),
    "collections": (Collections, PAIR),
}


def tensors(columns, rows):
    random = torch.Generator().manual_seed(rows)
    values = [torch.randn(rows, 12, generator=random)]
    return values + [torch.randint(0, rows, (2, 2 * rows), generator=random)] * (len(columns.inputs) - 1)


def written(module, columns, how, tmp_path):
    """A TorchScript file of the module, loaded again."""
    module = module.eval()
    script = torch.jit.trace(module, tensors(columns, 5), check_trace=False) if how == "traced" else torch.jit.script(module)
    script = torch.jit.freeze(script) if how == "frozen" else script
    script.save(tmp_path / "model.pt")
    return torch.jit.load(tmp_path / "model.pt")


@pytest.mark.parametrize("how", ["scripted", "traced", "frozen"])
@pytest.mark.parametrize("name", MODELS)
def test_model_gives_what_the_module_gives_and_is_exported_for_any_number_of_rows(name, how, tmp_path):
    torch.manual_seed(0)
    make, columns = MODELS[name]
    module = make().eval()
    plain = torchscript.interpreted(written(module, columns, how, tmp_path), columns)
    exported = aot.exported_program(plain, columns).module(check_guards=False)
    for rows in (1, 2, 7):
        arguments = tensors(columns, rows)
        with torch.no_grad():
            expected = columns.apply(module, arguments)
            for result, other, value in zip(columns.apply(plain, arguments), exported(arguments), expected):
                torch.testing.assert_close(result, value, rtol=1e-5, atol=1e-6)
                torch.testing.assert_close(other, value, rtol=1e-5, atol=1e-6)


class Channels(nn.Module):
    """Takes [jets, features, particles], as many published taggers do."""

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
    exported = aot.exported_program(plain, columns).module(check_guards=False)
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
        for k in d.keys():  # noqa: SIM118
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
        r += [str(len(e)), str(len(d)), str(dict([("u", 5)])["u"])]  # noqa: C406
        return r


@pytest.mark.parametrize("make", [Numbers, Lists, Texts])
def test_operators_of_python_are_those_of_torchscript(make):
    script, x = torch.jit.script(make()), torch.randn(4, 3)
    got, expected = torchscript.Interpreted(script)(x), script(x)
    assert list(zip(got, map(type, got))) == list(zip(expected, map(type, expected)))


#: What traces have 0-dim tensors for: numbers beside tensors, and numbers made of sizes.
NUMBERS_OF_TRACES = {
    "float": lambda x: x * 0.5,
    "float beside integers": lambda x: x + torch.arange(x.shape[0]).unsqueeze(1) * 0.5,
    "float beside truth values": lambda x: x + (x > 0) * 0.5,
    "float below integers": lambda x: x + (x > 0).long() / 2.5,
    "float beside rare integers": lambda x: x + (x > 4.5).long() * 0.5,
    "small beside large": lambda x: x * 1e6 + (x > 0).long() * 0.5,
    "root of a size": lambda x: x / (x.size(-1) ** 0.5),
    "size": lambda x: x / x.shape[1],
    "part of a size": lambda x: (x.shape[1] / 3) * x - x.shape[1] / 7,
    "power of part of a size": lambda x: torch.pow(x.shape[1] / 4.0, x),
    "part of a size as integer": lambda x: x * torch.as_tensor(x.shape[1] * 0.7).long(),
    "integer as float": lambda x: x + torch.as_tensor(x.shape[1]).float() / 5,
    "choice of numbers": lambda x: torch.where(x > x.shape[1] / 30, x, x.shape[1] / 30),
    "clamped": lambda x: torch.clamp(x, max=x.shape[1] / 30),
    "part of the rows": lambda x: x * (x.shape[0] / 3),
    "float beside float64": lambda x: (x.double() * 0.1).float(),
}


class Called(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


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
    exported = aot.exported_program(plain, columns).module(check_guards=False)
    x = 3 * torch.randn(40, 12)
    expected = in_memory(x)
    for result in (plain(x), exported([x])[0]):
        torch.testing.assert_close(result, expected, rtol=1e-6, atol=1e-6)


class Dtypes(nn.Module):
    """Asks for what tensors are: TorchScript has numbers for that."""

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
    exported = aot.exported_program(plain, JET).module(check_guards=False)
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
    place = f"aten::is_contiguous: how tensors lie in memory is not known yet (test_torchscript.py:{line_of('if x.is_contiguous():')})"
    with pytest.raises(InputError) as error:
        aot.exported_program(plain, JET)
    assert f"cannot be compiled ahead of time: {place}; " in str(error.value)


# ---- what cannot be compiled


class OnData(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x + 1
        return x[:, :2]


class WhileOnData(nn.Module):
    def forward(self, x):
        while bool(x.sum() > 100):
            x = x / 2
        return x[:, :2]


class OverRows(nn.Module):
    def forward(self, x):
        parts: List[Tensor] = []
        for i in range(x.size(0)):
            parts.append(x[i, :2] * 2)
        return torch.stack(parts)


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = 0

    def forward(self, x):
        self.seen += 1
        return x[:, :2] * self.seen


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(12, 2), nn.Dropout(0.5))

    def forward(self, x):
        return self.layers(x)


class Sized(nn.Module):
    def forward(self, x):
        return x[:, :2] + torch.zeros(x.shape[0], 2)


class Fixed(nn.Module):
    def forward(self, x):
        return x[:, :2] + torch.zeros(int(x.shape[0]), 2)


class Cut(nn.Module):
    """Its trace holds a list of numbers as long as the rows were."""

    def forward(self, x):
        return torch.stack([row[:2] for row in x])


def line_of(text):
    return next(i for i, line in enumerate(open(__file__), 1) if line.strip() == text)  # noqa: SIM115


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: torch.jit.script(OnData()), ("a branch that depends on the data", "if x.sum() > 0:")),
        (lambda: torch.jit.script(WhileOnData()), ("a loop whose length depends on the data", "while bool(x.sum() > 100):")),
        (
            lambda: torch.jit.script(OverRows()),
            ("a loop whose length depends on the number of rows", "for i in range(x.size(0)):"),
        ),
        (lambda: torch.jit.script(Stateful()), ("it keeps seen between calls", "self.seen += 1")),
        (
            lambda: torch.jit.script(torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(12, 2)))),
            ("0._packed_params._packed_params is an object of C++, as quantized models have", None),
        ),
    ],
)
def test_what_torch_cannot_compile_is_refused_with_its_name_and_place(make, message, tmp_path):
    what, line = message
    got = refusal(make(), JET, tmp_path)
    assert got.startswith(f"the TorchScript model cannot be compiled ahead of time: {what}")
    assert line is None or f"{what} (test_torchscript.py:{line_of(line)}); " in got
    assert got.endswith("; export it from the torch.nn.Module it was made of, or run it just in time")


def test_trace_of_a_model_in_training_is_refused(tmp_path):
    trace = torch.jit.trace(Dropping().train(), torch.randn(5, 12), check_trace=False)
    assert "was saved while it was being trained (aten::dropout, test_torchscript.py:" in refusal(trace, JET, tmp_path)


@pytest.mark.parametrize("make, rows", [(Cut, 1), (Cut, 5), (Fixed, 5), (Fixed, 100)])
def test_trace_that_takes_one_number_of_rows_is_refused(make, rows, tmp_path):
    trace = torch.jit.trace(make(), torch.randn(rows, 12), check_trace=False)
    message = refusal(trace, JET, tmp_path)
    assert message.startswith(f"the TorchScript model takes {rows} rows and fails at 1021: torch.jit.trace made")


def test_sizes_that_a_trace_follows_stay_free():
    plain = torchscript.interpreted(torch.jit.trace(Sized(), torch.randn(5, 12)), JET)
    exported = aot.exported_program(plain, JET).module(check_guards=False)
    assert [exported([torch.zeros(rows, 12)])[0].shape[0] for rows in (1, 9)] == [1, 9]


@pytest.mark.parametrize(
    "columns, message",
    [
        (bind([*ROWS_AND_EDGES, block("z", "z"), block("w", "w")], [block("y", "uv")]), "takes 3 arguments"),
        (bind([block("y", "abc")], [block("score", "s")], "name"), "the model takes ['x', 'edge_index', 'weight'], the blocks"),
    ],
)
def test_arguments_that_the_model_does_not_take_are_refused(columns, message, tmp_path):
    assert message in refusal(torch.jit.script(TrackNetwork()), columns, tmp_path)


def test_wrong_columns_are_refused_with_operator_and_place(tmp_path):
    message = refusal(torch.jit.script(TrackNetwork()), bind(JET.text["inputs"], JET.text["outputs"]), tmp_path)
    assert "takes 3 arguments ['x', 'edge_index', 'weight'], there are 1 blocks: ['x']" in message
    narrow = bind([block("x", "abc")], [block("y", "uv")])
    message = refusal(torch.jit.script(LoopOverModules()), narrow, tmp_path)
    assert message.startswith("the model fails on columns of the binding") and "aten::view, test_torchscript.py" in message


def test_wrong_interpretation_is_noticed(monkeypatch):
    monkeypatch.setitem(torchscript.PLAIN, "floordiv", lambda a, b: a // b + 1)
    script = torch.jit.script(Collections())
    with pytest.raises(InputError, match="gives other results than its operators one by one"):
        torchscript.interpreted(script, PAIR)


class Hidden(nn.Module):
    """An operator whose effect few numbers show."""

    def __init__(self, kind):
        super().__init__()
        self.kind: str = kind

    def forward(self, x):
        step = x.shape[1] // 12
        if self.kind == "beside large numbers":
            return torch.stack([x[:, 0] * 1e6, x[:, 1] + step], 1)
        if self.kind == "for large numbers":
            return torch.where(x[:, :2] > 1e4, x[:, :2] * step, x[:, :2])
        return torch.where(x[:, :2] == 0, float(step), x[:, :2])


@pytest.mark.parametrize("kind", ["beside large numbers", "for large numbers", "for special numbers"])
def test_wrong_interpretation_that_few_numbers_show_is_noticed(kind, monkeypatch):
    script = torch.jit.script(Hidden(kind))
    torchscript.interpreted(script, JET)
    monkeypatch.setitem(torchscript.PLAIN, "floordiv", lambda a, b: a // b + 1)
    with pytest.raises(InputError, match="gives other results than its operators one by one"):
        torchscript.interpreted(script, JET)


def test_operator_that_fails_in_the_interpretation_only_is_refused_with_its_place(monkeypatch):
    def failing(*_):
        raise ValueError("no such thing\nat all")

    monkeypatch.setitem(torchscript.PLAIN, "floordiv", failing)
    with pytest.raises(InputError) as error:
        torchscript.interpreted(torch.jit.script(Collections()), PAIR)
    place = f"test_torchscript.py:{line_of('half = x.shape[1] // 2')}"
    assert f"ahead of time: no such thing (aten::floordiv, {place}); export it" in str(error.value)


class Failing(nn.Module):
    def forward(self, x):
        return x[:, :2] + x[:, : x.shape[1] // 2]


def test_model_that_fails_itself_is_refused_though_its_interpretation_runs(monkeypatch):
    script = torch.jit.script(Failing())
    with pytest.raises(InputError, match=r"the model fails on columns of the binding with .*aten::add, test_torchscript.py"):
        torchscript.interpreted(script, JET)
    monkeypatch.setitem(torchscript.PLAIN, "floordiv", lambda a, b: 2)
    with pytest.raises(InputError, match="the TorchScript model fails on columns of the binding; export it"):
        torchscript.interpreted(script, JET)


def test_float64_of_the_model_is_that_of_the_module():
    module = TrackNetwork().eval()
    plain = torchscript.interpreted(torch.jit.script(module), TRACK).double()
    x, edges = tensors(TRACK, 9)
    torch.testing.assert_close(plain(x.double(), edges), module.double()(x.double(), edges), rtol=1e-12, atol=1e-12)
