"""The code of each actor of a pool."""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from gpuos import _core, defaults
from gpuos.ray import computing
from gpuos.ray.cancellation import Gate
from gpuos.ray.engine import name_of_log, newest_of, ray, table_of
from gpuos.ray.versions import Versions, blame
from gpuos.ray.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator


_LEAVE_S = 1.0  # from the error of a dead runtime to the end of its process


class Member:
    """Is an actor with a runtime, the default runtime of its process.

    Ray makes it again when it dies. It then takes all versions from the log.
    """

    def __init__(
        self, index: int, pool: str, threads: int, options: dict[str, Any]
    ) -> None:
        self._name = f"member {index} of pool {pool!r}"
        self._index = index
        self._log = ray().get_actor(name_of_log(pool))
        self._gate = Gate(threads)
        self._leaves: threading.Timer | None = None
        self._failed: Exception | None = None
        try:
            with self._named():
                self._begin(options)
        except Exception as error:  # noqa: BLE001 (the caller gets it)
            self._failed = error

    def _begin(self, options: dict[str, Any]) -> None:
        self._runtime = _core.Runtime(**options)
        defaults.adopt(self._runtime)
        self._versions = Versions(self._runtime, partial(table_of, self._log))
        with self._versions.at(newest_of(self._log)):
            pass

    def ready(self) -> int:
        """Return the process that this member is in."""
        self._check()
        return os.getpid()

    def run(
        self, version: int, work: bytes, params: dict[str, Any], *arrays: Any
    ) -> Any:
        """Compute at a version of the pool, even if there is a newer one."""
        self._check()
        try:
            with (
                self._named(),
                self._gate.passed(),
                self._versions.at(version) as names,
            ):
                self._check()
                view = View(self._runtime, names, version)
                return computing.compute(view, work, arrays, params)
        except BaseException:
            self._look_if_dead()
            raise

    def prepare(self, version: int, before: int, changes: bytes) -> bytes:
        """Unpickle the changes and call Versions.prepare()."""
        self._check()
        with self._named():
            made = self._versions.prepare(
                version, before, pickle.loads(changes)
            )
        return pickle.dumps(made)

    def drop(self, version: int) -> None:
        """Call Versions.drop()."""
        self._check()
        self._versions.drop(version)

    def stats(self) -> dict[str, Any]:
        """Return the runtime's stats, and the member's number and place."""
        self._check()
        context = ray().get_runtime_context()
        return {
            "member": self._index,
            "pid": os.getpid(),
            "node": context.get_node_id(),
            "gpus": ray().get_gpu_ids(),
            "version": self._versions.newest,
            **self._runtime.stats(),
        }

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Name this member in errors of gpuos."""
        try:
            yield
        except _core.Error as error:
            blame(error, self._name)
            raise

    # ---- A runtime that is dead: only another process has another one.

    def _check(self) -> None:
        """Raise if this member could not begin.

        If its runtime is dead, this never returns: the process ends and Ray
        calls the next one. Callers that got the error must receive it first.
        """
        if self._failed is not None:
            self._leave_soon()
            raise self._failed
        if self._leaves is not None:
            self._leaves.join()

    def _look_if_dead(self) -> None:
        if self._failed is None and self._runtime.stats()["is_dead"]:
            self._leave_soon()

    def _leave_soon(self) -> None:
        """Leave, and not at once: the caller gets the error."""
        if self._leaves is None:
            leaves = threading.Timer(_LEAVE_S, os._exit, (1,))
            leaves.daemon = True
            leaves.start()
            # Other threads join what they see here.
            self._leaves = leaves
