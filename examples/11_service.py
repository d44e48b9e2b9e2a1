# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The network of 01_first_program.py on a server; where no server answers, the same file runs in this process.

    python 11_service.py [grpc://HOST:PORT/network]

Prints:

    score = 20.5
    score = 22.5
"""

import sys

import numpy as np

import tensoa

url = sys.argv[1] if len(sys.argv) > 1 else "grpc://127.0.0.1:1/network"
model = tensoa.Model(url, load_deadline=1.0, deadline=2.0, fallback="network.pt2")
x, y, z = np.array([[0, 1], [10, 10], [-1, -1]], "float32")
for score in model(x=x, y=y, z=z)["score"]:
    print(f"score = {score:g}")
