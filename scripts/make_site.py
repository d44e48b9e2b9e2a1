#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the site, build/site/html: the Markdown pages and notebooks, the reference of the public headers and of Python.

docs/README.md is the index: its headings and lists are the tree next to every page. All pages that are linked from there belong
to the site, and all files that they link. Doxygen gets each page as HTML, with its headings as sections; docs/Doxyfile makes a
warning an error. docs/search.js searches sections and names; its index is written here. At the end each link of each page is
followed: exit status 1, and a line for each that leads nowhere.

    .venv/bin/python scripts/make_site.py      (make docs)
"""

import ast
import html
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "site"
HTML = SITE / "html"
INDEX = Path("docs/README.md")
THEME = Path("/usr/share/doxygen-awesome-css")
LONGEST_HIGHLIGHTED = 200_000  # bytes; a longer file is shown as it is
MARKDOWN = MarkdownIt("commonmark").enable("table")
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
HEADERS = [Path(name) for name in TRACKED if re.search(r"\binclude/(?!.*/impl/).*\.(h|hpp)$", name)]
NAMES = [path.name for path in HEADERS]


def label(page):
    """The name of a page in Doxygen, and of its file: docs/python.md is python."""
    name = re.sub(r"^docs/", "", str(page.with_suffix("")))
    name = {"README": "index", "docs/README": "documentation"}.get(str(page.with_suffix("")), name)
    return re.sub(r"\W+", "_", re.sub(r"/README$", "", name)).lower()


def slug(heading):
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def quoted(text):
    """HTML in which Doxygen sees no command, no Markdown and no end of its comment."""
    return re.sub(r"[\\@`*]", lambda found: f"&#{ord(found[0])};", text)


def coloured(code, lexer):
    return highlight(code, lexer, HtmlFormatter(cssclass="highlight"))


def fence(renderer, tokens, at, options, env):
    try:
        lexer = get_lexer_by_name(tokens[at].info.strip() or "text")
    except ClassNotFound:
        lexer = TextLexer()
    return coloured(tokens[at].content, lexer)


MARKDOWN.add_render_rule("fence", fence)
MARKDOWN.add_render_rule("code_block", fence)
MARKDOWN.add_render_rule("html_block", lambda *_: "")  # `<!-- from: … -->`
MARKDOWN.add_render_rule("table_open", lambda *_: '<div class="wide"><table>\n')
MARKDOWN.add_render_rule("table_close", lambda *_: "</table></div>\n")


def markdown_of(page):
    """The text of a page; of a notebook its cells, and below them what they print and draw."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return text
    parts = []
    pictures = SITE / "pictures"
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            data = output.get("data", {"text/plain": output.get("text", [])})
            if "image/svg+xml" in data:
                picture = pictures / f"{page.stem}-{cell['id']}.svg"
                picture.write_text("".join(data["image/svg+xml"]), encoding="utf-8")
                parts.append(f"![What the cell draws]({os.path.relpath(picture, ROOT / page.parent)})")
            else:
                parts.append(f"```text\n{''.join(data['text/plain']).rstrip()}\n```")
    return "\n\n".join(parts)


class Site:
    def __init__(self):
        self.pages = {}  # path from the root: text for Doxygen
        self.files = set()  # what pages link that is not a page

    def target(self, page, link):
        """Where a link of a page leads on the site; adds what it leads to."""
        if re.match(r"\w+:", link):
            return link
        path, _, anchor = link.partition("#")
        path = Path(os.path.relpath((ROOT / page.parent / unquote(path)).resolve(), ROOT)) if path else page
        if path.suffix in (".md", ".ipynb"):
            self.add(path)
            name = label(path)
            return f"{name}.html#{name}_{anchor}" if anchor else f"{name}.html"
        if path in HEADERS and NAMES.count(path.name) == 1:
            return path.name.replace("_", "__").replace(".", "_8") + ".html"
        if path.suffix == ".svg" or ((ROOT / path).is_file() and b"\0" in (ROOT / path).read_bytes()[:8000]):
            return self.copied(path)
        self.files.add(path)
        return f"files/{path}.html"

    @staticmethod
    def copied(path):
        """A picture, or a file that is not text, as it is."""
        out = HTML / "files" / path
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, out)
        return f"files/{path}"

    def add(self, page):
        """A page, and all that it links."""
        if page in self.pages:
            return
        self.pages[page] = ""  # pages link each other
        tokens = MARKDOWN.parse(markdown_of(page))
        for token in tokens:
            for child in token.children or ():
                for name in ("href", "src"):
                    if link := child.attrGet(name):
                        child.attrSet(name, self.target(page, str(link)))
        parts, title, first = [], "", 0
        for at, token in enumerate(tokens):
            if token.type != "heading_open" or token.level:
                continue
            parts += self.as_html(tokens[first:at])
            text = "".join(child.content for child in tokens[at + 1].children)
            first = at + 3
            if token.tag == "h1":
                title = text
            elif label(page) == "index":  # whose sections would stand in the tree among the groups of pages
                parts.append(f'\\htmlonly\n<h1 id="index_{slug(text)}">{quoted(html.escape(text))}</h1>\n\\endhtmlonly\n')
            else:
                command = {"h2": "section", "h3": "subsection"}.get(token.tag, "subsubsection")
                parts.append(f"\\{command} {label(page)}_{slug(text)} {quoted(html.escape(text, quote=False))}\n")
        parts += self.as_html(tokens[first:])
        contents = "\\tableofcontents\n" if sum(part.startswith("\\section") for part in parts) > 2 else ""
        self.pages[page] = (title, contents + "\n".join(parts))

    @staticmethod
    def as_html(tokens):
        text = MARKDOWN.renderer.render(tokens, MARKDOWN.options, {}).strip()
        return [f"\\htmlonly\n{quoted(text)}\n\\endhtmlonly\n"] if text else []

    def write(self):
        for page, (title, text) in self.pages.items():
            name = label(page)
            command = "\\mainpage" if name == "index" else f"\\page {name}"
            (SITE / "pages" / f"{name}.dox").write_text(f"/** {command} {title}\n{text}*/\n", encoding="utf-8")
        for path in self.files:
            self.write_file(path)

    def write_file(self, path):
        """A page with the text of a file, or the names in a folder."""
        out = HTML / "files" / f"{path}.html"
        out.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).is_dir():
            names = [name for name in TRACKED if name.startswith(f"{path}/")]
            body = f"<pre>{html.escape(chr(10).join(names))}</pre>"
        else:
            text = (ROOT / path).read_bytes().decode("utf-8", errors="replace")
            try:
                lexer = get_lexer_for_filename(path.name)
            except ClassNotFound:
                lexer = TextLexer()
            body = coloured(text, lexer) if len(text) < LONGEST_HIGHLIGHTED else f"<pre>{html.escape(text)}</pre>"
        up = "../" * (len(path.parts))
        out.write_text(
            f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{path}</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            + "".join(f'<link rel="stylesheet" href="{up}{sheet}">' for sheet in ("code.css", "site.css"))
            + f'</head><body class="file"><p><a href="{up}index.html">tensoa</a> / {path}</p>{body}</body></html>\n',
            encoding="utf-8",
        )


def has_words(node):
    return isinstance(node, ast.ClassDef | ast.FunctionDef) and bool(ast.get_docstring(node))


def signature(node):
    """What a line of Python's types says of a class, a property or a function; long ones an argument a line."""
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}({', '.join(map(ast.unparse, node.bases))})".replace("()", "")
    if any(ast.unparse(decorator) == "property" for decorator in node.decorator_list):
        return f"{node.name}: {ast.unparse(node.returns)}"
    text = f"{node.name}({ast.unparse(node.args)})" + (f" -> {ast.unparse(node.returns)}" if node.returns else "")
    return text if len(text) < 100 else re.sub(r", (?=\*|/|\w+:|\w+=)", ",\n    ", text)


def entry(node, command, owner=""):
    """A section of the reference of Python."""
    name = owner + node.name
    title = name.replace(".__init__", "(…)").replace("Model.__call__", "model(…)")
    # Lines that were as long as a line may be belong to one paragraph.
    words = re.sub(r"(?<=[^\n]{75})\n *(?!Raises|[\w, ]+:|\n)", " ", ast.get_docstring(node))
    body = coloured(signature(node), get_lexer_by_name("python")) + f'<div class="docstring">{html.escape(words)}</div>'
    anchor = f"python_reference_{name.replace('.', '_')}"
    return f"\\{command} {anchor} {title}\n\\htmlonly\n{quoted(body)}\n\\endhtmlonly\n"


def public_python():
    """(file, class or function, members) of what users of the Python module call."""
    called = ("inspect", "compile", "check", "get_cmake_dir", "get_include")
    for file in ("__init__.py", "_runtime.pyi", "compiling.py", "checking.py", "errors.py"):
        for node in ast.parse((ROOT / "python" / "tensoa" / file).read_text(encoding="utf-8")).body:
            is_class = isinstance(node, ast.ClassDef) and not node.name.startswith("_")
            if has_words(node) and (is_class or node.name in called):
                members = node.body if is_class else []
                yield f"python/tensoa/{file}", node, [m for m in members if has_words(m) and m.name != "__getstate__"]


def python_reference():
    """A page of what users of the Python module call."""
    text = ["\\tableofcontents\n"]
    for _, node, members in public_python():
        text.append(entry(node, "section"))
        text += [entry(member, "subsection", f"{node.name}.") for member in members]
    (SITE / "pages" / "python_reference.dox").write_text(
        "/** \\page python_reference Python reference\n" + "\n".join(text) + "*/\n", encoding="utf-8"
    )


def tab(kind, title, url=""):
    target = f' url="{html.escape(url)}"' if url else ""
    return f'      <tab type="{kind}" visible="yes"{target} title="{html.escape(title)}"/>\n'


def layout(site):
    """The tree next to the pages: the headings and lists of the index, then the reference."""
    group = '    <tab type="usergroup" visible="yes" title="{}">\n{}    </tab>\n'
    tree = ['    <tab type="mainpage" visible="yes" title="tensoa"/>\n']
    text = (ROOT / INDEX).read_text(encoding="utf-8")
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        heading, _, items = part.partition("\n")
        links = re.findall(r"^- \[(.+?)\]\((.+?)\)", items, re.M)
        tabs = "".join(tab("user", title, site.target(INDEX, link)) for title, link in links)
        tree.append(group.format(html.escape(heading), tabs))
    kinds = {"classlist": "Classes", "classindex": "Classes by letter", "namespacelist": "Namespaces", "filelist": "Headers"}
    lists = "".join(tab(kind, title) for kind, title in kinds.items())
    tree.append(group.format("Reference", tab("user", "Python", "python_reference.html") + lists))
    default = subprocess.run(["doxygen", "-l", "-"], capture_output=True, text=True, check=True).stdout
    before, _, rest = default.partition("<navindex>")
    changed = before + "<navindex>\n" + "".join(tree) + "  </navindex>" + rest.partition("</navindex>")[2]
    (SITE / "layout.xml").write_text(changed, encoding="utf-8")


def header():
    """Doxygen's head of a page, and the field of the search."""
    made = [SITE / name for name in ("header.html", "footer.html", "default.css")]
    subprocess.run(["doxygen", "-w", "html", *made], check=True, capture_output=True)
    text = made[0].read_text(encoding="utf-8")
    script = '<script type="text/javascript" src="$relpath^search.js"></script>\n</head>'
    field = (
        '<div id="search">'
        '<input id="search-field" type="search" placeholder="Search ( / )" aria-label="Search" autocomplete="off">'
        '<div id="search-results" hidden="hidden"></div></div>\n'
    )
    text = text.replace("<title>$projectname:", "<title>$projectname $projectnumber:").replace("</head>", script)
    before, mark, after = text.partition("</div>\n<!--END TITLEAREA-->")
    made[0].write_text(before + field + mark + after, encoding="utf-8")


class Sections(HTMLParser):
    """The text of a page by its sections."""

    def __init__(self, title, address):
        super().__init__()
        self.title, self.address = title, address
        self.sections = [[title, address, ""]]
        self.heading = False
        self.depth = 0  # of what is inside the contents of the page
        self.hidden = ""  # a tag whose text does not count

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "div" and (self.depth or attrs.get("class") == "contents"):
            self.depth += 1
        if not self.depth:
            return
        if attrs.get("class") == "toc" or tag in ("script", "style"):
            self.hidden = tag
            self.hidden_depth = self.depth
        # Doxygen puts an anchor into a heading; a heading in HTML has it as its id.
        anchor = attrs.get("id") if tag == "h1" or (tag == "a" and attrs.get("class") == "anchor") else None
        if anchor:
            self.sections.append(["", f"{self.address}#{anchor}", ""])
            self.heading = True

    def handle_endtag(self, tag):
        if not self.depth:
            return
        if tag == self.hidden and (tag != "div" or self.depth == self.hidden_depth):
            self.hidden = ""
        if tag in ("h1", "h2", "h3"):
            self.heading = False
        if tag == "div":
            self.depth -= 1

    def handle_data(self, data):
        if self.depth and not self.hidden:
            self.sections[-1][0 if self.heading else 2] += data if self.heading else data + " "


def names_of_doxygen():
    """(name, address, kind and comment) of the public classes, functions and other names in C and C++."""
    tree = ElementTree.parse(SITE / "names.xml")
    for compound in tree.getroot().iter("compound"):
        kind, name = compound.get("kind"), compound.findtext("name")
        if kind in ("class", "struct", "concept", "namespace"):
            yield name, compound.findtext("filename"), kind
        for member in compound.findall("member"):
            if kind == "file" and member.find("anchor") is None:
                continue
            anchor = f"{member.findtext('anchorfile')}#{member.findtext('anchor')}"
            scope = "" if kind == "file" else f"{name}::"
            signature = " ".join(
                filter(None, (member.findtext("type"), f"{member.findtext('name')}{member.findtext('arglist') or ''}"))
            )
            yield f"{scope}{member.findtext('name')}", anchor, signature


def write_search_index(site):
    """What docs/search.js reads: the sections of all pages, and all public names."""
    entries = []
    for name in [*map(label, site.pages), "python_reference"]:
        text = (HTML / f"{name}.html").read_text(encoding="utf-8")
        title = html.unescape(re.search(r"<title>tensoa \S+: (.*?)</title>", text)[1])
        sections = Sections(title, f"{name}.html")
        sections.feed(text)
        for heading, address, words in sections.sections:
            words = re.sub(r"\s+", " ", words).strip()
            heading = re.sub(r"\s+", " ", heading).strip()
            if words or heading != title:
                entries.append([heading if heading == title else f"{title}: {heading}", address, words])
    known = {}
    for name, address, signature in names_of_doxygen():
        known.setdefault((name, signature), [name, address, signature])
    entries += known.values()
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
    (HTML / "search_index.js").write_text(f"const searchIndex = {text};\n", encoding="utf-8")
    return entries


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.anchors, self.links = set(), set()

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and value and not re.match(r"\w+:|//", value):
                self.links.add(value)


def without_empty_summaries():
    """Removes links to lists of nested classes that Doxygen 1.9.4 does not write, because all of these classes are private."""
    for path in HTML.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        if 'href="#nested-classes"' in text and 'name="nested-classes"' not in text:
            path.write_text(re.sub(r'<a href="#nested-classes">.*?</a>( &#124;)?', "", text), encoding="utf-8")


def dead_links(entries):
    """A line for each link of the built site, and of the entries of its search, that leads nowhere."""
    pages = {}
    for path in HTML.rglob("*.html"):
        pages[path] = Links()
        pages[path].feed(path.read_text(encoding="utf-8"))
    tree = Links()
    text, _, _ = (HTML / "navtreedata.js").read_text(encoding="utf-8").partition("NAVTREEINDEX")
    tree.links = set(re.findall(r'"([^"\s]+\.html(?:#[^"]*)?)"', text))
    pages[HTML / "navtreedata.js"] = tree
    pages[HTML / "search_index.js"] = index = Links()
    index.links = {address for _, address, _ in entries}
    for page, found in sorted(pages.items()):
        for link in sorted(found.links):
            path, _, anchor = unquote(link).partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                yield f"{page.relative_to(HTML)}: the link to {link} leads nowhere"


def main():
    if not shutil.which("doxygen") or not THEME.is_dir():
        sys.exit("make_site: doxygen or its theme is missing; apt-get install doxygen doxygen-awesome-css brings both")
    shutil.rmtree(SITE, ignore_errors=True)
    for folder in ("pages", "pictures"):
        (SITE / folder).mkdir(parents=True)
    HTML.mkdir()
    site = Site()
    site.add(Path("README.md"))
    site.add(INDEX)
    layout(site)
    header()
    python_reference()
    site.write()
    dark = HtmlFormatter(style="github-dark").get_style_defs(".highlight")
    light = HtmlFormatter(style="friendly").get_style_defs(".highlight")
    (SITE / "code.css").write_text(f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n", encoding="utf-8")
    version = re.search(r'kVersion = "(.+?)"', (ROOT / "core/include/tensoa/core/version.hpp").read_text(encoding="utf-8"))[1]
    done = subprocess.run(["doxygen", "docs/Doxyfile"], cwd=ROOT, env={**os.environ, "TENSOA_VERSION": version}, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    without_empty_summaries()
    index = write_search_index(site)
    found = list(dead_links(index))
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    first = (HTML / "index.html").relative_to(ROOT)
    print(f"{len(site.pages)} pages, {len(site.files)} files, {len(index)} entries of the search: {first}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
