#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that code in the Markdown files is what the sources say, and that links lead somewhere. Exit status 1 on a finding.

A fenced block after a line `<!-- from: PATH#MARK -->` must equal the lines of PATH between `[MARK]` and `[/MARK]`, each in a
separate comment line (all such regions of the file together, indentation taken off). Without #MARK: the whole file.

Each `code` in a table after a line `<!-- in: GLOB... -->` must be in one of these files, "…" standing for anything; a string
literal of several lines is one line. Each `test_NAME: Suite.Case`, in any page, must be a test of the program test_NAME.
Each `folder/file.ext` in backticks whose folder is in the tree must be a file, but for `in history, ` before it.
docs/pitfalls.md names all of test_pitfalls, docs/README.md all pages of docs/.
"""

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^ *<!-- from: (?P<path>[^#\s]+)(?:#(?P<mark>\w+))? -->\n+ *```\w*\n(?P<text>.*?)^ *```$", re.M | re.S)
TABLE = re.compile(r"^<!-- in: (?P<globs>.+) -->\n(?P<rows>(?:\|.*\n)+)", re.M)
TEST = re.compile(r"`test_(?P<program>\w+): (?P<suite>\w+)\.(?P<name>\w+)`")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)
CODE_BLOCK = re.compile(r"^```.*?^```$", re.M | re.S)
PATH = re.compile(r"(?<!in history, )`([\w.-]+(?:/[\w.-]+)+\.\w+)`")
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")


def source_text(path, mark):
    """The lines that a block shows; an error where there are none."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if mark:
        regions = re.findall(rf"^\s*(?://|#|!) \[{mark}\]\n(.*?)^\s*(?://|#|!) \[/{mark}\]$", text, re.M | re.S)
        if not regions:
            raise LookupError(f"{path} has no region [{mark}]")
        text = textwrap.dedent("".join(regions))
    return text.strip()


def missing_code(text):
    """What tables say is in the sources and is not."""
    for table in TABLE.finditer(text):
        files = [path for glob in table["globs"].split() for path in ROOT.glob(glob)]
        sources = "".join(path.read_text(encoding="utf-8") for path in files)
        sources = re.sub(r'"\s*\n\s*"', "", sources).replace('\\"', '"')
        for code in re.findall(r"`([^`]+)`", table["rows"]):
            if not re.search(".*".join(map(re.escape, code.split("…"))), sources):
                yield code


def tests_of(program):
    """The source files of a test program, as one text."""
    for lists in ROOT.glob("tests/**/CMakeLists.txt"):
        call = re.search(rf"tensoa_add_test\({program}\s+SOURCES(.*?)LINK", lists.read_text(encoding="utf-8"), re.S)
        if call:
            sources = [lists.parent / name for name in call[1].split() if name.endswith(".cpp")]
            return "".join(path.read_text(encoding="utf-8") for path in sources if path.is_file())
    return ""


def missing_tests(text):
    """The tests that a page names and that there are not."""
    for test in TEST.finditer(text):
        declared = rf"^TEST\w*\(\s*{test['suite']},\s*{test['name']}\)"
        if not re.search(declared, tests_of(test["program"]), re.M):
            yield test[0]


def missing_paths(text):
    """The files in backticks that are not in the tree; what is built there, or stands for several files, is not looked for."""
    for path in PATH.findall(CODE_BLOCK.sub("", text)):
        folder = ROOT / path.split("/")[0]
        places = (ROOT / path, folder / "include" / "tensoa" / path)  # or as it is included
        if folder.is_dir() and not folder.name.startswith("build") and not any(place.exists() for place in places):
            yield path


def findings(page):
    """What is wrong with one page, a line each."""
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(ROOT)
    marks = len(re.findall(r"^ *<!-- from: ", text, re.M))
    blocks = list(BLOCK.finditer(text))
    if len(blocks) != marks:
        yield f"{name}: {marks} `from:` lines, but {len(blocks)} fenced blocks after them"
    for block in blocks:
        try:
            if textwrap.dedent(block["text"]).strip() != source_text(block["path"], block["mark"]):
                yield f"{name}: the block from {block['path']}#{block['mark']} differs from the file"
        except (OSError, LookupError) as error:
            yield f"{name}: {error}"
    for code in missing_code(text):
        yield f"{name}: `{code}` is in none of the files that its table names"
    for test in missing_tests(text):
        yield f"{name}: there is no test {test}"
    for path in missing_paths(text):
        yield f"{name}: there is no file `{path}`"
    for target in LINK.findall(CODE.sub("", text)):
        if not (page.parent / target).exists():
            yield f"{name}: the link to {target} leads nowhere"


def unlisted_pitfalls():
    """The tests that the page of pitfalls does not name, a line each."""
    page = (ROOT / "docs" / "pitfalls.md").read_text(encoding="utf-8")
    for test in re.findall(r"^TEST\w*\(\s*Pitfall,\s*(\w+)\)", tests_of("pitfalls"), re.M):
        if f"`test_pitfalls: Pitfall.{test}`" not in page:
            yield f"docs/pitfalls.md: the test Pitfall.{test} is not listed"


def unlisted_pages():
    """The pages of docs/ that the index does not link, a line each."""
    linked = LINK.findall((ROOT / "docs" / "README.md").read_text(encoding="utf-8"))
    for page in sorted((ROOT / "docs").glob("*.md")):
        if page.name not in [*linked, "README.md"]:
            yield f"docs/README.md: the page {page.name} is not listed"


def pages():
    yield from sorted(ROOT.glob("*.md"))
    for folder in sorted(ROOT.iterdir()):
        if folder.is_dir() and not folder.name.startswith((".", "build")):
            yield from sorted(page for page in folder.rglob("*.md") if ".venv" not in page.parts)


if __name__ == "__main__":
    found = [finding for page in pages() for finding in findings(page)]
    found += [*unlisted_pitfalls(), *unlisted_pages()]
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    sys.exit(1 if found else 0)
