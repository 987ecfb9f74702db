"""Make pages of the public headers' declarations and comments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import headers
import numpydoc

if TYPE_CHECKING:
    from pathlib import Path

    from headers import Declaration

FOLDER = "reference/cpp/"
# These words begin a rule in a comment.
RULE = re.compile(r"(?:^|\n+)(Throws|Threads|Lifetime|Order|Units):")
SOURCES = "../../../include/gpuos/"


def block(code: list[str]) -> str:
    return "```cpp\n" + "\n".join(code) + "\n```\n"


def together(found: list[Declaration]) -> list[list[Declaration]]:
    """Group the declarations that share one comment."""
    groups: list[list[Declaration]] = []
    for each in found:
        if (
            each.follows
            and groups
            and not (each.members or groups[-1][0].members)
        ):
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups


def part(group: list[Declaration], level: int) -> str:
    """Return the text of declarations that share one comment."""
    first = group[0]
    # Members do not have titles, which would make a long list.
    title = f"## `{first.name}`\n\n" if level == 0 else ""
    if first.members and level > 0:
        title = f"### `{first.name}`\n\n"
    text = title + block([each.code for each in group])
    if first.doc:
        doc = RULE.sub(r"\n\n**\1:**", numpydoc.escaped(first.doc))
        text += f"\n{doc.strip()}\n"
    below = [part(members, level + 1) for members in together(first.members)]
    return "\n".join([text, *below])


def page(path: Path) -> str:
    """Return the page of a header, or "" if it declares nothing."""
    found = headers.declarations(path.read_text(encoding="utf-8").splitlines())
    if not found:
        return ""
    about = (
        f"[gpuos/{path.name}]({SOURCES}{path.name}), in `namespace gpuos`.\n"
    )
    parts = [part(group, 0) for group in together(found)]
    return "\n".join([f"# {path.name}\n", about, *parts])


def pages(root: Path) -> dict[str, str]:
    texts = {
        path: page(path)
        for path in sorted(root.glob("include/gpuos/*.h"))
        if path.stem != "gpuos"  # It only includes the others.
    }
    lines = [
        "# C++\n",
        "What each public header declares, with its comments. A program",
        "includes `gpuos/gpuos.h`, which brings all of them.\n",
    ]
    made = {}
    for path, text in texts.items():
        declared = headers.declarations(path.read_text().splitlines())
        names = list(dict.fromkeys(each.name for each in declared))
        where = f"{path.stem}.md" if text else SOURCES + path.name
        what = ", ".join(f"`{name}`" for name in names[:8] if name)
        more = ", ..." if len(names) > 8 else ""
        lines.append(f"- [{path.name}]({where}): {what or 'lists'}{more}")
        if text:
            made[f"{FOLDER}{path.stem}.md"] = text
    return {FOLDER + "index.md": "\n".join(lines) + "\n", **made}
