"""Add files outside of docs/ that pages link to, as pages below `tree/`.

A link of a page leads to a file of the repository, so that it also works there.
In the site docs/ is the top folder, and all other files are in `tree/`.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

import notebook

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TREE = "tree/"
LINK = re.compile(r"\[([^\[\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
# An HTML picture has one source for each theme.
SOURCE = re.compile(r'\b(src|srcset)="([^"\s]+)"')
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
# The search omits sources, because readers search for pages.
UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"
FENCE = re.compile(r"^\s*(```+|~~~+)")
LANGUAGES = {
    ".cpp": "cpp",
    ".h": "cpp",
    ".py": "python",
    ".toml": "toml",
    ".txt": "text",
}


def uri_of(path: str) -> str:
    """Return the address in the site of a file of the repository."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    stem, suffix = posixpath.splitext(path)
    if suffix == ".md":
        return TREE + path
    return TREE + (stem if suffix == ".ipynb" else path) + ".md"


def path_of(uri: str) -> str:
    """Return the repository's file of a page, for its links."""
    return uri.removeprefix(TREE) if uri.startswith(TREE) else "docs/" + uri


def file_at(root: Path, link: str, page: str) -> str | None:
    """Return the file of a link in `page`. A folder stands for its README."""
    if "://" in link or link.startswith(("/", "mailto:")):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
    if (root / path).is_dir():
        path = posixpath.normpath(posixpath.join(path, "README.md"))
    return path if (root / path).is_file() else None


def texts(markdown: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a page, and whether their links work (not in code)."""
    part, fence = "", ""
    for line in markdown.splitlines(keepends=True):
        found = FENCE.match(line)
        if found and not fence:
            yield part, True
            part, fence = "", found[1]
        part += line
        if found and found[1].startswith(fence) and part != line:
            yield part, False
            part, fence = "", ""
    yield part, not fence


def said(root: Path, words: str, link: str, path: str) -> str:
    """Return the words of a link. A page's title replaces its file name."""
    if words not in (link, posixpath.basename(link)) or path[-3:] != ".md":
        return words
    title = TITLE.search((root / path).read_text(encoding="utf-8"))
    return title[1] if title else words


def with_links_of_the_site(root: Path, uri: str, markdown: str) -> str:
    """Return a page with its links converted for the site."""
    page = path_of(uri)

    def replaced(found: re.Match[str]) -> str:
        words, link, anchor = found[1], found[2], found[3] or ""
        path = file_at(root, link, page)
        if path is None:
            return found[0]
        there = posixpath.relpath(uri_of(path), posixpath.dirname(uri) or ".")
        return f"[{said(root, words, link, path)}]({there}{anchor})"

    def shown(found: re.Match[str]) -> str:
        path = file_at(root, found[2], page)
        if path is None:
            return found[0]
        # MkDocs does not convert HTML, so compute the path from the address.
        there = posixpath.relpath(uri_of(path), address_of(uri) or ".")
        return f'{found[1]}="{there}"'

    return "".join(
        SOURCE.sub(shown, LINK.sub(replaced, part)) if is_text else part
        for part, is_text in texts(markdown)
    )


def address_of(uri: str) -> str:
    """Return the folder that the site has for a page."""
    folder, name = posixpath.split(uri)
    stem = posixpath.splitext(name)[0]
    is_first = stem in ("index", "README")
    return folder if is_first else posixpath.join(folder, stem)


def linked(root: Path, page: str, markdown: str) -> set[str]:
    """Return the files that a page of the repository links to."""
    parts = (part for part, is_text in texts(markdown) if is_text)
    links = (link[2] for part in parts for link in LINK.finditer(part))
    return {path for x in links if (path := file_at(root, x, page))}


def content(root: Path, path: str) -> str:
    """Return a file as a page. Make other files than Markdown a code block."""
    text = (root / path).read_text(encoding="utf-8")
    suffix = posixpath.splitext(path)[1]
    if suffix == ".md":
        return text
    if suffix == ".ipynb":
        return notebook.page(text)
    title = f"{UNSEARCHED}# {posixpath.basename(path)}\n\n`{path}`\n\n"
    return f"{title}````{LANGUAGES.get(suffix, 'text')}\n{text}\n````\n"


def pages(root: Path, made: dict[str, str]) -> dict[str, str]:
    """Return the address and text of all pages that links reach.

    The links begin in docs/, in generated pages (`made`), and in pages of the
    repository's top folder. The menu has the latter.
    """
    begin = [*(root / "docs").rglob("*.md"), *root.glob("*.md")]
    known = {path.relative_to(root).as_posix() for path in begin}
    waiting = {path_of(uri): text for uri, text in made.items()}
    waiting |= {path: content(root, path) for path in known}
    while waiting:
        found = linked(root, *waiting.popitem()) - known
        known |= found
        waiting |= {x: content(root, x) for x in found if x.endswith(".md")}
    outside = sorted(path for path in known if not path.startswith("docs/"))
    return {uri_of(path): content(root, path) for path in outside}
