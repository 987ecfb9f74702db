"""A runtime with the operators of one version of a pool."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gpuos import _core
from gpuos.ray.cancellation import is_cancelled
from gpuos.ray.changes import Operator

if TYPE_CHECKING:
    from gpuos.ray.versions import Names

_LOOK_S = 0.05  # between two checks of a waiter for a cancellation


class View:
    """The runtime argument of a function of Pool.map() and submit().

    It has all methods of a gpuos.Runtime. Operators of the pool are named by
    their names or by the results of its define().
    """

    def __init__(
        self, runtime: _core.Runtime, names: Names, version: int
    ) -> None:
        self._runtime = runtime
        self._names = names
        self._version = version

    @property
    def version(self) -> int:
        """Return the version of the pool."""
        return self._version

    def submit(self, op: Any, /, *inputs: Any, **keywords: Any) -> _core.Ticket:
        """Queue one task, as Runtime.submit()."""
        return self._runtime.submit(self._own(op), *inputs, **keywords)

    def submit_many(
        self, op: Any, /, *columns: Any, **keywords: Any
    ) -> _core.Ticket:
        """Queue many tasks, as Runtime.submit_many()."""
        return self._runtime.submit_many(self._own(op), *columns, **keywords)

    def wait(self, ticket: _core.Ticket, timeout: float | None = None) -> None:
        """Wait for a task as Runtime.wait() does, or until ray.cancel().

        Raises
        ------
        Cancelled
            If the call was cancelled; the task continues.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _LOOK_S if end is None else end - time.monotonic()
            try:
                return ticket.wait(max(0.0, min(left, _LOOK_S)))
            except _core.Timeout:
                if is_cancelled():
                    raise _core.Cancelled("the call was cancelled") from None
                if left <= _LOOK_S and end is not None:
                    raise

    def find(self, name: str | Operator) -> _core.Operator:
        """Return the operator of that name, as Runtime.find()."""
        found = self._own(name)
        return self._runtime.find(found) if isinstance(found, str) else found

    def operators(self) -> list[str]:
        """Return the names of the pool's operators."""
        return sorted(self._names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._runtime, name)

    def _own(self, op: Any) -> Any:
        name = op.name if isinstance(op, Operator) else op
        if not isinstance(name, str):
            return op
        if name in self._names:
            return self._names[name]
        known = set(self._runtime.operators())
        if name in known:
            return name
        raise _core.InvalidArgument(
            f"unknown operator {name!r} at version {self.version}; the pool "
            f"has {', '.join(self.operators()) or 'none'}"
        )
