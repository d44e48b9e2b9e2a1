# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""TorchScript models with branches for training alone, which are gone before the model is judged."""

import random

import pytest
import torch
from torch import nn

from exporting import bind, block, refusal
from tensoa.compiler.torchscript import Interpreted
from tensoa.export import Options, export

pytestmark = pytest.mark.filterwarnings("ignore")  # torch says that TorchScript is deprecated

COLUMNS = bind([block("x", "abc")], [block("y", "uvw")])


class Counting(nn.BatchNorm1d):
    """As torch 1.5 to 1.8 wrote it into files: the counter is an attribute that is set."""

    def forward(self, input):
        self._check_input_dim(input)
        if self.training and self.track_running_stats:
            self.num_batches_tracked = self.num_batches_tracked + 1
        if self.training:
            bn_training = True
        else:
            bn_training = (self.running_mean is None) and (self.running_var is None)
        return nn.functional.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, bn_training, 0.1, self.eps
        )


def network():
    torch.manual_seed(3)
    made = nn.Sequential(nn.Linear(3, 8), Counting(8), nn.ReLU(), nn.Linear(8, 3), Counting(3))
    for part in made:
        if isinstance(part, Counting):
            nn.init.normal_(part.running_mean)
            nn.init.uniform_(part.running_var, 0.5, 2)
    return made


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_files_of_batch_norms_that_count_become_packages(mode, tmp_path):
    """Saved while it was trained, or not: a file is set to evaluation when it is loaded."""
    module = network()
    torch.jit.script(getattr(module, mode)()).save(tmp_path / "m.pt")
    script, lines = torch.jit.load(tmp_path / "m.pt"), []
    assert "prim::SetAttr" in str(script.inlined_graph)
    export(script, COLUMNS, tmp_path / "m.pt2", Options(report=lines.append))
    assert "fused into 1 kernel:" in lines
    x = torch.randn(20, 3)
    torch.testing.assert_close(Interpreted(script.eval())(x), module.eval()(x))


#: (condition of constants of the model, whether it holds in evaluation)
CONDITIONS = (
    ("self.training", False),
    ("not self.training", True),
    ("self.training and self.on", False),
    ("self.training or self.on", True),
    ("self.on and not self.training", True),
    ("self.count > 3", False),
    ("self.count + 2 == 4", True),
    ('self.mode == "train"', False),
    ("self.mode != 'train' and self.rate < 0.5", True),
    ("self.nothing is None", True),
    ("self.mean is None", False),
    ("float(self.count) * self.rate > 1.0", False),
)


def body(draw, depth, indent):
    """Lines of TorchScript on x, and those that Python runs in evaluation; the model is changed in dead code alone."""
    lines, live = [], []
    for _ in range(draw.randint(1, 3)):
        kind = draw.choice(["step", "branch", "branch", "loop", "while"]) if depth else "step"
        step = draw.choice(["x = torch.tanh(x) + self.mean", "x = x * 0.5", "x = torch.relu(x) - x * self.rate"])
        if kind == "step":
            lines.append(indent + step)
            live.append(step)
            continue
        condition, holds = draw.choice(CONDITIONS)
        inner, inner_live = body(draw, depth - 1, indent + "    ")
        dead, _ = body(draw, depth - 1, indent + "    ")
        dead.append(
            indent + "    " + draw.choice(["self.mean = x.mean(0)", "self.count += 1", 'self.mode = "y"', "self.mean *= x[0]"])
        )
        if kind == "branch":
            lines += [f"{indent}if {condition}:", *(inner if holds else dead), f"{indent}else:", *(dead if holds else inner)]
            live += inner_live
        elif kind == "while":
            condition = draw.choice([text for text, holds in CONDITIONS if not holds])
            lines += [f"{indent}while {condition}:", *dead]
        else:
            lines += [
                f"{indent}for i in range(3 if {condition} else 0):" if not holds else f"{indent}for i in range(-1):",
                *dead,
            ]
    return lines, live


HEAD = """
import torch
from typing import Optional

class Drawn(torch.nn.Module):
    nothing: Optional[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.25, -0.5, 1.0]))
        self.on, self.count, self.rate, self.mode, self.nothing = True, 2, 0.125, "x", None

    def forward(self, x):
"""


def held():
    return {"mean": torch.tensor([0.25, -0.5, 1.0]), "on": True, "count": 2, "rate": 0.125, "mode": "x", "nothing": None}


@pytest.mark.parametrize("seed", range(60))
def test_random_dead_branches_are_gone_before_a_model_is_judged(seed, tmp_path):
    draw = random.Random(seed)
    lines, live = body(draw, 3, "        ")
    source = HEAD + "\n".join([*lines, "        return x"])
    (tmp_path / f"drawn_{seed}.py").write_text(source)
    namespace = {"__name__": f"drawn_{seed}"}
    exec(compile(source, str(tmp_path / f"drawn_{seed}.py"), "exec"), namespace)
    script = torch.jit.script(namespace["Drawn"]().eval())
    plain = Interpreted(script)
    assert all(not step.name.startswith("prim::") for step in plain.code.steps)
    x = torch.randn(7, 3)
    right = {"x": x, "self": type("Held", (), held()), "torch": torch}
    exec("\n".join(live), right)
    torch.testing.assert_close(plain(x), right["x"], rtol=0, atol=0)


class Counts(nn.Module):
    """Also values that are set where evaluation comes."""

    def __init__(self, kind):
        super().__init__()
        self.kind: str = kind
        self.count = 0

    def forward(self, x):
        if self.kind == "always" or (self.kind == "of data" and bool(x.sum() > 0)):
            self.count += 1
        for i in range(2):
            if i == 1 and self.kind == "in a loop":
                self.count += i
        return x * 2


@pytest.mark.parametrize("kind", ["always", "of data", "in a loop"])
def test_what_a_call_may_set_is_refused(kind, tmp_path):
    assert "it keeps count between calls (test_torchscript_training.py:" in refusal(
        torch.jit.script(Counts(kind)), COLUMNS, tmp_path
    )


def test_what_no_call_sets_is_not():
    assert Interpreted(torch.jit.script(Counts("never")).eval())(torch.ones(1, 3)).tolist() == [[2, 2, 2]]
