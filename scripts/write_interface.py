#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/interface.txt: each public name of C, C++ and Python with its signature, a line each.

A change of the file shows what a commit changes for users. The names of C and C++ are those that Doxygen reads in the public
headers.

    .venv/bin/python scripts/write_interface.py [--check]      (make interface; make docs with --check)

--check does not write it: exit status 1 where it is not what the sources say.
"""

import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

from make_site import ROOT, public_python, signature

PAGE = ROOT / "docs" / "interface.txt"


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def text_of(element, tag):
    """The text below the first `tag` of an element; "" without one."""
    found = element.find(tag)
    return "" if found is None else one_line("".join(found.itertext()))


def template(element):
    found = element.find("templateparamlist")
    if found is None:
        return ""
    names = []
    for one in found:
        default = text_of(one, "defval")
        names.append(one_line(f"{text_of(one, 'type')} {text_of(one, 'declname')}") + (f" = {default}" if default else ""))
    return f"template <{', '.join(names)}> "


def of_member(member):
    kind = member.get("kind")
    name = text_of(member, "qualifiedname") or text_of(member, "name")
    if kind == "enum":
        values = [one_line(f"{text_of(v, 'name')} {text_of(v, 'initializer')}") for v in member.findall("enumvalue")]
        return f"enum {name} {{ {', '.join(values)} }}"
    if kind == "define":
        parameters = [text_of(one, "defname") for one in member.findall("param")]
        return f"#define {name}" + (f"({', '.join(parameters)})" if parameters else f" {text_of(member, 'initializer')}")
    definition = text_of(member, "definition") or name
    value = text_of(member, "initializer") if kind == "variable" else ""
    clause = text_of(member, "requiresclause")
    requires = f"requires {clause}" if clause else ""
    return one_line(f"{template(member)}{requires} {definition}{text_of(member, 'argsstring')} {value}")


def of_cpp(folder):
    """(header, line) of all public names."""
    for path in sorted(Path(folder).glob("*.xml")):
        compound = xml.parse(path).getroot().find("compounddef")
        if compound is None or compound.get("kind") not in ("class", "struct", "namespace", "concept", "union", "file"):
            continue
        location = compound.find("location")
        kind, name = compound.get("kind"), text_of(compound, "compoundname")
        if kind in ("class", "struct", "union") and compound.get("prot") == "public":
            bases = ", ".join(one_line(base.text) for base in compound.findall("basecompoundref"))
            yield location.get("file"), f"{template(compound)}{kind} {name}" + (f" : {bases}" if bases else "")
        elif kind == "concept":
            yield location.get("file"), f"concept {text_of(compound, 'initializer')}"
        for member in compound.iter("memberdef"):
            # A file holds what is in namespaces, too; of it the macros and the names of C count.
            if member.get("prot") != "public" or (kind == "file" and "::" in text_of(member, "qualifiedname")):
                continue
            yield member.find("location").get("file"), of_member(member)


def not_read(settings):
    """Folders of headers of our libraries that Doxygen does not read."""
    both = (re.search(rf"^{key} *= (.*)", settings, re.M)[1].split() for key in ("INPUT", "STRIP_FROM_INC_PATH"))
    read = set.intersection(*map(set, both))
    lists = [ROOT / "CMakeLists.txt", *ROOT.glob("[a-z]*/CMakeLists.txt"), *ROOT.glob("[a-z]*/[a-z]*/CMakeLists.txt")]
    makers = [path.parent for path in lists if "tensoa_add_library(" in path.read_text(encoding="utf-8")]
    folders = {str((maker / "include").relative_to(ROOT)) for maker in makers if (maker / "include").is_dir()}
    return sorted((folders | {"c/include"}) - read)


def of_python():
    for file, node, members in public_python():
        yield file, one_line(signature(node))
        for member in members:
            yield file, f"{node.name}.{one_line(signature(member))}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        options = [
            "GENERATE_HTML = NO",
            "GENERATE_XML = YES",
            f"OUTPUT_DIRECTORY = {folder}",
            "XML_PROGRAMLISTING = NO",
            "LAYOUT_FILE =",
            "HTML_HEADER =",
            "HTML_EXTRA_STYLESHEET =",
            "WARN_AS_ERROR = NO",
            "WARNINGS = NO",
            "WARN_IF_UNDOCUMENTED = NO",
            "WARN_IF_DOC_ERROR = NO",
        ]
        settings = (
            (ROOT / "docs" / "Doxyfile").read_text(encoding="utf-8").replace("build/site/pages ", "")
            + "\n".join(options)
            + "\n"
        )
        if missing := not_read(settings):
            sys.exit(f"write_interface: INPUT and STRIP_FROM_INC_PATH of docs/Doxyfile lack {', '.join(missing)}")
        done = subprocess.run(["doxygen", "-"], input=settings, text=True, cwd=ROOT, check=False, stderr=subprocess.PIPE)
        if done.returncode:
            sys.exit(f"write_interface: doxygen failed: {done.stderr}")
        lines = {f"{header}: {line}" for header, line in (*of_cpp(Path(folder) / "xml"), *of_python())}
    text = "".join(f"{line}\n" for line in sorted(lines))
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
        print(f"{len(lines)} public names: {PAGE.relative_to(ROOT)}")
    elif text != PAGE.read_text(encoding="utf-8"):
        sys.exit("write_interface: docs/interface.txt is not what the sources say; write it by `make interface`")


if __name__ == "__main__":
    main()
