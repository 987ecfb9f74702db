"""A runtime in an actor of the user's own that follows a pool."""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
import uuid
import weakref
from concurrent import futures
from functools import partial
from typing import TYPE_CHECKING, Any

from gpuos import _core, defaults
from gpuos.ray.engine import ANSWER_S, name_of_log, newest_of, ray, table_of
from gpuos.ray.subscribers import ATTEND_S
from gpuos.ray.versions import Versions, blame
from gpuos.ray.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpuos.ray.changes import Operator
    from gpuos.ray.subscribers import Request

_BUSY_S = 0.1  # between two requests while it compiles


def join(name: str, runtime: _core.Runtime | None = None) -> Joined:
    """Return a runtime that has the operators of a pool, and follows it.

    From then on no replacement is made that this runtime refuses.

    Parameters
    ----------
    name : str
        The pool's name, `pool.name`.
    runtime : Runtime or None
        The runtime for them; None: gpuos.default_runtime().

    Raises
    ------
    InvalidArgument
        If there is no such pool.
    BackendUnavailable
        If Ray is not installed.
    CompileError
        If an operator of the pool does not compile here.

    Examples
    --------
    >>> rt = gpuos.ray.join("simulation")
    >>> rt.submit("step", x, out=y)
    """
    try:
        log = ray().get_actor(name_of_log(name))
    except ValueError as error:
        raise _core.InvalidArgument(
            f"join: expected the name of a pool that there is, got {name!r}"
        ) from error
    return Joined(name, log, runtime or defaults.default_runtime())


class Joined:
    """A gpuos.Runtime that also has the newest operators of a pool.

    Returned by gpuos.ray.join().
    """

    def __init__(self, pool: str, log: Any, runtime: _core.Runtime) -> None:
        self._runtime = runtime
        self._follower = _Follower(pool, log, runtime)

    @property
    def version(self) -> int:
        """Return the newest version of the pool that this process knows."""
        return self._follower.version

    @contextlib.contextmanager
    def at(self, version: int | None = None) -> Iterator[View]:
        """Hold one version in a `with` block, despite replacements.

        Parameters
        ----------
        version : int or None
            One of the newest 1024; None: the newest version now.
        """
        chosen = self.version if version is None else version
        with self._follower.versions.at(chosen) as names:
            yield View(self._runtime, names, chosen)

    def submit(self, op: Any, /, *inputs: Any, **keywords: Any) -> _core.Ticket:
        """Queue one task, as Runtime.submit()."""
        with self.at() as rt:
            return rt.submit(op, *inputs, **keywords)

    def submit_many(
        self, op: Any, /, *columns: Any, **keywords: Any
    ) -> _core.Ticket:
        """Queue many tasks, as Runtime.submit_many()."""
        with self.at() as rt:
            return rt.submit_many(op, *columns, **keywords)

    def find(self, name: str | Operator) -> _core.Operator:
        """Return the operator of that name, of the newest version."""
        with self.at() as rt:
            return rt.find(name)

    def operators(self) -> list[str]:
        """Return the names of the pool's operators."""
        with self.at() as rt:
            return rt.operators()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._runtime, name)


class _Follower:
    """The runtime's versions, and the thread that asks the log for requests."""

    def __init__(self, pool: str, log: Any, runtime: _core.Runtime) -> None:
        self.who = f"a runtime of process {os.getpid()} that joined {pool!r}"
        self.versions = Versions(runtime, partial(table_of, log))
        self.is_over = False
        self.version = newest_of(log)
        with self.versions.at(self.version):
            pass
        threading.Thread(
            target=_attend,
            args=(
                weakref.ref(self),
                log,
                f"{self.who} ({uuid.uuid4().hex})",
                self.versions.cleaner(),
            ),
            name="gpuos.ray.join",
            daemon=True,
        ).start()

    def do(self, request: Request, answers: dict[int, Any]) -> None:
        """Prepare or drop a version, and record the result."""
        if request.changes is None:
            self.versions.drop(request.version)
            return
        try:
            self.versions.prepare(
                request.version,
                request.before,
                pickle.loads(request.changes),
            )
            answers[request.version] = None
        except _core.QueueClosed:  # the runtime is not used any more
            self.is_over = True
        except _core.Error as error:
            blame(error, self.who)
            # Its frames would keep this alive while it is on its way.
            error.__traceback__ = error.__context__ = None
            answers[request.version] = error


def _attend(
    me: weakref.ref[_Follower], log: Any, who: str, clean: Callable[[], None]
) -> None:
    """Run the log's requests until the joined runtime is dropped or closed."""
    module = ray()
    answers: dict[int, Any] = {}
    # A process that compiles still tells the log that it is alive.
    with futures.ThreadPoolExecutor(1, "gpuos.ray.join") as compiler:
        work: list[Any] = []
        while (follower := me()) is not None and not follower.is_over:
            del follower  # so that it can end while the log has no news
            told = {key: answers.pop(key) for key in [*answers]}
            ref = log.attend.remote(who, told, _BUSY_S if work else ATTEND_S)
            try:
                version, requests = module.get(ref, timeout=ATTEND_S + ANSWER_S)
            except module.exceptions.GetTimeoutError:
                answers.update(told)  # it lives, and may not have heard them
                continue
            except Exception:  # noqa: BLE001 (the pool or Ray is no more)
                return
            follower = me()
            if follower is None:
                break
            follower.version = max(follower.version, version)
            work += [compiler.submit(follower.do, r, answers) for r in requests]
            del follower
            # An answer is sent at once; slow work is answered later.
            work = [*futures.wait(work, _BUSY_S).not_done]
        log.leave.remote(who)
        clean()
