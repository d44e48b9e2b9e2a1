# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Keras 2 of TensorFlow for its files, with the layers of QKeras where it is installed; in float64 for QKeras, whose answers
depend on the order of sums in float32.
"""

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

os.environ["TF_USE_LEGACY_KERAS"], os.environ["TF_CPP_MIN_LOG_LEVEL"] = "1", "3"

import h5py  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

KERAS_3 = (
    "registered_name",
    "module",
    "shared_object_id",
    "build_config",
    "optional",
    "quantization_config",
    "post_training_scale",
)


def in_the_form_of_keras_2(value: object) -> object:
    if isinstance(value, list):
        return [in_the_form_of_keras_2(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if value.get("class_name") == "DTypePolicy":
        return value["config"]["name"]
    names = {"batch_shape": "batch_input_shape"}
    made = {names.get(name, name): in_the_form_of_keras_2(entry) for name, entry in value.items() if name not in KERAS_3}
    if isinstance(made.get("activation"), dict):
        made["activation"]["__passive_serialization__"] = True  # which QActivation makes an object of by itself
    return made


def weights_of(content: bytes) -> list[np.ndarray]:
    """Of a .keras, in the order of layers of one class: q_dense, q_dense_1, …"""
    with h5py.File(io.BytesIO(content)) as file:
        layers = [(name, file["layers"][name]["vars"]) for name in file["layers"]]
        layers.sort(key=lambda layer: (len(layer[0]), layer[0]))
        return [stored[key][()] for _, stored in layers for key in sorted(stored)]


def load(path: str, floatx: str) -> tf.keras.Model:
    objects: dict = {}
    try:
        from qkeras.utils import _add_supported_quantized_objects

        _add_supported_quantized_objects(objects)
    except ImportError:
        pass
    tf.keras.backend.set_floatx(floatx)
    if path.endswith(".json"):
        weights = Path(path.replace(".json", "_weights.h5"))
        text = Path(path).read_text()
    elif path.endswith(".keras"):
        with zipfile.ZipFile(path) as file:
            text = json.dumps(in_the_form_of_keras_2(json.loads(file.read("config.json"))))
            weights = weights_of(file.read("model.weights.h5"))
    else:
        with h5py.File(path) as file:
            text, weights = file.attrs["model_config"], Path(path)
    text = text.decode() if isinstance(text, bytes) else text
    model = tf.keras.models.model_from_json(text.replace('"float32"', f'"{floatx}"'), custom_objects=objects)
    model.load_weights(weights) if isinstance(weights, Path) else model.set_weights(weights)
    return model


def load_any(path: str, floatx: str) -> tuple[Any, str]:
    """(model, name of the runtime): Keras 2 for files that it wrote, else Keras 3."""
    from tensoa.importers.keras import config, legacy

    if path.endswith(".json") or legacy.takes(config.version(path)):
        return load(path, floatx), f"Keras 2 of TensorFlow {tf.__version__}"
    import keras

    return keras.models.load_model(path, compile=False), f"Keras {keras.__version__}"
