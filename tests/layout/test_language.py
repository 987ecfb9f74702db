"""Counts headless phrases and odd words per folder; CONTRIBUTING.md has the rule.

`python tests/layout/test_language.py FOLDER` lists a folder's findings.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from tokenize import COMMENT, STRING, generate_tokens

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
MARK = re.compile(r"(?:^|\s)(?://+<?|#|/\*+|\*)(?=\s)(.*)")
BETWEEN = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.)\s)")
# Folder: the most starts and words that it may have. They may only fall.
KEPT = """. 2 1, benchmarks 0 0, cmake 0 0, cpp 0 0, docs 2 2, examples 0 1,
include 0 0, python 0 0, scripts 0 0, tests 0 0"""


def prose_of(path: Path) -> str:
    """Returns a page's text, or the words of a file's comments by line."""
    text = path.read_text()
    if path.suffix == ".md":
        return re.sub(r"(?ms)^ *```.*?```|^(?:    |#)[^\n]*|\w+\.md", "", text)
    if path.suffix != ".py":
        found = (MARK.search(line) for line in text.split("\n"))
        return "\n".join(mark[1] if mark else "" for mark in found)
    prose, end = "", 0
    for token in generate_tokens(StringIO(text).readline):
        is_doc = token.type == STRING and token.line.lstrip()[:3] == '"""'
        if token.type == COMMENT or is_doc:
            prose += "\n" if token.start[0] == end + 1 else "\n\n"
            prose += re.sub(r"(?m)^\s*#", "", token.string.strip('"'))
            end = token.end[0]
    return prose


def found_in(top: str) -> Iterator[tuple[bool, str]]:
    """Yields whether a finding is a word, and its place and text."""
    for path in sources(*SOURCE_SUFFIXES, ".md"):
        name = name_of(path)
        is_here = top == (name.partition("/")[0] if "/" in name else ".")
        for block in BETWEEN.split(prose_of(path)) if is_here else ():
            for text in re.split(r"(?<=[.!?|])\s+", " ".join(block.split())):
                words = re.sub(r"`[^`]*`", "_", text).lstrip("-*| ")
                if BAD_START.match(words):
                    yield False, f"{name}: {text}"
                if BAD_WORDS.search(words):
                    yield True, f"{name}: {text}"


def test_sentences_are_whole() -> None:
    for entry in KEPT.split(","):
        top, starts, words = entry.split()
        counts = Counter(is_word for is_word, _ in found_in(top))
        assert counts[False] <= int(starts), (top, counts)
        assert counts[True] <= int(words), (top, counts)


if __name__ == "__main__":
    for _, text in found_in("".join(sys.argv[1:])):
        print(text)
    test_sentences_are_whole()
