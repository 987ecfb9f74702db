"""Which tests a run takes, and how long each takes: a plugin of conftest.py.

Everything runs unless options say otherwise. `--quick` leaves out functions
that tests/durations.json calls slow, and most items of large products of cases.
`--seed` adds a share of these, so that each comes once in CYCLE dates.
`--quick-host` leaves out the same of items for the host alone.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
from collections import Counter
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

ROOT = Path(__file__).parents[2]
DURATIONS = ROOT / "tests" / "durations.json"
SLOW_S = 0.5  # CPU time of an item above which its function is slow
CHEAP_S = 1.5  # CPU time up to which a slow function may stand for its module
LARGE = 60  # items of a function of which about so many stay in --quick
QUICK_S = 0.05  # CPU time of an item that is not slow, about
CYCLE = 7  # days in which each test runs once

# By function: the CPU seconds of its longest item, with its module's fixtures,
# and those of all its items.
Durations = dict[str, tuple[float, float]]


def function_of(nodeid: str) -> str:
    return nodeid.partition("[")[0]


def module_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def read(file: Path) -> Durations:
    return json.loads(file.read_text("utf-8")) if file.exists() else {}


def is_there(function: str) -> bool:
    """Return whether the file has such a test, even if it cannot be imported."""
    module, _, name = function.partition("::")
    file = ROOT / module
    head = re.compile(rf"^def {re.escape(name)}\(", re.MULTILINE)
    return file.is_file() and bool(head.search(file.read_text("utf-8")))


# ---- Which tests run.


def is_of_host(item: pytest.Item) -> bool:
    """Return whether an item's marker or parameters say that it uses no GPU."""
    is_named = re.search(r"[\[-](host|cpu)[\]-]", item.nodeid)
    return bool(is_named) or item.get_closest_marker("host") is not None


def number_of(seed: str) -> int:
    """Return the number itself, or the number of a day."""
    if re.fullmatch(r"\d{4}-?\d\d-?\d\d", seed):
        digits = seed.replace("-", "")
        try:
            parts = digits[:4], digits[4:6], digits[6:]
            return date(*map(int, parts)).toordinal()
        except ValueError:
            pass
    if not re.fullmatch(r"\d+", seed):
        text = f"expected a date or a number of at least 0, got {seed!r}"
        raise argparse.ArgumentTypeError(text)
    return int(seed)


def cheapest(items: Iterable[pytest.Item], durations: Durations) -> set[str]:
    """Return the cheapest function of each module that has no quick one."""
    functions = {function_of(item.nodeid) for item in items}
    quick = {module_of(name) for name in functions - durations.keys()}
    least: dict[str, str] = {}
    for name in sorted(
        functions & durations.keys(), key=lambda f: durations[f][1]
    ):
        least.setdefault(module_of(name), name)
    return {
        name
        for module, name in least.items()
        if module not in quick and durations[name][1] <= CHEAP_S
    }


def module_seconds(durations: Durations) -> Counter[str]:
    """Return the CPU seconds of the slow functions of each module."""
    seconds: Counter[str] = Counter()
    for function, (_, total) in durations.items():
        seconds[module_of(function)] += total
    return seconds


def module_shares(durations: Durations) -> dict[str, int]:
    """Give each slow module, the slowest first, to the lightest share."""
    seconds = module_seconds(durations)
    loads = [0.0] * CYCLE
    shares = {}
    for module in sorted(seconds, key=lambda name: (-seconds[name], name)):
        shares[module] = loads.index(min(loads))
        loads[shares[module]] += seconds[module]
    return shares


def chosen(
    items: Iterable[pytest.Item], durations: Durations, share: int | None
) -> list[bool]:
    """Return which items are quick or, if one is given, of the share."""
    items = list(items)
    counts = Counter(function_of(item.nodeid) for item in items)
    shares = module_shares(durations)
    spared = cheapest(items, durations)

    def is_chosen(item: pytest.Item) -> bool:
        function, module = function_of(item.nodeid), module_of(item.nodeid)
        together = item.get_closest_marker("together")
        is_slow = (function in durations and function not in spared) or (
            together is not None and not together.kwargs.get("quick", True)
        )
        number, count = crc32(item.nodeid.encode()), counts[function]
        if not is_slow and number % count < LARGE:
            return True
        if share is not None and item.get_closest_marker("always") is not None:
            return True
        if is_slow or together is not None:
            # The objects of a module are then made on one date only.
            own = shares.get(module, crc32(module.encode()) % CYCLE)
        else:
            own = number // count % CYCLE
        return own == share

    return [is_chosen(item) for item in items]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick",
        action="store_true",
        help="leave out slow tests and most items of large products of cases",
    )
    parser.addoption(
        "--quick-host",
        action="store_true",
        help="leave out the same of those that are for the host alone",
    )
    parser.addoption(
        "--seed",
        metavar="DATE|N",
        help="with --quick: also run a share of what it leaves out; in "
        f"{CYCLE} dates (2031-12-24 or 20311224) or numbers in a row all runs",
    )
    parser.addoption(
        "--record-durations",
        metavar="FILE",
        help="write which functions are slow, by CPU seconds, as durations.json",
    )


def pytest_configure(config: pytest.Config) -> None:
    seed = config.getoption("--seed")
    if seed is not None:
        if not config.getoption("--quick"):
            raise pytest.UsageError("--seed: expected --quick too")
        try:
            number_of(seed)
        except argparse.ArgumentTypeError as error:
            raise pytest.UsageError(f"--seed: {error}") from None
    if config.getoption("--record-durations"):
        config.pluginmanager.register(Recorder(config), "durations")


def share_of(config: pytest.Config) -> int | None:
    seed = config.getoption("--seed")
    return None if seed is None else number_of(seed) % CYCLE


def pytest_report_header(config: pytest.Config) -> list[str]:
    share, seed = share_of(config), config.getoption("--seed")
    if share is None:
        return []
    part = f"share {share + 1} of {CYCLE}"
    return [f"seed: {seed}, {part}; repeat it with --seed={seed}"]


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    durations = read(DURATIONS)
    if hasattr(config, "workerinput"):
        # A slow module that begins last is waited for: see --no-loadscope-reorder.
        seconds = module_seconds(durations)
        for item in items:
            seconds[module_of(item.nodeid)] += QUICK_S
        items.sort(key=lambda item: -seconds[module_of(item.nodeid)])
    of_host = config.getoption("--quick-host")
    if not (config.getoption("--quick") or of_host):
        return
    kept = chosen(items, durations, share_of(config))
    pairs = [
        (item, is_kept or (of_host and not is_of_host(item)))
        for item, is_kept in zip(items, kept, strict=True)
    ]
    others = [item for item, is_kept in pairs if not is_kept]
    config.hook.pytest_deselected(items=others)
    if hasattr(config, "workeroutput"):
        config.workeroutput["deselected"] = len(others)
    items[:] = [item for item, is_kept in pairs if is_kept]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Report the tests that xdist workers left out, which are equal in all."""
    count = getattr(node, "workeroutput", {}).get("deselected", 0)
    reporter = node.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.stats["deselected"] = [node] * count


# ---- How long they take.


def cpu_s() -> float:
    """Return the CPU time of this process and of the children it waited for."""
    both = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(sum(resource.getrusage(who)[:2]) for who in both)


class Recorder:
    """Collects CPU times, also from workers of xdist, and writes the file.

    The time of a module's shared fixture counts for each test that uses it,
    because any of them may run first. Session fixtures do not count.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.made: dict[tuple[str, str], float] = {}  # by module and fixture
        self.began = self.apart = self.shared = 0.0  # of the current item
        self.skipped: set[str] = set()
        self.longest: dict[str, float] = {}
        self.total: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        began, inner = cpu_s(), self.apart
        try:
            return (yield)
        finally:
            spent = cpu_s() - began - (self.apart - inner)
            self.apart += spent
            if fixturedef.scope != "session":
                self.shared += spent
                key = module_of(request.node.nodeid), fixturedef.argname
                self.made[key] = max(spent, self.made.get(key, 0))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        self.began, self.apart, self.shared = cpu_s(), 0.0, 0.0
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, None, None]:
        ended, module = cpu_s(), module_of(item.nodeid)
        try:
            return (yield)
        finally:
            # The end of a module's fixtures is not the last item's.
            if nextitem and module_of(nextitem.nodeid) == module:
                ended = cpu_s()
            own = ended - self.began - self.apart
            uses = sum(
                self.made.get((module, name), 0.0)
                for name in getattr(item, "fixturenames", ())
            )
            spent = own + uses, own + self.shared
            item.user_properties.append(("cpu_s", spent))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped:
            self.skipped.add(report.nodeid)
        spent = dict(report.user_properties).get("cpu_s")
        if spent is None or report.nodeid in self.skipped:
            return
        function = function_of(report.nodeid)
        self.longest[function] = max(spent[0], self.longest.get(function, 0))
        self.total[function] += spent[1]

    def pytest_sessionfinish(self) -> None:
        if hasattr(self.config, "workerinput"):
            return  # the process that started this one writes
        file = Path(self.config.getoption("--record-durations"))
        known = read(file) | {
            function: (round(longest, 2), round(self.total[function], 2))
            for function, longest in self.longest.items()
        }
        lines = [
            f"  {json.dumps(function)}: {json.dumps(spent)}"
            for function, spent in sorted(known.items())
            if spent[0] > SLOW_S and is_there(function)
        ]
        file.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
