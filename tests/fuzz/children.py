"""Runs cases in separate processes, so that a crash or a hang is a finding.

The child reports each case that it begins. The parent waits for each case until
a deadline, and finds the fewest cases that still fail.
"""

import gc
import json
import mmap
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import calls
from wrong_objects import JUDGE

DEADLINE_S = 40.0  # of a case; some wait for a compiler
BATCH = 1500  # cases of a child
# Prints the stacks of all threads when it is killed, even in a hanging import.
PYTHON = (sys.executable, "-X", "faulthandler", "-W", "ignore")
MEMORY = 6 << 30  # bytes of addresses; larger requests get a MemoryError


@dataclass
class Table:
    """Counts of drawn cases and their outcomes."""

    cases: int = 0
    calls: int = 0
    drawn: Counter = field(default_factory=Counter)
    without_got: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """The failing case of a batch, and its finding."""

    index: int
    text: str


def case_of(seed: int, index: int) -> calls.Case:
    """Draw a case. Each has its own dice, so a single one can be drawn again.

    Seed 0 has all wrong things in turn, a case for each function.
    """
    if seed == 0:
        return calls.swept(index)
    return calls.draw(random.Random(f"{seed}:{index}"))


@dataclass(frozen=True)
class Wanted:
    """Cases of a seed from the first to the last, or the lines of a text."""

    seed: int
    first: int
    last: int
    lines: tuple[int, ...] | None = None  # of the last case; None: all
    is_alone: bool = False  # no other thread runs during the last case
    text: str = ""

    def cases(self) -> list[calls.Case]:
        if self.text:
            return [calls.Case((calls.Line(self.text, "text"),))]
        numbers = range(self.first, self.last + 1)
        cases = [case_of(self.seed, k) for k in numbers]
        if self.lines is not None:
            kept = list(self.lines)
            cases[-1] = cases[-1].with_lines(kept, is_alone=self.is_alone)
        return cases


# ---- the child


def child(folder: Path) -> int:
    """Run the cases of wanted.json until one fails."""
    # A sanitizer takes terabytes of addresses for itself.
    if not os.environ.get("LD_PRELOAD"):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    wanted = Wanted(**json.loads((folder / "wanted.json").read_text()))
    gc.freeze()  # a collection then looks only at objects of cases
    place = calls.Place()
    table = Table()
    found = ""
    with (folder / "begun").open("r+b") as file:
        begun = mmap.mmap(file.fileno(), 8)
        for index, case in enumerate(wanted.cases(), wanted.first):
            begun[:8] = index.to_bytes(8, "little")
            found = calls.finding(place, case)
            table.cases += 1
            table.drawn.update(line.function for line in case.lines)
            if found:
                break
    JUDGE.begin()
    told = {
        "found": found,
        "cases": table.cases,
        "calls": JUDGE.calls,
        "drawn": table.drawn,
        "without_got": JUDGE.without_got,
    }
    (folder / "told.json").write_text(json.dumps(told))
    return 0


# ---- the parent


def run(wanted: Wanted, table: Table | None = None) -> Failure | None:
    """Run cases in a child, which uses only its own folder."""
    with tempfile.TemporaryDirectory(prefix="gpuos-fuzz-") as name:
        folder = Path(name)
        (folder / "wanted.json").write_text(json.dumps(asdict(wanted)))
        (folder / "begun").write_bytes(bytes(8))
        home = folder / "home"
        home.mkdir()
        places = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "GPUOS_CACHE_DIR")
        with (folder / "said").open("wb") as said:
            process = subprocess.Popen(
                [*PYTHON, __file__, str(folder)],
                cwd=home,
                stdout=said,
                stderr=said,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **dict.fromkeys(places, str(home))},
            )
            is_late = _wait(process, folder)
        index = int.from_bytes((folder / "begun").read_bytes(), "little")
        told_at = folder / "told.json"
        if process.returncode == 0 and told_at.exists():
            told = json.loads(told_at.read_text())
            if table is not None:
                table.cases += told["cases"]
                table.calls += told["calls"]
                table.drawn.update(told["drawn"])
                table.without_got |= told["without_got"]
            return Failure(index, told["found"]) if told["found"] else None
        tail = (folder / "said").read_text(errors="replace")[-6000:]
        what = f"did not end within {DEADLINE_S:.0f} s"
        if not is_late:
            what = f"ended the process with {process.returncode}"
        return Failure(index, f"{what}\n{tail}")


def _wait(process: subprocess.Popen, folder: Path) -> bool:
    """Until it ends; whether one case took too long and was ended."""
    seen, since = b"", time.monotonic()
    while True:
        try:
            process.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            now = (folder / "begun").read_bytes()
            if now != seen:
                seen, since = now, time.monotonic()
            if time.monotonic() - since > DEADLINE_S:
                process.send_signal(signal.SIGABRT)  # all threads' traces
                process.wait()
                return True
        else:
            return False


def report(seed: int, first: int, failure: Failure) -> str:
    """The fewest cases, then the fewest lines of the last, that still fail."""
    last = failure.index
    begin, many = last, 1
    known: Failure | None = None
    while known is None:
        known = run(Wanted(seed, begin, last))
        if known is not None or begin == first:
            break
        many *= 4
        begin = max(first, last + 1 - many)
    if known is None:
        case = case_of(seed, last)
        return (
            f"seed {seed}, case {last}, seen once in cases {first} to {last}: "
            f"{failure.text}\n\n{case.text()}"
        )
    last = known.index
    wanted = _with_fewer_lines(seed, begin, last)
    texts = [case.text() for case in wanted.cases()[-3:]]
    alone = "" if begin == last else f" after those from {begin} on"
    return (
        f"seed {seed}, case {last}{alone}: {known.text}\n\n"
        + "\n\n# then\n\n".join(texts)
    )


def _with_fewer_lines(seed: int, begin: int, last: int) -> Wanted:
    """Return the smallest case, from which no line can be removed."""
    lines = tuple(range(len(case_of(seed, last).lines)))
    best = Wanted(seed, begin, last, lines)
    alone = replace(best, is_alone=True)
    best = alone if run(alone) else best
    size = max(1, len(lines) // 2)
    while True:
        at = 0
        while at < len(lines):
            fewer = replace(best, lines=lines[:at] + lines[at + size :])
            if run(fewer):
                best, lines = fewer, fewer.lines or ()
            else:
                at += size
        if size == 1:
            return best
        size = max(1, size // 2)


def first_finding(
    count: int,
    seed: int,
    *,
    seconds: float = float("inf"),
    table: Table | None = None,
    batch: int = BATCH,
    first: int = 0,
) -> str | None:
    """Return a finding in `count` calls from case `first` on, or None."""
    end = time.monotonic() + seconds
    table = table or Table()
    while table.calls < count and time.monotonic() < end:
        before = table.calls
        last = first + batch - 1
        failure = run(Wanted(seed, first, last), table)
        if failure:
            return report(seed, first, failure)
        if table.calls == before:
            return f"seed {seed}: no call in cases {first} to {last}"
        first = last + 1
    return None


def show(table: Table) -> None:
    """Print the drawn calls, and the messages without the given value."""
    known = {str(c) for c in (*calls.OF_STUBS, *calls.OF_VALUES)}
    for function in sorted(known | set(table.drawn) - {""}):
        sys.stdout.write(f"{table.drawn[function]:>9} {function}\n")
    if table.without_got:
        sys.stdout.write("without expected and got:\n")
    for text in sorted(table.without_got):
        sys.stdout.write(f"  {text}\n")
    sys.stdout.write(f"{table.calls} calls in {table.cases} cases\n")


if __name__ == "__main__":
    sys.exit(child(Path(sys.argv[1])))
