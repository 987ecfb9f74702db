"""Implement MkDocs' hooks for the site, which mkdocs.yml names."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import beyond
import cpp_reference
import measured
import python_reference
from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

log = logging.getLogger("mkdocs.hooks.gpuos")
ROOT = Path(__file__).resolve().parents[2]
# MkDocs accepts one word as the language, but these blocks have two.
FOR_A_GPU = re.compile(r"^```python gpu$", re.MULTILINE)
STYLE = "style.css"
# The search shows these pages for developers after the pages for users.
FOR_DEVELOPERS = re.compile(r"(tree/(?!examples/)\.?\w+|lab)/")
# In the menu this suffix stands for every page of a folder.
EVERY = "/**"

# The texts of the pages outside of docs/, by address.
made: dict[str, str] = {}


def in_folder(folder: str) -> list[str]:
    """Return the pages of a folder. The first one is its index."""
    files = {
        path.relative_to(ROOT / "docs").as_posix()
        for path in (ROOT / "docs" / folder).glob("*.md")
    } | {uri for uri in made if uri.rpartition("/")[0] == folder}
    return sorted(
        files, key=lambda x: (not x.endswith(("/index.md", "/README.md")), x)
    )


def expanded(menu: Any) -> Any:
    """Expand the folders in the menu or a part of it to their pages."""
    if isinstance(menu, list):
        return [expanded(part) for part in menu]
    if isinstance(menu, dict):
        return {title: expanded(part) for title, part in menu.items()}
    return in_folder(menu.removesuffix(EVERY)) if menu.endswith(EVERY) else menu


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make the pages outside of docs/, and put them in the menu."""
    made.clear()
    made.update(python_reference.pages(ROOT))
    made.update(cpp_reference.pages(ROOT))
    made.update(beyond.pages(ROOT, made))
    config.nav = expanded(config.nav)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    style = (Path(__file__).parent / STYLE).read_text(encoding="utf-8")
    for uri, text in {**made, STYLE: style}.items():
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(
    markdown: str, page: Page, config: MkDocsConfig, files: Files
) -> str:
    """Measure marked blocks, and convert links for the site."""
    del config, files
    if FOR_DEVELOPERS.match(page.file.src_uri):
        page.meta.setdefault("search", {"boost": 0.2})
    text = markdown
    if measured.MEASURED.search(text):
        try:
            text = measured.with_numbers_of_here(text)
        except RuntimeError as error:  # lacks PyTorch or a compiler
            reason = str(error).splitlines()[-1]
            log.info("%s keeps its numbers: %s", page.file.src_uri, reason)
    text = FOR_A_GPU.sub('```python title="on a GPU"', text)
    text = measured.MEASURED.sub('```text title="measured"', text)
    return beyond.with_links_of_the_site(ROOT, page.file.src_uri, text)
