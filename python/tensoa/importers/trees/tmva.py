# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Boosted decision trees of TMVA: the weights.xml of the method BDT, boosted by AdaBoost, Grad or Bagging, of two classes.

Values and cuts are of float32. x >= Cut goes right where cType is 1, left where it is 0; NaN goes as x < Cut (TMVA's Reader
gives -999 for it). Sums are of float64: of Grad the responses, of the others the means of the leaves by boostWeight.
"""

import xml.etree.ElementTree as xml

import numpy as np

from tensoa.forest import Ensemble, Link
from tensoa.importers.tmva.setup import NETWORKS, Setup
from tensoa.importers.trees.build import Builder
from tensoa.importers.trees.imported import Imported, Reference

BOOSTS = ("AdaBoost", "Bagging", "Grad")
REGRESSION = "1"  # of the trees, whatever the method does: leaves have responses


def takes(content: bytes) -> bool:
    return b"<MethodSetup" in content[:4096]


def read(content: bytes, subject: str) -> Imported:
    """The model in the bytes of a weights.xml. Raises InputError, which begins with `subject`."""
    content = content.lstrip()  # TMVA's parser takes space before the declaration of XML
    reader = _Reader(content, subject)
    ensemble = reader.ensemble()
    reference = _Rules(content, reader.boost, reader.has_yes_no)
    name = "the rules of TMVA (MethodBDT), in float64, by a second reader"
    return Imported(ensemble, Reference(name, reference.margins, reference.answers))


class _Reader(Setup):
    def __init__(self, content: bytes, subject: str) -> None:
        super().__init__(content, subject)
        self.weights: list[float] = []  # of the trees
        self.boost, self.has_yes_no = "", False

    def ensemble(self) -> Ensemble:
        builder: Builder | None = None
        expected, kind = "", ""
        for where, element in self.elements(forgotten="BinaryTree"):
            if where == "start":
                if element.tag == "MethodSetup":
                    self.check_method()
            elif element.tag == "Transform":
                self.fail(f"its variables are transformed by {element.get('Name', '?')}, expected none")
            elif element.tag == "BinaryTree":
                if builder is None:
                    builder = self.builder()
                self.add_tree(builder, element)
            elif element.tag == "Weights":
                expected, kind = element.get("NTrees", ""), element.get("AnalysisType", "")
        if builder is None:
            builder = self.builder()
        if expected != str(builder.trees):
            self.fail(f"it has {builder.trees} trees, NTrees is {expected[:20] or 'missing'}")
        if (kind == REGRESSION) != (self.boost == "Grad"):
            self.fail(f'the AnalysisType of its trees is "{kind}", expected {"1" if self.boost == "Grad" else "0"}')
        return self.finished(builder)

    def check_method(self) -> None:
        if self.method in NETWORKS:
            self.fail(f"it is a network ({self.method}), expected BDT; tensoa compile makes packages of networks")
        if self.method != "BDT":
            self.fail(f'its method is "{self.method}", expected BDT')

    def builder(self) -> Builder:
        """Before the first tree: everything that it depends on comes earlier in the file."""
        kind = self.info.get("AnalysisType", "Classification")
        if kind != "Classification":
            self.fail(f"its AnalysisType is {kind}, expected Classification")
        self.boost = self.options.get("BoostType", "")
        if self.boost not in BOOSTS:
            self.fail(f'its BoostType is "{self.boost}", expected one of {", ".join(BOOSTS)}')
        if self.options.get("UseFisherCuts", "False") != "False":
            self.fail("it has Fisher cuts (UseFisherCuts), expected cuts of one variable")
        if self.options.get("UseWeightedTrees", "True") != "True":
            self.fail("its trees are not weighted (UseWeightedTrees is False), expected weighted ones")
        transform = self.options.get("VarTransform", "None")
        if transform not in ("None", "I"):
            self.fail(f"its variables are transformed by {transform}, expected none")
        self.has_yes_no = self.options.get("UseYesNoLeaf", "True") == "True"
        if not self.variables:
            self.fail("its Variables are missing")
        return Builder(len(self.variables), 1, self.subject)

    def add_tree(self, builder: Builder, tree: xml.Element) -> None:
        weight = self.number(builder, tree, "boostWeight", 0)
        self.weights.append(weight)
        nodes = list(tree.iter("Node"))
        place = {id(node): i for i, node in enumerate(nodes)}
        size = len(nodes)
        left, right, column = ([0] * size for _ in range(3))
        cut, values = np.zeros(size), np.zeros(size)
        is_leaf = [False] * size
        for i, node in enumerate(nodes):
            is_leaf[i] = node.get("nType") != "0"
            if is_leaf[i]:
                values[i] = self.leaf(builder, node, weight, i)
                continue
            if node.get("NCoef", "0") != "0":
                builder.fail_at(i, f"it is a Fisher cut (NCoef is {node.get('NCoef')}), expected a cut of one variable")
            children = {child.get("pos"): place[id(child)] for child in node.findall("Node")}
            if set(children) != {"l", "r"} or len(node.findall("Node")) != 2:
                builder.fail_at(i, f"it has {len(node.findall('Node'))} daughters, expected one at l and one at r")
            kind = node.get("cType")
            if kind not in ("0", "1"):
                builder.fail_at(i, f"its cType is {kind}, expected 0 or 1")
            left[i], right[i] = (children[pos] for pos in ("lr" if kind == "1" else "rl"))
            number = node.get("IVar", "")
            column[i] = int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else -1
            cut[i] = np.float32(self.number(builder, node, "Cut", i))
        builder.tree(left, right, is_leaf, column, cut, values)

    def leaf(self, builder: Builder, node: xml.Element, weight: float, number: int) -> float:
        """The number that a leaf adds to the sum: of float32, except for the weight."""
        if self.boost == "Grad":
            return float(np.float32(self.number(builder, node, "res", number)))
        if self.has_yes_no:
            return weight * self.number(builder, node, "nType", number)
        if node.get("purity") is None:
            signal, other = (np.float32(self.number(builder, node, key, number)) for key in ("nS", "nB"))
            return weight * float(signal / (signal + other)) if signal + other else float("nan")
        return weight * float(np.float32(self.number(builder, node, "purity", number)))

    def number(self, builder: Builder, element: xml.Element, key: str, number: int) -> float:
        text = element.get(key, "missing")
        try:
            return float(text)
        except ValueError:
            builder.fail_at(number, f"its {key} is {text[:40]}, expected a number")

    def finished(self, builder: Builder) -> Ensemble:
        divisor = 1.0
        if self.boost != "Grad":
            divisor = 0.0
            for weight in self.weights:
                divisor += weight
            if not divisor > np.finfo(np.float64).eps:
                self.fail(f"the boostWeights of its trees add up to {divisor}, expected a positive number")
        return builder.ensemble(
            column_names=self.variables,
            sums=np.float64,
            divisor=divisor,
            link=Link.TANH if self.boost == "Grad" else Link.NONE,
            source=self.release,
            objective=f"BDT, {self.boost}",
        )


class _Rules:
    """The same file by the rules of MethodBDT: every node is asked as it stands there."""

    def __init__(self, content: bytes, boost: str, has_yes_no: bool) -> None:
        self.content, self.boost, self.has_yes_no = content, boost, has_yes_no

    def margins(self, x: np.ndarray) -> np.ndarray:
        total, norm = np.zeros(len(x)), 0.0
        for tree in xml.fromstring(self.content).iter("BinaryTree"):
            weight = 1.0 if self.boost == "Grad" else float(tree.attrib["boostWeight"])
            todo = [(tree[0], np.arange(len(x)))]
            while todo:
                node, rows = todo.pop()
                asked = node.attrib
                if asked["nType"] != "0":
                    total[rows] += weight * self.response(asked)
                    continue
                result = x[rows, int(asked["IVar"])] >= np.float32(asked["Cut"])
                goes_right = result if asked["cType"] == "1" else ~result
                for child in node:
                    todo.append((child, rows[goes_right == (child.attrib["pos"] == "r")]))
            norm += weight
        return (total if self.boost == "Grad" else total / norm).reshape(-1, 1)

    def response(self, leaf: dict[str, str]) -> float:
        if self.boost == "Grad":
            return float(np.float32(leaf["res"]))
        if self.has_yes_no:
            return float(leaf["nType"])
        if "purity" in leaf:
            return float(np.float32(leaf["purity"]))
        signal = np.float32(leaf["nS"])
        return float(signal / (signal + np.float32(leaf["nB"])))

    def answers(self, x: np.ndarray) -> np.ndarray:
        margins = self.margins(x)
        return 2.0 / (1.0 + np.exp(-2.0 * margins)) - 1 if self.boost == "Grad" else margins
