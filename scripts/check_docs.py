#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that code in the Markdown files is what the sources say, and that links lead somewhere. Exit status 1 on a finding.

A fenced block after a line `<!-- from: PATH#MARK -->` must equal the lines of PATH between `[MARK]` and `[/MARK]`, each in a
comment line of its own (all such regions of the file together, indentation taken off). Without #MARK: the whole file.
"""

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^<!-- from: (?P<path>[^#\s]+)(?:#(?P<mark>\w+))? -->\n+```\w*\n(?P<text>.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")


def source_text(path, mark):
    """The lines that a block shows; an error where there are none."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if mark:
        regions = re.findall(rf"^\s*(?://|#) \[{mark}\]\n(.*?)^\s*(?://|#) \[/{mark}\]$", text, re.M | re.S)
        if not regions:
            raise LookupError(f"{path} has no region [{mark}]")
        text = textwrap.dedent("".join(regions))
    return text.strip()


def findings(page):
    """What is wrong with one page, a line each."""
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(ROOT)
    marks = len(re.findall(r"^<!-- from: ", text, re.M))
    blocks = list(BLOCK.finditer(text))
    if len(blocks) != marks:
        yield f"{name}: {marks} `from:` lines, but {len(blocks)} fenced blocks after them"
    for block in blocks:
        try:
            if block["text"].strip() != source_text(block["path"], block["mark"]):
                yield f"{name}: the block from {block['path']}#{block['mark']} differs from the file"
        except (OSError, LookupError) as error:
            yield f"{name}: {error}"
    for target in LINK.findall(text):
        if not (page.parent / target).exists():
            yield f"{name}: the link to {target} leads nowhere"


def pages():
    yield from sorted(ROOT.glob("*.md"))
    for folder in sorted(ROOT.iterdir()):
        if folder.is_dir() and not folder.name.startswith((".", "build")):
            yield from sorted(folder.rglob("*.md"))


if __name__ == "__main__":
    found = [finding for page in pages() for finding in findings(page)]
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    sys.exit(1 if found else 0)
