# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Ensembles of trees in ONNX: TreeEnsembleRegressor and TreeEnsembleClassifier of ai.onnx.ml 1 to 5, TreeEnsemble of 5.

The rules are those of ONNX Runtime: base values are added last, a regressor of one target has no transformation, a
classifier of two classes whose leaves speak of one of them gives the score of the second.
"""

from typing import Any

import numpy as np

from tensoa.errors import InputError, Unsupported, first_line
from tensoa.forest import Ensemble, Link
from tensoa.importers.trees.build import Builder
from tensoa.importers.trees.imported import Imported, Reference, own_reference
from tensoa.importers.trees.onnx_nodes import Nodes, from_lists, from_tensors
from tensoa.importers.trees.onnx_tests import TreeOfTests

DOMAIN = "ai.onnx.ml"
REGRESSOR, CLASSIFIER, ENSEMBLE = "TreeEnsembleRegressor", "TreeEnsembleClassifier", "TreeEnsemble"
TRIVIAL, CONCAT = ("Cast", "ZipMap", "Identity"), "Concat"  # of inputs, which it puts side by side
LINKS = {"NONE": Link.NONE, "SOFTMAX": Link.SOFTMAX, "LOGISTIC": Link.SIGMOID, "SOFTMAX_ZERO": Link.SOFTMAX_ZERO}
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")  # their numbers in TreeEnsemble
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
MOST_OUTPUTS = 1 << 16


def takes(content: bytes) -> bool:
    """Whether it begins with the version of the format and a member of a model."""
    return content[:1] == b"\x08" and content[1:2] < b"\x40" and content[2:3] in (b"\x12", b"\x1a", b"\x2a", b"\x3a", b"B")


def read(content: bytes, subject: str) -> Imported:
    """The model in the bytes of a file. Raises InputError, which begins with `subject`."""
    try:
        import onnx
    except ImportError as error:
        raise InputError(f"{subject}is a model of ONNX, which needs the package onnx: {first_line(error)}") from error
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:
        raise InputError(f"{subject}cannot be read ({first_line(error)}), expected a whole model of ONNX") from error
    reader = _Reader(model, subject)
    ensemble = reader.ensemble()
    return Imported(ensemble, _reference(reader, ensemble), reader.notes, reader.other_outputs(model.graph), reader.inputs)


class _Reader:
    def __init__(self, model: Any, subject: str) -> None:
        from onnx import TensorProto, helper, numpy_helper

        self.subject, self.notes = subject, list[str]()
        self.opset = next((one.version for one in model.opset_import if one.domain == DOMAIN), 1)
        self.producer = f"{model.producer_name} {model.producer_version}".strip()
        self.node = self.only_node(model.graph)
        self.attributes: dict[str, Any] = {}
        for attribute in self.node.attribute:
            try:
                value = helper.get_attribute_value(attribute)
                value = numpy_helper.to_array(value) if isinstance(value, TensorProto) else value
            except Exception as error:  # onnx throws many kinds
                self.fail(f'its attribute "{attribute.name}" cannot be read: {first_line(error)}')
            self.attributes[attribute.name] = value
        self.inputs: list[tuple[str, int]] = []
        self.is_double, self.columns, self.names = self.input(model.graph, TensorProto)

    def fail(self, what: str) -> None:
        raise Unsupported(f"{self.subject}{what}")

    def only_node(self, graph: Any) -> Any:
        found = [node for node in graph.node if node.op_type in (REGRESSOR, CLASSIFIER, ENSEMBLE)]
        joins = {name for node in graph.node if _joins_columns(node) for name in node.output}
        sources = {self.source(node.input[0], _before(graph))[0] for node in found if node.input}
        others = [
            node.op_type
            for node in graph.node
            if node not in found and node.op_type not in TRIVIAL and not joins & sources & {*node.output}
        ]
        if others or len(found) != 1:
            got = f"the operator {others[0]}" if others else f"{len(found)} ensembles of trees"
            self.fail(
                f"its graph has {got}, expected one of {REGRESSOR}, {CLASSIFIER}, {ENSEMBLE} with {', '.join(TRIVIAL)}, "
                "or Concat of inputs, only"
            )
        return found[0]

    def input(self, graph: Any, types: Any) -> tuple[bool, int, list[str]]:
        """(whether it is of float64, columns, their names where each is an input). Numbers before a Cast may have any type."""
        before = _before(graph)
        name, kind = self.source(self.node.input[0], before)
        parts = [self.source(part, before) for part in before[name].input] if name in before else [(name, kind)]
        found = [(self.given(graph, part), its) for part, its in parts]
        kinds = {its if its is not None else given.elem_type for given, its in found} if kind is None else {kind}
        if not kinds <= {types.FLOAT} and not kinds <= {types.DOUBLE}:
            self.fail(
                f"its trees see {' and '.join(types.DataType.Name(one).lower() for one in kinds)}, expected float or double"
            )
        widths = [
            given.shape.dim[1].dim_value if len(given.shape.dim) == 2 and given.shape.dim[1].HasField("dim_value") else None
            for given, _ in found
        ]
        if len(parts) > 1 and None in widths:
            self.fail("an input of its Concat does not state its width; expected inputs [n, 1], or of another width")
        used = np.asarray(self.attributes.get("nodes_featureids", ()), np.int64).max(initial=-1) + 1
        columns = int(used) if widths[0] is None else sum(width for width in widths if width is not None)
        if not 0 <= columns < 2**31:
            self.fail(f"it has {columns} columns")
        self.inputs = [(part, width or columns) for (part, _), width in zip(parts, widths)]
        names = [part for part, _ in parts] if len(parts) > 1 and set(widths) == {1} else []
        return kinds == {types.DOUBLE}, columns, names if len(set(names)) == len(names) else []

    def source(self, name: str, before: dict[str, Any]) -> tuple[str, int | None]:
        """(what a value is made of by trivial operators alone, the type that the last of them casts to)."""
        kind = None
        for _ in range(len(before)):
            if name not in before or before[name].op_type == CONCAT:
                break
            if before[name].op_type == "Cast" and kind is None:
                kind = before[name].attribute[0].i
            name = before[name].input[0]
        return name, kind

    def given(self, graph: Any, name: str) -> Any:
        """The type of an input."""
        found = next((one.type.tensor_type for one in graph.input if one.name == name), None)
        if found is None:
            raise InputError(f'{self.subject}the input "{name}" of its trees is not an input of the graph')
        return found

    def other_outputs(self, graph: Any) -> list[str]:
        """The outputs that are not the scores."""
        answers = {self.node.output[-1]}
        for _ in graph.node:  # in any order
            answers |= {node.output[0] for node in graph.node if node.op_type in TRIVIAL and node.input[0] in answers}
        return [value.name for value in graph.output if value.name not in answers]

    def text(self, name: str, otherwise: str, choices: tuple[str, ...]) -> str:
        """An attribute that is a text, or in TreeEnsemble a number."""
        value = self.attributes.get(name, otherwise)
        value = value.decode("latin-1") if isinstance(value, bytes) else value
        if isinstance(value, int):
            value = choices[value] if 0 <= value < len(choices) else str(value)
        if value not in choices:
            self.fail(f'its {name} is "{value}", expected one of {", ".join(choices)}')
        return value

    def numbers(self, name: str) -> np.ndarray:
        """Of a list or of the tensor that may stand for it."""
        value = self.attributes.get(name + "_as_tensor", self.attributes.get(name, ()))
        try:
            return np.asarray(value, np.float64).ravel()
        except (TypeError, ValueError):
            raise InputError(f"{self.subject}its {name} are not numbers") from None

    def ensemble(self) -> Ensemble:
        kind = self.node.op_type
        transform = self.text("post_transform", "NONE", TRANSFORMS)
        aggregate = self.text("aggregate_function", "SUM", AGGREGATES)
        if transform == "PROBIT":
            self.fail("its post_transform is PROBIT, which ONNX Runtime calculates with an error of 1e-3; expected another")
        if aggregate in ("MIN", "MAX"):
            self.fail(f"its aggregate_function is {aggregate}, expected SUM or AVERAGE")
        if kind == ENSEMBLE:
            nodes = from_tensors(self.attributes, self.subject)
        else:
            nodes = from_lists(self.attributes, "class" if kind == CLASSIFIER else "target", self.numbers, self.subject)
        labels = self.labels() if kind == CLASSIFIER else []
        outputs = len(labels) if kind == CLASSIFIER else self.attributes.get("n_targets", 1)
        if not isinstance(outputs, int) or not 1 <= outputs <= MOST_OUTPUTS:
            self.fail(f"it has {outputs} outputs, expected 1 to {MOST_OUTPUTS}")
        targets = {output for pairs in nodes.weights.values() for output, _ in pairs}
        self.has_one_score = kind == CLASSIFIER and outputs == 2 and targets <= {0}
        if self.has_one_score:
            outputs, labels = 1, labels[1:]
        wrong = next((output for output in targets if not 0 <= output < outputs), None)
        if wrong is not None:
            self.fail(f"a leaf adds to output {wrong}, there are {outputs}")
        link = self.link(transform, outputs)
        base = self.numbers("base_values")
        if len(base) not in (0, outputs) or not np.isfinite(base).all():
            self.fail(f"it has {len(base)} base values, expected {outputs}")
        divisor = float(len(nodes.roots)) if aggregate == "AVERAGE" else 1.0
        precision = np.float64 if self.is_double else np.float32
        builder = self.add_trees(nodes, outputs)
        return builder.ensemble(
            outputs=outputs,
            features=precision,
            sums=precision,
            base=(np.resize(base, outputs) * divisor if len(base) else np.zeros(outputs)).tolist(),
            base_is_last=True,
            divisor=divisor,
            link=link,
            source=f"ONNX, {self.producer}" if self.producer else "ONNX",
            objective=f"{kind}, {transform}",
            classes=labels,
            column_names=self.names,
        )

    def link(self, transform: str, outputs: int) -> Link:
        if self.node.op_type != CLASSIFIER and outputs == 1:
            if transform != "NONE":
                self.notes.append(f"ONNX Runtime ignores the post_transform {transform} of one target, and so does the package")
            return Link.NONE
        if self.has_one_score:
            return Link.SIGMOID if transform == "LOGISTIC" else Link.NONE
        return LINKS[transform]

    def labels(self) -> list[str]:
        texts, numbers = self.attributes.get("classlabels_strings", ()), self.attributes.get("classlabels_int64s", ())
        return [one.decode("utf-8", "replace") for one in texts] or [str(one) for one in numbers]

    def add_trees(self, nodes: Nodes, outputs: int) -> Builder:
        """Leaves of one value where each tree adds to one output, else of vectors."""
        builder = Builder(self.columns, 1, self.subject)
        trees = [TreeOfTests(nodes, root, builder) for root in nodes.roots]
        if any(len(tree.targets()) > 1 for tree in trees):
            builder.leaf_size = outputs
        for tree in trees:
            tree.add_to(builder, min(tree.targets(), default=0) if builder.leaf_size == 1 else 0)
        return builder


def _joins_columns(node: Any) -> bool:
    return node.op_type == CONCAT and [one.i for one in node.attribute if one.name == "axis"] in ([1], [-1])


def _before(graph: Any) -> dict[str, Any]:
    """The nodes that may be before the trees, by what they give."""
    return {node.output[0]: node for node in graph.node if node.op_type in TRIVIAL or _joins_columns(node)}


def _reference(reader: _Reader, ensemble: Ensemble) -> Reference:
    try:
        import onnxruntime
    except ImportError:
        return own_reference(ensemble, "onnxruntime")
    from onnx import TensorProto, helper

    def session(**changed: Any) -> Any:
        """The trees alone, with other attributes."""
        node = type(reader.node)()
        node.CopyFrom(reader.node)
        kept = [attribute for attribute in node.attribute if attribute.name not in changed]
        del node.attribute[:], node.input[:], node.output[:]
        node.attribute.extend([*kept, *(helper.make_attribute(name, value) for name, value in changed.items())])
        node.input.append("x")
        has_labels = node.op_type == CLASSIFIER
        node.output.extend(["label", "scores"] if has_labels else ["scores"])
        kind = TensorProto.DOUBLE if reader.is_double else TensorProto.FLOAT
        # of TreeEnsemble the result has the type of the input
        result = kind if node.op_type == ENSEMBLE else TensorProto.FLOAT
        graph = helper.make_graph(
            [node], "trees", [helper.make_tensor_value_info("x", kind, [None, reader.columns])],
            [helper.make_tensor_value_info("scores", result, [None, None])],
        )  # fmt: skip
        opsets = [helper.make_opsetid(DOMAIN, reader.opset), helper.make_opsetid("", 17)]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4  # several threads add trees in any order
        content = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
        try:
            return onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
        except Exception as error:
            version = onnxruntime.__version__
            raise InputError(f"{reader.subject}ONNX Runtime {version} cannot run it: {first_line(error)}") from error

    whole = session()
    plain = session(post_transform=0 if reader.node.op_type == ENSEMBLE else "NONE")

    def called(session: Any, x: np.ndarray) -> np.ndarray:
        if not len(x):
            return np.empty((0, ensemble.outputs), np.float32)
        scores = session.run(["scores"], {"x": np.ascontiguousarray(x)})[0].reshape(len(x), -1)
        return scores[:, scores.shape[1] - ensemble.outputs :]

    is_rounded = reader.is_double or (ensemble.divisor != 1 and any(ensemble.base))
    return Reference(
        f"ONNX Runtime {onnxruntime.__version__}",
        lambda x: called(plain, x),
        lambda x: called(whole, x),
        tolerance=1e-6 if is_rounded else 0.0,
        has_small_answers=ensemble.link is not Link.SIGMOID,
    )
