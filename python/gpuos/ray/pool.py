"""Actors of Ray that have a runtime each, and one version of operators."""

from __future__ import annotations

import itertools
import pickle
import threading
import uuid
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core
from gpuos.ray import changes, computing, progress
from gpuos.ray.changes import Operator, Transaction
from gpuos.ray.engine import (
    ANSWER_S,
    ASKING,
    CONTROL,
    START_S,
    WAITING,
    name_of_log,
    ray,
    value_of,
)
from gpuos.ray.latest import Newest
from gpuos.ray.log import Log
from gpuos.ray.member import Member
from gpuos.ray.shards import Sharded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Self

RETRIES = 5  # of a call whose member dies, so that a call which kills it ends
_LARGE = 65536  # bytes of a function that is sent once, not with each part


class Pool:
    """Owns actors with one runtime each, which run the same operators.

    It can be sent to tasks and actors of Ray, which then use the same pool.
    Threads: all methods from all threads.

    Parameters
    ----------
    size : int
        Number of members, 1 or more.
    num_cpus : float
        Processors of each, as Ray counts them; also the workers of a runtime on
        the host, if `options` does not set their number.
    num_gpus : float
        GPUs of each. Above 0 the runtimes are on the GPU that Ray assigns; below
        1 several members share one.
    options : dict or None
        Arguments of gpuos.Runtime for each member.
    name : str or None
        For join(); None: a unique name.
    threads : int
        Calls that a member runs at a time.

    Attributes
    ----------
    name : str

    Raises
    ------
    InvalidArgument
        If a number is out of range, or the name is taken.
    BackendUnavailable
        If Ray is not installed.
    Timeout
        If Ray cannot start all members within 300 s, for lack of processors or
        GPUs. A warning comes at once if the cluster has too few.

    Examples
    --------
    >>> pool = gpuos.ray.Pool(2)
    >>> pool.define("double", "o = x * 2")
    >>> pool.map("double", gpuos.ray.shard(x)).gather()
    """

    def __init__(
        self,
        size: int,
        *,
        num_cpus: float = 1,
        num_gpus: float = 0,
        options: Mapping[str, Any] | None = None,
        name: str | None = None,
        threads: int = 1,
    ) -> None:
        module = ray()
        for what, number in (("size", size), ("threads", threads)):
            if number < 1:
                raise _core.InvalidArgument(
                    f"Pool: {what}: expected 1 or more, got {number}"
                )
        chosen = _options(options, num_cpus, num_gpus)
        name = name or uuid.uuid4().hex[:12]
        try:
            log = (
                module.remote(num_cpus=0, max_concurrency=ASKING)(Log)
                .options(name=name_of_log(name))
                .remote(name)
            )
        except ValueError as error:  # Ray's for a name that is taken
            raise _core.InvalidArgument(
                f"Pool: name: expected a new one, got {name!r}: {error}"
            ) from error
        kind = module.remote(
            num_cpus=num_cpus,
            num_gpus=num_gpus,
            max_restarts=-1,
            max_task_retries=RETRIES,
            max_concurrency=threads + WAITING,
            concurrency_groups={CONTROL: 1},
        )(Member)
        for what, each in (("CPU", num_cpus), ("GPU", num_gpus)):
            there = module.cluster_resources().get(what, 0)
            if size * each > there:
                warnings.warn(
                    f"Pool: {size} members take {size * each:g} {what}, the "
                    f"cluster has {there:g}: waits up to {START_S:g} s for more",
                    stacklevel=2,
                )
        members = [kind.remote(i, name, threads, chosen) for i in range(size)]
        self._have(name, log, members, 0, [*members, log])
        try:
            value_of(
                [member.ready.remote() for member in members],
                START_S,
                f"pool {name!r}: {size} members of num_cpus={num_cpus}, "
                f"num_gpus={num_gpus} on {module.cluster_resources()}",
            )
            value_of(log.begin.remote(members), ANSWER_S, "the log")
        except BaseException:
            self.close()
            raise

    def _have(
        self,
        name: str,
        log: Any,
        members: Sequence[Any],
        version: int,
        owned: Sequence[Any] = (),
    ) -> None:
        self.name = name
        self._log = log
        self._members = [*members]
        self._blocks = changes.Blocks()
        self._newest = Newest(log, version, owned)
        self._fixed: int | None = None
        self._turn = itertools.count()
        self._closed = threading.Event()

    @property
    def version(self) -> int:
        """Return the version of the operators that this caller's next calls use.

        It grows with each change. A change of another process arrives within
        about a millisecond.
        """
        return self._newest.version if self._fixed is None else self._fixed

    def at(self, version: int | None = None) -> Pool:
        """Return this pool at one version, despite replacements.

        The end of a `with` block around it releases the version and closes
        nothing.

        Parameters
        ----------
        version : int or None
            One of the newest 1024; None: the newest version now.
        """
        found = Pool.__new__(Pool)
        found.__dict__.update(self.__dict__)  # the same members and their end
        found._fixed = self.version if version is None else version
        return found

    def define(
        self,
        name: str | _core.Definition,
        expression: str | None = None,
        **keywords: Any,
    ) -> Operator:
        """Define an operator in all members, or in none.

        Parameters
        ----------
        name, expression, **keywords
            As for Runtime.define(), also a Definition.

        Returns
        -------
        Operator
            For map(), submit() and replace(), as its name is.

        Raises
        ------
        InvalidArgument, CompileError, BackendUnavailable
            As Runtime.define(); the message names the member.
        QueueClosed
            If the pool was closed.
        """
        self._blocks.check("define")
        change = changes.define(name, expression, keywords)
        self._commit([change])
        return Operator(change.definition.name)

    def replace(
        self,
        op: str | Operator,
        expression: str | None = None,
        **keywords: Any,
    ) -> int:
        """Give an operator another body in all members, or in none.

        Earlier calls run the old one, in every member.

        Parameters
        ----------
        op : str or Operator
            An operator that the pool defined.
        expression, **keywords
            As for Runtime.replace(), except `expected`.

        Returns
        -------
        int
            The version of the pool that has it.

        Raises
        ------
        InvalidArgument, CompileError, BackendUnavailable
            As Runtime.replace(): one member refused it, and nothing changed.
        QueueClosed
            If the pool was closed.
        """
        self._blocks.check("replace")
        return self._commit([changes.replace(op, expression, keywords)])

    def transaction(self) -> Transaction:
        """Return a `with` block of changes that are one version of the pool."""
        return Transaction(self._commit, self._blocks)

    def map(self, f: Any, *sharded: Any, **params: Any) -> Sharded:
        """Run a function on each part, all at one version of the pool.

        Parameters
        ----------
        f : str, Operator, Fused or callable
            An operator takes the parts as inputs; its result has their common
            shape and dtype. A fused function is called with the parts, any other
            function with a runtime in front of them: `function(rt, *arrays)`.
        *sharded : Sharded, array or ObjectRef
            Each Sharded has the same number of parts. Other arguments are passed
            with each part.
        **params
            Passed with each part by keyword.

        Returns
        -------
        Sharded
            Returned at once; gather() waits. If a member dies, its parts are
            computed again at the same version.

        Raises
        ------
        InvalidArgument
            If there is no Sharded, or the numbers of parts differ.
        QueueClosed
            If the pool was closed.
        """
        cut = [x for x in sharded if isinstance(x, Sharded)]
        counts = sorted({len(x) for x in cut})
        if len(counts) != 1:
            raise _core.InvalidArgument(
                "map: expected arrays of shard() with as many parts each, got "
                f"{counts or 'none'}"
            )
        work, version = self._packed(f), self.version
        columns = [
            x.refs if isinstance(x, Sharded) else (_once(x),) * counts[0]
            for x in sharded
        ]
        refs = [
            self._members[i % len(self._members)].run.remote(
                version, work, params, *part
            )
            for i, part in enumerate(zip(*columns, strict=True))
        ]
        progress.watch(refs)
        return Sharded(refs, cut[0].axis, version)

    def submit(self, f: Any, *args: Any, **params: Any) -> Any:
        """Run a function once, in the next member.

        Parameters
        ----------
        f, **params
            See map().
        *args : array, ObjectRef or another object that can be sent

        Returns
        -------
        ray.ObjectRef
            For ray.get(); ray.cancel() cancels a call that has not begun.

        Raises
        ------
        QueueClosed
            If the pool was closed.
        """
        work = self._packed(f)
        member = self._members[next(self._turn) % len(self._members)]
        return member.run.remote(self.version, work, params, *args)

    def stats(self) -> list[dict[str, Any]]:
        """Return Runtime.stats() of each member with its number, process, node,
        GPUs and version.

        Raises
        ------
        Timeout
            If a member does not answer.
        """
        self._check_open()
        calls = [
            member.stats.options(concurrency_group=CONTROL).remote()
            for member in self._members
        ]
        found: list[dict[str, Any]] = value_of(calls, ANSWER_S, "stats")
        return found

    def close(self) -> None:
        """End the members, for everybody: calls that are not done fail.

        A second call does nothing. A with-block calls it.
        """
        if self._closed.is_set():
            return
        self._closed.set()
        module = ray()
        if module.is_initialized():
            for actor in (*self._members, self._log):
                module.kill(actor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        if self._fixed is None:
            self.close()

    def __repr__(self) -> str:
        return (
            f"gpuos.ray.Pool({len(self._members)}, name={self.name!r}, "
            f"version={self.version})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _attached, (self.name, self._log, self._members, self.version)

    def _commit(self, asked: list[changes.Change]) -> int:
        self._check_open()
        # It waits as long as compilers take. The log has a deadline for each
        # member.
        version: int = value_of(
            self._log.propose.remote(pickle.dumps(asked)),
            None,
            f"pool {self.name!r}",
        )
        self._newest.saw(version)
        return version

    def _packed(self, f: Any) -> Any:
        self._check_open()
        work = computing.packed(f)
        return work if len(work) < _LARGE else ray().put(work)

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise _core.QueueClosed(f"pool {self.name!r} was closed")


def _attached(
    name: str, log: Any, members: Sequence[Any], version: int
) -> Pool:
    """Make another process's object of the same pool."""
    pool = Pool.__new__(Pool)
    pool._have(name, log, members, version)
    return pool


def _once(x: Any) -> Any:
    """Return an argument for all parts; an array is sent only once."""
    if isinstance(x, (np.ndarray, _core.Array)):
        return ray().put(np.asarray(x))
    return x


def _options(
    options: Mapping[str, Any] | None, num_cpus: float, num_gpus: float
) -> dict[str, Any]:
    found = dict(options or {})
    found.setdefault("backend", "cuda" if num_gpus else "host")
    if found["backend"] == "host":
        found.setdefault("workers", max(1, int(num_cpus)))
    return found
