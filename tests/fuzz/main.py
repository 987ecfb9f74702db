"""Random cases until a number of them or a time is over; see scripts/fuzz."""

import argparse
import importlib.util
import itertools
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import overlaps
import programs
import small_worlds
from arrays import LAYOUTS
from steps import DTYPES, NAMES
from watch import watch

import gpuos

CALLS_OF_EACH = {False: 3, True: 20}  # compiled: each waits for a compiler


def cases(seed: int, *, is_compiled: bool) -> Iterator[programs.Case]:
    """Yield the same cases for the same seed: each program, called again."""
    cells = programs.cells()
    if is_compiled:  # for any layout
        cells = list({cell[:2]: cell for cell in cells}.values())
    random.Random(seed).shuffle(cells)
    for index in itertools.count():
        # Each program has its own dice, so a single one can be drawn again.
        dice = random.Random(f"{seed}:{index}")
        cell = cells[index % len(cells)]
        case = replace(programs.draw(dice, cell), is_compiled=is_compiled)
        yield case
        for _ in range(CALLS_OF_EACH[is_compiled] - 1):
            case = programs.called_again(dice, case)
            yield case


def first_finding(
    rt: gpuos.Runtime,
    count: int,
    seed: int,
    *,
    seconds: float = float("inf"),
    is_compiled: bool = False,
    table: Counter | None = None,
) -> str | None:
    """Return the first failing case of `count` programs with its error, or None."""
    end = time.monotonic() + seconds
    each = CALLS_OF_EACH[is_compiled]
    drawn = cases(seed, is_compiled=is_compiled)
    for index in range(count * each):
        if time.monotonic() > end:
            break
        case = next(drawn)
        if table is not None:
            programs.count(table, case)
        with watch().case(lambda case=case: case.text(rt.backend)):
            found = programs.finding(rt, case)
        if found:
            case = programs.shrink(rt, case)
            found = programs.finding(rt, case) or found
            where = f"seed {seed}, program {index // each}"
            return f"{where}: {found}\n\n{case.text(rt.backend)}"
    return None


def empty_cells(table: Counter) -> list[str]:
    """Return the functions, dtypes and layouts that were never drawn together."""
    return [
        f"{name} of {dtype.name}, {layout}"
        for name, dtype, layout in programs.cells()
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


def run_programs(
    options: argparse.Namespace, count: int, seconds: float
) -> str:
    """Compare programs with NumPy; return the finding, or an empty text."""
    deterministic = {"deterministic": True} if options.backend == "cuda" else {}
    table: Counter = Counter()
    with gpuos.Runtime(options.backend, **deterministic) as rt:
        found = small_worlds.first_finding(rt)
        if options.backend == "host":
            found = found or overlaps.first_finding(rt, options.seed)
        found = found or first_finding(
            rt,
            count,
            options.seed,
            seconds=seconds,
            is_compiled=options.compiled,
            table=table,
        )
    show(table)
    sys.stdout.write(f"{table['cases']} cases\n")
    return found or ""


def run_submissions(
    options: argparse.Namespace, count: int, seconds: float
) -> str:
    """Compare tasks over overlapping memory with the same tasks in order."""
    submissions = importlib.import_module("submissions")
    return submissions.first_finding(
        options.backend,
        count,
        options.seed,
        seconds=seconds,
        is_compiled=options.compiled,
    )


def run_calls(options: argparse.Namespace, count: int, seconds: float) -> str:
    """Call public functions with wrong arguments; return a finding or ""."""
    children = importlib.import_module("children")
    table = children.Table()
    found = children.first_finding(
        count, options.seed, seconds=seconds, table=table
    )
    children.show(table)
    return found or ""


def run_readers(options: argparse.Namespace, count: int, seconds: float) -> str:
    """The targets of libFuzzer, each with its part of the time."""
    readers = importlib.import_module("readers")
    found = readers.first_finding(count, options.seed, seconds=seconds)
    return found or ""


def run_alone(what: str) -> Callable[[argparse.Namespace, int, float], str]:
    """The cases of a module in children."""

    def run(options: argparse.Namespace, count: int, seconds: float) -> str:
        alone = importlib.import_module("alone")
        found = alone.first_finding(what, count, options.seed, seconds=seconds)
        return found or ""

    return run


def run_sequences(
    options: argparse.Namespace, count: int, seconds: float
) -> str:
    """Compare lines of PyTorch in a scheduler with eager ones."""
    sequences = importlib.import_module("sequences")
    device = "cpu" if options.backend == "host" else "cuda"
    return sequences.first_finding(device, count, options.seed, seconds=seconds)


def run_moments(
    _options: argparse.Namespace, count: int, seconds: float
) -> str:
    """Signal handlers and finalizers that compute, at any moment."""
    moments = importlib.import_module("moments")
    seconds = min(seconds, 5.0 * count)
    found = moments.first_finding(seconds / 2, with_torch=False)
    if not found and moments.HAS_TORCH:
        found = moments.first_finding(seconds / 2, with_torch=True)
    return found


def run_cells(options: argparse.Namespace, count: int, seconds: float) -> str:
    """Compare programs that are cut into cells with one file."""
    cells = importlib.import_module("cells")
    cuts: Counter = Counter()
    end = time.monotonic() + seconds
    with gpuos.Runtime("host") as rt:
        found = cells.first_finding(
            rt,
            count,
            options.seed,
            cuts,
            is_over=lambda: time.monotonic() > end,
        )
    sys.stdout.writelines(
        f"{kind}: cut {n} times\n" for kind, n in cuts.most_common()
    )
    return found or ""


WHAT = {
    "programs": run_programs,
    "submissions": run_submissions,
    "calls": run_calls,  # always on the host
    "npy": run_alone("npy"),
    "dlpack": run_alone("dlpack"),
    "control": run_alone("control_messages"),
    "cells": run_cells,
    "bytes": run_readers,  # C++, independent of the package
    "torch": run_sequences,
    "moments": run_moments,  # always on the host
}


def is_possible(what: str) -> bool:
    """Return whether this machine has the needed packages and devices."""
    if what == "torch":
        return importlib.util.find_spec("torch") is not None
    if what == "bytes":
        return importlib.import_module("readers").clang() is not None
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = [what for what in WHAT if is_possible(what)]
    parser.add_argument("--what", nargs="+", default=known, choices=[*WHAT])
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--count", type=int, help="cases, instead of a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", default="host", choices=["host", "cuda"])
    parser.add_argument("--compiled", action="store_true")
    options = parser.parse_args()
    most = options.count or sys.maxsize // 100
    seconds = 60 * options.minutes / len(options.what)
    findings = 0
    for what in options.what:
        start = time.monotonic()
        limit = float("inf") if options.count else seconds
        found = WHAT[what](options, most, limit)
        spent = time.monotonic() - start
        sys.stdout.write(f"{what}: {found or 'no finding'}, {spent:.0f} s\n")
        findings += bool(found)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
