"""Share one runtime per device in a process."""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from functools import partial
from typing import Any

from gpuos import _core

# Runtimes stay until the process ends, or until let_go(). A signal handler or a
# finalizer may run here while its own thread makes a runtime.
_of_devices: dict[tuple[str, int], _core.Runtime] = {}
_of_parents: list[_core.Runtime] = []  # a forked child keeps them
_making = threading.RLock()  # a thread waits _PATIENCE_S at most
_PATIENCE_S = 10
threads_per_worker = 256  # for new runtimes of GPUs
_deterministic = False  # holds for all runtimes


def default_runtime(device: str | int | None = None) -> _core.Runtime:
    """Return the runtime of a device that all code in this process shares.

    The first use makes the runtime, and so does the first use after a fork.
    Schedulers of PyTorch use it too. Its tasks and their operators then run in
    one order. It stays until the process ends, or until gpuos.torch.shutdown().
    close() raises an error, and a with-block leaves it open. A library that
    defines operators in it puts its own name in front of their names.

    Parameters
    ----------
    device : str, int or None
        "host", "cuda" for GPU 0, a name such as "cuda:1", or a GPU's number.
        None selects GPU 0 if there is one, else the host.

    Raises
    ------
    InvalidArgument
        If the text is none of these.
    BackendUnavailable
        If the GPU does not exist.
    TypeError
        If the type is none of these.
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
    """Return the default runtime of a backend and a device number.

    Threads that ask at the same time get one runtime. Two runtimes would not
    order their tasks.
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
    # One C call makes the runtime and stores it. A signal handler therefore
    # runs after the call, and finds the runtime.
    made = map(partial(_core.Runtime, **_options(key)), (key[0],))
    shared = map(_core._share, made)
    if _deterministic:
        shared = map(_core._make_deterministic, shared)
    try:
        deque(map(_of_devices.setdefault, (key,), shared), maxlen=0)
    except _core.InvalidArgument as error:  # only the number can be wrong
        raise _core.BackendUnavailable(
            f"{key[0]}:{key[1]}: expected a GPU of that number: {error}"
        ) from None
    runtime = _of_devices[key]
    if _deterministic:  # set by another thread meanwhile
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
    """Make a runtime the default one of its device from now on."""
    key = ("host", 0)
    if runtime.options["backend"] != "host":
        key = ("cuda", int(runtime.options["device"]))
    _core._share(runtime)
    if _deterministic:
        _core._make_deterministic(runtime)
    _of_devices[key] = runtime


def make_deterministic() -> None:
    """Make all current and later runtimes deterministic."""
    global _deterministic  # noqa: PLW0603 (one per process)
    if _deterministic:
        return
    _deterministic = True
    for runtime in [*_of_devices.values()]:
        _core._make_deterministic(runtime)


def let_go() -> None:
    """Drop the default runtimes, so that the next use makes new ones.

    An old runtime ends when no array and no user refers to it. A runtime stays
    the default if a captured graph runs it.
    """
    for key, runtime in [*_of_devices.items()]:
        if not _core._has_captured(runtime):
            _core._share(runtime, False)
            _of_devices.pop(key, None)


def _leave_runtimes() -> None:
    global _making  # noqa: PLW0603 (a parent's thread had it)
    _making = threading.RLock()
    _of_parents.extend(_of_devices.values())
    _of_devices.clear()


os.register_at_fork(after_in_child=_leave_runtimes)
