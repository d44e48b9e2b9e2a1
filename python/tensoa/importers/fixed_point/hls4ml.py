# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Networks of hls4ml: the .fml that ModelGraph.save writes, for its back ends Vivado and Vitis."""

import io
import json
import tarfile
from typing import Any

import numpy as np

from tensoa.errors import InputError, first_line
from tensoa.importers.fixed_point.layers import Dense, FixedPoint, Relu, Scale
from tensoa.importers.fixed_point.number import Cast, Fixed, Layer, Range
from tensoa.importers.outputs import Asked, one_of

BACKENDS = ("vivado", "vitis", "vivadoaccelerator")
STRATEGIES = ("latency", "resource")
READ = "Input, Dense, BatchNormalization, ApplyAlpha, Activation (relu, linear)"
EXPECTED = "expected what ModelGraph.save of hls4ml 1.1 or later writes"


def import_fml(path: str, asked: Asked | None = None) -> FixedPoint:
    """The network in a file, up to the layer that is requested, bit for bit as the C++ of hls4ml calculates it. Raises
    InputError.
    """
    try:
        with tarfile.open(path, "r:gz") as archive:
            members = {member.name.removeprefix("./"): member for member in archive.getmembers() if member.isfile()}
            files = {name: archive.extractfile(member).read() for name, member in members.items()}  # type: ignore[union-attr]
    except (OSError, EOFError, tarfile.TarError) as error:
        raise InputError(f"{path}: cannot be read ({first_line(error)}), {EXPECTED}") from error
    try:
        layers = json.loads(files["model_arch.json"])
        backend = str(json.loads(files["config.json"])["config"].get("Backend", "Vivado"))
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: has no model ({first_line(error)}), {EXPECTED}") from error
    try:
        if backend.lower() not in BACKENDS:
            raise InputError(f"is made for the back end {backend}, expected one of {', '.join(BACKENDS)}")
        if not isinstance(layers, dict) or not layers:
            raise InputError(f"has no layers, {EXPECTED}")
        last, notes = one_of(asked, [*layers])
        network = _Reader(layers, files).network(last)
        network.result_names, network.notes = [last], notes
        return network
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


class _Reader:
    def __init__(self, layers: dict[str, Any], files: dict[str, bytes]) -> None:
        self.layers, self.files = layers, files
        self.made: list[tuple[str, Layer]] = []
        self.range = Range(0, 0, 0)  # of what the last layer gives

    def network(self, last: str) -> FixedPoint:
        before: list[str] | None = None
        for name, layer in self.layers.items():
            try:
                state = layer["state"]
                kind = str(layer["class_name"]).rsplit(".", 1)[-1]
                inputs, outputs, attributes = state["inputs"], state["outputs"], state["attributes"]
                if before is None and kind != "Input":
                    raise InputError("is the first one, expected an Input")
                if before is not None and inputs != before:
                    raise InputError(f"takes {', '.join(inputs)}; expected layers one after another, each with what is before")
                self._add(name, kind, attributes, _type(attributes[outputs[0]]["state"]["type"]))
                before = outputs
                if name == last:
                    break
            except InputError as error:
                raise InputError(f'layer "{name}" ({layer.get("class_name", "?").rsplit(".", 1)[-1]}): {error}') from error
            except (KeyError, TypeError, AttributeError, IndexError) as error:
                raise InputError(f'layer "{name}": has no {first_line(error)}, {EXPECTED}') from error
        return FixedPoint(self.made)

    def _add(self, name: str, kind: str, attributes: dict[str, Any], result: Fixed) -> None:
        if kind == "Input":
            if self.made:
                raise InputError("is a second Input, expected one")
            self._append(name, Cast(None, result))
            return
        if kind == "Dense":
            self._append(name, self._dense(attributes))
        elif kind in ("BatchNormalization", "ApplyAlpha"):
            (scale, scale_type), (bias, bias_type) = (self._weights(attributes, part) for part in ("scale", "bias"))
            self._append(name, Scale(self.range, scale, bias, (scale_type, bias_type)))
        elif kind == "Activation" and attributes["activation"] in ("relu", "linear"):
            if attributes["activation"] == "relu":
                self._append(name, Relu(self.range))
        else:
            what = f"it is {attributes.get('activation', kind)}"
            raise InputError(
                f"{what}, which has no exact rule here; expected {READ}: name the output block as the layer before it, "
                "which is then the last"
            )
        self._append(name, Cast(self.range, result))

    def _append(self, name: str, layer: Layer) -> None:
        self.made.append((name, layer))
        assert layer.range is not None  # only FloatDense has none, which hls4ml has not
        self.range = layer.range

    def _dense(self, attributes: dict[str, Any]) -> Dense:
        strategy = str(attributes.get("strategy", "latency")).lower()
        if strategy not in STRATEGIES:
            raise InputError(f"its strategy is {strategy}, expected one of {', '.join(STRATEGIES)}")
        weight, weight_type = self._weights(attributes, "weight")
        bias, bias_type = self._weights(attributes, "bias")
        size = (int(attributes["n_in"]), int(attributes["n_out"]))
        if not attributes.get("_weights_transposed", False):
            weight = weight.T
        if weight.shape != size[::-1] or bias.shape != size[1:]:
            raise InputError(f"got weights {list(weight.shape)} and biases {list(bias.shape)}, expected {list(size[::-1])}")
        return Dense(self.range, weight, bias, (weight_type, bias_type), _type(attributes["accum_t"]))

    def _weights(self, attributes: dict[str, Any], part: str) -> tuple[np.ndarray, Fixed]:
        kind = attributes[part]["class_name"].rsplit(".", 1)[-1]
        if kind != "WeightVariable":
            raise InputError(f"its {part} is a {kind}, expected a WeightVariable: convert it without compression and po2")
        state = attributes[part]["state"]
        given = _type(state["type"])
        name = str(state["data"]).removeprefix("@ndarray:")
        try:
            array = np.load(io.BytesIO(self.files[name]), allow_pickle=False).astype(np.float64)
        except (KeyError, ValueError, EOFError) as error:
            raise InputError(f"its {part} cannot be read ({first_line(error)})") from error
        if not np.isfinite(array).all():
            raise InputError(f"its {part} is not finite")
        # hls4ml writes them with the number of decimal places that the type has binary places, before C++ reads them.
        places = max(0, given.range.fraction)
        return np.array([float(f"{x:.{places}f}") for x in array.flat]).reshape(array.shape), given


def _type(entry: Any) -> Fixed:
    """Of a named type."""
    precision = entry["state"]["precision"]
    kind, state = precision["class_name"].rsplit(".", 1)[-1], precision["state"]
    if kind == "IntegerPrecisionType":
        return Fixed(state["width"], state["width"], state["signed"])
    if kind != "FixedPrecisionType":
        raise InputError(f"has numbers of {kind}, expected FixedPrecisionType")
    if state.get("saturation_bits"):
        raise InputError(f"has {state['saturation_bits']} saturation bits, expected none")
    modes = (str(state[name]) for name in ("rounding_mode", "saturation_mode"))
    return Fixed(state["width"], state["integer"], state["signed"], *modes)
