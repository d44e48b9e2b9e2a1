# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The small model of docs/compiler.md: `python small_model.py` writes small_model.txt, what becomes of it in every pass."""

import sys
from pathlib import Path

import torch
from torch import nn

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1])]

from bindings import block, bound  # noqa: E402
from tensoa.binding.model import result_rows  # noqa: E402
from tensoa.compiler import frontend  # noqa: E402
from tensoa.compiler.dump import dumps  # noqa: E402

TEXT = Path(__file__).with_suffix(".txt")


# [model]
class Small(nn.Module):
    """Two heads of a layer, scaled by the largest number of each, less the mean of all rows."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 8)

    def forward(self, x):
        heads = torch.relu(self.layer(x)).view(-1, 2, 4)
        y = (heads / (1 + heads.amax(2, keepdim=True))).flatten(1)
        return y - y.mean(0)


# [/model]


# [attention]
class Attention(nn.Module):
    """Of all rows, with one head."""

    def forward(self, x):
        return torch.softmax(x @ x.T, 1) @ x


# [/attention]


def text():
    """Sections with marks, as scripts/check_docs.py reads them."""
    *_, (_, stream) = dumps(captured(Attention(), 3, 3))
    found = [f"# [stream]\n{stream}\n# [/stream]\n"]
    for name, dump in dumps(captured(Small(), 3, 8)):
        mark = name.replace(" ", "_")
        found.append(f"# [{mark}]\n{dump}\n# [/{mark}]\n")
    return "\n".join(found)


def captured(module, width, results):
    binding = bound([block("x", width)], [block("y", results)])
    module = module.eval()
    for one in module.parameters():  # the digests of the constants are the same everywhere
        one.data = torch.arange(one.numel(), dtype=torch.float32).reshape(one.shape) / 8
    exported = frontend.exported_program(module, binding)
    return frontend.capture(exported, binding, result_rows(module, binding, "cpu"))


if __name__ == "__main__":
    TEXT.write_text(text())
