"""Ray, where it is installed: calls of its actors with deadlines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from gpuos import _core

if TYPE_CHECKING:
    from types import ModuleType

START_S = 300.0  # until all members of a new pool are up
PREPARE_S = 600.0  # until a definition is compiled by every member
ANSWER_S = 60.0  # what takes a member, or the log, no time
FOLLOW_S = 10.0  # how long the log delays a request for news
ASKING = 10_000  # calls of the log at a time: most wait for news, on one loop
WAITING = 32  # calls of a member that can be cancelled before they begin
CONTROL = "control"  # a concurrency group without computations


def ray() -> ModuleType:
    """Return the module `ray`.

    Raises
    ------
    BackendUnavailable
        If it is not installed.
    """
    try:
        import ray as found  # noqa: PLC0415 (not everybody has it)
    except ModuleNotFoundError as error:
        raise _core.BackendUnavailable(
            "gpuos.ray: expected Ray, but it is not installed; run: "
            "pip install cloudpickle ray"
        ) from error
    module: ModuleType = found
    return module


def name_of_log(pool: str) -> str:
    return f"gpuos.ray.{pool}"


def value_of(ref: Any, timeout: float | None, what: str) -> Any:
    """Return the value of an ObjectRef, or those of a list.

    Raises
    ------
    Timeout
        If `timeout` seconds pass. The message begins with `what`.
    Exception
        The exception that the call raised, without Ray's wrapper class.
    Cancelled
        If ray.cancel() cancelled it.
    Error
        If its actor died and is not restarted.
    """
    module = ray()
    try:
        return module.get(ref, timeout=timeout)
    except module.exceptions.GetTimeoutError:
        raise _core.Timeout(
            f"{what}: expected an answer within {timeout:g} s"
        ) from None
    except module.exceptions.TaskCancelledError as error:
        raise _core.Cancelled(f"{what}: the call was cancelled") from error
    except module.exceptions.RayActorError as error:
        raise _core.Error(f"{what}: an actor is dead: {error}") from error
    except module.exceptions.RayTaskError as error:
        raise_cause(error)


def raise_cause(error: Any) -> NoReturn:
    """Raise the exception of a call in its actor, without Ray's wrapper class."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, Exception):
        raise cause from error
    raise error


def newest_of(log: Any) -> int:
    """Return the newest version that a log has."""
    version: int = value_of(
        log.newest.remote(), ANSWER_S, "the log of the pool"
    )
    return version


def table_of(log: Any, version: int) -> Any:
    """Return the Table of a version, which maps names to definitions."""
    return value_of(log.table.remote(version), ANSWER_S, "the log of the pool")
