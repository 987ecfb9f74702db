"""The runtimes that a process shares, one for each device."""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from functools import partial
from typing import Any

from gpuos import _core

# They stay until the process ends, or let_go(). The handler of a signal or a
# finalizer may come here while its own thread makes one.
_of_devices: dict[tuple[str, int], _core.Runtime] = {}
_of_parents: list[_core.Runtime] = []  # the same in a child of a fork
_making = threading.RLock()  # others wait for it, but not for ever
_PATIENCE_S = 10
threads_per_worker = 256  # of those of a GPU that are made from now on
_deterministic = False  # all of them


def default_runtime(device: str | int | None = None) -> _core.Runtime:
    """Return the runtime of a device that everybody in this process shares.

    It is made at its first use, again after a fork, and by schedulers of
    PyTorch as well: what is submitted to it is in one order with their
    operators once gpuos.torch is in use. It stays until the process ends, or
    gpuos.torch.shutdown(): close() is refused, and a with-block leaves it open.
    A library that defines operators in it puts its own name in front of theirs.

    Parameters
    ----------
    device : str, int or None
        "host", "cuda" for GPU 0, such as "cuda:1", or the number of a GPU.
        None: GPU 0 if there is one, else the host.

    Raises
    ------
    InvalidArgument
        For another text.
    BackendUnavailable
        If there is no such GPU.
    TypeError
        For another type.
    """
    if device is not None:
        return of_device(*_parsed(device))
    try:
        return of_device("cuda", 0)
    except _core.BackendUnavailable:
        return of_device("host", 0)


def _parsed(device: str | int) -> tuple[str, int]:
    if isinstance(device, int) and not isinstance(device, bool):
        device = f"cuda:{device}"
    if not isinstance(device, str):
        raise TypeError(
            "default_runtime: device: expected str, int or None, got "
            f"{type(device).__name__}"
        )
    found = re.fullmatch(r"(host|cuda)(?::([0-9]{1,4}))?", device)
    if found is None or (found[1] == "host" and found[2] is not None):
        raise _core.InvalidArgument(
            'default_runtime: device: expected "host", "cuda" or such as '
            f'"cuda:1", got {device!r}'
        )
    return found[1], int(found[2] or 0)


def of_device(backend: str, index: int) -> _core.Runtime:
    """Return the same by backend and number.

    Threads that come to a device at the same time share one: what is submitted
    to another would be in no order with it.
    """
    key = (backend, index)
    runtime = _of_devices.get(key)
    if runtime is None:
        has_turn = _making.acquire(timeout=_PATIENCE_S)
        try:
            runtime = _of_devices.get(key) or _make(key)
        finally:
            if has_turn:
                _making.release()
    return runtime


def _make(key: tuple[str, int]) -> _core.Runtime:
    # One call of C makes it and notes it: the handler of a signal that comes
    # meanwhile runs after it, and finds it.
    made = map(partial(_core.Runtime, **_options(key)), (key[0],))
    shared = map(_core._share, made)
    if _deterministic:
        shared = map(_core._make_deterministic, shared)
    try:
        deque(map(_of_devices.setdefault, (key,), shared), maxlen=0)
    except _core.InvalidArgument as error:  # the number is all that was given
        raise _core.BackendUnavailable(
            f"{key[0]}:{key[1]}: expected a GPU of that number: {error}"
        ) from None
    runtime = _of_devices[key]
    if _deterministic:  # it may have become so meanwhile
        _core._make_deterministic(runtime)
    return runtime


def _options(key: tuple[str, int]) -> dict[str, Any]:
    if key[0] == "host":
        return {}
    return {
        "device": key[1],
        "residency": "burst",
        "threads_per_worker": threads_per_worker,
    }


def adopt(runtime: _core.Runtime) -> None:
    """Have a runtime be the default one of its device from now on."""
    key = ("host", 0)
    if runtime.options["backend"] != "host":
        key = ("cuda", int(runtime.options["device"]))
    _core._share(runtime)
    if _deterministic:
        _core._make_deterministic(runtime)
    _of_devices[key] = runtime


def make_deterministic() -> None:
    """Have all of them add up in one order, now and later."""
    global _deterministic  # noqa: PLW0603 (one choice a process)
    if _deterministic:
        return
    _deterministic = True
    for runtime in [*_of_devices.values()]:
        _core._make_deterministic(runtime)


def let_go() -> None:
    """Have the next use make new ones.

    The old runtimes end when no array and no user holds them any more. One that
    a captured graph runs stays the default.
    """
    for key, runtime in [*_of_devices.items()]:
        if not _core._has_captured(runtime):
            _core._share(runtime, False)
            _of_devices.pop(key, None)


def _leave_runtimes() -> None:
    global _making  # noqa: PLW0603 (another thread of the parent had it)
    _making = threading.RLock()
    _of_parents.extend(_of_devices.values())
    _of_devices.clear()


os.register_at_fork(after_in_child=_leave_runtimes)
