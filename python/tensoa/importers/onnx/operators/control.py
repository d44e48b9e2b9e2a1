# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Branches, which are taken before the model runs."""

from tensoa.importers.onnx.operators.table import Results, operator
from tensoa.importers.onnx.values import Call, Known, Refused


@operator("If")
def _if(call: Call) -> Results:
    condition = call.value(0)
    branches = call.attribute("else_branch"), call.attribute("then_branch")
    if not isinstance(condition, Known) or condition.array.size != 1:
        raise Refused(f'its condition "{call.node.inputs[0]}" depends on the inputs of the model; expected a constant')
    return tuple(call.run(branches[bool(condition.array.reshape(-1)[0])]))
