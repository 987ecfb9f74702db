"""The meaning of operators' names in a runtime at each version of a pool."""

from __future__ import annotations

import contextlib
import itertools
import re
import threading
import weakref
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from gpuos import _core
from gpuos.ray import renaming

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpuos.ray.changes import Change

KEPT = 64  # versions, and any that is in use
KEPT_OPERATORS = 384  # of a runtime's 1024 slots; the newest has what it needs


class Entry(NamedTuple):
    """The meaning of a name, and the version that gave it."""

    born: int
    definition: _core.Definition


Table = dict[str, Entry]
Names = dict[str, _core.Operator]


class Versions:
    """The versions of a pool whose operators one runtime has.

    Each body is a separate operator, so that replaced versions stay callable.
    Threads: all, at any time. One thread compiles; calls of existing operators
    do not wait for it.

    Parameters
    ----------
    runtime : Runtime
    read : callable
        Given a version, returns its Table, from the log.
    """

    def __init__(
        self, runtime: _core.Runtime, read: Callable[[int], Table]
    ) -> None:
        self._runtime = runtime
        self._read = read
        # Only operators of this object have such names in the runtime.
        self._tag = _tag(runtime)
        self._making = threading.Lock()  # goes before the other
        self._lock = threading.Lock()
        # Under _lock:
        self._names: dict[int, Names] = {}
        self._born: dict[int, dict[str, int]] = {}
        self._calls: Counter[int] = Counter()
        # Under _making: operators by name and birth, and the versions of each.
        self._operators: dict[tuple[str, int], _core.Operator] = {}
        self._users: Counter[tuple[str, int]] = Counter()
        self._taken = frozenset(
            name for name in runtime.operators() if _is_built_in(runtime, name)
        )

    @contextlib.contextmanager
    def at(self, version: int) -> Iterator[Names]:
        """Hold the names of a version, which is made if it does not exist."""
        if not self._hold(version):
            with self._making:
                if not self._hold(version):
                    self._make(version)
                    self._hold(version)
        try:
            yield self._names[version]
        finally:
            with self._lock:
                self._calls[version] -= 1

    def prepare(
        self, version: int, before: int, changes: Sequence[Change]
    ) -> dict[str, _core.Definition]:
        """Make a version that is not used yet; return its new definitions.

        Raises
        ------
        InvalidArgument, CompileError, BackendUnavailable
            As define() and replace() do; nothing has changed then.
        """
        with self._making:
            if version not in self._names:  # Ray may call again
                if before not in self._names:
                    self._make(before)
                born = dict(self._born[before])
                try:
                    for change in changes:
                        self._change(version, change, born)
                except BaseException:
                    for change in changes:
                        self._undefine((change.definition.name, version))
                    raise
                self._publish(version, born)
            return {
                name: renaming.renamed(
                    self._names[version][name].definition, name
                )
                for name, birth in self._born[version].items()
                if birth == version
            }

    def cleaner(self) -> Callable[[], None]:
        """Return a function that undefines all operators after this object."""
        operators, runtime = self._operators, weakref.ref(self._runtime)

        def clean() -> None:
            there = runtime()
            with contextlib.suppress(_core.Error):  # it is closed or dead
                while there is not None and operators:
                    there.undefine(operators.popitem()[1])

        return clean

    @property
    def newest(self) -> int:
        """Return the newest prepared version; it may be only proposed."""
        with self._lock:
            return max(self._names, default=0)

    def drop(self, version: int) -> None:
        """Forget a version that was prepared and will not be used."""
        with self._making:
            self._drop(version)

    # ---- Under _making, except _hold().

    def _hold(self, version: int) -> bool:
        with self._lock:
            has = version in self._names
            if has:
                self._calls[version] += 1
            return has

    def _make(self, version: int) -> None:
        """Define the operators of a version that this runtime does not have."""
        table = self._read(version)
        born = {name: entry.born for name, entry in table.items()}
        keys = [key for key in born.items() if key not in self._operators]
        made = self._runtime.define_many(
            renaming.keywords_of(
                table[name].definition, self._inner(name, birth)
            )
            for name, birth in keys
        )
        self._operators.update(zip(keys, made, strict=True))
        self._publish(version, born)

    def _change(
        self, version: int, change: Change, born: dict[str, int]
    ) -> None:
        """Make the operator that a change asks for."""
        definition, name = change.definition, change.definition.name
        inner = self._inner(name, version)
        if change.given is None:
            if self._is_there(definition, born):
                return
            made = self._runtime.define(renaming.renamed(definition, inner))
            self._operators[name, version] = made
        else:
            if name not in born:
                raise _core.InvalidArgument(
                    f"replace: expected an operator of the pool, got {name!r}; "
                    f"it has {', '.join(sorted(born)) or 'none'}"
                )
            # A copy of the old one, so that the runtime's rules are the pool's.
            if born[name] != version:
                old = self._operators[name, born[name]].definition
                self._operators[name, version] = self._runtime.define(
                    renaming.renamed(old, inner)
                )
            keywords = renaming.keywords_of(definition, inner)
            self._runtime.replace(
                self._operators[name, version],
                **{key: keywords[key] for key in change.given},
            )
        born[name] = version

    def _is_there(
        self, definition: _core.Definition, born: dict[str, int]
    ) -> bool:
        """Return whether the pool has it; raise if it has another one."""
        name = definition.name
        if name in born:
            known = self._operators[name, born[name]].definition
            if renaming.renamed(known, name).digest == definition.digest:
                return True
        elif name not in self._taken:
            return False
        raise _core.InvalidArgument(
            f"define: expected a new name, got {name!r}; replace() gives an "
            "operator of the pool another body"
        )

    def _publish(self, version: int, born: dict[str, int]) -> None:
        names = {key[0]: self._operators[key] for key in born.items()}
        self._users.update(born.items())
        with self._lock:
            self._names[version], self._born[version] = names, born
        self._trim(version)

    def _trim(self, kept: int) -> None:
        """Drop old unused versions, except one."""
        for version in sorted(self._names)[:-2]:
            few = len(self._operators) <= KEPT_OPERATORS
            if len(self._names) <= KEPT and few:
                return
            if version != kept:
                self._drop(version)

    def _drop(self, version: int) -> None:
        with self._lock:
            if version not in self._names or self._calls[version]:
                return
            del self._names[version], self._calls[version]
            born = self._born.pop(version)
        for key in born.items():
            self._users[key] -= 1
            if not self._users[key]:
                del self._users[key]
                self._undefine(key)

    def _inner(self, name: str, birth: int) -> str:
        """Return the name that a body has in the runtime."""
        return f"{name}__{birth}{self._tag}"

    def _undefine(self, key: tuple[str, int]) -> None:
        op = self._operators.pop(key, None)
        if op is not None:
            self._runtime.undefine(op)


_tags: weakref.WeakKeyDictionary[_core.Runtime, Iterator[int]] = (
    weakref.WeakKeyDictionary()
)


def _tag(runtime: _core.Runtime) -> str:
    """Return an ending of names: none for the first that asks, then others."""
    number = next(_tags.setdefault(runtime, itertools.count()))
    return f"_{number}" if number else ""


def blame(error: _core.Error, who: str) -> None:
    """Name the member in `error`, with the pool's names of operators."""
    text, *more = error.args
    error.args = (f"{who}: {outer(text)}", *more)
    if not isinstance(error, _core.CompileError):
        return
    error.file = outer(error.file)
    error.excerpt = outer(error.excerpt)
    caret = error.excerpt.rpartition("\n")[2]
    if caret.strip() == "^":
        error.column = len(caret)


def outer(text: str) -> str:
    """Return a message with the pool's names in place of a runtime's.

    A caret stays below its place in the text.
    """
    lines = text.split("\n")
    told = [_renamed(line) for line in lines]
    for i, line in enumerate(lines[1:], start=1):
        if line.strip() == "^":
            before = lines[i - 1][: line.index("^")]
            told[i] = " " * len(_renamed(before)) + "^"
    return "\n".join(told)


def _renamed(line: str) -> str:
    return re.sub(r"\b([A-Za-z]\w*?)__[0-9]+(_[0-9]+)?\b", r"\1", line)


def _is_built_in(runtime: _core.Runtime, name: str) -> bool:
    try:
        runtime.find(name).definition  # noqa: B018 (whether it raises)
    except _core.InvalidArgument:
        return True
    return False
