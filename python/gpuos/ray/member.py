"""What runs in each actor of a pool."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, Any

from gpuos import _core, defaults
from gpuos.ray import computing
from gpuos.ray.engine import ANSWER_S, name_of_log, ray, value_of
from gpuos.ray.versions import Versions, outer
from gpuos.ray.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuos.ray.changes import Change
    from gpuos.ray.versions import Table

_LEAVE_S = 1.0  # from the error of a dead runtime to the end of its process


class Member:
    """An actor with a runtime, which is the default one of its process.

    Ray makes it again when it dies: it then has what the log has.
    """

    def __init__(self, index: int, pool: str, options: dict[str, Any]) -> None:
        self._name = f"member {index} of pool {pool!r}"
        self._index = index
        self._log = ray().get_actor(name_of_log(pool))
        self._leaves: threading.Timer | None = None
        with self._named():
            self._runtime = _core.Runtime(**options)
            defaults.adopt(self._runtime)
            self._versions = Versions(self._runtime, self._read)
            with self._versions.at(self._newest()):
                pass

    def ready(self) -> int:
        """Return the process that this member is in."""
        return os.getpid()

    def run(
        self, version: int, work: bytes, params: dict[str, Any], *arrays: Any
    ) -> Any:
        """Compute at a version of the pool, whatever is the newest."""
        self._leave_if_dead()
        try:
            with self._named(), self._versions.at(version) as names:
                view = View(self._runtime, names, version)
                return computing.compute(view, work, arrays, params)
        except BaseException:
            self._look_if_dead()
            raise

    def prepare(
        self, version: int, before: int, changes: Sequence[Change]
    ) -> dict[str, _core.Definition]:
        """See Versions.prepare()."""
        self._leave_if_dead()
        with self._named():
            return self._versions.prepare(version, before, changes)

    def drop(self, version: int) -> None:
        """See Versions.drop()."""
        self._versions.drop(version)

    def stats(self) -> dict[str, Any]:
        """Return the runtime's stats, and who and where this is."""
        context = ray().get_runtime_context()
        return {
            "member": self._index,
            "pid": os.getpid(),
            "node": context.get_node_id(),
            "gpus": ray().get_gpu_ids(),
            "version": self._versions.newest,
            **self._runtime.stats(),
        }

    def _read(self, version: int) -> Table:
        table: Table = value_of(
            self._log.table.remote(version), ANSWER_S, "the log of the pool"
        )
        return table

    def _newest(self) -> int:
        version: int = value_of(
            self._log.newest.remote(), ANSWER_S, "the log of the pool"
        )
        return version

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Have errors of gpuos say which member they are of."""
        try:
            yield
        except _core.Error as error:
            text, *more = error.args
            error.args = (f"{self._name}: {outer(text)}", *more)
            raise

    # ---- A runtime that is dead: only another process has another one.

    def _look_if_dead(self) -> None:
        """Leave soon if it is, and not at once: the caller gets the error."""
        if self._leaves is None and self._runtime.stats()["is_dead"]:
            self._leaves = threading.Timer(_LEAVE_S, os._exit, (1,))
            self._leaves.daemon = True
            self._leaves.start()

    def _leave_if_dead(self) -> None:
        """Leave, so that Ray makes this member again and calls that one."""
        if self._leaves is not None:
            os._exit(1)
