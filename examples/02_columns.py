# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Columns in seven kinds of memory go into the network of 01_first_program.py; each line says what a call copied.

    python 02_columns.py

Prints:

    columns of one array [3, n]:  last score 50.5, 0 bytes in
    rows 4 to 7 of them:          last score 34.5, 0 bytes in
    an array for each column:     last score 50.5, 192 bytes in
    a DataFrame of pandas:        last score 50.5, 0 bytes in
    a table of pyarrow:           last score 50.5, 0 bytes in
    an array of structures:       last score 50.5, 192 bytes in
    a block, row-major [n, 3]:    last score 50.5, 192 bytes in
"""

import numpy as np
import pandas as pd
import pyarrow as pa

import tensoa

model = tensoa.Model("network.pt2")
columns = np.stack([np.arange(16), np.full(16, 10), np.full(16, -1)]).astype("float32")
named = dict(zip("xyz", columns, strict=True))


def run(what, given):
    answers = model(given)
    scores = answers if isinstance(answers, np.ndarray) and answers.dtype.names is None else np.asarray(answers["score"])
    print(f"{what:29} last score {float(scores.ravel()[-1]):g}, {model.last_copies.bytes_in} bytes in")


run("columns of one array [3, n]:", named)
run("rows 4 to 7 of them:", {name: column[4:8] for name, column in named.items()})
x, y, _, _, z = np.concatenate([columns[:2], np.zeros((2, 16), "float32"), columns[2:]])  # not at equal distances
run("an array for each column:", {"x": x, "y": y, "z": z})
run("a DataFrame of pandas:", pd.DataFrame(named))
run("a table of pyarrow:", pa.table(named))
run("an array of structures:", np.rec.fromarrays(columns, names="x,y,z"))
run("a block, row-major [n, 3]:", np.ascontiguousarray(columns.T))
