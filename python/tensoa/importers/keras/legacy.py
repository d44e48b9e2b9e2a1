# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Files of Keras 1 and 2: their fields that Keras 3 lacks, or reads with another meaning."""

import copy
import json
import shutil
from typing import Any

from tensoa.errors import InputError
from tensoa.importers.keras import config

ANY = object()
#: Fields that layers of Keras 3 lack: the value that changes nothing, or ANY where only training reads them.
FIELDS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"), {"noise_shape": ANY, "trainable": ANY}),
    **dict.fromkeys(
        ("SimpleRNN", "LSTM", "GRU", "RNN", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"), {"time_major": False, "stateful": False}
    ),
    **dict.fromkeys(
        ("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose", "DepthwiseConv1D", "DepthwiseConv2D"), {"groups": 1}
    ),
    **dict.fromkeys(
        ("SeparableConv1D", "SeparableConv2D"),
        {"groups": 1, "kernel_initializer": ANY, "kernel_regularizer": ANY, "kernel_constraint": ANY},
    ),
    "MultiHeadAttention": {
        "query_shape": ANY, "key_shape": ANY, "value_shape": ANY, "softmax_robust_masking": False,
    },
    "Dropout": {"noise_shape": ANY},
}  # fmt: skip
SHAPE = "batch_input_shape"


def takes(version: str) -> bool:
    """Whether a file of this version of Keras needs what is here."""
    return version.split(".")[0] in ("1", "2")


def _name_layers(entry: Any) -> None:
    """Sequential models before Keras 2.2.3 had a list of layers, where a dict has it since."""
    if isinstance(entry, list):
        for one in entry:
            _name_layers(one)
    elif isinstance(entry, dict):
        if entry.get("class_name") == "Sequential" and isinstance(entry.get("config"), list):
            entry["config"] = {"name": "sequential", "layers": entry["config"]}
        for one in entry.values():
            _name_layers(one)


def updated(description: dict) -> dict:
    """The configuration as Keras 3 reads it. Raises InputError for a field that it cannot follow."""
    description = copy.deepcopy(description)
    _name_layers(description)
    for name, entry in config.objects(description):
        options = entry["config"]
        for field, neutral in FIELDS.get(entry["class_name"], {}).items():
            value = options.pop(field, neutral)
            if neutral is not ANY and value != neutral:
                raise InputError(f'layer "{name}" ({entry["class_name"]}) has {field}={value}, expected {neutral}')
        axis = options.get("axis")
        if entry["class_name"] == "BatchNormalization" and isinstance(axis, list) and len(axis) == 1:
            options["axis"] = axis[0]
        if entry["class_name"] == "Sequential" and isinstance(options.get("layers"), list):
            options["layers"] = _with_input(options["layers"])
    for _, entry in config.objects(description):
        if entry["class_name"] != "InputLayer":
            entry["config"].pop(SHAPE, None)
    return description


def _with_input(layers: list) -> list:
    """The layers of a sequential model, whose first one may say what the model takes."""
    options = layers[0].get("config", {}) if layers and isinstance(layers[0], dict) else {}
    if not options.get(SHAPE) or layers[0].get("class_name") == "InputLayer":
        return layers
    dtype = "int32" if layers[0]["class_name"] == "Embedding" else options.get("dtype", "float32")
    name = f"{options.get('name', 'model')}_input"
    return [{"class_name": "InputLayer", "config": {SHAPE: options[SHAPE], "dtype": dtype, "name": name}}, *layers]


def rewritten(path: str, description: dict, target: str) -> None:
    """Writes the .h5 again with another configuration."""
    import h5py  # config.read has looked for it

    shutil.copyfile(path, target)
    with h5py.File(target, "r+") as file:
        del file.attrs["model_config"]
        file.attrs["model_config"] = json.dumps(description)


def restore_activations(model: Any, keras: Any) -> None:
    """hard_sigmoid has the slope 0.2 in Keras 1 and 2, 1/6 in Keras 3."""

    def hard_sigmoid(x: Any) -> Any:
        return keras.ops.clip(0.2 * x + 0.5, 0.0, 1.0)

    for layer in model._flatten_layers():
        for name in ("activation", "recurrent_activation"):
            if vars(layer).get(name) is keras.activations.hard_sigmoid:
                setattr(layer, name, hard_sigmoid)
