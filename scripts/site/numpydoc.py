"""Convert docstrings of NumPy's form to Markdown."""

import inspect
import re

RULE = re.compile(r"^-{3,}$")
LISTS = ("Parameters", "Raises", "Attributes")
# These are lists, unless they are one word or a sentence.
OFTEN_LISTS = ("Returns", "Yields")
CODE = re.compile(r"(``[^`]+``|`[^`]*`)")
SPECIAL = re.compile(r"([*_\[\]])")


def escaped(text: str) -> str:
    """Escape the special characters of text, except in code (`...`)."""
    parts = CODE.split(text)
    for i in range(0, len(parts), 2):
        plain = parts[i].replace("&", "&amp;").replace("<", "&lt;")
        parts[i] = SPECIAL.sub(r"\\\1", plain)
    return "".join(parts)


def sections(text: str) -> list[tuple[str, list[str]]]:
    """Return a docstring's parts with titles. The first title is ""."""
    found: list[tuple[str, list[str]]] = [("", [])]
    lines = text.splitlines()
    for line, below in zip(lines, [*lines[1:], ""], strict=False):
        if RULE.match(below) and line.strip():
            found.append((line.strip(), []))
        elif not RULE.match(line):
            found[-1][1].append(line)
    return found


def items(lines: list[str]) -> str:
    """Return a list. Lines without indent name items, others explain them."""
    out: list[str] = []
    for line in filter(str.strip, lines):
        if line.startswith(" "):
            out[-1] += " " + escaped(line.strip())
        else:
            name, _, kind = line.partition(" : ")
            out.append(
                f"- `{name}`" + (f" ({escaped(kind)}):" if kind else ":")
            )
    return "\n".join(line.removesuffix(":") for line in out) + "\n"


def prose(lines: list[str]) -> str:
    """Return paragraphs, with examples (>>>) as blocks of code."""
    out = []
    for part in re.split(r"\n\s*\n", "\n".join(lines).strip("\n")):
        if part.lstrip().startswith(">>>"):
            out.append(f"```pycon\n{part}\n```\n")
        elif part.strip():
            out.append(escaped(part) + "\n")
    return "\n".join(out)


def markdown(doc: str | None) -> str:
    """Return a docstring as Markdown, or "" without a docstring."""
    parts = []
    for title, lines in sections(inspect.cleandoc(doc or "")):
        is_list = title in LISTS or (
            title in OFTEN_LISTS and any(x.startswith("    ") for x in lines)
        )
        body = items(lines) if is_list else prose(lines)
        if body.strip():
            parts.append((f"**{title}**\n\n" if title else "") + body)
    return "\n".join(parts)
