# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Files of other frameworks, as they are: trees of XGBoost, and a pipeline of scikit-learn as ONNX.

    python 10_models_of_others.py

Writes trees.json, ridge.onnx, and rows.csv with the answers of both frameworks for the program in C++. Prints:

    trees.json: the answers of XGBoost, 0 bytes in, 0 bytes out
    ridge.onnx: the answers of scikit-learn, 12000 bytes in, 0 bytes out (the engine has row-major tensors alone)
"""

import numpy as np
import pandas as pd
import skl2onnx
import xgboost
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tensoa

x = np.random.default_rng(0).normal(size=(3, 1000)).astype("float32")
y = x[0] * x[1] + x[2]

trees = xgboost.XGBRegressor(n_estimators=20, max_depth=4).fit(x.T, y)
trees.save_model("trees.json")

ridge = make_pipeline(StandardScaler(), Ridge()).fit(x.T, y)
types = [("features", skl2onnx.common.data_types.FloatTensorType([None, 3]))]
with open("ridge.onnx", "wb") as file:
    file.write(skl2onnx.convert_sklearn(ridge, initial_types=types).SerializeToString())

rows = pd.DataFrame({"x": x[0], "y": x[1], "z": x[2], "trees": trees.predict(x.T), "ridge": ridge.predict(x.T)})
rows.to_csv("rows.csv", index=False)

for path, framework, column in (("trees.json", "XGBoost", "trees"), ("ridge.onnx", "scikit-learn", "ridge")):
    # [run]
    model = tensoa.Model(path, columns=["x", "y", "z"])  # the names that the rows have, in the order of the features
    answers = model(rows)
    # [/run]
    np.testing.assert_allclose(answers.iloc[:, 0], rows[column], rtol=1e-4, atol=1e-4)
    print(f"{path}: the answers of {framework}, {model.last_copies}")
