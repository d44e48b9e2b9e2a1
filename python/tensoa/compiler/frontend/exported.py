# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A model as torch.export sees it."""

import torch
from torch import nn

from tensoa.binding import Binding
from tensoa.binding.columns import MOST_TRACED, ROWS, Columns, collections_of, trial_rows
from tensoa.tracing import traced


class _OnTensors(nn.Module):
    """The model with a list of tensors, one for each block, as its argument and as its result."""

    def __init__(self, module: nn.Module, binding: Binding) -> None:
        super().__init__()
        self.module, self.binding = module, binding

    def forward(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        return self.binding.apply(self.module, tensors)


def _examples(binding: Binding) -> list[torch.Tensor]:
    """A tensor for each input block, as the model gets it."""
    example_rows = trial_rows(binding, ROWS, MOST_TRACED)
    rows = {collection: example_rows[2 * i] for i, collection in enumerate(collections_of(binding))}
    columns = Columns(binding, rows, (), "cpu")
    return [block.tensor(argument).contiguous() for block, argument in zip(binding.inputs, columns.inputs)]


def exported_program(module: nn.Module, binding: Binding) -> torch.export.ExportedProgram:
    """The model alone: a list of tensors, one for each block, to another; with free numbers of rows."""
    shapes = [{1 if block.is_transposed else 0: torch.export.Dim.AUTO} for block in binding.inputs]
    arguments = (_examples(binding),)
    return traced(_OnTensors(module, binding), arguments, (shapes,))
