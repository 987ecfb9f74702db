"""Counts headless phrases and odd words in comments and pages, per folder.

CONTRIBUTING.md has the rule. `python tests/layout/test_language.py FOLDER`
lists the findings of a folder.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from test_layout import SOURCE_SUFFIXES, name_of, sources

# Beginnings of sentences that have no subject or no verb.
BAD_START = re.compile(
    r"(?:Of|Who|Whoever|Whose|Whom|What|Whatever|Those (?:that|of|which|who)"
    r"|That (?:of|is|which)|But for|Else|So (?:many|much|few)|As(?=\b[^,]*$)"
    r"|The same(?= ?[.,:;]| (?:of|for|as|with|in|by|but|to)\b))\b(?![^?]*\?)"
)
BAD_WORDS = re.compile(
    r"\b(?:anew|in vain|as a rule|besides?|behind|(?:some|no|any)body|whoever"
    r"|knows no|but for|(?:of|to|for|with|in) whom|(?:lie|stand)s? (?:in|at|on)"
    r"|ha(?:s|ve) not (?:an?|the|any|all|its|their|that|those|enough|so))\b",
    re.IGNORECASE,
)
COMMENT = re.compile(r"(?:^|\s)(?://+<?|#|/\*+|\*)(?=\s)(.*)")
LIST_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s|\|")
# Folder: the most starts and words that it may have. They may only fall.
KEPT = """
. 16 28, benchmarks 2 23, cmake 4 1, cpp 49 324, docs 175 322, examples 0 4,
include 7 15, python 88 192, scripts 15 12, tests 387 219
"""


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the sentences of a page, or of a file's comments and docstrings."""
    held, is_text, is_page = "", False, path.suffix == ".md"
    for number, line in enumerate([*path.read_text().splitlines(), ""], 1):
        words = line.strip()
        if is_page:
            is_text ^= words.startswith("```")
            if is_text or line.startswith(("    ", "#")):
                words = ""
        elif path.suffix == ".py" and (is_text or words.startswith('"""')):
            is_text ^= words.count('"""') == 1
            words = words.replace('"""', "")
        else:
            found = COMMENT.search(line)
            words = found[1].strip() if found else ""
        if held and (not words or (is_page and LIST_ITEM.match(line))):
            yield number - 1, held
            held = ""
        *whole, held = re.split(r"(?<=[.!?|])\s+", f"{held} {words}".strip())
        yield from ((number, one) for one in whole)


def found_in(top: str) -> Iterator[tuple[bool, str]]:
    """Yields whether it is a word, and where a finding is."""
    for path in sources(*SOURCE_SUFFIXES, ".md"):
        name = name_of(path)
        if top != (name.partition("/")[0] if "/" in name else "."):
            continue
        for line, text in sentences(path):
            words = re.sub(r"`[^`]*`", "_", text).lstrip("-*| ")
            for is_found in (BAD_START.match, BAD_WORDS.search):
                if is_found(words):
                    is_word = is_found == BAD_WORDS.search
                    yield is_word, f"{name}:{line}: {text}"


def test_sentences_are_whole() -> None:
    more = []
    for entry in KEPT.split(","):
        top, *kept = entry.split()
        counts = Counter(is_word for is_word, _ in found_in(top))
        if counts[False] > int(kept[0]) or counts[True] > int(kept[1]):
            more.append(f"{top}: kept {kept}, got {counts}")
    assert not more, "test_language.py FOLDER lists them:\n" + "\n".join(more)


if __name__ == "__main__":
    test_sentences_are_whole()
    for _, finding in found_in(" ".join(sys.argv[1:])):
        print(finding)
