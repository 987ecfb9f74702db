"""`python -m gpuos cache`: lists, checks and shrinks the cache on the disk."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import gpuos
from gpuos.cli.options import number_of_bytes
from gpuos.cli.words import ago, count, size

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence
    from typing import Any

    from gpuos.cache import CachedImage, CacheInfo, Removal


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser of all."""
    parser = commands.add_parser(
        "cache",
        help="compiled operators on the disk: ls, verify, prune, clear",
        description="Show, check and tidy the disk cache of compiled "
        "operators.",
    )
    actions = parser.add_subparsers(dest="action", required=True)
    listing = actions.add_parser("ls", help="show what is kept")
    listing.set_defaults(function=show)
    verify = actions.add_parser(
        "verify", help="check every file; the exit code is 1 if one is bad"
    )
    verify.set_defaults(function=check)
    prune = actions.add_parser(
        "prune", help="remove bad files, then the longest unused"
    )
    prune.add_argument(
        "--max-mb",
        type=float,
        metavar="N",
        help="MiB that may stay (default: GPUOS_CACHE_MAX_MB)",
    )
    prune.set_defaults(function=shrink)
    clear = actions.add_parser(
        "clear", help="remove everything except the bridge to PyTorch"
    )
    clear.set_defaults(function=empty)


def show(_arguments: argparse.Namespace) -> int:
    """Print a table of the images."""
    images = gpuos.cache.images()
    if images:
        print(table(images, time.time()))
        print()
    print("\n".join(summary(gpuos.cache.info())))
    return 0


def check(_arguments: argparse.Namespace) -> int:
    """Print the damaged files; return 1 if there are any."""
    images = gpuos.cache.images()
    bad = [image for image in images if image.state == "bad"]
    for image in bad:
        print(f"bad: {image.path}: {image.problem}")
    other = sum(image.state == "other schema" for image in images)
    print(
        f"{count(len(images), 'image')}: {len(images) - len(bad) - other} good,"
        f" {len(bad)} bad, {other} of another gpuos"
    )
    if bad:
        print("remove the bad ones: python -m gpuos cache prune")
    return 1 if bad else 0


def shrink(arguments: argparse.Namespace) -> int:
    """Remove damaged files, and old ones above the size limit."""
    if arguments.max_mb is None:
        return removed(gpuos.cache.prune())
    kept = number_of_bytes("--max-mb", arguments.max_mb)
    return removed(gpuos.cache.prune(kept))


def empty(_arguments: argparse.Namespace) -> int:
    """Remove everything except the bridge to PyTorch."""
    return removed(gpuos.cache.clear())


def removed(removal: Removal) -> int:
    """Print the number and size of the removed files."""
    print(f"removed {count(removal.files, 'file')}, {size(removal.bytes)}")
    return 0


def table(images: Iterable[CachedImage], now: float) -> str:
    """Return the images as lines of text."""
    rows = [("file", "operator", "for", "registers", "size", "last used", "")]
    for image in images:
        remark = image.problem or ("read-only" if image.is_read_only else "")
        registers = str(image.registers) if image.state == "good" else "-"
        rows.append(
            (
                Path(image.path).name[:8],
                image.name or "-",
                image.arch or "-",
                registers,
                size(image.bytes),
                ago(now - image.used),
                remark,
            )
        )
    return aligned(rows)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as lines with straight columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows
    )


def summary(info: CacheInfo) -> list[str]:
    """Return a line for each level."""
    own = info.own
    if own.why_off:
        lines = [f"off, compiled operators stay in memory: {own.why_off}"]
    else:
        room = f"{size(own.bytes)} of {size(info.max_bytes)}"
        how = "" if own.is_writable else ", read only"
        lines = [f"{own.folder}: {count(own.entries, 'image')}, {room}{how}"]
    baked = info.read_only
    if baked.why_off:
        lines.append(f"read-only, not used: {baked.why_off}")
    elif baked.folder:
        lines.append(
            f"read-only {baked.folder}: {count(baked.entries, 'image')}, "
            f"{size(baked.bytes)}"
        )
    return lines
