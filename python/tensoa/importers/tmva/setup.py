# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The part of a weights.xml that all methods of TMVA write alike: what comes before the weights."""

import io
import xml.etree.ElementTree as xml
from collections.abc import Iterator
from typing import NoReturn

from tensoa.errors import InputError, first_line

NETWORKS = ("MLP", "DNN", "DL")  # methods


class Setup:
    """`method`: MLP of MLP::NAME. `variables`: their labels, else their expressions, in the order of VarIndex. Errors begin
    with `subject`.
    """

    def __init__(self, content: bytes, subject: str) -> None:
        self.content, self.subject = content, subject
        if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
            self.fail("declares entities of XML, expected a weights.xml of TMVA")
        self.method = ""
        self.options: dict[str, str] = {}
        self.info: dict[str, str] = {}
        self.variables: list[str] = []
        self.expressions: list[str] = []

    @property
    def release(self) -> str:
        return f"TMVA {self.info.get('TMVA Release', '').partition(' ')[0]}".strip()

    def fail(self, what: str) -> NoReturn:
        raise InputError(f"{self.subject}{what}")

    def elements(self, forgotten: str = "") -> Iterator[tuple[str, xml.Element]]:
        """(where, element) at the "start" and the "end" of each, whole at its end. What is called `forgotten` is emptied
        after it: files of trees have hundreds of megabytes.
        """
        try:
            for where, element in xml.iterparse(io.BytesIO(self.content), ("start", "end")):
                self._read(where, element)
                yield where, element
                if where == "end" and element.tag == forgotten:
                    element.clear()
        except xml.ParseError as error:
            raise InputError(f"{self.subject}cannot be read ({first_line(error)}), expected a whole weights.xml") from error

    def root(self) -> xml.Element:
        """The whole file."""
        (_, root), *_ = self.elements()
        if root.tag != "MethodSetup":
            self.fail(f"is XML of {root.tag}, expected a weights.xml of TMVA, which is MethodSetup")
        return root

    def _read(self, where: str, element: xml.Element) -> None:
        if where == "start":
            if element.tag == "MethodSetup":
                self.method = element.get("Method", "").partition("::")[0]
        elif element.tag == "Option":
            self.options[element.get("name", "")] = (element.text or "").strip()
        elif element.tag == "Info":
            self.info[element.get("name", "")] = element.get("value", "")
        elif element.tag == "Variables" and not self.variables:  # later ones are of transformations
            for i, variable in enumerate(element.findall("Variable")):
                if variable.get("VarIndex") != str(i):
                    self.fail(f"variable {i} has the VarIndex {variable.get('VarIndex')}")
                expression = variable.get("Expression") or f"f{i}"
                self.variables.append(variable.get("Label") or expression)
                self.expressions.append(expression)
