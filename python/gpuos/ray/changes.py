"""The definitions and replacements of a pool, and their `with` block."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuos import _core

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self


class Operator(NamedTuple):
    """An operator of a pool, for map() and submit() of every caller."""

    name: str


class Change(NamedTuple):
    """One operator that is defined, or replaced if `given` is not None."""

    definition: _core.Definition
    given: tuple[str, ...] | None  # the arguments that replace() was given


def define(
    name: str | _core.Definition, expression: str | None, keywords: Any
) -> Change:
    """Return the change for a define() with these arguments."""
    if not isinstance(name, _core.Definition):
        return Change(_core.Definition(name, expression, **keywords), None)
    if expression is not None or keywords:
        raise _core.InvalidArgument(
            "define: expected no other argument with a Definition, got more"
        )
    return Change(name, None)


def replace(
    op: str | Operator, expression: str | None, keywords: Any
) -> Change:
    """Return the change for a replace() with these arguments."""
    given = {k: value for k, value in keywords.items() if value is not None}
    if expression is not None:
        given["expression"] = expression
    name = name_of(op)
    return Change(_core.Definition(name, **given), tuple(given))


def name_of(op: str | Operator) -> str:
    """Return the name of an operator of a pool."""
    if isinstance(op, str):
        return op
    if isinstance(op, Operator):
        return op.name
    raise TypeError(
        f"expected the name of an operator of the pool, or what its define() "
        f"returned, got {type(op).__name__}"
    )


class Blocks:
    """The threads that are in a `with transaction()` block of a pool."""

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def check(self, call: str) -> None:
        """Refuse a call that would take effect before the block ends."""
        if threading.get_ident() in self.threads:
            raise _core.InvalidArgument(
                f"{call}: expected to be outside of the transaction's block; in "
                "`with pool.transaction() as change:` write "
                "change.define() or change.replace()"
            )


class Transaction:
    """A block of definitions and replacements that become visible together.

    They take effect when the `with` block ends, all or none. Returned by
    Pool.transaction().

    Attributes
    ----------
    version : int or None
        The pool's version after the block; None inside of it.
    """

    def __init__(
        self, commit: Callable[[list[Change]], int], blocks: Blocks
    ) -> None:
        self._commit = commit
        self._blocks = blocks
        self._changes: list[Change] = []
        self.version: int | None = None

    def define(
        self,
        name: str | _core.Definition,
        expression: str | None = None,
        **keywords: Any,
    ) -> Operator:
        """Define an operator, as Pool.define() does, when the block ends."""
        change = define(name, expression, keywords)
        self._changes.append(change)
        return Operator(change.definition.name)

    def replace(
        self,
        op: str | Operator,
        expression: str | None = None,
        **keywords: Any,
    ) -> None:
        """Replace an operator, as Pool.replace() does, when the block ends."""
        self._changes.append(replace(op, expression, keywords))

    def __enter__(self) -> Self:
        self._blocks.check("transaction")
        self._blocks.threads.add(threading.get_ident())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self._blocks.threads.discard(threading.get_ident())
        changes, self._changes = self._changes, []
        if kind is None:
            self.version = self._commit(changes)
