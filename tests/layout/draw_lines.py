"""Prints random lines of the tree, each with the row of its file.

    python tests/layout/draw_lines.py [--seed 1] [--count 20]

The row is from the table of the folder's README. The reader judges whether it
leads to the line. If not, the line or the README is wrong.
"""

import argparse
import random
import re
from pathlib import Path

import test_layout as layout


def lines() -> list[tuple[Path, int, str]]:
    """All lines of folders that have something to read in them."""
    return [
        (path, number, line.strip())
        for path in [*layout.sources(), *layout.pages()]
        if layout.folder_of(path)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"\w{3}", line)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    options = parser.parse_args()
    drawn = random.Random(options.seed).sample(lines(), options.count)
    for path, number, line in drawn:
        print(f"{layout.name_of(path)}:{number}: {line}")
        print("    " + "\n    ".join(layout.rows_of(path)), "\n")


if __name__ == "__main__":
    main()
