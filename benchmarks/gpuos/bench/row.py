"""Store the results of a benchmark as rows of a table and lines of a plot.

One line of text above the function that fills a row declares the row:

    @TABLE.rows("bulk", "independent adds, n=1024 | ns <= 8")

The line has the name, the unit, and optionally the target on one H200. `<=` or
`>=` says whether less or more is better. With `on host` at its end the target
also holds on processors. `tables.py` prints and stores all rows in one way.
"""

from __future__ import annotations

import copy
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeVar

import gpuos

T = TypeVar("T")
Run = TypeVar("Run", bound=Callable[..., None])
LIMIT_S = 90.0
# These errors mean that this machine lacks something.
ABSENT = (gpuos.BackendUnavailable, ModuleNotFoundError)


class Unavailable(gpuos.BackendUnavailable):
    """This machine lacks something that a row needs."""


@dataclass
class Row:
    """One measured value.

    Parameters
    ----------
    name, unit : str
        The measured operation and its unit.
    asked : float or None
        The upper limit, or the lower limit if `more_is_better`.
    peers, also : dict
        The same work measured in another way, or why it is missing. The unit
        is `unit` unless the name contains another.
    """

    name: str
    unit: str
    asked: float | None = None
    more_is_better: bool = False
    on_host: bool = False
    value: float | None = None
    peers: dict[str, float | str] = field(default_factory=dict)
    also: dict[str, float | str] = field(default_factory=dict)
    note: str = ""
    error: str = ""
    is_unavailable: bool = False
    is_judged: bool = True

    @classmethod
    def declared(cls, line: str) -> Row:
        """Make the row that a line such as "an add | ns <= 8" declares."""
        name, _, rest = line.rpartition("|")
        unit, sign, asked = [
            *rest.removesuffix(" on host").split(),
            "",
            "",
            "",
        ][:3]
        return cls(
            name.strip(),
            unit,
            float(asked) if sign else None,
            more_is_better=sign == ">=",
            on_host=rest.endswith(" on host"),
        )

    @property
    def ok(self) -> bool | None:
        """Return whether the value meets the target, or None if unknown."""
        if self.value is None or self.asked is None or not self.is_judged:
            return None
        if self.more_is_better:
            return self.value >= self.asked
        return self.value <= self.asked

    def put(self, mode: str, value: float) -> None:
        """Set the value of a mode. The last mode's value is the row's."""
        self.value = self.also[mode] = value

    def put_median(self, times: Sequence[float]) -> None:
        """Set the value to the median, and also show the worst."""
        self.value = median(times)
        self.also["worst"] = max(times)

    def put_worst(self, times: Sequence[float]) -> None:
        """Set the value to the worst, and also show the median."""
        self.value = max(times)
        self.also["median"] = median(times)

    def peer(self, name: str, measure: Callable[[], float]) -> None:
        """Measure a peer, or say why it could not be measured."""
        self.peers[name] = attempt(measure)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for the JSON file."""
        names = "name value unit asked more_is_better ok peers also note error"
        return {name: getattr(self, name) for name in names.split()}


@dataclass
class Measure:
    """Rows that are measured together by `run(context, *rows)`.

    A measurement with a `part`, such as "whole-1", runs in a process of its
    own. It only runs if its name, "whole-1" or "whole" is asked for.
    """

    name: str
    rows: list[Row]
    run: Callable[..., None]
    limit_s: float = LIMIT_S
    part: str = ""

    @property
    def parts(self) -> set[str]:
        """Return the names that choose this measurement and others."""
        return {self.part, self.part.partition("-")[0]} - {""}

    def is_asked(self, only: Sequence[str] | None) -> bool:
        """Return whether the names after `--only` choose this measurement."""
        if not only:
            return not self.part
        return not {self.name, *self.parts}.isdisjoint(only)


class Table(list[Measure]):
    """The measurements of a module."""

    def rows(
        self,
        name: str,
        *lines: str,
        limit_s: float = LIMIT_S,
        part: str = "",
    ) -> Callable[[Run], Run]:
        """Declare the rows that the function below fills."""

        def declare(run: Run) -> Run:
            rows = [Row.declared(line) for line in lines]
            self.append(Measure(name, rows, run, limit_s, part))
            return run

        return declare


def measures_of(modules: Iterable[ModuleType]) -> list[Measure]:
    """Return every measurement of these modules, with empty rows."""
    return [copy.deepcopy(one) for module in modules for one in module.TABLE]


@dataclass
class Series:
    """Lines of a plot over the same x."""

    x_name: str
    y_name: str
    x: list[int]
    lines: dict[str, list[float | None]] = field(default_factory=dict)

    def add(self, name: str, value: float | str | None) -> None:
        """Put the next point on a line, or a gap for the text of an error."""
        number = None if isinstance(value, str) else value
        self.lines.setdefault(name, []).append(number)


def points(*series: Series) -> int:
    lines = [line for one in series for line in one.lines.values()]
    return sum(value is not None for line in lines for value in line)


def attempt(measure: Callable[[], T]) -> T | str:
    """Return what `measure` returns, or the text of its error."""
    try:
        return measure()
    except Exception as error:  # noqa: BLE001 (the run continues)
        return reason_of(error)


def reason_of(error: BaseException) -> str:
    """Return one line that describes an error."""
    if isinstance(error, gpuos.BackendUnavailable):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}"


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def quantile(values: Sequence[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[round(part * (len(ordered) - 1))]


def check_right(wrong: int, what: str) -> None:
    if wrong:
        message = f"{what}: expected 0 wrong elements, came {wrong}"
        raise ValueError(message)


def fail_rows(
    rows: Sequence[Row], error: BaseException, *, is_cuda: bool = False
) -> None:
    """Store an error in the rows that do not have a value.

    On a GPU, a part of gpuos that is unavailable is a failure.
    """
    absent = (Unavailable, ModuleNotFoundError) if is_cuda else ABSENT
    for row in rows:
        if row.value is None and not row.error:
            row.error = reason_of(error)
            row.is_unavailable = isinstance(error, absent)


def run_measure(context: object, measure: Measure) -> None:
    """Fill the rows of one measurement. Only Ctrl-C raises an error."""
    try:
        measure.run(context, *measure.rows)
    except Exception as error:  # noqa: BLE001 (other rows follow)
        is_cuda = getattr(context, "is_cuda", False)
        fail_rows(measure.rows, error, is_cuda=is_cuda)
