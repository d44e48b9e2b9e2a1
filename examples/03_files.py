# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From a file to a file: reads POINTS, runs the network of 01_first_program.py on its columns, and writes SCORES.

    python 03_files.py points.csv scores.parquet

Prints:

    score = 602.5
    score = 26.5
    score = 7.5
"""

import sys

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import tensoa

points_path, scores_path = sys.argv[1:]
types = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys("xyz", pa.float32()))  # as the model reads them
points = pyarrow.csv.read_csv(points_path, convert_options=types)

scores = tensoa.Model("network.pt2")(points)  # a table, as it was given one; the column id is not read
pyarrow.parquet.write_table(scores, scores_path)

for score in pyarrow.parquet.read_table(scores_path)["score"]:
    print(f"score = {score.as_py():g}")
