"""Random cases until a number of them or a time is over; see scripts/fuzz."""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import programs
from arrays import LAYOUTS
from steps import DTYPES, NAMES

import gpuos

LAYOUTS_OF_EACH = {False: 3, True: 20}  # compiled: each waits for a compiler


def cases(seed: int, *, is_compiled: bool) -> Iterator[programs.Case]:
    """Yield the same cases for the same seed: one program, other layouts."""
    index = 0
    while True:
        # Each program has dice of its own, so one alone can be drawn again.
        dice = random.Random(f"{seed}:{index}")
        case = replace(programs.draw(dice), is_compiled=is_compiled)
        yield case
        for _ in range(LAYOUTS_OF_EACH[is_compiled] - 1):
            yield programs.other_layouts(dice, case)
        index += 1


def first_finding(
    rt: gpuos.Runtime,
    count: int,
    seed: int,
    *,
    seconds: float = float("inf"),
    is_compiled: bool = False,
    table: Counter | None = None,
) -> str | None:
    """Return what is wrong with which case of `count` programs, or None."""
    end = time.monotonic() + seconds
    each = LAYOUTS_OF_EACH[is_compiled]
    drawn = cases(seed, is_compiled=is_compiled)
    for index in range(count * each):
        if time.monotonic() > end:
            break
        case = next(drawn)
        if table is not None:
            programs.count(table, case)
        found = programs.finding(rt, case)
        if found:
            case = programs.shrink(rt, case)
            found = programs.finding(rt, case) or found
            where = f"seed {seed}, program {index // each}"
            return f"{where}: {found}\n\n{case.text(rt.backend)}"
    return None


def empty_cells(table: Counter) -> list[str]:
    """Return what was never drawn: a function with a dtype in a layout."""
    return [
        f"{name} of {dtype.name}, {layout}"
        for name, dtypes in NAMES.items()
        for dtype in dtypes
        for layout in LAYOUTS
        if not table[name, dtype.name, layout]
    ]


def show(table: Counter) -> None:
    """Print how often each function was drawn with each dtype."""
    sys.stdout.write(f"{'':15}{''.join(f'{d.name:>10}' for d in DTYPES)}\n")
    for name in NAMES:
        row = ""
        for dtype in DTYPES:
            cells = [table[name, dtype.name, layout] for layout in LAYOUTS]
            row += f"{sum(cells):>10}" if dtype in NAMES[name] else f"{'-':>10}"
        sys.stdout.write(f"{name:15}{row}\n")
    empty = empty_cells(table)
    sys.stdout.write(
        f"{len(empty)} cells of function, dtype and layout empty\n"
    )
    sys.stdout.writelines(f"  {cell}\n" for cell in empty[:20])


def run_programs(options: argparse.Namespace, count: int, end: float) -> str:
    """Programs beside NumPy; what is wrong, or nothing."""
    deterministic = {"deterministic": True} if options.backend == "cuda" else {}
    table: Counter = Counter()
    with gpuos.Runtime(options.backend, **deterministic) as rt:
        found = first_finding(
            rt,
            count,
            options.seed,
            seconds=end,
            is_compiled=options.compiled,
            table=table,
        )
    show(table)
    sys.stdout.write(f"{table['cases']} cases\n")
    return found or ""


def run_calls(options: argparse.Namespace, count: int, end: float) -> str:
    """Public functions with wrong things; what is wrong, or nothing."""
    children = importlib.import_module("children")
    table = children.Table()
    found = children.first_finding(
        count, options.seed, seconds=end, table=table
    )
    children.show(table)
    return found or ""


WHAT = {"programs": run_programs, "calls": run_calls}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--what", default="programs", choices=list(WHAT))
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--count", type=int, help="cases, instead of a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", default="host", choices=["host", "cuda"])
    parser.add_argument("--compiled", action="store_true")
    options = parser.parse_args()
    start = time.monotonic()
    seconds = float("inf") if options.count else 60 * options.minutes
    found = WHAT[options.what](
        options, options.count or sys.maxsize // 100, seconds
    )
    sys.stdout.write(f"{time.monotonic() - start:.0f} s\n")
    sys.stdout.write(f"{found}\n" if found else "no finding\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
