# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Bindings of tests, in few words."""

import numpy as np

from tensoa import binding


def block(name, columns, dtype="float32", collection=0, shape="rows", kind="plain", element=(), places=None, **more):
    places = places or range(columns)
    size = int(np.prod(element or (1,)))
    names = [{"name": f"{name}{i}", "plane": place * size} for i, place in enumerate(places)]
    return dict(
        name=name, collection=collection, shape=shape, kind=kind, element=list(element), columns=names,
        column_dtype=dtype, dtype=more.get("as_dtype", dtype),
    )  # fmt: skip


def bound(inputs, outputs, match="order"):
    return binding.parse({"schema": 1, "match": match, "inputs": inputs, "outputs": outputs})


GRAPH = [block("x", 3), block("edge_index", 2, "int64", 1, "columns"), block("edge_attr", 4, collection=1)]
